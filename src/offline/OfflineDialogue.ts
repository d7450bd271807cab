/**
 * A request as a conversation: what the user asked, what was called for it and what came back; from native tool
 * messages and from the text protocol (`ACTION`, `ACTION_INPUT`, `OBSERVATION`) alike.
 *
 * @internal
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import type { LlmRequest, Message, ToolDefinition } from "../llm/model/LlmClient.js"

/**
 * A call and its result.
 *
 * @since 0.1.0
 * @category models
 */
export interface Outcome {
  readonly name: string
  readonly params: { readonly [key: string]: unknown }
  readonly result: unknown
  readonly isFailure: boolean
}

/**
 * One request of the user with everything up to the next one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Exchange {
  readonly request: string
  readonly outcomes: ReadonlyArray<Outcome>
  readonly rounds: number
  readonly reply: string
}

/**
 * `protocol` is `text` where the system prompt describes the tools and the answer's markers.
 *
 * @since 0.1.0
 * @category models
 */
export interface Dialogue {
  readonly system: string
  readonly exchanges: ReadonlyArray<Exchange>
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
 * The text parts of a message, one a line.
 *
 * @since 0.1.0
 * @category getters
 */
export const textOf = (message: Message): string => {
  if (typeof message.content === "string") return message.content
  const texts: Array<string> = []
  for (const part of message.content) if (part.type === "text") texts.push(part.text)
  return texts.join("\n")
}

/** The first balanced JSON object of a text, from `start` on, at most 20,000 characters long. */
const jsonAt = (text: string, start: number): unknown => {
  const open = text.indexOf("{", start)
  if (open < 0) return undefined
  let depth = 0
  let quoted = false
  for (let i = open; i < Math.min(text.length, open + 20_000); i++) {
    const character = text.charAt(i)
    if (quoted) {
      if (character === "\\") i++
      else if (character === '"') quoted = false
    } else if (character === '"') quoted = true
    else if (character === "{") depth++
    else if (character === "}") {
      depth--
      if (depth === 0) return parse(text.slice(open, i + 1))
    }
  }
  return undefined
}

const described = (system: string): ReadonlyArray<ToolDefinition> => {
  const tools: Array<ToolDefinition> = []
  const lines = system.slice(0, 400_000).split("\n")
  lines.forEach((line, index) => {
    const match = /^\s{0,8}[-*]\s{1,3}[`*]{0,2}([\p{L}\p{N}_.:/-]{1,128}?)[`*]{0,2}\s?:\s(.*)$/u.exec(line)
    if (match === null || tools.length >= maxTools) return
    const rest = match[2]!
    const inline = /\bParameters\s?:\s?(?=\{)/i.exec(rest)
    const following = lines.slice(index + 1, index + 3).join("\n")
    const schema =
      inline !== null
        ? jsonAt(rest, inline.index)
        : /^\s*(?:Parameters\s?:|\{)/i.test(following)
          ? jsonAt(following, 0)
          : undefined
    if (Predicate.isReadonlyRecord(schema))
      tools.push({
        name: match[1]!,
        description: inline === null ? rest : rest.slice(0, inline.index).trim(),
        parameters: schema
      })
  })
  return tools
}

const speaksText = (system: string): boolean =>
  /\bACTION[_ ]INPUT\b/i.test(system) && /\bFINAL[_ ]ANSWER\b/i.test(system)

const actionOf = (
  text: string
): { readonly name: string; readonly params: { readonly [key: string]: unknown } } | undefined => {
  const action = /^[*\s]{0,4}ACTION\s?:[*\s]{0,4}`?([^\s`]{1,128})/im.exec(text)
  if (action === null) return undefined
  const input = jsonAt(text, action.index + action[0].length)
  return { name: action[1]!, params: Predicate.isReadonlyRecord(input) ? input : {} }
}

const observed = (text: string): { readonly result: unknown; readonly isFailure: boolean } => {
  const body = text.replace(/^\s*OBSERVATION[^:\n]{0,140}:\s?/i, "")
  return { result: parse(body) ?? body, isFailure: /^\s*(?:error|failed|failure)\b/i.test(body) }
}

interface Draft {
  request: string
  outcomes: Array<Outcome>
  rounds: number
  reply: string
}

/** Many tools return their JSON as text. */
const valueOf = (text: string): unknown => (/^\s*[[{]/.test(text) ? (parse(text) ?? text) : text)

/** Results that report an error in band: `{ "error": … }` alone or beside a negative verdict. */
const reportsError = (result: unknown): boolean =>
  Predicate.isReadonlyRecord(result) &&
  ((result["error"] !== undefined && result["error"] !== null && result["error"] !== false) ||
    result["success"] === false ||
    result["ok"] === false)

/**
 * @since 0.1.0
 * @category constructors
 */
export const read = (request: LlmRequest): Dialogue => {
  const messages = request.messages.length > maxMessages ? request.messages.slice(-maxMessages) : request.messages
  const system = request.messages.flatMap((message) => (message.role === "system" ? [message.content] : [])).join("\n")
  const native = request.tools !== undefined && request.tools.length > 0
  const spoken = !native && speaksText(system)
  const tools = native ? request.tools.slice(0, maxTools) : spoken ? described(system) : []
  const exchanges: Array<Draft> = []
  const waiting = new Map<string, { readonly name: string; readonly params: { readonly [key: string]: unknown } }>()
  let action: ReturnType<typeof actionOf>
  const current = (): Draft => {
    if (exchanges.length === 0) exchanges.push({ request: "", outcomes: [], rounds: 0, reply: "" })
    return exchanges[exchanges.length - 1]!
  }
  const settle = (id: string, name: string, told: unknown, isFailure: boolean) => {
    const result = typeof told === "string" && told.length <= maxJson ? valueOf(told) : told
    const call = waiting.get(id)
    current().outcomes.push({
      name: call?.name ?? name,
      params: call?.params ?? {},
      result,
      isFailure: isFailure || reportsError(result)
    })
  }
  for (const message of messages) {
    switch (message.role) {
      case "system":
        break
      case "user": {
        const text = textOf(message)
        if (spoken && action !== undefined && /^\s*OBSERVATION\b/i.test(text)) {
          const { isFailure, result } = observed(text)
          current().outcomes.push({ ...action, result, isFailure: isFailure || reportsError(result) })
          action = undefined
        } else exchanges.push({ request: text, outcomes: [], rounds: 0, reply: "" })
        break
      }
      case "assistant": {
        const text = textOf(message)
        if (text !== "") current().reply = text
        action = spoken ? actionOf(text) : undefined
        if (action !== undefined) current().rounds++
        if (typeof message.content === "string") break
        let calls = 0
        for (const part of message.content) {
          if (part.type === "tool-call") {
            const params = typeof part.params === "string" ? parse(part.params) : part.params
            waiting.set(part.id, { name: part.name, params: Predicate.isReadonlyRecord(params) ? params : {} })
            calls++
          } else if (part.type === "tool-result") settle(part.id, part.name, part.result, part.isFailure)
        }
        if (calls > 0) current().rounds++
        break
      }
      case "tool": {
        for (const part of message.content) settle(part.id, part.name, part.result, part.isFailure)
        break
      }
    }
  }
  return { system, exchanges, tools, protocol: spoken ? "text" : "native" }
}
