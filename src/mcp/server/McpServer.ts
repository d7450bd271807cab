/**
 * MCP servers: agents, tools, prompts and resources for the clients of the Model Context Protocol.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as AgentExecutor from "../../agent/AgentExecutor.js"
import type * as Agent from "../../agent/definition/AgentDefinition.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { Identity } from "../../http/api/Authentication.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import type * as Tool from "../../tool/definition/Tool.js"
import type { Prompt, Resource, ResourceTemplate, Source } from "./McpOffers.js"
import type { McpServerError } from "./McpServerError.js"
import * as ServedStdio from "./ServedStdio.js"

/**
 * A thing that a server offers. The name of a resource is its address, or its template.
 *
 * @since 0.1.0
 * @category models
 */
export interface Item {
  readonly kind: "tool" | "agent" | "prompt" | "resource"
  readonly name: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<
  T extends ReadonlyArray<Tool.Any> = ReadonlyArray<Tool.Any>,
  RP = any,
  RR = any,
  RT = any,
  RS = any
> {
  readonly name: string
  readonly version: string
  readonly title?: string | undefined
  /** How to use the server, for the models of its clients. */
  readonly instructions?: string | undefined
  /** A call is a run of its own, with the guards, approvals and limits of the executor. */
  readonly tools?: T | undefined
  /** Agents of the runs (`Runs`), each a tool that takes a text. */
  readonly agents?: ReadonlyArray<Agent.Any> | undefined
  readonly prompts?: ReadonlyArray<Prompt<RP>> | undefined
  readonly resources?: ReadonlyArray<Resource<RR>> | undefined
  readonly templates?: ReadonlyArray<ResourceTemplate<RT>> | undefined
  /** What depends on the caller, such as `McpSkills.make()` and `McpMemories.make()`. */
  readonly sources?: ReadonlyArray<Source<RS>> | undefined
  /** What a caller may see and use; default all. The rest looks unknown to it. */
  readonly permits?: ((caller: Identity, item: Item) => boolean) | undefined
  /** How long a person or a model at the client has for an answer; default 10 minutes, at most 24 hours. */
  readonly answerTimeout?: Duration.DurationInput | undefined
  /** Calls of tools that one session makes at once; default 32. */
  readonly maxCalls?: number | undefined
  /** Resources that one session follows at once; default 64. */
  readonly maxSubscriptions?: number | undefined
  /** Entries of a list that a client gets at once; default 200. */
  readonly pageSize?: number | undefined
}

/**
 * A server that is not started. `R` are the requirements of its tools, prompts and resources.
 *
 * @since 0.1.0
 * @category models
 */
export interface Definition<out R = never> {
  readonly _R: () => R
  readonly options: Options
}

/**
 * What serving a definition requires.
 *
 * @since 0.1.0
 * @category models
 */
export type Services = Runs.Runs | PendingApprovals.PendingApprovals | AgentExecutor.AgentExecutor

/**
 * Defines a server. `layerStdio` serves it to one client; `McpEdge.make` to many over HTTP.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { McpServer } from "effect-lexigram/mcp"
 * import { Tool } from "effect-lexigram/tool"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const add = Tool.make("add", {
 *   description: "Adds two numbers",
 *   parameters: { a: Schema.Number, b: Schema.Number },
 *   success: Schema.Struct({ sum: Schema.Number }),
 *   handler: ({ a, b }) => Effect.succeed({ sum: a + b })
 * })
 *
 * const server = McpServer.make({
 *   name: "desk",
 *   version: "1.0.0",
 *   tools: [add],
 *   agents: [Agent.make("clerk", { system: "You help at the desk." })]
 * })
 * ```
 */
export const make = <
  const T extends ReadonlyArray<Tool.Any> = readonly [],
  RP = never,
  RR = never,
  RT = never,
  RS = never
>(
  options: Options<T, RP, RR, RT, RS>
): Definition<Tool.ServicesOf<T[number]> | RP | RR | RT | RS> => ({ _R: () => undefined as never, options })

/**
 * @since 0.1.0
 * @category models
 */
export interface StdioOptions extends ServedStdio.Options {}

/**
 * Serves one client on standard input and output, until the input ends or the scope closes. Nothing else may write to
 * standard output: give the program a logger that writes to standard error (`Logger.withConsoleError`).
 *
 * @since 0.1.0
 * @category running
 */
export const runStdio = <R>(
  definition: Definition<R>,
  options?: StdioOptions | undefined
): Effect.Effect<void, McpServerError, R | Services> => ServedStdio.run(definition.options, options)

/**
 * As `runStdio`, beside other layers. It is built when the server listens.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerStdio = <R>(
  definition: Definition<R>,
  options?: StdioOptions | undefined
): Layer.Layer<never, McpServerError, R | Services> =>
  Layer.scopedDiscard(ServedStdio.start(definition.options, options))
