/**
 * The conversation of a run, for tools that ask other agents.
 *
 * @since 0.1.0
 */

import type { RunId, SessionId, UserId } from "../../domain/Ids.js"
import * as Ambient from "../../internal/fiber/Ambient.js"
import type { Message } from "../../llm/model/LlmClient.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The run of the conversation. An inner run whose agent asks no others sees that of the run above. */
  readonly runId: RunId
  readonly agent: string
  /** The input of the run, after its input guards. */
  readonly input: string
  readonly userId: UserId | undefined
  readonly sessionId: SessionId | undefined
  /**
   * The conversation so far: the messages before the run, its input, and its tool calls with their results. No system
   * messages, no prompts of strategies, no step with open calls.
   */
  readonly messages: () => ReadonlyArray<Message>
  /** How often the conversation was handed over before this run. */
  readonly handoffs: number
  /** Takes the conversation for an agent; returns the agent that has already taken it, if any. */
  readonly claim: (agent: string) => string | undefined
}

/**
 * The conversation of the current run; `undefined` outside of runs whose agent has tools of `AgentTool` or `Handoff`.
 *
 * @since 0.1.0
 * @category tags
 */
export class Conversation extends Ambient.Reference<Conversation>()("effect-lexigram/agent/Conversation", {
  defaultValue: (): Service | undefined => undefined
}) {}
