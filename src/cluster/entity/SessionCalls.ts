/**
 * Calls of entities by their clients: repeated where a process ended meanwhile, with failures that say what to do.
 *
 * @private
 * @since 0.1.0
 */
import type { AlreadyProcessingMessage, MailboxFull, PersistenceError } from "@effect/cluster/ClusterError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as AgentEntityError from "./AgentEntityError.js"

/**
 * @category models
 */
export type CallFailure = MailboxFull | AlreadyProcessingMessage | PersistenceError

const pause = "200 millis"

/** A call that a process broke off: by a closed connection, which is a defect, or by its end, which interrupts. */
class Broken {
  readonly _tag = "Broken"
  constructor(readonly cause: Cause.Cause<never>) {}
}

const isCallFailure = (error: unknown): error is CallFailure =>
  typeof error === "object" &&
  error !== null &&
  "_tag" in error &&
  (error._tag === "MailboxFull" || error._tag === "AlreadyProcessingMessage" || error._tag === "PersistenceError")

/** A failure of the call itself in our terms; the others are those of the handler. */
const told = <E>(error: E | CallFailure): Exclude<E, CallFailure> | AgentEntityError.AgentEntityError | Broken => {
  if (!isCallFailure(error)) return error as Exclude<E, CallFailure>
  switch (error._tag) {
    case "MailboxFull":
      return AgentEntityError.full()
    case "PersistenceError":
      return AgentEntityError.storage(error.cause)
    case "AlreadyProcessingMessage":
      return new Broken(Cause.die(error))
  }
}

/**
 * What broke a call off, if nothing that its handler said did.
 *
 * @category getters
 */
export const failureOf = <E>(
  cause: Cause.Cause<E | CallFailure>
): Exclude<E, CallFailure> | AgentEntityError.AgentEntityError | undefined => {
  const failure = Cause.failureOption(cause)
  if (Option.isNone(failure)) return undefined
  const error = told(failure.value)
  return error instanceof Broken ? undefined : error
}

/**
 * In a fiber of its own: an interruption by the other side is not that of the caller. A caller that leaves does not
 * wait until the other side knows it, which may be out of reach.
 */
const once = <A, E>(
  call: Effect.Effect<A, E | CallFailure>
): Effect.Effect<A, Exclude<E, CallFailure> | AgentEntityError.AgentEntityError | Broken> =>
  Effect.acquireUseRelease(Effect.fork(Effect.interruptible(call)), Fiber.await, Fiber.interruptFork).pipe(
    Effect.flatMap((exit) => {
      if (Exit.isSuccess(exit)) return Effect.succeed(exit.value)
      const failure = failureOf(exit.cause)
      return Effect.fail(failure ?? new Broken(exit.cause as Cause.Cause<never>))
    })
  )

const unbroken = <A, E>(effect: Effect.Effect<A, E | Broken>, times: number) =>
  effect.pipe(
    Effect.retry({
      while: (error) => error instanceof Broken,
      schedule: Schedule.intersect(Schedule.spaced(pause), Schedule.recurs(times))
    }),
    Effect.mapError((error) =>
      error instanceof Broken ? AgentEntityError.unreachable(Cause.squash(error.cause)) : (error as Exclude<E, Broken>)
    )
  )

/** How often a kept message is sent again whose answer was broken off. */
const MOST_SENT = 50

/**
 * A call whose message is kept: it waits for its answer for as long as it takes. `make` makes each of its attempts.
 *
 * @category combinators
 */
export const kept = <A, E>(make: Effect.Effect<A, E | CallFailure>) => unbroken(once(make), MOST_SENT)

/**
 * A call that only a process which is there answers, within a time.
 *
 * @category combinators
 */
export const within = <A, E>(call: Effect.Effect<A, E | CallFailure>, patience: number) =>
  unbroken(once(call), Math.ceil(patience / 200)).pipe(
    Effect.timeoutFail({ duration: patience, onTimeout: () => AgentEntityError.unreachable() })
  )
