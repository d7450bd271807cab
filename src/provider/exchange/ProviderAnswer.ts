/**
 * The answer of a provider while it is read, and the errors that it can stand for.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpClientError from "@effect/platform/HttpClientError"
import type * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as SecretText from "../../internal/text/SecretText.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import { LlmMalformedResponseError } from "../../llm/model/LlmError.js"
import type * as HttpTransport from "./HttpTransport.js"
import * as LlmErrorClassifier from "./LlmErrorClassifier.js"
import * as Wire from "./WireDecoder.js"

const maxErrorBytes = 262_144
/** How long the connection may take to end after the answer did, so that it can be used again, before it is closed. */
const drainTimeout: Duration.DurationInput = "1 second"

/**
 * One call: what its errors name and must not show, and the longest answer taken, in bytes.
 *
 * @since 0.1.0
 * @category models
 */
export interface Call {
  readonly provider: string
  readonly model: string
  readonly redact: ReadonlyArray<Redacted.Redacted<string>>
  readonly maxResponseBytes: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ProviderAnswer {
  readonly call: Call
  readonly status: number
  readonly headers: { readonly [name: string]: string | undefined }
  readonly text: (maxBytes: number) => Effect.Effect<{ readonly text: string; readonly cut: boolean }, LlmError>
  /** The next bytes, or `undefined` at the end. */
  readonly next: Effect.Effect<Iterable<Uint8Array> | undefined, LlmError>
}

const answerOf = (call: Call, { headers, next, status, text }: HttpTransport.Answer): ProviderAnswer => {
  const { model, provider, redact } = call
  const onError = (error: HttpClientError.HttpClientError) => {
    const requestId = LlmErrorClassifier.requestId(headers, redact)
    return LlmErrorClassifier.fromTransport({ provider, model, error, status, requestId, redact })
  }
  return {
    call,
    status,
    headers,
    text: (maxBytes) => Effect.mapError(text(maxBytes), onError),
    next: Effect.mapError(next, onError)
  }
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const malformed = (answer: ProviderAnswer, message: string, excerpt = ""): LlmMalformedResponseError => {
  const { model, provider, redact } = answer.call
  const requestId = LlmErrorClassifier.requestId(answer.headers, redact)
  const shown = SecretText.excerpt(excerpt, { maxLength: 200, redact })
  return new LlmMalformedResponseError({
    provider,
    model,
    status: answer.status,
    ...(requestId === undefined ? {} : { requestId }),
    message: shown === "" ? message : `${message}: ${shown}`
  })
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const tooLong = (answer: ProviderAnswer): LlmMalformedResponseError =>
  malformed(answer, `The answer is longer than ${answer.call.maxResponseBytes} bytes`)

/**
 * Fails with what an answer with this body stands for.
 *
 * @since 0.1.0
 * @category constructors
 */
export const refuse = (answer: ProviderAnswer, body: string): Effect.Effect<never, LlmError> =>
  Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
    Effect.fail(
      LlmErrorClassifier.classify({
        provider: answer.call.provider,
        model: answer.call.model,
        status: answer.status,
        headers: answer.headers,
        body,
        nowMs,
        redact: answer.call.redact
      })
    )
  )

// A body that breaks off still has a status, which says more than the broken connection.
const readRefusal = (answer: ProviderAnswer): Effect.Effect<never, LlmError> =>
  Effect.flatMap(
    Effect.orElseSucceed(answer.text(maxErrorBytes), () => ({ text: "" })),
    ({ text }) => refuse(answer, text)
  )

/**
 * Sends a request and reads its answer; fails with what a refusal stands for.
 *
 * @since 0.1.0
 * @category constructors
 */
export const use = <A>(
  http: HttpTransport.Service,
  request: HttpClientRequest.HttpClientRequest,
  call: Call,
  read: (answer: ProviderAnswer) => Effect.Effect<A, LlmError>
): Effect.Effect<A, LlmError> =>
  Effect.mapError(
    http.exchange(request, (opened): Effect.Effect<A, LlmError> => {
      const answer = answerOf(call, opened)
      return opened.status < 200 || opened.status >= 300 ? readRefusal(answer) : read(answer)
    }),
    (error) =>
      HttpClientError.isHttpClientError(error)
        ? LlmErrorClassifier.fromTransport({ provider: call.provider, model: call.model, error, redact: call.redact })
        : error
  )

/**
 * True for an answer that is read event by event: what the server says decides, and what was asked for where it says
 * nothing.
 *
 * @since 0.1.0
 * @category guards
 */
export const isEventStream = (answer: ProviderAnswer, streamed: boolean): boolean => {
  const type = (answer.headers["content-type"] ?? "").toLowerCase()
  return type.includes("event-stream") || (streamed && !type.includes("json"))
}

/**
 * The whole answer as JSON.
 *
 * @since 0.1.0
 * @category decoding
 */
export const json = (
  answer: ProviderAnswer
): Effect.Effect<{ readonly text: string; readonly body: unknown }, LlmError> =>
  Effect.flatMap(answer.text(answer.call.maxResponseBytes), ({ cut, text }) => {
    if (cut) return Effect.fail(tooLong(answer))
    const body = Wire.parse(text)
    return body === undefined
      ? Effect.fail(malformed(answer, "The answer is not JSON", text.trim() === "" ? "(empty)" : text))
      : Effect.succeed({ text, body })
  })

/**
 * Reads what comes after the last event, so that the connection can be used again.
 *
 * @since 0.1.0
 * @category combinators
 */
export const drain = (answer: ProviderAnswer): Effect.Effect<void> => {
  const read = Effect.fnUntraced(function* () {
    for (let size = 0; size <= maxErrorBytes; ) {
      const pieces = yield* answer.next
      if (pieces === undefined) return
      for (const bytes of pieces) size += bytes.byteLength
    }
  })
  return Effect.ignore(Effect.timeout(read(), drainTimeout))
}
