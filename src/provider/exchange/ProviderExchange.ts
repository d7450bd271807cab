/**
 * One HTTP exchange with a provider: sends the request, receives the answer complete or streamed, and turns every
 * failure into an {@link LlmError}.
 *
 * @private
 * @since 0.1.0
 */
import type * as AiError from "@effect/ai/AiError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Ambient from "../../internal/fiber/Ambient.js"
import type { CompleteOptions, LlmPart, LlmRequest, LlmResponse, Service } from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import { LlmConfigurationError, LlmInvalidRequestError } from "../../llm/model/LlmError.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as PartAssembler from "../../llm/model/PartAssembler.js"
import * as AnswerEvents from "./AnswerEvents.js"
import type * as HttpTransport from "./HttpTransport.js"
import * as ProviderAnswer from "./ProviderAnswer.js"
import type * as SseLines from "./SseLines.js"
import * as ToolCallIds from "./ToolCallIds.js"
import type { Decoded, WireDecoder } from "./WireDecoder.js"
import * as Wire from "./WireDecoder.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly provider: string
  readonly model: string
  readonly settings?: ModelSettings.ModelSettings | undefined
  readonly http: HttpTransport.Service
  readonly redact: ReadonlyArray<Redacted.Redacted<string>>
  /** The request to send. Its settings are complete, including the model. */
  readonly encode: (
    request: LlmRequest & { readonly settings: ModelSettings.ModelSettings & { readonly model: string } },
    streamed: boolean
  ) => Effect.Effect<HttpClientRequest.HttpClientRequest, LlmError>
  readonly decoder: (request: LlmRequest) => WireDecoder
}

/**
 * The maximum bytes of an answer and the maximum characters of a stream event: a generated image is one event.
 *
 * @since 0.1.0
 * @category constants
 */
const maxResponseBytes = 32 * 1024 * 1024

/**
 * One request with a complete JSON answer. An answer that contains an error object fails.
 *
 * @since 0.1.0
 * @category constructors
 */
export const json = (
  options: Omit<ProviderAnswer.Call, "maxResponseBytes"> & {
    readonly http: HttpTransport.Service
    readonly request: HttpClientRequest.HttpClientRequest
  }
): Effect.Effect<unknown, LlmError> =>
  ProviderAnswer.use(options.http, options.request, { ...options, maxResponseBytes }, (answer) =>
    Effect.flatMap(ProviderAnswer.json(answer), ({ body, text }) => {
      const error = Wire.record(body)?.error
      return error === undefined || error === null ? Effect.succeed(body) : ProviderAnswer.refuse(answer, text)
    })
  )

/**
 * Makes a client from an encoder and a decoder. The answer decides how it is read: a server may answer a stream request
 * in one piece, and the other way round.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Service => {
  const { http, provider, redact } = options

  const exchange = Effect.fnUntraced(function* (request: LlmRequest, handed: CompleteOptions) {
    const merged = ModelSettings.merge(options.settings ?? ModelSettings.empty, request.settings)
    const model = merged.model ?? options.model
    const streamed = handed.onParts !== undefined
    const outgoing = yield* options.encode({ ...request, settings: { ...merged, model } }, streamed)
    const call = { provider, model, redact, maxResponseBytes }
    return yield* ProviderAnswer.use(http, outgoing, call, (answer) => {
      const sink = makeSink(answer, options.decoder(request), handed)
      return ProviderAnswer.isEventStream(answer, streamed) ? readEvents(answer, sink) : readWhole(answer, sink)
    })
  })

  return {
    provider,
    model: options.settings?.model ?? options.model,
    complete: (request, complete) => exchange(request, complete ?? {})
  }
}

/** Collects decoded parts, delivers them and assembles the answer. */
const makeSink = (
  answer: ProviderAnswer.ProviderAnswer,
  decoder: WireDecoder,
  { onParts, onUsage }: CompleteOptions
) => {
  const { model, provider } = answer.call
  const assembler = PartAssembler.make({ provider, model })
  const ids = ToolCallIds.make()
  /** Runs the decoder; a body that it cannot process at all (nested beyond the stack) is malformed. */
  const take = Effect.fnUntraced(function* (decode: (decoder: WireDecoder) => ReadonlyArray<Decoded>) {
    const decoded = yield* Effect.try({
      try: () => decode(decoder),
      catch: () => ProviderAnswer.malformed(answer, "The answer cannot be decoded")
    })
    const parts = decoded.flatMap((piece) => piece.parts.map(ids))
    for (const part of parts) assembler.push(part)
    // Usage reported before any output refers to none of it.
    const early = onUsage === undefined ? undefined : decoded.findIndex((piece) => piece.parts.some(isWritten))
    const tell = (pieces: ReadonlyArray<Decoded>) => {
      for (const { usage } of pieces) if (usage !== undefined) onUsage?.(usage)
    }
    if (early !== undefined) tell(decoded.slice(0, early < 0 ? 0 : early))
    const handed = onParts !== undefined && parts.length > 0 ? onParts(parts) : undefined
    // Before the wait for the reader, and after the parts it refers to.
    if (early !== undefined) tell(decoded.slice(early < 0 ? 0 : early))
    if (handed !== undefined) yield* handed
    const failure = decoded.find((piece) => piece.failure !== undefined)?.failure
    if (failure !== undefined) return yield* ProviderAnswer.refuse(answer, failure)
  })
  return { take, finished: () => assembler.finished(), response: () => assembler.response() }
}

type Sink = ReturnType<typeof makeSink>

const readWhole = Effect.fnUntraced(function* (answer: ProviderAnswer.ProviderAnswer, sink: Sink) {
  const { body } = yield* ProviderAnswer.json(answer)
  yield* sink.take((decoder) => [decoder.body(body)])
  if (!sink.finished()) return yield* ProviderAnswer.malformed(answer, "The answer has no readable content")
  return sink.response()
})

const readEvents = (answer: ProviderAnswer.ProviderAnswer, sink: Sink): Effect.Effect<LlmResponse, LlmError> =>
  Effect.map(
    AnswerEvents.read(
      answer,
      {
        take: (events) => sink.take((decoder) => decodeEvents(events, decoder)),
        done: sink.finished,
        finished: sink.finished,
        end: Effect.void
      },
      maxResponseBytes
    ),
    sink.response
  )

const isWritten = ({ type }: LlmPart): boolean => type !== "response-metadata" && type !== "finish"

/**
 * Events up to the first failure. Data that is not JSON (`[DONE]`, heartbeats) is skipped: an answer that needs it has
 * no finish.
 */
const decodeEvents = (events: ReadonlyArray<SseLines.SseEvent>, decoder: WireDecoder): ReadonlyArray<Decoded> => {
  const decoded: Array<Decoded> = []
  for (const { data, event } of events) {
    const text = data.join("\n")
    const json = Wire.parse(text)
    const piece = decoder.event(
      event === "error" ? { type: "error", error: Wire.record(json)?.error ?? json ?? text } : json
    )
    decoded.push(piece)
    if (piece.failure !== undefined) break
  }
  return decoded
}

/**
 * A body as JSON; a body that is not plain data fails.
 *
 * @since 0.1.0
 * @category conversions
 */
export const jsonBody = (
  request: HttpClientRequest.HttpClientRequest,
  body: () => unknown,
  provider: string
): Effect.Effect<HttpClientRequest.HttpClientRequest, LlmInvalidRequestError> =>
  Effect.try({
    try: () => HttpClientRequest.bodyUnsafeJson(request, body()),
    catch: () =>
      new LlmInvalidRequestError({
        provider,
        message: "The request cannot be written as JSON",
        hint: "Messages, tools and settings must be plain data."
      })
  })

/**
 * Receives the request that a provider package would send.
 *
 * @since 0.1.0
 * @category models
 */
export interface Recorded {
  payload: unknown
  headers: { readonly [name: string]: string | undefined }
}

/**
 * The slot of the current encoding.
 *
 * @since 0.1.0
 * @category references
 */
export class Recorder extends Ambient.Reference<Recorder>()("effect-lexigram/provider/ProviderExchange/Recorder", {
  defaultValue: (): Recorded => ({ payload: undefined, headers: {} })
}) {}

/**
 * Runs a call of an `@effect/ai` model whose client only records, and returns the recorded request.
 *
 * @since 0.1.0
 * @category constructors
 */
export const record = <A>(
  call: Effect.Effect<A, AiError.AiError>,
  onError: (error: AiError.AiError) => LlmError
): Effect.Effect<Recorded, LlmError> =>
  Effect.suspend(() => {
    const slot: Recorded = { payload: undefined, headers: {} }
    return call.pipe(
      Effect.provideService(Recorder, slot),
      Effect.withTracerEnabled(false),
      Effect.matchEffect({
        onSuccess: () => Effect.succeed(slot),
        onFailure: (error) => (slot.payload === undefined ? Effect.fail(onError(error)) : Effect.succeed(slot))
      })
    )
  })

/**
 * Checks a base URL, and removes trailing slashes.
 *
 * @since 0.1.0
 * @category conversions
 */
export const baseUrl = (text: string, provider: string): Effect.Effect<string, LlmConfigurationError> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const wrong =
    url === undefined
      ? "The base URL is not a valid URL"
      : url.protocol !== "http:" && url.protocol !== "https:"
        ? "The base URL must begin with http or https"
        : url.username !== "" || url.password !== ""
          ? "The base URL contains credentials: pass them as the key"
          : undefined
  return wrong === undefined && url !== undefined
    ? Effect.succeed(`${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, "")}`)
    : Effect.fail(new LlmConfigurationError({ provider, message: wrong ?? "" }))
}

/**
 * Checks a key: the HTTP client's error would contain a key with characters that are invalid in a header.
 *
 * @since 0.1.0
 * @category conversions
 */
export const key = (
  apiKey: Redacted.Redacted<string>,
  provider: string
): Effect.Effect<Redacted.Redacted<string>, LlmConfigurationError> => {
  const value = Redacted.value(apiKey).trim()
  return /^[\x21-\x7e]+$/.test(value)
    ? Effect.succeed(Redacted.make(value))
    : Effect.fail(
        new LlmConfigurationError({
          provider,
          message:
            value === "" ? "The API key is empty" : "The API key contains characters that are invalid in a header"
        })
      )
}
