/**
 * Trials with reflection (Shinn et al. 2023, "Reflexion: Language Agents with Verbal Reinforcement Learning"): try,
 * judge, and after a failure put into words what to do differently; the words are there in the next trial. Another form
 * criticises and refines one text.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as StateGraph from "../graph/StateGraph.js"
import { count } from "../internal/Count.js"
import * as ReflexionPrompts from "../prompt/defaults/ReflexionPrompts.js"
import * as Evaluator from "./definition/Evaluator.js"
import * as Reasoning from "./definition/Reasoning.js"
import type * as Strategy from "./definition/Strategy.js"
import {
  MaxIterationsExceededError,
  NoProgressError,
  PlanError,
  StrategyReplyError
} from "./definition/StrategyError.js"
import * as FunctionCalling from "./FunctionCalling.js"
import * as ReflexionActor from "./ReflexionActor.js"
import * as ReflexionCritique from "./ReflexionCritique.js"
import * as GraphStrategy from "./reasoning/GraphStrategy.js"
import * as ModelEvaluator from "./reasoning/ModelEvaluator.js"
import * as ToolLoop from "./reasoning/ToolLoop.js"

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
 * Its pattern in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "ReflexionAgent"

/**
 * `EI` and `RI` are those of `inner`, `EV` and `RV` those of `evaluator`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<out EI = never, out RI = never, out EV = never, out RV = never>
  extends ReflexionCritique.Options<EI, RI> {
  /** `trials` (default), or `critique`: generate, criticise, refine. */
  readonly form?: "trials" | "critique" | undefined
  /** Trials at most; default 3. */
  readonly maxTrials?: number | undefined
  /** Reflections that a trial sees, the latest ones; default 3. With 0 nothing is reflected on: plain retries. */
  readonly memorySize?: number | undefined
  /** Characters of a reflection that are kept; default 4,000. */
  readonly reflectionMaxChars?: number | undefined
  /** Characters of what a strategy did that its reflection sees; default 8,000. */
  readonly trajectoryMaxChars?: number | undefined
  /** Judges the trials; default the one provided as `Evaluator.Evaluator`, which is a model unless another is given. */
  readonly evaluator?: Evaluator.Service<EV, RV> | undefined
  /**
   * In the trials form: makes each trial a run of this strategy, with the reflections in its system prompt. Unset, a
   * task with tools is tried by `FunctionCalling`, one without by a plan and its execution. In the critique form it
   * writes the first text.
   */
  readonly inner?: Strategy.Strategy<EI, RI> | undefined
  /** In the critique form: rounds at most; default 3. The limit of the trials' own runs is their strategy's. */
  readonly maxIterations?: number | undefined
  /**
   * When no trial succeeds: the last answer that a trial gave, marked `limit` (default, as in the paper), or a failure.
   * Trials that gave no answer at all are a failure in either case. In the critique form: the same for a critic who is
   * never content.
   */
  readonly onLimit?: "answer" | "fail" | undefined
}

/**
 * The state of a run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  /** The trial, from 1; 0 before the first. */
  trial: Schema.Number,
  /** Reflections, the oldest first. */
  memory: Schema.Array(Schema.String),
  /** What the trial set out to do; of a strategy's run: what it did. */
  plan: Schema.String,
  /** What it came to. */
  outcome: Schema.String,
  /** Why there is nothing to judge, if there is nothing. */
  failure: Schema.String,
  verdict: Schema.optional(Evaluator.Verdict),
  reflection: Schema.String,
  /** The last answer that a trial gave. */
  last: Schema.optional(ReflexionActor.Answered),
  answer: Schema.optional(ReflexionActor.Answered)
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

/** Reflections are text of a model: further lines of one stay inside its item. */
const memoryText = (memory: ReadonlyArray<string>): string =>
  memory.length === 0 ? "None yet." : memory.map((reflection) => `- ${reflection.replace(/\r?\n/g, "\n  ")}`).join("\n")

const cut = (text: string, max: number): string =>
  text.length <= max ? text : text.slice(0, max).replace(/[\ud800-\udbff]$/, "")

/**
 * The graph of the trials. With a plan of its own a trial takes three model calls (plan, execution, evaluation), a
 * failed one that is not the last a fourth to reflect: `4 · trials - 1` in all, `3 · trials` without reflections. A
 * trial that is a run of another strategy takes what that takes, and evaluation and reflection. An evaluator of one's
 * own takes no model call. The answer is the text that was judged: what the accepted trial came to, or the last one.
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
  const maxTrials = count(options.maxTrials, 3, 1)
  const memorySize = count(options.memorySize, 3, 0)
  const reflectionMaxChars = count(options.reflectionMaxChars, 4000, 1)
  const trajectoryMaxChars = count(options.trajectoryMaxChars, 8000, 0)
  // The limit named in the options is that of the critique form.
  const calling = FunctionCalling.make({ ...options, maxIterations: undefined, onLimit: undefined })

  const actorOf = (task: Strategy.Task): Strategy.Strategy<EI, RI> | undefined =>
    options.inner ?? (task.tools.definitions.length > 0 ? calling : undefined)

  const valuesOf = (state: State, task: Strategy.Task) => ({
    task: task.input,
    trial_count: String(state.trial),
    max_trials: String(maxTrials),
    memory: memoryText(state.memory)
  })

  const byActor = (actor: Strategy.Strategy<EI, RI>, task: Strategy.Task, state: State) =>
    Effect.gen(function* () {
      const course = ReflexionActor.trajectory(trajectoryMaxChars)
      const run = ReflexionActor.act(actor, task, ReflexionPrompts.Act, valuesOf(state, task), course.note)
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

  const byPlan = (state: State) =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const { task } = reasoning
      const asked = reasoning.ask(
        ReflexionPrompts.Execute,
        { task: task.input, plan: state.plan },
        { show: "reasoning" }
      )
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

  const exceeded = (state: State) =>
    new MaxIterationsExceededError({
      strategyName: NAME,
      maxIterations: maxTrials,
      currentIteration: state.trial,
      message: `None of ${maxTrials} trials succeeded: ${(state.verdict?.reason ?? "").slice(0, 500)}`,
      hint:
        state.last === undefined
          ? "No trial gave an answer: raise the limits of its strategy, or `maxTrials`"
          : 'Raise `maxTrials`, or take the last answer with `onLimit: "answer"`'
    })

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
        plan_action_with_memory: (state: State) =>
          Effect.gen(function* () {
            const reasoning = yield* Reasoning.Reasoning
            const { run, task } = reasoning
            const next = { trial: state.trial + 1, plan: "", outcome: "", failure: "", reflection: "" }
            if (actorOf(task) !== undefined) return next
            const values = valuesOf({ ...state, ...next }, task)
            const { step, text } = yield* reasoning.ask(ReflexionPrompts.PlanWithMemory, values)
            yield* run.emit({ _tag: "Thought", step, text })
            return { ...next, plan: text }
          }),
        execute_action: (state: State) =>
          Effect.gen(function* () {
            const { task } = yield* Reasoning.Reasoning
            const actor = actorOf(task)
            return yield* actor === undefined ? byPlan(state) : byActor(actor, task, state)
          }),
        evaluate_outcome: (state: State) =>
          Effect.gen(function* () {
            const { run, steps, task } = yield* Reasoning.Reasoning
            const evaluator: Evaluator.Service<EV, RV> =
              options.evaluator ?? (yield* Evaluator.Evaluator) ?? ModelEvaluator.evaluator
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
          }),
        reflect_on_trial: (state: State) =>
          Effect.gen(function* () {
            const { ask, run, task } = yield* Reasoning.Reasoning
            const { step, text } = yield* ask(ReflexionPrompts.ReflectOnTrial, {
              task: task.input,
              plan: state.plan === "" ? nothing : state.plan,
              outcome: state.outcome.trim() === "" ? nothing : state.outcome,
              evaluation: state.verdict?.reason ?? ""
            })
            yield* run.emit({ _tag: "Thought", step, text })
            return { reflection: cut(text, reflectionMaxChars) }
          }),
        update_reflection_memory: (state: State) =>
          Effect.succeed({ memory: memorySize === 0 ? [] : [...state.memory, state.reflection].slice(-memorySize) }),
        final_output: (state: State) =>
          Effect.gen(function* () {
            const { last, verdict } = state
            const isSuccess = verdict?.success === true
            if (last === undefined || (!isSuccess && options.onLimit === "fail")) return yield* exceeded(state)
            return { answer: yield* ReflexionActor.hand(last, isSuccess ? last.reason : "limit") }
          })
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
            state.verdict?.success === true || state.trial >= maxTrials
              ? "final_output"
              : memorySize === 0
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
 * Ends with the first trial that succeeds; after a success, and after the last trial, nothing is reflected on.
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
