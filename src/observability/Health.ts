/**
 * How the parts of a system are, asked one by one and summed.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { errorInfo } from "../domain/AgentEvent.js"

/**
 * @since 0.1.0
 * @category models
 */
export type Status = "healthy" | "unhealthy"

/**
 * One part: healthy when `check` succeeds in time.
 *
 * @since 0.1.0
 * @category models
 */
export interface Check {
  readonly name: string
  readonly check: Effect.Effect<void, unknown>
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
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Report {
  /** Unhealthy when one part is. */
  readonly status: Status
  /** In the order of the checks. */
  readonly parts: ReadonlyArray<PartReport>
}

const messageOf = (exit: Exit.Exit<void, unknown>): string | undefined =>
  Exit.isSuccess(exit) ? undefined : errorInfo(Cause.squash(exit.cause)).message

/**
 * Asks all parts at once, each for at most `timeout` (default 5 s). A part that fails, crashes or hangs is unhealthy; the others still
 * report.
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
      ({ check, name }) =>
        Effect.gen(function* () {
          const startedAt = yield* Clock.currentTimeMillis
          const exit = yield* check.pipe(
            Effect.disconnect,
            Effect.timeoutFail({
              duration: timeout,
              onTimeout: () => new Cause.TimeoutException(`no answer within ${Duration.toMillis(timeout)} ms`)
            }),
            Effect.exit
          )
          const message = messageOf(exit)
          const part: PartReport = {
            name,
            status: message === undefined ? "healthy" : "unhealthy",
            durationMs: (yield* Clock.currentTimeMillis) - startedAt,
            ...(message === undefined ? {} : { message })
          }
          return part
        }),
      { concurrency: "unbounded" }
    ),
    (parts) => ({ status: parts.every((part) => part.status === "healthy") ? "healthy" : "unhealthy", parts })
  )
}
