/**
 * One turn of a loop of model and tools: the request, the meaning of the reply, and the next messages. Pure; shared by
 * every loop.
 *
 * @private
 * @since 0.1.0
 */
import type { ToolResultPartEncoded } from "@effect/ai/Prompt"
import * as ToolFiles from "../../content/ToolFiles.js"
import type { FinishReason } from "../../domain/AgentEvent.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import type { Outcome, ToolCall } from "../../tool/ToolRunner.js"
import type { Task } from "../definition/Strategy.js"
import * as ReActText from "./ReActText.js"

/** The model answers. `said` is its message, if it is to be kept. */
export interface Answers {
  readonly _tag: "Answers"
  readonly text: string
  readonly reason: FinishReason
  readonly said: LlmClient.Message | undefined
}

/** The model continues after these messages. */
export interface Continues {
  readonly _tag: "Continues"
  readonly messages: ReadonlyArray<LlmClient.Message>
}

/** The model acts. `written` is true if it wrote its call as text. */
export interface Acts {
  readonly _tag: "Acts"
  readonly calls: ReadonlyArray<ToolCall>
  readonly assistant: LlmClient.Message
  readonly written: boolean
}

export type Turn = Answers | Continues | Acts

/** The meaning of a reply, the thought in it, and the text to answer with if the loop ends without an answer. */
export interface Reading {
  readonly turn: Turn
  readonly thought: string
  readonly lastText: string | undefined
}

/** Maps the finish reason of the model to that of a run with its final text. */
export const finishReason = (reason: LlmClient.FinishReason): FinishReason =>
  reason === "length" || reason === "content-filter" ? reason : "completed"

const NUDGE = "Your last answer was empty. Answer the question, or call a tool."

/** The request to a model with native tools. Without tools it asks for the output shape. */
export const nativeRequest = (task: Task, messages: ReadonlyArray<LlmClient.Message>): LlmClient.LlmRequest => {
  const { output, tools } = task
  if (tools.definitions.length > 0) return { messages, tools: tools.definitions }
  return output === undefined
    ? { messages }
    : { messages, responseFormat: { type: "json", name: output.name, schema: output.jsonSchema } }
}

/** Whether calls are read from the text of a model with native tools. */
export type TextCalls = "never" | "always"

/**
 * Reads the reply of a model with native tools: calls, or a text, which is its answer. With `textCalls: "always"` a
 * text that is exactly one step of the ReAct protocol is that step.
 */
export const readNative = (
  response: LlmClient.LlmResponse,
  options: { readonly step: number; readonly toolNames: ReadonlyArray<string>; readonly textCalls: TextCalls }
): Reading => {
  const { step, textCalls, toolNames } = options
  const text = LlmClient.text(response)
  const lastText = text === "" ? undefined : text
  const calls = LlmClient.toolCalls(response)
  if (calls.length > 0) {
    return {
      turn: { _tag: "Acts", calls, assistant: LlmClient.assistantMessage(response), written: false },
      thought: text.trim(),
      lastText
    }
  }
  const written =
    textCalls === "always" && toolNames.length > 0 ? ReActText.parseOnly(text, { tools: toolNames }) : undefined
  if (written?._tag === "Action" && toolNames.includes(written.tool)) {
    return { turn: actsInText(written, step), thought: written.thought, lastText }
  }
  const said = LlmClient.assistantMessage(response)
  if (response.finishReason === "pause") return { turn: { _tag: "Continues", messages: [said] }, thought: "", lastText }
  if (text === "" && response.finishReason !== "content-filter" && response.finishReason !== "length") {
    // Providers reject reasoning without the content it led to.
    const acted = response.content.some((part) => part.type === "tool-call" || part.type === "tool-result")
    const messages: ReadonlyArray<LlmClient.Message> = [...(acted ? [said] : []), { role: "user", content: NUDGE }]
    return { turn: { _tag: "Continues", messages }, thought: "", lastText }
  }
  return {
    turn: {
      _tag: "Answers",
      text: written?._tag === "FinalAnswer" ? written.answer : text,
      reason: finishReason(response.finishReason),
      said
    },
    thought: "",
    lastText
  }
}

const actsInText = (parsed: ReActText.Action, step: number): Acts => ({
  _tag: "Acts",
  calls: [{ id: `text_${step}`, name: parsed.tool, params: ReActText.paramsOf(parsed) }],
  assistant: { role: "assistant", content: parsed.cut.text },
  written: true
})

/** Reads the reply of a model that writes the ReAct protocol. */
export const readText = (
  response: LlmClient.LlmResponse,
  options: { readonly step: number; readonly toolNames: ReadonlyArray<string> }
): Reading => {
  if (response.finishReason === "pause")
    return {
      turn: { _tag: "Continues", messages: [LlmClient.assistantMessage(response)] },
      thought: "",
      lastText: undefined
    }
  const parsed = ReActText.parse(LlmClient.text(response), { tools: options.toolNames })
  const reason = finishReason(response.finishReason)
  const thought = parsed.thought.trim()
  const lastText = thought === "" ? undefined : thought
  const said: LlmClient.Message = { role: "assistant", content: parsed.cut.text }
  if (parsed._tag === "Action") return { turn: actsInText(parsed, options.step), thought, lastText }
  if (parsed._tag === "FinalAnswer") {
    return { turn: { _tag: "Answers", text: parsed.answer, reason, said }, thought, lastText }
  }
  const empty = parsed.cut.text === ""
  // If asked again, the content filter would cut the reply again.
  if (reason === "content-filter" || (reason === "length" && parsed.reason === "empty")) {
    const turn: Answers = { _tag: "Answers", text: parsed.cut.text, reason, said: empty ? undefined : said }
    return { turn, thought, lastText }
  }
  return {
    turn: {
      _tag: "Continues",
      messages: [...(empty ? [] : [said]), { role: "user", content: ReActText.observation(parsed.message) }]
    },
    thought,
    lastText: parsed.reason === "no-marker" && !empty ? parsed.cut.text : lastText
  }
}

const resultPart = (call: ToolCall, outcome: Outcome): ToolResultPartEncoded => ({
  type: "tool-result",
  id: call.id,
  name: call.name,
  isFailure: outcome.isFailure,
  result: outcome.result,
  providerExecuted: false,
  ...ToolFiles.optionsOf(outcome.files)
})

/** The message with the results of the calls. `note` follows the result of the last one. */
export const observed = (turn: Acts, outcomes: ReadonlyArray<Outcome>, note?: string): LlmClient.Message => {
  const shown = (outcome: Outcome) => (note === undefined ? outcome.observation : `${outcome.observation}\n\n${note}`)
  if (turn.written) return { role: "user", content: ReActText.observation(shown(outcomes[0]!)) }
  const content = outcomes.map((outcome, i) => {
    const isLast = note !== undefined && i === outcomes.length - 1
    return resultPart(turn.calls[i]!, isLast ? { ...outcome, result: shown(outcome) } : outcome)
  })
  return { role: "tool", content }
}
