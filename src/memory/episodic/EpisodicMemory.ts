/**
 * The episodic memory port: entries recalled by recency, importance and relevance.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { EntryId } from "../../domain/Ids.js"
import type { MemoryEntry, MemoryQuery, MemorySearchResult } from "../entry/MemoryEntry.js"
import { ConsolidationError, type MemoryStoreFailure, type RetrievalFailure } from "../entry/MemoryError.js"
import type { Selection } from "../entry/Selection.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Stores an entry. Replaces the owner's entry of the same id. */
  readonly record: (entry: MemoryEntry) => Effect.Effect<void, RetrievalFailure>
  /** Stores several entries. On failure none of an owner's entries is stored. */
  readonly recordMany: (entries: ReadonlyArray<MemoryEntry>) => Effect.Effect<void, RetrievalFailure>
  /**
   * Returns the best entries for a query. Fields that the query omits come from the configuration. Each relevant result
   * (above the background of 0.05) counts as accessed once more, unless `counted` is false: for callers that ask for
   * more than they use and count the rest with `recordAccess`.
   */
  readonly recall: (
    query: MemoryQuery,
    options?: { readonly counted?: boolean | undefined } | undefined
  ) => Effect.Effect<ReadonlyArray<MemorySearchResult>, RetrievalFailure>
  /**
   * Counts each entry as accessed once more, however often it is listed. Consolidation spares accessed entries. Ignores
   * ids that do not exist. Without ids the store is not called.
   */
  readonly recordAccess: (ownerId: string, ids: ReadonlyArray<EntryId>) => Effect.Effect<void, MemoryStoreFailure>
  /** The newest `n`, newest first. Does not count as an access. */
  readonly recent: (options: {
    readonly ownerId: string
    readonly n: number
    readonly selection?: Selection | undefined
  }) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
  /** Returns whether the entry existed. */
  readonly forget: (ownerId: string, id: EntryId) => Effect.Effect<boolean, MemoryStoreFailure>
  /**
   * Replaces these entries of the owner by one summary, in one step, and returns it. Its metadata has `type: "summary"`
   * and the replaced ids (`compressedIds`). Ignores ids that do not exist. Fails with a `ConsolidationError` if none
   * exists, or if the entries belong to different sessions (or some to none) and `acrossSessions` is not set: their
   * summary belongs to no session, so that branches see what they did not see before.
   */
  readonly compress: (options: {
    readonly ownerId: string
    readonly ids: ReadonlyArray<EntryId>
    /** Maximum tokens of the summary. Default 200. */
    readonly maxTokens?: number | undefined
    readonly acrossSessions?: boolean | undefined
  }) => Effect.Effect<MemoryEntry, RetrievalFailure | ConsolidationError>
  /** Succeeds if the underlying store answers. */
  readonly health: Effect.Effect<void, RetrievalFailure>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class EpisodicMemory extends Context.Tag("effect-lexigram/memory/EpisodicMemory")<EpisodicMemory, Service>() {}

/**
 * Remembers nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const noop: Service = {
  record: () => Effect.void,
  recordMany: () => Effect.void,
  recall: () => Effect.succeed([]),
  recordAccess: () => Effect.void,
  recent: () => Effect.succeed([]),
  forget: () => Effect.succeed(false),
  compress: () => new ConsolidationError({ message: "There are no entries to summarize" }),
  health: Effect.void
}

/**
 * Remembers nothing.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { TokenCounter } from "effect-lexigram"
 * import { DefaultWorkingMemory, EpisodicMemory, ProceduralMemory, SemanticMemory } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * // Working memory that only knows facts.
 * const facts = (semantic: Layer.Layer<SemanticMemory.SemanticMemory>) =>
 *   DefaultWorkingMemory.layer({
 *     episodicFraction: 0,
 *     recentTurnsFraction: 0,
 *     semanticFraction: 1,
 *     toolDescriptionsFraction: 0
 *   }).pipe(
 *     Layer.provide([semantic, EpisodicMemory.layerNoop, ProceduralMemory.layerNoop]),
 *     Layer.provide(TokenCounter.layerApproximate())
 *   )
 * ```
 */
export const layerNoop: Layer.Layer<EpisodicMemory> = Layer.succeed(EpisodicMemory, noop)
