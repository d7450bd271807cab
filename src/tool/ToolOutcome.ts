/**
 * Turns the end of a tool call into what the model reads: encodes results, truncates them, and words failures.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ToolFiles from "../content/ToolFiles.js"
import { type ErrorInfo, errorInfo } from "../domain/ErrorInfo.js"
import * as OnDemand from "../internal/fiber/OnDemand.js"
import * as SecretText from "../internal/text/SecretText.js"
import * as Observation from "./definition/Observation.js"
import type * as Tool from "./definition/Tool.js"
import { type ToolError, ToolExecutionError } from "./definition/ToolError.js"
import type { Bound } from "./definition/ToolSet.js"
import type { Fatality, Outcome, ToolCall } from "./ToolRunner.js"

/** How a call ended: a value of the handler, or the error that stopped it. */
export interface Finished {
  readonly value: unknown
  readonly error: ToolError | undefined
  readonly attempts: number
  readonly approved?: true
}

/** A call that an error stopped, after `attempts` attempts. */
export const stopped = (error: ToolError, attempts: number = 0): Finished => ({ value: undefined, error, attempts })

/** The name of a tool or, for an unknown tool, of the call. */
export const nameOf = (tool: Tool.Any | undefined, call: ToolCall): string => tool?.name ?? call.name.slice(0, 128)

/** Failures quote text of other systems, which may contain addresses with keys. */
const redacted = (text: string): string => SecretText.redact(text.slice(0, 4000)).slice(0, 2000)

const describeError = (tool: Tool.Any, error: unknown): string => {
  if (typeof error !== "object" || error === null) return String(error)
  const { _tag: tag, message } = error as { readonly _tag?: unknown; readonly message?: unknown }
  if (typeof message === "string" && message !== "") return message
  const encoded = Observation.stringify(tool.erased.encodeFailure(error))
  if (encoded !== undefined) return encoded
  if (typeof tag === "string") return tag
  return error instanceof Error ? error.name : (Observation.stringify(error) ?? "it did not say why")
}

const hintOf = (error: unknown): string | undefined => {
  if (typeof error !== "object" || error === null) return undefined
  const hint = (error as { readonly hint?: unknown }).hint
  return typeof hint === "string" && hint !== "" ? redacted(hint) : undefined
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** The text of a failed call for the model: the problem, and what to do about it. */
const failureText = (error: ToolError): string =>
  error.hint === undefined ? `Error: ${error.message}` : `Error: ${sentence(error.message)} ${error.hint}`

/** The failure of a handler, as the model reads it. */
export const executionError = (tool: Tool.Any, error: unknown): ToolExecutionError =>
  new ToolExecutionError({
    toolName: tool.name,
    message: `"${tool.name}" failed: ${redacted(describeError(tool, error))}`,
    hint: hintOf(error),
    cause: error
  })

const failed = (call: ToolCall, name: string, finished: Finished, error: ToolError, maxChars: number): Outcome => {
  const { text, truncated } = Observation.truncate(failureText(error), maxChars)
  return {
    id: call.id,
    name,
    isFailure: true,
    result: text,
    observation: text,
    truncated,
    attempts: finished.attempts,
    ...(finished.approved === true ? { approved: true } : {}),
    error: errorInfo(error)
  }
}

const succeeded = (tool: Tool.Any, call: ToolCall, finished: Finished, encoded: unknown, maxChars: number): Outcome => {
  const observed = Observation.make(encoded, maxChars)
  if (observed === undefined) {
    return failed(call, tool.name, finished, executionError(tool, "its result has no JSON form"), maxChars)
  }
  return {
    id: call.id,
    name: tool.name,
    isFailure: false,
    result: observed.result,
    observation: observed.text,
    truncated: observed.truncated,
    attempts: finished.attempts,
    ...(finished.approved === true ? { approved: true } : {})
  }
}

const resultFiles = OnDemand.make(() => import("./ToolResultFiles.js"))

/** A result with files: the model reads the value and the names of the files, and is shown the files. */
const withFiles = (
  tool: Tool.Any,
  call: ToolCall,
  finished: Finished,
  { files, value }: ToolFiles.ToolContent,
  maxChars: number
): Effect.Effect<Outcome> =>
  Effect.flatMap(resultFiles, ({ describe, make }) =>
    Effect.match(make(files), {
      onFailure: (error) => failed(call, tool.name, finished, executionError(tool, error), maxChars),
      onSuccess: (stored): Outcome => {
        const note = describe(stored)
        const outcome = succeeded(tool, call, finished, value ?? "", maxChars)
        if (stored.length === 0 || outcome.isFailure) return outcome
        const observation = outcome.observation === "" ? note : `${outcome.observation}\n${note}`
        const result = typeof outcome.result === "string" ? observation : outcome.result
        return { ...outcome, observation, result, files: stored }
      }
    })
  )

/** Encodes and truncates the end of a call. */
export const make = (tools: Bound, call: ToolCall, finished: Finished, maxChars: number): Effect.Effect<Outcome> => {
  const tool = tools.get(call.name)
  if (tool === undefined || finished.error !== undefined) {
    return Effect.succeed(failed(call, nameOf(tool, call), finished, finished.error as ToolError, maxChars))
  }
  const content = ToolFiles.from(finished.value)
  const encoded = tool.erased.encode(finished.value)
  if (content === undefined && Either.isEither(encoded) && Either.isRight(encoded)) {
    return Effect.succeed(succeeded(tool, call, finished, encoded.right, maxChars))
  }
  return Effect.matchEffect(tools.provide(encoded), {
    onFailure: (issue) => {
      const error = executionError(tool, `its result does not fit its schema: ${issue}`)
      return Effect.succeed(failed(call, tool.name, finished, error, maxChars))
    },
    onSuccess: (value) =>
      content === undefined
        ? Effect.succeed(succeeded(tool, call, finished, value, maxChars))
        : withFiles(tool, call, finished, content, maxChars)
  })
}

/** The outcome, for events, of a call that ended with its run: by a fatal failure, a defect or an interruption. */
export const cutOff = (call: ToolCall, name: string, cause: Cause.Cause<Fatality>, attempts: number): Outcome => {
  const failure = Cause.failureOption(cause)
  const error = Option.isSome(failure)
    ? fatalInfo(failure.value.error)
    : Cause.isInterruptedOnly(cause)
      ? { tag: "InterruptedError", message: `"${name}" was interrupted with its run` }
      : { tag: "Defect", message: `"${name}" crashed` }
  const observation = `Error: ${error.message}`
  return {
    id: call.id,
    name,
    isFailure: true,
    result: observation,
    observation,
    truncated: false,
    attempts,
    error
  }
}

const fatalInfo = (error: unknown): ErrorInfo => {
  const info = errorInfo(error)
  return {
    ...info,
    message: redacted(info.message),
    ...(info.hint === undefined ? {} : { hint: redacted(info.hint) })
  }
}
