/**
 * The tools of an agent, with their combined failures and requirements.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dual } from "effect/Function"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import * as Schema from "effect/Schema"
import * as CapturedContext from "../../internal/fiber/CapturedContext.js"
import type { ToolDefinition } from "../../llm/model/LlmClient.js"
import * as Tool from "./Tool.js"
import { predicateOf } from "./ToolCombinators.js"
import { build } from "./ToolContract.js"
import { ToolDefinitionError } from "./ToolError.js"
import * as ToolNames from "./ToolNames.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("effect-lexigram/tool/ToolSet")

/**
 * @since 0.1.0
 * @category models
 */
export interface ToolSet<out E = never, out R = never> extends Pipeable {
  readonly [TypeId]: { readonly _E: () => E; readonly _R: () => R }
  readonly tools: ReadonlyArray<Tool.Any>
  /** Problems of the set: unusable definitions, duplicate names. */
  readonly problems: ReadonlyArray<ToolDefinitionError>
  /** Definitions for models, with provider names; built once per set. */
  readonly definitions: ReadonlyArray<ToolDefinition>
  readonly names: ToolNames.ToolNames
  /** Looks a tool up by its own name or the provider's. */
  readonly get: (name: string) => Tool.Any | undefined
}

/**
 * A set with captured requirements, free of the tools' types: strategies, graphs and `ToolRunner` use it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Bound {
  readonly tools: ReadonlyArray<Tool.Any>
  /** All that a call may reach now, where the set changes or shows a part of them. Default: `tools`. */
  readonly all?: ReadonlyArray<Tool.Any> | undefined
  readonly definitions: ReadonlyArray<ToolDefinition>
  readonly names: ToolNames.ToolNames
  readonly get: (name: string) => Tool.Any | undefined
  /** Provides a handler's requirements. The context of the call overrides the captured one. */
  readonly provide: <A, E>(effect: Effect.Effect<A, E, any>) => Effect.Effect<A, E>
}

const fromArray = (
  tools: ReadonlyArray<Tool.Any>,
  known: ReadonlyArray<ToolDefinitionError> = []
): ToolSet<any, any> => {
  const byName = new Map<string, Tool.Any>()
  const problems = [...known]
  for (const tool of tools) {
    if (tool.problem !== undefined && !problems.includes(tool.problem)) problems.push(tool.problem)
    if (byName.has(tool.name)) {
      problems.push(
        new ToolDefinitionError({
          toolName: tool.name,
          message: `Two tools are named "${tool.name}"`,
          hint: "Rename one of them"
        })
      )
    } else byName.set(tool.name, tool)
  }
  const unique = Array.from(byName.values())
  const names = ToolNames.make(unique.map((tool) => tool.name))
  return {
    [TypeId]: { _E: () => undefined as never, _R: () => undefined as never },
    pipe() {
      // biome-ignore lint/complexity/noArguments: the form `pipeArguments` takes
      return pipeArguments(this, arguments)
    },
    tools: unique,
    problems,
    names,
    definitions: unique.map((tool) => ({
      name: names.toProvider(tool.name),
      description: tool.description,
      parameters: tool.parameters
    })),
    get: (name) => {
      const own = names.fromProvider(name)
      return own === undefined ? undefined : byName.get(own)
    }
  }
}

/**
 * Makes a set of these tools, in this order.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <const T extends ReadonlyArray<Tool.Any>>(
  ...tools: T
): ToolSet<Tool.ErrorOf<T[number]>, Tool.ServicesOf<T[number]>> => fromArray(tools)

/**
 * @since 0.1.0
 * @category constructors
 */
export const empty: ToolSet = fromArray([]) as ToolSet

/**
 * Combines the tools of both sets; a name in both is a problem of the result.
 *
 * @since 0.1.0
 * @category combining
 */
export const merge = <E, R, E2, R2>(self: ToolSet<E, R>, that: ToolSet<E2, R2>): ToolSet<E | E2, R | R2> =>
  that.tools.length === 0
    ? self
    : self.tools.length === 0
      ? that
      : fromArray([...self.tools, ...that.tools], [...self.problems, ...that.problems])

/**
 * The failures of a set's tools that end the run.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<T extends ToolSet<any, any>> = T extends ToolSet<infer E, any> ? E : never

/**
 * What a set's handlers require.
 *
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<T extends ToolSet<any, any>> = T extends ToolSet<any, infer R> ? R : never

/**
 * Combines the tools of all sets, in this order. A name in two sets is a problem of the result: prefix one of them.
 *
 * @since 0.1.0
 * @category combining
 */
export const combined = <const T extends ReadonlyArray<ToolSet<any, any>>>(
  ...sets: T
): ToolSet<ErrorOf<T[number]>, ServicesOf<T[number]>> =>
  fromArray(
    sets.flatMap((set) => set.tools),
    sets.flatMap((set) => set.problems)
  )

const withName = (tool: Tool.Any, name: string): Tool.Any => build({ ...tool, name })

/**
 * Prefixes every name: `search` becomes `github_search` with the prefix `github`.
 *
 * @example
 * ```ts
 * import { Tool, ToolSet } from "effect-lexigram/tool"
 * import * as Effect from "effect/Effect"
 *
 * const search = Tool.make("search", { description: "Searches the wiki", handler: () => Effect.succeed("…") })
 *
 * const tools = ToolSet.combined(
 *   ToolSet.make(search).pipe(ToolSet.prefixed("wiki")),
 *   ToolSet.make(search).pipe(ToolSet.prefixed("archive"), ToolSet.approvalRequired())
 * )
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const prefixed: {
  (prefix: string): <E, R>(self: ToolSet<E, R>) => ToolSet<E, R>
  <E, R>(self: ToolSet<E, R>, prefix: string): ToolSet<E, R>
} = dual(
  2,
  <E, R>(self: ToolSet<E, R>, prefix: string): ToolSet<E, R> =>
    fromArray(
      self.tools.map((tool) => withName(tool, `${prefix}_${tool.name}`)),
      self.problems
    )
)

/**
 * Renames some tools, from old name to new. An unknown old name, and a new name in use, are problems of the result.
 *
 * @since 0.1.0
 * @category combinators
 */
export const renamed: {
  (names: { readonly [name: string]: string }): <E, R>(self: ToolSet<E, R>) => ToolSet<E, R>
  <E, R>(self: ToolSet<E, R>, names: { readonly [name: string]: string }): ToolSet<E, R>
} = dual(2, <E, R>(self: ToolSet<E, R>, names: { readonly [name: string]: string }): ToolSet<E, R> => {
  const unknown = Object.keys(names).filter((name) => !self.tools.some((tool) => tool.name === name))
  const problems = unknown.map(
    (toolName) =>
      new ToolDefinitionError({
        toolName,
        message: `There is no tool named "${toolName}" to rename`,
        hint: `Tools of the set: ${self.tools.map((tool) => tool.name).join(", ")}`
      })
  )
  return fromArray(
    self.tools.map((tool) => (Object.hasOwn(names, tool.name) ? withName(tool, names[tool.name] as string) : tool)),
    [...self.problems, ...problems]
  )
})

/**
 * Keeps the tools that the predicate accepts. Models neither see nor can call the others.
 *
 * @since 0.1.0
 * @category combinators
 */
export const filtered: {
  (predicate: (tool: Tool.Any) => boolean): <E, R>(self: ToolSet<E, R>) => ToolSet<E, R>
  <E, R>(self: ToolSet<E, R>, predicate: (tool: Tool.Any) => boolean): ToolSet<E, R>
} = dual(2, <E, R>(self: ToolSet<E, R>, predicate: (tool: Tool.Any) => boolean): ToolSet<E, R> => {
  const kept = self.tools.filter(predicate)
  const dropped = new Set(self.tools.flatMap((tool) => (kept.includes(tool) ? [] : [tool.problem])))
  return fromArray(
    kept,
    self.problems.filter((problem) => !dropped.has(problem))
  )
})

/**
 * Requires approval of all calls, or of those that `when` accepts by tool and decoded parameters. Tools that require
 * approval themselves still do. If `when` throws, the call requires approval.
 *
 * @since 0.1.0
 * @category combinators
 */
export const approvalRequired: {
  (when?: (tool: Tool.Any, params: unknown) => boolean): <E, R>(self: ToolSet<E, R>) => ToolSet<E, R>
  <E, R>(self: ToolSet<E, R>, when?: (tool: Tool.Any, params: unknown) => boolean): ToolSet<E, R>
} = dual(
  (args) => typeof args[0] === "object",
  <E, R>(self: ToolSet<E, R>, when: (tool: Tool.Any, params: unknown) => boolean = () => true): ToolSet<E, R> =>
    fromArray(
      self.tools.map((tool) => {
        const requiresApproval = predicateOf(
          (params: unknown) => tool.erased.requiresApproval(params) || when(tool, params)
        )
        return build({ ...tool, erased: { ...tool.erased, requiresApproval } })
      }),
      self.problems
    )
)

/**
 * A plain function with its description for the model.
 *
 * @since 0.1.0
 * @category models
 */
export interface PlainFunction extends Tool.Annotations {
  readonly description: string
  /** A JSON Schema, an object schema of Effect, or its fields; none for no parameters. */
  readonly parameters?: Tool.Parameters | { readonly type: "object"; readonly [key: string]: unknown } | undefined
  /** The signal is aborted when the call is interrupted or runs out of time. */
  readonly run: (params: any, signal: AbortSignal) => unknown
  readonly requiresApproval?: boolean | ((params: any) => boolean) | undefined
}

const isEffectSchema = (parameters: object): parameters is Tool.Parameters =>
  Schema.isSchema(parameters) ||
  Object.values(parameters).every((field) => Schema.isSchema(field) || Schema.isPropertySignature(field))

/**
 * Makes a set of plain functions by name, sync or async. The model reads what they throw as a failure.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromRecord = (functions: { readonly [name: string]: PlainFunction }): ToolSet =>
  fromArray(
    Object.entries(functions).map(([name, { parameters, run, ...rest }]): Tool.Any => {
      const handler = Tool.fromFunction(run)
      if (parameters === undefined || isEffectSchema(parameters)) {
        return Tool.make(name, { ...rest, parameters, handler }) as unknown as Tool.Any
      }
      const made = Tool.fromJsonSchema(name, { ...rest, parameters, handler })
      return Either.isRight(made) ? made.right : Tool.invalid(made.left)
    })
  ) as ToolSet

/**
 * Captures the requirements of the handlers, once per run.
 *
 * @since 0.1.0
 * @category conversions
 */
export const bind = <E, R>(self: ToolSet<E, R>): Effect.Effect<Bound, never, R> =>
  Effect.map(Effect.context<R>(), (captured) => bindTo(self, captured))

/**
 * Like `bind`, with a given context.
 *
 * @since 0.1.0
 * @category conversions
 */
export const bindTo = <E, R>(self: ToolSet<E, R>, captured: Context.Context<R>): Bound => ({
  tools: self.tools,
  definitions: self.definitions,
  names: self.names,
  get: self.get,
  provide: (effect) => CapturedContext.provide(effect, captured)
})
