/**
 * Requests of OpenAI's Responses API, and the runs that they ask for.
 *
 * @private
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Runs from "../../agent/runs/Runs.js"
import * as Contents from "../../content/Content.js"
import { SessionId } from "../../domain/Ids.js"
import type { Message } from "../../llm/model/LlmClient.js"
import { ReasoningEffort } from "../../llm/model/ModelSettings.js"
import type { ApiError } from "../api/ApiError.js"
import * as CallerTools from "../chat/CallerTools.js"
import { maybe } from "../chat/CallerTools.js"
import * as AnswerForm from "./AnswerForm.js"
import { EXPIRE_AFTER, filePart, MOST_MESSAGES, MOST_PARTS, paramsOf, unreadable } from "./ChatRequest.js"
import type { CallResult } from "./ClientCalls.js"
import { refused } from "./OpenAiFailures.js"

const Part = Schema.Union(
  Schema.Struct({ type: Schema.Literal("input_text", "output_text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("input_image"), image_url: maybe(Schema.String) }),
  Schema.Struct({
    type: Schema.Literal("input_file"),
    file_data: maybe(Schema.String),
    file_url: maybe(Schema.String),
    filename: maybe(Schema.String)
  })
)
type Part = typeof Part.Type

const Content = Schema.Union(Schema.String, Schema.Array(Part).pipe(Schema.minItems(1), Schema.maxItems(MOST_PARTS)))

const Said = Schema.Struct({
  type: Schema.optional(Schema.Literal("message")),
  role: Schema.Literal("user", "assistant", "system", "developer"),
  content: Content
})
type Said = typeof Said.Type

/** The answer of a person to a call that waits: the API has it for tools of MCP. */
const Approval = Schema.Struct({
  type: Schema.Literal("mcp_approval_response"),
  approval_request_id: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256)),
  approve: Schema.Boolean,
  reason: maybe(Schema.String.pipe(Schema.maxLength(4096)))
})
/**
 * @category models
 */
export interface Approval extends Schema.Schema.Type<typeof Approval> {}

const Called = Schema.Struct({
  type: Schema.Literal("function_call"),
  call_id: Schema.String,
  name: Schema.String,
  arguments: Schema.String
})

const Result = Schema.Struct({
  type: Schema.Literal("function_call_output"),
  call_id: Schema.String,
  output: Schema.Union(
    Schema.String,
    Schema.Array(Schema.Struct({ type: Schema.Literal("input_text"), text: Schema.String })).pipe(
      Schema.maxItems(MOST_PARTS)
    )
  )
})
type Result = typeof Result.Type

const Item = Schema.Union(Approval, Called, Result, Said)
type Earlier = Exclude<typeof Item.Type, Approval>

/**
 * The id of a response is that of its run.
 *
 * @category constants
 */
export const ID = "resp_"

const ResponseId = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(300))

/**
 * The body of a request. Other members are ignored, `user` too: the caller is known by its credentials.
 *
 * @category schemas
 */
export const ResponseRequest = Schema.Struct({
  /** The name of an agent. */
  model: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256)),
  input: Schema.Union(Schema.String, Schema.Array(Item).pipe(Schema.minItems(1), Schema.maxItems(MOST_MESSAGES))),
  stream: maybe(Schema.Boolean),
  background: maybe(Schema.Boolean),
  store: maybe(Schema.Boolean),
  previous_response_id: maybe(ResponseId),
  conversation: maybe(Schema.Union(SessionId, Schema.Struct({ id: SessionId }))),
  instructions: maybe(Schema.String),
  tools: maybe(CallerTools.list(Schema.extend(Schema.Struct({ type: Schema.Literal("function") }), CallerTools.Given))),
  tool_choice: maybe(AnswerForm.ToolChoice),
  parallel_tool_calls: maybe(Schema.Boolean),
  text: maybe(
    Schema.Struct({
      format: maybe(
        Schema.Union(
          AnswerForm.Plain,
          Schema.extend(Schema.Struct({ type: Schema.Literal("json_schema") }), AnswerForm.Given)
        )
      )
    })
  ),
  temperature: maybe(Schema.Number.pipe(Schema.between(0, 2))),
  top_p: maybe(Schema.Number.pipe(Schema.between(0, 1))),
  max_output_tokens: maybe(Schema.Number.pipe(Schema.int(), Schema.positive())),
  reasoning: maybe(Schema.Struct({ effort: maybe(ReasoningEffort) }))
}).annotations({ identifier: "effect-lexigram/http/ResponseRequest" })
/**
 * @category models
 */
export interface ResponseRequest extends Schema.Schema.Type<typeof ResponseRequest> {}

/**
 * The session that a request names.
 *
 * @category accessors
 */
export const conversationOf = ({ conversation }: ResponseRequest): SessionId | undefined =>
  conversation === undefined || conversation === null
    ? undefined
    : typeof conversation === "string"
      ? conversation
      : conversation.id

/**
 * The decisions of persons that a request has in place of a message.
 *
 * @category accessors
 */
export const approvalsOf = ({ input }: ResponseRequest): ReadonlyArray<Approval> =>
  typeof input === "string" ? [] : input.filter((item): item is Approval => item.type === "mcp_approval_response")

const outputOf = ({ output }: Result): string =>
  typeof output === "string" ? output : output.map(({ text }) => text).join("\n")

/**
 * The results of calls with which a request ends.
 *
 * @category accessors
 */
export const resultsOf = ({ input }: ResponseRequest): ReadonlyArray<CallResult> => {
  if (typeof input === "string") return []
  const items = input.filter((item): item is Earlier => item.type !== "mcp_approval_response")
  return items
    .slice(items.findLastIndex(({ type }) => type !== "function_call_output") + 1)
    .flatMap((item) => (item.type === "function_call_output" ? [{ id: item.call_id, result: outputOf(item) }] : []))
}

/** What this server does not do is refused, so that nobody takes an answer for another one. */
const refusalOf = ({ instructions }: ResponseRequest): ApiError | undefined => {
  if (instructions !== undefined && instructions !== null && instructions !== "") {
    return refused(
      ["instructions"],
      "unsupported_parameter",
      "The instructions of an agent are those of the server",
      "Leave `instructions` out, or say it in `input`"
    )
  }
  return undefined
}

/**
 * The form of the answer; none for a text.
 *
 * @category accessors
 */
export const formOf = ({ text }: ResponseRequest): AnswerForm.Form => {
  const format = text?.format
  if (format?.type === "json_schema") return format
  return format?.type === "json_object" ? format.type : undefined
}

type Path = ReadonlyArray<string | number>

const noFile = (path: Path): ApiError =>
  refused(path, "unsupported_parameter", "This server keeps no files", "Send the file itself, or its URL")

const contentOf = (part: Part, path: Path): Effect.Effect<Contents.Resolved, ApiError> => {
  switch (part.type) {
    case "input_image":
      return part.image_url === undefined || part.image_url === null
        ? noFile(path)
        : Effect.mapError(Contents.image(part.image_url), unreadable(path))
    case "input_file": {
      const { file_data: data, file_url: url, filename } = part
      const named = filename === undefined || filename === null ? {} : { fileName: filename }
      const source = data ?? url
      return source === undefined || source === null
        ? noFile(path)
        : Effect.mapError(Contents.file(source, named), unreadable(path))
    }
    default:
      return Effect.succeed(Contents.text(part.text))
  }
}

const contentsOf = (
  { content }: Said,
  at: number
): Effect.Effect<string | ReadonlyArray<Contents.Resolved>, ApiError> =>
  typeof content === "string"
    ? Effect.succeed(content)
    : Effect.forEach(content, (part, index) => contentOf(part, ["input", at, "content", index]))

const textOf = (content: string | ReadonlyArray<Contents.Resolved>): string =>
  typeof content === "string" ? content : content.flatMap((part) => (part.type === "text" ? part.text : [])).join("\n")

/** Earlier messages for the model. Those of the system are of the caller: the prompt of the agent is the server's. */
const historyOf = Effect.fnUntraced(function* (items: ReadonlyArray<Earlier>) {
  const history: Array<Message> = []
  const names = new Map<string, string>()
  for (const [at, item] of items.entries()) {
    if (item.type === "function_call") {
      const { arguments: params, call_id: id, name } = item
      names.set(id, name)
      const call = { type: "tool-call" as const, id, name, params: paramsOf(params), providerExecuted: false }
      history.push({ role: "assistant", content: [call] })
    } else if (item.type === "function_call_output") {
      const id = item.call_id
      const name = names.get(id)
      if (name === undefined) {
        return yield* refused(["input", at, "call_id"], "invalid_request", "No earlier call has this id")
      }
      const result = { id, name, isFailure: false, result: outputOf(item), providerExecuted: false }
      history.push({ role: "tool", content: [{ type: "tool-result", ...result }] })
    } else {
      const content = yield* contentsOf(item, at)
      history.push(
        item.role === "assistant"
          ? { role: "assistant", content: textOf(content) }
          : { role: "user", content: typeof content === "string" ? content : content.map(filePart) }
      )
    }
  }
  return history
})

/**
 * The run that a request asks for: its last message is the input, those before it are the history.
 *
 * @category conversions
 */
export const toStart = (
  request: ResponseRequest,
  hasOutput: boolean,
  callsExpireAfter: Duration.DurationInput | undefined
): Effect.Effect<Runs.StartRequest, ApiError> =>
  Effect.gen(function* () {
    const refusal = refusalOf(request)
    if (refusal !== undefined) return yield* refusal
    const { input, max_output_tokens: maxTokens, model, reasoning, temperature, top_p: topP } = request
    const { parallel_tool_calls: parallelToolCalls } = request
    const settings = Object.fromEntries(
      Object.entries({ temperature, topP, maxTokens, reasoning: reasoning?.effort, parallelToolCalls }).filter(
        ([, value]) => value !== undefined && value !== null
      )
    )
    const start = {
      agent: model,
      settings,
      ...CallerTools.toClientTools(request.tools ?? [], callsExpireAfter ?? EXPIRE_AFTER),
      ...AnswerForm.toOutput(formOf(request), hasOutput),
      ...(yield* AnswerForm.toChoice(request.tool_choice))
    }
    if (typeof input === "string") return { ...start, input }
    const items = input.filter((item): item is Earlier => item.type !== "mcp_approval_response")
    const at = items.length - 1
    const last = items[at]
    if (last === undefined || !("role" in last) || last.role !== "user") {
      return yield* refused(["input"], "invalid_request", "The last item of the input is not a message of the user")
    }
    const asked = yield* contentsOf(last, at)
    return { ...start, input: asked, history: yield* historyOf(items.slice(0, -1)) }
  })

/**
 * A conversation has its earlier messages already.
 *
 * @category errors
 */
export const knownHistory: ApiError = refused(
  ["input"],
  "unsupported_parameter",
  "A conversation has its earlier messages already",
  "Send the new message alone, or `store: false` with all of them"
)
