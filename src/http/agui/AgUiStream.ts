/**
 * Turns the events of a run into the events of a run of the AG-UI protocol.
 *
 * @since 0.1.0
 */
import type { AgentEvent, Of } from "../../domain/AgentEvent.js"
import type { StoredFile } from "../../domain/StoredFile.js"
import * as Usages from "../../domain/Usage.js"
import * as Sha256 from "../../internal/text/Sha256.js"
import { type AgUiEvent, type Interrupt, PROTOCOL_VERSION, type TokenUsage, textOf } from "./AgUiEvent.js"
import type { AgUiMessage, ContentPart } from "./AgUiMessage.js"
import { AgUiTexts } from "./AgUiTexts.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly threadId: string
  /** The id of the run of the protocol. */
  readonly requestId: string
  /** The run whose events come. */
  readonly runId: string
  readonly agent: string
  /** The messages that the client has: a snapshot has them too, and calls get ids that they do not have. */
  readonly messages?: ReadonlyArray<AgUiMessage> | undefined
  /**
   * The client has the run up to where it waited, and has answered these requests: the events go on behind. Empty if
   * the requests are of inner runs. Default: from the beginning.
   */
  readonly answered?: ReadonlySet<string> | undefined
}

/** A call of a tool, by the id that the client knows it by. */
interface Call {
  readonly shownId: string
  isOpen: boolean
}

const mediaParts: { readonly [kind: string]: "image" | "audio" | "video" } = {
  image: "image",
  audio: "audio",
  video: "video"
}

/** A file of a result, if it has an address. */
const partOf = ({ data, mediaType }: StoredFile): ReadonlyArray<ContentPart> =>
  "url" in data
    ? [
        {
          type: mediaParts[mediaType.split("/", 1)[0] ?? ""] ?? "document",
          source: { type: "url", value: data.url, mimeType: mediaType }
        }
      ]
    : []

const contentOf = ({ error, files, isFailure, result }: Of<"ToolResult">): string | ReadonlyArray<ContentPart> => {
  if (isFailure) return error?.message ?? "The tool failed"
  const text = result === null ? "" : textOf(result)
  const parts = (files ?? []).flatMap(partOf)
  return parts.length === 0 ? text : [...(text === "" ? [] : [{ type: "text" as const, text }]), ...parts]
}

/** The id of a call of a run where the client knows another call by its own. */
const ownIdOf = (id: string, runId: string): string => `${id}-${Sha256.hex(runId).slice(0, 8)}`

/**
 * Whether a client knows a call of a run by this id.
 *
 * @internal
 */
export const isShownAs = (shownId: string, id: string, runId: string): boolean => {
  const own = ownIdOf(id, runId)
  return shownId === id || shownId === own || shownId.startsWith(`${own}-`)
}

/** Numbers of tokens are integers in the protocol. */
const usageOf = (usage: Usages.Usage): ReadonlyArray<TokenUsage> => {
  const counts = {
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    totalTokens: usage.totalTokens,
    reasoningTokens: usage.reasoningTokens,
    cachedInputTokens: usage.cachedInputTokens,
    cacheWriteInputTokens: usage.cacheWriteTokens
  }
  const known = Object.entries(counts).flatMap(([name, count]) =>
    count !== undefined && Number.isFinite(count)
      ? [[name, Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(count)))]]
      : []
  )
  return known.length === 0 ? [] : [Object.fromEntries(known)]
}

/**
 * The state of one stream. `start` gives its first events, `push` takes the events of the run in their order, in their
 * public view, and returns those of the protocol, and `pause` or `fail` end a stream whose run does not end. Events of
 * inner runs are left out. The work for a delta does not depend on what came before.
 *
 * @since 0.1.0
 * @category models
 */
export class AgUiStream extends AgUiTexts {
  private usage: Usages.Usage = Usages.empty
  private output: unknown
  private readonly calls = new Map<string, Call>()
  /** The calls that requests wait for, by the ids of the requests. */
  private readonly requests = new Map<string, string>()
  private isOver = false

  constructor(private readonly options: Options) {
    super(options.runId, options.messages ?? [])
    this.isSilent = options.answered !== undefined
  }

  /** Whether nothing more comes. */
  get hasEnded(): boolean {
    return this.isOver
  }

  /** Whether a person must decide or answer something, as far as the run itself asks. */
  get isWaiting(): boolean {
    return this.requests.size > 0
  }

  /** Whether a call is open: it may ask a person, by an inner run too. */
  get mayWait(): boolean {
    for (const { isOpen } of this.calls.values()) if (isOpen) return true
    return this.isWaiting
  }

  /** Whether nothing goes on but waiting for a person. */
  get isIdle(): boolean {
    if (!this.isWaiting) return false
    const waiting = new Set(this.requests.values())
    for (const [id, { isOpen }] of this.calls) if (isOpen && !waiting.has(id)) return false
    return true
  }

  private get ids() {
    return { threadId: this.options.threadId, runId: this.options.requestId }
  }

  /** The first events. */
  start(): ReadonlyArray<AgUiEvent> {
    const { agent, runId } = this.options
    const metadata = { lexigram: { runId, agent } }
    return [{ type: "RUN_STARTED", ...this.ids, protocolVersion: PROTOCOL_VERSION, metadata }]
  }

  /** The events of an event. */
  push(event: AgentEvent): ReadonlyArray<AgUiEvent> {
    this.events = []
    if (this.isOver || event.runId !== this.options.runId) return []
    if (this.isBehind(event)) this.endSilence()
    this.add(event)
    return this.events
  }

  /** The events that end a stream without a run. */
  end(): ReadonlyArray<AgUiEvent> {
    this.events = []
    this.finish({ type: "success" })
    return this.events
  }

  /** The events that end a stream whose run waits for a person. */
  pause(interrupts: ReadonlyArray<Interrupt>): ReadonlyArray<AgUiEvent> {
    this.events = []
    this.finish({ type: "interrupt", interrupts: interrupts.map((interrupt) => this.known(interrupt)) })
    return this.events
  }

  /** The events that end a stream whose run cannot be followed. */
  fail(message: string, code?: string): ReadonlyArray<AgUiEvent> {
    this.events = []
    if (!this.isOver) this.addFailure(message, code)
    return this.events
  }

  /** An interrupt by the call that the client knows. Of a call of an inner run it knows nothing. */
  private known({ metadata, reason, toolCallId, ...interrupt }: Interrupt): Interrupt {
    const call = toolCallId === undefined ? undefined : this.calls.get(toolCallId)
    return call === undefined
      ? { ...interrupt, reason: reason === "tool_call" ? "confirmation" : reason, metadata }
      : { ...interrupt, reason, toolCallId: call.shownId }
  }

  /** Whether an event is behind the place up to which the client has the run. */
  private isBehind(event: AgentEvent): boolean {
    const { answered } = this.options
    if (!this.isSilent || answered === undefined) return false
    switch (event._tag) {
      case "ApprovalResolved":
      case "QuestionAnswered":
        return answered.has(event.id)
      case "ToolResult": {
        const shownId = this.calls.get(event.id)?.shownId ?? event.id
        return this.transcript.hasCall(shownId) ? !this.transcript.hasResult(shownId) : answered.size === 0
      }
      default:
        return event._tag === "Finished" || event._tag === "Error"
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
      case "Thought":
        this.addThought(event.text)
        return
      case "StepStarted":
        this.beginStep(event.name ?? `step ${event.step}`)
        return
      case "TextRetracted":
        this.retract()
        return
      case "ToolCall":
        this.callOf(event.id, event.name, event.params, true)
        return
      case "ToolResult":
        this.addResult(event)
        return
      case "ProviderToolUsed":
        this.callOf(event.id, event.name, event.params, true)
        this.addResult({ ...event, observation: "", truncated: false, durationMs: 0, attempts: 1, _tag: "ToolResult" })
        return
      case "UsageReported":
        this.usage = Usages.add(this.usage, event.usage)
        return
      case "Message":
        this.addWhole(event.text)
        if (event.output !== event.text) this.output = event.output
        return
      case "Error":
        this.addError(event)
        return
      case "Finished":
        this.finish({ type: "success" }, { finishReason: event.reason, durationMs: event.durationMs })
        return
      default:
        this.addOther(event)
        return
    }
  }

  private addOther(event: AgentEvent): void {
    switch (event._tag) {
      case "ApprovalRequested":
        this.callOf(event.toolCallId, event.name, event.params)
        if (this.options.answered?.has(event.id) !== true) this.requests.set(event.id, event.toolCallId)
        return
      case "QuestionAsked":
        this.callOf(event.toolCallId, event.name, null)
        if (this.options.answered?.has(event.id) !== true) this.requests.set(event.id, event.toolCallId)
        return
      case "ApprovalResolved":
      case "QuestionAnswered":
        this.requests.delete(event.id)
        return
      case "ToolProgress": {
        const { done, id, message, name, partial, total } = event
        const { shownId: toolCallId } = this.callOf(id, name, null)
        this.addActivity("progress", toolCallId, { toolCallId, toolCallName: name, message, done, total, partial })
        return
      }
      case "Plan":
        this.addActivity("plan", "plan", { steps: event.steps })
        return
      default:
        this.addCustom(event)
        return
    }
  }

  /** What the protocol has no event for. */
  private addCustom(event: AgentEvent): void {
    switch (event._tag) {
      case "Critique":
        this.emitCustom("critique", { text: event.text, accepted: event.accepted, score: event.score })
        return
      case "Delegated":
        this.emitCustom("delegated", {
          agent: event.toAgent,
          runId: event.childRunId,
          handoff: event.handoff === true
        })
        return
      case "NodeEmitted":
        this.emitCustom("node", { graph: event.graph, node: event.node, value: event.value })
        return
      case "Steered":
        this.emitCustom("steered", { text: event.text })
        return
      case "GuardTriggered":
        this.emitCustom("guard", { stage: event.stage, action: event.action })
        return
      case "ToolCompensated":
        this.emitCustom("compensated", {
          toolCallId: this.calls.get(event.id)?.shownId ?? event.id,
          toolCallName: event.name,
          isFailure: event.isFailure
        })
        return
      default:
    }
  }

  private emitCustom(name: string, value: unknown): void {
    this.emit({ type: "CUSTOM", name: `lexigram.${name}`, value })
  }

  private addActivity(kind: string, id: string, content: Readonly<Record<string, unknown>>): void {
    const messageId = `${this.options.runId}-${kind}-${id}`
    this.emit({ type: "ACTIVITY_SNAPSHOT", messageId, activityType: `lexigram.${kind}`, content })
  }

  /** The id of a call that no other call of the client has. */
  private shownIdOf(id: string): string {
    const own = ownIdOf(id, this.options.runId)
    if (this.isSilent) return this.transcript.hasCall(own) ? own : id
    let shownId = id
    for (let n = 0; this.transcript.hasCall(shownId); n++) shownId = n === 0 ? own : `${own}-${n}`
    return shownId
  }

  /**
   * A call, which is shown if the client does not know it, such as one of a tool that a strategy calls itself.
   * `isNew`: one that has ended is no longer meant.
   */
  private callOf(id: string, name: string, params: unknown, isNew = false): Call {
    const known = this.calls.get(id)
    if (known !== undefined && (known.isOpen || !isNew)) return known
    const parentMessageId = this.beginCall()
    const call: Call = { shownId: this.shownIdOf(id), isOpen: true }
    this.calls.set(id, call)
    const { shownId: toolCallId } = call
    const text = textOf(params ?? {})
    this.emit(
      { type: "TOOL_CALL_START", toolCallId, toolCallName: name, parentMessageId },
      { type: "TOOL_CALL_ARGS", toolCallId, delta: text === "" ? "{}" : text },
      { type: "TOOL_CALL_END", toolCallId }
    )
    return call
  }

  private addResult(event: Of<"ToolResult">): void {
    const call = this.callOf(event.id, event.name, null)
    if (!call.isOpen) return
    call.isOpen = false
    const { shownId: toolCallId } = call
    if (this.transcript.hasResult(toolCallId)) return
    const messageId = `${this.options.runId}-result-${toolCallId}`
    const metadata = event.isFailure ? { metadata: { isFailure: true } } : {}
    this.emit({ type: "TOOL_CALL_RESULT", messageId, toolCallId, content: contentOf(event), role: "tool", ...metadata })
    for (const { data, fileName, mediaType } of event.files ?? []) {
      if (!("url" in data))
        this.emitCustom("file", { toolCallId, mediaType, fileName, hash: data.hash, size: data.size })
    }
  }

  private addError({ error, interrupted }: Of<"Error">): void {
    if (interrupted) this.finish({ type: "cancelled" })
    else this.addFailure(error.message, error.code)
  }

  private addFailure(message: string, code: string | undefined): void {
    this.endSilence()
    this.endStep()
    this.isOver = true
    const usage = usageOf(this.usage)
    this.emit({
      type: "RUN_ERROR",
      message,
      ...(code === undefined ? {} : { code }),
      ...(usage.length === 0 ? {} : { usage })
    })
  }

  private finish(outcome: Extract<AgUiEvent, { readonly type: "RUN_FINISHED" }>["outcome"], ended?: object): void {
    this.endSilence()
    this.endStep()
    this.isOver = true
    const usage = usageOf(this.usage)
    const hasResult = outcome.type === "success" && this.output !== undefined && textOf(this.output) !== "null"
    this.emit({
      type: "RUN_FINISHED",
      ...this.ids,
      outcome,
      ...(hasResult ? { result: this.output } : {}),
      ...(usage.length === 0 ? {} : { usage }),
      ...(ended === undefined ? {} : { metadata: { lexigram: ended } })
    })
  }
}
