/**
 * The settings of a tree search, and the model calls it has left.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import { count } from "../../internal/Count.js"
import { Fatality } from "../../tool/ToolRunner.js"
import type { Options, State } from "./LatsState.js"
import * as SearchTree from "./SearchTree.js"

/** The options with their defaults, and derived settings. */
export interface Settings<in out E, in out R> {
  readonly strategyName: string
  readonly numExpansions: number
  readonly maxDepth: number
  readonly maxReflections: number
  readonly maxModelCalls: number
  readonly explorationWeight: number
  readonly valueWeight: number
  readonly successThreshold: number
  readonly temperature: number
  readonly rollout: boolean
  readonly together: boolean
  readonly native: boolean
  readonly format: "json" | "text"
  readonly onLimit: "answer" | "fail"
  readonly evaluate: Options<E, R>["evaluate"]
  readonly reset: Options<E, R>["reset"]
  /** Model calls needed to judge a state. */
  readonly judging: 0 | 1
}

/** NaN counts as not given. */
const number = (given: number | undefined, fallback: number): number =>
  given === undefined || Number.isNaN(given) ? fallback : given

export const clamp = (value: number): number => Math.min(1, Math.max(0, value))

export const resolve = <E, R>(strategyName: string, options: Options<E, R>): Settings<E, R> => ({
  strategyName,
  numExpansions: count(options.numExpansions, 3, 1),
  maxDepth: count(options.maxDepth, 7, 1),
  maxReflections: count(options.maxReflections, 3, 0),
  maxModelCalls: count(options.maxModelCalls, 60, 1),
  explorationWeight: Math.max(0, number(options.explorationWeight, 1.41)),
  valueWeight: clamp(number(options.valueWeight, 0.5)),
  successThreshold: number(options.successThreshold, 1),
  temperature: number(options.temperature, 1),
  rollout: options.rollout ?? true,
  together: options.sampling === "together",
  native: options.actions === "native",
  format: options.format ?? "json",
  onLimit: options.onLimit ?? "answer",
  evaluate: options.evaluate,
  reset: options.reset,
  judging: options.evaluate === undefined ? 1 : 0
})

/** No model call is left. */
class Spent {}

export const isSpent = (error: unknown): error is Fatality => error instanceof Fatality && error.error instanceof Spent

/** Counts the model calls of concurrent branches. */
export const makeMeter = (used: number, limit: number) => {
  let calls = used
  const spent = new Fatality({ toolName: "", error: new Spent() })
  return {
    calls: () => calls,
    admit: Effect.suspend((): Effect.Effect<void, Fatality> => {
      if (calls >= limit) return Effect.fail(spent)
      calls++
      return Effect.void
    })
  }
}

export type Meter = ReturnType<typeof makeMeter>

/** The meter of the search, which keeps one call for the answer. */
export const searchMeter = (settings: Settings<any, any>, state: State): Meter =>
  makeMeter(state.modelCalls, settings.maxModelCalls - 1)

/** Returns `undefined` if no model call was left. */
export const orSpent = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A | undefined, E, R> =>
  Effect.catchAll(
    effect,
    (error): Effect.Effect<undefined, E> => (isSpent(error) ? Effect.succeed(undefined) : Effect.fail(error))
  )

const remaining = (settings: Settings<any, any>, state: State): number => settings.maxModelCalls - 1 - state.modelCalls

/** The number of actions that the remaining calls can propose and judge. */
export const affordable = (settings: Settings<any, any>, state: State): number => {
  const { judging, numExpansions, together } = settings
  const left = remaining(settings, state)
  if (left < 1) return 0
  if (!together) return Math.min(numExpansions, Math.floor(left / (1 + judging)))
  return judging === 0 ? numExpansions : Math.min(numExpansions, left - 1)
}

export const isOver = (settings: Settings<any, any>, state: State): boolean =>
  state.solved !== null ||
  state.iterations >= state.maxIterations ||
  SearchTree.get(state.tree, SearchTree.ROOT).exhausted ||
  affordable(settings, state) < 1

/** The number of lessons to draw, so that calls remain for an expansion that can use them. */
export const lessons = (settings: Settings<any, any>, state: State): number =>
  Math.max(0, Math.min(state.failed.length, settings.maxReflections, remaining(settings, state) - 1 - settings.judging))
