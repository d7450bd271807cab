/**
 * A `RateLimitStore` in SQLite or Postgres, whichever the `SqlClient` is. All processes on one database share their
 * limits, which are never exceeded.
 *
 * A take is one transaction that locks its key. Windows of up to a minute are exact to the millisecond, longer ones
 * have 3,600 slots, like in memory. Time is that of the process that takes (Effect's `Clock`): if two clocks differ, an
 * amount counts from the later one, so the limit holds and the amount is returned later.
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
 * Fails if the database cannot be reached or lacks the tables.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<RateLimitStore.Service, MigrationFailure, SqlClient.SqlClient> = Effect.map(
  MigrationRun.open({ migrate: false }),
  SqlRates.make
)

/**
 * Requires a database with the tables of this version.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<RateLimitStore.RateLimitStore, MigrationFailure, SqlClient.SqlClient> = Layer.effect(
  RateLimitStore.RateLimitStore,
  make
)

/**
 * Like `layer`, but migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { DefaultGovernance } from "effect-lexigram/governance"
 * import { PostgresClient, SqlRateLimitStore } from "effect-lexigram/persistence"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * // 60 requests a minute for all processes on this database together.
 * const governance = DefaultGovernance.layerWith({
 *   config: { rpmLimit: 60 },
 *   rates: SqlRateLimitStore.layerMigrated.pipe(
 *     Layer.provide(PostgresClient.layer({ url: Redacted.make("postgres://localhost/agents") }))
 *   )
 * })
 * ```
 */
export const layerMigrated: Layer.Layer<RateLimitStore.RateLimitStore, MigrationFailure, SqlClient.SqlClient> =
  Layer.effect(RateLimitStore.RateLimitStore, Effect.map(MigrationRun.open({ migrate: true }), SqlRates.make))
