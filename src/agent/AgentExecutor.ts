/**
 * Runs agents.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../domain/AgentEvent.js"
import type * as AgentResponse from "../domain/AgentResponse.js"
import * as IdGenerator from "../domain/IdGenerator.js"
import { RunId, type SessionId, type TurnId, type UserId } from "../domain/Ids.js"
import * as ReaderTimeout from "../domain/ReaderTimeout.js"
import * as SystemAccess from "../domain/SystemAccess.js"
import * as Usage from "../domain/Usage.js"
import * as Governance from "../governance/Governance.js"
import * as Attribution from "../governance/store/Attribution.js"
import {
  BudgetExceededError,
  ModelAccessDeniedError,
  PolicyViolationError,
  RateLimitExceededError,
  ResourceExhaustedError
} from "../governance/store/GovernanceError.js"
import type { ToolObservationBlockedError, ToolObservationGuardError } from "../guard/pipeline/GuardError.js"
import * as GuardPipeline from "../guard/pipeline/GuardPipeline.js"
import * as Ambient from "../internal/fiber/Ambient.js"
import * as Deadline from "../internal/fiber/Deadline.js"
import * as EventSink from "../internal/fiber/EventSink.js"
import * as Spanned from "../internal/fiber/Spanned.js"
import * as SystemGrant from "../internal/fiber/SystemGrant.js"
import * as ModelRouter from "../llm/ModelRouter.js"
import * as CallGate from "../llm/model/CallGate.js"
import { CostEstimator } from "../llm/model/CostEstimator.js"
import * as LlmClient from "../llm/model/LlmClient.js"
import * as ModelSettings from "../llm/model/ModelSettings.js"
import { TokenCounter } from "../llm/model/TokenCounter.js"
import * as WorkingMemory from "../memory/working/WorkingMemory.js"
import * as EventBus from "../observability/EventBus.js"
import * as Health from "../observability/Health.js"
import * as Hooks from "../observability/Hooks.js"
import * as Run from "../observability/Run.js"
import * as RunLog from "../observability/RunLog.js"
import * as RunSink from "../observability/RunSink.js"
import * as Telemetry from "../observability/Telemetry.js"
import { PromptLibrary } from "../prompt/PromptLibrary.js"
import * as SessionHistory from "../session/history/SessionHistory.js"
import * as SessionManager from "../session/manager/SessionManager.js"
import * as SkillExecutor from "../skill/execute/SkillExecutor.js"
import * as SkillRegistry from "../skill/execute/SkillRegistry.js"
import * as CatalogTools from "../skill/folder/CatalogTools.js"
import * as SkillCatalog from "../skill/folder/SkillCatalog.js"
import { Evaluator } from "../strategy/definition/Evaluator.js"
import type { Answer, Strategy, StrategyBaseError } from "../strategy/definition/Strategy.js"
import {
  MaxIterationsExceededError,
  NoProgressError,
  OutputValidationError,
  PlanError,
  StrategyBudgetError,
  StrategyConfigurationError,
  StrategyReplyError
} from "../strategy/definition/StrategyError.js"
import * as StrategyRegistry from "../strategy/definition/StrategyRegistry.js"
import * as ApprovalGate from "../tool/approval/ApprovalGate.js"
import * as HandledTool from "../tool/definition/HandledTool.js"
import * as ToolSet from "../tool/definition/ToolSet.js"
import * as ToolRegistry from "../tool/ToolRegistry.js"
import * as ToolRunner from "../tool/ToolRunner.js"
import type * as Agent from "./definition/Agent.js"
import * as AgentConfig from "./definition/AgentConfig.js"
import type { AgentConfigurationError, RunLimitExceededError } from "./definition/AgentError.js"
import type { Collaborators, ErrorOf, Placed, State } from "./definition/Stage.js"
import { compose, insert } from "./definition/Stage.js"
import * as Steering from "./definition/Steering.js"
import * as RunCalls from "./RunCalls.js"
import * as RunPreparation from "./RunPreparation.js"
import * as RunProgram from "./RunProgram.js"
import * as CostStage from "./stage/CostStage.js"
import * as EventsStage from "./stage/EventsStage.js"
import * as GovernanceStage from "./stage/GovernanceStage.js"
import * as GovernedCalls from "./stage/GovernedCalls.js"
import * as InputGuardStage from "./stage/InputGuardStage.js"
import * as MemorySaveStage from "./stage/MemorySaveStage.js"
import * as MemoryStage from "./stage/MemoryStage.js"
import * as MetricsStage from "./stage/MetricsStage.js"
import * as OutputGuardStage from "./stage/OutputGuardStage.js"
import * as RunInterceptors from "./stage/RunInterceptors.js"
import * as SessionStage from "./stage/SessionStage.js"
import * as SkillStage from "./stage/SkillStage.js"
import * as SteeringStage from "./stage/SteeringStage.js"
import * as ToolStage from "./stage/ToolStage.js"

/** What still happens when the run's time is up. */
const outer = [
  EventsStage.stage,
  SteeringStage.stage,
  CostStage.stage,
  MemorySaveStage.stage,
  MetricsStage.stage
] as const

const inner = [
  OutputGuardStage.stage,
  GovernanceStage.stage,
  InputGuardStage.stage,
  SessionStage.stage,
  MemoryStage.stage,
  ToolStage.stage,
  SkillStage.stage
] as const

/**
 * The stages of a run, outermost first: the order, and the type of what can go wrong around the reasoning.
 *
 * @since 0.1.0
 * @category constants
 */
export const stages = [...outer, ...inner] as const

/**
 * What any run may fail with, besides what its agent adds.
 *
 * @since 0.1.0
 * @category models
 */
export type ExecutorError =
  | Exclude<ErrorOf<typeof stages>, ToolRunner.Fatality>
  | AgentConfigurationError
  | RunLimitExceededError
  | ToolObservationBlockedError
  | ToolObservationGuardError
  | Exclude<StrategyBaseError, ToolRunner.Fatality>
  | StrategyBudgetError

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
    agent: Agent.Agent<O, E, R>,
    request: string | AgentRequest
  ) => Effect.Effect<AgentResponse.AgentResponse<O>, E | ExecutorError, R>
  /**
   * The same run as its events while they happen; the last one is terminal, and after an `Error` the stream fails with
   * the error itself. Stopping the stream interrupts the run. A slow reader slows the run down: at most 64 events wait,
   * and the time in which the run waits for its reader counts for no limit but `readerTimeout`.
   */
  readonly stream: <O, E, R>(
    agent: Agent.Agent<O, E, R>,
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
  agent: Agent.Agent<O, E, R>,
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
  agent: Agent.Agent<O, E, R>,
  request: string | AgentRequest
): Stream.Stream<AgentEvent, E | ExecutorError | ReaderTimeout.ReaderTimeoutError, R | AgentExecutor> =>
  Stream.fromChannel(
    Channel.flatMap(Channel.fromEffect(AgentExecutor), (executor) => Stream.toChannel(executor.stream(agent, request)))
  )

const capacity = 64

/** Ids that are seen to be valid without their schema. */
const plain = /^[0-9A-Za-z_-]{1,256}$/

const noTurns: ReadonlySet<TurnId> = new Set()

/** What a spread leaves behind of an error. */
const unlisted = (error: Error): { readonly message: string; readonly cause?: unknown } =>
  error.cause === undefined ? { message: error.message } : { message: error.message, cause: error.cause }

/** Failures of the reasoning, which learn what was reached. */
const withPartial = [
  BudgetExceededError,
  ModelAccessDeniedError,
  PolicyViolationError,
  RateLimitExceededError,
  ResourceExhaustedError,
  MaxIterationsExceededError,
  NoProgressError,
  OutputValidationError,
  PlanError,
  StrategyBudgetError,
  StrategyConfigurationError,
  StrategyReplyError
] as const

/** Failures that were carried out of tools, guards and strategies become the run's own. */
const unwrap = (state: State, error: unknown): unknown => {
  const inner = error instanceof ToolRunner.Fatality ? error.error : error
  const known = withPartial.find((one) => inner instanceof one)
  if (known === undefined) return inner
  const failure = inner as InstanceType<typeof known>
  if (failure.partial !== undefined) return failure
  return new (known as new (fields: object) => unknown)({
    ...failure,
    ...unlisted(failure),
    partial: state.progress()
  })
}

interface Requester {
  readonly userId?: UserId | undefined
  readonly sessionId?: SessionId | undefined
}

/**
 * For whom approvals are asked: a run inside of another one works for the same user and session, unless it is said to
 * work for others.
 */
const requesterOf = ({ sessionId, userId }: State, outer: Requester | undefined): Requester => ({
  userId: userId ?? outer?.userId,
  sessionId: sessionId ?? (userId === undefined || userId === outer?.userId ? outer?.sessionId : undefined)
})

/** The default model, then those of roles that have one of their own, each once. */
const models = ({ client, router }: Collaborators): Effect.Effect<ReadonlyArray<Health.Check>> =>
  Effect.map(
    Effect.forEach(ModelRouter.roles, (role) => Effect.map(router.resolve(role), ({ client }) => ({ role, client }))),
    (routed) => {
      const clients = new Map<LlmClient.Service, string>([[client, "llm"]])
      for (const { client, role } of routed) if (!clients.has(client)) clients.set(client, `llm: ${role}`)
      return Array.from(clients, ([{ health }, name]) => ({ name, check: health }))
    }
  )

/** The rest of what runs wait for. A run goes on without its memory and its log. */
const parts = ({ governance, memory, sessions }: Collaborators, log: RunLog.Service): ReadonlyArray<Health.Check> => [
  { name: "memory", check: memory.health, optional: true },
  { name: "sessions", check: sessions.health },
  ...(governance.enabled === false
    ? []
    : [{ name: "governance", check: Effect.asVoid(governance.checkBudget({ cost: 0 })) }]),
  ...(log.enabled ? [{ name: "runLog", check: Effect.asVoid(log.read(unlogged, { limit: 1 })), optional: true }] : [])
]

/** No run has this id: asking the log for it costs next to nothing. */
const unlogged = RunId.make("health")

const make = (
  config: Either.Either<AgentConfig.AgentConfig, string>,
  collaborators: Collaborators,
  log: RunLog.Service,
  given: Context.Context<never>,
  placed: ReadonlyArray<Placed<unknown, unknown>>
): Service => {
  // What the layer was given wins inside a run: an ambient client must not replace it unseen.
  const own = Context.make(LlmClient.LlmClient, collaborators.client).pipe(
    Context.add(ModelRouter.ModelRouter, collaborators.router),
    Context.add(ToolRunner.ToolRunner, collaborators.runner),
    // A run inside a tool's handler works for itself: its skills are its own.
    Context.add(HandledTool.HandledTool, undefined),
    (context) => SystemGrant.without(Context.merge(context, given))
  )
  const settings = RunPreparation.makeSettings()
  const telemetry: Run.TelemetryOptions = {
    tracing: collaborators.config.enableTracing,
    metrics: collaborators.config.enableMetrics,
    content: collaborators.config.captureContent
  }

  /** The run's span, and what it adds to the context, in one. */
  const within = (
    state: State,
    effect: Effect.Effect<Answer, unknown, unknown>
  ): Effect.Effect<Answer, unknown, unknown> => {
    const named = state.sessionId !== undefined || state.userId !== undefined
    if (!state.run.telemetry.tracing) {
      return Effect.mapInputContext(effect, (current: Context.Context<any>) => {
        const given = Context.merge(current, own)
        const context = Context.add(Context.merge(given, RunCalls.inside(state, given)), Run.Run, state.run)
        return named
          ? Context.add(
              context,
              ApprovalGate.Requester,
              requesterOf(state, Context.get(current as Context.Context<any>, ApprovalGate.Requester))
            )
          : context
      })
    }
    return Spanned.run(
      `${Telemetry.SPAN_AGENT_EXECUTE}.${state.agent.name}`,
      {
        attributes: Telemetry.execute({
          agent: state.agent.name,
          messageLength: state.input.length,
          ...(state.sessionId === undefined ? {} : { sessionId: state.sessionId })
        })
      },
      effect,
      (exit, span) => {
        if (Exit.isFailure(exit)) span.attribute(Telemetry.attribute.errorType, Telemetry.errorType(exit.cause))
        const progress = state.progress()
        span.attribute(Telemetry.attribute.steps, progress.steps.length)
        span.attribute(Telemetry.attribute.tokens, Usage.total(progress.usage))
        span.attribute(Telemetry.attribute.toolCalls, progress.toolCalls.length)
      },
      (services) => {
        Spanned.copyInto(services, own)
        Spanned.copyInto(services, RunCalls.inside(state, Context.unsafeMake(services)))
        services.set(Run.Run.key, state.run)
        const { key } = ApprovalGate.Requester
        if (named) services.set(key, requesterOf(state, services.get(key) as Requester | undefined))
      }
    )
  }

  const timed = (state: State, program: Effect.Effect<Answer, unknown, unknown>) => {
    const given = state.agent.definition.limits.timeout ?? state.uses.config.runTimeout
    const millis = given === undefined ? Number.POSITIVE_INFINITY : Duration.toMillis(given)
    const effect = state.attended === undefined ? program : state.attended(program)
    if (!Number.isFinite(millis)) return effect
    return Deadline.run(() => effect, {
      whole: millis,
      pausable: true,
      onTimeout: (_phase, limit) => RunInterceptors.limitError(state, "time", limit, limit)
    })
  }

  /** One run over an outlet: everything `run` and `stream` share. */
  const execute = <A>(
    agent: Agent.Any,
    given: string | AgentRequest,
    outlet: RunSink.Outlet,
    fiber: Fiber.RuntimeFiber<unknown, unknown>,
    parent: Run.Service,
    finish: (answer: Answer) => Effect.Effect<A>
  ): Effect.Effect<A, unknown, unknown> => {
    const request: AgentRequest = typeof given === "string" ? { input: given } : given
    const runId = request.runId === undefined ? undefined : RunPreparation.decodeRunId(request.runId)
    const { guards } = agent.definition
    const begin = (
      runId: RunId,
      agentGuards: GuardPipeline.Service | undefined,
      strategy: Either.Either<Strategy<unknown, unknown>, string>
    ) => {
      const prepared = RunPreparation.prepare(agent, request, config, strategy, settings)
      const ready = Either.getOrUndefined(prepared)
      const state = stateOf(agent, request, ready, runId, agentGuards, outlet, fiber, parent)
      const program = Either.isLeft(prepared)
        ? EventsStage.stage.wrap(state, () => Effect.fail<unknown>(prepared.left))
        : staged(prepared.right.strategy, agent.definition.stages)(state)
      const whole = Effect.matchCauseEffect(
        SystemGrant.dropIn(fiber.currentContext as Context.Context<never>, within(state, program)),
        {
          onFailure: (cause) => {
            const failure = Cause.failureOrCause(cause)
            return Either.isLeft(failure) ? Effect.fail(unwrap(state, failure.left)) : Effect.failCause(failure.right)
          },
          onSuccess: finish
        }
      )
      return outlet.flush === undefined ? whole : Effect.onExit(whole, () => outlet.flush ?? Effect.void)
    }
    const guarded = (runId: RunId) =>
      Effect.flatMap(RunPreparation.strategyOf(agent.definition, collaborators.strategies), (strategy) =>
        guards.length === 0
          ? begin(runId, undefined, strategy)
          : Effect.flatMap(GuardPipeline.fromGuards(guards), (agentGuards) => begin(runId, agentGuards, strategy))
      )
    return runId !== undefined && Either.isRight(runId)
      ? guarded(runId.right)
      : Effect.flatMap(IdGenerator.generate, (id) => guarded(plain.test(id) ? (id as RunId) : RunId.make(id)))
  }

  const stateOf = (
    agent: Agent.Any,
    request: AgentRequest,
    prepared: RunPreparation.Prepared | undefined,
    runId: RunId,
    agentGuards: GuardPipeline.Service | undefined,
    outlet: RunSink.Outlet,
    fiber: Fiber.RuntimeFiber<unknown, unknown>,
    parent: Run.Service
  ): State => {
    const { definition } = agent
    const context = fiber.currentContext as Context.Context<never>
    const attribution = Attribution.inside(Context.get(context, Attribution.Attribution), {
      tenantId: prepared?.tenantId,
      classifications: request.classifications
    })
    return {
      agent,
      run: Run.make({
        runId,
        agent: agent.name,
        clock: Context.get(fiber.currentDefaultServices, Clock.Clock),
        sink: outlet.sink,
        parent: Run.isCurrent(parent) ? parent : undefined,
        sessionId: prepared?.sessionId,
        telemetry,
        hooks: collaborators.hooks,
        bus: collaborators.bus
      }),
      budgetRunId: GovernedCalls.budgetOf(context, definition.governance ?? collaborators.governance, runId),
      uses: collaborators,
      input: request.input,
      system: definition.system,
      history: request.history ?? [],
      tools: ToolSet.bindTo(definition.tools, fiber.currentContext as Context.Context<any>),
      settings: prepared?.settings ?? ModelSettings.empty,
      sessionId: prepared?.sessionId,
      userId: prepared?.userId,
      ...attribution,
      held: Context.get(context, SystemAccess.SystemAccess),
      inbox: Steering.nothing,
      agentGuards,
      startWith: request.startWith ?? "last",
      attended: outlet.reader?.attended,
      progress: outlet.progress,
      notes: {
        session: undefined,
        shown: noTurns,
        keep: undefined,
        blocked: false,
        veiled: undefined,
        guarded: new Map(),
        handed: [],
        steered: []
      }
    }
  }

  type Staged = (state: State) => Effect.Effect<Answer, unknown, unknown>
  // Stages of an agent's own are a value of its definition: one composition for each pair.
  const composed = new WeakMap<object, WeakMap<Strategy<unknown, unknown>, Staged>>()
  const staged = (strategy: Strategy<unknown, unknown>, own: ReadonlyArray<Placed<unknown, unknown>>): Staged => {
    let known = composed.get(own)
    if (known === undefined) {
      known = new WeakMap()
      composed.set(own, known)
    }
    let run = known.get(strategy)
    if (run === undefined) {
      const all = [...placed, ...own]
      const inside = compose(insert(inner, all))((state) => RunProgram.make(state, strategy))
      run = compose(insert(outer, all))((state) => timed(state, inside(state))) as Staged
      known.set(strategy, run)
    }
    return run
  }

  const finished = (agent: Agent.Any, outlet: RunSink.Outlet) => (answer: Answer) => {
    const response = outlet.progress()
    const { output } = agent.definition
    if (output === undefined || answer.output === undefined) return Effect.succeed({ ...response, output: answer.text })
    // It was decoded before and encoded again for the events: what was valid then is valid now.
    return Effect.orDie(Effect.map(output.decode(answer.output), (decoded) => ({ ...response, output: decoded })))
  }

  const patience = ReaderTimeout.patience(collaborators.config.readerTimeout)
  const source = { capacity, patience: () => patience }

  return {
    run: (agent, request) =>
      Effect.withFiberRuntime((fiber) => {
        const parent = Context.get(fiber.currentContext, Run.Run)
        const outlet = RunSink.make({ log, parent })
        return execute(agent, request, outlet, fiber, parent, finished(agent, outlet))
      }) as Effect.Effect<any, any, any>,
    stream: (agent, request) =>
      EventSink.stream<AgentEvent, any, any>(source, (reader) =>
        Effect.withFiberRuntime<Answer, unknown, unknown>((fiber) => {
          const parent = Context.get(fiber.currentContext as Context.Context<Run.Run>, Run.Run)
          const outlet = RunSink.make({ reader, log, parent })
          return execute(agent, request, outlet, fiber, parent, Effect.succeed)
        })
      ) as Stream.Stream<AgentEvent, any, any>,
    health: Effect.flatMap(models(collaborators), (clients) => Health.sum([...clients, ...parts(collaborators, log)]))
  }
}

/**
 * Stages that are put into every run of an executor, at their places. What they fail with is among the failures of any
 * run.
 *
 * @since 0.1.0
 * @category tags
 */
export class Stages extends Ambient.Reference<Stages>()("effect-lexigram/agent/AgentExecutor/Stages", {
  defaultValue: (): ReadonlyArray<Placed<ExecutorError>> => []
}) {}

/**
 * An executor over everything it works with, and the tools of a `ToolRegistry` where one is in context. `Agents.layer`
 * and `Agents.layerWith` are the ready compositions.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<
  AgentExecutor,
  never,
  | AgentConfig.Settings
  | LlmClient.LlmClient
  | ModelRouter.ModelRouter
  | ToolRunner.ToolRunner
  | StrategyRegistry.StrategyRegistry
  | Governance.Governance
  | GuardPipeline.GuardPipeline
  | WorkingMemory.WorkingMemory
  | SessionManager.SessionManager
  | SessionHistory.SessionHistory
  | SkillRegistry.SkillRegistry
  | SkillExecutor.SkillExecutor
  | SkillCatalog.SkillCatalog
  | Steering.Steering
  | Hooks.Hooks
  | EventBus.EventBus
  | RunLog.RunLog
> = Layer.effect(
  AgentExecutor,
  Effect.gen(function* () {
    const config = yield* AgentConfig.Settings
    const catalog = yield* SkillCatalog.SkillCatalog
    return make(
      config,
      {
        config: Either.getOrElse(config, () => AgentConfig.defaults),
        client: CallGate.wrap(yield* LlmClient.LlmClient),
        router: yield* ModelRouter.ModelRouter,
        runner: yield* ToolRunner.ToolRunner,
        registry: Option.getOrUndefined(yield* Effect.serviceOption(ToolRegistry.ToolRegistry)),
        strategies: yield* StrategyRegistry.StrategyRegistry,
        governance: yield* Governance.Governance,
        guards: yield* GuardPipeline.GuardPipeline,
        memory: yield* WorkingMemory.WorkingMemory,
        sessions: yield* SessionManager.SessionManager,
        history: yield* SessionHistory.SessionHistory,
        skills: yield* SkillRegistry.SkillRegistry,
        skillExecutor: yield* SkillExecutor.SkillExecutor,
        catalog,
        catalogTools: CatalogTools.make(catalog),
        steering: yield* Steering.Steering,
        hooks: yield* Hooks.Hooks,
        bus: yield* EventBus.EventBus,
        conversations: new WeakMap(),
        skillTools: new WeakMap()
      },
      yield* RunLog.RunLog,
      // Prices, prompts and judges that the layer was given; without any, those in context when an agent runs.
      Context.pick(
        CostEstimator,
        Evaluator,
        PromptLibrary,
        Telemetry.ContentRedactor,
        TokenCounter
      )(
        (yield* Effect.context<never>()) as Context.Context<
          CostEstimator | Evaluator | PromptLibrary | Telemetry.ContentRedactor | TokenCounter
        >
      ) as Context.Context<never>,
      yield* Stages
    )
  })
)
