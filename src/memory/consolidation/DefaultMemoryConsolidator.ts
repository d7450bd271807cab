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
          MemoryTelemetry.observed("episodic", "consolidate")
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
