/** Databases of the benchmark with their tables, accessed by the library's client or by the bare driver. */
import { randomUUID } from "node:crypto"
import * as Fs from "node:fs/promises"
import * as Os from "node:os"
import * as Path from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import Libsql from "libsql"
import Pg from "pg"
import * as PostgresClient from "../src/persistence/postgres/PostgresClient.js"
import * as Migrations from "../src/persistence/schema/Migrations.js"
import * as SqliteClient from "../src/persistence/sqlite/SqliteClient.js"
import type { Prepared } from "./Statements.js"
import { readRows } from "./Statements.js"

/** A bare driver. */
export interface Driver {
  /** Runs the statements of several operations in order. */
  readonly run: (operations: ReadonlyArray<ReadonlyArray<Prepared>>) => unknown
  readonly close: () => unknown
}

export interface Opened {
  readonly client: SqlClient.SqlClient
  readonly run: <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) => Promise<A>
  readonly driver: (options: { readonly durable: boolean }) => Promise<Driver>
  readonly close: () => Promise<void>
}

export interface Place {
  readonly name: "SQLite" | "Postgres"
  /** An empty database with its tables. */
  readonly open: (options?: { readonly extensions?: ReadonlyArray<string> }) => Promise<Opened>
}

const opened = async <E>(
  layer: Layer.Layer<SqlClient.SqlClient, E>,
  driver: Opened["driver"],
  remove: (client: SqlClient.SqlClient) => Effect.Effect<unknown, unknown> | Promise<unknown>
): Promise<Opened> => {
  const scope = Effect.runSync(Scope.make())
  const context = await Effect.runPromise(
    Layer.buildWithScope(Layer.provideMerge(Migrations.layer, layer), scope) as Effect.Effect<
      Context.Context<SqlClient.SqlClient>,
      E
    >
  )
  const client = Context.get(context, SqlClient.SqlClient)
  return {
    client,
    run: (effect) => Effect.runPromise(Effect.provideService(effect, SqlClient.SqlClient, client)),
    driver,
    close: async () => {
      const removed = remove(client)
      if (Effect.isEffect(removed)) await Effect.runPromise(removed as Effect.Effect<unknown>)
      await Effect.runPromise(Scope.close(scope, Exit.void))
      if (!Effect.isEffect(removed)) await removed
    }
  }
}

const sqliteDriver = (file: string, durable: boolean): Driver => {
  const database = new Libsql(file)
  database.exec("PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON")
  database.exec(`PRAGMA synchronous = ${durable ? "FULL" : "NORMAL"}`)
  const statements = new Map<string, Libsql.Statement>()
  return {
    run: (operations) => {
      for (const operation of operations) {
        for (const { params, sql } of operation) {
          let statement = statements.get(sql)
          if (statement === undefined) {
            statement = database.prepare(sql)
            statements.set(sql, statement)
          }
          if (statement.reader) readRows(statement.all(params()) as Array<Record<string, unknown>>)
          else statement.run(params())
        }
      }
    },
    close: () => database.close()
  }
}

/** Files in their own folder, opened by `libsql` with default options. */
export const sqlite: Place = {
  name: "SQLite",
  open: async (options) => {
    const folder = await Fs.mkdtemp(Path.join(Os.tmpdir(), "lexigram-bench-"))
    const file = Path.join(folder, "bench.db")
    return opened(
      SqliteClient.layer({ file, driver: "libsql", extensions: options?.extensions }),
      async ({ durable }) => sqliteDriver(file, durable),
      () => Effect.promise(() => Fs.rm(folder, { recursive: true, force: true }))
    )
  }
}

const postgresDriver = (url: string): Driver => {
  const pool = new Pg.Pool({ connectionString: url })
  return {
    run: async (operations) => {
      for (const operation of operations) {
        const [only] = operation
        if (operation.length === 1 && only !== undefined) {
          readRows((await pool.query({ text: only.sql, values: only.params() })).rows)
          continue
        }
        const client = await pool.connect()
        for (const { params, sql } of operation) {
          readRows((await client.query({ text: sql, values: params() })).rows)
        }
        client.release()
      }
    },
    close: () => pool.end()
  }
}

/** Schemas that are dropped on close. */
export const postgres = (server: string): Place => ({
  name: "Postgres",
  open: async () => {
    const schema = `bench_${randomUUID().replaceAll("-", "")}`
    const url = new URL(server)
    url.searchParams.set("options", `-c search_path=${schema},public`)
    return opened(
      PostgresClient.layer({ url: Redacted.make(server), schema }),
      async () => postgresDriver(url.href),
      (client) => client.unsafe(`DROP SCHEMA ${schema} CASCADE`)
    )
  }
})
