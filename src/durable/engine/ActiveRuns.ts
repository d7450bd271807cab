/**
 * The executions that run in this process. Each has a driver, which runs the workflow from the top until it ends or is
 * suspended, stores that, and runs it again if it was woken meanwhile.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Workflow from "@effect/workflow/Workflow"
import { WorkflowEngine, WorkflowInstance } from "@effect/workflow/WorkflowEngine"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import type { Claimed, EngineStore } from "./EngineStore.js"
import * as ResultText from "./ResultText.js"

/**
 * A workflow that this process can run. Runs have the services and fiber refs of its registration.
 *
 * @category models
 */
export interface Entry {
  readonly workflow: Workflow.Any
  readonly execute: (
    payload: object,
    executionId: string
  ) => Effect.Effect<unknown, unknown, WorkflowInstance | WorkflowEngine>
  readonly runtime: Runtime.Runtime<never>
}

/**
 * @category models
 */
export interface Run {
  readonly claimed: Claimed
  readonly entry: Entry
  /** Those of the row when the attempt began. */
  wake: number
  interrupted: number
  instance: WorkflowInstance["Type"]
  attempt: Fiber.RuntimeFiber<unknown, unknown> | undefined
  /** The fiber within the attempt that runs the workflow itself; finalizers run in that of the attempt. */
  body: Fiber.RuntimeFiber<unknown, unknown> | undefined
  /** Nothing of the run is stored any more. */
  isStopped: boolean
  /** The workflow was interrupted during this attempt. */
  interruptsNow: boolean
  /** The body has ended; finalizers may still run activities. */
  isEnding: boolean
  /** What this attempt has found and recorded. */
  recorded: Set<string> | undefined
  /** When the last statement was sent that found the run to be its runner's, in milliseconds. */
  ownedAt: number
}

/**
 * @category models
 */
export interface Options {
  readonly store: EngineStore
  readonly engine: () => WorkflowEngine["Type"]
  /** Runs a write of the run, again if the database is away for a while. */
  readonly persist: <A, E>(run: Run, effect: Effect.Effect<A, E | SqlError>) => Effect.Effect<A, E | SqlError>
  /** The database stayed away: the execution goes to whoever can run it, after a while. */
  readonly giveUp: (run: Run, error: SqlError) => Effect.Effect<void>
  /** The state of an execution has changed here. */
  readonly changed: (key: string) => void
  /** An execution was woken here. */
  readonly woken: (key: string) => void
}

/**
 * @category models
 */
export interface ActiveRuns {
  readonly get: (key: string) => Run | undefined
  readonly start: (claimed: Claimed, entry: Entry) => void
  /** Ends the attempt; nothing of it is stored. */
  readonly stop: (run: Run) => void
  /** Ends the workflow as interrupted, unless it has ended by itself. */
  readonly interrupt: (key: string) => void
  readonly stopWhere: (which: (run: Run) => boolean) => void
  /** Stops runs, and succeeds with them when they have ended. */
  readonly endWhere: (which: (run: Run) => boolean) => Effect.Effect<ReadonlyArray<Run>>
}

/** Interrupts the fiber that runs the body, as the engine in memory does: only then is the result an interruption. */
const interruptSelf = Effect.withFiberRuntime<void>((fiber) => Effect.interruptible(Fiber.interrupt(fiber)))

const runBody = <A, E, R>(run: Run, body: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) => {
    run.body = fiber
    // Interrupted or stopped before there was a fiber to interrupt.
    return run.isStopped || run.interruptsNow ? Effect.interrupt : body
  })

const attemptOf = (run: Run, engine: WorkflowEngine["Type"]): Effect.Effect<Workflow.Result<unknown, unknown>> => {
  const { claimed, entry } = run
  const instance = WorkflowInstance.initial(entry.workflow, claimed.executionId)
  instance.interrupted = run.interrupted > 0
  run.instance = instance
  run.isEnding = false
  run.interruptsNow = false
  run.body = undefined
  return ResultText.toPayload(entry.workflow, claimed.payload).pipe(
    Effect.flatMap((payload) => runBody(run, entry.execute(payload, claimed.executionId))),
    Effect.onExit(() => {
      run.isEnding = true
      if (!instance.interrupted || run.isStopped) return Effect.void
      instance.suspended = false
      return interruptSelf
    }),
    Workflow.intoResult,
    Effect.provideService(WorkflowInstance, instance),
    Effect.provideService(WorkflowEngine, engine)
  )
}

/**
 * Stores how an attempt ended. Succeeds with whether the workflow runs again: it was woken since the attempt began.
 */
const settle = (
  run: Run,
  exit: Exit.Exit<Workflow.Result<unknown, unknown>>,
  { persist, store, woken }: Options
): Effect.Effect<boolean, SqlError> => {
  const { claimed, entry } = run
  if (Exit.isSuccess(exit) && exit.value._tag === "Complete") {
    const result = exit.value.exit
    return ResultText.ofResult(entry.workflow, result).pipe(
      Effect.catchAllDefect((defect) => ResultText.ofResult(entry.workflow, Exit.die(defect))),
      Effect.flatMap((text) => persist(run, store.complete(claimed, claimed.parent, text))),
      Effect.map((completed) => {
        if (completed && claimed.parent !== undefined) woken(claimed.parent)
        return false
      })
    )
  }
  const cause = Exit.isSuccess(exit) ? (exit.value as Workflow.Suspended).cause : exit.cause
  const text = cause === undefined ? Effect.succeed(undefined) : ResultText.ofCause(cause, "suspend")
  const status = Exit.isSuccess(exit) ? 1 : 3
  return Effect.flatMap(text, (cause) =>
    Effect.flatMap(persist(run, store.suspend(claimed, run.wake, status, cause)), (suspended) =>
      suspended ? Effect.succeed(false) : persist(run, wokenSince(run, store))
    )
  )
}

/** Reads for what the next attempt begins; false if the execution is another runner's. */
const wokenSince = (run: Run, store: EngineStore): Effect.Effect<boolean, SqlError> =>
  Effect.map(store.state(run.claimed.key), (state) => {
    if (state === undefined || state.runnerId !== run.claimed.runnerId) return false
    run.wake = state.wake
    run.interrupted = state.interrupted
    return true
  })

const logFailure = (run: Run, exit: Exit.Exit<unknown>): Effect.Effect<void> =>
  Exit.isFailure(exit) && !run.isStopped && !Cause.isInterruptedOnly(exit.cause)
    ? Effect.annotateLogs(Effect.logError("A workflow died, and waits to be resumed", exit.cause), {
        module: "SqlWorkflowEngine",
        workflow: run.entry.workflow.name,
        executionId: run.claimed.executionId
      })
    : Effect.void

/**
 * @category constructors
 */
export const make = (options: Options): ActiveRuns => {
  const runs = new Map<string, Run>()
  const drivers = new Map<Run, Fiber.RuntimeFiber<void>>()

  const stop = (run: Run): void => {
    if (run.isStopped) return
    run.isStopped = true
    // As suspended: its scope stays open, so that no compensation runs for a workflow that goes on elsewhere.
    run.instance.suspended = true
    interruptFiber(run.body)
    if (run.isEnding) interruptFiber(run.attempt)
  }

  const drive = (run: Run): Effect.Effect<void> =>
    Effect.flatMap(options.persist(run, options.store.recorded(run.claimed.key)), (recorded) => {
      run.recorded = recorded
      if (run.isStopped) return Effect.void
      return Effect.forkDaemon(attemptOf(run, options.engine())).pipe(
        Effect.tap((fiber) => {
          run.attempt = fiber
        }),
        Effect.flatMap(Fiber.await),
        Effect.tap((exit) => {
          run.attempt = undefined
          return logFailure(run, exit)
        }),
        Effect.flatMap((exit) => (run.isStopped ? Effect.succeed(false) : settle(run, exit, options))),
        Effect.flatMap((again) => (again ? drive(run) : Effect.void))
      )
    }).pipe(Effect.catchAll((error) => options.giveUp(run, error)))

  const forget = (run: Run): void => {
    drivers.delete(run)
    if (runs.get(run.claimed.key) === run) runs.delete(run.claimed.key)
    options.changed(run.claimed.key)
  }

  return {
    get: (key) => runs.get(key),
    start: (claimed, entry) => {
      const run: Run = {
        claimed,
        entry,
        wake: claimed.wake,
        interrupted: claimed.interrupted,
        instance: WorkflowInstance.initial(entry.workflow, claimed.executionId),
        attempt: undefined,
        body: undefined,
        isStopped: false,
        interruptsNow: false,
        isEnding: false,
        recorded: undefined,
        ownedAt: Number.NEGATIVE_INFINITY
      }
      runs.set(claimed.key, run)
      const driver = Effect.ensuring(
        drive(run),
        Effect.sync(() => forget(run))
      )
      drivers.set(run, Runtime.runFork(entry.runtime)(Effect.uninterruptible(driver), { immediate: false }))
    },
    stop,
    interrupt: (key) => {
      const run = runs.get(key)
      if (run === undefined || run.instance.interrupted || run.isEnding) return
      run.instance.interrupted = true
      run.interruptsNow = true
      interruptFiber(run.body)
    },
    stopWhere: (which) => {
      for (const run of drivers.keys()) if (which(run)) stop(run)
    },
    endWhere: (which) =>
      Effect.suspend(() => {
        const ending = Array.from(drivers).filter(([run]) => which(run))
        for (const [run] of ending) stop(run)
        return Effect.as(
          Fiber.awaitAll(ending.map(([, driver]) => driver)),
          ending.map(([run]) => run)
        )
      })
  }
}

const interruptFiber = (fiber: Fiber.RuntimeFiber<unknown, unknown> | undefined): void => {
  if (fiber !== undefined) fiber.unsafeInterruptAsFork(fiber.id())
}
