/**
 * Checks the health of each part of a system and sums the results.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { errorInfo } from "../domain/ErrorInfo.js"

/**
 * The state of a part: `degraded` works with limits, `starting` is not ready yet, `unknown` has no check.
 *
 * @since 0.1.0
 * @category models
 */
export type Status = "healthy" | "degraded" | "starting" | "unknown" | "unhealthy"

/**
 * The state that a part reports.
 *
 * @since 0.1.0
 * @category models
 */
export interface State {
  readonly status: Status
  /** Why it is not healthy. */
  readonly message?: string | undefined
}

/**
 * One part. It is unhealthy if `check` fails; otherwise it has the state that `check` reports, or is healthy if it
 * reports none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Check {
  readonly name: string
  /** Absent for a part without a check: it is `unknown`. */
  readonly check: Effect.Effect<State | void, unknown> | undefined
  /** The system works without this part: while it is unhealthy, the whole is `degraded`. Default false. */
  readonly optional?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface PartReport {
  readonly name: string
  readonly status: Status
  readonly durationMs: number
  /** Why it is not healthy. */
  readonly message?: string | undefined
  /** The system works without this part. */
  readonly optional?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Report {
  /**
   * Unhealthy if a required part is; else starting if one is; else degraded if one is, or if an optional part is
   * unhealthy. Unknown if all parts are.
   */
  readonly status: Status
  /** In the order of the checks. */
  readonly parts: ReadonlyArray<PartReport>
}

const weight = ({ optional, status }: PartReport): Status =>
  optional === true && status === "unhealthy" ? "degraded" : status

const worst = (parts: ReadonlyArray<PartReport>): Status => {
  const statuses = new Set(parts.map(weight))
  for (const status of ["unhealthy", "starting", "degraded", "healthy"] as const)
    if (statuses.has(status)) return status
  return parts.length === 0 ? "healthy" : "unknown"
}

/**
 * Merges the reports of several systems.
 *
 * @since 0.1.0
 * @category combinators
 */
export const merge = (reports: ReadonlyArray<Report>): Report => {
  const parts = reports.flatMap((report) => report.parts)
  return { status: worst(parts), parts }
}

const ask = (check: Check, timeout: Duration.DurationInput): Effect.Effect<State> =>
  check.check === undefined
    ? Effect.succeed({ status: "unknown", message: "it has no check" })
    : check.check.pipe(
        Effect.disconnect,
        Effect.timeoutFail({
          duration: timeout,
          onTimeout: () => new Cause.TimeoutException(`no answer within ${Duration.toMillis(timeout)} ms`)
        }),
        Effect.exit,
        Effect.map(
          Exit.match({
            onFailure: (cause): State => ({ status: "unhealthy", message: errorInfo(Cause.squash(cause)).message }),
            onSuccess: (state): State => state ?? { status: "healthy" }
          })
        )
      )

/**
 * Runs all checks at once, each for at most `timeout` (default 5 s). A part that fails, dies or hangs is unhealthy; the
 * others still report.
 *
 * @since 0.1.0
 * @category constructors
 */
export const sum = (
  checks: ReadonlyArray<Check>,
  options?: { readonly timeout?: Duration.DurationInput | undefined }
): Effect.Effect<Report> => {
  const timeout = options?.timeout ?? Duration.seconds(5)
  return Effect.map(
    Effect.forEach(
      checks,
      (check) =>
        Effect.gen(function* () {
          const startedAt = yield* Clock.currentTimeMillis
          const { message, status } = yield* ask(check, timeout)
          const part: PartReport = {
            name: check.name,
            status,
            durationMs: (yield* Clock.currentTimeMillis) - startedAt,
            ...(message === undefined ? {} : { message }),
            ...(check.optional === true ? { optional: true } : {})
          }
          return part
        }),
      { concurrency: "unbounded" }
    ),
    (parts) => ({ status: worst(parts), parts })
  )
}
