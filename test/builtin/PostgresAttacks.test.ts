import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Pg from "pg"
import type * as DatabaseQueryError from "../../src/builtin/sql/DatabaseQueryError.js"
import * as DatabaseQuerySkill from "../../src/builtin/sql/DatabaseQuerySkill.js"
import * as PostgresFunctions from "../../src/builtin/sql/PostgresFunctions.js"
import * as ReadOnlySql from "../../src/builtin/sql/ReadOnlySql.js"
import { call } from "../support/Skills.js"
import * as Certificate from "../support/servers/Certificate.js"
import * as TestServers from "../support/TestServers.js"

const postgres = await TestServers.postgres()

TestServers.suite("postgres", postgres, (address) => {
  const options = { postgres: Redacted.make(address.url) }
  const skill = DatabaseQuerySkill.make(options)

  const reasonOf = (sql: string, given: DatabaseQuerySkill.PostgresOptions = options) =>
    Effect.map(Effect.either(call(DatabaseQuerySkill.make(given), { sql })), (result) =>
      Either.isRight(result) ? "answered" : (result.left as DatabaseQueryError.DatabaseQueryError).reason
    )

  /** A connection of the test's own. */
  const asked = (sql: string) =>
    Effect.acquireUseRelease(
      Effect.promise(async () => {
        const client = new Pg.default.Client({ connectionString: address.url })
        await client.connect()
        return client
      }),
      (client) => Effect.promise(() => client.query(sql)).pipe(Effect.map(({ rows }) => rows as ReadonlyArray<any>)),
      (client) => Effect.promise(() => client.end())
    )

  /** How many backends run what has this mark. */
  const backends = (mark: string) =>
    Effect.map(
      asked(`SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE '%${mark}%' AND pid <> pg_backend_pid()`),
      ([row]) => row.n as number
    )

  it.scopedLive(
    "does not read a server without a trusted certificate, unless the address allows it",
    () =>
      Effect.gen(function* () {
        const { certificate, key } = Certificate.make()
        const own = yield* TestServers.ownPostgres({
          durable: false,
          files: { "server.crt": certificate, "server.key": key },
          settings: { ssl: "on" }
        })
        const parts = {
          host: own.host,
          port: own.port,
          user: own.username,
          password: Redacted.make(own.password),
          database: own.database
        }
        assert.strictEqual(yield* reasonOf("SELECT 1", { postgres: { ...parts, ssl: true } }), "Connection")
        assert.strictEqual(yield* reasonOf("SELECT 1", { postgres: { ...parts, ssl: false } }), "answered")
        const unchecked = Redacted.make(`${own.url}?sslmode=no-verify`)
        assert.strictEqual(yield* reasonOf("SELECT 1", { postgres: unchecked }), "answered")
      }),
    300_000
  )

  it.scopedLive("returns rows in JSON form, and binds parameters", () =>
    Effect.gen(function* () {
      const answer = yield* call(skill, {
        sql: "SELECT $1::int + 1 AS two, 9007199254740993 AS big, date '2020-02-29' AS day, '{\"a\":[1]}'::jsonb AS json",
        params: [1]
      })
      assert.deepStrictEqual(answer.rows, [{ two: 2, big: "9007199254740993", day: "2020-02-29", json: { a: [1] } }])
      const parts = {
        host: address.host,
        port: address.port,
        user: address.username,
        password: Redacted.make(address.password),
        database: address.database
      }
      assert.strictEqual(yield* reasonOf("SELECT 1", { postgres: parts }), "answered")
      assert.strictEqual(yield* reasonOf("SELECT nothing"), "Query")
      assert.strictEqual(yield* reasonOf("SELECT repeat('x', 200000000)"), "TooLarge")
    })
  )

  it.scopedLive("refuses statements that write, wait, read files, describe the server or run SQL from text", () =>
    Effect.gen(function* () {
      for (const sql of [
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_catalog.pg_read_file('/etc/passwd')",
        "SELECT \"pg_ls_dir\"('/')",
        "SELECT pg_sleep(60)",
        "SELECT pg_advisory_lock(1)",
        "SELECT set_config('a.b', '1', false)",
        "SELECT current_setting('data_directory')",
        "SELECT query_to_xml('SELECT 1', true, true, '')",
        "SELECT ts_stat('SELECT 1')",
        "SELECT * FROM ts_stat ('SELECT to_tsvector(1::text)')",
        "SELECT lo_import('/etc/passwd')",
        "SELECT nextval('s')",
        "SELECT pg_terminate_backend(1)",
        "SELECT dblink('host=x', 'SELECT 1')",
        "SELECT * FROM pg_shadow",
        "SELECT * FROM pg_settings",
        'SELECT U&"pg\\005fsleep"(1)'
      ]) {
        assert.include(["NotAllowed", "NotReadOnly"], yield* reasonOf(sql), sql)
      }
    })
  )

  it.scopedLive("calls only functions on the list", () =>
    Effect.gen(function* () {
      const rows = yield* asked(
        "SELECT proname AS name, bool_or(provolatile = 'v') AS volatile FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace GROUP BY 1"
      )
      assert.isAbove(rows.length, 1000)
      for (const { name } of rows) {
        const isRun = Either.isRight(ReadOnlySql.make(`SELECT pg_catalog."${name}"(1)`, "pg"))
        assert.strictEqual(isRun, PostgresFunctions.functions.has(name), name)
      }
      const changing = rows.filter(({ name, volatile }) => volatile && PostgresFunctions.functions.has(name))
      assert.includeMembers(
        [
          "clock_timestamp",
          "timeofday",
          "random",
          "random_normal",
          "gen_random_uuid",
          "uuidv4",
          "uuidv7",
          "array_sample",
          "array_shuffle"
        ],
        changing.map(({ name }) => name)
      )
      const dangerous =
        /file|_ls_|sleep|_to_xml|ts_stat|lock|setting|config|backend|nextval|setval|lo_|notify|dblink|cursor|promote|wal|replication|stat_/
      assert.deepStrictEqual(
        [...PostgresFunctions.functions].filter(
          (name) => dangerous.test(name) && name !== "clock_timestamp" && name !== "get_current_ts_config"
        ),
        []
      )
    })
  )

  it.scopedLive("releases an advisory lock of an allowed function with its statement", () =>
    Effect.gen(function* () {
      const locking = { ...options, functions: ["pg_try_advisory_lock"] }
      assert.strictEqual(yield* reasonOf("SELECT pg_try_advisory_lock(4711) AS held", locking), "answered")
      const left = Effect.map(
        asked("SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711"),
        ([row]) => row.n as number
      )
      yield* Effect.repeat(left, { until: (n) => n === 0, schedule: Schedule.spaced("50 millis") })
    })
  )

  it.scopedLive("ends an endless statement at the timeout and by an interruption", () =>
    Effect.gen(function* () {
      const endless = (mark: string) =>
        `WITH RECURSIVE ${mark}(i) AS (SELECT 1 UNION ALL SELECT (i + 1) % 10 FROM ${mark}) SELECT count(*) FROM ${mark}`
      const gone = (mark: string) =>
        Effect.repeat(backends(mark), { until: (n) => n === 0, schedule: Schedule.spaced("100 millis") })
      assert.strictEqual(yield* reasonOf(endless("marked_timeout"), { ...options, timeout: "1 second" }), "Timeout")
      yield* gone("marked_timeout")
      const fiber = yield* Effect.fork(call(skill, { sql: endless("marked_interruption") }))
      yield* Effect.repeat(backends("marked_interruption"), {
        until: (n) => n === 1,
        schedule: Schedule.spaced("50 millis")
      })
      yield* Fiber.interrupt(fiber)
      yield* gone("marked_interruption")
    })
  )

  it.scopedLive("types a missing server and an invalid address", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* reasonOf("SELECT 1", { postgres: { host: "127.0.0.1", port: 1 } }), "Connection")
      const wrong = {
        ...options,
        postgres: Redacted.make(address.url.replace(/\/[^/?]*(\?|$)/, "/no_such_database$1"))
      }
      assert.strictEqual(yield* reasonOf("SELECT 1", wrong), "Connection")
    })
  )
})
