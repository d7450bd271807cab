import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as SqliteClient from "../../src/persistence/sqlite/SqliteClient.js"
import * as SqliteFailure from "../../src/persistence/sqlite/SqliteFailure.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"

const machine = Clock.make()
const pause = (millis: number) => Effect.withClock(Effect.sleep(millis), machine)

SqliteDrivers.suite("SqliteClient and other processes", (driver) => {
  const kept = (options?: Partial<SqliteClient.Options>) =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      const sql = yield* SqliteClient.make({ file, driver, ...options })
      yield* sql`CREATE TABLE kept (id TEXT PRIMARY KEY)`
      return sql
    })
  const add = (sql: SqliteClient.Service, id: string) => sql`INSERT INTO kept VALUES (${id})`
  const ids = (sql: SqliteClient.Service) =>
    Effect.map(sql<{ id: string }>`SELECT id FROM kept ORDER BY rowid`, (rows) => rows.map(({ id }) => id))

  it.scoped("waits for their locks while all other work continues", () =>
    Effect.gen(function* () {
      const sql = yield* kept()
      const other = yield* SqliteDrivers.otherProcess(driver, sql.file, "hold")
      assert.strictEqual(yield* other.line, "held")
      const first = yield* Effect.fork(add(sql, "by itself"))
      yield* pause(5)
      const second = yield* Effect.fork(sql.withTransaction(add(sql, "in a transaction")))
      const third = yield* Effect.fork(add(sql, "later"))
      // A driver that waits for a lock by itself would block the event loop.
      assert.deepStrictEqual(yield* sql`PRAGMA busy_timeout`.values, [[0]])
      for (let n = 0; n < 40; n++) {
        yield* pause(5)
        assert.deepStrictEqual(yield* ids(sql), [])
      }
      assert.deepStrictEqual([first.unsafePoll(), second.unsafePoll(), third.unsafePoll()], [null, null, null])
      yield* other.tell("commit")
      yield* Fiber.joinAll([first, second, third])
      assert.deepStrictEqual(yield* ids(sql), ["other", "by itself", "in a transaction", "later"])
    })
  )

  it.scoped("gives up after its timeout, and writes again afterwards", () =>
    Effect.gen(function* () {
      const sql = yield* kept({ busyTimeout: "80 millis" })
      const other = yield* SqliteDrivers.otherProcess(driver, sql.file, "hold")
      yield* other.line
      const from = machine.unsafeCurrentTimeMillis()
      for (const effect of [
        add(sql, "a"),
        sql.withTransaction(add(sql, "b")),
        sql`INSERT INTO kept VALUES ('r') RETURNING id`
      ]) {
        const error = yield* Effect.flip(effect as ReturnType<typeof add>)
        assert.strictEqual(SqliteFailure.codeOf(error), "SQLITE_BUSY")
      }
      assert.isAtLeast(machine.unsafeCurrentTimeMillis() - from, 240)
      yield* other.tell("commit")
      assert.strictEqual(yield* other.line, "done")
      yield* add(sql, "c")
      yield* sql.withTransaction(add(sql, "d"))
      // Another client sees it: nothing that was given up keeps it from being committed.
      const view = yield* SqliteClient.make({ file: sql.file, driver })
      assert.deepStrictEqual(yield* ids(view), ["other", "c", "d"])
      yield* sql.checkpoint
    })
  )

  it.scoped("makes scripts wait before they begin, and runs them once", () =>
    Effect.gen(function* () {
      const sql = yield* kept()
      const other = yield* SqliteDrivers.otherProcess(driver, sql.file, "hold")
      yield* other.line
      const script = sql.unsafe("PRAGMA user_version = 3; CREATE TABLE a (id INTEGER); CREATE TABLE b (id INTEGER)")
      const waiting = yield* Effect.fork(script.unprepared)
      yield* pause(40)
      assert.isNull(waiting.unsafePoll())
      yield* other.tell("commit")
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(yield* sql`SELECT * FROM a, b`, [])
      assert.strictEqual(SqliteFailure.codeOf(yield* Effect.flip(script.unprepared)), "SQLITE_ERROR")
    })
  )

  it.scoped("does not wait when configured so", () =>
    Effect.gen(function* () {
      const sql = yield* kept({ busyTimeout: 0 })
      const other = yield* SqliteDrivers.otherProcess(driver, sql.file, "hold")
      yield* other.line
      assert.strictEqual(SqliteFailure.codeOf(yield* Effect.flip(add(sql, "a"))), "SQLITE_BUSY")
      assert.deepStrictEqual(yield* ids(sql), [])
    })
  )

  it.scoped("can be interrupted while waiting, and leaves nothing", () =>
    Effect.gen(function* () {
      const sql = yield* kept({ busyTimeout: "1 minute" })
      const other = yield* SqliteDrivers.otherProcess(driver, sql.file, "hold")
      yield* other.line
      const waiting = [
        yield* Effect.fork(sql.withTransaction(add(sql, "a"))),
        yield* Effect.fork(add(sql, "b")),
        yield* Effect.fork(sql.withTransaction(add(sql, "c")))
      ]
      yield* pause(30)
      // Returns while the other process still holds the lock.
      yield* Fiber.interruptAll(waiting)
      const next = yield* Effect.fork(sql.withTransaction(add(sql, "d")))
      yield* pause(30)
      yield* other.tell("commit")
      yield* Fiber.join(next)
      yield* add(sql, "e")
      assert.deepStrictEqual(yield* ids(sql), ["other", "d", "e"])
      yield* sql.checkpoint
    })
  )

  it.scoped("gets its turn next to a process that writes constantly", () =>
    Effect.gen(function* () {
      const sql = yield* kept({ synchronous: "full" })
      const other = yield* SqliteDrivers.otherProcess(driver, sql.file, "write")
      yield* other.line
      // A transaction that gets no turn within the busy timeout fails.
      for (let n = 0; n < 20; n++) yield* sql.withTransaction(add(sql, `own ${n}`))
      yield* other.kill
      assert.deepStrictEqual(
        (yield* ids(sql)).filter((id) => id.startsWith("own")),
        Array.from({ length: 20 }, (_, n) => `own ${n}`)
      )
    })
  )

  it.scoped("has everything a killed process acknowledged, in whole transactions only", () =>
    Effect.gen(function* () {
      const sql = yield* kept()
      for (let round = 0; round < 3; round++) {
        const other = yield* SqliteDrivers.otherProcess(driver, sql.file, "write")
        yield* other.line
        yield* pause(40 + round * 17)
        yield* other.kill
        const said = [...other.said]
        assert.isAbove(said.length, 0)
        const view = yield* SqliteClient.make({ file: sql.file, driver })
        const found = new Set(yield* ids(view))
        for (const id of said) assert.isTrue(found.has(`${id}a`) && found.has(`${id}b`), id)
        assert.strictEqual(found.size % 2, 0)
        assert.deepStrictEqual(yield* view`PRAGMA integrity_check`.values, [["ok"]])
        yield* sql`DELETE FROM kept`
      }
    })
  )

  it.scoped("lets many clients open a new file at once", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      yield* Effect.forEach(
        Array.from({ length: 8 }, (_, n) => n),
        (n) =>
          Effect.gen(function* () {
            const sql = yield* SqliteClient.make({ file, driver })
            yield* sql`CREATE TABLE IF NOT EXISTS kept (id TEXT PRIMARY KEY)`
            yield* sql.withTransaction(add(sql, String(n)))
          }),
        { concurrency: "unbounded", discard: true }
      )
      const sql = yield* SqliteClient.make({ file, driver })
      assert.strictEqual((yield* ids(sql)).length, 8)
    })
  )
})
