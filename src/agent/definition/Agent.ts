/**
 * An agent: its prompt, tools, strategy and limits as an immutable value. `AgentExecutor` runs it.
 *
 * @since 0.1.0
 */
import type * as Governance from "../../governance/Governance.js"
import type * as Guard from "../../guard/pipeline/Guard.js"
import type { ExactOptions } from "../../internal/ExactOptions.js"
import type { ForCost } from "../../llm/model/CostEstimator.js"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import type { Strategy } from "../../strategy/definition/Strategy.js"
import type { OutputValidationError } from "../../strategy/definition/StrategyError.js"
import type * as StrategyRegistry from "../../strategy/definition/StrategyRegistry.js"
import * as Tool from "../../tool/definition/Tool.js"
import * as ToolSet from "../../tool/definition/ToolSet.js"
import {
  type Agent,
  type Any,
  build,
  change,
  type Definition,
  type Memory,
  makeOutput,
  noControl,
  type OutputLike,
  type OutputType,
  type RunLimits,
  type Skills
} from "./AgentDefinition.js"
import type { Placed } from "./Stage.js"

export type { StepChanges, StepInfo } from "../../strategy/definition/StepPreparation.js"
export {
  type InstructionsInfo,
  Rejected,
  reject,
  withInstructions,
  withMemory,
  withPrepareStep,
  withStopWhen,
  withToolChoice,
  withToolRepair,
  withToolSearch,
  withToolSource,
  withValidator
} from "./AgentControl.js"
export {
  type Agent,
  type Any,
  type Definition,
  type ErrorOf,
  type FailedCall,
  isAgent,
  type Memory,
  type MemoryConversations,
  type Output,
  type OutputLike,
  type OutputOf,
  type OutputType,
  type RepairedCall,
  type RunLimits,
  type ServicesOf,
  type Skills,
  TypeId
} from "./AgentDefinition.js"

/**
 * The tools of an agent.
 *
 * @since 0.1.0
 * @category models
 */
export type Tools = ReadonlyArray<Tool.Any> | ToolSet.ToolSet<unknown, unknown>

/**
 * @since 0.1.0
 * @category models
 */
export type ToolsError<T extends Tools> =
  T extends ToolSet.ToolSet<infer E, unknown> ? E : T extends ReadonlyArray<Tool.Any> ? Tool.ErrorOf<T[number]> : never

/**
 * @since 0.1.0
 * @category models
 */
export type ToolsServices<T extends Tools> =
  T extends ToolSet.ToolSet<unknown, infer R>
    ? R
    : T extends ReadonlyArray<Tool.Any>
      ? Tool.ServicesOf<T[number]>
      : never

/**
 * A strategy, or the name of one with its options.
 *
 * @since 0.1.0
 * @category models
 */
export type StrategyLike<E = unknown, R = unknown> = Strategy<E, R> | StrategyRegistry.Named | string

type ItemError<I> = I extends Tool.Any ? Tool.ErrorOf<I> : I extends ToolSet.ToolSet<infer E, unknown> ? E : never
type ItemServices<I> = I extends Tool.Any ? Tool.ServicesOf<I> : I extends ToolSet.ToolSet<unknown, infer R> ? R : never

type StageErrorOf<P> = P extends Placed<infer E, any> ? E : never
type StageServicesOf<P> = P extends Placed<any, infer R> ? R : never

const noStages: ReadonlyArray<Placed<any, any>> = []

type StrategyErrorOf<S> = S extends Strategy<infer E, any> ? E : never
type StrategyServicesOf<S> = S extends Strategy<any, infer R> ? R : never

const toToolSet = (tools: Tools | undefined): ToolSet.ToolSet<any, any> =>
  tools === undefined ? ToolSet.empty : isArray(tools) ? ToolSet.make(...tools) : tools

const isArray = (tools: Tools): tools is ReadonlyArray<Tool.Any> => Array.isArray(tools)

const toStrategy = (strategy: StrategyLike | undefined): Definition["strategy"] =>
  typeof strategy === "string" ? { _tag: "Named", name: strategy, options: {} } : strategy

/**
 * An agent from its parts; all but the name are optional. Output, failures and requirements are inferred.
 *
 * A strategy given by name is resolved when the agent runs: an unknown name fails with `AgentConfigurationError` before
 * any model call. `output` is the schema of the answer, of Effect or of any library that implements Standard Schema: an
 * answer that does not match goes back to the model
 * `outputRetries` times (default 2), then the run fails with `OutputValidationError`.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent, Tool } from "effect-lexigram"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const time = Tool.make("time", { description: "The time now", handler: () => Effect.succeed("12:00") })
 *
 * const clerk = Agent.make("clerk", {
 *   system: "You answer in one sentence.",
 *   tools: [time],
 *   output: Schema.Struct({ answer: Schema.String })
 * })
 * ```
 */
export const make = <
  const T extends Tools = readonly [],
  S extends StrategyLike = never,
  Out extends OutputLike = never,
  const G extends ReadonlyArray<Guard.Any> = readonly [],
  const P extends ReadonlyArray<Placed<any, any>> = readonly [],
  const L extends RunLimits = {}
>(
  name: string,
  options: {
    readonly system?: string | undefined
    /**
     * What it is for, in words for the models that choose among agents: of supervisors, crews, groups and handoffs.
     * Default: the beginning of its system prompt, which these models then see.
     */
    readonly description?: string | undefined
    readonly tools?: T | undefined
    readonly strategy?: S | undefined
    readonly output?: Out | undefined
    /** Replaces the JSON Schema of `output`, which models read; a Standard Schema without one requires it. */
    readonly outputJsonSchema?: JsonSchema | undefined
    readonly outputRetries?: number | undefined
    readonly guards?: G | undefined
    /** Its own memory, see `withMemory`. */
    readonly memory?: Memory | undefined
    /** Its own governance, in place of the executor's. */
    readonly governance?: Governance.Service | undefined
    /** 0 to 2. */
    readonly temperature?: number | undefined
    readonly settings?: ModelSettings.ModelSettings | undefined
    /** The model role of its reasoning, resolved by `ModelRouter`. */
    readonly role?: string | undefined
    /** The module it belongs to, by which `ModuleGraph` decides which tools it sees. */
    readonly module?: string | undefined
    /** A limit in dollars requires prices. */
    readonly limits?: ExactOptions<L, RunLimits> | undefined
    /** Its own stages, at their places among those of the executor (`Stage.outside`, `Stage.inside`). */
    readonly stages?: P | undefined
    /**
     * For debugging: `NodeFinished` events have whole updates, with the system prompt, memories and history, and grow
     * with the run. Default false: the changes of the node, without messages and bounded.
     */
    readonly debugNodeUpdates?: boolean | undefined
    /**
     * The executor's skills that it sees; default `"all"`. The others are neither listed nor found, and cannot be
     * activated or called. A name without a skill emits a `Degraded` event.
     */
    readonly skills?: Skills | undefined
  } = {}
): Agent<
  [Out] extends [never] ? string : OutputType<Out>,
  | ToolsError<T>
  | StrategyErrorOf<S>
  | Guard.Failure<G[number]>
  | StageErrorOf<P[number]>
  | ([Out] extends [never] ? never : OutputValidationError),
  ToolsServices<T> | StrategyServicesOf<S> | Guard.Services<G[number]> | StageServicesOf<P[number]> | ForCost<L>
> =>
  build(name, {
    system: options.system ?? "",
    description: options.description,
    tools: toToolSet(options.tools),
    strategy: toStrategy(options.strategy),
    output:
      options.output === undefined
        ? undefined
        : makeOutput(name, options.output, options.outputRetries ?? 2, options.outputJsonSchema),
    guards: options.guards ?? [],
    memory: options.memory,
    governance: options.governance,
    settings: ModelSettings.merge(options.settings ?? {}, { temperature: options.temperature }),
    role: options.role,
    module: options.module,
    limits: options.limits ?? {},
    stages: options.stages ?? noStages,
    debugNodeUpdates: options.debugNodeUpdates === true,
    skills: options.skills ?? "all",
    control: noControl
  })

/**
 * @since 0.1.0
 * @category combinators
 */
export const withSystem =
  (system: string) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E, R> =>
    change(self, { system })

/**
 * Adds tools.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withTools =
  <const T extends ReadonlyArray<Tool.Any | ToolSet.ToolSet<unknown, unknown>>>(...tools: T) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E | ItemError<T[number]>, R | ItemServices<T[number]>> =>
    change(self, {
      tools: tools.reduce(
        (set: ToolSet.ToolSet<any, any>, item) => ToolSet.merge(set, Tool.isTool(item) ? ToolSet.make(item) : item),
        self.definition.tools
      )
    })

/**
 * Replaces the strategy. Its failures are added to those of the agent; those of the previous strategy stay in the type.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withStrategy: {
  <E2, R2>(strategy: Strategy<E2, R2>): <O, E, R>(self: Agent<O, E, R>) => Agent<O, E | E2, R | R2>
  (name: string, options?: StrategyRegistry.Options): <O, E, R>(self: Agent<O, E, R>) => Agent<O, E, R>
} =
  (strategy: Strategy<any, any> | string, options?: StrategyRegistry.Options) =>
  (self: Any): any =>
    change(self, {
      strategy: typeof strategy === "string" ? { _tag: "Named", name: strategy, options: options ?? {} } : strategy
    })

/**
 * Sets the schema of the answer.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withOutput =
  <O2>(
    schema: OutputLike<O2>,
    options?: { readonly retries?: number | undefined; readonly jsonSchema?: JsonSchema | undefined }
  ) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O2, E | OutputValidationError, R> =>
    change(self, { output: makeOutput(self.name, schema, options?.retries ?? 2, options?.jsonSchema) })

/**
 * Adds guards, which run after the existing ones and before the executor's.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withGuards =
  <const G extends ReadonlyArray<Guard.Any>>(...guards: G) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E | Guard.Failure<G[number]>, R | Guard.Services<G[number]>> =>
    change(self, { guards: [...self.definition.guards, ...guards] })

/**
 * Sets which of the executor's skills it sees.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withSkills =
  (skills: Skills) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E, R> =>
    change(self, { skills })

/**
 * Sets its own governance, in place of the executor's.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withGovernance =
  (governance: Governance.Service) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E, R> =>
    change(self, { governance })

/**
 * 0 to 2.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withTemperature =
  (temperature: number) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E, R> =>
    change(self, { settings: ModelSettings.merge(self.definition.settings, { temperature }) })

/**
 * Settings of its model calls; fields given here override existing ones.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withSettings =
  (settings: ModelSettings.ModelSettings) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E, R> =>
    change(self, { settings: ModelSettings.merge(self.definition.settings, settings) })

/**
 * Sets the model role of its reasoning, resolved by `ModelRouter`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withRole =
  (role: string) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E, R> =>
    change(self, { role })

/**
 * Sets the module it belongs to.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withModule =
  (module: string) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E, R> =>
    change(self, { module })

/**
 * Limits of a run; fields given here override existing ones. A limit in dollars requires prices.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withLimits =
  <const L extends RunLimits>(limits: ExactOptions<L, RunLimits>) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E, R | ForCost<L>> =>
    limitedBy(self, limits)

/**
 * As `withLimits`, for limits whose type no longer tells whether prices are required.
 *
 * @internal
 */
export const limitedBy = <O, E, R>(self: Agent<O, E, R>, limits: RunLimits): Agent<O, E, R> =>
  change(self, { limits: { ...self.definition.limits, ...limits } })

/**
 * Adds stages at their places among those of the executor. Their failures and requirements are the agent's.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withStages =
  <const P extends ReadonlyArray<Placed<any, any>>>(...stages: P) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E | StageErrorOf<P[number]>, R | StageServicesOf<P[number]>> =>
    change(self, { stages: [...self.definition.stages, ...stages] })
