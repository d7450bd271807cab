/**
 * Converts the parts of `@effect/ai` models to the plain parts of the model port.
 *
 * @private
 * @since 0.1.0
 */
import type * as Response from "@effect/ai/Response"
import * as DateTime from "effect/DateTime"
import * as Encoding from "effect/Encoding"
import * as Option from "effect/Option"
import type { LlmPart, LlmRequest } from "../../llm/model/LlmClient.js"
import * as Wire from "./WireDecoder.js"

const plainMetadata = (metadata: unknown): { readonly metadata?: any } => {
  const given = Wire.record(metadata)
  if (given === undefined || Object.keys(given).length === 0) return {}
  const plain = Option.getOrUndefined(Option.liftThrowable(() => Wire.record(JSON.parse(JSON.stringify(given))))())
  return plain === undefined || Object.keys(plain).length === 0 ? {} : { metadata: plain }
}

const optional = (value: unknown): unknown => (Option.isOption(value) ? Option.getOrUndefined(value) : value)

const plainUsage = (usage: unknown) => {
  const given = Wire.record(usage) ?? {}
  const plain: Record<string, number> = {}
  for (const key of ["inputTokens", "outputTokens", "totalTokens", "reasoningTokens", "cachedInputTokens"]) {
    const value = Wire.number(given[key])
    if (value !== undefined) plain[key] = value
  }
  // The packages add up counts that the provider did not report.
  if (plain.inputTokens === undefined && plain.outputTokens === undefined && plain.totalTokens === 0) return {}
  return plain
}

/** A part as plain data, whether the model returned it decoded or encoded; `undefined` if it is not a part. */
export const toPlainPart = (part: Response.AnyPart | Response.AnyPartEncoded): LlmPart | undefined => {
  const metadata = plainMetadata(part.metadata)
  switch (part.type) {
    case "text-start":
    case "text-end":
    case "reasoning-start":
    case "reasoning-end":
    case "tool-params-end":
      return { type: part.type, id: part.id, ...metadata }
    case "text-delta":
    case "reasoning-delta":
    case "tool-params-delta":
      return { type: part.type, id: part.id, delta: part.delta, ...metadata }
    case "tool-params-start":
      return { type: part.type, id: part.id, name: part.name, ...executed(part), ...metadata }
    case "tool-call":
      return { type: part.type, id: part.id, name: part.name, params: part.params, ...executed(part), ...metadata }
    case "tool-result": {
      const result = "encodedResult" in part ? part.encodedResult : part.result
      const { id, isFailure, name, type } = part
      return { type, id, name, isFailure, result: result ?? null, ...executed(part), ...metadata }
    }
    case "file": {
      const data = typeof part.data === "string" ? part.data : Encoding.encodeBase64(part.data)
      return { type: part.type, mediaType: part.mediaType, data, ...metadata }
    }
    case "source": {
      const { id, title, type } = part
      if (part.sourceType === "url") return { type, sourceType: "url", id, url: String(part.url), title, ...metadata }
      const { fileName, mediaType } = part
      const named = fileName === undefined ? {} : { fileName }
      return { type, sourceType: "document", id, mediaType, title, ...named, ...metadata }
    }
    case "response-metadata": {
      const id = Wire.string(optional(part.id))
      const modelId = Wire.string(optional(part.modelId))
      const timestamp = optional(part.timestamp)
      return {
        type: part.type,
        ...(id === undefined ? {} : { id }),
        ...(modelId === undefined ? {} : { modelId }),
        ...(timestamp === undefined
          ? {}
          : { timestamp: DateTime.isDateTime(timestamp) ? DateTime.formatIso(timestamp) : String(timestamp) }),
        ...metadata
      }
    }
    case "finish":
      return { type: part.type, reason: part.reason, usage: plainUsage(part.usage), ...metadata }
    default:
      return undefined
  }
}

const executed = (part: {
  readonly providerExecuted?: boolean | undefined
  readonly providerName?: string | undefined
}) => ({
  ...(part.providerExecuted === true ? { providerExecuted: true } : {}),
  ...(part.providerName === undefined ? {} : { providerName: part.providerName })
})

/** The packages rename a tool that has the name of one of the provider's own. */
export const withOwnName = (part: LlmPart, request: LlmRequest): LlmPart =>
  (part.type === "tool-call" || part.type === "tool-params-start") &&
  part.providerExecuted !== true &&
  part.providerName !== undefined &&
  request.tools?.some((tool) => tool.name === part.providerName) === true
    ? { ...part, name: part.providerName }
    : part

/** The pieces of a complete answer as stream parts, for the assembler. */
export const toStreamParts = (
  content: ReadonlyArray<Response.AnyPart | Response.AnyPartEncoded>,
  request: LlmRequest
): ReadonlyArray<LlmPart> => {
  const parts: Array<LlmPart> = []
  content.forEach((part, index) => {
    const id = String(index)
    if (part.type === "text" || part.type === "reasoning") {
      parts.push({ type: `${part.type}-start`, id } as LlmPart)
      if (part.text !== "") parts.push({ type: `${part.type}-delta`, id, delta: part.text } as LlmPart)
      parts.push({ type: `${part.type}-end`, id, ...plainMetadata(part.metadata) } as LlmPart)
    } else {
      const plain = toPlainPart(part)
      if (plain !== undefined) parts.push(withOwnName(plain, request))
    }
  })
  return parts
}
