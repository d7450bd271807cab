import { assert, describe } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as MetricState from "effect/MetricState"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as MemoryConsolidator from "../../../src/memory/consolidation/MemoryConsolidator.js"
import { MemoryCapacityError } from "../../../src/memory/entry/MemoryError.js"
import * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"
import * as Hooks from "../../../src/observability/Hooks.js"
import * as DefaultSessionManager from "../../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as SessionMemory from "../../../src/session/manager/SessionMemory.js"
import * as InMemorySessionStore from "../../../src/session/turn/InMemorySessionStore.js"
import * as SessionHooks from "../../../src/session/turn/SessionHooks.js"
import * as SessionMetrics from "../../../src/session/turn/SessionMetrics.js"
import * as ManagedSessions from "../../support/ManagedSessions.js"
import * as SystemTest from "../../support/SystemTest.js"

const { ada, layer, refusal, sid, Told, turn, words } = ManagedSessions
const id = sid("s1")

const failures = (operation: string): number => {
  for (const { metricKey, metricState } of Metric.unsafeSnapshot()) {
    const isIt =
      metricKey.name === SessionMetrics.METRIC_SESSION_MEMORY_FAILURES_TOTAL &&
      metricKey.tags.some(({ key, value }) => key === "operation" && value === operation)
    const state: unknown = metricState
    if (isIt && MetricState.isCounterState(state)) return Number(state.count)
  }
  return 0
}

const logged = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ annotations, message }) => {
    lines.push(`${String(message)} ${JSON.stringify(Object.fromEntries(annotations))}`)
  })
  return { lines, layer: Logger.replace(Logger.defaultLogger, logger) }
}

/** Lets what runs behind come to where it waits. */
const settled = Effect.repeatN(Effect.yieldNow(), 50)

/** The layer by itself, to be closed before the test ends. */
const opened = (told: InstanceType<typeof Told>, options: DefaultSessionManager.Options = {}) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(layer(options, { told }), scope)
    return { scope, run: Effect.provide(context) }
  })

describe("SessionManager and working memory", () => {
  SystemTest.effect("remembers every added turn under the user or the session", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const mine = yield* sessions.create({ id, userId: ada })
      const nobodys = yield* sessions.create({ id: sid("s2") })
      const first = yield* sessions.addTurn(id, turn(1, { unanswered: "failed" }))
      const second = yield* sessions.addTurn(nobodys.id, turn(1))
      yield* sessions.addTurn(id, turn(1))
      assert.deepStrictEqual(told.entries, [SessionMemory.entryOf(first, mine), SessionMemory.entryOf(second, nobodys)])
      assert.deepStrictEqual(
        told.entries.map(({ ownerId }) => ownerId),
        ["ada", "session:s2"]
      )
    }).pipe(Effect.provide(layer({}, { told })))
  })

  SystemTest.effect("keeps a turn when memory fails or dies, and logs and counts it", () => {
    const told = new Told()
    const { layer: logger, lines } = logged()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      const before = failures("add")
      told.doings.add = () => refusal
      yield* sessions.addTurn(id, turn(1, { content: "hunter2" }))
      told.doings.add = () => Effect.die("hunter2")
      yield* sessions.addTurn(id, turn(2))
      told.doings.add = () => Effect.interrupt
      yield* sessions.addTurn(id, turn(3))
      assert.strictEqual((yield* sessions.turns(id, { last: 9 })).length, 3)
      assert.strictEqual(failures("add") - before, 3)
      assert.strictEqual(lines.length, 3)
      assert.include(lines[0], "MemoryStoreError: memory is out")
      for (const line of lines) {
        assert.include(line, '"module":"SessionManager"')
        assert.notInclude(line, "hunter2")
      }
    }).pipe(Effect.provide(Layer.merge(layer({}, { told }), logger)))
  })

  SystemTest.effect("waits 5 seconds for a memory that does not answer, after the turn is stored", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      const before = failures("add")
      told.doings.add = () => Effect.never
      const adding = yield* Effect.fork(sessions.addTurn(id, turn(1)))
      yield* settled
      assert.deepStrictEqual(yield* words(id), ["t1"])
      yield* TestClock.adjust(4999)
      assert.isNull(adding.unsafePoll())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(adding)).content, "t1")
      assert.strictEqual(failures("add") - before, 1)
    }).pipe(Effect.provide(layer({}, { told })))
  })

  SystemTest.effect("remembers a stored turn even if its caller is interrupted", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const gate = yield* Deferred.make<void>()
      yield* sessions.create({ id })
      told.doings.add = () => Deferred.await(gate)
      const adding = yield* Effect.fork(sessions.addTurn(id, turn(1)))
      yield* settled
      yield* Fiber.interrupt(adding)
      yield* Deferred.succeed(gate, undefined)
      yield* settled
      assert.deepStrictEqual(
        told.entries.map(({ content }) => content),
        ["t1"]
      )
    }).pipe(Effect.provide(layer({}, { told })))
  })

  SystemTest.effect("does not remember a turn that could not be written", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      yield* sessions.suspend(id)
      yield* Effect.flip(sessions.addTurn(id, turn(1)))
      assert.deepStrictEqual(told.entries, [])
    }).pipe(Effect.provide(layer({}, { told })))
  })
})

describe("failed tasks of sessions", () => {
  const failedTasks = (told: InstanceType<typeof Told>) =>
    told.events
      .filter(({ eventType }) => eventType === "SessionTaskFailedEvent")
      .map(({ fields }) => [fields["task"], fields["error"], fields["code"]])

  SystemTest.effect("are published and logged with error and code", () => {
    const told = new Told()
    const { layer: logger, lines } = logged()
    const full = new MemoryCapacityError({ message: "no room", capacity: 1 })
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      for (const [n, add] of [refusal, full, Effect.interrupt, Effect.die("hunter2"), Effect.never].entries()) {
        told.doings.add = () => add
        const adding = yield* Effect.fork(sessions.addTurn(id, turn(n)))
        yield* settled
        yield* TestClock.adjust("5 seconds")
        yield* Fiber.join(adding)
      }
      assert.deepStrictEqual(failedTasks(told), [
        ["add", "TaskError", "LEX_ERR_SES_003"],
        ["add", "TaskValidationError", "LEX_ERR_SES_005"],
        ["add", "TaskCancelledError", "LEX_ERR_SES_002"],
        ["add", "TaskError", "LEX_ERR_SES_003"],
        ["add", "TaskTimeoutError", "LEX_ERR_SES_004"]
      ])
      const codes = lines.map((line) => /"code":"(\w+)"/.exec(line)?.[1])
      assert.deepStrictEqual<unknown>(
        codes,
        failedTasks(told).map(([, , code]) => code)
      )
      assert.lengthOf(yield* sessions.turns(id, { last: 9 }), 5)
      const said = JSON.stringify([told.events, lines])
      assert.notInclude(said, "hunter2")
      assert.include(said, "no answer within 5000 ms")
    }).pipe(Effect.provide(Layer.merge(layer({}, { told }), logger)))
  })

  SystemTest.effect("are cancelled 5 seconds after the layer closes", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const { run, scope } = yield* opened(told)
      told.doings.flush = Effect.never
      yield* run(
        Effect.gen(function* () {
          const sessions = yield* SessionManager.SessionManager
          yield* sessions.create({ id })
          yield* sessions.close(id)
        })
      )
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* settled
      assert.deepStrictEqual(failedTasks(told), [])
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(closing)
      assert.deepStrictEqual(failedTasks(told)[0], ["flush", "TaskCancelledError", "LEX_ERR_SES_002"])
    })
  })
})

describe("SessionManager and consolidation", () => {
  SystemTest.effect("flushes and consolidates the owner's memory once after a close, in the background", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const gate = yield* Deferred.make<void>()
      told.doings.flush = Deferred.await(gate)
      yield* sessions.create({ id, userId: ada })
      yield* sessions.close(id)
      yield* sessions.close(id)
      yield* settled
      assert.deepStrictEqual(told.memory, ["flush ada s1"])
      yield* Deferred.succeed(gate, undefined)
      yield* settled
      assert.deepStrictEqual(told.memory, ["flush ada s1", "consolidate ada"])
    }).pipe(Effect.provide(layer({}, { told })))
  })

  SystemTest.effect("ends once for two concurrent closes: one hook, event and consolidation", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* TestClock.adjust("90 seconds")
      yield* Effect.all(
        Array.from({ length: 10 }, () => sessions.close(id)),
        { concurrency: "unbounded" }
      )
      yield* settled
      assert.deepStrictEqual(told.hooks, ["started s1", "closed s1"])
      assert.deepStrictEqual(told.eventTypes, ["SessionCreatedEvent", "SessionClosedEvent"])
      assert.deepStrictEqual(told.events[1]?.fields, { sessionId: id, status: "closed", durationSeconds: 90 })
      assert.deepStrictEqual(told.memory, ["flush ada s1", "consolidate ada"])
    }).pipe(Effect.provide(layer({}, { told })))
  })

  SystemTest.effect("does the same on expiry, by clean-up and on access", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* SystemAccess.grant(sessions.expireIdle({ idle: 0 }))
      yield* settled
      yield* sessions.create({ id: sid("s2") })
      yield* TestClock.adjust("24 hours")
      yield* Effect.flip(sessions.resume(sid("s2")))
      yield* settled
      assert.deepStrictEqual(told.memory, [
        "flush ada s1",
        "consolidate ada",
        "flush session:s2 s2",
        "consolidate session:s2"
      ])
    }).pipe(Effect.provide(layer({}, { told })))
  })

  SystemTest.effect("skips consolidation when switched off, but calls the hook", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* sessions.close(id)
      yield* settled
      assert.deepStrictEqual(told.memory, [])
      assert.deepStrictEqual(told.hooks, ["started s1", "closed s1"])
    }).pipe(Effect.provide(layer({ consolidateOnClose: false }, { told })))
  })

  SystemTest.effect("logs and counts a failure and keeps the session closed", () => {
    const told = new Told()
    const { layer: logger, lines } = logged()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const before = [failures("flush"), failures("consolidate")] as const
      told.doings.consolidate = refusal
      yield* sessions.create({ id })
      yield* sessions.close(id)
      yield* settled
      told.doings.flush = Effect.die("hunter2")
      yield* sessions.create({ id: sid("s2") })
      yield* sessions.close(sid("s2"))
      yield* settled
      assert.deepStrictEqual([failures("flush") - before[0], failures("consolidate") - before[1]], [1, 2])
      assert.strictEqual(Option.getOrThrow(yield* sessions.get(id)).status, "closed")
      assert.strictEqual(lines.length, 3)
      assert.include(lines[0], "MemoryStoreError: memory is out")
      assert.notInclude(lines.join(), "hunter2")
    }).pipe(Effect.provide(Layer.provideMerge(layer({}, { told }), logger)))
  })

  SystemTest.effect("limits concurrency and consolidates once per owner when many sessions expire", () => {
    const told = new Told()
    let running = 0
    let most = 0
    told.doings.flush = Effect.acquireUseRelease(
      Effect.sync(() => {
        most = Math.max(most, ++running)
      }),
      () => Effect.sleep(10),
      () => Effect.sync(() => running--)
    )
    told.doings.consolidate = Effect.sleep(1000)
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      for (let n = 0; n < 20; n++) yield* sessions.create({ id: sid(`n${n}`), userId: ada })
      yield* SystemAccess.grant(sessions.expireIdle({ idle: 0 }))
      yield* TestClock.adjust("1 hour")
      yield* settled
      assert.strictEqual(most, 4)
      const flushes = told.memory.flatMap((done, at) => (done.startsWith("flush") ? [at] : []))
      const consolidations = told.memory.flatMap((done, at) => (done.startsWith("consolidate") ? [at] : []))
      assert.strictEqual(flushes.length, 20)
      assert.isBelow(consolidations.length, 3)
      // The last one saw what the last session handed over.
      assert.isAbove(consolidations.at(-1) ?? 0, flushes.at(-1) ?? 0)
    }).pipe(Effect.provide(layer({}, { told })))
  })

  SystemTest.effect("waits for background work when the layer closes", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const done = yield* Deferred.make<void>()
      told.doings.consolidate = Effect.zipRight(Deferred.await(gate), Effect.asVoid(Deferred.succeed(done, undefined)))
      const { run, scope } = yield* opened(told)
      yield* run(
        Effect.gen(function* () {
          const sessions = yield* SessionManager.SessionManager
          yield* sessions.create({ id })
          yield* sessions.close(id)
        })
      )
      yield* settled
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* settled
      assert.isNull(closing.unsafePoll())
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(closing)
      assert.isTrue(yield* Deferred.isDone(done))
    })
  })

  SystemTest.effect("interrupts background work after 5 seconds", () => {
    const told = new Told()
    let interrupted = false
    const { layer: logger, lines } = logged()
    return Effect.gen(function* () {
      told.doings.consolidate = Effect.onInterrupt(Effect.never, () =>
        Effect.sync(() => {
          interrupted = true
        })
      )
      const { run, scope } = yield* opened(told)
      yield* run(
        Effect.gen(function* () {
          const sessions = yield* SessionManager.SessionManager
          yield* sessions.create({ id })
          yield* sessions.close(id)
        })
      )
      yield* settled
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(4999)
      assert.isNull(closing.unsafePoll())
      assert.isFalse(interrupted)
      yield* TestClock.adjust(1)
      yield* Fiber.join(closing)
      assert.isTrue(interrupted)
      assert.include(lines[0], "interrupted")
    }).pipe(Effect.provide(logger))
  })

  SystemTest.effect("does nothing after a close when there is no memory", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      yield* sessions.addTurn(id, turn(1))
      yield* sessions.close(id)
      assert.strictEqual(Option.getOrThrow(yield* sessions.get(id)).status, "closed")
    }).pipe(
      Effect.provide(
        DefaultSessionManager.layer().pipe(
          Layer.provide(
            Layer.mergeAll(InMemorySessionStore.layer, WorkingMemory.layerNoop, MemoryConsolidator.layerNoop)
          )
        )
      )
    )
  )
})

describe("SessionManager and hooks", () => {
  SystemTest.effect("gives a handler the stored session", () => {
    const seen: Array<string> = []
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const hooks = yield* Hooks.Hooks
      yield* hooks.on(SessionHooks.SessionClosedHook, ({ sessionId, status, userId }) =>
        Effect.map(sessions.get(sessionId, { userId }), (found) => {
          seen.push(`${status} of ${userId} is ${Option.getOrThrow(found).status}`)
        })
      )
      yield* hooks.on(SessionHooks.SessionClosedHook, () => Effect.fail("no"))
      yield* sessions.create({ id, userId: ada })
      yield* sessions.close(id)
      assert.deepStrictEqual(seen, ["closed of ada is closed"])
    }).pipe(
      Effect.scoped,
      Effect.provide(
        DefaultSessionManager.layer().pipe(
          Layer.provideMerge(Hooks.layer),
          Layer.provide(
            Layer.mergeAll(InMemorySessionStore.layer, WorkingMemory.layerNoop, MemoryConsolidator.layerNoop)
          )
        )
      )
    )
  })

  SystemTest.effect("publishes and consolidates even if the caller leaves while a handler waits", () => {
    const told = new Told()
    const waiting = Layer.effect(
      Hooks.Hooks,
      Effect.map(Hooks.make, (hooks) => ({
        ...hooks,
        has: () => true,
        call: () => Effect.never
      }))
    )
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const creating = yield* Effect.fork(sessions.create({ id, userId: ada }))
      yield* settled
      yield* Fiber.interrupt(creating)
      const closing = yield* Effect.fork(sessions.close(id))
      yield* settled
      const exit = yield* Fiber.interrupt(closing)
      assert.isTrue(Exit.isInterrupted(exit))
      yield* settled
      assert.strictEqual(Option.getOrThrow(yield* sessions.get(id)).status, "closed")
      assert.deepStrictEqual(told.eventTypes, ["SessionCreatedEvent", "SessionClosedEvent"])
      assert.deepStrictEqual(told.memory, ["flush ada s1", "consolidate ada"])
    }).pipe(Effect.provide(layer({}, { told, hooks: waiting })))
  })

  SystemTest.effect("publishes and consolidates for every expired session even if the caller leaves a clean-up", () => {
    const told = new Told()
    const waiting = Layer.effect(
      Hooks.Hooks,
      Effect.map(Hooks.make, (hooks) => ({
        ...hooks,
        has: (place) => place === SessionHooks.SessionClosedHook,
        call: () => Effect.never
      }))
    )
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      for (const name of ["a", "b", "c"]) yield* sessions.create({ id: sid(name), userId: ManagedSessions.uid(name) })
      const cleaning = yield* Effect.fork(SystemAccess.grant(sessions.expireIdle({ idle: 0 })))
      yield* settled
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(cleaning)))
      yield* settled
      assert.deepStrictEqual(
        told.events.slice(3).map(({ aggregateId, eventType }) => `${eventType} ${aggregateId}`),
        ["SessionClosedEvent a", "SessionClosedEvent b", "SessionClosedEvent c"]
      )
      assert.deepStrictEqual(told.memory.toSorted(), [
        "consolidate a",
        "consolidate b",
        "consolidate c",
        "flush a a",
        "flush b b",
        "flush c c"
      ])
    }).pipe(Effect.provide(layer({}, { told, hooks: waiting })))
  })

  SystemTest.effect("skips a memory that throws like one that fails", () => {
    const thrown = () => {
      throw new TypeError("no")
    }
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const before = [failures("add"), failures("flush"), failures("consolidate")]
      yield* sessions.create({ id })
      yield* sessions.addTurn(id, turn(1))
      yield* sessions.close(id)
      yield* settled
      assert.deepStrictEqual(
        [failures("add"), failures("flush"), failures("consolidate")].map((count, at) => count - (before[at] ?? 0)),
        [1, 1, 1]
      )
      assert.strictEqual(Option.getOrThrow(yield* sessions.get(id)).status, "closed")
    }).pipe(
      Effect.provide(
        DefaultSessionManager.layer().pipe(
          Layer.provide(
            Layer.mergeAll(
              InMemorySessionStore.layer,
              Layer.succeed(WorkingMemory.WorkingMemory, { ...WorkingMemory.noop, add: thrown, flush: thrown }),
              Layer.succeed(MemoryConsolidator.MemoryConsolidator, {
                ...MemoryConsolidator.noop,
                consolidate: thrown
              })
            )
          )
        )
      )
    )
  })
})
