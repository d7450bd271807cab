/**
 * The port that selects the entries that fit a token budget.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { MemoryCapacityError } from "../entry/MemoryError.js"

/**
 * Scores how much entries are worth keeping.
 *
 * @since 0.1.0
 * @category models
 */
export interface Scorer<out E = never, out R = never> {
  readonly name: string
  /** A number for each entry, in their order; higher is better. NaN is the lowest. */
  readonly score: (entries: ReadonlyArray<MemoryEntry>, query: string) => Effect.Effect<ReadonlyArray<number>, E, R>
}

/**
 * A built-in scorer by name, or a custom one.
 *
 * @since 0.1.0
 * @category models
 */
export type Strategy<E = never, R = never> = "recency" | "relevance" | "hybrid" | Scorer<E, R>

/**
 * @since 0.1.0
 * @category models
 */
export interface PruneOptions<E = never, R = never> {
  /** In tokens of the entries as messages. */
  readonly tokenBudget: number
  readonly query?: string | undefined
  /** Default: that of the layer. */
  readonly strategy?: Strategy<E, R> | undefined
  /** Keeps the best entry even if it exceeds the budget alone. Default false. */
  readonly keepAtLeastOne?: boolean | undefined
  /** Order of the kept entries: oldest first, or best first after the system entries. Default `time`. */
  readonly order?: "time" | "score" | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface PruningResult {
  readonly kept: ReadonlyArray<MemoryEntry>
  readonly prunedCount: number
  readonly originalCount: number
  readonly tokenBudget: number
  /** The name of the scorer. */
  readonly strategy: string
  /** Tokens of the kept entries as messages. */
  readonly tokens: number
  /** Never negative. */
  readonly remainingBudget: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Keeps the best entries that fit together, greedily: an entry that does not fit is skipped. System entries always
   * stay; pruning fails if they exceed the budget alone. A tool call and its results stay or go together (`ToolPairs`),
   * with the best of their scores; one without the other goes. Of equal entries the newest stay. Entries are never cut.
   */
  readonly prune: <E = never, R = never>(
    entries: ReadonlyArray<MemoryEntry>,
    options: PruneOptions<E, R>
  ) => Effect.Effect<PruningResult, MemoryCapacityError | E, R>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ContextPruner extends Context.Tag("effect-lexigram/memory/ContextPruner")<ContextPruner, Service>() {}
