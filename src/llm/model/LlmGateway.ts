/**
 * Model calls through the client in context, and layers of clients whose calls pass the `CallGate`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Stream from "effect/Stream"
import * as ReaderTimeout from "../../domain/ReaderTimeout.js"
import * as EventSink from "../../internal/fiber/EventSink.js"
import * as CallGate from "./CallGate.js"
import * as LlmClient from "./LlmClient.js"
import type { LlmError } from "./LlmError.js"

/**
 * A layer of a given service.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (service: LlmClient.Service): Layer.Layer<LlmClient.LlmClient> =>
  Layer.succeed(LlmClient.LlmClient, CallGate.wrap(service))

/**
 * Wraps the client below; the wrappers of this folder are built on it.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWrapped = <R = never>(
  wrap: (inner: LlmClient.Service) => Effect.Effect<LlmClient.Service, never, R>
): Layer.Layer<LlmClient.LlmClient, never, LlmClient.LlmClient | R> =>
  Layer.effect(LlmClient.LlmClient, Effect.map(Effect.flatMap(LlmClient.LlmClient, wrap), CallGate.wrap))

/**
 * Makes one model call through the client in context.
 *
 * @since 0.1.0
 * @category accessors
 * @example
 * ```ts
 * import { LlmClient, LlmGateway } from "effect-lexigram"
 * import { OfflineModel } from "effect-lexigram/offline"
 * import * as Effect from "effect/Effect"
 *
 * const answer = LlmGateway.complete({ messages: [{ role: "user", content: "What is a heat pump?" }] }).pipe(
 *   Effect.map(LlmClient.text),
 *   Effect.provide(OfflineModel.layer())
 * )
 * ```
 */
export const complete = (
  request: LlmClient.LlmRequest,
  options?: LlmClient.CompleteOptions | undefined
): Effect.Effect<LlmClient.LlmResponse, LlmError, LlmClient.LlmClient> =>
  Effect.flatMap(LlmClient.LlmClient, (client) => CallGate.wrap(client).complete(request, options))

const source = { capacity: 64, patience: ReaderTimeout.current }

/**
 * Makes one model call and streams its parts. Stopping the stream cancels the request, and so does a reader slower than
 * `ReaderTimeout`.
 *
 * @since 0.1.0
 * @category accessors
 */
export const stream = (
  request: LlmClient.LlmRequest
): Stream.Stream<LlmClient.LlmPart, LlmError | ReaderTimeout.ReaderTimeoutError, LlmClient.LlmClient> =>
  EventSink.stream<LlmClient.LlmPart, LlmError | ReaderTimeout.ReaderTimeoutError, LlmClient.LlmClient>(
    source,
    (sink) => {
      const onParts: LlmClient.OnParts = (parts) => {
        for (const part of parts) sink.push(part)
        return sink.settle() ?? Effect.void
      }
      return sink.attended(complete(request, { onParts }))
    }
  )
