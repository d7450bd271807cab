/**
 * ReWOO, reasoning without observation (Xu et al. 2023, "ReWOO: Decoupling Reasoning from Observations for Efficient
 * Augmented Language Models"): a planner writes once which evidence a task needs, workers collect it, and a solver
 * answers from all of it. Two model calls, regardless of the number of tools.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as StateGraph from "../graph/StateGraph.js"
import { count } from "../internal/Count.js"
import * as PlanArguments from "../plan/PlanArguments.js"
import * as PlanCollector from "../plan/PlanCollector.js"
import * as PlanLiteral from "../plan/PlanLiteral.js"
import * as PlanResults from "../plan/PlanResults.js"
import * as ReWooPlan from "../plan/ReWooPlan.js"
import * as TaskGraph from "../plan/TaskGraph.js"
import * as ReWooPrompts from "../prompt/defaults/ReWooPrompts.js"
import type { Bound } from "../tool/definition/ToolSet.js"
import * as Reasoning from "./definition/Reasoning.js"
import * as ReplyForm from "./definition/ReplyForm.js"
import type * as Strategy from "./definition/Strategy.js"
import type { PlanError } from "./definition/StrategyError.js"
import * as GraphStrategy from "./reasoning/GraphStrategy.js"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "rewoo"

/**
 * @since 0.1.0
 * @category constants
 */
export const PAPER =
  "Xu et al. 2023, ReWOO: Decoupling Reasoning from Observations for Efficient Augmented Language Models (arXiv 2305.18323)"

/**
 * The pattern's name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "REWOOAgent"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Reasoning.Options {
  /** Evidence collected concurrently; default `toolConcurrency`, which is 8 unless the agent sets another. */
  readonly maxParallel?: number | undefined
  /** Maximum pieces of evidence in a plan; default 20. A longer plan is rejected. */
  readonly maxEvidence?: number | undefined
  /**
   * The name by which a plan asks a model instead of a tool: `LLM[question]`; default `LLM`. A tool with that name
   * takes precedence; `false` disables it.
   */
  readonly llmWorker?: string | false | undefined
  /** The model role that answers such questions; default `solver`. */
  readonly solverRole?: string | undefined
}

/**
 * The state of a run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  /** The thoughts of the plan, one per step. */
  plans: Schema.Array(Schema.String),
  evidence: Schema.Array(ReWooPlan.Evidence),
  /** The evidence, in the same order. */
  calls: Schema.Array(PlanResults.Call),
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
export type Node = "worker_plan" | "solver_execute" | "worker_integrate"

const { jsonSchema } = ReplyForm.make({
  name: "plan",
  schema: Schema.Struct({
    steps: Schema.Array(
      Schema.Struct({
        plan: Schema.String.annotations({ description: "What is to be found out and why" }),
        variable: Schema.String.annotations({ description: "The name of the evidence: #E1, #E2 and so on" }),
        tool: Schema.String.annotations({ description: "The name of the tool" }),
        input: Schema.Union(Schema.String, Schema.Record({ key: Schema.String, value: Schema.Unknown })).annotations({
          description: "Text for a tool with one parameter, else its arguments by name; #E1 stands for that evidence"
        })
      })
    )
  })
})

const shownCall = ({ id, tool }: PlanResults.Call, args: string): string => `${id} = ${tool}[${args}]`

/** The parameter for plain text: the only one, the only required one, or the first. */
const textParameter = (schema: PlanArguments.Schema): string | undefined => {
  const names = PlanArguments.parameterNames(schema)
  const required = schema["required"]
  const needed = Array.isArray(required) ? names.filter((name) => required.includes(name)) : []
  return names.length !== 1 && needed.length === 1 ? needed[0] : names[0]
}

/** Comma-separated literals for a tool with as many parameters, or one quoted text. */
const literals = (input: string, schema: PlanArguments.Schema): PlanLiteral.Arguments | undefined => {
  const cursor: PlanLiteral.Cursor = { text: `${input})`, at: 0, ended: true }
  const read = PlanLiteral.runAll(PlanLiteral.callArguments(cursor))
  if (read === undefined || read === PlanLiteral.NONE || cursor.at < cursor.text.length) return undefined
  const count = read.args.length
  const named = Object.keys(read.named).length
  if (named === 0 && count === 1) return typeof read.args[0] === "string" ? read : undefined
  return count + named > 1 && count <= PlanArguments.parameterNames(schema).length ? read : undefined
}

/** One text per required parameter, if there are several: `Subtract[#E2, #E1]`. */
const pieces = (input: string, schema: PlanArguments.Schema): PlanLiteral.Arguments | undefined => {
  const required = schema["required"]
  const names = Array.isArray(required)
    ? PlanArguments.parameterNames(schema).filter((name) => required.includes(name))
    : []
  const texts = input.split(",").map((text) => text.trim())
  return names.length > 1 && texts.length === names.length
    ? { args: [], named: Object.fromEntries(texts.map((text, index) => [names[index], text])) }
    : undefined
}

/**
 * The input as arguments of the tool. The reading is decided before evidence is inserted, so that evidence is never
 * read as arguments.
 */
const paramsOf = (
  evidence: ReWooPlan.Evidence,
  schema: PlanArguments.Schema,
  results: ReadonlyMap<string, unknown>
): Either.Either<unknown, PlanError> => {
  const resolve = (input: unknown) => ReWooPlan.resolve({ ...evidence, input }, results)
  const { input } = evidence
  const object = ReWooPlan.inputObject(input)
  if (object !== undefined) {
    return Either.map(resolve(object), (value) =>
      PlanArguments.toParams(schema, [], value as { readonly [name: string]: unknown })
    )
  }
  if (Array.isArray(input)) {
    return Either.map(resolve(input), (value) => PlanArguments.toParams(schema, value as ReadonlyArray<unknown>))
  }
  const given = typeof input === "string" ? (literals(input, schema) ?? pieces(input, schema)) : undefined
  if (given !== undefined && (given.args.length !== 1 || Object.keys(given.named).length > 0)) {
    return Either.map(resolve(given), (value) => {
      const { args, named } = value as PlanLiteral.Arguments
      return PlanArguments.toParams(schema, args, named)
    })
  }
  const name = textParameter(schema)
  return Either.map(resolve(given === undefined ? input : given.args[0]), (value) =>
    name === undefined ? (value === "" ? {} : value) : PlanArguments.toParams(schema, [], { [name]: value })
  )
}

const textOf = (input: unknown): string => PlanArguments.textOf(input)

const planText = ({ calls, evidence, plans }: State): string =>
  evidence.length === 0
    ? plans.join("\n") || "No evidence was asked for."
    : evidence
        .map(({ plan }, index) => {
          const call = calls[index] as PlanResults.Call
          return `${plan === "" ? "" : `Plan: ${plan}\n`}${shownCall(call, call.args.trim().replace(/\s+/g, " "))}`
        })
        .join("\n")

/** The outcome of a piece of evidence. */
type Ended = Pick<PlanResults.Call, "status" | "observation" | "value">

const collect = (state: State, options: Options) =>
  Effect.suspend(() => {
    const llmName = workerName(options)
    const calls = new Map(
      state.evidence.map((evidence): readonly [string, PlanResults.Call] => [
        evidence.variable,
        {
          id: evidence.variable,
          tool: evidence.tool,
          args: textOf(evidence.input),
          dependencies: evidence.refs,
          status: "pending",
          observation: ""
        }
      ])
    )
    return Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const { run, task } = reasoning
      const step = reasoning.steps()
      const emitPlan = Effect.suspend(() =>
        run.emit({ _tag: "Plan", steps: PlanResults.toSteps(calls.values(), ({ tool }, args) => `${tool}[${args}]`) })
      )
      const settle = (variable: string, ended: Ended) =>
        Effect.suspend(() => {
          calls.set(variable, { ...(calls.get(variable) as PlanResults.Call), ...ended })
          return Effect.as(emitPlan, ended.status === "completed")
        })

      const ask = (evidence: ReWooPlan.Evidence, results: ReadonlyMap<string, unknown>) =>
        Effect.flatMap(ReWooPlan.resolve(evidence, results), (input) =>
          reasoning.ask(
            ReWooPrompts.SolverExecute,
            { request: textOf(input) },
            { role: options.solverRole ?? "solver", context: false }
          )
        ).pipe(
          Effect.map(({ text }): Ended => ({ status: "completed", value: text, observation: text })),
          Effect.catchTag("StrategyReplyError", (error) =>
            Effect.succeed<Ended>({ status: "failed", observation: `Error: ${error.message}` })
          )
        )

      const call = (evidence: ReWooPlan.Evidence, results: ReadonlyMap<string, unknown>) =>
        Effect.gen(function* () {
          const { tool, variable } = evidence
          const params = yield* paramsOf(evidence, task.tools.get(tool)?.parameters ?? {}, results)
          const id = `evidence_${variable.replace(/\W/g, "")}`
          const outcome = yield* reasoning.call({ id, name: tool, params }, step)
          const { observation, result: value } = outcome
          const ended: Ended = outcome.isFailure
            ? { status: "failed", observation }
            : { status: "completed", observation, value }
          return ended
        })

      yield* TaskGraph.run({
        concurrency: count(options.maxParallel, reasoning.concurrency, 1),
        feed: (pool: TaskGraph.Pool<TaskGraph.Node & { readonly evidence: ReWooPlan.Evidence }>) =>
          Effect.andThen(emitPlan, () =>
            pool.add(
              state.evidence.map((evidence) => ({ id: evidence.variable, dependencies: evidence.refs, evidence }))
            )
          ),
        execute: ({ evidence }, failed) => {
          if (failed.length > 0) {
            return settle(evidence.variable, { status: "skipped", observation: PlanResults.skippedText(failed) })
          }
          const results = new Map(evidence.refs.map((id) => [id, calls.get(id)?.value] as const))
          const work =
            evidence.tool === llmName && task.tools.get(llmName) === undefined
              ? ask(evidence, results)
              : call(evidence, results)
          return Effect.flatMap(work, (ended) => settle(evidence.variable, ended))
        }
      })
      return { calls: Array.from(calls.values()) }
    })
  })

const workerName = (options: Options): string | undefined =>
  options.llmWorker === false ? undefined : (options.llmWorker ?? "LLM")

const describeTools = (tools: Bound, llmName: string | undefined): string => {
  if (llmName === undefined || tools.get(llmName) !== undefined) return PlanArguments.describeTools(tools)
  const llm = `- ${llmName}(question: string): Asks a model. For reasoning over evidence, and for what is generally known; it sees nothing but the question.`
  return tools.definitions.length === 0 ? llm : `${PlanArguments.describeTools(tools)}\n${llm}`
}

/**
 * The graph: `worker_plan` is the planner, `solver_execute` the workers, `worker_integrate` the solver. Two model
 * calls, one more per question to a model in the plan; repeated questions count as well.
 *
 * Evidence is collected as soon as its references are available. The solver is told that failed evidence is missing,
 * with the error; evidence that refers to it is skipped. An invalid plan goes back to the planner with all its issues,
 * and finally fails with `PlanError`; nothing of it runs.
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
  const maxEvidence = count(options.maxEvidence, 20, 1)
  const llmName = workerName(options)

  return {
    name: NAME,
    options,
    start: () => ({ plans: [], evidence: [], calls: [] }),
    answer: (state) =>
      state.answer === undefined
        ? Effect.dieMessage("worker_integrate did not run: the graph was changed so that it ends without it")
        : Effect.succeed(state.answer),
    graph: StateGraph.make({
      name: NAME,
      state: State,
      start: "worker_plan",
      nodes: {
        worker_plan: (_state: State) =>
          Effect.gen(function* () {
            const { askFor, run, task } = yield* Reasoning.Reasoning
            const names = task.tools.definitions.map(({ name }) => name)
            const tools = llmName === undefined || names.includes(llmName) ? names : [...names, llmName]
            let refusal: PlanError | undefined
            const read = (text: string): Either.Either<ReWooPlan.ReWooPlan, string> => {
              // A tool search hides tools that a plan may call.
              const findTool = (name: string) => {
                const tool = task.tools.get(name)
                return tool && task.tools.names.toProvider(tool.name)
              }
              const { issues, plan } = ReWooPlan.readPlan(text, { tools, findTool, maxEvidence })
              const [first, ...others] = issues
              if (first === undefined) return Either.right(plan)
              refusal = ReWooPlan.toError([first, ...others])
              return Either.left(PlanCollector.explain(issues))
            }
            const { step, value } = yield* Effect.catchTag(
              askFor(
                ReWooPrompts.WorkerPlan,
                { task: task.input, tools: describeTools(task.tools, llmName) },
                { name: "plan", jsonSchema, read }
              ),
              "StrategyReplyError",
              (error) => Effect.fail(refusal ?? error)
            )
            for (const text of value.plans) yield* run.emit({ _tag: "Thought", step, text })
            return { plans: value.plans, evidence: value.evidence }
          }),
        solver_execute: (state: State) => collect(state, options),
        worker_integrate: (state: State) =>
          Effect.gen(function* () {
            const { finish, task } = yield* Reasoning.Reasoning
            const answer = yield* finish(ReWooPrompts.WorkerIntegrate, {
              task: task.input,
              plan: planText(state),
              results: PlanResults.render(state.calls, ({ id }) => id, "No evidence was collected.")
            })
            return { answer }
          })
      },
      edges: {
        worker_plan: "solver_execute",
        solver_execute: "worker_integrate",
        worker_integrate: StateGraph.END
      }
    })
  }
}

/**
 * For tasks whose steps are known in advance, at the cost of two model calls. If the next step depends on what was
 * found, use a strategy that observes results.
 *
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { ReWoo } from "effect-lexigram/strategy"
 *
 * const agent = Agent.make("researcher", { strategy: ReWoo.make({ maxParallel: 4 }) })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Strategy.Strategy => GraphStrategy.make(definition(options))
