/**
 * The work of a crew: who does which task, in which order, what is checked, and what becomes of failures.
 *
 * @internal
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { PlanStep } from "../../domain/AgentEvent.js"
import { type ErrorInfo, errorInfo } from "../../domain/ErrorInfo.js"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { RunId } from "../../domain/Ids.js"
import * as Usage from "../../domain/Usage.js"
import { count } from "../../internal/Count.js"
import * as Ambient from "../../internal/fiber/Ambient.js"
import { nearest } from "../../internal/text/Nearest.js"
import * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import * as Run from "../../observability/Run.js"
import * as TaskGraph from "../../plan/TaskGraph.js"
import type { Answer, Task as StrategyTask } from "../../strategy/definition/Strategy.js"
import { OutputValidationError } from "../../strategy/definition/StrategyError.js"
import * as AgentExecutor from "../AgentExecutor.js"
import * as Agent from "../definition/Agent.js"
import { CrewError, RunLimitExceededError } from "../definition/AgentError.js"
import * as Conversation from "../definition/Conversation.js"
import * as HandoffStage from "../stage/HandoffStage.js"
import * as CrewManager from "./CrewManager.js"
import type { CrewStarted, Process, TaskFinished, TaskResult, TaskRetried, TaskStarted } from "./CrewResult.js"
import type * as CrewTask from "./CrewTask.js"

/** The parts of a crew, free of their types. */
export interface Definition {
  readonly name: string
  readonly agents: ReadonlyArray<Agent.Any>
  readonly tasks: ReadonlyArray<CrewTask.Any>
  readonly process: Process
  readonly manager: Agent.Any | undefined
  readonly failure: "fail" | "continue" | "skip-dependents"
  readonly concurrency: number
}

export type Body =
  | typeof CrewStarted.Type
  | typeof TaskStarted.Type
  | typeof TaskRetried.Type
  | typeof TaskFinished.Type

/**
 * Who follows the work of one crew. Each event stands for one `Plan` of the crew's run, which is emitted in the same
 * step.
 */
export interface Follower {
  readonly runId: RunId
  readonly push: (event: Body) => void
  readonly done: (tasks: ReadonlyArray<TaskResult>, finalOutput: string | undefined) => void
}

export class Following extends Ambient.Reference<Following>()("effect-lexigram/agent/CrewRun/Following", {
  defaultValue: (): Follower | undefined => undefined
}) {}

/** What a task is given unless it says so: in order, what stands before it. */
const contextOf = (crew: Definition, index: number): ReadonlyArray<string> => {
  const { context } = crew.tasks[index] as CrewTask.Any
  if (context !== undefined) return Array.from(new Set(context))
  const before = crew.process === "parallel" ? undefined : crew.tasks[index - 1]
  return before === undefined ? [] : [before.name]
}

const twice = (names: ReadonlyArray<string>): string | undefined => names.find((name, i) => names.indexOf(name) < i)

const similar = (name: string, known: ReadonlyArray<string>): string => {
  const other = nearest(name, known)
  return other === undefined ? `Known: ${known.slice(0, 20).join(", ")}` : `Did you mean "${other}"?`
}

/** What is wrong with a crew, if anything. */
export const problem = (crew: Definition): CrewError | undefined => {
  const error = (reason: CrewError["reason"], message: string, task?: string, hint?: string) =>
    new CrewError({
      crewName: crew.name,
      reason,
      message,
      ...(task === undefined ? {} : { task }),
      ...(hint === undefined ? {} : { hint })
    })
  const { agents, process, tasks } = crew
  const agentNames = agents.map((agent) => agent.name)
  const taskNames = tasks.map((task) => task.name)
  if (agents.length === 0) return error("no-agents", `The crew "${crew.name}" has no agents`)
  if (tasks.length === 0) return error("no-tasks", `The crew "${crew.name}" has no tasks`)
  const sameAgent = twice(agentNames)
  if (sameAgent !== undefined) return error("duplicate-agent", `Two agents are named "${sameAgent}"`)
  const sameTask = twice(taskNames)
  if (sameTask !== undefined) return error("duplicate-task", `Two tasks are named "${sameTask}"`, sameTask)
  for (const [index, task] of tasks.entries()) {
    if (task.agent !== undefined && !agentNames.includes(task.agent)) {
      const message = `The task "${task.name}" is for "${task.agent}", whom the crew does not have`
      return error("unknown-agent", message, task.name, similar(task.agent, agentNames))
    }
    for (const name of contextOf(crew, index)) {
      if (taskNames.includes(name)) continue
      const message = `The task "${task.name}" needs "${name}", which the crew does not have`
      return error("unknown-context", message, task.name, similar(name, taskNames))
    }
  }
  const [cycle] = TaskGraph.check(
    tasks.map((task, index) => ({ id: task.name, dependencies: contextOf(crew, index) })),
    { shown: (id) => `"${id}"` }
  )
  if (cycle !== undefined) return error("cycle", `The tasks cannot begin: ${cycle.message}`, cycle.task)
  if (process === "parallel") return undefined
  for (const [index, task] of tasks.entries()) {
    const later = contextOf(crew, index).find((name) => taskNames.indexOf(name) > index)
    if (later === undefined) continue
    const message = `The task "${task.name}" needs "${later}", which comes after it`
    return error("order", message, task.name, 'Put it before, or use the process "parallel"')
  }
  return undefined
}

/** What crews say to their agents is no conversation of the user's. */
const unremembered = (agent: Agent.Any): Agent.Any =>
  agent.definition.memory === undefined ? agent.pipe(Agent.withMemory(WorkingMemory.noop)) : agent

interface Meter {
  readonly run: Run.Service
  readonly used: () => { readonly usage: Usage.Usage; readonly costUsd?: number }
}

/** The run as those in it see it who are counted together. */
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

/** A limit of the crew itself, or above: nobody in it can go on. */
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

/** The program of a crew's run. */
export const program =
  (crew: Definition) =>
  (given: StrategyTask): Effect.Effect<Answer, unknown, any> =>
    Effect.gen(function* () {
      const wrong = problem(crew)
      if (wrong !== undefined) return yield* wrong
      const { process, tasks } = crew
      const { history, input } = given
      const run = yield* Run.Run
      const following = yield* Following
      const follower = following?.runId === run.runId ? following : undefined
      const conversation = yield* Conversation.Conversation
      const userId = conversation?.runId === run.runId ? conversation.userId : undefined
      const manager = unremembered(crew.manager ?? CrewManager.standard)
      const agents = new Map(crew.agents.map((agent) => [agent.name, unremembered(agent)] as const))
      const assigned = new Map<string, Assigned>()
      const results = new Map<string, TaskResult>()
      const plan: Array<PlanStep> = tasks.map((task, index) => ({
        id: task.name,
        description: task.description,
        dependsOn: contextOf(crew, index),
        status: "pending"
      }))

      const say = (event: Body) =>
        Effect.suspend(() => {
          follower?.push(event)
          return run.unsafeEmit({ _tag: "Plan", steps: plan.slice() }) ?? Effect.void
        })

      const ask = <A>(agent: Agent.Agent<A, unknown, unknown>, message: string, runId: RunId) =>
        Effect.zipRight(
          HandoffStage.delegated(run, agent.name, runId, message),
          AgentExecutor.run(agent, { input: message, runId, userId, history }) as Effect.Effect<
            Effect.Effect.Success<ReturnType<typeof AgentExecutor.run<A, unknown, unknown>>>,
            unknown,
            any
          >
        )

      const newRunId = Effect.map(IdGenerator.generate, (id) => RunId.make(id))

      const assign = (open: ReadonlyArray<CrewTask.Any>) =>
        Effect.gen(function* () {
          const chooser = manager.pipe(Agent.withOutput(CrewManager.assignments(open, crew.agents)))
          const message = CrewManager.assignPrompt({ input, tasks: open, agents: crew.agents })
          const { output } = yield* Effect.mapError(ask(chooser, message, yield* newRunId), (error) =>
            error instanceof OutputValidationError
              ? new CrewError({
                  crewName: crew.name,
                  reason: "assignment",
                  message: `"${manager.name}" did not give every task to an agent of the crew: ${error.issues.slice(0, 500)}`,
                  cause: error
                })
              : error
          )
          for (const { agent, instructions, task } of output.assignments) assigned.set(task, { agent, instructions })
        })

      const known = (name: string): CrewManager.Known => {
        const result = results.get(name) as TaskResult
        return result.success
          ? { task: name, agent: result.agent, output: result.output }
          : { task: name, agent: result.agent, failed: result.error?.message ?? "it did not succeed" }
      }

      const judge = manager.pipe(Agent.withOutput(CrewManager.Verdict))

      /** `true`, or why not. */
      const checked = (
        task: CrewTask.Any,
        agent: string,
        output: CrewTask.Output
      ): Effect.Effect<true | string, unknown, any> => {
        const wanted = process === "hierarchical" || task.expectedOutput !== undefined ? "judge" : "none"
        const check = task.check ?? wanted
        if (check === "none") return Effect.succeed(true)
        if (typeof check === "function") return check(output)
        return Effect.flatMap(newRunId, (runId) =>
          Effect.map(
            ask(judge, CrewManager.reviewPrompt({ input, task, agent, output: output.text }), runId),
            ({ output }) => output.accepted || output.feedback || "It is not what the task asks for"
          )
        )
      }

      const attempts = (
        task: CrewTask.Any,
        index: number,
        { agent: name, instructions }: Assigned,
        tried: () => void
      ) =>
        Effect.gen(function* () {
          const own = agents.get(name) as Agent.Any
          const agent = task.output === undefined ? own : own.pipe(Agent.withOutput(task.output))
          const form = agent.definition.output
          const retries = count(task.retries, 2, 0)
          const context = contextOf(crew, index).map(known)
          let rejected: { readonly output: string; readonly feedback: string } | undefined
          for (let attempt = 1; ; attempt++) {
            tried()
            const runId = yield* newRunId
            yield* say(
              rejected === undefined
                ? { _tag: "TaskStarted", task: task.name, agent: name, runId }
                : { _tag: "TaskRetried", task: task.name, agent: name, attempt, reason: rejected.feedback, runId }
            )
            const message = CrewManager.taskPrompt({ input, task, context, instructions, rejected })
            const response = yield* ask(agent, message, runId)
            // It was decoded from this very form.
            const value = form === undefined ? undefined : yield* Effect.orDie(form.encode(response.output))
            const text = form === undefined ? response.message : (JSON.stringify(value) ?? response.message)
            const verdict = yield* checked(task, name, { text, value })
            if (verdict === true) return { text, value }
            if (attempt > retries) {
              return yield* new CrewError({
                crewName: crew.name,
                reason: "rejected",
                task: task.name,
                message: `The output of "${task.name}" was not accepted in ${attempt} attempts: ${verdict.slice(0, 500)}`,
                hint: "Say more clearly what is expected, or raise `retries`"
              })
            }
            rejected = { output: text, feedback: verdict }
          }
        })

      /** Does a task; whether it was completed. */
      const work = (index: number, failed: ReadonlyArray<string>): Effect.Effect<boolean, unknown, any> =>
        Effect.gen(function* () {
          const task = tasks[index] as CrewTask.Any
          const to = assigned.get(task.name) as Assigned
          const startedAt = yield* Clock.currentTimeMillis
          const meter = makeMeter(run)
          let tried = 0
          const end = (fields: Pick<TaskResult, "status" | "output" | "value" | "error">) =>
            Effect.flatMap(Clock.currentTimeMillis, (now) => {
              const result: TaskResult = {
                name: task.name,
                agent: to.agent,
                success: fields.status === "completed",
                ...fields,
                attempts: tried,
                ...meter.used(),
                durationMs: now - startedAt
              }
              results.set(task.name, result)
              plan[index] = { ...(plan[index] as PlanStep), status: fields.status }
              return say({ _tag: "TaskFinished", task: task.name, result })
            })
          if (failed.length > 0 && crew.failure === "skip-dependents") {
            yield* end({ status: "skipped", output: "", error: skippedInfo(task.name, failed) })
            return false
          }
          const ended = yield* Effect.either(
            Effect.provideService(
              attempts(task, index, to, () => void tried++),
              Run.Run,
              meter.run
            )
          )
          if (ended._tag === "Right") {
            const { text, value } = ended.right
            yield* end({ status: "completed", output: text, ...(value === undefined ? {} : { value }) })
            return true
          }
          yield* end({ status: "failed", output: "", error: errorInfo(ended.left) })
          if (crew.failure === "fail" || isOurLimit(ended.left, run)) return yield* Effect.fail(ended.left)
          return false
        })

      yield* say({
        _tag: "CrewStarted",
        crew: crew.name,
        process,
        tasks: tasks.map((task) => task.name),
        runId: run.runId
      })
      for (const task of tasks) {
        const agent = task.agent ?? (crew.agents.length === 1 ? (crew.agents[0] as Agent.Any).name : undefined)
        if (agent !== undefined) assigned.set(task.name, { agent, instructions: undefined })
      }
      const open = process === "hierarchical" ? tasks : tasks.filter((task) => !assigned.has(task.name))
      if (open.length > 0) yield* assign(open)

      if (process === "parallel") {
        const nodes = tasks.map((task, index) => ({ id: task.name, dependencies: contextOf(crew, index), index }))
        yield* TaskGraph.run<(typeof nodes)[number], void, never, never, unknown, any>({
          concurrency: crew.concurrency,
          feed: (pool) => Effect.sync(() => pool.add(nodes)),
          execute: (node, failed) => work(node.index, failed)
        })
      } else {
        for (const index of tasks.keys()) {
          yield* work(
            index,
            contextOf(crew, index).filter((name) => results.get(name)?.success !== true)
          )
        }
      }

      const ended = tasks.map((task) => results.get(task.name) as TaskResult)
      const last = ended.at(-1) as TaskResult
      const finalOutput =
        process === "hierarchical"
          ? (yield* ask(
              manager,
              CrewManager.composePrompt({ input, results: ended.map((result) => known(result.name)) }),
              yield* newRunId
            )).message
          : last.success
            ? last.output
            : undefined
      follower?.done(ended, finalOutput)
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
