/**
 * Encodes a request as the body of a chat-completions call.
 *
 * @private
 * @since 0.1.0
 */
import type * as Prompt from "@effect/ai/Prompt"
import * as Encoding from "effect/Encoding"
import * as ToolFiles from "../../content/ToolFiles.js"
import type {
  JsonSchema,
  LlmRequest,
  Message,
  ResponseFormat,
  ToolChoice,
  ToolDefinition
} from "../../llm/model/LlmClient.js"
import type { ModelSettings } from "../../llm/model/ModelSettings.js"
import type { Dialect } from "./ChatCompletionsDialect.js"
import * as ChatCompletionsReasoning from "./ChatCompletionsReasoning.js"
import * as OpenAiModels from "./OpenAiModels.js"

type Body = Record<string, unknown>

const jsonText = (value: unknown): string => JSON.stringify(value) ?? "null"
const resultText = (result: unknown): string => (typeof result === "string" ? result : jsonText(result))

/** Servers parse the arguments of old calls and fail on text that is not JSON: such text is wrapped. */
const callArguments = (params: unknown): string => {
  if (typeof params !== "string") return jsonText(params ?? {})
  try {
    const parsed: unknown = JSON.parse(params)
    if (typeof parsed === "object" && parsed !== null) return params
  } catch {
    // not JSON, wrapped below
  }
  return jsonText({ invalid_json: params })
}

const dataUrl = (mediaType: string, data: string | Uint8Array | URL): string => {
  if (data instanceof URL) return data.href
  if (typeof data === "string" && /^(?:https?:\/\/|data:)/i.test(data)) return data
  const base64 = typeof data === "string" ? data : Encoding.encodeBase64(data)
  return `data:${mediaType.endsWith("/*") ? mediaType.replace("*", "jpeg") : mediaType};base64,${base64}`
}

const audioFormats: { readonly [mediaType: string]: string } = {
  "audio/wav": "wav",
  "audio/x-wav": "wav",
  "audio/wave": "wav",
  "audio/mp3": "mp3",
  "audio/mpeg": "mp3"
}

const filePart = (part: Prompt.FilePartEncoded): Body => {
  const mediaType = part.mediaType.toLowerCase()
  const url = dataUrl(mediaType, part.data)
  if (mediaType.startsWith("image/")) return { type: "image_url", image_url: { url } }
  if (Object.hasOwn(audioFormats, mediaType) && url.startsWith("data:")) {
    return {
      type: "input_audio",
      input_audio: { data: url.slice(url.indexOf(",") + 1), format: audioFormats[mediaType] }
    }
  }
  return {
    type: "file",
    file: { filename: part.fileName ?? `file.${mediaType.split("/")[1] ?? "bin"}`, file_data: url }
  }
}

/** A single text is sent as a string: several servers accept nothing else. */
const userContent = (content: string | ReadonlyArray<Prompt.UserMessagePartEncoded>): unknown => {
  if (typeof content === "string") return content
  if (content.every((part) => part.type === "text")) return content.map((part) => part.text).join("\n")
  return content.map((part) => (part.type === "text" ? { type: "text", text: part.text } : filePart(part)))
}

type IsStrict = (schema: JsonSchema) => boolean

interface Context {
  readonly dialect: Dialect
  readonly provider: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Context {
  readonly model: string
  /** The settings of the call, defaults included. */
  readonly settings: ModelSettings
  readonly stream: boolean
  readonly reasoning?: ChatCompletionsReasoning.Asked | undefined
  /** Which schemas are sent as strict. Default: none. */
  readonly isStrict?: IsStrict | undefined
  /** Puts the schema of JSON output into the system message, for servers that take no schema. */
  readonly instruct?:
    | ((
        messages: ReadonlyArray<Body>,
        format: Extract<ResponseFormat, { readonly type: "json" }>,
        systemRole: string
      ) => ReadonlyArray<Body>)
    | undefined
}

const assistant = (
  message: Prompt.AssistantMessageEncoded,
  inToolTurn: boolean,
  context: Context
): Body | undefined => {
  const { dialect, provider } = context
  const parts: ReadonlyArray<Prompt.AssistantMessagePartEncoded> =
    typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content
  let text = ""
  const calls: Array<Body> = []
  const reasoning: Array<Prompt.ReasoningPartEncoded> = []
  for (const part of parts) {
    if (part.type === "text") text += part.text
    else if (part.type === "reasoning") reasoning.push(part)
    else if (part.type === "tool-call" && part.providerExecuted !== true) {
      const extra = ChatCompletionsReasoning.extraContent(part.options, provider)
      calls.push({
        id: part.id,
        type: "function",
        function: {
          name: part.name,
          arguments: callArguments(part.params)
        },
        ...(extra === undefined ? {} : { extra_content: extra })
      })
    }
  }
  const wanted = dialect.reasoningBack === "always" || (dialect.reasoningBack === "tool-turns" && inToolTurn)
  const back = wanted ? ChatCompletionsReasoning.toFields(reasoning, provider) : {}
  if (text === "" && calls.length === 0 && Object.keys(back).length === 0) return undefined
  const required = inToolTurn ? dialect.requiredReasoningField : undefined
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    ...(required === undefined ? {} : { [required]: "" }),
    ...back,
    ...(calls.length === 0 ? {} : { tool_calls: calls })
  }
}

const callsTools = (message: Message): boolean =>
  message.role === "assistant" &&
  typeof message.content !== "string" &&
  message.content.some((part) => part.type === "tool-call" && part.providerExecuted !== true)

/** For each message, whether a tool was called between the user messages around it. */
const toolTurns = (messages: ReadonlyArray<Message>): ReadonlyArray<boolean> => {
  const result: Array<boolean> = new Array(messages.length).fill(false)
  let start = 0
  for (let end = 0; end <= messages.length; end++) {
    if (end < messages.length && messages[end]!.role !== "user") continue
    if (messages.slice(start, end).some(callsTools)) result.fill(true, start, end)
    start = end + 1
  }
  return result
}

const encodeMessages = (messages: ReadonlyArray<Message>, context: Context): Array<Body> => {
  const result: Array<Body> = []
  const inToolTurn = toolTurns(messages)
  let files: Array<Prompt.UserMessagePartEncoded> = []
  const show = () => {
    if (files.length > 0) result.push({ role: "user", content: userContent(files) })
    files = []
  }
  messages.forEach((message, index) => {
    if (message.role !== "tool") show()
    switch (message.role) {
      case "system": {
        result.push({ role: context.dialect.systemRole, content: message.content })
        break
      }
      case "user": {
        result.push({ role: "user", content: userContent(message.content) })
        break
      }
      case "assistant": {
        const encoded = assistant(message, inToolTurn[index] === true, context)
        if (encoded !== undefined) result.push(encoded)
        break
      }
      case "tool": {
        for (const part of message.content) {
          result.push({ role: "tool", tool_call_id: part.id, content: resultText(part.result) })
        }
        files.push(...ToolFiles.shown(message.content))
        break
      }
    }
  })
  show()
  return result
}

const toolParameters = (parameters: JsonSchema): JsonSchema =>
  parameters.type === undefined && Object.keys(parameters).length === 0
    ? { type: "object", properties: {} }
    : parameters

const encodeTool = (tool: ToolDefinition, isStrict: IsStrict | undefined): Body => ({
  type: "function",
  function: {
    name: tool.name,
    description: tool.description,
    parameters: toolParameters(tool.parameters),
    ...(isStrict?.(tool.parameters) === true ? { strict: true } : {})
  }
})

type Tools = ReadonlyArray<ToolDefinition>

/** A list of tools as it is sent. */
interface Offered {
  readonly from: Tools
  readonly body: ReadonlyArray<Body>
}

const offers = { strict: new WeakMap<Tools, Offered>(), loose: new WeakMap<Tools, Offered>() }

/** The JSON of lists of tools, made when a list is first sent. */
const toolTexts = new WeakMap<object, { text: string | undefined }>()

/** Encodes a list of tools once: the calls of a run offer the same list. */
const encodeOffered = (tools: Tools, isStrict: IsStrict | undefined): ReadonlyArray<Body> => {
  const known = isStrict === undefined ? offers.loose : offers.strict
  const last = known.get(tools)
  // The caller may have added to its list.
  if (last?.from.length === tools.length && last.from.every((tool, index) => tool === tools[index])) return last.body
  const body = tools.map((tool) => encodeTool(tool, isStrict))
  known.set(tools, { from: [...tools], body })
  toolTexts.set(body, { text: undefined })
  return body
}

const encodeTools = (
  tools: ReadonlyArray<ToolDefinition>,
  choice: ToolChoice | undefined,
  { dialect, isStrict, settings }: Options
): Body => {
  if (tools.length === 0) return {}
  const named = typeof choice === "object" ? choice.tool : undefined
  const narrowed = named !== undefined && !dialect.namedToolChoice
  const offered = narrowed ? tools.filter((tool) => tool.name === named) : tools
  const word = narrowed ? "required" : choice
  const toolChoice =
    named !== undefined && !narrowed
      ? { type: "function", function: { name: named } }
      : word === "required"
        ? (dialect.requiredToolChoice ?? word)
        : word
  return {
    tools: encodeOffered(offered, isStrict),
    ...(toolChoice === undefined ? {} : { tool_choice: toolChoice }),
    ...(settings.parallelToolCalls === undefined ? {} : { parallel_tool_calls: settings.parallelToolCalls })
  }
}

const encodeFormat = (
  format: Extract<ResponseFormat, { readonly type: "json" }>,
  { dialect, isStrict }: Options
): Body => {
  switch (dialect.jsonMode) {
    case "json_schema":
      return {
        response_format: {
          type: "json_schema",
          json_schema: {
            name: format.name,
            ...(format.description === undefined ? {} : { description: format.description }),
            schema: format.schema,
            ...(isStrict?.(format.schema) === true ? { strict: true } : {})
          }
        }
      }
    case "json_object":
      return { response_format: { type: "json_object" } }
    case "none":
      return {}
  }
}

const encodeSettings = (settings: ModelSettings, dialect: Dialect): Body => ({
  ...(settings.temperature === undefined ? {} : { temperature: settings.temperature }),
  ...(settings.topP === undefined ? {} : { top_p: settings.topP }),
  ...(settings.maxTokens === undefined ? {} : { [dialect.maxTokensField]: settings.maxTokens }),
  ...(settings.stop === undefined || settings.stop.length === 0 ? {} : { stop: settings.stop }),
  ...(settings.seed === undefined ? {} : { [dialect.seedField ?? "seed"]: settings.seed }),
  ...(settings.presencePenalty === undefined ? {} : { presence_penalty: settings.presencePenalty }),
  ...(settings.frequencyPenalty === undefined ? {} : { frequency_penalty: settings.frequencyPenalty }),
  ...(dialect.promptCache === true ? OpenAiModels.cacheFields(settings) : {})
})

const withoutRejected = (body: Body, { rejects = [] }: Dialect): Body => {
  for (const field of rejects) delete body[field]
  return body
}

/**
 * The body as plain JSON. Omits what the API has no place for: files and sources of assistant messages, calls and
 * results of tools that a provider ran itself, reasoning of other providers, and assistant messages that are empty
 * without these. Files of tool results follow in a message of the user. The result of a failed tool is sent as it is.
 * Arguments that were not JSON are sent as `{ "invalid_json": text }`.
 *
 * @since 0.1.0
 * @category encoding
 */
export const encode = (request: LlmRequest, options: Options): { readonly [key: string]: unknown } => {
  const { dialect, settings } = options
  const format = request.responseFormat?.type === "json" ? request.responseFormat : undefined
  const messages = encodeMessages(request.messages, options)
  return {
    model: options.model,
    messages: format === undefined ? messages : (options.instruct?.(messages, format, dialect.systemRole) ?? messages),
    ...withoutRejected(encodeTools(request.tools ?? [], request.toolChoice, options), dialect),
    ...(format === undefined ? {} : encodeFormat(format, options)),
    ...withoutRejected(
      encodeSettings(
        dialect.reasoningModels && options.reasoning?.isOff !== true
          ? OpenAiModels.accepted(options.model, settings)
          : settings,
        dialect
      ),
      dialect
    ),
    ...options.reasoning?.fields,
    ...(options.stream ? { stream: true } : {}),
    ...(options.stream && dialect.streamUsage ? { stream_options: { include_usage: true } } : {}),
    ...settings.providerOptions
  }
}

/**
 * The JSON of a body. That of its tools is made once for each list. Throws like `JSON.stringify`.
 *
 * @since 0.1.0
 * @category encoding
 */
export const toText = (body: { readonly [key: string]: unknown }): string => {
  const { tools, ...others } = body
  const known = typeof tools === "object" && tools !== null ? toolTexts.get(tools) : undefined
  if (known === undefined) return JSON.stringify(body)
  known.text ??= JSON.stringify(tools)
  return `${JSON.stringify(others).slice(0, -1)},"tools":${known.text}}`
}
