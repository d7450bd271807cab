/**
 * Hands events of a run to one reader. The run waits until the reader has taken what it was given; before there is a
 * reader, events are kept.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

interface Waiter<A> {
  readonly resolve: (result: IteratorResult<A, undefined>) => void
  readonly reject: (error: unknown) => void
}

const done = { done: true, value: undefined } as const

export class EventReader<A> implements AsyncIterator<A, undefined> {
  private waiting: Array<A> = []
  private taken = 0
  private readonly waiters: Array<Waiter<A>> = []
  private resume: (() => void) | undefined
  private end: { readonly error?: unknown; readonly failed: boolean } | undefined
  private hasReader = false

  /** `begin` starts the run on first use, `leave` stops it. */
  constructor(
    private readonly begin: () => void,
    private readonly leave: () => Promise<void>
  ) {}

  push(elements: Iterable<A>): Effect.Effect<void> {
    return Effect.suspend(() => {
      for (const element of elements) {
        const waiter = this.waiters.shift()
        if (waiter === undefined) this.waiting.push(element)
        else waiter.resolve({ done: false, value: element })
      }
      return this.hasReader && this.size > 0 ? this.drained : Effect.void
    })
  }

  /** Waits for the reader to come back for more. */
  private readonly drained = Effect.async<void>((resume) => {
    this.resume = () => resume(Effect.void)
    return Effect.sync(() => {
      this.resume = undefined
    })
  })

  finish(end: { readonly error?: unknown; readonly failed: boolean }): void {
    this.end = end
    if (this.waiters.length === 0) return
    const [first, ...others] = this.waiters.splice(0)
    if (end.failed) {
      this.end = { failed: false }
      first?.reject(end.error)
    } else first?.resolve(done)
    for (const waiter of others) waiter.resolve(done)
  }

  private get size(): number {
    return this.waiting.length - this.taken
  }

  next(): Promise<IteratorResult<A, undefined>> {
    this.hasReader = true
    this.begin()
    if (this.size > 0) return Promise.resolve({ done: false, value: this.take() })
    if (this.end !== undefined) {
      const { error, failed } = this.end
      this.end = { failed: false }
      return failed ? Promise.reject(error) : Promise.resolve(done)
    }
    const result = new Promise<IteratorResult<A, undefined>>((resolve, reject) => {
      this.waiters.push({ resolve, reject })
    })
    const resume = this.resume
    this.resume = undefined
    resume?.()
    return result
  }

  private take(): A {
    const element = this.waiting[this.taken++] as A
    if (this.taken === this.waiting.length) {
      this.waiting = []
      this.taken = 0
    }
    return element
  }

  /** A reader that leaves ends the run. */
  async return(): Promise<IteratorResult<A, undefined>> {
    this.waiting = []
    this.taken = 0
    await this.leave()
    this.end = { failed: false }
    return done
  }
}
