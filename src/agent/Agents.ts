/**
 * Ready-made compositions of the executor.
 *
 * @since 0.1.0
 */
import type * as ConfigError from "effect/ConfigError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Governance from "../governance/Governance.js"
import * as GuardPipeline from "../guard/pipeline/GuardPipeline.js"
import * as OnDemand from "../internal/fiber/OnDemand.js"
import * as DefaultModelRouter from "../llm/DefaultModelRouter.js"
import * as ModelPrices from "../llm/ModelPrices.js"
import type * as ModelRouter from "../llm/ModelRouter.js"
import type { CostEstimator } from "../llm/model/CostEstimator.js"
import type * as LlmClient from "../llm/model/LlmClient.js"
import type * as TokenCounter from "../llm/model/TokenCounter.js"
import * as WorkingMemory from "../memory/working/WorkingMemory.js"
import * as EventBus from "../observability/EventBus.js"
import * as Hooks from "../observability/Hooks.js"
import * as RunLog from "../observability/RunLog.js"
import type * as PromptLibrary from "../prompt/PromptLibrary.js"
import * as SessionHistory from "../session/history/SessionHistory.js"
import * as SessionManager from "../session/manager/SessionManager.js"
import * as SkillExecutor from "../skill/execute/SkillExecutor.js"
import * as SkillRegistry from "../skill/execute/SkillRegistry.js"
import * as SkillCatalog from "../skill/folder/SkillCatalog.js"
import * as BuiltInStrategies from "../strategy/BuiltInStrategies.js"
import type * as StrategyRegistry from "../strategy/definition/StrategyRegistry.js"
import * as ApprovalGate from "../tool/approval/ApprovalGate.js"
import * as DefaultToolRunner from "../tool/DefaultToolRunner.js"
import * as ModuleGraph from "../tool/ModuleGraph.js"
import type * as ToolRegistry from "../tool/ToolRegistry.js"
import type * as ToolRunner from "../tool/ToolRunner.js"
import type * as AgentExecutor from "./AgentExecutor.js"
import * as AgentConfig from "./definition/AgentConfig.js"
import type { Placed } from "./definition/Stage.js"
import * as LocalExecutor from "./LocalExecutor.js"
import * as RunStages from "./RunStages.js"
import * as Steering from "./record/Steering.js"

/**
 * A layer for each collaborator that can be replaced.
 *
 * @since 0.1.0
 * @category models
 */
export interface Replaceable {
  readonly router?: Layer.Layer<ModelRouter.ModelRouter, any, any> | undefined
  readonly strategies?: Layer.Layer<StrategyRegistry.StrategyRegistry, any, any> | undefined
  /** Default: the prompts in context when an agent runs, then the default prompts. */
  readonly prompts?: Layer.Layer<PromptLibrary.PromptLibrary, any, any> | undefined
  readonly governance?: Layer.Layer<Governance.Governance, any, any> | undefined
  /** Guards that ask models get the executor's router. */
  readonly guards?: Layer.Layer<GuardPipeline.GuardPipeline, any, any> | undefined
  readonly memory?: Layer.Layer<WorkingMemory.WorkingMemory, any, any> | undefined
  readonly sessions?: Layer.Layer<SessionManager.SessionManager, any, any> | undefined
  /**
   * The part of its session that a run sees; default the last turns. It gets the executor's sessions and router, and
   * the tokens if they are given here.
   */
  readonly history?: Layer.Layer<SessionHistory.SessionHistory, any, any> | undefined
  readonly skills?: Layer.Layer<SkillRegistry.SkillRegistry | SkillExecutor.SkillExecutor, any, any> | undefined
  /** Skills in folders: listed in a message and activated by a tool. */
  readonly catalog?: Layer.Layer<SkillCatalog.SkillCatalog, any, any> | undefined
  /**
   * Tools for every agent in addition to its own: those that its module may see when a run begins. The registry gets
   * the executor's runner; provide the same layer elsewhere to register tools while the program runs.
   */
  readonly tools?: Layer.Layer<ToolRegistry.ToolRegistry, any, any> | undefined
  readonly approvals?: Layer.Layer<ApprovalGate.ApprovalGate, any, any> | undefined
  readonly modules?: Layer.Layer<ModuleGraph.ModuleGraph, any, any> | undefined
  readonly log?: Layer.Layer<RunLog.RunLog, any, any> | undefined
  /** Makes running runs reachable and serializes the runs of one session. */
  readonly steering?: Layer.Layer<Steering.Steering, any, any> | undefined
  /** The hooks that runs wait for. */
  readonly hooks?: Layer.Layer<Hooks.Hooks, any, any> | undefined
  /** The bus that runs publish to. */
  readonly events?: Layer.Layer<EventBus.EventBus, any, any> | undefined
  /**
   * Prices of model calls, also for the limits of governance and agents. Default: those in context when an agent runs,
   * then no prices.
   */
  readonly prices?: Layer.Layer<CostEstimator, any, any> | undefined
  /** Counts tokens for budgets. Default: the counter in context when an agent runs, then an approximation. */
  readonly tokens?: Layer.Layer<TokenCounter.TokenCounter, any, any> | undefined
}

type Given<L, Key extends keyof Replaceable> = Extract<L[Key & keyof L], Layer.Layer<any, any, any>>

/**
 * The failures of the given layers.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<L extends Replaceable> = [Given<L, keyof Replaceable>] extends [never]
  ? never
  : Layer.Layer.Error<Given<L, keyof Replaceable>>

type ContextOfKey<L extends Replaceable, Key extends keyof Replaceable> = [Given<L, Key>] extends [never]
  ? never
  : Layer.Layer.Context<Given<L, Key>>

type SuccessOfKey<L extends Replaceable, Key extends keyof Replaceable> = [Given<L, Key>] extends [never]
  ? never
  : Layer.Layer.Success<Given<L, Key>>

/**
 * The requirements of the given layers.
 *
 * @since 0.1.0
 * @category models
 */
export type ContextOf<L extends Replaceable> =
  | ContextOfKey<L, Exclude<keyof Replaceable, "governance" | "guards" | "history" | "tools">>
  | Exclude<ContextOfKey<L, "governance">, SuccessOfKey<L, "prices">>
  | Exclude<ContextOfKey<L, "tools">, ToolRunner.ToolRunner>
  | Exclude<ContextOfKey<L, "guards">, ModelRouter.ModelRouter>
  | Exclude<
      ContextOfKey<L, "history">,
      ModelRouter.ModelRouter | SessionManager.SessionManager | SuccessOfKey<L, "tokens">
    >

/**
 * What the layer provides: the executor, and the prices if they are given.
 *
 * @since 0.1.0
 * @category models
 */
export type SuccessOf<L extends Replaceable> = AgentExecutor.AgentExecutor | SuccessOfKey<L, "prices">

/** Rejects misspelled names, which would otherwise be ignored. */
type NothingElse<L, Known extends string = never> = {
  readonly [K in Exclude<keyof L, keyof Replaceable | Known>]: never
}

const windowHistory = Layer.unwrapEffect(
  Effect.map(
    OnDemand.make(() => import("../session/history/WindowSessionHistory.js")),
    ({ layer }) => layer
  )
)

/** Layers of plain values, built once for the process: merging layers takes a fiber and a lock for each of them. */
const constant = <A>(values: Layer.Layer<A>): Layer.Layer<A> => {
  let built: Context.Context<A> | undefined
  const context = Effect.map(Layer.build(values), (context) => {
    built = context
    return context
  })
  return Layer.scopedContext(Effect.suspend(() => (built === undefined ? context : Effect.succeed(built))))
}

const noops = constant(
  Layer.mergeAll(
    EventBus.layerNoop,
    Governance.layerNoop,
    GuardPipeline.layerNoop,
    Hooks.layerNoop,
    RunLog.layerNoop,
    SessionHistory.layerNoop,
    SessionManager.layerNoop,
    SkillCatalog.layerNoop,
    SkillExecutor.layerNoop,
    SkillRegistry.layerNoop,
    Steering.layerNoop,
    WorkingMemory.layerNoop
  )
)

const toolNoops = constant(Layer.merge(ApprovalGate.layerDeny, ModuleGraph.layerNoop))

/** The layers that are given, over another one. */
const over = <A>(
  base: Layer.Layer<A, any, any>,
  ...given: ReadonlyArray<Layer.Layer<any, any, any> | undefined>
): Layer.Layer<any, any, any> => Layer.mergeAll(base, ...given.filter((layer) => layer !== undefined))

const collaborators = (given: Replaceable): Layer.Layer<any, any, any> => {
  const { governance, guards, prices, sessions, tokens, tools } = given
  const router = given.router ?? DefaultModelRouter.layerDefault
  const runner = Layer.provide(DefaultToolRunner.layer(), over(toolNoops, given.approvals, given.modules))
  const history = given.history ?? (sessions === undefined ? undefined : windowHistory)
  // The history reads the sessions of the executor: both are built from one layer, even a fresh one.
  const read = over(noops, router, sessions, tokens)
  return over(
    history === undefined ? read : Layer.provideMerge(history, read),
    given.strategies ?? BuiltInStrategies.layer(),
    governance && (prices === undefined ? governance : Layer.provide(governance, prices)),
    guards && Layer.provide(guards, router),
    given.memory,
    given.skills,
    given.catalog,
    given.log,
    given.prompts,
    given.steering,
    given.hooks,
    given.events,
    prices,
    tools === undefined ? runner : Layer.provideMerge(tools, runner)
  )
}

/**
 * Stages of every run, at their places (`Stage.outside`, `Stage.inside`). Their failures are among those of any run; a
 * stage that adds failures or requirements of its own belongs to an agent (`Agent.withStages`).
 *
 * @since 0.1.0
 * @category models
 */
export interface WithStages {
  readonly stages?: ReadonlyArray<Placed<AgentExecutor.ExecutorError>> | undefined
}

const compose = (
  settings: Layer.Layer<AgentConfig.Settings, any>,
  given: Replaceable & WithStages
): Layer.Layer<any, any, any> =>
  LocalExecutor.layer.pipe(
    Layer.provide(collaborators(given)),
    Layer.provide(settings),
    (executor) =>
      given.stages === undefined ? executor : Layer.provide(executor, Layer.succeed(RunStages.Stages, given.stages)),
    (executor) => (given.prices === undefined ? executor : Layer.merge(executor, given.prices))
  )

/**
 * An executor over a model and nothing else: no memory, sessions, guards, governance or skills. Tools that need
 * approval are denied.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  config?: AgentConfig.Options | undefined
): Layer.Layer<AgentExecutor.AgentExecutor, never, LlmClient.LlmClient> =>
  compose(AgentConfig.layer(config), {}) as Layer.Layer<AgentExecutor.AgentExecutor, never, LlmClient.LlmClient>

/**
 * As `layer`, with some collaborators in place of the no-ops; their failures and requirements appear in the type.
 * Inside a run, a collaborator given here wins over one in context. Prices given here are also provided by the layer,
 * since dollar limits of governance and agents require them.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents, ApprovalGate, RunLog } from "effect-lexigram"
 *
 * const layer = Agents.layerWith({
 *   config: { maxIterations: 5 },
 *   approvals: ApprovalGate.layerAutoApprove,
 *   log: RunLog.layerMemory()
 * })
 * ```
 */
export const layerWith = <const L extends Replaceable>(
  options: L & NothingElse<L, "config" | "stages"> & WithStages & { readonly config?: AgentConfig.Options | undefined }
): Layer.Layer<SuccessOf<L>, ErrorOf<L>, LlmClient.LlmClient | ContextOf<L>> =>
  compose(AgentConfig.layer(options.config), options)

/**
 * Configured from the environment (`LEX_AI_AGENTS__*`), with collaborators as in `layerWith`. Model calls are priced by
 * the published prices of their providers (`ModelPrices.layerInstalled`) unless other prices are given.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = <const L extends Replaceable = {}>(
  options?: (L & NothingElse<L, "stages"> & WithStages) | undefined
): Layer.Layer<
  AgentExecutor.AgentExecutor | CostEstimator,
  ErrorOf<L> | ConfigError.ConfigError,
  LlmClient.LlmClient | Exclude<ContextOf<L>, CostEstimator>
> => compose(AgentConfig.layerConfig, { prices: ModelPrices.layerInstalled, ...options })
