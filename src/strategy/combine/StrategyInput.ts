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
 * Gives the strategy prompts of its own on top of those of the run: overrides win, and instructions follow the existing
 * ones. Invalid options (an unknown step, an unknown variable) throw here, because they are constants.
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
      // The options fit the steps they were checked with. Only a library with other steps of the same names can reject
      // them now.
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
 * Runs the strategy on another task.
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
 * Like `mapTask`, with an Effect. Its failures are failures of the strategy.
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
 * Settings of the strategy's model calls. They override those of the agent and its request.
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
