/**
 * Keeps the results of skills in memory, bounded in number, characters and time.
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
import { count } from "../../internal/Count.js"
import { type Found, type Scope, type Service, SkillResultCache, type Slot } from "./SkillResultCache.js"
import * as SkillResultKeys from "./SkillResultKeys.js"

interface Kept {
  readonly skillName: string
  readonly fingerprint: string
  /**
   * The output as JSON text, so that callers cannot change each other's value; `undefined`: invalidated at `moment`.
   */
  readonly text: string | undefined
  readonly moment: number
  readonly expiresAt: number
}

/** Moments count invalidations: a result requested before an invalidation is not stored after it. */
class SkillResultStore {
  private moment = 0
  private forgottenAll = 0
  /** Names come from programs that invalidate them, and are few. */
  private readonly forgottenOf = new Map<string, number>()
  // A Map keeps insertion order: a read inserts its entry again, so the first entry is the least recently used.
  private readonly entries = new Map<string, Kept>()
  private characters = 0

  constructor(
    private readonly capacity: number,
    private readonly maxCharacters: number
  ) {}

  get(slot: Slot, now: number): Found {
    const kept = this.entries.get(slot.entry)
    if (kept?.text === undefined || kept.fingerprint !== slot.fingerprint) return this.nothing()
    if (kept.expiresAt <= now) {
      this.remove(slot.entry)
      return this.nothing()
    }
    this.entries.delete(slot.entry)
    this.entries.set(slot.entry, kept)
    return { output: Option.some(JSON.parse(kept.text)), since: String(this.moment) }
  }

  set(slot: Slot, text: string, since: string, expiresAt: number): void {
    const moment = Number(since)
    const kept = this.entries.get(slot.entry)
    const forgotten = kept !== undefined && kept.text === undefined ? kept.moment : 0
    if (moment < Math.max(this.forgottenAll, this.forgottenOf.get(slot.skillName) ?? 0, forgotten)) return
    this.add(slot.entry, { skillName: slot.skillName, fingerprint: slot.fingerprint, text, moment, expiresAt })
  }

  forget(entry: string, skillName: string): void {
    this.moment++
    this.add(entry, {
      skillName,
      fingerprint: "",
      text: undefined,
      moment: this.moment,
      expiresAt: Number.POSITIVE_INFINITY
    })
  }

  forgetSkill(skillName: string): void {
    this.forgottenOf.set(skillName, ++this.moment)
    for (const [key, kept] of this.entries) if (kept.skillName === skillName) this.remove(key)
  }

  clear(): void {
    this.forgottenAll = ++this.moment
    this.forgottenOf.clear()
    this.entries.clear()
    this.characters = 0
  }

  private nothing(): Found {
    return { output: Option.none(), since: String(this.moment) }
  }

  private add(key: string, kept: Kept): void {
    this.remove(key)
    this.entries.set(key, kept)
    this.characters += key.length + (kept.text?.length ?? 0)
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= this.capacity && this.characters <= this.maxCharacters) break
      this.remove(oldest)
    }
  }

  private remove(key: string): void {
    const kept = this.entries.get(key)
    if (kept === undefined) return
    this.entries.delete(key)
    this.characters -= key.length + (kept.text?.length ?? 0)
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
  /** Maximum number of results; default 1,024. */
  readonly capacity?: number | undefined
  /** Maximum characters of all results and keys; default 32 million. */
  readonly maxCharacters?: number | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = {
  ttl: Duration.hours(1),
  capacity: 1024,
  maxCharacters: 32_000_000
} as const

/**
 * Keeps results in this process and evicts the least recently used one when full.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Effect.Effect<Service> =>
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
 * Keeps results in this process.
 *
 * @example
 * ```ts
 * import { DefaultSkillExecutor, SkillResultMemory } from "effect-lexigram/skill"
 * import * as Layer from "effect/Layer"
 *
 * // Requires SkillRegistry, PermissionChecker and ApprovalGate.
 * const executor = DefaultSkillExecutor.layer().pipe(
 *   Layer.provide(SkillResultMemory.layer({ ttl: "5 minutes", capacity: 200 }))
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<SkillResultCache> =>
  Layer.effect(SkillResultCache, make(options))
