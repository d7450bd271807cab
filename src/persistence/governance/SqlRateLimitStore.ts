/**
 * Rates in a database: SQLite or Postgres, whichever the `SqlClient` is of. All processes that work on the same
 * database share their limits, and together never pass one.
 *
 * A take is one transaction, which has its key locked. Windows of up to a minute are exact to the millisecond, longer
 * ones have 3,600 slots, as in memory. Time is that of the process that takes (Effect's `Clock`): where the clocks of
 * two differ, what was taken counts from the later one, so that a limit holds, and is given back as much later.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RateLimitStore from "../../governance/store/RateLimitStore.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"
import * as SqlRates from "./SqlRates.js"

/**
 * Fails if the database cannot be reached or has not our tables.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<RateLimitStore.Service, MigrationFailure, SqlClient.SqlClient> = Effect.map(
  MigrationRun.open({ migrate: false }),
  SqlRates.make
)

/**
 * Over a database that has our tables.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<RateLimitStore.RateLimitStore, MigrationFailure, SqlClient.SqlClient> = Layer.effect(
  RateLimitStore.RateLimitStore,
  make
)

/**
 * As `layer`, and makes the tables first.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMigrated: Layer.Layer<RateLimitStore.RateLimitStore, MigrationFailure, SqlClient.SqlClient> =
  Layer.effect(RateLimitStore.RateLimitStore, Effect.map(MigrationRun.open({ migrate: true }), SqlRates.make))
