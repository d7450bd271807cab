import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { RunId } from "../../src/domain/Ids.js"
import * as LlmResilience from "../../src/llm/LlmResilience.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import { LlmUnavailableError } from "../../src/llm/model/LlmError.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as Run from "../../src/observability/Run.js"

const request: LlmClient.LlmRequest = { messages: [{ role: "user", content: "hi" }] }
const answer: LlmClient.LlmResponse = { content: [{ type: "text", text: "yes" }], finishReason: "stop", usage: {} }

/** Fails, hangs, then answers. */
const patient = () => {
  let calls = 0
  const client: LlmClient.Service = {
    provider: "test",
    complete: () =>
      Effect.suspend(() => {
        calls++
        if (calls === 1) return Effect.fail(new LlmUnavailableError({ provider: "test", message: "busy" }))
        return calls === 2 ? Effect.never : Effect.succeed(answer)
      })
  }
  return { client, calls: () => calls }
}

describe("LlmResilience", () => {
  it.effect("gives each attempt its own timeout and retries", () =>
    Effect.gen(function* () {
      const model = patient()
      const fiber = yield* Effect.fork(
        LlmGateway.complete(request).pipe(
          Effect.provide(
            LlmResilience.layer({ retry: { base: "1 second", jitter: false }, timeout: { whole: "10 seconds" } }).pipe(
              Layer.provide(LlmGateway.layer(model.client))
            )
          )
        )
      )
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("10 seconds")
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(LlmClient.text(yield* Fiber.join(fiber)), "yes")
      assert.strictEqual(model.calls(), 3)
    })
  )

  it.effect("reports each retry to the run", () =>
    Effect.gen(function* () {
      const events: Array<AgentEvent> = []
      const run = Run.make({
        runId: RunId.make("r"),
        agent: "a",
        clock: yield* Effect.clock,
        sink: { live: false, settle: () => undefined, push: (event) => void events.push(event) }
      })
      const model = patient()
      const fiber = yield* Effect.fork(
        LlmGateway.complete(request).pipe(
          Effect.provide(
            LlmResilience.layer({
              retry: { base: "1 second", jitter: false, maxRetries: 1 },
              timeout: { whole: "5 seconds" }
            }).pipe(Layer.provide(LlmGateway.layer(model.client)))
          ),
          Effect.provideService(Run.Run, run),
          Effect.flip
        )
      )
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "LlmTimeoutError")
      assert.deepStrictEqual(
        events.map((event) => (event._tag === "Degraded" ? event.error.tag : event._tag)),
        // The try that ran out of time had gone out: it is paid for.
        ["LlmUnavailableError", "UsageReported"]
      )
    })
  )
})
