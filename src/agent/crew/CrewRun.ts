/**
 * Runs a crew: assigns its tasks, does them in order, checks their outputs and handles their failures.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { ResolvedFile } from "../../content/Content.js"
import type { PlanStep } from "../../domain/AgentEvent.js"
import { type ErrorInfo, errorInfo } from "../../domain/ErrorInfo.js"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { RunId } from "../../domain/Ids.js"
import * as Usage from "../../domain/Usage.js"
import { count } from "../../internal/Count.js"
import * as Ambient from "../../internal/fiber/Ambient.js"
import * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import * as Run from "../../observability/Run.js"
import * as TaskGraph from "../../plan/TaskGraph.js"
import type { Answer, Task as StrategyTask } from "../../strategy/definition/Strategy.js"
import { OutputValidationError } from "../../strategy/definition/StrategyError.js"
import * as AgentExecutor from "../AgentExecutor.js"
import * as Handoffs from "../conversation/Handoffs.js"
import * as Agent from "../definition/Agent.js"
import { CrewError, RunLimitExceededError } from "../definition/AgentError.js"
import * as Conversation from "../definition/Conversation.js"
import * as RunPreparation from "../RunPreparation.js"
import * as ContentCalls from "../stage/ContentCalls.js"
import { type CrewDefinition, contextOf, problem } from "./CrewDefinition.js"
import * as CrewManager from "./CrewManager.js"
import type { CrewStarted, TaskFinished, TaskResult, TaskRetried, TaskStarted } from "./CrewResult.js"
import type * as CrewTask from "./CrewTask.js"

export type Body =
  | typeof CrewStarted.Type
  | typeof TaskStarted.Type
  | typeof TaskRetried.Type
  | typeof TaskFinished.Type

/** Receives the events of one crew. Each event is pushed in the same step as a `Plan` event of the crew's run. */
export interface Follower {
  readonly runId: RunId
  readonly push: (event: Body) => void
  readonly done: (tasks: ReadonlyArray<TaskResult>, finalOutput: string | undefined) => void
}

export class Following extends Ambient.Reference<Following>()("effect-lexigram/agent/CrewRun/Following", {
  defaultValue: (): Follower | undefined => undefined
}) {}

/** The messages of a crew to its agents are not part of the conversation of the user. */
const unremembered = (agent: Agent.Any): Agent.Any =>
  agent.definition.memory === undefined ? agent.pipe(Agent.withMemory(WorkingMemory.noop)) : agent

interface Meter {
  readonly run: Run.Service
  readonly used: () => { readonly usage: Usage.Usage; readonly costUsd?: number }
}

/** A run that counts the usage and cost of everything in it. */
const makeMeter = (run: Run.Service): Meter => {
  let usage: Usage.Usage = Usage.empty
  let cost: number | undefined
  let isKnown = true
  const { sink } = run
  return {
    used: () => (cost === undefined || !isKnown ? { usage } : { usage, costUsd: cost }),
    run: {
      ...run,
      sink: {
        ...sink,
        push: (event, whole) => {
          if (event._tag === "UsageReported") {
            usage = Usage.add(usage, event.usage)
            if (event.costUsd === undefined) isKnown = false
            else cost = (cost ?? 0) + event.costUsd
          }
          sink.push(event, whole)
        }
      }
    }
  }
}

/** A limit of the crew itself or of a run above it, which stops the whole crew. */
const isOurLimit = (error: unknown, run: Run.Service): boolean => {
  if (!(error instanceof RunLimitExceededError)) return false
  const limited = error.partial?.runId
  return limited === run.runId || limited === run.rootRunId || limited === run.parentRunId
}

const skippedInfo = (task: string, failed: ReadonlyArray<string>): ErrorInfo => ({
  tag: "TaskSkipped",
  message: `"${task}" was skipped: it needs ${failed.map((name) => `"${name}"`).join(", ")}`.slice(0, 2000)
})

interface Assigned {
  readonly agent: string
  readonly instructions: string | undefined
}

type Ask<A> = Effect.Effect.Success<ReturnType<typeof AgentExecutor.run<A, unknown, unknown>>>

/** The input of one task: where it is in the crew, who does it, and what it is given. */
interface Assignment extends Assigned {
  readonly task: CrewTask.Any
  readonly index: number
}

interface Rejected {
  readonly output: string
  readonly feedback: string
}

/** One run of a crew: who does what, and the results so far. */
class CrewWork {
  private readonly manager: Agent.Any
  private readonly agents: ReadonlyMap<string, Agent.Any>
  private readonly assigned = new Map<string, Assigned>()
  private readonly results = new Map<string, TaskResult>()
  private readonly plan: Array<PlanStep>

  constructor(
    private readonly crew: CrewDefinition,
    private readonly given: StrategyTask,
    private readonly run: Run.Service,
    private readonly follower: Follower | undefined,
    private readonly userId: string | undefined,
    private readonly files: ReadonlyArray<ResolvedFile>
  ) {
    this.manager = unremembered(crew.manager ?? CrewManager.standard)
    this.agents = new Map(crew.agents.map((agent) => [agent.name, unremembered(agent)] as const))
    this.plan = crew.tasks.map((task, index) => ({
      id: task.name,
      description: task.description,
      dependsOn: contextOf(crew, index),
      status: "pending"
    }))
  }

  readonly start = Effect.suspend(() => {
    const { agents, name: crew, process, tasks } = this.crew
    for (const task of tasks) {
      const agent = task.agent ?? (agents.length === 1 ? (agents[0] as Agent.Any).name : undefined)
      if (agent !== undefined) this.assigned.set(task.name, { agent, instructions: undefined })
    }
    return this.say({
      _tag: "CrewStarted",
      crew,
      process,
      tasks: tasks.map((task) => task.name),
      runId: this.run.runId
    })
  })

  /** Has the manager assign the tasks that no agent has; in a hierarchical crew all of them. */
  readonly assign: Effect.Effect<void, unknown, any> = Effect.suspend(() => {
    const { agents, name: crewName, process, tasks } = this.crew
    const open = process === "hierarchical" ? tasks : tasks.filter((task) => !this.assigned.has(task.name))
    if (open.length === 0) return Effect.void
    const chooser = this.manager.pipe(Agent.withOutput(CrewManager.assignments(open, agents)))
    const message = CrewManager.assignPrompt({ input: this.given.input, tasks: open, agents })
    const asked = Effect.mapError(this.ask(chooser, message), (error) =>
      error instanceof OutputValidationError
        ? new CrewError({
            crewName,
            reason: "assignment",
            message: `"${this.manager.name}" did not assign every task to an agent of the crew: ${error.issues.slice(0, 500)}`,
            cause: error
          })
        : error
    )
    return Effect.map(asked, ({ output }) => {
      for (const { agent, instructions, task } of output.assignments) this.assigned.set(task, { agent, instructions })
    })
  })

  /** Does every task: one after another, or as soon as what it needs is done. */
  readonly workAll: Effect.Effect<void, unknown, any> = Effect.suspend(() => {
    const { concurrency, process, tasks } = this.crew
    if (process !== "parallel") {
      return Effect.forEach(tasks, (_, index) => Effect.suspend(() => this.work(index, this.failedBefore(index))), {
        discard: true
      })
    }
    const nodes = tasks.map((task, index) => ({ id: task.name, dependencies: contextOf(this.crew, index), index }))
    return TaskGraph.run<(typeof nodes)[number], void, never, never, unknown, any>({
      concurrency,
      feed: (pool) => Effect.sync(() => pool.add(nodes)),
      execute: (node, failed) => this.work(node.index, failed)
    })
  })

  /** The answer of the crew: composed by the manager of a hierarchical one, else the output of the last task. */
  readonly answer: Effect.Effect<Answer, unknown, any> = Effect.gen(this, function* () {
    const { input } = this.given
    const results = this.crew.tasks.map((task) => this.results.get(task.name) as TaskResult)
    const last = results.at(-1) as TaskResult
    const finalOutput =
      this.crew.process === "hierarchical"
        ? (yield* this.ask(
            this.manager,
            CrewManager.composePrompt({ input, results: results.map((result) => this.known(result.name)) })
          )).message
        : last.success
          ? last.output
          : undefined
    this.follower?.done(results, finalOutput)
    const text = finalOutput ?? `There is no result: "${last.name}" did not succeed: ${last.error?.message ?? ""}`
    return {
      text,
      reason: "completed",
      messages: [
        { role: "user", content: input },
        { role: "assistant", content: text }
      ]
    } satisfies Answer
  })

  private say(event: Body): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.follower?.push(event)
      return this.run.unsafeEmit({ _tag: "Plan", steps: this.plan.slice() }) ?? Effect.void
    })
  }

  private ask<A>(agent: Agent.Agent<A, unknown, unknown>, message: string): Effect.Effect<Ask<A>, unknown, any> {
    return Effect.flatMap(newRunId, (runId) => this.askAs(runId, agent, message))
  }

  private askAs<A>(runId: RunId, agent: Agent.Agent<A, unknown, unknown>, message: string) {
    const { userId } = this
    return Effect.zipRight(
      Handoffs.delegated(this.run, agent.name, runId, message),
      AgentExecutor.run(agent, {
        input: RunPreparation.withFiles(message, this.files),
        runId,
        userId,
        history: this.given.history
      }) as Effect.Effect<Ask<A>, unknown, any>
    )
  }

  private known(name: string): CrewManager.Known {
    const result = this.results.get(name) as TaskResult
    return result.success
      ? { task: name, agent: result.agent, output: result.output }
      : { task: name, agent: result.agent, failed: result.error?.message ?? "it did not succeed" }
  }

  private failedBefore(index: number): ReadonlyArray<string> {
    return contextOf(this.crew, index).filter((name) => this.results.get(name)?.success !== true)
  }

  /** `true`, or why the output is not accepted. */
  private check(
    task: CrewTask.Any,
    agent: string,
    output: CrewTask.Output
  ): Effect.Effect<true | string, unknown, any> {
    const wanted = this.crew.process === "hierarchical" || task.expectedOutput !== undefined ? "judge" : "none"
    const check = task.check ?? wanted
    if (check === "none") return Effect.succeed(true)
    if (typeof check === "function") return check(output)
    const judge = this.manager.pipe(Agent.withOutput(CrewManager.Verdict))
    const message = CrewManager.reviewPrompt({ input: this.given.input, task, agent, output: output.text })
    return Effect.map(
      this.ask(judge, message),
      ({ output }) => output.accepted || output.feedback || "It is not what the task asks for"
    )
  }

  /** One attempt at a task; whether its output is accepted, or why not. */
  private attempt(assignment: Assignment, attempt: number, rejected: Rejected | undefined) {
    return Effect.gen(this, function* () {
      const { agent: name, index, instructions, task } = assignment
      const own = this.agents.get(name) as Agent.Any
      const agent = task.output === undefined ? own : own.pipe(Agent.withOutput(task.output))
      const form = agent.definition.output
      const runId = yield* newRunId
      yield* this.say(
        rejected === undefined
          ? { _tag: "TaskStarted", task: task.name, agent: name, runId }
          : { _tag: "TaskRetried", task: task.name, agent: name, attempt, reason: rejected.feedback, runId }
      )
      const context = contextOf(this.crew, index).map((name) => this.known(name))
      const message = CrewManager.taskPrompt({ input: this.given.input, task, context, instructions, rejected })
      const response = yield* this.askAs(runId, agent, message)
      // The output was decoded by this very schema.
      const value = form === undefined ? undefined : yield* Effect.orDie(form.encode(response.output))
      const text = form === undefined ? response.message : (JSON.stringify(value) ?? response.message)
      return { text, value, verdict: yield* this.check(task, name, { text, value }) }
    })
  }

  private attempts(assignment: Assignment, tried: () => void): Effect.Effect<CrewTask.Output, unknown, any> {
    return Effect.gen(this, function* () {
      const { task } = assignment
      const retries = count(task.retries, 2, 0)
      let rejected: Rejected | undefined
      for (let attempt = 1; ; attempt++) {
        tried()
        const { text, value, verdict } = yield* this.attempt(assignment, attempt, rejected)
        if (verdict === true) return { text, value }
        if (attempt > retries) {
          return yield* new CrewError({
            crewName: this.crew.name,
            reason: "rejected",
            task: task.name,
            message: `The output of "${task.name}" was rejected ${attempt} times: ${verdict.slice(0, 500)}`,
            hint: "Describe the expected output more clearly, or raise `retries`"
          })
        }
        rejected = { output: text, feedback: verdict }
      }
    })
  }

  /** Does a task; whether it was completed. */
  private work(index: number, failed: ReadonlyArray<string>): Effect.Effect<boolean, unknown, any> {
    return Effect.gen(this, function* () {
      const task = this.crew.tasks[index] as CrewTask.Any
      const assigned = this.assigned.get(task.name) as Assigned
      const startedAt = yield* Clock.currentTimeMillis
      const meter = makeMeter(this.run)
      let tried = 0
      const end = (fields: Pick<TaskResult, "status" | "output" | "value" | "error">) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          this.end(index, {
            name: task.name,
            agent: assigned.agent,
            success: fields.status === "completed",
            ...fields,
            attempts: tried,
            ...meter.used(),
            durationMs: now - startedAt
          })
        )
      if (failed.length > 0 && this.crew.failure === "skip-dependents") {
        yield* end({ status: "skipped", output: "", error: skippedInfo(task.name, failed) })
        return false
      }
      const attempts = this.attempts({ ...assigned, task, index }, () => void tried++)
      const ended = yield* Effect.either(Effect.provideService(attempts, Run.Run, meter.run))
      if (ended._tag === "Right") {
        const { text, value } = ended.right
        yield* end({ status: "completed", output: text, ...(value === undefined ? {} : { value }) })
        return true
      }
      yield* end({ status: "failed", output: "", error: errorInfo(ended.left) })
      if (this.crew.failure === "fail" || isOurLimit(ended.left, this.run)) return yield* Effect.fail(ended.left)
      return false
    })
  }

  private end(index: number, result: TaskResult): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.results.set(result.name, result)
      this.plan[index] = { ...(this.plan[index] as PlanStep), status: result.status }
      return this.say({ _tag: "TaskFinished", task: result.name, result })
    })
  }
}

const newRunId = Effect.map(IdGenerator.generate, (id) => RunId.make(id))

/** The program of a crew's run. */
export const program =
  (crew: CrewDefinition) =>
  (given: StrategyTask): Effect.Effect<Answer, unknown, any> =>
    Effect.gen(function* () {
      const wrong = problem(crew)
      if (wrong !== undefined) return yield* wrong
      const run = yield* Run.Run
      const following = yield* Following
      const follower = following?.runId === run.runId ? following : undefined
      const conversation = yield* Conversation.Conversation
      const userId = conversation?.runId === run.runId ? conversation.userId : undefined
      const work = new CrewWork(crew, given, run, follower, userId, yield* ContentCalls.current)
      yield* work.start
      yield* work.assign
      yield* work.workAll
      return yield* work.answer
    })
