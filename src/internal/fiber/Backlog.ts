/**
 * A bounded queue: written in plain steps, read by effects. What happens to a value that comes when it is full is its
 * strategy.
 */
import * as Channel from "effect/Channel"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/**
 * `backpressure` refuses the value, and the writer may wait for room; `dropping` loses it, `sliding` loses the oldest
 * one instead.
 */
export type Strategy = "backpressure" | "dropping" | "sliding"

/** Wakes all who wait; each of them looks again whether what it waits for has come. */
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
  /** Values lost by the strategy, or by `clear`. */
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

  /** False when the value is refused: the queue has ended, or is full under `backpressure`. */
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

  /** Adds whatever the capacity is. */
  push(value: A): void {
    this.values.push(value)
    this.arrival.notify()
  }

  /** Takes nothing more; what is there can be read. */
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

  /** The next value, when there is one; `undefined` at the end. */
  readonly take: Effect.Effect<A | undefined> = Effect.suspend(() => {
    if (this.size > 0) {
      const value = this.shift()
      this.left()
      return Effect.succeed(value)
    }
    return this.isEnded ? Effect.succeed(undefined) : Effect.zipRight(this.arrived, this.take)
  })

  /** All there are, at least one; `undefined` at the end. */
  readonly takeAll: Effect.Effect<Array<A> | undefined> = Effect.suspend(() => {
    if (this.size > 0) {
      const values = this.takeAllNow()
      this.left()
      return Effect.succeed(values)
    }
    return this.isEnded ? Effect.succeed(undefined) : Effect.zipRight(this.arrived, this.takeAll)
  })

  /** Waits while the queue is full; one that has ended makes nobody wait. */
  readonly room: Effect.Effect<void> = this.departure.wait(() => this.isEnded || !this.isFull)

  private readonly arrived: Effect.Effect<void> = this.arrival.wait(() => this.isEnded || this.size > 0)

  // Writers are woken together when half of it is free, not one a value: each look of each of them costs.
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

/** What comes, to its end; read by one. */
export const toStream = <A>(backlog: Backlog<A>): Stream.Stream<A> => {
  type Pulled = Channel.Channel<Chunk.Chunk<A>, unknown, never, unknown, void>
  const channel: Pulled = Channel.flatMap(Channel.fromEffect(backlog.takeAll), (values) =>
    values === undefined
      ? Channel.void
      : Channel.flatMap(Channel.write(Chunk.unsafeFromArray(values)), (): Pulled => channel)
  )
  return Stream.fromChannel(channel)
}
