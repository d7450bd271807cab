/**
 * Adds messages that arrive during a run to its next model call.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Message } from "../../llm/model/LlmClient.js"
import * as Run from "../../observability/Run.js"
import type * as ModelCall from "../../strategy/definition/ModelCall.js"
import { Fatality } from "../../tool/ToolRunner.js"
import * as RecordedStages from "../definition/RecordedStages.js"
import type { State } from "../definition/Stage.js"
import * as GuardChecks from "./GuardChecks.js"

/** The waiting messages after the guards. A blocked message ends the run, as one at its beginning would. */
const received = (state: State): Effect.Effect<ReadonlyArray<string>, Fatality> =>
  Effect.flatMap(RecordedStages.received(state.inbox.take), (waiting) => {
    if (waiting.length === 0) return Effect.succeed(waiting)
    return Effect.forEach(waiting, (message) =>
      Effect.gen(function* () {
        let text = message
        if (GuardChecks.isGuarded(state, "input")) {
          const verdict = yield* Effect.mapError(
            GuardChecks.check(state, "input", message, GuardChecks.context(state)),
            (error) => (error instanceof Fatality ? error : new Fatality({ error, toolName: "" }))
          )
          if (verdict.blocked) {
            return yield* Effect.fail(new Fatality({ error: GuardChecks.blockedInput(verdict.by), toolName: "" }))
          }
          text = verdict.text
        }
        state.notes.steered.push(text)
        yield* state.run.emit({ _tag: "Steered", text })
        return text
      })
    )
  })

/** Messages that arrived after the last call. If there are none, no more are accepted. */
export const late = (state: State): Effect.Effect<ReadonlyArray<string>, Fatality> =>
  Effect.flatMap(RecordedStages.closed(state.inbox.close), (closed) => (closed ? Effect.succeed([]) : received(state)))

/** A message and its position. */
export interface Put {
  /** The number of messages before it in the conversation. */
  readonly at: number
  readonly message: Message
}

/** Inserts each message at its position, but never between a call and its result. */
const withPut = (messages: ReadonlyArray<Message>, put: ReadonlyArray<Put>): ReadonlyArray<Message> => {
  const result: Array<Message> = []
  let next = 0
  for (const [index, message] of messages.entries()) {
    while (next < put.length && (put[next] as Put).at <= index && message.role !== "tool") {
      result.push((put[next++] as Put).message)
    }
    result.push(message)
  }
  while (next < put.length) result.push((put[next++] as Put).message)
  return result
}

export const make =
  (state: State, put: Array<Put>): ModelCall.ModelCallInterceptor =>
  (request, next) =>
    Effect.flatMap(Run.Run, (run) => {
      if (run.runId !== state.run.runId) return next(request)
      return Effect.flatMap(received(state), (texts) => {
        for (const content of texts) put.push({ at: request.messages.length, message: { role: "user", content } })
        return next(put.length === 0 ? request : { ...request, messages: withPut(request.messages, put) })
      })
    })
