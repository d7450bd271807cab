/**
 * A SQLite file per test file, opened once and removed at its end: the counterpart of `PostgresServer.database`.
 *
 * Every build of `layer` empties the tables (except those whose name ends in `migrations`) and provides the one client
 * of the file; `kept` is the same client without emptying.
 */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { afterAll } from "vitest"
import * as SqliteClient from "../../src/persistence/sqlite/SqliteClient.js"

export type Services = SqliteClient.SqliteClient | SqlClient.SqlClient

export interface Database {
  readonly layer: Layer.Layer<Services, SqlError>
  readonly kept: Layer.Layer<Services>
  readonly empty: Effect.Effect<void, SqlError>
  readonly file: string
}

export interface Options extends Omit<SqliteClient.Options, "file"> {
  /** Creates the tables, once. */
  readonly setup?: Effect.Effect<unknown, unknown, Services> | undefined
}

export const database = async ({ setup, ...options }: Options = {}): Promise<Database> => {
  const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-sqlite-"))
  const file = Path.join(folder, "test.db")
  const scope = Effect.runSync(Scope.make())
  const context = await Effect.runPromise(Layer.buildWithScope(SqliteClient.layer({ ...options, file }), scope))
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    Fs.rmSync(folder, { recursive: true, force: true })
  })
  const run = <A, E>(effect: Effect.Effect<A, E, Services>) => Effect.runPromise(Effect.provide(effect, context))
  if (setup !== undefined) await run(setup)
  const kept = Layer.succeedContext(context)
  const empty = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const tables = yield* sql.unsafe<{ readonly name: string }>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '%migrations'
      AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'lex_memory_words%'`
    )
    yield* sql.withTransaction(
      Effect.forEach(tables, ({ name }) => sql.unsafe(`DELETE FROM "${name}"`), { discard: true })
    )
  }).pipe(Effect.provide(context))
  return { kept, layer: Layer.unwrapEffect(Effect.as(empty, kept)), empty, file }
}
