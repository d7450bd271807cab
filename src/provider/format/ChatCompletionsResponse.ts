/**
 * Decodes answers of the chat-completions API, whole or streamed, into parts. Lenient and hand-written: a schema would
 * cost more than the rest of the work for a delta, and would reject answers of real servers.
 *
 * @private
 * @since 0.1.0
 */
import { isReadonlyRecord } from "effect/Predicate"
import type * as Usage from "../../domain/Usage.js"
import type { FinishReason, LlmPart } from "../../llm/model/LlmClient.js"
import * as ChatCompletionsReasoning from "./ChatCompletionsReasoning.js"
import * as ChatCompletionsToolCalls from "./ChatCompletionsToolCalls.js"

type Json = { readonly [key: string]: unknown }

/**
 * @since 0.1.0
 * @category models
 */
export interface Decoder {
  /** True if {@link Decoder.push} needs to make an id for a tool call of this value. */
  readonly needsSeed: (value: unknown) => boolean
  /**
   * Takes a whole answer or a chunk of a stream and appends its parts. Returns the error that the value contains in
   * place of an answer, in the shape of an error body.
   */
  readonly push: (value: unknown, seed: string, into: Array<LlmPart>) => unknown
  /** True once a finish reason came. */
  readonly finished: () => boolean
  /** The usage reported so far; a new value whenever more was reported. */
  readonly usage: () => Usage.Usage
  /** True if neither content nor a finish reason came. */
  readonly empty: () => boolean
  /** Ends what is open and appends the `finish` part. */
  readonly end: (into: Array<LlmPart>) => void
}

const isError = (u: unknown): boolean => u !== undefined && u !== null && u !== "" && u !== false

const reasons: { readonly [reason: string]: FinishReason } = {
  stop: "stop",
  eos: "stop",
  eos_token: "stop",
  end_turn: "stop",
  stop_sequence: "stop",
  complete: "stop",
  length: "length",
  max_tokens: "length",
  model_length: "length",
  model_context_window_exceeded: "length",
  tool_calls: "tool-calls",
  function_call: "tool-calls",
  tool_use: "tool-calls",
  content_filter: "content-filter",
  safety: "content-filter",
  sensitive: "content-filter",
  refusal: "content-filter",
  error: "error",
  pause_turn: "pause"
}

const finishReasonOf = (reason: string): FinishReason => {
  const name = reason.toLowerCase()
  return Object.hasOwn(reasons, name) ? reasons[name]! : "other"
}

const tokens = (...candidates: ReadonlyArray<unknown>): number | undefined => {
  for (const value of candidates) if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value
  return undefined
}

const nothing: Json = {}

const usageOf = (value: Json): Usage.Usage | undefined => {
  const input = isReadonlyRecord(value.prompt_tokens_details) ? value.prompt_tokens_details : nothing
  const output = isReadonlyRecord(value.completion_tokens_details) ? value.completion_tokens_details : nothing
  const inputTokens = tokens(value.prompt_tokens, value.input_tokens)
  const outputTokens = tokens(value.completion_tokens, value.output_tokens)
  const totalTokens = tokens(value.total_tokens)
  const reasoningTokens = tokens(output.reasoning_tokens, value.reasoning_tokens)
  const cachedInputTokens = tokens(input.cached_tokens, value.prompt_cache_hit_tokens, value.cached_tokens)
  const usage: { -readonly [K in keyof Usage.Usage]: Usage.Usage[K] } = {}
  if (inputTokens !== undefined) usage.inputTokens = inputTokens
  if (outputTokens !== undefined) usage.outputTokens = outputTokens
  if (totalTokens !== undefined) usage.totalTokens = totalTokens
  if (reasoningTokens !== undefined) usage.reasoningTokens = reasoningTokens
  if (cachedInputTokens !== undefined) usage.cachedInputTokens = cachedInputTokens
  return Object.keys(usage).length === 0 ? undefined : usage
}

const textOf = (value: unknown): string => {
  if (typeof value === "string") return value
  if (!Array.isArray(value)) return ""
  return value.map((item) => (isReadonlyRecord(item) && typeof item.text === "string" ? item.text : "")).join("")
}

const dataUrl = /^data:([^;,]{1,100});base64,/

class ChatCompletionsDecoder implements Decoder {
  private readonly calls: ChatCompletionsToolCalls.ToolCalls
  private block: "text" | "reasoning" | undefined
  private blocks = 0
  private announced = false
  private reason: FinishReason | undefined
  private refused = false
  private content = false
  private reported: Usage.Usage = {}
  private field: ChatCompletionsReasoning.Field | undefined
  private details: Array<Json> = []
  private readonly sources = new Map<string, string>()

  constructor(private readonly options: { readonly provider: string }) {
    this.calls = ChatCompletionsToolCalls.make(options)
  }

  private close(into: Array<LlmPart>) {
    if (this.block === undefined) return
    const id = String(this.blocks - 1)
    if (this.block === "text") into.push({ type: "text-end", id })
    else {
      const metadata =
        this.field === undefined && this.details.length === 0
          ? {}
          : {
              metadata: ChatCompletionsReasoning.metadata(this.options.provider, {
                field: this.field,
                details: this.details
              })
            }
      into.push({ type: "reasoning-end", id, ...metadata })
      this.details = []
      this.field = undefined
    }
    this.block = undefined
  }

  private open(type: "text" | "reasoning", into: Array<LlmPart>) {
    if (this.block === type) return
    this.close(into)
    this.block = type
    into.push({ type: `${type}-start`, id: String(this.blocks++) })
  }

  private text(delta: string, into: Array<LlmPart>) {
    if (delta === "") return
    this.content = true
    this.open("text", into)
    into.push({ type: "text-delta", id: String(this.blocks - 1), delta })
  }

  private reasoning(delta: string, into: Array<LlmPart>, from?: ChatCompletionsReasoning.Field) {
    if (delta === "") return
    this.content = true
    this.open("reasoning", into)
    this.field = from ?? this.field
    into.push({ type: "reasoning-delta", id: String(this.blocks - 1), delta })
  }

  private refusal(delta: unknown, into: Array<LlmPart>) {
    if (typeof delta !== "string" || delta === "") return
    this.refused = true
    this.text(delta, into)
  }

  private image(value: unknown, into: Array<LlmPart>) {
    const target = isReadonlyRecord(value) && isReadonlyRecord(value.image_url) ? value.image_url.url : undefined
    const match = typeof target === "string" ? dataUrl.exec(target) : null
    if (match === null) return
    this.content = true
    this.close(into)
    into.push({ type: "file", mediaType: match[1]!, data: (target as string).slice(match[0].length) })
  }

  private item(value: unknown, into: Array<LlmPart>) {
    if (typeof value === "string") return this.text(value, into)
    if (!isReadonlyRecord(value)) return
    switch (value.type) {
      case "thinking":
        return this.reasoning(textOf(value.thinking), into)
      case "refusal":
        return this.refusal(value.refusal, into)
      case "image_url":
        return this.image(value, into)
      default:
        return this.text(textOf(value.text), into)
    }
  }

  private annotation(value: unknown) {
    const citation = isReadonlyRecord(value) && isReadonlyRecord(value.url_citation) ? value.url_citation : undefined
    const url = citation?.url
    if (typeof url !== "string" || url === "" || this.sources.has(url)) return
    const title = citation?.title
    this.sources.set(url, typeof title === "string" ? title : "")
  }

  private message({ isWhole, value }: Message, seed: string, into: Array<LlmPart>) {
    const shown = value.reasoning_details
    const named = typeof value.reasoning_content === "string" ? "reasoning_content" : "reasoning"
    const thought = value[named]
    if (Array.isArray(shown) && shown.length > 0) {
      const visible = typeof thought === "string" && thought !== "" ? thought : ChatCompletionsReasoning.text(shown)
      // Data without a text that comes after the answer began (a signature) waits for the next block, or for the end.
      if (visible === "" && this.block === undefined) this.open("reasoning", into)
      this.reasoning(visible, into, typeof thought === "string" && thought !== "" ? named : undefined)
      this.content = true
      ChatCompletionsReasoning.append(this.details, shown)
    } else if (typeof thought === "string") this.reasoning(thought, into, named)
    const given = value.content
    if (typeof given === "string") this.text(given, into)
    else if (Array.isArray(given)) for (const part of given) this.item(part, into)
    this.refusal(value.refusal, into)
    if (Array.isArray(value.images)) for (const part of value.images) this.image(part, into)
    if (Array.isArray(value.annotations)) for (const part of value.annotations) this.annotation(part)
    const deltas = toolDeltas(value)
    if (deltas === undefined) return
    this.close(into)
    this.calls.push(deltas, isWhole, seed, into)
  }

  private announce(value: Json, into: Array<LlmPart>) {
    const id = typeof value.id === "string" && value.id !== "" ? value.id : undefined
    const model = typeof value.model === "string" && value.model !== "" ? value.model : undefined
    if (id === undefined && model === undefined) return
    this.announced = true
    into.push({
      type: "response-metadata",
      ...(id === undefined ? {} : { id }),
      ...(model === undefined ? {} : { modelId: model })
    })
  }

  private takeUsage(value: unknown) {
    const taken = isReadonlyRecord(value) ? usageOf(value) : undefined
    if (taken !== undefined) this.reported = taken
  }

  needsSeed(value: unknown): boolean {
    const message = isReadonlyRecord(value) ? messageOf(choiceOf(value)) : undefined
    const deltas = message === undefined ? undefined : toolDeltas(message.value)
    return deltas !== undefined && this.calls.needsSeed(deltas, message?.isWhole === true)
  }

  push(value: unknown, seed: string, into: Array<LlmPart>): Json | undefined {
    if (!isReadonlyRecord(value)) return undefined
    if (isError(value.error)) return { ...value, choices: undefined }
    if (value.object === "error") return value
    if (!this.announced) this.announce(value, into)
    this.takeUsage(value.usage)
    if (isReadonlyRecord(value.x_groq)) this.takeUsage(value.x_groq.usage)
    const choice = choiceOf(value)
    if (choice === undefined) return undefined
    this.takeUsage(choice.usage)
    const said = messageOf(choice)
    if (said !== undefined) this.message(said, seed, into)
    if (isError(choice.error)) return { error: choice.error }
    const ended = choice.finish_reason
    if (typeof ended === "string" && ended !== "") {
      if (ended === "insufficient_system_resource")
        return { error: { code: 503, message: "The model ran out of resources" } }
      this.reason = finishReasonOf(ended)
    }
    return undefined
  }

  finished(): boolean {
    return this.reason !== undefined
  }

  usage(): Usage.Usage {
    return this.reported
  }

  empty(): boolean {
    return this.reason === undefined && !this.content && this.calls.size() === 0
  }

  end(into: Array<LlmPart>): void {
    if (this.details.length > 0 && this.block !== "reasoning") this.open("reasoning", into)
    this.close(into)
    this.calls.end(into)
    let n = 0
    for (const [url, title] of this.sources) {
      into.push({ type: "source", sourceType: "url", id: `source_${n++}`, url, title })
    }
    const called = this.calls.size() > 0 && (this.reason === undefined || this.reason === "stop")
    into.push({
      type: "finish",
      reason: this.refused ? "content-filter" : called ? "tool-calls" : (this.reason ?? "unknown"),
      usage: this.reported
    })
  }
}

/**
 * Text, reasoning and refusals become blocks in order of arrival; tool calls are complete at the end. Tags such as
 * `<think>` stay in the text. Only the first of several choices counts.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: { readonly provider: string }): Decoder => new ChatCompletionsDecoder(options)

const choiceOf = (value: Json): Json | undefined => {
  const choices = value.choices
  if (!Array.isArray(choices)) return undefined
  for (const choice of choices) {
    if (isReadonlyRecord(choice) && (typeof choice.index !== "number" || choice.index === 0)) return choice
  }
  return undefined
}

/** The content of a choice: a delta of it, or all of it. */
interface Message {
  readonly value: Json
  readonly isWhole: boolean
}

const messageOf = (choice: Json | undefined): Message | undefined => {
  if (choice === undefined) return undefined
  if (isReadonlyRecord(choice.delta)) return { value: choice.delta, isWhole: false }
  return isReadonlyRecord(choice.message) ? { value: choice.message, isWhole: true } : undefined
}

const toolDeltas = (message: Json): ReadonlyArray<unknown> | undefined => {
  const deltas = message.tool_calls
  if (Array.isArray(deltas) && deltas.length > 0) return deltas
  return isReadonlyRecord(message.function_call) ? [{ index: 0, function: message.function_call }] : undefined
}
