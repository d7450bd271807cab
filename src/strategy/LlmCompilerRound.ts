/**
 * One plan of `llm-compiler`, carried out while it is written: the planner's words go through the parser as they
 * arrive, and each call it completes is begun as soon as the results it refers to are there.
 *
 * @since 0.1.0
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as CanonicalJson from "../internal/text/CanonicalJson.js"
import * as LlmCompilerPlan from "../plan/LlmCompilerPlan.js"
import * as PlanArguments from "../plan/PlanArguments.js"
import * as PlanCollector from "../plan/PlanCollector.js"
import * as PlanResults from "../plan/PlanResults.js"
import * as TaskGraph from "../plan/TaskGraph.js"
import * as LlmCompilerPrompts from "../prompt/defaults/LlmCompilerPrompts.js"
import type { Outcome } from "../tool/ToolRunner.js"
import type * as Reasoning from "./definition/Reasoning.js"
import * as ReplyForm from "./definition/ReplyForm.js"
import type { PlanError, PlanIssue } from "./definition/StrategyError.js"

/** The plan as JSON; it is read by the parser, which takes more than this. */
const { jsonSchema } = ReplyForm.make({
  name: "plan",
  schema: Schema.Struct({
    tasks: Schema.Array(
      Schema.Struct({
        id: Schema.Int.annotations({ description: "The number of the call" }),
        thought: Schema.optional(Schema.String.annotations({ description: "Why it is needed" })),
        tool: Schema.String.annotations({ description: "The name of the tool" }),
        args: Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
          description: 'The arguments by name; "$1" in a text stands for the result of call 1'
        })
      })
    ).annotations({ description: "The calls; empty when none is needed" })
  })
})

export const shownCall = ({ id, tool }: PlanResults.Call, args: string): string => `${id}. ${tool}(${args})`

export interface Given {
  readonly reasoning: Reasoning.Service
  /** Calls of earlier plans, oldest first. */
  readonly earlier: ReadonlyArray<PlanResults.Call>
  readonly previousPlans: string
  readonly maxTasks: number
  readonly maxParallel: number
}

interface Entry {
  readonly task: LlmCompilerPlan.PlanTask
  call: PlanResults.Call
  /** What was called, once it was. */
  key: string | undefined
  outcome: Outcome | undefined
}

/** One reply of the planner. A reply that is refused leaves its results to the next one. */
interface Attempt {
  readonly parser: LlmCompilerPlan.Parser
  readonly pieces: Array<string>
  readonly entries: Map<string, Entry>
  isRefused: boolean
}

interface Node extends TaskGraph.Node {
  readonly entry: Entry
  readonly attempt: Attempt
}

const pending = (task: LlmCompilerPlan.PlanTask): PlanResults.Call => ({
  id: task.id,
  tool: task.tool,
  args: task.argsRaw,
  dependencies: task.dependencies,
  status: "pending",
  observation: ""
})

const explain = (issues: ReadonlyArray<PlanIssue>): string =>
  issues.some(({ reason }) => reason === "missing-reference")
    ? `${PlanCollector.explain(issues)}; \`$\` and a number as a whole argument is always a reference, and so is one up to the last call within a text: write amounts of money as \`50 USD\``
    : PlanCollector.explain(issues)

/**
 * The calls of a plan with what came of them. A planner that never writes a plan that can be carried out is a
 * `PlanError`.
 */
export const carryOut = (given: Given) =>
  Effect.suspend(() => {
    const { reasoning } = given
    const { run, task } = reasoning
    const { tools } = task
    const earlier = new Map(given.earlier.map((call) => [call.id, call] as const))
    const parseOptions: LlmCompilerPlan.Options = {
      tools: tools.definitions,
      maxTasks: given.maxTasks,
      earlier: new Map(Array.from(earlier, ([id, { status }]) => [id, status === "completed"] as const))
    }
    const begin = (): Attempt => ({
      parser: LlmCompilerPlan.makeParser(parseOptions),
      pieces: [],
      entries: new Map(),
      isRefused: false
    })
    let attempt = begin()
    let refusal: PlanError | undefined
    /** Results of calls that a refused reply had made: the next one does not make them again. */
    const left = new Map<string, Array<Outcome>>()

    const emitPlan = (of: Attempt) =>
      of === attempt && !of.isRefused
        ? run.emit({
            _tag: "Plan",
            steps: PlanResults.toSteps(
              Array.from(of.entries.values(), ({ call }) => call),
              ({ tool }, args) => `${tool}(${args})`
            )
          })
        : Effect.void

    /** A result of an earlier plan that this one can refer to. */
    const before = (of: Attempt, id: string): PlanResults.Call | undefined => {
      const call = of.parser.continues() ? earlier.get(id) : undefined
      return call?.status === "completed" ? call : undefined
    }

    const resultsFor = (of: Attempt, task: LlmCompilerPlan.PlanTask): ReadonlyMap<string, unknown> => {
      const results = new Map<string, unknown>()
      for (const id of task.dependencies) {
        const call = of.entries.get(id)?.call ?? before(of, id)
        if (call?.status === "completed") results.set(id, call.value)
      }
      return results
    }

    const take = (pool: TaskGraph.Pool<Node>, tasks: ReadonlyArray<LlmCompilerPlan.PlanTask>) =>
      Effect.gen(function* () {
        const of = attempt
        const step = reasoning.steps()
        const nodes: Array<Node> = []
        for (const task of tasks) {
          if (of.entries.has(task.id)) continue
          const entry: Entry = { task, call: pending(task), key: undefined, outcome: undefined }
          of.entries.set(task.id, entry)
          const dependencies = task.dependencies.filter((id) => before(of, id) === undefined)
          nodes.push({ id: task.id, dependencies, entry, attempt: of })
          if (task.thought !== "") yield* run.emit({ _tag: "Thought", step, text: task.thought })
        }
        if (nodes.length === 0) return
        yield* emitPlan(of)
        pool.add(nodes)
      })

    /** Nothing more of the reply is begun; what runs may end. */
    const refuse = (pool: TaskGraph.Pool<Node>) => {
      attempt.isRefused = true
      pool.drop()
    }

    const leave = (pool: TaskGraph.Pool<Node>) =>
      Effect.gen(function* () {
        refuse(pool)
        yield* pool.idle
        for (const { call, key, outcome } of attempt.entries.values()) {
          if (call.status !== "completed" || key === undefined || outcome === undefined) continue
          const list = left.get(key)
          if (list === undefined) left.set(key, [outcome])
          else list.push(outcome)
        }
        attempt = begin()
      })

    const onText = (pool: TaskGraph.Pool<Node>) => (text: string) =>
      Effect.suspend(() => {
        attempt.pieces.push(text)
        const tasks = attempt.parser.push(text)
        if (attempt.isRefused) return Effect.void
        if (attempt.parser.issues().length === 0) return take(pool, tasks)
        refuse(pool)
        return Effect.void
      })

    const read = (pool: TaskGraph.Pool<Node>) => (text: string) =>
      Effect.gen(function* () {
        const streamed = attempt.pieces.join("")
        // Whoever stands between may have changed the reply: what counts is what it came to.
        if (streamed !== "" && streamed.trim() !== text) yield* leave(pool)
        if (attempt.pieces.length === 0) attempt.parser.push(text)
        const { issues, plan } = attempt.parser.end()
        const [first, ...others] = issues
        if (first !== undefined) {
          refusal = LlmCompilerPlan.toError([first, ...others])
          yield* leave(pool)
          return yield* Effect.fail(explain(issues))
        }
        yield* take(pool, plan.tasks)
        const { entries } = attempt
        return plan.tasks.map(({ id }) => entries.get(id) as Entry)
      })

    const settle = (entry: Entry, of: Attempt, call: Partial<PlanResults.Call>) => {
      entry.call = { ...entry.call, ...call }
      return Effect.as(emitPlan(of), entry.call.status === "completed")
    }

    const execute = ({ attempt: of, entry }: Node, failed: ReadonlyArray<string>) =>
      Effect.gen(function* () {
        if (failed.length > 0) {
          const observation = PlanResults.skippedText(failed.map(PlanCollector.shown))
          return yield* settle(entry, of, { status: "skipped", observation })
        }
        const { id, tool: name } = entry.task
        const { args, named } = yield* LlmCompilerPlan.resolve(entry.task, resultsFor(of, entry.task))
        const params = PlanArguments.toParams(tools.get(name)?.parameters ?? {}, args, named)
        const key = CanonicalJson.stringify([name, params])
        entry.key = key
        const step = reasoning.steps()
        const outcome =
          left.get(key)?.shift() ?? (yield* reasoning.call({ id: `plan_${step}_${id}`, name, params }, step))
        entry.outcome = outcome
        return yield* settle(
          entry,
          of,
          outcome.isFailure
            ? { status: "failed", observation: outcome.observation }
            : { status: "completed", observation: outcome.observation, value: outcome.result }
        )
      })

    const values = {
      task: task.input,
      tools: PlanArguments.describeTools(tools),
      previous_plans: given.previousPlans
    }
    // A prompt of one's own may have no place for earlier plans: without them the planner would make the same plan
    // again.
    const isTold = reasoning
      .opening(LlmCompilerPrompts.PlanGraph, values)
      .some(({ content }) => typeof content === "string" && content.includes(given.previousPlans))

    const feed = (pool: TaskGraph.Pool<Node>) =>
      reasoning.askFor(
        LlmCompilerPrompts.PlanGraph,
        values,
        { name: "plan", jsonSchema, read: read(pool) },
        {
          onText: onText(pool),
          ...(isTold ? {} : { follow: [{ role: "user" as const, content: given.previousPlans.trim() }] })
        }
      )

    return TaskGraph.run({ concurrency: given.maxParallel, feed, execute }).pipe(
      Effect.map(({ value }) => value.map(({ call }) => call)),
      Effect.catchTag("StrategyReplyError", (error) => Effect.fail(refusal ?? error))
    )
  })
