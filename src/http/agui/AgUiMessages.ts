/**
 * Converts messages of AG-UI to the input and the history of runs, and turns of sessions to messages.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Contents from "../../content/Content.js"
import type { Message } from "../../llm/model/LlmClient.js"
import { ApiError } from "../api/ApiError.js"
import type * as SessionModels from "../api/SessionModels.js"
import type { AgUiMessage, ContentPart, Of } from "./AgUiMessage.js"

type Parts = string | ReadonlyArray<ContentPart>
type FilePart = Exclude<ContentPart, { readonly type: "text" }>
type UserPart = Exclude<Extract<Message, { readonly role: "user" }>["content"], string>[number]
type AssistantPart = Exclude<Extract<Message, { readonly role: "assistant" }>["content"], string>[number]

/**
 * The text of a content, without its files.
 *
 * @category getters
 */
export const textOf = (content: Parts): string =>
  typeof content === "string"
    ? content
    : content.flatMap((part) => (part.type === "text" && part.text !== "" ? [part.text] : [])).join("\n")

/**
 * The results of calls with which messages end.
 *
 * @category getters
 */
export const resultsOf = (messages: ReadonlyArray<AgUiMessage>): ReadonlyArray<Of<"tool">> =>
  messages
    .slice(messages.findLastIndex(({ role }) => role !== "tool") + 1)
    .filter((message): message is Of<"tool"> => message.role === "tool")

const contentOf = ({ source }: FilePart): Effect.Effect<Contents.Resolved, ApiError> => {
  if (source.type === "file") {
    return new ApiError({
      reason: "invalid",
      message: "The message has a file that only its provider can read",
      hint: "Send the bytes of the file, or its address"
    })
  }
  const { mimeType: mediaType, value } = source
  return Effect.mapError(
    Contents.file(value, mediaType === undefined ? {} : { mediaType }),
    ({ code, hint, message }) => new ApiError({ reason: "invalid", error: code, message, hint })
  )
}

/**
 * The input of a run: the text of a message, with its files if it has some. URLs are not fetched here.
 *
 * @category conversions
 */
export const toInput = ({
  content
}: Of<"user">): Effect.Effect<string | ReadonlyArray<Contents.Resolved>, ApiError> => {
  const text = textOf(content)
  const files = typeof content === "string" ? [] : content.filter((part): part is FilePart => part.type !== "text")
  return files.length === 0
    ? Effect.succeed(text)
    : Effect.map(Effect.forEach(files, contentOf), (files) => (text === "" ? files : [Contents.text(text), ...files]))
}

const userPart = (part: ContentPart): ReadonlyArray<UserPart> => {
  if (part.type === "text") return [{ type: "text", text: part.text }]
  const { source, type } = part
  if (source.type === "file") return []
  const mediaType = source.mimeType ?? (type === "document" ? "application/octet-stream" : `${type}/*`)
  return [{ type: "file", mediaType, data: source.value }]
}

const paramsOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const answerOf = ({ content, toolCalls }: Of<"assistant">, hasResult: (id: string) => boolean) => {
  const parts: Array<AssistantPart> = content === undefined || content === "" ? [] : [{ type: "text", text: content }]
  for (const { function: called, id } of toolCalls ?? []) {
    if (!hasResult(id)) continue
    const params = paramsOf(called.arguments)
    parts.push({ type: "tool-call", id, name: called.name, params, providerExecuted: false })
  }
  return parts.length === 0 ? [] : [{ role: "assistant" as const, content: parts }]
}

/**
 * The messages for a model. Those of the system, reasoning and activities are left out, as are calls without a result
 * and results without a call. What a client sends is what its user claims.
 *
 * @category conversions
 */
export const toHistory = (messages: ReadonlyArray<AgUiMessage>): ReadonlyArray<Message> => {
  const results = new Set(messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : [])))
  const names = new Map<string, string>()
  return messages.flatMap((message): ReadonlyArray<Message> => {
    switch (message.role) {
      case "user": {
        if (typeof message.content === "string") return [{ role: "user", content: message.content }]
        const content = message.content.flatMap(userPart)
        return content.length === 0 ? [] : [{ role: "user", content }]
      }
      case "assistant":
        for (const { function: called, id } of message.toolCalls ?? []) names.set(id, called.name)
        return answerOf(message, (id) => results.has(id))
      case "tool": {
        const { content, error, toolCallId: id } = message
        const name = names.get(id)
        if (name === undefined) return []
        const result = { id, name, isFailure: error !== undefined, result: error ?? textOf(content) }
        return [{ role: "tool", content: [{ type: "tool-result", ...result, providerExecuted: false }] }]
      }
      default:
        return []
    }
  })
}

const fromTurn = ({ content, id, role, toolCalls }: SessionModels.Turn): ReadonlyArray<AgUiMessage> => {
  if (role === "user") return [{ id, role: "user", content }]
  const calls = toolCalls.map(({ id, name }) => ({
    id,
    type: "function" as const,
    function: { name, arguments: "{}" }
  }))
  return [
    ...(calls.length === 0 ? [] : [{ id: `${id}-calls`, role: "assistant" as const, toolCalls: calls }]),
    ...calls.map((call) => ({ id: `${id}-${call.id}`, role: "tool" as const, toolCallId: call.id, content: "" })),
    ...(content === "" ? [] : [{ id, role: "assistant" as const, content }])
  ]
}

/**
 * The turns of people and agents, in their public view: of calls only which there were.
 *
 * @category conversions
 */
export const fromTurns = (turns: ReadonlyArray<SessionModels.Turn>): ReadonlyArray<AgUiMessage> =>
  turns.flatMap(fromTurn)
