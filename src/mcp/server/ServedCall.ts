/**
 * A call of a client while it is served: who calls, what it can be asked, and how it learns of progress.
 *
 * @private
 * @since 0.1.0
 */
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import type * as Effect from "effect/Effect"
import type { RunPolicy } from "../../agent/record/RunPolicy.js"
import type * as AgentEvent from "../../domain/AgentEvent.js"
import type { Identity } from "../../http/api/Authentication.js"
import * as VisibleText from "../../internal/text/VisibleText.js"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import * as Observation from "../../tool/definition/Observation.js"
import type * as McpPeer from "../offer/McpPeer.js"
import type { McpServerError } from "../offer/McpServerError.js"

/**
 * @category models
 */
export interface ServedCall {
  readonly caller: Identity
  readonly policy: RunPolicy | undefined
  /** Whether the person at the client decides approvals. */
  readonly approves: boolean
  readonly peer: McpPeer.Service
  /** Does nothing unless the client wants progress. */
  readonly progress: (message: string | undefined, done?: number, total?: number) => Effect.Effect<void>
  /** Whether an interruption comes from the end of the server, which does not end the runs. */
  readonly isStopping: () => boolean
}

/**
 * A tool as clients see it, and what a call of it does.
 *
 * @category models
 */
export interface ServedTool {
  readonly kind: "tool" | "agent"
  /** The name of the tool or the agent itself. */
  readonly own: string
  readonly name: string
  readonly title?: string | undefined
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema | undefined
  readonly annotations?: Readonly<Record<string, boolean>> | undefined
  readonly call: (
    args: Readonly<Record<string, unknown>>,
    call: ServedCall
  ) => Effect.Effect<CallToolResult, McpServerError>
}

const MOST = 500

const shown = (text: string): string => VisibleText.visible(Observation.truncate(text, MOST).text)

/**
 * What a client is told of an event in its public view, if anything.
 *
 * @category conversions
 */
export const progressOf = (event: AgentEvent.AgentEvent): string | undefined => {
  switch (event._tag) {
    case "StepStarted":
      return event.name === undefined ? `Step ${event.step}` : `Step ${event.step}: ${shown(event.name)}`
    case "ToolCall":
      return `Calls ${shown(event.name)}`
    case "ToolProgress":
      return event.message === undefined ? undefined : `${shown(event.name)}: ${shown(event.message)}`
    case "Delegated":
      return `Asks ${shown(event.toAgent)}`
    case "ApprovalRequested":
      return `Waits for an approval of the call of ${shown(event.name)}`
    case "QuestionAsked":
      return `Waits for an answer to the question of ${shown(event.name)}`
    default:
      return undefined
  }
}
