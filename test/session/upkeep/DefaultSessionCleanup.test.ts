import { assert, describe } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { SessionId, UserId } from "../../../src/domain/Ids.js"
import * as MemoryConsolidator from "../../../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"
import * as Hooks from "../../../src/observability/Hooks.js"
import * as DefaultSessionManager from "../../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as InMemorySessionStore from "../../../src/session/turn/InMemorySessionStore.js"
import { SessionStorageError } from "../../../src/session/turn/SessionError.js"
import { SessionClosedHook } from "../../../src/session/turn/SessionHooks.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import * as DefaultSessionCleanup from "../../../src/session/upkeep/DefaultSessionCleanup.js"
import * as SessionCleanup from "../../../src/session/upkeep/SessionCleanup.js"
import * as SystemTest from "../../support/SystemTest.js"

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const ann = UserId.make("ann")

interface World {
  readonly manager: SessionManager.Service
  readonly cleanup: SessionCleanup.Service
  /** Minute and limit of each time the store was asked to make sessions expired. */
  readonly asked: Array<string>
  /** Ids of sessions of whose end a hook was told. */
  readonly told: Array<string>
  /** What the store does first when it is asked. */
  readonly before: { effect: Effect.Effect<void, SessionStorageError> }
  readonly logged: Array<string>
  readonly scope: Scope.CloseableScope
  /** Another machine over the same store. */
  readonly another: Effect.Effect<SessionCleanup.Service>
}

/** Sessions live for an hour. Everything is closed in the end. */
const run = <A, E>(
  body: (world: World) => Effect.Effect<A, E>,
  options: DefaultSessionCleanup.Options = {},
  layer: typeof DefaultSessionCleanup.layer = DefaultSessionCleanup.layer
): Effect.Effect<A, E> =>
  Effect.gen(function* () {
    const kept = yield* Effect.provide(SessionStore.SessionStore, InMemorySessionStore.layer)
    const asked: Array<string> = []
    const told: Array<string> = []
    const logged: Array<string> = []
    const before: World["before"] = { effect: Effect.void }
    const store: SessionStore.Service = {
      ...kept,
      expire: (request) =>
        Effect.clockWith((clock) => {
          asked.push(`${clock.unsafeCurrentTimeMillis() / MINUTE} ${request.limit}`)
          return Effect.zipRight(
            Effect.suspend(() => before.effect),
            kept.expire(request)
          )
        })
    }
    const scope = yield* Scope.make()
    const machine = Layer.provideMerge(
      Layer.fresh(layer({ jitter: 0, ...options })),
      Layer.fresh(DefaultSessionManager.layer({ sessionTtl: HOUR, maxSessionsPerUser: 1000 }))
    ).pipe(
      Layer.provide([
        Layer.succeed(SessionStore.SessionStore, store),
        WorkingMemory.layerNoop,
        MemoryConsolidator.layerNoop,
        Layer.provideMerge(
          Hooks.handler(SessionClosedHook, ({ sessionId, status }) =>
            Effect.sync(() => {
              told.push(`${sessionId} ${status}`)
            })
          ),
          Hooks.layer
        )
      ]),
      Layer.provide(
        Logger.replace(
          Logger.defaultLogger,
          Logger.make(({ message }) => {
            logged.push(String(message))
          })
        )
      )
    )
    const built = yield* Layer.buildWithScope(machine, scope)
    const manager = yield* Effect.provide(SessionManager.SessionManager, built)
    const cleanup = yield* Effect.provide(SessionCleanup.SessionCleanup, built)
    const another = Effect.flatMap(Layer.buildWithScope(Layer.fresh(machine), scope), (built) =>
      Effect.provide(SessionCleanup.SessionCleanup, built)
    )
    const world: World = { manager, cleanup, asked, told, before, logged, scope, another }
    return yield* Effect.ensuring(body(world), Scope.close(scope, Exit.void))
  })

const create = (manager: SessionManager.Service, count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, i) => SessionId.make(`s${i}`)),
    (id) => Effect.orDie(manager.create({ id, userId: ann }))
  )

const statuses = (manager: SessionManager.Service) =>
  Effect.map(Effect.orDie(manager.list(ann, { order: "created" })), ({ sessions }) =>
    sessions.map(({ id, status }) => `${id} ${status}`).sort()
  )

const broken = Effect.fail(new SessionStorageError({ message: "the disk is gone" }))

describe("layer", () => {
  SystemTest.effect("expires sessions in the first pass after their time, and publishes it once", () =>
    run(({ cleanup, manager, told }) =>
      Effect.gen(function* () {
        yield* create(manager, 2)
        yield* TestClock.adjust("50 minutes")
        yield* manager.update(SessionId.make("s1"), { variables: { a: 1 } })
        yield* TestClock.adjust("9 minutes")
        assert.deepStrictEqual(told, [])
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(told, ["s0 expired"])
        assert.deepStrictEqual(yield* statuses(manager), ["s0 expired", "s1 active"])
        yield* TestClock.adjust("2 hours")
        assert.deepStrictEqual(told, ["s0 expired", "s1 expired"])
        assert.strictEqual((yield* cleanup.status).expired, 2)
      })
    )
  )

  SystemTest.effect("expires suspended sessions, never closed ones", () =>
    run(({ manager, told }) =>
      Effect.gen(function* () {
        const [suspended, closed] = yield* create(manager, 2)
        yield* manager.suspend(suspended!.id)
        yield* manager.close(closed!.id)
        assert.deepStrictEqual(told, ["s1 closed"])
        yield* TestClock.adjust("1 day")
        assert.deepStrictEqual(told, ["s1 closed", "s0 expired"])
        assert.deepStrictEqual(yield* statuses(manager), ["s0 expired", "s1 closed"])
      })
    )
  )

  SystemTest.effect("keeps the data of an expired session readable", () =>
    run(({ manager }) =>
      Effect.gen(function* () {
        yield* create(manager, 1)
        yield* TestClock.adjust("2 hours")
        const kept = yield* manager.get(SessionId.make("s0"), { userId: ann })
        assert.strictEqual(Option.getOrThrow(kept).status, "expired")
      })
    )
  )

  SystemTest.effect("runs the first pass one interval after the start, the next one an interval after its end", () =>
    run(({ asked, cleanup }) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(asked, [])
        yield* TestClock.adjust("10 minutes")
        assert.deepStrictEqual((yield* cleanup.status).nextRunAt, Option.some(20 * MINUTE))
        yield* TestClock.adjust("25 minutes")
        assert.deepStrictEqual(asked, ["10 100", "20 100", "30 100"])
      })
    )
  )

  SystemTest.effect("runs the first pass at once with runOnStart", () =>
    run(
      ({ asked }) =>
        Effect.gen(function* () {
          yield* TestClock.adjust("7 minutes")
          assert.deepStrictEqual(asked, ["0 100", "7 100"])
        }),
      { runOnStart: true, interval: "7 minutes" }
    )
  )

  SystemTest.effect("accepts an interval of months", () =>
    run(
      ({ asked }) =>
        Effect.gen(function* () {
          yield* TestClock.adjust("59 days")
          assert.deepStrictEqual(asked, [])
          yield* TestClock.adjust("2 days")
          assert.deepStrictEqual(asked, [`${60 * 24 * 60} 100`])
        }),
      { interval: "60 days" }
    )
  )

  SystemTest.effect("spreads passes by jitter, up to its share", () =>
    Effect.gen(function* () {
      const minutes = yield* Effect.forEach(["a", "b", "c", "d", "e", "f"], (seed) =>
        Effect.withRandom(
          run(
            ({ cleanup }) =>
              Effect.map(Effect.zipRight(Effect.yieldNow(), cleanup.status), ({ nextRunAt }) => nextRunAt),
            {
              jitter: 0.5,
              interval: "10 minutes"
            }
          ),
          Random.make(seed)
        )
      )
      const times = minutes.map((at) => Option.getOrThrow(at) / MINUTE)
      assert.strictEqual(new Set(times).size, times.length)
      for (const time of times) assert.isTrue(time >= 5 && time <= 15)
    })
  )

  SystemTest.effect("ignores non-numeric options", () =>
    run(
      ({ asked }) =>
        Effect.gen(function* () {
          yield* TestClock.adjust("30 minutes")
          assert.deepStrictEqual(asked, ["10 100", "20 100", "30 100"])
        }),
      { jitter: Number.NaN, pageSize: Number.NaN }
    )
  )

  SystemTest.effect("continues a pass page by page until no session is left", () =>
    run(
      ({ asked, cleanup, manager, told }) =>
        Effect.gen(function* () {
          yield* create(manager, 7)
          yield* TestClock.adjust("1 hour")
          assert.deepStrictEqual(asked, ["60 3", "60 3", "60 3", "60 3"])
          assert.strictEqual(new Set(told).size, 7)
          assert.strictEqual(told.length, 7)
          const { lastReport } = yield* cleanup.status
          assert.deepStrictEqual(lastReport, Option.some({ expired: 7, startedAt: HOUR, durationMs: 0 }))
        }),
      { pageSize: 3, interval: "1 hour" }
    )
  )

  SystemTest.effect("overrides the TTL of the manager by idle", () =>
    run(
      ({ manager, told }) =>
        Effect.gen(function* () {
          yield* create(manager, 1)
          yield* TestClock.adjust("10 minutes")
          assert.deepStrictEqual(told, ["s0 expired"])
        }),
      { idle: "10 minutes" }
    )
  )

  SystemTest.effect("logs and counts a failed pass, and retries after a minute", () =>
    run(
      ({ asked, before, cleanup, logged, manager, told }) =>
        Effect.gen(function* () {
          yield* create(manager, 3)
          before.effect = broken
          yield* TestClock.adjust("60 minutes")
          assert.deepStrictEqual(asked, ["60 100"])
          yield* TestClock.adjust("2 minutes")
          assert.deepStrictEqual(asked, ["60 100", "61 100", "62 100"])
          const { expired, failed, lastReport } = yield* cleanup.status
          assert.deepStrictEqual({ expired, failed, lastReport }, { expired: 0, failed: 3, lastReport: Option.none() })
          assert.lengthOf(logged, 3)
          assert.include(logged[0], "SessionStorageError: the disk is gone")
          before.effect = Effect.void
          yield* TestClock.adjust("1 minute")
          assert.lengthOf(told, 3)
          yield* TestClock.adjust("59 minutes")
          assert.deepStrictEqual(asked.slice(3), ["63 100", "63 100"])
        }),
      { interval: "1 hour" }
    )
  )

  SystemTest.effect("retryAfter sets that delay, capped by the interval", () =>
    Effect.gen(function* () {
      const asks = (options: DefaultSessionCleanup.Options) =>
        run(
          ({ asked, before }) =>
            Effect.gen(function* () {
              before.effect = broken
              yield* TestClock.adjust("6 minutes")
              return asked.length
            }),
          options
        )
      assert.strictEqual(yield* asks({ interval: "2 minutes", retryAfter: "10 seconds" }), 25)
      assert.strictEqual(yield* asks({ interval: "2 minutes", retryAfter: "1 day" }), 3)
    })
  )

  SystemTest.effect("continues after a defect of the store, without logging its content", () =>
    run(({ before, logged, manager, told }) =>
      Effect.gen(function* () {
        yield* create(manager, 1)
        before.effect = Effect.die("ann said: hello")
        yield* TestClock.adjust("10 minutes")
        before.effect = Effect.void
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(told, ["s0 expired"])
        assert.include(logged[0], "defect")
        assert.notInclude(logged.join(), "hello")
      })
    )
  )

  SystemTest.effect("keeps the work of a pass before a store failure", () =>
    run(
      ({ before, cleanup, manager, told }) =>
        Effect.gen(function* () {
          yield* create(manager, 4)
          let calls = 0
          before.effect = Effect.suspend(() => (++calls === 2 ? broken : Effect.void))
          yield* TestClock.adjust("1 hour")
          assert.lengthOf(told, 3)
          assert.strictEqual((yield* cleanup.status).expired, 3)
          yield* TestClock.adjust("1 minute")
          assert.strictEqual(new Set(told).size, 4)
        }),
      { pageSize: 3, interval: "1 hour" }
    )
  )

  SystemTest.effect("expires each session once with two machines on one store", () =>
    run(
      ({ another, cleanup, manager, told }) =>
        Effect.gen(function* () {
          const other = yield* another
          yield* create(manager, 50)
          yield* TestClock.adjust("1 hour")
          assert.lengthOf(told, 50)
          assert.strictEqual(new Set(told).size, 50)
          const [mine, others] = [(yield* cleanup.status).expired, (yield* other.status).expired]
          assert.strictEqual(mine + others, 50)
        }),
      { pageSize: 5, interval: "1 hour" }
    )
  )

  SystemTest.effect("never overlaps passes", () =>
    run(
      ({ asked, before, cleanup }) =>
        Effect.gen(function* () {
          const gate = yield* Deferred.make<void>()
          before.effect = Deferred.await(gate)
          yield* TestClock.adjust("1 minute")
          assert.isTrue((yield* cleanup.status).running)
          const second = yield* Effect.fork(cleanup.runOnce)
          yield* TestClock.adjust("30 minutes")
          assert.lengthOf(asked, 1)
          yield* Deferred.succeed(gate, undefined)
          const report = yield* Fiber.join(second)
          assert.strictEqual(report.expired, 0)
          assert.lengthOf(asked, 2)
          assert.isFalse((yield* cleanup.status).running)
        }),
      { interval: "1 minute" }
    )
  )

  SystemTest.effect("stops with its scope, even during a pass", () =>
    run(
      ({ asked, before, cleanup, logged, manager, scope }) =>
        Effect.gen(function* () {
          yield* create(manager, 1)
          before.effect = Effect.never
          yield* TestClock.adjust("1 minute")
          assert.lengthOf(asked, 1)
          yield* Scope.close(scope, Exit.void)
          yield* TestClock.adjust("1 day")
          assert.lengthOf(asked, 1)
          assert.deepStrictEqual(yield* statuses(manager), ["s0 active"])
          const { failed, running } = yield* cleanup.status
          assert.deepStrictEqual({ failed, running }, { failed: 0, running: false })
          assert.deepStrictEqual(logged, [])
        }),
      { interval: "1 minute" }
    )
  )
})

describe("layerManual", () => {
  SystemTest.effect("runs only on request", () =>
    run(
      ({ asked, cleanup, manager }) =>
        Effect.gen(function* () {
          yield* create(manager, 3)
          yield* TestClock.adjust("1 day")
          assert.deepStrictEqual(asked, [])
          assert.deepStrictEqual(yield* cleanup.runOnce, { expired: 3, startedAt: 24 * HOUR, durationMs: 0 })
          assert.deepStrictEqual(yield* cleanup.runOnce, { expired: 0, startedAt: 24 * HOUR, durationMs: 0 })
          assert.deepStrictEqual((yield* cleanup.status).nextRunAt, Option.none())
        }),
      {},
      DefaultSessionCleanup.layerManual
    )
  )

  SystemTest.effect("returns a failure to the caller", () =>
    run(
      ({ before, cleanup }) =>
        Effect.gen(function* () {
          before.effect = broken
          const error = yield* Effect.flip(cleanup.runOnce)
          assert.strictEqual(error._tag, "SessionStorageError")
          assert.strictEqual((yield* cleanup.status).failed, 1)
        }),
      {},
      DefaultSessionCleanup.layerManual
    )
  )
})

describe("layerNoop", () => {
  SystemTest.effect("never runs", () =>
    Effect.gen(function* () {
      const cleanup = yield* SessionCleanup.SessionCleanup
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* cleanup.runOnce, { expired: 0, startedAt: HOUR, durationMs: 0 })
      assert.isFalse((yield* cleanup.status).running)
    }).pipe(Effect.provide(SessionCleanup.layerNoop))
  )
})
