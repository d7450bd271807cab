/**
 * Sends requests of providers by any `HttpClient`, whatever middleware it has.
 *
 * @since 0.1.0
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientError from "@effect/platform/HttpClientError"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import type * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as SameOriginHttp from "../../internal/SameOriginHttp.js"
import * as HttpTransport from "./HttpTransport.js"

type Next = HttpTransport.Answer["next"]

const readText = Effect.fnUntraced(function* (next: Next, maxBytes: number) {
  const decoder = new TextDecoder()
  let text = ""
  let size = 0
  for (;;) {
    const pieces = yield* next
    if (pieces === undefined) return { text: text + decoder.decode(), cut: false }
    for (const bytes of pieces) {
      size += bytes.byteLength
      if (size > maxBytes) return { text, cut: true }
      text += decoder.decode(bytes, { stream: true })
    }
  }
})

const nextOf = (
  pull: Effect.Effect<Chunk.Chunk<Uint8Array>, Option.Option<HttpClientError.ResponseError>>
): HttpTransport.Answer["next"] =>
  Effect.catchAll(pull, (end) =>
    Option.isNone(end) || end.value.reason === "EmptyBody" ? Effect.succeed(undefined) : Effect.fail(end.value)
  )

// The body of an answer is a stream here: `text` and `arrayBuffer` of a response know no bound.
const open = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.map(Stream.toPull(response.stream), (pull): HttpTransport.Answer => {
    const next = nextOf(pull)
    return { status: response.status, headers: response.headers, text: (maxBytes) => readText(next, maxBytes), next }
  })

/**
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<HttpTransport.Service, never, HttpClient.HttpClient> = Effect.gen(function* () {
  const client = yield* HttpClient.HttpClient
  const http = yield* SameOriginHttp.make
  return {
    client,
    exchange: (request, use) => Effect.scoped(Effect.flatMap(Effect.flatMap(http(request), open), use))
  }
})

/**
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<HttpTransport.HttpTransport, never, HttpClient.HttpClient> = Layer.effect(
  HttpTransport.HttpTransport,
  make
)

/** The transport with options for `fetch`; those in the context of a call win. */
const withInit = ({ client, exchange }: HttpTransport.Service, init: RequestInit): HttpTransport.Service => ({
  client,
  exchange: (request, use) =>
    Effect.mapInputContext(exchange(request, use), (current: Context.Context<never>) =>
      Context.add(current, FetchHttpClient.RequestInit, {
        ...init,
        ...current.unsafeMap.get(FetchHttpClient.RequestInit.key)
      })
    )
})

/**
 * The transport in context if it stands in for the client in context, else one over that client: a client to which
 * middleware was added later is never passed by.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromContext: Effect.Effect<HttpTransport.Service, never, HttpClient.HttpClient> = Effect.contextWithEffect(
  (context: Context.Context<HttpClient.HttpClient>) => {
    const found = Context.getOption(context, HttpTransport.HttpTransport)
    if (Option.isNone(found) || found.value.client !== Context.get(context, HttpClient.HttpClient)) return make
    const init = context.unsafeMap.get(FetchHttpClient.RequestInit.key)
    return Effect.succeed(init === undefined ? found.value : withInit(found.value, init))
  }
)
