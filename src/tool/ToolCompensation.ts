/**
 * Keeps what the compensation of a call needs once the call has ended.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { errorInfo } from "../domain/ErrorInfo.js"
import type * as Run from "../observability/Run.js"
import * as Step from "../observability/Step.js"
import * as Compensations from "./definition/Compensations.js"
import * as Tool from "./definition/Tool.js"
import { ToolCompensationError } from "./definition/ToolError.js"
import type { Bound } from "./definition/ToolSet.js"
import type { Kept } from "./RecordedTool.js"
import * as ToolAttempts from "./ToolAttempts.js"
import type * as ToolOutcome from "./ToolOutcome.js"
import type * as ToolProgress from "./ToolProgress.js"
import type * as ToolRunner from "./ToolRunner.js"

/** A call of a tool that states a compensation. */
export interface Watched {
  readonly recorder: Step.Service
  readonly run: Run.Service
  readonly tools: Bound
  readonly tool: Tool.Any
  readonly params: unknown
  readonly serving: ToolProgress.Serving
  readonly options: ToolRunner.RunOptions
  /** The place of the call in its run. */
  readonly path: string
  /** Whether an attempt at the call has begun. */
  readonly hasBegun: () => boolean
}

const error = (
  { serving: { id }, tool: { name } }: Pick<Watched, "serving" | "tool">,
  reason: ToolCompensationError["reason"],
  cause?: unknown
): ToolCompensationError =>
  new ToolCompensationError({
    toolName: name,
    callId: id,
    reason,
    message:
      reason === "failed"
        ? `A call of "${name}" is not undone: ${errorInfo(cause).message}`
        : `Nobody knows whether a call of "${name}" had its effect, or is undone`,
    hint:
      reason === "failed"
        ? "Undo it by hand; its compensation may be idempotent, and retried (`retries`, `retryable`)"
        : "Look for its effect by its idempotency key, or make the tool `idempotent`",
    ...(cause === undefined ? {} : { cause })
  })

const unknownOf = (watched: Watched): Compensations.Undone => ({
  error: errorInfo(error(watched, "unknown")),
  attempts: 0,
  durationMs: 0
})

/** The tool whose calls are the compensations of the other one's. */
const undoing = (
  { recorder, serving, tool, tools }: Watched,
  { decode, run }: Tool.Compensation,
  kept: unknown,
  reason: "failed" | "interrupted"
): Tool.Any => {
  const result = Step.isRecording(recorder) ? tools.provide(decode(kept)) : Effect.succeed(kept)
  return Tool.fromParts({
    ...tool,
    erased: {
      ...tool.erased,
      isFatal: () => false,
      handle: (params, call) =>
        Effect.flatMap(result, (result) => run(params, result, { ...call, callKey: serving.idempotencyKey, reason }))
    }
  }) as Tool.Any
}

/** Runs the compensation of a call. */
const undo =
  (watched: Watched, compensation: Tool.Compensation, kept: unknown) =>
  (reason: "failed" | "interrupted"): Effect.Effect<Compensations.Undone> => {
    const { options, params, path, serving, tools } = watched
    let attempts = 1
    const attempted = ToolAttempts.run({
      tools,
      tool: undoing(watched, compensation, kept, reason),
      params,
      options,
      onProgress: () => undefined,
      serving: {
        ...serving,
        // A path has no such character: no call has the same key.
        idempotencyKey: ToolAttempts.keyOf(serving.runId, `${path}!undo`, serving.step, serving.id),
        isOpen: () => false,
        onWaited: () => {},
        waiting: { questions: 0, since: 0 }
      },
      onAttempt: (number) => {
        attempts = number
      }
    })
    const failed = (cause: unknown, durationMs: number): Compensations.Undone => ({
      error: errorInfo(error(watched, "failed", cause)),
      attempts,
      durationMs
    })
    return Effect.flatMap(Clock.currentTimeMillis, (startedAt) =>
      Effect.flatMap(Effect.exit(attempted), (exit) =>
        Effect.flatMap(Clock.currentTimeMillis, (now): Effect.Effect<Compensations.Undone> => {
          const durationMs = now - startedAt
          if (Exit.isFailure(exit)) {
            return Cause.isInterruptedOnly(exit.cause)
              ? Effect.interrupt
              : Effect.succeed(failed(Cause.squash(exit.cause), durationMs))
          }
          const { error } = exit.value
          return Effect.succeed(error === undefined ? { attempts, durationMs } : failed(error, durationMs))
        })
      )
    )
  }

/** Failures of a call that say nothing of its effect. */
const isUnknown = (tag: string | undefined): boolean => tag === "ToolUnknownOutcomeError" || tag === "ToolTimeoutError"

/** Whether the end of a call leaves open what it did. */
const leavesOpen = (exit: Exit.Exit<Kept, ToolRunner.Fatality>, hasBegun: boolean): boolean => {
  if (Exit.isSuccess(exit))
    return exit.value.isFailure && (isUnknown(exit.value.error?.tag) || exit.value.kept !== undefined)
  const failure = Cause.failureOption(exit.cause)
  return Option.isSome(failure) ? isUnknown(errorInfo(failure.value.error).tag) : hasBegun
}

const withoutKept = ({ kept: _, ...outcome }: Kept): ToolRunner.Outcome => outcome

/** The outcome of an end, with what its compensation needs: in a durable run as its schema encodes it. */
export const keeping =
  ({ recorder, tool, tools }: Pick<Watched, "recorder" | "tool" | "tools">) =>
  (end: ToolOutcome.Finished, outcome: ToolRunner.Outcome): Effect.Effect<Kept> => {
    const { compensation } = tool.erased
    if (end.error !== undefined || compensation === undefined) return Effect.succeed(outcome)
    if (!Step.isRecording(recorder)) return Effect.succeed({ ...outcome, kept: { value: end.value } })
    return Effect.match(tools.provide(compensation.encode(end.value)), {
      // The outcome is a failure then: the result does not fit its schema.
      onFailure: () => ({ ...outcome, kept: {} }),
      onSuccess: (value): Kept => ({ ...outcome, kept: { value } })
    })
  }

/** Keeps a call that has ended, if it can be undone or nobody knows what it did. */
const keep = (
  watched: Watched,
  calls: Compensations.Calls,
  call: Compensations.Call,
  exit: Exit.Exit<Kept, ToolRunner.Fatality>,
  ended: { readonly at: number; readonly place: Step.PlaceService | undefined }
): void => {
  const { run, tool } = watched
  const { compensation } = tool.erased
  const isDone = Exit.isSuccess(exit) && !exit.value.isFailure
  // The process that goes on may no longer have the tool.
  if (leavesOpen(exit, watched.hasBegun()) || (isDone && compensation === undefined)) {
    calls.unknown.push({ call, run, undone: unknownOf(watched) })
    calls.seen(call)
  } else if (isDone && compensation !== undefined) {
    calls.add({
      ...ended,
      call,
      run,
      isIdempotent: tool.annotations.idempotent === true,
      undo: undo(watched, compensation, exit.value.kept?.value),
      unknown: unknownOf(watched)
    })
  }
}

/** Runs a call, and keeps it once it has ended. */
export const watch = (
  watched: Watched,
  ended: Effect.Effect<Kept, ToolRunner.Fatality>
): Effect.Effect<ToolRunner.Outcome, ToolRunner.Fatality> =>
  Effect.flatMap(Step.Place, (place) => {
    const { recorder, run, serving, tool } = watched
    const calls = Compensations.of(run)
    if (calls === undefined || recorder.isTaking?.() === true) return Effect.map(ended, withoutKept)
    const key = place.draw("u")
    const call: Compensations.Call = { runId: run.runId, step: serving.step, id: serving.id, name: tool.name, key }
    return Effect.clockWith((clock) => {
      const settled = (exit: Exit.Exit<Kept, ToolRunner.Fatality>): void => {
        if (recorder.isSuspended()) return
        const own = Step.isRecording(recorder) ? Step.makePlace(key, { at: place.at() }) : undefined
        keep(watched, calls, call, exit, { at: clock.unsafeCurrentTimeMillis(), place: own })
      }
      return Effect.map(
        Effect.onExit(ended, (exit) => Effect.sync(() => settled(exit))),
        withoutKept
      )
    })
  })
