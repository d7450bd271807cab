/**
 * Durable runs: what is recorded of one, and the schedules of the caller.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as RunSchedule from "../../agent/record/RunSchedule.js"
import { numberBetween, pathParam, Run } from "../../http/api/ApiModels.js"
import { Conflict, Invalid, Unavailable, Unknown, Unsupported } from "../../http/api/ApiStatus.js"
import { Developer } from "../access/StudioDeveloper.js"

const NAME = "effect-lexigram/studio/StudioDurableApi"

const runId = pathParam("runId", Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256)))
const scheduleId = pathParam(
  "scheduleId",
  Schema.String.pipe(Schema.minLength(1), Schema.maxLength(RunSchedule.MAX_ID))
)

/**
 * A finished step of a durable run: a call of a model or a tool, a wait, a time.
 *
 * @category schemas
 */
export const Activity = Schema.Struct({
  name: Schema.String,
  attempt: Schema.Number,
  /** Milliseconds since the epoch. */
  at: Schema.Number,
  /** Of its result, as it is stored. */
  bytes: Schema.Number
}).annotations({ identifier: `${NAME}/Activity` })

/**
 * A schedule. Times are milliseconds since the epoch.
 *
 * @category schemas
 */
export const Schedule = RunSchedule.RunSchedule.pipe(Schema.omit("key", "userId", "tenantId", "system")).annotations({
  identifier: `${NAME}/Schedule`
})

/**
 * @category constants
 */
export const durable = HttpApiGroup.make("durable")
  .add(
    HttpApiEndpoint.get("journal")`/durable/runs/${runId}`
      .setUrlParams(
        Schema.Struct({
          limit: Schema.optional(numberBetween(1, 500)),
          afterName: Schema.optional(Schema.String.pipe(Schema.maxLength(1024))),
          afterAttempt: Schema.optional(numberBetween(0, Number.MAX_SAFE_INTEGER))
        })
      )
      .addSuccess(
        Schema.Struct({
          activities: Schema.Array(Activity),
          /** Bytes of all that is recorded of the run, without large values. */
          bytes: Schema.Number,
          /** Whether there are more activities after these. */
          more: Schema.Boolean
        })
      )
      .addError(Unknown)
      .annotate(OpenApi.Summary, "What is recorded of a durable run of the caller, by the names of its steps")
  )
  .add(
    HttpApiEndpoint.get("schedules", "/schedules")
      .setUrlParams(
        Schema.Struct({
          state: Schema.optional(RunSchedule.ScheduleState),
          limit: Schema.optional(numberBetween(1, 500)),
          cursor: Schema.optional(Schema.String.pipe(Schema.maxLength(1024)))
        })
      )
      .addSuccess(Schema.Struct({ schedules: Schema.Array(Schedule), next: Schema.optional(Schema.String) }))
      .addError(Invalid)
      .annotate(OpenApi.Summary, "The schedules of the caller, the newest first")
  )
  .add(
    HttpApiEndpoint.post("pauseSchedule")`/schedules/${scheduleId}/pause`
      .addSuccess(Schedule)
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Lets the firings of a schedule start no runs")
  )
  .add(
    HttpApiEndpoint.post("resumeSchedule")`/schedules/${scheduleId}/resume`
      .addSuccess(Schedule)
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Goes on with a schedule")
  )
  .add(
    HttpApiEndpoint.post("triggerSchedule")`/schedules/${scheduleId}/trigger`
      .addSuccess(Run)
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Starts a run of a schedule now")
  )
  .add(
    HttpApiEndpoint.del("removeSchedule")`/schedules/${scheduleId}`
      .addSuccess(HttpApiSchema.NoContent)
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Removes a schedule; its runs stay")
  )
  .addError(Unsupported)
  .addError(Unavailable)
  .middleware(Developer)
