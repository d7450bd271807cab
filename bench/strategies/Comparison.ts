/**
 * The experiment: all strategies of the library, with their defaults, on each dataset; and its tables.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent, Agents, AgentTool, type LlmClient, type Strategy } from "effect-lexigram"
import {
  type Dataset,
  Experiment,
  InMemoryExperimentStore,
  Scorer,
  Statistics,
  Task,
  VariantSummary
} from "effect-lexigram/eval"
import {
  Adaptive,
  BuiltInStrategies,
  FunctionCalling,
  Lats,
  LlmCompiler,
  PlanAndSolve,
  PlanExecute,
  ReAct,
  Reflection,
  Reflexion,
  ReWoo,
  SelfDiscovery,
  Storm,
  Supervisor
} from "effect-lexigram/strategy"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Solver from "./Solver.js"
import * as Worlds from "./Worlds.js"

/**
 * By the names of the registry. Limits leave room for the longest way of the datasets, and end in an answer; all else is
 * the default.
 */
export const strategies: { readonly [name: string]: Strategy.Strategy<any, never> } = {
  function_calling: FunctionCalling.make(),
  react: ReAct.make(),
  "plan-and-solve": PlanAndSolve.make(),
  "plan-execute": PlanExecute.make({ onLimit: "answer" }),
  rewoo: ReWoo.make(),
  "llm-compiler": LlmCompiler.make({ onLimit: "answer" }),
  reflection: Reflection.make(),
  reflexion: Reflexion.make(),
  lats: Lats.make({ maxDepth: 14 }),
  "self-discovery": SelfDiscovery.make(),
  storm: Storm.make({ maxTurns: 8 }),
  supervisor: Supervisor.make({ maxDelegations: 20 }),
  adaptive: Adaptive.make()
}

/** Strategies of the registry that are not compared. */
export const missing: ReadonlyArray<string> = Object.keys(BuiltInStrategies.loaders).filter(
  (name) => !Object.hasOwn(strategies, name)
)

export const rates: Solver.Rates = { slip: 0.1, lapse: 0.1, blur: 0.1 }

interface Output {
  readonly answer: string
}

/** The tools of a world; for the supervisor two agents, each of which has one half of them. */
const toolsFor = (name: string, tools: ReturnType<typeof Worlds.open>["tools"]) =>
  name !== "supervisor"
    ? tools
    : [0, 1].map((half) => {
        const own = tools.filter((_, index) => index % 2 === half)
        const clerk = Agent.make(`clerk_${half + 1}`, { system: "You look things up.", tools: own })
        return AgentTool.make(clerk, { description: own.map(({ description }) => description).join(" ") })
      })

/** The calls of tools in each trial that ended. Those of agents that were delegated to count. */
type ToolCalls = Map<string, number>

const keyOf = (strategy: string, world: Worlds.World): string => `${strategy}\n${world.question}`

const taskOf = (
  name: string,
  model: Layer.Layer<LlmClient.LlmClient>,
  calls: ToolCalls
): Task.Task<Worlds.World, Output> => ({
  name,
  version: "1",
  run: (world) =>
    Effect.suspend(() => {
      const opened = Worlds.open(world)
      const agent = Agent.make(name, {
        system: "You answer questions about records.",
        tools: toolsFor(name, opened.tools),
        strategy: strategies[name]
      })
      return Task.agent(agent)
        .run(world.question)
        .pipe(
          Effect.map((outcome) => {
            calls.set(keyOf(name, world), opened.calls())
            return outcome._tag === "Answered" ? { ...outcome, output: { answer: String(outcome.output) } } : outcome
          }),
          Effect.provide(Agents.layer({ enableMetrics: false }).pipe(Layer.provide(model)))
        )
    })
})

/** The model of each trial. Its solver has chances of its own. */
export const solver: Layer.Layer<LlmClient.LlmClient> = Layer.suspend(() => TestModel.layer(Solver.make(rates, 1)))

type Scored = Scorer.Subject<Worlds.World, Output, Worlds.Expected>

/** The identifiers of the kind that was asked for. Titles repeat the question. */
const given = ({ expected, output }: Scored): ReadonlySet<string> =>
  new Set(output.answer.replace(/^#.*$/gm, "").match(new RegExp(`\\b${Worlds.kindOf(expected[0] ?? "")}-\\d+`, "g")))

const scorers = [
  Scorer.make("solved", (subject: Scored) => {
    const found = given(subject)
    return found.size === subject.expected.length && subject.expected.every((id) => found.has(id))
  }),
  Scorer.make("wrong", (subject: Scored) => Array.from(given(subject)).some((id) => !subject.expected.includes(id)))
]

/** What a strategy did on a dataset: shares from 0 to 1, and means of a trial. */
export interface Row {
  readonly strategy: string
  readonly solved: number
  readonly interval: { readonly lower: number; readonly upper: number }
  /** The share of answers with an identifier that is not the one asked for. */
  readonly wrong: number
  /** Trials that ended in an error. */
  readonly failed: number
  readonly trials: number
  readonly modelCalls: number
  readonly toolCalls: number
  readonly tokens: number
}

export interface Compared {
  readonly dataset: string
  readonly rows: ReadonlyArray<Row>
  readonly costUsd: number
  readonly isOverBudget: boolean
}

export interface Options {
  /** Built anew for each trial. */
  readonly model: Layer.Layer<LlmClient.LlmClient>
  readonly size: number
  readonly names?: ReadonlyArray<string> | undefined
  readonly maxCostUsd?: number | undefined
  readonly concurrency?: number | undefined
}

/** What the page shows. */
export const offline: Options = { model: solver, size: 24 }

/** `calls` are those of tools in all trials. */
const rowOf = (
  { failed, modelCalls, scores, trials, usage, variant }: VariantSummary.VariantSummary,
  calls: number
) => {
  const [solved = 0, wrong = 0] = scores.map(({ mean }) => mean)
  return Effect.map(
    Statistics.wilson(Math.round(solved * trials), trials),
    (interval): Row => ({
      strategy: variant,
      solved,
      interval,
      wrong,
      failed,
      trials,
      modelCalls: modelCalls / trials,
      toolCalls: calls / trials,
      tokens: (usage.totalTokens ?? 0) / trials
    })
  )
}

const compareOn = (dataset: Dataset.Dataset<Worlds.World, Worlds.Expected>, options: Options) =>
  Effect.gen(function* () {
    const calls: ToolCalls = new Map()
    const names = options.names ?? Object.keys(strategies)
    const experiment = yield* Experiment.make(dataset.name, {
      dataset,
      variants: names.map((name) => taskOf(name, options.model, calls)),
      scorers
    })
    const results = yield* Experiment.run(experiment, {
      id: "compare",
      concurrency: options.concurrency,
      maxCostUsd: options.maxCostUsd
    })
    const summaries = yield* VariantSummary.make(results)
    const rows = yield* Effect.forEach(
      summaries.filter(({ trials }) => trials > 0),
      (summary) => {
        const own = dataset.cases.map(({ input }) => calls.get(keyOf(summary.variant, input)) ?? 0)
        return rowOf(
          summary,
          own.reduce((sum, count) => sum + count, 0)
        )
      }
    )
    const { costUsd, isOverBudget } = results
    return { dataset: dataset.name, rows, costUsd, isOverBudget } satisfies Compared
  }).pipe(Effect.provide(InMemoryExperimentStore.layer))

/** Runs all datasets, one after another; `maxCostUsd` is for all of them together. */
export const compare = (options: Options) =>
  Effect.gen(function* () {
    const compared: Array<Compared> = []
    for (const dataset of yield* Worlds.datasets(options.size)) {
      const spent = compared.reduce((sum, { costUsd }) => sum + costUsd, 0)
      const left = options.maxCostUsd === undefined ? undefined : Math.max(0, options.maxCostUsd - spent)
      compared.push(yield* compareOn(dataset, { ...options, maxCostUsd: left }))
    }
    return compared
  })

const percent = (share: number): string => `${Math.round(100 * share)} %`

const row = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

/** A table of Markdown, in the order of the strategies. */
export const tableOf = ({ rows }: Compared): string =>
  [
    row(["strategy", "solved", "95 % interval", "wrong", "errors", "model calls", "tool calls", "tokens"]),
    "|---|--:|---|--:|--:|--:|--:|--:|",
    ...rows.map(({ failed, interval, modelCalls, solved, strategy, tokens, toolCalls, wrong }) =>
      row([
        `\`${strategy}\``,
        percent(solved),
        `${percent(interval.lower)} to ${percent(interval.upper)}`,
        percent(wrong),
        String(failed),
        modelCalls.toFixed(1),
        toolCalls.toFixed(1),
        Math.round(tokens).toLocaleString("en-US")
      ])
    )
  ].join("\n")

const placeOf = (name: string): RegExp => new RegExp(`(<!-- table: ${name} -->)[\\s\\S]*?(<!-- /table -->)`)

/** The page with its tables redrawn. A table without a place is an error. */
export const withTables = (page: string, compared: ReadonlyArray<Compared>): string =>
  compared.reduce((text, one) => {
    const place = placeOf(one.dataset)
    if (!place.test(text)) throw new Error(`There is no place for the table ${one.dataset}`)
    return text.replace(place, (_, begin, end) => `${begin}\n\n${tableOf(one)}\n\n${end}`)
  }, page)
