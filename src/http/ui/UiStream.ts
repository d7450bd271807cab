/**
 * Turns the events of a run into the chunks of one message of AI SDK UI.
 *
 * @since 0.1.0
 */
import type { AgentEvent, Of } from "../../domain/AgentEvent.js"
import * as Usages from "../../domain/Usage.js"
import type { FinishReason, UiChunk } from "./UiChunk.js"
import * as UiData from "./UiData.js"
import * as UiMessages from "./UiMessages.js"
import { UiPageCalls } from "./UiPageCalls.js"
import { UiSources } from "./UiSources.js"
import { UiTexts } from "./UiTexts.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The run whose answer the message is. It is the id of the message too. */
  readonly runId: string
  /**
   * Requests that the reader has answered: for approvals, and for outputs of calls that it makes. The chunks then go on
   * with the message that it has: they begin after the last of these requests. Default none: from the beginning.
   */
  readonly answered?: ReadonlySet<string> | undefined
  /**
   * Takes a retracted text back by `reset-step`, which `ai` 7 knows and `ai` 6 rejects. Default false: a part
   * `data-retracted` follows it.
   */
  readonly resetSteps?: boolean | undefined
}

const finishReasons: Readonly<Record<Of<"Finished">["reason"], FinishReason>> = {
  completed: "stop",
  length: "length",
  "content-filter": "content-filter",
  "stop-condition": "stop",
  limit: "other"
}

const none: ReadonlySet<string> = new Set()

/**
 * The state of one message. `push` takes the events of the run in their order, in their public view, and returns the
 * chunks of each. The work for a delta does not depend on what came before.
 *
 * @since 0.1.0
 * @category models
 */
export class UiStream extends UiTexts {
  /** Answered requests that are not asked yet. */
  private readonly unseen: Set<string>
  private hasBegun = false
  private usage: Usages.Usage = Usages.empty
  /** The calls of the last step that was shown. */
  private readonly calls = new Map<string, { readonly toolName: string; readonly input: unknown }>()
  private readonly denied = new Set<string>()
  /** Calls that have no result yet. */
  private readonly open = new Set<string>()
  /** Calls by the requests for approval that wait. */
  private readonly approvals = new Map<string, string>()
  /** Calls by the questions that wait. */
  private readonly questions = new Map<string, string>()
  private readonly sources = new UiSources()
  private readonly pages: UiPageCalls
  private isOver = false

  constructor(private readonly options: Options) {
    super(options.resetSteps === true)
    this.unseen = new Set(this.answered)
    this.pages = new UiPageCalls(this.answered)
  }

  private get answered(): ReadonlySet<string> {
    return this.options.answered ?? none
  }

  /** Whether the run has ended. */
  get hasEnded(): boolean {
    return this.isOver
  }

  /** Whether a person must decide or answer something. */
  get isWaiting(): boolean {
    return this.waiting.length + this.questions.size > 0
  }

  /** The requests that the reader answers by another request. */
  get waiting(): ReadonlyArray<string> {
    return [...this.approvals.keys(), ...this.pages.waiting.keys()]
  }

  /** Whether the stream may end while other calls go on: a page sends outputs once all calls of the step have ended. */
  get mayPause(): boolean {
    return this.approvals.size > 0 && this.pages.waiting.size === 0
  }

  /** Whether nothing but the reader is waited for. */
  get isIdle(): boolean {
    if (this.waiting.length === 0) return false
    const waiting = new Set([...this.approvals.values(), ...this.pages.waiting.values()])
    for (const call of this.open) if (!waiting.has(call)) return false
    return true
  }

  /** The chunks of an event. */
  push(event: AgentEvent): ReadonlyArray<UiChunk> {
    this.chunks = []
    if (event.runId === this.options.runId) this.add(event)
    else this.addInner(event)
    if (this.unseen.size > 0) {
      if (event._tag === "ApprovalRequested" || event._tag === "QuestionAsked") this.unseen.delete(event.id)
      if (this.unseen.size > 0) return []
      this.chunks = []
    }
    if (!this.hasBegun) {
      this.hasBegun = true
      const { runId } = this.options
      this.chunks.unshift({ type: "start", messageId: runId, messageMetadata: { runId, agent: event.agent } })
    }
    return this.chunks
  }

  /** The chunks that end a stream whose run waits for a person: the message goes on when they have decided. */
  pause(): ReadonlyArray<UiChunk> {
    this.chunks = []
    this.endStep()
    this.emit({
      type: "finish",
      finishReason: "tool-calls",
      messageMetadata: { waiting: this.waiting }
    })
    return this.chunks
  }

  /** What inner runs do is a matter of the run; what they ask a person is not. */
  private addInner(event: AgentEvent): void {
    switch (event._tag) {
      case "ApprovalRequested":
        if (this.answered.has(event.id)) return
        this.approvals.set(event.id, event.toolCallId)
        this.emitData("approval", event.id, {
          approvalId: event.id,
          toolName: event.name,
          input: event.params,
          ...(event.reason === undefined ? {} : { reason: event.reason }),
          state: "requested"
        })
        return
      case "ApprovalResolved":
        this.approvals.delete(event.id)
        this.emitData("approval", event.id, {
          approvalId: event.id,
          state: event.approved ? "approved" : "denied"
        })
        return
      case "QuestionAsked":
      case "QuestionAnswered":
        this.addQuestion(event)
        return
      default:
    }
  }

  private add(event: AgentEvent): void {
    switch (event._tag) {
      case "TextDelta":
        this.addText(event.text)
        return
      case "ReasoningDelta":
        this.addReasoning(event.text)
        return
      case "StepStarted":
        this.endStep()
        this.calls.clear()
        this.beginStep()
        return
      case "TextRetracted":
        this.retract()
        return
      case "ToolCall":
      case "ToolProgress":
      case "ToolResult":
      case "ProviderToolUsed":
      case "ApprovalRequested":
      case "ApprovalResolved":
        this.addCall(event)
        return
      case "QuestionAsked":
      case "QuestionAnswered":
        this.addQuestion(event)
        return
      case "UsageReported":
        this.usage = Usages.add(this.usage, event.usage)
        return
      case "Message":
        this.addMessage(event)
        return
      case "Error":
        this.addError(event)
        return
      case "Finished":
        this.addEnd(event)
        return
      default:
        this.addOther(event)
        return
    }
  }

  private addOther(event: AgentEvent): void {
    switch (event._tag) {
      case "Thought":
        this.addThought(event.text)
        return
      case "GuardTriggered":
        this.emit({
          type: "data-guard",
          data: { stage: event.stage, action: event.action },
          transient: true
        })
        return
      default: {
        const part = UiData.fromEvent(event)
        if (part !== undefined) this.emitData(part.name, part.id, part.data)
      }
    }
  }

  /** Shows a call that the reader may not have seen, for example of a tool that a strategy calls itself. */
  private beginCall(id: string, name: string, input: unknown, providerExecuted = false): void {
    this.beginOther()
    this.calls.set(id, { toolName: name, input: input ?? null })
    const call = { toolCallId: id, toolName: name, ...(providerExecuted ? { providerExecuted } : {}) }
    this.emit({ type: "tool-input-start", ...call }, { type: "tool-input-available", ...call, input: input ?? null })
  }

  private beginPageCall(event: Of<"ToolCall">): void {
    this.beginOther()
    this.calls.set(event.id, { toolName: event.name, input: event.params ?? null })
    this.emit(...this.pages.begin(event))
  }

  private addCall(
    event: Of<
      "ToolCall" | "ToolProgress" | "ToolResult" | "ProviderToolUsed" | "ApprovalRequested" | "ApprovalResolved"
    >
  ): void {
    switch (event._tag) {
      case "ToolCall":
        if (event.clientTool === true) this.beginPageCall(event)
        else this.beginCall(event.id, event.name, event.params)
        this.denied.delete(event.id)
        this.open.add(event.id)
        return
      case "ToolProgress":
        this.addProgress(event)
        return
      case "ToolResult":
        this.addResult(event)
        return
      case "ProviderToolUsed":
        this.beginCall(event.id, event.name, event.params, true)
        this.emit(
          event.isFailure
            ? { type: "tool-output-error", toolCallId: event.id, errorText: "The tool failed", providerExecuted: true }
            : {
                type: "tool-output-available",
                toolCallId: event.id,
                output: event.result ?? null,
                providerExecuted: true
              }
        )
        return
      case "ApprovalRequested":
        this.addRequest(event)
        return
      case "ApprovalResolved":
        this.addDecision(event)
        return
    }
  }

  private addProgress({ done, id, message, name, partial, total }: Of<"ToolProgress">): void {
    if (!this.calls.has(id)) this.beginCall(id, name, null)
    if (partial !== undefined) {
      this.emit({ type: "tool-output-available", toolCallId: id, output: partial, preliminary: true })
    }
    this.emitData("progress", id, { toolCallId: id, message, done, total })
  }

  private addResult({ error, files, id, isFailure, name, result }: Of<"ToolResult">): void {
    if (!this.calls.has(id)) this.beginCall(id, name, null)
    this.open.delete(id)
    // A call that was denied fails; where only its request to the model was denied it may have a result.
    if ((isFailure && this.denied.has(id)) || this.pages.isGiven(id)) return
    this.emit(
      isFailure
        ? { type: "tool-output-error", toolCallId: id, errorText: error?.message ?? "The tool failed" }
        : { type: "tool-output-available", toolCallId: id, output: result ?? null }
    )
    if (!isFailure) this.emit(...this.sources.of(result))
    for (const file of files ?? []) {
      const part = UiMessages.fromFile(file)
      if ("url" in part) this.emit({ type: "file", url: part.url, mediaType: part.mediaType })
      else this.emitData("file", undefined, part.data)
    }
  }

  private addRequest({ id, name, params, reason, toolCallId }: Of<"ApprovalRequested">): void {
    if (!this.calls.has(toolCallId)) this.beginCall(toolCallId, name, params)
    if (this.answered.has(id)) return
    this.approvals.set(id, toolCallId)
    this.emit({
      type: "tool-approval-request",
      approvalId: id,
      toolCallId,
      ...(reason === undefined ? {} : { reason })
    })
  }

  private addDecision({ approved, id, toolCallId }: Of<"ApprovalResolved">): void {
    const call = this.calls.get(toolCallId)
    this.approvals.delete(id)
    if (call === undefined) return
    if (approved) {
      // The call is no longer asked for: a reader who comes later must not see it wait.
      if (!this.pages.has(toolCallId)) this.emit({ type: "tool-input-available", toolCallId, ...call })
      return
    }
    this.denied.add(toolCallId)
    this.emit({ type: "tool-output-denied", toolCallId })
  }

  private addQuestion(event: Of<"QuestionAsked" | "QuestionAnswered">): void {
    const { id, name, toolCallId } = event
    // The page has no part for the calls of inner runs: it answers them as other questions.
    if (event._tag === "QuestionAsked" && event.clientTool === true && event.runId === this.options.runId) {
      this.beginOther()
      this.emit(...this.pages.ask(event))
      return
    }
    if (event._tag === "QuestionAnswered" && this.pages.answer(event)) return
    const question = { questionId: id, toolCallId, toolName: name }
    if (event._tag === "QuestionAsked") {
      this.questions.set(id, toolCallId)
      this.emitData("question", id, {
        ...question,
        message: event.message,
        form: event.form,
        ...(event.params === undefined ? {} : { input: event.params }),
        state: "asked"
      })
      return
    }
    this.questions.delete(id)
    this.emitData("question", id, { ...question, state: event.action })
  }

  private addMessage({ output, text }: Of<"Message">): void {
    this.addWhole(text)
    if (output !== undefined && output !== text) this.emitData("output", "output", output)
  }

  private addError({ error, interrupted }: Of<"Error">): void {
    this.isOver = true
    this.endStep()
    if (interrupted) {
      this.emit({ type: "abort", reason: error.message })
      return
    }
    this.emit(
      { type: "error", errorText: error.message },
      { type: "finish", finishReason: "error", messageMetadata: { waiting: [], code: error.code } }
    )
  }

  private addEnd({ durationMs, reason }: Of<"Finished">): void {
    this.isOver = true
    this.endStep()
    // A page that sends by itself once the last step has no open calls would send again.
    if (this.calls.size > 0) this.emit({ type: "start-step" }, { type: "finish-step" })
    this.emit({
      type: "finish",
      finishReason: finishReasons[reason],
      messageMetadata: { waiting: [], usage: this.usage, durationMs, finishReason: reason }
    })
  }
}
