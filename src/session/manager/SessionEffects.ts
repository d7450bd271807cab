/**
 * Effects of a committed write: publishes hooks and events, feeds memory and consolidates it. None of them undoes the
 * write.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as CapturedContext from "../../internal/fiber/CapturedContext.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as Permits from "../../internal/fiber/Permits.js"
import * as SecretText from "../../internal/text/SecretText.js"
import * as MemoryConsolidator from "../../memory/consolidation/MemoryConsolidator.js"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import type { MemoryError } from "../../memory/entry/MemoryError.js"
import * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import type { Session, SessionCheckpoint, SessionTurn } from "../turn/Session.js"
import * as SessionMetrics from "../turn/SessionMetrics.js"
import * as SessionTaskError from "../turn/SessionTaskError.js"
import * as SessionTelemetry from "../turn/SessionTelemetry.js"
import * as SessionMemory from "./SessionMemory.js"

/**
 * Ends when memory has the turns, or did not take them in time.
 *
 * @category models
 */
export type Feed = (
  turns: ReadonlyArray<SessionTurn>,
  session: Session,
  restore: SessionTelemetry.Restore
) => Effect.Effect<void>

/**
 * @category models
 */
export interface Effects {
  readonly telemetry: SessionTelemetry.SessionTelemetry
  /** Ends when memory has the turns, or did not take them in time. Skips it if the caller saves them there itself. */
  readonly turnsAdded: (
    turns: ReadonlyArray<SessionTurn>,
    session: Session,
    checkpoint: SessionCheckpoint | undefined,
    restore: SessionTelemetry.Restore,
    savedTo?: ReadonlyArray<WorkingMemory.Service>
  ) => Effect.Effect<void>
  /** Consolidation runs in the background. */
  readonly ended: (session: Session, restore: SessionTelemetry.Restore) => Effect.Effect<void>
}

/** Milliseconds that memory has to take a turn, and that background work has when the layer closes. */
const timeLimit = 5000

/** Flushes and consolidations: many sessions may expire together, and each calls models. */
const maxAtOnce = 4

const warn = (message: string, annotations?: Record<string, string>): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWarning(message), { module: "SessionManager", ...annotations })

const failed: { readonly [Operation in SessionMetrics.MemoryOperation]: string } = {
  add: "A turn could not be added to memory",
  flush: "Working memory of a session could not be flushed",
  consolidate: "Memory could not be consolidated after a session"
}

/**
 * Keeps the name and message of a failure; of a defect, only that there was one, since its message may show content.
 */
const errorOf = (
  task: SessionTaskError.Task,
  { id: sessionId }: Session,
  cause: Cause.Cause<MemoryError | Cause.TimeoutException>
): SessionTaskError.SessionTaskError => {
  const errorFields = (reason: string) => ({ sessionId, task, message: `${failed[task]}: ${reason}` })
  const failure = Option.getOrUndefined(Cause.failureOption(cause))
  if (failure === undefined) {
    return Cause.isInterruptedOnly(cause)
      ? new SessionTaskError.TaskCancelledError({
          ...errorFields("interrupted"),
          hint: "Keep the session layer open until the work for memory has ended"
        })
      : new SessionTaskError.TaskError(errorFields("defect"))
  }
  const reason = `${failure._tag}: ${SecretText.excerpt(failure.message, { maxLength: 200 })}`
  if (failure._tag === "TimeoutException")
    return new SessionTaskError.TaskTimeoutError({
      ...errorFields(reason),
      timeoutMs: timeLimit,
      hint: "Use a faster memory"
    })
  return failure._tag === "MemoryCapacityError"
    ? new SessionTaskError.TaskValidationError({ ...errorFields(reason), hint: "Raise the limits of the memory" })
    : new SessionTaskError.TaskError({
        ...errorFields(reason),
        hint: "Check whether the store of the memory is reachable"
      })
}

/** Work for memory: a failure is counted, logged and published, and never propagates. */
const passedOver = (
  telemetry: SessionTelemetry.SessionTelemetry,
  task: SessionTaskError.Task,
  session: Session,
  work: () => Effect.Effect<unknown, MemoryError | Cause.TimeoutException>
): Effect.Effect<void> =>
  Effect.uninterruptible(
    Effect.flatMap(Effect.exit(Effect.interruptible(Effect.suspend(work))), (exit) => {
      if (Exit.isSuccess(exit)) return Effect.void
      SessionMetrics.memoryFailed(task)
      const error = errorOf(task, session, exit.cause)
      return Effect.zipRight(
        warn(error.message, { sessionId: session.id, error: error._tag, code: error.code }),
        telemetry.taskFailed(error)
      )
    })
  )

/** When the scope closes, background work has 5 seconds to end and is then interrupted. */
const makeFibers: Effect.Effect<FiberSet.FiberSet<void>, never, Scope.Scope> = Effect.tap(
  FiberSet.make<void>(),
  (fibers) =>
    Effect.addFinalizer(() =>
      Effect.catchAll(
        Deadline.run(() => FiberSet.awaitEmpty(fibers), {
          whole: timeLimit,
          onTimeout: (_phase, limit) => new Cause.TimeoutException(`not finished within ${limit} ms`)
        }),
        ({ message }) => warn(`Work for memory was interrupted: ${message}`)
      )
    )
)

const added = (
  memory: WorkingMemory.Service,
  entries: ReadonlyArray<MemoryEntry>
): Effect.Effect<void, MemoryError> => {
  const [first] = entries
  return first !== undefined && entries.length === 1 ? memory.add(first) : memory.addAll(entries)
}

/** In a fiber of its own, so that memory receives the turns even if the caller is interrupted. */
const feeding =
  (
    fibers: FiberSet.FiberSet<void>,
    memory: WorkingMemory.Service,
    telemetry: SessionTelemetry.SessionTelemetry
  ): Feed =>
  (turns, session, restore) =>
    memory === WorkingMemory.noop || turns.length === 0
      ? Effect.void
      : Effect.flatMap(
          FiberSet.run(
            fibers,
            passedOver(telemetry, "add", session, () =>
              Deadline.run(
                () =>
                  added(
                    memory,
                    turns.map((turn) => SessionMemory.entryOf(turn, session))
                  ),
                {
                  whole: timeLimit,
                  onTimeout: (_phase, limit) => new Cause.TimeoutException(`no answer within ${limit} ms`)
                }
              )
            )
          ),
          (fiber) => restore(Effect.asVoid(Fiber.await(fiber)))
        )

/**
 * @category constructors
 */
export const makeFeed: Effect.Effect<Feed, never, WorkingMemory.WorkingMemory | Scope.Scope> = Effect.gen(function* () {
  return feeding(yield* makeFibers, yield* WorkingMemory.WorkingMemory, yield* SessionTelemetry.make)
})

/**
 * @category constructors
 */
export const make = (options: {
  readonly consolidateOnClose: boolean
}): Effect.Effect<Effects, never, WorkingMemory.WorkingMemory | MemoryConsolidator.MemoryConsolidator | Scope.Scope> =>
  Effect.gen(function* () {
    const memory = yield* WorkingMemory.WorkingMemory
    const consolidator = yield* MemoryConsolidator.MemoryConsolidator
    const telemetry = yield* SessionTelemetry.make
    // By then, the span of the caller has ended.
    const captured = yield* CapturedContext.context<never>()
    const fibers = yield* makeFibers
    const fork = yield* Effect.mapInputContext(
      FiberSet.runtime(fibers)(),
      (_current: Context.Context<never>) => captured
    )
    const feed = feeding(fibers, memory, telemetry)
    const consolidates =
      options.consolidateOnClose && !(memory === WorkingMemory.noop && consolidator === MemoryConsolidator.noop)

    const withPermit = Permits.make(maxAtOnce)
    // Sessions still to be flushed, by owner: the last one consolidates for all.
    const unflushed = new Map<string, number>()
    const count = (ownerId: string, by: 1 | -1): number => {
      const left = (unflushed.get(ownerId) ?? 0) + by
      if (left === 0) unflushed.delete(ownerId)
      else unflushed.set(ownerId, left)
      return left
    }
    const consolidate = (session: Session, ownerId: string): Effect.Effect<void> =>
      withPermit(
        Effect.zipRight(
          passedOver(telemetry, "flush", session, () => memory.flush({ ownerId, sessionId: session.id })),
          Effect.suspend(() =>
            count(ownerId, -1) > 0
              ? Effect.void
              : passedOver(telemetry, "consolidate", session, () => consolidator.consolidate({ ownerId }))
          )
        )
      )

    return {
      telemetry,
      turnsAdded: (turns, session, checkpoint, restore, savedTo) => {
        for (const _ of turns) SessionMetrics.turnAdded()
        const fed = savedTo?.includes(memory) === true ? Effect.void : feed(turns, session, restore)
        return checkpoint === undefined ? fed : Effect.zipRight(telemetry.checkpointed(checkpoint, restore), fed)
      },
      ended: (session, restore) =>
        Effect.suspend(() => {
          if (consolidates) {
            const ownerId = SessionMemory.ownerOfSession(session)
            count(ownerId, 1)
            fork(consolidate(session, ownerId))
          }
          return telemetry.ended(session, restore)
        })
    }
  })
