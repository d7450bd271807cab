/**
 * Trials with reflection (Shinn et al. 2023, "Reflexion: Language Agents with Verbal Reinforcement Learning"). It
 * tries, judges, and after a failure writes down what to do differently for the next trial. The critique form
 * criticizes and refines one text instead.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as StateGraph from "../../graph/StateGraph.js"
import { count } from "../../internal/Count.js"
import * as ReflexionPrompts from "../../prompt/defaults/ReflexionPrompts.js"
import * as Evaluator from "../definition/Evaluator.js"
import * as Reasoning from "../definition/Reasoning.js"
import type * as Strategy from "../definition/Strategy.js"
import {
  MaxIterationsExceededError,
  NoProgressError,
  PlanError,
  StrategyReplyError
} from "../definition/StrategyError.js"
import * as FunctionCalling from "../loop/FunctionCalling.js"
import * as GraphStrategy from "../reasoning/GraphStrategy.js"
import * as ModelEvaluator from "../reasoning/ModelEvaluator.js"
import * as ToolLoop from "../reasoning/ToolLoop.js"
import * as ReflexionActor from "./ReflexionActor.js"
import * as ReflexionCritique from "./ReflexionCritique.js"
import { type Options, State } from "./ReflexionState.js"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "reflexion"

/**
 * @since 0.1.0
 * @category constants
 */
export const PAPER =
  "Shinn et al. 2023, Reflexion: Language Agents with Verbal Reinforcement Learning (arXiv 2303.11366)"

/**
 * The pattern's name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "ReflexionAgent"

export { type Options, State } from "./ReflexionState.js"

/**
 * @since 0.1.0
 * @category models
 */
export type Node =
  | "plan_action_with_memory"
  | "execute_action"
  | "evaluate_outcome"
  | "reflect_on_trial"
  | "update_reflection_memory"
  | "final_output"

type TrialFailure = MaxIterationsExceededError | NoProgressError | PlanError | StrategyReplyError

const isTrialFailure = (error: unknown): error is TrialFailure =>
  error instanceof MaxIterationsExceededError ||
  error instanceof NoProgressError ||
  error instanceof PlanError ||
  error instanceof StrategyReplyError

const nothing = "(nothing)"

/** A reflection is text of a model: its further lines stay inside its item. */
const memoryText = (memory: ReadonlyArray<string>): string =>
  memory.length === 0 ? "None yet." : memory.map((reflection) => `- ${reflection.replace(/\r?\n/g, "\n  ")}`).join("\n")

const truncate = (text: string, max: number): string =>
  text.length <= max ? text : text.slice(0, max).replace(/[\ud800-\udbff]$/, "")

/** The options with their defaults. */
interface Settings<EI, RI, EV, RV> {
  readonly maxTrials: number
  readonly memorySize: number
  readonly reflectionMaxChars: number
  readonly trajectoryMaxChars: number
  readonly evaluator: Evaluator.Service<EV, RV> | undefined
  readonly inner: Strategy.Strategy<EI, RI> | undefined
  /** Runs the trials of a task with tools. */
  readonly calling: Strategy.Strategy
  readonly onLimit: "answer" | "fail" | undefined
}

const resolve = <EI, RI, EV, RV>(options: Options<EI, RI, EV, RV>): Settings<EI, RI, EV, RV> => ({
  maxTrials: count(options.maxTrials, 3, 1),
  memorySize: count(options.memorySize, 3, 0),
  reflectionMaxChars: count(options.reflectionMaxChars, 4000, 1),
  trajectoryMaxChars: count(options.trajectoryMaxChars, 8000, 0),
  evaluator: options.evaluator,
  inner: options.inner,
  // `maxIterations` of the options is the limit of the critique form.
  calling: FunctionCalling.make({ ...options, maxIterations: undefined, onLimit: undefined }),
  onLimit: options.onLimit
})

/** The strategy that runs a trial, if one does. */
const actorOf = <EI, RI>(
  { calling, inner }: Settings<EI, RI, any, any>,
  task: Strategy.Task
): Strategy.Strategy<EI, RI> | undefined => inner ?? (task.tools.definitions.length > 0 ? calling : undefined)

const valuesOf = (maxTrials: number, state: State, task: Strategy.Task) => ({
  task: task.input,
  trial_count: String(state.trial),
  max_trials: String(maxTrials),
  memory: memoryText(state.memory)
})

/** A trial as a run of a strategy. */
const byActor = <EI, RI>(
  { maxTrials, trajectoryMaxChars }: Settings<EI, RI, any, any>,
  actor: Strategy.Strategy<EI, RI>,
  task: Strategy.Task,
  state: State
) =>
  Effect.gen(function* () {
    const course = ReflexionActor.trajectory(trajectoryMaxChars)
    const run = ReflexionActor.act(actor, task, ReflexionPrompts.Act, valuesOf(maxTrials, state, task), course.note)
    const ended = yield* Effect.catchIf(run, isTrialFailure, (error) => Effect.succeed(error))
    const plan = course.text()
    if (isTrialFailure(ended)) return { plan, failure: `The attempt ended without an answer: ${ended.message}` }
    return {
      plan,
      outcome: ended.text,
      last: ended,
      ...(ended.reason === "limit" ? { failure: "The attempt reached its limit before it had an answer" } : {})
    }
  })

/** A trial as the execution of its plan. */
const byPlan = (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { task } = reasoning
    const asked = reasoning.ask(ReflexionPrompts.Execute, { task: task.input, plan: state.plan }, { show: "reasoning" })
    const replied = yield* Effect.catchTag(asked, "StrategyReplyError", (error) => Effect.succeed(error))
    if (replied instanceof StrategyReplyError) {
      return { failure: `The attempt ended without an answer: ${replied.message}` }
    }
    const messages: Strategy.Answer["messages"] = [
      { role: "user", content: task.input },
      { role: "assistant", content: replied.text }
    ]
    const reason = ToolLoop.finishReason(replied.response.finishReason)
    const last: Strategy.Answer = { text: replied.text, reason, messages }
    return { outcome: replied.text, last }
  })

const exceeded = (maxTrials: number, state: State) =>
  new MaxIterationsExceededError({
    strategyName: NAME,
    maxIterations: maxTrials,
    currentIteration: state.trial,
    message: `None of ${maxTrials} trials succeeded: ${(state.verdict?.reason ?? "").slice(0, 500)}`,
    hint:
      state.last === undefined
        ? "No trial gave an answer: raise the limits of its strategy, or `maxTrials`"
        : 'Raise `maxTrials`, or return the last answer with `onLimit: "answer"`'
  })

/** Plans the next trial, unless a strategy runs it. */
const planAction =
  <EI, RI, EV, RV>(settings: Settings<EI, RI, EV, RV>) =>
  (state: State) =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const { run, task } = reasoning
      const next = { trial: state.trial + 1, plan: "", outcome: "", failure: "", reflection: "" }
      if (actorOf(settings, task) !== undefined) return next
      const values = valuesOf(settings.maxTrials, { ...state, ...next }, task)
      const { step, text } = yield* reasoning.ask(ReflexionPrompts.PlanWithMemory, values)
      yield* run.emit({ _tag: "Thought", step, text })
      return { ...next, plan: text }
    })

/** Runs the trial. */
const executeAction =
  <EI, RI, EV, RV>(settings: Settings<EI, RI, EV, RV>) =>
  (state: State) =>
    Effect.gen(function* () {
      const { task } = yield* Reasoning.Reasoning
      const actor = actorOf(settings, task)
      return yield* actor === undefined ? byPlan(state) : byActor(settings, actor, task, state)
    })

/** Judges the trial. */
const evaluateOutcome =
  <EI, RI, EV, RV>(settings: Settings<EI, RI, EV, RV>) =>
  (state: State) =>
    Effect.gen(function* () {
      const { run, steps, task } = yield* Reasoning.Reasoning
      const evaluator: Evaluator.Service<EV, RV> =
        settings.evaluator ?? (yield* Evaluator.Evaluator) ?? ModelEvaluator.evaluator
      const verdict: Evaluator.Verdict =
        state.failure !== "" || state.last === undefined
          ? { success: false, reason: state.failure }
          : yield* evaluator.evaluate(task, state.last)
      yield* run.emit({
        _tag: "Critique",
        step: steps(),
        text: verdict.reason,
        accepted: verdict.success,
        ...(verdict.score === undefined ? {} : { score: verdict.score })
      })
      return { verdict }
    })

/** Asks for a lesson from the failed trial. */
const reflectOnTrial = (settings: Settings<any, any, any, any>) => (state: State) =>
  Effect.gen(function* () {
    const { ask, run, task } = yield* Reasoning.Reasoning
    const { step, text } = yield* ask(ReflexionPrompts.ReflectOnTrial, {
      task: task.input,
      plan: state.plan === "" ? nothing : state.plan,
      outcome: state.outcome.trim() === "" ? nothing : state.outcome,
      evaluation: state.verdict?.reason ?? ""
    })
    yield* run.emit({ _tag: "Thought", step, text })
    return { reflection: truncate(text, settings.reflectionMaxChars) }
  })

/** Remembers the lesson. */
const updateMemory = (settings: Settings<any, any, any, any>) => (state: State) =>
  Effect.succeed({
    memory: settings.memorySize === 0 ? [] : [...state.memory, state.reflection].slice(-settings.memorySize)
  })

/** Answers with the last answer of a trial. */
const finalOutput = (settings: Settings<any, any, any, any>) => (state: State) =>
  Effect.gen(function* () {
    const { last, verdict } = state
    const isSuccess = verdict?.success === true
    if (last === undefined || (!isSuccess && settings.onLimit === "fail"))
      return yield* exceeded(settings.maxTrials, state)
    return { answer: yield* ReflexionActor.toRunAnswer(last, isSuccess ? last.reason : "limit") }
  })

/**
 * The graph of the trials. A trial with a plan takes three model calls (plan, execution, evaluation), and a failed one
 * that is not the last takes a fourth to reflect: `4 · trials - 1` in total, `3 · trials` without reflections. A trial
 * that runs another strategy takes the calls of that strategy, plus evaluation and reflection. A custom evaluator takes
 * no model call. The answer is the judged text of the accepted trial, or of the last one.
 *
 * A trial whose run reaches its own limit, goes in circles, finds no plan or gets no usable reply has failed and is not
 * evaluated.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definition = <EI = never, RI = never, EV = never, RV = never>(
  options: Options<EI, RI, EV, RV> = {}
): GraphStrategy.GraphDefinition<
  Node,
  State,
  typeof State.Encoded,
  EI | EV | Strategy.StrategyBaseError,
  RI | RV | Strategy.StrategyServices | Reasoning.Reasoning
> => {
  const settings = resolve(options)
  return {
    name: NAME,
    options,
    start: () => ({ trial: 0, memory: [], plan: "", outcome: "", failure: "", reflection: "" }),
    answer: (state) =>
      state.answer === undefined
        ? Effect.dieMessage("final_output did not run: the graph was changed so that it ends without it")
        : Effect.succeed(state.answer),
    graph: StateGraph.make({
      name: NAME,
      state: State,
      start: "plan_action_with_memory",
      nodes: {
        plan_action_with_memory: planAction(settings),
        execute_action: executeAction(settings),
        evaluate_outcome: evaluateOutcome(settings),
        reflect_on_trial: reflectOnTrial(settings),
        update_reflection_memory: updateMemory(settings),
        final_output: finalOutput(settings)
      },
      edges: {
        plan_action_with_memory: "execute_action",
        execute_action: "evaluate_outcome",
        evaluate_outcome: {
          to: ["reflect_on_trial", "plan_action_with_memory", "final_output"],
          labels: {
            reflect_on_trial: "failed",
            plan_action_with_memory: "failed, without memory",
            final_output: "succeeded or no trials left"
          },
          when: (state) =>
            state.verdict?.success === true || state.trial >= settings.maxTrials
              ? "final_output"
              : settings.memorySize === 0
                ? "plan_action_with_memory"
                : "reflect_on_trial"
        },
        reflect_on_trial: "update_reflection_memory",
        update_reflection_memory: "plan_action_with_memory",
        final_output: StateGraph.END
      }
    })
  }
}

/**
 * The graph of the critique form.
 *
 * @since 0.1.0
 * @category constructors
 */
export const critiqueDefinition = <E = never, R = never>(
  options: ReflexionCritique.Options<E, R> = {}
): ReturnType<typeof ReflexionCritique.definition<E, R>> => ReflexionCritique.definition(NAME, options)

/**
 * Makes the strategy. It ends with the first successful trial. There is no reflection after a success or after the last
 * trial.
 *
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { Reflexion } from "effect-lexigram/strategy"
 *
 * const agent = Agent.make("researcher", { strategy: Reflexion.make({ maxTrials: 2, memorySize: 3 }) })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <EI = never, RI = never, EV = never, RV = never>(
  options: Options<EI, RI, EV, RV> = {}
): Strategy.Strategy<EI | EV, RI | RV> =>
  (options.form === "critique"
    ? GraphStrategy.make(critiqueDefinition(options))
    : GraphStrategy.make(definition(options))) as Strategy.Strategy<EI | EV, RI | RV>
