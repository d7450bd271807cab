/**
 * A `CacheBackend` in Redis, shared by many processes.
 *
 * An entry is a text of its expiry by Effect's `Clock` and its value, so it lives exactly as long as its TTL. Redis
 * removes it a minute later. Without a TTL it stays until it is deleted or evicted: give a Redis that is only a cache
 * `maxmemory` and `maxmemory-policy allkeys-lru`, and one that also keeps sessions or memory `volatile-lru`, so that
 * only expiring keys are evicted.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Service } from "../../llm/CacheBackend.js"
import { CacheBackend, CacheBackendError } from "../../llm/CacheBackend.js"
import * as KeyText from "../engine/KeyText.js"
import type { DatabaseError } from "../engine/PersistenceError.js"
import { RedisClient } from "./RedisClient.js"
import * as RedisText from "./RedisText.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Prefix of every key. Caches with the same prefix are one cache. Default: `lexigram-cache:`. */
  readonly prefix?: string | undefined
}

/** The clocks of machines differ, and Redis expires keys by its own. */
const MARGIN_MS = 60_000

/** Longer TTLs never expire, because Redis rejects such times. */
const MAX_TTL_MS = 1e14

const prefixOf = (options: Options | undefined): string => KeyText.encode(options?.prefix ?? "lexigram-cache:")

const encode = (value: string, expiresAt: number): string =>
  `${Number.isFinite(expiresAt) ? expiresAt : "-"}${RedisText.isWellFormed(value) ? `\n${value}` : `!\n${KeyText.encode(value)}`}`

/** `undefined` for a text that this module did not write. */
const decode = (text: string): { readonly value: string; readonly expiresAt: number } | undefined => {
  const head = /^(?:-|(-?\d{1,16}(?:\.\d{1,20})?))(!?)\n/.exec(text)
  if (head === null) return undefined
  const rest = text.slice(head[0].length)
  return {
    value: head[2] === "!" ? KeyText.decode(rest) : rest,
    expiresAt: head[1] === undefined ? Number.POSITIVE_INFINITY : Number(head[1])
  }
}

const failing =
  (operation: CacheBackendError["operation"]) =>
  (cause: DatabaseError): CacheBackendError =>
    new CacheBackendError({ message: `The cache in Redis did not ${operation} an entry`, operation, cause })

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Effect.Effect<Service, never, RedisClient> =>
  Effect.map(RedisClient, ({ command }): Service => {
    const prefix = prefixOf(options)
    return {
      get: (key) =>
        Effect.flatMap(Effect.mapError(command("get", prefix + KeyText.encode(key)), failing("get")), (text) => {
          const entry = typeof text === "string" ? decode(text) : undefined
          if (entry === undefined) return Effect.succeedNone
          return Effect.map(Clock.currentTimeMillis, (now) =>
            entry.expiresAt > now ? Option.some(entry.value) : Option.none()
          )
        }),
      set: (key, value, { ttl } = {}) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const millis = ttl === undefined ? Number.POSITIVE_INFINITY : Duration.toMillis(ttl)
          const name = prefix + KeyText.encode(key)
          return Effect.mapError(
            millis > MAX_TTL_MS
              ? command("set", name, encode(value, Number.POSITIVE_INFINITY))
              : command("set", name, encode(value, now + millis), "PX", Math.ceil(millis) + MARGIN_MS),
            failing("set")
          )
        }),
      delete: (key) => Effect.mapError(command("unlink", prefix + KeyText.encode(key)), failing("delete"))
    }
  })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { LlmCache } from "effect-lexigram"
 * import { OfflineModel } from "effect-lexigram/offline"
 * import { RedisCacheBackend, RedisClient } from "effect-lexigram/persistence"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * const cache = RedisCacheBackend.layer({ prefix: "answers:" }).pipe(
 *   Layer.provide(RedisClient.layer({ url: Redacted.make("redis://localhost:6379") }))
 * )
 *
 * // Equal calls of all processes are answered once.
 * const model = LlmCache.layer({ ttl: "1 hour" }).pipe(Layer.provide([OfflineModel.layer(), cache]))
 * ```
 */
export const layer = (options?: Options | undefined): Layer.Layer<CacheBackend, never, RedisClient> =>
  Layer.effect(CacheBackend, make(options))

/**
 * Deletes all entries of a cache and succeeds with their number. Concurrent writes may remain. The server scans all of
 * its keys: use it for maintenance only.
 *
 * @since 0.1.0
 * @category combinators
 */
export const clear = (options?: Options | undefined): Effect.Effect<number, DatabaseError, RedisClient> =>
  Effect.gen(function* () {
    const { command, isCluster, scan } = yield* RedisClient
    let deleted = 0
    const unlink = (...keys: ReadonlyArray<string>) =>
      Effect.map(command("unlink", ...keys), (count) => {
        deleted += Number(count)
      })
    yield* scan(prefixOf(options), (keys) =>
      isCluster ? Effect.forEach(keys, (key) => unlink(key), { discard: true }) : unlink(...keys)
    )
    return deleted
  })
