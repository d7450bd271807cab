/**
 * Converts conversation messages to memory entries and back.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { EntryId, RunId, SessionId, TurnId } from "../../domain/Ids.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { Message } from "../../llm/model/LlmClient.js"
import * as MemoryEntry from "./MemoryEntry.js"
import * as ToolPairs from "./ToolPairs.js"

/** The key of a message's options that states which entry it is. Providers read only their own keys. */
const ORIGIN = "effect-lexigram"

/** The metadata key for a message, as JSON, that is more than its text. */
const MESSAGE = "message"
/** The metadata key of an entry that holds a further result of the preceding message. */
const CONTINUES = "continues"

const Data = Schema.Record({ key: Schema.String, value: Schema.Unknown })
const options = { options: Schema.optional(Data) }
const Bytes = Schema.Struct({ bytes: Schema.String })
const Link = Schema.Struct({ url: Schema.String })

const Text = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String, ...options })
const Reasoning = Schema.Struct({ type: Schema.Literal("reasoning"), text: Schema.String, ...options })
const File = Schema.Struct({
  type: Schema.Literal("file"),
  mediaType: Schema.String,
  fileName: Schema.optional(Schema.String),
  data: Schema.Union(Schema.String, Bytes, Link),
  ...options
})
const ToolCall = Schema.Struct({
  type: Schema.Literal("tool-call"),
  id: Schema.String,
  name: Schema.String,
  params: Schema.Unknown,
  providerExecuted: Schema.optional(Schema.Boolean),
  ...options
})
const ToolResult = Schema.Struct({
  type: Schema.Literal("tool-result"),
  id: Schema.String,
  name: Schema.String,
  isFailure: Schema.Boolean,
  result: Schema.Unknown,
  providerExecuted: Schema.Boolean,
  ...options
})

/** A message whose file data is in a form that JSON can hold. */
const Plain = Schema.Union(
  Schema.Struct({ role: Schema.Literal("system"), content: Schema.String, ...options }),
  Schema.Struct({
    role: Schema.Literal("user"),
    content: Schema.Union(Schema.String, Schema.Array(Schema.Union(Text, File))),
    ...options
  }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: Schema.Union(Schema.String, Schema.Array(Schema.Union(Text, File, Reasoning, ToolCall, ToolResult))),
    ...options
  }),
  Schema.Struct({ role: Schema.Literal("tool"), content: Schema.Array(ToolResult), ...options })
)
type Plain = typeof Plain.Type
const isPlain = Schema.is(Plain)

const plainPart = (part: unknown): unknown => {
  if (typeof part !== "object" || part === null || !("data" in part)) return part
  if (part.data instanceof URL) return { ...part, data: { url: part.data.href } }
  return part.data instanceof Uint8Array
    ? { ...part, data: { bytes: Buffer.from(part.data).toString("base64") } }
    : part
}

const linkOf = (url: string): URL | string => (URL.canParse(url) ? new URL(url) : url)

const messagePart = <A extends Exclude<Plain["content"], string>[number]>(part: A): unknown => {
  if (part.type !== "file" || typeof part.data === "string") return part
  return {
    ...part,
    data: "url" in part.data ? linkOf(part.data.url) : new Uint8Array(Buffer.from(part.data.bytes, "base64"))
  }
}

const json = (value: unknown): string | undefined =>
  Either.getOrUndefined(Either.try(() => (typeof value === "string" ? value : JSON.stringify(value))))

const toPlain = (message: Message): string | undefined =>
  json(typeof message.content === "string" ? message : { ...message, content: message.content.map(plainPart) })

const fromPlain = (text: unknown): Message | undefined => {
  if (typeof text !== "string") return undefined
  const read = Either.getOrUndefined(Either.try(() => JSON.parse(text) as unknown))
  if (!isPlain(read)) return undefined
  const message: unknown = typeof read.content === "string" ? read : { ...read, content: read.content.map(messagePart) }
  return message as Message
}

/**
 * The text of a message: calls as `name(parameters)`, results as they are, files by name.
 *
 * @category getters
 */
export const textOf = (message: Message): string => {
  if (typeof message.content === "string") return message.content
  const lines: Array<string> = []
  for (const part of message.content) {
    switch (part.type) {
      case "text":
        lines.push(part.text)
        break
      case "tool-call":
        lines.push(`${part.name}(${json(part.params) ?? ""})`)
        break
      case "tool-result":
        lines.push(json(part.result) ?? "")
        break
      case "file":
        lines.push(`[${part.fileName ?? part.mediaType}]`)
        break
      case "reasoning":
        break
    }
  }
  return lines.join("\n")
}

const Origin = Schema.Struct({
  id: EntryId,
  timestamp: Schema.Finite,
  expiresAt: Schema.optional(Schema.Finite),
  importance: Schema.optional(Schema.Number.pipe(Schema.between(0, 1))),
  metadata: Schema.optional(Data),
  runId: Schema.optional(RunId),
  sessionId: Schema.optional(SessionId),
  turnId: Schema.optional(TurnId)
})
/**
 * The entry that a message is.
 *
 * @category models
 */
export type Origin = typeof Origin.Type
const isOrigin = Schema.is(Origin)

/** Origins of messages that were read from entries and returned in their original form. */
const origins = new WeakMap<Message, Origin>()

/**
 * The entry that a message states it is, or `undefined`.
 *
 * @category getters
 */
export const saidOrigin = (message: Message): Origin | undefined => {
  const origin: unknown = (message.options as Record<string, unknown> | undefined)?.[ORIGIN]
  return isOrigin(origin) ? origin : undefined
}

/**
 * The entry that a message states it is or was read from.
 *
 * @category getters
 */
export const originOf = (message: Message): Origin | undefined => saidOrigin(message) ?? origins.get(message)

const own = (entry: MemoryEntry.MemoryEntry, key: string): unknown =>
  Object.hasOwn(entry.metadata, key) ? entry.metadata[key] : undefined

/** Calls that are not answered by the provider itself. */
const callsOf = (message: Message): ReadonlyArray<string> =>
  message.role !== "assistant" || typeof message.content === "string"
    ? []
    : message.content.flatMap((part) => (part.type === "tool-call" && part.providerExecuted !== true ? [part.id] : []))

const withoutOrigin = (message: Message): Message => {
  if (saidOrigin(message) === undefined) return message
  const { options, ...fields } = message
  const { [ORIGIN]: _, ...others } = options as Record<string, unknown>
  return (Object.keys(others).length === 0 ? fields : { ...fields, options: others }) as Message
}

/**
 * Returns the entries of a message: one, or one for each tool result, so that each can be matched with its call. Their
 * metadata has what `ToolPairs` needs, and the whole message where it is more than its text.
 *
 * @category conversions
 */
export const toEntries = (
  given: Message,
  fields: Origin & { readonly ownerId: string }
): ReadonlyArray<MemoryEntry.MemoryEntry> => {
  const message = withoutOrigin(given)
  const parts: ReadonlyArray<Message> =
    message.role === "tool" && message.content.length > 1
      ? message.content.map((part) => ({ ...message, content: [part] }))
      : [message]
  const stem = fields.id.length <= 240 ? fields.id : CanonicalJson.hash(fields.id)
  return parts.map((part, index) => {
    const calls = callsOf(part)
    const isText = typeof part.content === "string" && part.options === undefined
    const held = isText ? undefined : toPlain(part)
    return {
      ...fields,
      importance: fields.importance ?? 0.5,
      ...(index === 0 ? {} : { id: EntryId.make(`${stem}#${String(index).padStart(6, "0")}`) }),
      role: part.role,
      content: textOf(part).slice(0, isText ? undefined : MemoryEntry.maxContent),
      metadata: {
        type: "turn",
        ...fields.metadata,
        ...(calls.length === 0 ? {} : { [ToolPairs.TOOL_CALL_IDS]: calls }),
        ...(part.role === "tool" && part.content[0] !== undefined
          ? { [ToolPairs.TOOL_CALL_ID]: part.content[0].id }
          : {}),
        ...(held === undefined ? {} : { [MESSAGE]: held }),
        ...(index === 0 ? {} : { [CONTINUES]: true })
      }
    }
  })
}

/** The text of a tool without its call id. Providers do not accept it as a result. */
const plainMessage = ({ content, role }: MemoryEntry.MemoryEntry): Message =>
  role === "tool" ? { role: "assistant", content } : { role, content }

const origin = (entry: MemoryEntry.MemoryEntry): Origin => {
  const { expiresAt, id, importance, runId, sessionId, timestamp, turnId } = entry
  const { [MESSAGE]: _, ...metadata } = entry.metadata
  return {
    id,
    timestamp,
    importance,
    metadata,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(runId === undefined ? {} : { runId }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(turnId === undefined ? {} : { turnId })
  }
}

const heldBy = (entry: MemoryEntry.MemoryEntry): Message => {
  const held = fromPlain(own(entry, MESSAGE))
  return held?.role === entry.role ? withoutOrigin(held) : plainMessage(entry)
}

/**
 * The message of an entry. It states that it is this entry.
 *
 * @category conversions
 */
export const toMessage = (entry: MemoryEntry.MemoryEntry): Message => {
  const message = heldBy(entry)
  return { ...message, options: { ...message.options, [ORIGIN]: origin(entry) } } as Message
}

/**
 * The messages of entries in their order, in their original form.
 *
 * @category conversions
 */
export const toMessages = (entries: ReadonlyArray<MemoryEntry.MemoryEntry>): ReadonlyArray<Message> => {
  const messages: Array<Message> = []
  const first: Array<MemoryEntry.MemoryEntry> = []
  for (const entry of entries) {
    const message = heldBy(entry)
    const last = messages.at(-1)
    if (own(entry, CONTINUES) === true && last?.role === "tool" && message.role === "tool") {
      messages[messages.length - 1] = { ...last, content: [...last.content, ...message.content] }
    } else {
      messages.push(message)
      first.push(entry)
    }
  }
  for (const [index, entry] of first.entries()) origins.set(messages[index] as Message, origin(entry))
  return messages
}
