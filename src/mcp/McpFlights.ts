/**
 * The calls of a connection that are in flight, and the server's questions to those who made them.
 *
 * @private
 * @since 0.1.0
 */
import type * as Deadline from "../internal/fiber/Deadline.js"
import type { Elicited, Question } from "../skill/mcp/McpClient.js"

/** For whom a call runs and who answers the server's questions meanwhile, if anybody does. */
export interface Asking {
  readonly asker: string | undefined
  readonly answer: ((question: Question, signal: AbortSignal) => Promise<Elicited>) | undefined
}

/** A call in flight, and its time limit. */
export interface Flight extends Asking {
  readonly pulse: Deadline.Pulse
}

export class Flights {
  private readonly all = new Set<Flight>()
  private questions = 0

  add(flight: Flight): void {
    this.all.add(flight)
  }

  delete(flight: Flight): void {
    this.all.delete(flight)
  }

  /**
   * Answers a question of the server. No limit of a call counts meanwhile. Nobody answers for somebody else: while
   * calls of several askers are in flight, a question is cancelled.
   */
  async elicit(question: Question, signal: AbortSignal): Promise<Elicited> {
    const [first] = this.all
    if (first?.answer === undefined) return { action: "cancel" }
    for (const { asker } of this.all) if (asker !== first.asker) return { action: "cancel" }
    this.questions++
    for (const { pulse } of this.all) pulse.hold()
    try {
      return await first.answer(question, signal)
    } catch {
      // The call has ended.
      return { action: "cancel" }
    } finally {
      if (--this.questions === 0) for (const { pulse } of this.all) pulse.beat()
    }
  }
}
