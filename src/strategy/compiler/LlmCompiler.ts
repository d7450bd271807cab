/**
 * LLMCompiler: a plan of tool calls that runs in parallel (Kim et al. 2023, "An LLM Compiler for Parallel Function
 * Calling"). A planner writes the calls and their dependencies, a task fetching unit makes each call as soon as it can,
 * even while the plan is still being written, and a joiner answers or asks for another plan.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { FinishReason } from "../../domain/AgentEvent.js"
import * as StateGraph from "../../graph/StateGraph.js"
import { count } from "../../internal/Count.js"
import * as PlanResults from "../../plan/PlanResults.js"
import * as LlmCompilerPrompts from "../../prompt/defaults/LlmCompilerPrompts.js"
import * as Reasoning from "../definition/Reasoning.js"
import * as ReplyForm from "../definition/ReplyForm.js"
import type * as Strategy from "../definition/Strategy.js"
import { MaxIterationsExceededError } from "../definition/StrategyError.js"
import * as FencedText from "../reasoning/FencedText.js"
import * as GraphStrategy from "../reasoning/GraphStrategy.js"
import * as ToolLoop from "../reasoning/ToolLoop.js"
import * as LlmCompilerRound from "./LlmCompilerRound.js"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "llm-compiler"

/**
 * @since 0.1.0
 * @category constants
 */
export const PAPER = "Kim et al. 2023, An LLM Compiler for Parallel Function Calling (arXiv 2312.04511)"

/**
 * The pattern's name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "LLMCompilerAgent"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Reasoning.Options {
  /** Calls of a plan that run concurrently; default `toolConcurrency`, which is 8 unless the agent sets another. */
  readonly maxParallel?: number | undefined
  /** Maximum number of calls in one plan; default 50. A longer plan is rejected. */
  readonly maxTasks?: number | undefined
  /** Maximum number of further plans that the joiner may ask for; default 2. */
  readonly maxReplans?: number | undefined
  /**
   * Whether the answer is written in a separate, streamed call instead of by the joiner. Default: only if the task has
   * an output specification.
   */
  readonly synthesize?: boolean | undefined
  /**
   * If the joiner asks for more plans than allowed: fail with `MaxIterationsExceededError` (default), or write the
   * answer from the available results, marked `limit`.
   */
  readonly onLimit?: "fail" | "answer" | undefined
}

const Round = Schema.Struct({
  calls: Schema.Array(PlanResults.Call),
  /** What the joiner missed; `""` if nothing. */
  feedback: Schema.String
})
type Round = typeof Round.Type

/**
 * The decision of the joiner.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Verdict = Schema.Struct({
  thought: Schema.optional(Schema.NullOr(Schema.String)).annotations({
    description: "What the results say about the task, and what they lack"
  }),
  action: Schema.Literal("finish", "replan").annotations({
    description: "`finish` when there is an answer, `replan` when another plan is needed"
  }),
  answer: Schema.optional(Schema.NullOr(Schema.String)).annotations({ description: "With `finish`: the whole answer" }),
  feedback: Schema.optional(Schema.NullOr(Schema.String)).annotations({
    description: "With `replan`: what the next plan has to find out or do differently"
  })
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Verdict extends Schema.Schema.Type<typeof Verdict> {}

/**
 * The state of a run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  /** The plans so far, with their results. */
  rounds: Schema.Array(Round),
  verdict: Schema.optional(Verdict),
  /** The finish reason of that verdict. */
  reason: Schema.optional(FinishReason),
  answer: Schema.optional(PlanResults.Answered)
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
export type Node = "planner_generate_graph" | "check_completion" | "synthesize_result"

const verdictLine = /^[ \t*_>#-]*action[ \t*_]*:[ \t*_]*(finish|replan)\b[ \t*_]*(\()?/im
const thoughtLine = /^[ \t*_>#-]*thought[ \t*_]*:[ \t*_]*(.*)/im

/**
 * The text in the parentheses: up to the one that closes them if nothing follows on its line, else up to the last one.
 */
const enclosed = (text: string): string => {
  let depth = 1
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "(") depth++
    else if (text[i] === ")" && --depth === 0) {
      if (/^[ \t*_.]*(?:$|[\r\n<#])/.test(text.slice(i + 1, i + 100))) return text.slice(0, i)
      break
    }
  }
  const last = text.lastIndexOf(")")
  return last < 0 ? text : text.slice(0, last)
}

/**
 * Reads the text form of the joiner: `Thought: …`, then `Action: Finish(…)` or `Action: Replan(…)`; the first of them
 * outside a fence counts.
 *
 * @since 0.1.0
 * @category conversions
 */
export const parseVerdict = (text: string): Either.Either<Verdict, string> => {
  const action = verdictLine.exec(FencedText.blank(text))
  if (action === null) return Either.left("it has no line `Action: Finish(…)` or `Action: Replan(…)`")
  const rest = text.slice(action.index + action[0].length)
  const said = (action[2] === undefined ? rest : enclosed(rest)).replace(/<END_OF_RESPONSE>\s*$/i, "").trim()
  const thought = thoughtLine.exec(text.slice(0, action.index))?.[1]?.trim()
  return Either.right({
    ...(thought === undefined ? {} : { thought }),
    ...((action[1] as string).toLowerCase() === "finish"
      ? { action: "finish" as const, answer: said }
      : { action: "replan" as const, feedback: said })
  })
}

const verdictForm = (needsAnswer: boolean): ReplyForm.ReplyForm<Verdict> => {
  const form = ReplyForm.make({ name: "verdict", schema: Verdict, text: parseVerdict })
  return {
    ...form,
    read: (text) =>
      Effect.filterOrFail(
        form.read(text),
        ({ action, answer }) => !needsAnswer || action !== "finish" || (answer ?? "").trim() !== "",
        () => "it finishes without an answer"
      )
  }
}

const withAnswer = verdictForm(true)
const withoutAnswer = verdictForm(false)

const renderRounds = (rounds: ReadonlyArray<Round>): string =>
  rounds.length === 1
    ? PlanResults.render(rounds[0]?.calls ?? [], LlmCompilerRound.shownCall)
    : rounds
        .map(({ calls }, index) => `Plan ${index + 1}\n\n${PlanResults.render(calls, LlmCompilerRound.shownCall)}`)
        .join("\n\n")

/** Earlier plans for the planner, with their results and the first free number. */
const renderPrevious = (rounds: ReadonlyArray<Round>): string => {
  if (rounds.length === 0) return ""
  const numbers = rounds.flatMap(({ calls }) => calls.map(({ id }) => Number(id))).filter(Number.isSafeInteger)
  const next = 1 + Math.max(0, ...numbers)
  const told = rounds.map(
    ({ calls, feedback }, index) =>
      `Earlier plan ${index + 1}, with its results:\n\n${PlanResults.render(calls, LlmCompilerRound.shownCall)}${
        feedback === "" ? "" : `\n\nWhy it was not enough:\n  ${feedback.replace(/\r\n?|\n/g, "\n  ")}`
      }`
  )
  return `${told.join("\n\n")}\n\nThe new plan begins with number ${next}. It may refer to results of earlier plans by their numbers; do not make calls again that have a result.\n\n`
}

/** The options with their defaults. */
interface Settings {
  readonly maxReplans: number
  readonly maxTasks: number
  readonly maxParallel: number | undefined
  readonly onLimit: Options["onLimit"]
  readonly synthesize: boolean | undefined
}

const resolve = ({ maxParallel, maxReplans, maxTasks, onLimit, synthesize }: Options): Settings => ({
  maxReplans: count(maxReplans, 2, 0),
  maxTasks: count(maxTasks, 50, 1),
  maxParallel,
  onLimit,
  synthesize
})

const replansLeft = ({ maxReplans }: Settings, { rounds }: State): number => maxReplans - (rounds.length - 1)

/** Whether the answer is written by a call of its own. */
const synthesizes = ({ synthesize }: Settings, { output }: Strategy.Task): boolean => synthesize ?? output !== undefined

const exceeded = ({ maxReplans }: Settings, { rounds }: State) =>
  new MaxIterationsExceededError({
    strategyName: NAME,
    maxIterations: maxReplans + 1,
    currentIteration: rounds.length,
    message: `No answer after ${maxReplans + 1} plans: ${(rounds.at(-1)?.feedback ?? "").slice(0, 500)}`,
    hint: 'Raise `maxReplans`, or return the best answer with `onLimit: "answer"`'
  })

/** Plans the next round and carries it out. */
const planRound = (settings: Settings) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const calls = yield* LlmCompilerRound.carryOut({
      reasoning,
      earlier: state.rounds.flatMap((round) => round.calls),
      previousPlans: renderPrevious(state.rounds),
      maxTasks: settings.maxTasks,
      maxParallel: count(settings.maxParallel, reasoning.concurrency, 1)
    })
    return { rounds: [...state.rounds, { calls, feedback: "" }] }
  })

/** Asks the joiner whether the results suffice. */
const checkCompletion = (settings: Settings) => (state: State) =>
  Effect.gen(function* () {
    const { askFor, run, task } = yield* Reasoning.Reasoning
    const { response, step, value } = yield* askFor(
      LlmCompilerPrompts.Join,
      {
        task: task.input,
        results: renderRounds(state.rounds),
        replans_left: String(replansLeft(settings, state))
      },
      synthesizes(settings, task) ? withoutAnswer : withAnswer
    )
    const isFinished = value.action === "finish"
    const feedback = isFinished ? "" : value.feedback?.trim() || value.thought?.trim() || ""
    yield* run.emit({
      _tag: "Critique",
      step,
      text: value.thought?.trim() || feedback,
      accepted: isFinished
    })
    return {
      verdict: value,
      reason: ToolLoop.finishReason(response.finishReason),
      rounds: state.rounds.map((round, index) => (index === state.rounds.length - 1 ? { ...round, feedback } : round))
    }
  })

/** Answers from the results. */
const synthesizeResult = (settings: Settings) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { task } = reasoning
    const isFinished = state.verdict?.action === "finish"
    if (!isFinished && settings.onLimit !== "answer") {
      return yield* exceeded(settings, state)
    }
    if (isFinished && !synthesizes(settings, task)) {
      return { answer: yield* reasoning.answer(state.verdict?.answer?.trim() ?? "", state.reason) }
    }
    const answer = yield* reasoning.finish(LlmCompilerPrompts.Synthesize, {
      task: task.input,
      results: renderRounds(state.rounds)
    })
    return { answer: isFinished ? answer : { ...answer, reason: "limit" as const } }
  })

/**
 * The graph: `planner_generate_graph` plans and makes the calls, because the two overlap; `check_completion` is the
 * joiner. Two model calls per plan, one more if the answer is synthesized; repeated questions count as well.
 *
 * An invalid plan goes back to the planner with all its issues, and finally fails with `PlanError`. Calls made before
 * the fault was read are kept: their results are not requested again. A failed call is an observation for the joiner,
 * and the calls that depend on it are skipped.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definition = (
  options: Options = {}
): GraphStrategy.GraphDefinition<
  Node,
  State,
  typeof State.Encoded,
  Strategy.StrategyBaseError,
  Strategy.StrategyServices | Reasoning.Reasoning
> => {
  const settings = resolve(options)
  return {
    name: NAME,
    options,
    start: () => ({ rounds: [] }),
    answer: (state) =>
      state.answer === undefined
        ? Effect.dieMessage("synthesize_result did not run: the graph was changed so that it ends without it")
        : Effect.succeed(state.answer),
    graph: StateGraph.make({
      name: NAME,
      state: State,
      start: "planner_generate_graph",
      nodes: {
        planner_generate_graph: planRound(settings),
        check_completion: checkCompletion(settings),
        synthesize_result: synthesizeResult(settings)
      },
      edges: {
        planner_generate_graph: "check_completion",
        check_completion: {
          to: ["planner_generate_graph", "synthesize_result"],
          labels: { planner_generate_graph: "more is needed", synthesize_result: "enough, or no plans left" },
          when: (state) =>
            state.verdict?.action === "replan" && replansLeft(settings, state) > 0
              ? "planner_generate_graph"
              : "synthesize_result"
        },
        synthesize_result: StateGraph.END
      }
    })
  }
}

/**
 * For tasks whose calls are known in advance: independent calls take the time of the slowest one.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { LlmCompiler } from "effect-lexigram/strategy"
 *
 * const clerk = Agent.make("clerk", { strategy: LlmCompiler.make({ maxParallel: 4, maxReplans: 1 }) })
 * ```
 */
export const make = (options: Options = {}): Strategy.Strategy => GraphStrategy.make(definition(options))
