/**
 * Events that the protocol of AI SDK UI has no part for, as data of the application.
 *
 * @private
 * @since 0.1.0
 */
import type { AgentEvent } from "../../domain/AgentEvent.js"

/**
 * @category models
 */
export interface UiData {
  readonly name: string
  /** A part with the id of an earlier one takes its place. */
  readonly id?: string
  readonly data: unknown
}

/**
 * @category conversions
 */
export const fromEvent = (event: AgentEvent): UiData | undefined => {
  switch (event._tag) {
    case "Plan":
      return { name: "plan", id: "plan", data: { steps: event.steps } }
    case "Critique":
      return { name: "critique", data: { text: event.text, accepted: event.accepted, score: event.score } }
    case "Delegated": {
      const { childRunId: runId, handoff, toAgent: agent } = event
      return { name: "delegated", id: runId, data: { agent, runId, handoff: handoff === true } }
    }
    case "NodeEmitted":
      return { name: "node", data: { graph: event.graph, node: event.node, value: event.value } }
    case "Steered":
      return { name: "steered", data: { text: event.text } }
    case "ToolCompensated": {
      const { id, isFailure, name: toolName } = event
      return { name: "compensated", id, data: { toolCallId: id, toolName, isFailure } }
    }
    default:
      return undefined
  }
}
