/**
 * Fires schedules when they are due.
 *
 * A firing has three steps: the decision to start a run is written by compare-and-set, the run is started under an id
 * that follows from the schedule and the firing, and the firing is struck off. A process that ends between two steps
 * leaves the next step to any other one.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as Parallel from "../../internal/fiber/Parallel.js"
import type { RunError } from "../record/RunError.js"
import * as RunSchedule from "../record/RunSchedule.js"
import type { ScheduleError } from "../record/ScheduleError.js"
import type * as ScheduleStore from "../record/ScheduleStore.js"
import type { Service as RunsService } from "../runs/Runs.js"
import * as ScheduleFiring from "./ScheduleFiring.js"

/** Schedules that are read at once. */
const page = 100

/** Schedules that are fired at the same time. */
const concurrency = 8

/**
 * @category models
 */
export interface Firing extends ScheduleFiring.Policy {
  readonly store: ScheduleStore.Service
  readonly runs: RunsService
  readonly agents: ReadonlyArray<string>
  /** Milliseconds. */
  readonly poll: number
  /** Completes when this process has changed a schedule. */
  readonly changed: Effect.Effect<unknown>
}

const warn = (what: string) => (error: { readonly message: string }) =>
  Effect.annotateLogs(Effect.logWarning(`${what}: ${error.message}`), { module: "RunSchedules" })

/** Writes the next revision of a schedule; `undefined` if another process has changed it. */
const write = (
  { store }: Firing,
  next: RunSchedule.RunSchedule
): Effect.Effect<RunSchedule.RunSchedule | undefined, ScheduleError> =>
  Effect.flatMap(Clock.currentTimeMillis, (updatedAt) => {
    const written = { ...next, updatedAt, revision: next.revision + 1 }
    return Effect.map(store.replace(written), (isDone) => (isDone ? written : undefined))
  })

/** Another attempt, in this process or another one, may succeed. */
const isPassing = ({ reason }: RunError): boolean => reason !== "invalid" && reason !== "conflict"

/**
 * Starts the pending runs, and strikes them off; returns whether this process did. Fails if a start must be tried
 * again.
 */
const startPending = (
  firing: Firing,
  schedule: RunSchedule.RunSchedule
): Effect.Effect<boolean, ScheduleError | RunError> =>
  Effect.gen(function* () {
    const { error: known, ...rest } = schedule
    let next: RunSchedule.RunSchedule = { ...rest, pending: [] }
    for (const at of schedule.pending) {
      const started = yield* Effect.either(
        ScheduleFiring.start(firing.runs, schedule, RunSchedule.runIdOf(schedule, at))
      )
      if (Either.isRight(started)) continue
      const error = errorInfo(started.left)
      if (!isPassing(started.left)) {
        next = { ...next, dropped: { at, reason: "refused" }, error }
        continue
      }
      if (known?.message !== error.message) yield* write(firing, { ...schedule, error })
      return yield* started.left
    }
    return (yield* write(firing, next)) !== undefined
  })

/** Fires a schedule that is due; returns whether this process changed it. */
const fire = (
  firing: Firing,
  schedule: RunSchedule.RunSchedule,
  now: number
): Effect.Effect<boolean, ScheduleError | RunError> =>
  Effect.gen(function* () {
    const { nextAt, pending } = schedule
    if (pending.length > 0) return yield* startPending(firing, schedule)
    if (nextAt === undefined) return false
    const decided = yield* write(firing, yield* ScheduleFiring.decided(firing.runs, schedule, nextAt, now, firing))
    if (decided === undefined) return false
    return decided.pending.length === 0 ? true : yield* startPending(firing, decided)
  })

/** Fires all schedules that are due; returns whether to go on at once. */
const sweep = (firing: Firing): Effect.Effect<boolean, ScheduleError> =>
  Effect.gen(function* () {
    const { agents, store } = firing
    const now = yield* Clock.currentTimeMillis
    let after: RunSchedule.RunSchedule | undefined
    let isProgress = true
    do {
      const due: ReadonlyArray<RunSchedule.RunSchedule> = yield* store.due({ now, agents, after, limit: page })
      const done = yield* Parallel.forEach(
        due,
        (schedule) =>
          Effect.catchAll(fire(firing, schedule, now), (error) =>
            Effect.as(warn(`the schedule ${JSON.stringify(schedule.id)} could not be fired`)(error), false)
          ),
        concurrency
      )
      isProgress = isProgress && done.every((isDone) => isDone)
      after = due.length < page ? undefined : due.at(-1)
    } while (after !== undefined)
    return isProgress
  })

/** How long to wait after a sweep, in milliseconds. */
const pauseAfter = (firing: Firing): Effect.Effect<number, ScheduleError> =>
  Effect.gen(function* () {
    const { agents, poll, store } = firing
    if (!(yield* sweep(firing))) return poll
    const next = yield* store.nextDue(agents)
    const now = yield* Clock.currentTimeMillis
    return Option.isNone(next) ? poll : Math.min(poll, Math.max(0, next.value - now))
  })

/**
 * Fires schedules until it is interrupted.
 *
 * @category constructors
 */
export const run = (firing: Firing): Effect.Effect<never> =>
  pauseAfter(firing).pipe(
    Effect.catchAll((error) => Effect.as(warn("schedules could not be read")(error), firing.poll)),
    Effect.flatMap((millis) => Effect.raceFirst(Effect.sleep(millis), firing.changed)),
    Effect.forever
  )
