/**
 * The registry of strategies by name. An agent's strategy is resolved when the agent runs.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { errorInfo } from "../../domain/ErrorInfo.js"
import { nearest } from "../../internal/text/Nearest.js"
import { isStrategy, type Strategy } from "./Strategy.js"

/**
 * Options of a named strategy, as its constructor takes them.
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
 * Makes a strategy from its options.
 *
 * @since 0.1.0
 * @category models
 */
export type Factory = (options: any) => Strategy<never, never>

/**
 * Loads a factory. It runs once; the registry keeps the factory.
 *
 * @since 0.1.0
 * @category models
 */
export type Loader = Effect.Effect<Factory>

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** All names, sorted. */
  readonly names: ReadonlyArray<string>
  /**
   * Returns the strategy of that name with these options. It is made once per options object. Fails with a sentence for
   * the reader: the known names and the nearest one, or what the factory threw.
   */
  readonly resolve: (named: Named) => Effect.Effect<Strategy<never, never>, string>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class StrategyRegistry extends Context.Tag("effect-lexigram/strategy/StrategyRegistry")<
  StrategyRegistry,
  Service
>() {}

const build = (name: string, factory: Factory, options: Options): Effect.Effect<Strategy<never, never>, string> =>
  Effect.flatMap(
    Effect.try({
      try: (): unknown => factory(options),
      catch: (error) => `The strategy "${name}" cannot be made: ${errorInfo(error).message}`
    }),
    (built) =>
      isStrategy(built)
        ? Effect.succeed(built as Strategy<never, never>)
        : Effect.fail(`The factory of "${name}" does not make a strategy`)
  )

const unknownName = (name: string, names: ReadonlyArray<string>): string => {
  const similar = nearest(name, names)
  const hint = similar === undefined ? "" : `, did you mean "${similar}"?`
  return `There is no strategy "${name.slice(0, 64)}"${hint} Known: ${names.join(", ")}`
}

/**
 * Makes a registry of factories, and of loaders that run when their strategy is first named. If a name is in both, the
 * factory wins.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agents, StrategyRegistry } from "effect-lexigram"
 * import { FunctionCalling, ReAct } from "effect-lexigram/strategy"
 * import * as Layer from "effect/Layer"
 *
 * // Agents and policies of runs can name these two strategies alone.
 * const registry = StrategyRegistry.make({ react: ReAct.make, function_calling: FunctionCalling.make })
 *
 * const layer = Agents.layerWith({ strategies: Layer.succeed(StrategyRegistry.StrategyRegistry, registry) })
 * ```
 */
export const make = (
  factories: { readonly [name: string]: Factory },
  loaders: { readonly [name: string]: Loader } = {}
): Service => {
  const loaded = new Map(Object.entries(factories))
  const toLoad = new Map(Object.entries(loaders).filter(([name]) => !loaded.has(name)))
  const names = [...loaded.keys(), ...toLoad.keys()].sort()
  const made = new WeakMap<Options, Map<string, Strategy<never, never>>>()

  const factoryOf = (name: string): Effect.Effect<Factory, string> => {
    const factory = loaded.get(name)
    if (factory !== undefined) return Effect.succeed(factory)
    const loader = toLoad.get(name)
    if (loader === undefined) return Effect.fail(unknownName(name, names))
    return Effect.tap(loader, (factory) => loaded.set(name, factory))
  }

  return {
    names,
    resolve: ({ name, options }) =>
      Effect.suspend(() => {
        const known = made.get(options)?.get(name)
        if (known !== undefined) return Effect.succeed(known)
        return Effect.flatMap(factoryOf(name), (factory) =>
          Effect.tap(build(name, factory, options), (strategy) => {
            const byName = made.get(options) ?? new Map()
            made.set(options, byName.set(name, strategy))
          })
        )
      })
  }
}
