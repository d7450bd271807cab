/**
 * The memory consolidator port: removes duplicate and faded entries, summarizes aged ones and extracts facts.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { EntryId } from "../../domain/Ids.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { MemoryError } from "../entry/MemoryError.js"

/**
 * Counts of what was done, or with `dryRun` of what would have been done.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ConsolidationResult = Schema.Struct({
  /** Entries examined. */
  entriesProcessed: Schema.NonNegativeInt,
  /** Entries replaced by summaries. */
  entriesConsolidated: Schema.NonNegativeInt,
  /** Entries removed without a summary. */
  entriesPruned: Schema.NonNegativeInt,
  /** Facts stored; 0 in a dry run, which extracts none. */
  entitiesExtracted: Schema.NonNegativeInt,
  /** Summaries stored. */
  summariesStored: Schema.NonNegativeInt,
  durationMs: Schema.NonNegative,
  dryRun: Schema.Boolean
}).annotations({ identifier: "effect-lexigram/memory/MemoryConsolidator/ConsolidationResult" })
/**
 * @since 0.1.0
 * @category models
 */
export interface ConsolidationResult extends Schema.Schema.Type<typeof ConsolidationResult> {}

/**
 * The result of a run that examined nothing.
 *
 * @since 0.1.0
 * @category constants
 */
export const emptyResult: ConsolidationResult = {
  entriesProcessed: 0,
  entriesConsolidated: 0,
  entriesPruned: 0,
  entitiesExtracted: 0,
  summariesStored: 0,
  durationMs: 0,
  dryRun: false
}

/**
 * The changes that a strategy proposes for entries of its batch. The next strategy does not see entries that are to be
 * removed, and sees proposed summaries. An invalid proposal (an entry that is not in the batch or is named twice, a
 * summary of a single entry, of another owner or with the id of another entry) is a `ConsolidationError`, and none of
 * it is applied.
 *
 * @since 0.1.0
 * @category models
 */
export interface Proposal {
  readonly prune?: ReadonlyArray<EntryId> | undefined
  /** Summaries, each in place of the entries it lists: at least two. `MemorySummary.make` builds them. */
  readonly replace?: ReadonlyArray<{ readonly summary: MemoryEntry; readonly ids: ReadonlyArray<EntryId> }> | undefined
  /** Changed entries, each in place of the one with its id. */
  readonly update?: ReadonlyArray<MemoryEntry> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Batch {
  readonly ownerId: string
  /** Oldest first, without entries that earlier strategies remove. All are older than the age threshold. */
  readonly entries: ReadonlyArray<MemoryEntry>
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Later entries are too young to be changed, and are not in the batch. */
  readonly agedBefore: number
  /** The configured number of entries per summary. */
  readonly batchSize: number
  /** Nothing will be applied: expensive work can be skipped if the numbers stay right. */
  readonly dryRun: boolean
}

/**
 * A consolidation strategy. It changes nothing itself: its proposals are applied in one step with those of the other
 * strategies, and it is called again until no strategy removes anything more.
 *
 * @since 0.1.0
 * @category models
 */
export interface ConsolidationStrategy<out R = never> {
  readonly name: string
  readonly propose: (batch: Batch) => Effect.Effect<Proposal, MemoryError, R>
}

/**
 * The entries that a strategy removes: without a summary, or in place of one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Removal {
  readonly strategy: string
  readonly pruned: ReadonlyArray<MemoryEntry>
  readonly replaced: ReadonlyArray<MemoryEntry>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Consolidates the memory of an owner. An immediate second run changes nothing more (but see `Options.window`).
   * Entries younger than the age threshold do not change. A failure leaves the memory as it was, except for batches
   * that were already applied.
   */
  readonly consolidate: (options: {
    readonly ownerId: string
    /** Only counts what would be done. Default false. */
    readonly dryRun?: boolean | undefined
    /** Is told what was removed, or in a dry run what would be. Summaries of the same run are not part of it. */
    readonly onRemoval?: ((removal: Removal) => Effect.Effect<void>) | undefined
  }) => Effect.Effect<ConsolidationResult, MemoryError>
  /** Succeeds if the underlying stores answer. */
  readonly health: Effect.Effect<void, MemoryError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class MemoryConsolidator extends Context.Tag("effect-lexigram/memory/MemoryConsolidator")<
  MemoryConsolidator,
  Service
>() {}

/**
 * Changes nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const noop: Service = {
  consolidate: ({ dryRun = false }) => Effect.succeed({ ...emptyResult, dryRun }),
  health: Effect.void
}

/**
 * Changes nothing.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { MemoryConsolidator } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const tidy = Effect.gen(function* () {
 *   const consolidator = yield* MemoryConsolidator.MemoryConsolidator
 *   const { entriesPruned } = yield* consolidator.consolidate({ ownerId: "ada" })
 *   return entriesPruned
 * })
 *
 * // In tests of the program nothing is removed.
 * const test = tidy.pipe(Effect.provide(MemoryConsolidator.layerNoop))
 * ```
 */
export const layerNoop: Layer.Layer<MemoryConsolidator> = Layer.succeed(MemoryConsolidator, noop)
