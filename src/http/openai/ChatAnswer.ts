/**
 * The text of a run, as a protocol that takes nothing back can send it.
 *
 * @private
 * @since 0.1.0
 */
import type { AgentEvent, FinishReason } from "../../domain/AgentEvent.js"
import type { ApiError } from "../api/ApiError.js"
import * as CallerTools from "../chat/CallerTools.js"
import * as AnswerForm from "./AnswerForm.js"
import * as OpenAiFailures from "./OpenAiFailures.js"

const BREAK = "\n\n"

/**
 * A call that the caller is to make.
 *
 * @category models
 */
export interface ClientCall {
  /** The id of the request for its result. */
  readonly id: string
  readonly name: string
  /** As JSON. */
  readonly arguments: string
}

/**
 * Takes the events of a run. A text that does not go on from what was sent, such as that of the next step, or one after
 * a retraction, begins a new paragraph.
 *
 * @category models
 */
export class ChatAnswer {
  /** The text of the run, once it is known. */
  message = ""
  /** Why the run ended, if it succeeded. */
  reason: FinishReason | undefined
  failure: ApiError | undefined
  private hasSent = false
  /** What was sent of the present paragraph. */
  private sent: Array<string> = []
  private sentLength = 0
  /** What came since that was taken back; none unless it was. */
  private again: Array<string> | undefined
  private againLength = 0
  private readonly requests = new Map<string, string>()
  /** The calls that wait for a result of the caller. */
  readonly calls = new Map<string, ClientCall>()
  /** The arguments of the calls that go on. */
  private readonly params = new Map<string, unknown>()

  /** With `isWhole` nothing is sent before the answer is certain. */
  constructor(private readonly isWhole: boolean) {}

  /** Whether the run has ended. */
  get hasEnded(): boolean {
    return this.reason !== undefined || this.failure !== undefined
  }

  /** The request of a person that the run waits for. */
  get waitsFor(): string | undefined {
    for (const id of this.requests.keys()) return id
    return undefined
  }

  /** Whether the run may have nothing to tell until the caller or a person answers. */
  get isWaiting(): boolean {
    return this.requests.size > 0 || this.calls.size > 0
  }

  /** Takes an event and returns the text to send. */
  push(event: AgentEvent): string {
    switch (event._tag) {
      case "TextDelta":
        return this.isWhole ? "" : this.take(event.text)
      case "TextRetracted":
      case "AnswerRejected":
        if (this.sentLength > 0) {
          this.again = []
          this.againLength = 0
        }
        return ""
      case "StepStarted":
        this.begin()
        return ""
      case "Message":
        this.message = this.isWhole ? AnswerForm.toJson(event.text) : event.text
        return this.complete(this.message)
      case "ToolCall":
        this.params.set(event.id, event.params)
        return ""
      case "ToolResult":
        this.params.delete(event.id)
        return ""
      case "QuestionAsked":
        if (CallerTools.isGiven(event)) {
          const args = JSON.stringify(this.params.get(event.toolCallId) ?? {})
          this.calls.set(event.id, { id: event.id, name: event.name, arguments: args })
        } else this.requests.set(event.id, event.name)
        return ""
      case "ApprovalRequested":
        this.requests.set(event.id, event.name)
        return ""
      case "ApprovalResolved":
      case "QuestionAnswered":
        this.requests.delete(event.id)
        this.calls.delete(event.id)
        return ""
      case "Finished":
        this.reason = event.reason
        return ""
      case "Error":
        this.failure = OpenAiFailures.fromRunError(event.error, event.interrupted)
        return ""
      default:
        return ""
    }
  }

  private begin(): void {
    this.sent = []
    this.sentLength = 0
    this.again = undefined
  }

  private send(text: string): string {
    if (text === "") return ""
    const broken = this.hasSent && this.sentLength === 0 ? BREAK + text : text
    this.sent.push(text)
    this.sentLength += text.length
    this.hasSent = true
    return broken
  }

  private take(text: string): string {
    if (this.again === undefined) return this.send(text)
    this.again.push(text)
    this.againLength += text.length
    return this.againLength < this.sentLength ? "" : this.goOn(this.again.join(""))
  }

  /** The rest of a text whose begin may have been sent. */
  private goOn(text: string): string {
    const sent = this.sent.join("")
    this.again = undefined
    if (text.startsWith(sent)) return this.send(text.slice(sent.length))
    this.begin()
    return this.send(text)
  }

  private complete(text: string): string {
    // Surrounding space is no other answer.
    return this.again === undefined && this.sent.join("").trim() === text.trim() ? "" : this.goOn(text)
  }
}
