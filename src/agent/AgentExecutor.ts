/**
 * The executor of agents as a service: what a run is given, and how it is run or streamed.
 *
 * @since 0.1.0
 */
import * as Channel from "effect/Channel"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../domain/AgentEvent.js"
import type * as AgentResponse from "../domain/AgentResponse.js"
import type * as ReaderTimeout from "../domain/ReaderTimeout.js"
import type * as LlmClient from "../llm/model/LlmClient.js"
import type * as ModelSettings from "../llm/model/ModelSettings.js"
import type * as Health from "../observability/Health.js"
import type { Agent } from "./definition/AgentDefinition.js"
import type { ExecutorError } from "./RunStages.js"

export type { ExecutorError } from "./RunStages.js"

/**
 * What an agent is asked. `history` are earlier messages that no session keeps; `settings` win over the agent's.
 *
 * @since 0.1.0
 * @category models
 */
export interface AgentRequest {
  readonly input: string
  readonly sessionId?: string | undefined
  readonly userId?: string | undefined
  readonly history?: ReadonlyArray<LlmClient.Message> | undefined
  readonly settings?: ModelSettings.ModelSettings | undefined
  /** Whose resource quotas count; default the user. */
  readonly tenantId?: string | undefined
  /** How the data of the request is classified (`confidential`, `pii`, …), for policies. */
  readonly classifications?: ReadonlyArray<string> | undefined
  /**
   * Who begins in a session: by default the agent that answered last, if the called one can reach it by handoffs, with
   * the filters of these handoffs; else the called one.
   */
  readonly startWith?: "last" | "called" | undefined
  /** The id of the run, for callers that must know it before it begins; never used twice. Default a new one. */
  readonly runId?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Runs an agent to its end. Interruption stops its model call, its tools and its sub-agents, and waits for them. */
  readonly run: <O, E, R>(
    agent: Agent<O, E, R>,
    request: string | AgentRequest
  ) => Effect.Effect<AgentResponse.AgentResponse<O>, E | ExecutorError, R>
  /**
   * The same run as its events while they happen; the last one is terminal, and after an `Error` the stream fails with
   * the error itself. Stopping the stream interrupts the run. A slow reader slows the run down: at most 64 events wait,
   * and the time in which the run waits for its reader counts for no limit but `readerTimeout`.
   */
  readonly stream: <O, E, R>(
    agent: Agent<O, E, R>,
    request: string | AgentRequest
  ) => Stream.Stream<AgentEvent, E | ExecutorError | ReaderTimeout.ReaderTimeoutError, R>
  /** How the collaborators are, each asked for at most 5 s. */
  readonly health: Effect.Effect<Health.Report>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class AgentExecutor extends Context.Tag("effect-lexigram/agent/AgentExecutor")<AgentExecutor, Service>() {}

/**
 * @since 0.1.0
 * @category accessors
 */
export const run = <O, E, R>(
  agent: Agent<O, E, R>,
  request: string | AgentRequest
): Effect.Effect<AgentResponse.AgentResponse<O>, E | ExecutorError, R | AgentExecutor> =>
  Effect.withFiberRuntime((fiber) =>
    Context.get(fiber.currentContext as Context.Context<AgentExecutor>, AgentExecutor).run(agent, request)
  )

/**
 * @since 0.1.0
 * @category accessors
 */
export const stream = <O, E, R>(
  agent: Agent<O, E, R>,
  request: string | AgentRequest
): Stream.Stream<AgentEvent, E | ExecutorError | ReaderTimeout.ReaderTimeoutError, R | AgentExecutor> =>
  Stream.fromChannel(
    Channel.flatMap(Channel.fromEffect(AgentExecutor), (executor) => Stream.toChannel(executor.stream(agent, request)))
  )
