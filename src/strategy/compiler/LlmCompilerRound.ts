/**
 * One plan of LLMCompiler, carried out while it is written. The planner's text is parsed as it arrives, and each
 * complete call begins as soon as the results it refers to are available.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as LlmCompilerPlan from "../../plan/LlmCompilerPlan.js"
import * as PlanArguments from "../../plan/PlanArguments.js"
import * as PlanCollector from "../../plan/PlanCollector.js"
import * as PlanResults from "../../plan/PlanResults.js"
import * as TaskGraph from "../../plan/TaskGraph.js"
import * as LlmCompilerPrompts from "../../prompt/defaults/LlmCompilerPrompts.js"
import type { Fatality, Outcome } from "../../tool/ToolRunner.js"
import type * as Reasoning from "../definition/Reasoning.js"
import * as ReplyForm from "../definition/ReplyForm.js"
import type { PlanError, PlanIssue } from "../definition/StrategyError.js"

/** The plan as JSON. The parser reads it, and accepts more than this schema. */
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
  /** The key of the call, once it was made. */
  key: string | undefined
  outcome: Outcome | undefined
}

/** One reply of the planner. A rejected reply leaves its results to the next one. */
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

/** The state of one round: the reply that is being read, and what refused replies left behind. */
class Round {
  private attempt: Attempt
  private refusal: PlanError | undefined
  private readonly earlier: ReadonlyMap<string, PlanResults.Call>
  private readonly parseOptions: LlmCompilerPlan.Options
  /** Outcomes of calls that a refused reply made. The next reply does not make them again. */
  private readonly left = new Map<string, Array<Outcome>>()

  constructor(private readonly given: Given) {
    this.earlier = new Map(given.earlier.map((call) => [call.id, call] as const))
    const { tools } = given.reasoning.task
    this.parseOptions = {
      tools: tools.definitions,
      // A tool search hides tools that a plan may call.
      findTool: (name) => {
        const tool = tools.get(name)
        return tool && { name: tools.names.toProvider(tool.name), parameters: tool.parameters }
      },
      maxTasks: given.maxTasks,
      earlier: new Map(Array.from(this.earlier, ([id, { status }]) => [id, status === "completed"] as const))
    }
    this.attempt = this.begin()
  }

  private begin(): Attempt {
    return {
      parser: LlmCompilerPlan.makeParser(this.parseOptions),
      pieces: [],
      entries: new Map(),
      isRefused: false
    }
  }

  private emitPlan(attempt: Attempt): Effect.Effect<void> {
    if (attempt !== this.attempt || attempt.isRefused) return Effect.void
    const calls = Array.from(attempt.entries.values(), ({ call }) => call)
    const steps = PlanResults.toSteps(calls, ({ tool }, args) => `${tool}(${args})`)
    return this.given.reasoning.run.emit({ _tag: "Plan", steps })
  }

  /** A result of an earlier plan that the reply can refer to. */
  private earlierResult({ parser }: Attempt, id: string): PlanResults.Call | undefined {
    const call = parser.continues() ? this.earlier.get(id) : undefined
    return call?.status === "completed" ? call : undefined
  }

  private resultsFor(attempt: Attempt, task: LlmCompilerPlan.PlanTask): ReadonlyMap<string, unknown> {
    const results = new Map<string, unknown>()
    for (const id of task.dependencies) {
      const call = attempt.entries.get(id)?.call ?? this.earlierResult(attempt, id)
      if (call?.status === "completed") results.set(id, call.value)
    }
    return results
  }

  /** Adds the tasks that were read to the pool. */
  private take(pool: TaskGraph.Pool<Node>, tasks: ReadonlyArray<LlmCompilerPlan.PlanTask>): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const { attempt } = this
      const { run, steps } = this.given.reasoning
      const step = steps()
      const nodes: Array<Node> = []
      for (const task of tasks) {
        if (attempt.entries.has(task.id)) continue
        const entry: Entry = { task, call: pending(task), key: undefined, outcome: undefined }
        attempt.entries.set(task.id, entry)
        const dependencies = task.dependencies.filter((id) => this.earlierResult(attempt, id) === undefined)
        nodes.push({ id: task.id, dependencies, entry, attempt })
        if (task.thought !== "") yield* run.emit({ _tag: "Thought", step, text: task.thought })
      }
      if (nodes.length === 0) return
      yield* this.emitPlan(attempt)
      pool.add(nodes)
    })
  }

  /** Begins nothing more of the reply. Running calls may end. */
  private refuse(pool: TaskGraph.Pool<Node>): void {
    this.attempt.isRefused = true
    pool.drop()
  }

  /** Gives the reply up, and keeps the outcomes of its calls for the next one. */
  private abandon(pool: TaskGraph.Pool<Node>): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      this.refuse(pool)
      yield* pool.idle
      for (const { call, key, outcome } of this.attempt.entries.values()) {
        if (call.status !== "completed" || key === undefined || outcome === undefined) continue
        const list = this.left.get(key)
        if (list === undefined) this.left.set(key, [outcome])
        else list.push(outcome)
      }
      this.attempt = this.begin()
    })
  }

  private onText(pool: TaskGraph.Pool<Node>, text: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { attempt } = this
      attempt.pieces.push(text)
      const tasks = attempt.parser.push(text)
      if (attempt.isRefused) return Effect.void
      if (attempt.parser.issues().length === 0) return this.take(pool, tasks)
      this.refuse(pool)
      return Effect.void
    })
  }

  /** Reads the whole reply. */
  private read(pool: TaskGraph.Pool<Node>, text: string): Effect.Effect<ReadonlyArray<Entry>, string> {
    return Effect.gen(this, function* () {
      const streamed = this.attempt.pieces.join("")
      // An interceptor may have changed the reply: the whole text counts.
      if (streamed !== "" && streamed.trim() !== text) yield* this.abandon(pool)
      if (this.attempt.pieces.length === 0) this.attempt.parser.push(text)
      const { issues, plan } = this.attempt.parser.end()
      const [first, ...others] = issues
      if (first !== undefined) {
        this.refusal = LlmCompilerPlan.toError([first, ...others])
        yield* this.abandon(pool)
        return yield* Effect.fail(explain(issues))
      }
      yield* this.take(pool, plan.tasks)
      const { entries } = this.attempt
      return plan.tasks.map(({ id }) => entries.get(id) as Entry)
    })
  }

  private settle({ attempt, entry }: Node, call: Partial<PlanResults.Call>): Effect.Effect<boolean> {
    entry.call = { ...entry.call, ...call }
    return Effect.as(this.emitPlan(attempt), entry.call.status === "completed")
  }

  private callTool({ attempt, entry }: Node): Effect.Effect<Outcome, PlanError | Fatality> {
    return Effect.gen(this, function* () {
      const { call, steps, task } = this.given.reasoning
      const { id, tool: name } = entry.task
      const { args, named } = yield* LlmCompilerPlan.resolve(entry.task, this.resultsFor(attempt, entry.task))
      const params = PlanArguments.toParams(task.tools.get(name)?.parameters ?? {}, args, named)
      const key = CanonicalJson.stringify([name, params])
      entry.key = key
      const step = steps()
      return this.left.get(key)?.shift() ?? (yield* call({ id: `plan_${step}_${id}`, name, params }, step))
    })
  }

  private execute(node: Node, failed: ReadonlyArray<string>): Effect.Effect<boolean, PlanError | Fatality> {
    if (failed.length > 0) {
      const observation = PlanResults.skippedText(failed.map(PlanCollector.referenceOf))
      return this.settle(node, { status: "skipped", observation })
    }
    return Effect.flatMap(this.callTool(node), (outcome) => {
      node.entry.outcome = outcome
      const { isFailure, observation, result } = outcome
      return this.settle(
        node,
        isFailure ? { status: "failed", observation } : { status: "completed", observation, value: result }
      )
    })
  }

  private feed(pool: TaskGraph.Pool<Node>) {
    const { previousPlans, reasoning } = this.given
    const { input, tools } = reasoning.task
    const values = { task: input, tools: PlanArguments.describeTools(tools), previous_plans: previousPlans }
    // A custom prompt may have no place for earlier plans: without them the planner would make the same plan again.
    const isTold = reasoning
      .opening(LlmCompilerPrompts.PlanGraph, values)
      .some(({ content }) => typeof content === "string" && content.includes(previousPlans))
    return reasoning.askFor(
      LlmCompilerPrompts.PlanGraph,
      values,
      { name: "plan", jsonSchema, read: (text) => this.read(pool, text) },
      {
        onText: (text) => this.onText(pool, text),
        ...(isTold ? {} : { follow: [{ role: "user" as const, content: previousPlans.trim() }] })
      }
    )
  }

  run() {
    return TaskGraph.run({
      concurrency: this.given.maxParallel,
      feed: (pool: TaskGraph.Pool<Node>) => this.feed(pool),
      execute: (node: Node, failed) => this.execute(node, failed)
    }).pipe(
      Effect.map(({ value }) => value.map(({ call }) => call)),
      Effect.catchTag("StrategyReplyError", (error) => Effect.fail(this.refusal ?? error))
    )
  }
}

/**
 * Asks for a plan and runs its calls while it is written. Returns the calls with their results. A planner that never
 * writes a valid plan fails with `PlanError`.
 */
export const carryOut = (given: Given) => Effect.suspend(() => new Round(given).run())
