/**
 * Reflection: a draft that is judged and revised until it is accepted (closest to Self-Refine, Madaan et al. 2023).
 *
 * It takes two model calls if the first draft is accepted, else one plus two per cycle. The last possible text is not
 * judged: it is known to be the answer and is streamed. An accepted text was written before it was known to be the
 * answer; it is emitted whole without a further call.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { FinishReason } from "../domain/AgentEvent.js"
import * as StateGraph from "../graph/StateGraph.js"
import { count } from "../internal/Count.js"
import type { LlmError } from "../llm/model/LlmError.js"
import * as Prompts from "../prompt/defaults/ReflectionPrompts.js"
import type { PromptStep } from "../prompt/template/PromptStep.js"
import type { Values } from "../prompt/template/PromptTemplate.js"
import type { Fatality } from "../tool/ToolRunner.js"
import * as Reasoning from "./definition/Reasoning.js"
import * as ReplyForm from "./definition/ReplyForm.js"
import type * as Strategy from "./definition/Strategy.js"
import type { StrategyReplyError } from "./definition/StrategyError.js"
import * as PlanState from "./planning/PlanState.js"
import * as FencedText from "./reasoning/FencedText.js"
import * as GraphStrategy from "./reasoning/GraphStrategy.js"
import * as ToolLoop from "./reasoning/ToolLoop.js"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "reflection"

/**
 * @since 0.1.0
 * @category constants
 */
export const PAPER =
  "nearest: Madaan et al. 2023, Self-Refine: Iterative Refinement with Self-Feedback (arXiv 2303.17651)"

/**
 * The pattern's name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "ReflectionAgent"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Reasoning.Options {
  /**
   * Maximum number of cycles of judgment and revision; default 1. With 0 the first draft is the answer, after one call.
   */
  readonly maxReflectionCycles?: number | undefined
}

/**
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  /** The current work. */
  output: Schema.String,
  /** The last critique. */
  reflection: Schema.String,
  accepted: Schema.Boolean,
  /** The finish reason of the model that wrote the work. */
  reason: FinishReason,
  /** The number of revisions. */
  cycle: Schema.Number,
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
export type Node = "generate_initial" | "reflect" | "refine" | "check_cycle_limit" | "final_output"

const Verdict = Schema.Struct({
  points: Schema.Array(Schema.String).annotations({
    description: "What is to be changed, and how; none if nothing is"
  }),
  score: Schema.Number.pipe(Schema.between(0, 10)).annotations({ description: "0 useless, 10 nothing to add" }),
  needs_refinement: Schema.Boolean.annotations({ description: "Whether the work has to be changed" })
})

const line = (name: string, value: string) =>
  new RegExp(`(?:^|\\n)[ \\t*_#-]{0,8}${name}[*_]{0,3}[ \\t]{0,4}[:：][*_]{0,3}[ \\t]{0,8}${value}`, "i")

const needsLine = line("needs[ _]refinement", "(yes|no)[*_.!]{0,3}[ \\t\\r]{0,8}(?=\\n|$)")
const scoreLine = line(
  "score",
  "(\\d{1,2}(?:\\.\\d{1,4})?)(?:[ \\t]{0,2}\\/[ \\t]{0,2}10)?[*_.]{0,3}[ \\t\\r]{0,8}(?=\\n|$)"
)
const pointsLine = line("points", "")

/** The verdict is at fixed places outside fences: the same word elsewhere has no meaning. */
const verdictText = (text: string): Either.Either<typeof Verdict.Type, string> => {
  const plain = FencedText.blank(text)
  const needs = needsLine.exec(plain)?.[1]
  if (needs === undefined) return Either.left("there is no line NEEDS_REFINEMENT: with yes or no and nothing else")
  const score = Number(scoreLine.exec(plain)?.[1])
  if (!(score >= 0 && score <= 10)) return Either.left("there is no line SCORE: with a number from 0 to 10")
  const marked = pointsLine.exec(plain)
  const points: Array<string> = []
  for (const one of marked === null ? [] : text.slice(marked.index + marked[0].length).split("\n")) {
    const trimmed = one.trim()
    if (trimmed === "") continue
    const item = /^(?:[-*+•]|\d{1,4}[.)])[ \t]+/.exec(trimmed)
    if (item !== null || points.length === 0) points.push(item === null ? trimmed : trimmed.slice(item[0].length))
    else points[points.length - 1] += `\n${trimmed}`
  }
  return Either.right({ needs_refinement: needs.toLowerCase() === "yes", score, points })
}

const form = ReplyForm.make({ name: "reflection", schema: Verdict, text: verdictText })

// Escapes the closing mark of the work, so that its rest cannot pass for the prompt.
const fenced = (text: string): string => text.replace(/<(\/?work)>/gi, "<\\$1>")

type Asked = LlmError | Fatality | StrategyReplyError

/** A text to be judged, in the shape of the answer if the task has an output specification. */
const draft = <Variable extends string>(
  prompt: PromptStep<Variable>,
  values: Values<Variable>
): Effect.Effect<Reasoning.Reply, Asked, Reasoning.Reasoning> =>
  Effect.flatMap(Reasoning.Reasoning, (reasoning): Effect.Effect<Reasoning.Reply, Asked> => {
    const { output } = reasoning.task
    // It is validated once, at the end, because the answer has retries of its own.
    return output === undefined
      ? reasoning.ask(prompt, values)
      : reasoning.askFor(prompt, values, { ...output, read: Effect.succeed })
  })

/** The text of a step, or with `last` the answer. */
const write = <Variable extends string>(
  prompt: PromptStep<Variable>,
  values: Values<Variable>,
  last: boolean
): Effect.Effect<Partial<State>, Asked, Reasoning.Reasoning> =>
  last
    ? Effect.map(
        Effect.flatMap(Reasoning.Reasoning, (reasoning) => reasoning.finish(prompt, values)),
        (answer) => ({ output: answer.text, answer })
      )
    : Effect.map(draft(prompt, values), ({ response, text }) => ({
        output: text,
        reason: ToolLoop.finishReason(response.finishReason)
      }))

const reflect = (state: State): Effect.Effect<Partial<State>, Asked, Reasoning.Reasoning> =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { step, value } = yield* reasoning.askFor(
      Prompts.Reflect,
      { task: reasoning.task.input, output: fenced(state.output) },
      form
    )
    const points = value.points.map((point) => point.trim()).filter((point) => point !== "")
    const accepted = !value.needs_refinement
    const named = points.map((point) => `- ${point}`).join("\n")
    const text =
      named === "" ? `${value.score} of 10, ${accepted ? "nothing to change" : "but no point was named"}` : named
    yield* reasoning.run.emit({ _tag: "Critique", step, text, accepted, score: value.score })
    return { accepted, reflection: text }
  })

/**
 * The graph: `generate_initial` → `reflect` → `refine` → `check_cycle_limit` and back to `reflect`, until
 * `final_output`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definition = (
  options: Options = {}
): GraphStrategy.GraphDefinition<Node, State, typeof State.Encoded, Asked, Reasoning.Reasoning> => {
  const maxCycles = count(options.maxReflectionCycles, 1, 0)

  const graph: StateGraph.StateGraph<Node, State, typeof State.Encoded, Asked, Reasoning.Reasoning> = StateGraph.make({
    name: NAME,
    state: State,
    nodes: {
      generate_initial: (): Effect.Effect<Partial<State>, Asked, Reasoning.Reasoning> =>
        Effect.flatMap(Reasoning.Reasoning, ({ task }) =>
          write(Prompts.Generate, { task: task.input }, maxCycles === 0)
        ),
      reflect,
      refine: (state): Effect.Effect<Partial<State>, Asked, Reasoning.Reasoning> =>
        Effect.flatMap(Reasoning.Reasoning, ({ task }) =>
          write(
            Prompts.Refine,
            { task: task.input, output: fenced(state.output), reflection: state.reflection },
            state.cycle + 1 >= maxCycles
          )
        ),
      check_cycle_limit: (state) => Effect.succeed({ cycle: state.cycle + 1 }),
      final_output: (state): Effect.Effect<Partial<State>, Asked, Reasoning.Reasoning> =>
        state.answer === undefined
          ? Effect.map(PlanState.emitAnswer(state.output, state.reason), (answer) => ({ answer }))
          : Effect.succeed({})
    },
    start: "generate_initial",
    edges: {
      generate_initial: {
        to: ["reflect", "final_output"],
        labels: { reflect: "no answer yet", final_output: "answered" },
        when: (state) => (state.answer === undefined ? "reflect" : "final_output")
      },
      reflect: {
        to: ["refine", "final_output"],
        labels: { refine: "not accepted", final_output: "accepted" },
        when: (state) => (state.accepted ? "final_output" : "refine")
      },
      refine: "check_cycle_limit",
      check_cycle_limit: {
        to: ["reflect", "final_output"],
        labels: { reflect: "cycles left", final_output: "no cycles left" },
        when: (state) => (state.cycle < maxCycles ? "reflect" : "final_output")
      },
      final_output: "END"
    }
  })

  return {
    name: NAME,
    graph,
    start: () => ({ output: "", reflection: "", accepted: false, reason: "completed", cycle: 0 }),
    answer: (state) => PlanState.answerOf(state.answer),
    options
  }
}

/**
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Reflection } from "effect-lexigram/strategy"
 *
 * const strategy = Reflection.make({ maxReflectionCycles: 3 })
 * ```
 */
export const make = (options: Options = {}): Strategy.Strategy => GraphStrategy.make(definition(options))
