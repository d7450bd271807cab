/**
 * Failures of requests over HTTP, as problem details (RFC 9457).
 *
 * @since 0.1.0
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import { WebhookError } from "../webhook/WebhookError.js"

const NAME = "effect-lexigram/http/ApiError"

/** The status of each reason, and its title. */
const STATUS = {
  invalid: [400, "The request is not valid"],
  unauthenticated: [401, "The caller is not known"],
  forbidden: [403, "The caller may not do this"],
  unknown: [404, "Nothing is here"],
  method: [405, "The method is not allowed here"],
  conflict: [409, "The request conflicts with the state of its target"],
  "too-large": [413, "The request is too large"],
  "media-type": [415, "The type of the body is not supported"],
  rate: [429, "There are too many requests"],
  failed: [500, "The server failed"],
  unsupported: [501, "This server cannot do it"],
  unavailable: [503, "The server cannot do it now"]
} as const

/**
 * @since 0.1.0
 * @category models
 */
export type Reason = keyof typeof STATUS

const reasons = Object.keys(STATUS) as [Reason, ...Array<Reason>]

/**
 * - `invalid`: 400, the request is not what the endpoint takes; `issues` say where
 * - `unauthenticated`: 401, the credentials are missing or not valid
 * - `forbidden`: 403
 * - `unknown`: 404, also for what belongs to another user
 * - `method`: 405
 * - `conflict`: 409
 * - `too-large`: 413
 * - `media-type`: 415
 * - `rate`: 429; `retryAfter` says when to come again
 * - `failed`: 500, a bug or a failure of the server; its log has more
 * - `unsupported`: 501
 * - `unavailable`: 503, a store or the model cannot be reached, or too much waits
 *
 * @since 0.1.0
 * @category schemas
 */
export const ApiErrorReason = Schema.Literal(...reasons).annotations({ identifier: `${NAME}/ApiErrorReason` })

/**
 * A part of a request that is not valid.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Issue = Schema.Struct({
  /** Members and indices, from the outside in. */
  path: Schema.Array(Schema.Union(Schema.String, Schema.Number)),
  message: Schema.String
}).annotations({ identifier: `${NAME}/Issue` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Issue extends Schema.Schema.Type<typeof Issue> {}

/**
 * A request failed. `error` is the code of the library's error behind it, where there is one. `requestId` finds the
 * request in the log of the server.
 *
 * @since 0.1.0
 * @category errors
 */
export class ApiError extends ErrorCode.TaggedError<ApiError>(`${NAME}/ApiError`)("ApiError", {
  ...ErrorCode.fields("LEX_ERR_HTTP_100"),
  reason: ApiErrorReason,
  error: Schema.optional(Schema.String),
  issues: Schema.optional(Schema.Array(Issue)),
  /** Seconds. */
  retryAfter: Schema.optional(Schema.Number),
  requestId: Schema.optional(Schema.String)
}) {}

/**
 * A server was set up in a way that cannot work, or that nobody could want.
 *
 * @since 0.1.0
 * @category errors
 */
export class ApiConfigurationError extends ErrorCode.TaggedError<ApiConfigurationError>(
  `${NAME}/ApiConfigurationError`
)("ApiConfigurationError", ErrorCode.fields("LEX_ERR_HTTP_101")) {}

/**
 * Any failure of HTTP edges (family code `LEX_ERR_HTTP_001`).
 *
 * @since 0.1.0
 * @category schemas
 */
export const HttpFailure = ErrorCode.Union(ApiError, ApiConfigurationError, WebhookError)
/**
 * @since 0.1.0
 * @category models
 */
export type HttpFailure = typeof HttpFailure.Type

/**
 * @since 0.1.0
 * @category guards
 */
export const isHttpFailure: (u: unknown) => u is HttpFailure = ErrorCode.is(HttpFailure)

/**
 * The status of a failure.
 *
 * @since 0.1.0
 * @category getters
 */
export const statusOf = ({ reason }: ApiError): number => STATUS[reason][0]

/**
 * The media type of problem details.
 *
 * @since 0.1.0
 * @category constants
 */
export const MEDIA_TYPE = "application/problem+json"

/**
 * A failure as it is sent. Other servers may leave out all members.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ProblemDetails = Schema.Struct({
  title: Schema.optional(Schema.String),
  status: Schema.optional(Schema.Number),
  detail: Schema.optional(Schema.String),
  /** The id of the request. */
  instance: Schema.optional(Schema.String),
  reason: Schema.optional(Schema.String),
  code: Schema.optional(Schema.String),
  hint: Schema.optional(Schema.String),
  issues: Schema.optional(Schema.Array(Issue)),
  retryAfter: Schema.optional(Schema.Number)
}).annotations({ identifier: `${NAME}/ProblemDetails` })
/**
 * @since 0.1.0
 * @category models
 */
export interface ProblemDetails extends Schema.Schema.Type<typeof ProblemDetails> {}

/**
 * @since 0.1.0
 * @category conversions
 */
export const toProblem = (failure: ApiError): ProblemDetails => {
  const { code, error, hint, issues, message, reason, requestId, retryAfter } = failure
  const [status, title] = STATUS[reason]
  return {
    title,
    status,
    detail: message,
    reason,
    code: error ?? code,
    ...(requestId === undefined ? {} : { instance: requestId }),
    ...(hint === undefined ? {} : { hint }),
    ...(issues === undefined ? {} : { issues }),
    ...(retryAfter === undefined ? {} : { retryAfter })
  }
}

const isReason = (text: string | undefined): text is Reason => text !== undefined && Object.hasOwn(STATUS, text)

/** What proxies say of a server that they do not reach: it may be there again soon. */
const UNREACHED = [502, 504]

const reasonOf = (status: number | undefined): Reason => {
  if (status === undefined) return "failed"
  if (UNREACHED.includes(status)) return "unavailable"
  return reasons.find((reason) => STATUS[reason][0] === status) ?? (status < 500 ? "invalid" : "failed")
}

/**
 * The failure that problem details describe. What they leave out follows from their status.
 *
 * @example
 * ```ts
 * import { ApiError } from "effect-lexigram/http"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * // Fails with what the body of a failed response says.
 * const failed = (body: string) =>
 *   Schema.decode(Schema.parseJson(ApiError.ProblemDetails))(body).pipe(
 *     Effect.flatMap((problem) => Effect.fail(ApiError.fromProblem(problem)))
 *   )
 * ```
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromProblem = (problem: ProblemDetails): ApiError => {
  const { code, detail, hint, instance, issues, retryAfter, status } = problem
  const reason = isReason(problem.reason) ? problem.reason : reasonOf(status)
  return new ApiError({
    reason,
    message: detail ?? problem.title ?? STATUS[reason][1],
    ...(code === undefined || code === "LEX_ERR_HTTP_100" ? {} : { error: code }),
    ...(hint === undefined ? {} : { hint }),
    ...(issues === undefined ? {} : { issues }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(instance === undefined ? {} : { requestId: instance })
  })
}

/**
 * The failures of endpoints with a status, for `HttpApiEndpoint.addError`. Those with another one do not fit: an
 * endpoint that may fail in several ways answers each with its own status.
 *
 * @since 0.1.0
 * @category schemas
 */
export const withStatus = (status: number) =>
  Schema.transformOrFail(ProblemDetails, Schema.typeSchema(ApiError), {
    strict: true,
    decode: (problem) => ParseResult.succeed(fromProblem(problem)),
    encode: (failure, _options, ast) =>
      statusOf(failure) === status
        ? ParseResult.succeed(toProblem(failure))
        : ParseResult.fail(new ParseResult.Type(ast, failure, `expected a failure with the status ${status}`))
  })
    .pipe(HttpApiSchema.withEncoding({ kind: "Json", contentType: MEDIA_TYPE }))
    .annotations(HttpApiSchema.annotations({ status, identifier: `${NAME}/Problem${status}` }))
