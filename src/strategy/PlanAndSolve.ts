/**
 * Plan-and-Solve: makes a plan, solves its steps one at a time with the previous results, and makes an answer from all
 * results (Wang, Xu, Lan et al. 2023). It takes two model calls plus one per step; a step with tools takes one more per
 * turn of tools.
 *
 * The paper has one prompt for plan and solution; here each step is a separate, visible call.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as StateGraph from "../graph/StateGraph.js"
import { count } from "../internal/Count.js"
import { ModelRouter } from "../llm/ModelRouter.js"
import * as LlmClient from "../llm/model/LlmClient.js"
import { LlmContentPolicyError } from "../llm/model/LlmError.js"
import * as PlanText from "../plan/PlanText.js"
import * as Prompts from "../prompt/defaults/PlanAndSolvePrompts.js"
import * as PromptLibrary from "../prompt/PromptLibrary.js"
import * as Reasoning from "./definition/Reasoning.js"
import * as ReplyForm from "./definition/ReplyForm.js"
import type * as Strategy from "./definition/Strategy.js"
import { StrategyReplyError } from "./definition/StrategyError.js"
import * as FunctionCalling from "./loop/FunctionCalling.js"
import * as Planner from "./planning/Planner.js"
import * as PlanState from "./planning/PlanState.js"
import * as GraphStrategy from "./reasoning/GraphStrategy.js"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "plan-and-solve"

/**
 * @since 0.1.0
 * @category constants
 */
export const PAPER =
  "Wang, Xu, Lan, Hu, Lan, Lee, Lim 2023, Plan-and-Solve Prompting: Improving Zero-Shot Chain-of-Thought Reasoning (arXiv 2305.04091)"

/**
 * The pattern's name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "PlanAndSolveAgent"

/**
 * `E` and `R` are those of a planner.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<out E = never, out R = never> extends Reasoning.Options {
  /**
   * `ps+` (default): the planner extracts the variables of the task with their numerals, and the solver of a step
   * calculates intermediate results and checks calculation and common sense. `ps`: only understand, plan and follow the
   * plan.
   */
  readonly variant?: "ps" | "ps+" | undefined
  /** Whether steps may use the tools of the task; default true. Without tools a step is one model call. */
  readonly tools?: boolean | undefined
  /** Maximum turns of model and tools in one step; default that of the agent, then 10. */
  readonly maxToolIterations?: number | undefined
  /**
   * Maximum number of steps carried out; default 10. Further steps of a plan are shown as skipped and passed to the
   * last prompt, and the answer is marked `limit`.
   */
  readonly maxSteps?: number | undefined
  /** Plans instead of the model. A tool that it names for a step is passed to the solver of the step. */
  readonly planner?: Planner.Planner<E, R> | undefined
}

/**
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  steps: Schema.Array(PlanState.Step),
  /** Facts of the task: `apples = 5`. */
  variables: Schema.Array(Schema.String),
  /** Results of the completed steps, in order. */
  results: Schema.Array(PlanState.Result),
  answer: Schema.optional(PlanState.Answered)
})
/**
 * @since 0.1.0
 * @category models
 */
export type State = typeof State.Type

/**
 * @since 0.1.0
 * @category models
 */
export type Node = "plan_step" | "execute_step" | "aggregate_results"

interface Drafted {
  readonly variables: ReadonlyArray<string>
  readonly steps: ReadonlyArray<Planner.Step>
}

const Steps = Schema.Array(
  Schema.String.annotations({ description: "What is to be done in this step, in one sentence" })
).annotations({ description: "The steps in their order" })

const Variables = Schema.Array(
  Schema.String.annotations({ description: "A variable with its numeral and unit: name = value" })
).annotations({ description: "What the task gives and what matters" })

const variablesMarker = /(?:^|\n)[ \t*_#]{0,8}variables[*_]{0,3}[ \t]{0,4}[:：]?[*_]{0,3}[ \t]*(?=\n|$)/i

/** The lines below `VARIABLES:` in the text before a plan. */
const variablesOf = (preamble: string): ReadonlyArray<string> => {
  const marked = variablesMarker.exec(preamble)
  if (marked === null) return []
  return preamble
    .slice(marked.index + marked[0].length)
    .split("\n")
    .map((line) => line.trim().replace(/^(?:[-*+•][ \t]+|\d{1,4}[.)][ \t]+)/, ""))
    .filter((line) => line !== "")
}

const fromText = (text: string) =>
  Either.mapBoth(PlanText.parse(text), {
    onLeft: () => "it holds no step of a plan",
    onRight: ({ preamble, steps }) => ({
      variables: variablesOf(preamble),
      steps: steps.map(({ description, tool }) => (tool === undefined ? description : `${description} (by ${tool})`))
    })
  })

const forms = {
  ps: ReplyForm.make({ name: "plan", schema: Schema.Struct({ steps: Steps }), text: fromText }),
  "ps+": ReplyForm.make({
    name: "plan",
    schema: Schema.Struct({ variables: Schema.optional(Variables), steps: Steps }),
    text: fromText
  })
}

const formOf = (variant: "ps" | "ps+"): ReplyForm.ReplyForm<Drafted> => {
  const form: ReplyForm.ReplyForm<{
    readonly steps: ReadonlyArray<string>
    readonly variables?: ReadonlyArray<string> | undefined
  }> = forms[variant]
  return {
    name: form.name,
    jsonSchema: form.jsonSchema,
    read: (text) =>
      Effect.flatMap(form.read(text), ({ steps, variables = [] }) => {
        const said = steps.map((step) => step.trim()).filter((step) => step !== "")
        return said.length === 0
          ? Effect.fail("the plan has no steps")
          : Effect.succeed({
              variables: variant === "ps" ? [] : variables.map((one) => one.trim()).filter((one) => one !== ""),
              steps: said.map((description) => ({ description }))
            })
      })
  }
}

/** The description of the step for its solver. */
const stepText = ({ arguments: args, description, tool }: PlanState.Step): string =>
  tool === undefined
    ? description
    : `${description}\nUse the tool ${tool} for it${args === undefined ? "" : `, with these arguments: ${JSON.stringify(args)}`}.`

/** The role of a prompt if it is configured, else that of the task. */
const roleOf = (task: Strategy.Task, role: string) =>
  Effect.gen(function* () {
    const { client, settings } = yield* (yield* ModelRouter).resolve(role)
    const own = client === (yield* LlmClient.LlmClient) && Object.keys(settings).length === 0
    return own ? task.role : role
  })

/** Solves a step in turns of model and tools. An empty or filtered text is not a result. */
const solveWithTools = (
  strategy: Strategy.Strategy,
  values: { readonly [K in (typeof Prompts.ExecuteStep.variables)[number]]: string }
) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const prompts = yield* PromptLibrary.PromptLibrary
    const { task } = reasoning
    const prompt = Prompts.ExecuteStep
    const { system, user } = prompts.render(prompt, { ...values, output_format: prompt.textFormat })
    const role = yield* roleOf(task, prompt.role)
    const { output: _, role: __, ...rest } = task
    const answer = yield* reasoning.inner(strategy, {
      ...rest,
      ...(role === undefined ? {} : { role }),
      system: task.system === "" || system === "" ? task.system + system : `${task.system}\n\n${system}`,
      input: user
    })
    const name = `${prompt.pattern}/${prompt.name}`
    if (answer.reason === "content-filter") {
      return yield* new LlmContentPolicyError({
        provider: (yield* LlmClient.LlmClient).provider,
        message: `A content filter cut the reply to ${name}`,
        hint: "Change the task, or the prompt of this step"
      })
    }
    const text = answer.text.trim()
    if (text !== "") return text
    return yield* new StrategyReplyError({
      strategyName: NAME,
      prompt: name,
      text: "",
      issues: "the reply is empty",
      attempts: 1,
      message: `${name} got an empty reply`,
      hint: "Use a stronger model for this role, or raise its output limit"
    })
  })

/** The options with their defaults. */
interface Settings<E, R> {
  readonly planner: Options<E, R>["planner"]
  readonly guidance: (typeof Prompts.GUIDANCE)["ps" | "ps+"]
  readonly form: ReplyForm.ReplyForm<Drafted>
  readonly maxSteps: number
  /** Whether steps may use the tools of the task. */
  readonly tools: boolean
  /** Solves a step with tools. */
  readonly inner: Strategy.Strategy
}

const resolve = <E, R>(options: Options<E, R>): Settings<E, R> => {
  const variant = options.variant ?? "ps+"
  return {
    planner: options.planner,
    guidance: Prompts.GUIDANCE[variant],
    form: formOf(variant),
    maxSteps: count(options.maxSteps, 10, 1),
    tools: options.tools !== false,
    inner: FunctionCalling.make({ ...options, maxIterations: options.maxToolIterations })
  }
}

/** Makes the plan. */
const plan =
  <E, R>(settings: Settings<E, R>) =>
  (): Effect.Effect<
    Partial<State>,
    E | Strategy.StrategyBaseError,
    R | Strategy.StrategyServices | Reasoning.Reasoning
  > =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const { task } = reasoning
      const drafted: Drafted =
        settings.planner === undefined
          ? (yield* reasoning.askFor(
              Prompts.PlanStep,
              { task: task.input, guidance: settings.guidance.plan, max_steps: String(settings.maxSteps) },
              settings.form
            )).value
          : { variables: [], steps: yield* Planner.run(settings.planner, NAME, { task, completed: [] }) }
      const steps = drafted.steps.map(
        ({ arguments: args, description, tool }, index): PlanState.Step => ({
          id: String(index + 1),
          description,
          ...(tool === undefined ? {} : { tool: task.tools.get(tool)?.name ?? tool }),
          ...(args === undefined ? {} : { arguments: args }),
          status: index < settings.maxSteps ? "pending" : "skipped"
        })
      )
      yield* PlanState.emit(steps)
      return { steps, variables: drafted.variables }
    })

/** Solves the next step. */
const execute =
  (settings: Settings<any, any>) =>
  (
    state: State
  ): Effect.Effect<Partial<State>, Strategy.StrategyBaseError, Strategy.StrategyServices | Reasoning.Reasoning> =>
    Effect.gen(function* () {
      const step = state.steps.find((one) => one.status === "pending")
      if (step === undefined) return {}
      const reasoning = yield* Reasoning.Reasoning
      const { task } = reasoning
      const values = {
        task: task.input,
        step: stepText(step),
        previous_results: PlanState.results(state.results),
        variables:
          state.variables.length === 0 ? "None taken down." : state.variables.map((one) => `- ${one}`).join("\n"),
        guidance: settings.guidance.execute
      }
      const work: Effect.Effect<string, Strategy.StrategyBaseError, Strategy.StrategyServices | Reasoning.Reasoning> =
        settings.tools && task.tools.definitions.length > 0
          ? solveWithTools(settings.inner, values)
          : Effect.map(reasoning.ask(Prompts.ExecuteStep, values), ({ text }) => text)
      const result = yield* Effect.tapError(work, () => PlanState.emit(PlanState.mark(state.steps, step.id, "failed")))
      const steps = PlanState.mark(state.steps, step.id, "completed")
      yield* PlanState.emit(steps)
      return { steps, results: [{ id: step.id, description: step.description, result }] }
    })

/** Writes the answer from the results. */
const aggregate = (state: State): Effect.Effect<Partial<State>, Strategy.StrategyBaseError, Reasoning.Reasoning> =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const skipped = state.steps.filter((step) => step.status === "skipped")
    const left = skipped.map(({ description, id }) => `Step ${id} was not carried out: ${description}`)
    const answer = yield* reasoning.finish(Prompts.AggregateStep, {
      task: reasoning.task.input,
      results: [PlanState.results(state.results), ...left].join("\n\n")
    })
    return { answer: PlanState.limited(answer, skipped.length > 0) }
  })

/**
 * The graph: `plan_step` → `execute_step` (again for each step) → `aggregate_results`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definition = <E = never, R = never>(
  options: Options<E, R> = {}
): GraphStrategy.GraphDefinition<
  Node,
  State,
  typeof State.Encoded,
  E | Strategy.StrategyBaseError,
  R | Strategy.StrategyServices | Reasoning.Reasoning
> => {
  const settings = resolve(options)
  const graph: StateGraph.StateGraph<
    Node,
    State,
    typeof State.Encoded,
    E | Strategy.StrategyBaseError,
    R | Strategy.StrategyServices | Reasoning.Reasoning
  > = StateGraph.make({
    name: NAME,
    state: State,
    nodes: { plan_step: plan(settings), execute_step: execute(settings), aggregate_results: aggregate },
    start: "plan_step",
    edges: {
      plan_step: "execute_step",
      execute_step: {
        to: ["execute_step", "aggregate_results"],
        labels: { execute_step: "steps left", aggregate_results: "no steps left" },
        when: (state) => (state.steps.some((step) => step.status === "pending") ? "execute_step" : "aggregate_results")
      },
      aggregate_results: "END"
    },
    reducers: { results: (current, update) => [...current, ...update] }
  })

  return {
    name: NAME,
    graph,
    start: () => ({ steps: [], variables: [], results: [] }),
    answer: (state) => PlanState.answerOf(state.answer),
    options
  }
}

/**
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { PlanAndSolve } from "effect-lexigram/strategy"
 *
 * const strategy = PlanAndSolve.make({ variant: "ps", maxSteps: 5 })
 * ```
 */
export const make = <E = never, R = never>(
  options: Options<E, R> = {}
): Strategy.Strategy<
  Exclude<E, Strategy.StrategyBaseError>,
  Exclude<R, Strategy.StrategyServices | Reasoning.Reasoning>
> => GraphStrategy.make(definition(options))
