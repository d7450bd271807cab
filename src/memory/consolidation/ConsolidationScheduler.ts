/**
 * The consolidation scheduler port: consolidates the memory of all owners.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { MemoryStoreFailure } from "../entry/MemoryError.js"
import * as MemoryConsolidator from "./MemoryConsolidator.js"

/**
 * The outcome of one run over all owners. `result` sums the owners that did not fail.
 *
 * @since 0.1.0
 * @category models
 */
export interface Report {
  readonly result: MemoryConsolidator.ConsolidationResult
  /** Number of owners that were consolidated. */
  readonly owners: number
  /** Number of owners whose consolidation failed. */
  readonly failed: number
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Status {
  readonly running: boolean
  /**
   * When the last completed run began, in milliseconds since the epoch. Includes runs of earlier processes, if known.
   */
  readonly lastRun: Option.Option<number>
  /** The report of the last run of this process. */
  readonly lastReport: Option.Option<Report>
  /** When the next run is due. None if none is planned. */
  readonly nextRunAt: Option.Option<number>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Consolidates all owners now, one after another. Waits for a run in progress first. An owner that fails is logged
   * and counted, and the run continues. Fails only if the owners cannot be listed.
   */
  readonly runOnce: Effect.Effect<Report, MemoryStoreFailure>
  readonly status: Effect.Effect<Status>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ConsolidationScheduler extends Context.Tag("effect-lexigram/memory/ConsolidationScheduler")<
  ConsolidationScheduler,
  Service
>() {}

/**
 * Never runs.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { ConsolidationScheduler } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const scheduler = yield* ConsolidationScheduler.ConsolidationScheduler
 *   const { failed, owners } = yield* scheduler.runOnce
 *   yield* Effect.log(`${owners} owners consolidated, ${failed} failed`)
 * })
 *
 * // In tests of the program nothing is consolidated.
 * const test = program.pipe(Effect.provide(ConsolidationScheduler.layerNoop))
 * ```
 */
export const layerNoop: Layer.Layer<ConsolidationScheduler> = Layer.succeed(ConsolidationScheduler, {
  runOnce: Effect.map(Clock.currentTimeMillis, (startedAt) => ({
    result: MemoryConsolidator.emptyResult,
    owners: 0,
    failed: 0,
    startedAt
  })),
  status: Effect.succeed({
    running: false,
    lastRun: Option.none(),
    lastReport: Option.none(),
    nextRunAt: Option.none()
  })
})
