/**
 * Runs an activity and keeps its result, in one commit that fails if the execution belongs to another runner.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import type * as Activity from "@effect/workflow/Activity"
import * as Workflow from "@effect/workflow/Workflow"
import { WorkflowInstance } from "@effect/workflow/WorkflowEngine"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import { BeforeCommit } from "./BeforeCommit.js"
import { type EngineStore, HookFailure, type Owner, recordOf } from "./EngineStore.js"
import * as ResultText from "./ResultText.js"

/**
 * The run of an execution, as far as its activities need it.
 *
 * @category models
 */
export interface Run {
  readonly claimed: Owner & { readonly executionId: string }
  readonly entry: { readonly workflow: Workflow.Any }
  readonly instance: WorkflowInstance["Type"]
  readonly interrupted: number
  readonly isStopped: boolean
  readonly isEnding: boolean
  /** What this attempt has found and recorded (`recordOf`). Absent: every activity looks. */
  readonly recorded: Set<string> | undefined
  /** When the last statement was sent that found the run to be its runner's, in milliseconds of the engine's clock. */
  ownedAt: number
}

/**
 * @category models
 */
export interface Parts<R extends Run> {
  readonly store: Pick<EngineStore, "commit" | "find">
  /** Runs a write of a run, again if the database is away for a while. */
  readonly persist: <A, E>(run: R, effect: Effect.Effect<A, E | SqlError>) => Effect.Effect<A, E | SqlError>
  readonly stop: (run: R) => void
  /** That of the engine: time within a run is that of its records. */
  readonly clock: Clock.Clock
}

/**
 * Milliseconds after which a run is not its runner's for sure: the process may have been frozen, and another one have
 * the run. What begins after that asks first.
 */
const CERTAIN = 500
const MOST_ASKED = 3

export const suspended = new Workflow.Suspended({})

/**
 * Runs a handler that waits for other activities or deferreds. A suspension interrupts the fiber that waits. If that is
 * only a branch of the handler, `Activity` would take its interruption for a failure and retry, so the fiber of the
 * handler is interrupted too.
 */
const suspending = <A, E, R>(
  instance: WorkflowInstance["Type"],
  handler: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) => {
    let isSuspended = instance.suspended
    Object.defineProperty(instance, "suspended", {
      configurable: true,
      enumerable: true,
      get: () => isSuspended,
      set: (suspended: boolean) => {
        isSuspended = suspended
        if (suspended) fiber.unsafeInterruptAsFork(fiber.id())
      }
    })
    return handler
  })

/** Runs the handler of an activity and stores its result, in one commit. */
const runActivity = <R extends Run>(
  parts: Parts<R>,
  run: R,
  activity: Activity.Any,
  attempt: number
): Effect.Effect<Workflow.Result<unknown, unknown>, SqlError, WorkflowInstance> => {
  const { clock, persist, stop, store } = parts
  const instance = WorkflowInstance.initial(run.entry.workflow, run.claimed.executionId)
  instance.interrupted = run.instance.interrupted
  // Its services are in the context of the workflow.
  const handler = activity.executeEncoded as Effect.Effect<unknown, unknown>
  const commit = Effect.fnUntraced(function* (exit: Exit.Exit<unknown, unknown>) {
    const result = yield* ResultText.ofExit(exit, "activity")
    const hook = yield* BeforeCommit
    const sentAt = clock.unsafeCurrentTimeMillis()
    const stored = yield* persist(run, store.commit(run.claimed, { name: activity.name, attempt, result }, hook)).pipe(
      Effect.catchAll((error) =>
        error instanceof HookFailure ? Effect.die(Cause.squash(error.failure)) : Effect.fail(error)
      )
    )
    if (stored) {
      run.ownedAt = sentAt
      run.recorded?.add(recordOf(activity.name, attempt))
      return new Workflow.Complete({ exit })
    }
    // Either it was stored before, by a fiber that ran the same activity or by a try whose answer was lost.
    const found = yield* persist(run, store.find(run.claimed, activity.name, attempt))
    if (found.isOwned && found.stored !== undefined) {
      return new Workflow.Complete({ exit: yield* ResultText.toExit(found.stored, "activity") })
    }
    stop(run)
    return suspended
  })
  return suspending(instance, handler).pipe(
    Workflow.intoResult,
    Effect.provideService(WorkflowInstance, instance),
    Effect.flatMap(
      (result): Effect.Effect<Workflow.Result<unknown, unknown>, SqlError> =>
        // Also if the run was stopped meanwhile: the work is done, and the database knows whose the execution is.
        result._tag === "Complete" ? commit(result.exit) : Effect.succeed(result)
    ),
    Effect.uninterruptible
  )
}

/**
 * Takes the result that is kept, or runs the activity. Succeeds with `Suspended` if the run was stopped.
 *
 * @category constructors
 */
export const execute = <R extends Run>(
  parts: Parts<R>,
  run: R,
  activity: Activity.Any,
  attempt: number
): Effect.Effect<Workflow.Result<unknown, unknown>, SqlError, WorkflowInstance> =>
  Effect.gen(function* () {
    const { clock, persist, stop, store } = parts
    const isUncertain = () => clock.unsafeCurrentTimeMillis() - run.ownedAt >= CERTAIN
    let mayBeStored = run.recorded?.has(recordOf(activity.name, attempt)) !== false
    // A process that was frozen while it waited for the answer asks again. One with a slow database goes on.
    for (let asked = 0; asked < MOST_ASKED && !run.isStopped && (mayBeStored || isUncertain()); asked++) {
      const sentAt = clock.unsafeCurrentTimeMillis()
      const { isOwned, stored } = yield* persist(run, store.find(run.claimed, activity.name, attempt))
      if (!isOwned) stop(run)
      if (!run.isStopped && stored !== undefined) {
        return new Workflow.Complete({ exit: yield* ResultText.toExit(stored, "activity") })
      }
      run.ownedAt = sentAt
      mayBeStored = false
    }
    if (run.isStopped) return suspended
    // Interrupted while it ran in a process that ended since: nothing new begins before its finalizers.
    if (run.interrupted === 2 && !run.isEnding) return suspended
    return yield* runActivity(parts, run, activity, attempt)
  })
