/**
 * Folds the calls of a run: models, tools, approvals and questions.
 *
 * @private
 * @since 0.1.0
 */
import type { AgentEvent, Of } from "../domain/AgentEvent.js"
import type { StoredFile } from "../domain/StoredFile.js"
import * as Usage from "../domain/Usage.js"
import * as TraceContent from "./TraceContent.js"
import * as TraceFailure from "./TraceFailure.js"
import type * as Model from "./TraceModel.js"

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

export const noTotals: Model.Totals = {
  modelCalls: 0,
  cutOffCalls: 0,
  cachedCalls: 0,
  retries: 0,
  toolCalls: 0,
  failedToolCalls: 0,
  usage: Usage.empty,
  costUsd: 0,
  unpricedCalls: 0,
  subRuns: 0
}

/** Adds what two runs took. */
export const addTotals = (a: Model.Totals, b: Model.Totals): Model.Totals => ({
  modelCalls: a.modelCalls + b.modelCalls,
  cutOffCalls: a.cutOffCalls + b.cutOffCalls,
  cachedCalls: a.cachedCalls + b.cachedCalls,
  retries: a.retries + b.retries,
  toolCalls: a.toolCalls + b.toolCalls,
  failedToolCalls: a.failedToolCalls + b.failedToolCalls,
  usage: Usage.add(a.usage, b.usage),
  costUsd: a.costUsd + b.costUsd,
  unpricedCalls: a.unpricedCalls + b.unpricedCalls,
  subRuns: a.subRuns + b.subRuns
})

/** Files by type and size. */
export const filesOf = (files: ReadonlyArray<StoredFile>): ReadonlyArray<Model.File> =>
  files.map(({ data, mediaType }) => ({ mediaType, ...("url" in data ? {} : { size: data.size }) }))

/** An answer that took no tokens at all is one of a cache. */
const isCached = ({ inputTokens, outputTokens }: Usage.Usage): boolean => inputTokens === 0 && outputTokens === 0

/** Takes the events of calls, and adds an item for each call to those of its run. */
export class Calls {
  readonly totals: Mutable<Model.Totals> = { ...noTotals }
  private readonly tools = new Map<string, Mutable<Model.ToolCall>>()
  private readonly approvals = new Map<string, Mutable<Model.Approval>>()
  private readonly questions = new Map<string, Mutable<Model.Question>>()
  /** The begin of steps that had no model call yet, by their numbers. */
  private readonly waiting = new Map<number, number>()
  private step: number | undefined
  private before: number | undefined
  private retries = 0
  private reasoning: Array<string> = []

  constructor(
    private readonly items: Array<Model.Item>,
    private readonly miss: () => void
  ) {}

  /** Calls that have no result. */
  open(): number {
    return this.tools.size
  }

  /** Something ended, after which a model call may begin. */
  mark(at: number): void {
    this.before = at
  }

  /** A step went on to something else than its first model call. */
  leave(step: number): void {
    this.waiting.delete(step)
  }

  /** An attempt of a model call failed. */
  retried(): void {
    this.retries += 1
    this.totals.retries += 1
  }

  /** False for any other event. */
  take(event: AgentEvent): boolean {
    this.before ??= event.at
    switch (event._tag) {
      case "StepStarted": {
        const { at, name, seq, step } = event
        this.step = step
        this.waiting.set(step, at)
        this.items.push({ _tag: "Step", at, seq, step, name })
        return true
      }
      case "ReasoningDelta":
        this.reasoning.push(event.text)
        return true
      case "UsageReported":
        this.modelCall(event)
        return true
      default:
        return this.takeTool(event) || this.takePerson(event)
    }
  }

  private modelCall({
    at,
    costUsd,
    cutOff,
    finishReason,
    model,
    provider,
    role,
    seq,
    usage
  }: Of<"UsageReported">): void {
    const [oldest] = this.waiting
    const [step, startedAt] = oldest ?? [this.step, this.before ?? at]
    if (oldest !== undefined) this.waiting.delete(oldest[0])
    const isHit = isCached(usage)
    this.items.push({
      _tag: "ModelCall",
      at,
      seq,
      startedAt: Math.min(startedAt, at),
      step,
      model,
      provider,
      role,
      usage,
      costUsd,
      finishReason,
      cutOff: cutOff === true,
      isCached: isHit,
      retries: this.retries,
      reasoning: TraceContent.some("reasoning", this.reasoning.join(""))
    })
    this.before = at
    this.retries = 0
    this.reasoning = []
    const { totals } = this
    if (cutOff === true) totals.cutOffCalls += 1
    else totals.modelCalls += 1
    if (isHit) totals.cachedCalls += 1
    totals.usage = Usage.add(totals.usage, usage)
    if (costUsd === undefined) totals.unpricedCalls += isHit ? 0 : 1
    else totals.costUsd += costUsd
  }

  private takeTool(event: AgentEvent): boolean {
    switch (event._tag) {
      case "ToolCall":
        this.leave(event.step)
        this.begin(event)
        return true
      case "ToolProgress": {
        const call = this.tools.get(event.id)
        if (call !== undefined) call.progress += 1
        return true
      }
      case "ToolResult":
        this.end(event)
        return true
      case "ProviderToolUsed": {
        const { at, isFailure, name, params, result, seq, step } = event
        this.items.push({
          _tag: "ProviderTool",
          at,
          seq,
          name,
          step,
          isFailure,
          params: TraceContent.make("arguments", params),
          result: TraceContent.make("results", result)
        })
        return true
      }
      case "ToolCompensated": {
        const { at, attempts, callRunId, durationMs, error, isFailure, name, seq } = event
        this.items.push({
          _tag: "Compensation",
          at,
          seq,
          name,
          callRunId,
          isFailure,
          attempts,
          durationMs,
          error: TraceFailure.some(error)
        })
        return true
      }
      default:
        return false
    }
  }

  private begin(event: Pick<Of<"ToolCall">, "at" | "seq" | "id" | "name" | "step"> & Partial<Of<"ToolCall">>) {
    const { at, clientTool, id, name, params, secret, seq, step } = event
    const call: Mutable<Model.ToolCall> = {
      _tag: "ToolCall",
      at,
      seq,
      id,
      name,
      step,
      clientTool: clientTool === true,
      params: event._tag === "ToolCall" ? TraceContent.make("arguments", params, secret) : undefined,
      files: [],
      progress: 0
    }
    this.totals.toolCalls += 1
    this.tools.set(id, call)
    this.items.push(call)
    return call
  }

  private end(event: Of<"ToolResult">): void {
    let call = this.tools.get(event.id)
    if (call === undefined) {
      this.miss()
      const { durationMs, id, name, seq, step } = event
      const at = event.at - (durationMs > 0 && Number.isFinite(durationMs) ? durationMs : 0)
      call = this.begin({ at, id, name, seq, step })
    }
    this.tools.delete(event.id)
    call.endedAt = event.at
    call.endSeq = event.seq
    call.durationMs = event.durationMs
    call.attempts = event.attempts
    call.isFailure = event.isFailure
    call.truncated = event.truncated
    // The observation is the result as the model reads it; a failure has no other text.
    const text = event.result === null || event.result === undefined ? event.observation : event.result
    call.result = TraceContent.some(event.isFailure ? "errors" : "results", text)
    call.error = TraceFailure.some(event.error)
    call.files = filesOf(event.files ?? [])
    call.sources = TraceContent.ofFiles("results", event.files ?? [])
    if (event.isFailure) this.totals.failedToolCalls += 1
    this.before = event.at
  }

  private takePerson(event: AgentEvent): boolean {
    switch (event._tag) {
      case "ApprovalRequested": {
        const { at, id, name, params, reason, secret, seq } = event
        const approval: Mutable<Model.Approval> = {
          _tag: "Approval",
          at,
          seq,
          id,
          name,
          params: TraceContent.make("arguments", params, secret),
          requestReason: TraceContent.some("reasons", reason)
        }
        this.approvals.set(id, approval)
        this.items.push(approval)
        return true
      }
      case "ApprovalResolved": {
        const { approved, at, id, reason, seq, toolCallId } = event
        let approval = this.approvals.get(id)
        if (approval === undefined) {
          // Without a request, a rule has decided.
          approval = { _tag: "Approval", at, seq, id, name: this.tools.get(toolCallId)?.name ?? "" }
          this.items.push(approval)
        }
        this.approvals.delete(id)
        approval.resolvedAt = at
        approval.endSeq = seq
        approval.approved = approved
        approval.reason = TraceContent.some("reasons", reason)
        return true
      }
      case "QuestionAsked": {
        const { at, clientTool, form, id, message, name, params, seq } = event
        const question: Mutable<Model.Question> = {
          _tag: "Question",
          at,
          seq,
          id,
          name,
          clientTool: clientTool === true,
          message: TraceContent.some("reasons", message),
          form: TraceContent.some("arguments", params === undefined ? form : params)
        }
        this.questions.set(id, question)
        this.items.push(question)
        return true
      }
      case "QuestionAnswered": {
        const question = this.questions.get(event.id)
        if (question === undefined) this.miss()
        else {
          this.questions.delete(event.id)
          question.answeredAt = event.at
          question.endSeq = event.seq
          question.action = event.action
          question.content = TraceContent.some("results", event.content)
          question.reason = TraceContent.some("reasons", event.reason)
        }
        return true
      }
      default:
        return false
    }
  }
}
