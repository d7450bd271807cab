/**
 * An agent as a tool of another one.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { errorInfo } from "../domain/AgentEvent.js"
import * as IdGenerator from "../domain/IdGenerator.js"
import { RunId } from "../domain/Ids.js"
import * as Run from "../observability/Run.js"
import * as Tool from "../tool/Tool.js"
import type { Agent } from "./Agent.js"
import { AgentExecutionError } from "./AgentError.js"
import * as AgentExecutor from "./AgentExecutor.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Default `delegate_to_` and the agent's name. */
  readonly name?: string | undefined
  /** Default: whom it delegates to, and the beginning of that agent's system prompt. */
  readonly description?: string | undefined
  /** Time for the whole delegated run; default none. */
  readonly timeout?: Duration.DurationInput | undefined
  /** How deep delegations may nest; default 5. A deeper one fails. */
  readonly maxDepth?: number | undefined
  readonly userId?: string | undefined
  readonly sessionId?: string | undefined
}

const parameters = {
  message: Schema.String.annotations({ description: "What the agent is to do or answer, with all it needs to know" })
}

const described = (agent: Agent<unknown, unknown, unknown>): string => {
  const system = agent.definition.system.replace(/\s+/g, " ").trim()
  const about = system.length > 200 ? `${system.slice(0, 200)}…` : system
  return about === "" ? `Delegate a task to "${agent.name}"` : `Delegate a task to "${agent.name}": ${about}`
}

/**
 * The agent runs inside the run that calls it: its events travel in the same stream under a run id of their own, its usage counts for the
 * outer run as well, and interrupting the outer run interrupts it. Its answer is the result; its failure is an observation
 * (`AgentExecutionError`, with the failure itself as the cause).
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <O, E, R>(
  agent: Agent<O, E, R>,
  options: Options = {}
): Tool.Tool<{ readonly message: string }, string, never, R | AgentExecutor.AgentExecutor, AgentExecutionError> => {
  const maxDepth = options.maxDepth ?? 5
  const refused = (message: string, cause?: unknown) =>
    new AgentExecutionError({ agentName: agent.name, message, ...(cause === undefined ? {} : { cause }) })
  return Tool.make(options.name ?? `delegate_to_${agent.name}`, {
    description: options.description ?? described(agent),
    parameters,
    success: Schema.String,
    timeout: options.timeout ?? Duration.infinity,
    retries: 0,
    handler: ({ message }) =>
      Effect.gen(function* () {
        const run = yield* Run.Run
        if (message.trim() === "") return yield* refused("The message is empty: say what the agent is to do")
        if (run.depth + 1 > maxDepth) {
          return yield* refused(`Delegations are nested deeper than ${maxDepth}: do the task yourself`)
        }
        const runId = RunId.make(yield* IdGenerator.generate)
        yield* run.emit({ _tag: "Delegated", toAgent: agent.name, childRunId: runId, message })
        const response = yield* Effect.mapError(
          AgentExecutor.run(agent, {
            input: message,
            runId,
            ...(options.userId === undefined ? {} : { userId: options.userId }),
            ...(options.sessionId === undefined ? {} : { sessionId: options.sessionId })
          }),
          (error) => refused(errorInfo(error).message, error)
        )
        return response.message
      })
  })
}
