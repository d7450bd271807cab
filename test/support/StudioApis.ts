/** The privileged API of the studio on a server of agents, without its page. Users whose name begins with `dev` are developers. */
import * as Layer from "effect/Layer"
import type * as AgentServer from "../../src/http/api/AgentServer.js"
import * as StudioDeveloper from "../../src/studio/access/StudioDeveloper.js"
import { StudioApi } from "../../src/studio/api/StudioApi.js"
import * as StudioHandlers from "../../src/studio/endpoint/StudioHandlers.js"
import * as AgentServers from "./AgentServers.js"

const edgeOf = (agents: AgentServers.Setup["agents"]): AgentServer.Edge => ({
  endpoints: Object.values(StudioApi.groups).flatMap(
    (group): ReadonlyArray<AgentServer.Endpoint> => Object.values(group.endpoints)
  ),
  layer: (limits) =>
    StudioHandlers.layer({ agents, limits, links: false }).pipe(
      Layer.provide(
        StudioDeveloper.layer(
          ({ scopes = [], userId }) => scopes.includes("studio") || userId?.startsWith("dev") === true
        )
      ),
      Layer.discard
    )
})

export const start = (setup: AgentServers.Setup) =>
  AgentServers.start({ ...setup, edges: [...(setup.edges ?? []), edgeOf(setup.agents)] })

/** A developer, another one, and a user that is none. */
export const [dev, other, nobody] = ["dev", "devtwo", "bob"] as const
