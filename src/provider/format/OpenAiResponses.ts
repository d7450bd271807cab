/**
 * Reads the answers of OpenAI's `/responses`, and of servers that imitate it: whole bodies and streamed events. Missing
 * fields and unknown items are tolerated; a failed response is an error.
 *
 * @private
 * @since 0.1.0
 */
import type * as Usage from "../../domain/Usage.js"
import type { FinishReason, LlmPart } from "../../llm/model/LlmClient.js"
import type { Decoded, Json, WireDecoder } from "../exchange/WireDecoder.js"
import * as Wire from "../exchange/WireDecoder.js"

interface Open {
  readonly type: "text" | "reasoning" | "call"
  readonly id: string
  text: string
}

const executedNames: ReadonlyMap<string, string> = new Map([
  ["web_search_call", "web_search"],
  ["file_search_call", "file_search"],
  ["code_interpreter_call", "code_execution"]
])

const usageOf = (usage: Json | undefined): Usage.Usage => {
  const input = Wire.number(usage?.input_tokens)
  const output = Wire.number(usage?.output_tokens)
  const total = Wire.number(usage?.total_tokens)
  const reasoning = Wire.number(Wire.record(usage?.output_tokens_details)?.reasoning_tokens)
  const cached = Wire.number(Wire.record(usage?.input_tokens_details)?.cached_tokens)
  return {
    ...(input === undefined ? {} : { inputTokens: input }),
    ...(output === undefined ? {} : { outputTokens: output }),
    ...(total === undefined ? {} : { totalTokens: total }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
    ...(cached === undefined ? {} : { cachedInputTokens: cached })
  }
}

const source = (annotation: Json, id: string): LlmPart | undefined => {
  const url = Wire.string(annotation.url)
  const title = Wire.string(annotation.title)
  switch (annotation.type) {
    case "url_citation": {
      const start = Wire.number(annotation.start_index)
      const end = Wire.number(annotation.end_index)
      if (url === undefined) return undefined
      return {
        type: "source",
        sourceType: "url",
        id,
        url,
        title: title ?? url,
        ...(start === undefined || end === undefined
          ? {}
          : { metadata: { openai: { type: "url_citation", startIndex: start, endIndex: end } } })
      }
    }
    case "file_citation": {
      const name = Wire.string(annotation.filename) ?? Wire.string(annotation.file_id)
      const index = Wire.number(annotation.index)
      return {
        type: "source",
        sourceType: "document",
        id,
        mediaType: "text/plain",
        title: name ?? "Untitled document",
        ...(name === undefined ? {} : { fileName: name }),
        ...(index === undefined ? {} : { metadata: { openai: { type: "file_citation", index } } })
      }
    }
    default:
      return undefined
  }
}

class OpenAiDecoder implements WireDecoder {
  private readonly open = new Map<string, Open>()
  private readonly done = new Set<string>()
  /** Calls by the id of their item. */
  private readonly called = new Map<string, Array<{ readonly name: string; readonly raw: string }>>()
  private parts: Array<LlmPart> = []
  private described = false
  private calls = 0
  private refused = false
  private sources = 0

  private describe(response: Json) {
    const part = this.described ? undefined : Wire.metadataPart(response)
    if (part === undefined) return
    this.described = true
    this.parts.push(part)
  }

  private keyOf(event: Json): string {
    const item = Wire.record(event.item)
    const index = Wire.number(event.output_index)
    return index === undefined ? (Wire.string(event.item_id) ?? Wire.string(item?.id) ?? "0") : String(index)
  }

  private text(key: string, type: "text" | "reasoning", id: string): Open {
    const slot = this.open.get(`${type}:${key}`) ?? { type, id, text: "" }
    if (!this.open.has(`${type}:${key}`)) {
      this.open.set(`${type}:${key}`, slot)
      this.parts.push({ type: `${type}-start`, id: slot.id } as LlmPart)
    }
    return slot
  }

  private delta(key: string, type: "text" | "reasoning", id: string, value: string) {
    if (value === "") return
    const slot = this.text(key, type, id)
    slot.text += value
    this.parts.push({ type: `${type}-delta`, id: slot.id, delta: value } as LlmPart)
  }

  private end(key: string, type: "text" | "reasoning", metadata: Json) {
    const slot = this.open.get(`${type}:${key}`)
    if (slot === undefined) return
    this.open.delete(`${type}:${key}`)
    this.parts.push({ type: `${type}-end`, id: slot.id, metadata: { openai: metadata } } as LlmPart)
  }

  private annotate(annotation: unknown) {
    const known = Wire.record(annotation)
    const part = known === undefined ? undefined : source(known, `source-${this.sources++}`)
    if (part !== undefined) this.parts.push(part)
  }

  private message(key: string, item: Json) {
    const id = Wire.string(item.id)
    const streamed = this.open.has(`text:${key}`)
    let refusal: string | undefined
    for (const content of Wire.records(item.content)) {
      refusal = Wire.string(content.refusal) ?? refusal
      if (content.type === "refusal") this.refused = true
      if (streamed) continue
      this.delta(key, "text", `text-${key}`, Wire.string(content.text) ?? Wire.string(content.refusal) ?? "")
      if (Array.isArray(content.annotations)) content.annotations.forEach((value) => void this.annotate(value))
    }
    this.end(key, "text", {
      ...(id === undefined ? {} : { itemId: id }),
      ...(refusal === undefined ? {} : { refusal })
    })
  }

  private reasoning(key: string, item: Json) {
    const id = Wire.string(item.id)
    const encrypted = Wire.string(item.encrypted_content)
    const metadata = {
      ...(id === undefined ? {} : { itemId: id }),
      ...(encrypted === undefined ? {} : { encryptedContent: encrypted })
    }
    const streamed = Array.from(this.open.keys()).filter((name) => name.startsWith(`reasoning:${key}/`))
    if (streamed.length > 0) {
      for (const name of streamed) this.end(name.slice("reasoning:".length), "reasoning", metadata)
      return
    }
    const summary = Wire.records(item.summary)
    const texts = (summary.length > 0 ? summary : Wire.records(item.content)).map(
      (part) => Wire.string(part.text) ?? ""
    )
    // An item without a text must still be returned to the provider in the next turn.
    for (const [index, value] of (texts.length === 0 ? [""] : texts).entries()) {
      if (value === "" && id === undefined && encrypted === undefined) continue
      const name = `${key}/${index}`
      this.text(name, "reasoning", `reasoning-${name}`)
      this.delta(name, "reasoning", `reasoning-${name}`, value)
      this.end(name, "reasoning", metadata)
    }
  }

  private call(key: string, item: Json) {
    const name = Wire.string(item.name)
    const itemId = Wire.string(item.id)
    const id = Wire.string(item.call_id) ?? itemId
    if (name === undefined || id === undefined) return
    const slot = this.open.get(`call:${key}`)
    this.open.delete(`call:${key}`)
    const given = item.arguments ?? item.input
    const raw = typeof given === "string" ? given : given === undefined ? (slot?.text ?? "") : JSON.stringify(given)
    // Some servers give every item the same id: it is the same call only if its content is the same.
    const others = this.called.get(itemId ?? id) ?? []
    if (others.some((other) => other.name === name && (other.raw === raw || raw === ""))) return
    this.called.set(itemId ?? id, [...others, { name, raw }])
    this.calls++
    if (slot !== undefined) this.parts.push({ type: "tool-params-end", id: slot.id })
    this.parts.push({
      type: "tool-call",
      id,
      name,
      params: item.type === "custom_tool_call" ? raw : Wire.parameters(raw),
      ...(itemId === undefined || others.length > 0 ? {} : { metadata: { openai: { itemId } } })
    })
  }

  private executed(type: string, item: Json) {
    const id = Wire.string(item.id)
    if (id === undefined) return
    const image = Wire.string(item.result)
    if (type === "image_generation_call" && image !== undefined) {
      const format = Wire.string(item.output_format) ?? "png"
      this.parts.push({
        type: "file",
        mediaType: `image/${format}`,
        data: image,
        metadata: { openai: { itemId: id } } as never
      })
      return
    }
    const name = executedNames.get(type) ?? Wire.string(item.name) ?? type
    const metadata = { openai: { item } } as never
    const { id: _id, type: _type, status, results, outputs, output, error, ...rest } = item
    const given = rest.arguments
    this.parts.push({
      type: "tool-call",
      id,
      name,
      params: typeof given === "string" ? Wire.parameters(given) : rest,
      providerExecuted: true,
      metadata
    })
    this.parts.push({
      type: "tool-result",
      id,
      name,
      isFailure: status === "failed" || (error !== undefined && error !== null),
      result: error ?? output ?? outputs ?? results ?? { status: status ?? "completed" },
      providerExecuted: true,
      metadata: { openai: { itemId: id } } as never
    })
  }

  private finishItem(key: string, item: Json) {
    const type = Wire.string(item.type)
    const id = Wire.string(item.id) ?? Wire.string(item.call_id)
    // An item can be in the list twice, and comes again with the end of the stream.
    const isCall = type === "function_call" || type === "custom_tool_call"
    if (type === undefined || this.done.has(key) || (!isCall && id !== undefined && this.done.has(`id:${id}`))) return
    this.done.add(key)
    if (id !== undefined) this.done.add(`id:${id}`)
    switch (type) {
      case "message":
        return this.message(key, item)
      case "reasoning":
        return this.reasoning(key, item)
      case "function_call":
      case "custom_tool_call":
        return this.call(key, item)
      default:
        return this.executed(type, item)
    }
  }

  private finish(response: Json): Decoded["failure"] {
    this.describe(response)
    const status = Wire.string(response.status)
    const output = Wire.records(response.output)
    const error = Wire.record(response.error)
    if (status === "failed" || (error !== undefined && output.length === 0)) return Wire.failure(error ?? {})
    if (status === "cancelled") return Wire.failure({ message: "The provider cancelled the response." })
    if (status === "queued" || status === "in_progress") {
      const message = "The response is not finished: background responses are not supported."
      return Wire.failure({ type: "invalid_request_error", message })
    }
    output.forEach((item, index) => {
      const id = Wire.string(item.id)
      const begun =
        id !== undefined && Array.from(this.open.keys()).some((name) => /^\w+:(.*?)(?:\/\d+)?$/.exec(name)?.[1] === id)
      this.finishItem(begun ? id : String(index), item)
    })
    for (const slot of this.open.values()) {
      if (slot.type === "call") continue
      this.parts.push({ type: `${slot.type}-end`, id: slot.id } as LlmPart)
    }
    this.open.clear()
    const incomplete = Wire.record(response.incomplete_details)?.reason
    this.parts.push({ type: "finish", reason: this.reasonOf(incomplete), usage: usageOf(Wire.record(response.usage)) })
    return undefined
  }

  private reasonOf(incomplete: unknown): FinishReason {
    switch (incomplete) {
      case "max_output_tokens":
      case "max_tokens":
      case "length":
        return "length"
      case "content_filter":
        return "content-filter"
      case undefined:
      case null:
        return this.refused ? "content-filter" : this.calls > 0 ? "tool-calls" : "stop"
      default:
        return this.calls > 0 ? "tool-calls" : "unknown"
    }
  }

  private taken(failure?: Decoded["failure"]): Decoded {
    const result = this.parts
    this.parts = []
    return { parts: result, failure }
  }

  private step(event: Json): Decoded["failure"] {
    const key = this.keyOf(event)
    const value = Wire.string(event.delta) ?? ""
    switch (event.type) {
      case "response.created":
      case "response.in_progress":
      case "response.queued":
        this.describe(Wire.record(event.response) ?? {})
        return undefined
      case "response.output_item.added": {
        const item = Wire.record(event.item) ?? {}
        const name = Wire.string(item.name)
        const id = Wire.string(item.call_id) ?? Wire.string(item.id)
        if (
          (item.type === "function_call" || item.type === "custom_tool_call") &&
          name !== undefined &&
          id !== undefined
        ) {
          this.open.set(`call:${key}`, { type: "call", id, text: "" })
          this.parts.push({ type: "tool-params-start", id, name })
        }
        return undefined
      }
      case "response.output_item.done":
        this.finishItem(key, Wire.record(event.item) ?? {})
        return undefined
      case "response.refusal.delta":
        this.refused = true
        this.delta(key, "text", `text-${key}`, value)
        return undefined
      case "response.output_text.delta":
        this.delta(key, "text", `text-${key}`, value)
        return undefined
      case "response.output_text.annotation.added":
        this.annotate(event.annotation)
        return undefined
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta": {
        const index = Wire.number(event.summary_index) ?? Wire.number(event.content_index) ?? 0
        this.delta(`${key}/${index}`, "reasoning", `reasoning-${key}/${index}`, value)
        return undefined
      }
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta": {
        const slot = this.open.get(`call:${key}`) ?? this.lastCall()
        if (slot === undefined || value === "") return undefined
        slot.text += value
        this.parts.push({ type: "tool-params-delta", id: slot.id, delta: value })
        return undefined
      }
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
      case "response.cancelled": {
        const status = String(event.type).slice("response.".length)
        return this.finish({ status, ...Wire.record(event.response) })
      }
      case "error":
        return Wire.failure(event)
      default:
        return undefined
    }
  }

  private lastCall(): Open | undefined {
    let last: Open | undefined
    for (const slot of this.open.values()) if (slot.type === "call") last = slot
    return last
  }

  event(event: unknown): Decoded {
    const known = Wire.record(event)
    if (known === undefined) return { parts: [] }
    return this.taken(known.type === undefined && known.error !== undefined ? Wire.failure(known) : this.step(known))
  }

  body(body: unknown): Decoded {
    const response = Wire.record(body)
    if (response === undefined) return { parts: [] }
    if (Array.isArray(response.output) || response.status === "failed") return this.taken(this.finish(response))
    return response.error === undefined || response.error === null
      ? { parts: [] }
      : { parts: [], failure: Wire.failure(response) }
  }
}

/**
 * A decoder for one answer.
 *
 * Texts and calls carry the id of their item, reasoning its encrypted content, and items that the provider handled
 * itself the whole item, so that the next request can return them. A refusal is a text with the finish reason
 * `content-filter`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (): WireDecoder => new OpenAiDecoder()
