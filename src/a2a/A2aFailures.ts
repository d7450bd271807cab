/**
 * Failures as the protocol writes them: errors of JSON-RPC with a code of A2A, and `google.rpc.Status` in HTTP+JSON.
 *
 * @private
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as ApiErrors from "../http/api/ApiError.js"
import type { Call } from "./A2aModels.js"

type ApiError = ApiErrors.ApiError

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
  /** The failure of the API that it is. */
  readonly api?: ApiError | undefined
}> {}

const kinds: Readonly<Record<ApiErrors.Reason, Kind>> = {
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
export const fromApi = (api: ApiError): CallFailure => {
  const { hint, issues = [], message, reason } = api
  const [issue] = issues
  const detail = issue === undefined || issue.message === message ? "" : `: ${issue.message}`
  return new CallFailure({
    api,
    kind: kinds[reason],
    message: `${message}${detail}${hint === undefined ? "" : `. ${hint}`}`
  })
}

/** The reason of a failure of A2A, as JSON-RPC and HTTP+JSON give it in addition. */
const detailsOf = ({ kind }: CallFailure): ReadonlyArray<object> => {
  const [, reason] = codes[kind] as readonly [number, string?]
  const type = "type.googleapis.com/google.rpc.ErrorInfo"
  return reason === undefined ? [] : [{ "@type": type, reason, domain: "a2a-protocol.org" }]
}

/**
 * @category conversions
 */
export const toReply = (id: Call["id"], failure: CallFailure) => {
  const data = detailsOf(failure)
  const error = { code: codes[failure.kind][0], message: failure.message, ...(data.length === 0 ? {} : { data }) }
  return { jsonrpc: "2.0", id, error }
}

/** The names that gRPC has for statuses of HTTP. */
const names: Readonly<Record<number, string>> = {
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "UNIMPLEMENTED",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE"
}

const statusOf = ({ api, kind }: CallFailure): readonly [code: number, name: string] => {
  switch (kind) {
    case "task":
      return [404, "NOT_FOUND"]
    case "cancel":
    case "push":
    case "unsupported":
    case "card":
    case "version":
      return [400, "FAILED_PRECONDITION"]
    case "params":
    case "parse":
    case "content":
      return [400, "INVALID_ARGUMENT"]
    default: {
      const code = api === undefined ? 500 : ApiErrors.statusOf(api)
      return [code, names[code] ?? "INVALID_ARGUMENT"]
    }
  }
}

/**
 * The body of a failure in HTTP+JSON (AIP-193).
 *
 * @category conversions
 */
export const toStatus = (failure: CallFailure) => {
  const [code, status] = statusOf(failure)
  return { error: { code, status, message: failure.message, details: detailsOf(failure) } }
}

/** The address of an agent itself is that of JSON-RPC. */
const isRpc = (url: string): boolean => /^\/a2a\/[^/?#]*(?:[?#]|$)/.test(url)

/**
 * A failure before there is a call. In JSON-RPC, the one that is not valid is a body that is no JSON.
 *
 * @category conversions
 */
export const toFailure = (error: ApiError, _: string, url: string) => {
  const failure = fromApi(error)
  if (isRpc(url))
    return toReply(null, error.reason === "invalid" ? new CallFailure({ ...failure, kind: "parse" }) : failure)
  const code = ApiErrors.statusOf(error)
  const status = names[code] ?? "INVALID_ARGUMENT"
  return { error: { code, status, message: failure.message, details: [] } }
}
