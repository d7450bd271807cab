/** Measures the time of one call under limits, without the time during which it is paused. */

import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Ambient from "./Ambient.js"

/**
 * Which limit passed.
 *
 * @since 0.1.0
 * @category models
 */
export type Phase = "whole" | "first-part" | "gap"

/**
 * Told synchronously of every part that arrives. `hold` stops the time until the next beat: no limit counts while the
 * consumer of the parts works.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pulse {
  beat(): void
  hold(): void
}

/**
 * Limits in milliseconds; a limit that is absent or infinite does not apply. `gap` counts from the first beat.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<out E> {
  readonly whole?: number | undefined
  readonly first?: number | undefined
  readonly gap?: number | undefined
  /** Time spent in `outside`, at any depth inside the effect, does not count. */
  readonly pausable?: boolean | undefined
  /** Adds services to the context of the effect. */
  readonly provide?: ((services: Map<string, unknown>) => void) | undefined
  /** Receives a function that ends the effect with an error, as a limit does; returns a function that unsubscribes. */
  readonly ending?: ((end: (error: E) => void) => () => void) | undefined
  readonly onTimeout: (phase: Phase, limit: number) => E
}

/**
 * A timer that wakes early by less than this, the rounding of the clock, is on time.
 *
 * @category constants
 */
export const tolerance = 0.01

/**
 * Milliseconds of the monotonic clock: the wall clock may be set while a call runs.
 *
 * @category getters
 */
export const monotonic = (clock: Clock.Clock): number => Number(clock.unsafeCurrentTimeNanos()) / 1_000_000

const limit = (millis: number | undefined): number =>
  millis === undefined || Number.isNaN(millis) ? Number.POSITIVE_INFINITY : Math.max(0, millis)

/**
 * The innermost pausable watch around the current effect.
 *
 * @category tags
 */
export class Enclosing extends Ambient.Reference<Enclosing>()("effect-lexigram/internal/Watch/Enclosing", {
  defaultValue: (): Watch | undefined => undefined
}) {}

/**
 * The innermost pausable watch around what the fiber runs.
 *
 * @category getters
 */
export const enclosing = (fiber: Fiber.RuntimeFiber<any, any>): Watch | undefined =>
  Context.get(fiber.currentContext as Context.Context<Enclosing>, Enclosing)

/**
 * Measures the time of one call without pauses.
 *
 * @category models
 */
export class Watch implements Pulse {
  readonly started: number
  readonly whole: number
  readonly first: number
  readonly gap: number
  readonly parent: Watch | undefined
  /** Called once when the time resumes. */
  onResume: (() => void) | undefined
  /** Why the call ended early: a limit, or an error from outside. */
  ended: { readonly phase: Phase; readonly limit: number } | { readonly error: unknown } | undefined
  private last: number | undefined
  private held = false
  private pauses = 0
  private pausedAt = 0
  private paused = 0

  constructor(
    readonly clock: Clock.Clock,
    options: Omit<Options<unknown>, "onTimeout">,
    fiber: Fiber.RuntimeFiber<any, any>
  ) {
    this.whole = limit(options.whole)
    this.first = limit(options.first)
    this.gap = limit(options.gap)
    this.parent = options.pausable === true ? enclosing(fiber) : undefined
    this.started = monotonic(this.clock)
  }

  beat(): void {
    this.last = this.time()
    if (!this.held) return
    this.held = false
    this.resumeOne()
  }

  hold(): void {
    if (this.held) return
    this.held = true
    this.pauseOne()
  }

  get isPaused(): boolean {
    return this.pauses > 0
  }

  /** Whether no limit can pass. */
  get isEndless(): boolean {
    return Math.min(this.whole, this.first, this.gap) === Number.POSITIVE_INFINITY
  }

  /** Stops its time and that of all pausable watches around it, up to `border`. */
  pause(border: Watch | undefined): void {
    for (let watch: Watch | undefined = this; watch !== undefined && watch !== border; watch = watch.parent) {
      watch.pauseOne()
    }
  }

  resume(border: Watch | undefined): void {
    for (let watch: Watch | undefined = this; watch !== undefined && watch !== border; watch = watch.parent) {
      watch.resumeOne()
    }
  }

  private pauseOne(): void {
    if (this.pauses++ > 0) return
    this.pausedAt = monotonic(this.clock)
  }

  private resumeOne(): void {
    if (--this.pauses > 0) return
    this.paused += monotonic(this.clock) - this.pausedAt
    const { onResume } = this
    this.onResume = undefined
    onResume?.()
  }

  /** The time without pauses. */
  private time(now: number = monotonic(this.clock)): number {
    return (this.pauses > 0 ? this.pausedAt : now) - this.paused
  }

  /** Milliseconds since the start, without pauses. */
  elapsed(): number {
    return this.time() - this.started
  }

  /** Milliseconds until the next check. Sets `ended` when a limit has passed. */
  check(at: number): number {
    const now = this.time(at)
    const whole = this.started + this.whole - now
    if (whole < tolerance) return this.expire("whole", this.whole)
    if (this.last === undefined) {
      const first = this.started + this.first - now
      if (first < tolerance) return this.expire("first-part", this.first)
      return Math.min(whole, first, this.gap)
    }
    const gap = this.last + this.gap - now
    if (gap < tolerance) return this.expire("gap", this.gap)
    return Math.min(whole, gap)
  }

  private expire(phase: Phase, millis: number): number {
    this.ended = { phase, limit: millis }
    return 0
  }
}

/**
 * Pauses the watches around the effect, up to the watch `border`: their limits do not count its time. For waits that
 * nothing inside those limits can shorten: for a person, or for the reader of a stream.
 *
 * @category combinators
 */
export const outside = <A, E, R>(effect: Effect.Effect<A, E, R>, border?: Watch | undefined): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) => {
    const watch = enclosing(fiber)
    return watch === undefined || watch === border
      ? effect
      : Effect.acquireUseRelease(
          Effect.sync(() => watch.pause(border)),
          () => effect,
          () => Effect.sync(() => watch.resume(border))
        )
  })

/**
 * Runs the effect under a watch that `outside` pauses.
 *
 * @category combinators
 */
export const within = <A, E, R>(effect: Effect.Effect<A, E, R>, watch: Watch): Effect.Effect<A, E, R> =>
  Effect.mapInputContext(effect, (context: Context.Context<R>) => Context.add(context, Enclosing, watch))

/**
 * Passes a function to the effect that returns its running time in milliseconds, without the time spent in `outside`.
 *
 * @category combinators
 */
export const measured = <A, E, R>(effect: (elapsed: () => number) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.clockWith((clock) =>
    Effect.withFiberRuntime((fiber) => {
      const watch = new Watch(clock, { pausable: true }, fiber)
      return within(
        Effect.suspend(() => effect(() => watch.elapsed())),
        watch
      )
    })
  )
