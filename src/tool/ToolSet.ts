/**
 * The tools of an agent, with their failures and requirements summed.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ToolDefinition } from "../llm/LlmClient.js"
import * as Tool from "./Tool.js"
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
export interface ToolSet<out E = never, out R = never> {
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

const fromArray = (tools: ReadonlyArray<Tool.Any>): ToolSet<any, any> => {
  const byName = new Map<string, Tool.Any>()
  const problems: Array<ToolDefinitionError> = []
  for (const tool of tools) {
    if (tool.problem !== undefined) problems.push(tool.problem)
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
  that.tools.length === 0 ? self : self.tools.length === 0 ? that : fromArray([...self.tools, ...that.tools])

/**
 * A plain function with what the model must know about it.
 *
 * @since 0.1.0
 * @category models
 */
export interface PlainFunction {
  readonly description: string
  /** A JSON Schema, an object schema of Effect, or its fields; none for no parameters. */
  readonly parameters?: Tool.Parameters | { readonly type: "object"; readonly [key: string]: unknown } | undefined
  readonly run: (params: any) => unknown
}

const isJsonSchema = (parameters: unknown): parameters is { readonly type: "object" } =>
  typeof parameters === "object" && parameters !== null && (parameters as { readonly type?: unknown }).type === "object"

/**
 * A set of plain functions by name, sync or async. What they throw is a failure the model can read.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromRecord = (functions: { readonly [name: string]: PlainFunction }): ToolSet =>
  fromArray(
    Object.entries(functions).map(([name, f]): Tool.Any => {
      const handler = Tool.fromFunction(f.run)
      if (isJsonSchema(f.parameters)) {
        const made = Tool.fromJsonSchema(name, { description: f.description, parameters: f.parameters, handler })
        return Either.isRight(made) ? made.right : broken(name, made.left)
      }
      return Tool.make(name, {
        description: f.description,
        parameters: f.parameters as Tool.Parameters | undefined,
        handler
      }) as unknown as Tool.Any
    })
  ) as ToolSet

const broken = (name: string, problem: ToolDefinitionError): Tool.Any => {
  const tool = Tool.make(name, { description: problem.message, handler: () => Effect.void }) as unknown as Tool.Any
  return Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, { problem })
}

/**
 * Captures what the handlers require, once a run.
 *
 * @since 0.1.0
 * @category conversions
 */
export const bind = <E, R>(self: ToolSet<E, R>): Effect.Effect<Bound, never, R> =>
  Effect.map(Effect.context<R>(), (captured) => ({
    tools: self.tools,
    definitions: self.definitions,
    names: self.names,
    get: self.get,
    provide: (effect) =>
      Effect.mapInputContext(effect, (current: Context.Context<never>) => Context.merge(captured, current))
  }))
