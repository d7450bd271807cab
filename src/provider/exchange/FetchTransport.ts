/**
 * Sends requests of providers straight by `fetch`, which costs less than half of a call over `FetchHttpClient`.
 *
 * @since 0.1.0
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as Headers from "@effect/platform/Headers"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import type * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as UrlParams from "@effect/platform/UrlParams"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as SameOriginHttp from "../../internal/SameOriginHttp.js"
import * as HttpTransport from "./HttpTransport.js"

/** One request and its redirects. `open` until nothing of it is left to cancel. */
interface Call {
  readonly fetch: typeof globalThis.fetch
  readonly init: RequestInit
  readonly controller: AbortController
  open: boolean
}

const decoder = new TextDecoder()

const join = (pieces: ReadonlyArray<Uint8Array>, size: number): Uint8Array => {
  if (pieces.length === 1) return pieces[0]!
  const bytes = new Uint8Array(size)
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.byteLength
  }
  return bytes
}

/** Decodes once at the end: decoding piece by piece is many times slower. */
const readText = async (reader: ReadableStreamDefaultReader<Uint8Array>, maxBytes: number, call: Call) => {
  const pieces: Array<Uint8Array> = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    if (size + value.byteLength > maxBytes) return { text: decoder.decode(join(pieces, size)), cut: true }
    size += value.byteLength
    pieces.push(value)
  }
  call.open = false
  return { text: decoder.decode(join(pieces, size)), cut: false }
}

const answerOf = (
  request: HttpClientRequest.HttpClientRequest,
  response: Response,
  call: Call
): HttpTransport.Answer => {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  const { body } = response
  const catchRead = (cause: unknown) =>
    new HttpClientError.ResponseError({
      request,
      response: HttpClientResponse.fromWeb(request, response),
      reason: "Decode",
      cause
    })
  if (body === null) call.open = false
  const read = async (from: ReadableStream<Uint8Array>) => {
    reader ??= from.getReader()
    const { done, value } = await reader.read()
    if (!done) return [value]
    call.open = false
    return undefined
  }
  return {
    status: response.status,
    headers: Headers.fromInput(response.headers),
    text: (maxBytes) =>
      body === null
        ? Effect.succeed({ text: "", cut: false })
        : Effect.tryPromise({ try: () => readText(body.getReader(), maxBytes, call), catch: catchRead }),
    next: body === null ? Effect.succeed(undefined) : Effect.tryPromise({ try: () => read(body), catch: catchRead })
  }
}

const refused = (request: HttpClientRequest.HttpClientRequest, response: Response, target: string) =>
  SameOriginHttp.refuse(request, HttpClientResponse.fromWeb(request, response), target)

const requestError = (request: HttpClientRequest.HttpClientRequest, reason: "Encode" | "InvalidUrl", cause: unknown) =>
  new HttpClientError.RequestError({ request, reason, cause })

const bodyOf = ({ body }: HttpClientRequest.HttpClientRequest): BodyInit | null => {
  switch (body._tag) {
    case "Raw":
    case "Uint8Array":
      return body.body as BodyInit
    case "FormData":
      return body.formData
    default:
      return null
  }
}

const send = (
  call: Call,
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<Response, HttpClientError.RequestError> => {
  if (request.body._tag === "Stream") return Effect.fail(requestError(request, "Encode", "The body is a stream"))
  const url = UrlParams.makeUrl(request.url, request.urlParams, request.hash)
  if (Either.isLeft(url)) return Effect.fail(requestError(request, "InvalidUrl", url.left))
  const headers =
    call.init.headers === undefined
      ? request.headers
      : Headers.merge(Headers.fromInput(new globalThis.Headers(call.init.headers)), request.headers)
  return Effect.tryPromise({
    try: () =>
      call.fetch(url.right, {
        ...call.init,
        method: request.method,
        // `fetch` counts for itself.
        headers: Headers.remove(headers, "content-length"),
        body: bodyOf(request),
        signal: call.controller.signal
      }),
    catch: (cause) => {
      call.open = false
      return new HttpClientError.RequestError({ request, reason: "Transport", cause })
    }
  })
}

/** Sends the request, and again where it is redirected within its origin. */
const follow = (
  call: Call,
  request: HttpClientRequest.HttpClientRequest,
  redirects = 0
): Effect.Effect<HttpTransport.Answer, HttpClientError.HttpClientError> =>
  Effect.flatMap(send(call, request), (response) => {
    if (response.ok) return Effect.succeed(answerOf(request, response, call))
    const location = response.headers.get("location") ?? undefined
    const next = SameOriginHttp.next(request, { status: response.status, location, url: request.url }, redirects)
    if (next === undefined) return Effect.succeed(answerOf(request, response, call))
    if (typeof next === "string") return Effect.fail(refused(request, response, next))
    return Effect.zipRight(
      // Ends the answer that redirects; its connection is of no further interest.
      Effect.ignore(Effect.tryPromise(() => response.body?.cancel() ?? Promise.resolve())),
      follow(call, next, redirects + 1)
    )
  })

const serviceOf = <A>(key: string, current: Context.Context<never>, built: Context.Context<never>): A | undefined =>
  current.unsafeMap.get(key) ?? built.unsafeMap.get(key)

const make: Effect.Effect<HttpTransport.Service, never, HttpClient.HttpClient> = Effect.contextWith(
  (built: Context.Context<HttpClient.HttpClient>): HttpTransport.Service => ({
    client: Context.get(built, HttpClient.HttpClient),
    exchange: (request, use) =>
      Effect.contextWithEffect((current: Context.Context<never>) => {
        const call: Call = {
          fetch: serviceOf<typeof globalThis.fetch>(FetchHttpClient.Fetch.key, current, built) ?? globalThis.fetch,
          init: { ...serviceOf<RequestInit>(FetchHttpClient.RequestInit.key, current, built), redirect: "manual" },
          controller: new AbortController(),
          open: true
        }
        return Effect.ensuring(
          Effect.flatMap(follow(call, request), use),
          Effect.sync(() => {
            // An abort after the end would only make an exception that nobody sees.
            if (call.open) call.controller.abort()
          })
        )
      })
  })
)

/**
 * Sends requests of providers by `fetch` without going through `HttpClient`. The layer also provides the `HttpClient`
 * of `FetchHttpClient`, for everything else. Where middleware is added to that client, providers use the client.
 * `Fetch` and `RequestInit` of `FetchHttpClient` apply, given to this layer or in the context of a call.
 *
 * @example
 * ```ts
 * import * as Layer from "effect/Layer"
 * import { ChatCompletions, ChatCompletionsDialect, FetchTransport } from "effect-lexigram/provider"
 *
 * const layer = ChatCompletions.layer({ ...ChatCompletionsDialect.ollama, model: "qwen3" }).pipe(
 *   Layer.provide(FetchTransport.layer)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<HttpTransport.HttpTransport | HttpClient.HttpClient> = Layer.effect(
  HttpTransport.HttpTransport,
  make
).pipe(Layer.provideMerge(FetchHttpClient.layer))
