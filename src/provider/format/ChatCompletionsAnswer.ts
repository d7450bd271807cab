/**
 * Reads the HTTP answer of a chat-completions call, complete or streamed, within its bounds, and classifies failures.
 *
 * @private
 * @since 0.1.0
 */
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import type * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as IdGenerator from "../../domain/IdGenerator.js"
import * as SecretText from "../../internal/text/SecretText.js"
import type { CompleteOptions, LlmPart, LlmResponse } from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import { LlmMalformedResponseError } from "../../llm/model/LlmError.js"
import * as PartAssembler from "../../llm/model/PartAssembler.js"
import * as LlmErrorClassifier from "../exchange/LlmErrorClassifier.js"
import * as SseLines from "../exchange/SseLines.js"
import * as ChatCompletionsResponse from "./ChatCompletionsResponse.js"

const maxErrorBytes = 262_144
/** How long the connection may take to end after `[DONE]`, so that it can be reused, before it is closed. */
const drainTimeout: Duration.DurationInput = "1 second"

/**
 * One call: the names for its errors, and its bounds.
 *
 * @since 0.1.0
 * @category models
 */
export interface Call {
  readonly provider: string
  readonly model: string
  readonly redact: ReadonlyArray<Redacted.Redacted<string>>
  readonly maxResponseBytes: number
  readonly maxEventLength: number
}

/** The consumers of a streamed answer. */
type Consumers = Pick<CompleteOptions, "onParts" | "onUsage">

interface Answer {
  readonly call: Call
  readonly status: number
  readonly headers: { readonly [name: string]: string | undefined }
  /** The next bytes, or undefined at the end. */
  readonly pull: Effect.Effect<Chunk.Chunk<Uint8Array> | undefined, LlmError>
}

const malformed = (answer: Answer, message: string, excerpt?: string): LlmMalformedResponseError => {
  const requestId = LlmErrorClassifier.requestId(answer.headers, answer.call.redact)
  const shown = excerpt === undefined ? "" : SecretText.excerpt(excerpt, { maxLength: 200, redact: answer.call.redact })
  return new LlmMalformedResponseError({
    provider: answer.call.provider,
    model: answer.call.model,
    status: answer.status,
    ...(requestId === undefined ? {} : { requestId }),
    message: shown === "" ? message : `${message}: ${shown}`
  })
}

const tooLong = (answer: Answer): LlmMalformedResponseError =>
  malformed(answer, `The answer is longer than ${answer.call.maxResponseBytes} bytes`)

/** Fails with the error of the answer. */
const refuse = (answer: Answer, body: string): Effect.Effect<never, LlmError> =>
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

const open = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse, call: Call) {
  const pull = yield* Stream.toPull(response.stream)
  const requestId = LlmErrorClassifier.requestId(response.headers, call.redact)
  const answer: Answer = {
    call,
    status: response.status,
    headers: response.headers,
    pull: Effect.catchAll(pull, (end): Effect.Effect<undefined, LlmError> => {
      if (Option.isNone(end) || end.value.reason === "EmptyBody") return Effect.succeed(undefined)
      return Effect.fail(
        LlmErrorClassifier.fromTransport({
          provider: call.provider,
          model: call.model,
          error: end.value,
          status: response.status,
          requestId,
          redact: call.redact
        })
      )
    })
  }
  return answer
})

/** Reads up to `max` bytes; `cut` is true if there are more. */
const readText = Effect.fnUntraced(function* (answer: Answer, max: number) {
  const decoder = new TextDecoder()
  let text = ""
  let size = 0
  for (;;) {
    const chunk = yield* answer.pull
    if (chunk === undefined) return { text: text + decoder.decode(), cut: false }
    for (const bytes of chunk) {
      size += bytes.byteLength
      if (size > max) return { text, cut: true }
      text += decoder.decode(bytes, { stream: true })
    }
  }
})

const readRefusal = Effect.fnUntraced(function* (answer: Answer) {
  // The status of a body that breaks off says more than the broken connection.
  const body = yield* Effect.catchAll(readText(answer, maxErrorBytes), () => Effect.succeed({ text: "" }))
  return yield* refuse(answer, body.text)
})

const parse = (text: string): Option.Option<unknown> => {
  try {
    return Option.some(JSON.parse(text))
  } catch {
    return Option.none()
  }
}

/** Why an answer is invalid: the error object in it, as text, or that it cannot be read. */
type Refusal = { readonly body: string } | LlmMalformedResponseError

/** Collects parts, delivers them and assembles the answer. Everything but the delivery is synchronous. */
const makeSink = (answer: Answer, { onParts, onUsage }: Consumers) => {
  const decoder = ChatCompletionsResponse.make({ provider: answer.call.provider })
  const assembler = PartAssembler.make({ provider: answer.call.provider, model: answer.call.model })
  let parts: Array<LlmPart> = []
  let seed: string | undefined
  let told = decoder.usage()
  const flush = Effect.suspend(() => {
    const ready = parts
    parts = []
    for (const part of ready) assembler.push(part)
    const handed = onParts === undefined || ready.length === 0 ? Effect.void : onParts(ready)
    // After the parts it refers to, and before the wait for their reader.
    const usage = decoder.usage()
    if (usage !== told) onUsage?.(usage)
    told = usage
    return handed
  })
  const push = (value: unknown): Refusal | undefined => {
    try {
      const error = decoder.push(value, seed ?? "", parts)
      return error === undefined ? undefined : { body: JSON.stringify(error) }
    } catch {
      return malformed(answer, "The answer is nested too deeply")
    }
  }
  const fail = (refusal: Refusal): Effect.Effect<never, LlmError> =>
    Effect.zipRight(flush, "body" in refusal ? refuse(answer, refusal.body) : Effect.fail(refusal))
  return {
    flush,
    fail,
    finished: () => decoder.finished(),
    take: (value: unknown): Effect.Effect<void, LlmError> | undefined => {
      if (seed === undefined && decoder.needsSeed(value)) {
        return Effect.flatMap(IdGenerator.generate, (id) => {
          seed = id
          const refusal = push(value)
          return refusal === undefined ? Effect.void : fail(refusal)
        })
      }
      const refusal = push(value)
      return refusal === undefined ? undefined : fail(refusal)
    },
    end: Effect.suspend(() => {
      if (decoder.empty()) return Effect.fail(malformed(answer, "The answer contains no choice"))
      decoder.end(parts)
      return flush
    }),
    response: () => assembler.response()
  }
}

const readWhole = Effect.fnUntraced(function* (answer: Answer, handed: Consumers) {
  const { cut, text } = yield* readText(answer, answer.call.maxResponseBytes)
  if (cut) return yield* tooLong(answer)
  const value = parse(text)
  if (Option.isNone(value))
    return yield* malformed(answer, "The answer is not JSON", text.trim() === "" ? "(empty)" : text)
  const sink = makeSink(answer, handed)
  yield* sink.take(value.value) ?? Effect.void
  yield* sink.end
  return sink.response()
})

/**
 * The values of an event: one, unless the server omitted the empty lines between its events. Undefined if one is not
 * JSON.
 */
const valuesOf = (event: SseLines.SseEvent): ReadonlyArray<unknown> | undefined => {
  const joined = parse(event.data.length === 1 ? event.data[0]! : event.data.join("\n"))
  if (Option.isSome(joined)) return [joined.value]
  if (event.data.length === 1) return undefined
  const values: Array<unknown> = []
  for (const line of event.data) {
    const value = line.trim() === "" || line.trim() === "[DONE]" ? Option.some(undefined) : parse(line)
    if (Option.isNone(value)) return undefined
    values.push(value.value)
  }
  return values
}

const drain = Effect.fnUntraced(function* (answer: Answer, max: number) {
  for (let size = 0; size <= max; ) {
    const chunk = yield* answer.pull
    if (chunk === undefined) return
    for (const bytes of chunk) size += bytes.byteLength
  }
})

const readEvents = Effect.fnUntraced(function* (answer: Answer, handed: Consumers) {
  const { maxEventLength, maxResponseBytes } = answer.call
  const lines = SseLines.make({ maxEventLength })
  const sink = makeSink(answer, handed)
  // Once the answer is finished, only its usage can be lost.
  const pull = Effect.catchAll(answer.pull, (error) =>
    sink.finished() ? Effect.succeed(undefined) : Effect.fail(error)
  )
  let size = 0
  let done = false
  let ended = false
  while (!done && !ended) {
    const chunk = yield* pull
    const events: Array<SseLines.SseEvent> = []
    let fits = true
    if (chunk === undefined) {
      ended = true
      fits = lines.end(events)
    } else {
      for (const bytes of chunk) {
        size += bytes.byteLength
        if (fits) fits = lines.push(bytes, events)
      }
    }
    for (const event of events) {
      const last = event.data[event.data.length - 1]!.trim()
      if (event.data.length === 1 && last === "[DONE]") {
        done = true
        break
      }
      const values = valuesOf(event)
      if (event.event === "error") return yield* sink.fail({ body: event.data.join("\n") })
      if (values === undefined) {
        return yield* sink.fail(malformed(answer, "An event of the stream is not JSON", event.data.join(" ")))
      }
      for (const value of values) {
        const effect = sink.take(value)
        if (effect !== undefined) yield* effect
      }
      if (last === "[DONE]") done = true
    }
    if (!done && !fits) {
      return yield* sink.fail(malformed(answer, `An event of the stream is longer than ${maxEventLength} characters`))
    }
    if (!done && size > maxResponseBytes) return yield* sink.fail(tooLong(answer))
    yield* sink.flush
  }
  if (!done && !sink.finished()) return yield* malformed(answer, "The stream ended before the answer was complete")
  yield* sink.end
  if (!ended) yield* Effect.ignore(Effect.timeout(drain(answer, maxResponseBytes), drainTimeout))
  return sink.response()
})

/**
 * The response of a call. The body is read in the scope: closing it ends the connection if the body did not.
 *
 * @since 0.1.0
 * @category decoding
 */
export const read: (options: {
  readonly response: HttpClientResponse.HttpClientResponse
  readonly call: Call
  readonly handed: Consumers
}) => Effect.Effect<LlmResponse, LlmError, Scope.Scope> = Effect.fnUntraced(function* ({ call, handed, response }) {
  const answer = yield* open(response, call)
  if (answer.status < 200 || answer.status >= 300) return yield* readRefusal(answer)
  const type = (answer.headers["content-type"] ?? "").toLowerCase()
  const streamed = type.includes("event-stream") || (handed.onParts !== undefined && !type.includes("json"))
  return yield* streamed ? readEvents(answer, handed) : readWhole(answer, handed)
})
