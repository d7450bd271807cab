/**
 * Decodes what servers ask a model, and encodes what the model answers.
 *
 * @private
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import type * as McpClient from "../skill/mcp/McpClient.js"
import * as McpWire from "./McpWire.js"

type Fields = McpWire.Fields
type Message = McpClient.SampleRequest["messages"][number]

export interface Options {
  readonly maxTokens: number
  /** Whether servers may give tools. */
  readonly tools: boolean
}

const MOST_TOOLS = 128

/** What every provider takes. */
const NAME = /^[\w-]{1,64}$/
const LONGEST_ID = 256

const idOf = (u: unknown): string | undefined =>
  typeof u === "string" && u !== "" && u.length <= LONGEST_ID ? u : undefined

const tool = ({ description, inputSchema, name }: Fields) =>
  typeof name === "string" && NAME.test(name) && Predicate.isReadonlyRecord(inputSchema)
    ? McpWire.defined({ name, description: McpWire.text(description), inputSchema })
    : undefined

/** The tools; `undefined` if one of them is none, or two have one name. */
const toolsOf = (given: unknown): McpClient.SampleRequest["tools"] => {
  const tools = McpWire.entries(given, tool)
  if (!Array.isArray(given) || tools?.length !== given.length || tools.length > MOST_TOOLS) return undefined
  return new Set(tools.map(({ name }) => name)).size === tools.length ? tools : undefined
}

const block = (fields: Fields, role: Message["role"], tools: boolean): McpClient.SampleBlock | undefined => {
  const { input, name, toolUseId, type } = fields
  switch (type) {
    case "text":
    case "image":
    case "audio":
      return McpWire.content(fields)
    case "tool_use": {
      const id = idOf(fields["id"])
      const isCall = tools && role === "assistant" && typeof name === "string" && NAME.test(name)
      return isCall && id !== undefined && Predicate.isReadonlyRecord(input) ? { type, id, name, input } : undefined
    }
    case "tool_result": {
      const id = idOf(toolUseId)
      if (!tools || role !== "user" || id === undefined) return undefined
      const content = McpWire.entries(fields["content"], McpWire.content) ?? []
      return { type, id, content, isError: fields["isError"] === true }
    }
  }
  return undefined
}

const message = ({ content: given, role }: Fields, tools: boolean): Message | undefined => {
  if (role !== "user" && role !== "assistant") return undefined
  const blocks: ReadonlyArray<unknown> = Array.isArray(given) ? given : [given]
  const content = McpWire.entries(blocks, (fields) => block(fields, role, tools)) ?? []
  return content.length === blocks.length ? { role, content } : undefined
}

const idsOf = ({ content }: Message, type: "tool_use" | "tool_result"): ReadonlyArray<string> =>
  content.flatMap((block) => (block.type === type ? [(block as { readonly id: string }).id] : []))

/** Whether the results of calls are alone in the message after them, one for each: providers refuse all else. */
const isPaired = (messages: ReadonlyArray<Message>): boolean => {
  let open: ReadonlyArray<string> = []
  for (const message of messages) {
    const results = idsOf(message, "tool_result")
    if (results.length > 0 && results.length !== message.content.length) return false
    if (open.toSorted().join("\n") !== results.toSorted().join("\n")) return false
    open = idsOf(message, "tool_use")
    if (new Set(open).size !== open.length) return false
  }
  return open.length === 0
}

const choiceOf = (given: unknown): McpClient.SampleRequest["toolChoice"] => {
  const mode = Predicate.isReadonlyRecord(given) ? given["mode"] : undefined
  return mode === "required" || mode === "none" ? mode : "auto"
}

/** `undefined` for what the model is not asked: tools that are none or not allowed, and other content. */
export const request = (params: Fields, { maxTokens, tools }: Options): McpClient.SampleRequest | undefined => {
  const { messages: given, tools: offered } = params
  const allowed = offered === undefined ? undefined : tools ? toolsOf(offered) : undefined
  if ((offered !== undefined && allowed === undefined) || !Array.isArray(given)) return undefined
  const messages = McpWire.entries(given, (fields) => message(fields, tools)) ?? []
  if (messages.length !== given.length || !isPaired(messages)) return undefined
  const asked = McpWire.amount(params["maxTokens"]) ?? maxTokens
  const temperature = McpWire.amount(params["temperature"])
  return McpWire.defined({
    system: McpWire.text(params["systemPrompt"]),
    messages,
    maxTokens: Math.max(1, Math.min(asked, maxTokens)),
    temperature: temperature === undefined ? undefined : Math.max(0, Math.min(temperature, 2)),
    tools: allowed,
    toolChoice: allowed === undefined ? undefined : choiceOf(params["toolChoice"])
  })
}

/** The answer: a list of blocks only where the server gave tools. */
export const result = ({ calls = [], model, stopReason, text }: McpClient.Sampled, hasTools: boolean) => {
  const said = { type: "text" as const, text }
  const used = calls.map((call) => ({ type: "tool_use" as const, ...call }))
  const content = text === "" && used.length > 0 ? used : [said, ...used]
  return { role: "assistant" as const, content: hasTools ? content : said, model, stopReason }
}
