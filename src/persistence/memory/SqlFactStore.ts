/**
 * A `FactStore` in SQLite or Postgres, whichever the `SqlClient` is. Several processes may assert facts of the same
 * owner at once.
 *
 * Full-text search ranks by BM25 with the same analyzer as the store in memory, so both return the same facts.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as DefaultFactStore from "../../memory/facts/DefaultFactStore.js"
import * as FactStore from "../../memory/facts/FactStore.js"
import * as TextAnalyzer from "../../memory/text/TextAnalyzer.js"
import type * as Database from "../engine/Database.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"
import * as SqlFactBackend from "./SqlFactBackend.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends DefaultFactStore.Options {
  /**
   * Turns facts and questions into terms. All stores of a database should use the same analyzer, because a store with
   * another one analyzes the facts of an owner again. Default: `TextAnalyzer.english`.
   */
  readonly analyzer?: TextAnalyzer.TextAnalyzer | undefined
}

const makeService = (database: Database.Database, options: Options | undefined): FactStore.Service =>
  DefaultFactStore.fromBackend(SqlFactBackend.make(database, options?.analyzer ?? TextAnalyzer.english), options)

/**
 * Fails if the database cannot be reached or lacks the tables.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<FactStore.Service, MigrationFailure, SqlClient.SqlClient> =>
  Effect.map(MigrationRun.open({ migrate: false }), (database) => makeService(database, options))

/**
 * Requires a database with the tables of this version.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<FactStore.FactStore, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(FactStore.FactStore, make(options))

/**
 * Like `layer`, but migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { FactStore } from "effect-lexigram/memory"
 * import { SqlFactStore, SqliteClient } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const facts = yield* FactStore.FactStore
 *   yield* facts.assert("ada", [{ subject: "Tom", predicate: "lives in", object: "Ghent" }])
 *   return yield* facts.search("ada", "Where does Tom live?")
 * }).pipe(
 *   Effect.provide(SqlFactStore.layerMigrated({ maxFactsPerEntity: 50 })),
 *   Effect.provide(SqliteClient.layer({ file: "agents.db" }))
 * )
 * ```
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<FactStore.FactStore, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(
    FactStore.FactStore,
    Effect.map(MigrationRun.open({ migrate: true }), (database) => makeService(database, options))
  )
