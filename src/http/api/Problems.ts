/**
 * What every request passes: its id, its bounds, and the form of its failure.
 *
 * @private
 * @since 0.1.0
 */

import * as HttpApiError from "@effect/platform/HttpApiError"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpIncomingMessage from "@effect/platform/HttpIncomingMessage"
import * as HttpServerError from "@effect/platform/HttpServerError"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as SecretText from "../../internal/text/SecretText.js"
import type { OpenRequests } from "../request/OpenRequests.js"
import * as ApiErrors from "./ApiError.js"
import type { Scheme } from "./Authentication.js"
import { Draining } from "./EventStream.js"

const { ApiError } = ApiErrors
type ApiError = ApiErrors.ApiError

const MOST_ISSUES = 20
const LONGEST_ISSUE = 300

const fromDecode = ({ issues }: HttpApiError.HttpApiDecodeError): ApiError =>
  new ApiError({
    reason: "invalid",
    message: "The request is not what the endpoint takes",
    issues: issues.slice(0, MOST_ISSUES).map(({ message, path }) => ({
      path: path.map((part) => (typeof part === "symbol" ? String(part) : part)),
      message: SecretText.redact(SecretText.excerpt(message, { maxLength: LONGEST_ISSUE }))
    }))
  })

const tooLarge = (most: number): ApiError =>
  new ApiError({
    reason: "too-large",
    message: `The body of a request has at most ${most} bytes`,
    hint: "Give files by their URLs, or attach them to the session first"
  })

/** As servers of the platform say that a body is too large. */
export const TOO_LARGE = "maxBytes exceeded"

const isTooLarge = (error: HttpServerError.RequestError): boolean => String(error.cause).includes(TOO_LARGE)

const ofRequest = (error: HttpServerError.RequestError, most: number): ApiError =>
  isTooLarge(error)
    ? tooLarge(most)
    : new ApiError({ reason: "invalid", message: "The body of the request is not JSON in UTF-8" })

/** The methods that a path has, by the segments of its template; `*` is a parameter. */
export type Paths = ReadonlyArray<{ readonly segments: ReadonlyArray<string>; readonly method: string }>

const methodsOf = (paths: Paths, url: string): ReadonlyArray<string> => {
  const segments = url.split(/[?#]/, 1)[0]?.split("/") ?? []
  return paths
    .filter(
      (path) =>
        path.segments.length === segments.length &&
        path.segments.every((part, at) => (part === "*" ? segments[at] !== "" : part === segments[at]))
    )
    .map(({ method }) => method)
}

const notFound = (paths: Paths, request: HttpServerRequest.HttpServerRequest) => {
  const methods = methodsOf(paths, request.url)
  return methods.length === 0
    ? { error: new ApiError({ reason: "unknown", message: "No endpoint has this path" }), headers: {} }
    : {
        error: new ApiError({ reason: "method", message: `This path takes ${methods.join(", ")}` }),
        headers: { allow: methods.join(", ") }
      }
}

/**
 * How failures of paths below a prefix are written.
 *
 * @category models
 */
export interface Failures {
  /** Such as `/openai/`. */
  readonly prefix: string
  readonly write: (error: ApiError, requestId: string, url: string) => unknown
  /** Further headers of a failure, such as another challenge; default none. */
  readonly headers?: ((error: ApiError) => Readonly<Record<string, string>>) | undefined
}

/**
 * @category models
 */
export interface Options {
  /** Default: problem details. */
  readonly failures?: ReadonlyArray<Failures> | undefined
  readonly maxBodyBytes: number
  readonly open: OpenRequests
  readonly paths: Paths
  readonly schemes: ReadonlyArray<Scheme>
}

/** The names of the credentials that a server takes (RFC 9110). */
const challenge = (schemes: ReadonlyArray<Scheme>): Readonly<Record<string, string>> => {
  const names = schemes.map((scheme) => (scheme.type === "bearer" ? "Bearer" : `ApiKey header="${scheme.header}"`))
  return names.length === 0 ? {} : { "www-authenticate": names.join(", ") }
}

const respond = (
  error: ApiError,
  requestId: string,
  { failures = [], schemes }: Options,
  url: string,
  more: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse => {
  const failure = failures.find(({ prefix }) => url.startsWith(prefix))
  return HttpServerResponse.unsafeJson(
    failure === undefined
      ? { ...ApiErrors.toProblem(error), instance: requestId }
      : failure.write(error, requestId, url),
    {
      status: ApiErrors.statusOf(error),
      contentType: failure === undefined ? ApiErrors.MEDIA_TYPE : "application/json",
      headers: {
        "cache-control": "no-store",
        ...(error.retryAfter === undefined ? {} : { "retry-after": String(Math.ceil(error.retryAfter)) }),
        ...(error.reason === "unauthenticated" ? challenge(schemes) : {}),
        ...failure?.headers?.(error),
        ...more
      }
    }
  )
}

/** The failure that a cause is for the caller; none for a bug, which it learns nothing of. */
const failureOf = (
  cause: Cause.Cause<unknown>,
  request: HttpServerRequest.HttpServerRequest,
  { maxBodyBytes, paths }: Options
): { readonly error: ApiError; readonly headers?: Readonly<Record<string, string>> } | undefined => {
  const error = Option.getOrUndefined(Option.orElse(Cause.failureOption(cause), () => Cause.dieOption(cause)))
  if (error instanceof ApiError) return { error }
  if (error instanceof HttpApiError.HttpApiDecodeError) return { error: fromDecode(error) }
  if (error instanceof HttpServerError.RouteNotFound) return notFound(paths, request)
  if (error instanceof HttpServerError.RequestError) return { error: ofRequest(error, maxBodyBytes) }
  return undefined
}

const tooDeep = new ApiError({ reason: "invalid", message: "The body of the request nests too deep" })

/** The issues of a body that nests too deep cannot even be written down. */
const isTooDeep = (cause: Cause.Cause<unknown>): boolean => {
  const defect = Option.getOrUndefined(Cause.dieOption(cause))
  return defect instanceof RangeError && defect.message.includes("call stack")
}

const failed = new ApiError({ reason: "failed", message: "The server failed; its log has more" })

const plainId = /^[A-Za-z0-9._-]{1,64}$/

const requestIdOf = ({ headers }: HttpServerRequest.HttpServerRequest): string => {
  const given = headers["x-request-id"]
  return given !== undefined && plainId.test(given) ? given : globalThis.crypto.randomUUID()
}

const takesBody = new Set(["POST", "PUT", "PATCH"])

const ending = new ApiError({
  reason: "unavailable",
  message: "The server is ending",
  hint: "Send the request again: another server may take it",
  retryAfter: 1
})

const cut = new ApiError({
  reason: "unavailable",
  message: "The server ended before the answer",
  hint: "What it began may go on: send the request again with the same Idempotency-Key",
  retryAfter: 1
})

/** A body is JSON, and not larger than allowed where it says how large it is. */
const refusalOf = (
  { headers, method }: HttpServerRequest.HttpServerRequest,
  { maxBodyBytes, open }: Options
): ApiError | undefined => {
  if (open.isClosing()) return ending
  const length = Number(headers["content-length"] ?? "0")
  if (length > maxBodyBytes) return tooLarge(maxBodyBytes)
  const type = headers["content-type"]
  return type !== undefined && takesBody.has(method) && !/^application\/(?:[\w.+-]{1,64}\+)?json\s*(?:;|$)/i.test(type)
    ? new ApiError({ reason: "media-type", message: "The body of a request is application/json" })
    : undefined
}

/**
 * Whether nobody reads the response of a request of Node, as after a body that was too large. The platform waits for
 * the end of such a response, if it has a body, and for ever.
 */
const isDisconnected = ({ source }: HttpServerRequest.HttpServerRequest): boolean =>
  Predicate.hasProperty(source, "socket") &&
  Predicate.hasProperty(source.socket, "destroyed") &&
  source.socket.destroyed === true

/**
 * Renders failures as problem details, bounds the body, names the request, lets nothing act for the system, and answers
 * none while the server ends.
 *
 * @category middleware
 */
export const middleware =
  (options: Options) =>
  <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<never, R | Scope.Scope> =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const requestId = requestIdOf(request)
      const refusal = refusalOf(request, options)
      const handled: HttpApp.Default<E | ApiError, R | Scope.Scope> =
        refusal === undefined
          ? Effect.zipRight(options.open.enter(request), Effect.provideService(app, Draining, options.open.closing))
          : refusal
      const answered = handled.pipe(
        HttpIncomingMessage.withMaxBodySize(Option.some(options.maxBodyBytes)),
        SystemAccess.drop,
        Effect.catchAllCause((cause: Cause.Cause<unknown>) => {
          const isInterrupted = Cause.isInterruptedOnly(cause)
          if (isInterrupted && !options.open.isClosing()) return Effect.failCause(cause as Cause.Cause<never>)
          const found = isInterrupted ? { error: cut } : failureOf(cause, request, options)
          if (found !== undefined) {
            return Effect.succeed(respond(found.error, requestId, options, request.url, found.headers))
          }
          const isDeep = isTooDeep(cause)
          const told = isDeep
            ? Effect.logWarning("A request nests too deep", cause)
            : Effect.logError("A request failed by a bug", cause)
          return Effect.as(
            Effect.annotateLogs(told, { module: "AgentServer" }),
            respond(isDeep ? tooDeep : failed, requestId, options, request.url)
          )
        }),
        Effect.map((response) => {
          if (isDisconnected(request)) return HttpServerResponse.empty({ status: response.status })
          const named = HttpServerResponse.setHeader(response, "x-request-id", requestId)
          return options.open.isClosing() ? HttpServerResponse.setHeader(named, "connection", "close") : named
        }),
        Effect.annotateLogs("requestId", requestId)
      )
      return answered
    })

/**
 * A web request whose body breaks where it is too large: unlike requests of servers, it has no bound of its own.
 *
 * @category combinators
 */
export const bounded = (request: Request, most: number): Request => {
  if (request.body === null) return request
  let bytes = 0
  const bound = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      bytes += chunk.byteLength
      if (bytes > most) controller.error(new Error(TOO_LARGE))
      else controller.enqueue(chunk)
    }
  })
  const init = { body: request.body.pipeThrough(bound), duplex: "half" } as const
  return new Request(request, init as RequestInit)
}
