import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as CacheBackend from "../../../src/llm/CacheBackend.js"
import * as ConsolidationScheduler from "../../../src/memory/consolidation/ConsolidationScheduler.js"
import * as DefaultConsolidationScheduler from "../../../src/memory/consolidation/DefaultConsolidationScheduler.js"
import * as LastConsolidation from "../../../src/memory/consolidation/LastConsolidation.js"
import * as MemoryConsolidator from "../../../src/memory/consolidation/MemoryConsolidator.js"
import { ConsolidationError, type MemoryError, StorageError } from "../../../src/memory/entry/MemoryError.js"
import * as OwnerNamespace from "../../../src/memory/entry/OwnerNamespace.js"
import { entry, HOUR, now } from "../../support/ConsolidatedMemory.js"
import * as WatchedMemoryStore from "../../support/WatchedMemoryStore.js"

interface World {
  readonly store: WatchedMemoryStore.Watched
  /** Owner and hour of each consolidation that began. */
  readonly runs: Array<string>
  readonly scheduler: ConsolidationScheduler.Service
  readonly scope: Scope.CloseableScope
}

type Consolidate = (ownerId: string) => Effect.Effect<void, MemoryError>

const one: MemoryConsolidator.ConsolidationResult = {
  entriesProcessed: 1,
  entriesConsolidated: 2,
  entriesPruned: 3,
  entitiesExtracted: 4,
  summariesStored: 5,
  durationMs: 6,
  dryRun: false
}

const unlogged = Logger.remove(Logger.defaultLogger)

/** Three owners, and a scheduler whose clock stands at `now`; closed in the end. */
const run = <A, E>(
  body: (world: World) => Effect.Effect<A, E>,
  options: {
    readonly consolidate?: Consolidate
    readonly scheduler?: DefaultConsolidationScheduler.Options
    readonly last?: Layer.Layer<LastConsolidation.LastConsolidation>
    readonly layer?: typeof DefaultConsolidationScheduler.layer
  } = {}
): Effect.Effect<A, E> =>
  Effect.gen(function* () {
    yield* TestClock.setTime(now)
    const store = yield* WatchedMemoryStore.make()
    yield* Effect.orDie(store.storeMany(["ann", "bob", "eve"].map((ownerId) => entry("a", "x", { ownerId }))))
    const runs: Array<string> = []
    const consolidator: MemoryConsolidator.Service = {
      ...MemoryConsolidator.noop,
      consolidate: ({ ownerId }) =>
        Effect.clockWith((clock) => {
          runs.push(`${ownerId} ${(clock.unsafeCurrentTimeMillis() - now) / HOUR}`)
          return Effect.as(options.consolidate?.(ownerId) ?? Effect.void, one)
        })
    }
    const scope = yield* Scope.make()
    const layer = (options.layer ?? DefaultConsolidationScheduler.layer)({ jitter: 0, ...options.scheduler }).pipe(
      Layer.provide([
        WatchedMemoryStore.layer(store),
        Layer.succeed(MemoryConsolidator.MemoryConsolidator, consolidator),
        options.last ?? LastConsolidation.layerMemory
      ])
    )
    const context = yield* Layer.buildWithScope(layer, scope)
    const scheduler = yield* Effect.provide(ConsolidationScheduler.ConsolidationScheduler, context)
    return yield* Effect.ensuring(body({ store, runs, scheduler, scope }), Scope.close(scope, Exit.void))
  }).pipe(Effect.provide(unlogged))

const everybody = (...hours: ReadonlyArray<number>) =>
  hours.flatMap((hour) => [`ann ${hour}`, `bob ${hour}`, `eve ${hour}`])

const lastRunAt = (at: number): Layer.Layer<LastConsolidation.LastConsolidation> =>
  Layer.succeed(LastConsolidation.LastConsolidation, {
    get: Effect.succeedSome(at),
    set: () => Effect.void
  })

describe("layer", () => {
  it.effect("consolidates all owners every hour, first after an hour", () =>
    run(({ runs, scheduler }) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* scheduler.status, {
          running: false,
          lastRun: Option.none(),
          lastReport: Option.none(),
          nextRunAt: Option.none()
        })
        yield* TestClock.adjust("59 minutes")
        assert.deepStrictEqual(runs, [])
        assert.deepStrictEqual((yield* scheduler.status).nextRunAt, Option.some(now + HOUR))
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(runs, everybody(1))
        yield* TestClock.adjust("2 hours")
        assert.deepStrictEqual(runs, everybody(1, 2, 3))
        const status = yield* scheduler.status
        assert.deepStrictEqual(status.lastRun, Option.some(now + 3 * HOUR))
        assert.deepStrictEqual(status.nextRunAt, Option.some(now + 4 * HOUR))
        assert.deepStrictEqual(
          status.lastReport,
          Option.some({
            startedAt: now + 3 * HOUR,
            owners: 3,
            failed: 0,
            result: {
              entriesProcessed: 3,
              entriesConsolidated: 6,
              entriesPruned: 9,
              entitiesExtracted: 12,
              summariesStored: 15,
              durationMs: 18,
              dryRun: false
            }
          })
        )
      })
    )
  )

  it.effect("uses the configured interval, even beyond the limit of timers", () =>
    run(
      ({ runs }) =>
        Effect.gen(function* () {
          yield* TestClock.adjust("59 days")
          assert.deepStrictEqual(runs, [])
          yield* TestClock.adjust("1 day")
          assert.deepStrictEqual(runs, everybody(60 * 24))
        }),
      { scheduler: { interval: "60 days" } }
    )
  )

  it.effect("deviates from the interval by at most the jitter", () =>
    Effect.gen(function* () {
      const found = new Set<number>()
      for (let count = 0; count < 10; count++) {
        yield* run(
          ({ scheduler }) =>
            Effect.gen(function* () {
              yield* TestClock.adjust(1)
              const next = Option.getOrThrow((yield* scheduler.status).nextRunAt)
              assert.isAtLeast(next - now, 0.5 * HOUR)
              assert.isAtMost(next - now, 1.5 * HOUR)
              assert.isTrue(Number.isInteger(next))
              found.add(next)
            }),
          { scheduler: { jitter: 0.5 } }
        )
      }
      assert.isAbove(found.size, 1)
    })
  )

  it.effect("runs at once with runOnStart", () =>
    run(
      ({ runs }) =>
        Effect.gen(function* () {
          yield* TestClock.adjust(1)
          assert.deepStrictEqual(runs, everybody(0))
          yield* TestClock.adjust("1 hour")
          assert.deepStrictEqual(runs, everybody(0, 1))
        }),
      { scheduler: { runOnStart: true } }
    )
  )

  it.effect("makes up for missed runs at once and only once", () =>
    run(
      ({ runs, scheduler }) =>
        Effect.gen(function* () {
          yield* TestClock.adjust(1)
          assert.deepStrictEqual(runs, everybody(0))
          yield* TestClock.adjust("90 minutes")
          assert.deepStrictEqual(runs, everybody(0, 1))
          assert.deepStrictEqual((yield* scheduler.status).lastRun, Option.some(now + HOUR))
        }),
      { last: lastRunAt(now - 10 * HOUR) }
    )
  )

  it.effect("continues after an earlier process, and ignores a last run in the future", () =>
    Effect.gen(function* () {
      const first = (last: number) =>
        run(({ scheduler }) => Effect.zipRight(TestClock.adjust(1), scheduler.status), { last: lastRunAt(last) })
      assert.deepStrictEqual((yield* first(now - HOUR / 4)).nextRunAt, Option.some(now + 0.75 * HOUR))
      assert.deepStrictEqual((yield* first(now + 100 * HOUR)).nextRunAt, Option.some(now + HOUR))
    })
  )

  it.effect("runs once after a run that takes longer than the interval", () =>
    run(
      ({ runs }) =>
        Effect.gen(function* () {
          yield* TestClock.adjust("1 hour")
          // Three owners of 90 minutes each.
          yield* TestClock.adjust("4.5 hours")
          assert.deepStrictEqual(runs, ["ann 1", "bob 2.5", "eve 4", "ann 5.5"])
        }),
      { consolidate: () => Effect.sleep("90 minutes") }
    )
  )

  it.effect("consolidates only the owners of a list or a predicate", () =>
    Effect.gen(function* () {
      const chosen = (owners: DefaultConsolidationScheduler.Options["owners"]) =>
        run(({ runs, scheduler }) => Effect.as(scheduler.runOnce, runs), {
          scheduler: owners === undefined ? {} : { owners }
        })
      assert.deepStrictEqual(yield* chosen(undefined), everybody(0))
      assert.deepStrictEqual(yield* chosen(["eve", "zoe", "eve"]), ["eve 0", "zoe 0"])
      assert.deepStrictEqual(yield* chosen((owner) => owner !== "bob"), ["ann 0", "eve 0"])
    })
  )

  it.effect("skips reserved spaces, whatever the owners option selects", () =>
    Effect.gen(function* () {
      for (const owners of [undefined, () => true]) {
        yield* run(
          ({ runs, scheduler, store }) =>
            Effect.gen(function* () {
              yield* store.store(entry("p", "x", { ownerId: OwnerNamespace.procedures("ann") }))
              yield* scheduler.runOnce
              assert.deepStrictEqual(runs, everybody(0))
            }),
          { scheduler: owners === undefined ? {} : { owners } }
        )
      }
    })
  )

  it.effect("stops with its layer, even during a consolidation", () =>
    Effect.gen(function* () {
      const ended: Array<string> = []
      yield* run(
        ({ runs, scope }) =>
          Effect.gen(function* () {
            yield* TestClock.adjust("1 hour")
            assert.deepStrictEqual(runs, ["ann 1"])
            yield* Scope.close(scope, Exit.void)
            assert.deepStrictEqual(ended, ["ann interrupted"])
            yield* TestClock.adjust("9 hours")
            assert.deepStrictEqual(runs, ["ann 1"])
          }),
        {
          consolidate: (owner) =>
            Effect.never.pipe(Effect.onInterrupt(() => Effect.sync(() => ended.push(`${owner} interrupted`))))
        }
      )
    })
  )
})

describe("an owner that fails", () => {
  const noisy = new ConsolidationError({ message: "no model" })

  it.effect("is counted and logged while the others continue, even after a defect", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make(({ annotations, message }) => {
        logged.push(`${String(message)} (${String(Option.getOrNull(HashMap.get(annotations, "owner")))})`)
      })
      yield* run(
        ({ runs, scheduler }) =>
          Effect.gen(function* () {
            const report = yield* Effect.provide(scheduler.runOnce, Logger.add(logger))
            assert.deepStrictEqual(runs, everybody(0))
            assert.deepStrictEqual([report.owners, report.failed], [1, 2])
            assert.strictEqual(report.result.entriesPruned, 3)
            assert.deepStrictEqual(logged, [
              "The memory of an owner could not be consolidated: ConsolidationError: no model (ann)",
              "The memory of an owner could not be consolidated: defect (bob)"
            ])
          }),
        {
          consolidate: (owner) =>
            owner === "ann" ? noisy : owner === "bob" ? Effect.die("the secret of bob") : Effect.void
        }
      )
    })
  )

  it.effect("is retried by the schedule", () =>
    Effect.gen(function* () {
      let tries = 0
      yield* run(
        ({ runs, scheduler }) =>
          Effect.gen(function* () {
            const fiber = yield* Effect.fork(scheduler.runOnce)
            yield* TestClock.adjust("20 minutes")
            const report = yield* Fiber.join(fiber)
            assert.deepStrictEqual([report.owners, report.failed], [3, 0])
            assert.deepStrictEqual(runs.length, 5)
          }),
        {
          consolidate: (owner) => (owner === "ann" && ++tries < 3 ? noisy : Effect.void),
          scheduler: { retry: Schedule.intersect(Schedule.spaced("1 minute"), Schedule.recurs(3)) }
        }
      )
    })
  )

  it.effect("runs again after a run that could not list the owners", () =>
    run(({ runs, scheduler, store }) =>
      Effect.gen(function* () {
        store.before.set("owners", new StorageError({ message: "no disk" }))
        assert.strictEqual((yield* Effect.flip(scheduler.runOnce))._tag, "StorageError")
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual([runs, (yield* scheduler.status).lastRun], [[], Option.none()])
        store.before.clear()
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(runs, everybody(2))
      })
    )
  )
})

describe("runOnce", () => {
  it.effect("waits for a run in progress", () =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      yield* run(
        ({ runs, scheduler }) =>
          Effect.gen(function* () {
            const first = yield* Effect.fork(scheduler.runOnce)
            const second = yield* Effect.fork(scheduler.runOnce)
            yield* TestClock.adjust(1)
            assert.deepStrictEqual(runs, ["ann 0"])
            assert.isTrue((yield* scheduler.status).running)
            yield* Deferred.succeed(go, undefined)
            yield* Fiber.join(first)
            yield* Fiber.join(second)
            assert.strictEqual(runs.length, 6)
            assert.isFalse((yield* scheduler.status).running)
          }),
        { consolidate: () => Deferred.await(go), layer: DefaultConsolidationScheduler.layerManual }
      )
    })
  )

  it.effect("works without the automatic runs", () =>
    run(
      ({ runs, scheduler }) =>
        Effect.gen(function* () {
          yield* TestClock.adjust("10 hours")
          assert.deepStrictEqual(runs, [])
          assert.deepStrictEqual((yield* scheduler.status).nextRunAt, Option.none())
          yield* scheduler.runOnce
          assert.deepStrictEqual(runs, everybody(10))
        }),
      { layer: DefaultConsolidationScheduler.layerManual }
    )
  )
})

describe("LastConsolidation", () => {
  const last = LastConsolidation.LastConsolidation

  it.effect("is shared by all users of a cache", () =>
    Effect.gen(function* () {
      const cache = Layer.succeed(CacheBackend.CacheBackend, yield* CacheBackend.makeMemory())
      const one = yield* Effect.provide(last, LastConsolidation.layerCache().pipe(Layer.provide(cache)))
      const other = yield* Effect.provide(last, LastConsolidation.layerCache().pipe(Layer.provide(cache)))
      const apart = yield* Effect.provide(last, LastConsolidation.layerCache({ key: "x" }).pipe(Layer.provide(cache)))
      assert.deepStrictEqual(yield* other.get, Option.none())
      yield* one.set(now)
      assert.deepStrictEqual(yield* other.get, Option.some(now))
      assert.deepStrictEqual(yield* apart.get, Option.none())
    })
  )

  it.effect("ignores values that something else wrote", () =>
    Effect.gen(function* () {
      const cache = yield* CacheBackend.makeMemory()
      const layer = LastConsolidation.layerCache().pipe(Layer.provide(Layer.succeed(CacheBackend.CacheBackend, cache)))
      yield* cache.set("memory:last-consolidation", "yesterday")
      assert.deepStrictEqual(yield* Effect.flatMap(last, ({ get }) => get).pipe(Effect.provide(layer)), Option.none())
    })
  )

  it.effect("does not affect a run when it cannot be read or written", () => {
    const failing = new CacheBackend.CacheBackendError({ message: "gone", operation: "get" })
    return run(({ scheduler }) => Effect.map(scheduler.runOnce, ({ owners }) => assert.strictEqual(owners, 3)), {
      last: Layer.succeed(last, { get: failing, set: () => failing })
    })
  })
})

describe("layerNoop", () => {
  it.effect("never runs", () =>
    Effect.gen(function* () {
      const scheduler = yield* ConsolidationScheduler.ConsolidationScheduler
      assert.strictEqual((yield* scheduler.runOnce).owners, 0)
      assert.isFalse((yield* scheduler.status).running)
    }).pipe(Effect.provide(ConsolidationScheduler.layerNoop))
  )
})
