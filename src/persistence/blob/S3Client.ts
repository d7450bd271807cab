/**
 * Signed requests to the bucket of an S3-compatible server. No redirect is followed; answers are bounded; failures
 * carry the code and the request id of the server.
 *
 * @private
 * @since 0.1.0
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as BlobBackend from "../../content/BlobBackend.js"
import type { BlobStoreError } from "../../content/ContentError.js"
import * as SigV4 from "./SigV4.js"

/**
 * @category models
 */
export interface Place {
  /** The address of the bucket, ending in `/`. */
  readonly base: URL
  readonly region: string
  readonly accessKeyId: Redacted.Redacted
  readonly secretAccessKey: Redacted.Redacted
  readonly sessionToken?: Redacted.Redacted | undefined
}

/**
 * @category models
 */
export interface Call {
  readonly method: "GET" | "PUT" | "HEAD" | "DELETE"
  readonly key: string
  readonly query?: { readonly [name: string]: string } | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly body?: Uint8Array | undefined
  /** The server may refuse after it has answered with success: the answer is then an error. */
  readonly mayRefuseLate?: boolean | undefined
  /** The most bytes of the answer. Default: 4 MiB. */
  readonly maxBytes?: number | undefined
}

/**
 * @category models
 */
export interface Answer {
  readonly headers: { readonly [name: string]: string }
  readonly body: Uint8Array
}

/** Sends a request; `undefined` if there is no such object. */
export type Send = (call: Call) => Effect.Effect<Answer | undefined, BlobStoreError>

const maxAnswer = 4 * 1_048_576

const unreachable = () =>
  BlobBackend.failure("s3", "storage", "The S3 server cannot be reached", "See to its address, then try again")

const tooLong = () =>
  BlobBackend.failure("s3", "corrupt", "The S3 server answered with more bytes than expected", "See to its contents")

/** Reads at most `most` bytes. */
const readBody = (
  response: HttpClientResponse.HttpClientResponse,
  most: number
): Effect.Effect<Uint8Array, BlobStoreError> =>
  response.stream.pipe(
    // `fetch` has no body where there is none.
    Stream.catchAll((error) => (error.reason === "EmptyBody" ? Stream.empty : Stream.fail(unreachable()))),
    Stream.runFoldEffect({ chunks: [] as Array<Uint8Array>, size: 0 }, (read, chunk) => {
      const size = read.size + chunk.length
      if (size > most) return tooLong()
      read.chunks.push(chunk)
      return Effect.succeed({ chunks: read.chunks, size })
    }),
    Effect.map(({ chunks, size }) => {
      const body = new Uint8Array(size)
      let at = 0
      for (const chunk of chunks) {
        body.set(chunk, at)
        at += chunk.length
      }
      return body
    })
  )

const codeOf = (body: Uint8Array): string | undefined =>
  /<Code>([A-Za-z0-9.]{1,64})<\/Code>/.exec(new TextDecoder().decode(body))?.[1]

const refuse = (status: number, body: Uint8Array, headers: Answer["headers"]): BlobStoreError => {
  const id = headers["x-amz-request-id"]
  const shown = id !== undefined && /^[\w+/=-]{1,128}$/.test(id) ? `, request ${id}` : ""
  const message = `The S3 server refused the request (${codeOf(body) ?? status}${shown})`
  if (status >= 300 && status < 400) {
    return BlobBackend.failure("s3", "refused", message, "Give the endpoint and the region of the bucket")
  }
  return status === 401 || status === 403
    ? BlobBackend.failure("s3", "refused", message, "See to the credentials, their rights and the clock")
    : BlobBackend.failure("s3", "storage", message, "Try again, or see to the bucket")
}

const isMissing = (call: Call, status: number, body: Uint8Array): boolean =>
  status === 404 && (call.method === "HEAD" || codeOf(body) === "NoSuchKey")

/**
 * @category constructors
 */
export const make = (client: HttpClient.HttpClient, place: Place): Send => {
  const quiet = client.pipe(
    HttpClient.withTracerPropagation(false),
    HttpClient.withTracerDisabledWhen(() => true)
  )

  const requestOf = Effect.fnUntraced(function* (call: Call) {
    const url = new URL(place.base)
    url.pathname += call.key
    for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value)
    const payloadHash = SigV4.hashOf(call.body ?? "")
    const token = place.sessionToken
    const headers = {
      ...call.headers,
      "x-amz-content-sha256": payloadHash,
      ...(token === undefined ? {} : { "x-amz-security-token": Redacted.value(token) })
    }
    const signed = SigV4.sign(
      { method: call.method, url, headers, payloadHash },
      {
        accessKeyId: Redacted.value(place.accessKeyId),
        secretAccessKey: Redacted.value(place.secretAccessKey),
        region: place.region,
        service: "s3",
        at: yield* Clock.currentTimeMillis
      }
    )
    const request = HttpClientRequest.make(call.method)(url)
    const filled =
      call.body === undefined
        ? request
        : HttpClientRequest.bodyUint8Array(request, call.body, call.headers?.["content-type"])
    return HttpClientRequest.setHeaders(filled, { ...headers, ...signed.headers })
  })

  return Effect.fnUntraced(function* (call) {
    const response = yield* Effect.mapError(quiet.execute(yield* requestOf(call)), unreachable).pipe(
      Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })
    )
    const { headers, status } = response
    const isDone = status >= 200 && status < 300
    const most = isDone ? (call.maxBytes ?? maxAnswer) : maxAnswer
    const body = call.method === "HEAD" ? new Uint8Array(0) : yield* readBody(response, most)
    const isRefused = call.mayRefuseLate === true && codeOf(body) !== undefined
    if (isDone && !isRefused) return { headers, body }
    return isMissing(call, status, body) ? undefined : yield* refuse(status, body, headers)
  })
}
