/**
 * Ends calls at their limits. One fiber sleeps for all calls of a timer, until the earliest limit that can pass. The
 * calls of a run share the timer in its context; outside a run a call has its own.
 *
 * @private
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import * as Ambient from "./Ambient.js"
import { monotonic, tolerance, type Watch } from "./Watch.js"

/** Milliseconds that a timer of the platform can wait at most. */
const longest = 2 ** 31 - 1

const never = Number.POSITIVE_INFINITY

/**
 * A call that waits.
 *
 * @category models
 */
export interface Call {
  readonly watch: Watch
  /** Ends the call. Called once, when a limit has passed. */
  readonly interrupt: () => void
  /** Starts the fiber of the timer, when this call is the first that it has to wake for. */
  readonly runtime: Runtime.Runtime<never>
  /** The time before which no limit of the call can pass; infinite while it is paused. */
  due: number
}

/** The fiber of a timer, and the time until which it sleeps. */
interface Sleep {
  until: number
  fiber: Fiber.RuntimeFiber<void> | undefined
}

/**
 * Ends calls at their limits.
 *
 * @category models
 */
export class CallTimer {
  private readonly calls = new Set<Call>()
  private sleep: Sleep | undefined

  /** A kept timer sleeps on when its last call ends: the next call finds it running. */
  constructor(
    readonly clock: Clock.Clock,
    private isKept: boolean
  ) {}

  /** Adds a call that waits. Returns it, to be removed at its end. */
  add(given: Omit<Call, "due">): Call {
    const call: Call = { ...given, due: 0 }
    this.calls.add(call)
    this.wakeFor(call)
    return call
  }

  /** Removes a call that has ended. */
  remove(call: Call): void {
    call.watch.onResume = undefined
    this.calls.delete(call)
    this.stopIfUnused()
  }

  /** Lets the timer stop with its last call. */
  release(): void {
    this.isKept = false
    this.stopIfUnused()
  }

  private stopIfUnused(): void {
    if (!this.isKept && this.calls.size === 0) this.stop()
  }

  private stop(): void {
    const fiber = this.sleep?.fiber
    this.sleep = undefined
    fiber?.unsafeInterruptAsFork(fiber.id())
  }

  /** Shortens the sleep for a call whose limit can pass before its end. */
  private wakeFor(call: Call): void {
    const now = monotonic(this.clock)
    this.look(call, now)
    if (call.due >= (this.sleep?.until ?? never)) return
    this.stop()
    const sleep: Sleep = { until: call.due, fiber: undefined }
    this.sleep = sleep
    sleep.fiber = Runtime.runFork(call.runtime, this.sleeping(sleep, now))
  }

  private sleeping(sleep: Sleep, now: number): Effect.Effect<void> {
    const millis = Math.min(Math.ceil(sleep.until - now - tolerance), longest)
    return Effect.flatMap(this.clock.sleep(Duration.millis(millis)), () => this.wake(sleep))
  }

  /** Looks at the calls that are due, and sleeps again while there are others. */
  private wake(sleep: Sleep): Effect.Effect<void> {
    if (this.sleep !== sleep) return Effect.void
    const now = monotonic(this.clock)
    sleep.until = never
    for (const call of this.calls) {
      if (call.due - now < tolerance) this.look(call, now)
      sleep.until = Math.min(sleep.until, call.due)
    }
    if (sleep.until !== never) return this.sleeping(sleep, now)
    this.sleep = undefined
    return Effect.void
  }

  /** Interrupts the call when a limit has passed; otherwise sets when the next one can pass. */
  private look(call: Call, now: number): void {
    const { watch } = call
    call.due = never
    if (watch.ended !== undefined) return
    if (watch.isPaused) {
      watch.onResume = () => this.wakeFor(call)
      return
    }
    const millis = watch.check(now)
    if (watch.ended === undefined) call.due = now + millis
    else call.interrupt()
  }
}

/**
 * The timer of the run around the current effect.
 *
 * @category tags
 */
export class Shared extends Ambient.Reference<Shared>()("effect-lexigram/internal/CallTimer/Shared", {
  defaultValue: (): CallTimer | undefined => undefined
}) {}

/**
 * The timer for a call of the fiber: that of its run, or a new one.
 *
 * @category getters
 */
export const of = (fiber: Fiber.RuntimeFiber<any, any>, clock: Clock.Clock): CallTimer => {
  const shared = Context.get(fiber.currentContext as Context.Context<Shared>, Shared)
  return shared !== undefined && shared.clock === clock ? shared : new CallTimer(clock, false)
}

/**
 * A timer for the calls of a run in the fiber, until it is released.
 *
 * @category constructors
 */
export const kept = (fiber: Fiber.RuntimeFiber<any, any>): CallTimer =>
  new CallTimer(Context.get(fiber.currentDefaultServices, Clock.Clock), true)
