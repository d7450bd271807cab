/**
 * Reads the answers of Anthropic's `/messages`, and of servers that imitate it: whole bodies and streamed events.
 * Missing fields and unknown blocks are tolerated.
 *
 * @private
 * @since 0.1.0
 */
import type * as Usage from "../../domain/Usage.js"
import type { FinishReason, LlmPart } from "../../llm/model/LlmClient.js"
import type { Decoded, Json, WireDecoder } from "../exchange/WireDecoder.js"
import * as Wire from "../exchange/WireDecoder.js"

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool-calls"],
  ["pause_turn", "pause"],
  ["refusal", "content-filter"]
])

const executedNames: ReadonlyMap<string, string> = new Map([
  ["bash_code_execution", "code_execution"],
  ["text_editor_code_execution", "code_execution"]
])

interface Block {
  readonly start: Json
  readonly texts: Array<string>
  closed: boolean
}

/** A result without what only Anthropic can read, which goes back with the whole block. */
const readable = (content: unknown): unknown =>
  Array.isArray(content) ? Wire.records(content).map(({ encrypted_content: _, ...rest }) => rest) : content

class AnthropicDecoder implements WireDecoder {
  private readonly blocks = new Map<number, Block>()
  private readonly names = new Map<string, string>()
  private readonly usage: Record<string, number> = {}
  private readonly raw: { input?: number; read?: number; written?: number } = {}
  private parts: Array<LlmPart> = []
  private stopReason: string | undefined
  private stopSequence: string | undefined
  private hasOutput = false
  private calls = 0
  private sources = 0
  private finished = false
  private reportedUsage: Usage.Usage | undefined

  constructor(private readonly options: { readonly output?: string | undefined } | undefined) {}

  private describe(message: Json) {
    const part = Wire.metadataPart(message)
    if (part !== undefined) this.parts.push(part)
  }

  private count(value: unknown) {
    const given = Wire.record(value)
    if (given === undefined) return
    const input = Wire.number(given.input_tokens)
    const output = Wire.number(given.output_tokens)
    const read = Wire.number(given.cache_read_input_tokens)
    const written = Wire.number(given.cache_creation_input_tokens)
    const thinking = Wire.number(Wire.record(given.output_tokens_details)?.thinking_tokens)
    if (input !== undefined) this.raw.input = input
    if (read !== undefined) this.raw.read = read
    if (written !== undefined) this.raw.written = written
    if (output !== undefined) this.usage.outputTokens = output
    if (thinking !== undefined) this.usage.reasoningTokens = thinking
    if (this.raw.input !== undefined) {
      // Anthropic counts cached tokens separately from the input, the port as a part of it.
      this.usage.inputTokens = this.raw.input + (this.raw.read ?? 0) + (this.raw.written ?? 0)
      if (this.usage.outputTokens !== undefined)
        this.usage.totalTokens = this.usage.inputTokens + this.usage.outputTokens
    }
    if (this.raw.read !== undefined) this.usage.cachedInputTokens = this.raw.read
    if (this.raw.written !== undefined) this.usage.cacheWriteTokens = this.raw.written
    this.reportedUsage = { ...this.usage }
  }

  private cite(value: unknown) {
    const citation = Wire.record(value)
    const url = Wire.string(citation?.url)
    if (citation === undefined || url === undefined) return
    const encryptedIndex = Wire.string(citation.encrypted_index)
    this.parts.push({
      type: "source",
      sourceType: "url",
      id: `source-${this.sources++}`,
      url,
      title: Wire.string(citation.title) ?? url,
      ...(encryptedIndex === undefined
        ? {}
        : {
            metadata: {
              anthropic: { source: "url", citedText: Wire.string(citation.cited_text) ?? "", encryptedIndex }
            }
          })
    })
  }

  /**
   * Text before the call that stands for JSON output is not part of it, and only the end shows whether the call comes.
   */
  private isHeld(): boolean {
    return this.options?.output !== undefined
  }

  private isOutput(block: Json): boolean {
    return this.options?.output !== undefined && block.name === this.options.output
  }

  private text(type: "text" | "reasoning", id: string, value: string, metadata?: Json) {
    if (value === "" && metadata === undefined) return
    this.parts.push({
      type: `${type}-delta`,
      id,
      delta: value,
      ...(metadata === undefined ? {} : { metadata: { anthropic: metadata } })
    } as LlmPart)
  }

  private begin(index: number, block: Json) {
    const id = String(index)
    this.blocks.set(index, { start: block, texts: [], closed: false })
    switch (block.type) {
      case "text": {
        const value = Wire.string(block.text) ?? ""
        if (this.isHeld()) return void this.blocks.get(index)?.texts.push(value)
        this.parts.push({ type: "text-start", id })
        this.text("text", id, value)
        if (Array.isArray(block.citations)) block.citations.forEach((value) => void this.cite(value))
        return
      }
      case "thinking": {
        this.parts.push({ type: "reasoning-start", id })
        this.text("reasoning", id, Wire.string(block.thinking) ?? "")
        const signature = Wire.string(block.signature)
        if (signature !== undefined && signature !== "") this.text("reasoning", id, "", { type: "thinking", signature })
        return
      }
      case "redacted_thinking": {
        const metadata = { type: "redacted_thinking", redactedData: Wire.string(block.data) ?? "" }
        this.parts.push({ type: "reasoning-start", id, metadata: { anthropic: metadata } as never })
        return
      }
      case "tool_use": {
        const callId = Wire.string(block.id)
        const name = Wire.string(block.name)
        if (this.isOutput(block)) {
          if (!this.hasOutput) this.parts.push({ type: "text-start", id })
        } else if (callId !== undefined && name !== undefined) {
          this.parts.push({ type: "tool-params-start", id: callId, name })
        }
        return
      }
    }
  }

  private delta(index: number, value: Json) {
    const id = String(index)
    const block = this.blocks.get(index)
    switch (value.type) {
      case "text_delta":
        if (block === undefined) this.begin(index, { type: "text" })
        if (this.isHeld()) return void this.blocks.get(index)?.texts.push(Wire.string(value.text) ?? "")
        return this.text("text", id, Wire.string(value.text) ?? "")
      case "thinking_delta":
        if (block === undefined) this.begin(index, { type: "thinking" })
        return this.text("reasoning", id, Wire.string(value.thinking) ?? "")
      case "signature_delta":
        return this.text("reasoning", id, "", { type: "thinking", signature: Wire.string(value.signature) ?? "" })
      case "citations_delta":
        return this.cite(value.citation)
      case "input_json_delta": {
        const json = Wire.string(value.partial_json) ?? ""
        if (block === undefined || json === "") return
        block.texts.push(json)
        const callId = Wire.string(block.start.id)
        if (block.start.type !== "tool_use" || callId === undefined) return
        if (!this.isOutput(block.start)) this.parts.push({ type: "tool-params-delta", id: callId, delta: json })
        else if (!this.hasOutput) this.text("text", id, json)
        return
      }
    }
  }

  private input(block: Block): unknown {
    return block.texts.length > 0 ? Wire.parameters(block.texts.join("")) : (block.start.input ?? {})
  }

  private toolUse(id: string, block: Block) {
    const callId = Wire.string(block.start.id)
    const name = Wire.string(block.start.name)
    if (this.isOutput(block.start)) {
      // One answer was requested: a second one would corrupt the JSON of the first.
      if (this.hasOutput) return
      this.hasOutput = true
      if (block.texts.length === 0) this.text("text", id, JSON.stringify(this.input(block)))
      this.parts.push({ type: "text-end", id })
    } else if (callId !== undefined && name !== undefined) {
      this.calls++
      this.parts.push(
        { type: "tool-params-end", id: callId },
        { type: "tool-call", id: callId, name, params: this.input(block) }
      )
    }
  }

  private executed(block: Block) {
    const start = block.start
    const type = Wire.string(start.type) ?? ""
    const given = Wire.string(start.name) ?? type
    if (type === "server_tool_use" || type === "mcp_tool_use") {
      const id = Wire.string(start.id)
      if (id === undefined) return
      const name = executedNames.get(given) ?? given
      const params = this.input(block)
      this.names.set(id, name)
      const metadata = { anthropic: { block: { ...start, input: params } } } as never
      this.parts.push({ type: "tool-call", id, name, params, providerExecuted: true, metadata })
      return
    }
    const id = Wire.string(start.tool_use_id)
    if (id === undefined || !type.endsWith("tool_result")) return
    const content = start.content ?? null
    const contentType = Wire.string(Wire.record(content)?.type) ?? ""
    const tool = type.slice(0, -"_tool_result".length)
    this.parts.push({
      type: "tool-result",
      id,
      name: this.names.get(id) ?? executedNames.get(tool) ?? tool,
      isFailure: start.is_error === true || contentType.endsWith("_error"),
      result: readable(content),
      providerExecuted: true,
      metadata: { anthropic: { block: start } } as never
    })
  }

  private end(index: number) {
    const id = String(index)
    const block = this.blocks.get(index)
    if (block === undefined || block.closed) return
    block.closed = true
    switch (block.start.type) {
      case "text":
        return this.isHeld() ? undefined : void this.parts.push({ type: "text-end", id })
      case "thinking":
      case "redacted_thinking":
        return void this.parts.push({ type: "reasoning-end", id })
      case "tool_use":
        return this.toolUse(id, block)
      default:
        return this.executed(block)
    }
  }

  private finish() {
    if (this.finished) return
    this.finished = true
    for (const index of this.blocks.keys()) this.end(index)
    if (this.isHeld() && !this.hasOutput) {
      for (const [index, block] of this.blocks) {
        if (block.start.type !== "text") continue
        this.parts.push({ type: "text-start", id: String(index) })
        this.text("text", String(index), block.texts.join(""))
        this.parts.push({ type: "text-end", id: String(index) })
      }
    }
    const known = this.stopReason === undefined ? undefined : (finishReasons.get(this.stopReason) ?? "unknown")
    const reason: FinishReason =
      known === undefined
        ? this.calls > 0
          ? "tool-calls"
          : "stop"
        : known === "tool-calls" && this.calls === 0
          ? "stop"
          : known
    this.parts.push({
      type: "finish",
      reason,
      usage: this.usage,
      ...(this.stopSequence === undefined
        ? {}
        : { metadata: { anthropic: { stopSequence: this.stopSequence } } as never })
    })
  }

  private stop(value: unknown) {
    const given = Wire.record(value)
    this.stopReason = Wire.string(given?.stop_reason) ?? this.stopReason
    this.stopSequence = Wire.string(given?.stop_sequence) ?? this.stopSequence
  }

  private taken(failure?: string): Decoded {
    const result: Decoded =
      this.reportedUsage === undefined
        ? { parts: this.parts, failure }
        : { parts: this.parts, failure, usage: this.reportedUsage }
    this.parts = []
    this.reportedUsage = undefined
    return result
  }

  private step(event: Json) {
    const index = Wire.number(event.index) ?? 0
    switch (event.type) {
      case "message_start": {
        const message = Wire.record(event.message) ?? {}
        this.describe(message)
        return this.count(message.usage)
      }
      case "content_block_start":
        return this.begin(index, Wire.record(event.content_block) ?? {})
      case "content_block_delta":
        return this.delta(index, Wire.record(event.delta) ?? {})
      case "content_block_stop":
        return this.end(index)
      case "message_delta":
        this.stop(event.delta)
        return this.count(event.usage)
      case "message_stop":
        return this.finish()
    }
  }

  event(event: unknown): Decoded {
    const known = Wire.record(event)
    if (known === undefined) return { parts: [] }
    if (known.type === "error" || (known.type === undefined && known.error !== undefined)) {
      return this.taken(Wire.failure(known))
    }
    this.step(known)
    return this.taken()
  }

  body(body: unknown): Decoded {
    const message = Wire.record(body)
    if (message === undefined) return { parts: [] }
    if (message.type === "error" || Wire.record(message.error) !== undefined) return this.taken(Wire.failure(message))
    if (!Array.isArray(message.content)) return { parts: [] }
    this.describe(message)
    this.count(message.usage)
    this.stop(message)
    Wire.records(message.content).forEach((block, index) => {
      this.begin(index, block)
      this.end(index)
    })
    this.finish()
    return this.taken()
  }
}

/**
 * A decoder for one answer.
 *
 * Thinking carries its signature, and blocks of the provider's own tools carry the whole block, so that the next
 * request can return them. `output` names the tool that stands for JSON output: its input is then the text of the
 * answer.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: { readonly output?: string | undefined } | undefined): WireDecoder =>
  new AnthropicDecoder(options)
