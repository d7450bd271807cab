/**
 * Results of cacheable skills, kept for equal parameters.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { UserId } from "../../domain/Ids.js"
import { count } from "../../internal/Count.js"
import * as CacheBackend from "../../llm/CacheBackend.js"
import type { SkillDefinition } from "../definition/SkillDefinition.js"
import * as SkillResultBackend from "./SkillResultBackend.js"
import * as SkillResultKeys from "./SkillResultKeys.js"
import { SkillResultStore } from "./SkillResultStore.js"

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
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** How long a result is kept; default 1 hour. */
  readonly ttl?: Duration.DurationInput | undefined
  /**
   * Whose results these are, whatever the skills say; default `shared` for skills that say so, and `user` for others.
   */
  readonly scope?: Scope | undefined
  /** Stands before every key of the backend; default `skill`. */
  readonly namespace?: string | undefined
  /** A backend that takes longer counts as failed; default 2 s. */
  readonly backendTimeout?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = {
  ttl: Duration.hours(1),
  namespace: "skill",
  capacity: 1024,
  maxCharacters: 32_000_000,
  backendTimeout: Duration.seconds(2)
} as const

/**
 * Results in a backend. Every instance over the same backend and namespace sees the same results and the same
 * invalidations. All results of a skill are forgotten by giving it a new generation, which no older result belongs to:
 * no keys are listed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (backend: CacheBackend.Service, options?: Options | undefined): Service => {
  const namespace = options?.namespace ?? defaults.namespace
  return SkillResultBackend.make(backend, SkillResultKeys.make(namespace, options?.scope), {
    namespace,
    ttl: Duration.toMillis(options?.ttl ?? defaults.ttl),
    timeout: Duration.toMillis(options?.backendTimeout ?? defaults.backendTimeout)
  })
}

/**
 * @since 0.1.0
 * @category models
 */
export interface MemoryOptions extends Pick<Options, "ttl" | "scope"> {
  /** Results at most; default 1,024. */
  readonly capacity?: number | undefined
  /** Characters of all of them and their keys at most; default 32 million. */
  readonly maxCharacters?: number | undefined
}

/**
 * Results in this process. The one that was used least recently goes first when there is no more room.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeMemory = (options?: MemoryOptions | undefined): Effect.Effect<Service> =>
  Effect.sync(() => {
    const keys = SkillResultKeys.make("", options?.scope, { readable: 512 })
    const usual = Duration.toMillis(options?.ttl ?? defaults.ttl)
    const store = new SkillResultStore(
      count(options?.capacity, defaults.capacity, 0),
      count(options?.maxCharacters, defaults.maxCharacters, 0)
    )
    return {
      enabled: true,
      slot: keys.slot,
      get: (slot) => Effect.withFiberRuntime((fiber) => Effect.succeed(store.get(slot, millisOf(fiber)))),
      set: (slot, output, { since }, ttl) =>
        Effect.withFiberRuntime((fiber) => {
          if (since !== undefined && SkillResultKeys.isKeepable(output)) {
            const lasts = ttl === undefined ? usual : Duration.toMillis(ttl)
            store.set(slot, JSON.stringify(output), since, millisOf(fiber) + lasts)
          }
          return Effect.void
        }),
      invalidate: (skillName, params, userId) =>
        Effect.sync(() => {
          for (const entry of keys.entries(skillName, params, userId)) store.forget(entry, skillName)
        }),
      invalidateSkill: (skillName) => Effect.sync(() => store.forgetSkill(skillName)),
      clear: Effect.sync(() => store.clear())
    }
  })

const millisOf = (fiber: Fiber.RuntimeFiber<unknown, unknown>): number =>
  Context.get(fiber.currentDefaultServices, Clock.Clock).unsafeCurrentTimeMillis()

/**
 * Results in the `CacheBackend`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<SkillResultCache, never, CacheBackend.CacheBackend> =>
  Layer.effect(
    SkillResultCache,
    Effect.map(CacheBackend.CacheBackend, (backend) => make(backend, options))
  )

/**
 * Results in this process.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = (options?: MemoryOptions | undefined): Layer.Layer<SkillResultCache> =>
  Layer.effect(SkillResultCache, makeMemory(options))

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
