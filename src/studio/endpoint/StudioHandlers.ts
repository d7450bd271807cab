/**
 * All handlers of the privileged API.
 *
 * @private
 * @since 0.1.0
 */
import * as Layer from "effect/Layer"
import type * as Agent from "../../agent/definition/AgentDefinition.js"
import type * as ApiLimits from "../../http/api/ApiLimits.js"
import * as StudioAccessEndpoints from "./StudioAccessEndpoints.js"
import * as StudioDurableEndpoints from "./StudioDurableEndpoints.js"
import * as StudioEvalsEndpoints from "./StudioEvalsEndpoints.js"
import * as StudioGovernanceEndpoints from "./StudioGovernanceEndpoints.js"
import * as StudioMemoryEndpoints from "./StudioMemoryEndpoints.js"
import * as StudioPromptEndpoints from "./StudioPromptEndpoints.js"
import * as StudioRunEndpoints from "./StudioRunEndpoints.js"
import * as StudioSessionEndpoints from "./StudioSessionEndpoints.js"
import * as StudioToolEndpoints from "./StudioToolEndpoints.js"

/**
 * What the handlers are about.
 *
 * @category models
 */
export interface Setting {
  /** The agents that the server offers. */
  readonly agents: ReadonlyArray<Agent.Any>
  readonly limits: ApiLimits.Limits
  /** Whether the terminal of the server shows links. */
  readonly links: boolean
}

/**
 * @category layers
 */
export const layer = ({ agents, limits, links }: Setting) =>
  Layer.mergeAll(
    StudioAccessEndpoints.layerAccess(links),
    StudioAccessEndpoints.layerSession,
    StudioGovernanceEndpoints.layer,
    StudioDurableEndpoints.layer,
    StudioEvalsEndpoints.layer,
    StudioRunEndpoints.layer({ agents, limits }),
    StudioMemoryEndpoints.layer,
    StudioPromptEndpoints.layer,
    StudioSessionEndpoints.layer(agents),
    StudioToolEndpoints.layer(agents)
  )
