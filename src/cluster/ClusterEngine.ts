/**
 * The workflow engine of a cluster. `ClusterWorkflowEngine` starts runs, places them and gives them to another process
 * when theirs has ended. Steps, deferreds and clocks are in the journal of `SqlWorkflowEngine`, and every write of a
 * run is conditional on its attempt.
 *
 * @private
 * @since 0.1.0
 */
import type { MessageStorage } from "@effect/cluster/MessageStorage"
import type { Sharding } from "@effect/cluster/Sharding"
import type { SqlError } from "@effect/sql/SqlError"
import type * as Workflow from "@effect/workflow/Workflow"
import { type Encoded, makeUnsafe, type WorkflowEngine, WorkflowInstance } from "@effect/workflow/WorkflowEngine"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type { Owner } from "../durable/engine/EngineStore.js"
import * as JournaledActivity from "../durable/engine/JournaledActivity.js"
import * as ResultText from "../durable/engine/ResultText.js"
import type { Service as RunFence } from "../durable/engine/RunFence.js"
import * as StorageFailure from "../durable/engine/StorageFailure.js"
import * as IndexKey from "../persistence/engine/IndexKey.js"
import * as KeyText from "../persistence/engine/KeyText.js"
import * as ClusterAddress from "./ClusterAddress.js"
import type { Attempt, ClusterAttempts } from "./ClusterAttempts.js"
import { type ClusterStore, workflowKey, workflowName } from "./ClusterStore.js"

type Engine = WorkflowEngine["Type"]

/**
 * @category models
 */
export interface Options {
  readonly store: ClusterStore
  readonly attempts: ClusterAttempts
  /** That of `@effect/cluster`. */
  readonly inner: Engine
  readonly sharding: Sharding["Type"]
  readonly storage: MessageStorage["Type"]
  readonly persist: ReturnType<typeof StorageFailure.persistFor>
  /** That of the cluster; runs have the clock of their registration. */
  readonly clock: Clock.Clock
}

const isSuspension = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)

/** The attempt within which an effect is executed. */
const within = (attempts: ClusterAttempts) =>
  Effect.map(Effect.serviceOption(WorkflowInstance), (instance) =>
    Option.map(instance, ({ executionId }) => attempts.get(executionId))
  )

/** The condition of a write: none from outside of runs, and no write by an attempt that was stopped. */
const writing = (
  attempts: ClusterAttempts,
  write: (by: Owner | undefined) => Effect.Effect<unknown>
): Effect.Effect<void> =>
  Effect.flatMap(within(attempts), (attempt) => {
    if (Option.isNone(attempt)) return Effect.asVoid(write(undefined))
    const run = attempt.value
    return run === undefined || run.isStopped ? Effect.void : Effect.asVoid(write(run.claimed))
  })

const activityExecute =
  ({ attempts, clock, persist, sharding, store }: Options): Encoded["activityExecute"] =>
  (activity, number) =>
    Effect.flatMap(WorkflowInstance, (instance) => {
      const run = attempts.get(instance.executionId)
      if (run === undefined || run.isStopped) return Effect.succeed(JournaledActivity.suspended)
      // What runs inside of a step that has begun ends with it.
      if (run.instance === instance && !sharding.hasShardId(run.shard)) {
        attempts.stop(run)
        return Effect.succeed(JournaledActivity.suspended)
      }
      return Effect.catchAll(
        JournaledActivity.execute({ store, persist, clock, stop: attempts.stop }, run, activity, number),
        (error) => {
          const failure = StorageFailure.of("activity")(error)
          if (!StorageFailure.isPassing(error)) return Effect.die(failure)
          return Effect.uninterruptible(
            Effect.zipRight(
              Effect.sync(() => attempts.stop(run)),
              Effect.as(
                StorageFailure.warn("A workflow pauses: its database failed", failure),
                JournaledActivity.suspended
              )
            )
          )
        }
      )
    })

/** Lets a run that sleeps go on. */
const wake = ({ inner, store }: Options, workflow: Workflow.Any, executionId: string): Effect.Effect<void> =>
  Effect.zipRight(
    StorageFailure.orDie("resume")(store.wake(IndexKey.of(executionId))),
    inner.resume(workflow, executionId)
  )

/** The engine, and what looks for work that no message announces. */
export const make = (options: Options): { readonly engine: Engine; readonly look: Effect.Effect<void, SqlError> } => {
  const { attempts, inner, sharding, storage, store } = options
  const workflows = new Map<string, Workflow.Any>()
  const inTime = Effect.withClock(options.clock)
  /** Runs are drained by the clock of the cluster, whatever the clock of whoever closes it. */
  const closed = (scope: Scope.CloseableScope, exit: Exit.Exit<unknown, unknown>) => inTime(Scope.close(scope, exit))

  const encoded = makeUnsafe({
    register: () => Effect.dieMessage("not used"),
    execute: () => Effect.dieMessage("not used"),
    poll: () => Effect.dieMessage("not used"),
    interrupt: (workflow, executionId) =>
      StorageFailure.orDie("interrupt")(store.interrupt(IndexKey.of(executionId))).pipe(
        Effect.zipRight(Effect.sync(() => attempts.interrupt(executionId))),
        Effect.zipRight(inner.resume(workflow, executionId))
      ),
    resume: (workflow, executionId) => wake(options, workflow, executionId),
    activityExecute: activityExecute(options),
    deferredResult: (deferred) =>
      Effect.flatMap(WorkflowInstance, ({ executionId }) =>
        Effect.flatMap(
          StorageFailure.orDie("deferred")(store.deferred(IndexKey.of(executionId), deferred.name)),
          (kept) => (kept === undefined ? Effect.succeed(undefined) : ResultText.toExit(kept, "deferred"))
        )
      ),
    deferredDone: ({ deferredName, executionId, exit, workflowName }) =>
      Effect.gen(function* () {
        // Only interrupted because its workflow is suspended: it runs again later.
        if (Option.isSome(yield* within(attempts)) && isSuspension(exit)) return
        const result = yield* ResultText.ofExit(exit, "deferred")
        yield* writing(attempts, (by) =>
          StorageFailure.orDie("deferred")(store.settle({ executionId, name: deferredName, result }, by))
        )
        const workflow = workflows.get(workflowKey(workflowName))
        if (workflow !== undefined) yield* inner.resume(workflow, executionId)
      }),
    scheduleClock: (_, { clock, executionId }) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const dueAt = now + Duration.toMillis(clock.duration)
        return writing(attempts, (by) =>
          StorageFailure.orDie("clock")(store.schedule({ executionId, name: clock.deferred.name, dueAt }, by))
        )
      })
  })

  const engine: Engine = {
    ...encoded,
    register: (workflow, execute) =>
      Effect.flatMap(Effect.runtime<never>(), (runtime) => {
        workflows.set(workflowKey(workflow.name), workflow)
        const registered = inner.register(workflow, (payload, executionId) =>
          attempts.run(workflow, executionId, runtime, execute(payload, executionId) as Effect.Effect<any, any, any>)
        )
        return Effect.flatMap(Effect.acquireRelease(Scope.make(), closed), (scope) =>
          inTime(Scope.extend(registered, scope))
        )
      }),
    execute: (workflow, options) =>
      // First of all, so that it can be erased before it begins.
      ResultText.ofPayload(workflow, options.payload).pipe(
        Effect.flatMap((payload) =>
          store.insert({
            executionId: options.executionId,
            workflow: workflowName(workflow.name),
            payload,
            parent: undefined
          })
        ),
        StorageFailure.orDie("execute"),
        Effect.zipRight(inner.execute(workflow, options))
      ),
    poll: inner.poll
  }

  const ring = Effect.gen(function* () {
    const result = yield* ResultText.ofExit(Exit.void, "ring")
    for (const { execution_id: key, name } of yield* store.due(yield* Clock.currentTimeMillis)) {
      yield* store.ring({ key, name }, result)
    }
  })

  /** Executions that were woken and that no attempt has taken. */
  const resumeReady = Effect.gen(function* () {
    for (const [key, workflow] of workflows) {
      for (const execution of yield* store.ready([key])) {
        const executionId = KeyText.decode(execution)
        const address = ClusterAddress.of(sharding, workflow, executionId)
        if (!sharding.hasShardId(address.shardId)) continue
        yield* inner.resume(workflow, executionId)
        // A message that was read while its last answer was kept would be read again after ten minutes.
        yield* Effect.ignore(storage.resetAddress(address))
      }
    }
  })

  return { engine, look: Effect.zipRight(ring, resumeReady) }
}

/** Looks for work at an interval. */
export const looking = (look: Effect.Effect<void, SqlError>, poll: number): Effect.Effect<void, never, Scope.Scope> =>
  Effect.catchAll(look, (error) =>
    StorageFailure.warn("Workflows cannot be read from the database", StorageFailure.of("wait")(error))
  ).pipe(
    StorageFailure.survived,
    Effect.delay(poll),
    Effect.forever,
    Effect.interruptible,
    Effect.forkScoped,
    Effect.asVoid
  )

/** Writes of runs, while the run belongs to the attempt. */
export const fenceOf = (store: ClusterStore, attempts: ClusterAttempts): RunFence => ({
  guard: <A, E, R>(instance: WorkflowInstance["Type"], write: Effect.Effect<A, E, R>) =>
    Effect.suspend((): Effect.Effect<A, E | SqlError, R> => {
      const run: Attempt | undefined = attempts.get(instance.executionId)
      if (run === undefined || run.isStopped || run.instance !== instance) return Effect.interrupt
      return Effect.flatMap(
        store.guarded(run.claimed, write),
        Option.match({
          onNone: () =>
            Effect.zipRight(
              Effect.sync(() => attempts.stop(run)),
              Effect.interrupt
            ),
          onSome: Effect.succeed
        })
      )
    })
})
