/**
 * The executor of agents as a service: the request of a run, and how to run or stream it.
 *
 * @since 0.1.0
 */
import * as Channel from "effect/Channel"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Content } from "../content/Content.js"
import type { AgentEvent } from "../domain/AgentEvent.js"
import type * as AgentResponse from "../domain/AgentResponse.js"
import type * as ReaderTimeout from "../domain/ReaderTimeout.js"
import type * as ModelRouter from "../llm/ModelRouter.js"
import type * as LlmClient from "../llm/model/LlmClient.js"
import type * as ModelSettings from "../llm/model/ModelSettings.js"
import type * as Health from "../observability/Health.js"
import type * as StrategyRegistry from "../strategy/definition/StrategyRegistry.js"
import type { ClientTool } from "../tool/definition/ClientTool.js"
import type { AgentConfig } from "./definition/AgentConfig.js"
import type { Agent } from "./definition/AgentDefinition.js"
import type { ExecutorError } from "./RunStages.js"
import type { RunPolicy } from "./record/RunPolicy.js"

export type { ExecutorError } from "./RunStages.js"

/**
 * The request of a run. `history` are earlier messages that no session keeps; `settings` override those of the agent.
 *
 * @since 0.1.0
 * @category models
 */
export interface AgentRequest {
  /**
   * Text, or text and files (`Content.image`, `Content.file`, …). The model gets the files with the message that asks,
   * in each call of the run. Guards and memory have the text; where there is none, the names or media types of the
   * files stand for it. A session with a `BlobStore` keeps the files and shows them in later runs (`sessionFiles`); a
   * `BlobRef` in the input is a file that the session of the request has (`SessionManager.attach`).
   */
  readonly input: string | ReadonlyArray<Content>
  readonly sessionId?: string | undefined
  readonly userId?: string | undefined
  readonly history?: ReadonlyArray<LlmClient.Message> | undefined
  readonly settings?: ModelSettings.ModelSettings | undefined
  /** The tenant whose resource quotas apply; default the user. */
  readonly tenantId?: string | undefined
  /** The data classifications of the request (`confidential`, `pii`, …), for policies. */
  readonly classifications?: ReadonlyArray<string> | undefined
  /**
   * The agent that begins in a session. Default (`last`): the agent that answered last, if the called one reaches it by
   * handoffs, with the filters of these handoffs; else the called one.
   */
  readonly startWith?: "last" | "called" | undefined
  /**
   * Limits, retries, fallbacks, the model and the strategy of this run, as data. Default: those of the agent and the
   * executor.
   */
  readonly policy?: RunPolicy | undefined
  /**
   * Tools that the caller executes: a call waits in the inbox of approvals (`PendingApprovals`, the event
   * `QuestionAsked` with `clientTool`) for its result (`ClientTool.Result`). At most 128. The names of the agent's own
   * tools are taken. Runs inside do not have them.
   */
  readonly clientTools?: ReadonlyArray<ClientTool> | undefined
  /** The id of the run, for callers that need it in advance; must be unique. Default: a new id. */
  readonly runId?: string | undefined
}

/**
 * The models and strategies that runs have by their names (`RunPolicy`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Choices {
  readonly router: ModelRouter.Service
  readonly strategies: StrategyRegistry.Service
  /** The defaults of runs. */
  readonly config: AgentConfig
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
   * The same run as a stream of its events. The last event is terminal; after an `Error` the stream fails with the
   * error itself. Stopping the stream interrupts the run. A slow reader slows the run down: at most 64 events wait, and
   * the time spent waiting for the reader counts only toward `readerTimeout`.
   */
  readonly stream: <O, E, R>(
    agent: Agent<O, E, R>,
    request: string | AgentRequest
  ) => Stream.Stream<AgentEvent, E | ExecutorError | ReaderTimeout.ReaderTimeoutError, R>
  /** The health of the collaborators, each checked for at most 5 s. */
  readonly health: Effect.Effect<Health.Report>
  /** What the policy of a run can choose from; absent where it is not known. */
  readonly choices?: Choices | undefined
}

/**
 * @since 0.1.0
 * @category tags
 */
export class AgentExecutor extends Context.Tag("effect-lexigram/agent/AgentExecutor")<AgentExecutor, Service>() {}

/**
 * @example
 * ```ts
 * import { Agent, AgentExecutor, Agents } from "effect-lexigram"
 * import { OfflineModel } from "effect-lexigram/offline"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const clerk = Agent.make("clerk", { system: "You answer in one sentence." })
 *
 * const program = AgentExecutor.run(clerk, "When do you open?").pipe(
 *   Effect.map((response) => response.message),
 *   Effect.provide(Agents.layer().pipe(Layer.provide(OfflineModel.layer())))
 * )
 * ```
 *
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
