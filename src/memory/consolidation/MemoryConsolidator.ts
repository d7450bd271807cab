/**
 * Keeps memory small and true: doubles and what has faded go, aged groups become summaries, facts are read.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { EntryId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import * as Captured from "../../internal/fiber/Captured.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { MemoryError } from "../entry/MemoryError.js"
import * as MemoryMetrics from "../entry/MemoryMetrics.js"
import * as MemoryNotices from "../entry/MemoryNotices.js"
import * as SemanticMemory from "../facts/SemanticMemory.js"
import * as MemoryStore from "../search/MemoryStore.js"
import * as ConsolidationRun from "./ConsolidationRun.js"
import * as ConsolidationStrategies from "./ConsolidationStrategies.js"

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
 * @since 0.1.0
 * @category models
 */
export interface Options<out R = never> {
  /** In this order; `ConsolidationStrategies.standard()` unless set. */
  readonly strategies?: ReadonlyArray<ConsolidationStrategy<R>> | undefined
  /** Entries that were said within it are not touched; 24 hours unless set. */
  readonly ageThreshold?: Duration.DurationInput | undefined
  /** Entries that one summary stands for, and that facts are read from at once; 100 unless set. */
  readonly batchSize?: number | undefined
  /**
   * Which entries facts are read from: all that are old enough (`aged`, marked in their metadata by `factsRead`, so
   * that it is done once), those that are about to go (`leaving`), or none. `aged` unless set.
   */
  readonly facts?: "aged" | "leaving" | "none" | undefined
  /**
   * Entries that strategies see together, and that are in memory at once, at most; 10,000 unless set, or fewer where
   * they have more than 8 million characters. Of an owner who has more, a run goes on until a whole pass changes
   * nothing, or until 16 passes have each taken away less than a sixteenth of what there is: the next run goes on from
   * there. A dry run counts one pass, and finds no doubles further apart.
   */
  readonly window?: number | undefined
}

/**
 * The mark of entries that facts were read from already.
 *
 * @since 0.1.0
 * @category constants
 */
export const FACTS_READ = ConsolidationRun.factsRead

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = <R = never>(
  options?: Options<R> | undefined
): Effect.Effect<Service, never, MemoryStore.MemoryStore | SemanticMemory.SemanticMemory | R> =>
  Effect.gen(function* () {
    const store = yield* MemoryStore.MemoryStore
    const semantic = yield* SemanticMemory.SemanticMemory
    const notices = yield* MemoryNotices.make
    const captured = yield* Captured.context<R>()
    const given: ReadonlyArray<ConsolidationStrategy<R>> = options?.strategies ?? ConsolidationStrategies.standard()
    const setup: ConsolidationRun.Setup = {
      store,
      semantic,
      notices,
      strategies: given.map((strategy) => ({
        ...strategy,
        propose: (batch) => Captured.provide(strategy.propose(batch), captured)
      })),
      ageThreshold: Duration.toMillis(options?.ageThreshold ?? "24 hours"),
      batchSize: Count.count(options?.batchSize, 100, 1),
      facts: options?.facts ?? "aged",
      window: Count.count(options?.window, 10_000, 2)
    }
    const { withLock } = KeyedLock.make()
    return {
      consolidate: ({ dryRun = false, ownerId }) =>
        ConsolidationRun.run(setup, ownerId, dryRun).pipe(
          withLock(ownerId),
          Effect.onExit((exit) =>
            Effect.sync(() =>
              MemoryMetrics.consolidated(
                Exit.isSuccess(exit) ? "success" : Cause.isInterruptedOnly(exit.cause) ? "interrupted" : "failed"
              )
            )
          ),
          MemoryNotices.observed("episodic", "consolidate")
        ),
      health: Effect.zipRight(store.health, semantic.health)
    }
  })

/**
 * Over the stores below. Runs of one owner never overlap in this process.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <R = never>(
  options?: Options<R> | undefined
): Layer.Layer<MemoryConsolidator, never, MemoryStore.MemoryStore | SemanticMemory.SemanticMemory | R> =>
  Layer.effect(MemoryConsolidator, make(options))

/**
 * Changes nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const noop: Service = {
  consolidate: ({ dryRun = false }) => Effect.succeed({ ...ConsolidationRun.nothing, dryRun }),
  health: Effect.void
}

/**
 * Changes nothing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<MemoryConsolidator> = Layer.succeed(MemoryConsolidator, noop)
