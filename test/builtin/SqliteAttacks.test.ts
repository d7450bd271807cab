import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import type * as DatabaseQueryError from "../../src/builtin/sql/DatabaseQueryError.js"
import * as DatabaseQuerySkill from "../../src/builtin/sql/DatabaseQuerySkill.js"
import * as ReadOnlySql from "../../src/builtin/sql/ReadOnlySql.js"
import * as SqliteFunctions from "../../src/builtin/sql/SqliteFunctions.js"
import * as SqliteReader from "../../src/builtin/sql/SqliteReader.js"
import * as SqliteClient from "../../src/persistence/sqlite/SqliteClient.js"
import { call } from "../support/Skills.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"

const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

const reasonOf = (options: DatabaseQuerySkill.SqliteOptions, sql: string) =>
  Effect.map(Effect.either(call(DatabaseQuerySkill.make(options), { sql })), (result) =>
    Either.isRight(result) ? "answered" : (result.left as DatabaseQueryError.DatabaseQueryError).reason
  )

SqliteDrivers.suite("SQLite attacked", (driver) => {
  const filled = Effect.gen(function* () {
    const file = yield* SqliteDrivers.file
    yield* Effect.scoped(
      Effect.gen(function* () {
        const sql = yield* SqliteClient.make({ file, driver })
        yield* sql`CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL)`
        yield* sql`INSERT INTO people (name) VALUES ('Ada'), ('Grace')`
      })
    )
    return { file, options: { sqlite: file, driver } }
  })

  it.scopedLive("reads a file in a process of its own", () =>
    Effect.gen(function* () {
      const { options } = yield* filled
      const answer = yield* call(DatabaseQuerySkill.make({ ...options, maxRows: 1 }), {
        sql: "SELECT name, ? AS given, 9007199254740993 AS big FROM people ORDER BY id",
        params: [true]
      })
      assert.deepStrictEqual(answer, {
        columns: ["name", "given", "big"],
        rows: [{ name: "Ada", given: 1, big: "9007199254740993" }],
        row_count: 1,
        truncated: true
      })
      const table = yield* call(DatabaseQuerySkill.describe(options), { table: "people" })
      assert.deepStrictEqual(
        table.columns.map(({ name }: { readonly name: string }) => name),
        ["id", "name"]
      )
    })
  )

  it.scopedLive("reaches no other file by any statement", () =>
    Effect.gen(function* () {
      const { file, options } = yield* filled
      const target = Path.join(Path.dirname(file), "written")
      for (const sql of [
        `SELECT writefile('${target}', 'x')`,
        `SELECT "writefile"('${target}', 'x')`,
        `SELECT [writefile]('${target}', 'x')`,
        `SELECT \`WriteFile\` ('${target}', 'x')`,
        `SELECT writefile/* */('${target}', 'x')`,
        `SELECT writefile -- x\n('${target}', 'x')`,
        `SELECT id AS a, writefile('${target}', name) OVER () FROM people`,
        `WITH w AS (SELECT writefile('${target}', 'x') AS n) SELECT n FROM w`,
        `WITH writefile(a) AS (SELECT 1) SELECT writefile('${target}', 'x')`,
        "SELECT readfile('/etc/passwd')",
        "SELECT * FROM fsdir('/etc')",
        "SELECT * FROM fsdir",
        "SELECT name FROM \"fsdir\" WHERE path = '/etc'",
        "SELECT * FROM main.fsdir AS f WHERE f.path = '/etc'",
        "SELECT load_extension('/tmp/x.so')",
        "SELECT fts3_tokenizer('simple')",
        "SELECT edit('x', 'sh')",
        "SELECT * FROM pragma_database_list",
        "SELECT * FROM pragma_query_only(0)",
        "SELECT * FROM 'pragma_compile_options'",
        "SELECT * FROM sqlite_dbpage"
      ]) {
        const reason = yield* reasonOf(options, sql)
        assert.include(["NotAllowed", "Query"], reason, sql)
      }
      for (const sql of [
        `ATTACH '${target}' AS other`,
        `VACUUM INTO '${target}'`,
        "PRAGMA writable_schema = ON",
        "SELECT 1; DELETE FROM people"
      ]) {
        assert.strictEqual(yield* reasonOf(options, sql), "NotReadOnly", sql)
      }
      // The driver's own log stands beside the file.
      const others = Fs.readdirSync(Path.dirname(file)).filter((name) => !name.startsWith(Path.basename(file)))
      assert.deepStrictEqual(others, [])
    })
  )

  it.scopedLive("does not write into the database with functions that an option allows", () =>
    Effect.gen(function* () {
      const { options } = yield* filled
      assert.strictEqual(yield* reasonOf(options, "SELECT total_changes()"), "NotAllowed")
      const allowed = { ...options, functions: ["total_changes"] }
      assert.strictEqual(yield* reasonOf(allowed, "SELECT total_changes()"), "answered")
    })
  )

  it.scopedLive("ends an expensive or endless statement with a typed error", () =>
    Effect.gen(function* () {
      const { options } = yield* filled
      for (const sql of ["SELECT printf('%.*c', 900000000, 'x')", "SELECT hex(zeroblob(900000000))"]) {
        const reason = yield* reasonOf(options, sql)
        assert.include(["TooLarge", "Ended", "Query", "Timeout"], reason, sql)
      }
      assert.strictEqual(yield* reasonOf({ ...options, timeout: "2 seconds" }, endless), "Timeout")
      assert.strictEqual(yield* reasonOf(options, "SELECT name FROM people"), "answered")
    })
  )

  it.scopedLive("limits the memory of a statement to the option", () =>
    Effect.gen(function* () {
      const { options } = yield* filled
      const large = `WITH RECURSIVE big(x) AS MATERIALIZED (SELECT hex(zeroblob(20000000))),
        n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
        SELECT length(x), max(i) FROM big, n`
      assert.strictEqual(yield* reasonOf({ ...options, maxMemoryBytes: 256 * 1024 ** 2 }, large), "answered")
      assert.strictEqual(yield* reasonOf({ ...options, maxMemoryBytes: 1024 ** 2 }, large), "TooLarge")
    })
  )

  it.scopedLive("says what to do when a file cannot be read", () =>
    Effect.gen(function* () {
      const { file, options } = yield* filled
      const errorOf = (sqlite: string) =>
        Effect.map(
          Effect.flip(call(DatabaseQuerySkill.make({ sqlite, driver }), { sql: "SELECT 1" })),
          (error) => error as DatabaseQueryError.DatabaseQueryError
        )
      const memory = yield* errorOf(":memory:")
      assert.strictEqual(memory.reason, "Configuration")
      assert.include(memory.hint, "allowBlocking: true")
      assert.strictEqual((yield* errorOf("")).reason, "Configuration")
      assert.strictEqual((yield* errorOf("file:///a.db?mode=rwc")).reason, "Configuration")
      assert.strictEqual((yield* errorOf(Path.join(Path.dirname(file), "none.db"))).reason, "Connection")
      const missing = yield* Effect.flip(SqliteReader.programFor("file:///nowhere/bundle.js"))
      assert.strictEqual(missing.reason, "Configuration")
      assert.include(missing.hint, "SqliteProcess.mjs")
      assert.strictEqual(yield* reasonOf(options, "SELECT 1"), "answered")
    })
  )

  it.scopedLive("refuses functions of the driver that are not on the list", () =>
    Effect.gen(function* () {
      const sql = yield* SqliteClient.make({ file: ":memory:", driver })
      const functions = yield* sql<{ name: string }>`SELECT DISTINCT lower(name) AS name FROM pragma_function_list`
      const modules = yield* sql<{ name: string }>`SELECT lower(name) AS name FROM pragma_module_list`
      assert.isAbove(functions.length, 50)
      for (const { name } of functions) {
        const isListed = SqliteFunctions.functions.has(name) || SqliteFunctions.modules.has(name)
        // These are operators of the language: a call by name is one of the keyword.
        if (!/^[a-z_][a-z0-9_]*$/.test(name)) continue
        const isRun = Either.isRight(ReadOnlySql.make(`SELECT x."${name}"(1) FROM t`, "sqlite"))
        assert.strictEqual(isRun, isListed, name)
      }
      const dangerous =
        /file|fsdir|load_ext|edit|tokenizer|dbpage|dbstat|stmt|bytecode|completion|csv|zip|vtab|exec|eval|shell|define|rtreecheck|tables_used/
      const reaching = [...SqliteFunctions.functions, ...SqliteFunctions.modules].filter((name) => dangerous.test(name))
      assert.deepStrictEqual(
        reaching.filter(
          (name) => name !== "lower_quartile" && name !== "upper_quartile" && !name.startsWith("percentile")
        ),
        ["strfilter"].filter((name) => dangerous.test(name))
      )
      for (const { name } of modules.filter(({ name }) => name.startsWith("pragma_"))) {
        const isRun = Either.isRight(ReadOnlySql.make(`SELECT * FROM "${name}"`, "sqlite"))
        assert.strictEqual(isRun, SqliteFunctions.modules.has(name), name)
      }
    })
  )

  it("calls nothing off the list for any mixture of fragments", () => {
    const pieces = [
      "SELECT",
      "FROM",
      "WITH",
      "AS",
      "VALUES",
      "JOIN",
      "OVER",
      "FILTER",
      "IN",
      "MATERIALIZED",
      "x",
      "1",
      "'a'",
      ".",
      ",",
      "(",
      ")",
      "[x]",
      '"x"',
      "`x`",
      "/* */",
      "-- x\n",
      "\n",
      "'",
      '"',
      "*",
      "=",
      "CAST",
      "BY",
      "NOT"
    ] as const
    const calls = [
      "writefile(",
      "readfile (",
      '"writefile"(',
      "[fsdir](",
      "`readfile`\n(",
      "load_extension/**/("
    ] as const
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(FastCheck.constantFrom(...pieces), { maxLength: 8 }),
        FastCheck.constantFrom(...calls),
        FastCheck.array(FastCheck.constantFrom(...pieces), { maxLength: 8 }),
        (before, call, after) => {
          const text = `SELECT 1 ${before.join(" ")} , ${call}'a') ${after.join(" ")}`
          const made = ReadOnlySql.make(text, "sqlite")
          if (Either.isLeft(made)) return
          // Accepted only where quotes or comments make the call a text, or WITH and AS make it a name.
          assert.match(
            text,
            /'[^']*(?:file|fsdir|extension)|"[^"]*(?:file|fsdir|extension)|--[^\n]*(?:file|fsdir|extension)|WITH|AS/
          )
        }
      ),
      { numRuns: 3000 }
    )
  })
})
