/**
 * What may surround the handler of a node.
 *
 * @since 0.1.0
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Deadline from "../internal/fiber/Deadline.js"
import { GraphNodeTimeoutError, GraphWaitingError } from "./GraphError.js"
import type { Handler, RetryOptions } from "./StateGraph.js"

/** Only the handler is under the limit, each time it runs. */
export const withTimeout =
  <S, E, R>(run: Handler<S, E, R>, timeoutMs: number): Handler<S, E | GraphNodeTimeoutError, R> =>
  (state, context) =>
    Deadline.run(() => run(state, context), {
      whole: timeoutMs,
      pausable: true,
      onTimeout: () =>
        new GraphNodeTimeoutError({
          message: `Node "${context.node}" of graph "${context.graph}" took longer than ${timeoutMs} ms`,
          hint: "Raise the node's timeout, or do less in one node",
          graph: context.graph,
          node: context.node,
          timeoutMs
        })
    })

export const withRetry = <S, E, R, R2>(
  run: Handler<S, E, R>,
  retry: Schedule.Schedule<unknown, E, R2> | RetryOptions<E, R2>
): Handler<S, E, R | R2> => {
  const options: RetryOptions<E, R2> = Schedule.isSchedule(retry) ? { schedule: retry } : retry
  const wanted = options.while ?? ((error: E) => !(error instanceof GraphNodeTimeoutError))
  // Trying again does not bring a value that has to come from outside.
  const accepts = (error: E): boolean => !(error instanceof GraphWaitingError) && wanted(error)
  const waits: Schedule.Schedule<unknown, E, R2> = options.schedule ?? Schedule.forever
  const schedule = options.times === undefined ? waits : Schedule.intersect(waits, Schedule.recurs(options.times))
  return (state, context) => {
    const attempt = Effect.suspend(() => run(state, context))
    // Nothing is set up before a first failure: a retry that is not needed costs nothing.
    return Effect.catchAll(attempt, (first) =>
      accepts(first)
        ? Effect.flatMap(Schedule.driver(schedule), (driver) => {
            const again = (error: E): Effect.Effect<Partial<S>, E, R | R2> =>
              accepts(error)
                ? Effect.matchEffect(driver.next(error), {
                    onFailure: () => Effect.fail(error),
                    onSuccess: () => Effect.catchAll(attempt, again)
                  })
                : Effect.fail(error)
            return again(first)
          })
        : Effect.fail(first)
    )
  }
}
