/**
 * Nodes: a handler with a time limit, retries and a cache.
 *
 * @since 0.1.0
 * @private
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Deadline from "../internal/fiber/Deadline.js"
import { type CacheOptions, type Handler, type Node, NodeTypeId } from "./GraphDefinition.js"
import { GraphNodeTimeoutError, GraphWaitingError } from "./GraphError.js"
import type { NodeOptions, NodeParts, RetryOptions } from "./GraphOptions.js"

/** Each run of the handler has its own limit. */
const withTimeout =
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

const withRetry = <S, E, R, R2>(
  run: Handler<S, E, R>,
  retry: Schedule.Schedule<unknown, E, R2> | RetryOptions<E, R2>
): Handler<S, E, R | R2> => {
  const options: RetryOptions<E, R2> = Schedule.isSchedule(retry) ? { schedule: retry } : retry
  const wanted = options.while ?? ((error: E) => !(error instanceof GraphNodeTimeoutError))
  // A retry cannot supply a value from outside.
  const accepts = (error: E): boolean => !(error instanceof GraphWaitingError) && wanted(error)
  const waits: Schedule.Schedule<unknown, E, R2> = options.schedule ?? Schedule.forever
  const schedule = options.times === undefined ? waits : Schedule.intersect(waits, Schedule.recurs(options.times))
  return (state, context) => {
    const attempt = Effect.suspend(() => run(state, context))
    // Retries are set up only after a first failure, so a node that succeeds pays nothing for them.
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

/** A node as written in a definition. */
export type NodeInput<S> = Handler<S, any, any> | Node<S, any, any> | NodeParts<S>

type HandlerError<F> = F extends (...args: any) => Effect.Effect<any, infer E, any> ? E : never

type HandlerServices<F> = F extends (...args: any) => Effect.Effect<any, any, infer R> ? R : never

type TimeoutError<T> = T extends { readonly timeout: infer D }
  ? [D] extends [undefined]
    ? never
    : GraphNodeTimeoutError
  : never

type RetryServices<T> = T extends { readonly retry: infer Retry }
  ? Retry extends Schedule.Schedule<any, any, infer R> | { readonly schedule: Schedule.Schedule<any, any, infer R> }
    ? R
    : never
  : never

/** The failures of a node. */
export type ErrorOf<T> = T extends { readonly run: infer F } ? HandlerError<F> | TimeoutError<T> : HandlerError<T>

/** The requirements of a node. */
export type ServicesOf<T> = T extends { readonly run: infer F }
  ? HandlerServices<F> | RetryServices<T>
  : HandlerServices<T>

const nodeOf = <S, E, R>(run: Handler<S, E, R>, cache?: CacheOptions<S> | undefined): Node<S, E, R> =>
  cache === undefined ? { [NodeTypeId]: NodeTypeId, run } : { [NodeTypeId]: NodeTypeId, run, cache }

/** Converts a node of a definition. */
export const toNode = (given: NodeInput<any>): Node<any, any, any> => {
  if (typeof given === "function") return nodeOf(given)
  return given[NodeTypeId] === undefined ? node(given.run, given as NodeOptions<any, any> & { timeout: 0 }) : given
}

/**
 * Makes a node with a time limit, retries or a cache. Only a node with `timeout` can fail with `GraphNodeTimeoutError`.
 * A timeout is retried only if `retry.while` accepts it.
 *
 * The handler's parameter needs a type here; written as `{ run, timeout, retry, cache }` in the record of nodes, it is
 * inferred.
 *
 * @since 0.1.0
 * @category constructors
 */
export const node: {
  <S, E, R, R2 = never>(
    run: Handler<S, E, R>,
    options: NodeOptions<E | GraphNodeTimeoutError, R2, S> & { readonly timeout: Duration.DurationInput }
  ): Node<S, E | GraphNodeTimeoutError, R | R2>
  <S, E, R, R2 = never>(
    run: Handler<S, E, R>,
    options?: NodeOptions<E, R2, S> & { readonly timeout?: undefined }
  ): Node<S, E, R | R2>
} = (run: Handler<any, any, any>, options?: NodeOptions<any, any>): Node<any, any, any> => {
  const timed = options?.timeout === undefined ? run : withTimeout(run, Duration.toMillis(options.timeout))
  return nodeOf(options?.retry === undefined ? timed : withRetry(timed, options.retry), options?.cache)
}
