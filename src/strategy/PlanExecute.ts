/**
 * Plan-and-execute: makes a plan, carries out its steps one at a time, and answers from their results (Wang et al.
 * 2023). A failed step leads to a new plan for the rest.
 *
 * A tool step takes one model call that writes the arguments, unless the plan contains them; a reasoning step takes
 * one; the plan, each new plan and the answer take one each.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as StateGraph from "../graph/StateGraph.js"
import { count } from "../internal/Count.js"
import type { LlmError } from "../llm/model/LlmError.js"
import * as Prompts from "../prompt/defaults/PlanExecutePrompts.js"
import type { Fatality } from "../tool/ToolRunner.js"
import * as Reasoning from "./definition/Reasoning.js"
import type * as Strategy from "./definition/Strategy.js"
import { MaxIterationsExceededError, type PlanError, type StrategyReplyError } from "./definition/StrategyError.js"
import * as PlanDraft from "./planning/PlanDraft.js"
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
 * The pattern's name in the prompt library.
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
   * Maximum number of steps of one plan carried out; default 10. Further steps are shown as skipped and passed to the
   * last prompt.
   */
  readonly maxSteps?: number | undefined
  /** Maximum number of new plans; default 2. */
  readonly maxReplans?: number | undefined
  /**
   * If a step fails and no new plan is allowed: fail with `MaxIterationsExceededError` (default), or answer from the
   * available results, marked `limit`.
   */
  readonly onLimit?: "fail" | "answer" | undefined
  /**
   * Whether the model may answer directly without a plan if the task needs none; default true. Otherwise it is asked
   * for a plan again.
   */
  readonly directAnswer?: boolean | undefined
  /** Plans instead of the model. Unknown tools that it names become reasoning steps. */
  readonly planner?: Planner.Planner<E, R> | undefined
}

/**
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  steps: Schema.Array(PlanState.Step),
  /** Results of the completed steps, in order. */
  results: Schema.Array(PlanState.Result),
  /** Failures of the failed steps, in order. */
  failures: Schema.Array(PlanState.Failure),
  /** The failed step that requires a new plan. */
  failed: Schema.NullOr(PlanState.Failure),
  replans: Schema.Number,
  /** Whether a limit was reached: steps were omitted, or no new plan was allowed. */
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

type Outcome = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly text: string }

const replyFailed = (error: { readonly message: string }): Effect.Effect<Outcome> =>
  Effect.succeed({ ok: false, text: error.message })

/**
 * A failed tool or an unusable reply is a failure of the step. A failure of the model itself ends the run.
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

/** What the answer must take into account. */
const notes = (state: State): string => {
  const skipped = state.steps.filter((step) => step.status === "skipped")
  const lines = [
    ...state.failures.map(({ description, error, id }) => `- Step ${id} failed (${description}): ${error}`),
    ...skipped.map(({ description, id }) => `- Step ${id} was not carried out (${description})`)
  ]
  return lines.length === 0 ? "Every step was carried out." : lines.join("\n")
}

/** The options with their defaults. */
interface Settings<E, R> {
  readonly planner: Planner.Planner<E, R> | undefined
  readonly maxSteps: number
  readonly maxReplans: number
  /** Whether the model may answer without a plan. */
  readonly direct: boolean
  readonly answersAtLimit: boolean
}

const resolve = <E, R>(options: Options<E, R>): Settings<E, R> => ({
  planner: options.planner,
  maxSteps: count(options.maxSteps, 10, 1),
  maxReplans: count(options.maxReplans, 2, 0),
  direct: options.directAnswer ?? true,
  answersAtLimit: options.onLimit === "answer"
})

const exceeded = (replans: number, maxReplans: number, failed: PlanState.Failure) =>
  new MaxIterationsExceededError({
    strategyName: NAME,
    maxIterations: maxReplans,
    currentIteration: replans,
    message: `Step ${failed.id} of the plan failed after ${replans} new plans: ${failed.error.slice(0, 500)}`,
    hint: 'Raise `maxReplans`, or return a partial answer with `onLimit: "answer"`'
  })

/** Makes the first plan, or answers directly. */
const plan =
  <E, R>(settings: Settings<E, R>) =>
  (): Effect.Effect<Partial<State>, E | Asked | PlanError, R | Reasoning.Reasoning> =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const { task } = reasoning
      let drafted: ReadonlyArray<Planner.Step>
      if (settings.planner === undefined) {
        const reply = yield* PlanDraft.ask(
          Prompts.Plan,
          {
            task: task.input,
            tools: PlanDraft.toolsText(task.tools),
            max_steps: String(settings.maxSteps),
            direct_answer: settings.direct ? Prompts.DIRECT_ANSWER : Prompts.NO_DIRECT_ANSWER
          },
          PlanReply.plan(settings.direct)
        )
        const { answer } = reply.value
        if (answer !== undefined) {
          const reason = ToolLoop.finishReason(reply.response.finishReason)
          return { answer: yield* PlanState.emitAnswer(answer, reason) }
        }
        drafted = reply.value.steps
      } else {
        drafted = yield* Planner.run(settings.planner, NAME, { task, completed: [] })
      }
      const steps = PlanDraft.place(task.tools, drafted, { after: 0, maxSteps: settings.maxSteps })
      yield* PlanState.emit(steps)
      return { steps, limited: drafted.length > settings.maxSteps }
    })

/** Makes a new plan after a failed step. */
const replan =
  <E, R>(settings: Settings<E, R>) =>
  (
    state: State
  ): Effect.Effect<Partial<State>, E | Asked | PlanError | MaxIterationsExceededError, R | Reasoning.Reasoning> =>
    Effect.gen(function* () {
      const { failed } = state
      if (failed === null) return {}
      const reasoning = yield* Reasoning.Reasoning
      const { task } = reasoning
      const remaining = state.steps.filter((step) => step.status === "pending")
      const standing = PlanState.skip(state.steps)
      if (state.replans >= settings.maxReplans) {
        if (!settings.answersAtLimit) {
          return yield* exceeded(state.replans, settings.maxReplans, failed)
        }
        yield* PlanState.emit(standing)
        return { steps: standing, failed: null, limited: true }
      }
      const drafted =
        settings.planner === undefined
          ? (yield* PlanDraft.ask(
              Prompts.Replan,
              {
                task: task.input,
                tools: PlanDraft.toolsText(task.tools),
                max_steps: String(settings.maxSteps),
                completed: PlanState.results(state.results),
                failed_step: `Step ${failed.id}: ${failed.description}`,
                error: failed.error,
                remaining: PlanState.list(remaining)
              },
              PlanReply.replan
            )).value.steps
          : yield* Planner.run(settings.planner, NAME, { task, completed: state.results, failed })
      const added = PlanDraft.place(task.tools, drafted, { after: state.steps.length, maxSteps: settings.maxSteps })
      const steps = [...standing, ...added]
      yield* PlanState.emit(steps)
      return {
        steps,
        failed: null,
        replans: state.replans + 1,
        limited: state.limited || drafted.length > settings.maxSteps
      }
    })

/** Writes the answer from the results. */
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

/**
 * The graph: `plan` → `execute_step` (repeated per step) → `synthesize`; a failed step leads to `replan` and back.
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
  const settings = resolve(options)
  const graph: StateGraph.StateGraph<
    Node,
    State,
    typeof State.Encoded,
    E | Asked | PlanError | MaxIterationsExceededError,
    R | Reasoning.Reasoning
  > = StateGraph.make({
    name: NAME,
    state: State,
    nodes: { plan: plan(settings), execute_step: execute, replan: replan(settings), synthesize },
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
