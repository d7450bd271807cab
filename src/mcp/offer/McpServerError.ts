/**
 * Failures of MCP servers that their clients learn of.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

const NAME = "effect-lexigram/mcp/McpServerError"

/** The JSON-RPC code of each reason. */
const CODES = {
  invalid: -32602,
  unknown: -32002,
  unsupported: -32601,
  refused: -32000,
  failed: -32603,
  configuration: -32603
} as const

/**
 * - `invalid`: what the client sent is not valid
 * - `unknown`: nothing has this name or address, or the caller may not see it
 * - `unsupported`: the client cannot do what was asked of it
 * - `refused`: the client refused, did not answer in time, or asks too much at once
 * - `failed`: the server could not do it
 * - `configuration`: the server was set up in a way that cannot work
 *
 * @since 0.1.0
 * @category schemas
 */
export const McpServerErrorReason = Schema.Literal(
  "invalid",
  "unknown",
  "unsupported",
  "refused",
  "failed",
  "configuration"
).annotations({ identifier: `${NAME}/McpServerErrorReason` })
/**
 * @since 0.1.0
 * @category models
 */
export type McpServerErrorReason = typeof McpServerErrorReason.Type

/**
 * A request of a client failed, or one to a client. Clients read the message.
 *
 * @since 0.1.0
 * @category errors
 */
export class McpServerError extends ErrorCode.TaggedError<McpServerError>(`${NAME}/McpServerError`)("McpServerError", {
  ...ErrorCode.fields("LEX_ERR_HTTP_103"),
  reason: McpServerErrorReason
}) {}

/**
 * The code of the error in JSON-RPC. A name that is not known is an invalid parameter; only resources have a code for
 * it (-32002).
 *
 * @since 0.1.0
 * @category conversions
 */
export const toRpcCode = ({ reason }: McpServerError): number => CODES[reason]
