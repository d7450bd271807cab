import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import type { AgentExecutor } from "../../../src/agent/AgentExecutor.js"
import * as Agents from "../../../src/agent/Agents.js"
import * as AgentTool from "../../../src/agent/AgentTool.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as InMemoryRunStore from "../../../src/agent/record/InMemoryRunStore.js"
import * as RunErrors from "../../../src/agent/record/RunError.js"
import * as RunStore from "../../../src/agent/record/RunStore.js"
import * as Steering from "../../../src/agent/record/Steering.js"
import { KEPT, LiveRun } from "../../../src/agent/runs/LiveRun.js"
import * as LocalRuns from "../../../src/agent/runs/LocalRuns.js"
import * as Runs from "../../../src/agent/runs/Runs.js"
import { type AgentEvent, isTerminal } from "../../../src/domain/AgentEvent.js"
import { RunId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as NextTurn from "../../../src/internal/fiber/NextTurn.js"
import * as Parallel from "../../../src/internal/fiber/Parallel.js"
import * as RunLog from "../../../src/observability/RunLog.js"
import { shown } from "../../../src/testing/runs/RunsCase.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as PendingApprovals from "../../../src/tool/approval/PendingApprovals.js"
import * as Tool from "../../../src/tool/definition/Tool.js"

interface Setup {
  readonly options?: Omit<LocalRuns.Options<ReadonlyArray<Agent.Agent<unknown, unknown, AgentExecutor>>>, "agents">
  readonly agents?: ReadonlyArray<Agent.Agent<unknown, unknown, AgentExecutor>>
  readonly script?: Parameters<typeof TestModel.layer>[0]
  readonly log?: Layer.Layer<RunLog.RunLog>
  readonly store?: RunStore.Service
}

const helper = Agent.make("helper", { system: "helper" })

class Broken extends Schema.TaggedError<Broken>()("Broken", { message: Schema.String }) {}

const layer = ({ agents = [helper], log = RunLog.layerMemory(), options, script = () => "hi", store }: Setup = {}) => {
  const steering = Steering.layer()
  const approvals = PendingApprovals.layerMemory()
  const stores = store === undefined ? InMemoryRunStore.layer() : Layer.succeed(RunStore.RunStore, store)
  const executor = Layer.provide(Agents.layerWith({ log, steering, approvals }), TestModel.layer(script))
  return LocalRuns.layer({ agents, ...options }).pipe(
    Layer.provide([executor, steering, approvals]),
    Layer.provideMerge(Layer.merge(stores, log))
  )
}

/** A tool that says when it works, and waits. */
const worker = Effect.map(Effect.all([Deferred.make<void>(), Deferred.make<void>()]), ([begun, gate]) => {
  let going = 0
  const work = Tool.make("work", {
    description: "Works",
    handler: () =>
      Effect.acquireUseRelease(
        Effect.zipRight(
          Effect.sync(() => void going++),
          Deferred.succeed(begun, undefined)
        ),
        () => Effect.as(Deferred.await(gate), "worked"),
        () => Effect.sync(() => void going--)
      )
  })
  const script: Setup["script"] = (request) =>
    request.messages.some(({ role }) => role === "tool") ? "done" : { calls: [{ name: "work" }] }
  return {
    begun: Deferred.await(begun),
    open: Deferred.succeed(gate, undefined),
    going: () => going,
    script,
    agents: [Agent.make("helper", { system: "helper", tools: [work] })]
  }
})

const ask = (input: string, fields?: Partial<Runs.StartRequest>) => Runs.start({ agent: "helper", input, ...fields })

const states = Effect.map(Runs.list(), ({ records }) => records.map(({ state }) => state))

const turns = (count: number) => Effect.repeatN(NextTurn.nextTurn, count)

const all = (runId: string, options?: Runs.EventsOptions) =>
  Effect.map(Stream.runCollect(Runs.events(runId, options)), Chunk.toReadonlyArray)

describe("LocalRuns", () => {
  it.effect("fails when two agents have the same name, and when the log keeps nothing", () =>
    Effect.gen(function* () {
      const twice = yield* Effect.flip(Layer.build(layer({ agents: [helper, helper] })))
      assert.strictEqual(twice._tag, "AgentConfigurationError")
      assert.strictEqual(twice.agentName, "helper")
      const unlogged = yield* Effect.flip(Layer.build(layer({ log: RunLog.layerNoop })))
      assert.include(unlogged.message, "log")
    }).pipe(Effect.scoped)
  )

  it.effect("queues runs beyond `maxRunning`, and refuses those beyond `maxQueued`", () =>
    Effect.gen(function* () {
      const { agents, open, script } = yield* worker
      yield* Effect.gen(function* () {
        yield* ask("1", { runId: "1" })
        yield* ask("2", { runId: "2" })
        yield* ask("3", { runId: "3" })
        const refused = yield* Effect.flip(ask("4", { runId: "4" }))
        assert.strictEqual(refused.reason, "full")
        assert.isDefined(refused.hint)
        // A known run needs no place.
        assert.strictEqual((yield* ask("3", { runId: "3" })).state, "queued")
        assert.strictEqual((yield* Effect.flip(ask("other", { runId: "3" }))).reason, "conflict")
        assert.deepStrictEqual(yield* states, ["queued", "queued", "running"])
        assert.strictEqual((yield* Runs.interrupt("2")).state, "interrupted")
        assert.deepStrictEqual(yield* all("2"), [])
        assert.strictEqual((yield* Effect.flip(Runs.await("2")))._tag, "RunFailedError")
        yield* ask("4", { runId: "4" })
        yield* open
        for (const id of ["1", "3", "4"]) assert.strictEqual((yield* Runs.await(id)).message, "done")
        assert.deepStrictEqual(yield* states, ["completed", "completed", "interrupted", "completed"])
      }).pipe(Effect.provide(layer({ agents, script, options: { maxRunning: 1, maxQueued: 2 } })))
    })
  )

  it.effect("records the version of an agent", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ask("hello")).version, "helper 3")
    }).pipe(Effect.provide(layer({ options: { versionOf: ({ name }) => `${name} 3` } })))
  )

  it.effect("interrupts its runs when its scope is closed, records it, and starts no more", () =>
    Effect.gen(function* () {
      const { agents, begun, going, script } = yield* worker
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(layer({ agents, script, options: { maxRunning: 1 } }), scope)
      const runs = Context.get(context, Runs.Runs)
      const store = Context.get(context, RunStore.RunStore)
      const [first, second] = [
        yield* runs.start({ agent: "helper", input: "1" }),
        yield* runs.start({ agent: "helper", input: "2" })
      ]
      yield* begun
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(going(), 0)
      for (const { runId } of [first, second]) {
        assert.strictEqual(Option.getOrThrow(yield* store.get(runId)).state, "interrupted")
      }
      const events = yield* Context.get(context, RunLog.RunLog).read(first.runId)
      const last = events.at(-1)
      assert.isTrue(last?._tag === "Error" && last.interrupted)
      const error = yield* Effect.flip(runs.start({ agent: "helper", input: "3" }))
      assert.strictEqual(error.reason, "full")
    })
  )

  it.effect("ends a run whose record was being written when the scope was closed", () =>
    Effect.gen(function* () {
      const memory = InMemoryRunStore.make()
      const inserting = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const store: RunStore.Service = {
        ...memory,
        insert: (record, fingerprint) =>
          Deferred.succeed(inserting, undefined).pipe(
            Effect.zipRight(Deferred.await(gate)),
            Effect.zipRight(memory.insert(record, fingerprint))
          )
      }
      const scope = yield* Scope.make()
      const runs = Context.get(yield* Layer.buildWithScope(layer({ store }), scope), Runs.Runs)
      const starting = yield* Effect.fork(runs.start({ agent: "helper", input: "1" }))
      yield* Deferred.await(inserting)
      yield* Scope.close(scope, Exit.void)
      yield* Deferred.succeed(gate, undefined)
      const { runId } = yield* Fiber.join(starting)
      assert.strictEqual(Option.getOrThrow(yield* memory.get(runId)).state, "interrupted")
    })
  )

  it.effect("keeps nothing of 1,000 runs that ended beyond what store and log keep", () => {
    const log = RunLog.layerMemory({ maxRuns: 5 })
    const store = InMemoryRunStore.make({ maxEnded: 7 })
    return Effect.gen(function* () {
      const runs = yield* Runs.Runs
      const run = Effect.gen(function* () {
        const { runId } = yield* ask("hello")
        assert.isTrue(Option.exists(yield* Stream.runLast(runs.events(runId)), isTerminal))
      })
      yield* Parallel.forEach(Array.from({ length: 1000 }), () => run, 50)
      assert.strictEqual((yield* runs.list({ limit: 500 })).records.length, 7)
      const { lives } = runs as unknown as { readonly lives: ReadonlyMap<string, unknown> }
      assert.strictEqual(lives.size, 0)
    }).pipe(Effect.provide(layer({ log, store })))
  })

  it.effect("fails to wait for a run whose events the log no longer has, and polls it without a response", () =>
    Effect.gen(function* () {
      const { runId } = yield* ask("first")
      assert.strictEqual((yield* Runs.await(runId)).message, "hi")
      yield* Effect.flatMap(ask("second"), (second) => Runs.await(second.runId))
      const error = yield* Effect.flip(Runs.await(runId))
      assert.isTrue(error._tag === "RunError" && error.reason === "storage")
      const { record, response } = Option.getOrThrow(yield* Runs.poll(runId))
      assert.deepStrictEqual([record.state, response], ["completed", undefined])
      assert.deepStrictEqual(yield* all(runId), [])
    }).pipe(Effect.provide(layer({ log: RunLog.layerMemory({ maxRuns: 1 }) })))
  )

  it.effect("refuses the id of a run that the log has and the store has not", () =>
    Effect.gen(function* () {
      const log = yield* RunLog.RunLog
      const runId = RunId.make("taken")
      const meta = { runId, agent: "other", seq: 0, at: 0 }
      yield* log.append([
        { _tag: "Started", input: "x", strategy: "s", provider: "p", model: "m", userId: "bob", ...meta }
      ])
      const error = yield* Effect.flip(ask("hello", { runId: "taken", userId: "ann" }))
      assert.strictEqual(error.reason, "conflict")
      assert.deepStrictEqual((yield* SystemAccess.grant(Runs.list())).records, [])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("decodes the output, also for those who come later", () => {
    const writer = Agent.make("writer", { system: "writer", output: Schema.Struct({ at: Schema.NumberFromString }) })
    return Effect.gen(function* () {
      const { runId } = yield* Runs.start({ agent: "writer", input: "go" })
      for (const response of [yield* Runs.await(runId), yield* Runs.await(runId)]) {
        assert.deepStrictEqual(response.output, { at: 7 })
      }
    }).pipe(Effect.provide(layer({ agents: [writer], script: () => '{"at":"7"}' })))
  })

  it.effect("counts the tokens of inner runs, which are in other parts of the log", () => {
    const inner = Agent.make("inner", { system: "inner" })
    const outer = Agent.make("helper", { system: "outer", tools: [AgentTool.make(inner)] })
    const script: Setup["script"] = ({ messages: [system, ...messages] }) =>
      messages.some(({ role }) => role === "tool") || String(system?.content).startsWith("inner")
        ? "done"
        : { calls: [{ name: "delegate_to_inner", params: { message: "go" } }] }
    return Effect.gen(function* () {
      const { runId } = yield* ask("go")
      const response = yield* Runs.await(runId)
      assert.deepStrictEqual([response.usage.totalTokens, response.modelCalls], [45, 3])
      assert.deepStrictEqual(response.metadata.agentsUsed, ["inner"])
      assert.isTrue((yield* all(runId)).every((event) => event.runId === runId))
    }).pipe(Effect.provide(layer({ agents: [outer], script })))
  })

  it.effect("keeps the failure of a run as the cause in its process", () => {
    const failing = Tool.make("fail", {
      description: "Fails",
      fatal: true,
      handler: () => Effect.fail(new Broken({ message: "broken" }))
    })
    const agent = Agent.make("helper", { system: "helper", tools: [failing] })
    return Effect.gen(function* () {
      const { runId } = yield* ask("go")
      const error = yield* Effect.flip(Runs.await(runId))
      assert.instanceOf(error, RunErrors.RunFailedError)
      assert.instanceOf(error.cause, Broken)
      const later = yield* Effect.flip(Runs.await(runId))
      assert.isUndefined(later.cause)
      assert.deepStrictEqual((later as typeof error).error, (error as RunErrors.RunFailedError).error)
    }).pipe(Effect.provide(layer({ agents: [agent], script: () => ({ calls: [{ name: "fail" }] }) })))
  })

  it.effect("records a run that crashes", () =>
    Effect.gen(function* () {
      const { runId } = yield* ask("go")
      const error = yield* Effect.flip(Runs.await(runId))
      assert.isTrue(error._tag === "RunFailedError" && error.error.tag === "Defect")
      assert.deepStrictEqual(yield* states, ["failed"])
    }).pipe(Effect.provide(layer({ script: () => Effect.dieMessage("bug") })))
  )

  it.effect("writes the last state again when the store fails", () => {
    const memory = InMemoryRunStore.make()
    let failures = 3
    const store: RunStore.Service = {
      ...memory,
      update: (id, change) =>
        Effect.suspend(() => {
          if (change.to !== "completed" || failures-- <= 0) return memory.update(id, change)
          return new RunErrors.RunError({ reason: "storage", message: "away" })
        })
    }
    return Effect.gen(function* () {
      const { runId } = yield* ask("go")
      const waiting = yield* Effect.fork(Runs.await(runId))
      while (failures > 2) yield* turns(1)
      assert.deepStrictEqual(yield* states, ["running"])
      for (let i = 0; i < 10; i++) yield* Effect.zipRight(TestClock.adjust("100 millis"), turns(1))
      assert.strictEqual((yield* Fiber.join(waiting)).message, "hi")
      assert.deepStrictEqual(yield* states, ["completed"])
    }).pipe(Effect.provide(layer({ store })))
  })

  it.effect("runs apart from its caller: no run inside of another, and no capability for tools", () =>
    Effect.gen(function* () {
      const seen: Array<boolean> = []
      const inner = yield* Deferred.make<string>()
      const runs = yield* Deferred.make<Runs.Service>()
      const spawn = Tool.make("spawn", {
        description: "Starts another run",
        handler: () =>
          Effect.gen(function* () {
            seen.push(yield* SystemAccess.isGranted)
            const service = yield* Deferred.await(runs)
            const { runId } = yield* service.start({ agent: "helper", input: "inner" })
            yield* Deferred.succeed(inner, runId)
            return "spawned"
          }).pipe(Effect.orDie)
      })
      const script: Setup["script"] = (request) =>
        request.messages.some(({ content }) => JSON.stringify(content).includes("inner")) ||
        request.messages.some(({ role }) => role === "tool")
          ? "done"
          : { calls: [{ name: "spawn" }] }
      yield* Effect.gen(function* () {
        yield* Deferred.succeed(runs, yield* Runs.Runs)
        const outer = yield* SystemAccess.grant(ask("outer"))
        assert.strictEqual(outer.system, true)
        yield* SystemAccess.grant(Runs.await(outer.runId))
        const id = yield* Deferred.await(inner)
        yield* Runs.await(id)
        const [started] = yield* all(id)
        assert.isUndefined(started?.parentRunId)
        assert.deepStrictEqual(seen, [false])
      }).pipe(Effect.provide(layer({ agents: [Agent.make("helper", { system: "helper", tools: [spawn] })], script })))
    })
  )

  it.effect("shows a slow reader every event of a run that wrote more than is kept", () =>
    Effect.gen(function* () {
      const text = Array.from({ length: 4 * KEPT }, (_, i) => `${i} `)
      yield* Effect.gen(function* () {
        const { runId } = yield* ask("go")
        const gate = yield* Deferred.make<void>()
        const seen: Array<AgentEvent> = []
        const reading = yield* Effect.fork(
          Stream.runForEach(Runs.events(runId), (event) =>
            Effect.zipRight(
              Effect.sync(() => seen.push(event)),
              event._tag === "StepStarted" ? Deferred.await(gate) : Effect.void
            )
          )
        )
        assert.strictEqual((yield* Runs.await(runId)).message, text.join(""))
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(reading)
        assert.isTrue(isTerminal(seen.at(-1)!))
        // Not compared by an assertion, which would print both texts.
        assert.isTrue(shown(seen) === text.join(""))
        const kept = (events: ReadonlyArray<AgentEvent>) => events.filter(({ _tag }) => !_tag.startsWith("Text"))
        assert.deepStrictEqual(kept(seen), kept(yield* all(runId)))
      }).pipe(Effect.provide(layer({ script: () => ({ text }) })))
    })
  )
})

describe("runs of two processes on one store and one log", () => {
  const shared = Effect.gen(function* () {
    const { agents, begun, open, script } = yield* worker
    const store = InMemoryRunStore.make()
    const log = RunLog.makeMemory()
    // The log of another process does not know what goes on in this one.
    const { live: _, ...written } = log
    const other: RunLog.Service = {
      ...written,
      read: (id, options) => Effect.map(log.read(id, options), withoutDeltas)
    }
    const build = (service: RunLog.Service) =>
      Effect.map(Layer.build(layer({ agents, script, store, log: Layer.succeed(RunLog.RunLog, service) })), (context) =>
        Context.get(context, Runs.Runs)
      )
    return { here: yield* build(log), there: yield* build(other), begun, open }
  })

  const withoutDeltas = (events: ReadonlyArray<AgentEvent>) => events.filter(({ _tag }) => _tag !== "TextDelta")

  it.scoped("follows and awaits a run of the other process, at most 200 ms late", () =>
    Effect.gen(function* () {
      const { begun, here, open, there } = yield* shared
      const { runId } = yield* here.start({ agent: "helper", input: "go" })
      yield* begun
      const seen: Array<AgentEvent> = []
      const reading = yield* Effect.fork(
        Stream.runForEach(there.events(runId), (event) => Effect.sync(() => void seen.push(event)))
      )
      const waiting = yield* Effect.fork(there.await(runId))
      while (!seen.some(({ _tag }) => _tag === "ToolCall")) {
        yield* turns(1)
        yield* TestClock.adjust("1 millis")
      }
      yield* open
      yield* here.await(runId)
      assert.isFalse(seen.some(isTerminal))
      yield* TestClock.adjust("200 millis")
      yield* Fiber.join(reading)
      assert.strictEqual((yield* Fiber.join(waiting)).message, "done")
      const { events } = { events: Chunk.toReadonlyArray(yield* Stream.runCollect(here.events(runId))) }
      assert.deepStrictEqual(withoutDeltas(seen), withoutDeltas(events))
    })
  )

  it.scoped("says that the other process must interrupt and steer it", () =>
    Effect.gen(function* () {
      const { begun, here, open, there } = yield* shared
      const { runId } = yield* here.start({ agent: "helper", input: "go" })
      yield* begun
      for (const call of [there.interrupt(runId), there.steer(runId, "hi")]) {
        const error = yield* Effect.flip(call)
        assert.strictEqual(error.reason, "not-running")
        assert.include(error.hint, "process")
      }
      yield* open
      yield* here.await(runId)
    })
  )
})

describe("LiveRun", () => {
  const runId = RunId.make("r")
  const delta = (seq: number): AgentEvent => ({ _tag: "TextDelta", runId, agent: "a", seq, at: 0, text: "x" })

  it.effect("leaves nothing of readers that leave", () =>
    Effect.gen(function* () {
      const live = new LiveRun(runId)
      const readers = yield* Effect.forEach(Array.from({ length: 50 }), () => Effect.fork(live.changed(0)))
      yield* Effect.yieldNow()
      assert.strictEqual(live.waiting, 50)
      yield* Fiber.interruptAll(readers)
      assert.strictEqual(live.waiting, 0)
    })
  )

  it("keeps a bounded number of events, and says which", () => {
    const live = new LiveRun(runId)
    for (let seq = 0; seq < 10 * KEPT; seq++) live.push([delta(seq)])
    assert.isUndefined(live.from(live.begin - 1))
    const kept = live.from(live.begin)
    assert.isAtLeast(kept?.length ?? 0, KEPT)
    assert.isAtMost(kept?.length ?? 0, 2 * KEPT)
    assert.deepStrictEqual(live.from(10 * KEPT), [])
  })
})
