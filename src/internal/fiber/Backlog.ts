/**
 * A bounded queue, written synchronously and read by effects. Its strategy decides what happens to a value offered when
 * it is full.
 */
import * as Channel from "effect/Channel"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/**
 * `backpressure` rejects the value, and the writer may wait for room; `dropping` drops the value; `sliding` drops the
 * oldest one.
 */
export type Strategy = "backpressure" | "dropping" | "sliding"

/** Wakes all waiters; each of them checks its condition again. */
class Signal {
  private readonly waiting = new Set<() => void>()

  wait(isReady: () => boolean): Effect.Effect<void> {
    return Effect.async((resume) => {
      if (isReady()) return resume(Effect.void)
      const wake = () => resume(Effect.void)
      this.waiting.add(wake)
      return Effect.sync(() => void this.waiting.delete(wake))
    })
  }

  notify(): void {
    if (this.waiting.size === 0) return
    const all = Array.from(this.waiting)
    this.waiting.clear()
    for (const wake of all) wake()
  }
}

export class Backlog<A> {
  /** Values dropped by the strategy or by `clear`. */
  lost = 0
  private values: Array<A | undefined> = []
  private head = 0
  private isEnded = false
  private readonly arrival = new Signal()
  private readonly departure = new Signal()

  constructor(
    readonly capacity: number,
    readonly strategy: Strategy
  ) {}

  get size(): number {
    return this.values.length - this.head
  }

  get isFull(): boolean {
    return this.size >= this.capacity
  }

  get ended(): boolean {
    return this.isEnded
  }

  /** Returns false when the value is rejected: the queue has ended, or is full under `backpressure`. */
  offer(value: A): boolean {
    if (this.isEnded) return false
    if (this.isFull) {
      if (this.strategy === "backpressure") return false
      this.lost++
      if (this.strategy === "dropping") return true
      this.shift()
    }
    this.push(value)
    return true
  }

  /** Adds the value regardless of the capacity. */
  push(value: A): void {
    this.values.push(value)
    this.arrival.notify()
  }

  /** Accepts no more values; the queued ones can still be read. */
  end(): void {
    this.isEnded = true
    this.arrival.notify()
    this.departure.notify()
  }

  clear(): void {
    this.lost += this.size
    this.takeAllNow()
    this.departure.notify()
  }

  /** Waits for the next value; `undefined` at the end. */
  readonly take: Effect.Effect<A | undefined> = Effect.suspend(() => {
    if (this.size > 0) {
      const value = this.shift()
      this.left()
      return Effect.succeed(value)
    }
    return this.isEnded ? Effect.succeed(undefined) : Effect.zipRight(this.arrived, this.take)
  })

  /** Waits for all queued values, at least one; `undefined` at the end. */
  readonly takeAll: Effect.Effect<Array<A> | undefined> = Effect.suspend(() => {
    if (this.size > 0) {
      const values = this.takeAllNow()
      this.left()
      return Effect.succeed(values)
    }
    return this.isEnded ? Effect.succeed(undefined) : Effect.zipRight(this.arrived, this.takeAll)
  })

  /** Waits while the queue is full. It does not wait once the queue has ended. */
  readonly room: Effect.Effect<void> = this.departure.wait(() => this.isEnded || !this.isFull)

  private readonly arrived: Effect.Effect<void> = this.arrival.wait(() => this.isEnded || this.size > 0)

  // Writers are woken together when half of the queue is free, not once per value: every check by a writer costs time.
  private left(): void {
    if (this.size <= this.capacity / 2) this.departure.notify()
  }

  private shift(): A {
    const value = this.values[this.head] as A
    this.values[this.head++] = undefined
    if (this.head === this.values.length) {
      this.values = []
      this.head = 0
    } else if (this.head >= 1024 && this.head * 2 >= this.values.length) {
      this.values = this.values.slice(this.head)
      this.head = 0
    }
    return value
  }

  private takeAllNow(): Array<A> {
    const values = (this.head === 0 ? this.values : this.values.slice(this.head)) as Array<A>
    this.values = []
    this.head = 0
    return values
  }
}

/** The values as a stream for one reader, up to the end of the queue. */
export const toStream = <A>(backlog: Backlog<A>): Stream.Stream<A> => {
  type Pulled = Channel.Channel<Chunk.Chunk<A>, unknown, never, unknown, void>
  const channel: Pulled = Channel.flatMap(Channel.fromEffect(backlog.takeAll), (values) =>
    values === undefined
      ? Channel.void
      : Channel.flatMap(Channel.write(Chunk.unsafeFromArray(values)), (): Pulled => channel)
  )
  return Stream.fromChannel(channel)
}
