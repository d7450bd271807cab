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
 * have seen a part of it. A reader who stops anywhere and begins again after the last number sees each text once.
 */
export class WholeTexts {
  private next: number
  private hasText: boolean
  /** Deltas are missing whose text no event of the page had. */
  private isMissing = false

  constructor(from: number) {
    this.next = from
    this.hasText = from > 0
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
      if (event._tag === "TextRetracted") {
        this.isMissing = false
        this.hasText = false
      } else if (event._tag === "TextDelta") this.hasText = true
      // No text of the step before goes on.
      else if (event._tag === "StepStarted") this.isMissing = false
      const late = this.isMissing ? textOf(event) : undefined
      if (late !== undefined) this.give(late, event, complete)
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
    if (this.hasText) add({ _tag: "TextRetracted", step: 0 }, seq - 2)
    if (text !== "") add({ _tag: "TextDelta", text }, seq - 1)
    this.hasText = text !== ""
    this.isMissing = false
  }
}
