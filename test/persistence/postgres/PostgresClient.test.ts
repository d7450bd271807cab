import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as Util from "node:util"
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import type { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import pg from "pg"
import type { DatabaseError } from "../../../src/persistence/engine/PersistenceError.js"
import * as SqlFailure from "../../../src/persistence/engine/SqlFailure.js"
import * as PostgresClient from "../../../src/persistence/postgres/PostgresClient.js"
import * as Processes from "../../support/Processes.js"
import * as TcpProxy from "../../support/servers/TcpProxy.js"
import * as TestServers from "../../support/TestServers.js"

const server = await TestServers.postgres()

/** The client of a layer that lives as long as the test. */
const client = (options: PostgresClient.Options) =>
  Effect.map(Layer.build(PostgresClient.layer(options)), (context) => ({
    sql: Context.get(context, SqlClient.SqlClient),
    pg: Context.get(context, SqlClient.SqlClient) as PgClient,
    postgres: Context.get(context, PostgresClient.PostgresClient),
    context
  }))

const url = (text: string) => Redacted.make(text)

/** A statement by a connection that has nothing to do with what is tested. */
const aside = (connectionString: string, text: string): Effect.Effect<ReadonlyArray<any>> =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString })
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  })

const connectionsOf = (connectionString: string, name: string) =>
  Effect.map(
    aside(connectionString, `select count(*)::int as n from pg_stat_activity where application_name = '${name}'`),
    ([row]) => row.n as number
  )

const reasonOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "success"
  const failure = Cause.failureOption(exit.cause)
  if (Option.isNone(failure)) return Cause.isInterruptedOnly(exit.cause) ? "interrupted" : "defect"
  return failure.value instanceof SqlError ? SqlFailure.describe(failure.value).reason : "another error"
}

describe("without its packages", () => {
  for (const missing of ["pg", "@effect/sql-pg/PgClient"]) {
    it.live(
      `names the package to install when ${missing} is missing`,
      () =>
        Effect.gen(function* () {
          const hooks = `export const resolve = (specifier, context, next) => {
          if (specifier !== ${JSON.stringify(missing)}) return next(specifier, context)
          throw Object.assign(new Error("not found"), { code: "ERR_MODULE_NOT_FOUND" })
        }`
          const program = `import { register } from "node:module"
          import * as Effect from "effect/Effect"
          import * as Layer from "effect/Layer"
          import * as PostgresClient from "./src/persistence/postgres/PostgresClient.ts"
          register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hooks)}`)})
          const error = await Effect.runPromise(Effect.flip(Effect.scoped(Layer.build(PostgresClient.layer({})))))
          process.stdout.write(JSON.stringify({ tag: error._tag, message: error.message, hint: error.hint }))`
          const { stdout } = yield* Effect.promise(() =>
            Util.promisify(execFile)(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", program], {
              cwd: fileURLToPath(new URL("../../..", import.meta.url))
            })
          )
          assert.deepStrictEqual(JSON.parse(stdout), {
            tag: "PersistenceConfigurationError",
            message: "Postgres needs the packages pg and @effect/sql-pg, of which one is not installed",
            hint: "npm install pg @effect/sql@^0.52.1 @effect/sql-pg@^0.53.0"
          })
        }),
      300_000
    )
  }
})

TestServers.suite("postgres", server, (address) => {
  const options = (applicationName: string, more: PostgresClient.Options = {}): PostgresClient.Options => ({
    ...more,
    url: more.url ?? url(address.url),
    applicationName
  })

  describe("settings", () => {
    it.scopedLive("accepts fields in place of the url", () =>
      Effect.gen(function* () {
        const { sql } = yield* client({
          host: address.host,
          port: address.port,
          database: address.database,
          username: address.username,
          password: Redacted.make(address.password),
          ssl: false
        })
        assert.deepStrictEqual(yield* sql`select current_user as "user"`, [{ user: address.username }])
      })
    )

    it.scopedLive("reads the query string of the url, which an option overrides", () =>
      Effect.gen(function* () {
        const query = "?application_name=from-url&statement_timeout=1234&options=-c%20work_mem%3D77kB&sslmode=disable"
        const shown = (sql: SqlClient.SqlClient) =>
          sql`select current_setting('application_name') as name, current_setting('statement_timeout') as timeout,
            current_setting('work_mem') as memory`
        const plain = yield* client({ url: url(address.url + query) })
        assert.deepStrictEqual(yield* shown(plain.sql), [{ name: "from-url", timeout: "1234ms", memory: "77kB" }])
        const over = yield* client({
          url: url(address.url + query),
          applicationName: "option",
          queryTimeout: "2 seconds"
        })
        assert.deepStrictEqual(yield* shown(over.sql), [{ name: "option", timeout: "2s", memory: "77kB" }])
      })
    )

    it.scopedLive("sets the timeouts of the server", () =>
      Effect.gen(function* () {
        const shown = (sql: SqlClient.SqlClient) =>
          sql`select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
            current_setting('idle_in_transaction_session_timeout') as idle`
        const defaults = yield* client(options("times"))
        assert.deepStrictEqual(yield* shown(defaults.sql), [{ statement: "30s", lock: "0", idle: "1min" }])
        const own = yield* client(
          options("times", {
            queryTimeout: "3 seconds",
            lockTimeout: "2 seconds",
            idleInTransactionTimeout: "4 seconds"
          })
        )
        assert.deepStrictEqual(yield* shown(own.sql), [{ statement: "3s", lock: "2s", idle: "4s" }])
        const none = yield* client(
          options("times", { queryTimeout: Duration.infinity, idleInTransactionTimeout: Duration.infinity })
        )
        assert.deepStrictEqual(yield* shown(none.sql), [{ statement: "0", lock: "0", idle: "0" }])
      })
    )

    it.scopedLive("creates its schema of any name once", () =>
      Effect.gen(function* () {
        for (const schema of [`made ${process.pid}`, `ma"de\\${process.pid}`]) {
          yield* Effect.addFinalizer(() => aside(address.url, `drop schema ${pg.escapeIdentifier(schema)} cascade`))
          const both = yield* Effect.all(
            [client(options("schema", { schema })), client(options("schema", { schema }))],
            {
              concurrency: 2
            }
          )
          yield* both[0].sql`create table things (id int)`
          yield* both[0].sql`insert into things values (1)`
          assert.deepStrictEqual(yield* both[1].sql`select current_schema() as at, id from things`, [
            { at: schema, id: 1 }
          ])
        }
      })
    )

    it.effect("fails without the schema when it may not create it", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(
          Effect.scoped(client(options("schema", { schema: "not_there", createSchema: false })))
        )
        assert.strictEqual(error._tag === "DatabaseError" && error.reason, "schema")
        assert.deepStrictEqual(yield* aside(address.url, "select 1 from pg_namespace where nspname = 'not_there'"), [])
      })
    )

    it.scopedLive("uses an existing schema that it could not create", () =>
      Effect.gen(function* () {
        const name = `user_${process.pid}`
        yield* aside(address.url, `create user ${name} password 'p'; create schema ${name} authorization ${name};`)
        yield* Effect.addFinalizer(() => aside(address.url, `drop schema ${name} cascade; drop user ${name}`))
        const { sql } = yield* client(options("schema", { schema: name, username: name, password: Redacted.make("p") }))
        yield* sql`create table mine (id int)`
      })
    )

    it.effect("rejects invalid options without showing them", () =>
      Effect.gen(function* () {
        const secret = "s3cr3t"
        const all: ReadonlyArray<PostgresClient.Options> = [
          { url: url(`mysql://user:${secret}@127.0.0.1/x`) },
          { url: url(secret) },
          { url: url(`postgres://user:${secret}@127.0.0.1:port/x`) },
          { url: url(`postgres://user:${secret}@127.0.0.1/%E0%A4`) },
          { url: url(`postgres://user:${secret}@127.0.0.1/x?sslrootcert=/not/there/${secret}`) },
          { port: 0 },
          { port: 70_000 },
          { maxConnections: 0 },
          { maxConnections: 1.5 },
          { minConnections: -1 },
          { minConnections: 3, maxConnections: 2 },
          { schema: "" },
          { schema: `${secret}${"x".repeat(64)}` },
          { queryTimeout: 0 },
          { connectTimeout: "-1 seconds" },
          { idleTimeout: "50 days" }
        ]
        for (const wrong of all) {
          const error = yield* Effect.flip(Effect.scoped(client({ url: url(address.url), ...wrong })))
          assert.strictEqual(error._tag, "PersistenceConfigurationError")
          assert.isString(error.hint)
          for (const text of [error.message, String(error), JSON.stringify(error), Util.inspect(error, { depth: 9 })]) {
            assert.notInclude(text, secret)
          }
        }
      })
    )

    it.scopedLive("is built from a configuration", () =>
      Effect.gen(function* () {
        const context = yield* Layer.build(
          PostgresClient.layerConfig({
            url: Config.redacted("DB_URL"),
            maxConnections: Config.integer("DB_MAX"),
            applicationName: Config.succeed("configured")
          })
        ).pipe(
          Effect.withConfigProvider(
            ConfigProvider.fromMap(
              new Map([
                ["DB_URL", address.url],
                ["DB_MAX", "3"]
              ])
            )
          )
        )
        assert.strictEqual((yield* Context.get(context, PostgresClient.PostgresClient).pool).max, 3)
      })
    )
  })

  describe("opening", () => {
    const failure = (more: PostgresClient.Options): Effect.Effect<DatabaseError> =>
      Effect.gen(function* () {
        const error = yield* Effect.orDieWith(
          Effect.flip(Effect.scoped(client(options("opening", more)))),
          () => "it was opened"
        )
        if (error._tag !== "DatabaseError") return yield* Effect.dieMessage(error._tag)
        for (const text of [
          error.message,
          error.hint ?? "",
          String(error),
          JSON.stringify(error),
          Util.inspect(error, { depth: 9, showHidden: true }),
          Cause.pretty(Cause.fail(error))
        ]) {
          for (const secret of [address.password, "wr0ng", "n0body", "n0where", address.url]) {
            assert.notInclude(text, secret)
          }
        }
        return error
      })

    it.live("distinguishes a wrong password, user and database from a missing server", () =>
      Effect.gen(function* () {
        const password = yield* failure({ password: Redacted.make("wr0ng") })
        assert.deepStrictEqual(
          [password.reason, password.message],
          ["refused", `Postgres refused the user or its password (${address.host}:${address.port})`]
        )
        assert.strictEqual((yield* failure({ username: "n0body" })).reason, "refused")
        const database = yield* failure({ database: "n0where" })
        assert.deepStrictEqual(
          [database.reason, database.message],
          ["refused", `Postgres has no database of this name (${address.host}:${address.port})`]
        )
        assert.strictEqual((yield* failure({ port: 1 })).reason, "unreachable")
        assert.strictEqual((yield* failure({ host: "absent.invalid" })).reason, "unreachable")
      })
    )

    it.live("reports that the server has no TLS", () =>
      Effect.gen(function* () {
        for (const more of [{ ssl: true }, { url: url(`${address.url}?sslmode=verify-full`) }]) {
          const error = yield* failure(more)
          assert.strictEqual(error.reason, "refused")
          assert.include(error.message, "TLS")
        }
      })
    )

    it.scopedLive("gives up on a server that does not answer", () =>
      Effect.gen(function* () {
        const proxy = yield* TcpProxy.make(address)
        yield* proxy.stall
        const error = yield* failure({ host: proxy.host, port: proxy.port, connectTimeout: "200 millis" })
        assert.strictEqual(error.reason, "unreachable")
      })
    )

    it.scopedLive("can be interrupted", () =>
      Effect.gen(function* () {
        const proxy = yield* TcpProxy.make(address)
        yield* proxy.stall
        const fiber = yield* Effect.fork(
          Effect.scoped(
            client(options("opening", { host: proxy.host, port: proxy.port, connectTimeout: "10 minutes" }))
          )
        )
        yield* Processes.eventually(() => proxy.open() === 1)
        assert.strictEqual(reasonOf(yield* Fiber.interrupt(fiber)), "interrupted")
        yield* proxy.resume
        yield* Processes.eventually(() => proxy.open() === 0)
      })
    )

    it.scopedLive("opens the minimum of connections, and closes all with its scope", () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const { postgres, sql } = yield* Scope.extend(client(options("counted", { minConnections: 3 })), scope)
        assert.deepInclude(yield* postgres.pool, { size: 3, idle: 3, used: 0, waiting: 0, max: 10 })
        yield* Effect.forEach([1, 2, 3, 4, 5, 6], () => sql`select pg_sleep(0.01)`, { concurrency: 6 })
        assert.strictEqual(yield* connectionsOf(address.url, "counted"), 6)
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual(yield* connectionsOf(address.url, "counted"), 0)
        assert.strictEqual(reasonOf(yield* Effect.exit(sql`select 1`)), "unreachable")
      })
    )

    it.scopedLive("closes idle and old connections", () =>
      Effect.gen(function* () {
        const idle = yield* client(options("idle", { idleTimeout: "30 millis" }))
        yield* idle.sql`select 1`
        const old = yield* client(options("old", { connectionTtl: "30 millis", idleTimeout: Duration.infinity }))
        yield* old.sql`select 1`
        for (const { postgres } of [idle, old]) {
          yield* Effect.repeat(Effect.zipLeft(postgres.pool, Effect.sleep(10)), { until: ({ size }) => size === 0 })
        }
        assert.deepStrictEqual(yield* idle.sql`select 1 as one`, [{ one: 1 }])
      })
    )
  })

  describe("statements", () => {
    it.scopedLive("are those of @effect/sql-pg", () =>
      Effect.gen(function* () {
        const { pg, sql } = yield* client(options("statements"))
        assert.deepStrictEqual(yield* sql`select ${1}::int as a, ${"x"}::text as b`, [{ a: 1, b: "x" }])
        assert.deepStrictEqual(yield* sql`select 1 as a, 2 as b`.values, [[1, 2]])
        assert.deepInclude(yield* sql`select 1`.raw, { command: "SELECT", rowCount: 1 })
        assert.deepStrictEqual(yield* sql`select x from generate_series(1, 3) x where ${sql.in("x", [1, 3])}`, [
          { x: 1 },
          { x: 3 }
        ])
        for (const json of [[1, "a"], { a: [1] }, "text", 1, null]) {
          assert.deepStrictEqual(yield* sql`select ${pg.json(json)}::jsonb as json`, [{ json }])
        }
        assert.strictEqual(pg.config.host, address.host)
      })
    )

    it.scopedLive("stream by a cursor, more than fits into one piece", () =>
      Effect.gen(function* () {
        const { postgres, sql } = yield* client(options("stream"))
        const stream = sql<{ n: number }>`select n::int from generate_series(1, 1000) n`.stream
        const sum = yield* Stream.runFold(stream, 0, (sum, { n }) => sum + n)
        assert.strictEqual(sum, 500_500)
        assert.strictEqual(Chunk.size(yield* Stream.runCollect(Stream.take(stream, 3))), 3)
        assert.deepInclude(yield* postgres.pool, { used: 0, waiting: 0 })
        const inTransaction = yield* sql.withTransaction(
          Effect.zipRight(
            sql`create temporary table streamed on commit drop as select n from generate_series(1, 300) n`,
            Stream.runCount(sql`select n from streamed`.stream)
          )
        )
        assert.strictEqual(inTransaction, 300)
      })
    )

    it.scopedLive("send and receive notifications", () =>
      Effect.gen(function* () {
        const { pg, sql } = yield* client(options("notify"))
        const channel = `odd "channel" ${process.pid}`
        const heard = yield* Effect.fork(Stream.runCollect(Stream.take(pg.listen(channel), 2)))
        const listening = `select 1 from pg_stat_activity
          where application_name = 'notify' and query like 'listen%' and state = 'idle'`
        yield* Effect.repeat(aside(address.url, listening), { until: (rows) => rows.length === 1 })
        yield* pg.notify(channel, "it's one")
        yield* sql.withTransaction(sql`select pg_notify(${channel}, 'two')`)
        assert.deepStrictEqual(Chunk.toArray(yield* Fiber.join(heard)), ["it's one", "two"])
      })
    )

    it.scopedLive("end at their timeout, and the connection continues", () =>
      Effect.gen(function* () {
        const { postgres, sql } = yield* client(options("timeout", { queryTimeout: "400 millis", maxConnections: 1 }))
        const before = yield* sql`select pg_backend_pid() as pid`
        assert.strictEqual(reasonOf(yield* Effect.exit(sql`select pg_sleep(20)`)), "busy")
        assert.deepStrictEqual(yield* sql`select pg_backend_pid() as pid`, before)
        assert.deepInclude(yield* postgres.pool, { size: 1, used: 0 })
      })
    )

    it.scopedLive("have another timeout in a transaction that sets one", () =>
      Effect.gen(function* () {
        const { context, sql } = yield* client(options("timeout", { queryTimeout: "400 millis", maxConnections: 1 }))
        const slow = sql`select pg_sleep(0.8)`
        assert.strictEqual(reasonOf(yield* Effect.exit(slow)), "busy")
        yield* Effect.provide(PostgresClient.withStatementTimeout(slow, Duration.infinity), context)
        const short = Effect.provide(PostgresClient.withStatementTimeout(slow, "20 millis"), context)
        assert.strictEqual(reasonOf(yield* Effect.exit(short)), "busy")
        assert.deepStrictEqual(yield* sql`select current_setting('statement_timeout') as at`, [{ at: "400ms" }])
      })
    )

    it.scopedLive("stop waiting for a lock, even one that a surrounding client holds", () =>
      Effect.gen(function* () {
        const holder = yield* client(options("lock"))
        const { sql } = yield* client(options("lock", { lockTimeout: "50 millis" }))
        const key = 7_000_000 + process.pid
        const lock = (sql: SqlClient.SqlClient) => sql`select pg_advisory_xact_lock(${key})`
        const exit = yield* holder.sql.withTransaction(Effect.zipRight(lock(holder.sql), Effect.exit(lock(sql))))
        assert.strictEqual(reasonOf(exit), "busy")
        yield* lock(sql)
      })
    )
  })
})
