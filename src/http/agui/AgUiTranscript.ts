/**
 * The messages that a client has: those it sent, and those it was shown since.
 *
 * @private
 * @since 0.1.0
 */
import * as Sha256 from "../../internal/text/Sha256.js"
import type { AgUiEvent } from "./AgUiEvent.js"
import type { AgUiMessage, Of, ToolCall } from "./AgUiMessage.js"

type Answer = { -readonly [K in keyof Of<"assistant">]: Of<"assistant">[K] }
type Call = ToolCall & { readonly function: { arguments: string } }

/**
 * The id of a call of a run where the client knows another call by its own.
 *
 * @category getters
 */
export const ownIdOf = (id: string, runId: string): string => `${id}-${Sha256.hex(runId).slice(0, 8)}`

/**
 * Whether a client knows a call of a run by this id.
 *
 * @category predicates
 */
export const isShownAs = (shownId: string, id: string, runId: string): boolean => {
  const own = ownIdOf(id, runId)
  return shownId === id || shownId === own || shownId.startsWith(`${own}-`)
}

/**
 * @category models
 */
export class AgUiTranscript {
  private readonly messages = new Map<string, AgUiMessage>()
  private readonly calls = new Map<string, Call>()
  private readonly answered = new Set<string>()

  constructor(messages: Iterable<AgUiMessage>) {
    for (const message of messages) {
      this.messages.set(message.id, message)
      if (message.role === "assistant") for (const call of message.toolCalls ?? []) this.calls.set(call.id, call)
      if (message.role === "tool") this.answered.add(message.toolCallId)
    }
  }

  has(messageId: string): boolean {
    return this.messages.has(messageId)
  }

  hasCall(toolCallId: string): boolean {
    return this.calls.has(toolCallId)
  }

  hasResult(toolCallId: string): boolean {
    return this.answered.has(toolCallId)
  }

  /** All messages that take part in a snapshot: a client keeps activities and reasoning that are not in it. */
  get snapshot(): ReadonlyArray<AgUiMessage> {
    return Array.from(this.messages.values()).filter(({ role }) => role !== "activity" && role !== "reasoning")
  }

  remove(messageIds: Iterable<string>): void {
    for (const id of messageIds) this.messages.delete(id)
  }

  add(event: AgUiEvent): void {
    switch (event.type) {
      case "TEXT_MESSAGE_START":
        this.messages.set(event.messageId, { id: event.messageId, role: "assistant", content: "" })
        return
      case "TEXT_MESSAGE_CONTENT": {
        const message = this.answerOf(event.messageId)
        message.content = `${message.content ?? ""}${event.delta}`
        return
      }
      case "TOOL_CALL_START": {
        const { parentMessageId, toolCallId: id, toolCallName: name } = event
        const call: Call = { id, type: "function", function: { name, arguments: "" } }
        const message = this.answerOf(parentMessageId)
        this.calls.set(id, call)
        message.toolCalls = [...(message.toolCalls ?? []), call]
        return
      }
      case "TOOL_CALL_ARGS": {
        const call = this.calls.get(event.toolCallId)
        if (call !== undefined) call.function.arguments += event.delta
        return
      }
      case "TOOL_CALL_RESULT": {
        const { content, messageId: id, toolCallId } = event
        this.answered.add(toolCallId)
        this.messages.set(id, { id, role: "tool", toolCallId, content })
        return
      }
      default:
    }
  }

  /** An answer of the agent that may be changed. */
  private answerOf(id: string): Answer {
    const message = this.messages.get(id)
    const answer: Answer = message?.role === "assistant" ? { ...message } : { id, role: "assistant" }
    this.messages.set(id, answer)
    return answer
  }
}
