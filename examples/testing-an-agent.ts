/**
 * Test of an agent: the model is a script, the clock is a `TestClock`, and nothing waits. With `@effect/vitest` the
 * bodies below go into `it.effect`, which provides the test services; here they run by themselves.
 */
import * as Assert from "node:assert/strict"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import { Agent, AgentExecutor, AgentResponse, Agents, Tool } from "effect-lexigram"
import { EventRecorder, TestModel } from "effect-lexigram/testing"

const oven = Tool.make("preheat", {
  description: "Heats the oven",
  handler: () => Effect.as(Effect.sleep("10 minutes"), "220 degrees"),
  timeout: "15 minutes"
})

const baker = Agent.make("baker", { system: "You bake.", tools: [oven], limits: { timeout: "1 hour" } })

const model = TestModel.layer([
  { calls: [{ name: "preheat" }], expect: (request) => request.tools?.[0]?.name === "preheat" },
  { text: "The bread is in.", delay: "1 minute" }
])

const test = <E>(name: string, body: Effect.Effect<void, E, AgentExecutor.AgentExecutor | TestModel.TestModel>) =>
  body.pipe(
    Effect.provide(Layer.mergeAll(Layer.provideMerge(Agents.layer(), model), TestContext.TestContext)),
    Effect.zipRight(Effect.sync(() => console.log("passed:", name)))
  )

const heats = test(
  "heats the oven before it answers",
  Effect.gen(function* () {
    const running = yield* Effect.fork(AgentExecutor.run(baker, "Bread, please"))
    yield* TestClock.adjust("11 minutes")
    const response = yield* Fiber.join(running)
    Assert.equal(response.message, "The bread is in.")
    Assert.equal(response.durationMs, 11 * 60_000)
    Assert.deepEqual(
      AgentResponse.successfulToolCalls(response).map((call) => call.result),
      ["220 degrees"]
    )
    // What the model received the second time.
    const requests = yield* TestModel.requests
    Assert.deepEqual(
      requests[1]?.messages.map((message) => message.role),
      ["system", "user", "assistant", "tool"]
    )
  })
)

const wellFormed = test(
  "its events are well formed",
  Effect.gen(function* () {
    const running = yield* Effect.fork(EventRecorder.record(AgentExecutor.stream(baker, "Bread, please")))
    yield* TestClock.adjust("11 minutes")
    const { events } = yield* Fiber.join(running)
    Assert.deepEqual(EventRecorder.violations(events), [])
    Assert.equal(EventRecorder.tags(events).at(-1), "Finished")
  })
)

await Effect.runPromise(Effect.zipRight(heats, wellFormed))
