/**
 * Reads what Anthropic's `/messages`, and servers that imitate it, answer: whole bodies and streamed events. Missing
 * fields and unknown blocks are no failure.
 *
 * @internal
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
  ["web_search", "AnthropicWebSearch"],
  ["code_execution", "AnthropicCodeExecution"],
  ["bash_code_execution", "AnthropicCodeExecution"],
  ["text_editor_code_execution", "AnthropicCodeExecution"]
])

interface Block {
  readonly start: Json
  readonly texts: Array<string>
  closed: boolean
}

/**
 * A decoder for one answer.
 *
 * Thinking carries its signature, and blocks the provider's own tools made carry the whole block, so that the next
 * request can show them again. `output` names the tool that stands for JSON output: its input is then the text of the
 * answer.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: { readonly output?: string | undefined } | undefined): WireDecoder => {
  const blocks = new Map<number, Block>()
  const names = new Map<string, string>()
  const usage: Record<string, number> = {}
  const raw: { input?: number; read?: number; written?: number } = {}
  let parts: Array<LlmPart> = []
  let stopReason: string | undefined
  let stopSequence: string | undefined
  let hasOutput = false
  let calls = 0
  let sources = 0
  let finished = false
  let told: Usage.Usage | undefined

  const describe = (message: Json) => {
    const id = Wire.string(message.id)
    const model = Wire.string(message.model)
    if (id === undefined && model === undefined) return
    parts.push({
      type: "response-metadata",
      ...(id === undefined ? {} : { id }),
      ...(model === undefined ? {} : { modelId: model })
    })
  }

  const count = (value: unknown) => {
    const given = Wire.record(value)
    if (given === undefined) return
    const input = Wire.number(given.input_tokens)
    const output = Wire.number(given.output_tokens)
    const read = Wire.number(given.cache_read_input_tokens)
    const written = Wire.number(given.cache_creation_input_tokens)
    const thinking = Wire.number(Wire.record(given.output_tokens_details)?.thinking_tokens)
    if (input !== undefined) raw.input = input
    if (read !== undefined) raw.read = read
    if (written !== undefined) raw.written = written
    if (output !== undefined) usage.outputTokens = output
    if (thinking !== undefined) usage.reasoningTokens = thinking
    if (raw.input !== undefined) {
      // Anthropic counts cached tokens apart from the input, the port as a part of it.
      usage.inputTokens = raw.input + (raw.read ?? 0) + (raw.written ?? 0)
      if (usage.outputTokens !== undefined) usage.totalTokens = usage.inputTokens + usage.outputTokens
    }
    if (raw.read !== undefined) usage.cachedInputTokens = raw.read
    if (raw.written !== undefined) usage.cacheWriteTokens = raw.written
    told = { ...usage }
  }

  const cite = (value: unknown) => {
    const citation = Wire.record(value)
    const url = Wire.string(citation?.url)
    if (citation === undefined || url === undefined) return
    const encryptedIndex = Wire.string(citation.encrypted_index)
    parts.push({
      type: "source",
      sourceType: "url",
      id: `source-${sources++}`,
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

  // Words before the call that stands for JSON output are no part of it; whether that call comes is known only at the
  // end.
  const isHeld = options?.output !== undefined

  const isOutput = (block: Json): boolean => options?.output !== undefined && block.name === options.output

  const text = (type: "text" | "reasoning", id: string, value: string, metadata?: Json) => {
    if (value === "" && metadata === undefined) return
    parts.push({
      type: `${type}-delta`,
      id,
      delta: value,
      ...(metadata === undefined ? {} : { metadata: { anthropic: metadata } })
    } as LlmPart)
  }

  const begin = (index: number, block: Json) => {
    const id = String(index)
    blocks.set(index, { start: block, texts: [], closed: false })
    switch (block.type) {
      case "text": {
        const value = Wire.string(block.text) ?? ""
        if (isHeld) return void blocks.get(index)?.texts.push(value)
        parts.push({ type: "text-start", id })
        text("text", id, value)
        if (Array.isArray(block.citations)) block.citations.forEach(cite)
        return
      }
      case "thinking": {
        parts.push({ type: "reasoning-start", id })
        text("reasoning", id, Wire.string(block.thinking) ?? "")
        const signature = Wire.string(block.signature)
        if (signature !== undefined && signature !== "") text("reasoning", id, "", { type: "thinking", signature })
        return
      }
      case "redacted_thinking": {
        const metadata = { type: "redacted_thinking", redactedData: Wire.string(block.data) ?? "" }
        parts.push({ type: "reasoning-start", id, metadata: { anthropic: metadata } as never })
        return
      }
      case "tool_use": {
        const callId = Wire.string(block.id)
        const name = Wire.string(block.name)
        if (isOutput(block)) {
          if (!hasOutput) parts.push({ type: "text-start", id })
        } else if (callId !== undefined && name !== undefined) {
          parts.push({ type: "tool-params-start", id: callId, name })
        }
        return
      }
    }
  }

  const delta = (index: number, value: Json) => {
    const id = String(index)
    const block = blocks.get(index)
    switch (value.type) {
      case "text_delta":
        if (block === undefined) begin(index, { type: "text" })
        if (isHeld) return void blocks.get(index)?.texts.push(Wire.string(value.text) ?? "")
        return text("text", id, Wire.string(value.text) ?? "")
      case "thinking_delta":
        if (block === undefined) begin(index, { type: "thinking" })
        return text("reasoning", id, Wire.string(value.thinking) ?? "")
      case "signature_delta":
        return text("reasoning", id, "", { type: "thinking", signature: Wire.string(value.signature) ?? "" })
      case "citations_delta":
        return cite(value.citation)
      case "input_json_delta": {
        const json = Wire.string(value.partial_json) ?? ""
        if (block === undefined || json === "") return
        block.texts.push(json)
        const callId = Wire.string(block.start.id)
        if (block.start.type !== "tool_use" || callId === undefined) return
        if (!isOutput(block.start)) parts.push({ type: "tool-params-delta", id: callId, delta: json })
        else if (!hasOutput) text("text", id, json)
        return
      }
    }
  }

  const input = (block: Block): unknown =>
    block.texts.length > 0 ? Wire.parameters(block.texts.join("")) : (block.start.input ?? {})

  const toolUse = (id: string, block: Block) => {
    const callId = Wire.string(block.start.id)
    const name = Wire.string(block.start.name)
    if (isOutput(block.start)) {
      // One answer was asked for: a second one would only spoil the JSON of the first.
      if (hasOutput) return
      hasOutput = true
      if (block.texts.length === 0) text("text", id, JSON.stringify(input(block)))
      parts.push({ type: "text-end", id })
    } else if (callId !== undefined && name !== undefined) {
      calls++
      parts.push({ type: "tool-params-end", id: callId }, { type: "tool-call", id: callId, name, params: input(block) })
    }
  }

  const executed = (block: Block) => {
    const start = block.start
    const type = Wire.string(start.type) ?? ""
    const given = Wire.string(start.name) ?? type
    if (type === "server_tool_use" || type === "mcp_tool_use") {
      const id = Wire.string(start.id)
      if (id === undefined) return
      const name = executedNames.get(given) ?? given
      const params = input(block)
      names.set(id, name)
      const metadata = { anthropic: { block: { ...start, input: params } } } as never
      parts.push({ type: "tool-call", id, name, params, providerExecuted: true, metadata })
      return
    }
    const id = Wire.string(start.tool_use_id)
    if (id === undefined || !type.endsWith("tool_result")) return
    const content = start.content ?? null
    const contentType = Wire.string(Wire.record(content)?.type) ?? ""
    const tool = type.slice(0, -"_tool_result".length)
    parts.push({
      type: "tool-result",
      id,
      name: names.get(id) ?? executedNames.get(tool) ?? tool,
      isFailure: start.is_error === true || contentType.endsWith("_error"),
      result: content,
      providerExecuted: true,
      metadata: { anthropic: { block: start } } as never
    })
  }

  const end = (index: number) => {
    const id = String(index)
    const block = blocks.get(index)
    if (block === undefined || block.closed) return
    block.closed = true
    switch (block.start.type) {
      case "text":
        return isHeld ? undefined : void parts.push({ type: "text-end", id })
      case "thinking":
      case "redacted_thinking":
        return void parts.push({ type: "reasoning-end", id })
      case "tool_use":
        return toolUse(id, block)
      default:
        return executed(block)
    }
  }

  const finish = () => {
    if (finished) return
    finished = true
    for (const index of blocks.keys()) end(index)
    if (isHeld && !hasOutput) {
      for (const [index, block] of blocks) {
        if (block.start.type !== "text") continue
        parts.push({ type: "text-start", id: String(index) })
        text("text", String(index), block.texts.join(""))
        parts.push({ type: "text-end", id: String(index) })
      }
    }
    const known = stopReason === undefined ? undefined : (finishReasons.get(stopReason) ?? "unknown")
    const reason: FinishReason =
      known === undefined ? (calls > 0 ? "tool-calls" : "stop") : known === "tool-calls" && calls === 0 ? "stop" : known
    parts.push({
      type: "finish",
      reason,
      usage,
      ...(stopSequence === undefined ? {} : { metadata: { anthropic: { stopSequence } } as never })
    })
  }

  const stop = (value: unknown) => {
    const given = Wire.record(value)
    stopReason = Wire.string(given?.stop_reason) ?? stopReason
    stopSequence = Wire.string(given?.stop_sequence) ?? stopSequence
  }

  const taken = (failure?: string): Decoded => {
    const result: Decoded = told === undefined ? { parts, failure } : { parts, failure, usage: told }
    parts = []
    told = undefined
    return result
  }

  const step = (event: Json) => {
    const index = Wire.number(event.index) ?? 0
    switch (event.type) {
      case "message_start": {
        const message = Wire.record(event.message) ?? {}
        describe(message)
        return count(message.usage)
      }
      case "content_block_start":
        return begin(index, Wire.record(event.content_block) ?? {})
      case "content_block_delta":
        return delta(index, Wire.record(event.delta) ?? {})
      case "content_block_stop":
        return end(index)
      case "message_delta":
        stop(event.delta)
        return count(event.usage)
      case "message_stop":
        return finish()
    }
  }

  return {
    event: (event) => {
      const known = Wire.record(event)
      if (known === undefined) return { parts: [] }
      if (known.type === "error" || (known.type === undefined && known.error !== undefined)) {
        return taken(Wire.failure(known))
      }
      step(known)
      return taken()
    },
    body: (body) => {
      const message = Wire.record(body)
      if (message === undefined) return { parts: [] }
      if (message.type === "error" || Wire.record(message.error) !== undefined) return taken(Wire.failure(message))
      if (!Array.isArray(message.content)) return { parts: [] }
      describe(message)
      count(message.usage)
      stop(message)
      Wire.records(message.content).forEach((block, index) => {
        begin(index, block)
        end(index)
      })
      finish()
      return taken()
    }
  }
}
