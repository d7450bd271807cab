/**
 * The agents of a server, and its health, over HTTP.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import * as AgentExecutor from "../../agent/AgentExecutor.js"
import type * as Agent from "../../agent/definition/AgentDefinition.js"
import { AgentApi } from "./AgentApi.js"
import { ApiError } from "./ApiError.js"
import type * as ApiModels from "./ApiModels.js"

/**
 * @category conversions
 */
export const infoOf = ({ definition, name }: Agent.Any): ApiModels.AgentInfo => ({
  name,
  ...(definition.description === undefined ? {} : { description: definition.description }),
  ...(definition.strategy === undefined ? {} : { strategy: definition.strategy.name }),
  tools: definition.tools.tools.map(({ description, name: tool }) => ({ name: tool, description })),
  ...(definition.output === undefined ? {} : { output: definition.output.spec.jsonSchema })
})

/**
 * @category layers
 */
export const layer = (agents: ReadonlyArray<Agent.Any>) => {
  const infos = new Map(agents.map((agent) => [agent.name, infoOf(agent)]))
  return HttpApiBuilder.group(AgentApi, "agents", (handlers) =>
    handlers
      .handle("listAgents", () => Effect.succeed({ agents: Array.from(infos.values()) }))
      .handle("getAgent", ({ path }) => {
        const found = infos.get(path.name)
        return found === undefined
          ? new ApiError({ reason: "unknown", message: "This server offers no agent with this name" })
          : Effect.succeed(found)
      })
  )
}

/**
 * The health of the server: that of its executor.
 *
 * @category layers
 */
export const layerHealth = HttpApiBuilder.group(AgentApi, "system", (handlers) =>
  Effect.map(AgentExecutor.AgentExecutor, ({ health }) =>
    handlers.handle("health", () => Effect.map(health, ({ status }) => ({ status })))
  )
)
