/**
 * Follows the text that a run streams and finds what is missing for it to equal the answer.
 *
 * @private
 * @since 0.1.0
 */
import type { Body } from "../domain/AgentEvent.js"

/** The streamed text of one run, with constant work per event until the answer is known. */
export class StreamedText {
  /** The pieces since the last retraction. */
  private pieces: Array<string> = []
  private hasStreamed = false
  private hasAnswered = false
  private step = 0

  /** Takes the next event of the run. */
  push(body: Body): void {
    if (body._tag === "TextDelta") {
      this.pieces.push(body.text)
      this.hasStreamed = true
    } else if (body._tag === "TextRetracted" || body._tag === "AnswerRejected") this.pieces = []
    else if (body._tag === "StepStarted") this.step = body.step
  }

  /** The text that was streamed and not retracted, if the run has not answered. */
  unanswered(): string {
    return this.hasAnswered ? "" : this.pieces.join("")
  }

  /**
   * The events that complete the streamed text to the answer: the rest of it, or, if another text was streamed, a
   * retraction and the whole answer. Empty if no text was streamed at all.
   */
  completion(answer: string): ReadonlyArray<Body> {
    this.hasAnswered = true
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
