/**
 * Picks the strategy that fits the task: by rules first, then by one cheap question to a model.
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
import type { Fatality } from "../tool/ToolRunner.js"
import * as StrategyBudget from "./combine/StrategyBudget.js"
import * as Reasoning from "./definition/Reasoning.js"
import * as ReplyForm from "./definition/ReplyForm.js"
import type { Answer, Strategy, StrategyBaseError, StrategyServices, Task } from "./definition/Strategy.js"
import type { StrategyBudgetError, StrategyReplyError } from "./definition/StrategyError.js"
import * as FunctionCalling from "./loop/FunctionCalling.js"
import * as ReAct from "./loop/ReAct.js"
import * as PlanAndSolve from "./PlanAndSolve.js"
import * as PlanExecute from "./PlanExecute.js"
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
 * The pattern's name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "AdaptiveAgent"

/**
 * A candidate strategy and its purpose, by which the model picks.
 *
 * @since 0.1.0
 * @category models
 */
export interface Candidate<out E = never, out R = never> {
  readonly strategy: Strategy<E, R>
  readonly description: string
}

/**
 * Candidates by name, the simplest first.
 *
 * @since 0.1.0
 * @category models
 */
export type Candidates = { readonly [name: string]: Candidate<any, any> }

type Name<C> = Extract<keyof C, string>

/**
 * The errors that the candidates add to those of every strategy.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<C extends Candidates> = {
  [K in keyof C]: C[K] extends { readonly strategy: Strategy<infer E, any> } ? E : never
}[keyof C]

/**
 * The services that the candidates require.
 *
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<C extends Candidates> = {
  [K in keyof C]: C[K] extends { readonly strategy: Strategy<any, infer R> } ? R : never
}[keyof C]

/**
 * Picks a candidate for a task without asking a model, or returns `undefined` to leave it open.
 *
 * @since 0.1.0
 * @category models
 */
export type Rule<Names extends string = string> = (task: Task) => Names | undefined

/**
 * The default candidates: strategies whose cost is predictable.
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
 * Picks a direct answer for a question of one line and at most 200 characters if there are no tools.
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
   * Evaluated in order before any model is asked. Default `shortQuestion`, if `function_calling` is a candidate.
   */
  readonly rules?: ReadonlyArray<Rule<NoInfer<Name<C>>>> | undefined
  /** The strategy to use without a usable pick; default `react`, else the first. */
  readonly fallback?: NoInfer<Name<C>> | undefined
  /** The budget of the whole run, including the classification. */
  readonly budget?: StrategyBudget.BudgetOptions | undefined
}

const data = <A>(): Schema.Schema<A> => Schema.Unknown as unknown as Schema.Schema<A>

/**
 * The picked strategy and its answer.
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
 * Reads a pick written as text: the name on the first line, the reason below. Text with JSON in it is not a pick.
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

/** The candidates, and how one of them is picked. */
interface Settings {
  readonly table: ReadonlyMap<string, Candidate<any, any>>
  readonly names: ReadonlyArray<string>
  readonly fallback: string
  readonly rules: ReadonlyArray<Rule>
  /** The candidates, as the prompt lists them. */
  readonly listed: string
  readonly form: ReplyForm.ReplyForm<Pick>
}

const resolve = <C extends Candidates>(options: Options<C>): Settings => {
  const table = new Map<string, Candidate<any, any>>(Object.entries(options.strategies ?? candidates))
  const names = Array.from(table.keys())
  const first = names[0]
  if (first === undefined) throw new TypeError("Adaptive: `strategies` is empty")
  const fallback = options.fallback ?? (table.has(ReAct.NAME) ? ReAct.NAME : first)
  if (!table.has(fallback)) {
    throw new TypeError(`Adaptive: the fallback "${fallback}" is not among the strategies: ${names.join(", ")}`)
  }
  const listed = Array.from(table, ([name, { description }]) => `- ${name}: ${description.replace(/\s+/g, " ")}`)
  return {
    table,
    names,
    fallback,
    rules: options.rules ?? [shortQuestion],
    listed: listed.join("\n"),
    form: pickForm(names)
  }
}

const pickForm = (names: ReadonlyArray<string>): ReplyForm.ReplyForm<Pick> =>
  ReplyForm.make({
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

/** The candidate that a pick means, and whether it was guessed. */
const toCandidate = ({ fallback, names, table }: Settings, { reason, strategy }: Pick): Pick => {
  if (table.has(strategy)) return { strategy, reason }
  const meant = nearest(strategy, names)
  const quoted = JSON.stringify(strategy.slice(0, 64))
  return meant === undefined
    ? { strategy: fallback, reason: `${quoted} is no strategy, and none is like it` }
    : { strategy: meant, reason: `${quoted} is taken for it. ${reason}` }
}

/** The pick of a rule, or the only candidate. */
const pickByRule = ({ names, rules, table }: Settings, task: Task): Pick | undefined => {
  if (names.length === 1) return { strategy: names[0] as string, reason: "there is no other" }
  for (const rule of rules) {
    const strategy = rule(task)
    if (strategy !== undefined && table.has(strategy)) return { strategy, reason: "by a rule" }
  }
  return undefined
}

/** Asks the model for a pick. If that fails, picks the fallback. */
const pickByModel = (settings: Settings): Effect.Effect<Pick, Fatality, Reasoning.Reasoning> =>
  Effect.flatMap(Reasoning.Reasoning, ({ askFor, run, task }) => {
    const tools = task.tools.definitions.map(
      ({ description, name }) => `- ${name}: ${description.replace(/\s+/g, " ")}`
    )
    const values = {
      task: task.input,
      strategies: settings.listed,
      tools: tools.length === 0 ? "None." : tools.join("\n")
    }
    // A follow-up says little by itself.
    const asked = askFor(AdaptivePrompts.Classify, values, settings.form, { context: task.history.length > 0 })
    return Effect.catchIf(
      Effect.map(asked, ({ value }) => toCandidate(settings, value)),
      isSoft,
      (error) =>
        Effect.as(run.emit({ _tag: "Degraded", stage: "adaptive classification", error: errorInfo(error) }), {
          strategy: settings.fallback,
          reason: "it could not be found out which one fits"
        })
    )
  })

/** Picks a candidate. */
const choose = (settings: Settings) => () =>
  Effect.gen(function* () {
    const { run, steps, task } = yield* Reasoning.Reasoning
    const pick = pickByRule(settings, task) ?? (yield* pickByModel(settings))
    yield* run.emit({
      _tag: "Thought",
      step: Math.max(1, steps()),
      text: `Strategy ${pick.strategy}: ${pick.reason}`
    })
    return pick
  })

/** Runs a candidate. */
const runCandidate = (candidate: Candidate<any, any>) => () =>
  Effect.flatMap(Reasoning.Reasoning, ({ inner, task }) =>
    Effect.map(inner(candidate.strategy, task, { show: "answer" }), (answer) => ({ answer }))
  )

/**
 * The strategy as a graph: a node that chooses, and one per candidate. It takes one model call more than the picked
 * strategy, or none more if a rule decides or there is a single candidate.
 *
 * Without candidates, or with a `fallback` that is not a candidate, it throws, because options are constants.
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
  const settings = resolve(options)
  const nodes: Record<string, StateGraph.Handler<State, any, any>> = { choose: choose(settings) }
  const edges: Record<string, StateGraph.Edge<State, string>> = {
    choose: {
      to: settings.names.map(nodeOf),
      labels: Object.fromEntries(settings.names.map((name) => [nodeOf(name), name])),
      when: ({ strategy }) => nodeOf(strategy)
    }
  }
  for (const [name, candidate] of settings.table) {
    nodes[nodeOf(name)] = runCandidate(candidate)
    edges[nodeOf(name)] = StateGraph.END
  }
  const { budget: _budget, fallback: _fallback, rules: _rules, strategies: _strategies, ...rest } = options
  return {
    name: NAME,
    graph: StateGraph.make({ name: NAME, state: State, nodes, start: "choose", edges }) as any,
    start: () => ({ strategy: settings.fallback, reason: "", answer: null }),
    answer: ({ answer }) =>
      answer === null ? Effect.dieMessage("adaptive ended without an answer") : Effect.succeed(answer),
    options: rest
  }
}

/**
 * Picks a strategy for each task. An unknown pick resolves to the most similar candidate, else to the fallback; the
 * fallback also runs if the classification fails. The type includes the errors and requirements of all candidates.
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
