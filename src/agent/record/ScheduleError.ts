/**
 * Errors of schedules of runs.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

const NAME = "effect-lexigram/agent/ScheduleError"

/**
 * - `invalid`: an id, a time, a label or another field is not valid
 * - `unknown-agent`: no agent has this name; the hint has the nearest one
 * - `unknown-schedule`: the caller may see no schedule with this id
 * - `conflict`: another schedule has this id, or others changed the schedule at the same time
 * - `storage`: schedules could not be read or written
 *
 * @since 0.1.0
 * @category schemas
 */
export const ScheduleErrorReason = Schema.Literal(
  "invalid",
  "unknown-agent",
  "unknown-schedule",
  "conflict",
  "storage"
).annotations({ identifier: `${NAME}/ScheduleErrorReason` })
/**
 * @since 0.1.0
 * @category models
 */
export type ScheduleErrorReason = typeof ScheduleErrorReason.Type

/**
 * A schedule was not created, found or changed.
 *
 * @since 0.1.0
 * @category errors
 */
export class ScheduleError extends ErrorCode.TaggedError<ScheduleError>(`${NAME}/ScheduleError`)("ScheduleError", {
  ...ErrorCode.fields("LEX_ERR_AGT_125"),
  reason: ScheduleErrorReason,
  /** The schedule concerned, at most its first 256 characters. */
  scheduleId: Schema.optional(Schema.String)
}) {}

/**
 * @since 0.1.0
 * @category constructors
 */
export const invalid = (message: string, hint: string): ScheduleError =>
  new ScheduleError({ reason: "invalid", message, hint })

/**
 * No schedule that the caller may see has this id. A schedule of another owner looks the same.
 *
 * @since 0.1.0
 * @category constructors
 */
export const unknownSchedule = (id: string): ScheduleError =>
  new ScheduleError({
    reason: "unknown-schedule",
    scheduleId: id.slice(0, 256),
    message: "No schedule with this id is known",
    hint: "Check the id, and name the user for whom the schedule was created"
  })

/**
 * @since 0.1.0
 * @category constructors
 */
export const conflict = (id: string): ScheduleError =>
  new ScheduleError({
    reason: "conflict",
    scheduleId: id.slice(0, 256),
    message: "Another schedule already has this id",
    hint: "Choose another id, or change the schedule by `update`; the same request with the same id gives the known one"
  })
