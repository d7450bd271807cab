/**
 * The port that expires idle sessions. They stay stored, and their turns stay readable.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { SessionStorageError } from "../turn/SessionError.js"

/**
 * The result of one pass.
 *
 * @since 0.1.0
 * @category models
 */
export interface CleanupReport {
  /** Sessions that this pass expired. Sessions that another machine expired at the same time are in its report. */
  readonly expired: number
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly durationMs: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Status {
  readonly running: boolean
  /** Sessions expired since the layer was built, including those of passes that failed later. */
  readonly expired: number
  /** Failed passes since the layer was built. */
  readonly failed: number
  /** The result of the last successful pass. */
  readonly lastReport: Option.Option<CleanupReport>
  /** The time of the next pass; none if no pass is scheduled. */
  readonly nextRunAt: Option.Option<number>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Expires idle sessions page by page until none is left; waits for a pass in progress first. When the store fails,
   * the sessions expired before stay so.
   */
  readonly runOnce: Effect.Effect<CleanupReport, SessionStorageError>
  readonly status: Effect.Effect<Status>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SessionCleanup extends Context.Tag("effect-lexigram/session/SessionCleanup")<SessionCleanup, Service>() {}

/**
 * Never runs.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { SessionCleanup } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * const sweep = Effect.gen(function* () {
 *   const cleanup = yield* SessionCleanup.SessionCleanup
 *   const { expired } = yield* cleanup.runOnce
 *   yield* Effect.log(`${expired} sessions have expired`)
 * })
 *
 * // In tests of the program nothing expires.
 * const test = sweep.pipe(Effect.provide(SessionCleanup.layerNoop))
 * ```
 */
export const layerNoop: Layer.Layer<SessionCleanup> = Layer.succeed(SessionCleanup, {
  runOnce: Effect.map(Clock.currentTimeMillis, (startedAt) => ({ expired: 0, startedAt, durationMs: 0 })),
  status: Effect.succeed({
    running: false,
    expired: 0,
    failed: 0,
    lastReport: Option.none(),
    nextRunAt: Option.none()
  })
})
