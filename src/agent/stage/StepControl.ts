/**
 * Applies what an agent decides while it runs to its model calls, its tool calls and its answers.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as Usage from "../../domain/Usage.js"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import * as StepPreparation from "../../strategy/definition/StepPreparation.js"
import type { Answer, Strategy, Task } from "../../strategy/definition/Strategy.js"
import { OutputValidationError } from "../../strategy/definition/StrategyError.js"
import { ToolNotFoundError } from "../../tool/definition/ToolError.js"
import * as ToolRunner from "../../tool/ToolRunner.js"
import { Rejected } from "../definition/AgentControl.js"
import { AgentConfigurationError } from "../definition/AgentError.js"
import type { State } from "../definition/Stage.js"
import * as RunInterceptors from "./RunInterceptors.js"

const fatal = (error: unknown): ToolRunner.Fatality =>
  error instanceof ToolRunner.Fatality ? error : new ToolRunner.Fatality({ error, toolName: "" })

/** Ends the reasoning of a run whose condition holds. */
class Stopped {}

/** What a run has done so far, as far as its agent decides by it. */
class Progress {
  /** The calls of tools that were not offered, by id, with the tools that were. */
  readonly withheld = new Map<string, ReadonlyArray<string>>()
  step = 0
  usage = Usage.empty
  toolCalls = 0
  text = ""
  /** The calls since the last answer. */
  last: Array<{ readonly name: string; readonly isFailure: boolean }> = []

  answered(response: LlmClient.LlmResponse, step: number): void {
    this.step = Math.max(this.step, step)
    this.usage = Usage.add(this.usage, response.usage)
    const text = LlmClient.text(response)
    if (text !== "") this.text = text
    this.last = []
  }

  called({ isFailure, name }: ToolRunner.Outcome): void {
    this.toolCalls++
    this.last.push({ name, isFailure })
  }
}

/** The problem of a change that names a tool which the call does not offer. */
const problemOf = (
  agentName: string,
  info: StepPreparation.StepInfo,
  changes: StepPreparation.StepChanges
): AgentConfigurationError | undefined => {
  const { activeTools = info.tools, toolChoice } = changes
  const forced = typeof toolChoice === "object" && info.tools.length > 0 ? [toolChoice.tool] : []
  const unknown =
    activeTools.find((name) => !info.tools.includes(name)) ?? forced.find((name) => !activeTools.includes(name))
  if (unknown === undefined) return undefined
  return new AgentConfigurationError({
    agentName,
    message: `Step ${info.step} of "${agentName}" names the tool "${unknown.slice(0, 128)}", which it does not offer`,
    hint: `Name one of its tools: ${info.tools.join(", ").slice(0, 1000)}`
  })
}

/** Prepares the calls of a run by the agent's tool choice and its functions. */
const preparation = (state: State, progress: Progress): Task["preparation"] => {
  const { prepareStep, stopWhen, toolChoice } = state.agent.definition.control
  if (prepareStep.length === 0 && toolChoice === undefined && stopWhen === undefined) return undefined
  let offered = false
  const chosen = (info: StepPreparation.StepInfo): StepPreparation.StepChanges => {
    if (info.tools.length === 0 || toolChoice === undefined) return {}
    const isFirst = !offered
    offered = true
    return isFirst || toolChoice.on === "every" ? { toolChoice: toolChoice.choice } : {}
  }
  return StepPreparation.make({
    onAnswer: (response, step) => progress.answered(response, step),
    onWithheld: ({ id }, names) => void progress.withheld.set(id, names),
    before: (info) =>
      Effect.gen(function* () {
        if (progress.step > 0 && stopWhen?.(progress) === true) {
          return yield* Effect.fail(fatal(new Stopped()))
        }
        let changes = chosen(info)
        for (const prepare of prepareStep) {
          const more: StepPreparation.StepChanges | undefined = yield* Effect.mapError(prepare(info), fatal)
          if (more !== undefined) changes = { ...changes, ...more }
        }
        const problem = problemOf(state.agent.name, info, changes)
        return problem === undefined ? changes : yield* Effect.fail(fatal(problem))
      }) as Effect.Effect<StepPreparation.StepChanges, ToolRunner.Fatality>
  })
}

/** Refuses the calls of tools that their step did not offer, and counts the others. */
const watchCalls = (state: State, progress: Progress): ToolRunner.ToolInterceptor =>
  RunInterceptors.own(state, (call, next) => {
    const names = progress.withheld.get(call.id)
    if (names === undefined) return Effect.tap(next(call), (outcome) => Effect.sync(() => progress.called(outcome)))
    progress.withheld.delete(call.id)
    const toolName = call.name.slice(0, 128)
    const message = `The tool "${toolName}" is not available in this step. Available: ${names.join(", ")}`
    const error = errorInfo(new ToolNotFoundError({ toolName, availableTools: names, message }))
    return Effect.succeed(RunInterceptors.refusedCall(call, `Error: ${message}`, error))
  })

/** The strategy, which answers with the text so far where the condition of the run ends its reasoning. */
const stoppable = (
  state: State,
  strategy: Strategy<unknown, unknown>,
  progress: Progress
): Strategy<unknown, unknown> => {
  if (state.agent.definition.control.stopWhen === undefined) return strategy
  const stopped = ({ input }: Task): Answer => {
    const { text } = progress
    const said = text === "" ? [] : [{ role: "assistant" as const, content: text }]
    return { text, reason: "stop-condition", messages: [{ role: "user", content: input }, ...said] }
  }
  return {
    ...strategy,
    program: (task) =>
      Effect.catchIf(
        strategy.program(task),
        (error) => error instanceof ToolRunner.Fatality && error.error instanceof Stopped,
        () => Effect.sync(() => stopped(task))
      )
  }
}

const repairable = new Set(["ToolNotFoundError", "ToolValidationError"])

/** Runs a repaired call in place of one that could not run. */
const repair = (state: State): ToolRunner.ToolInterceptor =>
  RunInterceptors.own(state, (call, next) =>
    Effect.flatMap(next(call), (outcome) => {
      if (!repairable.has(outcome.error?.tag ?? "")) return Effect.succeed(outcome)
      const { definitions, names, tools } = state.tools
      const known = names.toProvider(call.name)
      const failed = {
        id: call.id,
        name: call.name,
        params: call.params,
        problem: outcome.observation,
        parameters: definitions.find(({ name }) => name === known)?.parameters,
        tools: tools.map(({ name }) => name)
      }
      return Effect.gen(function* () {
        for (const one of state.agent.definition.control.repairs) {
          const repaired = yield* Effect.mapError(one(failed), fatal)
          if (repaired !== undefined) {
            return yield* next({ ...call, name: repaired.name ?? call.name, params: repaired.params })
          }
        }
        return outcome
      }) as Effect.Effect<ToolRunner.Outcome, ToolRunner.Fatality>
    })
  )

/** What a validator says against an answer; `undefined` if they accept it. */
const problemWith = (state: State, answer: Answer): Effect.Effect<string | undefined, unknown, any> => {
  const { control, output } = state.agent.definition
  const isText = output === undefined || output.isRequested === true
  const decoded = isText ? Effect.succeed(answer.text) : Effect.orDie(output.decode(answer.output))
  return Effect.flatMap(decoded, (value) =>
    Effect.catchAll(
      Effect.as(
        Effect.forEach(control.validators, (validate) => validate(value), { discard: true }),
        undefined
      ),
      (error): Effect.Effect<string, unknown> =>
        error instanceof Rejected ? Effect.succeed(error.problem) : Effect.fail(fatal(error))
    )
  )
}

const invalid = (strategyName: string, { text }: Answer, issues: string, attempts: number) =>
  fatal(
    new OutputValidationError({
      strategyName,
      text: text.slice(0, 2000),
      issues: issues.slice(0, 2000),
      attempts,
      message: `The answer was rejected after ${attempts} attempts: ${issues.slice(0, 500)}`,
      hint: "Say in the instructions what an answer needs, or raise `retries` of the validator"
    })
  )

/** The messages of a run without the rejected answer and the problem with it. */
const joined = (rejected: Answer, next: Answer): Answer => ({
  ...next,
  messages: [...rejected.messages.slice(0, -1), ...next.messages.slice(1)]
})

/** Reports a rejected answer, and takes back what readers saw of it. */
const rejected = ({ progress, run }: State, { text }: Answer, problem: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    const step = progress().steps.at(-1)?.step ?? 0
    const event = { _tag: "AnswerRejected", step, message: problem.slice(0, 2000) } as const
    return run.live && text !== "" ? run.emitAll([{ _tag: "TextRetracted", step }, event]) : run.emit(event)
  })

/** Reasons until the validators accept the answer. */
const validated = (
  state: State,
  strategyName: string,
  task: Task,
  reason: (task: Task) => Effect.Effect<Answer, unknown, any>
): Effect.Effect<Answer, unknown, any> => {
  const { validatorRetries, validators } = state.agent.definition.control
  if (validators.length === 0) return reason(task)
  const attempt = (given: Task, number: number): Effect.Effect<Answer, unknown, any> =>
    Effect.flatMap(reason(given), (answer) =>
      Effect.flatMap(problemWith(state, answer), (problem) => {
        if (problem === undefined) return Effect.succeed(answer)
        const isLast = number > validatorRetries || answer.reason !== "completed"
        const told = rejected(state, answer, problem)
        if (isLast) return Effect.zipRight(told, Effect.fail(invalid(strategyName, answer, problem, number)))
        // Strategies that plan know the task from the input alone.
        const input = `${task.input}\n\nYour last answer to this was rejected: ${problem}`
        const next = { ...task, history: [...given.history, ...answer.messages], input }
        return Effect.map(Effect.zipRight(told, attempt(next, number + 1)), (accepted) => joined(answer, accepted))
      })
    )
  return attempt(task, 1)
}

/** What an agent decides about one run. */
export interface Control {
  /** The state with the tools of the sources. */
  readonly state: State
  readonly preparation: Task["preparation"]
  readonly watchCalls: ReadonlyArray<ToolRunner.ToolInterceptor>
  readonly repairs: ReadonlyArray<ToolRunner.ToolInterceptor>
  readonly stoppable: (strategy: Strategy<unknown, unknown>) => Strategy<unknown, unknown>
  readonly validated: (
    strategyName: string,
    task: Task,
    reason: (task: Task) => Effect.Effect<Answer, unknown, any>
  ) => Effect.Effect<Answer, unknown, any>
}

const live = OnDemand.make(() => import("./LiveTools.js"))

/** Decides with the tools of the agent's sources, which are asked now. */
export const open = (state: State): Effect.Effect<Control, ToolRunner.Fatality> => {
  const { toolSearch, toolSources } = state.agent.definition.control
  if (toolSources.length === 0 && toolSearch === undefined) return Effect.succeed(make(state))
  return Effect.flatMap(live, ({ open, preparation }) =>
    Effect.map(open(state), (tools): Control => {
      const control = make({ ...state, tools })
      return {
        ...control,
        preparation: preparation(tools, control.preparation),
        watchCalls: [...control.watchCalls, tools.watchCalls]
      }
    })
  )
}

const make = (state: State): Control => {
  const { prepareStep, repairs, stopWhen } = state.agent.definition.control
  const progress = new Progress()
  return {
    state,
    preparation: preparation(state, progress),
    watchCalls: prepareStep.length === 0 && stopWhen === undefined ? [] : [watchCalls(state, progress)],
    repairs: repairs.length === 0 ? [] : [repair(state)],
    stoppable: (strategy) => stoppable(state, strategy, progress),
    validated: (strategyName, task, reason) => validated(state, strategyName, task, reason)
  }
}
