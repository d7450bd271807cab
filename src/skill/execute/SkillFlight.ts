/**
 * Shares one execution among equal concurrent ones. The first executes it in its own fiber; if that is interrupted, a
 * waiting one starts over in its place, so that nothing runs without a caller.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import type { Frame } from "./SkillFrame.js"

type Told<A, E> =
  | { readonly _tag: "Landed"; readonly exit: Exit.Exit<A, E>; readonly leader: Frame }
  /** Start over for all waiting executions. */
  | { readonly _tag: "Lead" }
  /** Start over alone. */
  | { readonly _tag: "Alone" }

class Waiter<A, E> {
  told: Told<A, E> | undefined
  wake: (() => void) | undefined
  /** The enclosing execution that others may wait for. */
  readonly holder: Frame | undefined

  constructor(readonly frame: Frame) {
    this.holder = frame.holder()
  }

  tell(told: Told<A, E>): void {
    this.told = told
    this.wake?.()
  }

  readonly answered: Effect.Effect<void> = Effect.async<void>((resume) => {
    if (this.told !== undefined) return resume(Effect.void)
    this.wake = () => resume(Effect.void)
  })
}

class Flight<A, E> {
  readonly waiters = new Set<Waiter<A, E>>()

  constructor(public leader: Frame) {}
}

/**
 * @category models
 */
export interface Work<A, E, R> {
  readonly effect: Effect.Effect<A, E, R>
  /** Turns the shared outcome into the waiter's own; `undefined`: it cannot be used, and the waiter executes itself. */
  readonly join: (exit: Exit.Exit<A, E>, leader: Frame) => Effect.Effect<A, E, R> | undefined
}

/**
 * @category constructors
 */
export class Flights<A, E> {
  private readonly flights = new Map<string, Flight<A, E>>()
  private landings = 0

  /** Number of ended executions, whose results are in the cache if they are kept there. */
  get landed(): number {
    return this.landings
  }

  isUnderWay(key: string): boolean {
    return this.flights.has(key)
  }

  /** Equal executions in progress. */
  get size(): number {
    return this.flights.size
  }

  readonly share = <R>(key: string, frame: Frame, work: Work<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.uninterruptibleMask((restore) => {
      const flight = this.flights.get(key)
      if (flight === undefined) {
        const own = new Flight<A, E>(frame)
        this.flights.set(key, own)
        return this.lead(key, own, frame, work, restore)
      }
      const waiter = new Waiter<A, E>(frame)
      if (!mayWait(waiter, flight.leader)) return restore(work.effect)
      flight.waiters.add(waiter)
      return Effect.matchCauseEffect(restore(waiter.answered), {
        onFailure: (cause) => {
          this.leave(key, flight, waiter)
          return Effect.failCause(cause)
        },
        onSuccess: () => this.follow(key, flight, waiter, work, restore)
      })
    })

  private lead<R>(
    key: string,
    flight: Flight<A, E>,
    frame: Frame,
    work: Work<A, E, R>,
    restore: Restore
  ): Effect.Effect<A, E, R> {
    frame.isLeading = true
    const land = (exit: Exit.Exit<A, E>): Effect.Effect<A, E> => {
      frame.isLeading = false
      this.landings++
      this.flights.delete(key)
      for (const waiter of flight.waiters) waiter.tell({ _tag: "Landed", exit, leader: frame })
      return exit
    }
    return Effect.matchCauseEffect(restore(work.effect), {
      onSuccess: (result) => land(Exit.succeed(result)),
      onFailure: (cause) =>
        Effect.withFiberRuntime<A, E>((fiber) => {
          // A skill may interrupt itself: that is its outcome, for all waiters.
          const isOurs = !Cause.isEmpty(fiber.getFiberRef(FiberRef.interruptedCause))
          if (!isOurs || !Cause.isInterrupted(cause)) return land(Exit.failCause(cause))
          frame.isLeading = false
          this.handOver(key, flight)
          return Effect.failCause(cause)
        })
    })
  }

  private follow<R>(
    key: string,
    flight: Flight<A, E>,
    waiter: Waiter<A, E>,
    work: Work<A, E, R>,
    restore: Restore
  ): Effect.Effect<A, E, R> {
    const told = waiter.told as Told<A, E>
    switch (told._tag) {
      case "Lead":
        return this.lead(key, flight, waiter.frame, work, restore)
      case "Alone":
        return restore(work.effect)
      case "Landed":
        return restore(work.join(told.exit, told.leader) ?? work.effect)
    }
  }

  /** Stops waiting. */
  private leave(key: string, flight: Flight<A, E>, waiter: Waiter<A, E>): void {
    flight.waiters.delete(waiter)
    if (waiter.told?._tag === "Lead") this.handOver(key, flight)
  }

  private handOver(key: string, flight: Flight<A, E>): void {
    for (const next of flight.waiters) {
      flight.waiters.delete(next)
      flight.leader = next.frame
      for (const other of flight.waiters) {
        if (mayWait(other, next.frame)) continue
        flight.waiters.delete(other)
        other.tell({ _tag: "Alone" })
      }
      next.tell({ _tag: "Lead" })
      return
    }
    this.flights.delete(key)
  }
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * An execution that others wait for may wait only for executions inside it: any other may be waiting for what it holds,
 * which would be a deadlock.
 */
const mayWait = (waiter: Waiter<unknown, any>, leader: Frame): boolean =>
  waiter.holder === undefined || (leader !== waiter.holder && leader.isPartOf(waiter.holder))
