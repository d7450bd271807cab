import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as SqliteFailure from "../../../src/persistence/sqlite/SqliteFailure.js"
import * as SqliteDrivers from "../../support/SqliteDrivers.js"

const machine = Clock.make()

SqliteDrivers.suite("transactions of SqliteClient", (driver) => {
  for (const place of ["a file", "memory"] as const) {
    const client = (options?: Partial<SqliteClient.Options>) =>
      Effect.gen(function* () {
        const file = place === "memory" ? ":memory:" : yield* SqliteDrivers.file
        const sql = yield* SqliteClient.make({ file, driver, ...options })
        yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY)`
        return sql
      })
    const add = (sql: SqlClient.SqlClient, id: number) => sql`INSERT INTO t VALUES (${id})`
    const ids = (sql: SqlClient.SqlClient) =>
      Effect.map(sql<{ id: number }>`SELECT id FROM t ORDER BY id`, (rows) => rows.map(({ id }) => id))

    it.scoped(`commit all or nothing, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* client()
        assert.strictEqual(yield* sql.withTransaction(Effect.as(add(sql, 1), "answer")), "answer")
        const failed = yield* Effect.exit(sql.withTransaction(Effect.zipRight(add(sql, 2), Effect.fail("no"))))
        assert.deepStrictEqual(failed, Exit.fail("no"))
        const died = yield* Effect.exit(sql.withTransaction(Effect.zipRight(add(sql, 3), Effect.die("no"))))
        assert.isTrue(Exit.isFailure(died) && Cause.isDie(died.cause))
        const reached = yield* Deferred.make<void>()
        const fiber = yield* Effect.fork(
          sql.withTransaction(
            add(sql, 4).pipe(Effect.zipRight(Deferred.succeed(reached, undefined)), Effect.zipRight(Effect.never))
          )
        )
        yield* Deferred.await(reached)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* ids(sql), [1])
        yield* sql.withTransaction(add(sql, 5))
        assert.deepStrictEqual(yield* ids(sql), [1, 5])
      })
    )

    it.scoped(`nest, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* client()
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* add(sql, 1)
            yield* Effect.exit(
              sql.withTransaction(
                Effect.gen(function* () {
                  yield* add(sql, 2)
                  yield* sql.withTransaction(add(sql, 3))
                  return yield* Effect.fail("inner")
                })
              )
            )
            for (let id = 10; id < 13; id++) yield* sql.withTransaction(add(sql, id))
            assert.deepStrictEqual(yield* ids(sql), [1, 10, 11, 12])
          })
        )
        assert.deepStrictEqual(yield* ids(sql), [1, 10, 11, 12])
        yield* Effect.exit(
          sql.withTransaction(Effect.zipRight(sql.withTransaction(add(sql, 20)), Effect.fail("outer")))
        )
        assert.deepStrictEqual(yield* ids(sql), [1, 10, 11, 12])
      })
    )

    it.scoped(`fail with a type and roll back when they cannot be committed, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* client()
        yield* sql`CREATE TABLE child (t INTEGER REFERENCES t (id) DEFERRABLE INITIALLY DEFERRED)`
        const error = yield* Effect.flip(
          sql.withTransaction(Effect.zipRight(add(sql, 1), sql`INSERT INTO child VALUES (7)`))
        )
        assert.strictEqual(SqliteFailure.codeOf(error), "SQLITE_CONSTRAINT_FOREIGNKEY")
        assert.deepStrictEqual(yield* ids(sql), [])
        yield* sql.withTransaction(add(sql, 2))
        assert.deepStrictEqual(yield* ids(sql), [2])
      })
    )

    it.scoped(`run in the order of request, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* client()
        const order: Array<number> = []
        yield* Effect.forEach(
          Array.from({ length: 30 }, (_, n) => n),
          (n) =>
            sql.withTransaction(
              Effect.zipRight(
                add(sql, n),
                Effect.zipRight(
                  Effect.yieldNow(),
                  Effect.sync(() => order.push(n))
                )
              )
            ),
          { concurrency: "unbounded", discard: true }
        )
        assert.deepStrictEqual(
          order,
          Array.from({ length: 30 }, (_, n) => n)
        )
        assert.strictEqual((yield* ids(sql)).length, 30)
      })
    )

    it.scoped(`can be interrupted while waiting, and leave nothing, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* client()
        const inside = yield* Deferred.make<void>()
        const leave = yield* Deferred.make<void>()
        const holder = yield* Effect.fork(
          sql.withTransaction(
            add(sql, 1).pipe(
              Effect.zipRight(Deferred.succeed(inside, undefined)),
              Effect.zipRight(Deferred.await(leave))
            )
          )
        )
        yield* Deferred.await(inside)
        const waiting = [
          yield* Effect.fork(sql.withTransaction(add(sql, 2))),
          yield* Effect.fork(Effect.scoped(sql.reserve)),
          yield* Effect.fork(add(sql, 3)),
          yield* Effect.fork(Effect.scoped(Effect.uninterruptibleMask((restore) => restore(sql.reserve))))
        ]
        const last = yield* Effect.fork(sql.withTransaction(add(sql, 4)))
        for (let n = 0; n < 5; n++) yield* Effect.yieldNow()
        yield* Fiber.interruptAll(waiting)
        yield* Deferred.succeed(leave, undefined)
        yield* Fiber.join(holder)
        yield* Fiber.join(last)
        yield* add(sql, 5)
        assert.deepStrictEqual(yield* ids(sql), [1, 4, 5])
      })
    )

    it.scoped(`give up their connection at their end, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* client()
        const late = yield* Deferred.make<void>()
        const forked = yield* sql.withTransaction(
          Effect.forkDaemon(Effect.zipRight(Deferred.await(late), Effect.flip(add(sql, 1))))
        )
        const connection = yield* Effect.scoped(sql.reserve)
        yield* Deferred.succeed(late, undefined)
        assert.strictEqual(SqliteFailure.codeOf(yield* Fiber.join(forked)), "SQLITE_MISUSE")
        const error = yield* Effect.flip(connection.execute("SELECT 1", [], undefined))
        assert.strictEqual(SqliteFailure.codeOf(error), "SQLITE_MISUSE")
      })
    )

    it.scoped(`roll back what a reserved connection leaves open, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* client()
        yield* Effect.scoped(
          Effect.gen(function* () {
            const connection = yield* sql.reserve
            // Nothing to undo.
            yield* connection.executeUnprepared("ROLLBACK", [], undefined)
            yield* connection.executeUnprepared("BEGIN IMMEDIATE", [], undefined)
            yield* connection.execute("INSERT INTO t VALUES (?)", [1], undefined)
          })
        )
        assert.deepStrictEqual(yield* ids(sql), [])
        yield* sql.withTransaction(add(sql, 2))
        assert.deepStrictEqual(yield* ids(sql), [2])
      })
    )

    it.scoped(`are begun by nobody else, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* client()
        for (const text of ["BEGIN", "SAVEPOINT a", "COMMIT"]) {
          assert.strictEqual(SqliteFailure.codeOf(yield* Effect.flip(sql.unsafe(text))), "SQLITE_MISUSE")
          assert.strictEqual(SqliteFailure.codeOf(yield* Effect.flip(sql.unsafe(text).unprepared)), "SQLITE_MISUSE")
        }
      })
    )

    it.scoped(`fail a statement beside its own transaction instead of waiting for the end, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* client()
        const beside = sql.connection.execute("INSERT INTO t VALUES (9)", [], undefined)
        const error = yield* Effect.flip(sql.withTransaction(Effect.zipRight(add(sql, 1), beside)))
        assert.strictEqual(SqliteFailure.codeOf(error), "SQLITE_MISUSE")
        assert.deepStrictEqual(yield* ids(sql), [])
      })
    )

    it.scoped(`do not apply to statements of another database, in ${place}`, () =>
      Effect.gen(function* () {
        const one = yield* client()
        const two = yield* client()
        yield* Effect.exit(
          one.withTransaction(
            Effect.gen(function* () {
              yield* add(one, 1)
              yield* add(two, 2)
              yield* two.withTransaction(add(two, 3))
              return yield* Effect.fail("undone")
            })
          )
        )
        assert.deepStrictEqual([yield* ids(one), yield* ids(two)], [[], [2, 3]])
      })
    )

    it.scoped(`have spans, and so have their statements, in ${place}`, () =>
      Effect.gen(function* () {
        const sql = yield* client()
        const spans: Array<{
          readonly name: string
          readonly parent: string | undefined
          readonly events: Array<string>
        }> = []
        const tracer = Tracer.make({
          context: (f) => f(),
          span: (name, parent, context, links, startTime, kind) => {
            const events: Array<string> = []
            const span: Tracer.Span = {
              _tag: "Span",
              name,
              spanId: String(spans.length),
              traceId: "1",
              parent,
              context,
              status: { _tag: "Started", startTime },
              attributes: new Map(),
              links,
              sampled: true,
              kind,
              end: () => undefined,
              attribute: () => undefined,
              event: (event) => events.push(event),
              addLinks: () => undefined
            }
            const above = Option.getOrUndefined(parent)
            spans.push({ name, parent: above?._tag === "Span" ? above.name : undefined, events })
            return span
          }
        })
        const failing = Effect.exit(sql.withTransaction(Effect.fail("no")))
        yield* sql.withTransaction(Effect.zipRight(add(sql, 1), failing)).pipe(Effect.withTracer(tracer))
        yield* sql.connection.execute("SELECT 1", [], undefined).pipe(Effect.withTracer(tracer))
        assert.deepStrictEqual(spans, [
          { name: "sql.transaction", parent: undefined, events: ["db.transaction.commit"] },
          { name: "sql.execute", parent: "sql.transaction", events: [] },
          { name: "sql.transaction", parent: "sql.transaction", events: ["db.transaction.rollback"] }
        ])
      })
    )
  }

  it.scoped("let other reads and streams continue", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      const sql = yield* SqliteClient.make({ file, driver })
      yield* sql`CREATE TABLE t (id INTEGER)`
      const outside = <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.mapInputContext(effect, (context: Context.Context<never>) =>
          Context.omit(SqlClient.TransactionConnection)(context as Context.Context<SqlClient.TransactionConnection>)
        )
      yield* sql
        .withTransaction(
          Effect.gen(function* () {
            yield* sql`INSERT INTO t VALUES (1)`
            assert.deepStrictEqual(yield* outside(sql`SELECT * FROM t`), [])
            const writing = yield* Effect.fork(outside(sql`INSERT INTO t VALUES (2)`))
            yield* Effect.yieldNow()
            assert.isNull(writing.unsafePoll())
            assert.deepStrictEqual(yield* sql`SELECT * FROM t`, [{ id: 1 }])
            return writing
          })
        )
        .pipe(Effect.flatMap(Fiber.join))
      assert.deepStrictEqual(yield* sql`SELECT * FROM t`, [{ id: 1 }, { id: 2 }])
    })
  )

  it.scoped("write as safely as configured", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      const sql = yield* SqliteClient.make({ file, driver })
      yield* sql`CREATE TABLE t (id INTEGER)`
      const level = Effect.map(sql<{ synchronous: number }>`PRAGMA synchronous`, (rows) => rows[0]!.synchronous)
      const full = Effect.provideService(SqliteClient.Synchronous, "full" as const)
      assert.strictEqual(yield* sql.withTransaction(level), 1)
      assert.strictEqual(yield* full(sql.withTransaction(level)), 2)
      assert.strictEqual(yield* sql.withTransaction(full(level)), 1)
      assert.strictEqual(yield* sql.withTransaction(level), 1)
      const reserved = Effect.scoped(
        Effect.flatMap(sql.reserve, (connection) =>
          connection
            .executeUnprepared("BEGIN IMMEDIATE", [], undefined)
            .pipe(Effect.zipRight(connection.execute("PRAGMA synchronous", [], undefined)))
        )
      )
      assert.deepStrictEqual(yield* full(reserved), [{ synchronous: 2 }])
      // A statement by itself; what only reads leaves it.
      yield* full(sql`INSERT INTO t VALUES (1)`)
      assert.strictEqual(yield* level, 2)
      yield* sql`SELECT * FROM t`
      assert.strictEqual(yield* level, 2)
      yield* sql`INSERT INTO t VALUES (1)`
      assert.strictEqual(yield* level, 1)
    })
  )

  it.scoped("alternate between two clients", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      const one = yield* SqliteClient.make({ file, driver })
      const two = yield* SqliteClient.make({ file, driver })
      yield* one`CREATE TABLE t (n INTEGER)`
      yield* one`INSERT INTO t VALUES (0)`
      const worker = (sql: SqliteClient.Service) =>
        Effect.repeatN(
          sql.withTransaction(
            Effect.gen(function* () {
              const [row] = yield* sql<{ n: number }>`SELECT n FROM t`
              yield* Effect.yieldNow()
              yield* sql`UPDATE t SET n = ${row!.n + 1}`
            })
          ),
          24
        )
      yield* Effect.all([worker(one), worker(two), worker(one), worker(two)], { concurrency: 4 }).pipe(
        Effect.timeoutFail({ duration: "15 seconds", onTimeout: () => "stuck" }),
        Effect.withClock(machine)
      )
      assert.deepStrictEqual(yield* two`SELECT n FROM t`, [{ n: 100 }])
    })
  )
})
