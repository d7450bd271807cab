/**
 * The conversation a run is about, as tools may see it that ask other agents.
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
  /** Whose conversation it is: a run further in, of an agent that asks nobody, sees that of the run above. */
  readonly runId: RunId
  readonly agent: string
  /** What the run was asked, after its input guards. */
  readonly input: string
  readonly userId: UserId | undefined
  readonly sessionId: SessionId | undefined
  /**
   * The conversation so far: what stood before the run, what it was asked, and its calls of tools, each with its
   * result. No system messages, no prompts of strategies, no step that has open calls.
   */
  readonly messages: () => ReadonlyArray<Message>
  /** How often the conversation was handed over before it came to this run. */
  readonly handoffs: number
  /** Takes the conversation for an agent; gives back who has taken it already, if somebody has. */
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
