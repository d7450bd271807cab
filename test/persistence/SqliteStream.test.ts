import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SqliteClient from "../../src/persistence/sqlite/SqliteClient.js"
import * as SqliteFailure from "../../src/persistence/sqlite/SqliteFailure.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"

const endless = "WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n"

const outside = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.mapInputContext(
    effect,
    (context: Context.Context<R>) =>
      Context.omit(SqlClient.TransactionConnection)(
        context as Context.Context<SqlClient.TransactionConnection>
      ) as unknown as Context.Context<R>
  )

SqliteDrivers.suite("streams of SqliteClient", (driver) => {
  for (const place of ["a file", "memory"] as const) {
    const filled = Effect.gen(function* () {
      const file = place === "memory" ? ":memory:" : yield* SqliteDrivers.file
      const sql = yield* SqliteClient.make({ file, driver })
      yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)`
      yield* sql`INSERT INTO t SELECT value, 'v' || value FROM json_each(${JSON.stringify(
        Array.from({ length: 1000 }, (_, n) => n)
      )})`
      return sql
    })
    /** A reader that has not ended keeps the log from being emptied. */
    const isFree = (sql: SqliteClient.Service) =>
      Effect.gen(function* () {
        yield* sql`INSERT INTO t (v) VALUES ('more')`
        yield* sql.checkpoint
        yield* sql`DROP TABLE t`
      })

    it.scoped(`return all rows, in order, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* filled
        for (const count of [0, 1, 99, 100, 101, 200, 1000]) {
          const rows = yield* Stream.runCollect(sql`SELECT id, v FROM t ORDER BY id LIMIT ${count}`.stream)
          assert.strictEqual(Chunk.size(rows), count)
          assert.deepStrictEqual(
            Chunk.toReadonlyArray(rows).at(-1),
            count === 0 ? undefined : { id: count - 1, v: `v${count - 1}` }
          )
        }
        const all = yield* Stream.runCollect(sql`SELECT * FROM t WHERE id < 2`.stream)
        assert.deepStrictEqual(Chunk.toReadonlyArray(all), [
          { id: 0, v: "v0" },
          { id: 1, v: "v1" }
        ])
        yield* isFree(sql)
      })
    )

    it.scoped(`read no more than requested, and end with their consumer, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* filled
        const some = yield* Stream.runCollect(Stream.take(sql.unsafe(endless).stream, 250))
        assert.strictEqual(Chunk.size(some), 250)
        for (let n = 0; n < 10; n++) yield* Stream.runHead(sql`SELECT id FROM t ORDER BY v`.stream)
        yield* Effect.exit(Stream.runForEach(sql`SELECT id FROM t`.stream, () => Effect.fail("no")))
        const reached = yield* Deferred.make<void>()
        const fiber = yield* Effect.fork(
          Stream.runForEach(sql.unsafe(endless).stream, () =>
            Effect.zipRight(Deferred.succeed(reached, undefined), Effect.never)
          )
        )
        yield* Deferred.await(reached)
        yield* Fiber.interrupt(fiber)
        yield* isFree(sql)
      })
    )

    it.scoped(`let others write meanwhile, including their consumer, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* filled
        const count = yield* Stream.runFoldEffect(sql`SELECT id FROM t WHERE id < 300`.stream, 0, (n) =>
          Effect.as(
            n % 50 === 0
              ? sql.withTransaction(sql`INSERT INTO t (v) VALUES (${`new ${n}`})`)
              : sql`UPDATE t SET v = 'seen' WHERE id = ${n}`,
            n + 1
          )
        )
        assert.strictEqual(count, 300)
        assert.deepStrictEqual(yield* sql`SELECT count(*) AS n FROM t`, [{ n: 1006 }])
        yield* isFree(sql)
      })
    )

    it.scoped(`run concurrently, and early ends do not affect others, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* filled
        const counts = yield* Effect.forEach(
          [1000, 5, 700, 150, 1000, 1],
          (count) =>
            Stream.runCount(
              Stream.take(
                Stream.tap(sql`SELECT id FROM t`.stream, () => Effect.yieldNow()),
                count
              )
            ),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(counts, [1000, 5, 700, 150, 1000, 1])
        yield* isFree(sql)
      })
    )

    it.scoped(`see the writes of their transaction and end with it, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* filled
        const scope = yield* Scope.make()
        const pull = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`INSERT INTO t VALUES (5000, 'mine')`
            const mine = yield* Stream.runCollect(sql`SELECT v FROM t WHERE id = 5000`.stream)
            assert.deepStrictEqual(Chunk.toReadonlyArray(mine), [{ v: "mine" }])
            const nested = yield* Stream.runFoldEffect(Stream.take(sql`SELECT id FROM t`.stream, 250), 0, (n) =>
              Effect.as(
                Effect.when(sql`UPDATE t SET v = 'seen' WHERE id = ${n}`, () => n < 5),
                n + 1
              )
            )
            assert.strictEqual(nested, 250)
            const pull = yield* Scope.extend(Stream.toPull(sql.unsafe(endless).stream), scope)
            assert.strictEqual(Chunk.size(yield* pull), 100)
            return pull
          })
        )
        const error = yield* Effect.flip(Effect.flip(Effect.flip(pull)) as Effect.Effect<unknown, unknown>)
        assert.strictEqual(
          SqliteFailure.codeOf((error as { readonly value?: unknown }).value ?? error),
          "SQLITE_MISUSE"
        )
        yield* Scope.close(scope, Exit.void)
        yield* isFree(sql)
      })
    )

    it.scoped(`see no uncommitted writes outside of the transaction, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* filled
        const scope = yield* Scope.make()
        const pull = yield* Scope.extend(Stream.toPull(sql`SELECT id, v FROM t`.stream), scope)
        yield* pull
        const rest = yield* Effect.fork(
          Effect.zipRight(
            Effect.yieldNow(),
            outside(Effect.repeat(pull, { until: (rows) => Chunk.some(rows, (row) => row.v === "dirty") }))
          )
        )
        yield* Effect.exit(
          sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`UPDATE t SET v = 'dirty'`
              for (let n = 0; n < 20; n++) yield* Effect.yieldNow()
              return yield* Effect.fail("undone")
            })
          )
        )
        assert.isTrue(Exit.isFailure(yield* Fiber.await(rest)))
        yield* Scope.close(scope, Exit.void)
      })
    )

    it.scoped(`fail with a typed error, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* filled
        const codeOf = (text: string) =>
          Effect.map(Effect.flip(Stream.runDrain(sql.unsafe(text).stream)), SqliteFailure.codeOf)
        assert.strictEqual(yield* codeOf("SELECT none FROM t"), "SQLITE_ERROR")
        assert.strictEqual(
          yield* codeOf("SELECT abs(CASE id WHEN 500 THEN -9223372036854775808 ELSE id END) FROM t"),
          "SQLITE_ERROR"
        )
        assert.strictEqual(yield* codeOf("SELECT ?"), "SQLITE_RANGE")
        assert.strictEqual(yield* codeOf("SELECT 1; SELECT 2"), "SQLITE_MISUSE")
        yield* isFree(sql)
      })
    )

    it.scoped(`return the rows of a writing statement, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* filled
        const rows = yield* Stream.runCollect(sql`DELETE FROM t WHERE id < 2 RETURNING id`.stream)
        assert.deepStrictEqual(Chunk.toReadonlyArray(rows), [{ id: 0 }, { id: 1 }])
        assert.deepStrictEqual(yield* sql`SELECT count(*) AS n FROM t`, [{ n: 998 }])
      })
    )
  }

  it.scoped("end with the client", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      const outer = yield* Scope.make()
      const inner = yield* Scope.make()
      const sql = yield* Scope.extend(SqliteClient.make({ file, driver }), inner)
      const pull = yield* Scope.extend(Stream.toPull(sql.unsafe(endless).stream), outer)
      yield* pull
      yield* Scope.close(inner, Exit.void)
      assert.strictEqual((yield* Effect.exit(pull))._tag, "Failure")
      yield* Scope.close(outer, Exit.void)
      assert.strictEqual((yield* Effect.exit(Stream.runDrain(sql`SELECT 1`.stream)))._tag, "Failure")
    })
  )

  it.scoped("read one state of the file", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      const sql = yield* SqliteClient.make({ file, driver })
      yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY)`
      yield* sql`INSERT INTO t SELECT value FROM json_each(${JSON.stringify(Array.from({ length: 500 }, (_, n) => n))})`
      const seen = yield* Stream.runFoldEffect(sql`SELECT id FROM t`.stream, 0, (n) =>
        Effect.as(
          Effect.when(sql`DELETE FROM t`, () => n === 0),
          n + 1
        )
      )
      assert.strictEqual(seen, 500)
      assert.deepStrictEqual(yield* sql`SELECT count(*) AS n FROM t`, [{ n: 0 }])
    })
  )
})
