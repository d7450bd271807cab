/**
 * Failures as OpenAI's API writes them: `{ error: { message, type, code, param } }`.
 *
 * @private
 * @since 0.1.0
 */
import type { ErrorInfo } from "../../domain/ErrorInfo.js"
import * as PublicView from "../../domain/PublicView.js"
import { ApiError, type Reason } from "../api/ApiError.js"

const INVALID = "invalid_request_error"
const SERVER = "server_error"

/** The type and the code of each reason. */
const kinds: Readonly<Record<Reason, readonly [type: string, code: string]>> = {
  invalid: [INVALID, "invalid_request"],
  unauthenticated: ["authentication_error", "invalid_api_key"],
  forbidden: ["permission_error", "forbidden"],
  unknown: [INVALID, "not_found"],
  method: [INVALID, "method_not_allowed"],
  conflict: [INVALID, "conflict"],
  "too-large": [INVALID, "request_too_large"],
  "media-type": [INVALID, "unsupported_media_type"],
  rate: ["rate_limit_error", "rate_limit_exceeded"],
  failed: [SERVER, "server_error"],
  unsupported: [INVALID, "unsupported"],
  unavailable: [SERVER, "server_unavailable"]
}

/**
 * @category models
 */
export interface Failure {
  readonly error: {
    readonly message: string
    readonly type: string
    readonly code: string
    readonly param: string | null
  }
}

/** A place in a request, such as `messages[0].content`. */
const paramOf = (path: ReadonlyArray<string | number>): string =>
  path.map((part, at) => (typeof part === "number" ? `[${part}]` : at === 0 ? part : `.${part}`)).join("")

/**
 * @category conversions
 */
export const toFailure = ({ error, hint, issues = [], message, reason }: ApiError): Failure => {
  const [type, code] = kinds[reason]
  const [issue] = issues
  const detail = issue === undefined || issue.message === message ? "" : `: ${issue.message}`
  return {
    error: {
      message: `${message}${detail}${hint === undefined ? "" : `. ${hint}`}`,
      type,
      code: error ?? code,
      param: issue === undefined || issue.path.length === 0 ? null : paramOf(issue.path)
    }
  }
}

/**
 * A member of a request that is not valid, or that this server cannot take.
 *
 * @category errors
 */
export const refused = (path: ReadonlyArray<string | number>, code: string, message: string, hint?: string): ApiError =>
  new ApiError({
    reason: code === "model_not_found" ? "unknown" : "invalid",
    error: code,
    message,
    issues: [{ path, message }],
    ...(hint === undefined ? {} : { hint })
  })

const byCode: { readonly [code: string]: readonly [Reason, code: string] } = {
  LEX_ERR_LLM_101: ["unavailable", "model_busy"],
  LEX_ERR_LLM_103: ["invalid", "context_length_exceeded"],
  LEX_ERR_LLM_104: ["invalid", "content_filter"],
  LEX_ERR_LLM_106: ["unavailable", "model_timeout"],
  LEX_ERR_AGT_010: ["rate", "insufficient_quota"],
  LEX_ERR_GUARD: ["invalid", "content_filter"],
  LEX_ERR_GOV: ["forbidden", "forbidden"]
}

/**
 * The failure of a run, in its public view.
 *
 * @category conversions
 */
export const fromRunError = (info: ErrorInfo, interrupted: boolean): ApiError => {
  const { code, message } = PublicView.fromError(info)
  if (interrupted)
    return new ApiError({ reason: "conflict", error: "run_interrupted", message: "The run was interrupted" })
  const [reason, error] = byCode[code ?? ""] ??
    byCode[(code ?? "").replace(/_\d+$/, "")] ?? ["failed" as const, code ?? "run_failed"]
  return new ApiError({ reason, error, message })
}
