/**
 * Reads a request as a dialogue: the user's requests, the calls made for them, their results, and the values in
 * these, from which later calls take arguments.
 *
 * @private
 * @since 0.1.0
 */
import type { LlmRequest, Message } from "../llm/model/LlmClient.js"
import * as Schema from "./OfflineSchema.js"
import * as Text from "./OfflineText.js"
import type { Parameter } from "./OfflineTools.js"

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
  readonly reply: string
}

/**
 * @category models
 */
export interface Dialogue {
  readonly system: string
  readonly past: ReadonlyArray<Exchange>
  readonly now: Exchange
}

const maxMessages = 400
const maxJson = 200_000

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Text parts of a message, one per line. */
const textOf = ({ content }: Message): string =>
  typeof content === "string"
    ? content
    : content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")

/** Many tools return their JSON as text. */
const dataOf = (result: unknown): unknown =>
  typeof result === "string" && result.length <= maxJson && /^\s*[[{]/.test(result) ? (parse(result) ?? result) : result

const begin = (request: string) => ({ request, outcomes: [] as Outcome[], reply: "" })

type Draft = ReturnType<typeof begin>

/** Calls in `waiting` have no result yet. */
const readParts = ({ outcomes }: Draft, { content }: Message, waiting: Map<string, Call>): void => {
  for (const part of typeof content === "string" ? [] : content) {
    if (part.type === "tool-call") {
      const params = typeof part.params === "string" ? parse(part.params) : part.params
      waiting.set(part.id, { name: part.name, params: Schema.isRecord(params) ? params : {} })
    } else if (part.type === "tool-result") {
      const call = waiting.get(part.id) ?? { name: part.name, params: {} }
      outcomes.push({ ...call, result: dataOf(part.result), isFailure: part.isFailure })
    }
  }
}

/**
 * @category constructors
 */
export const read = ({ messages }: LlmRequest): Dialogue => {
  const exchanges: Array<Draft> = []
  const waiting = new Map<string, Call>()
  const system = messages.flatMap((message) => (message.role === "system" ? [message.content] : [])).join("\n")
  for (const message of messages.slice(-maxMessages)) {
    if (message.role === "system") continue
    const text = textOf(message)
    if (message.role === "user" || exchanges.length === 0) exchanges.push(begin(message.role === "user" ? text : ""))
    const current = exchanges.at(-1)!
    readParts(current, message, waiting)
    if (message.role === "assistant" && text !== "") current.reply = text
  }
  return { system, past: exchanges.slice(0, -1), now: exchanges.at(-1) ?? begin("") }
}

/** Leaves of a result with their keys, in order. */
const leaves = (value: unknown, key = ""): ReadonlyArray<readonly [key: string, value: unknown]> =>
  Array.isArray(value)
    ? value.slice(0, 100).flatMap((item) => leaves(item, key))
    : Schema.isRecord(value)
      ? Object.entries(value).flatMap(([name, inner]) => leaves(inner, name))
      : [[key, value]]

/**
 * Finds a value for a parameter in earlier calls, latest first: a field of a result, or an argument with the same name.
 * The list is empty or has this value.
 *
 * @category getters
 */
export const find = ({ key, name, shape }: Parameter, outcomes: ReadonlyArray<Outcome>): ReadonlyArray<unknown> => {
  const fits = (field: string): boolean => Text.words(field).map(Text.stem).join() === key.join()
  for (const { params, result } of outcomes.filter(({ isFailure }) => !isFailure).toReversed()) {
    const passed = Object.entries(params).filter(([field]) => field === name)
    const found = [...leaves(result).filter(([field]) => fits(field)), ...passed].find(([, value]) =>
      Schema.conforms(shape, value)
    )
    if (found !== undefined) return [found[1]]
  }
  return []
}
