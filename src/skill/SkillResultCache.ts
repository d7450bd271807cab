/**
 * Results of cacheable skills, kept for equal parameters.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as IdGenerator from "../domain/IdGenerator.js"
import type { UserId } from "../domain/Ids.js"
import * as CanonicalJson from "../internal/CanonicalJson.js"
import * as Deadline from "../internal/Deadline.js"
import * as CacheBackend from "../llm/CacheBackend.js"
import type { SkillDefinition } from "./SkillDefinition.js"
import * as SkillMetrics from "./SkillMetrics.js"

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
  /** SHA-256 of name, scope, parameters and definition: equal for executions that have the same result. */
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
  /** When it was: what is set later is not found when there was an invalidation in between. Absent: nothing can be set. */
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
   * Where the result of an execution is kept; `undefined` for parameters that are no JSON. Parameters are equal when their values are: the
   * order of keys does not matter, nor how a number was written (`1`, `1.0`, `1e0`; `-0` is `0`); absent and `undefined` fields are the
   * same; texts are compared as they are, so that `é` in its two Unicode forms are two.
   */
  readonly slot: (call: Call) => Slot | undefined
  /** What is kept there. Failures of the backend are logged, counted, and as good as nothing. */
  readonly get: (slot: Slot) => Effect.Effect<Found>
  /**
   * Keeps an output until its time is up; one that is no JSON is not kept, nor one that was invalidated since `found`, which is what a look-up
   * before the execution gave. `ttl` wins over the cache's own.
   */
  readonly set: (
    slot: Slot,
    output: unknown,
    found: Found,
    ttl?: Duration.DurationInput | undefined
  ) => Effect.Effect<void>
  /**
   * Forgets the result of one skill for these parameters (in their JSON form): that for everybody, that for nobody in particular and, with a
   * user, that user's. Also that of an execution that is under way.
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
  /** Whose results these are; default `user` for skills that need permissions, and `shared` for others. */
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
  backendTimeout: Duration.seconds(2)
} as const

/** Whether it comes back from JSON as it was. Throws a `RangeError` on data that is cyclic or too deep for the stack. */
const isJson = (value: unknown): boolean => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true
    case "number":
      return Number.isFinite(value)
    case "object":
      break
    default:
      return false
  }
  if (value === null) return true
  if (Array.isArray(value)) return value.every(isJson)
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.values(value).every((field) => field === undefined || isJson(field))
}

/** Tells definitions apart whose results are not each other's. Definitions live as long as their skills. */
const fingerprints = new WeakMap<SkillDefinition, string>()

const fingerprintOf = (definition: SkillDefinition): string => {
  let fingerprint = fingerprints.get(definition)
  if (fingerprint === undefined) {
    fingerprint = CanonicalJson.hash([definition.parametersSchema, definition.returnsSchema]).slice(0, 32)
    fingerprints.set(definition, fingerprint)
  }
  return fingerprint
}

/** What is under a key: an output, or that there is none any more. */
interface Entry {
  /** Fingerprint of the definition. */
  readonly f: string
  /** When it was looked up, or a name of the invalidation. */
  readonly s: string
  /** Output; absent when it was invalidated. */
  readonly o?: unknown
  /** Milliseconds since the epoch, for backends that are late to forget; `null`: never. */
  readonly e: number | null
}

/** `undefined` for what this module did not write. */
const parse = (text: string): Entry | undefined => {
  try {
    const entry: unknown = JSON.parse(text)
    if (typeof entry !== "object" || entry === null || !("s" in entry) || !("e" in entry)) return undefined
    return typeof entry.s === "string" && (typeof entry.e === "number" || entry.e === null)
      ? (entry as Entry)
      : undefined
  } catch {
    return undefined
  }
}

const nothing: Found = { output: Option.none(), since: undefined }

const warn = (message: string, cause?: Cause.Cause<unknown> | undefined): Effect.Effect<void> =>
  Effect.suspend(() => {
    SkillMetrics.cacheFailed()
    return Effect.annotateLogs(Effect.logWarning(message, ...(cause === undefined ? [] : [cause])), {
      module: "SkillResultCache"
    })
  })

type Operation = CacheBackend.CacheBackendError["operation"]
type Backed<A> = Effect.Effect<A, CacheBackend.CacheBackendError>

/** A name for each state of what was invalidated: results belong to the one in which they were asked for, and to no other. */
class Generations {
  /** Invalidations that the backend refused: made up for before anything is read again. */
  private readonly owed = new Set<string>()

  constructor(private readonly backend: CacheBackend.Service) {}

  /** One that is not there, or not any more, is made anew: an older one may have been evicted, and must not come back. */
  current(key: string): Backed<string> {
    if (this.owed.size > 0 && this.owed.has(key)) return this.renew(key)
    return Effect.flatMap(this.backend.get(key), (found) =>
      Option.isSome(found) ? Effect.succeed(found.value) : this.renew(key)
    )
  }

  renew(key: string): Backed<string> {
    return Effect.flatMap(IdGenerator.generate, (id) => {
      this.owed.add(key)
      return Effect.map(this.backend.set(key, id), () => {
        this.owed.delete(key)
        return id
      })
    })
  }

  owe(key: string): void {
    this.owed.add(key)
  }
}

/**
 * Results in a backend. Every instance over the same backend and namespace sees the same results and the same invalidations. All results of
 * a skill are forgotten by giving it a new generation, which no older result belongs to: no keys are listed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (backend: CacheBackend.Service, options?: Options | undefined): Service => {
  const namespace = options?.namespace ?? defaults.namespace
  const usual = Duration.toMillis(options?.ttl ?? defaults.ttl)
  const whole = Duration.toMillis(options?.backendTimeout ?? defaults.backendTimeout)
  const generations = new Generations(backend)
  const all = `${namespace}:all`
  const generationKey = (skillName: string): string => `${namespace}:of:${CanonicalJson.hash(skillName)}`
  const hashOf = (skillName: string, user: string | null | undefined, params: unknown): string =>
    CanonicalJson.hash(user === undefined ? [skillName, params] : [skillName, params, user])
  const entryKey = (hash: string): string => `${namespace}:${hash}`

  /** What a backend does wrong is no failure of the skill: it is as good as absent. */
  const safely = <A>(operation: Operation, effect: () => Backed<A>, message: string, otherwise: A): Effect.Effect<A> =>
    Effect.catchAllCause(
      Deadline.run(effect, {
        whole,
        onTimeout: (_, limit) =>
          new CacheBackend.CacheBackendError({ message: `The cache did not answer within ${limit} ms`, operation })
      }),
      (cause) => (isInterruption(cause) ? Effect.failCause(cause) : Effect.as(warn(message, cause), otherwise))
    )

  const write = (key: string, entry: Omit<Entry, "e">, ttl: number): Backed<void> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      backend.set(key, JSON.stringify({ ...entry, e: Number.isFinite(ttl) ? now + ttl : null }), {
        ...(Number.isFinite(ttl) ? { ttl } : {})
      })
    )

  const lookUp = (slot: Slot): Backed<Found> =>
    Effect.flatMap(generations.current(all), (every) =>
      Effect.flatMap(generations.current(generationKey(slot.skillName)), (own) =>
        Effect.flatMap(backend.get(slot.entry), (text) => {
          const since = `${every} ${own}`
          if (Option.isNone(text)) return Effect.succeed({ output: Option.none(), since })
          const entry = parse(text.value)
          if (entry === undefined) {
            return Effect.as(warn("A cached result of a skill cannot be read and is ignored"), {
              output: Option.none(),
              since
            })
          }
          if (!("o" in entry)) return Effect.succeed({ output: Option.none(), since: `${since} ${entry.s}` })
          // What was written after an invalidation belongs to the generation and to the invalidation.
          const fits = entry.f === slot.fingerprint && (entry.s === since || entry.s.startsWith(`${since} `))
          return Effect.map(Clock.currentTimeMillis, (now) => ({
            output: fits && (entry.e === null || entry.e > now) ? Option.some(entry.o) : Option.none(),
            since: fits ? entry.s : since
          }))
        })
      )
    )

  /** What was invalidated while the skill was executed is not kept. */
  const store = (slot: Slot, output: unknown, since: string, ttl: number): Backed<void> =>
    Effect.flatMap(backend.get(slot.entry), (text) => {
      const before = Option.isSome(text) ? parse(text.value) : undefined
      const isInvalidated = before !== undefined && !("o" in before) && !since.endsWith(` ${before.s}`)
      return isInvalidated ? Effect.void : write(slot.entry, { f: slot.fingerprint, s: since, o: output }, ttl)
    })

  const forget = (key: string): Backed<void> =>
    Effect.flatMap(IdGenerator.generate, (id) => write(key, { f: "", s: id }, Math.max(usual, least)))

  return {
    enabled: true,
    slot: ({ definition, params, userId }) => {
      const scope = options?.scope ?? (definition.permissions.length > 0 ? "user" : "shared")
      try {
        if (!isJson(params)) return undefined
        const hash = hashOf(definition.name, scope === "shared" ? undefined : (userId ?? null), params)
        const fingerprint = fingerprintOf(definition)
        return { key: `${hash}${fingerprint}`, scope, entry: entryKey(hash), skillName: definition.name, fingerprint }
      } catch {
        // Cyclic, or too deep: it has no key.
        return undefined
      }
    },
    get: (slot) => safely("get", () => lookUp(slot), "The result of a skill could not be read from the cache", nothing),
    set: (slot, output, { since }, ttl) =>
      Effect.suspend(() => {
        if (since === undefined || !isKeepable(output)) return Effect.void
        return safely(
          "set",
          () => store(slot, output, since, ttl === undefined ? usual : Duration.toMillis(ttl)),
          "The result of a skill could not be written to the cache",
          undefined
        )
      }),
    invalidate: (skillName, params, userId) =>
      Effect.suspend(() => {
        if (!isKeepable(params)) return Effect.void
        const users = userId === undefined ? [undefined, null] : [undefined, null, userId]
        const keys = users.map((user) => entryKey(hashOf(skillName, user, params)))
        let isDone = false
        return Effect.ensuring(
          safely(
            "delete",
            () =>
              Effect.map(Effect.forEach(keys, forget, { discard: true }), () => {
                isDone = true
              }),
            "The result of a skill could not be forgotten: all of its results will be",
            undefined
          ),
          Effect.sync(() => {
            if (!isDone) generations.owe(generationKey(skillName))
          })
        )
      }),
    invalidateSkill: (skillName) =>
      safely(
        "delete",
        () => Effect.asVoid(generations.renew(generationKey(skillName))),
        "The results of a skill could not be forgotten: they will be before they are read again",
        undefined
      ),
    clear: safely(
      "delete",
      () => Effect.asVoid(generations.renew(all)),
      "The results of skills could not be forgotten: they will be before they are read again",
      undefined
    )
  }
}

/** An invalidation is remembered for at least as long as an execution may take that was under way. */
const least = Duration.toMillis(Duration.hours(1))

const isInterruption = (cause: Cause.Cause<unknown>): cause is Cause.Cause<never> => Cause.isInterruptedOnly(cause)

const isKeepable = (output: unknown): boolean => {
  try {
    return isJson(output)
  } catch {
    return false
  }
}

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
 * Results in this process, those that were used least recently forgotten first: 1,024 entries and 32 million characters at most, unless
 * said otherwise.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = (
  options?: (Options & CacheBackend.MemoryOptions) | undefined
): Layer.Layer<SkillResultCache> => Layer.provide(layer(options), CacheBackend.layerMemory(options))

/**
 * Nothing is kept, and nothing is shared.
 *
 * @since 0.1.0
 * @category constructors
 */
export const noop: Service = {
  enabled: false,
  slot: () => undefined,
  get: () => Effect.succeed(nothing),
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
