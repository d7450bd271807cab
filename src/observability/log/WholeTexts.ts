/**
 * Completes the events of a log for a reader of deltas. The log has no deltas: a message, or the error of a run that
 * showed a part of its answer, has the text once and whole.
 *
 * @private
 * @since 0.1.0
 */
import type { AgentEvent, Body } from "../../domain/AgentEvent.js"

const textOf = (event: AgentEvent): string | undefined =>
  event._tag === "Message" || event._tag === "Error" ? event.text : undefined

/** The event that decides what becomes of the text whose deltas end before an event of a page. */
const decider = (events: ReadonlyArray<AgentEvent>, from: number): AgentEvent | undefined => {
  for (let at = from; at < events.length; at++) {
    const event = events[at] as AgentEvent
    if (event._tag === "TextRetracted" || event._tag === "StepStarted" || textOf(event) !== undefined) return event
  }
  return undefined
}

/**
 * Gives the events of one run, page by page, to a reader who has those below `from`. Where deltas are missing, their
 * text comes whole as one `TextDelta` with the number of the last of them, after a `TextRetracted` if the reader may
 * have seen a part of it; one who was given its begin here gets the rest of it. A reader who stops anywhere and begins
 * again after the last number sees each text once.
 */
export class WholeTexts {
  private next: number
  private hasText: boolean
  /** What the reader has of the text, if it was given all of that by this. */
  private shown: string | undefined
  /** The whole text was given: deltas of it that still come are part of it. */
  private isWhole = false
  /** Deltas are missing whose text no event of the page had. */
  private isMissing = false

  constructor(from: number) {
    this.next = from
    this.hasText = from > 0
    this.shown = from > 0 ? undefined : ""
  }

  page(events: ReadonlyArray<AgentEvent>): ReadonlyArray<AgentEvent> {
    const complete: Array<AgentEvent> = []
    for (let at = 0; at < events.length; at++) {
      const event = events[at] as AgentEvent
      if (event.seq > this.next) {
        const text = textOf(decider(events, at) ?? event)
        if (text === undefined) this.isMissing = true
        else this.give(text, event, complete)
      }
      this.next = event.seq + 1
      if (event._tag === "TextDelta" && this.isWhole) continue
      if (event._tag === "TextRetracted") {
        this.isMissing = false
        this.hasText = false
        this.shown = ""
      } else if (event._tag === "TextDelta") {
        this.hasText = true
        if (this.shown !== undefined) this.shown += event.text
      } else if (event._tag === "StepStarted") {
        // No text of the step before goes on.
        this.isMissing = false
        this.shown = ""
      }
      const text = textOf(event)
      if (text !== undefined) {
        if (this.isMissing) this.give(text, event, complete)
        this.shown = ""
      }
      if (event._tag !== "TextDelta" && (text !== undefined || this.shown === "")) this.isWhole = false
      complete.push(event)
    }
    return complete
  }

  /** Adds a whole text before an event. */
  private give(text: string, { agent, at, parentRunId, runId, seq }: AgentEvent, complete: Array<AgentEvent>): void {
    const add = (body: Body, number: number) => {
      const meta = { runId, ...(parentRunId === undefined ? {} : { parentRunId }), agent, seq: number, at }
      complete.push({ ...body, ...meta } as AgentEvent)
    }
    const { shown } = this
    const goesOn = shown !== undefined && text.startsWith(shown)
    const rest = goesOn ? text.slice(shown.length) : text
    if (this.hasText && !goesOn) add({ _tag: "TextRetracted", step: 0 }, seq - 2)
    if (rest !== "") add({ _tag: "TextDelta", text: rest }, seq - 1)
    this.hasText = text !== ""
    this.shown = text
    this.isWhole = true
    this.isMissing = false
  }
}
