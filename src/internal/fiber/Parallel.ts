/**
 * Runs effects concurrently and stops them together.
 *
 * Works around a bug of Effect 3.22: `Effect.forEach` with `concurrency` waits forever when its fiber is interrupted
 * between the order to start and the start of the work, because the workers are then told that nothing is left to do,
 * and none reports its end. A run must end wherever it is interrupted, so this module forks its own workers and awaits
 * them.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

/**
 * Returns results in the order of the items. Runs at most `concurrency` (at least 1) effects at a time, started in that
 * order. The first failure stops the rest, and so does an interruption of the caller; in both cases every effect has
 * ended when this one ends. On success, changes of fiber refs by the effects are kept.
 */
export const forEach = <A, B, E, R>(
  items: ReadonlyArray<A>,
  f: (item: A, index: number) => Effect.Effect<B, E, R>,
  concurrency: number
): Effect.Effect<Array<B>, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      if (items.length === 0) return Effect.succeed([])
      const results: Array<B> = new Array(items.length)
      const fibers: Array<Fiber.RuntimeFiber<void, E>> = []
      const count = Math.min(items.length, Math.max(1, concurrency))
      // Each worker starts with an item of its own; free workers take the remaining items.
      let next = count
      const work = (index: number): Effect.Effect<void, E, R> =>
        Effect.flatMap(
          Effect.suspend(() => f(items[index] as A, index)),
          (result) => {
            results[index] = result
            return next < items.length ? work(next++) : Effect.void
          }
        )
      const start: Effect.Effect<void, never, R> = Effect.suspend(() =>
        fibers.length === count
          ? Effect.void
          : Effect.flatMap(Effect.forkDaemon(restore(work(fibers.length))), (fiber) => {
              fibers.push(fiber)
              return start
            })
      )
      // Ends when all workers have ended or one has failed.
      const settled = Effect.async<Exit.Exit<void, E>>((resume) => {
        let running = fibers.length
        for (const fiber of fibers) {
          fiber.addObserver((exit) => {
            running--
            if (running === 0 || Exit.isFailure(exit)) resume(Effect.succeed(exit))
          })
        }
      })
      const stop = Fiber.interruptAll(fibers)
      return Effect.flatMap(
        start,
        (): Effect.Effect<Array<B>, E, R> =>
          Effect.matchCauseEffect(restore(settled), {
            onFailure: (interruption) => Effect.zipRight(stop, Effect.failCause(interruption)),
            onSuccess: (exit) =>
              Exit.isSuccess(exit)
                ? Effect.as(
                    Effect.forEach(fibers, (fiber) => fiber.inheritAll, { discard: true }),
                    results
                  )
                : Effect.flatMap(stop, () => Effect.failCause(causeOf(fibers, exit.cause)))
          })
      )
    })
  )

/** The first failure, and the failures of other effects before they were stopped. */
const causeOf = <E>(fibers: ReadonlyArray<Fiber.RuntimeFiber<void, E>>, first: Cause.Cause<E>): Cause.Cause<E> => {
  let cause = first
  for (const fiber of fibers) {
    const exit = fiber.unsafePoll()
    if (exit === null || Exit.isSuccess(exit) || exit.cause === first || Cause.isInterruptedOnly(exit.cause)) continue
    cause = Cause.parallel(cause, exit.cause)
  }
  return cause
}

/** Runs two effects concurrently, with the rules of `forEach`. */
export const zip = <A, E, R, B, E2, R2>(
  first: Effect.Effect<A, E, R>,
  second: Effect.Effect<B, E2, R2>
): Effect.Effect<readonly [A, B], E | E2, R | R2> =>
  Effect.map(
    forEach<Effect.Effect<A | B, E | E2, R | R2>, A | B, E | E2, R | R2>([first, second], (effect) => effect, 2),
    (results) => results as unknown as readonly [A, B]
  )
