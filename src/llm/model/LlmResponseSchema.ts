/**
 * The schema of a complete answer, which caches, recordings and durable runs store and read back. Both sides are the
 * plain `LlmClient.LlmResponse`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Usage from "../../domain/Usage.js"
import type * as LlmClient from "./LlmClient.js"

const Data = Schema.Record({ key: Schema.String, value: Schema.Unknown })

/** Metadata of a piece of content: an object per provider. */
const metadata = Schema.optional(Schema.Record({ key: Schema.String, value: Schema.UndefinedOr(Data) }))

const Text = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String, metadata })

const Reasoning = Schema.Struct({ type: Schema.Literal("reasoning"), text: Schema.String, metadata })

const ToolCall = Schema.Struct({
  type: Schema.Literal("tool-call"),
  id: Schema.String,
  name: Schema.String,
  params: Schema.Unknown,
  providerName: Schema.optional(Schema.String),
  providerExecuted: Schema.optional(Schema.Boolean),
  metadata
})

const ToolResult = Schema.Struct({
  type: Schema.Literal("tool-result"),
  id: Schema.String,
  name: Schema.String,
  result: Schema.Unknown,
  isFailure: Schema.Boolean,
  providerName: Schema.optional(Schema.String),
  providerExecuted: Schema.optional(Schema.Boolean),
  metadata
})

const File = Schema.Struct({ type: Schema.Literal("file"), mediaType: Schema.String, data: Schema.String, metadata })

const DocumentSource = Schema.Struct({
  type: Schema.Literal("source"),
  sourceType: Schema.Literal("document"),
  id: Schema.String,
  mediaType: Schema.String,
  title: Schema.String,
  fileName: Schema.optionalWith(Schema.String, { exact: true }),
  metadata
})

const UrlSource = Schema.Struct({
  type: Schema.Literal("source"),
  sourceType: Schema.Literal("url"),
  id: Schema.String,
  url: Schema.String,
  title: Schema.String,
  metadata
})

const FinishReason = Schema.Literal(
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "pause",
  "other",
  "unknown"
)

const Struct = Schema.Struct({
  content: Schema.Array(Schema.Union(Text, Reasoning, ToolCall, ToolResult, File, DocumentSource, UrlSource)),
  finishReason: FinishReason,
  usage: Usage.Usage,
  id: Schema.optional(Schema.String),
  model: Schema.optional(Schema.String),
  provider: Schema.optional(Schema.String),
  metadata: Schema.optional(Data)
}).annotations({ identifier: "effect-lexigram/llm/LlmResponse" })

/**
 * @since 0.1.0
 * @category schemas
 */
export const LlmResponse: Schema.Schema<LlmClient.LlmResponse> = Struct

/**
 * The same as JSON text.
 *
 * @since 0.1.0
 * @category schemas
 */
export const LlmResponseJson: Schema.Schema<LlmClient.LlmResponse, string> = Schema.parseJson(LlmResponse)
