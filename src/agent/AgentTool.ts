/**
 * An agent as a tool of another one.
 *
 * @since 0.1.0
 */

import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { errorInfo } from "../domain/ErrorInfo.js"
import * as IdGenerator from "../domain/IdGenerator.js"
import { RunId } from "../domain/Ids.js"
import type { ExactOptions } from "../internal/ExactOptions.js"
import type { ForCost } from "../llm/model/CostEstimator.js"
import type { Message } from "../llm/model/LlmClient.js"
import * as WorkingMemory from "../memory/working/WorkingMemory.js"
import * as Run from "../observability/Run.js"
import * as Tool from "../tool/definition/Tool.js"
import * as ToolCombinators from "../tool/definition/ToolCombinators.js"
import * as AgentExecutor from "./AgentExecutor.js"
import * as HandoffRoute from "./conversation/HandoffRoute.js"
import * as Handoffs from "./conversation/Handoffs.js"
import * as Agent from "./definition/Agent.js"
import { aboutOf } from "./definition/AgentDefinition.js"
import { AgentExecutionError } from "./definition/AgentError.js"
import * as Conversation from "./definition/Conversation.js"

/**
 * The calling run and its ids.
 *
 * @since 0.1.0
 * @category models
 */
export interface Caller {
  readonly agent: string
  readonly runId: RunId
  readonly userId?: string | undefined
  readonly sessionId?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * Default `delegate_to_` and the agent's name. Models see it in the form that their providers accept, unique within a
   * tool set.
   */
  readonly name?: string | undefined
  /** Default: the name of the agent and the beginning of its system prompt. */
  readonly description?: string | undefined
  /** The time limit of the delegated run, after which it is interrupted; default none. */
  readonly timeout?: Duration.DurationInput | undefined
  /**
   * Limits of a delegated run; fields given here override those of the agent. The limits of the runs above apply as
   * well. A limit in dollars requires prices.
   */
  readonly limits?: Agent.RunLimits | undefined
  /** The maximum depth of delegations; default 5. A deeper one fails. */
  readonly maxDepth?: number | undefined
  /**
   * How often the agent may occur in the path of runs from the top, including the new run; default 1, so no agent works
   * for itself.
   */
  readonly maxVisits?: number | undefined
  /**
   * The part of the caller's conversation that the agent sees before the message: nothing (default), all of it, or what
   * the function returns. System messages and the calling step are never part of it.
   */
  readonly context?:
    | "message"
    | "conversation"
    | ((messages: ReadonlyArray<Message>) => ReadonlyArray<Message>)
    | undefined
  /**
   * The user that the agent works for. Default: the caller's user, for governance, guards and skills; what the agents
   * say to each other then goes only to a memory that the agent has itself. The memory of a user named here is recalled
   * and written as in any other run.
   */
  readonly userId?: string | ((caller: Caller) => string | undefined) | undefined
  /**
   * The session that keeps the agent's turns; default none. In the caller's session they would mix with the user's
   * turns, and its system prompt would replace that of the agent.
   */
  readonly sessionId?: string | ((caller: Caller) => string | undefined) | undefined
}

/** Maximum characters about the agent. */
const maxAbout = 200

const parameters = {
  message: Schema.String.annotations({
    description: "The task or question for the agent, with everything it needs to know"
  })
}

const described = (agent: Agent.Any): string => {
  const about = aboutOf(agent.definition, maxAbout)
  return about === "" ? `Delegate a task to "${agent.name}"` : `Delegate a task to "${agent.name}": ${about}`
}

const idOf = (given: Options["userId"], caller: Caller): string | undefined =>
  typeof given === "function" ? given(caller) : given

const shownPath = (path: ReadonlyArray<string>): string =>
  (path.length > 10 ? ["…", ...path.slice(-10)] : path).map((name) => name.slice(0, 64)).join(" > ")

/**
 * The agent runs inside the calling run: its events appear in the same stream under a run id of their own, including
 * its approval requests; its usage also counts for the outer run, and interrupting the outer run interrupts it. The
 * result is its answer, or the encoded value with an output schema. Its failure is an observation
 * (`AgentExecutionError`, with the failure as its cause).
 *
 * @example
 * ```ts
 * import { Agent, AgentTool } from "effect-lexigram"
 *
 * const lawyer = Agent.make("lawyer", { description: "Answers questions about contracts." })
 * const clerk = Agent.make("clerk", { tools: [AgentTool.make(lawyer, { limits: { timeout: "1 minute" } })] })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <O, E, R, const L extends Agent.RunLimits = {}>(
  agent: Agent.Agent<O, E, R>,
  options: Options & { readonly limits?: ExactOptions<L, Agent.RunLimits> | undefined } = {}
): Tool.Tool<
  { readonly message: string },
  unknown,
  never,
  R | ForCost<L> | AgentExecutor.AgentExecutor,
  AgentExecutionError
> => {
  const maxDepth = options.maxDepth ?? 5
  const maxVisits = options.maxVisits ?? 1
  const { context, limits } = options
  const limited = limits === undefined ? agent : Agent.limitedBy(agent, limits)
  const { memory, output } = limited.definition
  // Messages between agents are not messages of the user.
  const unremembered = memory === undefined ? limited.pipe(Agent.withMemory(WorkingMemory.noop)) : limited
  const refuse = (message: string, cause?: unknown) =>
    new AgentExecutionError({ agentName: agent.name, message, ...(cause === undefined ? {} : { cause }) })
  // Its steps are those of the agent.
  const tool = ToolCombinators.composed(
    Tool.make(options.name ?? `delegate_to_${agent.name}`, {
      description: options.description ?? described(agent),
      parameters,
      success: Schema.Unknown,
      timeout: options.timeout ?? Duration.infinity,
      retries: 0,
      handler: ({ message }) =>
        Effect.gen(function* () {
          const run = yield* Run.Run
          if (message.trim() === "") return yield* refuse("The message is empty: say what the agent should do")
          if (run.depth + 1 > maxDepth) {
            return yield* refuse(`Delegations are nested deeper than ${maxDepth}: do the task yourself`)
          }
          if (run.path.filter((name) => name === agent.name).length >= maxVisits) {
            return yield* refuse(
              `"${agent.name}" is already working and waits for this (${shownPath(run.path)}): do the task yourself`
            )
          }
          const current = yield* Conversation.Conversation
          const conversation = current?.runId === run.runId ? current : undefined
          const caller: Caller = {
            agent: run.agent,
            runId: run.runId,
            userId: conversation?.userId,
            sessionId: conversation?.sessionId
          }
          const userId = options.userId === undefined ? caller.userId : idOf(options.userId, caller)
          const sessionId = idOf(options.sessionId, caller)
          const history =
            context === undefined || context === "message" || conversation === undefined
              ? []
              : context === "conversation"
                ? conversation.messages()
                : context(conversation.messages())
          const runId = RunId.make(yield* IdGenerator.generate)
          yield* Handoffs.delegated(run, agent.name, runId, message)
          const request = { input: message, runId, userId, sessionId, history }
          const response = yield* Effect.mapError(
            AgentExecutor.run(
              options.userId === undefined && sessionId === undefined ? unremembered : limited,
              request
            ),
            (error) => refuse(errorInfo(error).message, error)
          )
          if (output === undefined) return response.message
          // The output was decoded by this very schema.
          return yield* Effect.orDie(output.encode(response.output))
        })
    })
  )
  HandoffRoute.link(tool, { _tag: "Delegate" })
  return tool
}
