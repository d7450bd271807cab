/**
 * A chain of clients: when one fails, the next one answers.
 *
 * @since 0.1.0
 */
import type * as Array from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Delivery from "./Delivery.js"
import * as CallGate from "./model/CallGate.js"
import * as CallMeter from "./model/CallMeter.js"
import * as LlmClient from "./model/LlmClient.js"
import type { LlmError } from "./model/LlmError.js"
import * as LlmGateway from "./model/LlmGateway.js"
import * as ModelSettings from "./model/ModelSettings.js"

/**
 * A client of the chain.
 *
 * @since 0.1.0
 * @category models
 */
export interface Entry {
  readonly client: LlmClient.Service
  /** Override the request's settings when this client is called. */
  readonly settings?: ModelSettings.ModelSettings | undefined
  /**
   * `model` and `providerOptions` of a request are for the provider of the chain's first client and are dropped for the
   * others, unless this is true, as for a gateway that serves the same models.
   */
  readonly passModel?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export type Chain = Array.NonEmptyReadonlyArray<LlmClient.Service | Entry>

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Which errors are passed to the next client; default `defaultWhen`. */
  readonly when?: ((error: LlmError) => boolean) | undefined
  /** Runs before the next client is called. By default the error is logged as a warning. */
  readonly onFallback?:
    | ((fallback: {
        readonly error: LlmError
        readonly from: LlmClient.Service
        readonly to: LlmClient.Service
      }) => Effect.Effect<void>)
    | undefined
}

/**
 * Errors that another provider may not have: transient failures (rate limit, timeout, connection, unavailable,
 * malformed response), a missing or wrong key, no credit, a conversation too long for this model. Excludes invalid
 * requests and refusals for content.
 *
 * @since 0.1.0
 * @category getters
 */
export const defaultWhen = (error: LlmError): boolean => {
  switch (error._tag) {
    case "LlmCallRefusedError":
    case "LlmContentPolicyError":
    case "LlmInvalidRequestError":
      return false
    case "LlmAuthenticationError":
    case "LlmConnectionError":
    case "LlmContextOverflowError":
    case "LlmMalformedResponseError":
    case "LlmQuotaError":
    case "LlmRateLimitError":
    case "LlmTimeoutError":
    case "LlmUnavailableError":
    case "LlmUnsupportedContentError":
    case "LlmUnsupportedFeatureError":
      return true
  }
}

const logFallback: NonNullable<Options["onFallback"]> = ({ error, from, to }) =>
  Effect.logWarning("The model call failed; asking the next client").pipe(
    Effect.annotateLogs({
      module: "ModelFallback",
      error: error._tag,
      code: error.code,
      provider: from.provider,
      next: to.provider
    })
  )

const toEntry = (item: LlmClient.Service | Entry): Entry => ("client" in item ? item : { client: item })

const requestFor = (entry: Entry, provider: string, request: LlmClient.LlmRequest): LlmClient.LlmRequest => {
  let settings = request.settings
  if (settings !== undefined && entry.client.provider !== provider && entry.passModel !== true) {
    const { model: _model, providerOptions: _providerOptions, ...rest } = settings
    settings = rest
  }
  if (entry.settings !== undefined) settings = ModelSettings.merge(settings ?? ModelSettings.empty, entry.settings)
  return settings === request.settings ? request : { ...request, settings }
}

/**
 * Calls the clients in order. After the first part reached `onParts` an error propagates, because another answer would
 * be appended to the first. The error of the last client is the error of the call. The response names the answering
 * `provider` and `model`; the service's own `provider` and `model` are the first client's.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (chain: Chain, options?: Options | undefined): LlmClient.Service => {
  const entries = chain.map(toEntry)
  const first = toEntry(chain[0])
  const when = options?.when ?? defaultWhen
  const onFallback = options?.onFallback ?? logFallback
  return {
    provider: first.client.provider,
    model: first.settings?.model ?? first.client.model,
    metered: true,
    complete: (request, completeOptions) =>
      Effect.suspend(() => {
        const watched = Delivery.watch<LlmClient.LlmPart, LlmClient.CompleteOptions | undefined>(completeOptions)
        const ask = (entry: Entry, index: number): Effect.Effect<LlmClient.LlmResponse, LlmError> => {
          const call = CallMeter.metered(entry.client).complete(
            requestFor(entry, first.client.provider, request),
            watched.options
          )
          const next = entries[index + 1]
          if (next === undefined) return call
          return Effect.catchAll(call, (error) =>
            watched.hasBegun() || !when(error)
              ? Effect.fail(error)
              : Effect.zipRight(onFallback({ error, from: entry.client, to: next.client }), ask(next, index + 1))
          )
        }
        return ask(first, 0)
      })
  }
}

/**
 * The client below first, then the given ones.
 *
 * @since 0.1.0
 * @category combinators
 */
export const wrap =
  (others: Chain, options?: Options | undefined): ((inner: LlmClient.Service) => LlmClient.Service) =>
  (inner) =>
    make([inner, ...others], options)

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (chain: Chain, options?: Options | undefined): Layer.Layer<LlmClient.LlmClient> =>
  LlmGateway.layer(make(chain, options))

/**
 * A chain of clients that are layers themselves, each built once. A client that cannot be built fails the layer.
 *
 * @example
 * ```ts
 * import { ModelFallback } from "effect-lexigram"
 * import { OfflineModel } from "effect-lexigram/offline"
 * import { Providers } from "effect-lexigram/provider"
 *
 * // The embedded model answers when the provider cannot.
 * const model = ModelFallback.layerOf([Providers.layerConfig, OfflineModel.layer()])
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerOf = <const Layers extends Array.NonEmptyReadonlyArray<Layer.Layer<LlmClient.LlmClient, any, any>>>(
  layers: Layers,
  options?: Options | undefined
): Layer.Layer<LlmClient.LlmClient, Layer.Layer.Error<Layers[number]>, Layer.Layer.Context<Layers[number]>> =>
  Layer.scoped(
    LlmClient.LlmClient,
    Effect.map(
      Effect.forEach(layers as Array.NonEmptyReadonlyArray<Layers[number]>, (client) =>
        Effect.map(Layer.build(client as Layer.Layer<LlmClient.LlmClient, any, any>), (context) =>
          Context.get(context, LlmClient.LlmClient)
        )
      ),
      (clients) => CallGate.wrap(make(clients as Chain, options))
    )
  )
