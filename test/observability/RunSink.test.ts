import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Collaborators from "../support/Collaborators.js"
import * as Runs from "../support/Runs.js"

const refused = new RunLog.RunLogError({ operation: "append", message: "the log is closed" })
const agent = Agent.make("a")

const lastOf = (events: ReadonlyArray<AgentEvent>) => {
  const last = events.at(-1)
  return last?._tag === "Error" ? (last.interrupted ? "interrupted" : last.error.tag) : last?._tag
}

const isWritten = ({ _tag }: AgentEvent) => _tag !== "TextDelta" && _tag !== "ReasoningDelta"

const rolls = (handler: Effect.Effect<number>) =>
  Agent.make("a", { tools: [Tool.make("roll", { description: "Rolls a die", handler: () => handler })] })

const rolled = [{ calls: [{ id: "c", name: "roll" }] }, "1"]

describe("RunSink", () => {
  it.effect("logs every event that a reader gets and the run folds, but for deltas", () => {
    const log = Collaborators.log()
    return Effect.gen(function* () {
      const { events } = yield* Runs.record(AgentExecutor.stream(agent, "hi"))
      assert.isAbove(events.length, log.events.length)
      assert.deepStrictEqual(log.events, events.filter(isWritten))
      log.events.length = 0
      const response = yield* AgentExecutor.run(agent, "hi")
      assert.deepStrictEqual(EventRecorder.violations(log.events), [])
      assert.strictEqual(log.events[0]?.runId, response.runId)
      assert.strictEqual(lastOf(log.events), "Finished")
    }).pipe(Effect.provide(Runs.layer(["1", "2"], { log: log.layer })))
  })

  it.effect("logs the end of runs that fail, are interrupted or lose their reader", () => {
    const log = Collaborators.log()
    return Effect.gen(function* () {
      yield* Effect.flip(AgentExecutor.run(agent, "hi"))
      assert.strictEqual(lastOf(log.events), "LlmUnavailableError")
      const running = yield* Effect.fork(AgentExecutor.run(agent, "hi"))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(running)
      assert.strictEqual(lastOf(log.events), "interrupted")
      log.events.length = 0
      yield* Stream.runDrain(Stream.take(AgentExecutor.stream(agent, "hi"), 1))
      assert.strictEqual(lastOf(log.events), "interrupted")
      assert.deepStrictEqual(EventRecorder.violations(log.events, { log: true }), [])
    }).pipe(
      Effect.provide(
        Runs.layer(
          [{ fail: Collaborators.overloaded }, { text: "late", delay: "1 hour" }, { text: "late", delay: "1 hour" }],
          {
            log: log.layer
          }
        )
      )
    )
  })

  it.effect("continues a run when the log fails, and offers everything again at the end", () => {
    const offered: Array<ReadonlyArray<AgentEvent>> = []
    const log = Collaborators.log({
      append: (events) =>
        Effect.zipRight(
          Effect.sync(() => offered.push(events)),
          refused
        )
    })
    return Effect.gen(function* () {
      const { events, exit } = yield* Runs.record(AgentExecutor.stream(rolls(Effect.succeed(4)), "hi"))
      assert.isTrue(Exit.isSuccess(exit))
      assert.strictEqual(offered.length, 2)
      assert.deepStrictEqual(offered.at(-1), events.filter(isWritten))
    }).pipe(Effect.provide(Runs.layer(rolled, { log: log.layer })))
  })

  it.effect("waits for a log that hangs once before a tool and once at the end, 5 seconds each", () => {
    const log = Collaborators.log({ append: () => Effect.never })
    return Effect.gen(function* () {
      const running = yield* Effect.fork(AgentExecutor.run(rolls(Effect.succeed(4)), "hi"))
      yield* TestClock.adjust("5 seconds")
      assert.isNull(running.unsafePoll())
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(running)).message, "1")
    }).pipe(Effect.provide(Runs.layer(rolled, { log: log.layer })))
  })

  it.effect("delays an interruption at most 5 seconds when the log hangs", () => {
    const log = Collaborators.log({ append: () => Effect.never })
    return Effect.gen(function* () {
      const running = yield* Effect.fork(AgentExecutor.run(agent, "hi"))
      yield* TestClock.adjust("1 second")
      const interruption = yield* Effect.fork(Fiber.interrupt(running))
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(Exit.isInterrupted(yield* Fiber.join(interruption)))
    }).pipe(Effect.provide(Runs.layer(["1"], { log: log.layer })))
  })

  it.effect("logs events of concurrent calls in order, each once", () => {
    const written: Array<AgentEvent> = []
    let writers = 0
    let most = 0
    const log = Collaborators.log({
      append: (events) =>
        Effect.gen(function* () {
          writers++
          most = Math.max(most, writers)
          yield* Effect.sleep("10 millis")
          written.push(...events)
          writers--
        })
    })
    const wait = Tool.make("wait", {
      description: "Waits",
      handler: (_params, call) => Effect.as(Effect.sleep(`${call.id.length} millis`), call.id)
    })
    return Effect.gen(function* () {
      const running = yield* Effect.fork(AgentExecutor.run(Agent.make("a", { tools: [wait] }), "hi"))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(running)
      assert.deepStrictEqual(EventRecorder.violations(written), [])
      assert.strictEqual(most, 1)
    }).pipe(
      Effect.provide(
        Runs.layer([{ calls: ["a", "bbbbb", "ccc", "dd"].map((id) => ({ id, name: "wait" })) }, "done"], {
          log: log.layer
        })
      )
    )
  })

  it.effect("repeats a write at the end that an interruption cut off", () => {
    const written: Array<AgentEvent> = []
    return Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      let first = true
      const log = Collaborators.log({
        append: (events) =>
          Effect.suspend(() => {
            if (!first) return Effect.sync(() => void written.push(...events))
            first = false
            return Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)
          })
      })
      const running = yield* Effect.fork(
        Effect.provide(AgentExecutor.run(rolls(Effect.succeed(4)), "hi"), Runs.layer(rolled, { log: log.layer }))
      )
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(running)
      assert.deepStrictEqual(EventRecorder.tags(written), [
        "Started",
        "StepStarted",
        "UsageReported",
        "NodeFinished",
        "ToolCall",
        "ToolResult",
        "Error"
      ])
    })
  })

  it.effect("collects nothing without a log", () => {
    const log = Collaborators.log({ enabled: false, append: () => Effect.dieMessage("nobody asked for it") })
    return Effect.gen(function* () {
      assert.strictEqual((yield* AgentExecutor.run(agent, "hi")).message, "1")
    }).pipe(Effect.provide(Runs.layer(["1"], { log: log.layer })))
  })
})
