/**
 * Keeps memory small and true: doubles and what has faded go, aged groups become summaries, facts are read.
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
  /** Facts that were kept; 0 in a dry run, which reads none. */
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
 * The result of a run that looked at nothing.
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
 * What a strategy wants to be done with some of the entries it was shown. The next strategy does not see those that are
 * to go, and sees the summaries that are to come. What goes beyond that (an entry it was not shown, one that goes
 * twice, a summary of a single entry, of another owner or under the id of some other entry) is refused: a
 * `ConsolidationError`, and nothing of it is done.
 *
 * @since 0.1.0
 * @category models
 */
export interface Proposal {
  readonly prune?: ReadonlyArray<EntryId> | undefined
  /**
   * Summaries to be stored, each in the place of the entries it names: two at least. `MemorySummary.make` builds them.
   */
  readonly replace?: ReadonlyArray<{ readonly summary: MemoryEntry; readonly ids: ReadonlyArray<EntryId> }> | undefined
  /** Entries that stay, changed: each in the place of the one with its id. */
  readonly update?: ReadonlyArray<MemoryEntry> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Batch {
  readonly ownerId: string
  /** Oldest first, without what earlier strategies let go; all of them older than the age threshold. */
  readonly entries: ReadonlyArray<MemoryEntry>
  /** Milliseconds since the epoch. */
  readonly now: number
  /** What was said after this is too young to be touched, and not among the entries. */
  readonly agedBefore: number
  /** The configured number of entries for one summary. */
  readonly batchSize: number
  /** Nothing will be done: what costs can be left out, as long as the numbers are right. */
  readonly dryRun: boolean
}

/**
 * One way of consolidating. It changes nothing by itself; what it proposes is applied in one step with what the others
 * propose, and it is asked again until nobody has anything more to go.
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
   * Consolidates the memory of an owner, a second time at once changes nothing more (but see `Options.window`). Entries
   * younger than the age threshold stay as they are. What fails leaves the memory as it was, but for batches that were
   * done before.
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
 */
export const layerNoop: Layer.Layer<MemoryConsolidator> = Layer.succeed(MemoryConsolidator, noop)
