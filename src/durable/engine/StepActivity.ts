/**
 * Activities whose results are plain data. `Activity.make` compiles the schemas of each activity, which takes a
 * millisecond; these share one set.
 *
 * @private
 * @since 0.1.0
 */
import * as Activity from "@effect/workflow/Activity"
import * as Workflow from "@effect/workflow/Workflow"
import { type WorkflowEngine, WorkflowInstance } from "@effect/workflow/WorkflowEngine"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const template = Activity.make({ name: "step", success: Schema.Unknown, execute: Effect.void })

/** An activity that is not run again when it was interrupted. */
const activityOf = (name: string, handler: Effect.Effect<unknown, never, never>): Activity.Any => {
  const execute = Effect.catchAllCause(handler, (cause) =>
    Cause.isInterrupted(cause) ? Effect.die(`The activity "${name}" was interrupted`) : Effect.failCause(cause)
  )
  return { ...template, name, execute, executeEncoded: execute }
}

/**
 * Runs the handler as the activity of this name, or takes the result that is recorded. Results are plain data.
 *
 * @category constructors
 */
export const run = <R>(
  engine: WorkflowEngine["Type"],
  instance: WorkflowInstance["Type"],
  name: string,
  handler: Effect.Effect<unknown, never, R | WorkflowInstance>
): Effect.Effect<unknown, never, Exclude<R, WorkflowInstance>> => {
  const activity = activityOf(name, handler as Effect.Effect<unknown>) as Activity.Activity<typeof Schema.Unknown>
  return Workflow.wrapActivityResult(engine.activityExecute(activity, 1), ({ _tag }) => _tag === "Suspended").pipe(
    Effect.flatMap((result) => (result._tag === "Suspended" ? Workflow.suspend(instance) : result.exit)),
    Effect.provideService(WorkflowInstance, instance),
    Effect.withSpan(name, { attributes: { executionId: instance.executionId }, captureStackTrace: false })
  ) as Effect.Effect<unknown, never, Exclude<R, WorkflowInstance>>
}
