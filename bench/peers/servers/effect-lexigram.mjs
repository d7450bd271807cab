/** The library's own server, with callers that need no credentials. */
import { createServer } from "node:http"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { Agent, Agents } from "effect-lexigram"
import { InMemoryRunStore, LocalRuns, Steering } from "effect-lexigram/agent"
import { AgentServer, Authentication } from "effect-lexigram/http"
import { LlmClient } from "effect-lexigram/llm"
import { RunLog } from "effect-lexigram/observability"
import { PendingApprovals } from "effect-lexigram/tool"
import { delta, turn, usage } from "../workload.mjs"

const partsOf = (onParts, count) =>
  Effect.forEach(
    Array(count).keys(),
    () => Effect.zipRight(Effect.promise(turn), onParts?.([{ type: "text-delta", id: "0", delta }]) ?? Effect.void),
    { discard: true }
  )

/** Answers at once, or in as many deltas as its input says. */
const model = {
  provider: "bench",
  model: "bench",
  complete: ({ messages }, { onParts } = {}) => {
    const deltas = Number(messages.at(-1).content)
    const text = deltas > 0 ? delta.repeat(deltas) : "done 0"
    return Effect.as(deltas > 0 ? partsOf(onParts, deltas) : Effect.void, {
      content: [{ type: "text", text }],
      finishReason: "stop",
      usage
    })
  }
}

export const make = async () => {
  const agents = [Agent.make("bench", { system: "You add." })]
  const log = RunLog.layerMemory()
  const steering = Steering.layer()
  const approvals = PendingApprovals.layerMemory()
  const executor = Layer.provide(
    Agents.layerWith({ log, steering, approvals }),
    Layer.succeed(LlmClient.LlmClient, model)
  )
  const runs = LocalRuns.layer({ agents, maxRunning: 1000 }).pipe(
    Layer.provide([executor, InMemoryRunStore.layer(), log, steering, approvals])
  )
  const http = NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" })
  const app = AgentServer.layer({ agents, limits: { requestsPerMinute: 1e9, maxStreams: 1000 } }).pipe(
    Layer.provideMerge(Layer.mergeAll(http, runs, executor, approvals, Authentication.layerAnonymous))
  )
  const scope = Effect.runSync(Scope.make())
  const context = await Effect.runPromise(Layer.buildWithScope(app, scope))
  const address = await Effect.runPromise(Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context))
  return {
    whole: { url: `${address}/v1/runs?wait=10`, body: { agent: "bench", input: "0" } },
    stream: (deltas) => ({ url: `${address}/v1/runs/stream`, body: { agent: "bench", input: String(deltas) } })
  }
}
