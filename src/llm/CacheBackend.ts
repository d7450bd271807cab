/**
 * A small key-value port with expiry, shared by everything that caches.
 *
 * @since 0.1.0
 */
import type * as KeyValueStore from "@effect/platform/KeyValueStore"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"
import * as OnDemand from "../internal/fiber/OnDemand.js"

/**
 * The backend was unreachable or rejected the operation.
 *
 * @since 0.1.0
 * @category errors
 */
export class CacheBackendError extends ErrorCode.TaggedError<CacheBackendError>(
  "effect-lexigram/llm/CacheBackend/CacheBackendError"
)("CacheBackendError", { ...ErrorCode.fields("LEX_ERR_LLM_111"), operation: Schema.Literal("get", "set", "delete") }) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The value, unless it was never set or has expired. */
  readonly get: (key: string) => Effect.Effect<Option.Option<string>, CacheBackendError>
  /** Sets or replaces a value; without `ttl` it stays until it is evicted or deleted. */
  readonly set: (
    key: string,
    value: string,
    options?: { readonly ttl?: Duration.DurationInput | undefined } | undefined
  ) => Effect.Effect<void, CacheBackendError>
  /** Deletes a value; a missing key is not a failure. */
  readonly delete: (key: string) => Effect.Effect<void, CacheBackendError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class CacheBackend extends Context.Tag("effect-lexigram/llm/CacheBackend")<CacheBackend, Service>() {}

const forever = Number.POSITIVE_INFINITY

const expiry = (now: number, ttl: Duration.DurationInput | undefined): number =>
  ttl === undefined ? forever : now + Duration.toMillis(ttl)

/**
 * @since 0.1.0
 * @category models
 */
export interface MemoryOptions {
  /** The maximum number of entries; default 1,024. */
  readonly capacity?: number | undefined
  /** The maximum number of characters of all keys and values; default 32 million. A larger value is not stored. */
  readonly maxCharacters?: number | undefined
}

/**
 * Caches in this process. A full store evicts the least recently used entry first.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeMemory = (options?: MemoryOptions | undefined): Effect.Effect<Service> =>
  Effect.sync(() => {
    const capacity = options?.capacity ?? 1024
    const maxCharacters = options?.maxCharacters ?? 32_000_000
    // A Map keeps the order of insertion: reading an entry inserts it again, so the first one is the oldest.
    const entries = new Map<string, { readonly value: string; readonly expiresAt: number }>()
    let characters = 0
    const remove = (key: string): void => {
      const entry = entries.get(key)
      if (entry === undefined) return
      entries.delete(key)
      characters -= key.length + entry.value.length
    }
    return {
      get: (key) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const entry = entries.get(key)
          if (entry === undefined) return Option.none()
          if (entry.expiresAt <= now) {
            remove(key)
            return Option.none()
          }
          entries.delete(key)
          entries.set(key, entry)
          return Option.some(entry.value)
        }),
      set: (key, value, setOptions) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          remove(key)
          entries.set(key, { value, expiresAt: expiry(now, setOptions?.ttl) })
          characters += key.length + value.length
          for (const oldest of entries.keys()) {
            if (entries.size <= capacity && characters <= maxCharacters) break
            remove(oldest)
          }
        }),
      delete: (key) => Effect.sync(() => remove(key))
    }
  })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { CacheBackend } from "effect-lexigram"
 * import { EmbedderCache, HashingEmbedder } from "effect-lexigram/llm"
 * import * as Layer from "effect/Layer"
 *
 * const embedder = EmbedderCache.layerBackend({ ttl: "7 days" }).pipe(
 *   Layer.provide([CacheBackend.layerMemory({ capacity: 10_000 }), HashingEmbedder.layer()])
 * )
 * ```
 */
export const layerMemory = (options?: MemoryOptions | undefined): Layer.Layer<CacheBackend> =>
  Layer.effect(CacheBackend, makeMemory(options))

const keyValueStores = OnDemand.make(() => import("@effect/platform/KeyValueStore"))
const keyValueStore = Effect.flatMap(keyValueStores, ({ KeyValueStore }) => KeyValueStore)

const encodeEntry = (value: string, expiresAt: number): string => `${expiresAt === forever ? "-" : expiresAt}\n${value}`

/** `undefined` for a value that this module did not write. */
const decodeEntry = (text: string): { readonly value: string; readonly expiresAt: number } | undefined => {
  const match = /^(-|\d{1,16}(?:\.\d{1,6})?)\n/.exec(text)
  if (match === null) return undefined
  return { value: text.slice(match[0].length), expiresAt: match[1] === "-" ? forever : Number(match[1]) }
}

/**
 * Caches in a `KeyValueStore` of `@effect/platform`. The value contains its time of expiry; a read deletes an expired
 * entry. A value that something else wrote under the same key reads as absent.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeKeyValueStore = (options?: {
  /** The prefix of every key; default `""`. */
  readonly prefix?: string | undefined
}): Effect.Effect<Service, never, KeyValueStore.KeyValueStore> =>
  Effect.map(keyValueStore, (store) => {
    const prefix = options?.prefix ?? ""
    const failure = (operation: CacheBackendError["operation"]) => (cause: unknown) =>
      new CacheBackendError({ message: `The key-value store failed to ${operation} an entry`, operation, cause })
    return {
      get: (key) =>
        Effect.gen(function* () {
          const text = yield* store.get(prefix + key)
          if (Option.isNone(text)) return Option.none<string>()
          const entry = decodeEntry(text.value)
          if (entry === undefined) return Option.none()
          if (entry.expiresAt > (yield* Clock.currentTimeMillis)) return Option.some(entry.value)
          yield* store.remove(prefix + key)
          return Option.none()
        }).pipe(Effect.mapError(failure("get"))),
      set: (key, value, setOptions) =>
        Clock.currentTimeMillis.pipe(
          Effect.flatMap((now) => store.set(prefix + key, encodeEntry(value, expiry(now, setOptions?.ttl)))),
          Effect.mapError(failure("set"))
        ),
      delete: (key) => Effect.mapError(store.remove(prefix + key), failure("delete"))
    }
  })

/**
 * @since 0.1.0
 * @category layers
 */
export const layerKeyValueStore = (options?: {
  readonly prefix?: string | undefined
}): Layer.Layer<CacheBackend, never, KeyValueStore.KeyValueStore> =>
  Layer.effect(CacheBackend, makeKeyValueStore(options))
