/**
 * The critique form of Reflexion: generate, criticize and refine one text until the critic accepts it.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { FinishReason } from "../../domain/AgentEvent.js"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as StateGraph from "../../graph/StateGraph.js"
import { count } from "../../internal/Count.js"
import * as ReflexionPrompts from "../../prompt/defaults/ReflexionPrompts.js"
import * as Reasoning from "../definition/Reasoning.js"
import * as ReplyForm from "../definition/ReplyForm.js"
import type * as Strategy from "../definition/Strategy.js"
import { MaxIterationsExceededError } from "../definition/StrategyError.js"
import * as FunctionCalling from "../loop/FunctionCalling.js"
import type * as GraphStrategy from "../reasoning/GraphStrategy.js"
import * as ToolLoop from "../reasoning/ToolLoop.js"
import * as ReflexionActor from "./ReflexionActor.js"

/**
 * The token that ends the loop, alone on a line, in any case.
 *
 * @since 0.1.0
 * @category constants
 */
export const NO_CHANGES_NEEDED = "NO_CHANGES_NEEDED"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<out E = never, out R = never> extends Reasoning.Options {
  /** Writes the first text. Default: a model call, or `FunctionCalling` if the task has tools. */
  readonly inner?: Strategy.Strategy<E, R> | undefined
  /** Maximum number of rounds of critique and refinement; default 3. */
  readonly maxIterations?: number | undefined
  /** Temperature of the critic; default 0.3. */
  readonly temperatureCritique?: number | undefined
  /** Temperature of refinements; default 0.5. */
  readonly temperatureRefine?: number | undefined
  /**
   * If the critic still objects after the last round: answer with the last text, marked `limit` (default), or fail.
   */
  readonly onLimit?: "answer" | "fail" | undefined
}

/**
 * A review. An accepted text has no problems worth naming.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Review = Schema.Struct({
  accepted: Schema.Boolean.annotations({ description: "true when nothing needs to be changed" }),
  problems: Schema.Array(Schema.String).annotations({ description: "Most serious first; empty when accepted" }),
  score: Schema.optional(Schema.Number.pipe(Schema.between(0, 1)))
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Review extends Schema.Schema.Type<typeof Review> {}

const isToken = (line: string): boolean =>
  line.replace(/^[\s*_`"]{1,8}|[\s*_`".]{1,8}$/g, "").toUpperCase() === NO_CHANGES_NEEDED

const readText = (text: string): Either.Either<Review, string> => {
  const trimmed = text.trim()
  if (trimmed === "" || /^(?:```|[[{])/.test(trimmed)) return Either.left("the review is no list of problems")
  // A token between other lines is quoted.
  const ends = [trimmed.slice(0, `${trimmed}\n`.indexOf("\n")), trimmed.slice(trimmed.lastIndexOf("\n") + 1)]
  return Either.right(
    ends.some((line) => line.length < 64 && isToken(line))
      ? { accepted: true, problems: [] }
      : { accepted: false, problems: [trimmed] }
  )
}

const review = ReplyForm.make({ name: "review", schema: Review, text: readText })

/**
 * The reply to the Critique step: JSON, or text with `NO_CHANGES_NEEDED` alone on its first or last line to accept.
 * Inside a sentence it is an ordinary word. A review that does not accept must name a problem.
 *
 * @since 0.1.0
 * @category conversions
 */
export const reply: ReplyForm.ReplyForm<Review> = {
  ...review,
  read: (text) =>
    Effect.filterOrFail(
      review.read(text),
      (read) => read.accepted || read.problems.some((problem) => problem.trim() !== ""),
      () => "a rejected text needs at least one named problem"
    )
}

/**
 * The state of a run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  /** The round, from 1; 0 before the first. */
  iteration: Schema.Number,
  text: Schema.String,
  /** The finish reason of the text. */
  reason: FinishReason,
  critique: Schema.String,
  accepted: Schema.Boolean,
  /** Whether a critique or refinement failed, so that the text stays unchanged. */
  stopped: Schema.Boolean,
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
export type Node = "generate" | "critique" | "refine" | "final_output"

/** The options with their defaults. */
interface Settings<E, R> {
  /** The name of the strategy. */
  readonly name: string
  readonly maxIterations: number
  readonly temperatureCritique: number
  readonly temperatureRefine: number
  readonly inner: Strategy.Strategy<E, R> | undefined
  /** Writes the first text of a task with tools. */
  readonly calling: Strategy.Strategy
  readonly onLimit: "answer" | "fail" | undefined
}

const resolve = <E, R>(name: string, options: Options<E, R>): Settings<E, R> => ({
  name,
  maxIterations: count(options.maxIterations, 3, 1),
  temperatureCritique: options.temperatureCritique ?? 0.3,
  temperatureRefine: options.temperatureRefine ?? 0.5,
  inner: options.inner,
  // `maxIterations` of the options limits the rounds, not the calls of tools.
  calling: FunctionCalling.make({ ...options, maxIterations: undefined, onLimit: undefined }),
  onLimit: options.onLimit
})

/** Returns `undefined` and emits a `Critique` event if a call fails. Fatal failures remain failures. */
const keep = <A, E2 extends { readonly _tag: string }, R2>(what: string, effect: Effect.Effect<A, E2, R2>) =>
  Effect.catchAll(effect, (error) =>
    error._tag === "Fatality"
      ? Effect.fail(error as Extract<E2, { readonly _tag: "Fatality" }>)
      : Effect.flatMap(Reasoning.Reasoning, ({ run, steps }) =>
          Effect.as(
            run.emit({
              _tag: "Critique",
              step: steps(),
              text: `The ${what} failed, and the text stays as it is: ${errorInfo(error).message}`
            }),
            undefined
          )
        )
  )

/** Writes the first text. */
const generate =
  <E, R>(settings: Settings<E, R>) =>
  () =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const { task } = reasoning
      const values = { task: task.input }
      if (settings.inner !== undefined || task.tools.definitions.length > 0) {
        const actor: Strategy.Strategy<E, R> = settings.inner ?? settings.calling
        const plain = { ...task, output: undefined }
        const { reason, text } = yield* ReflexionActor.act(actor, plain, ReflexionPrompts.Generate, values)
        return { text, reason }
      }
      const { response, text } = yield* reasoning.ask(ReflexionPrompts.Generate, values, { show: "reasoning" })
      return { text, reason: ToolLoop.finishReason(response.finishReason) }
    })

/** Asks the critic. */
const critique = (settings: Settings<any, any>) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const iteration = state.iteration + 1
    const asked = reasoning.askFor(
      ReflexionPrompts.Critique,
      { task: reasoning.task.input, output: state.text },
      reply,
      { settings: { temperature: settings.temperatureCritique } }
    )
    const replied = yield* keep("critique", asked)
    if (replied === undefined) return { iteration, stopped: true }
    const { accepted, problems, score } = replied.value
    const critique =
      problems.length === 1
        ? (problems[0] as string)
        : problems.map((problem, index) => `${index + 1}. ${problem}`).join("\n")
    yield* reasoning.run.emit({
      _tag: "Critique",
      step: replied.step,
      text: accepted ? NO_CHANGES_NEEDED : critique,
      accepted,
      ...(score === undefined ? {} : { score })
    })
    return { iteration, critique, accepted }
  })

/** Revises the text by the critique. */
const refine = (settings: Settings<any, any>) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const asked = reasoning.ask(
      ReflexionPrompts.Refine,
      { task: reasoning.task.input, output: state.text, critique: state.critique },
      { settings: { temperature: settings.temperatureRefine }, show: "reasoning" }
    )
    const replied = yield* keep("refinement", asked)
    if (replied === undefined) return { stopped: true }
    return { text: replied.text, reason: ToolLoop.finishReason(replied.response.finishReason) }
  })

/** Answers with the last text. */
const finalOutput = (settings: Settings<any, any>) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const isLimit = !state.accepted && !state.stopped
    if (isLimit && settings.onLimit === "fail") {
      return yield* new MaxIterationsExceededError({
        strategyName: settings.name,
        maxIterations: settings.maxIterations,
        currentIteration: state.iteration,
        message: `The critic still finds problems after ${settings.maxIterations} rounds`,
        hint: 'Raise `maxIterations`, or return the last text with `onLimit: "answer"`'
      })
    }
    const answer = yield* reasoning.answer(state.text, isLimit ? "limit" : state.reason)
    return { answer: yield* ReflexionActor.emitText(answer) }
  })

/**
 * The graph: `1 + 2 · rounds` model calls, one less if the critic accepts. The first call must succeed. If a later one
 * fails, the text stays unchanged and a `Critique` event says why.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definition = <E = never, R = never>(
  name: string,
  options: Options<E, R> = {}
): GraphStrategy.GraphDefinition<
  Node,
  State,
  typeof State.Encoded,
  E | Strategy.StrategyBaseError,
  R | Strategy.StrategyServices | Reasoning.Reasoning
> => {
  const settings = resolve(name, options)
  return {
    name,
    options,
    start: () => ({ iteration: 0, text: "", reason: "completed", critique: "", accepted: false, stopped: false }),
    answer: (state) =>
      state.answer === undefined
        ? Effect.dieMessage("final_output did not run: the graph was changed so that it ends without it")
        : Effect.succeed(state.answer),
    graph: StateGraph.make({
      name,
      state: State,
      start: "generate",
      nodes: {
        generate: generate(settings),
        critique: critique(settings),
        refine: refine(settings),
        final_output: finalOutput(settings)
      },
      edges: {
        generate: "critique",
        critique: {
          to: ["refine", "final_output"],
          labels: { refine: "problems were found", final_output: "accepted or stopped" },
          when: (state) => (state.accepted || state.stopped ? "final_output" : "refine")
        },
        refine: {
          to: ["critique", "final_output"],
          labels: { critique: "iterations left", final_output: "stopped or no iterations left" },
          when: (state) => (state.stopped || state.iteration >= settings.maxIterations ? "final_output" : "critique")
        },
        final_output: StateGraph.END
      }
    })
  }
}
