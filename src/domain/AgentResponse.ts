/**
 * A run's outcome, folded from its events.
 *
 * @since 0.1.0
 */
import type * as Prompt from "@effect/ai/Prompt"
import * as Schema from "effect/Schema"
import type { AgentEvent, FinishReason, PlanStep } from "./AgentEvent.js"
import type { ErrorInfo } from "./ErrorInfo.js"
import type { RunId } from "./Ids.js"
import * as Usage from "./Usage.js"

/**
 * One tool call with its result. A call without one was cut off when the run ended.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolExecutionRecord {
  readonly id: string
  readonly name: string
  readonly params: unknown
  readonly step: number
  readonly at: number
  readonly isFailure?: boolean | undefined
  readonly result?: unknown
  readonly observation?: string | undefined
  readonly durationMs?: number | undefined
  readonly attempts?: number | undefined
  readonly error?: ErrorInfo | undefined
}

/**
 * One step of the reasoning: a thought, the calls it led to and what they showed.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReasoningStep {
  readonly step: number
  readonly at: number
  readonly thought?: string | undefined
  readonly toolCalls: ReadonlyArray<ToolExecutionRecord>
}

/**
 * How a run went, in numbers.
 *
 * @since 0.1.0
 * @category models
 */
export interface Metadata {
  /** The name of its strategy; empty when its start is not among the events. */
  readonly strategy: string
  /** Steps of the strategy that began. */
  readonly iterations: number
  /** How often a plan was changed: steps were given up or failed, and others came. */
  readonly replans: number
  /** How often work was handed to another agent. */
  readonly delegations: number
  /** To whom it was handed, each once, in the order of their first work. */
  readonly agentsUsed: ReadonlyArray<string>
}

/**
 * `usage` and `costUsd` hold the whole run, runs it delegated to included; everything else the run itself. `costUsd` is
 * absent unless the price of every model call is known. Both hold what was cut off too (`usage.estimatedTokens`);
 * `modelCalls` counts calls that answered.
 *
 * @since 0.1.0
 * @category models
 */
export interface AgentResponse<out Output = string> {
  readonly runId: RunId
  /** Who answered: the last agent of `path`. */
  readonly agent: string
  /** The agents that had the conversation, in order: first the one that was run, then those it was handed over to. */
  readonly path: ReadonlyArray<string>
  /** What the run was asked; empty when its start is not among the events. */
  readonly input: string
  readonly message: string
  /** The answer decoded by the agent's output schema; the message itself when it has none. */
  readonly output: Output
  readonly steps: ReadonlyArray<ReasoningStep>
  readonly toolCalls: ReadonlyArray<ToolExecutionRecord>
  readonly plan?: ReadonlyArray<PlanStep> | undefined
  readonly usage: Usage.Usage
  readonly modelCalls: number
  readonly costUsd?: number | undefined
  readonly durationMs: number
  /** Absent while the run has not ended well. */
  readonly finishReason?: FinishReason | undefined
  readonly error?: ErrorInfo | undefined
  readonly interrupted: boolean
  readonly sessionId?: string | undefined
  readonly metadata: Metadata
  /** Things that failed without breaking the run. */
  readonly degraded: ReadonlyArray<{ readonly stage: string; readonly error: ErrorInfo }>
}

/**
 * What a run had reached when it was stopped: the fold of its events so far.
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
 * Steps came that were not planned before, because others were given up, failed or left out. A plan that only grows is
 * the same plan.
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
 * Events taken one at a time; constant work each.
 *
 * @since 0.1.0
 * @category models
 */
export interface Fold {
  readonly push: (event: AgentEvent) => void
  /** The response so far. */
  readonly response: () => AgentResponse<unknown>
}

/**
 * A fold of one run. The first event decides which run it is; events of other runs count for usage and cost only.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fold = (): Fold => {
  let runId: RunId | undefined
  const path: Array<string> = []
  // The runs that the conversation was handed over to.
  const holders = new Set<RunId>()
  let input = ""
  let startedAt = 0
  let lastAt = 0
  let message = ""
  let text: Array<string> = []
  let output: { readonly value: unknown } | undefined
  let plan: ReadonlyArray<PlanStep> | undefined
  let usage: Usage.Usage = Usage.empty
  let modelCalls = 0
  let isPriced = false
  let cost: number | undefined = 0
  let durationMs: number | undefined
  let finishReason: FinishReason | undefined
  let error: ErrorInfo | undefined
  let interrupted = false
  let sessionId: string | undefined
  let strategy = ""
  let iterations = 0
  let replans = 0
  let delegations = 0
  const agentsUsed = new Set<string>()
  const degraded: Array<{ readonly stage: string; readonly error: ErrorInfo }> = []
  const steps: Array<OpenStep> = []
  const toolCalls: Array<Mutable<ToolExecutionRecord>> = []
  const open = new Map<string, Mutable<ToolExecutionRecord>>()

  const stepOf = (number: number, at: number): OpenStep => {
    const last = steps[steps.length - 1]
    if (last !== undefined && last.step === number) return last
    const step: OpenStep = { step: number, at, toolCalls: [] }
    steps.push(step)
    return step
  }

  return {
    push: (event) => {
      if (event._tag === "UsageReported") {
        usage = Usage.add(usage, event.usage)
        if (event.cutOff !== true) modelCalls += 1
        isPriced = true
        cost = cost === undefined || event.costUsd === undefined ? undefined : cost + event.costUsd
      }
      if (runId === undefined) {
        runId = event.runId
        path.push(event.agent)
        holders.add(runId)
        startedAt = event.at
      }
      if (event._tag === "Delegated" && event.handoff === true && holders.has(event.runId)) {
        if (path.at(-1) !== event.toAgent) path.push(event.toAgent)
        holders.add(event.childRunId)
      }
      if (event.runId !== runId) return
      lastAt = event.at
      switch (event._tag) {
        case "Started": {
          input = event.input
          strategy = event.strategy
          sessionId = event.sessionId
          return
        }
        case "InputChecked": {
          input = event.input
          return
        }
        case "StepStarted": {
          text = []
          iterations += 1
          stepOf(event.step, event.at)
          return
        }
        case "TextDelta": {
          text.push(event.text)
          return
        }
        case "TextRetracted": {
          text = []
          return
        }
        case "Thought": {
          stepOf(event.step, event.at).thought = event.text
          return
        }
        case "Plan": {
          if (plan !== undefined && isReplanned(plan, event.steps)) replans += 1
          plan = event.steps
          return
        }
        case "Delegated": {
          delegations += 1
          agentsUsed.add(event.toAgent)
          return
        }
        case "ToolCall": {
          const record: Mutable<ToolExecutionRecord> = {
            id: event.id,
            name: event.name,
            params: event.params,
            step: event.step,
            at: event.at
          }
          open.set(event.id, record)
          toolCalls.push(record)
          stepOf(event.step, event.at).toolCalls.push(record)
          return
        }
        case "ToolResult": {
          const record = open.get(event.id)
          if (record === undefined) return
          open.delete(event.id)
          record.isFailure = event.isFailure
          record.result = event.result
          record.observation = event.observation
          record.durationMs = event.durationMs
          record.attempts = event.attempts
          if (event.error !== undefined) record.error = event.error
          return
        }
        case "Degraded": {
          degraded.push({ stage: event.stage, error: event.error })
          return
        }
        case "Message": {
          message = event.text
          output = "output" in event && event.output !== undefined ? { value: event.output } : undefined
          return
        }
        case "Error": {
          error = event.error
          interrupted = event.interrupted
          return
        }
        case "Finished": {
          finishReason = event.reason
          durationMs = event.durationMs
          sessionId = event.sessionId ?? sessionId
          return
        }
      }
    },
    response: () => {
      // Asked for several times a run: fields are set one by one, which costs a third of spreading them.
      const response: Mutable<AgentResponse<unknown>> = {
        runId: runId ?? ("" as RunId),
        agent: path.at(-1) ?? "",
        path: path.slice(),
        input,
        message: message === "" && finishReason === undefined ? text.join("") : message,
        output: output === undefined ? message : output.value,
        steps,
        toolCalls,
        usage,
        modelCalls,
        durationMs: durationMs ?? lastAt - startedAt,
        interrupted,
        metadata: { strategy, iterations, replans, delegations, agentsUsed: Array.from(agentsUsed) },
        degraded
      }
      if (plan !== undefined) response.plan = plan
      if (cost !== undefined && isPriced) response.costUsd = cost
      if (finishReason !== undefined) response.finishReason = finishReason
      if (error !== undefined) response.error = error
      if (sessionId !== undefined) response.sessionId = sessionId
      return response
    }
  }
}

/**
 * The response of a whole or partial run: the run of the first event. `output` is what the `Message` event carries,
 * still encoded.
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
 * Calls that failed, and those that never ended.
 *
 * @since 0.1.0
 * @category getters
 */
export const failedToolCalls = (response: AgentResponse<unknown>): ReadonlyArray<ToolExecutionRecord> =>
  response.toolCalls.filter((call) => call.isFailure !== false)

/**
 * The conversation of a run, to go on with in another one: what the user asked, the thoughts and tool calls of each
 * step with their results, the answer. Calls without a result are left out, as providers refuse them, and so is the
 * text of a run that did not end well.
 *
 * Tools go by their own names; where those hold characters that providers refuse, pass `toolName` (`names.toProvider`
 * of the tool set).
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
      results.push({ type: "tool-result", ...base, isFailure: call.isFailure, result: call.result })
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
