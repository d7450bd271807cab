/**
 * HTTP client for requests with credentials: no redirect takes them to another origin, no span contains them, and trace
 * headers are not sent.
 *
 * @since 0.1.0
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * Sends a request. The scope closes the connection.
 *
 * @since 0.1.0
 * @category models
 */
export type SameOriginHttp = (
  request: HttpClientRequest.HttpClientRequest
) => Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError, Scope.Scope>

/**
 * The most redirects of one request.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxRedirects = 3

const redirectStatus = new Set([301, 302, 303, 307, 308])

/** `fetch` returns the status 0 if it hides the target of a redirect, as browsers do. */
const hiddenStatus = 0

const explanation = "The server redirects to"

/**
 * The failure of a request whose redirect is not followed. `target` says where it leads.
 *
 * @since 0.1.0
 * @category constructors
 */
export const refuse = (
  request: HttpClientRequest.HttpClientRequest,
  response: HttpClientResponse.HttpClientResponse,
  target: string
) =>
  new HttpClientError.ResponseError({
    request,
    response,
    reason: "StatusCode",
    description: `${explanation} ${target}, which is not followed`
  })

/**
 * True for the failure of a request whose redirect was refused.
 *
 * @since 0.1.0
 * @category guards
 */
export const isRefusedRedirect = (error: unknown): error is HttpClientError.ResponseError =>
  HttpClientError.isHttpClientError(error) &&
  error.reason === "StatusCode" &&
  error.description?.startsWith(explanation) === true

/** Returns the request at the redirect's address, or the reason for not sending it. */
const follow = (
  request: HttpClientRequest.HttpClientRequest,
  from: string,
  status: number,
  location: string
): HttpClientRequest.HttpClientRequest | string => {
  if (!URL.canParse(location, from)) return "an address that is no URL"
  const target = new URL(location, from)
  if (target.origin !== new URL(from).origin) return `another origin (${target.origin.slice(0, 200)})`
  if (target.username !== "" || target.password !== "") return "an address with credentials"
  const keepsMethod = status === 307 || status === 308
  if (!keepsMethod && request.method !== "GET" && request.method !== "HEAD") return "an address for another method"
  if (request.body._tag === "Stream") return "another address, and the body was sent already"
  return HttpClientRequest.setUrl(request, target)
}

/**
 * What follows an answer: nothing, the same request at the address of a redirect, or the reason why it is not sent
 * there.
 *
 * @since 0.1.0
 * @category combinators
 */
export const next = (
  request: HttpClientRequest.HttpClientRequest,
  answer: { readonly status: number; readonly location: string | undefined; readonly url: string },
  redirects: number
): HttpClientRequest.HttpClientRequest | string | undefined => {
  if (answer.status === hiddenStatus) return "an address that is hidden here"
  if (!redirectStatus.has(answer.status) || answer.location === undefined) return undefined
  if (redirects >= maxRedirects) return "yet another address"
  return follow(request, answer.url, answer.status, answer.location)
}

/**
 * Makes a client that follows up to {@link maxRedirects} redirects within the origin, by the method of the request. Any
 * other redirect, and one whose target the platform hides, is a `ResponseError` that names only the origin. Options for
 * `fetch` come from the context of this constructor and of each call; options given only to the layer of
 * `FetchHttpClient` are not seen.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<SameOriginHttp, never, HttpClient.HttpClient> = Effect.contextWith(
  (context: Context.Context<HttpClient.HttpClient>) => {
    const client = Context.get(context, HttpClient.HttpClient).pipe(
      HttpClient.withTracerPropagation(false),
      HttpClient.withTracerDisabledWhen(() => true),
      HttpClient.withScope
    )
    const initOf = (from: Context.Context<never>): RequestInit | undefined =>
      from.unsafeMap.get(FetchHttpClient.RequestInit.key)
    const built = initOf(context)

    const execute = Effect.fnUntraced(function* (first: HttpClientRequest.HttpClientRequest) {
      let request = first
      for (let redirects = 0; ; redirects++) {
        const response = yield* client.execute(request)
        const answer = { status: response.status, location: response.headers.location, url: response.request.url }
        const following = next(request, answer, redirects)
        if (following === undefined) return response
        if (typeof following === "string") return yield* refuse(request, response, following)
        request = following
      }
    })

    return (request) =>
      Effect.mapInputContext(execute(request), (current: Context.Context<Scope.Scope>) =>
        Context.add(current, FetchHttpClient.RequestInit, { ...built, ...initOf(current), redirect: "manual" })
      )
  }
)
