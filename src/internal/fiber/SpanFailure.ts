/**
 * Reduces failures to the name and message that spans may keep, without data and quotations. Tracers print whole
 * failures, with every field and cause.
 */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as SecretText from "../text/SecretText.js"

/** The messages of these errors quote the text of a model or of its prompt. */
const quoting: ReadonlySet<string> = new Set([
  "LlmInvalidRequestError",
  "LlmMalformedResponseError",
  "OutputValidationError",
  "PlanError",
  "StrategyReplyError"
])

const maxLength = 500

class SpanFailure extends Error {
  constructor(name: string, message: string) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
    this.name = name
  }
}

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)

const describe = (error: unknown): SpanFailure => {
  if (typeof error !== "object" || error === null) {
    return new SpanFailure("Error", SecretText.excerpt(String(error), { maxLength }))
  }
  const fields = error as { readonly [key: string]: unknown }
  // The wrapper that carries failures out of tools and guards.
  if (fields["_tag"] === "Fatality" && "error" in fields) return describe(fields["error"])
  const name = SecretText.excerpt(text(fields["_tag"]) ?? text(fields["name"]) ?? "Error", { maxLength: 128 })
  const message = text(quoting.has(name) ? fields["hint"] : fields["message"]) ?? name
  return new SpanFailure(name, SecretText.excerpt(message, { maxLength }))
}

/** Returns the exit that a span ends with. Successes, defects and interruptions are unchanged. */
export const exit = <A>(exit: Exit.Exit<A, unknown>): Exit.Exit<A, unknown> =>
  Exit.isSuccess(exit) || Option.isNone(Cause.failureOption(exit.cause))
    ? exit
    : Exit.failCause(Cause.map(exit.cause, describe))
