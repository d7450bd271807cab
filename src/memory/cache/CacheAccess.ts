/**
 * Wraps a cache for the memory store on it.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Parallel from "../../internal/fiber/Parallel.js"
import type * as CacheBackend from "../../llm/CacheBackend.js"
import { StorageError } from "../entry/MemoryError.js"

/** Number of concurrent requests. */
const CONCURRENCY = 16

/** Milliseconds for which expired data can still be counted. */
const GRACE = 86_400_000

/**
 * @since 0.1.0
 * @category models
 */
export interface Access {
  readonly prefix: string
  readonly get: (key: string) => Effect.Effect<string | undefined, StorageError>
  readonly getMany: (keys: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string | undefined>, StorageError>
  /** Expires a day after everything in it has expired; never unless that time is given. */
  readonly set: (
    key: string,
    text: string,
    until?: { readonly latest: number; readonly now: number } | undefined
  ) => Effect.Effect<void, StorageError>
  readonly delete: (key: string) => Effect.Effect<void, StorageError>
  /** Deletes unreferenced keys. Keys that cannot be deleted are left to expire, with a warning. */
  readonly forget: (keys: ReadonlyArray<string>) => Effect.Effect<void>
  /** An id that no other process or call gets. */
  readonly unique: Effect.Effect<string>
  readonly warn: (message: string) => Effect.Effect<void>
}

const failure = (error: CacheBackend.CacheBackendError) =>
  new StorageError({ message: `The cache of the memory failed to ${error.operation} a value`, cause: error })

const unique = Effect.zipWith(
  Random.next,
  Random.next,
  (a, b) => Math.floor(a * 2 ** 52).toString(36) + Math.floor(b * 2 ** 52).toString(36)
)

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (cache: CacheBackend.Service, prefix: string): Access => {
  const get: Access["get"] = (key) =>
    Effect.mapBoth(cache.get(key), { onFailure: failure, onSuccess: Option.getOrUndefined })
  const warn: Access["warn"] = (message) =>
    Effect.logWarning(message).pipe(Effect.annotateLogs({ module: "CacheMemoryStore" }))
  return {
    prefix,
    get,
    getMany: (keys) => (keys.length === 0 ? Effect.succeed([]) : Parallel.forEach(keys, get, CONCURRENCY)),
    set: (key, text, until) =>
      Effect.mapError(
        until === undefined || until.latest === Number.POSITIVE_INFINITY
          ? cache.set(key, text)
          : cache.set(key, text, { ttl: Math.max(0, until.latest - until.now) + GRACE }),
        failure
      ),
    delete: (key) => Effect.mapError(cache.delete(key), failure),
    forget: (keys) =>
      keys.length === 0
        ? Effect.void
        : Parallel.forEach(keys, (key) => Effect.isFailure(cache.delete(key)), CONCURRENCY).pipe(
            Effect.flatMap((failed) => {
              const left = failed.filter((one) => one).length
              return left === 0 ? Effect.void : warn(`${left} keys of a memory could not be deleted from its cache`)
            })
          ),
    unique,
    warn
  }
}
