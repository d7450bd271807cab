/**
 * Strategies by name.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { errorInfo } from "../domain/AgentEvent.js"
import { nearest } from "../internal/text/Nearest.js"
import * as Adaptive from "./Adaptive.js"
import * as FunctionCalling from "./FunctionCalling.js"
import * as LlmCompiler from "./LlmCompiler.js"
import * as Lats from "./lats/Lats.js"
import * as PlanAndSolve from "./PlanAndSolve.js"
import * as PlanExecute from "./PlanExecute.js"
import * as ReAct from "./ReAct.js"
import * as Reflection from "./Reflection.js"
import * as Reflexion from "./Reflexion.js"
import * as ReWoo from "./ReWoo.js"
import type { Strategy } from "./reasoning/Strategy.js"
import { isStrategy } from "./reasoning/StrategyProgram.js"
import * as SelfDiscovery from "./SelfDiscovery.js"
import * as Supervisor from "./Supervisor.js"
import * as Storm from "./storm/Storm.js"

/**
 * Options of a strategy that is named: those of its constructor.
 *
 * @since 0.1.0
 * @category models
 */
export type Options = { readonly [key: string]: unknown }

/**
 * A strategy by name, resolved when an agent runs.
 *
 * @since 0.1.0
 * @category models
 */
export interface Named {
  readonly _tag: "Named"
  readonly name: string
  readonly options: Options
}

/**
 * @since 0.1.0
 * @category models
 */
export type Factory = (options: any) => Strategy<never, never>

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** All names, sorted. */
  readonly names: ReadonlyArray<string>
  /**
   * The strategy of that name with these options, made once for the same options object. `Left` when there is none: a
   * text with the known names and the nearest, or with what its factory threw.
   */
  readonly resolve: (named: Named) => Either.Either<Strategy<never, never>, string>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class StrategyRegistry extends Context.Tag("effect-lexigram/strategy/StrategyRegistry")<
  StrategyRegistry,
  Service
>() {}

/**
 * What ships with the library.
 *
 * @since 0.1.0
 * @category constants
 */
export const builtIn: { readonly [name: string]: Factory } = {
  // What a budget given by name fails with is in the executor's type.
  [Adaptive.NAME]: (options: any) => Adaptive.make(options) as Strategy,
  [FunctionCalling.NAME]: FunctionCalling.make,
  [Lats.NAME]: Lats.make,
  [LlmCompiler.NAME]: LlmCompiler.make,
  [PlanAndSolve.NAME]: PlanAndSolve.make,
  [PlanExecute.NAME]: PlanExecute.make,
  [ReAct.NAME]: ReAct.make,
  [Reflection.NAME]: Reflection.make,
  [Reflexion.NAME]: Reflexion.make,
  [ReWoo.NAME]: ReWoo.make,
  [SelfDiscovery.NAME]: SelfDiscovery.make,
  [Storm.NAME]: Storm.make,
  [Supervisor.NAME]: Supervisor.make
}

/**
 * A registry of these strategies; a name given twice takes the last.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (factories: { readonly [name: string]: Factory }): Service => {
  const table = new Map(Object.entries(factories))
  const names = Array.from(table.keys()).sort()
  const made = new WeakMap<Options, Map<string, Strategy<never, never>>>()
  return {
    names,
    resolve: ({ name, options }) => {
      const factory = table.get(name)
      if (factory === undefined) {
        const similar = nearest(name, names)
        const hint = similar === undefined ? "" : `, did you mean "${similar}"?`
        return Either.left(`There is no strategy "${name.slice(0, 64)}"${hint} Known: ${names.join(", ")}`)
      }
      let byName = made.get(options)
      if (byName === undefined) {
        byName = new Map()
        made.set(options, byName)
      }
      let strategy = byName.get(name)
      if (strategy === undefined) {
        const built = Either.try({ try: () => factory(options), catch: (error) => errorInfo(error).message })
        if (Either.isLeft(built)) return Either.left(`The strategy "${name}" cannot be made: ${built.left}`)
        if (!isStrategy(built.right)) return Either.left(`The factory of "${name}" does not make a strategy`)
        strategy = built.right
        byName.set(name, strategy)
      }
      return Either.right(strategy)
    }
  }
}

/**
 * The built-in strategies alone.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerDefaults: Layer.Layer<StrategyRegistry> = Layer.sync(StrategyRegistry, () => make(builtIn))

/**
 * The built-in strategies, and those given besides; a given name wins over a built-in one.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (factories: { readonly [name: string]: Factory } = {}): Layer.Layer<StrategyRegistry> =>
  Layer.succeed(StrategyRegistry, make({ ...builtIn, ...factories }))
