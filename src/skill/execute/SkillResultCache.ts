/**
 * The cache port for results of cacheable skills.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { UserId } from "../../domain/Ids.js"
import type { SkillDefinition } from "../definition/SkillDefinition.js"

/**
 * Whose results these are: `user`, of one user; `shared`, of all users.
 *
 * @since 0.1.0
 * @category models
 */
export type Scope = "user" | "shared"

/**
 * An execution whose result may be cached. `params` are in JSON form.
 *
 * @since 0.1.0
 * @category models
 */
export interface Call {
  readonly definition: SkillDefinition
  readonly params: unknown
  readonly userId?: UserId | undefined
}

/**
 * The cache key of an execution.
 *
 * @since 0.1.0
 * @category models
 */
export interface Slot {
  /**
   * Identifies name, scope, parameters and definition: executions with the same key have the same result. A SHA-256, so
   * that parameters do not appear in the keys of a backend; short keys of a local cache stay readable.
   */
  readonly key: string
  readonly scope: Scope
  /** The same for all definitions of the skill. */
  readonly entry: string
  readonly skillName: string
  /** Fingerprint of the definition. */
  readonly fingerprint: string
}

/**
 * The outcome of a look-up.
 *
 * @since 0.1.0
 * @category models
 */
export interface Found {
  readonly output: Option.Option<unknown>
  /**
   * Time of the look-up: a result set after an invalidation since then is not found. Absent: nothing can be set.
   */
  readonly since: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** False: nothing is cached, and equal concurrent executions are not shared. */
  readonly enabled: boolean
  /**
   * The cache key of an execution; `undefined` if the parameters are not JSON. Parameters are compared by value: the
   * order of keys and the notation of numbers (`1`, `1.0`, `1e0`; `-0` is `0`) do not matter; absent and `undefined`
   * fields are equal; texts are compared exactly, so the two Unicode forms of `é` differ.
   */
  readonly slot: (call: Call) => Slot | undefined
  /** The cached result. Failures of the backend are logged, counted and treated as misses. */
  readonly get: (slot: Slot) => Effect.Effect<Found>
  /**
   * Stores an output until it expires. Not stored: an output that is not JSON, or one invalidated since `found`, the
   * look-up before the execution. `ttl` overrides that of the cache.
   */
  readonly set: (
    slot: Slot,
    output: unknown,
    found: Found,
    ttl?: Duration.DurationInput | undefined
  ) => Effect.Effect<void>
  /**
   * Invalidates the results of one skill for these parameters (in JSON form): the shared one, the one without a user
   * and, with a user, that user's. Includes executions in progress.
   */
  readonly invalidate: (skillName: string, params: unknown, userId?: UserId | undefined) => Effect.Effect<void>
  /** Invalidates all results of one skill, including executions in progress. */
  readonly invalidateSkill: (skillName: string) => Effect.Effect<void>
  /** Invalidates all results, including executions in progress. */
  readonly clear: Effect.Effect<void>
}

/**
 * @example
 * ```ts
 * import { SkillResultCache } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * // After prices have changed.
 * const forget = Effect.flatMap(SkillResultCache.SkillResultCache, (cache) => cache.invalidateSkill("price"))
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class SkillResultCache extends Context.Tag("effect-lexigram/skill/SkillResultCache")<
  SkillResultCache,
  Service
>() {}

/**
 * Caches nothing and shares nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const noop: Service = {
  enabled: false,
  slot: () => undefined,
  get: () => Effect.succeed({ output: Option.none(), since: undefined }),
  set: () => Effect.void,
  invalidate: () => Effect.void,
  invalidateSkill: () => Effect.void,
  clear: Effect.void
}

/**
 * Caches nothing: every execution executes.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<SkillResultCache> = Layer.succeed(SkillResultCache, noop)
