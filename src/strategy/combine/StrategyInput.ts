/**
 * Changes what a strategy starts from: its task, settings and prompts.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dual } from "effect/Function"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as CustomPrompts from "../../prompt/CustomPrompts.js"
import * as DefaultPrompts from "../../prompt/defaults/DefaultPrompts.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import type * as Strategy from "../definition/Strategy.js"
import { derive } from "./DerivedStrategy.js"

/**
 * Prompts of this strategy alone, on top of those of the run: overrides win, instructions come behind those there are.
 * Options that do not fit the steps (an unknown step, a place that a step does not have) are thrown here: they are
 * constants.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withPrompts: {
  (options: PromptLibrary.Options): <E, R>(strategy: Strategy.Strategy<E, R>) => Strategy.Strategy<E, R>
  <E, R>(strategy: Strategy.Strategy<E, R>, options: PromptLibrary.Options): Strategy.Strategy<E, R>
} = dual(2, (strategy: Strategy.Any, options: PromptLibrary.Options): Strategy.Strategy<any, any> => {
  Either.getOrThrowWith(CustomPrompts.make(options), (error) => error)
  const extended = new WeakMap<PromptLibrary.Service, PromptLibrary.Service>()
  const extend = (library: PromptLibrary.Service): PromptLibrary.Service => {
    let own = extended.get(library)
    if (own === undefined) {
      // Fits the steps it was made for: only a run whose library has other steps under the same names can refuse it
      // now.
      own = Either.getOrThrowWith(library.extend(options, DefaultPrompts.steps), (error) => error)
      extended.set(library, own)
    }
    return own
  }
  return derive(strategy, (task) =>
    Effect.flatMap(PromptLibrary.PromptLibrary, (library) =>
      Effect.provideService(strategy.program(task), PromptLibrary.PromptLibrary, extend(library))
    )
  )
})

/**
 * The strategy on another task.
 *
 * @since 0.1.0
 * @category combinators
 */
export const mapTask: {
  (f: (task: Strategy.Task) => Strategy.Task): <E, R>(strategy: Strategy.Strategy<E, R>) => Strategy.Strategy<E, R>
  <E, R>(strategy: Strategy.Strategy<E, R>, f: (task: Strategy.Task) => Strategy.Task): Strategy.Strategy<E, R>
} = dual(
  2,
  (strategy: Strategy.Any, f: (task: Strategy.Task) => Strategy.Task): Strategy.Strategy<any, any> =>
    derive(strategy, (task) => Effect.suspend(() => strategy.program(f(task))))
)

/**
 * The same by an Effect: what it needs to look up, it may; its failures are the strategy's.
 *
 * @since 0.1.0
 * @category combinators
 */
export const mapTaskEffect: {
  <E2, R2>(
    f: (task: Strategy.Task) => Effect.Effect<Strategy.Task, E2, R2>
  ): <E, R>(
    strategy: Strategy.Strategy<E, R>
  ) => Strategy.Strategy<E | Exclude<E2, Strategy.StrategyBaseError>, R | Exclude<R2, Strategy.StrategyServices>>
  <E, R, E2, R2>(
    strategy: Strategy.Strategy<E, R>,
    f: (task: Strategy.Task) => Effect.Effect<Strategy.Task, E2, R2>
  ): Strategy.Strategy<E | Exclude<E2, Strategy.StrategyBaseError>, R | Exclude<R2, Strategy.StrategyServices>>
} = dual(
  2,
  (
    strategy: Strategy.Any,
    f: (task: Strategy.Task) => Effect.Effect<Strategy.Task, any, any>
  ): Strategy.Strategy<any, any> =>
    derive(strategy, (task) => Effect.suspend(() => Effect.flatMap(f(task), strategy.program)))
)

/**
 * Settings of its model calls; fields given here win over those of the agent and its request.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withSettings: {
  (settings: ModelSettings.ModelSettings): <E, R>(strategy: Strategy.Strategy<E, R>) => Strategy.Strategy<E, R>
  <E, R>(strategy: Strategy.Strategy<E, R>, settings: ModelSettings.ModelSettings): Strategy.Strategy<E, R>
} = dual(
  2,
  (strategy: Strategy.Any, settings: ModelSettings.ModelSettings): Strategy.Strategy<any, any> =>
    mapTask(strategy, (task) => ({ ...task, settings: ModelSettings.merge(task.settings, settings) }))
)
