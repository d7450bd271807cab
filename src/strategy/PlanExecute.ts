/**
 * A plan first, then its steps one after another, then an answer from their results (Wang et al. 2023). A step that
 * fails leads to a new plan from there on.
 *
 * A step of a tool takes one model call that writes the arguments, unless the plan holds them already; a step of
 * reasoning takes one; plan, each new plan and the answer take one each.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as StateGraph from "../graph/StateGraph.js"
import { count } from "../internal/Count.js"
import type { LlmError } from "../llm/model/LlmError.js"
import * as ReActAction from "../plan/react/ReActAction.js"
import * as Prompts from "../prompt/defaults/PlanExecutePrompts.js"
import type { Bound } from "../tool/definition/ToolSet.js"
import type { Fatality } from "../tool/ToolRunner.js"
import * as Reasoning from "./definition/Reasoning.js"
import type { ReplyForm } from "./definition/ReplyForm.js"
import type * as Strategy from "./definition/Strategy.js"
import { MaxIterationsExceededError, type PlanError, type StrategyReplyError } from "./definition/StrategyError.js"
import * as Planner from "./planning/Planner.js"
import * as PlanReply from "./planning/PlanReply.js"
import * as PlanState from "./planning/PlanState.js"
import * as GraphStrategy from "./reasoning/GraphStrategy.js"
import * as ToolLoop from "./reasoning/ToolLoop.js"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "plan-execute"

/**
 * @since 0.1.0
 * @category constants
 */
export const PAPER = "Wang et al. 2023, Plan-and-Solve Prompting (arXiv 2305.04091), with tools and replanning"

/**
 * Its name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "PlanExecuteAgent"

/**
 * `E` and `R` are those of a planner.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<out E = never, out R = never> extends Reasoning.Options {
  /**
   * Steps of one plan that are carried out at most; default 10. What a plan has beyond is shown as skipped and told to
   * the last prompt.
   */
  readonly maxSteps?: number | undefined
  /** New plans at most; default 2. */
  readonly maxReplans?: number | undefined
  /**
   * When a step fails and no new plan may be made: fail with `MaxIterationsExceededError` (default), or answer from
   * what stands, marked `limit`.
   */
  readonly onLimit?: "fail" | "answer" | undefined
  /**
   * Whether the model may answer at once, without a plan, where the task needs none; default true. Else it is asked for
   * a plan again.
   */
  readonly directAnswer?: boolean | undefined
  /** Plans instead of the model. Tools it names that do not exist become steps of reasoning. */
  readonly planner?: Planner.Planner<E, R> | undefined
}

/**
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  steps: Schema.Array(PlanState.Step),
  /** Of the steps that are completed, in their order. */
  results: Schema.Array(PlanState.Result),
  /** Of the steps that failed, in their order. */
  failures: Schema.Array(PlanState.Failure),
  /** The step whose failure a new plan is to be made for. */
  failed: Schema.NullOr(PlanState.Failure),
  replans: Schema.Number,
  /** A limit was reached: steps were left out, or no new plan could be made. */
  limited: Schema.Boolean,
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
export type Node = "plan" | "execute_step" | "replan" | "synthesize"

type Asked = LlmError | Fatality | StrategyReplyError

/** The tool of the task that a plan means. */
const toolOf = (tools: Bound, name: string) => {
  const known = ReActAction.knownTool(name, ToolLoop.writtenNames(tools)) ?? name
  return tools.get(known)
}

const toolsText = (tools: Bound): string =>
  tools.definitions.length === 0
    ? "There are no tools: all steps are steps of reasoning."
    : tools.definitions
        .map(
          ({ description, name, parameters }) =>
            `- ${name}: ${description.replace(/\s+/g, " ")}\n  Parameters: ${JSON.stringify(parameters)}`
        )
        .join("\n")

const unknownTools = (tools: Bound, steps: ReadonlyArray<Planner.Step>): ReadonlyArray<string> =>
  steps.flatMap(({ tool }) => (tool === undefined || toolOf(tools, tool) !== undefined ? [] : [tool.slice(0, 128)]))

const namesOf = (tools: Bound): string =>
  tools.definitions.length === 0 ? "there are no tools" : tools.definitions.map(({ name }) => name).join(", ")

/**
 * A plan of the model. One that names tools which do not exist is asked for once more, with the names of those that do.
 */
const ask = <Variable extends string>(
  prompt: Parameters<Reasoning.Service["askFor"]>[0] & { readonly variables: ReadonlyArray<Variable> },
  values: { readonly [K in Variable]: string },
  form: ReplyForm<PlanReply.Drafted>
): Effect.Effect<Reasoning.Formed<PlanReply.Drafted>, Asked, Reasoning.Reasoning> =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const first = yield* reasoning.askFor(prompt, values, form)
    const { tools } = reasoning.task
    const unknown = unknownTools(tools, first.value.steps)
    if (unknown.length === 0) return first
    const names = Array.from(new Set(unknown), (name) => JSON.stringify(name)).slice(0, 20)
    return yield* reasoning.askFor(prompt, values, form, {
      follow: [
        { role: "assistant", content: first.text },
        {
          role: "user",
          content: `There is no tool ${names.join(", ")}. The tools are: ${namesOf(tools)}. Write the whole plan again: name none but these, and make what none of them can do a step of reasoning.`
        }
      ]
    })
  })

/** The steps as they are carried out: numbered, tools by their own names, those beyond `maxSteps` skipped. */
const place = (
  tools: Bound,
  drafted: ReadonlyArray<Planner.Step>,
  options: { readonly after: number; readonly maxSteps: number }
): ReadonlyArray<PlanState.Step> =>
  drafted.map((step, index) => {
    const tool = step.tool === undefined ? undefined : toolOf(tools, step.tool)
    const lost = step.tool !== undefined && tool === undefined
    return {
      id: String(options.after + index + 1),
      description: lost
        ? `${step.description} (by reasoning: there is no tool ${JSON.stringify(step.tool?.slice(0, 128))})`
        : step.description,
      ...(tool === undefined ? {} : { tool: tool.name }),
      ...(tool === undefined || step.arguments === undefined ? {} : { arguments: step.arguments }),
      status: index < options.maxSteps ? "pending" : "skipped"
    }
  })

type Outcome = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly text: string }

const replyFailed = (error: { readonly message: string }): Effect.Effect<Outcome> =>
  Effect.succeed({ ok: false, text: error.message })

/**
 * A tool's failure and a reply that cannot be used are failures of the step; what is wrong with the model itself ends
 * the run.
 */
const callTool = (state: State, step: PlanState.Step, toolName: string) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { tools } = reasoning.task
    const tool = tools.get(toolName)
    if (tool === undefined) return yield* replyFailed({ message: `There is no tool named "${toolName}"` })
    const given = step.arguments ?? (PlanState.takesNothing(tool.parameters) ? {} : undefined)
    const ready =
      given !== undefined && !PlanReply.refers(given) && (yield* PlanReply.problem(tools, tool, given)) === undefined
    const written = ready
      ? { value: given, step: yield* reasoning.begin(Prompts.ToolInput.name) }
      : yield* reasoning.askFor(
          Prompts.ToolInput,
          {
            task: reasoning.task.input,
            step: step.description,
            tool: `${toolName}: ${tool.description}`,
            parameters: JSON.stringify(tool.parameters),
            previous_results: PlanState.results(state.results)
          },
          PlanReply.toolInput(tools, tool)
        )
    const outcome = yield* reasoning.call(
      { id: `plan_${step.id}`, name: toolName, params: written.value },
      written.step
    )
    return { ok: !outcome.isFailure, text: outcome.observation } as Outcome
  })

const reason = (state: State, step: PlanState.Step) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { step: number, value } = yield* reasoning.askFor(
      Prompts.Reason,
      { task: reasoning.task.input, step: step.description, previous_results: PlanState.results(state.results) },
      PlanReply.reasoned
    )
    if (value.thought !== "") yield* reasoning.run.emit({ _tag: "Thought", step: number, text: value.thought })
    return { ok: value.done, text: value.result } as Outcome
  })

const execute = (state: State): Effect.Effect<Partial<State>, Asked, Reasoning.Reasoning> =>
  Effect.gen(function* () {
    const step = state.steps.find((one) => one.status === "pending")
    if (step === undefined) return {}
    const work: Effect.Effect<Outcome, Asked, Reasoning.Reasoning> =
      step.tool === undefined ? reason(state, step) : callTool(state, step, step.tool)
    const outcome = yield* Effect.catchTags(work, {
      StrategyReplyError: replyFailed,
      LlmContentPolicyError: replyFailed
    })
    const steps = PlanState.mark(state.steps, step.id, outcome.ok ? "completed" : "failed")
    yield* PlanState.emit(steps)
    const { description, id } = step
    if (outcome.ok) return { steps, results: [{ id, description, result: outcome.text }] }
    const failure = { id, description, error: outcome.text }
    return { steps, failures: [failure], failed: failure }
  })

const isLast = (state: State): boolean => state.steps.every((step) => step.status !== "pending")

/** What the answer has to reckon with. */
const notes = (state: State): string => {
  const skipped = state.steps.filter((step) => step.status === "skipped")
  const lines = [
    ...state.failures.map(({ description, error, id }) => `- Step ${id} failed (${description}): ${error}`),
    ...skipped.map(({ description, id }) => `- Step ${id} was not carried out (${description})`)
  ]
  return lines.length === 0 ? "Every step was carried out." : lines.join("\n")
}

/**
 * The graph: `plan` → `execute_step` (again for each step) → `synthesize`; a step that fails leads to `replan` and
 * back.
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
  E | Asked | PlanError | MaxIterationsExceededError,
  R | Reasoning.Reasoning
> => {
  const { planner } = options
  const maxSteps = count(options.maxSteps, 10, 1)
  const maxReplans = count(options.maxReplans, 2, 0)
  const direct = options.directAnswer ?? true
  const answerAtLimit = options.onLimit === "answer"

  const plan = (): Effect.Effect<Partial<State>, E | Asked | PlanError, R | Reasoning.Reasoning> =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const { task } = reasoning
      let drafted: ReadonlyArray<Planner.Step>
      if (planner === undefined) {
        const reply = yield* ask(
          Prompts.Plan,
          {
            task: task.input,
            tools: toolsText(task.tools),
            max_steps: String(maxSteps),
            direct_answer: direct ? Prompts.DIRECT_ANSWER : Prompts.NO_DIRECT_ANSWER
          },
          PlanReply.plan(direct)
        )
        const { answer } = reply.value
        if (answer !== undefined) {
          const reason = ToolLoop.finishReason(reply.response.finishReason)
          return { answer: yield* PlanState.shown(answer, reason) }
        }
        drafted = reply.value.steps
      } else {
        drafted = yield* Planner.run(planner, NAME, { task, completed: [] })
      }
      const steps = place(task.tools, drafted, { after: 0, maxSteps })
      yield* PlanState.emit(steps)
      return { steps, limited: drafted.length > maxSteps }
    })

  const replan = (
    state: State
  ): Effect.Effect<Partial<State>, E | Asked | PlanError | MaxIterationsExceededError, R | Reasoning.Reasoning> =>
    Effect.gen(function* () {
      const { failed } = state
      if (failed === null) return {}
      const reasoning = yield* Reasoning.Reasoning
      const { task } = reasoning
      const remaining = state.steps.filter((step) => step.status === "pending")
      const standing = PlanState.skip(state.steps)
      if (state.replans >= maxReplans) {
        if (!answerAtLimit) {
          return yield* new MaxIterationsExceededError({
            strategyName: NAME,
            maxIterations: maxReplans,
            currentIteration: state.replans,
            message: `Step ${failed.id} of the plan failed after ${state.replans} new plans: ${failed.error.slice(0, 500)}`,
            hint: 'Raise `maxReplans`, or take an answer from what stands with `onLimit: "answer"`'
          })
        }
        yield* PlanState.emit(standing)
        return { steps: standing, failed: null, limited: true }
      }
      const drafted =
        planner === undefined
          ? (yield* ask(
              Prompts.Replan,
              {
                task: task.input,
                tools: toolsText(task.tools),
                max_steps: String(maxSteps),
                completed: PlanState.results(state.results),
                failed_step: `Step ${failed.id}: ${failed.description}`,
                error: failed.error,
                remaining: PlanState.list(remaining)
              },
              PlanReply.replan
            )).value.steps
          : yield* Planner.run(planner, NAME, { task, completed: state.results, failed })
      const added = place(task.tools, drafted, { after: state.steps.length, maxSteps })
      const steps = [...standing, ...added]
      yield* PlanState.emit(steps)
      return { steps, failed: null, replans: state.replans + 1, limited: state.limited || drafted.length > maxSteps }
    })

  const synthesize = (state: State): Effect.Effect<Partial<State>, Asked, Reasoning.Reasoning> =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const answer = yield* reasoning.finish(Prompts.Synthesize, {
        task: reasoning.task.input,
        results: PlanState.results(state.results),
        notes: notes(state)
      })
      return { answer: PlanState.limited(answer, state.limited) }
    })

  const graph: StateGraph.StateGraph<
    Node,
    State,
    typeof State.Encoded,
    E | Asked | PlanError | MaxIterationsExceededError,
    R | Reasoning.Reasoning
  > = StateGraph.make({
    name: NAME,
    state: State,
    nodes: { plan, execute_step: execute, replan, synthesize },
    start: "plan",
    edges: {
      plan: {
        to: ["execute_step", "END"],
        labels: { execute_step: "a plan", END: "answered" },
        when: (state) => (state.answer === undefined ? "execute_step" : "END")
      },
      execute_step: {
        to: ["execute_step", "replan", "synthesize"],
        labels: { execute_step: "steps left", replan: "a step failed", synthesize: "no steps left" },
        when: (state) => (state.failed !== null ? "replan" : isLast(state) ? "synthesize" : "execute_step")
      },
      replan: {
        to: ["execute_step", "synthesize"],
        labels: { execute_step: "steps left", synthesize: "no steps left" },
        when: (state) => (isLast(state) ? "synthesize" : "execute_step")
      },
      synthesize: "END"
    },
    reducers: {
      results: (current, update) => [...current, ...update],
      failures: (current, update) => [...current, ...update]
    }
  })

  return {
    name: NAME,
    graph,
    start: () => ({ steps: [], results: [], failures: [], failed: null, replans: 0, limited: false }),
    answer: (state) => PlanState.answerOf(state.answer),
    options
  }
}

/**
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { PlanExecute } from "effect-lexigram/strategy"
 *
 * const strategy = PlanExecute.make({ maxSteps: 6, onLimit: "answer" })
 * ```
 */
export const make = <E = never, R = never>(
  options: Options<E, R> = {}
): Strategy.Strategy<
  Exclude<E, Strategy.StrategyBaseError>,
  Exclude<R, Strategy.StrategyServices | Reasoning.Reasoning>
> => GraphStrategy.make(definition(options))
