/** Databases that fail under the stores: every failure is the port's own, nothing is kept by half, and all goes on when the database does. */
import * as Fs from "node:fs"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as PostgresClient from "../../src/persistence/postgres/PostgresClient.js"
import * as Migrations from "../../src/persistence/schema/Migrations.js"
import * as SqliteClient from "../../src/persistence/sqlite/SqliteClient.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as SqlDatabases from "../support/SqlDatabases.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"
import * as Stores from "../support/StoreFaults.js"
import * as TcpProxy from "../support/servers/TcpProxy.js"
import * as TestServers from "../support/TestServers.js"

const timeout = 300_000

const open = (file: string, options: Partial<SqliteClient.Options> = {}) =>
  SqliteClient.layer({ file, driver: "libsql", busyTimeout: "2 seconds", ...options })

const migrated = (file: string) => Effect.provide(Migrations.run, open(file))

describe("a SQLite file", () => {
  it.scopedLive(
    "keeps whole writes only when it is full, and continues when there is room",
    () =>
      Effect.gen(function* () {
        const file = yield* SqliteDrivers.file
        yield* migrated(file)
        const pages = yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql`PRAGMA page_count`).pipe(
          Effect.map(([row]) => Number(row?.["page_count"])),
          Effect.provide(open(file))
        )
        const written = yield* Effect.gen(function* () {
          yield* Stores.begin
          yield* Stores.writeAll("first")
          let full = 0
          let rounds = 0
          const told = new Set<string>()
          for (; full < 20; rounds++) {
            for (const [tag, write] of Object.entries(Stores.writes)) {
              const exit = yield* Effect.exit(write(`${rounds}`) as Effect.Effect<unknown, any, any>)
              if (Exit.isSuccess(exit)) continue
              const error = Option.getOrThrow(Cause.failureOption(exit.cause))
              assert.strictEqual(error._tag, tag)
              assert.match(Stores.saysNothing(error).message, /^The database has no room/)
              told.add(tag)
              full++
            }
          }
          assert.includeMembers([...told], Object.keys(Stores.writes).slice(0, 2))
          assert.deepStrictEqual(yield* Stores.found("first"), Stores.everything)
          return yield* Effect.forEach(
            Array.from({ length: rounds }, (_, n) => `${n}`),
            (name) => Stores.found(name)
          )
        }).pipe(Effect.provide(Stores.over(open(file, { maxPages: pages + 40 }))))

        yield* Effect.gen(function* () {
          const again = yield* Effect.forEach(
            written.map((_, n) => `${n}`),
            (name) => Stores.found(name)
          )
          assert.deepStrictEqual(again, written)
          yield* Stores.writeAll("with room")
          assert.deepStrictEqual(yield* Stores.found("with room"), Stores.everything)
          const sql = yield* SqlClient.SqlClient
          assert.deepStrictEqual(yield* sql`PRAGMA integrity_check`, [{ integrity_check: "ok" }])
        }).pipe(Effect.provide(Stores.over(open(file))))
      }),
    timeout
  )

  it.scopedLive(
    "is read and takes no writes when opened for reading",
    () =>
      Effect.gen(function* () {
        const file = yield* SqliteDrivers.file
        yield* migrated(file)
        yield* Effect.provide(Effect.zipRight(Stores.begin, Stores.writeAll("a")), Stores.over(open(file)))
        yield* Effect.gen(function* () {
          yield* Stores.allFail("b", /^The database takes no writes/)
          assert.deepStrictEqual(yield* Stores.found("a"), Stores.everything)
          assert.deepStrictEqual(yield* Stores.found("b"), Stores.nothing)
          assert.deepStrictEqual(yield* Stores.balance, { reserved: 5, spent: 0 })
        }).pipe(Effect.provide(Stores.over(open(file, { readonly: true }))))
      }),
    timeout
  )

  it.scopedLive("fails on open when it is not a database", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      Fs.writeFileSync(file, `${Stores.secret}, which is no database`.repeat(500))
      const error = yield* Effect.flip(Layer.build(Stores.over(open(file))))
      assert.deepInclude(error, { _tag: "DatabaseError", reason: "data", backend: "sqlite" })
      Stores.saysNothing(error, [file])
    })
  )
})

SqlDatabases.suite("stores", ({ layer, second }) => {
  const fresh = Stores.over(Layer.orDie(layer))

  it.scopedLive(
    "fail with their own errors when tables are dropped",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Stores.begin
        const tables = ["lex_session_turns", "lex_memories", "lex_ledger_accounts", "lex_checkpoints", "lex_run_events"]
        // They come back for the other tests of the file.
        yield* Effect.acquireUseRelease(
          Effect.forEach(tables, (table) => sql.unsafe(`ALTER TABLE ${table} RENAME TO ${table}_gone`)),
          () => Stores.allFail("a", /^The database has not the tables that are needed/),
          () =>
            Effect.orDie(Effect.forEach(tables, (table) => sql.unsafe(`ALTER TABLE ${table}_gone RENAME TO ${table}`)))
        )
        assert.deepStrictEqual(yield* Stores.found("a"), Stores.nothing)
        yield* Stores.writeAll("a")
        assert.deepStrictEqual(yield* Stores.found("a"), Stores.everything)
        assert.deepStrictEqual(yield* Stores.balance, { reserved: 5, spent: 0 })
      }).pipe(Effect.provide(fresh)),
    timeout
  )

  it.scopedLive(
    "report an unreadable row without its content",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Stores.begin
        yield* Stores.writeAll("a")
        yield* Stores.saveWrites("a")
        const kept = yield* sql`SELECT body, metadata FROM lex_checkpoints`
        const tags = (...reads: ReadonlyArray<Effect.Effect<unknown, Stores.Shown, Stores.Services>>) =>
          Effect.forEach(reads, (read) =>
            Effect.match(read, {
              onSuccess: () => "read",
              onFailure: (error) => {
                assert.match(Stores.saysNothing(error).message, /cannot be read/)
                return error._tag
              }
            })
          )
        const update = (table: string, column: string, body: string) =>
          sql.unsafe(`UPDATE ${table} SET ${column} = '${body}'`)
        const half = `{"half": "${Stores.secret}`
        const others = [
          JSON.stringify({ other: [Stores.secret] }),
          JSON.stringify([Stores.secret]),
          JSON.stringify([{}, [[Stores.secret]]]),
          "null"
        ]
        for (const body of [half, ...others]) {
          for (const table of ["lex_checkpoint_writes", "lex_session_turns", "lex_memory_bodies", "lex_run_events"]) {
            yield* update(table, "body", body)
          }
          yield* update("lex_session_states", "body", body)
          assert.deepStrictEqual(
            yield* tags(
              Effect.flatMap(SessionManager.SessionManager, (sessions) => sessions.get(Stores.session)),
              Stores.readTurns,
              Stores.readEntries,
              Stores.readCheckpoint,
              Stores.readEvents
            ),
            [
              "SessionStorageError",
              "SessionStorageError",
              "StorageError",
              "CheckpointerError",
              // What a later version told is passed over.
              body === half ? "RunLogError" : "read"
            ]
          )
          for (const column of ["body", "metadata"]) {
            // Any object will do as metadata.
            if (column === "metadata" && body === others[0]) continue
            yield* update("lex_checkpoints", column, body)
            assert.deepStrictEqual(
              yield* tags(Stores.readCheckpoint, Stores.listCheckpoints(column === "body" ? undefined : { n: 1 })),
              ["CheckpointerError", "CheckpointerError"]
            )
            yield* update("lex_checkpoints", column, String(kept[0]?.[column]))
          }
        }
      }).pipe(Effect.provide(fresh)),
    timeout
  )

  it.scopedLive(
    "are not built on a database newer than the code",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const newer = Migrations.version + 1
        // Another client has not yet seen which version it is.
        const error = yield* Effect.acquireUseRelease(
          sql`INSERT INTO lex_migrations (version, name, applied_at) VALUES (${newer}, 'later', 0)`,
          () =>
            Effect.flatMap(second, (client) =>
              Effect.flip(Layer.build(Stores.over(Layer.succeed(SqlClient.SqlClient, client))))
            ),
          () => Effect.orDie(sql`DELETE FROM lex_migrations WHERE version = ${newer}`)
        )
        assert.deepInclude(error, { _tag: "MigrationError", reason: "newer", found: newer, needed: Migrations.version })
        Stores.saysNothing(error)
      }).pipe(Effect.provide(layer)),
    timeout
  )
})

const server = await PostgresServer.database({ setup: Migrations.run })
const empty = await PostgresServer.database()

const through = (url: string, way?: { readonly port: number }, options: PostgresClient.Options = {}) => {
  const at = new URL(url)
  if (way !== undefined) at.port = String(way.port)
  return PostgresClient.layer({
    url: Redacted.make(at.href),
    maxConnections: 4,
    connectTimeout: "2 seconds",
    queryTimeout: "3 seconds",
    ...options
  })
}

/** The client, which does something before each commit. */
const beforeCommits = (first: Effect.Effect<void>): Layer.Layer<SqlClient.SqlClient, never, SqlClient.SqlClient> => {
  const told = (connection: Connection): Connection =>
    new Proxy(connection, {
      get: (target, property) => {
        if (property === "executeRaw") {
          return (sql: string, params: ReadonlyArray<unknown>) =>
            Effect.zipRight(sql === "COMMIT" ? first : Effect.void, target.executeRaw(sql, params))
        }
        const value: unknown = Reflect.get(target, property)
        return typeof value === "function" ? value.bind(target) : value
      }
    })
  return Layer.effect(
    SqlClient.SqlClient,
    Effect.map(
      SqlClient.SqlClient,
      (client) =>
        new Proxy(client, {
          get: (target, property) =>
            property === "reserve" ? Effect.map(target.reserve, told) : Reflect.get(target, property)
        })
    )
  )
}

TestServers.suite("postgres", server, (database) => {
  const tables = empty._tag === "Available" ? empty.server : database

  it.scopedLive(
    "reports that the server rejects the caller, without credentials",
    () =>
      Effect.gen(function* () {
        const { host, port } = database.address
        const wrong = [
          `postgres://nobody-${process.pid}:opensesame@${host}:${port}/postgres`,
          database.url.replace(`/${database.address.database}`, "/no-such-database")
        ]
        for (const url of wrong) {
          const error = yield* Effect.flip(Layer.build(Stores.over(through(url))))
          assert.deepInclude(error, { _tag: "DatabaseError", reason: "refused", backend: "postgres" })
          assert.include(error.message, `${host}:${port}`)
          Stores.saysNothing(error, ["opensesame", `nobody-${process.pid}`, "no-such-database"])
        }
      }),
    timeout
  )

  it.scopedLive("reports missing tables before any query", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Layer.build(Stores.over(tables.kept)))
      assert.deepInclude(error, { _tag: "MigrationError", reason: "absent", found: 0, needed: Migrations.version })
      Stores.saysNothing(error)
    })
  )

  /** Stores by a way that can be cut, and beside it the same stores as they are. */
  const cut = <A, E>(
    body: (proxy: TcpProxy.TcpProxy) => Effect.Effect<A, E, Stores.Services>,
    then: Effect.Effect<unknown, unknown, Stores.Services>
  ) =>
    Effect.gen(function* () {
      yield* database.empty
      const proxy = yield* TcpProxy.make(database.address)
      yield* Effect.zipRight(Stores.begin, body(proxy)).pipe(Effect.provide(Stores.over(through(database.url, proxy))))
      yield* Effect.provide(then, Stores.over(database.kept))
    })

  const unreachable = /^The database cannot be reached/

  it.scopedLive(
    "fails a write cut off before it, stores nothing, and continues in the same layer",
    () =>
      cut(
        (proxy) =>
          Effect.gen(function* () {
            yield* Stores.writeAll("before")
            yield* Effect.zipRight(proxy.refuse, proxy.cut)
            yield* Stores.allFail("a", unreachable, [String(proxy.port), "127.0.0.1"])
            yield* proxy.accept
            assert.deepStrictEqual(yield* Stores.found("a"), Stores.nothing)
            yield* Stores.writeAll("a")
          }),
        Effect.gen(function* () {
          for (const name of ["before", "a"]) assert.deepStrictEqual(yield* Stores.found(name), Stores.everything)
          assert.deepStrictEqual(yield* Stores.balance, { reserved: 10, spent: 0 })
        })
      ),
    timeout
  )

  it.scopedLive(
    "keeps a commit whose answer is lost: the write fails, and a repetition has no effect",
    () =>
      Effect.gen(function* () {
        yield* database.empty
        const proxy = yield* TcpProxy.make(database.address)
        let isNext = false
        const losing = Effect.suspend(() => (isNext ? proxy.cutAnswers : Effect.void))
        const client = Layer.provide(beforeCommits(losing), through(database.url, proxy))
        const lost = (write: Effect.Effect<unknown, Stores.Shown, Stores.Services>, tag: string) =>
          Effect.gen(function* () {
            isNext = true
            const error = yield* Effect.flip(write)
            isNext = false
            yield* proxy.resume
            assert.strictEqual(error._tag, tag)
            assert.match(Stores.saysNothing(error, [String(proxy.port)]).message, unreachable)
          })
        const beside = Stores.over(database.kept)
        yield* Effect.gen(function* () {
          yield* Stores.begin
          for (const [tag, write] of Object.entries(Stores.writes)) yield* lost(write("a"), tag)
          yield* Effect.gen(function* () {
            assert.deepStrictEqual(yield* Stores.found("a"), Stores.everything)
            assert.deepStrictEqual(yield* Stores.balance, { reserved: 5, spent: 0 })
          }).pipe(Effect.provide(beside))
          yield* Stores.writeAll("a")
          assert.deepStrictEqual(yield* Stores.found("a"), Stores.everything)
          assert.deepStrictEqual(yield* Stores.balance, { reserved: 5, spent: 0 })
          yield* lost(Stores.settle("a"), "GovernancePersistenceError")
          assert.deepStrictEqual(yield* Stores.balance, { reserved: 0, spent: 5 })
          assert.isUndefined(yield* Stores.settle("a"))
          assert.deepStrictEqual(yield* Stores.balance, { reserved: 0, spent: 5 })
        }).pipe(Effect.provide(Stores.over(client)))
      }),
    timeout
  )

  it.scopedLive(
    "stores each write once when it is retried until success and connections are cut at any moment",
    () => {
      const written: Array<string> = []
      return cut(
        (proxy) =>
          Effect.gen(function* () {
            let failed = 0
            let isCutting = true
            // Less and less often, so that a machine that is busy gets through too.
            const cutting = Effect.gen(function* () {
              for (let cuts = 1; cuts <= 20 && failed < 6; cuts++) {
                yield* Effect.sleep(cuts * 10)
                yield* proxy.cut
              }
              isCutting = false
            })
            const until = <A, R>(effect: Effect.Effect<A, Stores.Shown, R>) =>
              effect.pipe(
                Effect.tapError((error) =>
                  Effect.sync(() => {
                    Stores.saysNothing(error)
                    failed++
                  })
                ),
                Effect.retry({ times: 200, schedule: Schedule.spaced("2 millis") })
              )
            const writer = (first: number) =>
              Effect.gen(function* () {
                for (let n = first; n < 12 || isCutting; n += 4) {
                  yield* until(Stores.addTurn(`${n}`))
                  yield* until(Stores.hold(`${n}`))
                  written.push(`${n}`)
                }
              })
            const writers = Effect.forEach([0, 1, 2, 3], writer, { concurrency: "unbounded" })
            yield* Effect.all([cutting, writers], { concurrency: "unbounded" })
            assert.isAbove(failed, 0)
          }),
        Effect.gen(function* () {
          for (const name of written) assert.strictEqual((yield* Stores.found(name)).turns, 1)
          const reserved = 5 * written.length
          assert.deepStrictEqual(yield* Stores.balance, { reserved, spent: 0 })
          yield* Stores.settle("7")
          assert.isUndefined(yield* Stores.settle("7"))
          assert.deepStrictEqual(yield* Stores.balance, { reserved: reserved - 5, spent: 5 })
        })
      )
    },
    timeout
  )

  it.scopedLive(
    "continues in the same layer after a kill in the middle of writes, without partial writes",
    () =>
      Effect.gen(function* () {
        const own = yield* TestServers.ownPostgres()
        yield* Effect.provide(Migrations.run, through(own.url))
        yield* Effect.gen(function* () {
          yield* Stores.begin
          const acknowledged = new Set<string>()
          const writer = (first: number) =>
            Effect.gen(function* () {
              for (let n = first; ; n += 4) {
                yield* Stores.writeAll(`${n}`)
                acknowledged.add(`${n}`)
              }
            })
          const writers = yield* Effect.forEach([0, 1, 2, 3], (first) => Effect.fork(writer(first)))
          yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => acknowledged.size >= 12 })
          yield* own.stop("kill")
          for (const fiber of writers) {
            const exit = yield* Fiber.await(fiber)
            const error: any = Exit.isFailure(exit) ? Option.getOrThrow(Cause.failureOption(exit.cause)) : undefined
            assert.include(Object.keys(Stores.writes), error._tag)
            assert.match(Stores.saysNothing(error, [String(own.port)]).message, unreachable)
          }
          yield* Stores.allFail("while it is away", unreachable, [String(own.port)])
          yield* own.start
          for (const name of acknowledged) assert.deepStrictEqual(yield* Stores.found(name), Stores.everything)
          // Those that were under way are whole or not there, of each store.
          for (let n = 0; n < acknowledged.size + 8; n++) yield* Stores.found(`${n}`)
          assert.deepStrictEqual(yield* Stores.found("while it is away"), Stores.nothing)
          const { reserved, spent } = yield* Stores.balance
          assert.isTrue(spent === 0 && reserved % 5 === 0 && reserved >= 5 * acknowledged.size)
          yield* Stores.writeAll("afterwards")
          assert.deepStrictEqual(yield* Stores.found("afterwards"), Stores.everything)
          assert.strictEqual((yield* Stores.balance).reserved, reserved + 5)
        }).pipe(Effect.provide(Stores.over(through(own.url))))
      }),
    timeout
  )
})
