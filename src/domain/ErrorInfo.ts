/**
 * Errors as events carry them: bounded, without causes and with secrets removed.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as SecretText from "../internal/text/SecretText.js"

/**
 * An error as an event carries it: tag, code, message and hint, never the cause.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ErrorInfo = Schema.Struct({
  tag: Schema.String,
  code: Schema.optional(Schema.String),
  message: Schema.String,
  hint: Schema.optional(Schema.String)
}).annotations({ identifier: "effect-lexigram/domain/AgentEvent/ErrorInfo" })
/**
 * @since 0.1.0
 * @category models
 */
export interface ErrorInfo extends Schema.Schema.Type<typeof ErrorInfo> {}

const truncate = (text: string, max: number): string =>
  text.length <= max ? text : text.slice(0, max).replace(/[\ud800-\udbff]$/, "")

const textOf = (fields: Record<string, unknown>, name: string): string | undefined => {
  const value = fields[name]
  return typeof value === "string" && value !== "" ? value : undefined
}

/**
 * Converts an error value for an event. Tag and code are cut to 128 characters, message and hint to 2,000, and texts
 * that look like keys are removed. Causes and other fields are dropped.
 *
 * @since 0.1.0
 * @category conversions
 */
export const errorInfo = (error: unknown): ErrorInfo => {
  if (typeof error !== "object" || error === null)
    return { tag: "UnknownError", message: SecretText.redact(truncate(String(error), 2000)) }
  const fields = error as Record<string, unknown>
  const tag = truncate(textOf(fields, "_tag") ?? textOf(fields, "name") ?? "UnknownError", 128)
  const code = textOf(fields, "code")
  const hint = textOf(fields, "hint")
  return {
    tag,
    ...(code === undefined ? {} : { code: truncate(code, 128) }),
    message: SecretText.redact(truncate(textOf(fields, "message") ?? tag, 2000)),
    ...(hint === undefined ? {} : { hint: SecretText.redact(truncate(hint, 2000)) })
  }
}
