/** What tools tell while they work. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as LengthGuard from "../../src/guard/LengthGuard.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolProgress from "../../src/tool/ToolProgress.js"
import * as Runs from "../support/Runs.js"

const tool = (handler: Effect.Effect<unknown, never>, options: object = {}) =>
  Tool.make("work", { description: "Works", handler: () => handler, ...options })

const script = [{ calls: [{ name: "work" }] }, "done"]

const told = (work: Tool.Any, options: object = {}, turns: Parameters<typeof Runs.layer>[0] = script) =>
  Effect.map(
    Runs.record(AgentExecutor.stream(Agent.make("a", { tools: [work], ...options } as never), "hi")).pipe(
      Effect.provide(Runs.layer(turns))
    ),
    ({ events }) => ({
      events,
      progress: Runs.of(events, "ToolProgress").map(({ agent, at, runId, seq, _tag, step, ...rest }) => rest)
    })
  )

const pause = Effect.yieldNow()
const later = TestClock.adjust(ToolProgress.interval)

describe("ToolProgress.report", () => {
  it.effect("is an event between the call and its result", () =>
    Effect.gen(function* () {
      const { events, progress } = yield* told(
        tool(
          Effect.gen(function* () {
            yield* ToolProgress.report({ message: "Reading", done: 1, total: 3 })
            yield* later
            yield* ToolProgress.report({ partial: { pages: ["one"] } })
            return "read"
          })
        )
      )
      assert.deepStrictEqual(progress, [
        { id: progress[0]?.id as string, name: "work", message: "Reading", done: 1, total: 3 },
        { id: progress[0]?.id as string, name: "work", partial: { pages: ["one"] } }
      ] as never)
      assert.strictEqual(progress[0]?.id, Runs.of(events, "ToolCall")[0]?.id)
      assert.deepStrictEqual(
        EventRecorder.tags(events).filter((tag) => tag.startsWith("Tool")),
        ["ToolCall", "ToolProgress", "ToolProgress", "ToolResult"]
      )
      assert.deepStrictEqual(EventRecorder.violations(events), [])
    })
  )

  it.effect("is one event for many reports, the last of them before the result", () =>
    Effect.gen(function* () {
      const { progress } = yield* told(
        tool(
          Effect.gen(function* () {
            for (let i = 0; i < 100_000; i++) yield* ToolProgress.report({ done: i })
            yield* later
            for (let i = 100_000; i < 200_000; i++) yield* ToolProgress.report({ done: i })
          })
        )
      )
      assert.deepStrictEqual(
        progress.map(({ done }) => done),
        [0, 100_000, 199_999]
      )
    })
  )

  it.effect("is bounded, and shows no more than plain numbers, texts and data", () =>
    Effect.gen(function* () {
      const circular: Record<string, unknown> = {}
      circular["self"] = circular
      const reports: ReadonlyArray<unknown> = [
        { message: "x".repeat(100_000), partial: "y".repeat(100_000) },
        { partial: { deep: "z".repeat(100_000) } },
        { done: Number.NaN, total: -1, message: 3 },
        { partial: circular },
        { done: Number.POSITIVE_INFINITY, partial: 7n }
      ]
      const { progress } = yield* told(
        tool(Effect.forEach(reports, (one) => Effect.zipRight(ToolProgress.report(one as never), later)))
      )
      const sizes = progress.map((one) => JSON.stringify(one).length)
      assert.lengthOf(progress, reports.length)
      for (const size of sizes) assert.isAtMost(size, 6_000)
      assert.notProperty(progress[2], "done")
      assert.notProperty(progress[2], "message")
    })
  )

  it.effect("after the end of the call shows nothing, and outside of a call neither", () =>
    Effect.gen(function* () {
      yield* ToolProgress.report({ message: "nobody" })
      const end = yield* Deferred.make<void>()
      let fiber: Fiber.RuntimeFiber<void> | undefined
      const late = Effect.zipRight(Deferred.await(end), ToolProgress.report({ message: "late" }))
      const { progress } = yield* told(
        tool(
          Effect.map(Effect.forkDaemon(late), (forked) => {
            fiber = forked
          })
        ),
        {},
        [
          ...script.slice(0, 1),
          () => Effect.as(Effect.zipRight(Deferred.succeed(end, undefined), pause), { text: "done" })
        ] as never
      )
      if (fiber !== undefined) yield* Fiber.join(fiber)
      assert.isEmpty(progress)
    })
  )

  it.effect("belongs to its own call, of parallel ones and of those of inner agents", () =>
    Effect.gen(function* () {
      const named = (name: string) =>
        Tool.make(name, {
          description: "Works",
          handler: () => Effect.zipRight(pause, ToolProgress.report({ message: name }))
        })
      const inner = Agent.make("inner", { tools: [named("deep")] })
      const asked = AgentTool.make(inner, { name: "ask", description: "Asks" })
      const { events } = yield* Runs.record(
        AgentExecutor.stream(Agent.make("outer", { tools: [named("a"), named("b"), asked] }), "hi")
      ).pipe(
        Effect.provide(
          Runs.layer((request) =>
            request.messages.some(({ content }) => content === "go deep")
              ? request.messages.some(({ role }) => role === "tool")
                ? "inner done"
                : { calls: [{ name: "deep" }] }
              : request.messages.some(({ role }) => role === "tool")
                ? "done"
                : { calls: [{ name: "a" }, { name: "b" }, { name: "ask", params: { message: "go deep" } }] }
          )
        )
      )
      const calls = new Map(Runs.of(events, "ToolCall").map(({ id, name, runId }) => [`${runId} ${id}`, name]))
      const progress = Runs.of(events, "ToolProgress")
      assert.sameMembers(
        progress.map(({ message }) => message),
        ["a", "b", "deep"]
      )
      for (const { id, message, name, runId } of progress) {
        assert.deepStrictEqual([name, calls.get(`${runId} ${id}`)], [message, message] as never)
      }
    })
  )

  it.effect("of an attempt that timed out is followed by that of the next", () =>
    Effect.gen(function* () {
      let attempt = 0
      const work = tool(
        Effect.suspend(() => {
          attempt++
          const report = ToolProgress.report({ message: `attempt ${attempt}` })
          return attempt === 1 ? Effect.zipRight(report, Effect.never) : report
        }),
        { timeout: "1 second", idempotent: true }
      )
      const fiber = yield* Effect.fork(told(work))
      yield* TestClock.adjust("10 seconds")
      const { progress } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        progress.map(({ message }) => message),
        ["attempt 1", "attempt 2"]
      )
    })
  )

  it.effect("shows numbers alone where guards judge results of tools", () =>
    Effect.gen(function* () {
      const work = tool(ToolProgress.report({ message: "a secret", partial: "a secret", done: 1 }))
      const guards = [LengthGuard.make({ maxChars: 1_000, stages: ["toolOutput"] })]
      const { progress } = yield* told(work, { guards })
      assert.deepStrictEqual(progress as unknown, [{ id: progress[0]?.id, name: "work", done: 1 }])
    })
  )

  it.effect("is not kept by logs, of runs with a reader and without", () => {
    const log = RunLog.layerMemory()
    return Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [tool(ToolProgress.report({ message: "unread" }))] })
      const { events } = yield* Runs.record(AgentExecutor.stream(agent, "hi"))
      const { runId } = yield* AgentExecutor.run(agent, "hi")
      assert.lengthOf(Runs.of(events, "ToolProgress"), 1)
      const kept = yield* RunLog.RunLog
      for (const id of [events[0]?.runId, runId]) {
        const read = yield* SystemAccess.grant(kept.read(id as never))
        assert.include(JSON.stringify(read), "ToolResult")
        assert.notInclude(JSON.stringify(read), "ToolProgress")
      }
    }).pipe(Effect.provide(Layer.provideMerge(Runs.layer([...script, ...script], { log }), log)))
  })
})
