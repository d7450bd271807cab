import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as ClientReader from "../../../src/builtin/sql/ClientReader.js"
import * as DatabaseQueryError from "../../../src/builtin/sql/DatabaseQueryError.js"
import * as DatabaseQuerySkill from "../../../src/builtin/sql/DatabaseQuerySkill.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import type * as Skill from "../../../src/skill/definition/Skill.js"
import { call, Misfit } from "../../support/Skills.js"

const usual = DatabaseQuerySkill.make({ allowBlocking: true })

type Reads = Skill.Skill<never, unknown, DatabaseQueryError.DatabaseQueryError, SqlClient.SqlClient>

/** A client whose reserved connections do some things otherwise. */
const over = (sql: SqlClient.SqlClient, change: (connection: Connection) => Partial<Connection>): SqlClient.SqlClient =>
  Object.assign(Object.create(sql), {
    reserve: Effect.map(sql.reserve, (connection) => Object.assign(Object.create(connection), change(connection)))
  })

/** A database in memory, and the same with what is told to its reserved connections. */
const filled = Effect.gen(function* () {
  const sql = yield* SqliteClient.make({ file: ":memory:", driver: "libsql" })
  const statements: Array<string> = []
  const noted = over(sql, (connection) => ({
    execute: (text, params) => {
      statements.push(text)
      return connection.execute(text, params, undefined)
    },
    executeUnprepared: (text, params) => {
      statements.push(text)
      return connection.executeUnprepared(text, params, undefined)
    }
  }))
  yield* sql`CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born REAL DEFAULT 1.5)`
  yield* sql`CREATE VIEW named AS SELECT name FROM people`
  for (let id = 1; id <= 150; id++) yield* sql`INSERT INTO people (id, name) VALUES (${id}, ${`name ${id}`})`
  return { sql, noted, statements }
})

const on = (sql: SqlClient.SqlClient) => ({
  call: <P, A, E, R>(skill: Skill.Skill<P, A, E, R>, params: unknown) =>
    Effect.provideService(call(skill, params), SqlClient.SqlClient, sql),
  reasonOf: <P, A, E, R>(skill: Skill.Skill<P, A, E, R>, params: unknown) =>
    Effect.map(Effect.flip(Effect.provideService(call(skill, params), SqlClient.SqlClient, sql)), (error) => {
      assert.instanceOf(error, DatabaseQueryError.DatabaseQueryError)
      return (error as DatabaseQueryError.DatabaseQueryError).reason
    })
})

/** A client of another database, whose connection only notes what it is told. */
const told = (
  compiler: Statement.Compiler,
  answer: (sql: string) => Effect.Effect<ReadonlyArray<any>, SqlError> = () => Effect.succeed([]),
  reserve: Effect.Effect<void, SqlError> = Effect.void
) =>
  Effect.gen(function* () {
    const statements: Array<ReadonlyArray<unknown>> = []
    const run = (sql: string, params: ReadonlyArray<unknown>) =>
      Effect.suspend(() => {
        statements.push([sql, ...params])
        return answer(sql)
      })
    const connection: Connection = {
      execute: run,
      executeRaw: run,
      executeUnprepared: run,
      executeValues: run,
      executeStream: () => Stream.empty
    }
    const client = yield* SqlClient.make({ acquirer: Effect.as(reserve, connection), compiler, spanAttributes: [] })
    return { client, statements }
  }).pipe(Effect.provide(Reactivity.layer))

const compilerOf = (dialect: "pg" | "mysql"): Statement.Compiler =>
  Statement.makeCompiler({
    dialect,
    placeholder: (index) => `$${index}`,
    onIdentifier: (name) => `"${name}"`,
    onRecordUpdate: () => ["", []],
    onCustom: () => ["", []]
  })

const postgres = compilerOf("pg")

it.effect("rejects configured options that name no database", () =>
  Effect.gen(function* () {
    const given: unknown = { maxRows: 10 }
    const skill = DatabaseQuerySkill.make(given as DatabaseQuerySkill.SqliteOptions)
    const error = yield* Effect.flip(call(skill, { sql: "SELECT 1" }))
    assert.instanceOf(error, DatabaseQueryError.DatabaseQueryError)
    assert.strictEqual((error as DatabaseQueryError.DatabaseQueryError).reason, "Configuration")
    assert.include((error as DatabaseQueryError.DatabaseQueryError).hint, "`sqlite` or `postgres`")
  })
)

describe("DatabaseQuerySkill", () => {
  it("describes itself", () => {
    const { definition, problem } = usual
    assert.isUndefined(problem)
    assert.strictEqual(definition.name, "database_query")
    assert.strictEqual(definition.category, "database")
    assert.deepStrictEqual(definition.permissions, ["db.query"])
    assert.strictEqual(ClientReader.Client.key, SqlClient.SqlClient.key)
  })

  it.scoped("returns columns and rows, and binds parameters", () =>
    Effect.gen(function* () {
      const { sql } = yield* filled
      const hostile = "x' OR 1=1; DROP TABLE people; --"
      const result = yield* on(sql).call(usual, {
        sql: "SELECT id, name, ? AS given, ? AS flag, ? AS nil FROM people WHERE id = ?;",
        params: [hostile, true, null, 2]
      })
      assert.deepStrictEqual(result, {
        columns: ["id", "name", "given", "flag", "nil"],
        rows: [{ id: 2, name: "name 2", given: hostile, flag: 1, nil: null }],
        row_count: 1,
        truncated: false
      })
      assert.deepStrictEqual(yield* sql`SELECT count(*) AS n FROM people`, [{ n: 150 }])
    })
  )

  it.scoped("limits rows and says when there are more", () =>
    Effect.gen(function* () {
      const { sql } = yield* filled
      const all = { sql: "SELECT id FROM people ORDER BY id DESC" }
      const some = yield* on(sql).call(usual, all)
      assert.deepStrictEqual([some.row_count, some.truncated, some.rows[0].id], [100, true, 150])
      const exact = yield* on(sql).call(DatabaseQuerySkill.make({ allowBlocking: true, maxRows: 150 }), all)
      assert.deepStrictEqual([exact.row_count, exact.truncated], [150, false])
      const fewer = yield* on(sql).call(DatabaseQuerySkill.make({ allowBlocking: true, maxRows: 149 }), all)
      assert.deepStrictEqual([fewer.row_count, fewer.truncated], [149, true])
      const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n -- no end"
      assert.strictEqual((yield* on(sql).call(usual, { sql: endless })).row_count, 100)
      const none = yield* on(sql).call(usual, { sql: "SELECT id FROM people WHERE 0" })
      assert.deepStrictEqual(none, { columns: [], rows: [], row_count: 0, truncated: false })
    })
  )

  it.scoped("cuts large cells and results and says so", () =>
    Effect.gen(function* () {
      const { sql } = yield* filled
      const cut = yield* on(sql).call(DatabaseQuerySkill.make({ allowBlocking: true, maxCellChars: 5 }), {
        sql: "SELECT 'abcdef' AS long, 'abcde' AS fits, hex(zeroblob(10)) AS zeros"
      })
      assert.deepStrictEqual(cut.rows, [
        { long: "abcde… (6 characters)", fits: "abcde", zeros: "00000… (20 characters)" }
      ])
      assert.isTrue(cut.truncated)
      const whole = yield* on(sql).call(DatabaseQuerySkill.make({ allowBlocking: true, maxChars: 100 }), {
        sql: "SELECT name FROM people"
      })
      assert.isTrue(whole.truncated)
      assert.isBelow(JSON.stringify(whole.rows).length, 250)
      const one = yield* on(sql).call(DatabaseQuerySkill.make({ allowBlocking: true, maxChars: 1 }), {
        sql: "SELECT name FROM people"
      })
      assert.deepStrictEqual([one.row_count, one.truncated], [1, true])
    })
  )

  it.scoped("converts cells to JSON for any database", () =>
    Effect.gen(function* () {
      const hostile = JSON.parse('{"__proto__":{"polluted":1}}')
      const { client } = yield* told(postgres, (sql) =>
        Effect.succeed(
          sql.startsWith("SELECT *")
            ? [
                hostile,
                {
                  big: 2n ** 60n,
                  small: 5n,
                  at: new Date(0),
                  bytes: Buffer.from([0, 255]),
                  none: undefined,
                  no: Number.NaN,
                  json: { a: [1n] }
                }
              ]
            : []
        )
      )
      const { rows } = yield* on(client).call(usual, { sql: "SELECT 1" })
      assert.notProperty({}, "polluted")
      assert.deepStrictEqual(rows[1], {
        big: "1152921504606846976",
        small: 5,
        at: "1970-01-01T00:00:00.000Z",
        bytes: "AP8=",
        none: null,
        no: "NaN",
        json: { a: [1] }
      })
    })
  )

  it.scoped("rejects statements that do more than read before the database sees them", () =>
    Effect.gen(function* () {
      const { noted, statements } = yield* filled
      for (const text of ["DELETE FROM people", "SELECT 1; DELETE FROM people", "PRAGMA query_only = OFF", ""]) {
        assert.strictEqual(yield* on(noted).reasonOf(usual, { sql: text }), "NotReadOnly", text)
      }
      assert.deepStrictEqual(statements, [])
    })
  )

  it.scoped("makes the database read-only while a statement runs, and writable after it", () =>
    Effect.gen(function* () {
      const { noted, sql, statements } = yield* filled
      // A write that the check would have missed: on the same connection, beside the statement.
      const written: Array<string> = []
      const missing = over(noted, (connection) => ({
        execute: (text, params) =>
          Effect.gen(function* () {
            written.push((yield* Effect.either(connection.execute("DELETE FROM people", [], undefined)))._tag)
            return yield* connection.execute(text, params, undefined)
          })
      }))
      yield* on(missing).call(usual, { sql: "SELECT 1" })
      assert.strictEqual(yield* on(missing).reasonOf(usual, { sql: "SELECT none" }), "Query")
      assert.deepStrictEqual(written, ["Left", "Left"])
      assert.strictEqual(statements.filter((text) => text === "PRAGMA query_only = OFF").length, 2)
      yield* sql`DELETE FROM people WHERE id = 1`
      assert.deepStrictEqual(yield* sql`SELECT count(*) AS n FROM people`, [{ n: 149 }])
      const pragma = { sql: "SELECT * FROM pragma_query_only(0)" }
      assert.strictEqual(yield* on(sql).reasonOf(usual, pragma), "NotAllowed")
    })
  )

  it.scoped("reports what the database says about a statement", () =>
    Effect.gen(function* () {
      const { sql } = yield* filled
      const error = yield* Effect.flip(on(sql).call(usual, { sql: "SELECT nmae FROM people" }))
      assert.include((error as Error).message, "no such column: nmae")
    })
  )

  it.scoped("lets programs write while statements run", () =>
    Effect.gen(function* () {
      const { sql } = yield* filled
      const query = on(sql).call(usual, { sql: "SELECT count(*) AS n FROM people" })
      const write = sql`UPDATE people SET born = 2`
      const both = Effect.zip(query, Effect.zipRight(Effect.yieldNow(), write), { concurrent: true })
      yield* Effect.all(
        Array.from({ length: 20 }, () => both),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(yield* sql`SELECT DISTINCT born FROM people`, [{ born: 2 }])
    })
  )

  it.scoped("stops waiting for the connection in time", () =>
    Effect.gen(function* () {
      const { sql } = yield* filled
      yield* sql.reserve
      const skill = DatabaseQuerySkill.make({ allowBlocking: true, timeout: "2 seconds" })
      const fiber = yield* Effect.fork(on(sql).reasonOf(skill, { sql: "SELECT 1" }))
      yield* TestClock.adjust("1999 millis")
      assert.isNull(fiber.unsafePoll())
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* Fiber.join(fiber), "Timeout")
    })
  )

  it.scoped("runs a Postgres statement in a read-only transaction with a timeout, and rolls it back", () =>
    Effect.gen(function* () {
      const { client, statements } = yield* told(postgres)
      const skill = DatabaseQuerySkill.make({ allowBlocking: true, timeout: "5 seconds", maxRows: 7 })
      yield* on(client).call(skill, { sql: "SELECT $1::int;", params: [1] })
      yield* on(client).call(skill, { sql: "EXPLAIN SELECT 1" })
      const around = (text: string, ...params: ReadonlyArray<unknown>): ReadonlyArray<ReadonlyArray<unknown>> => [
        ["BEGIN TRANSACTION READ ONLY"],
        ["SET LOCAL statement_timeout = 5000"],
        ["SET LOCAL standard_conforming_strings = on"],
        [text, ...params],
        ["ROLLBACK"]
      ]
      assert.deepStrictEqual(statements, [
        ...around("SELECT * FROM (\nSELECT $1::int\n) AS read_only_rows LIMIT 8", 1),
        ...around("EXPLAIN SELECT 1")
      ])
    })
  )

  it.scoped("rolls back after a failure, a failed begin and an interruption", () =>
    Effect.gen(function* () {
      const failing = yield* told(postgres, (sql) =>
        sql.startsWith("SELECT") ? Effect.fail(new SqlError({ cause: new Error("boom") })) : Effect.succeed([])
      )
      assert.strictEqual(yield* on(failing.client).reasonOf(usual, { sql: "SELECT 1" }), "Query")
      assert.deepStrictEqual(failing.statements.at(-1), ["ROLLBACK"])

      const halfway = yield* told(postgres, (sql) =>
        sql.startsWith("SET") ? Effect.fail(new SqlError({ cause: new Error("hush") })) : Effect.succeed([])
      )
      const error = yield* Effect.flip(on(halfway.client).call(usual, { sql: "SELECT 1" }))
      assert.strictEqual((error as DatabaseQueryError.DatabaseQueryError).reason, "Connection")
      assert.notInclude(JSON.stringify(error), "hush")
      assert.deepStrictEqual(halfway.statements.at(-1), ["ROLLBACK"])

      const reached = yield* Deferred.make<void>()
      const hanging = yield* told(postgres, (sql) =>
        sql.startsWith("SELECT")
          ? Effect.zipRight(Deferred.succeed(reached, undefined), Effect.never)
          : Effect.succeed([])
      )
      const fiber = yield* Effect.fork(on(hanging.client).call(usual, { sql: "SELECT 1" }))
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(hanging.statements.at(-1), ["ROLLBACK"])
    })
  )

  it.scoped("rejects databases that cannot be made read-only, and missing ones", () =>
    Effect.gen(function* () {
      const mysql = yield* told(compilerOf("mysql"))
      assert.strictEqual(yield* on(mysql.client).reasonOf(usual, { sql: "SELECT 1" }), "Dialect")
      assert.deepStrictEqual(mysql.statements, [])
      const away = yield* told(postgres, undefined, Effect.fail(new SqlError({ cause: new Error("hush") })))
      const error = yield* Effect.flip(on(away.client).call(usual, { sql: "SELECT 1" }))
      assert.strictEqual((error as DatabaseQueryError.DatabaseQueryError).reason, "Connection")
      assert.notInclude(JSON.stringify(error), "hush")
      assert.isTrue(usual.erased.isRetryable?.(error))
    })
  )

  it.scoped("lists and describes tables", () =>
    Effect.gen(function* () {
      const { sql } = yield* filled
      const { skills } = DatabaseQuerySkill.toolkit({ allowBlocking: true, maxRows: 2 })
      const [listTables, describe, execute] = skills as unknown as readonly [Reads, Reads, Reads]
      assert.deepStrictEqual(
        skills.map(({ definition }) => definition.name),
        ["sql_list_tables", "sql_describe", "sql_execute"]
      )
      assert.deepStrictEqual(yield* on(sql).call(listTables, {}), {
        tables: [
          { name: "named", type: "view" },
          { name: "people", type: "table" }
        ],
        truncated: false
      })
      assert.deepStrictEqual(
        yield* on(sql).call(DatabaseQuerySkill.describe({ allowBlocking: true }), { table: "people" }),
        {
          table: "people",
          columns: [
            { name: "id", type: "INTEGER", nullable: "yes", default: null },
            { name: "name", type: "TEXT", nullable: "no", default: null },
            { name: "born", type: "REAL", nullable: "yes", default: "1.5" }
          ],
          truncated: false
        }
      )
      const some = yield* on(sql).call(describe, { table: "people" })
      assert.deepStrictEqual([some.columns.length, some.truncated], [2, true])
      for (const table of ["none", "people'); DROP TABLE people; --"]) {
        assert.strictEqual(yield* on(sql).reasonOf(describe, { table }), "UnknownTable")
      }
      assert.strictEqual(execute.definition.name, "sql_execute")
      assert.strictEqual((yield* on(sql).call(execute, { sql: "SELECT id FROM people" })).row_count, 2)
      for (const { definition, problem } of [listTables, describe, execute]) {
        assert.isUndefined(problem)
        assert.deepStrictEqual(definition.permissions, ["db.query"])
      }
    })
  )

  it.scoped("rejects invalid parameters", () =>
    Effect.gen(function* () {
      const { sql } = yield* filled
      for (const params of [
        {},
        { sql: 1 },
        { sql: "SELECT ?", params: [{}] },
        { sql: "SELECT ?", params: "x" },
        { sql: `SELECT ${"1".repeat(100_000)}` },
        null
      ]) {
        assert.instanceOf(yield* Effect.flip(on(sql).call(usual, params)), Misfit)
      }
    })
  )
})
