/**
 * The strategy that fits the task: rules first, then one cheap question to a model, then the strategy that was picked.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { errorInfo } from "../domain/ErrorInfo.js"
import * as StateGraph from "../graph/StateGraph.js"
import { nearest } from "../internal/text/Nearest.js"
import type { LlmError } from "../llm/model/LlmError.js"
import * as AdaptivePrompts from "../prompt/defaults/AdaptivePrompts.js"
import * as StrategyBudget from "./combine/StrategyBudget.js"
import * as Reasoning from "./definition/Reasoning.js"
import * as ReplyForm from "./definition/ReplyForm.js"
import type { Answer, Strategy, StrategyBaseError, StrategyServices, Task } from "./definition/Strategy.js"
import type { StrategyBudgetError, StrategyReplyError } from "./definition/StrategyError.js"
import * as FunctionCalling from "./FunctionCalling.js"
import * as PlanAndSolve from "./PlanAndSolve.js"
import * as PlanExecute from "./PlanExecute.js"
import * as ReAct from "./ReAct.js"
import * as ReWoo from "./ReWoo.js"
import * as GraphStrategy from "./reasoning/GraphStrategy.js"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "adaptive"

/**
 * Its name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "AdaptiveAgent"

/**
 * A strategy that may be picked, and what it is for: what the model picks by.
 *
 * @since 0.1.0
 * @category models
 */
export interface Candidate<out E = never, out R = never> {
  readonly strategy: Strategy<E, R>
  readonly description: string
}

/**
 * Candidates by the names they are picked by; the simplest first.
 *
 * @since 0.1.0
 * @category models
 */
export type Candidates = { readonly [name: string]: Candidate<any, any> }

type Name<C> = Extract<keyof C, string>

/**
 * What the strategies among candidates add to the failures of every strategy.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<C extends Candidates> = {
  [K in keyof C]: C[K] extends { readonly strategy: Strategy<infer E, any> } ? E : never
}[keyof C]

/**
 * What they require.
 *
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<C extends Candidates> = {
  [K in keyof C]: C[K] extends { readonly strategy: Strategy<any, infer R> } ? R : never
}[keyof C]

/**
 * Names a candidate for a task without asking a model, or `undefined` to leave it open.
 *
 * @since 0.1.0
 * @category models
 */
export type Rule<Names extends string = string> = (task: Task) => Names | undefined

/**
 * The candidates where none are given: those whose cost can be foreseen.
 *
 * @since 0.1.0
 * @category constants
 */
export const candidates = {
  [FunctionCalling.NAME]: {
    strategy: FunctionCalling.make(),
    description: "answers at once, or calls tools and answers from their results; for questions and simple look-ups"
  },
  [ReAct.NAME]: {
    strategy: ReAct.make(),
    description:
      "thinks before every tool call and decides by each result what to do next; for questions whose steps build on each other"
  },
  [PlanAndSolve.NAME]: {
    strategy: PlanAndSolve.make<never, never>(),
    description: "plans, then solves step by step; for reasoning and calculation in several steps without surprises"
  },
  [PlanExecute.NAME]: {
    strategy: PlanExecute.make<never, never>(),
    description: "plans calls of tools, carries them out and plans anew when one fails; for errands with several tools"
  },
  [ReWoo.NAME]: {
    strategy: ReWoo.make(),
    description:
      "plans all look-ups at once and answers from their results; for look-ups that can be foreseen, at little cost"
  }
} as const satisfies Candidates

/**
 * A question of one line and at most 200 characters, with no tools at hand, needs no classification: it is answered
 * directly.
 *
 * @since 0.1.0
 * @category constants
 */
export const shortQuestion: Rule<typeof FunctionCalling.NAME> = ({ input, tools }) =>
  tools.definitions.length === 0 && input.length <= 200 && !input.trim().includes("\n")
    ? FunctionCalling.NAME
    : undefined

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<C extends Candidates = typeof candidates> extends Reasoning.Options {
  /** Default `candidates`. */
  readonly strategies?: C | undefined
  /**
   * Asked in their order before any model; default `shortQuestion`, where `function_calling` is among the candidates.
   */
  readonly rules?: ReadonlyArray<Rule<NoInfer<Name<C>>>> | undefined
  /** What is taken when nothing usable was picked; default `react`, else the first. */
  readonly fallback?: NoInfer<Name<C>> | undefined
  /** For a run as a whole, the classification included. */
  readonly budget?: StrategyBudget.BudgetOptions | undefined
}

const data = <A>(): Schema.Schema<A> => Schema.Unknown as unknown as Schema.Schema<A>

/**
 * Which strategy was picked, and what it came to.
 *
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  /** The name of the candidate. */
  strategy: Schema.String,
  reason: Schema.String,
  answer: data<Answer | null>()
})
/**
 * @since 0.1.0
 * @category models
 */
export type State = typeof State.Type

interface Pick {
  readonly strategy: string
  readonly reason: string
}

/**
 * A pick as text: the name on the first line, the reason below. What holds JSON is none.
 *
 * @since 0.1.0
 * @category conversions
 */
export const parsePick = (text: string): Either.Either<Pick, string> => {
  const brace = text.indexOf("{")
  if (brace >= 0 && text.indexOf("}", brace) > 0) return Either.left("write the name alone on the first line")
  const lines = text.split(/\r?\n/).map((line) => line.trim())
  const at = lines.findIndex((line) => /[\p{L}\p{N}]/u.test(line))
  if (at < 0) return Either.left("name one of the strategies on the first line")
  const strategy = (lines[at] as string)
    .slice(0, 200)
    .replace(/^strategy\s?:/i, "")
    .replace(/[*`"']/g, "")
    .replace(/^[-#\s]{0,8}/, "")
    .trim()
  return Either.right({
    strategy,
    reason: lines
      .slice(at + 1)
      .join(" ")
      .trim()
  })
}

const nodeOf = (name: string): string => `strategy ${name}`

const isSoft = (error: { readonly _tag: string }): error is LlmError | StrategyReplyError => error._tag !== "Fatality"

/**
 * The strategy as a graph: a node that chooses, and one for each candidate. It takes one model call more than the
 * strategy that was picked, none where a rule decides or there is a single candidate.
 *
 * Candidates have to be there, and `fallback` to be one of them: what is not is thrown, as options are constants.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definition = <C extends Candidates = typeof candidates>(
  options: Options<C> = {}
): GraphStrategy.GraphDefinition<
  string,
  State,
  typeof State.Encoded,
  ErrorOf<C> | StrategyBaseError,
  ServicesOf<C> | Reasoning.Reasoning | StrategyServices
> => {
  const table = new Map<string, Candidate<any, any>>(Object.entries(options.strategies ?? candidates))
  const names = Array.from(table.keys())
  const first = names[0]
  if (first === undefined) throw new TypeError("Adaptive: `strategies` is empty")
  const fallback = options.fallback ?? (table.has(ReAct.NAME) ? ReAct.NAME : first)
  if (!table.has(fallback)) {
    throw new TypeError(`Adaptive: the fallback "${fallback}" is not among the strategies: ${names.join(", ")}`)
  }
  const rules: ReadonlyArray<Rule> = options.rules ?? [shortQuestion]
  const listed = Array.from(table, ([name, { description }]) => `- ${name}: ${description.replace(/\s+/g, " ")}`).join(
    "\n"
  )
  const form = ReplyForm.make({
    name: "classification",
    schema: Schema.Struct({
      strategy: Schema.String.annotations({
        description: "The name of one strategy",
        jsonSchema: { type: "string", enum: names }
      }),
      reason: Schema.String.annotations({ description: "Why, in one sentence" })
    }),
    text: parsePick
  })

  /** The candidate that was meant, and whether it was guessed. */
  const resolve = ({ reason, strategy }: Pick): Pick => {
    if (table.has(strategy)) return { strategy, reason }
    const meant = nearest(strategy, names)
    const shown = JSON.stringify(strategy.slice(0, 64))
    return meant === undefined
      ? { strategy: fallback, reason: `${shown} is no strategy, and none is like it` }
      : { strategy: meant, reason: `${shown} is taken for it. ${reason}` }
  }

  const byRule = (task: Task): Pick | undefined => {
    if (names.length === 1) return { strategy: first, reason: "there is no other" }
    for (const rule of rules) {
      const strategy = rule(task)
      if (strategy !== undefined && table.has(strategy)) return { strategy, reason: "by a rule" }
    }
    return undefined
  }

  const choose = () =>
    Effect.gen(function* () {
      const { askFor, run, steps, task } = yield* Reasoning.Reasoning
      const ruled = byRule(task)
      const tools = task.tools.definitions
      const pick =
        ruled ??
        (yield* Effect.catchIf(
          Effect.map(
            askFor(
              AdaptivePrompts.Classify,
              {
                task: task.input,
                strategies: listed,
                tools:
                  tools.length === 0
                    ? "None."
                    : tools.map((tool) => `- ${tool.name}: ${tool.description.replace(/\s+/g, " ")}`).join("\n")
              },
              form,
              // A follow-up says little by itself.
              { context: task.history.length > 0 }
            ),
            ({ value }) => resolve(value)
          ),
          isSoft,
          (error) =>
            Effect.as(run.emit({ _tag: "Degraded", stage: "adaptive classification", error: errorInfo(error) }), {
              strategy: fallback,
              reason: "it could not be found out which one fits"
            })
        ))
      yield* run.emit({
        _tag: "Thought",
        step: Math.max(1, steps()),
        text: `Strategy ${pick.strategy}: ${pick.reason}`
      })
      return pick
    })

  const runs = (candidate: Candidate<any, any>) => () =>
    Effect.flatMap(Reasoning.Reasoning, ({ inner, task }) =>
      Effect.map(inner(candidate.strategy, task, { show: "answer" }), (answer) => ({ answer }))
    )

  const nodes: Record<string, StateGraph.Handler<State, any, any>> = { choose }
  const edges: Record<string, StateGraph.Edge<State, string>> = {
    choose: {
      to: names.map(nodeOf),
      labels: Object.fromEntries(names.map((name) => [nodeOf(name), name])),
      when: ({ strategy }) => nodeOf(strategy)
    }
  }
  for (const [name, candidate] of table) {
    nodes[nodeOf(name)] = runs(candidate)
    edges[nodeOf(name)] = StateGraph.END
  }
  const { budget: _budget, fallback: _fallback, rules: _rules, strategies: _strategies, ...rest } = options
  return {
    name: NAME,
    graph: StateGraph.make({ name: NAME, state: State, nodes, start: "choose", edges }) as any,
    start: () => ({ strategy: fallback, reason: "", answer: null }),
    answer: ({ answer }) =>
      answer === null ? Effect.dieMessage("adaptive ended without an answer") : Effect.succeed(answer),
    options: rest
  }
}

/**
 * Picks a strategy for each task. A pick that is no candidate is taken for the one it resembles, else the fallback
 * runs; so it does when the classification fails. What any of the candidates may fail with and requires is in the type.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Adaptive, FunctionCalling, ReAct } from "effect-lexigram/strategy"
 *
 * const strategy = Adaptive.make({
 *   strategies: {
 *     direct: { strategy: FunctionCalling.make(), description: "questions that one answer settles" },
 *     detective: { strategy: ReAct.make(), description: "questions whose steps build on each other" }
 *   },
 *   rules: [(task) => (task.tools.definitions.length === 0 ? "direct" : undefined)],
 *   fallback: "direct",
 *   budget: { maxModelCalls: 12 }
 * })
 * ```
 */
export const make: {
  <const C extends Candidates = typeof candidates>(
    options: Options<C> & { readonly budget: StrategyBudget.BudgetOptions }
  ): Strategy<Exclude<ErrorOf<C>, StrategyBaseError> | StrategyBudgetError, Exclude<ServicesOf<C>, StrategyServices>>
  <const C extends Candidates = typeof candidates>(
    options?: Options<C> & { readonly budget?: undefined }
  ): Strategy<Exclude<ErrorOf<C>, StrategyBaseError>, Exclude<ServicesOf<C>, StrategyServices>>
} = <C extends Candidates>(options: Options<C> = {}): Strategy<any, any> => {
  const strategy: Strategy<any, any> = GraphStrategy.make(definition(options))
  return options.budget === undefined ? strategy : StrategyBudget.withBudget(strategy, options.budget)
}
