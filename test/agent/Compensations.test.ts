import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Handoff from "../../src/agent/Handoff.js"
import type * as AgentEvent from "../../src/domain/AgentEvent.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import type * as ToolContract from "../../src/tool/definition/ToolContract.js"

class Refused extends Schema.TaggedError<Refused>()("Refused", { message: Schema.String }) {}

/** What the tools of a test did and undid. */
class Desk {
  readonly did: Array<string> = []
  readonly infos: Array<ToolContract.CompensationInfo> = []

  /** Books a place, and cancels what it booked. */
  readonly book = (
    name = "book",
    options: {
      readonly wait?: Effect.Effect<void>
      readonly cancel?: (id: string) => Effect.Effect<unknown, unknown>
      readonly requiresApproval?: boolean
      readonly retries?: number
      readonly timeout?: string
    } = {}
  ) =>
    Tool.make(name, {
      description: "Books a place",
      parameters: { place: Schema.String },
      success: Schema.Struct({ id: Schema.String }),
      ...(options.requiresApproval === true ? { requiresApproval: true } : {}),
      ...(options.retries === undefined ? {} : { retries: options.retries }),
      ...(options.timeout === undefined ? {} : { timeout: options.timeout as "1 second" }),
      retryable: () => true,
      handler: ({ place }) =>
        Effect.zipRight(
          options.wait ?? Effect.void,
          Effect.sync(() => {
            this.did.push(`${name} ${place}`)
            return { id: `#${place}` }
          })
        ),
      compensate: ({ place }, { id }, info) =>
        Effect.suspend(() => {
          this.infos.push(info)
          this.did.push(`undo ${name} ${place} ${id}`)
          return options.cancel?.(place) ?? Effect.void
        })
    })

  /** Ends the run. */
  readonly fail = Tool.make("fail", {
    description: "Fails",
    fatal: true,
    failure: Refused,
    handler: () => Effect.fail(new Refused({ message: "no" }))
  })
}

const ask = (name: string, place: string) => ({ name, params: { place } })

/** Calls by steps, then an answer. */
const script = (...steps: ReadonlyArray<ReadonlyArray<{ readonly name: string; readonly params?: unknown }>>) =>
  TestModel.layer((request: LlmClient.LlmRequest): TestModel.Turn => {
    const done = request.messages.filter(({ role }) => role === "tool").length
    const calls = steps[done]
    return calls === undefined ? { text: "done" } : { calls }
  })

/** Runs the agent to its end, whatever it is. */
const ended = (
  agent: Agent.Agent<any, any, AgentExecutor.AgentExecutor>,
  model: Layer.Layer<LlmClient.LlmClient>,
  more: object = {}
) =>
  Effect.gen(function* () {
    const events: Array<AgentEvent.AgentEvent> = []
    const exit = yield* Effect.exit(
      Stream.runForEach(AgentExecutor.stream(agent, { input: "go", ...more }), (event) =>
        Effect.sync(() => void events.push(event))
      )
    )
    const compensated = events.flatMap((event) => (event._tag === "ToolCompensated" ? [event] : []))
    return { exit, events, compensated }
  }).pipe(Effect.provide(Layer.provide(Agents.layer(), model)))

describe("compensations of a run in its process", () => {
  it.effect("undo the calls of a failed run in reverse order, with parameters, results and keys", () =>
    Effect.gen(function* () {
      const desk = new Desk()
      const agent = Agent.make("a", { tools: [desk.book(), desk.fail] })
      const { compensated, events, exit } = yield* ended(
        agent,
        script([ask("book", "hotel")], [ask("book", "flight")], [{ name: "fail" }])
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(desk.did, [
        "book hotel",
        "book flight",
        "undo book flight #flight",
        "undo book hotel #hotel"
      ])
      assert.deepStrictEqual(
        compensated.map(({ attempts, isFailure, name, step }) => ({ attempts, isFailure, name, step })),
        [
          { attempts: 1, isFailure: false, name: "book", step: 2 },
          { attempts: 1, isFailure: false, name: "book", step: 1 }
        ]
      )
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      assert.strictEqual(events.at(-1)?._tag, "Error")
      const [second, first] = desk.infos
      assert.strictEqual(second?.reason, "failed")
      assert.notStrictEqual(first?.idempotencyKey, first?.callKey)
      assert.strictEqual(
        new Set(desk.infos.flatMap(({ callKey, idempotencyKey }) => [callKey, idempotencyKey])).size,
        4
      )
    })
  )

  it.effect("do not run if the run succeeds", () =>
    Effect.gen(function* () {
      const desk = new Desk()
      const { compensated, exit } = yield* ended(Agent.make("a", { tools: [desk.book()] }), script([ask("book", "x")]))
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual([desk.did, compensated], [["book x"], []])
    })
  )

  it.effect("run when the run is interrupted, before it has ended", () =>
    Effect.gen(function* () {
      const desk = new Desk()
      const working = yield* Deferred.make<void>()
      const wait = Tool.make("wait", {
        description: "Waits",
        handler: () => Effect.zipRight(Deferred.succeed(working, undefined), Effect.never)
      })
      const agent = Agent.make("a", { tools: [desk.book(), wait] })
      const run = yield* Effect.fork(
        AgentExecutor.run(agent, "go").pipe(
          Effect.provide(Layer.provide(Agents.layer(), script([ask("book", "x")], [{ name: "wait" }])))
        )
      )
      yield* Deferred.await(working)
      yield* Fiber.interrupt(run)
      assert.deepStrictEqual(desk.did, ["book x", "undo book x #x"])
      assert.strictEqual(desk.infos[0]?.reason, "interrupted")
    })
  )

  it.effect("go on after one that fails, dies or takes too long, and say which calls are not undone", () =>
    Effect.gen(function* () {
      const desk = new Desk()
      const agent = Agent.make("a", {
        tools: [
          desk.book("one"),
          desk.book("two", { cancel: () => new Refused({ message: "too late" }), retries: 0 }),
          desk.book("three", { cancel: () => Effect.dieMessage("bug") }),
          desk.book("four", { cancel: () => Effect.never, timeout: "1 second", retries: 0 }),
          desk.fail
        ]
      })
      const names = ["one", "two", "three", "four"]
      const run = yield* Effect.fork(ended(agent, script(...names.map((name) => [ask(name, "x")]), [{ name: "fail" }])))
      yield* TestClock.adjust("10 seconds")
      const { compensated } = yield* Fiber.join(run)
      assert.deepStrictEqual(
        compensated.map(({ error, isFailure, name }) => [name, isFailure, error?.tag]),
        [
          ["four", true, "ToolCompensationError"],
          ["three", true, "ToolCompensationError"],
          ["two", true, "ToolCompensationError"],
          ["one", false, undefined]
        ]
      )
      assert.include(compensated[2]?.error?.message, "too late")
    })
  )

  it.effect("are retried as the tool says", () =>
    Effect.gen(function* () {
      const desk = new Desk()
      const agent = Agent.make("a", {
        tools: [
          desk.book("book", {
            retries: 1,
            cancel: () => (desk.infos.length === 1 ? new Refused({ message: "busy" }) : Effect.void)
          }),
          desk.fail
        ]
      })
      const run = yield* Effect.fork(ended(agent, script([ask("book", "x")], [{ name: "fail" }])))
      yield* TestClock.adjust("10 seconds")
      const { compensated } = yield* Fiber.join(run)
      assert.deepInclude(compensated[0], { isFailure: false, attempts: 2, durationMs: 1000 })
      assert.deepStrictEqual(
        desk.infos.map(({ attempt }) => attempt),
        [1, 2]
      )
      assert.strictEqual(desk.infos[0]?.idempotencyKey, desk.infos[1]?.idempotencyKey)
    })
  )

  it.effect("follow the order in which parallel calls ended", () =>
    Effect.gen(function* () {
      const desk = new Desk()
      const agent = Agent.make("a", {
        tools: [desk.book("slow", { wait: Effect.sleep("2 seconds") }), desk.book("fast"), desk.fail]
      })
      const run = yield* Effect.fork(ended(agent, script([ask("slow", "x"), ask("fast", "y")], [{ name: "fail" }])))
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(run)
      assert.deepStrictEqual(desk.did, ["fast y", "slow x", "undo slow x #x", "undo fast y #y"])
    })
  )

  it.effect("leave out calls that were denied or failed", () =>
    Effect.gen(function* () {
      const desk = new Desk()
      const agent = Agent.make("a", {
        tools: [
          desk.book("denied", { requiresApproval: true }),
          desk.book("failing", { wait: Effect.fail(new Refused({ message: "full" })) as never, retries: 0 }),
          desk.fail
        ]
      })
      const { compensated } = yield* ended(
        agent,
        script([ask("denied", "x")], [ask("failing", "y")], [{ name: "fail" }])
      )
      assert.deepStrictEqual([desk.did, compensated], [[], []])
    }).pipe(Effect.provide(ApprovalGate.layerDeny))
  )

  it.effect("report a call that was cut off, and one that ran out of time, as not undone", () =>
    Effect.gen(function* () {
      const desk = new Desk()
      const agent = Agent.make("a", {
        limits: { timeout: "10 seconds" },
        tools: [
          desk.book("book"),
          desk.book("late", { wait: Effect.never, timeout: "1 second", retries: 0 }),
          desk.book("cut", { wait: Effect.never, timeout: "1 hour" })
        ]
      })
      const run = yield* Effect.fork(ended(agent, script([ask("book", "x")], [ask("late", "y")], [ask("cut", "z")])))
      yield* TestClock.adjust("20 seconds")
      const { compensated } = yield* Fiber.join(run)
      assert.deepStrictEqual(
        compensated.map(({ isFailure, name }) => [name, isFailure]),
        [
          ["late", true],
          ["cut", true],
          ["book", false]
        ]
      )
      assert.include(compensated[0]?.error?.message, "Nobody knows")
    })
  )

  it.effect("do not run where the policy of the run says so", () =>
    Effect.gen(function* () {
      const desk = new Desk()
      const inner = Agent.make("inner", { tools: [desk.book(), desk.fail] })
      const agent = Agent.make("a", { tools: [AgentTool.make(inner), desk.fail] })
      const { compensated } = yield* ended(
        agent,
        TestModel.layer((request) => {
          const isInner = request.tools?.some(({ name }) => name === "book") === true
          const done = request.messages.filter(({ role }) => role === "tool").length
          if (isInner) return done === 0 ? { calls: [ask("book", "x")] } : { calls: [{ name: "fail" }] }
          return done === 0
            ? { calls: [{ name: "delegate_to_inner", params: { message: "go" } }] }
            : { calls: [{ name: "fail" }] }
        }),
        { policy: { compensate: false } }
      )
      assert.deepStrictEqual([desk.did, compensated], [["book x"], []])
    })
  )
})

/** An agent that asks another one, which books; both fail where their list says so. */
const nested = (desk: Desk, fails: { readonly inner: boolean; readonly outer: boolean }) => {
  const inner = Agent.make("inner", { tools: [desk.book("inside"), desk.fail] })
  const agent = Agent.make("a", { tools: [desk.book("before"), AgentTool.make(inner), desk.book("after"), desk.fail] })
  const model = TestModel.layer((request): TestModel.Turn => {
    const isInner = request.tools?.some(({ name }) => name === "inside") === true
    const done = request.messages.filter(({ role }) => role === "tool").length
    const own = isInner
      ? [ask("inside", "i"), ...(fails.inner ? [{ name: "fail" }] : [])]
      : [
          ask("before", "b"),
          { name: "delegate_to_inner", params: { message: "go" } },
          ask("after", "c"),
          ...(fails.outer ? [{ name: "fail" }] : [])
        ]
    const next = own[done]
    return next === undefined ? { text: "done" } : { calls: [next] }
  })
  return ended(agent, model)
}

describe("compensations of runs inside a run", () => {
  it.effect("undo the calls of a sub-agent with those of the run around it", () =>
    Effect.gen(function* () {
      const desk = new Desk()
      const { compensated, events } = yield* nested(desk, { inner: false, outer: true })
      assert.deepStrictEqual(desk.did, [
        "before b",
        "inside i",
        "after c",
        "undo after c #c",
        "undo inside i #i",
        "undo before b #b"
      ])
      const child = events.find(({ agent }) => agent === "inner")?.runId
      assert.deepStrictEqual(
        compensated.map(({ agent, callRunId }) => [agent, callRunId]),
        [
          ["a", undefined],
          ["a", child],
          ["a", undefined]
        ]
      )
    })
  )

  it.effect("undo the calls of a sub-agent that fails, and no others if the run succeeds", () =>
    Effect.gen(function* () {
      const desk = new Desk()
      const { compensated, exit } = yield* nested(desk, { inner: true, outer: false })
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(desk.did, ["before b", "inside i", "undo inside i #i", "after c"])
      assert.deepStrictEqual(
        compensated.map(({ agent, callRunId }) => [agent, callRunId]),
        [["inner", undefined]]
      )
    })
  )

  it.effect("undo no call twice", () =>
    Effect.gen(function* () {
      const desk = new Desk()
      yield* nested(desk, { inner: true, outer: true })
      assert.strictEqual(desk.did.filter((what) => what.startsWith("undo inside")).length, 1)
      assert.deepStrictEqual(desk.did.slice(-2), ["undo after c #c", "undo before b #b"])
    })
  )

  it.effect("undo the calls of both agents of a handoff", () =>
    Effect.gen(function* () {
      const desk = new Desk()
      const second = Agent.make("second", { tools: [desk.book("second"), desk.fail] })
      const first = Agent.make("first", { tools: [desk.book("first"), Handoff.to(second)] })
      const model = TestModel.layer((request): TestModel.Turn => {
        const isSecond = request.tools?.some(({ name }) => name === "second") === true
        const done = JSON.stringify(request.messages)
        if (isSecond) return { calls: [done.includes("#s") ? { name: "fail" } : ask("second", "s")] }
        return { calls: [done.includes("#f") ? { name: "transfer_to_second" } : ask("first", "f")] }
      })
      const { exit } = yield* ended(first, model)
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(desk.did, ["first f", "second s", "undo second s #s", "undo first f #f"])
    })
  )

  it.effect("leave the calls of a run in the handler of a tool to that tool", () =>
    Effect.gen(function* () {
      const desk = new Desk()
      const inner = Agent.make("inner", { tools: [desk.book("inside")] })
      const trip = Tool.make("trip", {
        description: "Plans a trip",
        handler: () => Effect.as(Effect.orDie(AgentExecutor.run(inner, "trip")), "planned"),
        compensate: () => Effect.sync(() => void desk.did.push("undo trip"))
      })
      const model = TestModel.layer((request): TestModel.Turn => {
        const isInner = request.tools?.some(({ name }) => name === "inside") === true
        const done = request.messages.filter(({ role }) => role === "tool").length
        if (isInner) return done === 0 ? { calls: [ask("inside", "i")] } : { text: "done" }
        return { calls: [{ name: done === 0 ? "trip" : "fail" }] }
      })
      const agent = Agent.make("a", { tools: [trip, desk.fail] })
      yield* ended(agent, model)
      assert.deepStrictEqual(desk.did, ["inside i", "undo trip"])
    })
  )
})
