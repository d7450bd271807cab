import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as RateLimitStore from "../../../src/governance/store/RateLimitStore.js"
import * as Database from "../../../src/persistence/engine/Database.js"
import * as Dialect from "../../../src/persistence/engine/Dialect.js"
import * as SqlRateLimitStore from "../../../src/persistence/governance/SqlRateLimitStore.js"
import * as SqlRates from "../../../src/persistence/governance/SqlRates.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import { suite } from "../../governance/store/RateLimitStoreSuite.js"
import * as QueryPlans from "../../support/QueryPlans.js"
import * as SetClock from "../../support/SetClock.js"
import * as SqlBackends from "../../support/SqlBackends.js"

const windowMs = 60_000
const day = 86_400_000

const rowsOf = (table: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql.unsafe<{ n: unknown }>(`SELECT COUNT(*) AS n FROM ${table}`), ([row]) => Number(row?.n))
  )

/** What keys hold is what their slots come to. */
const consistent = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql.unsafe<{ total: unknown; slots: unknown }>(
    `SELECT r.total, COALESCE(SUM(s.amount), 0) AS slots FROM lex_rates r
    LEFT JOIN lex_rate_slots s ON s.rate_key = r.rate_key GROUP BY r.rate_key, r.total`
  )
  for (const { slots, total } of rows) assert.strictEqual(Number(total), Number(slots))
})

SqlBackends.suite("SqlRateLimitStore", (backend) => {
  const dialect = backend.dialect === "sqlite" ? Dialect.sqlite : Dialect.postgres
  const runs = backend.dialect === "sqlite" ? 40 : 12
  const both = Layer.provideMerge(SqlRateLimitStore.layer, backend.layer)
  const test = (
    fact: string,
    body: Effect.Effect<void, unknown, RateLimitStore.RateLimitStore | SqlClient.SqlClient>
  ) => it.effect(fact, () => Effect.provide(body, both))

  suite(backend.dialect, Layer.provide(SqlRateLimitStore.layer, backend.layer), { numRuns: runs })

  it.effect("equals the store in memory for any takes and windows", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.constantFrom(1, 1000, windowMs, 3_600_000, day),
          FastCheck.array(
            FastCheck.record({
              wait: FastCheck.oneof(FastCheck.nat(10), FastCheck.nat(day), FastCheck.constantFrom(-5000, 0, 24_000)),
              amount: FastCheck.nat(5),
              to: FastCheck.option(FastCheck.nat(30), { nil: undefined })
            }),
            { maxLength: 20 }
          ),
          (length, steps) => {
            const time = SetClock.make(day)
            return Effect.gen(function* () {
              const mine = yield* RateLimitStore.RateLimitStore
              const reference = yield* RateLimitStore.makeMemory()
              const window = { key: "\0\ud800", windowMs: length }
              for (const { amount, to, wait } of steps) {
                time.set(time.now() + Math.round((wait * length) / windowMs))
                const take = { ...window, amount, limit: 12 }
                const taken = yield* mine.take(take)
                assert.deepStrictEqual(taken, yield* reference.take(take))
                if (taken.allowed && to !== undefined) {
                  const adjustment = { ...window, at: taken.at, from: amount, to }
                  yield* mine.adjust(adjustment)
                  yield* reference.adjust(adjustment)
                }
                assert.strictEqual(yield* mine.peek(window), yield* reference.peek(window))
              }
              yield* consistent
            }).pipe(Effect.withClock(time.clock), Effect.provide(both), Effect.runPromise)
          }
        ),
        { numRuns: runs }
      )
    )
  )

  test(
    "loses nothing when a clock is set back",
    Effect.gen(function* () {
      const time = SetClock.make(windowMs)
      const store = yield* RateLimitStore.RateLimitStore
      const take = Effect.withClock(store.take({ key: "k", amount: 1, limit: 2, windowMs }), time.clock)
      yield* take
      time.set(10)
      assert.deepStrictEqual(yield* take, { allowed: true, current: 2, at: windowMs })
      assert.deepStrictEqual(yield* take, { allowed: false, current: 2, retryAfterMs: 2 * windowMs - 10 })
      time.set(2 * windowMs)
      assert.isTrue((yield* take).allowed)
    })
  )

  test(
    "deletes keys without takes, and expired takes",
    Effect.gen(function* () {
      const store = yield* RateLimitStore.RateLimitStore
      for (let index = 0; index < 100; index++) {
        yield* store.take({ key: `key ${index}`, amount: 1, limit: 1, windowMs })
      }
      yield* TestClock.adjust(windowMs)
      for (let index = 0; index < 50; index++) yield* store.take({ key: "k", amount: 1, limit: 100, windowMs })
      assert.strictEqual(yield* rowsOf("lex_rates"), 1)
      assert.strictEqual(yield* rowsOf("lex_rate_slots"), 1)
      yield* TestClock.adjust(windowMs)
      yield* store.take({ key: "k", amount: 1, limit: 0, windowMs })
      assert.strictEqual(yield* rowsOf("lex_rate_slots"), 0)
    })
  )

  test(
    "leaves nothing of a rejected take, and reads no more than needed",
    Effect.gen(function* () {
      const store = yield* RateLimitStore.RateLimitStore
      for (let index = 0; index < 40; index++) {
        yield* store.take({ key: "k", amount: 1, limit: 40, windowMs })
        yield* TestClock.adjust(1)
      }
      const refused = yield* store.take({ key: "k", amount: 33, limit: 40, windowMs })
      assert.deepStrictEqual(refused, { allowed: false, current: 40, retryAfterMs: windowMs - 40 + 32 })
      yield* store.take({ key: "new", amount: 2, limit: 1, windowMs })
      assert.strictEqual(yield* rowsOf("lex_rates"), 1)
      assert.strictEqual(yield* rowsOf("lex_rate_slots"), 40)
    })
  )

  test(
    "allows 64 fibers in two stores no more than fits",
    Effect.gen(function* () {
      const other = yield* Effect.provide(SqlRateLimitStore.make, backend.kept)
      const stores = [yield* RateLimitStore.RateLimitStore, other]
      const taken = yield* Effect.forEach(
        Array.from({ length: 64 }, (_, index) => index),
        (index) =>
          Effect.gen(function* () {
            const store = stores[index % 2]!
            const first = yield* store.take({ key: `k${index % 3}`, amount: 3, limit: 40, windowMs })
            if (first.allowed && index % 4 === 0) {
              yield* store.adjust({ key: `k${index % 3}`, at: first.at, windowMs, from: 3, to: 4 })
            }
            return first.allowed
          }),
        { concurrency: "unbounded" }
      )
      assert.isAtMost(taken.filter((allowed) => allowed).length, 39)
      yield* consistent
      for (const key of ["k0", "k1", "k2"]) {
        const current = yield* other.peek({ key, windowMs })
        assert.isAtLeast(current, 37)
        // Adjustments may go past the limit, takes may not.
        assert.isAtMost(current, 40 + 16)
      }
    })
  )

  test(
    "takes all or nothing when interrupted",
    Effect.gen(function* () {
      const store = yield* RateLimitStore.RateLimitStore
      for (let round = 0; round < 16; round++) {
        const take = Effect.flatMap(store.take({ key: "k", amount: 2, limit: 1000, windowMs }), (taken) =>
          taken.allowed ? store.adjust({ key: "k", at: taken.at, windowMs, from: 2, to: 1 }) : Effect.void
        )
        const fiber = yield* Effect.fork(take)
        for (let turn = 0; turn < round * 3; turn++) yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
        yield* consistent
      }
    })
  )

  test(
    "joins the caller's transaction, only in one of the same client",
    Effect.gen(function* () {
      const store = yield* RateLimitStore.RateLimitStore
      const sql = yield* SqlClient.SqlClient
      const other = yield* SqliteClient.make({ file: ":memory:" })
      const work = Effect.gen(function* () {
        yield* store.take({ key: "k", amount: 3, limit: 3, windowMs })
        assert.isFalse((yield* store.take({ key: "k", amount: 1, limit: 3, windowMs })).allowed)
        return yield* Effect.fail("undone")
      })
      yield* Effect.flip(sql.withTransaction(work))
      assert.strictEqual(yield* store.peek({ key: "k", windowMs }), 0)
      yield* Effect.flip(other.withTransaction(work))
      assert.strictEqual(yield* store.peek({ key: "k", windowMs }), 3)
    }).pipe(Effect.scoped)
  )

  test(
    "forgets a user's takes by keys",
    Effect.gen(function* () {
      const store = yield* RateLimitStore.RateLimitStore
      const keys = ["rpm:user:a", "tpm:user:a", "rpm:user:a:b"]
      for (const key of keys) yield* store.take({ key, amount: 1, limit: 1, windowMs })
      yield* SqlRates.forget(yield* Database.open, keys.slice(0, 2))
      assert.deepStrictEqual(yield* Effect.forEach(keys, (key) => store.peek({ key, windowMs })), [0, 0, 1])
      assert.strictEqual(yield* rowsOf("lex_rate_slots"), 1)
    })
  )

  test(
    "finds the rows of every statement by an index",
    Effect.gen(function* () {
      const texts = SqlRates.statements(dialect)
      const list = dialect.list(["a", "b"])
      const params: Record<keyof typeof texts, ReadonlyArray<Dialect.Param>> = {
        take: ["a", 1, 1, 1],
        put: ["a", 1, 1],
        pass: ["a", 1],
        count: [1, "a"],
        next: ["a", 1, 9],
        lockSlot: ["a", 1],
        setSlot: [1, "a", 1],
        add: [1, "a"],
        peek: [1, "a"],
        sweep: [1],
        sweepSlots: [list],
        forget: [list]
      }
      for (const [name, text] of Object.entries(texts)) {
        if (dialect.name === "sqlite" && (name === "take" || name === "put")) continue
        yield* QueryPlans.usesIndexes(name, text, params[name as keyof typeof texts], { sorts: name === "sweep" })
      }
    })
  )

  test(
    "fails with a GovernancePersistenceError without content when a database does not answer",
    Effect.gen(function* () {
      const store = yield* RateLimitStore.RateLimitStore
      const sql = yield* SqlClient.SqlClient
      const calls: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        store.take({ key: "hush", amount: 1, limit: 1, windowMs }),
        store.adjust({ key: "hush", at: 0, windowMs, from: 1, to: 2 }),
        store.peek({ key: "hush", windowMs })
      ]
      for (const call of calls) {
        const broken = Effect.gen(function* () {
          yield* sql.unsafe("DROP TABLE lex_rate_slots")
          const error = yield* Effect.flip(call)
          return yield* Effect.fail(error)
        })
        const error = yield* Effect.flip(sql.withTransaction(broken))
        assert.propertyVal(error, "_tag", "GovernancePersistenceError")
        assert.notInclude(JSON.stringify(error), "hush")
      }
      for (const call of calls) yield* call
    })
  )
})

describe("SqlRateLimitStore", () => {
  it.effect("rejects a database without tables, or creates them", () =>
    Effect.gen(function* () {
      const client = SqliteClient.layer({ file: ":memory:" })
      const error = yield* Effect.flip(
        Effect.provide(RateLimitStore.RateLimitStore, Layer.provide(SqlRateLimitStore.layer, client))
      )
      assert.strictEqual(error._tag, "MigrationError")
      const taken = yield* RateLimitStore.RateLimitStore.pipe(
        Effect.flatMap((store) => store.take({ key: "k", amount: 1, limit: 1, windowMs })),
        Effect.provide(Layer.provide(SqlRateLimitStore.layerMigrated, client))
      )
      assert.isTrue(taken.allowed)
    })
  )
})
