/**
 * Follows the text that a run streams, and finds what is missing for it to add up to the answer.
 *
 * @internal
 * @since 0.1.0
 */
import type { Body } from "../domain/AgentEvent.js"

/** The streamed text of one run; constant work per event until the answer is there. */
export class StreamedText {
  /** The pieces since the last retraction. */
  private pieces: Array<string> = []
  private hasStreamed = false
  private step = 0

  /** Takes an event of the run in its order. */
  push(body: Body): void {
    if (body._tag === "TextDelta") {
      this.pieces.push(body.text)
      this.hasStreamed = true
    } else if (body._tag === "TextRetracted") this.pieces = []
    else if (body._tag === "StepStarted") this.step = body.step
  }

  /**
   * The events after which the streamed text is the answer: the rest of it, or, when something else was streamed, a
   * retraction and the whole answer. Empty when no text was streamed at all.
   */
  completion(answer: string): ReadonlyArray<Body> {
    if (!this.hasStreamed) return []
    let length = 0
    for (const piece of this.pieces) {
      if (!answer.startsWith(piece, length)) {
        return [{ _tag: "TextRetracted", step: this.step }, ...rest(answer)]
      }
      length += piece.length
    }
    return rest(answer.slice(length))
  }
}

const rest = (text: string): ReadonlyArray<Body> => (text === "" ? [] : [{ _tag: "TextDelta", text }])
