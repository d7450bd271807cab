/**
 * Runs one run to its end, keeps its record, and passes its events to the readers of this process.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Stream from "effect/Stream"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import { type ErrorInfo, errorInfo } from "../../domain/ErrorInfo.js"
import type * as Permits from "../../internal/fiber/Permits.js"
import * as Pulls from "../../internal/fiber/Pulls.js"
import * as Compensations from "../../tool/definition/Compensations.js"
import type { RunError } from "../record/RunError.js"
import { notUndoneOf, type RunState } from "../record/RunRecord.js"
import type * as RunStore from "../record/RunStore.js"
import { failureOf, type LiveRun } from "./LiveRun.js"

/** How often and how long the last state of a run is written again. */
const again = Schedule.intersect(Schedule.exponential("100 millis"), Schedule.recurs(6))

/**
 * @category models
 */
export interface Pump {
  readonly live: LiveRun
  readonly permit: Permits.Permit
  /** The state that the record has. */
  readonly state: RunState
  readonly events: Stream.Stream<AgentEvent, unknown>
  readonly store: RunStore.Service
  /** Removes the run from those of this process. */
  readonly leave: () => void
}

const warn = (runId: string, state: RunState) => (error: RunError) =>
  Effect.annotateLogs(Effect.logWarning(`the state ${state} of the run ${runId} was not stored: ${error.message}`), {
    module: "LocalRuns"
  })

const infoOf = (cause: Cause.Cause<unknown>): ErrorInfo => {
  const failure = Cause.failureOption(cause)
  return Option.isSome(failure) ? errorInfo(failure.value) : { tag: "Defect", message: "The run crashed" }
}

/** Writes the last state of a run, several times if it must. */
const settle = ({ live, store }: Pump, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const interrupted = Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)
    const to = Exit.isSuccess(exit) ? "completed" : interrupted ? "interrupted" : "failed"
    const failure = Exit.isSuccess(exit) || interrupted ? undefined : (failureOf(live) ?? infoOf(exit.cause))
    const at = yield* Clock.currentTimeMillis
    yield* store
      .update(live.runId, {
        from: ["queued", "running", "waiting"],
        to,
        at,
        sessionId: live.sessionId,
        ...(live.notUndone.length === 0 ? {} : { notUndone: notUndoneOf(live.notUndone) }),
        ...(failure === undefined ? {} : { error: failure })
      })
      .pipe(Effect.retry(again), Effect.catchAll(warn(live.runId, to)))
  })

/**
 * Waits for the permit, then runs. Ends with the run, when its record has the last state, and does not fail.
 *
 * @category constructors
 */
export const run = (pump: Pump): Effect.Effect<void> => {
  const { events, leave, live, permit, store } = pump
  let state = pump.state
  const become = (to: RunState): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (state === to) return Effect.void
      const from = state
      state = to
      return Effect.flatMap(Clock.currentTimeMillis, (at) =>
        Effect.catchAll(
          store.update(live.runId, { from: [from], to, at, sessionId: live.sessionId }),
          warn(live.runId, to)
        )
      )
    })
  const pumped = Pulls.forEach(events, (taken) => {
    live.note(taken)
    const to = live.isWaiting ? "waiting" : "running"
    if (to !== state) return Effect.map(become(to), () => live.push(taken))
    live.push(taken)
    return undefined
  }).pipe(Effect.provideService(Compensations.Reported, (calls) => void live.notUndone.push(...calls)))
  const left = Effect.sync(() => {
    leave()
    permit.release()
  })
  // The fiber begins uninterruptible, so that each run has its end.
  return Effect.interruptible(Effect.zipRight(Effect.zipRight(permit.wait(), become("running")), pumped)).pipe(
    Effect.exit,
    Effect.flatMap((exit) =>
      Effect.ensuring(
        Effect.ensuring(settle(pump, exit), left),
        Effect.sync(() => live.end(Exit.isFailure(exit) ? exit.cause : undefined))
      )
    )
  )
}
