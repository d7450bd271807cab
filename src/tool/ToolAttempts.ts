/**
 * Runs the handler of a tool under its time limit, and retries attempts that may succeed another time.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Deadline from "../internal/fiber/Deadline.js"
import * as Step from "../observability/Step.js"
import * as HandledTool from "./definition/HandledTool.js"
import type * as Tool from "./definition/Tool.js"
import { ToolExecutionError, ToolTimeoutError } from "./definition/ToolError.js"
import type { Bound } from "./definition/ToolSet.js"
import * as ToolOutcome from "./ToolOutcome.js"
import * as ToolProgress from "./ToolProgress.js"
import { defaults, Fatality, type RunOptions } from "./ToolRunner.js"

/** One call of a handler: its tool, its decoded arguments and its bounds. */
export interface Handling {
  readonly tools: Bound
  readonly tool: Tool.Any
  readonly params: unknown
  readonly options: RunOptions
  /** Takes reports of progress. */
  readonly onProgress: ToolProgress.CurrentReports["Type"]
  readonly serving: ToolProgress.Serving
  /** Called when an attempt begins. */
  readonly onAttempt: (number: number) => void
}

const MAX_KEY = 200

/** FNV-1a of 32 bits, in hexadecimal digits. */
const digest = (text: string, seed: number): string => {
  let hash = seed
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return (hash >>> 0).toString(16).padStart(8, "0")
}

/** The name of a call for other systems. Providers give ids of calls of any length. */
export const keyOf = (runId: string, path: string, step: number, callId: string): string => {
  const whole = `${runId}${path}/${step}/${callId}`
  return whole.length <= MAX_KEY
    ? whole
    : `${whole.slice(0, MAX_KEY - 17)}~${digest(whole, 0x811c9dc5)}${digest(whole, 0x01234567)}`
}

/** Waits between attempts: 1 s, 2 s, 4 s, …, at most 30 s. */
const backoff = (attempt: number): Duration.Duration => Duration.millis(Math.min(2 ** (attempt - 1) * 1000, 30_000))

const timeoutOf = (tool: Tool.Any, options: RunOptions): number | undefined => {
  const millis = Duration.toMillis(tool.annotations.timeout ?? options.timeout ?? defaults.timeout)
  return Number.isFinite(millis) ? millis : undefined
}

const attemptsOf = (tool: Tool.Any, options: RunOptions): number =>
  Math.max(
    1,
    tool.annotations.retries === undefined
      ? (options.maxAttempts ?? defaults.maxAttempts)
      : tool.annotations.retries + 1
  )

/** Marks the timeout of this attempt: a handler may fail with the timeout of a tool that it calls itself. */
class Expired {
  constructor(readonly error: ToolTimeoutError) {}
}

const attempt = (
  { onProgress, options, params, serving, tool, tools }: Handling,
  number: number
): Effect.Effect<unknown, unknown> =>
  Deadline.run(
    () =>
      tools.provide(
        tool.erased.handle(params, { id: serving.id, idempotencyKey: serving.idempotencyKey, attempt: number })
      ),
    {
      whole: timeoutOf(tool, options),
      pausable: true,
      provide: (services) => {
        services.set(HandledTool.HandledTool.key, tool.name)
        services.set(ToolProgress.CurrentReports.key, onProgress)
        services.set(ToolProgress.CurrentCall.key, { ...serving, asked: 0 } satisfies ToolProgress.Attempt)
      },
      onTimeout: (_phase, timeoutMs) =>
        new Expired(
          new ToolTimeoutError({
            toolName: tool.name,
            timeoutMs,
            message: `"${tool.name}" did not end within ${timeoutMs} ms and was stopped`
          })
        )
    }
  )

/** The handler interrupted itself. A durable run that was suspended inside has no outcome yet. */
const interrupted = (
  tool: Tool.Any,
  cause: Cause.Cause<unknown>,
  number: number
): Effect.Effect<ToolOutcome.Finished> =>
  Effect.flatMap(Step.Step, (step) =>
    step.isSuspended()
      ? Effect.failCause(Cause.stripFailures(cause))
      : Effect.succeed(
          ToolOutcome.stopped(
            new ToolExecutionError({ toolName: tool.name, message: `"${tool.name}" was interrupted` }),
            number
          )
        )
  )

/** The end of an attempt that failed: another attempt, a failure that the model reads, or the end of the run. */
const failed = (
  handling: Handling,
  cause: Cause.Cause<unknown>,
  number: number
): Effect.Effect<ToolOutcome.Finished, Fatality> => {
  const { options, tool } = handling
  const defects = Cause.keepDefects(cause)
  if (Option.isSome(defects)) return Effect.failCause(defects.value)
  const failure = Cause.failureOption(cause)
  if (Option.isNone(failure)) return interrupted(tool, cause, number)
  const error = failure.value
  const isExpired = error instanceof Expired
  const isRetried = isExpired ? tool.annotations.idempotent === true : tool.erased.isRetryable(error)
  if (isRetried && number < attemptsOf(tool, options)) {
    return Effect.zipRight(
      Effect.sleep(backoff(number)),
      Effect.suspend(() => run(handling, number + 1))
    )
  }
  if (isExpired) return Effect.succeed(ToolOutcome.stopped(error.error, number))
  if (tool.erased.isFatal(error)) {
    return Effect.fail(new Fatality({ error, toolName: tool.name, encoded: tool.erased.encodeFailure(error) }))
  }
  return Effect.succeed(ToolOutcome.stopped(ToolOutcome.executionError(tool, error), number))
}

/** Runs the handler, attempt by attempt. */
export const run = (handling: Handling, number: number = 1): Effect.Effect<ToolOutcome.Finished, Fatality> => {
  handling.onAttempt(number)
  return Effect.matchCauseEffect(attempt(handling, number), {
    onSuccess: (value) => Effect.succeed({ value, error: undefined, attempts: number }),
    onFailure: (cause) => failed(handling, cause, number)
  })
}
