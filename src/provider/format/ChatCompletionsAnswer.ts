/**
 * Reads the HTTP answer of a chat-completions call, complete or streamed, within its bounds, and classifies failures.
 *
 * @private
 * @since 0.1.0
 */
import type * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Effect from "effect/Effect"
import * as IdGenerator from "../../domain/IdGenerator.js"
import type { CompleteOptions, LlmPart, LlmResponse } from "../../llm/model/LlmClient.js"
import type { LlmError, LlmMalformedResponseError } from "../../llm/model/LlmError.js"
import * as PartAssembler from "../../llm/model/PartAssembler.js"
import type * as HttpTransport from "../exchange/HttpTransport.js"
import * as ProviderAnswer from "../exchange/ProviderAnswer.js"
import * as SseLines from "../exchange/SseLines.js"
import * as Wire from "../exchange/WireDecoder.js"
import * as ChatCompletionsResponse from "./ChatCompletionsResponse.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Call extends ProviderAnswer.Call {
  readonly maxEventLength: number
}

/** The consumers of a streamed answer. */
type Consumers = Pick<CompleteOptions, "onParts" | "onUsage">

type Answer = ProviderAnswer.ProviderAnswer

/** Why an answer is invalid: the error object in it, as text, or that it cannot be read. */
type Refusal = { readonly body: string } | LlmMalformedResponseError

/** Collects parts, delivers them and assembles the answer. Everything but the delivery is synchronous. */
const makeSink = (answer: Answer, { onParts, onUsage }: Consumers) => {
  const decoder = ChatCompletionsResponse.make({ provider: answer.call.provider })
  const assembler = PartAssembler.make({ provider: answer.call.provider, model: answer.call.model })
  let parts: Array<LlmPart> = []
  let seed: string | undefined
  let reportedUsage = decoder.usage()
  const flush = Effect.suspend(() => {
    const ready = parts
    parts = []
    for (const part of ready) assembler.push(part)
    const handed = onParts === undefined || ready.length === 0 ? Effect.void : onParts(ready)
    // After the parts it refers to, and before the wait for their reader.
    const usage = decoder.usage()
    if (usage !== reportedUsage) onUsage?.(usage)
    reportedUsage = usage
    return handed
  })
  const push = (value: unknown): Refusal | undefined => {
    try {
      const error = decoder.push(value, seed ?? "", parts)
      return error === undefined ? undefined : { body: JSON.stringify(error) }
    } catch {
      return ProviderAnswer.malformed(answer, "The answer is nested too deeply")
    }
  }
  const fail = (refusal: Refusal): Effect.Effect<never, LlmError> =>
    Effect.zipRight(flush, "body" in refusal ? ProviderAnswer.refuse(answer, refusal.body) : Effect.fail(refusal))
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
      if (decoder.empty()) return Effect.fail(ProviderAnswer.malformed(answer, "The answer contains no choice"))
      decoder.end(parts)
      return flush
    }),
    response: () => assembler.response()
  }
}

const readWhole = Effect.fnUntraced(function* (answer: Answer, handed: Consumers) {
  const { body } = yield* ProviderAnswer.json(answer)
  const sink = makeSink(answer, handed)
  yield* sink.take(body) ?? Effect.void
  yield* sink.end
  return sink.response()
})

/**
 * The values of an event: one, unless the server omitted the empty lines between its events. Undefined if one is not
 * JSON.
 */
const valuesOf = (event: SseLines.SseEvent): ReadonlyArray<unknown> | undefined => {
  const joined = Wire.parse(event.data.length === 1 ? event.data[0]! : event.data.join("\n"))
  if (joined !== undefined) return [joined]
  if (event.data.length === 1) return undefined
  const values: Array<unknown> = []
  for (const line of event.data) {
    if (line.trim() === "" || line.trim() === "[DONE]") continue
    const value = Wire.parse(line)
    if (value === undefined) return undefined
    values.push(value)
  }
  return values
}

const readEvents = Effect.fnUntraced(function* (
  answer: Answer,
  { maxEventLength, maxResponseBytes }: Call,
  handed: Consumers
) {
  const lines = SseLines.make({ maxEventLength })
  const sink = makeSink(answer, handed)
  // Once the answer is finished, only its usage can be lost.
  const next = Effect.catchAll(answer.next, (error) =>
    sink.finished() ? Effect.succeed(undefined) : Effect.fail(error)
  )
  let size = 0
  let done = false
  let ended = false
  while (!done && !ended) {
    const pieces = yield* next
    const events: Array<SseLines.SseEvent> = []
    let fits = true
    if (pieces === undefined) {
      ended = true
      fits = lines.end(events)
    } else {
      for (const bytes of pieces) {
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
        return yield* sink.fail(
          ProviderAnswer.malformed(answer, "An event of the stream is not JSON", event.data.join(" "))
        )
      }
      for (const value of values) {
        const effect = sink.take(value)
        if (effect !== undefined) yield* effect
      }
      if (last === "[DONE]") done = true
    }
    if (!done && !fits) {
      return yield* sink.fail(
        ProviderAnswer.malformed(answer, `An event of the stream is longer than ${maxEventLength} characters`)
      )
    }
    if (!done && size > maxResponseBytes) return yield* sink.fail(ProviderAnswer.tooLong(answer))
    yield* sink.flush
  }
  if (!done && !sink.finished())
    return yield* ProviderAnswer.malformed(answer, "The stream ended before the answer was complete")
  yield* sink.end
  if (!ended) yield* ProviderAnswer.drain(answer)
  return sink.response()
})

/**
 * Sends the request of a call and reads its response.
 *
 * @since 0.1.0
 * @category decoding
 */
export const read = (options: {
  readonly http: HttpTransport.Service
  readonly request: HttpClientRequest.HttpClientRequest
  readonly call: Call
  readonly handed: Consumers
}): Effect.Effect<LlmResponse, LlmError> => {
  const { call, handed, http, request } = options
  return ProviderAnswer.use(http, request, call, (answer) =>
    ProviderAnswer.isEventStream(answer, handed.onParts !== undefined)
      ? readEvents(answer, call, handed)
      : readWhole(answer, handed)
  )
}
