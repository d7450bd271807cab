/**
 * The port of a registry of tools by name that can change while a program runs.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { ToolDefinition } from "../llm/model/LlmClient.js"
import type * as Tool from "./definition/Tool.js"
import type { ToolAccessDeniedError, ToolDefinitionError, ToolNotFoundError } from "./definition/ToolError.js"
import type * as ToolSet from "./definition/ToolSet.js"
import type * as ToolRunner from "./ToolRunner.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The module of the tool; default the tool's own `owner`. */
  readonly module?: string | undefined
}

/**
 * The caller is the module in the context (`ToolRunner.CallerModule`): each fiber has its own.
 *
 * A tool with failures that end a run cannot be registered: it belongs in the set of an agent, whose type shows them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Adds a tool and captures what its handler requires; a service that is present where the tool is called wins. Fails
   * when the name is taken or the definition is invalid.
   */
  readonly register: <P, A, R, F>(
    tool: Tool.Tool<P, A, never, R, F>,
    options?: Options | undefined
  ) => Effect.Effect<void, ToolDefinitionError, R>
  /** Registers a tool until the scope closes. */
  readonly registerScoped: <P, A, R, F>(
    tool: Tool.Tool<P, A, never, R, F>,
    options?: Options | undefined
  ) => Effect.Effect<void, ToolDefinitionError, R | Scope.Scope>
  /** Removes the tool of that name. Returns false when there is none. Calls that have started go on. */
  readonly unregister: (name: string) => Effect.Effect<boolean>
  readonly clear: Effect.Effect<void>
  /** The tool of that name, its own or the provider's, regardless of the caller. */
  readonly get: (name: string) => Effect.Effect<Tool.Any | undefined>
  /** All tools, in the order of their registration. */
  readonly list: Effect.Effect<ReadonlyArray<Tool.Any>>
  /** The names of all tools, in the order of their registration. */
  readonly names: Effect.Effect<ReadonlyArray<string>>
  /** The tools that the caller may see. */
  readonly listVisible: Effect.Effect<ReadonlyArray<Tool.Any>>
  /** The definitions, for models, of the tools that the caller may see, under names that providers accept. */
  readonly schemas: Effect.Effect<ReadonlyArray<ToolDefinition>>
  /** The tools that the caller may see, for an agent. Later registrations do not change the set. */
  readonly toolSet: Effect.Effect<ToolSet.ToolSet>
  /**
   * Calls a tool as a run would: `ToolRunner` checks, asks, limits, retries and runs it. The result is an `Outcome`;
   * the call fails only when the tool does not exist or the caller may not see it. `id` identifies the call to
   * handlers; default a new id.
   */
  readonly execute: (
    name: string,
    params: unknown,
    options?: (ToolRunner.RunOptions & { readonly id?: string | undefined }) | undefined
  ) => Effect.Effect<ToolRunner.Outcome, ToolNotFoundError | ToolAccessDeniedError>
  /** All tools now, and again after each change. A slow reader gets only the latest state. */
  readonly changes: Stream.Stream<ReadonlyArray<Tool.Any>>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ToolRegistry extends Context.Tag("effect-lexigram/tool/ToolRegistry")<ToolRegistry, Service>() {}

/**
 * A tool for a registry: the model reads its failures.
 *
 * @since 0.1.0
 * @category models
 */
export type Registrable = Tool.Tool<never, unknown, never, unknown, unknown>

/**
 * Adds a tool until the scope closes.
 *
 * @since 0.1.0
 * @category registration
 */
export const register = <P, A, R, F>(
  tool: Tool.Tool<P, A, never, R, F>,
  options?: Options | undefined
): Effect.Effect<void, ToolDefinitionError, R | ToolRegistry | Scope.Scope> =>
  Effect.flatMap(ToolRegistry, (registry) => registry.registerScoped(tool, options))

/**
 * `register` as a layer.
 *
 * @since 0.1.0
 * @category registration
 * @example
 * ```ts
 * import { Tool, ToolRegistry } from "effect-lexigram"
 * import * as Effect from "effect/Effect"
 *
 * const time = Tool.make("time", { description: "The time now", handler: () => Effect.succeed("12:00") })
 *
 * // The tool is in the registry while this layer is open.
 * const clock = ToolRegistry.tool(time, { module: "clock" })
 * ```
 */
export const tool = <P, A, R, F>(
  tool: Tool.Tool<P, A, never, R, F>,
  options?: Options | undefined
): Layer.Layer<never, ToolDefinitionError, ToolRegistry | Exclude<R, Scope.Scope>> =>
  Layer.scopedDiscard(register(tool, options))
