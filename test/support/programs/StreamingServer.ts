/**
 * A server of one agent whose answers come as many deltas. Asked for `used` it says its memory, and what of it is held
 * where `gc` is exposed. Answers that wait do so in their middle: `middle` is answered like `used`, once all of them are
 * there, and `go` lets them go on.
 */
import { createServer } from "node:http"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgentServer from "../../../src/http/api/AgentServer.js"
import * as GracefulServer from "../../../src/http/request/GracefulServer.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as AgentServers from "../AgentServers.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly deltas: number
  readonly text: string
  /** Milliseconds between two deltas. */
  readonly pause: number
  readonly streams: number
  /** Each answer waits after half of its deltas. */
  readonly waits?: boolean
}

/** A model whose answer comes in pieces, and that keeps nothing of it. */
const modelOf = ({ deltas, pause, text, waits }: Input, atMiddle: Effect.Effect<void>): LlmClient.Service => {
  const answer: LlmClient.LlmResponse = {
    content: [{ type: "text", text: Array.from({ length: deltas }, (_, at) => `${at} ${text}`).join("") }],
    finishReason: "stop",
    usage: {}
  }
  return {
    provider: "test",
    model: "m",
    complete: (_request, { onParts } = {}) =>
      Effect.as(
        Effect.forEach(
          { [Symbol.iterator]: () => Array(deltas).keys() },
          (at) =>
            Effect.zipRight(
              waits === true && at === deltas >> 1 ? atMiddle : Effect.sleep(pause),
              onParts?.([{ type: "text-delta", id: "0", delta: `${at} ${text}` }]) ?? Effect.void
            ),
          { discard: true }
        ),
        answer
      )
  }
}

Programs.main<Input>(({ hear, input, say }) =>
  Effect.scoped(
    Effect.gen(function* () {
      const middle = yield* Effect.makeLatch()
      const go = yield* Effect.makeLatch()
      let waiting = 0
      const atMiddle = Effect.suspend(() => {
        waiting += 1
        return waiting === input.streams ? Effect.zipRight(middle.open, go.await) : go.await
      })
      const setup: AgentServers.Setup = {
        agents: [Agent.make("teller", { system: "teller" })],
        model: Layer.succeed(LlmClient.LlmClient, modelOf(input, atMiddle)),
        runs: { maxRunning: input.streams },
        limits: { requestsPerMinute: 10_000_000, maxStreams: input.streams }
      }
      const http = NodeHttpServer.layer(() => GracefulServer.make(createServer()), { port: 0, host: "127.0.0.1" })
      const context = yield* Layer.build(
        AgentServer.layer(setup).pipe(Layer.provideMerge(Layer.merge(http, AgentServers.services(setup))))
      )
      yield* say(yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context))
      for (;;) {
        const asked = yield* hear
        if (asked === "go") {
          yield* go.open
          continue
        }
        if (asked === "middle") yield* middle.await
        const { maxRSS } = process.resourceUsage()
        globalThis.gc?.()
        const { arrayBuffers, heapUsed, rss } = process.memoryUsage()
        const { system, user } = process.cpuUsage()
        yield* say({ rss, live: heapUsed + arrayBuffers, peak: maxRSS * 1024, cpu: (user + system) / 1000 })
      }
    })
  )
)
