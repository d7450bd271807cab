/**
 * The port through which providers send requests and read answers. It needs neither a `Stream` nor a `Scope`: an answer
 * is read whole with a bound, or piece by piece, and its connection is released when its use ends.
 *
 * @since 0.1.0
 */
import type * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientError from "@effect/platform/HttpClientError"
import type * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

/**
 * An answer whose status and headers are here. Its body is read once: by `text` or by `next`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Answer {
  readonly status: number
  /** Names are lower-case. */
  readonly headers: { readonly [name: string]: string | undefined }
  /** The body up to `maxBytes`. `cut` is true if it is longer; then `text` is what came before. */
  readonly text: (
    maxBytes: number
  ) => Effect.Effect<{ readonly text: string; readonly cut: boolean }, HttpClientError.HttpClientError>
  /** The next bytes, or `undefined` at the end. */
  readonly next: Effect.Effect<Iterable<Uint8Array> | undefined, HttpClientError.HttpClientError>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The client that the transport stands in for. It is not used where another client is in context. */
  readonly client: HttpClient.HttpClient
  /**
   * Sends a request, whose body is no stream, and uses its answer. The connection is closed if the answer was not read
   * to its end; interruption cancels the request and the read. Redirects are followed as `SameOriginHttp` does.
   */
  readonly exchange: <A, E>(
    request: HttpClientRequest.HttpClientRequest,
    use: (answer: Answer) => Effect.Effect<A, E>
  ) => Effect.Effect<A, E | HttpClientError.HttpClientError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class HttpTransport extends Context.Tag("effect-lexigram/provider/HttpTransport")<HttpTransport, Service>() {}
