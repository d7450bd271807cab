/**
 * How many model calls a run of `storm` may still make.
 *
 * @since 0.1.0
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import { Fatality } from "../../tool/ToolRunner.js"
import type * as Reasoning from "../definition/Reasoning.js"
import { MaxIterationsExceededError } from "../definition/StrategyError.js"

/** Model calls at most, and what happens at the limit. */
export interface Limit {
  readonly maxModelCalls: number
  readonly onLimit: "fail" | "answer"
}

const spent = new WeakMap<Reasoning.Service, number>()

/** Asked before each call: it fails when no more than `reserve` are left. */
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
          hint: 'Raise `maxModelCalls`, ask for less, or take what there is with `onLimit: "answer"`'
        })
      })
    )
  })
}

const limitOf = (error: unknown): MaxIterationsExceededError | undefined =>
  error instanceof Fatality && error.toolName === "" && error.error instanceof MaxIterationsExceededError
    ? error.error
    : undefined

/** Makes the limit a typed failure; `none` instead where an answer is asked for all the same. */
export const within = <A, E, R>(
  limit: Limit,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<Option.Option<A>, E | MaxIterationsExceededError, R> =>
  Effect.catchAll(Effect.asSome(effect), (error): Effect.Effect<Option.Option<A>, E | MaxIterationsExceededError> => {
    const reached = limitOf(error)
    if (reached === undefined) return Effect.fail(error)
    return limit.onLimit === "answer" ? Effect.succeedNone : Effect.fail(reached)
  })

/** The same where there is nothing to answer with. */
export const strict = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | MaxIterationsExceededError, R> =>
  Effect.mapError(effect, (error) => limitOf(error) ?? error)
