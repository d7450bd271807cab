/**
 * When memory was consolidated last, kept so that what was missed while nothing ran is made up for at once.
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
  /** Milliseconds since the epoch; nothing while it never was. */
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
 * Known as long as this process runs.
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
 * In the cache below, or by `CacheBackend.layerKeyValueStore` in a `KeyValueStore`: known as long as that keeps it.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerCache = (options?: {
  /** `memory:last-consolidation` unless set. */
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
