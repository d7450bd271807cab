/**
 * Keeps memory small and true: doubles and what has faded go, aged groups become summaries, facts are read.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { EntryId } from "../domain/Ids.js"
import type { MemoryEntry } from "./MemoryEntry.js"
import type { MemoryError } from "./MemoryError.js"

/**
 * Counts of what really happened, or with `dryRun` of what would have.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ConsolidationResult = Schema.Struct({
  /** Looked at. */
  entriesProcessed: Schema.NonNegativeInt,
  /** Replaced by summaries. */
  entriesConsolidated: Schema.NonNegativeInt,
  /** Removed without a summary. */
  entriesPruned: Schema.NonNegativeInt,
  /** Facts that were kept. */
  entitiesExtracted: Schema.NonNegativeInt,
  /** Summaries that were stored. */
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
 * What a strategy wants to be done with some of the entries it was shown. The next strategy does not see those that are to go.
 *
 * @since 0.1.0
 * @category models
 */
export interface Proposal {
  readonly prune?: ReadonlyArray<EntryId> | undefined
  /** Summaries to be stored, each in the place of the entries it names. */
  readonly replace?: ReadonlyArray<{ readonly summary: MemoryEntry; readonly ids: ReadonlyArray<EntryId> }> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Batch {
  readonly ownerId: string
  /** Oldest first, without what earlier strategies let go. */
  readonly entries: ReadonlyArray<MemoryEntry>
  /** Milliseconds since the epoch. */
  readonly now: number
}

/**
 * One way of consolidating. It changes nothing by itself; what it proposes is applied in one step with what the others propose.
 *
 * @since 0.1.0
 * @category models
 */
export interface ConsolidationStrategy<out R = never> {
  readonly name: string
  readonly propose: (batch: Batch) => Effect.Effect<Proposal, MemoryError, R>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Consolidates the memory of an owner, a second time at once changes nothing more. Entries younger than the age threshold stay as they
   * are. What fails leaves the memory as it was, but for batches that were done before.
   */
  readonly consolidate: (options: {
    readonly ownerId: string
    /** Counts what would be done and does nothing. Default false. */
    readonly dryRun?: boolean | undefined
  }) => Effect.Effect<ConsolidationResult, MemoryError>
  /** Succeeds if what lies below answers. */
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
