/**
 * What happened: entries with a time, recalled by how recent, how important and how relevant they are.
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
  /** Remembers an entry; one whose id the owner has already is replaced. */
  readonly record: (entry: MemoryEntry) => Effect.Effect<void, RetrievalFailure>
  /** The same for several; on failure none of an owner is remembered. */
  readonly recordMany: (entries: ReadonlyArray<MemoryEntry>) => Effect.Effect<void, RetrievalFailure>
  /**
   * The best entries for a query; what the query leaves out comes from the configuration. Each result that is relevant
   * (above 0.05, the background) counts as accessed once more, unless `counted` is false: so does who asks for more
   * than is used, and counts what was used with `recordAccess`.
   */
  readonly recall: (
    query: MemoryQuery,
    options?: { readonly counted?: boolean | undefined } | undefined
  ) => Effect.Effect<ReadonlyArray<MemorySearchResult>, RetrievalFailure>
  /**
   * Counts each of these as accessed once more, however often it is named. Consolidation spares what is accessed. Ids
   * that do not exist are passed over; no ids: the store is not asked.
   */
  readonly recordAccess: (ownerId: string, ids: ReadonlyArray<EntryId>) => Effect.Effect<void, MemoryStoreFailure>
  /** The newest `n`, newest first. Does not count as access. */
  readonly recent: (options: {
    readonly ownerId: string
    readonly n: number
    readonly selection?: Selection | undefined
  }) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
  /** Whether there was one. */
  readonly forget: (ownerId: string, id: EntryId) => Effect.Effect<boolean, MemoryStoreFailure>
  /**
   * Puts one summary in the place of these entries of the owner, in one step, and gives it. Its metadata says `type:
   * "summary"` and names what it replaces (`compressedIds`). Ids that do not exist are passed over; none of them there:
   * a `ConsolidationError`. So are entries of more than one session, or of a session and of none, unless
   * `acrossSessions` is set: their summary belongs to no session, and branches see what they did not see before.
   */
  readonly compress: (options: {
    readonly ownerId: string
    readonly ids: ReadonlyArray<EntryId>
    /** Of the summary, at most; 200 unless set. */
    readonly maxTokens?: number | undefined
    readonly acrossSessions?: boolean | undefined
  }) => Effect.Effect<MemoryEntry, RetrievalFailure | ConsolidationError>
  /** Succeeds if the store below answers. */
  readonly health: Effect.Effect<void, RetrievalFailure>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class EpisodicMemory extends Context.Tag("effect-lexigram/memory/EpisodicMemory")<EpisodicMemory, Service>() {}

/**
 * Nothing is remembered; there is nothing to be summarised.
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
  compress: () => new ConsolidationError({ message: "Nothing is remembered that could be summarised" }),
  health: Effect.void
}

/**
 * Nothing is remembered.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<EpisodicMemory> = Layer.succeed(EpisodicMemory, noop)
