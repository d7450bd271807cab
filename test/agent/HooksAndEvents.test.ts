import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as Guard from "../../src/guard/pipeline/Guard.js"
import * as GuardEvents from "../../src/guard/pipeline/GuardEvents.js"
import * as WindowGuard from "../../src/guard/pipeline/WindowGuard.js"
import * as AgentDomainEvents from "../../src/observability/AgentDomainEvents.js"
import * as AgentHooks from "../../src/observability/AgentHooks.js"
import * as DomainEvent from "../../src/observability/DomainEvent.js"
import * as EventBus from "../../src/observability/EventBus.js"
import * as Hooks from "../../src/observability/Hooks.js"
import * as LocalEventBus from "../../src/observability/LocalEventBus.js"
import type * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Runs from "../support/Runs.js"

const slow = Tool.make("slow", {
  description: "Takes a second",
  handler: () => Effect.as(Effect.sleep("1 second"), "done")
})

const agent = Agent.make("clerk", { tools: [slow] })
const script: Parameters<typeof TestModel.layer>[0] = [
  { calls: [{ name: "slow" }], delay: "1 second" },
  { text: "all done", delay: "1 second" }
]

const given = (options: Parameters<typeof Runs.layer>[1] = {}, turns = script) =>
  Layer.mergeAll(Runs.layer(turns, { hooks: Hooks.layer, ...options }), Hooks.layer)

/** What happened when, events of the run among the rest. */
const watched = (trace: Array<string>) => {
  const note = (what: string) => Effect.map(Clock.currentTimeMillis, (now) => void trace.push(`${now} ${what}`))
  return {
    note,
    run: (request: string) =>
      AgentExecutor.stream(agent, request).pipe(
        Stream.runForEach((event: AgentEvent) =>
          ["Started", "ToolCall", "ToolResult", "Finished"].includes(event._tag)
            ? Effect.sync(() => void trace.push(`${event.at} ${event._tag}`))
            : Effect.void
        )
      )
  }
}

const passing = (effect: Effect.Effect<unknown, unknown, any>, seconds: number) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    for (let second = 0; second < seconds; second++) yield* TestClock.adjust("1 second")
    return yield* Fiber.await(fiber)
  })

describe("hooks of a run", () => {
  it.effect("fire once at their point, before what they announce has ended", () => {
    const trace: Array<string> = []
    const { note, run } = watched(trace)
    return Effect.gen(function* () {
      yield* Hooks.on(AgentHooks.AgentStartedHook, ({ agentName }) => note(`started ${agentName}`))
      yield* Hooks.on(AgentHooks.AgentToolCalledHook, ({ toolName }) => note(`called ${toolName}`))
      yield* Hooks.on(AgentHooks.AgentCompletedHook, ({ success }) => note(`completed ${success}`))
      yield* passing(run("hi"), 5)
      assert.deepStrictEqual(trace, [
        "0 started clerk",
        "0 Started",
        "1000 called slow",
        "1000 ToolCall",
        "2000 ToolResult",
        "3000 completed true",
        "3000 Finished"
      ])
    }).pipe(Effect.scoped, Effect.provide(given()))
  })

  it.effect("report completion of failed and interrupted runs", () => {
    const ends: Array<unknown> = []
    return Effect.gen(function* () {
      yield* Hooks.on(AgentHooks.AgentCompletedHook, ({ error, interrupted, success }) =>
        Effect.sync(() => void ends.push([success, interrupted, error?.tag]))
      )
      yield* passing(AgentExecutor.run(agent.pipe(Agent.withLimits({ maxModelCalls: 1 })), "hi"), 5)
      const fiber = yield* Effect.fork(AgentExecutor.run(agent, "hi"))
      yield* TestClock.adjust("500 millis")
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(ends, [
        [false, false, "RunLimitExceededError"],
        [false, true, "InterruptedError"]
      ])
    }).pipe(Effect.scoped, Effect.provide(given({}, [...script.slice(0, 1), ...script.slice(0, 1)])))
  })

  it.effect("ignore a handler that fails or dies", () =>
    Effect.gen(function* () {
      yield* Hooks.on(AgentHooks.AgentStartedHook, () => Effect.fail("no"))
      yield* Hooks.on(AgentHooks.AgentCompletedHook, () => Effect.die("no"))
      yield* Hooks.on(AgentHooks.AgentToolCalledHook, () => Effect.die("no"))
      const exit = yield* passing(AgentExecutor.run(agent, "hi"), 5)
      assert.strictEqual(exit._tag, "Success")
    }).pipe(Effect.scoped, Effect.provide(given()))
  )

  it.effect("change message, arguments, observation and answer before guards see them", () => {
    const seen: Array<string> = []
    const looking = Guard.make({
      name: "looking",
      stages: ["input", "toolInput", "toolOutput", "output"],
      check: (content, { stage }) =>
        Effect.sync(() => {
          seen.push(`${stage}: ${content}`)
          return Guard.pass("looking")
        })
    })
    const echo = Tool.make("echo", {
      description: "Says it again",
      parameters: {},
      handler: () => Effect.succeed("echoed")
    })
    return Effect.gen(function* () {
      yield* Hooks.onFilter(AgentHooks.AgentInputFilter, (text) => Effect.succeed(`${text}!`))
      yield* Hooks.onFilter(AgentHooks.AgentToolParamsFilter, (_, { toolName }) => Effect.succeed({ by: toolName }))
      yield* Hooks.onFilter(AgentHooks.AgentObservationFilter, (text) => Effect.succeed(text.toUpperCase()))
      yield* Hooks.onFilter(AgentHooks.AgentAnswerFilter, (text) => Effect.succeed(`<${text}>`))
      const response = yield* AgentExecutor.run(Agent.make("a", { tools: [echo] }), "hi")
      assert.strictEqual(response.message, "<bye>")
      assert.strictEqual(response.input, "hi!")
      assert.strictEqual(response.toolCalls[0]?.observation, "ECHOED")
      assert.deepStrictEqual(seen, ["input: hi!", 'toolInput: {"by":"echo"}', "toolOutput: ECHOED", "output: <bye>"])
    }).pipe(
      Effect.scoped,
      Effect.provide(
        given({ guards: DefaultGuardPipeline.layerGuards([looking]) }, [{ calls: [{ name: "echo" }] }, "bye"])
      )
    )
  })
})

describe("domain events of a run", () => {
  const bus = LocalEventBus.layer()
  const told = (
    effect: Effect.Effect<unknown, unknown, any>,
    count: number,
    { turns, ...rest }: Parameters<typeof Runs.layer>[1] & { readonly turns?: typeof script } = {}
  ) =>
    Effect.gen(function* () {
      const events = yield* Effect.flatMap(EventBus.EventBus, (one) => one.listen(DomainEvent.any))
      yield* TestClock.adjust("1 millis")
      yield* passing(effect, 5)
      return Chunk.toReadonlyArray(yield* Stream.runCollect(Stream.take(events, count))) as ReadonlyArray<any>
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(Runs.layer(turns ?? script, { events: bus, ...rest }), bus)))

  it.effect("are published once, in order", () =>
    Effect.gen(function* () {
      const events = yield* told(AgentExecutor.run(agent, { input: "hi", userId: "ada" }), 4)
      assert.deepStrictEqual(
        events.map(({ eventType, occurredAt, sequenceNumber }) => [eventType, occurredAt, sequenceNumber]),
        [
          ["AgentExecutionStartedEvent", 1, 1],
          ["ToolExecutionCompletedEvent", 2001, 2],
          ["AgentExecutionCompletedEvent", 3001, 3],
          ["AgentRunCompletedEvent", 3001, 4]
        ]
      )
      assert.deepInclude(events[1], { toolName: "slow", agentId: "clerk", success: true })
      assert.deepInclude(events[2], { agentName: "clerk", toolCalls: 1, durationMs: 3000 })
      assert.deepInclude(events[3], { agentId: "clerk", toolCallsCount: 1, success: true })
      assert.strictEqual(new Set(events.map(({ aggregateId }) => aggregateId)).size, 1)
      assert.isTrue(events.every(({ actorId }) => actorId === "ada"))
    })
  )

  it.effect("report a failed run as failed", () =>
    Effect.gen(function* () {
      const events = yield* told(AgentExecutor.run(agent.pipe(Agent.withLimits({ maxModelCalls: 1 })), "hi"), 4, {
        turns: script.slice(0, 1)
      })
      assert.deepStrictEqual(
        events.map(({ eventType }) => eventType),
        [
          "AgentExecutionStartedEvent",
          "ToolExecutionCompletedEvent",
          "AgentExecutionFailedEvent",
          "AgentRunCompletedEvent"
        ]
      )
      assert.isTrue(AgentDomainEvents.AgentExecutionFailedEvent.is(events[2]))
      assert.strictEqual(events[2].errorType, "RunLimitExceededError")
      assert.isFalse(events[3].success)
    })
  )

  it.effect("report guard actions once, even for streamed answers", () =>
    Effect.gen(function* () {
      const guard = WindowGuard.make({
        name: "digits",
        stages: ["output"],
        window: {
          reach: 4,
          find: (text) =>
            Array.from(text.matchAll(/\d{2,4}/g), (match) => ({
              start: match.index,
              end: match.index + match[0].length,
              label: "DIGITS",
              action: "redact" as const
            }))
        }
      })
      const events = yield* told(Stream.runDrain(AgentExecutor.stream(Agent.make("a"), "hi")), 4, {
        guards: DefaultGuardPipeline.layerGuards([guard]),
        turns: [{ text: ["my number is 12", "34, call ", "me"] }]
      })
      assert.deepStrictEqual(
        events.map(({ eventType }) => eventType),
        [
          "AgentExecutionStartedEvent",
          "OutputGuardTriggeredEvent",
          "AgentExecutionCompletedEvent",
          "AgentRunCompletedEvent"
        ]
      )
      assert.isTrue(GuardEvents.OutputGuardTriggeredEvent.is(events[1]))
    })
  )
})
