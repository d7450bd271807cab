/**
 * Decides which firings of a schedule start runs, and starts them.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RunId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import type { RunError } from "../record/RunError.js"
import { isEnded, type RunRecord, type RunState } from "../record/RunRecord.js"
import * as RunSchedule from "../record/RunSchedule.js"
import * as ScheduleTimes from "../record/ScheduleTimes.js"
import type { Service as RunsService } from "../runs/Runs.js"

/** Acts as the owner of a schedule. */
const asOwner = ({ system }: RunSchedule.RunSchedule) => (system === true ? SystemAccess.grant : SystemAccess.drop)

/**
 * Starts a run of a schedule, for its owner. A known id is the known run, also if the schedule has changed since:
 * nobody else knows ids of its runs.
 *
 * @category constructors
 */
export const start = (
  runs: RunsService,
  schedule: RunSchedule.RunSchedule,
  runId: RunId
): Effect.Effect<RunRecord, RunError> => {
  const { agent, id, input, labels, policy, sessionId, settings, tenantId, userId } = schedule
  const request = {
    agent,
    input,
    runId,
    labels: { ...labels, [RunSchedule.LABEL]: id },
    ...(settings === undefined ? {} : { settings }),
    ...(policy === undefined ? {} : { policy }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(tenantId === undefined ? {} : { tenantId }),
    ...(userId === undefined ? {} : { userId })
  }
  return runs.start(request).pipe(
    Effect.catchIf(
      ({ reason }) => reason === "conflict",
      (error) =>
        Effect.flatMap(runs.poll(runId, { userId }), (found) =>
          Option.isSome(found) ? Effect.succeed(found.value.record) : error
        )
    ),
    asOwner(schedule)
  )
}

/** The state of a run of a schedule; `undefined` if it is not known. */
const stateOf = (
  runs: RunsService,
  schedule: RunSchedule.RunSchedule,
  runId: RunId
): Effect.Effect<RunState | undefined, RunError> =>
  runs.poll(runId, { userId: schedule.userId }).pipe(
    Effect.map((found) => (Option.isSome(found) ? found.value.record.state : undefined)),
    asOwner(schedule)
  )

/**
 * Whether the last run of a schedule goes on. One that has not begun begins now: the process that recorded it may have
 * ended since.
 */
const isBusy = (runs: RunsService, schedule: RunSchedule.RunSchedule): Effect.Effect<boolean, RunError> =>
  Effect.gen(function* () {
    const { lastRunId } = schedule
    if (lastRunId === undefined) return false
    const state = yield* stateOf(runs, schedule, lastRunId)
    if (state === "queued") yield* start(runs, schedule, lastRunId)
    return state !== undefined && !isEnded(state)
  })

/**
 * The pending firings that a pause cannot take back. Some process is about to start them: if it ends between the record
 * of a run and its begin, only another one that knows of the firing begins the run. Where starts fail and are tried
 * again, it is those whose runs are recorded.
 *
 * @category getters
 */
export const keptByPause = (
  runs: RunsService,
  schedule: RunSchedule.RunSchedule
): Effect.Effect<ReadonlyArray<number>, RunError> =>
  schedule.error === undefined
    ? Effect.succeed(schedule.pending)
    : Effect.filter(schedule.pending, (at) =>
        Effect.map(stateOf(runs, schedule, RunSchedule.runIdOf(schedule, at)), (state) => state === "queued")
      )

/**
 * @category models
 */
export interface Policy {
  /** A firing that is older is missed, in milliseconds. */
  readonly tolerance: number
  /** The most missed firings that start. */
  readonly maxCatchUp: number
}

interface Due {
  readonly starts: ReadonlyArray<number>
  readonly dropped: RunSchedule.RunSchedule["dropped"]
}

/** The firings that are due, without those that the policy for missed ones leaves out. */
const dueOf = (
  { missed }: RunSchedule.RunSchedule,
  first: number,
  next: ScheduleTimes.Next,
  now: number,
  { maxCatchUp, tolerance }: Policy
): Due => {
  const late = now - tolerance
  const isLate = first < late
  const begin = isLate ? next(late - 1) : first
  const inTime =
    begin === undefined || begin > now ? [] : ScheduleTimes.newest(next, begin, now + 1, Number.POSITIVE_INFINITY)
  if (!isLate) return { starts: inTime, dropped: undefined }
  const most = missed === "skip" ? 0 : missed === "once" ? 1 : maxCatchUp
  const found = ScheduleTimes.newest(next, first, late, most + 1)
  const [oldest] = found
  const isDropped = found.length > most && oldest !== undefined
  return {
    starts: [...(isDropped ? found.slice(1) : found), ...inTime],
    dropped: isDropped ? { at: oldest, reason: "missed" } : undefined
  }
}

/** Leaves at most one run, and none while the last one goes on. */
const withoutOverlap = ({ dropped, starts }: Due, isBusy: boolean): Due => {
  const kept = isBusy ? [] : starts.slice(-1)
  const last = starts.at(-1 - kept.length)
  return { starts: kept, dropped: last === undefined ? dropped : { at: last, reason: "overlap" } }
}

/**
 * The schedule after a decision about all of its firings until now: those that start are pending.
 *
 * @category constructors
 */
export const decided = (
  runs: RunsService,
  schedule: RunSchedule.RunSchedule,
  first: number,
  now: number,
  policy: Policy
): Effect.Effect<RunSchedule.RunSchedule, RunError> =>
  Effect.gen(function* () {
    const next = ScheduleTimes.make(schedule)
    const all = dueOf(schedule, first, next, now, policy)
    const { dropped, starts } =
      schedule.overlap === "allow" || all.starts.length === 0 ? all : withoutOverlap(all, yield* isBusy(runs, schedule))
    const last = starts.at(-1)
    const { nextAt: _, ...rest } = schedule
    const nextAt = next(now)
    return {
      ...rest,
      ...(nextAt === undefined ? { state: "ended" } : { nextAt }),
      pending: starts,
      ...(last === undefined ? {} : { lastFiredAt: last, lastRunId: RunSchedule.runIdOf(schedule, last) }),
      ...(dropped === undefined ? {} : { dropped })
    }
  })
