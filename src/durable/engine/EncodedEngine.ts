/**
 * The operations of the workflow engine on a database. They have the semantics of `WorkflowEngine.layerMemory`, with
 * tables instead of maps.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Workflow from "@effect/workflow/Workflow"
import { type Encoded, WorkflowInstance } from "@effect/workflow/WorkflowEngine"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as IndexKey from "../../persistence/engine/IndexKey.js"
import type { ActiveRuns, Entry, Run } from "./ActiveRuns.js"
import type { EngineStore, Owner, State } from "./EngineStore.js"
import * as JournaledActivity from "./JournaledActivity.js"
import { suspended } from "./JournaledActivity.js"
import * as ResultText from "./ResultText.js"
import type { RunnerLease } from "./RunnerLease.js"
import * as StorageFailure from "./StorageFailure.js"
import type { Waiters } from "./Waiters.js"
import type { WorkLoop } from "./WorkLoop.js"

/**
 * @category models
 */
export interface Parts {
  readonly store: EngineStore
  readonly clock: Clock.Clock
  readonly runs: ActiveRuns
  readonly waiters: Waiters
  readonly loop: WorkLoop
  /** `undefined` for a client. */
  readonly lease: RunnerLease | undefined
  readonly entries: Map<string, Entry>
  /** Runs a write of a run, again if the database is away for a while. */
  readonly persist: <A, E>(run: Run, effect: Effect.Effect<A, E | SqlError>) => Effect.Effect<A, E | SqlError>
  /** Stops a run and leaves its execution to whoever can run it. */
  readonly giveUp: (run: Run, error: SqlError) => Effect.Effect<void>
}

/** What an outside reader gets of a state; `undefined` while the execution runs or is ready to. */
const resultOf = (
  workflow: Workflow.Any,
  state: State | undefined
): Effect.Effect<Workflow.Result<unknown, unknown> | undefined> => {
  if (state === undefined || state.status === 0) return Effect.succeed(undefined)
  const { body, data } = state.result
  switch (state.status) {
    case 1:
      return body === null && data === null
        ? Effect.succeed(suspended)
        : Effect.map(ResultText.toCause(state.result, "read"), (cause) => new Workflow.Suspended({ cause }))
    case 2:
      return ResultText.toResult(workflow, state.result)
    case 3:
      return Effect.flatMap(ResultText.toCause(state.result, "read"), Effect.failCause)
  }
}

/** The run in this process within which an effect is executed. */
const runWithin = (runs: ActiveRuns): Effect.Effect<Run | undefined> =>
  Effect.map(Effect.serviceOption(WorkflowInstance), (instance) =>
    Option.isSome(instance) ? runs.get(IndexKey.of(instance.value.executionId)) : undefined
  )

/** The condition of writes within a run: none from outside of runs, and no write by a run that was stopped. */
const writing = <A>(
  runs: ActiveRuns,
  write: (by: Owner | undefined) => Effect.Effect<A>
): Effect.Effect<A | undefined> =>
  Effect.flatMap(Effect.serviceOption(WorkflowInstance), (instance) =>
    Effect.flatMap(runWithin(runs), (run) =>
      Option.isSome(instance) && (run === undefined || run.isStopped) ? Effect.succeed(undefined) : write(run?.claimed)
    )
  )

const register =
  ({ entries, loop, runs, store }: Parts): Encoded["register"] =>
  (workflow, execute) =>
    Effect.gen(function* () {
      const entry: Entry = { workflow, execute, runtime: yield* Effect.runtime<never>() }
      const key = IndexKey.of(workflow.name)
      entries.set(key, entry)
      yield* Effect.addFinalizer(() =>
        Effect.gen(function* () {
          if (entries.get(key) === entry) entries.delete(key)
          for (const { claimed } of yield* runs.endWhere((run) => run.entry === entry)) {
            yield* Effect.ignore(store.release(claimed))
          }
        })
      )
      loop.look()
    })

const execute = ({ loop, runs, store, waiters }: Parts): Encoded["execute"] =>
  Effect.fnUntraced(function* (workflow, options) {
    const { executionId, parent } = options
    const key = IndexKey.of(executionId)
    const payload = yield* ResultText.ofPayload(workflow, options.payload)
    const within = parent === undefined ? undefined : runs.get(IndexKey.of(parent.executionId))
    if (parent !== undefined && (within === undefined || within.isStopped)) return suspended as any
    yield* store
      .insert({ executionId, workflow: workflow.name, payload, parent: within?.claimed })
      .pipe(StorageFailure.orDie("execute"))
    loop.woken(key)
    if (options.discard) return
    const state = StorageFailure.orDie("execute")(store.state(key))
    // Without a row it was erased.
    const look = Effect.flatMap(state, (found) => (found === undefined ? Effect.interrupt : resultOf(workflow, found)))
    return parent === undefined
      ? yield* waiters.wait(
          key,
          "end",
          Effect.map(look, (result) => (result?._tag === "Suspended" ? undefined : result))
        )
      : yield* waiters.wait(key, "pause", look)
  }) as Encoded["execute"]

const activityExecute =
  (parts: Parts): Encoded["activityExecute"] =>
  (activity, attempt) =>
    Effect.gen(function* () {
      const { lease, persist, runs } = parts
      const run = yield* runWithin(runs)
      if (run === undefined || run.isStopped || lease === undefined) return suspended
      const work = Effect.gen(function* () {
        yield* persist(run, lease.ensure)
        return yield* JournaledActivity.execute({ ...parts, stop: runs.stop }, run, activity, attempt)
      })
      return yield* Effect.catchAll(work, (error) =>
        StorageFailure.isPassing(error)
          ? Effect.as(parts.giveUp(run, error), suspended)
          : Effect.die(StorageFailure.of("activity")(error))
      )
    })

/** The result of a deferred that was only interrupted because its workflow is suspended: it runs again later. */
const isOfSuspension = (instance: WorkflowInstance["Type"], run: Run | undefined, exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause) && (instance.suspended || run?.isStopped !== false)

const deferredDone =
  ({ loop, runs, store }: Parts): Encoded["deferredDone"] =>
  (options) =>
    Effect.gen(function* () {
      const instance = yield* Effect.serviceOption(WorkflowInstance)
      const run = yield* runWithin(runs)
      if (Option.isSome(instance) && isOfSuspension(instance.value, run, options.exit)) return
      const { deferredName, executionId } = options
      const result = yield* ResultText.ofExit(options.exit, "deferred")
      yield* writing(runs, (by) =>
        StorageFailure.orDie("deferred")(store.settle({ executionId, name: deferredName, result }, by))
      )
      loop.woken(IndexKey.of(executionId))
    })

const scheduleClock =
  ({ runs, store }: Parts): Encoded["scheduleClock"] =>
  (_, { clock, executionId }) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const dueAt = now + Duration.toMillis(clock.duration)
      return Effect.asVoid(
        writing(runs, (by) =>
          StorageFailure.orDie("clock")(store.schedule({ executionId, name: clock.deferred.name, dueAt }, by))
        )
      )
    })

/**
 * @category constructors
 */
export const make = (parts: Parts): Encoded => {
  const { loop, runs, store } = parts
  return {
    register: register(parts),
    execute: execute(parts),
    poll: (workflow, executionId) =>
      Effect.flatMap(StorageFailure.orDie("poll")(store.state(IndexKey.of(executionId))), (state) =>
        resultOf(workflow, state)
      ),
    interrupt: (_, executionId) => {
      const key = IndexKey.of(executionId)
      return Effect.map(StorageFailure.orDie("interrupt")(store.interrupt(key)), () => {
        runs.interrupt(key)
        loop.woken(key)
      })
    },
    resume: (_, executionId) => {
      const key = IndexKey.of(executionId)
      return Effect.map(StorageFailure.orDie("resume")(store.wake(key)), () => loop.woken(key))
    },
    activityExecute: activityExecute(parts),
    deferredResult: (deferred) =>
      Effect.flatMap(WorkflowInstance, ({ executionId }) =>
        Effect.flatMap(
          StorageFailure.orDie("deferred")(store.deferred(IndexKey.of(executionId), deferred.name)),
          (kept) => (kept === undefined ? Effect.succeed(undefined) : ResultText.toExit(kept, "deferred"))
        )
      ),
    deferredDone: deferredDone(parts),
    scheduleClock: scheduleClock(parts)
  }
}
