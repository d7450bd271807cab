/**
 * MCP servers: agents, tools, prompts and resources for the clients of the Model Context Protocol.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as AgentExecutor from "../../agent/AgentExecutor.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import type * as Tool from "../../tool/definition/Tool.js"
import type { Definition, Options } from "../offer/McpDefinition.js"
import type { McpServerError } from "../offer/McpServerError.js"
import * as ServedStdio from "./ServedStdio.js"

export type { Definition, Item, Options } from "../offer/McpDefinition.js"

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
