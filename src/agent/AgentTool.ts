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
import type { Only } from "../internal/Only.js"
import type { ForLimit } from "../llm/model/CostEstimator.js"
import type { Message } from "../llm/model/LlmClient.js"
import * as WorkingMemory from "../memory/working/WorkingMemory.js"
import * as Run from "../observability/Run.js"
import * as Tool from "../tool/definition/Tool.js"
import * as AgentExecutor from "./AgentExecutor.js"
import * as Agent from "./definition/Agent.js"
import { AgentExecutionError } from "./definition/AgentError.js"
import * as Conversation from "./definition/Conversation.js"
import * as HandoffRoute from "./stage/HandoffRoute.js"
import * as HandoffStage from "./stage/HandoffStage.js"

/**
 * Who asks. The ids are those of the run that calls the tool.
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
   * Default `delegate_to_` and the agent's name. Models are told it as their providers take names, each tool of a set
   * by one of its own.
   */
  readonly name?: string | undefined
  /** Default: whom it delegates to, and the beginning of that agent's system prompt. */
  readonly description?: string | undefined
  /** Time for the whole delegated run, then it is interrupted; default none. */
  readonly timeout?: Duration.DurationInput | undefined
  /**
   * Limits of a delegated run; fields given here win over the agent's own. Those of the runs above hold as well. One in
   * dollars requires prices.
   */
  readonly limits?: Agent.RunLimits | undefined
  /** How deep delegations may nest; default 5. A deeper one fails. */
  readonly maxDepth?: number | undefined
  /**
   * How often the agent may stand in the path of runs from the top, the new run included; default 1: no agent works for
   * itself.
   */
  readonly maxVisits?: number | undefined
  /**
   * What of the caller's conversation the agent gets to see before the message: nothing (default), all of it, or what
   * the function leaves. System messages and the step that calls it are never part of it.
   */
  readonly context?:
    | "message"
    | "conversation"
    | ((messages: ReadonlyArray<Message>) => ReadonlyArray<Message>)
    | undefined
  /**
   * For whom the agent works. Default the caller's user: for governance, guards and skills; what the agents say to each
   * other goes to no memory then but one the agent has itself. A user named here is one whose memory is recalled and
   * kept as in any other run.
   */
  readonly userId?: string | ((caller: Caller) => string | undefined) | undefined
  /**
   * The session the agent keeps its own turns in; default none: in the caller's they would stand among those of the
   * user, and its system prompt would replace the agent's.
   */
  readonly sessionId?: string | ((caller: Caller) => string | undefined) | undefined
}

const parameters = {
  message: Schema.String.annotations({ description: "What the agent is to do or answer, with all it needs to know" })
}

const described = (agent: Agent.Any): string => {
  const system = agent.definition.system.replace(/\s+/g, " ").trim()
  const about = system.length > 200 ? `${system.slice(0, 200)}…` : system
  return about === "" ? `Delegate a task to "${agent.name}"` : `Delegate a task to "${agent.name}": ${about}`
}

const idOf = (given: Options["userId"], caller: Caller): string | undefined =>
  typeof given === "function" ? given(caller) : given

const shownPath = (path: ReadonlyArray<string>): string =>
  (path.length > 10 ? ["…", ...path.slice(-10)] : path).map((name) => name.slice(0, 64)).join(" > ")

/**
 * The agent runs inside the run that calls it: its events travel in the same stream under a run id of their own,
 * approvals it asks for among them; its usage counts for the outer run as well, and interrupting the outer run
 * interrupts it. Its answer is the result, that of an agent with an output schema as its encoded value; its failure is
 * an observation (`AgentExecutionError`, with the failure itself as the cause).
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <O, E, R, const L extends Agent.RunLimits = {}>(
  agent: Agent.Agent<O, E, R>,
  options: Options & { readonly limits?: Only<L, Agent.RunLimits> | undefined } = {}
): Tool.Tool<
  { readonly message: string },
  unknown,
  never,
  R | ForLimit<L, "maxCostUsd"> | AgentExecutor.AgentExecutor,
  AgentExecutionError
> => {
  const maxDepth = options.maxDepth ?? 5
  const maxVisits = options.maxVisits ?? 1
  const { context, limits } = options
  const limited = limits === undefined ? agent : Agent.limitedBy(agent, limits)
  const { memory, output } = limited.definition
  // Between agents nobody is the user who speaks.
  const unremembered = memory === undefined ? limited.pipe(Agent.withMemory(WorkingMemory.noop)) : limited
  const refused = (message: string, cause?: unknown) =>
    new AgentExecutionError({ agentName: agent.name, message, ...(cause === undefined ? {} : { cause }) })
  const tool = Tool.make(options.name ?? `delegate_to_${agent.name}`, {
    description: options.description ?? described(agent),
    parameters,
    success: Schema.Unknown,
    timeout: options.timeout ?? Duration.infinity,
    retries: 0,
    handler: ({ message }) =>
      Effect.gen(function* () {
        const run = yield* Run.Run
        if (message.trim() === "") return yield* refused("The message is empty: say what the agent is to do")
        if (run.depth + 1 > maxDepth) {
          return yield* refused(`Delegations are nested deeper than ${maxDepth}: do the task yourself`)
        }
        if (run.path.filter((name) => name === agent.name).length >= maxVisits) {
          return yield* refused(
            `"${agent.name}" is at work already and waits for this (${shownPath(run.path)}): do the task yourself`
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
        yield* HandoffStage.delegated(run, agent.name, runId, message)
        const request = { input: message, runId, userId, sessionId, history }
        const response = yield* Effect.mapError(
          AgentExecutor.run(options.userId === undefined && sessionId === undefined ? unremembered : limited, request),
          (error) => refused(errorInfo(error).message, error)
        )
        if (output === undefined) return response.message
        // It was decoded from this very form.
        return yield* Effect.orDie(output.encode(response.output))
      })
  })
  HandoffRoute.link(tool, { _tag: "Delegate" })
  return tool
}
