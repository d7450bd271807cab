/**
 * One exchange with a provider over HTTP: the request goes out, the answer comes back whole or streamed, and everything that can go
 * wrong in between becomes an {@link LlmError}.
 *
 * @since 0.1.0
 */
import type * as AiError from "@effect/ai/AiError"
import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import type { CompleteOptions, LlmRequest, Service } from "./LlmClient.js"
import type { LlmError } from "./LlmError.js"
import { LlmConfigurationError, LlmMalformedResponseError } from "./LlmError.js"
import * as LlmErrorClassifier from "./LlmErrorClassifier.js"
import * as ModelSettings from "./ModelSettings.js"
import * as PartAssembler from "./PartAssembler.js"
import * as SseLines from "./SseLines.js"
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
  readonly client: HttpClient.HttpClient
  readonly redact: ReadonlyArray<Redacted.Redacted<string>>
  /** The request to send. Its settings are complete, the model included. */
  readonly encode: (
    request: LlmRequest & { readonly settings: ModelSettings.ModelSettings & { readonly model: string } },
    streamed: boolean
  ) => Effect.Effect<HttpClientRequest.HttpClientRequest, LlmError>
  readonly decoder: (request: LlmRequest) => WireDecoder
}

/**
 * The longest event of a stream that is read, in characters. A generated image is one event.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxEventLength = 64 * 1024 * 1024

/**
 * A client out of an encoder and a decoder. The answer decides how it is read: a server that was asked to stream may answer in one
 * piece, and the other way round.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Service => {
  const { provider, redact } = options
  // No trace headers for the provider, and no span that would hold the headers of the request.
  const client = HttpClient.withTracerDisabledWhen(options.client, () => true)

  const exchange = Effect.fnUntraced(function* (request: LlmRequest, complete?: CompleteOptions) {
    const merged = ModelSettings.merge(options.settings ?? ModelSettings.empty, request.settings)
    const model = merged.model ?? options.model
    const onParts = complete?.onParts
    const outgoing = yield* options.encode({ ...request, settings: { ...merged, model } }, onParts !== undefined)
    const response = yield* Effect.mapError(client.execute(outgoing), (error) =>
      LlmErrorClassifier.fromTransport({ provider, model, error, redact })
    )
    const { headers, status } = response
    const requestId = LlmErrorClassifier.requestId(headers, redact)
    const broken = (error: unknown) =>
      LlmErrorClassifier.fromTransport({ provider, model, error, status, requestId, redact })
    const classify = (body: string) =>
      Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
        Effect.fail(LlmErrorClassifier.classify({ provider, model, status, headers, body, nowMs, redact }))
      )
    const malformed = (message: string) =>
      new LlmMalformedResponseError({
        provider,
        model,
        status,
        message,
        ...(requestId === undefined ? {} : { requestId })
      })

    if (status < 200 || status >= 300) {
      // The status says enough where the body cannot be read.
      const body = yield* Effect.orElseSucceed(response.text, () => "")
      return yield* classify(body)
    }

    const decoder = options.decoder(request)
    const assembler = PartAssembler.make({ provider, model })
    const take = Effect.fnUntraced(function* (decoded: Decoded) {
      for (const part of decoded.parts) assembler.push(part)
      if (onParts !== undefined && decoded.parts.length > 0) yield* onParts(decoded.parts)
      if (decoded.failure !== undefined) return yield* classify(decoded.failure)
    })

    if (isEventStream(response, onParts !== undefined)) {
      yield* readEvents(response, decoder, take, assembler.finished, broken)
      if (!assembler.finished()) return yield* malformed("The stream of the answer ended before the answer did.")
    } else {
      const body = Wire.parse(yield* Effect.mapError(response.text, broken))
      if (body === undefined) return yield* malformed("The answer is not JSON.")
      yield* take(decoder.body(body))
      if (!assembler.finished()) return yield* malformed("The answer has no content that could be read.")
    }
    return assembler.response()
  })

  return { provider, model: options.settings?.model ?? options.model, complete: exchange }
}

const isEventStream = (response: HttpClientResponse.HttpClientResponse, streamed: boolean): boolean => {
  const type = response.headers["content-type"]?.toLowerCase() ?? ""
  return type.includes("event-stream") || (streamed && !type.includes("json"))
}

const readEvents = (
  response: HttpClientResponse.HttpClientResponse,
  decoder: WireDecoder,
  take: (decoded: Decoded) => Effect.Effect<void, LlmError>,
  finished: () => boolean,
  broken: (error: unknown) => LlmError
): Effect.Effect<void, LlmError> => {
  const lines = SseLines.make({ maxEventLength })
  const read = (into: (events: Array<SseLines.SseEvent>) => boolean): Decoded => {
    const events: Array<SseLines.SseEvent> = []
    const isReadable = into(events)
    const parts: Array<Decoded["parts"][number]> = []
    for (const { data, event } of events) {
      // What is no JSON (`[DONE]`, heartbeats) says nothing; an answer that misses something ends without a finish.
      const json = Wire.parse(data.join("\n"))
      const decoded = decoder.event(event === "error" ? { type: "error", ...errorOf(json) } : json)
      for (const part of decoded.parts) parts.push(part)
      if (decoded.failure !== undefined) return { parts, failure: decoded.failure }
    }
    return isReadable ? { parts } : { parts, failure: Wire.failure("An event of the stream is too long.") }
  }
  return response.stream.pipe(
    Stream.mapError(broken),
    Stream.runForEachWhile((bytes) => Effect.map(take(read((events) => lines.push(bytes, events))), () => !finished())),
    Effect.zipRight(Effect.suspend(() => (finished() ? Effect.void : take(read(lines.end)))))
  )
}

const errorOf = (json: unknown): { readonly error: unknown } => ({ error: Wire.record(json)?.error ?? json })

/**
 * Where the request that a provider package would send is put down instead.
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
export class Recorder extends Context.Reference<Recorder>()("effect-lexigram/llm/ProviderExchange/Recorder", {
  defaultValue: (): Recorded => ({ payload: undefined, headers: {} })
}) {}

/**
 * Runs a call of an `@effect/ai` model whose client only records, and gives back what it recorded.
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
 * Checks a base URL and takes the slashes off its end.
 *
 * @since 0.1.0
 * @category conversions
 */
export const baseUrl = (url: string, provider: string): Effect.Effect<string, LlmConfigurationError> =>
  URL.canParse(url) && /^https?:/i.test(url)
    ? Effect.succeed(url.replace(/\/+$/, ""))
    : Effect.fail(new LlmConfigurationError({ provider, message: "The base URL is not an http or https address." }))
