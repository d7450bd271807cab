/**
 * A schedule of runs: whose run of which agent starts at which times, and how far the schedule got.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Content from "../../content/Content.js"
import { ErrorInfo } from "../../domain/ErrorInfo.js"
import { RunId, SessionId, UserId } from "../../domain/Ids.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import { RunPolicy } from "./RunPolicy.js"
import { Labels } from "./RunRecord.js"

const NAME = "effect-lexigram/agent/RunSchedule"

/**
 * The longest id of a schedule, in characters. The ids of its runs are longer.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_ID = 200

/**
 * The label that every run of a schedule has: the id of the schedule.
 *
 * @since 0.1.0
 * @category constants
 */
export const LABEL = "schedule"

const Numbers = Schema.Array(Schema.NonNegativeInt)

/**
 * The fields of a cron expression, in a time zone.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Cron = Schema.TaggedStruct("Cron", {
  /** The expression, if it was given as a text. */
  text: Schema.optional(Schema.String),
  /** The name of a time zone, or an offset (`+02:00`). */
  zone: Schema.String,
  /** The second of the minute. */
  second: Schema.NonNegativeInt,
  minutes: Numbers,
  hours: Numbers,
  days: Numbers,
  months: Numbers,
  weekdays: Numbers,
  /** Whether a day must match both `days` and `weekdays`. */
  and: Schema.Boolean
}).annotations({ identifier: `${NAME}/Cron` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Cron extends Schema.Schema.Type<typeof Cron> {}

/**
 * A fixed distance in milliseconds, counted from a time.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Every = Schema.TaggedStruct("Every", {
  millis: Schema.Number,
  /** A firing is a multiple of `millis` away from it. */
  from: Schema.Number
}).annotations({ identifier: `${NAME}/Every` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Every extends Schema.Schema.Type<typeof Every> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Timing = Schema.Union(Cron, Every).annotations({ identifier: `${NAME}/Timing` })
/**
 * @since 0.1.0
 * @category models
 */
export type Timing = typeof Timing.Type

/**
 * What happens to firings that no process started in time: none of them starts (`skip`), the newest one starts
 * (`once`), or each of them starts (`all`), the oldest first and up to a bound.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Missed = Schema.Literal("skip", "once", "all").annotations({ identifier: `${NAME}/Missed` })
/**
 * @since 0.1.0
 * @category models
 */
export type Missed = typeof Missed.Type

/**
 * Whether a run starts while the last run of the schedule goes on (`allow`), or not (`skip`).
 *
 * @since 0.1.0
 * @category schemas
 */
export const Overlap = Schema.Literal("allow", "skip").annotations({ identifier: `${NAME}/Overlap` })
/**
 * @since 0.1.0
 * @category models
 */
export type Overlap = typeof Overlap.Type

/**
 * - `active`: its firings start runs
 * - `paused`: its firings pass without a run until it is resumed
 * - `ended`: it has no more firings
 *
 * @since 0.1.0
 * @category schemas
 */
export const ScheduleState = Schema.Literal("active", "paused", "ended").annotations({
  identifier: `${NAME}/ScheduleState`
})
/**
 * @since 0.1.0
 * @category models
 */
export type ScheduleState = typeof ScheduleState.Type

/**
 * Times are milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category schemas
 */
export const RunSchedule = Schema.Struct({
  id: Schema.String,
  /** Begins the ids of the runs. A new schedule with the same id has another one. */
  key: Schema.String,
  /** The name of the agent. */
  agent: Schema.String,
  userId: Schema.optional(UserId),
  /** The system created the schedule for no user: only the system finds it. */
  system: Schema.optional(Schema.Literal(true)),
  tenantId: Schema.optional(UserId),
  sessionId: Schema.optional(SessionId),
  input: Schema.Union(Schema.String, Schema.Array(Content.Content)),
  settings: Schema.optional(ModelSettings.ModelSettings),
  /** Limits, retries and fallbacks of each run. */
  policy: Schema.optional(RunPolicy),
  /** The labels of the runs, besides `schedule`. */
  labels: Labels,
  timing: Timing,
  missed: Missed,
  overlap: Overlap,
  /** No firing is before it. */
  startsAt: Schema.optional(Schema.Number),
  /** No firing is after it. */
  endsAt: Schema.optional(Schema.Number),
  state: ScheduleState,
  createdAt: Schema.Number,
  /** The time of the last change, by a caller or by a firing. */
  updatedAt: Schema.Number,
  /** Counts the changes: a change names the revision that it is of. */
  revision: Schema.NonNegativeInt,
  /** The next firing. */
  nextAt: Schema.optional(Schema.Number),
  /** Firings that are decided, the oldest first: their runs start as soon as a process can. */
  pending: Schema.Array(Schema.Number),
  /** The last firing that started a run, or is pending. */
  lastFiredAt: Schema.optional(Schema.Number),
  /** The run that was started last, by a firing or by hand. */
  lastRunId: Schema.optional(RunId),
  /** The newest firing that started no run, and why. */
  dropped: Schema.optional(
    Schema.Struct({ at: Schema.Number, reason: Schema.Literal("missed", "overlap", "refused") })
  ),
  /** Why the last start failed; absent after one that succeeded. */
  error: Schema.optional(ErrorInfo)
}).annotations({ identifier: NAME })
/**
 * @since 0.1.0
 * @category models
 */
export interface RunSchedule extends Schema.Schema.Type<typeof RunSchedule> {}

/**
 * When a process must look at the schedule: `undefined` if never.
 *
 * @since 0.1.0
 * @category getters
 */
export const dueAt = ({ nextAt, pending, state }: RunSchedule): number | undefined =>
  pending[0] ?? (state === "active" ? nextAt : undefined)

/**
 * The id of the run of a firing: the same, whichever process starts it.
 *
 * @since 0.1.0
 * @category getters
 * @example
 * ```ts
 * import { RunSchedule, RunSchedules, Runs } from "effect-lexigram/agent"
 * import * as Effect from "effect/Effect"
 *
 * // The record of the run of the last firing.
 * const lastRun = Effect.gen(function* () {
 *   const schedules = yield* RunSchedules.RunSchedules
 *   const schedule = yield* Effect.flatten(schedules.get("weekly-report", { userId: "ada" }))
 *   if (schedule.lastFiredAt === undefined) return undefined
 *   return yield* Runs.poll(RunSchedule.runIdOf(schedule, schedule.lastFiredAt), { userId: "ada" })
 * })
 * ```
 */
export const runIdOf = ({ key }: RunSchedule, at: number): RunId => RunId.make(`${key}@${at}`)
