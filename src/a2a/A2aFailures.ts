/**
 * Failures as the protocol writes them: errors of JSON-RPC with a code of A2A.
 *
 * @private
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import type { ApiError, Reason } from "../http/api/ApiError.js"
import type { Call } from "./A2aModels.js"

/** The codes, and the reasons under which `google.rpc.ErrorInfo` names those of A2A. */
const codes = {
  parse: [-32700],
  request: [-32600],
  method: [-32601],
  params: [-32602],
  internal: [-32603],
  task: [-32001, "TASK_NOT_FOUND"],
  cancel: [-32002, "TASK_NOT_CANCELABLE"],
  push: [-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
  unsupported: [-32004, "UNSUPPORTED_OPERATION"],
  content: [-32005, "CONTENT_TYPE_NOT_SUPPORTED"],
  card: [-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"],
  version: [-32009, "VERSION_NOT_SUPPORTED"]
} as const satisfies Readonly<Record<string, readonly [number, string?]>>

/**
 * @category models
 */
export type Kind = keyof typeof codes

/**
 * @category errors
 */
export class CallFailure extends Data.TaggedError("CallFailure")<{
  readonly kind: Kind
  readonly message: string
}> {}

const kinds: Readonly<Record<Reason, Kind>> = {
  invalid: "params",
  unauthenticated: "request",
  forbidden: "request",
  unknown: "task",
  method: "request",
  conflict: "unsupported",
  "too-large": "request",
  "media-type": "request",
  rate: "internal",
  failed: "internal",
  unsupported: "unsupported",
  unavailable: "internal"
}

/**
 * @category conversions
 */
export const fromApi = ({ hint, issues = [], message, reason }: ApiError): CallFailure => {
  const [issue] = issues
  const detail = issue === undefined || issue.message === message ? "" : `: ${issue.message}`
  return new CallFailure({
    kind: kinds[reason],
    message: `${message}${detail}${hint === undefined ? "" : `. ${hint}`}`
  })
}

/**
 * @category conversions
 */
export const toReply = (id: Call["id"], { kind, message }: CallFailure) => {
  const [code, reason] = codes[kind] as readonly [number, string?]
  const info = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "a2a-protocol.org" }
  return { jsonrpc: "2.0", id, error: { code, message, ...(reason === undefined ? {} : { data: [info] }) } }
}

/**
 * A failure before there is a call. The one that is not valid is a body that is no JSON.
 *
 * @category conversions
 */
export const toFailure = (error: ApiError) =>
  toReply(null, error.reason === "invalid" ? new CallFailure({ ...fromApi(error), kind: "parse" }) : fromApi(error))
