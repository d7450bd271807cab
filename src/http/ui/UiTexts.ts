/**
 * The steps, texts and reasoning of a message of AI SDK UI, as chunks.
 *
 * @private
 * @since 0.1.0
 */
import type { UiChunk } from "./UiChunk.js"

/**
 * Texts that are taken back stay until it is known what comes next: a text that went before calls of tools is no
 * answer, and stays.
 *
 * @category models
 */
export class UiTexts {
  protected chunks: Array<UiChunk> = []
  private isStepOpen = false
  /** Whether the step has parts beside texts. */
  private hasOthers = false
  private hasReasoned = false
  private textId: string | undefined
  private reasoningId: string | undefined
  private parts = 0
  /** The text of the step that was not taken back. */
  private shown = ""
  private isRetracting = false

  constructor(private readonly resetsSteps: boolean) {}

  protected emit(...chunks: ReadonlyArray<UiChunk>): void {
    this.chunks.push(...chunks)
  }

  /** A part of the application. */
  protected emitData(name: string, id: string | undefined, data: unknown): void {
    this.endParts()
    this.settleRetraction()
    this.hasOthers = true
    this.emit({ type: `data-${name}`, ...(id === undefined ? {} : { id }), data })
  }

  /** Before a call of a tool. */
  protected beginOther(): void {
    this.endParts()
    this.isRetracting = false
    this.shown = ""
    this.beginStep()
    this.hasOthers = true
  }

  protected retract(): void {
    this.endParts()
    this.isRetracting = this.isRetracting || this.shown !== ""
  }

  /** A whole thought, unless its deltas were shown. */
  protected addThought(text: string): void {
    if (this.hasReasoned) return
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

  protected beginStep(): void {
    if (this.isStepOpen) return
    this.isStepOpen = true
    this.hasOthers = false
    this.hasReasoned = false
    this.shown = ""
    this.emit({ type: "start-step" })
  }

  protected endStep(): void {
    this.endParts()
    this.settleRetraction()
    if (!this.isStepOpen) return
    this.isStepOpen = false
    this.emit({ type: "finish-step" })
  }

  protected endParts(): void {
    if (this.textId !== undefined) this.emit({ type: "text-end", id: this.textId })
    if (this.reasoningId !== undefined) this.emit({ type: "reasoning-end", id: this.reasoningId })
    this.textId = undefined
    this.reasoningId = undefined
  }

  protected settleRetraction(): void {
    if (!this.isRetracting) return
    this.isRetracting = false
    this.shown = ""
    if (this.resetsSteps && !this.hasOthers && !this.hasReasoned) this.emit({ type: "reset-step" })
    else this.emit({ type: "data-retracted", id: `retracted-${this.parts}`, data: {} })
  }

  protected addText(text: string): void {
    if (text === "") return
    this.settleRetraction()
    this.beginStep()
    if (this.textId === undefined) {
      this.endParts()
      this.textId = `text-${this.parts++}`
      this.emit({ type: "text-start", id: this.textId })
    }
    this.shown += text
    this.emit({ type: "text-delta", id: this.textId, delta: text })
  }

  protected addReasoning(text: string): void {
    if (text === "") return
    this.settleRetraction()
    this.beginStep()
    if (this.reasoningId === undefined) {
      this.endParts()
      this.reasoningId = `reasoning-${this.parts++}`
      this.emit({ type: "reasoning-start", id: this.reasoningId })
    }
    this.hasReasoned = true
    this.emit({ type: "reasoning-delta", id: this.reasoningId, delta: text })
  }
}
