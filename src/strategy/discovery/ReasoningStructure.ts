/**
 * The first stage of Self-Discover (Zhou, Pujara et al. 2024): the reasoning structure for a kind of task.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { PlanStep } from "../../domain/AgentEvent.js"
import { count } from "../../internal/Count.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import * as Step from "../../observability/Step.js"
import * as Prompts from "../../prompt/defaults/SelfDiscoveryPrompts.js"
import type { Fatality } from "../../tool/ToolRunner.js"
import type * as Reasoning from "../definition/Reasoning.js"
import type * as Strategy from "../definition/Strategy.js"
import { StrategyConfigurationError, type StrategyReplyError } from "../definition/StrategyError.js"
import * as ReasoningService from "../reasoning/ReasoningService.js"
import * as ReasoningModules from "./ReasoningModules.js"
import * as Reply from "./SelfDiscoveryReply.js"

const STRATEGY = "self-discovery"

/**
 * The result of SELECT, ADAPT and IMPLEMENT for a kind of task: plain data that can be stored and reused.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Structure = Schema.Struct({
  modules: Schema.Array(Schema.Struct({ name: Schema.String, strategy: Schema.String })),
  steps: Schema.NonEmptyArray(Schema.NonEmptyString)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Structure extends Schema.Schema.Type<typeof Structure> {}

/**
 * Options for discovering structures.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends Reasoning.Options {
  /**
   * The modules to choose from: names of `ReasoningModules`, custom modules, or both; default all modules of the
   * library.
   */
  readonly modules?: ReadonlyArray<ReasoningModules.Name | ReasoningModules.ReasoningModule> | undefined
  /** Maximum number of modules, whatever the model chooses; default 3. */
  readonly maxSelectedModules?: number | undefined
  /**
   * `each` (default): one concurrent call per module, so that a further module costs no time and takes no attention
   * from the others. `together`: one call for all, as in the paper.
   */
  readonly adapt?: "each" | "together" | undefined
  /** Maximum number of steps of a structure; default 10. A longer structure is asked for again. */
  readonly maxSteps?: number | undefined
}

type AskError = LlmError | Fatality | StrategyReplyError

const list = (lines: ReadonlyArray<string>): string => lines.map((line) => `- ${line}`).join("\n")

// The task precedes it in the same prompt.
const applyToTask = (module: ReasoningModules.ReasoningModule): string =>
  module.template.replaceAll("{task}", "the task")

/**
 * The modules to choose from, or the problem with them.
 *
 * @since 0.1.0
 * @category getters
 */
export const pool = (
  options: Options
): Either.Either<ReadonlyArray<ReasoningModules.ReasoningModule>, StrategyConfigurationError> => {
  const given = options.modules ?? ReasoningModules.all
  const found = new Map<string, ReasoningModules.ReasoningModule>()
  const wrong = (message: string, hint: string) =>
    Either.left(new StrategyConfigurationError({ strategyName: STRATEGY, option: "modules", message, hint }))
  for (const entry of given) {
    const module = typeof entry === "string" ? ReasoningModules.get(entry as string) : entry
    if (module === undefined) {
      return wrong(
        `There is no reasoning module ${JSON.stringify(String(entry).slice(0, 64))}`,
        "Give a name of `ReasoningModules.all`, or the module itself"
      )
    }
    const known = found.get(module.name)
    if (known !== undefined && known !== module) {
      return wrong(
        `Two reasoning modules have the name ${JSON.stringify(module.name.slice(0, 64))}`,
        "Give each a name of its own"
      )
    }
    found.set(module.name, module)
  }
  return found.size === 0
    ? wrong("There are no reasoning modules to choose from", "Give some, or leave `modules` out")
    : Either.right(Array.from(found.values()))
}

/**
 * SELECT: one model call.
 *
 * @since 0.1.0
 * @category combinators
 */
export const select = (
  reasoning: Reasoning.Service,
  options: Options,
  from: ReadonlyArray<ReasoningModules.ReasoningModule>
): Effect.Effect<ReadonlyArray<ReasoningModules.ReasoningModule>, AskError> =>
  Effect.gen(function* () {
    const max = count(options.maxSelectedModules, 3, 1)
    const { step, value } = yield* reasoning.askFor(
      Prompts.DiscoverModules,
      {
        task: reasoning.task.input,
        modules: list(from.map((one) => `${one.name}: ${one.description}`)),
        max_modules: String(max)
      },
      Reply.selection(from, max)
    )
    const chosen = `Chosen ways of thinking: ${value.modules.map((one) => one.name).join(", ")}.`
    const ignored =
      value.unknown.length === 0 ? "" : ` Ignored, for there is no such module: ${value.unknown.join(", ")}.`
    yield* reasoning.run.emit({ _tag: "Thought", step, text: chosen + ignored })
    return value.modules
  })

/**
 * ADAPT: one model call for each module, or one for all.
 *
 * @since 0.1.0
 * @category combinators
 */
export const adapt = (
  reasoning: Reasoning.Service,
  options: Options,
  modules: ReadonlyArray<ReasoningModules.ReasoningModule>
): Effect.Effect<Structure["modules"], AskError> => {
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
          module_template: each(applyToTask)
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

/**
 * IMPLEMENT: one model call.
 *
 * @since 0.1.0
 * @category combinators
 */
export const implement = (
  reasoning: Reasoning.Service,
  options: Options,
  adapted: Structure["modules"]
): Effect.Effect<Structure["steps"], AskError> => {
  const max = count(options.maxSteps, 10, 1)
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

/**
 * Emits the plan with this many steps done.
 *
 * @since 0.1.0
 * @category combinators
 */
export const tell = (
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
 * Runs only SELECT, ADAPT and IMPLEMENT: returns the structure for tasks like this one, to be stored and passed as the
 * option `structure`. It takes `2 + modules` model calls, or three if the modules are adapted together.
 *
 * @since 0.1.0
 * @category constructors
 */
export const discover = (
  task: Strategy.Task,
  options: Options = {}
): Effect.Effect<Structure, Strategy.StrategyBaseError, Strategy.StrategyServices> =>
  Effect.gen(function* () {
    const modulesToChoose = yield* pool(options)
    const reasoning = yield* ReasoningService.make(STRATEGY, task, options)
    const modules = yield* adapt(reasoning, options, yield* select(reasoning, options, modulesToChoose))
    const steps = yield* implement(reasoning, options, modules)
    yield* tell(reasoning, steps, 0)
    return { modules, steps }
  })
