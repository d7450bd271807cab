/**
 * The memory consolidator over a memory store and semantic memory.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Count from "../../internal/Count.js"
import * as CapturedContext from "../../internal/fiber/CapturedContext.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import * as MemoryMetrics from "../entry/MemoryMetrics.js"
import * as MemoryTelemetry from "../entry/MemoryTelemetry.js"
import * as MemoryStore from "../search/MemoryStore.js"
import * as SemanticMemory from "../semantic/SemanticMemory.js"
import * as ConsolidationRun from "./ConsolidationRun.js"
import * as ConsolidationStrategies from "./ConsolidationStrategies.js"
import { type ConsolidationStrategy, MemoryConsolidator, type Service } from "./MemoryConsolidator.js"
import * as ReadFacts from "./ReadFacts.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<out R = never> {
  /** The strategies, in this order. Default `ConsolidationStrategies.standard()`. */
  readonly strategies?: ReadonlyArray<ConsolidationStrategy<R>> | undefined
  /** Younger entries do not change. Default 24 hours. */
  readonly ageThreshold?: Duration.DurationInput | undefined
  /** Maximum entries per summary and per extraction of facts. Default 100. */
  readonly batchSize?: number | undefined
  /**
   * The entries to extract facts from: all that are old enough (`aged`; marked by `factsRead` in their metadata, so
   * that it is done once), those about to be removed (`leaving`), or none. Default `aged`.
   */
  readonly facts?: "aged" | "leaving" | "none" | undefined
  /**
   * Maximum entries that strategies see together and that are in memory at once. Default 10,000, or fewer if they have
   * more than 8 million characters. For an owner with more entries, a run continues until a whole pass changes nothing,
   * or until 16 passes have each removed less than a sixteenth of the entries; the next run continues from there. A dry
   * run makes one pass, and finds no duplicates that are farther apart.
   */
  readonly window?: number | undefined
}

/**
 * The metadata key that marks entries whose facts were extracted.
 *
 * @since 0.1.0
 * @category constants
 */
export const FACTS_READ = ReadFacts.factsRead

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
    const telemetry = yield* MemoryTelemetry.make
    const captured = yield* CapturedContext.context<R>()
    const given: ReadonlyArray<ConsolidationStrategy<R>> = options?.strategies ?? ConsolidationStrategies.standard()
    const setup: ConsolidationRun.Setup = {
      store,
      semantic,
      telemetry,
      strategies: given.map((strategy) => ({
        ...strategy,
        propose: (batch) => CapturedContext.provide(strategy.propose(batch), captured)
      })),
      ageThreshold: Duration.toMillis(options?.ageThreshold ?? "24 hours"),
      batchSize: Count.count(options?.batchSize, 100, 1),
      facts: options?.facts ?? "aged",
      window: Count.count(options?.window, 10_000, 2)
    }
    const { withLock } = KeyedLock.make()
    return {
      consolidate: (options) =>
        ConsolidationRun.run(setup, options).pipe(
          withLock(options.ownerId),
          Effect.onExit((exit) =>
            Effect.sync(() =>
              MemoryMetrics.consolidated(
                Exit.isSuccess(exit) ? "success" : Cause.isInterruptedOnly(exit.cause) ? "interrupted" : "failed"
              )
            )
          ),
          MemoryTelemetry.observed("episodic", "consolidate")
        ),
      health: Effect.zipRight(store.health, semantic.health)
    }
  })

/**
 * The consolidator over the stores in context. Runs of one owner never overlap within a process.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import {
 *   DefaultMemoryConsolidator,
 *   InMemoryMemoryStore,
 *   MemoryConsolidator,
 *   SemanticMemory
 * } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * // What would be done for Ada, without doing it.
 * const program = MemoryConsolidator.MemoryConsolidator.pipe(
 *   Effect.flatMap((consolidator) => consolidator.consolidate({ ownerId: "ada", dryRun: true })),
 *   Effect.provide(DefaultMemoryConsolidator.layer({ ageThreshold: "7 days", facts: "none" })),
 *   Effect.provide([InMemoryMemoryStore.layer(), SemanticMemory.layerNoop])
 * )
 * ```
 */
export const layer = <R = never>(
  options?: Options<R> | undefined
): Layer.Layer<MemoryConsolidator, never, MemoryStore.MemoryStore | SemanticMemory.SemanticMemory | R> =>
  Layer.effect(MemoryConsolidator, make(options))
