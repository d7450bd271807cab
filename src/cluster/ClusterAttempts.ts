/**
 * The attempts at runs in this process. Each has a token, and what it writes is refused once another attempt has the
 * run, in whichever process.
 *
 * @private
 * @since 0.1.0
 */
import type { ShardId } from "@effect/cluster/ShardId"
import * as Workflow from "@effect/workflow/Workflow"
import { type WorkflowEngine, WorkflowInstance } from "@effect/workflow/WorkflowEngine"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import type * as JournaledActivity from "../durable/engine/JournaledActivity.js"
import * as ResultText from "../durable/engine/ResultText.js"
import * as StorageFailure from "../durable/engine/StorageFailure.js"
import * as IndexKey from "../persistence/engine/IndexKey.js"
import type { Claim, ClusterStore } from "./ClusterStore.js"

/**
 * @category models
 */
export interface Attempt extends JournaledActivity.Run {
  readonly shard: ShardId
  /** That of the execution when the attempt began. */
  readonly wake: number
  body: Fiber.RuntimeFiber<unknown, unknown> | undefined
  isStopped: boolean
  isEnding: boolean
}

/**
 * @category models
 */
export interface Options {
  readonly store: ClusterStore
  /** Begins the token of each attempt. */
  readonly processId: string
  readonly shardOf: (workflow: Workflow.Any, executionId: string) => ShardId
  readonly persist: ReturnType<typeof StorageFailure.persistFor>
}

/**
 * @category models
 */
export interface ClusterAttempts {
  /** By the id of the execution. */
  readonly get: (executionId: string) => Attempt | undefined
  /** Ends the attempt; nothing of it is stored. */
  readonly stop: (attempt: Attempt) => void
  /** Interrupts the workflow, if it runs here. */
  readonly interrupt: (executionId: string) => void
  /** Makes an attempt, within the handler of its message. The body has the fiber refs of the runtime. */
  readonly run: <R>(
    workflow: Workflow.Any,
    executionId: string,
    runtime: Runtime.Runtime<never>,
    body: Effect.Effect<unknown, unknown, R>
  ) => Effect.Effect<unknown, unknown, R | WorkflowInstance | WorkflowEngine>
}

const lost: Claim = { _tag: "Lost" }

const interruptFiber = (fiber: Fiber.RuntimeFiber<unknown, unknown> | undefined): void => {
  if (fiber !== undefined) fiber.unsafeInterruptAsFork(fiber.id())
}

/** Interrupts the fiber that runs the body: only then is the result an interruption. */
const interruptSelf = Effect.withFiberRuntime<void>((fiber) => Effect.interruptible(Fiber.interrupt(fiber)))

const stop = (attempt: Attempt): void => {
  if (attempt.isStopped) return
  attempt.isStopped = true
  // As suspended: its scope stays open, so that no compensation runs for a workflow that goes on elsewhere.
  attempt.instance.suspended = true
  interruptFiber(attempt.body)
}

/**
 * Ends the handler as suspended. The engine of the cluster looks for interruptions of suspended workflows before that,
 * and takes a failure of the look for one of the workflow, so it sees the suspension only afterwards.
 */
const suspend = (outer: WorkflowInstance["Type"]): Effect.Effect<never> =>
  Effect.flatMap(Effect.serviceOption(Scope.Scope), (scope) => {
    const suspending = Effect.sync(() => {
      outer.suspended = true
    })
    return Effect.zipRight(
      Option.isSome(scope) ? Scope.addFinalizer(scope.value, suspending) : suspending,
      Effect.interrupt
    )
  })

const bodyOf = <R>(
  attempt: Attempt,
  body: Effect.Effect<unknown, unknown, R>
): Effect.Effect<Workflow.Result<unknown, unknown>, never, R> =>
  Effect.withFiberRuntime<unknown, unknown, R>((fiber) => {
    attempt.body = fiber
    return attempt.isStopped ? Effect.interrupt : body
  }).pipe(
    Effect.onExit(() => {
      const { instance } = attempt
      attempt.isEnding = true
      if (!instance.interrupted || attempt.isStopped) return Effect.void
      instance.suspended = false
      return interruptSelf
    }),
    Workflow.intoResult,
    Effect.provideService(WorkflowInstance, attempt.instance)
  ) as Effect.Effect<Workflow.Result<unknown, unknown>, never, R>

const forkIn = <A, R>(
  runtime: Runtime.Runtime<never>,
  effect: Effect.Effect<A, never, R>
): Effect.Effect<Fiber.RuntimeFiber<A>, never, R> =>
  Effect.contextWith((context: Context.Context<R>) => Runtime.runFork(runtime)(Effect.provide(effect, context)))

/**
 * @category constructors
 */
export const make = ({ persist, processId, shardOf, store }: Options): ClusterAttempts => {
  const attempts = new Map<string, Attempt>()
  let number = 0

  const begin = (
    workflow: Workflow.Any,
    executionId: string
  ): Effect.Effect<{ readonly claim: Claim; readonly attempt: Attempt | undefined }> =>
    Effect.suspend(() => {
      const before = attempts.get(executionId)
      if (before !== undefined) stop(before)
      attempts.delete(executionId)
      const token = `@${processId}/${++number}`
      const shard = shardOf(workflow, executionId)
      const taking = store.take({ executionId, workflow: workflow.name, shard: shard.toString(), token })
      return persist({ isStopped: false }, taking).pipe(
        // The answer of the handler is not kept either, and its message is read again.
        Effect.catchAll((error) =>
          Effect.as(StorageFailure.warn("A workflow waits: its database failed", StorageFailure.of("run")(error)), lost)
        ),
        Effect.map((claim) => {
          if (claim._tag !== "Taken") return { claim, attempt: undefined }
          const instance = WorkflowInstance.initial(workflow, executionId)
          instance.interrupted = claim.interrupted > 0
          const attempt: Attempt = {
            claimed: { key: IndexKey.of(executionId), runnerId: token, executionId },
            entry: { workflow },
            shard,
            instance,
            interrupted: claim.interrupted,
            wake: claim.wake,
            body: undefined,
            isStopped: false,
            isEnding: false,
            recorded: claim.recorded,
            ownedAt: Number.NEGATIVE_INFINITY
          }
          attempts.set(executionId, attempt)
          return { claim, attempt }
        })
      )
    })

  /** Keeps the result. False if the run belongs to another attempt, or the database stayed away. */
  const complete = (attempt: Attempt, exit: Exit.Exit<unknown, unknown>): Effect.Effect<boolean> =>
    ResultText.ofResult(attempt.entry.workflow, exit).pipe(
      Effect.catchAllDefect((defect) => ResultText.ofResult(attempt.entry.workflow, Exit.die(defect))),
      Effect.flatMap((text) => persist(attempt, store.complete(attempt.claimed, undefined, text))),
      Effect.catchAll((error) =>
        Effect.as(StorageFailure.warn("A workflow pauses: its database failed", StorageFailure.of("run")(error)), false)
      )
    )

  const forget = (attempt: Attempt): void => {
    const { executionId } = attempt.claimed
    if (attempts.get(executionId) === attempt) attempts.delete(executionId)
  }

  const settle = (
    attempt: Attempt,
    outer: WorkflowInstance["Type"],
    exit: Exit.Exit<Workflow.Result<unknown, unknown>>
  ): Effect.Effect<unknown, unknown> => {
    if (Exit.isFailure(exit)) return attempt.isStopped ? suspend(outer) : Effect.failCause(exit.cause)
    const result = exit.value
    if (result._tag === "Suspended") {
      if (result.cause !== undefined) outer.cause = result.cause
      return suspend(outer)
    }
    return Effect.flatMap(attempt.isStopped ? Effect.succeed(false) : complete(attempt, result.exit), (isKept) => {
      if (isKept) {
        forget(attempt)
        return result.exit
      }
      stop(attempt)
      return suspend(outer)
    })
  }

  return {
    get: (executionId) => attempts.get(executionId),
    stop,
    interrupt: (executionId) => {
      const attempt = attempts.get(executionId)
      if (attempt === undefined || attempt.instance.interrupted || attempt.isEnding) return
      attempt.instance.interrupted = true
      interruptFiber(attempt.body)
    },
    run: (workflow, executionId, runtime, body) =>
      Effect.flatMap(WorkflowInstance, (outer) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(begin(workflow, executionId), ({ attempt, claim }) => {
            if (claim._tag === "Ended") {
              return Effect.flatMap(ResultText.toResult(workflow, claim.result), ({ exit }) => exit)
            }
            if (attempt === undefined) return suspend(outer)
            return Effect.flatMap(forkIn(runtime, bodyOf(attempt, body)), (fiber) =>
              Effect.flatMap(
                Effect.onInterrupt(restore(Fiber.await(fiber)), () => {
                  stop(attempt)
                  return Fiber.await(fiber)
                }),
                (exit) => settle(attempt, outer, exit)
              )
            )
          })
        )
      )
  }
}
