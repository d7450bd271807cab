/**
 * Expires idle sessions at intervals or on request, page by page.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Count from "../../internal/Count.js"
import * as Permits from "../../internal/fiber/Permits.js"
import * as Recurrence from "../../internal/fiber/Recurrence.js"
import * as SecretText from "../../internal/text/SecretText.js"
import * as SessionManager from "../manager/SessionManager.js"
import type { SessionStorageError } from "../turn/SessionError.js"
import * as SessionCleanup from "./SessionCleanup.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The idle time after which sessions expire. Default: the TTL of the manager. */
  readonly idle?: Duration.DurationInput | undefined
  /** From the end of one pass to the beginning of the next; default 10 minutes, at least a second. */
  readonly interval?: Duration.DurationInput | undefined
  /** The same after a failed pass; default 1 minute, at least a second and never more than `interval`. */
  readonly retryAfter?: Duration.DurationInput | undefined
  /** The jitter of these times as a share of them, so that many machines do not run at once; default 0.1. */
  readonly jitter?: number | undefined
  /** The maximum number of sessions per store call; default 100. */
  readonly pageSize?: number | undefined
  /**
   * Runs the first pass when the layer is built. Default false: one interval later, so that machines that start
   * together do not run together. Set it for processes that live shorter than the interval.
   */
  readonly runOnStart?: boolean | undefined
}

const shortest = 1000

/**
 * Keeps the name and message of a failure; of a defect, only that there was one, since its message may show content.
 */
const reasonOf = (cause: Cause.Cause<SessionStorageError>): string =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => "defect",
    onSome: (error) => `${error._tag}: ${SecretText.excerpt(error.message, { maxLength: 200 })}`
  })

interface Runner extends SessionCleanup.Service {
  readonly plan: (at: number) => Effect.Effect<void>
}

const makeRunner = (
  options: Pick<Options, "idle" | "pageSize"> | undefined
): Effect.Effect<Runner, never, SessionManager.SessionManager> =>
  Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    const oneAtATime = Permits.make(1)
    const limit = Count.count(options?.pageSize, 100, 1)
    const page = SystemAccess.grant(
      sessions.expireIdle({ limit, ...(options?.idle === undefined ? {} : { idle: options.idle }) })
    ).pipe(Effect.catchTag("SessionInputError", Effect.die))
    let status: SessionCleanup.Status = {
      running: false,
      expired: 0,
      failed: 0,
      lastReport: Option.none(),
      nextRunAt: Option.none()
    }
    const set = (change: (status: SessionCleanup.Status) => Partial<SessionCleanup.Status>) =>
      Effect.sync(() => {
        status = { ...status, ...change(status) }
      })

    const pass = Effect.gen(function* () {
      const startedAt = yield* Clock.currentTimeMillis
      let expired = 0
      // A short page does not mean the end: another machine may have taken some.
      for (let done = yield* page; done.length > 0; done = yield* page) {
        const count = done.length
        expired += count
        yield* set((status) => ({ expired: status.expired + count }))
      }
      const report = { expired, startedAt, durationMs: (yield* Clock.currentTimeMillis) - startedAt }
      yield* set(() => ({ lastReport: Option.some(report) }))
      return report
    })

    return {
      plan: (at) => set(() => ({ nextRunAt: Option.some(at) })),
      status: Effect.sync(() => status),
      runOnce: oneAtATime(
        Effect.acquireUseRelease(
          set(() => ({ running: true })),
          () => pass,
          (_, exit) =>
            set(({ failed }) => ({
              running: false,
              failed: exit._tag === "Failure" && !Cause.isInterruptedOnly(exit.cause) ? failed + 1 : failed
            }))
        )
      )
    }
  })

const millis = (duration: Duration.DurationInput): number => Math.max(shortest, Duration.toMillis(duration))

/** Runs pass after pass, forever. */
const clockwork = Effect.fnUntraced(function* (runner: Runner, options: Options | undefined) {
  const interval = millis(options?.interval ?? "10 minutes")
  const retryAfter = Math.min(interval, millis(options?.retryAfter ?? "1 minute"))
  const jitter = options?.jitter ?? 0.1
  const attempt = Effect.matchCauseEffect(runner.runOnce, {
    onSuccess: () => Effect.succeed(interval),
    onFailure: (cause) =>
      Effect.as(
        Effect.annotateLogs(Effect.logWarning(`Idle sessions could not be expired: ${reasonOf(cause)}`), {
          module: "SessionCleanup"
        }),
        retryAfter
      )
  })
  let pause = options?.runOnStart === true ? yield* attempt : interval
  while (true) {
    const due = (yield* Clock.currentTimeMillis) + (yield* Recurrence.jittered(pause, jitter))
    yield* runner.plan(due)
    yield* Recurrence.sleepUntil(due)
    pause = yield* attempt
  }
})

/**
 * Runs while the layer exists. When it closes, a pass in progress is interrupted; the next start continues from there.
 * A failed pass is logged and counted. Any number of machines may run it on one store: each session is expired by one
 * of them.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { DefaultSessionCleanup, Sessions } from "effect-lexigram/session"
 * import * as Layer from "effect/Layer"
 *
 * // Sessions without a turn for a day expire, in place of the clean-up that `Sessions` configures.
 * const cleanup = DefaultSessionCleanup.layer({ idle: "1 day", interval: "30 minutes" }).pipe(
 *   Layer.provide(Sessions.layer({ cleanup: false }))
 * )
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<SessionCleanup.SessionCleanup, never, SessionManager.SessionManager> =>
  Layer.scoped(
    SessionCleanup.SessionCleanup,
    Effect.gen(function* () {
      const runner = yield* makeRunner(options)
      yield* Effect.forkScoped(clockwork(runner, options))
      return { runOnce: runner.runOnce, status: runner.status }
    })
  )

/**
 * Runs only on request.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerManual = (
  options?: Pick<Options, "idle" | "pageSize"> | undefined
): Layer.Layer<SessionCleanup.SessionCleanup, never, SessionManager.SessionManager> =>
  Layer.effect(
    SessionCleanup.SessionCleanup,
    Effect.map(makeRunner(options), ({ runOnce, status }) => ({ runOnce, status }))
  )
