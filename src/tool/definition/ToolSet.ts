/**
 * The tools of an agent, with their failures and requirements summed.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dual } from "effect/Function"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import * as Schema from "effect/Schema"
import * as SystemGrant from "../../internal/fiber/SystemGrant.js"
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
  /** What is wrong with the set: definitions that cannot be used, names given twice. */
  readonly problems: ReadonlyArray<ToolDefinitionError>
  /** As models see them, under names that providers accept; made once a set. */
  readonly definitions: ReadonlyArray<ToolDefinition>
  readonly names: ToolNames.ToolNames
  /** By the tool's own name, or the provider's. */
  readonly get: (name: string) => Tool.Any | undefined
}

/**
 * A set with its requirements captured: what strategies, graphs and `ToolRunner` work with, free of the tools' types.
 *
 * @since 0.1.0
 * @category models
 */
export interface Bound {
  readonly tools: ReadonlyArray<Tool.Any>
  readonly definitions: ReadonlyArray<ToolDefinition>
  readonly names: ToolNames.ToolNames
  readonly get: (name: string) => Tool.Any | undefined
  /** Gives a handler what it requires. What is current when it runs wins over what was captured. */
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
 * The set of these tools, in this order.
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
 * The tools of both sets; a name in both is a problem of the result.
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
 * The tools of all sets, in this order. A name in two sets is a problem of the result: prefix one of them.
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
 * The set with every name prefixed: `search` becomes `github_search` under the prefix `github`.
 *
 * @since 0.1.0
 * @category combinators
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
 * The set with some tools renamed, from old name to new. A name that no tool has, and a new name that is taken, are
 * problems of the result.
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
        hint: `The set has: ${self.tools.map((tool) => tool.name).join(", ")}`
      })
  )
  return fromArray(
    self.tools.map((tool) => (Object.hasOwn(names, tool.name) ? withName(tool, names[tool.name] as string) : tool)),
    [...self.problems, ...problems]
  )
})

/**
 * The tools of the set that the predicate accepts. Models do not see the others, and cannot call them.
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
 * The set with calls that somebody must allow: all calls, or those that `when` accepts by tool and decoded parameters.
 * A tool that requires approval itself still does. When `when` throws, the call requires approval.
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
 * A plain function with what the model must know about it.
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
 * A set of plain functions by name, sync or async. What they throw is a failure the model can read.
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
 * Captures what the handlers require, once a run.
 *
 * @since 0.1.0
 * @category conversions
 */
export const bind = <E, R>(self: ToolSet<E, R>): Effect.Effect<Bound, never, R> =>
  Effect.map(Effect.context<R>(), (captured) => bindTo(self, captured))

/**
 * The same over a context at hand.
 *
 * @since 0.1.0
 * @category conversions
 */
export const bindTo = <E, R>(self: ToolSet<E, R>, captured: Context.Context<R>): Bound => ({
  tools: self.tools,
  definitions: self.definitions,
  names: self.names,
  get: self.get,
  provide: (effect) =>
    // Inside the run that bound the set the current context has it all, and providing costs more than looking.
    Effect.withFiberRuntime<any, any>(({ currentContext: current }) =>
      holds(current, captured)
        ? SystemGrant.dropIn(current, effect as Effect.Effect<any, any>)
        : Effect.provide(effect as Effect.Effect<any, any, R>, SystemGrant.without(Context.merge(captured, current)))
    )
})

const holds = (current: Context.Context<never>, captured: Context.Context<any>): boolean => {
  if (captured.unsafeMap === current.unsafeMap) return true
  for (const key of captured.unsafeMap.keys()) if (!current.unsafeMap.has(key)) return false
  return true
}
