/**
 * Self-Discover (Zhou, Pujara et al. 2024): choose ways of thinking, adapt them to the task, make a reasoning structure
 * of them, then solve the task by following it. The structure serves every task of its kind.
 *
 * @since 0.1.0
 */

import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { FinishReason } from "../domain/AgentEvent.js"
import { errorInfo } from "../domain/ErrorInfo.js"
import * as StateGraph from "../graph/StateGraph.js"
import { CacheBackend, type CacheBackendError } from "../llm/CacheBackend.js"
import * as Prompts from "../prompt/defaults/SelfDiscoveryPrompts.js"
import * as PromptLibrary from "../prompt/PromptLibrary.js"
import { OUTPUT_FORMAT } from "../prompt/template/PromptStep.js"
import * as Reasoning from "./definition/Reasoning.js"
import type * as Strategy from "./definition/Strategy.js"
import * as FunctionCalling from "./FunctionCalling.js"
import * as ReasoningStructure from "./ReasoningStructure.js"
import * as GraphStrategy from "./reasoning/GraphStrategy.js"
import * as ToolLoop from "./reasoning/ToolLoop.js"
import * as Reply from "./SelfDiscoveryReply.js"

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
 * Its pattern in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "SelfDiscoveryAgent"

/**
 * Where structures are kept, in the `CacheBackend` that is provided.
 *
 * @since 0.1.0
 * @category models
 */
export interface CacheOptions {
  /**
   * The kind of a task: tasks of one kind share a structure. `undefined`: this task has a structure of its own, which
   * is not kept.
   */
  readonly key: (task: Strategy.Task) => string | undefined
  /** Default for ever. */
  readonly ttl?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends ReasoningStructure.Options {
  /**
   * `steps` (default): one call for each step, or a run of `FunctionCalling` where the task has tools, and one for the
   * answer. `structure`: the whole structure is filled in by one call that gives the answer too, as in the paper; tools
   * are not used.
   */
  readonly solve?: "steps" | "structure" | undefined
  /** Solves by this structure: nothing is selected, adapted or planned. */
  readonly structure?: ReasoningStructure.Structure | undefined
  /**
   * Keeps structures by kind of task; default not at all. A backend that fails is passed over, with a `Degraded` event.
   */
  readonly cache?: CacheOptions | undefined
}

/**
 * The state of a run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  /** Names of the chosen modules. */
  selected: Schema.Array(Schema.String),
  adapted: Schema.Array(Schema.Struct({ name: Schema.String, strategy: Schema.String })),
  steps: Schema.Array(Schema.String),
  /** Results of the steps that are done, in their order. */
  results: Schema.Array(Schema.String),
  /** The answer of a structure that was filled in at once. */
  conclusion: Schema.optional(Schema.String),
  /** Why the model ended that answer. */
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
 * SELECT, ADAPT and IMPLEMENT alone, for a task of the kind that is to be solved: `ReasoningStructure.discover`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const discover: typeof ReasoningStructure.discover = ReasoningStructure.discover

const StoredStructure = Schema.parseJson(ReasoningStructure.Structure)
const decodeStored = Schema.decodeUnknownOption(StoredStructure)
const encodeStored = Schema.encodeSync(StoredStructure)

const cacheKey = (kind: string): string => `effect-lexigram/self-discovery/${kind}`

/** The graph over a look-up and a way to keep structures, so that only a strategy with a cache needs one. */
const graphOf = <R>(
  options: Options,
  load: (task: Strategy.Task) => Effect.Effect<ReasoningStructure.Structure | undefined, CacheBackendError, R>,
  keep: (task: Strategy.Task, structure: ReasoningStructure.Structure) => Effect.Effect<void, CacheBackendError, R>
): GraphStrategy.GraphDefinition<
  Node,
  State,
  typeof State.Encoded,
  Strategy.StrategyBaseError,
  R | Strategy.StrategyServices | Reasoning.Reasoning
> => {
  const configured = ReasoningStructure.pool(options)
  const calling = FunctionCalling.make(options)

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
  const followNext = (reasoning: Reasoning.Service, state: State) =>
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
        discover_modules: () =>
          Effect.gen(function* () {
            const reasoning = yield* Reasoning.Reasoning
            const stored =
              options.structure ??
              (yield* Effect.catchAll(load(reasoning.task), (error) =>
                Effect.as(degraded(reasoning)(error), undefined)
              ))
            if (stored !== undefined) return yield* fromStructure(reasoning, stored)
            const modules = yield* ReasoningStructure.select(reasoning, options, yield* configured)
            return { selected: modules.map((one) => one.name) }
          }),
        adapt_modules: (state: State) =>
          Effect.gen(function* () {
            const reasoning = yield* Reasoning.Reasoning
            const chosen = new Set(state.selected)
            const pool = (yield* configured).filter((one) => chosen.has(one.name))
            const modules = state.selected.flatMap((name) => pool.filter((one) => one.name === name))
            return { adapted: yield* ReasoningStructure.adapt(reasoning, options, modules) }
          }),
        plan_reasoning: (state: State) =>
          Effect.gen(function* () {
            const reasoning = yield* Reasoning.Reasoning
            const steps = yield* ReasoningStructure.implement(reasoning, options, state.adapted)
            yield* ReasoningStructure.tell(reasoning, steps, 0)
            const structure = { modules: state.adapted, steps }
            yield* Effect.catchAll(keep(reasoning.task, structure), degraded(reasoning))
            return { steps }
          }),
        execute_step: (state: State) =>
          Effect.gen(function* () {
            const reasoning = yield* Reasoning.Reasoning
            const next: Effect.Effect<
              Partial<State> & { readonly results: ReadonlyArray<string> },
              Strategy.StrategyBaseError,
              Strategy.StrategyServices
            > = options.solve === "structure" ? followAll(reasoning, state) : followNext(reasoning, state)
            const update = yield* Effect.tapError(next, () =>
              ReasoningStructure.tell(reasoning, state.steps, state.results.length, "failed")
            )
            yield* ReasoningStructure.tell(reasoning, state.steps, update.results.length)
            return update
          }),
        check_completion: () => Effect.succeed({}),
        synthesize_output: (state: State) =>
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
 * The graph. Model calls: one to select, one for each module (or one for all) to adapt, one to implement; then one for
 * each step and one for the answer, or one in all where the structure is filled in at once. With a structure that is
 * given or cached the first three parts fall away.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definition: {
  (
    options: Options & { readonly cache: CacheOptions }
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
    (task) =>
      Effect.gen(function* () {
        const kind = cache.key(task)
        if (kind === undefined) return undefined
        const found = yield* Effect.flatMap(CacheBackend, (backend) => backend.get(cacheKey(kind)))
        // What does not read as a structure is found anew and written over.
        return Option.getOrUndefined(Option.flatMap(found, decodeStored))
      }),
    (task, structure) =>
      Effect.gen(function* () {
        const kind = cache.key(task)
        if (kind === undefined) return
        const backend = yield* CacheBackend
        yield* backend.set(cacheKey(kind), encodeStored(structure), { ttl: cache.ttl })
      })
  )
}

/**
 * A structure found for a task is thrown away after it unless `cache` or `structure` say otherwise. No module of the
 * list chosen, however often the model was asked, ends the run with `StrategyReplyError`: none is picked in its place.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: {
  (options: Options & { readonly cache: CacheOptions }): Strategy.Strategy<never, CacheBackend>
  (options?: Options & { readonly cache?: undefined }): Strategy.Strategy
} = (options: Options = {}): any =>
  GraphStrategy.make(definition(options as Options & { readonly cache: CacheOptions }))
