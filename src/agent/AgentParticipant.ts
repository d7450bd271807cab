/**
 * An agent as a participant of a group.
 *
 * @since 0.1.0
 */

import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as AgentResponse from "../domain/AgentResponse.js"
import type { ExactOptions } from "../internal/ExactOptions.js"
import * as DataDocument from "../internal/text/DataDocument.js"
import type { ForCost } from "../llm/model/CostEstimator.js"
import type { Message } from "../llm/model/LlmClient.js"
import * as WorkingMemory from "../memory/working/WorkingMemory.js"
import * as GroupPrompts from "../prompt/defaults/GroupPrompts.js"
import * as PromptLibrary from "../prompt/PromptLibrary.js"
import * as GroupParticipant from "../session/group/GroupParticipant.js"
import { authorOf } from "../session/group/RoleIsolation.js"
import type { SessionTurn } from "../session/turn/Session.js"
import * as ApprovalGate from "../tool/approval/ApprovalGate.js"
import * as AgentExecutor from "./AgentExecutor.js"
import * as Agent from "./definition/Agent.js"
import { aboutOf } from "./definition/AgentDefinition.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Its name in the group and in events; default that of the agent. */
  readonly name?: string | undefined
  /** Its role in the group; default `participant`. */
  readonly role?: string | undefined
  /** Read by those who choose the next speaker; default the beginning of the agent's system prompt. */
  readonly description?: string | undefined
  /** Default: that of the group. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Limits of each of its runs; fields given here override those of the agent. A limit in dollars requires prices. */
  readonly limits?: Agent.RunLimits | undefined
  /**
   * The exact answer of the agent when it has nothing to say; default `[silent]`. The agent is told about it. An agent
   * with an output schema always answers.
   */
  readonly silence?: string | undefined
  /** Who sees an answer; default everybody. */
  readonly visibility?:
    | ((answer: string) => {
        readonly visibleTo?: ReadonlyArray<string> | undefined
        readonly hiddenFrom?: ReadonlyArray<string> | undefined
      })
    | undefined
}

/** Words of the user unchanged, words of others as data with their names. */
const shownTurn = (turn: SessionTurn): string =>
  turn.role === "user" ? turn.content : DataDocument.stringify({ from: authorOf(turn).name, says: turn.content })

/** Maximum characters about the agent. */
const maxAbout = 500

const nothingNew = "(Nobody has said anything since your last answer.)"
const notShown = "(What was said before is not shown.)"

/**
 * The conversation from the agent's point of view: its own turns are assistant messages, the turns in between form one
 * user message each.
 */
const conversationOf = (
  turns: ReadonlyArray<SessionTurn>,
  name: string
): { readonly history: ReadonlyArray<Message>; readonly unread: string } => {
  const history: Array<Message> = []
  let unread: Array<string> = []
  for (const turn of turns) {
    if (turn.role !== "user" && turn.role !== "assistant") continue
    if (turn.role === "user" || authorOf(turn).name !== name) {
      unread.push(shownTurn(turn))
      continue
    }
    // Providers require a user message first and between two answers.
    const asked = unread.length > 0 ? unread.join("\n") : history.length === 0 ? notShown : nothingNew
    history.push({ role: "user", content: asked })
    history.push({ role: "assistant", content: turn.content })
    unread = []
  }
  return { history, unread: unread.length === 0 ? nothingNew : unread.join("\n") }
}

/** The agent's own strategy adds the instructions for all patterns, so this is only a part of its system prompt. */
const withoutGeneral = (system: string, prompts: PromptLibrary.Service): string => {
  const tail = prompts.instructions(GroupPrompts.Participate.pattern)
  return tail !== "" && tail === prompts.instructions("") ? system.slice(0, -tail.length).trimEnd() : system
}

const toolCallsOf = ({ toolCalls }: AgentResponse.AgentResponse<unknown>) =>
  toolCalls.map((call) => ({
    id: call.id,
    name: call.name,
    params: call.params,
    result: call.observation,
    isFailure: call.isFailure
  }))

/**
 * The agent takes part through runs inside the run of the group: its events appear in the same stream under its name,
 * its usage counts for the group, and interrupting the group interrupts it. It gets the part of the conversation it may
 * see: its own answers as its own, words of the user unchanged, words of others as data with their names.
 *
 * The group writes the turns: a run of the agent has no session, and only a memory of its own. A memory does not know
 * which turns are hidden from whom: an agent with the memory that records the turns of sessions recalls all of them.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { AgentParticipant } from "effect-lexigram/agent"
 * import { GroupSession } from "effect-lexigram/session"
 *
 * const writer = Agent.make("writer", { system: "You write headlines." })
 * const critic = Agent.make("critic", { system: "You check facts." })
 *
 * const desk = GroupSession.make({
 *   participants: [AgentParticipant.make(writer), AgentParticipant.make(critic, { role: "critic" })]
 * })
 * ```
 */
export const make = <O, E, R, const L extends Agent.RunLimits = {}>(
  agent: Agent.Agent<O, E, R>,
  options: Options & { readonly limits?: ExactOptions<L, Agent.RunLimits> | undefined } = {}
): GroupParticipant.GroupParticipant<E | AgentExecutor.ExecutorError, R | ForCost<L> | AgentExecutor.AgentExecutor> => {
  const silence = (options.silence ?? "[silent]").trim()
  const name = options.name ?? agent.name
  const limited = options.limits === undefined ? agent : Agent.limitedBy(agent, options.limits)
  // Messages between agents are not messages of the user.
  const own = limited.definition.memory === undefined ? limited.pipe(Agent.withMemory(WorkingMemory.noop)) : limited
  const base: Agent.Agent<O, E, R> = { ...own, name }
  /** The agent of the last prompt. Caches about an agent are keyed by its definition. */
  let prompted = base
  const withSystem = (system: string): Agent.Agent<O, E, R> => {
    if (prompted.definition.system !== system) prompted = { ...base, definition: { ...base.definition, system } }
    return prompted
  }
  return {
    name,
    role: options.role ?? "participant",
    description: options.description ?? aboutOf(agent.definition, maxAbout),
    timeout: options.timeout,
    respond: (invitation) =>
      Effect.gen(function* () {
        const { history: before, members, message, runId, sessionId, userId } = invitation
        const prompts = yield* PromptLibrary.PromptLibrary
        const { history, unread } = conversationOf([...before, message], name)
        const others = members.filter((member) => member.name !== name)
        const { system, user } = prompts.render(GroupPrompts.Participate, {
          name: DataDocument.stringify(name),
          members: others.map(({ name, role }) => DataDocument.stringify({ name, role })).join("\n") || "(nobody)",
          silence,
          conversation: unread,
          output_format: ""
        })
        const { system: first } = base.definition
        const told = withoutGeneral(system, prompts)
        const response = yield* Effect.provideService(
          AgentExecutor.run(withSystem(first === "" ? told : `${first}\n\n${told}`), {
            input: user,
            history,
            runId,
            userId
          }),
          ApprovalGate.Requester,
          { userId, sessionId }
        )
        const text = response.message
        if (text.trim() === "" || text.trim() === silence) return GroupParticipant.silence
        return GroupParticipant.answer(text, { toolCalls: toolCallsOf(response), ...options.visibility?.(text) })
      })
  }
}
