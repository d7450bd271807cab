/**
 * The agents of durable runs by their names and versions.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Agent from "../agent/definition/AgentDefinition.js"
import { AgentConfigurationError } from "../agent/definition/AgentError.js"
import type * as AgentWorkflow from "./AgentWorkflow.js"

/**
 * A version of an agent. Runs end with the version that they began with: keep it registered until they have ended.
 *
 * @since 0.1.0
 * @category models
 */
export interface Versioned<A extends Agent.Any = Agent.Any> {
  readonly agent: A
  readonly version: string
}

const isVersioned = (given: Agent.Any | Versioned): given is Versioned => "agent" in given

/**
 * The agents by name, the newest version last.
 *
 * @category constructors
 */
export const register = (
  given: ReadonlyArray<Agent.Any | Versioned>
): Effect.Effect<ReadonlyMap<string, ReadonlyArray<AgentWorkflow.Versioned>>, AgentConfigurationError> => {
  const byName = new Map<string, Array<AgentWorkflow.Versioned>>()
  for (const one of given) {
    const entry: AgentWorkflow.Versioned = isVersioned(one) ? one : { agent: one }
    const { name } = entry.agent
    const versions = byName.get(name)
    if (versions === undefined) byName.set(name, [entry])
    else if (versions.some(({ version }) => version === entry.version)) {
      return new AgentConfigurationError({
        agentName: name,
        message: "Two agents have the same name and version",
        hint: "Give each its own name, or `{ agent, version }` with versions of their own"
      })
    } else versions.push(entry)
  }
  return Effect.succeed(byName)
}

/**
 * The newest version of each agent by its name.
 *
 * @category getters
 */
export const newest = (
  agents: ReadonlyMap<string, ReadonlyArray<AgentWorkflow.Versioned>>
): ReadonlyMap<string, Agent.Any> =>
  new Map(Array.from(agents, ([name, versions]) => [name, (versions.at(-1) as AgentWorkflow.Versioned).agent]))
