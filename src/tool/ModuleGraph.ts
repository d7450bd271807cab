/**
 * The port that decides which modules may use the tools of which others.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"
import { nearest } from "../internal/text/Nearest.js"

/**
 * The modules are inconsistent. `problems` lists every fault, one sentence each.
 *
 * @since 0.1.0
 * @category errors
 */
export class ModuleGraphError extends ErrorCode.TaggedError<ModuleGraphError>(
  "effect-lexigram/tool/ModuleGraph/ModuleGraphError"
)("ModuleGraphError", { ...ErrorCode.fields("LEX_ERR_AGT_115"), problems: Schema.Array(Schema.String) }) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface VisibilityRequest {
  /** The module of the agent; absent when the agent belongs to none. */
  readonly caller?: string | undefined
  /** The module of the tool; absent when the tool belongs to none. */
  readonly owner?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * True if the caller may see and call tools of the owner. Asked when tools are listed and again when one is called;
   * the answer must not change during a run. Any failure counts as no.
   */
  readonly isVisible: (request: VisibilityRequest) => Effect.Effect<boolean, unknown>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ModuleGraph extends Context.Tag("effect-lexigram/tool/ModuleGraph")<ModuleGraph, Service>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Module {
  /** The modules whose tools it may use. Imports are not transitive: the imports of an imported module stay hidden. */
  readonly imports?: ReadonlyArray<string> | undefined
  /**
   * The imports that it re-exports: a module that imports this one sees their tools too, and their re-exports in turn.
   * Default none.
   */
  readonly exports?: ReadonlyArray<string> | undefined
  /** Its tools are visible to every module. Default false. */
  readonly global?: boolean | undefined
}

/**
 * Modules by name.
 *
 * @since 0.1.0
 * @category models
 */
export type Modules = { readonly [name: string]: Module } | Iterable<readonly [name: string, module: Module]>

const isIterable = (modules: Modules): modules is Iterable<readonly [name: string, module: Module]> =>
  Symbol.iterator in modules

const problemsOf = (entries: ReadonlyArray<readonly [string, Module]>): ReadonlyArray<string> => {
  const names = new Set<string>()
  const problems: Array<string> = []
  for (const [name] of entries) {
    if (name.trim() === "") problems.push("a module has an empty name")
    else if (names.has(name)) problems.push(`two modules are named "${name}"`)
    names.add(name)
  }
  for (const [name, { exports = [], imports = [] }] of entries) {
    for (const imported of imports) {
      if (names.has(imported)) continue
      const similar = nearest(imported, Array.from(names))
      const hint = similar === undefined ? "" : `, did you mean "${similar}"?`
      problems.push(`"${name}" imports "${imported}", which is no module${hint}`)
    }
    for (const exported of exports) {
      if (!imports.includes(exported)) problems.push(`"${name}" exports "${exported}", which it does not import`)
    }
  }
  return problems
}

/** The modules that a module sees: its imports and their re-exports. */
const seenFrom = (modules: ReadonlyMap<string, Module>, name: string): ReadonlySet<string> => {
  const seen = new Set<string>()
  const left = [...(modules.get(name)?.imports ?? [])]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (seen.has(next)) continue
    seen.add(next)
    left.push(...(modules.get(next)?.exports ?? []))
  }
  return seen
}

/**
 * A graph of modules, checked and computed once.
 *
 * A tool without an owner is visible to all. A caller sees the tools of its own module, of its imports, of their
 * re-exports, and of global modules. Without a caller, or with a caller or an owner that is not in the graph, a tool is
 * hidden.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: { readonly modules: Modules }): Effect.Effect<Service, ModuleGraphError> =>
  Effect.suspend(() => {
    const given = options.modules
    const entries = isIterable(given) ? Array.from(given) : Object.entries(given)
    const problems = problemsOf(entries)
    if (problems.length > 0) {
      return new ModuleGraphError({
        problems,
        message: `The modules are inconsistent: ${problems.slice(0, 10).join("; ")}`,
        hint: "Define every module once, and import and export only defined ones"
      })
    }
    const modules = new Map(entries)
    const seen = new Map(entries.map(([name]) => [name, seenFrom(modules, name)]))
    const isVisible = ({ caller, owner }: VisibilityRequest): boolean => {
      if (owner === undefined) return true
      const module = modules.get(owner)
      const visible = caller === undefined ? undefined : seen.get(caller)
      if (module === undefined || visible === undefined) return false
      return caller === owner || module.global === true || visible.has(owner)
    }
    return Effect.succeed({ isVisible: (request) => Effect.succeed(isVisible(request)) } satisfies Service)
  })

/**
 * A graph of modules. Inconsistent modules fail the layer, so that no run sees more than it may.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { ModuleGraph } from "effect-lexigram/tool"
 *
 * const modules = ModuleGraph.layer({
 *   modules: {
 *     support: { imports: ["orders"] },
 *     orders: {},
 *     clock: { global: true }
 *   }
 * })
 * ```
 */
export const layer = (options: { readonly modules: Modules }): Layer.Layer<ModuleGraph, ModuleGraphError> =>
  Layer.effect(ModuleGraph, make(options))

/**
 * No modules: every tool is visible to all.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<ModuleGraph> = Layer.succeed(ModuleGraph, {
  isVisible: () => Effect.succeed(true)
})
