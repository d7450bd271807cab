/**
 * Reads answers of the AI SDK as parts of this library. Everything comes from outside: what has another shape is
 * skipped.
 *
 * @private
 * @since 0.1.0
 */
import * as Encoding from "effect/Encoding"
import type * as Usage from "../../domain/Usage.js"
import type { FinishReason, LlmPart } from "../../llm/model/LlmClient.js"
import * as Wire from "../exchange/WireDecoder.js"

const finishReasons: ReadonlySet<string> = new Set(["stop", "length", "content-filter", "tool-calls", "error", "other"])

const finishReason = (value: unknown): FinishReason => {
  // The specification has no word for a turn of Anthropic that goes on with the next call.
  if (Wire.record(value)?.raw === "pause_turn") return "pause"
  const unified = Wire.string(Wire.record(value)?.unified) ?? "unknown"
  return finishReasons.has(unified) ? (unified as FinishReason) : "unknown"
}

/**
 * Token usage as this library counts it; what the provider did not report is absent.
 *
 * @category conversions
 */
export const usage = (value: unknown): Usage.Usage => {
  const input = Wire.record(Wire.record(value)?.inputTokens)
  const output = Wire.record(Wire.record(value)?.outputTokens)
  const inputTokens = Wire.number(input?.total)
  const outputTokens = Wire.number(output?.total)
  const reasoningTokens = Wire.number(output?.reasoning)
  const cachedInputTokens = Wire.number(input?.cacheRead)
  const cacheWriteTokens = Wire.number(input?.cacheWrite)
  return {
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...(inputTokens === undefined || outputTokens === undefined ? {} : { totalTokens: inputTokens + outputTokens }),
    ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
    ...(cachedInputTokens === undefined ? {} : { cachedInputTokens }),
    ...(cacheWriteTokens === undefined ? {} : { cacheWriteTokens })
  }
}

type Metadata = { readonly metadata?: any }

const metadataOf = (part: Wire.Json): Metadata => {
  const metadata = Wire.record(part.providerMetadata)
  return metadata === undefined ? {} : { metadata }
}

const executed = (part: Wire.Json): { readonly providerExecuted?: true } =>
  part.providerExecuted === true ? { providerExecuted: true } : {}

const toolCall = (part: Wire.Json): LlmPart | undefined => {
  const id = Wire.string(part.toolCallId)
  const name = Wire.string(part.toolName)
  if (id === undefined || name === undefined) return undefined
  const params = typeof part.input === "string" ? Wire.parameters(part.input) : (part.input ?? {})
  return { type: "tool-call", id, name, params, ...executed(part), ...metadataOf(part) }
}

/** Only tools of the provider have results in an answer. */
const toolResult = (part: Wire.Json): LlmPart | undefined => {
  const id = Wire.string(part.toolCallId)
  const name = Wire.string(part.toolName)
  if (id === undefined || name === undefined || part.preliminary === true) return undefined
  return {
    type: "tool-result",
    id,
    name,
    isFailure: part.isError === true,
    result: part.result,
    providerExecuted: true,
    ...metadataOf(part)
  }
}

/** Version 3 gives the data as it is, version 4 says what it is. A file by URL is read as a source. */
const file = (part: Wire.Json): LlmPart | undefined => {
  const mediaType = Wire.string(part.mediaType)
  if (mediaType === undefined) return undefined
  const told = Wire.record(part.data)
  const data = part.data instanceof Uint8Array || told === undefined ? part.data : told.data
  if (told?.type === "url" && !(part.data instanceof Uint8Array)) {
    const url = String(told.url)
    return { type: "source", sourceType: "url", id: url, url, title: mediaType, ...metadataOf(part) }
  }
  if (typeof data !== "string" && !(data instanceof Uint8Array)) return undefined
  return {
    type: "file",
    mediaType,
    data: typeof data === "string" ? data : Encoding.encodeBase64(data),
    ...metadataOf(part)
  }
}

const source = (part: Wire.Json): LlmPart | undefined => {
  const id = Wire.string(part.id)
  if (id === undefined) return undefined
  if (part.sourceType === "url") {
    const url = Wire.string(part.url)
    return url === undefined
      ? undefined
      : { type: "source", sourceType: "url", id, url, title: Wire.string(part.title) ?? url, ...metadataOf(part) }
  }
  const fileName = Wire.string(part.filename)
  return {
    type: "source",
    sourceType: "document",
    id,
    mediaType: Wire.string(part.mediaType) ?? "application/octet-stream",
    title: Wire.string(part.title) ?? "",
    ...(fileName === undefined ? {} : { fileName }),
    ...metadataOf(part)
  }
}

const metadataPart = (part: Wire.Json): LlmPart | undefined => Wire.metadataPart({ id: part.id, model: part.modelId })

const finish = (part: Wire.Json): LlmPart => ({
  type: "finish",
  reason: finishReason(part.finishReason),
  usage: usage(part.usage),
  ...metadataOf(part)
})

const streamed: ReadonlySet<string> = new Set([
  "text-start",
  "text-end",
  "reasoning-start",
  "reasoning-end",
  "text-delta",
  "reasoning-delta"
])

/**
 * A part of a stream; `undefined` for one that says nothing here. Errors are the caller's.
 *
 * @category conversions
 */
export const fromStream = (value: unknown): LlmPart | undefined => {
  const part = Wire.record(value)
  const type = Wire.string(part?.type)
  if (part === undefined || type === undefined) return undefined
  const id = Wire.string(part.id) ?? ""
  if (streamed.has(type)) {
    const delta = type.endsWith("-delta") ? { delta: Wire.string(part.delta) ?? "" } : {}
    return { type, id, ...delta, ...metadataOf(part) } as LlmPart
  }
  switch (type) {
    case "tool-input-start":
      return { type: "tool-params-start", id, name: Wire.string(part.toolName) ?? "", ...executed(part) }
    case "tool-input-delta":
      return { type: "tool-params-delta", id, delta: Wire.string(part.delta) ?? "" }
    case "tool-input-end":
      return { type: "tool-params-end", id }
    case "response-metadata":
      return metadataPart(part)
    case "finish":
      return finish(part)
    default:
      return wholePart(part, type)
  }
}

const wholePart = (part: Wire.Json, type: string): LlmPart | undefined => {
  switch (type) {
    case "tool-call":
      return toolCall(part)
    case "tool-result":
      return toolResult(part)
    case "file":
      return file(part)
    case "source":
      return source(part)
    default:
      return undefined
  }
}

/**
 * The parts of a whole answer, as its stream would have had them.
 *
 * @category conversions
 */
export const fromAnswer = (value: unknown): ReadonlyArray<LlmPart> => {
  const answer = Wire.record(value) ?? {}
  const parts: Array<LlmPart> = []
  const named = metadataPart(Wire.record(answer.response) ?? {})
  if (named !== undefined) parts.push(named)
  for (const [index, part] of Wire.records(answer.content).entries()) {
    const type = Wire.string(part.type) ?? ""
    const text = Wire.string(part.text)
    if ((type === "text" || type === "reasoning") && text !== undefined) {
      const id = String(index)
      parts.push(
        { type: `${type}-start`, id },
        { type: `${type}-delta`, id, delta: text },
        { type: `${type}-end`, id, ...metadataOf(part) }
      )
      continue
    }
    const made = wholePart(part, type)
    if (made !== undefined) parts.push(made)
  }
  if (answer.finishReason !== undefined) parts.push(finish(answer))
  return parts
}
