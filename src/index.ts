/**
 * An agent: its prompt, tools, strategy and limits as an immutable value. `AgentExecutor` runs it.
 *
 * @since 0.1.0
 */
export * as Agent from "./agent/definition/Agent.js"

/**
 * Defaults of all agents of an executor, from code or from the environment.
 *
 * @since 0.1.0
 */
export * as AgentConfig from "./agent/definition/AgentConfig.js"

/**
 * Failures of an agent besides those of its model, its tools and its reasoning.
 *
 * @since 0.1.0
 */
export * as AgentError from "./agent/definition/AgentError.js"

/**
 * Events of a run, as plain tagged objects. The stream of events is the truth; everything else is derived from it.
 *
 * @since 0.1.0
 */
export * as AgentEvent from "./domain/AgentEvent.js"

/**
 * The executor of agents as a service: the request of a run, and how to run or stream it.
 *
 * @since 0.1.0
 */
export * as AgentExecutor from "./agent/AgentExecutor.js"

/**
 * Hook points of a run: actions that the run waits for, and filters that change a value.
 *
 * @since 0.1.0
 */
export * as AgentHooks from "./observability/AgentHooks.js"

/**
 * The outcome of a run, folded from its events.
 *
 * @since 0.1.0
 */
export * as AgentResponse from "./domain/AgentResponse.js"

/**
 * An agent as a tool of another one.
 *
 * @since 0.1.0
 */
export * as AgentTool from "./agent/AgentTool.js"

/**
 * Ready-made compositions of the executor.
 *
 * @since 0.1.0
 */
export * as Agents from "./agent/Agents.js"

/**
 * Errors of approvals.
 *
 * @since 0.1.0
 */
export * as ApprovalError from "./tool/approval/ApprovalError.js"

/**
 * The port that decides tool calls that require approval.
 *
 * @since 0.1.0
 */
export * as ApprovalGate from "./tool/approval/ApprovalGate.js"

/**
 * Decides approvals by rules that are plain data.
 *
 * @since 0.1.0
 */
export * as ApprovalPolicy from "./tool/approval/ApprovalPolicy.js"

/**
 * The strategies of the library by name. Each is loaded when it is first named.
 *
 * @since 0.1.0
 */
export * as BuiltInStrategies from "./strategy/BuiltInStrategies.js"

/**
 * A small key-value port with expiry, shared by everything that caches.
 *
 * @since 0.1.0
 */
export * as CacheBackend from "./llm/CacheBackend.js"

/**
 * Estimates the cost of a model call. Without prices it is unknown: an unknown price never counts as zero.
 *
 * @since 0.1.0
 */
export * as CostEstimator from "./llm/model/CostEstimator.js"

/**
 * A model router with a table of roles.
 *
 * @since 0.1.0
 */
export * as DefaultModelRouter from "./llm/DefaultModelRouter.js"

/**
 * Every error code of the library. A code belongs to exactly one error class; the first of each family (`_001`) names
 * the family.
 *
 * @since 0.1.0
 */
export * as ErrorCode from "./domain/ErrorCode.js"

/**
 * The event bus port: publishes domain events to other parts of an application. A publishing run does not wait: a slow
 * or failing listener never delays it. `LocalEventBus` is the bus of one process.
 *
 * @since 0.1.0
 */
export * as EventBus from "./observability/EventBus.js"

/**
 * Errors of governance.
 *
 * @since 0.1.0
 */
export * as GovernanceError from "./governance/store/GovernanceError.js"

/**
 * Errors of guards.
 *
 * @since 0.1.0
 */
export * as GuardError from "./guard/pipeline/GuardError.js"

/**
 * Hands a conversation to another agent, which answers in place of the first one.
 *
 * @since 0.1.0
 */
export * as Handoff from "./agent/Handoff.js"

/**
 * Hook points of a run: an application observes or changes a value there while the run waits.
 *
 * @since 0.1.0
 */
export * as Hooks from "./observability/Hooks.js"

/**
 * Generates ids that sort by creation time. The default reads Effect's `Clock` and `Random`, so a program under
 * `TestClock` and a seeded `Random` generates the same ids on every run.
 *
 * @since 0.1.0
 */
export * as IdGenerator from "./domain/IdGenerator.js"

/**
 * Branded identifiers shared by every subsystem. On the wire all are plain strings of 1 to 256 characters without
 * control characters.
 *
 * @since 0.1.0
 */
export * as Ids from "./domain/Ids.js"

/**
 * Caches answers by request, on a `CacheBackend`. Concurrent calls with equal requests share one call.
 *
 * @since 0.1.0
 */
export * as LlmCache from "./llm/LlmCache.js"

/**
 * The port of model calls: plain, serializable requests and responses in the vocabulary of `@effect/ai` (prompt
 * messages, response parts, finish reasons), and a single method, so that every wrapper (retry, cache, fallback,
 * recording) is one Effect combinator.
 *
 * @since 0.1.0
 */
export * as LlmClient from "./llm/model/LlmClient.js"

/**
 * Errors of model calls. Each names its provider and, where known, the model, the HTTP status and the provider's
 * request id. None ever contains a key or a header.
 *
 * @since 0.1.0
 */
export * as LlmError from "./llm/model/LlmError.js"

/**
 * Model calls through the client in context, and layers of clients whose calls pass the `CallGate`.
 *
 * @since 0.1.0
 */
export * as LlmGateway from "./llm/model/LlmGateway.js"

/**
 * Limits concurrent model calls, and requests and tokens per minute.
 *
 * @since 0.1.0
 */
export * as LlmLimits from "./llm/LlmLimits.js"

/**
 * Redacts secrets in model requests and answers, including streamed ones.
 *
 * @since 0.1.0
 */
export * as LlmRedaction from "./llm/LlmRedaction.js"

/**
 * Wraps a client in timeouts and retries, in the right order: each attempt has its own time limits.
 *
 * @since 0.1.0
 */
export * as LlmResilience from "./llm/LlmResilience.js"

/**
 * Retries model calls that failed transiently, with exponential, jittered delays and the provider's `Retry-After`.
 *
 * @since 0.1.0
 */
export * as LlmRetry from "./llm/LlmRetry.js"

/**
 * Limits the duration of a model call: in total, to the first part, and between two parts.
 *
 * @since 0.1.0
 */
export * as LlmTimeout from "./llm/LlmTimeout.js"

/**
 * Errors of memory. None of them fails a run: the executor reports them and continues without memory.
 *
 * @since 0.1.0
 */
export * as MemoryError from "./memory/entry/MemoryError.js"

/**
 * A chain of clients: when one fails, the next one answers.
 *
 * @since 0.1.0
 */
export * as ModelFallback from "./llm/ModelFallback.js"

/**
 * The published model prices of many providers, from the installed version of the package `@pydantic/genai-prices`.
 * Nothing is fetched. If the application updates the prices itself, with the `updatePrices` of that package, the new
 * ones apply within a minute.
 *
 * @since 0.1.0
 */
export * as ModelPrices from "./llm/ModelPrices.js"

/**
 * The port that selects client and settings for a role: `thinking` may use a large model, `execution` a small one.
 *
 * @since 0.1.0
 */
export * as ModelRouter from "./llm/ModelRouter.js"

/**
 * The settings of a model call. Every field that is set reaches the request body.
 *
 * @since 0.1.0
 */
export * as ModelSettings from "./llm/model/ModelSettings.js"

/**
 * The public view of events: what may leave the server, decided field by field.
 *
 * @since 0.1.0
 */
export * as PublicView from "./domain/PublicView.js"

/**
 * Limits how long a stream waits for its reader. This wait counts toward no other limit.
 *
 * @since 0.1.0
 */
export * as ReaderTimeout from "./domain/ReaderTimeout.js"

/**
 * The user and session that the current run works for.
 *
 * @since 0.1.0
 */
export * as Requester from "./domain/Requester.js"

/**
 * The current run: strategies, tools and stages emit their events through it.
 *
 * @since 0.1.0
 */
export * as Run from "./observability/Run.js"

/**
 * Keeps the events of runs.
 *
 * @since 0.1.0
 */
export * as RunLog from "./observability/RunLog.js"

/**
 * Errors of sessions.
 *
 * @since 0.1.0
 */
export * as SessionError from "./session/turn/SessionError.js"

/**
 * Errors of skills.
 *
 * @since 0.1.0
 */
export * as SkillError from "./skill/definition/SkillError.js"

/**
 * A stage of a run: a wrapper around all inner stages and the reasoning. The list of stages determines the order of the
 * run and the type of its failures.
 *
 * @since 0.1.0
 */
export * as Stage from "./agent/definition/Stage.js"

/**
 * Sends messages to running runs, and serializes the runs of a session.
 *
 * @since 0.1.0
 */
export * as Steering from "./agent/record/Steering.js"

/**
 * The seam for durability. Everything whose outcome must survive a crash goes through `Step`; `Place` names it by its
 * position in the run, which is the same on every replay. Without a durable layer a step is the effect itself and costs
 * one look-up.
 *
 * @since 0.1.0
 */
export * as Step from "./observability/Step.js"

/**
 * Conditions that stop a loop of model and tools before the model is done. They are values that combine.
 *
 * @since 0.1.0
 */
export * as StopCondition from "./strategy/reasoning/StopCondition.js"

/**
 * A strategy: an Effect that emits events through the current run and returns an answer.
 *
 * @since 0.1.0
 */
export * as Strategy from "./strategy/definition/Strategy.js"

/**
 * Errors of strategies apart from those of model calls.
 *
 * @since 0.1.0
 */
export * as StrategyError from "./strategy/definition/StrategyError.js"

/**
 * The registry of strategies by name. An agent's strategy is resolved when the agent runs.
 *
 * @since 0.1.0
 */
export * as StrategyRegistry from "./strategy/definition/StrategyRegistry.js"

/**
 * The capability to act for the system, and the rule of ownership: a call with a user reaches only that user's data; a
 * call without one reaches only data without an owner. An effect that holds the capability reaches everybody's data,
 * but only while it names no user.
 *
 * @since 0.1.0
 */
export * as SystemAccess from "./domain/SystemAccess.js"

/**
 * Names and attributes of spans: those of the original library and those of OpenTelemetry's semantic conventions for
 * generative AI.
 *
 * @since 0.1.0
 */
export * as Telemetry from "./observability/Telemetry.js"

/**
 * Counts the tokens of a text or a conversation for a model: with the tokenizer of OpenAI's models, approximately for
 * all others.
 *
 * @since 0.1.0
 */
export * as TokenCounter from "./llm/model/TokenCounter.js"

/**
 * Tools: functions that a model may call. A tool has a name, a description, parameters, and a handler Effect with its
 * own failures and requirements.
 *
 * @since 0.1.0
 */
export * as Tool from "./tool/definition/Tool.js"

/**
 * Errors of tool calls. Most of them stay within a run, where the model reads them as observations.
 *
 * @since 0.1.0
 */
export * as ToolError from "./tool/definition/ToolError.js"

/**
 * The port of a registry of tools by name that can change while a program runs.
 *
 * @since 0.1.0
 */
export * as ToolRegistry from "./tool/ToolRegistry.js"

/**
 * The port that runs tool calls, with the calls, their outcomes and the interceptors around them.
 *
 * @since 0.1.0
 */
export * as ToolRunner from "./tool/ToolRunner.js"

/**
 * The tools of an agent, with their combined failures and requirements.
 *
 * @since 0.1.0
 */
export * as ToolSet from "./tool/definition/ToolSet.js"

/**
 * Token usage of model calls. A field that no provider reported is absent, never zero.
 *
 * @since 0.1.0
 */
export * as Usage from "./domain/Usage.js"

/**
 * The version of this package.
 *
 * @since 0.1.0
 */
export * as Version from "./domain/Version.js"
