import * as Fs from "node:fs"
import * as Path from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { assert, describe, it } from "@effect/vitest"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { DatabaseError } from "../../../src/persistence/engine/PersistenceError.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as SqliteDriverLoader from "../../../src/persistence/sqlite/SqliteDriverLoader.js"
import * as SqliteFailure from "../../../src/persistence/sqlite/SqliteFailure.js"
import * as Bundle from "../../support/Bundle.js"
import * as Programs from "../../support/Programs.js"
import type * as SqliteStatements from "../../support/programs/SqliteStatements.js"
import * as SqliteDrivers from "../../support/SqliteDrivers.js"

const codeOf = <A, R>(effect: Effect.Effect<A, SqlError, R>): Effect.Effect<string | undefined, A, R> =>
  Effect.map(Effect.flip(effect), SqliteFailure.codeOf)

const reasonOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<string, A, R> =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.strictEqual((error as { readonly _tag?: unknown })._tag, "DatabaseError")
    return (error as unknown as DatabaseError).reason
  })

const filesBeside = (file: string): ReadonlyArray<string> => Fs.readdirSync(Path.dirname(file)).sort()

SqliteDrivers.suite("SqliteClient", (driver) => {
  const inMemory = (options?: Partial<SqliteClient.Options>) =>
    SqliteClient.make({ file: ":memory:", driver, ...options })
  const inFile = (options?: Partial<SqliteClient.Options>) =>
    Effect.flatMap(SqliteDrivers.file, (file) => SqliteClient.make({ file, driver, ...options }))

  it.scoped("is an SqlClient, and describes itself", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      const context = yield* Layer.build(SqliteClient.layer({ file, driver }))
      const client = Context.get(context, SqliteClient.SqliteClient)
      const sql: SqlClient.SqlClient = Context.get(context, SqlClient.SqlClient)
      assert.strictEqual<unknown>(sql, client)
      assert.strictEqual(client.driver, driver)
      assert.strictEqual(client.file, file)
      assert.strictEqual(sql.onDialectOrElse({ sqlite: () => "sqlite", orElse: () => "other" }), "sqlite")
      assert.strictEqual<unknown>(sql.safe, sql)
      assert.strictEqual<unknown>(sql.withoutTransforms(), sql)
      yield* sql`CREATE TABLE "order" (id INTEGER PRIMARY KEY, "from" TEXT)`
      yield* sql`INSERT INTO ${sql("order")} ${sql.insert([
        { id: 1, from: "a" },
        { id: 2, from: "b" }
      ])}`
      assert.deepStrictEqual(yield* sql`SELECT * FROM ${sql("order")} WHERE ${sql.in("id", [2, 3])}`, [
        { id: 2, from: "b" }
      ])
      assert.deepStrictEqual(yield* sql`SELECT 1 AS n`.values, [[1]])
      assert.deepStrictEqual(yield* sql`SELECT 1 AS n`.unprepared, [{ n: 1 }])
      assert.deepStrictEqual(yield* sql`SELECT 1 AS n`.withoutTransform, [{ n: 1 }])
      assert.deepStrictEqual(yield* sql`SELECT 1 AS n`.raw, [{ n: 1 }])
      assert.deepStrictEqual(yield* sql`UPDATE "order" SET "from" = 'c'`.raw, { changes: 2, lastInsertRowid: 2 })
      assert.deepStrictEqual(yield* sql`UPDATE "order" SET "from" = 'd'`, [])
      yield* client.health
    })
  )

  it.scoped("is configured by Config", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(
        SqliteClient.layerConfig({
          file: Config.string("FILE"),
          driver: Config.succeed(driver),
          busyTimeout: Config.duration("WAIT")
        })
      ).pipe(
        Effect.withConfigProvider(
          ConfigProvider.fromMap(
            new Map([
              ["FILE", ":memory:"],
              ["WAIT", "1 second"]
            ])
          )
        )
      )
      assert.strictEqual(Context.get(context, SqliteClient.SqliteClient).file, ":memory:")
      const missing = yield* Effect.flip(
        Effect.scoped(Layer.build(SqliteClient.layerConfig({ file: Config.string("NO_SUCH") })))
      )
      assert.include(String(missing), "NO_SUCH")
    })
  )

  it.scoped("opens files with a write-ahead log, foreign keys, and its own waits", () =>
    Effect.gen(function* () {
      const pragmas = (sql: SqlClient.SqlClient) =>
        Effect.forEach(["journal_mode", "foreign_keys", "busy_timeout", "synchronous"], (name) =>
          Effect.map(sql.unsafe(`PRAGMA ${name}`).values, (rows) => rows[0]![0])
        )
      const normal = yield* inFile()
      assert.deepStrictEqual(yield* pragmas(normal), ["wal", 1, 0, 1])
      assert.deepStrictEqual(yield* normal.withTransaction(pragmas(normal)), ["wal", 1, 0, 1])
      const full = yield* inFile({ synchronous: "full" })
      assert.deepStrictEqual(yield* pragmas(full), ["wal", 1, 0, 2])
      assert.deepStrictEqual(yield* full.withTransaction(pragmas(full)), ["wal", 1, 0, 2])
      yield* normal`CREATE TABLE a (id INTEGER PRIMARY KEY)`
      yield* normal`CREATE TABLE b (a INTEGER REFERENCES a (id))`
      assert.strictEqual(yield* codeOf(normal`INSERT INTO b VALUES (1)`), "SQLITE_CONSTRAINT_FOREIGNKEY")
    })
  )

  it.scoped("stores values the same on every driver", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      const back = (value: unknown) =>
        Effect.map(sql.connection.execute("SELECT ? AS v, typeof(?) AS t", [value, value], undefined), (rows) => [
          rows[0].v,
          rows[0].t
        ])
      const bytes = Uint8Array.from([0, 1, 255])
      const cases: ReadonlyArray<readonly [given: unknown, value: unknown, type: string]> = [
        [1, 1, "integer"],
        [-1, -1, "integer"],
        [0, 0, "integer"],
        [1.5, 1.5, "real"],
        [1e300, 1e300, "real"],
        [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, "real"],
        [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, "integer"],
        [5n, 5, "integer"],
        [2n ** 53n, 2n ** 53n, "integer"],
        [2n ** 63n - 1n, 2n ** 63n - 1n, "integer"],
        [-(2n ** 63n), -(2n ** 63n), "integer"],
        [true, 1, "integer"],
        [false, 0, "integer"],
        [null, null, "null"],
        [undefined, null, "null"],
        ["", "", "text"],
        ["Ärger 日本 😀", "Ärger 日本 😀", "text"],
        ["half \ud800 pair", "half \ufffd pair", "text"],
        [new Date(0), "1970-01-01T00:00:00.000Z", "text"],
        [{ a: [1] }, '{"a":[1]}', "text"],
        [[1, "b"], '[1,"b"]', "text"],
        [Object.assign(Object.create(null), { a: 1 }), '{"a":1}', "text"],
        [bytes, bytes, "blob"],
        [new Uint8Array(0), new Uint8Array(0), "blob"],
        [Uint8Array.from([9, 0, 1, 255, 9]).subarray(1, 4), bytes, "blob"],
        [Buffer.from([0, 1, 255]), bytes, "blob"],
        [Int8Array.from([0, 1, -1]), bytes, "blob"]
      ]
      for (const [given, value, type] of cases) {
        const [found, kind] = yield* back(given)
        assert.deepStrictEqual(found, value)
        assert.strictEqual(kind, type)
        if (value instanceof Uint8Array) assert.strictEqual(found.constructor, Uint8Array)
      }
      assert.isTrue(Object.is((yield* back(-0))[0], -0))
      assert.deepStrictEqual(yield* sql`SELECT 9007199254740993 AS a, 1 AS b, 1.0 AS c`, [
        { a: 9007199254740993n, b: 1, c: 1 }
      ])
      assert.deepStrictEqual(yield* sql`SELECT 9007199254740993 AS a, x'0102' AS b`.values, [
        [9007199254740993n, Uint8Array.from([1, 2])]
      ])
      assert.deepStrictEqual(yield* sql`SELECT 1 AS a, 2 AS a, 3 AS "2", 4 AS "1"`.values, [[1, 2, 3, 4]])
      const [hostile] = yield* sql<any>`SELECT 1 AS "__proto__", 2 AS a`
      assert.deepStrictEqual(Object.entries(hostile), [
        ["__proto__", 1],
        ["a", 2]
      ])
      assert.strictEqual(Object.getPrototypeOf(hostile), Object.prototype)
    })
  )

  it.scoped("rejects unsupported values before the driver sees them, without showing them", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      const cyclic: { self?: unknown } = {}
      cyclic.self = cyclic
      for (const value of [
        () => 1,
        Symbol("secret"),
        Number.NaN,
        2n ** 63n,
        new Date(Number.NaN),
        new Map([["secret", 1]]),
        cyclic,
        { big: 1n },
        { toJSON: () => undefined }
      ]) {
        const error = yield* Effect.flip(sql.connection.execute("SELECT ?", [value], undefined))
        assert.strictEqual(SqliteFailure.codeOf(error), "SQLITE_MISMATCH")
        assert.notInclude(JSON.stringify(error) + String(error.cause), "secret")
      }
      for (const params of [[], [1, 2]]) {
        assert.strictEqual(yield* codeOf(sql.connection.execute("SELECT ?", params, undefined)), "SQLITE_RANGE")
      }
    })
  )

  it.scoped("runs several statements where expected, and rejects them where they would be ignored", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql.unsafe("CREATE TABLE a (id INTEGER); CREATE TABLE b (id INTEGER); INSERT INTO a VALUES (1)").unprepared
      assert.deepStrictEqual(yield* sql`SELECT * FROM a`, [{ id: 1 }])
      assert.strictEqual(yield* codeOf(sql.unsafe("SELECT 1; DELETE FROM a")), "SQLITE_MISUSE")
      assert.strictEqual(yield* codeOf(sql.unsafe("")), "SQLITE_MISUSE")
      assert.strictEqual(yield* codeOf(sql.unsafe("SELECT ?; SELECT 1", [1]).unprepared), "SQLITE_MISUSE")
      assert.deepStrictEqual(yield* sql`SELECT * FROM a`, [{ id: 1 }])
      yield* sql.unsafe("CREATE TRIGGER t AFTER INSERT ON a BEGIN INSERT INTO b VALUES (new.id); DELETE FROM a; END")
      yield* sql`INSERT INTO a VALUES (7)`
      assert.deepStrictEqual(yield* sql`SELECT (SELECT count(*) FROM a) AS a, (SELECT id FROM b) AS b`, [
        { a: 0, b: 7 }
      ])
    })
  )

  it.scoped("leaves no transaction open after a script that began one and failed", () =>
    Effect.gen(function* () {
      const sql = yield* inFile()
      yield* sql`CREATE TABLE a (id INTEGER PRIMARY KEY)`
      yield* Effect.flip(sql.unsafe("BEGIN; INSERT INTO a VALUES (1); INSERT INTO a VALUES (1); COMMIT").unprepared)
      assert.deepStrictEqual(yield* sql`SELECT * FROM a`, [])
      yield* sql.unsafe("BEGIN; INSERT INTO a VALUES (2); COMMIT").unprepared
      assert.deepStrictEqual(yield* sql.withTransaction(sql`SELECT * FROM a`), [{ id: 2 }])
    })
  )

  it.scoped("reports SQLite's own error codes", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory()
      yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT NOT NULL UNIQUE CHECK (v <> 'x')) STRICT`
      yield* sql`INSERT INTO t VALUES (1, 'a')`
      const codes: ReadonlyArray<readonly [sql: string, code: string]> = [
        ["INSERT INTO t VALUES (1, 'b')", "SQLITE_CONSTRAINT_PRIMARYKEY"],
        ["INSERT INTO t VALUES (2, 'a')", "SQLITE_CONSTRAINT_UNIQUE"],
        ["INSERT INTO t VALUES (2, 'a') RETURNING id", "SQLITE_CONSTRAINT_UNIQUE"],
        ["INSERT INTO t VALUES (2, NULL)", "SQLITE_CONSTRAINT_NOTNULL"],
        ["INSERT INTO t VALUES (2, 'x')", "SQLITE_CONSTRAINT_CHECK"],
        ["INSERT INTO t VALUES (2, x'00')", "SQLITE_CONSTRAINT_DATATYPE"],
        ["SELEC 1", "SQLITE_ERROR"],
        ["SELECT none FROM t", "SQLITE_ERROR"],
        ["SELECT * FROM none", "SQLITE_ERROR"],
        ["SELECT json_extract('{', '$.a')", "SQLITE_ERROR"]
      ]
      for (const [text, code] of codes) {
        const error = yield* Effect.flip(sql.unsafe(text))
        assert.strictEqual(SqliteFailure.codeOf(error), code, text)
      }
      const error = yield* Effect.flip(sql.unsafe("SELECT nmae FROM t"))
      assert.include((error.cause as Error).message, "no such column: nmae")
      assert.deepStrictEqual(yield* sql`SELECT id FROM t`, [{ id: 1 }])
    })
  )

  it.scoped("prepares statements once, evicts the least used, and prepares again after schema changes", () =>
    Effect.gen(function* () {
      const sql = yield* inFile({ statementCache: 2 })
      yield* sql`CREATE TABLE t (a INTEGER)`
      yield* sql`INSERT INTO t VALUES (1)`
      const all = sql`SELECT * FROM t`
      assert.deepStrictEqual(yield* all, [{ a: 1 }])
      for (let n = 0; n < 5; n++) assert.deepStrictEqual(yield* sql.unsafe(`SELECT ${n} AS n`), [{ n }])
      assert.deepStrictEqual(yield* all, [{ a: 1 }])
      yield* sql.withTransaction(sql`ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 7`)
      assert.deepStrictEqual(yield* all, [{ a: 1, b: 7 }])
      yield* sql`ALTER TABLE t RENAME COLUMN b TO c`
      assert.deepStrictEqual(yield* all, [{ a: 1, c: 7 }])
      yield* Effect.exit(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`ALTER TABLE t ADD COLUMN d INTEGER DEFAULT 8`
            assert.deepStrictEqual(yield* all, [{ a: 1, c: 7, d: 8 }])
            return yield* Effect.fail("undone")
          })
        )
      )
      assert.deepStrictEqual(yield* all, [{ a: 1, c: 7 }])
      assert.deepStrictEqual(yield* sql.withTransaction(all), [{ a: 1, c: 7 }])
      const none = yield* inMemory({ statementCache: 0 })
      assert.deepStrictEqual([yield* none`SELECT 1 AS n`, yield* none`SELECT 1 AS n`], [[{ n: 1 }], [{ n: 1 }]])
    })
  )

  it.scoped("sees schema changes by another connection", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      const one = yield* SqliteClient.make({ file, driver })
      const two = yield* SqliteClient.make({ file, driver })
      yield* one`CREATE TABLE t (a INTEGER)`
      yield* one`INSERT INTO t VALUES (1)`
      const named = two`SELECT a FROM t`
      const all = two`SELECT * FROM t`
      assert.deepStrictEqual([yield* named, yield* all], [[{ a: 1 }], [{ a: 1 }]])
      yield* one`ALTER TABLE t RENAME COLUMN a TO b`
      assert.deepStrictEqual(yield* all, [{ b: 1 }])
      assert.strictEqual(yield* codeOf(named), "SQLITE_ERROR")
    })
  )

  it.scopedLive("caches no more statements than configured", () =>
    Effect.gen(function* () {
      const input: SqliteStatements.Input = { statements: 10_000, statementCache: 16 }
      const said: SqliteStatements.Said = yield* (yield* Programs.start(yield* Bundle.make("SqliteStatements"), input))
        .hear
      assert.isAtLeast(said.prepared, 10_000)
      assert.isAtMost(said.alive, 32)
    })
  )

  it.scoped("reports a full disk and keeps earlier data", () =>
    Effect.gen(function* () {
      const sql = yield* inFile({ maxPages: 8 })
      yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)`
      yield* sql`INSERT INTO t (v) VALUES ('kept')`
      const big = sql`INSERT INTO t (v) VALUES (${"x".repeat(40_000)})`
      assert.strictEqual(yield* codeOf(big), "SQLITE_FULL")
      assert.strictEqual(
        yield* codeOf(sql.withTransaction(Effect.zipRight(sql`INSERT INTO t (v) VALUES ('gone')`, big))),
        "SQLITE_FULL"
      )
      assert.deepStrictEqual(yield* sql`SELECT * FROM t`, [{ id: 1, v: "kept" }])
      yield* sql.withTransaction(sql`INSERT INTO t (v) VALUES ('small')`)
      assert.deepStrictEqual(yield* sql`SELECT count(*) AS n FROM t`, [{ n: 2 }])
    })
  )

  it.scoped("opens a file for reading only", () =>
    Effect.gen(function* () {
      const file = `${yield* SqliteDrivers.file} #1?.db`
      const absent = SqliteClient.make({ file, driver, readonly: true })
      assert.strictEqual(yield* reasonOf(absent), "unreachable")
      assert.isFalse(Fs.existsSync(file))
      const sql = yield* SqliteClient.make({ file, driver })
      yield* sql`CREATE TABLE t (id INTEGER)`
      yield* sql`INSERT INTO t VALUES (1)`
      const reader = yield* SqliteClient.make({ file, driver, readonly: true })
      assert.deepStrictEqual(yield* reader`SELECT * FROM t`, [{ id: 1 }])
      assert.strictEqual(yield* codeOf(reader`INSERT INTO t VALUES (2)`), "SQLITE_READONLY")
      assert.strictEqual(yield* codeOf(reader.withTransaction(reader`INSERT INTO t VALUES (2)`)), "SQLITE_READONLY")
      yield* sql`INSERT INTO t VALUES (3)`
      assert.deepStrictEqual(yield* reader`SELECT count(*) AS n FROM t`, [{ n: 2 }])
      yield* reader.backup(`${file}.copy`)
      assert.isTrue(Fs.existsSync(`${file}.copy`))
    })
  )

  it.scoped("reports a missing file and one that is not a database", () =>
    Effect.gen(function* () {
      const folder = yield* SqliteDrivers.folder
      const text = Path.join(folder, "text")
      Fs.writeFileSync(text, "This is a text and no database. ".repeat(100))
      assert.strictEqual(yield* reasonOf(SqliteClient.make({ file: text, driver })), "data")
      const deep = Path.join(folder, "a", "b", "c.db")
      assert.strictEqual(yield* reasonOf(SqliteClient.make({ file: deep, driver })), "unreachable")
      assert.isFalse(Fs.existsSync(Path.join(folder, "a")))
      assert.strictEqual(yield* reasonOf(SqliteClient.make({ file: folder, driver })), "unreachable")
      const made = yield* SqliteClient.make({ file: deep, driver, createDirectories: true })
      yield* made.health
      const blocked = SqliteClient.make({ file: Path.join(text, "d", "e.db"), driver, createDirectories: true })
      assert.strictEqual(yield* reasonOf(blocked), "unreachable")
      const error = yield* Effect.flip(SqliteClient.make({ file: text, driver }))
      assert.notInclude(error.message, folder)
    })
  )

  it.scoped("accepts a path, and a file URL", () =>
    Effect.gen(function* () {
      const folder = yield* SqliteDrivers.folder
      const sql = yield* SqliteClient.make({ file: `file://${folder}/with%20space.db`, driver })
      assert.strictEqual(sql.file, `${folder}/with space.db`)
      assert.isTrue(Fs.existsSync(sql.file))
      const remote = yield* Effect.flip(SqliteClient.make({ file: "http://127.0.0.1:1/x", driver }))
      assert.strictEqual((remote as DatabaseError).reason, "unreachable")
      for (const file of ["", "a\0b", "file:x.db?mode=ro", "file://%zz", `file://${folder}/x.db?mode=ro`]) {
        const error = yield* Effect.flip(SqliteClient.make({ file, driver }))
        assert.strictEqual(error._tag, "PersistenceConfigurationError", file)
      }
      for (const options of [{ statementCache: -1 }, { statementCache: 0.5 }, { maxPages: 0 }]) {
        const error = yield* Effect.flip(inMemory(options))
        assert.strictEqual(error._tag, "PersistenceConfigurationError")
      }
    })
  )

  it.scoped("leaves one file after a clean end; later statements fail", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      const sql = yield* Effect.scoped(
        Effect.gen(function* () {
          const sql = yield* SqliteClient.make({ file, driver })
          yield* sql`CREATE TABLE t (id INTEGER)`
          yield* sql.withTransaction(sql`INSERT INTO t VALUES (${1})`)
          assert.deepStrictEqual(filesBeside(file), ["test.db", "test.db-shm", "test.db-wal"])
          return sql
        })
      )
      // The statements of libsql are finalized by the collector: until then its log stays, and is empty.
      if (driver === "libsql") assert.strictEqual(Fs.statSync(`${file}-wal`).size, 0)
      else assert.deepStrictEqual(filesBeside(file), ["test.db"])
      const copy = `${file}.copy`
      Fs.copyFileSync(file, copy)
      const again = yield* SqliteClient.make({ file: copy, driver })
      assert.deepStrictEqual(yield* again`SELECT * FROM t`, [{ id: 1 }])
      for (const effect of [
        sql`SELECT 1`,
        sql.withTransaction(Effect.void),
        sql.connection.executeUnprepared("SELECT 1", [], undefined)
      ]) {
        assert.strictEqual(yield* codeOf(effect as Effect.Effect<unknown, SqlError>), "SQLITE_MISUSE")
      }
      assert.strictEqual(yield* reasonOf(sql.health), "other")
    })
  )

  it.scoped("copies committed data while others write", () =>
    Effect.gen(function* () {
      const sql = yield* inFile()
      yield* sql`CREATE TABLE t (id INTEGER)`
      yield* sql`INSERT INTO t VALUES (1)`
      const copy = `${sql.file} o'copy`
      yield* sql.withTransaction(Effect.zipRight(sql`INSERT INTO t VALUES (2)`, sql.backup(copy)))
      const copied = yield* SqliteClient.make({ file: copy, driver })
      assert.deepStrictEqual(yield* copied`SELECT * FROM t`, [{ id: 1 }])
      assert.strictEqual(yield* reasonOf(sql.backup(copy)), "other")
      assert.strictEqual(yield* reasonOf(sql.backup(Path.join(copy, "x"))), "unreachable")
      assert.isFalse(Fs.existsSync(`${copy}.part`))
      const memory = yield* inMemory()
      yield* memory`CREATE TABLE t (id INTEGER)`
      yield* memory.backup(`${copy}2`)
      assert.isTrue(Fs.existsSync(`${copy}2`))
    })
  )

  it.scoped("empties its log on request", () =>
    Effect.gen(function* () {
      const sql = yield* inFile()
      yield* sql`CREATE TABLE t (id INTEGER)`
      assert.isAbove(Fs.statSync(`${sql.file}-wal`).size, 0)
      yield* sql.checkpoint
      assert.strictEqual(Fs.statSync(`${sql.file}-wal`).size, 0)
      yield* (yield* inMemory()).checkpoint
    })
  )

  it.scoped("reports a broken file", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      yield* Effect.scoped(
        Effect.gen(function* () {
          const sql = yield* SqliteClient.make({ file, driver })
          yield* sql`CREATE TABLE t (id INTEGER)`
        })
      )
      const bytes = Fs.readFileSync(file)
      bytes.fill(0xff, 100, 4096)
      Fs.writeFileSync(file, bytes)
      const broken = Effect.flatMap(SqliteClient.make({ file, driver }), ({ health }) => health)
      assert.strictEqual(yield* reasonOf(broken), "data")
    })
  )
})

describe("the driver", () => {
  it("is chosen by the version of Node", () => {
    assert.deepStrictEqual(["20.20.2", "21.0.0", "22.0.0", "24.1.0"].map(SqliteDriverLoader.nameFor), [
      "libsql",
      "libsql",
      "node:sqlite",
      "node:sqlite"
    ])
  })

  it.scoped("is the default of the version", () =>
    Effect.gen(function* () {
      const { driver } = yield* SqliteClient.make({ file: ":memory:" })
      assert.strictEqual(driver, SqliteDriverLoader.nameFor(process.versions.node))
    })
  )

  for (const driver of SqliteDrivers.names) {
    if (SqliteDrivers.isThere(driver)) continue
    it.effect(`${driver} is reported when missing, and no other one is used`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Effect.scoped(SqliteClient.make({ file: ":memory:", driver })))
        assert.strictEqual(error._tag, "PersistenceConfigurationError")
        assert.include(error.message, driver)
        assert.match(String((error as { readonly hint?: string }).hint), /npm install|Node 22/)
      })
    )
  }
})
