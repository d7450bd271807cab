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
import * as AnswerEvents from "../exchange/AnswerEvents.js"
import type * as HttpTransport from "../exchange/HttpTransport.js"
import * as ProviderAnswer from "../exchange/ProviderAnswer.js"
import type * as SseLines from "../exchange/SseLines.js"
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
  return {
    flush,
    finished: () => decoder.finished(),
    /** Decodes values up to the first that is refused. Undefined if that takes no effect. */
    take: (values: ReadonlyArray<unknown>): Refusal | undefined => {
      for (const value of values) {
        const refusal = push(value)
        if (refusal !== undefined) return refusal
      }
      return undefined
    },
    /** Makes the id from which those of calls without an id are made, if one of the values has such a call. */
    seed: (values: ReadonlyArray<unknown>): Effect.Effect<void> | undefined =>
      seed === undefined && values.some((value) => decoder.needsSeed(value))
        ? Effect.map(IdGenerator.generate, (id) => {
            seed = id
          })
        : undefined,
    fail: (refusal: Refusal): Effect.Effect<never, LlmError> =>
      Effect.zipRight(flush, "body" in refusal ? ProviderAnswer.refuse(answer, refusal.body) : Effect.fail(refusal)),
    end: Effect.suspend(() => {
      if (decoder.empty()) return Effect.fail(ProviderAnswer.malformed(answer, "The answer contains no choice"))
      decoder.end(parts)
      return flush
    }),
    response: () => assembler.response()
  }
}

type Sink = ReturnType<typeof makeSink>

const readWhole = Effect.fnUntraced(function* (answer: Answer, handed: Consumers) {
  const { body } = yield* ProviderAnswer.json(answer)
  const sink = makeSink(answer, handed)
  const values = [body]
  yield* sink.seed(values) ?? Effect.void
  const refusal = sink.take(values)
  if (refusal !== undefined) return yield* sink.fail(refusal)
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

/** Takes events until `[DONE]`. The loop is synchronous but for the id of a call without one. */
const eventSink = (answer: Answer, sink: Sink): AnswerEvents.Sink => {
  let done = false
  const takeFrom = (events: ReadonlyArray<SseLines.SseEvent>, first: number): Effect.Effect<void, LlmError> => {
    for (let at = first; at < events.length && !done; at++) {
      const { data, event } = events[at]!
      const isLast = data[data.length - 1]!.trim() === "[DONE]"
      if (isLast && data.length === 1) {
        done = true
        break
      }
      const values = valuesOf(events[at]!)
      if (event === "error") return sink.fail({ body: data.join("\n") })
      if (values === undefined) {
        return sink.fail(ProviderAnswer.malformed(answer, "An event of the stream is not JSON", data.join(" ")))
      }
      const seed = sink.seed(values)
      if (seed !== undefined)
        return Effect.zipRight(
          seed,
          Effect.suspend(() => takeFrom(events, at))
        )
      const refusal = sink.take(values)
      if (refusal !== undefined) return sink.fail(refusal)
      done = isLast
    }
    return sink.flush
  }
  return {
    take: (events) => takeFrom(events, 0),
    done: () => done,
    finished: () => done || sink.finished(),
    end: sink.end
  }
}

const readEvents = (answer: Answer, { maxEventLength }: Call, handed: Consumers) => {
  const sink = makeSink(answer, handed)
  return Effect.map(AnswerEvents.read(answer, eventSink(answer, sink), maxEventLength), sink.response)
}

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
