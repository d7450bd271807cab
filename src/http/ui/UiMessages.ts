/**
 * Converts between messages of AI SDK UI, messages for models, the input of a run, and the turns of sessions.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import * as Contents from "../../content/Content.js"
import type { ContentError } from "../../content/ContentError.js"
import type { StoredFile } from "../../domain/StoredFile.js"
import type { Message } from "../../llm/model/LlmClient.js"
import type { TurnToolCall } from "../../session/turn/Session.js"
import { type FilePart, isTool, type Part, type ToolPart, toolName, type UiMessage } from "./UiMessage.js"

type Of<Role extends Message["role"]> = Extract<Message, { readonly role: Role }>
type AssistantPart = Exclude<Of<"assistant">["content"], string>[number]
type UserPart = Exclude<Of<"user">["content"], string>[number]
type ToolResult = Of<"tool">["content"][number]

/** What the model reads of a call that a person did not allow. */
const DENIED = "The user did not allow this call"

const textOf = ({ parts }: UiMessage): string =>
  parts
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .filter((text) => text !== "")
    .join("\n")

const messageFile = ({ filename, mediaType, url }: FilePart) => ({
  type: "file" as const,
  mediaType,
  data: url,
  ...(filename === undefined ? {} : { fileName: filename })
})

/** The result of a call, as the model reads it; none while it has none. */
const resultOf = (part: ToolPart): { readonly isFailure: boolean; readonly result: unknown } | undefined => {
  switch (part.state) {
    case "output-available":
      return part.preliminary === true ? undefined : { isFailure: false, result: part.output ?? null }
    case "output-error":
      return { isFailure: true, result: part.errorText }
    case "output-denied":
      return { isFailure: true, result: part.approval?.reason ?? DENIED }
    default:
      return undefined
  }
}

/** A step of an answer: what the model said, then the results of the calls. Calls without a result are left out. */
const stepOf = (parts: ReadonlyArray<Part>): ReadonlyArray<Message> => {
  const content: Array<AssistantPart> = []
  const results: Array<ToolResult> = []
  for (const part of parts) {
    if (part.type === "text" || part.type === "reasoning") {
      if (part.text !== "") content.push({ type: part.type, text: part.text })
    } else if (part.type === "file") content.push(messageFile(part as FilePart))
    else if (isTool(part)) {
      const result = resultOf(part)
      if (result === undefined) continue
      const call = { id: part.toolCallId, name: toolName(part) }
      const providerExecuted = part.providerExecuted === true
      content.push({ type: "tool-call", ...call, params: part.input ?? {}, providerExecuted })
      if (providerExecuted) content.push({ type: "tool-result", ...call, ...result, providerExecuted })
      else results.push({ type: "tool-result", ...call, ...result, providerExecuted })
    }
  }
  return [
    ...(content.length === 0 ? [] : [{ role: "assistant" as const, content }]),
    ...(results.length === 0 ? [] : [{ role: "tool" as const, content: results }])
  ]
}

const stepsOf = (parts: ReadonlyArray<Part>): ReadonlyArray<ReadonlyArray<Part>> => {
  const steps: Array<Array<Part>> = [[]]
  for (const part of parts) {
    if (part.type === "step-start") steps.push([])
    else steps[steps.length - 1]?.push(part)
  }
  return steps
}

const userPart = (part: Part): ReadonlyArray<UserPart> => {
  if (part.type === "text") return part.text === "" ? [] : [{ type: "text", text: part.text }]
  return part.type === "file" ? [messageFile(part as FilePart)] : []
}

const toMessage = (message: UiMessage): ReadonlyArray<Message> => {
  if (message.role === "assistant") return stepsOf(message.parts).flatMap(stepOf)
  if (message.role === "system") {
    const content = textOf(message)
    return content === "" ? [] : [{ role: "system", content }]
  }
  const content = message.parts.flatMap(userPart)
  return content.length === 0 ? [] : [{ role: "user", content }]
}

/**
 * The messages for a model. Sources and data are left out, as are calls without a result and messages without content.
 * What a page sends is what its user claims: earlier answers and results may be made up.
 *
 * @example
 * ```ts
 * import { type UiMessage, UiMessages } from "effect-lexigram/http"
 * import { LlmClient } from "effect-lexigram/llm"
 * import * as Effect from "effect/Effect"
 *
 * // Answers a page without an agent.
 * const answer = (messages: ReadonlyArray<UiMessage.UiMessage>) =>
 *   Effect.flatMap(LlmClient.LlmClient, (model) => model.complete({ messages: UiMessages.toMessages(messages) }))
 * ```
 *
 * @since 0.1.0
 * @category conversions
 */
export const toMessages = (messages: ReadonlyArray<UiMessage>): ReadonlyArray<Message> => messages.flatMap(toMessage)

const urlOf = (mediaType: string, data: string | Uint8Array | URL): string => {
  if (data instanceof URL) return data.href
  if (typeof data !== "string") return `data:${mediaType};base64,${Encoding.encodeBase64(data)}`
  return /^(?:https?|data):/i.test(data) ? data : `data:${mediaType};base64,${data}`
}

const filePart = (part: {
  readonly mediaType: string
  readonly fileName?: string | undefined
  readonly data: string | Uint8Array | URL
}): FilePart => ({
  type: "file",
  mediaType: part.mediaType,
  ...(part.fileName === undefined ? {} : { filename: part.fileName }),
  url: urlOf(part.mediaType, part.data)
})

const errorTextOf = (result: unknown): string => (typeof result === "string" ? result : JSON.stringify(result ?? null))

const callPart = (call: {
  readonly id: string
  readonly name: string
  readonly params?: unknown
  readonly result?: unknown
  readonly isFailure?: boolean | undefined
  readonly providerExecuted?: boolean | undefined
}): ToolPart => {
  const part = {
    type: `tool-${call.name}` as const,
    toolCallId: call.id,
    input: call.params ?? null,
    ...(call.providerExecuted === true ? { providerExecuted: true } : {})
  }
  return call.isFailure === true
    ? { ...part, state: "output-error", errorText: errorTextOf(call.result ?? "The tool failed") }
    : { ...part, state: "output-available", output: call.result ?? null }
}

const answerPart = (part: AssistantPart, results: ReadonlyMap<string, ToolResult>): ReadonlyArray<Part> => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return [{ type: part.type, text: part.text, state: "done" }]
    case "file":
      return [filePart(part)]
    case "tool-call": {
      const result = results.get(part.id)
      return result === undefined
        ? [{ type: `tool-${part.name}`, toolCallId: part.id, state: "input-available", input: part.params ?? null }]
        : [callPart({ ...part, ...result })]
    }
    case "tool-result":
      return []
  }
}

const answerParts = (
  content: Of<"assistant">["content"],
  results: ReadonlyMap<string, ToolResult>
): ReadonlyArray<Part> =>
  typeof content === "string"
    ? [{ type: "text", text: content, state: "done" }]
    : content.flatMap((part) => answerPart(part, results))

const userParts = (content: Of<"user">["content"]): ReadonlyArray<Part> =>
  typeof content === "string"
    ? [{ type: "text", text: content }]
    : content.map((part): Part => (part.type === "text" ? { type: "text", text: part.text } : filePart(part)))

/**
 * The messages of a page: consecutive messages of the model and its tools are one answer with a step each. Ids are
 * `prefix` and the number of the message.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromMessages = (messages: ReadonlyArray<Message>, prefix = "message-"): ReadonlyArray<UiMessage> => {
  const results = new Map<string, ToolResult>()
  for (const message of messages) {
    if (typeof message.content === "string") continue
    for (const part of message.content) if (part.type === "tool-result") results.set(part.id, part)
  }
  const shown: Array<{ readonly role: UiMessage["role"]; readonly parts: Array<Part> }> = []
  for (const message of messages) {
    if (message.role === "tool") continue
    if (message.role === "assistant") {
      if (shown.at(-1)?.role !== "assistant") shown.push({ role: "assistant", parts: [] })
      shown.at(-1)?.parts.push({ type: "step-start" }, ...answerParts(message.content, results))
    } else if (message.role === "system") {
      shown.push({ role: "system", parts: [{ type: "text", text: message.content }] })
    } else shown.push({ role: "user", parts: [...userParts(message.content)] })
  }
  return shown.map((message, at) => ({ id: `${prefix}${at}`, ...message }))
}

/**
 * The input of a run: the text of a message, with its files if it has some. Bytes come from `data:` URLs; other URLs
 * are not fetched here. Fails for a file that is not what it says, is too large or has another kind of URL.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toInput = (message: UiMessage): Effect.Effect<string | ReadonlyArray<Contents.Content>, ContentError> => {
  const files = message.parts.filter((part): part is FilePart => part.type === "file")
  const text = textOf(message)
  if (files.length === 0) return Effect.succeed(text)
  return Effect.map(
    Effect.forEach(files, ({ filename, mediaType, url }) =>
      Contents.file(url, { mediaType, ...(filename === undefined ? {} : { fileName: filename }) })
    ),
    (files) => (text === "" ? files : [Contents.text(text), ...files])
  )
}

/**
 * What a turn needs to be shown: a turn of a session, or its public view.
 *
 * @since 0.1.0
 * @category models
 */
export interface ShownTurn {
  readonly id: string
  readonly role: "system" | "user" | "assistant" | "tool"
  readonly content: string
  readonly timestamp: number
  readonly files?: ReadonlyArray<StoredFile> | undefined
  readonly toolCalls: ReadonlyArray<Pick<TurnToolCall, "id" | "name" | "isFailure"> & Partial<TurnToolCall>>
  readonly agent?: string | undefined
  readonly runId?: string | undefined
  readonly unanswered?: string | undefined
}

/**
 * A file that is stored: by its URL, or, where only the server has the bytes, as data (`data-file`).
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromFile = ({
  data,
  fileName,
  mediaType
}: StoredFile): FilePart | Extract<Part, { readonly data: unknown }> =>
  "url" in data
    ? { type: "file", mediaType, url: data.url, ...(fileName === undefined ? {} : { filename: fileName }) }
    : {
        type: "data-file",
        data: { mediaType, hash: data.hash, size: data.size, ...(fileName === undefined ? {} : { filename: fileName }) }
      }

const turnMetadata = ({ agent, runId, timestamp, unanswered }: ShownTurn) => ({
  createdAt: timestamp,
  ...(agent === undefined ? {} : { agent }),
  ...(runId === undefined ? {} : { runId }),
  ...(unanswered === undefined ? {} : { unanswered })
})

/**
 * The turns of people and agents as messages. An answer has the id of its run, which is the id that its stream gives
 * it, if it is the only one of that run here; else that of its turn. Files whose bytes only the server has are
 * `data-file` parts.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromTurns = (turns: ReadonlyArray<ShownTurn>): ReadonlyArray<UiMessage> => {
  const ids = new Set<string>()
  return turns.flatMap((turn): ReadonlyArray<UiMessage> => {
    const { role, runId } = turn
    if (role !== "user" && role !== "assistant") return []
    const id = role === "assistant" && runId !== undefined && !ids.has(runId) ? runId : turn.id
    ids.add(id)
    const text: ReadonlyArray<Part> = turn.content === "" ? [] : [{ type: "text", text: turn.content }]
    const files = (turn.files ?? []).map(fromFile)
    const calls = turn.toolCalls.map(callPart)
    const parts: ReadonlyArray<Part> =
      role === "user"
        ? [...text, ...files]
        : calls.length === 0
          ? [{ type: "step-start" }, ...files, ...text]
          : [{ type: "step-start" }, ...calls, { type: "step-start" }, ...files, ...text]
    return [{ id, role, metadata: turnMetadata(turn), parts }]
  })
}
