/**
 * Brings the tables of a database to the version that this code needs: forward only, each version once, all or nothing,
 * however many processes begin at once. A version that was released never changes; what comes later is a version of its
 * own.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Database from "../engine/Database.js"
import type { DatabaseError, MigrationError, PersistenceConfigurationError } from "../engine/PersistenceError.js"
import * as MigrationRun from "./MigrationRun.js"

/**
 * @since 0.1.0
 * @category models
 */
export type MigrationFailure = DatabaseError | MigrationError | PersistenceConfigurationError

/**
 * What was done: both are the same when there was nothing to do. 0 is a database without our tables.
 *
 * @since 0.1.0
 * @category models
 */
export interface Migrated {
  readonly from: number
  readonly to: number
}

/**
 * The version that this code needs.
 *
 * @since 0.1.0
 * @category constants
 */
export const version: number = MigrationRun.migrations.length

/**
 * Migrates the database of the `SqlClient`. Of several processes one does it, the others wait and find nothing to do. A
 * database that is newer than the code is a `MigrationError` and stays as it is.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run: Effect.Effect<Migrated, MigrationFailure, SqlClient.SqlClient> = Effect.flatMap(
  Database.open,
  MigrationRun.migrate
)

/**
 * Succeeds if the database has exactly the version that this code needs; changes nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const check: Effect.Effect<void, MigrationFailure, SqlClient.SqlClient> = Effect.flatMap(
  Database.open,
  MigrationRun.check
)

/**
 * Migrates when it is built.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<never, MigrationFailure, SqlClient.SqlClient> = Layer.effectDiscard(run)
