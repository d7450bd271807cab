/**
 * Scripts of `TestModel` from what was recorded: conversations in the format of chat completions, and runs.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import type { AgentResponse } from "../../domain/AgentResponse.js"
import * as JsonRepair from "../../internal/text/JsonRepair.js"
import type * as TestModel from "../TestModel.js"

/** A call as chat completions have it, or without the wrapping of its function. */
export type RecordedCall =
  | { readonly id?: string; readonly function: { readonly name: string; readonly arguments: string } }
  | { readonly id?: string; readonly name: string; readonly arguments: string }

/** A message as chat completions have it. */
export interface RecordedMessage {
  readonly role: string
  readonly content?: string | ReadonlyArray<{ readonly type: string; readonly text?: string }> | null
  readonly tool_calls?: ReadonlyArray<RecordedCall> | null
}

const textOf = ({ content }: RecordedMessage): string =>
  typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("")

const callOf = (call: RecordedCall): TestModel.Call => {
  const called = "function" in call ? call.function : call
  return {
    ...(call.id === undefined ? {} : { id: call.id }),
    name: called.name,
    // What is no JSON stays as the model wrote it.
    params: Either.getOrElse(JsonRepair.decode(called.arguments), () => called.arguments)
  }
}

const turn = (text: string, calls: ReadonlyArray<TestModel.Call>): TestModel.Turn => ({
  ...(text === "" ? {} : { text }),
  ...(calls.length === 0 ? {} : { calls })
})

/** A turn for each message of the assistant. */
export const ofMessages = (messages: ReadonlyArray<RecordedMessage>): ReadonlyArray<TestModel.Turn> =>
  messages
    .filter(({ role }) => role === "assistant")
    .map((message) => turn(textOf(message), (message.tool_calls ?? []).map(callOf)))

/** A turn for each step that called tools, and one for the answer. */
export const ofResponse = ({ message, steps }: AgentResponse<unknown>): ReadonlyArray<TestModel.Turn> => [
  ...steps
    .filter(({ toolCalls }) => toolCalls.length > 0)
    .map(({ thought, toolCalls }) =>
      turn(
        thought ?? "",
        toolCalls.map(({ id, name, params }) => ({ id, name, params }))
      )
    ),
  ...(message === "" ? [] : [{ text: message }])
]
