/**
 * Self-Discover (Zhou, Pujara et al. 2024): choose ways of thinking, adapt them to the task, make a reasoning structure of them, then
 * solve the task by following it. The structure serves every task of its kind.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { errorInfo, FinishReason, type PlanStep } from "../domain/AgentEvent.js"
import * as StateGraph from "../graph/StateGraph.js"
import { CacheBackend, type CacheBackendError } from "../llm/CacheBackend.js"
import type { LlmError } from "../llm/LlmError.js"
import * as Step from "../observability/Step.js"
import * as PromptLibrary from "../prompt/PromptLibrary.js"
import { OUTPUT_FORMAT } from "../prompt/PromptStep.js"
import * as Prompts from "../prompt/SelfDiscoveryPrompts.js"
import type { Fatality } from "../tool/ToolRunner.js"
import * as FunctionCalling from "./FunctionCalling.js"
import * as Reasoning from "./Reasoning.js"
import * as ReasoningModules from "./ReasoningModules.js"
import * as Reply from "./SelfDiscoveryReply.js"
import * as Strategy from "./Strategy.js"
import { StrategyConfigurationError, type StrategyReplyError } from "./StrategyError.js"

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
 * What SELECT, ADAPT and IMPLEMENT come to for a kind of task: plain data that may be stored and used again.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ReasoningStructure = Schema.Struct({
  modules: Schema.Array(Schema.Struct({ name: Schema.String, strategy: Schema.String })),
  steps: Schema.NonEmptyArray(Schema.NonEmptyString)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface ReasoningStructure extends Schema.Schema.Type<typeof ReasoningStructure> {}

/**
 * How structures are found.
 *
 * @since 0.1.0
 * @category models
 */
export interface DiscoverOptions extends Reasoning.Options {
  /** What is chosen from: names of `ReasoningModules`, modules of one's own, or both; default all that ship. */
  readonly modules?: ReadonlyArray<ReasoningModules.Name | ReasoningModules.ReasoningModule> | undefined
  /** Modules at most, whatever the model chooses; default 3. */
  readonly maxSelectedModules?: number | undefined
  /**
   * `each` (default): one call for each module, side by side, so that a module more costs no time and none gets less attention for it.
   * `together`: one call for all, as in the paper.
   */
  readonly adapt?: "each" | "together" | undefined
  /** Steps of a structure at most; default 10. A longer one is asked for again. */
  readonly maxSteps?: number | undefined
}

/**
 * Where structures are kept, in the `CacheBackend` that is provided.
 *
 * @since 0.1.0
 * @category models
 */
export interface CacheOptions {
  /** The kind of a task: tasks of one kind share a structure. `undefined`: this task has a structure of its own, which is not kept. */
  readonly key: (task: Strategy.Task) => string | undefined
  /** Default for ever. */
  readonly ttl?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends DiscoverOptions {
  /**
   * `steps` (default): one call for each step, or a run of `FunctionCalling` where the task has tools, and one for the answer.
   * `structure`: the whole structure is filled in by one call that gives the answer too, as in the paper; tools are not used.
   */
  readonly solve?: "steps" | "structure" | undefined
  /** Solves by this structure: nothing is selected, adapted or planned. */
  readonly structure?: ReasoningStructure | undefined
  /** Keeps structures by kind of task; default not at all. A backend that fails is passed over, with a `Degraded` event. */
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

type AskError = LlmError | Fatality | StrategyReplyError

const whole = (value: number | undefined, fallback: number): number => Math.max(1, Math.floor(value ?? fallback))

const list = (lines: ReadonlyArray<string>): string => lines.map((line) => `- ${line}`).join("\n")

// The task stands above it in the same prompt.
const applied = (module: ReasoningModules.ReasoningModule): string => module.template.replaceAll("{task}", "the task")

/** The modules to choose from, or what is wrong with them. */
const poolOf = (
  options: DiscoverOptions
): Either.Either<ReadonlyArray<ReasoningModules.ReasoningModule>, StrategyConfigurationError> => {
  const given = options.modules ?? ReasoningModules.all
  const pool = new Map<string, ReasoningModules.ReasoningModule>()
  const wrong = (message: string, hint: string) =>
    Either.left(new StrategyConfigurationError({ strategyName: NAME, option: "modules", message, hint }))
  for (const entry of given) {
    const module = typeof entry === "string" ? ReasoningModules.get(entry as string) : entry
    if (module === undefined) {
      return wrong(
        `There is no reasoning module ${JSON.stringify(String(entry).slice(0, 64))}`,
        "Give a name of `ReasoningModules.all`, or the module itself"
      )
    }
    const known = pool.get(module.name)
    if (known !== undefined && known !== module) {
      return wrong(
        `Two reasoning modules have the name ${JSON.stringify(module.name.slice(0, 64))}`,
        "Give each a name of its own"
      )
    }
    pool.set(module.name, module)
  }
  return pool.size === 0
    ? wrong("There are no reasoning modules to choose from", "Give some, or leave `modules` out")
    : Either.right(Array.from(pool.values()))
}

const select = (
  reasoning: Reasoning.Service,
  options: DiscoverOptions,
  pool: ReadonlyArray<ReasoningModules.ReasoningModule>
): Effect.Effect<ReadonlyArray<ReasoningModules.ReasoningModule>, AskError> =>
  Effect.gen(function* () {
    const max = whole(options.maxSelectedModules, 3)
    const { step, value } = yield* reasoning.askFor(
      Prompts.DiscoverModules,
      {
        task: reasoning.task.input,
        modules: list(pool.map((one) => `${one.name}: ${one.description}`)),
        max_modules: String(max)
      },
      Reply.selection(pool, max)
    )
    const chosen = `Chosen ways of thinking: ${value.modules.map((one) => one.name).join(", ")}.`
    const ignored =
      value.unknown.length === 0 ? "" : ` Ignored, for there is no such module: ${value.unknown.join(", ")}.`
    yield* reasoning.run.emit({ _tag: "Thought", step, text: chosen + ignored })
    return value.modules
  })

const adapt = (
  reasoning: Reasoning.Service,
  options: DiscoverOptions,
  modules: ReadonlyArray<ReasoningModules.ReasoningModule>
): Effect.Effect<ReasoningStructure["modules"], AskError> => {
  const ask = (some: ReadonlyArray<ReasoningModules.ReasoningModule>) => {
    const only = some.length === 1
    const each = (text: (module: ReasoningModules.ReasoningModule) => string) =>
      only ? text(some[0] as ReasoningModules.ReasoningModule) : list(some.map((one) => `${one.name}: ${text(one)}`))
    return Effect.map(
      reasoning.askFor(
        Prompts.AdaptModules,
        {
          task: reasoning.task.input,
          module_name: some.map((one) => one.name).join(", "),
          module_description: each((one) => one.description),
          module_template: each(applied)
        },
        Reply.adaptation(some)
      ),
      ({ value }) => some.map(({ name }, index) => ({ name, strategy: value[index] ?? "" }))
    )
  }
  return options.adapt === "together"
    ? ask(modules)
    : Effect.map(
        Step.forEach(modules, (one) => ask([one]), { concurrency: reasoning.concurrency }),
        (parts) => parts.flat()
      )
}

const implement = (
  reasoning: Reasoning.Service,
  options: DiscoverOptions,
  adapted: ReasoningStructure["modules"]
): Effect.Effect<ReadonlyArray<string>, AskError> => {
  const max = whole(options.maxSteps, 10)
  return Effect.map(
    reasoning.askFor(
      Prompts.PlanReasoning,
      {
        task: reasoning.task.input,
        adapted_modules: adapted.map(({ name, strategy }) => `### ${name}\n\n${strategy}`).join("\n\n"),
        max_steps: String(max)
      },
      Reply.plan(max)
    ),
    ({ value }) => value
  )
}

const tellPlan = (
  { run }: Reasoning.Service,
  steps: ReadonlyArray<string>,
  done: number,
  next: PlanStep["status"] = "pending"
): Effect.Effect<void> =>
  run.emit({
    _tag: "Plan",
    steps: steps.map((description, index) => ({
      id: String(index + 1),
      description,
      status: index < done ? "completed" : index === done ? next : "pending"
    }))
  })

/**
 * SELECT, ADAPT and IMPLEMENT alone: the structure for tasks like this one, to be stored and given as the option `structure`. It takes
 * `2 + modules` model calls, three when the modules are adapted together.
 *
 * @since 0.1.0
 * @category constructors
 */
export const discover = (
  task: Strategy.Task,
  options: DiscoverOptions = {}
): Effect.Effect<ReasoningStructure, Strategy.StrategyBaseError, Strategy.StrategyServices> =>
  Effect.gen(function* () {
    const pool = yield* poolOf(options)
    const reasoning = yield* Reasoning.make(NAME, task, options)
    const modules = yield* adapt(reasoning, options, yield* select(reasoning, options, pool))
    const steps = yield* implement(reasoning, options, modules)
    yield* tellPlan(reasoning, steps, 0)
    return { modules, steps: steps as unknown as ReasoningStructure["steps"] }
  })

const StoredStructure = Schema.parseJson(ReasoningStructure)
const decodeStored = Schema.decodeUnknownOption(StoredStructure)
const encodeStored = Schema.encodeSync(StoredStructure)

const cacheKey = (kind: string): string => `effect-lexigram/self-discovery/${kind}`

/** The graph over a look-up and a way to keep structures, so that only a strategy with a cache needs one. */
const graphOf = <R>(
  options: Options,
  load: (task: Strategy.Task) => Effect.Effect<ReasoningStructure | undefined, CacheBackendError, R>,
  keep: (task: Strategy.Task, structure: ReasoningStructure) => Effect.Effect<void, CacheBackendError, R>
): Strategy.GraphDefinition<
  Node,
  State,
  typeof State.Encoded,
  Strategy.StrategyBaseError,
  R | Strategy.StrategyServices | Reasoning.Reasoning
> => {
  const configured = poolOf(options)
  const calling = FunctionCalling.make(options)

  const degraded = (reasoning: Reasoning.Service) => (error: CacheBackendError) =>
    reasoning.run.emit({ _tag: "Degraded", stage: "structure-cache", error: errorInfo(error) })

  const fromStructure = (reasoning: Reasoning.Service, { modules, steps }: ReasoningStructure) =>
    Effect.as(tellPlan(reasoning, steps, 0), {
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
      ({ value }) => ({ results: value.results, conclusion: value.answer })
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
            const modules = yield* select(reasoning, options, yield* configured)
            return { selected: modules.map((one) => one.name) }
          }),
        adapt_modules: (state: State) =>
          Effect.gen(function* () {
            const reasoning = yield* Reasoning.Reasoning
            const chosen = new Set(state.selected)
            const pool = (yield* configured).filter((one) => chosen.has(one.name))
            const modules = state.selected.flatMap((name) => pool.filter((one) => one.name === name))
            return { adapted: yield* adapt(reasoning, options, modules) }
          }),
        plan_reasoning: (state: State) =>
          Effect.gen(function* () {
            const reasoning = yield* Reasoning.Reasoning
            const steps = yield* implement(reasoning, options, state.adapted)
            yield* tellPlan(reasoning, steps, 0)
            const structure = { modules: state.adapted, steps: steps as unknown as ReasoningStructure["steps"] }
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
              tellPlan(reasoning, state.steps, state.results.length, "failed")
            )
            yield* tellPlan(reasoning, state.steps, update.results.length)
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
            const answer = yield* reasoning.answer(state.conclusion)
            if (run.live) yield* run.emit({ _tag: "TextDelta", text: answer.text })
            return { answer }
          })
      },
      edges: {
        discover_modules: {
          to: ["adapt_modules", "execute_step"],
          when: (state) => (state.steps.length > 0 ? "execute_step" : "adapt_modules")
        },
        adapt_modules: "plan_reasoning",
        plan_reasoning: "execute_step",
        execute_step: "check_completion",
        check_completion: {
          to: ["execute_step", "synthesize_output"],
          when: (state) => (state.results.length < state.steps.length ? "execute_step" : "synthesize_output")
        },
        synthesize_output: StateGraph.END
      }
    })
  }
}

/**
 * The graph. Model calls: one to select, one for each module (or one for all) to adapt, one to implement; then one for each step and one
 * for the answer, or one in all where the structure is filled in at once. With a structure that is given or cached the first three parts
 * fall away.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definition: {
  (
    options: Options & { readonly cache: CacheOptions }
  ): Strategy.GraphDefinition<
    Node,
    State,
    typeof State.Encoded,
    Strategy.StrategyBaseError,
    CacheBackend | Strategy.StrategyServices | Reasoning.Reasoning
  >
  (
    options?: Options & { readonly cache?: undefined }
  ): Strategy.GraphDefinition<
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
 * A structure found for a task is thrown away after it unless `cache` or `structure` say otherwise. No module of the list chosen, however
 * often the model was asked, ends the run with `StrategyReplyError`: none is picked in its place.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: {
  (options: Options & { readonly cache: CacheOptions }): Strategy.Strategy<never, CacheBackend>
  (options?: Options & { readonly cache?: undefined }): Strategy.Strategy
} = (options: Options = {}): any =>
  Strategy.fromGraph(definition(options as Options & { readonly cache: CacheOptions }))
