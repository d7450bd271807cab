/**
 * Limits the model calls of a STORM run.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import { Fatality } from "../../tool/ToolRunner.js"
import type * as Reasoning from "../definition/Reasoning.js"
import { MaxIterationsExceededError } from "../definition/StrategyError.js"

/** The maximum number of model calls, and what happens at the limit. */
export interface Limit {
  readonly maxModelCalls: number
  readonly onLimit: "fail" | "answer"
}

const spent = new WeakMap<Reasoning.Service, number>()

/** Runs before each call: fails if no more than `reserve` calls are left. */
export const admit = (
  reasoning: Reasoning.Service,
  limit: Limit,
  reserve: number = 0
): Effect.Effect<void, Fatality> => {
  const { maxModelCalls } = limit
  return Effect.suspend(() => {
    const calls = spent.get(reasoning) ?? 0
    if (calls + reserve < maxModelCalls) {
      spent.set(reasoning, calls + 1)
      return Effect.void
    }
    return Effect.fail(
      new Fatality({
        toolName: "",
        error: new MaxIterationsExceededError({
          strategyName: reasoning.name,
          maxIterations: maxModelCalls,
          currentIteration: calls,
          message: `No article after ${calls} model calls`,
          hint: 'Raise `maxModelCalls`, ask for less, or return a partial article with `onLimit: "answer"`'
        })
      })
    )
  })
}

const limitOf = (error: unknown): MaxIterationsExceededError | undefined =>
  error instanceof Fatality && error.toolName === "" && error.error instanceof MaxIterationsExceededError
    ? error.error
    : undefined

/** Turns the limit into a typed failure, or into `none` if the run answers at the limit. */
export const withLimit = <A, E, R>(
  limit: Limit,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<Option.Option<A>, E | MaxIterationsExceededError, R> =>
  Effect.catchAll(Effect.asSome(effect), (error): Effect.Effect<Option.Option<A>, E | MaxIterationsExceededError> => {
    const reached = limitOf(error)
    if (reached === undefined) return Effect.fail(error)
    return limit.onLimit === "answer" ? Effect.succeedNone : Effect.fail(reached)
  })

/** Like `within`, where there is nothing to answer with. */
export const strict = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | MaxIterationsExceededError, R> =>
  Effect.mapError(effect, (error) => limitOf(error) ?? error)
