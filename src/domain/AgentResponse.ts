/**
 * The outcome of a run, folded from its events.
 *
 * @since 0.1.0
 */
import type * as Prompt from "@effect/ai/Prompt"
import * as Schema from "effect/Schema"
import type { AgentEvent, FinishReason, Of, PlanStep } from "./AgentEvent.js"
import type { ErrorInfo } from "./ErrorInfo.js"
import type { RunId } from "./Ids.js"
import type { ReasoningStep, ToolExecutionRecord } from "./ToolExecutionRecord.js"
import * as Usage from "./Usage.js"

export type { ReasoningStep, ToolExecutionRecord } from "./ToolExecutionRecord.js"

/**
 * Counts of a run.
 *
 * @since 0.1.0
 * @category models
 */
export interface Metadata {
  /** The name of its strategy; empty when `Started` is not among the events. */
  readonly strategy: string
  /** Steps of the strategy that began. */
  readonly iterations: number
  /** How often the plan changed because steps were abandoned or failed and others were added. */
  readonly replans: number
  /** How often work was delegated to another agent. */
  readonly delegations: number
  /** The agents that work was delegated to, each once, in the order of the first delegation. */
  readonly agentsUsed: ReadonlyArray<string>
}

/**
 * `usage` and `costUsd` cover the whole run, including the runs it delegated to; all other fields cover the run itself.
 * `costUsd` is absent unless the price of every model call is known. Both include calls that were cut off
 * (`usage.estimatedTokens`); `modelCalls` counts calls that answered.
 *
 * @since 0.1.0
 * @category models
 */
export interface AgentResponse<out Output = string> {
  readonly runId: RunId
  /** The agent that answered: the last one of `path`. */
  readonly agent: string
  /** The agents that had the conversation, in order: the one that was run, then those it was handed to. */
  readonly path: ReadonlyArray<string>
  /** The input of the run; empty when `Started` is not among the events. */
  readonly input: string
  readonly message: string
  /** The answer decoded by the agent's output schema; without a schema, the message itself. */
  readonly output: Output
  readonly steps: ReadonlyArray<ReasoningStep>
  readonly toolCalls: ReadonlyArray<ToolExecutionRecord>
  readonly plan?: ReadonlyArray<PlanStep> | undefined
  readonly usage: Usage.Usage
  readonly modelCalls: number
  readonly costUsd?: number | undefined
  readonly durationMs: number
  /** Absent unless the run succeeded. */
  readonly finishReason?: FinishReason | undefined
  readonly error?: ErrorInfo | undefined
  readonly interrupted: boolean
  readonly sessionId?: string | undefined
  readonly metadata: Metadata
  /** Failures that did not break the run. */
  readonly degraded: ReadonlyArray<{ readonly stage: string; readonly error: ErrorInfo }>
}

/**
 * What a run had reached when it stopped: the fold of its events so far.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reached: Schema.Schema<AgentResponse<unknown>> = Schema.Any.annotations({
  identifier: "effect-lexigram/domain/AgentResponse/Reached"
})

interface OpenStep {
  readonly step: number
  readonly at: number
  thought?: string
  readonly toolCalls: Array<ToolExecutionRecord>
}

/**
 * True when new steps were added because others were abandoned, failed or skipped. A plan that only grows is the same
 * plan.
 */
const isReplanned = (before: ReadonlyArray<PlanStep>, after: ReadonlyArray<PlanStep>): boolean => {
  const keyOf = ({ description, id }: PlanStep) => `${id} ${description}`
  const planned = new Set(before.map(keyOf))
  if (after.every((step) => planned.has(keyOf(step)))) return false
  const going = new Set(after.filter(({ status }) => status === "pending" || status === "completed").map(keyOf))
  return before.some((step) => !going.has(keyOf(step)))
}

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

/**
 * Takes events one at a time, with constant work for each.
 *
 * @since 0.1.0
 * @category models
 */
export interface Fold {
  readonly push: (event: AgentEvent) => void
  /** The response so far. */
  readonly response: () => AgentResponse<unknown>
}

/** The state of a fold. The first event decides which run it belongs to. */
class RunFold implements Fold {
  private runId: RunId | undefined
  private readonly path: Array<string> = []
  /** The runs that have had the conversation. */
  private readonly holders = new Set<RunId>()
  private input = ""
  private startedAt = 0
  private lastAt = 0
  private message = ""
  private text: Array<string> = []
  private output: { readonly value: unknown } | undefined
  private plan: ReadonlyArray<PlanStep> | undefined
  private usage: Usage.Usage = Usage.empty
  private modelCalls = 0
  private isPriced = false
  private cost: number | undefined = 0
  private durationMs: number | undefined
  private finishReason: FinishReason | undefined
  private error: ErrorInfo | undefined
  private interrupted = false
  private sessionId: string | undefined
  private strategy = ""
  private iterations = 0
  private replans = 0
  private delegations = 0
  private readonly agentsUsed = new Set<string>()
  private readonly degraded: Array<{ readonly stage: string; readonly error: ErrorInfo }> = []
  private readonly steps: Array<OpenStep> = []
  private readonly toolCalls: Array<Mutable<ToolExecutionRecord>> = []
  private readonly open = new Map<string, Mutable<ToolExecutionRecord>>()

  readonly push = (event: AgentEvent): void => {
    if (event._tag === "UsageReported") this.pay(event)
    if (this.runId === undefined) {
      this.runId = event.runId
      this.path.push(event.agent)
      this.holders.add(event.runId)
      this.startedAt = event.at
    }
    if (event._tag === "Delegated" && event.handoff === true && this.holders.has(event.runId)) {
      if (this.path.at(-1) !== event.toAgent) this.path.push(event.toAgent)
      this.holders.add(event.childRunId)
    }
    if (event.runId !== this.runId) return
    this.lastAt = event.at
    this.take(event)
  }

  private pay(event: Of<"UsageReported">): void {
    this.usage = Usage.add(this.usage, event.usage)
    if (event.cutOff !== true) this.modelCalls += 1
    this.isPriced = true
    this.cost = this.cost === undefined || event.costUsd === undefined ? undefined : this.cost + event.costUsd
  }

  /** Takes an event of the run itself. */
  private take(event: AgentEvent): void {
    switch (event._tag) {
      case "Started":
        this.input = event.input
        this.strategy = event.strategy
        this.sessionId = event.sessionId
        return
      case "InputChecked":
        this.input = event.input
        return
      case "StepStarted":
        this.text = []
        this.iterations += 1
        this.stepOf(event.step, event.at)
        return
      case "TextDelta":
        this.text.push(event.text)
        return
      case "TextRetracted":
      case "AnswerRejected":
        this.text = []
        return
      case "Thought":
        this.stepOf(event.step, event.at).thought = event.text
        return
      case "Plan":
        if (this.plan !== undefined && isReplanned(this.plan, event.steps)) this.replans += 1
        this.plan = event.steps
        return
      case "Delegated":
        this.delegations += 1
        this.agentsUsed.add(event.toAgent)
        return
      case "ToolCall":
        this.begin(event)
        return
      case "ToolResult":
        this.complete(event)
        return
      case "ToolCompensated":
        this.compensate(event)
        return
      case "Degraded":
        this.degraded.push({ stage: event.stage, error: event.error })
        return
      case "Message":
        this.message = event.text
        this.output = "output" in event && event.output !== undefined ? { value: event.output } : undefined
        return
      case "Error":
        this.error = event.error
        this.interrupted = event.interrupted
        // The events of a log have no deltas.
        if (event.text !== undefined && this.text.length === 0) this.text = [event.text]
        return
      case "Finished":
        this.finishReason = event.reason
        this.durationMs = event.durationMs
        this.sessionId = event.sessionId ?? this.sessionId
        return
    }
  }

  private stepOf(number: number, at: number): OpenStep {
    const last = this.steps[this.steps.length - 1]
    if (last !== undefined && last.step === number) return last
    const step: OpenStep = { step: number, at, toolCalls: [] }
    this.steps.push(step)
    return step
  }

  private begin({ at, id, name, params, step }: Of<"ToolCall">): void {
    const record: Mutable<ToolExecutionRecord> = { id, name, params, step, at }
    this.open.set(id, record)
    this.toolCalls.push(record)
    this.stepOf(step, at).toolCalls.push(record)
  }

  private complete(event: Of<"ToolResult">): void {
    const record = this.open.get(event.id)
    if (record === undefined) return
    this.open.delete(event.id)
    record.isFailure = event.isFailure
    record.result = event.result
    record.observation = event.observation
    record.durationMs = event.durationMs
    record.attempts = event.attempts
    if (event.error !== undefined) record.error = event.error
    if (event.files !== undefined) record.files = event.files
  }

  private compensate({ callRunId, error, id, isFailure, step }: Of<"ToolCompensated">): void {
    if (callRunId !== undefined) return
    const record = this.toolCalls.findLast((call) => call.id === id && call.step === step)
    if (record !== undefined) record.compensation = error === undefined ? { isFailure } : { isFailure, error }
  }

  readonly response = (): AgentResponse<unknown> => {
    const { message } = this
    // Called several times a run. Setting fields one by one costs a third of spreading them.
    const response: Mutable<AgentResponse<unknown>> = {
      runId: this.runId ?? ("" as RunId),
      agent: this.path.at(-1) ?? "",
      path: this.path.slice(),
      input: this.input,
      message: message === "" && this.finishReason === undefined ? this.text.join("") : message,
      output: this.output === undefined ? message : this.output.value,
      steps: this.steps,
      toolCalls: this.toolCalls,
      usage: this.usage,
      modelCalls: this.modelCalls,
      durationMs: this.durationMs ?? this.lastAt - this.startedAt,
      interrupted: this.interrupted,
      metadata: {
        strategy: this.strategy,
        iterations: this.iterations,
        replans: this.replans,
        delegations: this.delegations,
        agentsUsed: Array.from(this.agentsUsed)
      },
      degraded: this.degraded
    }
    if (this.plan !== undefined) response.plan = this.plan
    if (this.cost !== undefined && this.isPriced) response.costUsd = this.cost
    if (this.finishReason !== undefined) response.finishReason = this.finishReason
    if (this.error !== undefined) response.error = this.error
    if (this.sessionId !== undefined) response.sessionId = this.sessionId
    return response
  }
}

/**
 * A fold of one run. The first event decides which run it is; events of other runs count only for usage and cost.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fold = (): Fold => new RunFold()

/**
 * The response of a whole or partial run: the run of the first event. `output` is the value of the `Message` event,
 * still encoded.
 *
 * @example
 * ```ts
 * import { type Agent, AgentExecutor, AgentResponse } from "effect-lexigram"
 * import * as Effect from "effect/Effect"
 * import * as Stream from "effect/Stream"
 *
 * const cost = (agent: Agent.Agent) =>
 *   Stream.runCollect(AgentExecutor.stream(agent, { input: "Where is order 7?" })).pipe(
 *     Effect.map((events) => AgentResponse.fromEvents(events).costUsd)
 *   )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromEvents = (events: Iterable<AgentEvent>): AgentResponse<unknown> => {
  const result = fold()
  for (const event of events) result.push(event)
  return result.response()
}

/**
 * @since 0.1.0
 * @category getters
 */
export const successfulToolCalls = (response: AgentResponse<unknown>): ReadonlyArray<ToolExecutionRecord> =>
  response.toolCalls.filter((call) => call.isFailure === false)

/**
 * Calls that failed and calls that never ended.
 *
 * @since 0.1.0
 * @category getters
 */
export const failedToolCalls = (response: AgentResponse<unknown>): ReadonlyArray<ToolExecutionRecord> =>
  response.toolCalls.filter((call) => call.isFailure !== false)

/**
 * The conversation of a run, to continue it in another one: the user's input, the thoughts and tool calls of each step
 * with their results, and the answer. Calls without a result are omitted because providers refuse them; the text of a
 * run that did not succeed is omitted as well.
 *
 * Tools have their own names. If those contain characters that providers refuse, pass `toolName` (`names.toProvider` of
 * the tool set).
 *
 * @since 0.1.0
 * @category conversions
 */
export const toMessages = (
  response: AgentResponse<unknown>,
  options?: { readonly toolName?: ((name: string) => string) | undefined } | undefined
): ReadonlyArray<Prompt.MessageEncoded> => {
  const nameOf = options?.toolName ?? ((name: string) => name)
  const messages: Array<Prompt.MessageEncoded> = []
  if (response.input !== "") messages.push({ role: "user", content: response.input })
  for (const { thought, toolCalls } of response.steps) {
    const calls: Array<Prompt.AssistantMessagePartEncoded> = []
    const results: Array<Prompt.ToolResultPartEncoded> = []
    for (const call of toolCalls) {
      if (call.isFailure === undefined) continue
      const base = { id: call.id, name: nameOf(call.name), providerExecuted: false }
      calls.push({ type: "tool-call", ...base, params: call.params })
      const options = call.files === undefined ? {} : { options: { lexigram: { files: call.files } } }
      results.push({ type: "tool-result", ...base, isFailure: call.isFailure, result: call.result, ...options })
    }
    if (calls.length === 0) continue
    const text: ReadonlyArray<Prompt.AssistantMessagePartEncoded> =
      thought === undefined || thought === "" ? [] : [{ type: "text", text: thought }]
    messages.push({ role: "assistant", content: [...text, ...calls] }, { role: "tool", content: results })
  }
  if (response.finishReason !== undefined && response.message !== "") {
    messages.push({ role: "assistant", content: response.message })
  }
  return messages
}
