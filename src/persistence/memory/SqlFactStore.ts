/**
 * Facts in a database: SQLite or Postgres, whichever the `SqlClient` is of. Several processes may assert facts of the
 * same owner at once.
 *
 * A search by words ranks by BM25 as the store in memory does, with the same analyzer, so that both find the same.
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
   * How facts and questions become terms. `TextAnalyzer.english` unless set. All stores of a database should have the
   * same: the facts of an owner are analysed anew when one of another name comes to them.
   */
  readonly analyzer?: TextAnalyzer.TextAnalyzer | undefined
}

const overDatabase = (database: Database.Database, options: Options | undefined): FactStore.Service =>
  DefaultFactStore.fromBackend(SqlFactBackend.make(database, options?.analyzer ?? TextAnalyzer.english), options)

/**
 * Fails if the database cannot be reached or has not our tables.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<FactStore.Service, MigrationFailure, SqlClient.SqlClient> =>
  Effect.map(MigrationRun.open({ migrate: false }), (database) => overDatabase(database, options))

/**
 * Over a database that has our tables.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<FactStore.FactStore, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(FactStore.FactStore, make(options))

/**
 * As `layer`, and makes the tables first.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<FactStore.FactStore, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(
    FactStore.FactStore,
    Effect.map(MigrationRun.open({ migrate: true }), (database) => overDatabase(database, options))
  )
