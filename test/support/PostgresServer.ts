/**
 * Databases in the Postgres server of the run: one schema per test file, opened once, dropped at the end of the file.
 *
 * ```ts
 * const database = await PostgresServer.database({ setup: Migrations.run })
 *
 * TestServers.suite("postgres", database, ({ layer }) => {
 *   SessionStoreSuite.suite("postgres", SqlSessionStore.layer.pipe(Layer.provide(layer)))
 * })
 * ```
 *
 * Every build of `layer` empties the tables of the schema (except those whose name ends in `migrations`) and provides
 * the one client of the file: tests that build it separately start with an empty store. `kept` is the same client
 * without emptying: a second view of the same tables.
 */

import { randomUUID } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { afterAll } from "vitest"
import * as PostgresClient from "../../src/persistence/postgres/PostgresClient.js"
import * as TestServers from "./TestServers.js"

export type Services = PostgresClient.Services

export interface Database {
  /** Empties all tables, then provides the client. */
  readonly layer: Layer.Layer<Services, SqlError>
  /** Provides the client and keeps the tables as they are. */
  readonly kept: Layer.Layer<Services>
  /** Empties all tables of the schema. */
  readonly empty: Effect.Effect<void, SqlError>
  readonly schema: string
  /** URL of the schema, for a separate client, pool or process of a test. */
  readonly url: string
  readonly address: TestServers.PostgresAddress
}

export interface Options {
  /** Creates the tables, once. */
  readonly setup?: Effect.Effect<unknown, unknown, Services> | undefined
  /** Default: 10; with pgvector 1. */
  readonly maxConnections?: number | undefined
}

const client = (url: string, maxConnections: number) =>
  PostgresClient.layer({ url: Redacted.make(url), maxConnections, applicationName: "lexigram-tests" })

/**
 * Deleting from twenty tables with a few rows takes 3 ms, truncating them 25 to 90. Only a superuser may bypass foreign
 * keys; for others the tables are truncated. Sequences of `bigserial` columns continue.
 */
const emptying = (schema: string): string => `do $$
declare
  tables text[];
  statement text;
begin
  select array_agg(format('%I.%I', schemaname, tablename)) into tables
  from pg_tables where schemaname = '${schema}' and tablename !~ 'migrations$';
  if tables is null then
    return;
  end if;
  begin
    set local session_replication_role = replica;
    select string_agg('delete from ' || t, ';') into statement from unnest(tables) t;
  exception when insufficient_privilege then
    statement := 'truncate ' || array_to_string(tables, ',') || ' cascade';
  end;
  execute statement;
end $$`

const open = async (
  address: TestServers.PostgresAddress,
  options: Options,
  maxConnections: number
): Promise<Database> => {
  const schema = `test_${randomUUID().replaceAll("-", "")}`
  const url = new URL(address.url)
  url.searchParams.set("options", `-c search_path=${schema},public`)
  const scope = Effect.runSync(Scope.make())
  const context: Context.Context<Services> = await Effect.runPromise(
    Layer.buildWithScope(client(url.href, maxConnections), scope)
  )
  const run = <A, E>(effect: Effect.Effect<A, E, Services>) => Effect.runPromise(Effect.provide(effect, context))
  const statement = (sql: string) => Effect.flatMap(SqlClient.SqlClient, (client) => client.unsafe(sql))
  afterAll(async () => {
    await run(statement(`drop schema if exists ${schema} cascade`)).finally(() =>
      Effect.runPromise(Scope.close(scope, Exit.void))
    )
  })
  await run(statement(`create schema ${schema}`))
  // PGlite ignores startup options of a connection; its one session keeps this setting.
  if (maxConnections === 1) await run(statement(`set search_path to ${schema}, public`))
  if (options.setup) await run(options.setup)
  const kept = Layer.succeedContext(context)
  const empty = Effect.provide(Effect.asVoid(statement(emptying(schema))), context)
  return {
    kept,
    layer: Layer.unwrapEffect(Effect.as(empty, kept)),
    empty,
    schema,
    url: url.href,
    address
  }
}

const opened = async (
  backend: TestServers.Backend<TestServers.PostgresAddress>,
  options: Options,
  maxConnections: number
): Promise<TestServers.Backend<Database>> =>
  backend._tag === "Missing"
    ? backend
    : { _tag: "Available", server: await open(backend.server, options, options.maxConnections ?? maxConnections) }

/**
 * A schema for this file in the Postgres server of the run. Call it at module level or in a `describe`, not in a test.
 */
export const database = async (options: Options = {}): Promise<TestServers.Backend<Database>> =>
  opened(await TestServers.postgres(), options, 10)

/** Like `database`, with the pgvector extension. */
export const vectorDatabase = async (options: Options = {}): Promise<TestServers.Backend<Database>> =>
  opened(
    await TestServers.pgvector(),
    {
      ...options,
      setup: Effect.zipRight(
        Effect.flatMap(SqlClient.SqlClient, (client) =>
          client.unsafe("create extension if not exists vector schema public")
        ),
        options.setup ?? Effect.void
      )
    },
    1
  )
