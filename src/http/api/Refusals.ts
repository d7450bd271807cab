/**
 * The library's failures as those of requests.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RunError, RunErrorReason } from "../../agent/record/RunError.js"
import * as SecretText from "../../internal/text/SecretText.js"
import type * as SessionErrors from "../../session/turn/SessionError.js"
import type { ApprovalError } from "../../tool/approval/ApprovalError.js"
import type { WebhookError } from "../webhook/WebhookError.js"
import { ApiError, type Reason } from "./ApiError.js"

interface Failure {
  readonly _tag: string
  readonly code: string
  readonly message: string
  readonly hint?: string | undefined
}

/** A failure of the server itself: its log has it, the caller hears that there was one. */
export const unavailable = (error: Failure, retryAfter = 1): Effect.Effect<never, ApiError> =>
  Effect.zipRight(
    Effect.annotateLogs(
      Effect.logWarning(
        `A request failed: ${error._tag}: ${SecretText.redact(SecretText.excerpt(error.message, { maxLength: 500 }))}`
      ),
      { module: "AgentServer" }
    ),
    new ApiError({
      reason: "unavailable",
      error: error.code,
      message: "The server cannot do it now",
      hint: "Try again later",
      retryAfter
    })
  )

const refusal = (reason: Reason, { code, hint, message }: Failure): ApiError =>
  new ApiError({ reason, error: code, message, ...(hint === undefined ? {} : { hint }) })

const ofRuns: Readonly<Record<Exclude<RunErrorReason, "storage" | "full">, Reason>> = {
  "unknown-agent": "unknown",
  "unknown-run": "unknown",
  conflict: "conflict",
  "not-running": "conflict",
  "not-waiting": "conflict",
  invalid: "invalid",
  unsupported: "unsupported"
}

/**
 * @category conversions
 */
export const fromRun = (error: RunError): Effect.Effect<never, ApiError> =>
  error.reason === "storage" || error.reason === "full" ? unavailable(error) : refusal(ofRuns[error.reason], error)

const ofApprovals = {
  unknown: "unknown",
  decided: "conflict",
  expired: "conflict",
  scope: "invalid",
  policy: "forbidden",
  answer: "invalid"
} as const

/**
 * @category conversions
 */
export const fromApproval = (error: ApprovalError): Effect.Effect<never, ApiError> =>
  error.reason === "storage" ? unavailable(error) : refusal(ofApprovals[error.reason], error)

/**
 * @category conversions
 */
export const fromWebhook = (error: WebhookError): Effect.Effect<never, ApiError> => refusal("invalid", error)

/**
 * @category combinators
 */
export const ofRun = <A, R>(effect: Effect.Effect<A, RunError, R>): Effect.Effect<A, ApiError, R> =>
  Effect.catchAll(effect, fromRun)

/**
 * A service that the server may lack; without it, what needs it is not supported.
 *
 * @category combinators
 */
export const offered = <A>(service: Option.Option<A>, what: string): Effect.Effect<A, ApiError> =>
  Option.isSome(service)
    ? Effect.succeed(service.value)
    : new ApiError({ reason: "unsupported", message: `This server keeps no ${what}` })

/**
 * @category models
 */
export type SessionFailure =
  | SessionErrors.SessionNotFoundError
  | SessionErrors.CheckpointNotFoundError
  | SessionErrors.SessionClosedError
  | SessionErrors.SessionExpiredError
  | SessionErrors.SessionTransitionError
  | SessionErrors.SessionCapacityError
  | SessionErrors.SessionConflictError
  | SessionErrors.SessionMergeError
  | SessionErrors.SessionInputError
  | SessionErrors.SessionStorageError

const ofSessions: Readonly<Record<Exclude<SessionFailure["_tag"], "SessionStorageError">, Reason>> = {
  SessionNotFoundError: "unknown",
  CheckpointNotFoundError: "unknown",
  SessionClosedError: "conflict",
  SessionExpiredError: "conflict",
  SessionTransitionError: "conflict",
  SessionCapacityError: "conflict",
  SessionConflictError: "conflict",
  SessionMergeError: "conflict",
  SessionInputError: "invalid"
}

/**
 * @category combinators
 */
export const ofSession = <A, E extends SessionFailure, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, ApiError, R> =>
  Effect.catchAll(effect, (error) =>
    error._tag === "SessionStorageError" ? unavailable(error) : refusal(ofSessions[error._tag], error)
  )
