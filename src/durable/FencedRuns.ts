/**
 * What a run writes besides its steps: refused once the run goes on in another process.
 *
 * @private
 * @since 0.1.0
 */
import { SqlError } from "@effect/sql/SqlError"
import type { WorkflowInstance } from "@effect/workflow/WorkflowEngine"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as RunLog from "../observability/RunLog.js"
import type * as Step from "../observability/Step.js"
import * as SqlFailure from "../persistence/engine/SqlFailure.js"
import type { Guard, Registry } from "./AgentWorkflow.js"
import type { Service as RunFence } from "./engine/RunFence.js"
import * as StorageFailure from "./engine/StorageFailure.js"

/** For engines that keep runs to one process anyway. */
export const unguarded: Guard = (write) => write

const guardedLog = (log: RunLog.Service, guard: Guard): RunLog.Service => ({
  ...log,
  append: (events) =>
    Effect.catchTag(guard(log.append(events)), "SqlError", (error) =>
      Effect.fail(new RunLog.RunLogError({ ...SqlFailure.fields(error), operation: "append" }))
    )
})

const passes = (error: unknown): boolean =>
  error instanceof SqlError && (SqlFailure.describe(error).isConflict || StorageFailure.isPassing(error))

/** Writes of the steps of one attempt at a run to stores that the run shares with others. */
export const writes = (fence: RunFence | undefined, instance: WorkflowInstance["Type"]): Step.Service["guard"] =>
  fence === undefined
    ? undefined
    : <A, E, R>(write: Effect.Effect<A, E, R>) =>
        fence.guard(instance, write).pipe(
          Effect.retry({ schedule: Schedule.exponential("50 millis"), times: 7, while: passes }),
          Effect.catchAll((error) =>
            error instanceof SqlError ? Effect.die(StorageFailure.of("guard")(error)) : Effect.fail(error)
          )
        )

/** The registry for one attempt at a run. */
export const of = (registry: Registry, fence: RunFence | undefined, instance: WorkflowInstance["Type"]): Registry => {
  if (fence === undefined) return registry
  const guard: Guard = (write) => fence.guard(instance, write)
  return {
    ...registry,
    log: guardedLog(registry.log, guard),
    stepLog: registry.log,
    onState: (runId, state, outcome) => registry.onState(runId, state, outcome, guard)
  }
}
