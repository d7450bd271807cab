/**
 * The strategies of the library by name. Each is loaded when it is first named.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as OnDemand from "../internal/fiber/OnDemand.js"
import type { Strategy } from "./definition/Strategy.js"
import { type Factory, type Loader, make, StrategyRegistry } from "./definition/StrategyRegistry.js"

const load = (load: () => Promise<{ readonly make: Factory }>): Loader =>
  Effect.map(OnDemand.make(load), ({ make }) => make)

/**
 * The loader of each strategy, by name.
 *
 * @since 0.1.0
 * @category constants
 */
export const loaders: { readonly [name: string]: Loader } = {
  // The executor's type contains the error of a budget given by name.
  adaptive: load(() => import("./Adaptive.js").then(({ make }) => ({ make: (options) => make(options) as Strategy }))),
  function_calling: load(() => import("./loop/FunctionCalling.js")),
  lats: load(() => import("./lats/Lats.js")),
  "llm-compiler": load(() => import("./compiler/LlmCompiler.js")),
  "plan-and-solve": load(() => import("./PlanAndSolve.js")),
  "plan-execute": load(() => import("./PlanExecute.js")),
  react: load(() => import("./loop/ReAct.js")),
  reflection: load(() => import("./Reflection.js")),
  reflexion: load(() => import("./reflexion/Reflexion.js")),
  rewoo: load(() => import("./ReWoo.js")),
  "self-discovery": load(() => import("./discovery/SelfDiscovery.js")),
  storm: load(() => import("./storm/Storm.js")),
  supervisor: load(() => import("./supervisor/Supervisor.js"))
}

/**
 * A registry of the built-in strategies and the given ones. A given name overrides a built-in one.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agent, Agents, BuiltInStrategies } from "effect-lexigram"
 * import { FunctionCalling } from "effect-lexigram/strategy"
 *
 * const strategies = BuiltInStrategies.layer({ brief: () => FunctionCalling.make({ maxIterations: 3 }) })
 *
 * const layer = Agents.layerWith({ strategies })
 * const clerk = Agent.make("clerk", { strategy: "brief" })
 * ```
 */
export const layer = (factories: { readonly [name: string]: Factory } = {}): Layer.Layer<StrategyRegistry> =>
  Layer.sync(StrategyRegistry, () => make(factories, loaders))
