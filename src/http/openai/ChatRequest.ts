/**
 * Requests of chat completions, and the runs that they ask for.
 *
 * @private
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import * as Schema from "effect/Schema"
import type * as Runs from "../../agent/runs/Runs.js"
import * as Contents from "../../content/Content.js"
import type { ContentError } from "../../content/ContentError.js"
import { SessionId } from "../../domain/Ids.js"
import type { Message } from "../../llm/model/LlmClient.js"
import { type ModelSettings, ReasoningEffort } from "../../llm/model/ModelSettings.js"
import type { ApiError } from "../api/ApiError.js"
import * as CallerTools from "../chat/CallerTools.js"
import { maybe } from "../chat/CallerTools.js"
import * as AnswerForm from "./AnswerForm.js"
import type { CallResult } from "./ClientCalls.js"
import { refused } from "./OpenAiFailures.js"

/** The most messages of a request. */
export const MOST_MESSAGES = 10_000
/** How long a call of the caller's waits for its result, unless the server says so. */
export const EXPIRE_AFTER = "15 minutes"
/** The most parts of a message. */
export const MOST_PARTS = 64

const Text = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })
const Part = Schema.Union(
  Text,
  Schema.Struct({ type: Schema.Literal("image_url"), image_url: Schema.Struct({ url: Schema.String }) }),
  Schema.Struct({
    type: Schema.Literal("input_audio"),
    input_audio: Schema.Struct({ data: Schema.String, format: Schema.Literal("wav", "mp3") })
  }),
  Schema.Struct({
    type: Schema.Literal("file"),
    file: Schema.Struct({ file_data: maybe(Schema.String), filename: maybe(Schema.String) })
  })
)
type Part = typeof Part.Type

const Texts = Schema.Union(Schema.String, Schema.Array(Text).pipe(Schema.maxItems(MOST_PARTS)))

const Call = Schema.Struct({
  id: Schema.String,
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
})

const ChatMessage = Schema.Union(
  Schema.Struct({ role: Schema.Literal("system", "developer"), content: Texts }),
  Schema.Struct({
    role: Schema.Literal("user"),
    content: Schema.Union(Schema.String, Schema.Array(Part).pipe(Schema.minItems(1), Schema.maxItems(MOST_PARTS)))
  }),
  Schema.Struct({ role: Schema.Literal("assistant"), content: maybe(Texts), tool_calls: maybe(Schema.Array(Call)) }),
  Schema.Struct({ role: Schema.Literal("tool"), tool_call_id: Schema.String, content: Texts })
)
type ChatMessage = typeof ChatMessage.Type

/**
 * The body of a request. Other members are ignored, `user` too: the caller is known by its credentials.
 *
 * @category schemas
 */
export const ChatRequest = Schema.Struct({
  /** The name of an agent. */
  model: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256)),
  messages: Schema.Array(ChatMessage).pipe(Schema.minItems(1), Schema.maxItems(MOST_MESSAGES)),
  stream: maybe(Schema.Boolean),
  stream_options: maybe(Schema.Struct({ include_usage: maybe(Schema.Boolean) })),
  n: maybe(Schema.Number),
  tools: maybe(CallerTools.list(Schema.Struct({ type: Schema.Literal("function"), function: CallerTools.Given }))),
  tool_choice: maybe(AnswerForm.ToolChoice),
  parallel_tool_calls: maybe(Schema.Boolean),
  functions: maybe(Schema.Array(Schema.Unknown)),
  response_format: maybe(
    Schema.Union(
      AnswerForm.Plain,
      Schema.Struct({ type: Schema.Literal("json_schema"), json_schema: AnswerForm.Given })
    )
  ),
  metadata: maybe(Schema.Struct({ session_id: maybe(SessionId) })),
  temperature: maybe(Schema.Number.pipe(Schema.between(0, 2))),
  top_p: maybe(Schema.Number.pipe(Schema.between(0, 1))),
  max_tokens: maybe(Schema.Number.pipe(Schema.int(), Schema.positive())),
  max_completion_tokens: maybe(Schema.Number.pipe(Schema.int(), Schema.positive())),
  stop: maybe(Schema.Union(Schema.String, Schema.Array(Schema.String).pipe(Schema.maxItems(4)))),
  seed: maybe(Schema.Number.pipe(Schema.int())),
  presence_penalty: maybe(Schema.Number.pipe(Schema.between(-2, 2))),
  frequency_penalty: maybe(Schema.Number.pipe(Schema.between(-2, 2))),
  reasoning_effort: maybe(ReasoningEffort)
}).annotations({ identifier: "effect-lexigram/http/ChatRequest" })
/**
 * @category models
 */
export interface ChatRequest extends Schema.Schema.Type<typeof ChatRequest> {}

const settingsOf = (request: ChatRequest): ModelSettings => {
  const { stop } = request
  const settings = {
    temperature: request.temperature,
    topP: request.top_p,
    maxTokens: request.max_completion_tokens ?? request.max_tokens,
    stop: typeof stop === "string" ? [stop] : stop,
    seed: request.seed,
    presencePenalty: request.presence_penalty,
    frequencyPenalty: request.frequency_penalty,
    reasoning: request.reasoning_effort,
    parallelToolCalls: request.parallel_tool_calls
  }
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined && value !== null))
}

const textOf = (content: typeof Texts.Type): string =>
  typeof content === "string" ? content : content.map(({ text }) => text).join("\n")

type Path = ReadonlyArray<string | number>

/** A part of a request that is no valid content. */
export const unreadable = (path: Path) => (error: ContentError) => refused(path, error.code, error.message, error.hint)

const contentOf = (part: Part, path: Path): Effect.Effect<Contents.Resolved, ApiError> => {
  switch (part.type) {
    case "text":
      return Effect.succeed(Contents.text(part.text))
    case "image_url":
      return Effect.mapError(Contents.image(part.image_url.url), unreadable(path))
    case "input_audio": {
      const { data, format } = part.input_audio
      const mediaType = format === "wav" ? "audio/wav" : "audio/mpeg"
      return Effect.mapError(Contents.audio(data, { mediaType }), unreadable(path))
    }
    case "file": {
      const { file_data: data, filename } = part.file
      if (data === undefined || data === null) {
        return refused(path, "unsupported_parameter", "This server keeps no files", "Send the file as file_data")
      }
      return Effect.mapError(
        Contents.file(data, filename === undefined || filename === null ? {} : { fileName: filename }),
        unreadable(path)
      )
    }
  }
}

const contentsOf = (content: string | ReadonlyArray<Part>, path: Path) =>
  typeof content === "string"
    ? Effect.succeed(content)
    : Effect.forEach(content, (part, at) => contentOf(part, [...path, "content", at]))

/**
 * The arguments of a call; a text that is no JSON as it is.
 *
 * @category conversions
 */
export const paramsOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A content as a part of a message. */
export const filePart = (content: Contents.Resolved) =>
  content.type === "text"
    ? { type: "text" as const, text: content.text }
    : {
        type: "file" as const,
        mediaType: content.mediaType,
        data: content.data instanceof URL ? content.data.href : Encoding.encodeBase64(content.data),
        ...(content.fileName === undefined ? {} : { fileName: content.fileName })
      }

type Assistant = Extract<ChatMessage, { readonly role: "assistant" }>

const answerOf = ({ content, tool_calls: calls }: Assistant): ReadonlyArray<Message> => {
  const text = textOf(content ?? "")
  const parts = [
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...(calls ?? []).map(({ function: { arguments: params, name }, id }) => ({
      type: "tool-call" as const,
      id,
      name,
      params: paramsOf(params),
      providerExecuted: false
    }))
  ]
  return parts.length === 0 ? [] : [{ role: "assistant", content: parts }]
}

/** Earlier messages for the model. Those of the system are of the caller: the prompt of the agent is the server's. */
const historyOf = Effect.fnUntraced(function* (messages: ReadonlyArray<ChatMessage>) {
  const history: Array<Message> = []
  const names = new Map<string, string>()
  for (const [at, message] of messages.entries()) {
    if (message.role === "user") {
      const content = yield* contentsOf(message.content, ["messages", at])
      history.push({ role: "user", content: typeof content === "string" ? content : content.map(filePart) })
    } else if (message.role === "assistant") {
      for (const { function: called, id } of message.tool_calls ?? []) names.set(id, called.name)
      history.push(...answerOf(message))
    } else if (message.role === "tool") {
      const id = message.tool_call_id
      const name = names.get(id)
      if (name === undefined) {
        return yield* refused(["messages", at, "tool_call_id"], "invalid_request", "No earlier call has this id")
      }
      const result = { id, name, isFailure: false, result: textOf(message.content), providerExecuted: false }
      history.push({ role: "tool", content: [{ type: "tool-result", ...result }] })
    } else history.push({ role: "user", content: textOf(message.content) })
  }
  return history
})

/** What this server does not do is refused, so that nobody takes an answer for another one. */
const refusalOf = ({ functions, n }: ChatRequest): ApiError | undefined => {
  if (n !== undefined && n !== null && n !== 1) {
    return refused(["n"], "unsupported_value", "An agent gives one answer", "Leave `n` out")
  }
  if ((functions?.length ?? 0) > 0) {
    return refused(["functions"], "unsupported_parameter", "Functions are given as tools", "Give them as `tools`")
  }
  return undefined
}

/**
 * The form of the answer; none for a text.
 *
 * @category conversions
 */
export const formOf = ({ response_format: format }: ChatRequest): AnswerForm.Form => {
  if (format?.type === "json_schema") return format.json_schema
  return format?.type === "json_object" ? format.type : undefined
}

/**
 * The results of the calls that the last answer asked for, if the request ends with them.
 *
 * @category conversions
 */
export const resultsOf = ({ messages }: ChatRequest): ReadonlyArray<CallResult> => {
  const first = messages.findLastIndex(({ role }) => role !== "tool") + 1
  return messages
    .slice(first)
    .flatMap((message) =>
      message.role === "tool" ? [{ id: message.tool_call_id, result: textOf(message.content) }] : []
    )
}

/**
 * The run that a request asks for: its last message is the input; those before it are the history, which a session
 * already has.
 *
 * @category conversions
 */
export const toStart = (
  request: ChatRequest,
  hasOutput: boolean,
  callsExpireAfter: Duration.DurationInput | undefined
): Effect.Effect<Runs.StartRequest, ApiError> =>
  Effect.gen(function* () {
    const refusal = refusalOf(request)
    if (refusal !== undefined) return yield* refusal
    const { messages, metadata, model } = request
    const at = messages.length - 1
    const last = messages[at]
    if (last?.role !== "user") {
      return yield* refused(["messages", at, "role"], "invalid_request", "The last message is not one of the user")
    }
    const input = yield* contentsOf(last.content, ["messages", at])
    const settings = settingsOf(request)
    const sessionId = metadata?.session_id ?? undefined
    const functions = (request.tools ?? []).map(({ function: given }) => given)
    const start = {
      agent: model,
      input,
      settings,
      ...CallerTools.toClientTools(functions, callsExpireAfter ?? EXPIRE_AFTER),
      ...AnswerForm.toOutput(formOf(request), hasOutput),
      ...(yield* AnswerForm.toChoice(request.tool_choice))
    }
    return sessionId === undefined
      ? { ...start, history: yield* historyOf(messages.slice(0, -1)) }
      : { ...start, sessionId }
  })
