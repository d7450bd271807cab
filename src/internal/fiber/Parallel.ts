/**
 * Several effects at once, stopped together.
 *
 * `Effect.forEach` with `concurrency` waits for ever when its fiber is interrupted between being told to start and
 * starting the work (effect 3.22): the workers are then told that nothing is left to do, and nobody says that it is
 * done. A run must end wherever it is interrupted, so this one forks its own workers and waits for them.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

/**
 * Results in the order of the items; at most `concurrency` (at least 1) effects at a time, begun in that order. The
 * first failure stops the rest, and so does an interruption of the caller; either way every effect has ended when this
 * one has. Changes of fiber refs by the effects are kept on success.
 */
export const forEach = <A, B, E, R>(
  items: ReadonlyArray<A>,
  f: (item: A, index: number) => Effect.Effect<B, E, R>,
  concurrency: number
): Effect.Effect<Array<B>, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      const results: Array<B> = new Array(items.length)
      const fibers: Array<Fiber.RuntimeFiber<void, E>> = []
      const count = Math.min(items.length, Math.max(1, concurrency))
      // Each worker has an item of its own to begin with; what is left goes to whoever is free.
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
      // Ends when all workers have, or one has failed.
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

/** The first failure, and what else failed by itself before it was stopped. */
const causeOf = <E>(fibers: ReadonlyArray<Fiber.RuntimeFiber<void, E>>, first: Cause.Cause<E>): Cause.Cause<E> => {
  let cause = first
  for (const fiber of fibers) {
    const exit = fiber.unsafePoll()
    if (exit === null || Exit.isSuccess(exit) || exit.cause === first || Cause.isInterruptedOnly(exit.cause)) continue
    cause = Cause.parallel(cause, exit.cause)
  }
  return cause
}

/**
 * Two effects at once, as `forEach` runs them.
 */
export const zip = <A, E, R, B, E2, R2>(
  first: Effect.Effect<A, E, R>,
  second: Effect.Effect<B, E2, R2>
): Effect.Effect<readonly [A, B], E | E2, R | R2> =>
  Effect.map(
    forEach<Effect.Effect<A | B, E | E2, R | R2>, A | B, E | E2, R | R2>([first, second], (effect) => effect, 2),
    (results) => results as unknown as readonly [A, B]
  )
