/**
 * What a run writes besides its steps: refused once the run goes on in another process.
 *
 * @private
 * @since 0.1.0
 */
import type { WorkflowInstance } from "@effect/workflow/WorkflowEngine"
import * as Effect from "effect/Effect"
import * as RunLog from "../observability/RunLog.js"
import * as SqlFailure from "../persistence/engine/SqlFailure.js"
import type { Guard, Registry } from "./AgentWorkflow.js"
import type { Service as RunFence } from "./engine/RunFence.js"

/** For engines that keep runs to one process anyway. */
export const unguarded: Guard = (write) => write

const guardedLog = (log: RunLog.Service, guard: Guard): RunLog.Service => ({
  ...log,
  append: (events) =>
    Effect.catchTag(guard(log.append(events)), "SqlError", (error) =>
      Effect.fail(new RunLog.RunLogError({ ...SqlFailure.fields(error), operation: "append" }))
    )
})

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
