/**
 * Self-Discover (Zhou, Pujara et al. 2024): selects reasoning modules, adapts them to the task, turns them into a
 * reasoning structure, and solves the task by following it. The structure serves every task of its kind.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { FinishReason } from "../../domain/AgentEvent.js"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as StateGraph from "../../graph/StateGraph.js"
import type { CacheBackend, CacheBackendError } from "../../llm/CacheBackend.js"
import * as Prompts from "../../prompt/defaults/SelfDiscoveryPrompts.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import { OUTPUT_FORMAT } from "../../prompt/template/PromptStep.js"
import * as Reasoning from "../definition/Reasoning.js"
import type * as Strategy from "../definition/Strategy.js"
import * as FunctionCalling from "../loop/FunctionCalling.js"
import * as GraphStrategy from "../reasoning/GraphStrategy.js"
import * as ToolLoop from "../reasoning/ToolLoop.js"
import * as ReasoningStructure from "./ReasoningStructure.js"
import * as Reply from "./SelfDiscoveryReply.js"
import * as StructureCache from "./StructureCache.js"

export type { CacheOptions } from "./StructureCache.js"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "self-discovery"

/**
 * @since 0.1.0
 * @category constants
 */
export const PAPER =
  "Zhou, Pujara et al. 2024, Self-Discover: Large Language Models Self-Compose Reasoning Structures (arXiv 2402.03620)"

/**
 * The pattern's name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "SelfDiscoveryAgent"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends ReasoningStructure.Options {
  /**
   * `steps` (default): one call per step, or a run of `FunctionCalling` if the task has tools, and one call for the
   * answer. `structure`: one call fills in the whole structure including the answer, as in the paper; tools are not
   * used.
   */
  readonly solve?: "steps" | "structure" | undefined
  /** Solves the task by this structure, without SELECT, ADAPT and IMPLEMENT. */
  readonly structure?: ReasoningStructure.Structure | undefined
  /**
   * Keeps structures by kind of task; default: none are kept. A failing backend is ignored, with a `Degraded` event.
   */
  readonly cache?: StructureCache.CacheOptions | undefined
}

/**
 * The state of a run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  /** Names of the selected modules. */
  selected: Schema.Array(Schema.String),
  adapted: Schema.Array(Schema.Struct({ name: Schema.String, strategy: Schema.String })),
  steps: Schema.Array(Schema.String),
  /** Results of the finished steps, in order. */
  results: Schema.Array(Schema.String),
  /** The answer of a structure that one call filled in. */
  conclusion: Schema.optional(Schema.String),
  /** The finish reason of that answer. */
  reason: Schema.optional(FinishReason),
  answer: Schema.optional(
    Schema.Struct({
      text: Schema.String,
      reason: FinishReason,
      output: Schema.optional(Schema.Unknown),
      messages: Schema.Array(Schema.Any as Schema.Schema<Strategy.Answer["messages"][number]>)
    })
  )
})
/**
 * @since 0.1.0
 * @category models
 */
export interface State extends Schema.Schema.Type<typeof State> {}

/**
 * @since 0.1.0
 * @category models
 */
export type Node =
  | "discover_modules"
  | "adapt_modules"
  | "plan_reasoning"
  | "execute_step"
  | "check_completion"
  | "synthesize_output"

/**
 * Runs only SELECT, ADAPT and IMPLEMENT for a task of the kind to solve: `ReasoningStructure.discover`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const discover: typeof ReasoningStructure.discover = ReasoningStructure.discover

/** The options, and where structures are loaded from and kept, so that only a strategy with a cache needs one. */
interface Settings<R> {
  readonly options: Options
  readonly configured: ReturnType<typeof ReasoningStructure.pool>
  /** Solves a step with tools. */
  readonly calling: Strategy.Strategy
  readonly load: (task: Strategy.Task) => Effect.Effect<ReasoningStructure.Structure | undefined, CacheBackendError, R>
  readonly keep: (
    task: Strategy.Task,
    structure: ReasoningStructure.Structure
  ) => Effect.Effect<void, CacheBackendError, R>
}

const degraded = (reasoning: Reasoning.Service) => (error: CacheBackendError) =>
  reasoning.run.emit({ _tag: "Degraded", stage: "structure-cache", error: errorInfo(error) })

const fromStructure = (reasoning: Reasoning.Service, { modules, steps }: ReasoningStructure.Structure) =>
  Effect.as(ReasoningStructure.tell(reasoning, steps, 0), {
    selected: modules.map((one) => one.name),
    adapted: modules,
    steps: steps as ReadonlyArray<string>
  })

const resultsText = (state: State): string =>
  state.results.map((result, index) => `Step ${index + 1}: ${state.steps[index] ?? ""}\n${result}`).join("\n\n")

/** Follows the whole structure in one call. */
const followAll = (reasoning: Reasoning.Service, state: State) =>
  Effect.map(
    reasoning.askFor(
      Prompts.FollowStructure,
      {
        task: reasoning.task.input,
        structure: state.steps.map((step, index) => `${index + 1}. ${step}`).join("\n")
      },
      Reply.followed(state.steps.length)
    ),
    ({ response, value }) => ({
      results: value.results,
      conclusion: value.answer,
      reason: ToolLoop.finishReason(response.finishReason)
    })
  )

/** Follows the next step, with the tools of the task. */
const followNext = (calling: Strategy.Strategy, reasoning: Reasoning.Service, state: State) =>
  Effect.gen(function* () {
    const { task } = reasoning
    const values = {
      task: task.input,
      step_description: state.steps[state.results.length] ?? "",
      previous_results: state.results.length === 0 ? "None yet." : resultsText(state)
    }
    if (task.tools.definitions.length === 0) {
      const { step, text } = yield* reasoning.ask(Prompts.ExecuteStep, values)
      yield* reasoning.run.emit({ _tag: "Thought", step, text })
      return { results: [...state.results, text] }
    }
    const prompts = yield* PromptLibrary.PromptLibrary
    const { system, user } = prompts.render(Prompts.ExecuteStep, {
      ...values,
      [OUTPUT_FORMAT]: Prompts.ExecuteStep.textFormat
    })
    const { text } = yield* reasoning.inner(calling, {
      ...task,
      system: task.system === "" || system === "" ? task.system + system : `${task.system}\n\n${system}`,
      input: user,
      output: undefined
    })
    yield* reasoning.run.emit({ _tag: "Thought", step: reasoning.steps(), text })
    return { results: [...state.results, text] }
  })

/** Takes the given or cached structure, or selects modules. */
const discoverModules =
  <R>(settings: Settings<R>) =>
  () =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const stored =
        settings.options.structure ??
        (yield* Effect.catchAll(settings.load(reasoning.task), (error) =>
          Effect.as(degraded(reasoning)(error), undefined)
        ))
      if (stored !== undefined) return yield* fromStructure(reasoning, stored)
      const modules = yield* ReasoningStructure.select(reasoning, settings.options, yield* settings.configured)
      return { selected: modules.map((one) => one.name) }
    })

/** Adapts the selected modules to the task. */
const adaptModules = (settings: Settings<any>) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const chosen = new Set(state.selected)
    const pool = (yield* settings.configured).filter((one) => chosen.has(one.name))
    const modules = state.selected.flatMap((name) => pool.filter((one) => one.name === name))
    return { adapted: yield* ReasoningStructure.adapt(reasoning, settings.options, modules) }
  })

/** Turns the adapted modules into steps, and keeps the structure. */
const planReasoning =
  <R>(settings: Settings<R>) =>
  (state: State) =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const steps = yield* ReasoningStructure.implement(reasoning, settings.options, state.adapted)
      yield* ReasoningStructure.tell(reasoning, steps, 0)
      const structure = { modules: state.adapted, steps }
      yield* Effect.catchAll(settings.keep(reasoning.task, structure), degraded(reasoning))
      return { steps }
    })

/** Follows the structure: the next step, or all of it. */
const executeStep = (settings: Settings<any>) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const next: Effect.Effect<
      Partial<State> & { readonly results: ReadonlyArray<string> },
      Strategy.StrategyBaseError,
      Strategy.StrategyServices
    > =
      settings.options.solve === "structure"
        ? followAll(reasoning, state)
        : followNext(settings.calling, reasoning, state)
    const update = yield* Effect.tapError(next, () =>
      ReasoningStructure.tell(reasoning, state.steps, state.results.length, "failed")
    )
    yield* ReasoningStructure.tell(reasoning, state.steps, update.results.length)
    return update
  })

/** Writes the answer. */
const synthesizeOutput = (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { run, task } = reasoning
    if (state.conclusion === undefined) {
      const values = { task: task.input, reasoning_steps: resultsText(state) }
      return { answer: yield* reasoning.finish(Prompts.SynthesizeOutput, values) }
    }
    const answer = yield* reasoning.answer(state.conclusion, state.reason)
    if (run.live) yield* run.emit({ _tag: "TextDelta", text: answer.text })
    return { answer }
  })

const graphOf = <R>(
  options: Options,
  load: Settings<R>["load"],
  keep: Settings<R>["keep"]
): GraphStrategy.GraphDefinition<
  Node,
  State,
  typeof State.Encoded,
  Strategy.StrategyBaseError,
  R | Strategy.StrategyServices | Reasoning.Reasoning
> => {
  const settings: Settings<R> = {
    options,
    configured: ReasoningStructure.pool(options),
    calling: FunctionCalling.make(options),
    load,
    keep
  }
  return {
    name: NAME,
    options,
    start: () => ({ selected: [], adapted: [], steps: [], results: [] }),
    answer: (state) =>
      state.answer === undefined
        ? Effect.dieMessage("synthesize_output did not run: the graph was changed so that it ends without it")
        : Effect.succeed(state.answer),
    graph: StateGraph.make({
      name: NAME,
      state: State,
      start: "discover_modules",
      nodes: {
        discover_modules: discoverModules(settings),
        adapt_modules: adaptModules(settings),
        plan_reasoning: planReasoning(settings),
        execute_step: executeStep(settings),
        check_completion: () => Effect.succeed({}),
        synthesize_output: synthesizeOutput
      },
      edges: {
        discover_modules: {
          to: ["adapt_modules", "execute_step"],
          labels: { adapt_modules: "modules were selected", execute_step: "a structure is there" },
          when: (state) => (state.steps.length > 0 ? "execute_step" : "adapt_modules")
        },
        adapt_modules: "plan_reasoning",
        plan_reasoning: "execute_step",
        execute_step: "check_completion",
        check_completion: {
          to: ["execute_step", "synthesize_output"],
          labels: { execute_step: "steps left", synthesize_output: "no steps left" },
          when: (state) => (state.results.length < state.steps.length ? "execute_step" : "synthesize_output")
        },
        synthesize_output: StateGraph.END
      }
    })
  }
}

/**
 * The graph. Model calls: one to select, one per module (or one for all) to adapt, one to implement; then one per step
 * and one for the answer, or one in total if the structure is filled in by one call. A given or cached structure saves
 * the first three parts.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definition: {
  (
    options: Options & { readonly cache: StructureCache.CacheOptions }
  ): GraphStrategy.GraphDefinition<
    Node,
    State,
    typeof State.Encoded,
    Strategy.StrategyBaseError,
    CacheBackend | Strategy.StrategyServices | Reasoning.Reasoning
  >
  (
    options?: Options & { readonly cache?: undefined }
  ): GraphStrategy.GraphDefinition<
    Node,
    State,
    typeof State.Encoded,
    Strategy.StrategyBaseError,
    Strategy.StrategyServices | Reasoning.Reasoning
  >
} = (options: Options = {}): any => {
  const { cache } = options
  if (cache === undefined)
    return graphOf<never>(
      options,
      () => Effect.succeed(undefined),
      () => Effect.void
    )
  return graphOf(
    options,
    (task) => StructureCache.load(cache, task),
    (task, structure) => StructureCache.keep(cache, task, structure)
  )
}

/**
 * Makes the strategy. A structure is discarded after its task unless `cache` or `structure` is set. If the model
 * selects no known module after all retries, the run fails with `StrategyReplyError`; no module is chosen in its place.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { SelfDiscovery } from "effect-lexigram/strategy"
 *
 * // All invoices share a structure for a day. The agent requires a `CacheBackend`.
 * const clerk = Agent.make("clerk", {
 *   strategy: SelfDiscovery.make({ cache: { key: () => "invoices", ttl: "1 day" } })
 * })
 * ```
 */
export const make: {
  (options: Options & { readonly cache: StructureCache.CacheOptions }): Strategy.Strategy<never, CacheBackend>
  (options?: Options & { readonly cache?: undefined }): Strategy.Strategy
} = (options: Options = {}): any =>
  GraphStrategy.make(definition(options as Options & { readonly cache: StructureCache.CacheOptions }))
