/**
 * One HTTP exchange with a provider: sends the request, receives the answer complete or streamed, and turns every
 * failure into an {@link LlmError}.
 *
 * @private
 * @since 0.1.0
 */
import type * as AiError from "@effect/ai/AiError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import type * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as Ambient from "../../internal/fiber/Ambient.js"
import type { SameOriginHttp } from "../../internal/SameOriginHttp.js"
import * as SecretText from "../../internal/text/SecretText.js"
import type { CompleteOptions, LlmPart, LlmRequest, Service } from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import { LlmConfigurationError, LlmInvalidRequestError, LlmMalformedResponseError } from "../../llm/model/LlmError.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as PartAssembler from "../../llm/model/PartAssembler.js"
import * as LlmErrorClassifier from "./LlmErrorClassifier.js"
import * as SseLines from "./SseLines.js"
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
  readonly http: SameOriginHttp
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

const maxErrorBytes = 262_144
/** How long the connection may take to end after the answer, so that it can be reused, before it is closed. */
const drainTimeout: Duration.DurationInput = "1 second"

/** The next bytes, or undefined at the end. */
type Pull<E> = Effect.Effect<Chunk.Chunk<Uint8Array> | undefined, E>

/** Reads up to `max` bytes; undefined if there are more. */
const readText = Effect.fnUntraced(function* <E>(pull: Pull<E>, max: number) {
  const decoder = new TextDecoder()
  const texts: Array<string> = []
  let size = 0
  for (;;) {
    const chunk = yield* pull
    if (chunk === undefined) return texts.join("") + decoder.decode()
    for (const bytes of chunk) {
      size += bytes.byteLength
      if (size > max) return undefined
      texts.push(decoder.decode(bytes, { stream: true }))
    }
  }
})

const drain = Effect.fnUntraced(function* <E>(pull: Pull<E>) {
  for (let size = 0; size <= maxErrorBytes; ) {
    const chunk = yield* pull
    if (chunk === undefined) return
    for (const bytes of chunk) size += bytes.byteLength
  }
})

const isEventStream = (response: HttpClientResponse.HttpClientResponse, streamed: boolean): boolean => {
  const type = response.headers["content-type"]?.toLowerCase() ?? ""
  return type.includes("event-stream") || (streamed && !type.includes("json"))
}

/** The called server, for errors, and the secrets that no error may show. */
interface Asked {
  readonly provider: string
  readonly model: string
  readonly redact: ReadonlyArray<Redacted.Redacted<string>>
}

/** Sends the request, and fails when the provider rejects it. */
const open = Effect.fnUntraced(function* (
  http: SameOriginHttp,
  outgoing: HttpClientRequest.HttpClientRequest,
  asked: Asked
) {
  const { model, provider, redact } = asked
  const response = yield* Effect.mapError(http(outgoing), (error) =>
    LlmErrorClassifier.fromTransport({ provider, model, error, redact })
  )
  const { headers, status } = response
  const requestId = LlmErrorClassifier.requestId(headers, redact)
  const classify = (body: string) =>
    Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
      Effect.fail(LlmErrorClassifier.classify({ provider, model, status, headers, body, nowMs, redact }))
    )
  const malformed = (message: string, text = "") => {
    const shown = SecretText.excerpt(text, { maxLength: 200, redact })
    return new LlmMalformedResponseError({
      provider,
      model,
      status,
      message: shown === "" ? message : `${message}: ${shown}`,
      ...(requestId === undefined ? {} : { requestId })
    })
  }
  const tooLong = () => malformed(`The answer is longer than ${maxResponseBytes} bytes`)
  const pull: Pull<LlmError> = Effect.catchAll(
    yield* Stream.toPull(response.stream),
    (end): Effect.Effect<undefined, LlmError> => {
      if (Option.isNone(end) || end.value.reason === "EmptyBody") return Effect.succeed(undefined)
      const error = end.value
      return Effect.fail(LlmErrorClassifier.fromTransport({ provider, model, error, status, requestId, redact }))
    }
  )
  if (status < 200 || status >= 300) {
    // When the body cannot be read to its end, the status is enough.
    const body = yield* Effect.orElseSucceed(readText(pull, maxErrorBytes), () => "")
    return yield* classify(body ?? "")
  }
  return { response, classify, malformed, tooLong, pull }
})

/** The complete answer as JSON. */
const readJson = Effect.fnUntraced(function* (answer: Effect.Effect.Success<ReturnType<typeof open>>) {
  const text = yield* readText(answer.pull, maxResponseBytes)
  if (text === undefined) return yield* answer.tooLong()
  const body = Wire.parse(text)
  if (body === undefined) {
    return yield* answer.malformed("The answer is not JSON", text.trim() === "" ? "(empty)" : text)
  }
  return { text, body }
})

/**
 * One request with a complete JSON answer. An answer that contains an error object fails.
 *
 * @since 0.1.0
 * @category constructors
 */
export const json = (
  options: Asked & { readonly http: SameOriginHttp; readonly request: HttpClientRequest.HttpClientRequest }
): Effect.Effect<unknown, LlmError> =>
  Effect.gen(function* () {
    const answer = yield* open(options.http, options.request, options)
    const { body, text } = yield* readJson(answer)
    const error = Wire.record(body)?.error
    if (error !== undefined && error !== null) return yield* answer.classify(text)
    return body
  }).pipe(Effect.scoped)

/**
 * Makes a client from an encoder and a decoder. The answer decides how it is read: a server may answer a stream request
 * in one piece, and the other way round.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Service => {
  const { http, provider, redact } = options

  const exchange = Effect.fnUntraced(function* (request: LlmRequest, completeOptions: CompleteOptions | undefined) {
    const onParts = completeOptions?.onParts
    const onUsage = completeOptions?.onUsage
    const merged = ModelSettings.merge(options.settings ?? ModelSettings.empty, request.settings)
    const model = merged.model ?? options.model
    const outgoing = yield* options.encode({ ...request, settings: { ...merged, model } }, onParts !== undefined)
    const answer = yield* open(http, outgoing, { provider, model, redact })
    const { classify, malformed, pull, response, tooLong } = answer

    const decoder = options.decoder(request)
    const assembler = PartAssembler.make({ provider, model })
    const ids = ToolCallIds.make()
    /** Runs the decoder; a body that it cannot process at all (nested beyond the stack) is malformed. */
    const take = Effect.fnUntraced(function* (decode: () => ReadonlyArray<Decoded>) {
      const decoded = yield* Effect.try({ try: decode, catch: () => malformed("The answer cannot be decoded") })
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
      if (failure !== undefined) return yield* classify(failure)
    })

    if (!isEventStream(response, onParts !== undefined)) {
      const { body } = yield* readJson(answer)
      yield* take(() => [decoder.body(body)])
      if (!assembler.finished()) return yield* malformed("The answer has no readable content")
      return assembler.response()
    }

    const lines = SseLines.make({ maxEventLength: maxResponseBytes })
    let size = 0
    let ended = false
    while (!ended && !assembler.finished()) {
      const chunk = yield* pull
      const events: Array<SseLines.SseEvent> = []
      let fits = true
      if (chunk === undefined) {
        ended = true
        fits = lines.end(events)
      } else {
        for (const bytes of chunk) {
          size += bytes.byteLength
          fits = fits && lines.push(bytes, events)
        }
      }
      yield* take(() => readEvents(events, decoder))
      if (!assembler.finished() && (!fits || size > maxResponseBytes)) return yield* tooLong()
    }
    if (!assembler.finished()) return yield* malformed("The stream ended before the answer was complete")
    if (!ended) yield* Effect.ignore(Effect.timeout(drain(pull), drainTimeout))
    return assembler.response()
  }, Effect.scoped)

  return {
    provider,
    model: options.settings?.model ?? options.model,
    complete: (request, complete) => exchange(request, complete)
  }
}

const isWritten = ({ type }: LlmPart): boolean => type !== "response-metadata" && type !== "finish"

/**
 * Events up to the first failure. Data that is not JSON (`[DONE]`, heartbeats) is skipped: an answer that needs it has
 * no finish.
 */
const readEvents = (events: ReadonlyArray<SseLines.SseEvent>, decoder: WireDecoder): ReadonlyArray<Decoded> => {
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
