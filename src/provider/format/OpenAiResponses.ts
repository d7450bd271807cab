/**
 * Reads what OpenAI's `/responses`, and servers that imitate it, answer: whole bodies and streamed events. Missing
 * fields and unknown items are no failure; a failed response is.
 *
 * @internal
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
  ["web_search_call", "OpenAiWebSearch"],
  ["file_search_call", "OpenAiFileSearch"],
  ["code_interpreter_call", "OpenAiCodeInterpreter"]
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

/**
 * A decoder for one answer.
 *
 * Texts and calls carry the id of their item, reasoning its encrypted content, and items the provider dealt with itself
 * the whole item, so that the next request can show them again. A refusal is a text, and the finish reason then
 * `content-filter`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (): WireDecoder => {
  const open = new Map<string, Open>()
  const done = new Set<string>()
  /** Calls by the id of their item. */
  const called = new Map<string, Array<{ readonly name: string; readonly raw: string }>>()
  let parts: Array<LlmPart> = []
  let described = false
  let calls = 0
  let refused = false
  let sources = 0

  const describe = (response: Json) => {
    const id = Wire.string(response.id)
    const model = Wire.string(response.model)
    if (described || (id === undefined && model === undefined)) return
    described = true
    parts.push({
      type: "response-metadata",
      ...(id === undefined ? {} : { id }),
      ...(model === undefined ? {} : { modelId: model })
    })
  }

  const keyOf = (event: Json): string => {
    const item = Wire.record(event.item)
    const index = Wire.number(event.output_index)
    return index === undefined ? (Wire.string(event.item_id) ?? Wire.string(item?.id) ?? "0") : String(index)
  }

  const text = (key: string, type: "text" | "reasoning", id: string): Open => {
    const slot = open.get(`${type}:${key}`) ?? { type, id, text: "" }
    if (!open.has(`${type}:${key}`)) {
      open.set(`${type}:${key}`, slot)
      parts.push({ type: `${type}-start`, id: slot.id } as LlmPart)
    }
    return slot
  }

  const delta = (key: string, type: "text" | "reasoning", id: string, value: string) => {
    if (value === "") return
    const slot = text(key, type, id)
    slot.text += value
    parts.push({ type: `${type}-delta`, id: slot.id, delta: value } as LlmPart)
  }

  const end = (key: string, type: "text" | "reasoning", metadata: Json) => {
    const slot = open.get(`${type}:${key}`)
    if (slot === undefined) return
    open.delete(`${type}:${key}`)
    parts.push({ type: `${type}-end`, id: slot.id, metadata: { openai: metadata } } as LlmPart)
  }

  const annotate = (annotation: unknown) => {
    const known = Wire.record(annotation)
    const part = known === undefined ? undefined : source(known, `source-${sources++}`)
    if (part !== undefined) parts.push(part)
  }

  const message = (key: string, item: Json) => {
    const id = Wire.string(item.id)
    const streamed = open.has(`text:${key}`)
    let refusal: string | undefined
    for (const content of Wire.records(item.content)) {
      refusal = Wire.string(content.refusal) ?? refusal
      if (content.type === "refusal") refused = true
      if (streamed) continue
      delta(key, "text", `text-${key}`, Wire.string(content.text) ?? Wire.string(content.refusal) ?? "")
      if (Array.isArray(content.annotations)) content.annotations.forEach(annotate)
    }
    end(key, "text", {
      ...(id === undefined ? {} : { itemId: id }),
      ...(refusal === undefined ? {} : { refusal })
    })
  }

  const reasoning = (key: string, item: Json) => {
    const id = Wire.string(item.id)
    const encrypted = Wire.string(item.encrypted_content)
    const metadata = {
      ...(id === undefined ? {} : { itemId: id }),
      ...(encrypted === undefined ? {} : { encryptedContent: encrypted })
    }
    const streamed = Array.from(open.keys()).filter((name) => name.startsWith(`reasoning:${key}/`))
    if (streamed.length > 0) {
      for (const name of streamed) end(name.slice("reasoning:".length), "reasoning", metadata)
      return
    }
    const summary = Wire.records(item.summary)
    const texts = (summary.length > 0 ? summary : Wire.records(item.content)).map(
      (part) => Wire.string(part.text) ?? ""
    )
    // Without a text the item itself is still owed to the provider next turn.
    for (const [index, value] of (texts.length === 0 ? [""] : texts).entries()) {
      if (value === "" && id === undefined && encrypted === undefined) continue
      const name = `${key}/${index}`
      text(name, "reasoning", `reasoning-${name}`)
      delta(name, "reasoning", `reasoning-${name}`, value)
      end(name, "reasoning", metadata)
    }
  }

  const call = (key: string, item: Json) => {
    const name = Wire.string(item.name)
    const itemId = Wire.string(item.id)
    const id = Wire.string(item.call_id) ?? itemId
    if (name === undefined || id === undefined) return
    const slot = open.get(`call:${key}`)
    open.delete(`call:${key}`)
    const given = item.arguments ?? item.input
    const raw = typeof given === "string" ? given : given === undefined ? (slot?.text ?? "") : JSON.stringify(given)
    // Servers exist that give every item the same id: it is the same call only if it says the same.
    const others = called.get(itemId ?? id) ?? []
    if (others.some((other) => other.name === name && (other.raw === raw || raw === ""))) return
    called.set(itemId ?? id, [...others, { name, raw }])
    calls++
    if (slot !== undefined) parts.push({ type: "tool-params-end", id: slot.id })
    parts.push({
      type: "tool-call",
      id,
      name,
      params: item.type === "custom_tool_call" ? raw : Wire.parameters(raw),
      ...(itemId === undefined || others.length > 0 ? {} : { metadata: { openai: { itemId } } })
    })
  }

  const executed = (type: string, item: Json) => {
    const id = Wire.string(item.id)
    if (id === undefined) return
    const image = Wire.string(item.result)
    if (type === "image_generation_call" && image !== undefined) {
      const format = Wire.string(item.output_format) ?? "png"
      parts.push({
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
    parts.push({
      type: "tool-call",
      id,
      name,
      params: typeof given === "string" ? Wire.parameters(given) : rest,
      providerExecuted: true,
      metadata
    })
    parts.push({
      type: "tool-result",
      id,
      name,
      isFailure: status === "failed" || (error !== undefined && error !== null),
      result: error ?? output ?? outputs ?? results ?? { status: status ?? "completed" },
      providerExecuted: true,
      metadata: { openai: { itemId: id } } as never
    })
  }

  const finishItem = (key: string, item: Json) => {
    const type = Wire.string(item.type)
    const id = Wire.string(item.id) ?? Wire.string(item.call_id)
    // The same item can stand in the list twice, and comes again with the end of the stream.
    const isCall = type === "function_call" || type === "custom_tool_call"
    if (type === undefined || done.has(key) || (!isCall && id !== undefined && done.has(`id:${id}`))) return
    done.add(key)
    if (id !== undefined) done.add(`id:${id}`)
    switch (type) {
      case "message":
        return message(key, item)
      case "reasoning":
        return reasoning(key, item)
      case "function_call":
      case "custom_tool_call":
        return call(key, item)
      default:
        return executed(type, item)
    }
  }

  const finish = (response: Json): Decoded["failure"] => {
    describe(response)
    const status = Wire.string(response.status)
    const output = Wire.records(response.output)
    const error = Wire.record(response.error)
    if (status === "failed" || (error !== undefined && output.length === 0)) return Wire.failure(error ?? {})
    if (status === "cancelled") return Wire.failure({ message: "The provider cancelled the response." })
    if (status === "queued" || status === "in_progress") {
      const message = "The response is not finished: responses in the background are not supported."
      return Wire.failure({ type: "invalid_request_error", message })
    }
    output.forEach((item, index) => {
      const id = Wire.string(item.id)
      const begun =
        id !== undefined && Array.from(open.keys()).some((name) => /^\w+:(.*?)(?:\/\d+)?$/.exec(name)?.[1] === id)
      finishItem(begun ? id : String(index), item)
    })
    for (const slot of open.values()) {
      if (slot.type === "call") continue
      parts.push({ type: `${slot.type}-end`, id: slot.id } as LlmPart)
    }
    open.clear()
    const incomplete = Wire.record(response.incomplete_details)?.reason
    parts.push({ type: "finish", reason: reasonOf(incomplete), usage: usageOf(Wire.record(response.usage)) })
    return undefined
  }

  const reasonOf = (incomplete: unknown): FinishReason => {
    switch (incomplete) {
      case "max_output_tokens":
      case "max_tokens":
      case "length":
        return "length"
      case "content_filter":
        return "content-filter"
      case undefined:
      case null:
        return refused ? "content-filter" : calls > 0 ? "tool-calls" : "stop"
      default:
        return calls > 0 ? "tool-calls" : "unknown"
    }
  }

  const taken = (failure?: Decoded["failure"]): Decoded => {
    const result = parts
    parts = []
    return { parts: result, failure }
  }

  const step = (event: Json): Decoded["failure"] => {
    const key = keyOf(event)
    const value = Wire.string(event.delta) ?? ""
    switch (event.type) {
      case "response.created":
      case "response.in_progress":
      case "response.queued":
        describe(Wire.record(event.response) ?? {})
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
          open.set(`call:${key}`, { type: "call", id, text: "" })
          parts.push({ type: "tool-params-start", id, name })
        }
        return undefined
      }
      case "response.output_item.done":
        finishItem(key, Wire.record(event.item) ?? {})
        return undefined
      case "response.refusal.delta":
        refused = true
        delta(key, "text", `text-${key}`, value)
        return undefined
      case "response.output_text.delta":
        delta(key, "text", `text-${key}`, value)
        return undefined
      case "response.output_text.annotation.added":
        annotate(event.annotation)
        return undefined
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta": {
        const index = Wire.number(event.summary_index) ?? Wire.number(event.content_index) ?? 0
        delta(`${key}/${index}`, "reasoning", `reasoning-${key}/${index}`, value)
        return undefined
      }
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta": {
        const slot = open.get(`call:${key}`) ?? lastCall()
        if (slot === undefined || value === "") return undefined
        slot.text += value
        parts.push({ type: "tool-params-delta", id: slot.id, delta: value })
        return undefined
      }
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
      case "response.cancelled": {
        const status = String(event.type).slice("response.".length)
        return finish({ status, ...Wire.record(event.response) })
      }
      case "error":
        return Wire.failure(event)
      default:
        return undefined
    }
  }

  const lastCall = (): Open | undefined => {
    let last: Open | undefined
    for (const slot of open.values()) if (slot.type === "call") last = slot
    return last
  }

  return {
    event: (event) => {
      const known = Wire.record(event)
      if (known === undefined) return { parts: [] }
      return taken(known.type === undefined && known.error !== undefined ? Wire.failure(known) : step(known))
    },
    body: (body) => {
      const response = Wire.record(body)
      if (response === undefined) return { parts: [] }
      if (Array.isArray(response.output) || response.status === "failed") return taken(finish(response))
      return response.error === undefined || response.error === null
        ? { parts: [] }
        : { parts: [], failure: Wire.failure(response) }
    }
  }
}
