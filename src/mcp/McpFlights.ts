/**
 * The calls of a connection that are in flight, and the server's questions to those who made them.
 *
 * @private
 * @since 0.1.0
 */
import type * as Deadline from "../internal/fiber/Deadline.js"
import type { Elicited, Question, Sampled, SampleRequest } from "../skill/mcp/McpClient.js"

/** For whom a call runs and who answers the server's questions meanwhile, if anybody does. */
export interface Asking {
  readonly asker: string | undefined
  readonly answer: ((question: Question, signal: AbortSignal) => Promise<Elicited>) | undefined
  readonly sample: ((request: SampleRequest, signal: AbortSignal) => Promise<Sampled | undefined>) | undefined
}

export class Flights {
  private readonly all = new Map<Deadline.Pulse, Asking | undefined>()
  private pauses = 0

  /** `asking` is absent for a request during which a server has nothing to ask. */
  add(pulse: Deadline.Pulse, asking: Asking | undefined): void {
    this.all.set(pulse, asking)
  }

  delete(pulse: Deadline.Pulse): void {
    this.all.delete(pulse)
  }

  /** Waits for a person: no limit of a request in flight counts meanwhile. */
  async paused<A>(wait: () => Promise<A>): Promise<A> {
    this.pauses++
    for (const pulse of this.all.keys()) pulse.hold()
    try {
      return await wait()
    } finally {
      if (--this.pauses === 0) for (const pulse of this.all.keys()) pulse.beat()
    }
  }

  /** Answers a question of the server. */
  elicit(question: Question, signal: AbortSignal): Promise<Elicited> {
    return this.answered(this.asking?.answer, question, signal, { action: "cancel" })
  }

  /** Answers by a model; `undefined` refuses. */
  sample(request: SampleRequest, signal: AbortSignal): Promise<Sampled | undefined> {
    return this.answered(this.asking?.sample, request, signal, undefined)
  }

  /** Nobody answers for somebody else: nobody does while calls of several askers are in flight. */
  private get asking(): Asking | undefined {
    const [first, ...others] = Array.from(this.all.values()).filter((asking) => asking !== undefined)
    return others.every(({ asker }) => asker === first?.asker) ? first : undefined
  }

  private async answered<Q, A>(
    answer: ((question: Q, signal: AbortSignal) => Promise<A>) | undefined,
    question: Q,
    signal: AbortSignal,
    none: A
  ): Promise<A> {
    if (answer === undefined) return none
    try {
      return await this.paused(() => answer(question, signal))
    } catch {
      // The call has ended.
      return none
    }
  }
}
