/**
 * The handlers of durable runs and of schedules.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as RunSchedules from "../../agent/dispatch/RunSchedules.js"
import type { RunError } from "../../agent/record/RunError.js"
import type { RunSchedule } from "../../agent/record/RunSchedule.js"
import type { ScheduleError } from "../../agent/record/ScheduleError.js"
import * as Runs from "../../agent/runs/Runs.js"
import * as PublicView from "../../domain/PublicView.js"
import * as AgentWorkflow from "../../durable/AgentWorkflow.js"
import * as WorkflowJournal from "../../durable/engine/WorkflowJournal.js"
import { ApiError } from "../../http/api/ApiError.js"
import * as ApiModels from "../../http/api/ApiModels.js"
import { accessOf, Caller } from "../../http/api/Authentication.js"
import * as Refusals from "../../http/api/Refusals.js"
import { StudioApi } from "../api/StudioApi.js"

const view: PublicView.Options = { developer: true }

const fromSchedule = ({ key: _, system: __, tenantId: ___, userId: ____, error, ...schedule }: RunSchedule) => ({
  ...schedule,
  ...(error === undefined ? {} : { error: PublicView.fromError(error, view) })
})

const reasons = {
  invalid: "invalid",
  conflict: "conflict",
  "unknown-agent": "unknown",
  "unknown-schedule": "unknown"
} as const

const fromFailure = (error: ScheduleError | RunError): Effect.Effect<never, ApiError> => {
  if (error._tag === "RunError") return Refusals.fromRun(error)
  const { code, hint, message, reason } = error
  return reason === "storage"
    ? Refusals.unavailable(error)
    : new ApiError({ reason: reasons[reason], error: code, message, ...(hint === undefined ? {} : { hint }) })
}

const unknown = new ApiError({ reason: "unknown", message: "The caller has no run with this id" })

const DEFAULT_LIMIT = 200

/**
 * @category layers
 */
export const layer = HttpApiBuilder.group(StudioApi, "durable", (handlers) =>
  Effect.gen(function* () {
    const runs = yield* Runs.Runs
    const journals = Refusals.offered(
      yield* Effect.serviceOption(WorkflowJournal.WorkflowJournal),
      "durable runs: its runs end with its process. `Application.layerSqlite` has durable ones"
    )
    const all = Refusals.offered(
      yield* Effect.serviceOption(RunSchedules.RunSchedules),
      "schedules: add `Scheduler.layer` to it"
    )
    const changed = (
      change: (schedules: RunSchedules.Service, access: Runs.Access) => Effect.Effect<RunSchedule, ScheduleError>
    ) =>
      Effect.gen(function* () {
        const access = accessOf(yield* Caller)
        return fromSchedule(yield* Effect.catchAll(change(yield* all, access), fromFailure))
      })
    return handlers
      .handle("journal", ({ path: { runId }, urlParams: { afterAttempt, afterName, limit = DEFAULT_LIMIT } }) =>
        Effect.gen(function* () {
          const journal = yield* journals
          const found = yield* Refusals.ofRun(runs.poll(runId, accessOf(yield* Caller)))
          if (Option.isNone(found)) return yield* unknown
          const executionId = yield* AgentWorkflow.executionOf(runId)
          const after = afterName === undefined ? {} : { after: { name: afterName, attempt: afterAttempt ?? 0 } }
          // One more than is shown tells whether there are more.
          const activities = yield* journal.activities(executionId, { limit: limit + 1, ...after })
          return {
            activities: activities.slice(0, limit),
            bytes: yield* journal.size(executionId),
            more: activities.length > limit
          }
        }).pipe(Effect.catchTag("WorkflowStorageError", (error) => Refusals.unavailable(error)))
      )
      .handle("schedules", ({ urlParams }) =>
        Effect.gen(function* () {
          const schedules = yield* all
          const page = yield* Effect.catchAll(schedules.list({ ...urlParams, ...accessOf(yield* Caller) }), fromFailure)
          return { ...page, schedules: page.schedules.map(fromSchedule) }
        })
      )
      .handle("pauseSchedule", ({ path }) => changed((schedules, access) => schedules.pause(path.scheduleId, access)))
      .handle("resumeSchedule", ({ path }) => changed((schedules, access) => schedules.resume(path.scheduleId, access)))
      .handle("triggerSchedule", ({ path }) =>
        Effect.gen(function* () {
          const schedules = yield* all
          const record = yield* Effect.catchAll(
            schedules.trigger(path.scheduleId, accessOf(yield* Caller)),
            fromFailure
          )
          return ApiModels.fromRecord(record, view)
        })
      )
      .handle("removeSchedule", ({ path }) =>
        Effect.gen(function* () {
          const schedules = yield* all
          yield* Effect.catchAll(schedules.remove(path.scheduleId, accessOf(yield* Caller)), fromFailure)
        })
      )
  })
)
