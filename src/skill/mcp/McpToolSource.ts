/**
 * The tools of an MCP server as a tool source: agents get the tools that the server has now.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as ToolSource from "../../tool/ToolSource.js"
import * as McpBridge from "./McpBridge.js"
import type { McpError, Service } from "./McpClient.js"
import type { Options } from "./McpToolPlan.js"

/**
 * Follows the changes of the server (`tools/list_changed`, and each new connection) until the scope closes. The list is
 * read again only after a change, when a run asks for it; a tool that did not change stays the same object. A server
 * that cannot be reached fails a run that begins and leaves one that goes on with its last tools.
 *
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { McpClient, McpToolSource } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * // Lives as long as the scope.
 * const clerk = Effect.gen(function* () {
 *   const files = yield* McpToolSource.make(yield* McpClient.McpClient, { confirm: "always" })
 *   return Agent.make("clerk", { system: "You help at the desk." }).pipe(Agent.withToolSource(files))
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  client: Service,
  options?: Options & {
    /** Time for one list of the tools. Default 30 s. */
    readonly listTimeout?: Duration.DurationInput | undefined
  }
): Effect.Effect<ToolSource.ToolSource<McpError | ToolSource.ToolSourceError>, never, Scope.Scope> =>
  Effect.gen(function* () {
    let known: McpBridge.KnownTools = new Map()
    let list: ReadonlyArray<McpBridge.McpTool> = []
    let isStale = true
    yield* client.changes.pipe(
      Stream.runForEach(({ _tag }) =>
        Effect.sync(() => {
          if (_tag === "Connected" || _tag === "ToolsChanged") isStale = true
        })
      ),
      Effect.forkScoped
    )
    const read = Effect.suspend(() => {
      isStale = false
      return Effect.map(McpBridge.renewedTools(client, options, known), (made) => {
        known = made
        list = Array.from(made.values())
        return list
      })
    }).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          if (exit._tag === "Failure") isStale = true
        })
      )
    )
    return ToolSource.make({
      name: client.name,
      tools: Effect.suspend(() => (isStale ? read : Effect.succeed(list))),
      maxTools: options?.maxTools,
      timeout: options?.listTimeout ?? "30 seconds"
    })
  })
