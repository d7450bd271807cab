/**
 * Stores when memory was last consolidated, so that a run missed while no process was running is made up for at once.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as CacheBackend from "../../llm/CacheBackend.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Milliseconds since the epoch. None if it never was. */
  readonly get: Effect.Effect<Option.Option<number>, CacheBackend.CacheBackendError>
  readonly set: (at: number) => Effect.Effect<void, CacheBackend.CacheBackendError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class LastConsolidation extends Context.Tag("effect-lexigram/memory/LastConsolidation")<
  LastConsolidation,
  Service
>() {}

/**
 * Remembers it for the life of this process.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory: Layer.Layer<LastConsolidation> = Layer.effect(
  LastConsolidation,
  Effect.sync((): Service => {
    let last = Option.none<number>()
    return {
      get: Effect.sync(() => last),
      set: (at) =>
        Effect.sync(() => {
          last = Option.some(at)
        })
    }
  })
)

const decode = (text: string): Option.Option<number> => {
  const at = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(at) ? Option.some(at) : Option.none()
}

/**
 * Stores it in the cache in context (or, with `CacheBackend.layerKeyValueStore`, in a `KeyValueStore`).
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { CacheBackend } from "effect-lexigram"
 * import { DefaultMemory, LastConsolidation } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * // A restart does not consolidate again before the interval is over, if the cache outlives the process.
 * const memory = DefaultMemory.layer({
 *   lastConsolidation: LastConsolidation.layerCache().pipe(Layer.provide(CacheBackend.layerMemory()))
 * })
 * ```
 */
export const layerCache = (options?: {
  /** Default `memory:last-consolidation`. */
  readonly key?: string | undefined
}): Layer.Layer<LastConsolidation, never, CacheBackend.CacheBackend> =>
  Layer.effect(
    LastConsolidation,
    Effect.map(CacheBackend.CacheBackend, (cache): Service => {
      const key = options?.key ?? "memory:last-consolidation"
      return {
        get: Effect.map(cache.get(key), Option.flatMap(decode)),
        set: (at) => cache.set(key, String(Math.floor(at)))
      }
    })
  )
