/**
 * Messages of model calls as span attributes, in the format of OpenTelemetry's semantic conventions for generative AI.
 *
 * @private
 * @since 0.1.0
 */
import type * as Prompt from "@effect/ai/Prompt"
import type * as Response from "@effect/ai/Response"
import { content, type Redactor } from "./Telemetry.js"

/** Characters of a whole conversation. A longer one keeps its newest messages. */
const maxLength = 65_536

type Part = { readonly type: string; readonly [key: string]: unknown }

interface Message {
  readonly role: string
  readonly parts: ReadonlyArray<Part>
}

/** The fields of a part of a prompt or an answer that are recorded; file data never is. */
interface Source {
  readonly type: string
  readonly text?: unknown
  readonly id?: unknown
  readonly name?: unknown
  readonly params?: unknown
  readonly result?: unknown
  readonly mediaType?: unknown
  readonly url?: unknown
}

const json = (value: unknown): string => {
  try {
    return (typeof value === "string" ? value : JSON.stringify(value)) ?? "null"
  } catch {
    return "null"
  }
}

const part = (redactor: Redactor, source: Source): Part => {
  const shown = (value: unknown) => content(redactor, json(value))
  switch (source.type) {
    case "text":
    case "reasoning":
      return { type: source.type, content: shown(source.text) }
    case "tool-call":
      return { type: "tool_call", id: source.id, name: source.name, arguments: shown(source.params) }
    case "tool-result":
      return { type: "tool_call_response", id: source.id, response: shown(source.result) }
    case "file":
      return { type: "file", mime_type: source.mediaType }
    case "source":
      return { type: "source", ...(source.url === undefined ? {} : { uri: shown(String(source.url)) }) }
    default:
      return { type: source.type }
  }
}

const message = (redactor: Redactor, { content: given, role }: Prompt.MessageEncoded): Message => ({
  role,
  parts:
    typeof given === "string"
      ? [{ type: "text", content: content(redactor, given) }]
      : given.map((source) => part(redactor, source as Source))
})

/**
 * The messages of a request, with bounded work for any length: the oldest messages that do not fit are omitted and
 * counted.
 */
export const input = (redactor: Redactor, messages: ReadonlyArray<Prompt.MessageEncoded>): string => {
  const shown: Array<string> = []
  let length = 0
  let i = messages.length
  while (i > 0) {
    const text = JSON.stringify(message(redactor, messages[i - 1] as Prompt.MessageEncoded))
    length += text.length
    if (length > maxLength && shown.length > 0) break
    shown.push(text)
    i--
  }
  if (i > 0) shown.push(JSON.stringify({ role: "system", parts: [{ type: "omitted", messages: i }] }))
  return `[${shown.reverse().join(",")}]`
}

/** The names of finish reasons in the conventions. */
const finishReasons: { readonly [reason: string]: string } = {
  "content-filter": "content_filter",
  "tool-calls": "tool_call"
}

/** The messages of an answer. */
export const output = (
  redactor: Redactor,
  answer: { readonly content: ReadonlyArray<object>; readonly finishReason: Response.FinishReason }
): string => {
  const parts = answer.content.map((source) => part(redactor, source as Source))
  const finish_reason = finishReasons[answer.finishReason] ?? answer.finishReason
  return JSON.stringify([{ role: "assistant", parts, finish_reason }])
}
