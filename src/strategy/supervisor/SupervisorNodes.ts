/**
 * The nodes of the supervisor: assess, delegate, review and decide.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Body, PlanStep } from "../../domain/AgentEvent.js"
import { count } from "../../internal/Count.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import type * as Run from "../../observability/Run.js"
import * as Step from "../../observability/Step.js"
import * as SupervisorPrompts from "../../prompt/defaults/SupervisorPrompts.js"
import type * as Tool from "../../tool/definition/Tool.js"
import type { Bound } from "../../tool/definition/ToolSet.js"
import type { Outcome, RunOptions, ToolCall } from "../../tool/ToolRunner.js"
import * as Reasoning from "../definition/Reasoning.js"
import type { Task } from "../definition/Strategy.js"
import { MaxIterationsExceededError } from "../definition/StrategyError.js"
import * as LiveReply from "../reasoning/LiveReply.js"
import * as LoopTurn from "../reasoning/LoopTurn.js"
import * as ReActText from "../reasoning/ReActText.js"
import * as ToolLoop from "../reasoning/ToolLoop.js"
import * as SupervisorReview from "./SupervisorReview.js"
import { initial, NAME, type Options, PREFIX, type Result, type State } from "./SupervisorState.js"

/** The options with their defaults. */
export interface Settings {
  readonly options: Options
  readonly inText: boolean
  readonly maxDelegations: number
  readonly maxReviews: number
  readonly onLimit: "fail" | "answer"
  readonly isDelegate: (tool: Tool.Any) => boolean
}

export const resolve = (options: Options): Settings => ({
  options,
  inText: options.format === "text",
  maxDelegations: count(options.maxDelegations, 5, 0),
  maxReviews: count(options.maxReviews, 3, 0),
  onLimit: options.onLimit ?? "fail",
  isDelegate: options.isDelegate ?? ((tool) => tool.name.startsWith(PREFIX))
})

const exceeded = (what: string, limit: number, used: number, option: string) =>
  new MaxIterationsExceededError({
    strategyName: NAME,
    maxIterations: limit,
    currentIteration: used,
    message: `No answer after ${used} ${what}`,
    hint: `Raise \`${option}\`, or return a partial answer with \`onLimit: "answer"\``
  })

const outOfDelegations = ({ maxDelegations }: Settings, { delegations }: State) =>
  exceeded("delegations", maxDelegations, delegations, "maxDelegations")

/** The agents and the other tools, as the prompt lists them. */
const describe = (
  tools: Bound,
  { inText, isDelegate }: Settings
): { readonly agents: string; readonly tools: string } => {
  const agents: Array<string> = []
  const others: Array<string> = []
  for (const definition of tools.definitions) {
    const tool = tools.get(definition.name)
    const about = `- ${definition.name}: ${definition.description.replace(/\s+/g, " ")}`
    const list = tool !== undefined && isDelegate(tool) ? agents : others
    // With native calls the provider tells the model the parameters.
    list.push(inText ? `${about}\n  Parameters: ${JSON.stringify(definition.parameters)}` : about)
  }
  const text = (list: ReadonlyArray<string>, prefix: string) => (list.length === 0 ? "none" : prefix + list.join("\n"))
  return { agents: text(agents, ""), tools: text(others, "\n") }
}

/** The results as JSON lines, so that no text inside a report can look like another report. */
const listResults = (results: ReadonlyArray<Result>): string =>
  results.length === 0
    ? "None."
    : results.map(({ by, request, status, text }) => JSON.stringify({ by, request, status, report: text })).join("\n")

/** The message of a delegation, shortened for the plan. */
const messageOf = (params: unknown): string => {
  const message = typeof params === "object" && params !== null ? (params as { message?: unknown }).message : params
  const text = typeof message === "string" ? message : (JSON.stringify(params) ?? "")
  return text.length > 500 ? `${text.slice(0, 500).replace(/[\ud800-\udbff]$/, "")}…` : text
}

const assessRequest = (
  { inText }: Settings,
  { settings, tools }: Task,
  messages: ReadonlyArray<LlmClient.Message>
): LlmClient.LlmRequest => {
  if (inText)
    return { messages, settings: { stop: [...new Set([...(settings.stop ?? []), ...ReActText.stopSequences])] } }
  return tools.definitions.length === 0 ? { messages } : { messages, tools: tools.definitions }
}

/** The messages that a turn adds to the conversation. */
const messagesOf = (turn: LoopTurn.Turn): ReadonlyArray<LlmClient.Message> =>
  turn._tag === "Continues" ? turn.messages : turn._tag === "Acts" ? [turn.assistant] : []

/** Asks the model what to do next. */
export const assess = (settings: Settings) => {
  const prompt = settings.inText ? SupervisorPrompts.AssessText : SupervisorPrompts.Assess
  return (state: State) =>
    Effect.gen(function* () {
      const { answer, begin, model, opening, run, task } = yield* Reasoning.Reasoning
      const resolved = ToolLoop.resolve(settings.options, task)
      const { maxIterations } = resolved
      if (state.turns >= maxIterations) {
        if (settings.onLimit === "fail") return yield* exceeded("turns", maxIterations, state.turns, "maxIterations")
        return { reason: "limit" as const, turn: initial.turn }
      }
      const { call } = yield* model(task.role ?? prompt.role)
      const isFirst = state.messages.length === 0
      const values = { input: task.input, max_delegations: String(settings.maxDelegations) }
      const messages = isFirst ? opening(prompt, { ...describe(task.tools, settings), ...values }) : state.messages
      const toolNames = ToolLoop.writtenNames(task.tools)
      const step = yield* begin(prompt.name)
      const response = yield* call(assessRequest(settings, task, messages), {
        step,
        deltas: LiveReply.reasoningDeltas
      })
      const { thought, turn } = settings.inText
        ? LoopTurn.readText(response, { step, toolNames })
        : LoopTurn.readNative(response, { step, toolNames, textCalls: resolved.textCalls })
      if (thought !== "") yield* run.emit({ _tag: "Thought", step, text: thought })
      const update = {
        step,
        turn,
        turns: state.turns + 1,
        unreviewed: 0,
        messages: [...(isFirst ? messages : []), ...messagesOf(turn)]
      }
      // Without any report the text of the supervisor is the answer.
      if (turn._tag !== "Answers" || state.results.length > 0) return update
      if (run.live && turn.text !== "") yield* run.emit({ _tag: "TextDelta", text: turn.text })
      return { ...update, answer: yield* answer(turn.text, turn.reason) }
    })
}

/** One call of a turn. A delegation is a call of an agent; `at` is its place in the plan. */
interface Job {
  readonly call: ToolCall
  readonly name: string
  readonly delegation: boolean
  /** Whether it is within the limit of delegations. */
  readonly allowed: boolean
  readonly refuse: RunOptions["refuse"]
  readonly at: number
}

interface Jobs {
  readonly jobs: ReadonlyArray<Job>
  /** The plan, whose steps change as delegations end. */
  readonly plan: Array<PlanStep>
  /** How many delegations the turn asks for. */
  readonly wanted: number
}

const toJobs = (settings: Settings, state: State, task: Task, calls: ReadonlyArray<ToolCall>): Jobs => {
  const resolved = ToolLoop.resolve(settings.options, task)
  const left = settings.maxDelegations - state.delegations
  const plan: Array<PlanStep> = [...state.plan]
  let wanted = 0
  const jobs = calls.map((call, index): Job => {
    const tool = task.tools.get(call.name)
    const refuse = ToolLoop.refusal(resolved, call.name, index)
    const name = tool?.name ?? call.name.slice(0, 128)
    if (refuse !== undefined || tool === undefined || !settings.isDelegate(tool)) {
      return { call, name, delegation: false, allowed: true, refuse, at: -1 }
    }
    const allowed = wanted++ < left
    plan.push({ id: call.id, description: messageOf(call.params), tool: name, status: "pending" })
    return { call, name, delegation: true, allowed, refuse, at: plan.length - 1 }
  })
  return { jobs, plan, wanted }
}

/** The outcome of a delegation beyond the limit. */
const refusedOutcome = ({ call, name }: Job, maxDelegations: number): Outcome => {
  const message = `The limit of ${maxDelegations} delegations is reached: "${name}" was not asked`
  const observation = `Error: ${message}. Go on with the reports you have.`
  return {
    id: call.id,
    name,
    isFailure: true,
    result: observation,
    observation,
    truncated: false,
    attempts: 0,
    error: { tag: "MaxIterationsExceededError", code: "LEX_ERR_AGT_009", message }
  }
}

/** Updates the plan by the outcome of a delegation. */
const settleJob = (run: Run.Service, plan: Array<PlanStep>, job: Job, outcome: Outcome): Effect.Effect<Outcome> => {
  if (!job.delegation) return Effect.succeed(outcome)
  const status = outcome.isFailure ? (job.allowed ? "failed" : "skipped") : "completed"
  plan[job.at] = { ...(plan[job.at] as PlanStep), status }
  return Effect.as(run.emit({ _tag: "Plan", steps: plan.slice() }), outcome)
}

const runJob = (
  settings: Settings,
  step: number,
  { call, run }: Reasoning.Service,
  plan: Array<PlanStep>,
  job: Job
) => {
  if (job.allowed) {
    return Effect.flatMap(call(job.call, step, job.refuse), (outcome) => settleJob(run, plan, job, outcome))
  }
  const outcome = refusedOutcome(job, settings.maxDelegations)
  const { id, params } = job.call
  const events: ReadonlyArray<Body> = [
    { _tag: "ToolCall", step, id, name: job.name, params },
    { ...outcome, _tag: "ToolResult", step, durationMs: 0 }
  ]
  return Effect.zipRight(run.emitAll(events), settleJob(run, plan, job, outcome))
}

const toResult = (job: Job, { isFailure, observation }: Outcome): Result => ({
  id: job.call.id,
  delegation: job.delegation,
  by: job.name,
  request: job.call.params,
  status: !job.allowed ? "refused" : isFailure ? "failed" : "completed",
  text: observation
})

/** Runs the calls of a turn. */
export const delegate = (settings: Settings) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { concurrency, run, task } = reasoning
    const turn = state.turn as LoopTurn.Acts
    const { calls } = turn
    const { jobs, plan, wanted } = toJobs(settings, state, task, calls)
    const isSpent = wanted > 0 && state.delegations >= settings.maxDelegations
    if (isSpent && settings.onLimit === "fail") return yield* outOfDelegations(settings, state)
    if (wanted > 0) yield* run.emit({ _tag: "Plan", steps: plan.slice() })
    const outcomes = yield* Step.forEach(jobs, (job) => runJob(settings, state.step, reasoning, plan, job), {
      concurrency
    })
    const ended = jobs.map((job, i) => ({ job, outcome: outcomes[i]! }))
    // A call that never reached its agent, because of invalid arguments for instance, is not a delegation.
    const begun = ended.filter(({ job, outcome }) => job.delegation && job.allowed && outcome.attempts > 0).length
    const { circles, note, stuck } = ToolLoop.progress(NAME, ToolLoop.resolve(settings.options, task), state.circles, {
      tools: task.tools,
      calls,
      outcomes
    })
    const update = {
      results: ended.flatMap(({ job, outcome }) => (job.refuse === undefined ? [toResult(job, outcome)] : [])),
      plan,
      messages: [LoopTurn.observed(turn, outcomes, note)],
      delegations: state.delegations + begun,
      unreviewed: begun
    }
    if (isSpent) return { ...update, reason: "limit" as const }
    if (stuck === undefined) return { ...update, circles }
    if (settings.onLimit === "fail") return yield* stuck
    return { ...update, reason: "limit" as const }
  })

/** Has the reports reviewed. */
export const review = (settings: Settings) => (state: State) =>
  Effect.gen(function* () {
    const { askFor, run, task } = yield* Reasoning.Reasoning
    const left = settings.maxDelegations - state.delegations
    const { step, value } = yield* askFor(
      SupervisorPrompts.Review,
      { input: task.input, results: listResults(state.results), delegations_left: String(left) },
      SupervisorReview.form
    )
    const accepted = value.verdict === "done"
    const instructions = value.instructions.trim() === "" ? value.reason : value.instructions
    yield* run.emit({ _tag: "Critique", step, text: accepted ? value.reason : instructions, accepted })
    const update = { reviews: state.reviews + 1, verdict: value.verdict }
    if (accepted) return update
    if (left <= 0 && task.tools.tools.every(settings.isDelegate)) {
      if (settings.onLimit === "fail") return yield* outOfDelegations(settings, state)
      return { ...update, reason: "limit" as const }
    }
    const message: LlmClient.Message = {
      role: "user",
      content: `A review of the reports asks for more before the answer is written:\n${instructions}\n\nDelegations left: ${left}`
    }
    return { ...update, messages: [message] }
  })

/** Writes the answer from the reports. */
export const decide = (state: State) =>
  Effect.gen(function* () {
    const { finish, task } = yield* Reasoning.Reasoning
    const limited = state.reason === "limit"
    const answer = yield* finish(SupervisorPrompts.Decide, {
      input: task.input,
      results: listResults(state.results),
      notes: state.turn._tag === "Answers" && state.turn.text.trim() !== "" ? state.turn.text : "None.",
      state: limited
        ? "A limit was reached before the work was done: answer from what stands, and say what is missing."
        : "The work is done."
    })
    return { answer: limited ? { ...answer, reason: state.reason } : answer }
  })
