/** Waits for what workflows do: virtual time passes in small steps, and real time as long as databases need. */
import type * as WorkflowEngine from "@effect/workflow/WorkflowEngine"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"

export type Engine = WorkflowEngine.WorkflowEngine

/** A turn of the event loop: hashes and databases answer meanwhile. */
const turn = Effect.promise(() => new Promise<void>((resolve) => void setTimeout(resolve, 1)))

/** Lets all that is ready run, without virtual time. */
export const settled: Effect.Effect<void> = Effect.repeatN(turn, 8)

const mostRounds = 2_000

/** Lets virtual time pass, 25 milliseconds a round, until there is something. */
export const eventually = <A, E, R>(look: Effect.Effect<A | undefined | false, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    for (let round = 0; round < mostRounds; round++) {
      const found = yield* look
      if (found !== undefined && found !== false) return found
      yield* TestClock.adjust("25 millis")
      yield* turn
    }
    return yield* Effect.dieMessage(`did not come: ${look}`)
  })

export const until = (check: () => boolean): Effect.Effect<void> =>
  Effect.asVoid(eventually(Effect.sync(() => check()))).pipe(
    Effect.catchAllDefect(() => Effect.dieMessage(`not: ${check}`))
  )

/** The exit of an effect, while virtual time passes. */
export const exitOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Exit.Exit<A, E>, never, R> =>
  Effect.flatMap(Effect.fork(effect), (fiber) =>
    eventually(Effect.sync(() => fiber.unsafePoll() ?? undefined)).pipe(
      Effect.onInterrupt(() => Fiber.interrupt(fiber))
    )
  )

export const valueOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatten(exitOf(effect))

export const isInterrupted = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)
