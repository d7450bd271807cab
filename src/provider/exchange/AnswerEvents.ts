/**
 * Reads a streamed answer: its server-sent events, piece by piece and within its bounds.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { LlmError } from "../../llm/model/LlmError.js"
import * as ProviderAnswer from "./ProviderAnswer.js"
import * as SseLines from "./SseLines.js"

/**
 * Takes the events of one answer.
 *
 * @since 0.1.0
 * @category models
 */
export interface Sink {
  /** Takes the events that one piece of the stream completed, and delivers their parts. */
  readonly take: (events: ReadonlyArray<SseLines.SseEvent>) => Effect.Effect<void, LlmError>
  /** True once no further event is wanted. */
  readonly done: () => boolean
  /** True once the answer is complete, so that a stream that breaks or ends loses nothing but usage. */
  readonly finished: () => boolean
  /** Delivers what only the end of the answer completes. */
  readonly end: Effect.Effect<void, LlmError>
}

/**
 * Reads events until the sink wants no more or the stream ends, then the rest of the body, so that the connection can
 * be used again. Fails for a stream that ends before the answer is finished, for an event of more than `maxEventLength`
 * characters and for an answer that is too long.
 *
 * @since 0.1.0
 * @category decoding
 */
export const read = Effect.fnUntraced(function* (
  answer: ProviderAnswer.ProviderAnswer,
  sink: Sink,
  maxEventLength: number
) {
  const { maxResponseBytes } = answer.call
  const lines = SseLines.make({ maxEventLength })
  const next = Effect.catchAll(answer.next, (error) =>
    sink.finished() ? Effect.succeed(undefined) : Effect.fail(error)
  )
  let size = 0
  let ended = false
  while (!ended && !sink.done()) {
    const pieces = yield* next
    const events: Array<SseLines.SseEvent> = []
    let fits = true
    if (pieces === undefined) {
      ended = true
      fits = lines.end(events)
    } else {
      for (const bytes of pieces) {
        size += bytes.byteLength
        fits = fits && lines.push(bytes, events)
      }
    }
    yield* sink.take(events)
    if (sink.done()) break
    if (!fits) {
      const message = `An event of the stream is longer than ${maxEventLength} characters`
      return yield* ProviderAnswer.malformed(answer, message)
    }
    if (size > maxResponseBytes) return yield* ProviderAnswer.tooLong(answer)
  }
  if (!sink.finished())
    return yield* ProviderAnswer.malformed(answer, "The stream ended before the answer was complete")
  yield* sink.end
  if (!ended) yield* ProviderAnswer.drain(answer)
})
