/**
 * Keeps discovered reasoning structures in a cache, by the kind of task.
 *
 * @private
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { CacheBackend, type CacheBackendError } from "../../llm/CacheBackend.js"
import type { Task } from "../definition/Strategy.js"
import * as ReasoningStructure from "./ReasoningStructure.js"

/**
 * How structures are kept in the provided `CacheBackend`.
 *
 * @since 0.1.0
 * @category models
 */
export interface CacheOptions {
  /**
   * The kind of a task. Tasks of the same kind share a structure. For `undefined` the structure is not kept.
   */
  readonly key: (task: Task) => string | undefined
  /** Default: no expiry. */
  readonly ttl?: Duration.DurationInput | undefined
}

const StoredStructure = Schema.parseJson(ReasoningStructure.Structure)
const decodeStored = Schema.decodeUnknownOption(StoredStructure)
const encodeStored = Schema.encodeSync(StoredStructure)

const cacheKey = (kind: string): string => `effect-lexigram/self-discovery/${kind}`

/** The structure kept for a task. A value that is not a structure is ignored and later overwritten. */
export const load = (
  cache: CacheOptions,
  task: Task
): Effect.Effect<ReasoningStructure.Structure | undefined, CacheBackendError, CacheBackend> =>
  Effect.gen(function* () {
    const kind = cache.key(task)
    if (kind === undefined) return undefined
    const backend = yield* CacheBackend
    const found = yield* backend.get(cacheKey(kind))
    return Option.getOrUndefined(Option.flatMap(found, decodeStored))
  })

export const keep = (
  cache: CacheOptions,
  task: Task,
  structure: ReasoningStructure.Structure
): Effect.Effect<void, CacheBackendError, CacheBackend> =>
  Effect.gen(function* () {
    const kind = cache.key(task)
    if (kind === undefined) return
    const backend = yield* CacheBackend
    yield* backend.set(cacheKey(kind), encodeStored(structure), { ttl: cache.ttl })
  })
