/**
 * The steps, texts and reasoning of a run, as events of AG-UI.
 *
 * @private
 * @since 0.1.0
 */
import type { AgUiEvent } from "./AgUiEvent.js"
import type { AgUiMessage } from "./AgUiMessage.js"
import { AgUiTranscript } from "./AgUiTranscript.js"

/**
 * Texts that are taken back stay until it is known what comes next: a text that went before calls of tools is no
 * answer, and stays. Else the client gets its messages without the text.
 *
 * @category models
 */
export class AgUiTexts {
  protected events: Array<AgUiEvent> = []
  protected readonly transcript: AgUiTranscript
  /** Whether the client has what comes now. */
  protected isSilent = false
  private stepName: string | undefined
  /** The message that gets the calls of the step. */
  private answerId: string | undefined
  private textId: string | undefined
  private reasoningId: string | undefined
  private hasReasoned = false
  private messages = 0
  /** The text of the step that was not taken back, and its messages. */
  private shown = ""
  private shownIds: Array<string> = []
  private isRetracting = false

  constructor(
    private readonly prefix: string,
    messages: Iterable<AgUiMessage>
  ) {
    this.transcript = new AgUiTranscript(messages)
  }

  protected emit(...events: ReadonlyArray<AgUiEvent>): void {
    if (this.isSilent) return
    for (const event of events) {
      this.events.push(event)
      this.transcript.add(event)
    }
  }

  /** The client follows from here on. */
  protected endSilence(): void {
    if (!this.isSilent) return
    this.endParts()
    this.isRetracting = false
    this.isSilent = false
    if (this.stepName !== undefined) this.emit({ type: "STEP_STARTED", stepName: this.stepName })
  }

  /** An id that no message of the client has. */
  private nextId(): string {
    let id = `${this.prefix}-${this.messages++}`
    while (!this.isSilent && this.transcript.has(id)) id = `${this.prefix}-${this.messages++}`
    return id
  }

  /** Ends what is open before a call of a tool, and returns the message that gets the call. */
  protected beginCall(): string {
    this.endParts()
    this.isRetracting = false
    this.shown = ""
    this.shownIds = []
    this.answerId ??= this.nextId()
    return this.answerId
  }

  protected retract(): void {
    this.endParts()
    this.isRetracting = this.isRetracting || this.shown !== ""
  }

  /** A whole thought, unless it was shown: by its deltas, or as the text before calls. */
  protected addThought(text: string): void {
    if (this.hasReasoned || (this.isRetracting && text.trim() === this.shown.trim())) return
    this.addReasoning(text)
    this.endParts()
  }

  /** The answer as it holds: whole where its deltas were not shown, or differ from it. */
  protected addWhole(text: string): void {
    this.endParts()
    this.settleRetraction()
    if (text === "" || text.trim() === this.shown.trim()) return
    this.retract()
    this.addText(text)
    this.endParts()
  }

  protected beginStep(stepName: string): void {
    this.endStep()
    this.stepName = stepName
    this.hasReasoned = false
    this.shown = ""
    this.shownIds = []
    this.answerId = undefined
    this.emit({ type: "STEP_STARTED", stepName })
  }

  protected endStep(): void {
    this.endParts()
    this.settleRetraction()
    if (this.stepName !== undefined) this.emit({ type: "STEP_FINISHED", stepName: this.stepName })
    this.stepName = undefined
  }

  protected endParts(): void {
    const { reasoningId, textId } = this
    if (textId !== undefined) this.emit({ type: "TEXT_MESSAGE_END", messageId: textId })
    if (reasoningId !== undefined) {
      this.emit({ type: "REASONING_MESSAGE_END", messageId: reasoningId })
      this.emit({ type: "REASONING_END", messageId: reasoningId })
    }
    this.textId = undefined
    this.reasoningId = undefined
  }

  private settleRetraction(): void {
    if (!this.isRetracting) return
    this.isRetracting = false
    if (!this.isSilent) this.transcript.remove(this.shownIds)
    if (this.answerId !== undefined && this.shownIds.includes(this.answerId)) this.answerId = undefined
    this.shown = ""
    this.shownIds = []
    this.emit({ type: "MESSAGES_SNAPSHOT", messages: this.transcript.snapshot })
  }

  protected addText(text: string): void {
    if (text === "") return
    this.settleRetraction()
    if (this.textId === undefined) {
      this.endParts()
      this.textId = this.nextId()
      this.answerId = this.textId
      this.shownIds.push(this.textId)
      this.emit({ type: "TEXT_MESSAGE_START", messageId: this.textId, role: "assistant" })
    }
    this.shown += text
    this.emit({ type: "TEXT_MESSAGE_CONTENT", messageId: this.textId, delta: text })
  }

  protected addReasoning(text: string): void {
    if (text === "") return
    this.settleRetraction()
    if (this.reasoningId === undefined) {
      this.endParts()
      const messageId = this.nextId()
      this.reasoningId = messageId
      this.emit(
        { type: "REASONING_START", messageId },
        { type: "REASONING_MESSAGE_START", messageId, role: "reasoning" }
      )
    }
    this.hasReasoned = true
    this.emit({ type: "REASONING_MESSAGE_CONTENT", messageId: this.reasoningId, delta: text })
  }
}
