/**
 * Decides which tools an agent sees: those of modules that its own module may use.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { nearest } from "../internal/text/Nearest.js"
import type * as Tool from "./definition/Tool.js"
import { ToolAccessDeniedError, ToolNotFoundError } from "./definition/ToolError.js"
import type { Bound } from "./definition/ToolSet.js"
import type * as ModuleGraph from "./ModuleGraph.js"
import { CallerModule } from "./ToolRunner.js"

const isVisible = (
  graph: ModuleGraph.Service,
  caller: string | undefined,
  owner: string | undefined
): Effect.Effect<boolean> =>
  owner === undefined
    ? Effect.succeed(true)
    : Effect.match(graph.isVisible({ caller, owner }), { onFailure: () => false, onSuccess: (seen) => seen === true })

/** The error for a tool that the agent may not see. A lookup that fails hides the tool. */
const hidden = (
  graph: ModuleGraph.Service,
  tool: Tool.Any,
  owner: string
): Effect.Effect<ToolAccessDeniedError | undefined> =>
  Effect.flatMap(CallerModule, (caller) =>
    Effect.map(isVisible(graph, caller, owner), (seen) =>
      seen
        ? undefined
        : new ToolAccessDeniedError({
            toolName: tool.name,
            agentModule: caller,
            toolModule: owner,
            message: `"${tool.name}" is not available to this agent`
          })
    )
  )

/** The tools of the set that the agent sees. The same set where nothing is hidden. */
export const onlyVisible = (graph: ModuleGraph.Service, tools: Bound): Effect.Effect<Bound> => {
  const owners = new Set<string>()
  for (const tool of tools.tools) if (tool.annotations.owner !== undefined) owners.add(tool.annotations.owner)
  if (owners.size === 0) return Effect.succeed(tools)
  return Effect.flatMap(CallerModule, (caller) =>
    Effect.map(
      Effect.filter(owners, (owner) => isVisible(graph, caller, owner), { negate: true }),
      (denied) => {
        if (denied.length === 0) return tools
        const isSeen = (tool: Tool.Any) =>
          tool.annotations.owner === undefined || !denied.includes(tool.annotations.owner)
        const seen = tools.tools.filter(isSeen)
        const names = new Set(seen.map((tool) => tools.names.toProvider(tool.name)))
        return {
          ...tools,
          tools: seen,
          definitions: tools.definitions.filter((definition) => names.has(definition.name))
        }
      }
    )
  )
}

const notFound = (name: string, tools: Bound): ToolNotFoundError => {
  const availableTools = tools.definitions.map((definition) => definition.name)
  const shown = name.slice(0, 128)
  const similar = nearest(shown, availableTools)
  return new ToolNotFoundError({
    toolName: shown,
    availableTools,
    message: `There is no tool named "${shown}"`,
    hint:
      availableTools.length === 0
        ? "No tools are available: answer without them"
        : `${similar === undefined ? "" : `Did you mean "${similar}"? `}Available tools: ${availableTools.slice(0, 50).join(", ")}`
  })
}

/** The tool of a call, as the agent sees it. */
export const find = (
  graph: ModuleGraph.Service,
  tools: Bound,
  name: string
): Effect.Effect<Tool.Any, ToolAccessDeniedError | ToolNotFoundError> => {
  const tool = tools.get(name)
  if (tool === undefined) return Effect.flatMap(onlyVisible(graph, tools), (seen) => notFound(name, seen))
  const { owner } = tool.annotations
  if (owner === undefined) return Effect.succeed(tool)
  return Effect.flatMap(hidden(graph, tool, owner), (denial) => denial ?? Effect.succeed(tool))
}
