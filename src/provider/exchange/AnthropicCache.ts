/**
 * Marks what Anthropic is to cache of a request: its tools, its system prompt, and the conversation so far.
 *
 * @private
 * @since 0.1.0
 */
import type { LlmRequest } from "../../llm/model/LlmClient.js"
import type { PromptCache } from "../../llm/model/ModelSettings.js"
import type { Json } from "./WireDecoder.js"
import * as Wire from "./WireDecoder.js"

type Mark = { readonly type: "ephemeral"; readonly ttl?: "1h" }

/** Five minutes is Anthropic's default, an hour the longest that it keeps. */
export const markOf = (cache: PromptCache | undefined): Mark | undefined =>
  cache === false
    ? undefined
    : cache?.ttl === undefined || cache.ttl === "5m"
      ? { type: "ephemeral" }
      : { type: "ephemeral", ttl: "1h" }

/**
 * Whether another call is likely to repeat these messages: the model may call a tool, or the conversation has begun to
 * go on. A mark costs a quarter of the input that it writes.
 */
export const isContinued = ({ messages, toolChoice, tools }: LlmRequest): boolean =>
  ((tools?.length ?? 0) > 0 && toolChoice !== "none") || messages.some(({ role }) => role === "assistant")

/** Anthropic rejects marks on these blocks. */
const unmarkable = new Set(["thinking", "redacted_thinking"])

const hasMark = (blocks: ReadonlyArray<Json>): boolean =>
  blocks.some((block) => block.cache_control !== undefined && block.cache_control !== null)

const withLast = (blocks: ReadonlyArray<Json>, mark: Mark): ReadonlyArray<Json> => {
  const last = blocks.at(-1)
  return last === undefined || unmarkable.has(Wire.string(last.type) ?? "") || last.text === ""
    ? blocks
    : [...blocks.slice(0, -1), { ...last, cache_control: mark }]
}

const contentOf = (message: Json): ReadonlyArray<Json> => Wire.records(message.content)

/** The body with marks. A request that has marks of its own is left as it is. */
export const mark = (body: Json, request: LlmRequest): Json => {
  const found = markOf(request.settings?.promptCache)
  if (found === undefined || request.settings?.providerOptions?.cache_control !== undefined) return body
  const system = Wire.records(body.system)
  const tools = Wire.records(body.tools)
  const messages = Wire.records(body.messages)
  if (hasMark(system) || hasMark(tools) || messages.some((message) => hasMark(contentOf(message)))) return body
  const last = messages.at(-1)
  return {
    ...body,
    ...(system.length === 0 ? {} : { system: withLast(system, found) }),
    ...(tools.length === 0 ? {} : { tools: withLast(tools, found) }),
    ...(last === undefined || !isContinued(request)
      ? {}
      : { messages: [...messages.slice(0, -1), { ...last, content: withLast(contentOf(last), found) }] })
  }
}
