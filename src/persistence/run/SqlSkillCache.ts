/**
 * A `SkillResultCache` on a `SqlCacheBackend`, in one layer.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SkillResultBackend from "../../skill/execute/SkillResultBackend.js"
import * as SkillResultCache from "../../skill/execute/SkillResultCache.js"
import type { MigrationFailure } from "../schema/Migrations.js"
import * as SqlCacheBackend from "./SqlCacheBackend.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends SkillResultBackend.Options {
  /** The most results. The least recently used are deleted first. Default: 100,000. */
  readonly capacity?: number | undefined
}

/** A separate cache, so that other entries do not evict results. */
const name = "skills"

const within = (options: Options | undefined): SqlCacheBackend.Options => ({ name, capacity: options?.capacity })

/**
 * Requires a database with the tables of this version.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<SkillResultCache.Service, MigrationFailure, SqlClient.SqlClient> =>
  Effect.map(SqlCacheBackend.make(within(options)), (backend) => SkillResultBackend.make(backend, options))

/**
 * Fails with `MigrationError` (`absent`) if the database lacks the tables.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<SkillResultCache.SkillResultCache, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(SkillResultCache.SkillResultCache, make(options))

/**
 * Migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { SqliteClient, SqlSkillCache } from "effect-lexigram/persistence"
 * import { DefaultSkillExecutor } from "effect-lexigram/skill"
 * import * as Layer from "effect/Layer"
 *
 * // Results of cacheable skills are found again after a restart.
 * const executor = DefaultSkillExecutor.layer().pipe(
 *   Layer.provide(SqlSkillCache.layerMigrated({ capacity: 5_000 })),
 *   Layer.provide(SqliteClient.layer({ file: "agents.db" }))
 * )
 * ```
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<SkillResultCache.SkillResultCache, MigrationFailure, SqlClient.SqlClient> =>
  Layer.provide(SkillResultBackend.layer(options), SqlCacheBackend.layerMigrated(within(options)))
