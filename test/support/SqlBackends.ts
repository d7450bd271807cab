/**
 * Databases for tests of SQL stores: SQLite in a file with each available driver, and the Postgres server of the run.
 * Each is opened and migrated once per test file, and emptied whenever `layer` is built.
 */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { afterAll, describe } from "@effect/vitest"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as PostgresClient from "../../src/persistence/postgres/PostgresClient.js"
import * as Migrations from "../../src/persistence/schema/Migrations.js"
import * as SqliteClient from "../../src/persistence/sqlite/SqliteClient.js"
import * as PostgresServer from "./PostgresServer.js"
import * as SqliteDrivers from "./SqliteDrivers.js"
import * as SqlTables from "./SqlTables.js"
import * as TestServers from "./TestServers.js"

export interface SqlBackend {
  readonly dialect: "sqlite" | "postgres"
  /** Empties all tables, then provides the client. */
  readonly layer: Layer.Layer<SqlClient.SqlClient>
  /** Provides the same client and keeps the tables as they are. */
  readonly kept: Layer.Layer<SqlClient.SqlClient>
  /** Another client of the same database, as in another process. */
  readonly other: Layer.Layer<SqlClient.SqlClient>
}

const sqlite = (driver: SqliteClient.Driver): SqlBackend => {
  let folder: string | undefined
  // Lazy: the cases of a missing driver never run.
  const client = Layer.suspend(() => {
    folder ??= Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-stores-")))
    return Layer.orDie(SqliteClient.layer({ file: Path.join(folder, "test.db"), driver }))
  })
  const scope = Effect.runSync(Scope.make())
  let opened: Promise<Context.Context<SqlClient.SqlClient>> | undefined
  const kept = Layer.effectContext(
    Effect.promise(() => {
      opened ??= Effect.runPromise(
        Layer.buildWithScope(Layer.provideMerge(Layer.orDie(Migrations.layer), client), scope)
      )
      return opened
    })
  )
  const empty = Effect.orDie(SqlTables.empty)
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    if (folder !== undefined) Fs.rmSync(folder, { recursive: true, force: true })
  })
  return { dialect: "sqlite", kept, layer: Layer.provideMerge(Layer.effectDiscard(empty), kept), other: client }
}

const postgres = (database: PostgresServer.Database): SqlBackend => ({
  dialect: "postgres",
  kept: database.kept,
  layer: Layer.orDie(database.layer),
  other: Layer.orDie(PostgresClient.layer({ url: Redacted.make(database.url), maxConnections: 4 }))
})

/** Another database with its own client, without tables. */
export const elsewhere: Layer.Layer<SqlClient.SqlClient> = Layer.orDie(SqliteClient.layer({ file: ":memory:" }))

/** Registers the cases for each database. */
export const suite = (name: string, cases: (backend: SqlBackend) => void): void => {
  SqliteDrivers.suite(name, (driver) => cases(sqlite(driver)))
  describe(name, async () => {
    const server = await PostgresServer.database({ setup: Migrations.run })
    TestServers.suite("postgres", server, (database) => cases(postgres(database)))
  })
}

export interface Seen {
  readonly sql: string
  readonly params: ReadonlyArray<unknown>
}

/** A client that runs an effect before each statement. */
export const preceded = (
  before: (statement: Seen) => Effect.Effect<unknown>
): Layer.Layer<SqlClient.SqlClient, never, SqlClient.SqlClient> =>
  Layer.effect(
    SqlClient.SqlClient,
    Effect.map(SqlClient.SqlClient, (client) => watching(client, before))
  )

/** A client that records statements. */
export const watched = (seen: Array<Seen>): Layer.Layer<SqlClient.SqlClient, never, SqlClient.SqlClient> =>
  preceded((statement) => Effect.sync(() => seen.push(statement)))

const methods: ReadonlySet<PropertyKey> = new Set(["execute", "first", "executeRaw"])

const watching = (
  client: SqlClient.SqlClient,
  before: (statement: Seen) => Effect.Effect<unknown>
): SqlClient.SqlClient => {
  const connections = new WeakMap<object, object>()
  const tell = <C extends object>(connection: C): C => {
    let watched = connections.get(connection)
    if (watched === undefined) {
      watched = new Proxy(connection, {
        get: (target, property) => {
          const value: unknown = Reflect.get(target, property)
          if (!methods.has(property) || typeof value !== "function") return value
          return (sql: string, params: ReadonlyArray<unknown>, ...rest: ReadonlyArray<unknown>) =>
            Effect.zipRight(
              Effect.suspend(() => before({ sql, params })),
              Effect.suspend(() => value.call(target, sql, params, ...rest))
            )
        }
      })
      connections.set(connection, watched)
    }
    return watched as C
  }
  return new Proxy(client, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property)
      if (property === "reserve") return Effect.map(target.reserve, tell)
      if (property === "connection" && typeof value === "object" && value !== null) return tell(value)
      return value
    }
  })
}

/**
 * Query plans of statements: on Postgres with high costs for reading whole tables and for sorting. Uses its own client:
 * `libsql` leaves an explained write statement open.
 */
export const plans = (
  backend: SqlBackend,
  statements: ReadonlyArray<Seen>
): Effect.Effect<ReadonlyArray<{ readonly sql: string; readonly plan: string }>, SqlError> => {
  const distinct = new Map(statements.map((statement) => [statement.sql.trim(), statement.params]))
  const about = [...distinct].filter(([sql]) => /^(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(sql))
  const explain = backend.dialect === "sqlite" ? "EXPLAIN QUERY PLAN" : "EXPLAIN"
  const dear =
    backend.dialect === "sqlite" ? [] : ["seqscan", "bitmapscan", "sort"].map((way) => `SET enable_${way} = off`)
  return Effect.flatMap(SqlClient.SqlClient, (client) =>
    Effect.flatMap(client.reserve, (connection) =>
      Effect.zipRight(
        Effect.forEach(dear, (sql) => connection.executeUnprepared(sql, [], undefined)),
        Effect.forEach(about, ([sql, params]) =>
          Effect.map(connection.executeUnprepared(`${explain} ${sql}`, params, undefined), (rows) => ({
            sql,
            plan: rows.map((row) => String(row["detail"] ?? row["QUERY PLAN"])).join("\n")
          }))
        )
      )
    )
  ).pipe(Effect.scoped, Effect.provide(backend.other))
}

const node = /^( *)(?:-> +)?(\w.*?) {2}\(cost=/

/** True if Postgres sorts rows of our tables; rows of a limit or a common table expression are few. */
const sortsRows = (plan: string): boolean => {
  const lines = plan.split("\n")
  return lines.some((line, index) => {
    const sort = node.exec(line)
    if (sort === null || !/^(?:Incremental )?Sort$/.test(sort[2]!)) return false
    let bounded = Number.POSITIVE_INFINITY
    for (const below of lines.slice(index + 1)) {
      const found = node.exec(below)
      if (found === null) continue
      const depth = found[1]!.length
      if (depth <= sort[1]!.length) return false
      if (depth <= bounded) bounded = found[2] === "Limit" ? depth : Number.POSITIVE_INFINITY
      if (bounded === Number.POSITIVE_INFINITY && /Scan .*on lex_/.test(found[2]!)) return true
    }
    return false
  })
}

/** True if a plan reads a whole table, or sorts rows that an index has in order. */
export const isSlow = (plan: string): boolean =>
  /^SCAN (?!old\b|json_each|\d+ CONSTANT|CONSTANT|\d+-ROW VALUES|\(subquery)/m.test(plan) ||
  /\bUSE TEMP B-TREE FOR (?:LAST TERM OF )?ORDER BY/.test(plan) ||
  /Seq Scan on lex_/.test(plan) ||
  sortsRows(plan)
