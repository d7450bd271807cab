import * as Util from "node:util"
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as MetricLabel from "effect/MetricLabel"
import type * as MetricPair from "effect/MetricPair"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import pg from "pg"
import * as SqlFailure from "../../src/persistence/engine/SqlFailure.js"
import * as PoolMetrics from "../../src/persistence/postgres/PoolMetrics.js"
import * as PostgresClient from "../../src/persistence/postgres/PostgresClient.js"
import * as Certificate from "../support/servers/Certificate.js"
import * as TcpProxy from "../support/servers/TcpProxy.js"
import * as TestServers from "../support/TestServers.js"

const server = await TestServers.postgres()

const client = (options: PostgresClient.Options) =>
  Effect.map(Layer.build(PostgresClient.layer(options)), (context) => ({
    sql: Context.get(context, SqlClient.SqlClient),
    postgres: Context.get(context, PostgresClient.PostgresClient),
    context
  }))

const at = (address: { readonly url: string }, way?: { readonly host: string; readonly port: number }) => {
  const url = new URL(address.url)
  if (way !== undefined) url.port = String(way.port)
  return Redacted.make(url.href)
}

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

const connectionsOf = (address: { readonly url: string }, name: string, more = "true") =>
  Effect.map(
    aside(
      address.url,
      `select count(*)::int as n from pg_stat_activity where application_name = '${name}' and ${more}`
    ),
    ([row]) => row.n as number
  )

const sleeping = (address: { readonly url: string }, name: string, connections = 1) =>
  Effect.repeat(connectionsOf(address, name, "state = 'active' and query like '%pg_sleep%'"), {
    until: (n) => n === connections
  })

/** What it means, `interrupted`, or `defect`, which must not be. */
const outcome = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "success"
  const failure = Cause.failureOption(exit.cause)
  if (Option.isNone(failure)) return Cause.isInterruptedOnly(exit.cause) ? "interrupted" : "defect"
  return failure.value instanceof SqlError ? SqlFailure.describe(failure.value).reason : "another error"
}

const interrupt = <A, E>(fiber: Fiber.Fiber<A, E>) =>
  Effect.map(Fiber.interrupt(fiber), (exit) => assert.strictEqual(outcome(exit), "interrupted"))

TestServers.suite("postgres", server, (address) => {
  const options = (applicationName: string, more: PostgresClient.Options = {}): PostgresClient.Options => ({
    url: at(address),
    applicationName,
    ...more
  })
  const table = (name: string) =>
    Effect.acquireRelease(
      Effect.as(aside(address.url, `create table ${name} (id int primary key deferrable initially deferred)`), name),
      () => aside(address.url, `drop table ${name}`)
    )

  describe("interruption", () => {
    it.scopedLive("cancels a statement; its connection continues", () =>
      Effect.gen(function* () {
        const { postgres, sql } = yield* client(options("cancel", { maxConnections: 1 }))
        const before = yield* sql`select pg_backend_pid() as pid`
        const fiber = yield* Effect.fork(sql`select pg_sleep(20)`)
        yield* sleeping(address, "cancel")
        yield* interrupt(fiber)
        assert.deepStrictEqual(yield* sql`select pg_backend_pid() as pid`, before)
        assert.strictEqual(yield* connectionsOf(address, "cancel", "state = 'active'"), 0)
        assert.deepInclude(yield* postgres.pool, { size: 1, used: 0, waiting: 0 })
      })
    )

    it.scopedLive("rolls back a transaction, with the only connection of the pool", () =>
      Effect.gen(function* () {
        const name = yield* table(`interrupted_${process.pid}`)
        const { sql } = yield* client(options("cancel-tx", { maxConnections: 1 }))
        const before = yield* sql`select pg_backend_pid() as pid`
        const fiber = yield* Effect.fork(
          sql.withTransaction(Effect.zipRight(sql.unsafe(`insert into ${name} values (1)`), sql`select pg_sleep(20)`))
        )
        yield* sleeping(address, "cancel-tx")
        yield* interrupt(fiber)
        assert.deepStrictEqual(yield* sql.unsafe(`select id from ${name}`), [])
        assert.deepStrictEqual(yield* sql`select pg_backend_pid() as pid`, before)
      })
    )

    it.scopedLive("cancels a reserved connection's statement, and returns the connection", () =>
      Effect.gen(function* () {
        const { postgres, sql } = yield* client(options("cancel-reserved", { maxConnections: 1 }))
        const fiber = yield* Effect.fork(
          Effect.scoped(
            Effect.flatMap(sql.reserve, (connection) => connection.execute("select pg_sleep($1)", [20], undefined))
          )
        )
        yield* sleeping(address, "cancel-reserved")
        yield* interrupt(fiber)
        assert.deepInclude(yield* postgres.pool, { size: 1, idle: 1, used: 0, waiting: 0 })
      })
    )

    it.scopedLive("cancels a stream's statement, alone and in a transaction", () =>
      Effect.gen(function* () {
        const { postgres, sql } = yield* client(options("cancel-stream", { maxConnections: 1 }))
        const before = yield* sql`select pg_backend_pid() as pid`
        const stream = Stream.runDrain(sql`select pg_sleep(20) from generate_series(1, 5)`.stream)
        for (const effect of [stream, sql.withTransaction(stream)]) {
          const fiber = yield* Effect.fork(effect)
          yield* sleeping(address, "cancel-stream")
          yield* interrupt(fiber)
          assert.deepStrictEqual(yield* sql`select pg_backend_pid() as pid`, before)
        }
        assert.deepInclude(yield* postgres.pool, { size: 1, idle: 1, used: 0 })
      })
    )

    it.scopedLive("ends the wait for a connection, and leaks none", () =>
      Effect.gen(function* () {
        const { postgres, sql } = yield* client(options("waiting", { maxConnections: 1 }))
        const waits: ReadonlyArray<Effect.Effect<unknown, SqlError>> = [
          sql`select 1`,
          sql.withTransaction(sql`select 1`),
          Effect.scoped(sql.reserve),
          Stream.runDrain(sql`select 1`.stream)
        ]
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* sql.reserve
            for (const wait of waits) {
              const fiber = yield* Effect.fork(wait)
              yield* Effect.repeat(postgres.pool, { until: ({ waiting }) => waiting === 1 })
              yield* interrupt(fiber)
              assert.deepInclude(yield* postgres.pool, { used: 1, waiting: 0 })
            }
          })
        )
        assert.deepStrictEqual(yield* sql`select 1 as one`, [{ one: 1 }])
        assert.deepInclude(yield* postgres.pool, { size: 1, idle: 1, used: 0, waiting: 0 })
      })
    )

    it.scopedLive("does not end uninterruptible work", () =>
      Effect.gen(function* () {
        const name = yield* table(`uninterruptible_${process.pid}`)
        const { postgres, sql } = yield* client(options("uninterruptible", { maxConnections: 1 }))
        const fiber = yield* Effect.scoped(
          Effect.gen(function* () {
            yield* sql.reserve
            const fiber = yield* Effect.forkDaemon(
              Effect.uninterruptible(sql.withTransaction(sql.unsafe(`insert into ${name} values (1)`)))
            )
            yield* Effect.repeat(postgres.pool, { until: ({ waiting }) => waiting === 1 })
            yield* Fiber.interruptFork(fiber)
            return fiber
          })
        )
        yield* Fiber.await(fiber)
        assert.deepStrictEqual(yield* sql.unsafe(`select id from ${name}`), [{ id: 1 }])
      })
    )

    it.scopedLive(
      "loses no connection at any moment",
      () =>
        Effect.gen(function* () {
          const { postgres, sql } = yield* client(options("chaos", { maxConnections: 3 }))
          const work = (n: number) =>
            n % 3 === 0
              ? sql`select pg_sleep(0.002)`
              : n % 3 === 1
                ? sql.withTransaction(sql`select pg_sleep(0.001)`)
                : Stream.runDrain(sql`select n from generate_series(1, 200) n`.stream)
          yield* Effect.forEach(
            Array.from({ length: 240 }, (_, n) => n),
            (n) =>
              Effect.gen(function* () {
                const fiber = yield* Effect.fork(work(n))
                for (let turns = n % 17; turns > 0; turns--) yield* Effect.yieldNow()
                if (n % 5 === 0) yield* Effect.sleep(n % 7)
                const exit = yield* Fiber.interrupt(fiber)
                assert.include(["interrupted", "success"], outcome(exit))
              }),
            { concurrency: 12 }
          )
          yield* Effect.forEach([1, 2, 3], () => sql`select pg_sleep(0.01)`, { concurrency: 3 })
          const { size, used, waiting } = yield* Effect.repeat(Effect.zipLeft(postgres.pool, Effect.sleep(1)), {
            until: ({ idle, size }) => size === idle
          })
          assert.deepStrictEqual({ used, waiting }, { used: 0, waiting: 0 })
          assert.isAtMost(size, 3)
          assert.strictEqual(yield* connectionsOf(address, "chaos"), size)
        }),
      300_000
    )
  })

  describe("streams", () => {
    it.scopedLive("return their connection in its original state after a failure", () =>
      Effect.gen(function* () {
        const { postgres, sql } = yield* client(options("failing-stream", { maxConnections: 1 }))
        const before = yield* sql`select pg_backend_pid() as pid`
        const failing = [sql`select 1 / (500 - n) from generate_series(1, 1000) n`.stream, sql`select nothing`.stream]
        for (const stream of failing) {
          const exit = yield* Effect.exit(Stream.runDrain(stream))
          assert.include(["data", "schema"], outcome(exit))
          assert.deepStrictEqual(yield* sql`select pg_backend_pid() as pid`, before)
        }
        assert.deepInclude(yield* postgres.pool, { size: 1, idle: 1, used: 0 })
      })
    )
  })

  describe("transactions", () => {
    it.scopedLive("fail when the commit fails", () =>
      Effect.gen(function* () {
        const name = yield* table(`deferred_${process.pid}`)
        const { postgres, sql } = yield* client(options("commit", { maxConnections: 1 }))
        const before = yield* sql`select pg_backend_pid() as pid`
        const twice = sql.withTransaction(sql.unsafe(`insert into ${name} values (1), (1)`))
        assert.strictEqual(outcome(yield* Effect.exit(twice)), "data")
        assert.deepStrictEqual(yield* sql.unsafe(`select id from ${name}`), [])
        assert.deepStrictEqual(yield* sql`select pg_backend_pid() as pid`, before)
        assert.deepInclude(yield* postgres.pool, { used: 0 })
      })
    )

    it.scopedLive("fail when a failure inside was ignored", () =>
      Effect.gen(function* () {
        const name = yield* table(`passed_over_${process.pid}`)
        const { sql } = yield* client(options("commit"))
        const exit = yield* Effect.exit(
          sql.withTransaction(
            Effect.zipRight(sql.unsafe(`insert into ${name} values (1)`), Effect.ignore(sql`select nothing`))
          )
        )
        assert.strictEqual(outcome(exit), "other")
        assert.deepStrictEqual(yield* sql.unsafe(`select id from ${name}`), [])
      })
    )

    it.scopedLive("roll back a part of themselves", () =>
      Effect.gen(function* () {
        const name = yield* table(`nested_${process.pid}`)
        const { sql } = yield* client(options("nested"))
        const insert = (id: number) => sql.unsafe(`insert into ${name} values (${id})`)
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* insert(1)
            yield* Effect.ignore(sql.withTransaction(Effect.zipRight(insert(2), Effect.fail("undone"))))
            yield* Effect.ignore(sql.withTransaction(sql`select nothing`))
            yield* sql.withTransaction(insert(3))
          })
        )
        assert.deepStrictEqual(yield* sql.unsafe(`select id from ${name} order by id`), [{ id: 1 }, { id: 3 }])
      })
    )

    it.scopedLive("belong to one client alone", () =>
      Effect.gen(function* () {
        const name = yield* table(`alone_${process.pid}`)
        const one = yield* client(options("alone"))
        const other = yield* client(options("alone"))
        const insert = (sql: SqlClient.SqlClient, id: number) => sql.unsafe(`insert into ${name} values (${id})`)
        yield* Effect.ignore(
          one.sql.withTransaction(
            Effect.gen(function* () {
              yield* insert(one.sql, 1)
              yield* insert(other.sql, 2)
              yield* other.sql.withTransaction(insert(other.sql, 3))
              return yield* Effect.fail("undone")
            })
          )
        )
        assert.deepStrictEqual(yield* one.sql.unsafe(`select id from ${name} order by id`), [{ id: 2 }, { id: 3 }])
      })
    )

    it.scopedLive("are not continued by the next user of a connection that left them open", () =>
      Effect.gen(function* () {
        const name = yield* table(`left_${process.pid}`)
        const { sql } = yield* client(options("left", { maxConnections: 1 }))
        yield* Effect.scoped(
          Effect.flatMap(sql.reserve, (connection) =>
            Effect.zipRight(
              connection.executeRaw("begin", []),
              connection.executeRaw(`insert into ${name} values (1)`, [])
            )
          )
        )
        yield* sql.unsafe(`insert into ${name} values (2)`)
        assert.deepStrictEqual(yield* sql.unsafe(`select id from ${name}`), [{ id: 2 }])
      })
    )
  })

  describe("an exhausted pool", () => {
    it.scopedLive("reports it in time, counts it, and continues", () =>
      Effect.gen(function* () {
        const name = `exhausted-${process.pid}`
        const { postgres, sql } = yield* client(
          options("exhausted", { maxConnections: 2, connectTimeout: "700 millis", name })
        )
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* sql.reserve
            yield* sql.reserve
            const exits = yield* Effect.forEach(
              [
                sql`select 1`,
                sql.withTransaction(sql`select 1`),
                Effect.asVoid(Effect.uninterruptible(Effect.scoped(sql.reserve)))
              ] as ReadonlyArray<Effect.Effect<unknown, SqlError>>,
              (wait) => Effect.exit(wait),
              { concurrency: 3 }
            )
            assert.deepStrictEqual(exits.map(outcome), ["busy", "busy", "busy"])
            const health = yield* Effect.flip(postgres.health)
            assert.deepStrictEqual(
              exits.map((exit) =>
                Exit.isFailure(exit) ? SqlFailure.describe(Cause.squash(exit.cause)).message : "success"
              ),
              exits.map(() => "All connections to the database are taken (53300)")
            )
            assert.deepStrictEqual([health._tag, health.reason], ["DatabaseError", "busy"])
            assert.deepInclude(yield* postgres.pool, { size: 2, idle: 0, used: 2, waiting: 0, max: 2 })
          })
        )
        yield* postgres.health
        const pairs = Array.from(yield* Metric.snapshot).filter(({ metricKey }) =>
          Array.from(metricKey.tags).some(({ key, value }) => key === PoolMetrics.LABEL_POOL_NAME && value === name)
        )
        const state = (metric: string, label?: MetricLabel.MetricLabel): any =>
          pairs.find(
            ({ metricKey }: MetricPair.MetricPair.Untyped) =>
              metricKey.name === metric &&
              (label === undefined ||
                Array.from(metricKey.tags).some(({ key, value }) => key === label.key && value === label.value))
          )?.metricState
        const count = (label: string) =>
          state(PoolMetrics.METRIC_CONNECTION_COUNT, MetricLabel.make(PoolMetrics.LABEL_STATE, label)).value
        assert.deepStrictEqual([count("idle"), count("used")], [2, 0])
        assert.strictEqual(state(PoolMetrics.METRIC_CONNECTION_MAX).value, 2)
        assert.strictEqual(state(PoolMetrics.METRIC_CONNECTION_PENDING).value, 0)
        assert.strictEqual(state(PoolMetrics.METRIC_CONNECTION_TIMEOUTS).count, 4)
        assert.isAbove(state(PoolMetrics.METRIC_CONNECTION_WAIT_TIME).count, 2)
      })
    )

    it.effect("does not wait for a stopped clock", () =>
      Effect.gen(function* () {
        const { sql } = yield* client(options("exhausted", { maxConnections: 1, connectTimeout: "700 millis" }))
        yield* sql.reserve
        assert.strictEqual(outcome(yield* Effect.exit(sql`select 1`)), "busy")
      }).pipe(Effect.scoped)
    )

    it.scopedLive("closes in time with connections in use", () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const { sql } = yield* Scope.extend(client(options("in-use", { closeTimeout: "50 millis" })), scope)
        const fiber = yield* Effect.forkDaemon(Effect.uninterruptible(sql`select pg_sleep(20)`))
        yield* sleeping(address, "in-use")
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual(outcome(yield* Fiber.await(fiber)), "unreachable")
        yield* Effect.repeat(connectionsOf(address, "in-use", "state <> 'active'"), { until: (n) => n === 0 })
      })
    )
  })

  describe("a failing network", () => {
    const through = (name: string, more: PostgresClient.Options = {}) =>
      Effect.gen(function* () {
        const proxy = yield* TcpProxy.make(address)
        const table_ = yield* table(`${name}_${process.pid}`)
        const opened = yield* client(options(name, { ...more, url: at(address, proxy) }))
        return { ...opened, proxy, table: table_ }
      })
    const kept = (name: string) =>
      Effect.map(aside(address.url, `select id from ${name} order by id`), (rows) => rows.map(({ id }) => id))

    it.scopedLive("cuts idle connections: the next statement gets a new one", () =>
      Effect.gen(function* () {
        const { postgres, proxy, sql } = yield* through("idle", { minConnections: 3 })
        assert.strictEqual((yield* postgres.pool).idle, 3)
        yield* proxy.cut
        yield* Effect.repeat(Effect.zipLeft(postgres.pool, Effect.sleep(1)), { until: ({ size }) => size === 0 })
        assert.deepStrictEqual(yield* sql`select 1 as one`, [{ one: 1 }])
      })
    )

    it.scopedLive("cuts a statement and a transaction: both fail, and nothing is stored", () =>
      Effect.gen(function* () {
        const { proxy, postgres, sql, table } = yield* through("cut", { queryTimeout: "2 seconds" })
        const statement = yield* Effect.fork(sql`select pg_sleep(20)`)
        const transaction = yield* Effect.fork(
          sql.withTransaction(Effect.zipRight(sql.unsafe(`insert into ${table} values (1)`), sql`select pg_sleep(20)`))
        )
        yield* sleeping(address, "cut", 2)
        yield* proxy.cut
        assert.strictEqual(outcome(yield* Fiber.await(statement)), "unreachable")
        assert.strictEqual(outcome(yield* Fiber.await(transaction)), "unreachable")
        yield* sql.unsafe(`insert into ${table} values (2)`)
        yield* Effect.repeat(connectionsOf(address, "cut", "state = 'idle in transaction'"), { until: (n) => n === 0 })
        assert.deepStrictEqual(yield* kept(table), [2])
        assert.deepInclude(yield* postgres.pool, { used: 0, waiting: 0 })
      })
    )

    it.scopedLive("cuts a stream that is being read: it fails", () =>
      Effect.gen(function* () {
        const { postgres, proxy, sql } = yield* through("streamed")
        const stream = sql`select n from generate_series(1, 100000) n`.stream
        for (const wrap of [(effect: Effect.Effect<void, SqlError>) => effect, sql.withTransaction]) {
          const read = yield* Effect.exit(wrap(Stream.runForEachChunk(stream, () => proxy.cut)))
          assert.strictEqual(outcome(read), "unreachable")
        }
        assert.deepInclude(yield* postgres.pool, { used: 0, waiting: 0 })
        yield* sql`select 1`
      })
    )

    it.scopedLive("cuts before the commit: it fails, and nothing is stored", () =>
      Effect.gen(function* () {
        const { proxy, sql, table } = yield* through("before")
        const exit = yield* Effect.exit(
          sql.withTransaction(
            Effect.zipRight(sql.unsafe(`insert into ${table} values (1)`), Effect.zipRight(proxy.cut, Effect.sleep(20)))
          )
        )
        assert.strictEqual(outcome(exit), "unreachable")
        assert.deepStrictEqual(yield* kept(table), [])
      })
    )

    it.scopedLive("loses the answer to a commit: it fails, though everything is stored", () =>
      Effect.gen(function* () {
        const { postgres, proxy, sql, table } = yield* through("during")
        const exit = yield* Effect.exit(
          sql.withTransaction(Effect.zipRight(sql.unsafe(`insert into ${table} values (1)`), proxy.cutAnswers))
        )
        assert.strictEqual(outcome(exit), "unreachable")
        assert.deepStrictEqual(yield* kept(table), [1])
        yield* proxy.resume
        yield* sql.unsafe(`insert into ${table} values (2)`)
        assert.deepStrictEqual(yield* kept(table), [1, 2])
        assert.deepInclude(yield* postgres.pool, { used: 0 })
      })
    )

    it.scopedLive("cuts after the commit: it succeeds", () =>
      Effect.gen(function* () {
        const { proxy, sql, table } = yield* through("after")
        yield* sql.withTransaction(sql.unsafe(`insert into ${table} values (1)`))
        yield* proxy.cut
        assert.deepStrictEqual(yield* kept(table), [1])
      })
    )

    it.scopedLive("falls silent: waits for an answer end, even in uninterruptible regions", () =>
      Effect.gen(function* () {
        const { postgres, proxy, sql, table } = yield* through("silent", { queryTimeout: "500 millis" })
        yield* sql`select 1`
        const exit = yield* Effect.exit(
          Effect.uninterruptible(
            sql.withTransaction(Effect.zipRight(proxy.stall, sql.unsafe(`insert into ${table} values (1)`)))
          )
        )
        assert.strictEqual(outcome(exit), "unreachable")
        assert.deepInclude(yield* postgres.pool, { used: 0, waiting: 0 })
        yield* proxy.resume
        yield* sql.unsafe(`insert into ${table} values (2)`)
        assert.deepStrictEqual(yield* kept(table), [2])
      })
    )

    it.scopedLive("refuses new connections: this is reported, and open ones continue", () =>
      Effect.gen(function* () {
        const { proxy, sql } = yield* through("refusing", { connectTimeout: "3 seconds" })
        const first = yield* sql.reserve
        yield* proxy.refuse
        assert.strictEqual(outcome(yield* Effect.exit(sql`select 1`)), "unreachable")
        assert.deepStrictEqual(yield* first.execute("select 1 as one", [], undefined), [{ one: 1 }])
        yield* proxy.accept
        assert.deepStrictEqual(yield* sql`select 1 as one`, [{ one: 1 }])
      })
    )

    it.scopedLive("ends a stream of notifications with a failure", () =>
      Effect.gen(function* () {
        const { context, proxy } = yield* through("listening")
        const { listen } = Context.get(context, SqlClient.SqlClient) as never as {
          readonly listen: (channel: string) => Stream.Stream<string, SqlError>
        }
        const heard = yield* Effect.fork(Stream.runDrain(listen("channel")))
        yield* Effect.repeat(connectionsOf(address, "listening", "query like 'listen%' and state = 'idle'"), {
          until: (n) => n === 1
        })
        yield* proxy.cut
        assert.strictEqual(outcome(yield* Fiber.await(heard)), "unreachable")
      })
    )
  })

  describe("a failing server", () => {
    it.scopedLive(
      "fails all statements and transactions in progress, and the same client continues after it",
      () =>
        Effect.gen(function* () {
          const own = yield* TestServers.ownPostgres()
          const { postgres, sql } = yield* client({ url: at(own), applicationName: "killed" })
          yield* sql`create table kept (id int)`
          for (const mode of ["kill", "immediate", "fast"] as const) {
            yield* sql`truncate kept`
            yield* sql`insert into kept values (1)`
            const begun = yield* Deferred.make<void>()
            const statement = yield* Effect.fork(sql`select pg_sleep(20)`)
            const transaction = yield* Effect.fork(
              sql.withTransaction(
                Effect.gen(function* () {
                  yield* sql`insert into kept values (2)`
                  yield* Deferred.succeed(begun, undefined)
                  yield* sql`select pg_sleep(20)`
                })
              )
            )
            yield* Deferred.await(begun)
            yield* sleeping(own, "killed", 2)
            yield* own.stop(mode)
            assert.strictEqual(outcome(yield* Fiber.await(statement)), "unreachable", mode)
            assert.strictEqual(outcome(yield* Fiber.await(transaction)), "unreachable", mode)
            assert.strictEqual(outcome(yield* Effect.exit(sql`select 1`)), "unreachable", mode)
            const health = yield* Effect.flip(postgres.health)
            assert.strictEqual(health.reason, "unreachable")
            assert.include(health.message, `127.0.0.1:${own.port}`)
            assert.notInclude(Util.inspect(health, { depth: 9 }) + JSON.stringify(health), own.password)
            yield* own.start
            assert.deepStrictEqual(yield* sql`select id from kept`, [{ id: 1 }], mode)
            yield* postgres.health
            assert.deepInclude(yield* postgres.pool, { used: 0, waiting: 0 })
          }
        }),
      300_000
    )

    it.scopedLive(
      "has no connection to give: this is reported when a client is opened and later",
      () =>
        Effect.gen(function* () {
          const own = yield* TestServers.ownPostgres({
            durable: false,
            settings: { max_connections: "5", superuser_reserved_connections: "0", autovacuum_worker_slots: "1" }
          })
          const url = at(own)
          yield* Effect.scoped(
            Effect.gen(function* () {
              const { sql } = yield* client({ url, maxConnections: 10, minConnections: 5 })
              const all = Effect.forEach(
                Array.from({ length: 8 }, () => sql`select pg_sleep(0.05)`),
                (statement) => Effect.exit(statement),
                { concurrency: 8 }
              )
              const outcomes = new Set((yield* all).map(outcome))
              assert.deepStrictEqual(outcomes, new Set(["success", "busy"]))
              const error = yield* Effect.flip(Effect.scoped(client({ url })))
              assert.strictEqual(error._tag === "DatabaseError" && error.reason, "busy")
            })
          )
          yield* Effect.scoped(client({ url }))
        }),
      300_000
    )

    it.scopedLive("ends an idle transaction", () =>
      Effect.gen(function* () {
        const { postgres, sql } = yield* client(options("asleep", { idleInTransactionTimeout: "50 millis" }))
        const exit = yield* Effect.exit(
          sql.withTransaction(Effect.zipRight(sql`select 1`, Effect.zipRight(Effect.sleep(300), sql`select 2`)))
        )
        assert.include(["busy", "unreachable"], outcome(exit))
        assert.deepInclude(yield* postgres.pool, { size: 0, used: 0 })
        yield* postgres.health
      })
    )
  })

  describe("tls", () => {
    it.scopedLive(
      "is reached with its authority, rejected without, and cancels",
      () =>
        Effect.gen(function* () {
          const { certificate, key } = Certificate.make()
          const own = yield* TestServers.ownPostgres({
            durable: false,
            files: { "server.crt": certificate, "server.key": key },
            settings: { ssl: "on" }
          })
          const { sql } = yield* client({
            url: at(own),
            ssl: { ca: certificate },
            applicationName: "tls",
            maxConnections: 1
          })
          const ssl = sql`select ssl, pg_backend_pid() as pid from pg_stat_ssl where pid = pg_backend_pid()`
          const before = yield* ssl
          assert.strictEqual(before[0]?.ssl, true)
          const fiber = yield* Effect.fork(sql`select pg_sleep(20)`)
          yield* sleeping(own, "tls")
          yield* interrupt(fiber)
          assert.deepStrictEqual(yield* ssl, before)
          for (const more of [{ ssl: true }, { url: Redacted.make(`${own.url}?sslmode=verify-full`) }]) {
            const error = yield* Effect.flip(Effect.scoped(client({ url: at(own), ...more })))
            assert.deepStrictEqual(
              [error._tag === "DatabaseError" && error.reason, /certificate/.test(error.message)],
              ["refused", true]
            )
          }
        }),
      300_000
    )
  })
})
