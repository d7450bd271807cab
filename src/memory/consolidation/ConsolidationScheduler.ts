/**
 * Consolidates the memory of everybody, again and again.
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
 * What one run over all owners did. `result` sums up the owners that did not fail.
 *
 * @since 0.1.0
 * @category models
 */
export interface Report {
  readonly result: MemoryConsolidator.ConsolidationResult
  /** Owners that were consolidated. */
  readonly owners: number
  /** Owners whose consolidation failed. */
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
   * When the last run that ended began, in milliseconds since the epoch. Those of earlier processes count where they
   * are known.
   */
  readonly lastRun: Option.Option<number>
  /** What the last run of this process did. */
  readonly lastReport: Option.Option<Report>
  /** When the next one is due; nothing where none is planned. */
  readonly nextRunAt: Option.Option<number>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Consolidates everybody now, one after the other; while another run is under way it waits for that one first. An
   * owner that fails is logged and counted, and the others go on. Fails only when it cannot be found out who there is.
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
