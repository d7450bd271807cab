/**
 * Keeps the results of skills in a `CacheBackend`, which several processes may share.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as IdGenerator from "../../domain/IdGenerator.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as CacheBackend from "../../llm/CacheBackend.js"
import * as SkillMetrics from "../definition/SkillMetrics.js"
import { type Found, type Scope, type Service, SkillResultCache, type Slot } from "./SkillResultCache.js"
import * as SkillResultKeys from "./SkillResultKeys.js"

/** The value of a key: an output, or a mark that it was invalidated. */
interface Entry {
  /** Fingerprint of the definition. */
  readonly f: string
  /** The generation at look-up, or the id of an invalidation. */
  readonly s: string
  /** Output; absent when it was invalidated. */
  readonly o?: unknown
  /** Milliseconds since the epoch, for backends that expire late; `null`: never. */
  readonly e: number | null
}

/** `undefined` for values that this module did not write. */
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

/** Ids of generations: a result belongs to the generation in which it was requested and to no other. */
class Generations {
  /** Invalidations that the backend rejected, repeated before the next read. */
  private readonly owed = new Set<string>()

  constructor(private readonly backend: CacheBackend.Service) {}

  /**
   * A missing generation is replaced by a new one: an older one may have been evicted and must not return.
   */
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
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** How long a result is kept; default 1 hour. */
  readonly ttl?: Duration.DurationInput | undefined
  /** Overrides the scope that skills declare. Default: `shared` for skills that say so, `user` for others. */
  readonly scope?: Scope | undefined
  /** Prefix of every key in the backend; default `skill`. */
  readonly namespace?: string | undefined
  /** A call to the backend that takes longer fails; default 2 s. */
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

/**
 * Keeps results in a backend. All instances over the same backend and namespace share results and invalidations. The
 * results of a skill are invalidated by a new generation, to which no older result belongs: keys are never listed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (backend: CacheBackend.Service, options?: Options | undefined): Service => {
  const namespace = options?.namespace ?? defaults.namespace
  const keys = SkillResultKeys.make(namespace, options?.scope)
  const usual = Duration.toMillis(options?.ttl ?? defaults.ttl)
  const whole = Duration.toMillis(options?.backendTimeout ?? defaults.backendTimeout)
  const generations = new Generations(backend)
  const all = `${namespace}:all`

  /** A failure of the backend does not fail the skill: it counts as a miss. */
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
      Effect.flatMap(generations.current(keys.generation(slot.skillName)), (own) =>
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
          // A result written after an invalidation belongs to the generation and the invalidation.
          const fits = entry.f === slot.fingerprint && (entry.s === since || entry.s.startsWith(`${since} `))
          return Effect.map(Clock.currentTimeMillis, (now) => ({
            output: fits && (entry.e === null || entry.e > now) ? Option.some(entry.o) : Option.none(),
            since: fits ? entry.s : since
          }))
        })
      )
    )

  /** A result that was invalidated during its execution is not stored. */
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
    slot: keys.slot,
    get: (slot) => safely("get", () => lookUp(slot), "The result of a skill could not be read from the cache", nothing),
    set: (slot, output, { since }, ttl) =>
      Effect.suspend(() => {
        if (since === undefined || !SkillResultKeys.isKeepable(output)) return Effect.void
        return safely(
          "set",
          () => store(slot, output, since, ttl === undefined ? usual : Duration.toMillis(ttl)),
          "The result of a skill could not be written to the cache",
          undefined
        )
      }),
    invalidate: (skillName, params, userId) =>
      Effect.suspend(() => {
        const entries = keys.entries(skillName, params, userId)
        let isDone = false
        return Effect.ensuring(
          safely(
            "delete",
            () =>
              Effect.map(Effect.forEach(entries, forget, { discard: true }), () => {
                isDone = true
              }),
            "The result of a skill could not be forgotten: all of its results will be",
            undefined
          ),
          Effect.sync(() => {
            if (!isDone) generations.owe(keys.generation(skillName))
          })
        )
      }),
    invalidateSkill: (skillName) =>
      safely(
        "delete",
        () => Effect.asVoid(generations.renew(keys.generation(skillName))),
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

/**
 * Keeps results in the `CacheBackend`.
 *
 * @example
 * ```ts
 * import { RedisCacheBackend } from "effect-lexigram/persistence"
 * import { SkillResultBackend } from "effect-lexigram/skill"
 * import * as Layer from "effect/Layer"
 *
 * // Requires the client of Redis.
 * const results = SkillResultBackend.layer({ ttl: "10 minutes", namespace: "desk" }).pipe(
 *   Layer.provide(RedisCacheBackend.layer())
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<SkillResultCache, never, CacheBackend.CacheBackend> =>
  Layer.effect(
    SkillResultCache,
    Effect.map(CacheBackend.CacheBackend, (backend) => make(backend, options))
  )

/** An invalidation is kept for at least as long as an execution in progress may take. */
const least = Duration.toMillis(Duration.hours(1))

const isInterruption = (cause: Cause.Cause<unknown>): cause is Cause.Cause<never> => Cause.isInterruptedOnly(cause)
