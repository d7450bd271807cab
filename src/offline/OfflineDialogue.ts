/**
 * Reads a request as a dialogue: the user's questions, the calls made for them and their results. Supports native tool
 * messages and the text protocol (`ACTION`, `ACTION_INPUT`, `OBSERVATION`).
 *
 * @private
 * @since 0.1.0
 */
import type { LlmRequest, Message, ToolDefinition } from "../llm/model/LlmClient.js"
import { isRecord } from "./OfflineSchema.js"

/**
 * @category models
 */
export interface Call {
  readonly name: string
  readonly params: { readonly [key: string]: unknown }
}

/**
 * A call and its result.
 *
 * @category models
 */
export interface Outcome extends Call {
  readonly result: unknown
  readonly isFailure: boolean
}

/**
 * One request of the user and everything up to the next one.
 *
 * @category models
 */
export interface Exchange {
  readonly request: string
  readonly outcomes: ReadonlyArray<Outcome>
  /** Number of model calls with tool calls. */
  readonly rounds: number
  readonly reply: string
}

/**
 * `protocol` is `text` if the system prompt describes the tools and the answer markers.
 *
 * @category models
 */
export interface Dialogue {
  readonly system: string
  readonly past: ReadonlyArray<Exchange>
  readonly now: Exchange
  readonly tools: ReadonlyArray<ToolDefinition>
  readonly protocol: "native" | "text"
}

const maxTools = 512
const maxMessages = 400
const maxJson = 200_000

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Text parts of a message, one per line.
 *
 * @category getters
 */
export const textOf = ({ content }: Message): string =>
  typeof content === "string"
    ? content
    : content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")

/** The JSON object from the first brace after `start` to the end of its line. */
const jsonAt = (text: string, start: number): unknown => {
  const open = text.indexOf("{", start)
  const line = text.indexOf("\n", open)
  return open < 0 ? undefined : parse(text.slice(open, line < 0 ? Math.min(text.length, open + 20_000) : line).trim())
}

/** Tools listed by the text protocol: `- name: description`, then `Parameters: {…}`. */
const described = (system: string): ReadonlyArray<ToolDefinition> => {
  const lines = system.slice(0, 400_000).split("\n")
  return lines
    .flatMap((line, index): ReadonlyArray<ToolDefinition> => {
      const match = /^\s{0,8}[-*]\s{1,3}[`*]{0,2}([\p{L}\p{N}_.:/-]{1,128}?)[`*]{0,2}\s?:\s(.*)$/u.exec(line)
      if (match === null) return []
      const [, name = "", rest = ""] = match
      const inline = /\bParameters\s?:\s?(?=\{)/i.exec(rest)
      const next = lines[index + 1] ?? ""
      const schema =
        inline !== null
          ? jsonAt(rest, inline.index)
          : /^\s*(?:Parameters\s?:|\{)/i.test(next)
            ? jsonAt(next, 0)
            : undefined
      const description = inline === null ? rest : rest.slice(0, inline.index).trim()
      return isRecord(schema) ? [{ name, description, parameters: schema }] : []
    })
    .slice(0, maxTools)
}

const actionOf = (text: string): Call | undefined => {
  const action = /^[*\s]{0,4}ACTION\s?:[*\s]{0,4}`?([^\s`]{1,128})/im.exec(text)
  if (action === null) return undefined
  const input = jsonAt(text, action.index + action[0].length)
  return { name: action[1]!, params: isRecord(input) ? input : {} }
}

/** Some tools report an error as their result. */
const reportsError = (result: unknown): boolean =>
  isRecord(result) && (Boolean(result["error"]) || result["success"] === false || result["ok"] === false)

/** Many tools return their JSON as text. */
const outcome = (call: Call, told: unknown, isFailure: boolean): Outcome => {
  const isJson = typeof told === "string" && told.length <= maxJson && /^\s*[[{]/.test(told)
  const result = isJson ? (parse(told) ?? told) : told
  return { ...call, result, isFailure: isFailure || reportsError(result) }
}

interface Draft extends Exchange {
  outcomes: Array<Outcome>
  rounds: number
  reply: string
}

const draft = (request: string): Draft => ({ request, outcomes: [], rounds: 0, reply: "" })

/** Calls without a result. */
type Waiting = Map<string, Call>

const readNative = (current: Draft, message: Exclude<Message, { role: "system" }>, waiting: Waiting): void => {
  if (typeof message.content === "string") return
  let calls = 0
  for (const part of message.content) {
    if (part.type === "tool-call") {
      const params = typeof part.params === "string" ? parse(part.params) : part.params
      waiting.set(part.id, { name: part.name, params: isRecord(params) ? params : {} })
      calls++
    } else if (part.type === "tool-result") {
      const call = waiting.get(part.id) ?? { name: part.name, params: {} }
      current.outcomes.push(outcome(call, part.result, part.isFailure))
    }
  }
  if (calls > 0) current.rounds++
}

/**
 * @category constructors
 */
export const read = (request: LlmRequest): Dialogue => {
  const system = request.messages.flatMap((message) => (message.role === "system" ? [message.content] : [])).join("\n")
  const native = request.tools !== undefined && request.tools.length > 0
  const isText = !native && /\bACTION[_ ]INPUT\b/i.test(system) && /\bFINAL[_ ]ANSWER\b/i.test(system)
  const exchanges: Array<Draft> = []
  const waiting: Waiting = new Map()
  let action: Call | undefined
  for (const message of request.messages.slice(-maxMessages)) {
    if (message.role === "system") continue
    const text = textOf(message)
    if (message.role === "user" && !(action !== undefined && /^\s*OBSERVATION\b/i.test(text))) {
      exchanges.push(draft(text))
      continue
    }
    if (exchanges.length === 0) exchanges.push(draft(""))
    const current = exchanges.at(-1)!
    if (message.role === "user") {
      const body = text.replace(/^\s*OBSERVATION[^:\n]{0,140}:\s?/i, "")
      current.outcomes.push(outcome(action!, body, /^\s*(?:error|failed|failure)\b/i.test(body)))
      action = undefined
      continue
    }
    readNative(current, message, waiting)
    if (message.role !== "assistant") continue
    if (text !== "") current.reply = text
    action = isText ? actionOf(text) : undefined
    if (action !== undefined) current.rounds++
  }
  return {
    system,
    past: exchanges.slice(0, -1),
    now: exchanges.at(-1) ?? draft(""),
    tools: native ? request.tools.slice(0, maxTools) : isText ? described(system) : [],
    protocol: isText ? "text" : "native"
  }
}
