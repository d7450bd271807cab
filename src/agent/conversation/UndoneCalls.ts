/**
 * Undoes the calls of runs that fail or are interrupted, in reverse order, each once.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { errorInfo } from "../../domain/ErrorInfo.js"
import type { RunId } from "../../domain/Ids.js"
import * as StepFailure from "../../observability/journal/StepFailure.js"
import type * as Run from "../../observability/Run.js"
import * as Step from "../../observability/Step.js"
import * as Compensations from "../../tool/definition/Compensations.js"
import { ToolCompensationError } from "../../tool/definition/ToolError.js"
import * as ToolProgress from "../../tool/ToolProgress.js"
import { Fatality } from "../../tool/ToolRunner.js"

/** A call that a replay did not come to: it was interrupted, or its agent has changed. */
const notFound = ({ id, name }: Compensations.Call): ToolCompensationError =>
  new ToolCompensationError({
    toolName: name,
    callId: id,
    reason: "failed",
    message: `A call of "${name}" is not undone: the run did not come to it again`
  })

/** Compares texts; numbers in them by their value. */
const compareKeys = (left: string, right: string): number => {
  const parts = (key: string) => key.match(/\d+|\D+/g) ?? []
  const [ours, theirs] = [parts(left), parts(right)]
  for (const [at, part] of ours.entries()) {
    const other = theirs[at]
    if (other === undefined) return 1
    if (part === other) continue
    const [number, otherNumber] = [Number(part), Number(other)]
    return Number.isNaN(number) || Number.isNaN(otherNumber) ? (part < other ? -1 : 1) : number - otherNumber
  }
  return ours.length - theirs.length
}

/** The last one that ended first. Calls that ended within one millisecond: in the order of their places. */
const inReverse = (calls: ReadonlyArray<Compensations.Undoable>): ReadonlyArray<Compensations.Undoable> =>
  calls.every(({ place }) => place === undefined)
    ? calls.toReversed()
    : calls.toSorted((one, other) => other.at - one.at || compareKeys(other.call.key, one.call.key))

/** What is kept of the end of a run: the calls that are to be undone, and those of which nobody knows. */
const Details = Schema.Struct({
  calls: Schema.Array(Compensations.Call),
  unknown: Schema.Array(Schema.Struct({ call: Compensations.Call, undone: Compensations.Undone }))
})
type Details = typeof Details.Type

const detailsOf = ({ done, unknown }: Compensations.Calls): Details => ({
  calls: done.map(({ call }) => call),
  unknown: unknown.map(({ call, undone }) => ({ call, undone }))
})

const decodeDetails = Schema.decodeUnknownOption(Details)

const emit = (own: Run.Service, run: Run.Service, call: Compensations.Call, undone: Compensations.Undone): void => {
  const { attempts, durationMs, error } = undone
  const isOwn = call.runId === own.runId
  // Nobody waits for a reader here: it may be gone.
  void (isOwn ? run : own).unsafeEmit({
    _tag: "ToolCompensated",
    step: call.step,
    id: call.id,
    name: call.name,
    ...(isOwn ? {} : { callRunId: call.runId }),
    isFailure: error !== undefined,
    attempts,
    durationMs,
    ...(error === undefined ? {} : { error })
  })
}

const reported = (call: Compensations.Call, { error }: Compensations.Undone): Effect.Effect<void> =>
  error === undefined
    ? Effect.void
    : Effect.annotateLogs(Effect.logWarning(error.message), {
        module: "ToolCompensation",
        run: call.runId,
        tool: call.name,
        call: call.id
      })

/** Undoes one call; a durable run records it. */
const undoOne = (
  own: Run.Service,
  step: Step.Service,
  { call, isIdempotent, place, run, undo, unknown }: Compensations.Undoable,
  reason: "failed" | "interrupted"
): Effect.Effect<Compensations.NotUndone | undefined> => {
  const options = {
    kind: "undo",
    success: Compensations.Undone,
    error: StepFailure.none,
    ...(isIdempotent ? {} : { lost: Effect.succeedSome(unknown) })
  }
  const undone = place === undefined ? undo(reason) : step.run(options, undo(reason))
  const told = Effect.flatMap(undone, (undone) =>
    Effect.as(
      Effect.zipRight(
        reported(call, undone),
        Effect.sync(() => emit(own, run, call, undone))
      ),
      undone.error === undefined ? undefined : { call, error: undone.error }
    )
  )
  return place === undefined ? told : Effect.provideService(told, Step.Place, place)
}

const reasonOf = (cause: Cause.Cause<unknown>) => (Cause.isInterruptedOnly(cause) ? "interrupted" : "failed")

/** Undoes the calls one at a time. Succeeds with those that are not undone. */
const undoAll = (
  own: Run.Service,
  step: Step.Service,
  calls: Compensations.Calls,
  { calls: wanted, unknown }: Details,
  reason: "failed" | "interrupted"
): Effect.Effect<ReadonlyArray<Compensations.NotUndone>> =>
  Effect.gen(function* () {
    const left: Array<Compensations.NotUndone> = []
    const runs = new Map<RunId, Run.Service>(calls.unknown.map(({ call, run }) => [call.runId, run]))
    for (const [number, { call, undone }] of unknown.entries()) {
      const place = Step.makePlace(`!unknown${number}`, { at: (yield* Step.Place).at() })
      yield* reported(call, undone)
      yield* Effect.provideService(
        Effect.sync(() => emit(own, runs.get(call.runId) ?? own, call, undone)),
        Step.Place,
        place
      )
      if (undone.error !== undefined) left.push({ call, error: undone.error })
    }
    const missing = wanted.filter(({ key }) => !calls.done.some(({ call }) => call.key === key))
    for (const call of missing) left.push({ call, error: errorInfo(notFound(call)) })
    for (const undoable of inReverse(calls.done)) {
      const one = yield* undoOne(own, step, undoable, reason)
      if (one !== undefined) left.push(one)
    }
    return left
  })

/** How often a run that undoes its calls looks whether it goes on elsewhere. */
const LOOK = "50 millis"

/** Interrupts the fiber once the run goes on in another process. */
const untilSuspended = (step: Step.Service, fiber: Fiber.Fiber<unknown, unknown>): Effect.Effect<void> =>
  Effect.delay(
    Effect.suspend(() =>
      step.isSuspended() ? Effect.asVoid(Fiber.interruptFork(fiber)) : untilSuspended(step, fiber)
    ),
    LOOK
  )

/** Runs in a fiber of its own: that of the run may be interrupted already. */
const apart = <A>(step: Step.Service, effect: Effect.Effect<A>): Effect.Effect<Exit.Exit<A>> =>
  Effect.flatMap(Effect.forkDaemon(Effect.interruptible(effect)), (fiber) => {
    if (!Step.isRecording(step)) return Fiber.await(fiber)
    return Effect.flatMap(Effect.forkDaemon(Effect.interruptible(untilSuspended(step, fiber))), (watch) =>
      Effect.zipLeft(Fiber.await(fiber), Fiber.interrupt(watch))
    )
  })

/** The cause of a run that ends as it was decided before, in this process or another one. */
const decided = new WeakMap<Run.Sink, { readonly cause: Cause.Cause<unknown>; readonly details: Details }>()

/** Calls of a run in the handler of a tool are those of the tool, unless the handler is a run itself. */
const isHandedOut = (run: Run.Service, serving: ToolProgress.Serving | undefined): boolean =>
  serving === undefined || serving.isComposed || serving.runId !== run.parentRunId

/** Why a run ended: the failure of a fatal tool itself, as the records of the run keep it. */
const causeOf = ({ cause }: Exit.Failure<unknown, unknown>): Cause.Cause<unknown> =>
  Cause.map(cause, (error) => (error instanceof Fatality ? error.error : error))

/** Whether the run is replayed for a run around it that ends: its interruption is the end of that replay. */
const isCutOff = (step: Step.Service, exit: Exit.Exit<unknown, unknown>): boolean =>
  step.endings?.onlyRecorded === step && Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)

/**
 * Undoes the calls of a run that did not succeed, in an uninterruptible region; those of one that did go to the run
 * around it. Then finishes the run. Interrupted if the run goes on in another process.
 */
export const settle = <A, E, R>(
  run: Run.Service,
  exit: Exit.Exit<A, E>,
  finish: (exit: Exit.Exit<A, E>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.contextWithEffect((context: Context.Context<R>) => {
    const services = context as Context.Context<never>
    const step = Context.get(services, Step.Step)
    const ending = decided.get(run.sink)
    const calls = Compensations.existing(run) ?? new Compensations.Calls()
    if (isCutOff(step, exit)) return exit
    if (ending === undefined && Exit.isSuccess(exit)) {
      if (isHandedOut(run, Context.get(services, ToolProgress.CurrentCall))) Compensations.handOut(run)
      return finish(exit)
    }
    const { cause, details } = ending ?? { cause: causeOf(exit as Exit.Failure<A, E>), details: detailsOf(calls) }
    const kept = ending === undefined ? step.endings?.keep(run.runId, { cause, details }) : undefined
    const undone = undoAll(run, step, calls, details, reasonOf(cause))
    // The run may have come to another number of events when it was decided.
    const place = Step.makePlace(`!${run.runId}`, { at: Context.get(services, Step.Place).at() })
    return Effect.flatMap(apart(step, kept === undefined ? undone : Effect.zipRight(kept, undone)), (ended) => {
      if (Exit.isFailure(ended)) return Effect.failCause(ended.cause)
      if (ended.value.length > 0) Context.get(services, Compensations.Reported)?.(ended.value)
      return Effect.provideService(
        Effect.suspend(() => finish(Exit.failCause(cause as Cause.Cause<E>))),
        Step.Place,
        place
      )
    })
  })

/** Runs the replay until all calls that are to be undone are there again. */
const replayed = (
  calls: Compensations.Calls,
  wanted: ReadonlyArray<Compensations.Call>,
  program: Effect.Effect<unknown, unknown, any>
): Effect.Effect<void, never, any> =>
  Effect.acquireUseRelease(
    Effect.forkDaemon(Effect.interruptible(program)),
    (fiber) =>
      Effect.async<void>((resume) => {
        fiber.addObserver(() => resume(Effect.void))
        calls.onAll(wanted, () => resume(Effect.void))
      }),
    Fiber.interrupt
  )

/**
 * Runs a durable run, unless it was decided before that it ends: then it comes only as far as its records, and ends
 * with that cause.
 */
export const begin = <A, E, R>(
  run: Run.Service,
  endings: Step.Endings,
  program: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(
    endings.find(run.runId),
    Option.match({
      onNone: () => program,
      onSome: ({ cause, details: given }) => {
        const details = Option.getOrElse(decodeDetails(given), () => ({ calls: [], unknown: [] }))
        const calls = Compensations.of(run) ?? new Compensations.Calls()
        const replay = Effect.provideService(program, Step.Step, endings.onlyRecorded)
        decided.set(run.sink, { cause, details })
        return Effect.zipRight(replayed(calls, details.calls, replay), Effect.failCause(cause as Cause.Cause<E>))
      }
    })
  ) as Effect.Effect<A, E, R>
