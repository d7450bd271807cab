/**
 * The executor that runs agents in this process.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import type { AgentEvent } from "../domain/AgentEvent.js"
import type * as AgentResponse from "../domain/AgentResponse.js"
import * as IdGenerator from "../domain/IdGenerator.js"
import type { RunId } from "../domain/Ids.js"
import * as ReaderTimeout from "../domain/ReaderTimeout.js"
import * as SystemAccess from "../domain/SystemAccess.js"
import * as Governance from "../governance/Governance.js"
import * as Attribution from "../governance/store/Attribution.js"
import * as GuardPipeline from "../guard/pipeline/GuardPipeline.js"
import * as Deadline from "../internal/fiber/Deadline.js"
import * as EventSink from "../internal/fiber/EventSink.js"
import * as OnDemand from "../internal/fiber/OnDemand.js"
import * as SystemGrant from "../internal/fiber/SystemGrant.js"
import * as ModelRouter from "../llm/ModelRouter.js"
import * as CallGate from "../llm/model/CallGate.js"
import { CostEstimator } from "../llm/model/CostEstimator.js"
import * as LlmClient from "../llm/model/LlmClient.js"
import * as ModelSettings from "../llm/model/ModelSettings.js"
import { TokenCounter } from "../llm/model/TokenCounter.js"
import * as WorkingMemory from "../memory/working/WorkingMemory.js"
import * as EventBus from "../observability/EventBus.js"
import * as Hooks from "../observability/Hooks.js"
import * as RunJournal from "../observability/journal/RunJournal.js"
import * as Run from "../observability/Run.js"
import * as RunLog from "../observability/RunLog.js"
import * as RunSink from "../observability/RunSink.js"
import * as Telemetry from "../observability/Telemetry.js"
import { PromptLibrary } from "../prompt/PromptLibrary.js"
import * as SessionHistory from "../session/history/SessionHistory.js"
import * as SessionManager from "../session/manager/SessionManager.js"
import * as SkillExecutor from "../skill/execute/SkillExecutor.js"
import * as SkillRegistry from "../skill/execute/SkillRegistry.js"
import * as SkillCatalog from "../skill/folder/SkillCatalog.js"
import { Evaluator } from "../strategy/definition/Evaluator.js"
import type { Answer, Strategy } from "../strategy/definition/Strategy.js"
import * as StrategyRegistry from "../strategy/definition/StrategyRegistry.js"
import * as HandledTool from "../tool/definition/HandledTool.js"
import * as ToolSet from "../tool/definition/ToolSet.js"
import * as ToolRegistry from "../tool/ToolRegistry.js"
import * as ToolRunner from "../tool/ToolRunner.js"
import { AgentExecutor, type AgentRequest, type Service } from "./AgentExecutor.js"
import * as AgentConfig from "./definition/AgentConfig.js"
import type * as Agent from "./definition/AgentDefinition.js"
import type { Collaborators, Placed, State } from "./definition/Stage.js"
import { compose, insert, newNotes } from "./definition/Stage.js"
import * as ExecutorHealth from "./ExecutorHealth.js"
import * as RunContext from "./RunContext.js"
import { unwrap } from "./RunFailure.js"
import type { Applied } from "./RunPolicies.js"
import * as RunPreparation from "./RunPreparation.js"
import * as RunProgram from "./RunProgram.js"
import * as RunStages from "./RunStages.js"
import type { RunPolicy } from "./record/RunPolicy.js"
import * as Steering from "./record/Steering.js"
import * as EventsStage from "./stage/EventsStage.js"
import * as GovernedCalls from "./stage/GovernedCalls.js"
import * as RunInterceptors from "./stage/RunInterceptors.js"

const capacity = 64

/** Only agents with guards of their own need it. */
const guardPipelines = OnDemand.make(() => import("../guard/pipeline/DefaultGuardPipeline.js"))

/** Only runs with a policy, or with tools of their callers, need these. */
const policies = OnDemand.make(() => import("./RunPolicies.js"))
const clients = OnDemand.make(() => import("./ClientTools.js"))

type Staged = (state: State) => Effect.Effect<Answer, unknown, unknown>

/** One run before its state exists: its agent, its request, and the sink of its events. */
interface Invocation {
  readonly agent: Agent.Any
  readonly request: AgentRequest
  /** Its own and that of the run around it. */
  readonly policy: RunPolicy | undefined
  readonly sink: RunSink.RunSink
  readonly fiber: Fiber.RuntimeFiber<unknown, unknown>
  readonly parent: Run.Service
}

const toInvocation = (
  agent: Agent.Any,
  request: string | AgentRequest,
  fiber: Fiber.RuntimeFiber<any, any>,
  options: Pick<Parameters<typeof RunSink.make>[0], "log" | "reader">
): Invocation => {
  const context = fiber.currentContext as Context.Context<any>
  const parent = Context.get(context, Run.Run)
  const own = typeof request === "string" ? { input: request } : request
  const policy = RunContext.policyOf(context, own.policy)
  return {
    agent,
    request: own,
    policy,
    sink: RunSink.make({
      ...options,
      parent,
      compensates: policy?.compensate,
      journal: Context.get(context, RunJournal.RunJournal)
    }),
    fiber,
    parent
  }
}

/** Ends a run at its time limit; the time in which it waits for its reader does not count. */
const timed = (state: State, program: Effect.Effect<Answer, unknown, unknown>) => {
  const limit = state.agent.definition.limits.timeout ?? state.uses.config.runTimeout
  const millis = limit === undefined ? Number.POSITIVE_INFINITY : Duration.toMillis(limit)
  const effect = state.attended === undefined ? program : state.attended(program)
  if (!Number.isFinite(millis)) return effect
  return Deadline.run(() => effect, {
    whole: millis,
    pausable: true,
    onTimeout: (_phase, limit) => RunInterceptors.limitError(state, "time", limit, limit)
  })
}

/** The response of a run that answered, with its output decoded. */
const toResponse =
  ({ agent, sink }: Invocation) =>
  (answer: Answer): Effect.Effect<AgentResponse.AgentResponse<unknown>> => {
    const response = sink.progress()
    const { output } = agent.definition
    if (output === undefined || answer.output === undefined) return Effect.succeed({ ...response, output: answer.text })
    // The output was decoded before and encoded again for the events, so it is valid.
    return Effect.orDie(Effect.map(output.decode(answer.output), (decoded) => ({ ...response, output: decoded })))
  }

/** An executor over its collaborators. `given` are services of the layer that win over those in context of a run. */
class Executor {
  private readonly own: Context.Context<never>
  private readonly settings = RunPreparation.makeSettings()
  private readonly telemetry: Run.TelemetryOptions
  /** Stages of an agent are a value of its definition, so they are composed once for each strategy. */
  private readonly composed = new WeakMap<object, WeakMap<Strategy<unknown, unknown>, Staged>>()

  constructor(
    private readonly config: Either.Either<AgentConfig.AgentConfig, string>,
    private readonly collaborators: Collaborators,
    given: Context.Context<never>,
    private readonly placed: ReadonlyArray<Placed<unknown, unknown>>
  ) {
    // The services of the layer win inside a run: an ambient client must not replace them unseen.
    this.own = Context.make(LlmClient.LlmClient, collaborators.client).pipe(
      Context.add(ModelRouter.ModelRouter, collaborators.router),
      Context.add(ToolRunner.ToolRunner, collaborators.runner),
      // A run inside a tool's handler has skills of its own.
      Context.add(HandledTool.HandledTool, undefined),
      (context) => SystemGrant.without(Context.merge(context, given))
    )
    const { captureContent, enableMetrics, enableTracing } = collaborators.config
    this.telemetry = { tracing: enableTracing, metrics: enableMetrics, content: captureContent }
  }

  /** Everything `run` and `stream` share. */
  execute<A>(invocation: Invocation, finish: (answer: Answer) => Effect.Effect<A>): Effect.Effect<A, unknown, unknown> {
    const { agent, policy, request } = invocation
    const { guards } = agent.definition
    const { clientTools = [] } = request
    const begun = (
      runId: RunId,
      agentGuards: GuardPipeline.Service | undefined,
      strategy: Either.Either<Strategy<unknown, unknown>, string>
    ) =>
      policy === undefined && clientTools.length === 0
        ? this.begin(invocation, runId, agentGuards, strategy, finish)
        : Effect.flatMap(this.applied(invocation, clientTools), (applied) =>
            Either.isLeft(applied)
              ? this.begin(invocation, runId, agentGuards, Either.left(applied.left), finish)
              : this.begin({ ...invocation, ...applied.right }, runId, agentGuards, strategy, finish)
          )
    const start = (runId: RunId) =>
      Effect.flatMap(RunPreparation.strategyOf(agent.definition, this.collaborators.strategies, policy), (strategy) =>
        guards.length === 0
          ? begun(runId, undefined, strategy)
          : Effect.flatMap(
              Effect.flatMap(guardPipelines, ({ fromGuards }) => fromGuards(guards)),
              (agentGuards) => begun(runId, agentGuards, strategy)
            )
      )
    const open = invocation.sink.sink.journal?.open
    const opened = (runId: RunId) => (open === undefined ? start(runId) : Effect.zipRight(open(runId), start(runId)))
    const runId = request.runId === undefined ? undefined : RunPreparation.decodeRunId(request.runId)
    return runId !== undefined && Either.isRight(runId)
      ? opened(runId.right)
      : Effect.flatMap(IdGenerator.generate, (id) => opened(RunPreparation.toRunId(id)))
  }

  /** What the request changes of the agent and its collaborators, or why it cannot. */
  private applied(
    { agent, policy }: Invocation,
    tools: Exclude<AgentRequest["clientTools"], undefined>
  ): Effect.Effect<Either.Either<Partial<Applied>, string>> {
    const { collaborators, own } = this
    return Effect.gen(function* () {
      const equipped = tools.length === 0 ? Either.right(agent) : (yield* clients).apply(agent, tools)
      if (Either.isLeft(equipped)) return Either.left(equipped.left)
      if (policy === undefined) return Either.right({ agent: equipped.right })
      return yield* (yield* policies).apply(policy, equipped.right, collaborators, own)
    })
  }

  private begin<A>(
    invocation: Invocation & Partial<Applied>,
    runId: RunId,
    agentGuards: GuardPipeline.Service | undefined,
    strategy: Either.Either<Strategy<unknown, unknown>, string>,
    finish: (answer: Answer) => Effect.Effect<A>
  ): Effect.Effect<A, unknown, unknown> {
    const { agent, fiber, own = this.own, request, sink } = invocation
    const prepared = RunPreparation.prepare(agent, request, this.config, strategy, this.settings)
    const state = this.stateOf(invocation, runId, agentGuards, Either.getOrUndefined(prepared))
    const program = Either.isLeft(prepared)
      ? EventsStage.stage.wrap(state, () => Effect.fail<unknown>(prepared.left))
      : this.staged(prepared.right.strategy, agent.definition.stages as ReadonlyArray<Placed<unknown, unknown>>)(state)
    const whole = Effect.matchCauseEffect(
      SystemGrant.dropIn(
        fiber.currentContext as Context.Context<never>,
        RunContext.withRunContext(state, own, program)
      ),
      {
        onFailure: (cause) => {
          const failure = Cause.failureOrCause(cause)
          return Either.isLeft(failure) ? Effect.fail(unwrap(state, failure.left)) : Effect.failCause(failure.right)
        },
        onSuccess: finish
      }
    )
    return sink.logged(whole)
  }

  private stateOf(
    { agent, fiber, parent, request, sink, uses = this.collaborators }: Invocation & Partial<Applied>,
    runId: RunId,
    agentGuards: GuardPipeline.Service | undefined,
    prepared: RunPreparation.Prepared | undefined
  ): State {
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
        sink: sink.sink,
        parent: Run.isCurrent(parent) ? parent : undefined,
        sessionId: prepared?.sessionId,
        telemetry: this.telemetry,
        hooks: uses.hooks,
        bus: uses.bus
      }),
      budgetRunId: GovernedCalls.budgetOf(context, definition.governance ?? uses.governance, runId),
      uses,
      input: RunPreparation.textOf(request.input),
      files: RunPreparation.filesOf(request.input),
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
      attended: sink.reader?.attended,
      progress: sink.progress,
      notes: newNotes()
    }
  }

  private staged(strategy: Strategy<unknown, unknown>, own: ReadonlyArray<Placed<unknown, unknown>>): Staged {
    let known = this.composed.get(own)
    if (known === undefined) {
      known = new WeakMap()
      this.composed.set(own, known)
    }
    let run = known.get(strategy)
    if (run === undefined) {
      const all = [...this.placed, ...own]
      const inside = compose(insert(RunStages.inner, all))((state) => RunProgram.make(state, strategy))
      run = compose(insert(RunStages.outer, all))((state) => timed(state, inside(state))) as Staged
      known.set(strategy, run)
    }
    return run
  }
}

const make = (executor: Executor, collaborators: Collaborators, log: RunLog.Service): Service => {
  const patience = ReaderTimeout.patience(collaborators.config.readerTimeout)
  const source = { capacity, patience: () => patience }
  return {
    run: (agent, request) =>
      Effect.withFiberRuntime((fiber) => {
        const invocation = toInvocation(agent, request, fiber, { log })
        return executor.execute(invocation, toResponse(invocation))
      }) as Effect.Effect<any, any, any>,
    stream: (agent, request) =>
      EventSink.stream<AgentEvent, any, any>(source, (reader) =>
        Effect.withFiberRuntime<Answer, unknown, unknown>((fiber) =>
          executor.execute(toInvocation(agent, request, fiber, { reader, log }), Effect.succeed)
        )
      ) as Stream.Stream<AgentEvent, any, any>,
    health: ExecutorHealth.report(collaborators, log),
    choices: { router: collaborators.router, strategies: collaborators.strategies, config: collaborators.config }
  }
}

/**
 * An executor over all collaborators, and the tools of a `ToolRegistry` if one is in context. `Agents.layer` and
 * `Agents.layerWith` are ready-made compositions.
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
    const log = yield* RunLog.RunLog
    const collaborators: Collaborators = {
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
      catalog: yield* SkillCatalog.SkillCatalog,
      steering: yield* Steering.Steering,
      hooks: yield* Hooks.Hooks,
      bus: yield* EventBus.EventBus,
      conversations: new WeakMap(),
      skillTools: new WeakMap()
    }
    // Prices, prompts and judges of the layer; without any, those in context when an agent runs.
    const given = Context.pick(
      CostEstimator,
      Evaluator,
      PromptLibrary,
      Telemetry.ContentRedactor,
      TokenCounter
    )(
      (yield* Effect.context<never>()) as Context.Context<
        CostEstimator | Evaluator | PromptLibrary | Telemetry.ContentRedactor | TokenCounter
      >
    ) as Context.Context<never>
    return make(new Executor(config, collaborators, given, yield* RunStages.Stages), collaborators, log)
  })
)
