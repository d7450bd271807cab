/**
 * Migrates the tables of a database to the version of this code: forward only, each version once and atomically, even
 * if several processes begin at once. A released version never changes; later changes get a version of their own.
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
 * The versions before and after, which are equal if there was nothing to do. 0 is a database without tables.
 *
 * @since 0.1.0
 * @category models
 */
export interface Migrated {
  readonly from: number
  readonly to: number
}

/**
 * The version of this code.
 *
 * @since 0.1.0
 * @category constants
 */
export const version: number = MigrationRun.migrations.length

/**
 * Migrates the database of the `SqlClient`. If several processes do so, one migrates and the others wait. A database
 * newer than the code fails with a `MigrationError` and is not changed.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Migrations, PostgresClient } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 * import * as Redacted from "effect/Redacted"
 *
 * // A step of a deployment, by an account that may change tables.
 * const migrate = Migrations.run.pipe(
 *   Effect.tap(({ from, to }) => Effect.log(`from version ${from} to ${to}`)),
 *   Effect.provide(PostgresClient.layer({ url: Redacted.make("postgres://owner@localhost/agents") }))
 * )
 * ```
 */
export const run: Effect.Effect<Migrated, MigrationFailure, SqlClient.SqlClient> = Effect.flatMap(
  Database.open,
  MigrationRun.migrate
)

/**
 * Succeeds if the database has exactly the version of this code; changes nothing.
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
