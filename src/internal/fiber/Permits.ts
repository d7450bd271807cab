/**
 * Bounds how many effects run at a time, in the order in which they came.
 *
 * `Effect.makeSemaphore` of Effect 3 loses a permit when a fiber is interrupted between the operation that counts it
 * and the one that installs its release (Effect-TS/effect#6910, fixed in version 4): whoever waits then waits for ever.
 * It also lets a fiber that returns at once take every permit. `Permits.test.ts` tells when it does neither any more.
 */
import * as Effect from "effect/Effect"

/** Runs an effect while it holds a permit. Waits interruptibly if the caller is interruptible. */
export type WithPermit = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** A requested permit. */
export interface Permit {
  /** Completes when the permit is granted. One fiber waits for it. */
  readonly wait: () => Effect.Effect<void>
  /** Passes the permit on, or gives up waiting for it. Only the first call counts. */
  readonly release: () => void
}

/** Permits, and those who wait for one. */
export interface Line {
  /** Whether all permits are taken. */
  readonly isFull: () => boolean
  readonly waiting: () => number
  /** Requests a permit, whose place in the line is that of this call. The caller must release it. */
  readonly ask: () => Permit
  readonly withPermit: WithPermit
}

class Request implements Permit {
  private readonly owner: Requests
  isGranted: boolean
  wake: (() => void) | undefined
  constructor(owner: Requests, isGranted: boolean) {
    this.owner = owner
    this.isGranted = isGranted
  }

  wait(): Effect.Effect<void> {
    return this.isGranted
      ? Effect.void
      : Effect.async<void>((resume) => {
          if (this.isGranted) return resume(Effect.void)
          this.wake = () => resume(Effect.void)
        })
  }

  release(): void {
    if (this.isGranted) this.owner.passOn(this)
    else this.owner.waiters.delete(this)
  }
}

class Requests implements Line {
  readonly waiters = new Set<Request>()
  private free: number
  constructor(permits: number) {
    this.free = permits
  }

  isFull(): boolean {
    return this.free <= 0
  }

  waiting(): number {
    return this.waiters.size
  }

  ask(): Request {
    const isFree = this.free > 0
    const request = new Request(this, isFree)
    if (isFree) this.free--
    else this.waiters.add(request)
    return request
  }

  passOn(request: Request): void {
    request.isGranted = false
    const [next] = this.waiters
    if (next === undefined) {
      this.free++
      return
    }
    this.waiters.delete(next)
    next.isGranted = true
    next.wake?.()
  }

  readonly withPermit: WithPermit = (effect) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        const request = this.ask()
        return Effect.ensuring(
          restore(request.isGranted ? effect : Effect.zipRight(request.wait(), effect)),
          Effect.sync(() => request.release())
        )
      })
    )
}

/** A released permit goes to the first who waits, before anyone who asks later. */
export const line = (permits: number): Line => new Requests(permits)

/** An interrupted wait takes no permit, and an effect gives its permit back however it ends. */
export const make = (permits: number): WithPermit => line(permits).withPermit
