/**
 * Results of cacheable skills, kept for equal parameters.
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
 * Whose results these are: `user`, those of one user; `shared`, those of everybody.
 *
 * @since 0.1.0
 * @category models
 */
export type Scope = "user" | "shared"

/**
 * An execution whose result may be kept. `params` are the parameters in their JSON form.
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
 * Where the result of an execution is kept.
 *
 * @since 0.1.0
 * @category models
 */
export interface Slot {
  /**
   * Of name, scope, parameters and definition: equal for executions that have the same result. A SHA-256, so that no
   * parameter stands in the keys of a backend; what stays in this process is readable while it is short.
   */
  readonly key: string
  readonly scope: Scope
  /** The same for all definitions of the skill. */
  readonly entry: string
  readonly skillName: string
  /** Of the definition. */
  readonly fingerprint: string
}

/**
 * What a look-up found.
 *
 * @since 0.1.0
 * @category models
 */
export interface Found {
  readonly output: Option.Option<unknown>
  /**
   * When it was: what is set later is not found when there was an invalidation in between. Absent: nothing can be set.
   */
  readonly since: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** False: nothing is kept, and equal executions at the same time are not shared. */
  readonly enabled: boolean
  /**
   * Where the result of an execution is kept; `undefined` for parameters that are no JSON. Parameters are equal when
   * their values are: the order of keys does not matter, nor how a number was written (`1`, `1.0`, `1e0`; `-0` is `0`);
   * absent and `undefined` fields are the same; texts are compared as they are, so that `é` in its two Unicode forms
   * are two.
   */
  readonly slot: (call: Call) => Slot | undefined
  /** What is kept there. Failures of the backend are logged, counted, and as good as nothing. */
  readonly get: (slot: Slot) => Effect.Effect<Found>
  /**
   * Keeps an output until its time is up; one that is no JSON is not kept, nor one that was invalidated since `found`,
   * which is what a look-up before the execution gave. `ttl` wins over the cache's own.
   */
  readonly set: (
    slot: Slot,
    output: unknown,
    found: Found,
    ttl?: Duration.DurationInput | undefined
  ) => Effect.Effect<void>
  /**
   * Forgets the result of one skill for these parameters (in their JSON form): that for everybody, that for nobody in
   * particular and, with a user, that user's. Also that of an execution that is under way.
   */
  readonly invalidate: (skillName: string, params: unknown, userId?: UserId | undefined) => Effect.Effect<void>
  /** Forgets all results of one skill, also those of executions that are under way. */
  readonly invalidateSkill: (skillName: string) => Effect.Effect<void>
  /** Forgets everything, also the results of executions that are under way. */
  readonly clear: Effect.Effect<void>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SkillResultCache extends Context.Tag("effect-lexigram/skill/SkillResultCache")<
  SkillResultCache,
  Service
>() {}

/**
 * Nothing is kept, and nothing is shared.
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
 * Nothing is kept: every execution executes.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<SkillResultCache> = Layer.succeed(SkillResultCache, noop)
