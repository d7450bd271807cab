/**
 * Converts requests to the call options of the AI SDK.
 *
 * @private
 * @since 0.1.0
 */
import type * as Prompt from "@effect/ai/Prompt"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as ToolFiles from "../../content/ToolFiles.js"
import * as CachedContent from "../../llm/CachedContent.js"
import type { LlmRequest, Message, ToolChoice } from "../../llm/model/LlmClient.js"
import type { ModelSettings } from "../../llm/model/ModelSettings.js"
import * as AnthropicCache from "../exchange/AnthropicCache.js"
import * as ToolResults from "../exchange/ToolResults.js"
import * as SdkReasoning from "./SdkReasoning.js"
import type * as Sdk from "./SdkSpecification.js"
import * as SdkTools from "./SdkTools.js"

/** A part of a message that the model cannot be given. */
export class UnsupportedPart {
  readonly message: string
  readonly hint: string
  constructor(message: string, hint: string) {
    this.message = message
    this.hint = hint
  }
}

/**
 * @category models
 */
export interface Target {
  readonly version: Sdk.Version
  /** The key of its options: `anthropic`, `google`. */
  readonly provider: string
  /** The API that its package speaks, if it names one: `messages`, `responses`, `chat`. */
  readonly api?: string | undefined
  readonly model: string
  /** Read only when a message has a file by its URL. */
  readonly supportedUrls: Sdk.SupportedUrls
}

type Converted<A> = Either.Either<A, UnsupportedPart>

const optionsOf = (part: {
  readonly options?: Prompt.ProviderOptions | undefined
}): { readonly providerOptions?: Sdk.Options } => {
  const options = ToolFiles.withoutFiles(part.options)
  return options === undefined ? {} : { providerOptions: options as Sdk.Options }
}

const textPart = (
  text: string,
  part: { readonly options?: Prompt.ProviderOptions | undefined } = {}
): Sdk.TextPart => ({
  type: "text",
  text,
  ...optionsOf(part)
})

const dataUrl = /^data:([^,]*),/

/** The bytes of a data URL as Base64. */
const ofDataUrl = (url: string): string | undefined => {
  const head = dataUrl.exec(url)
  if (head === null) return undefined
  const body = url.slice(head[0].length)
  if (/;base64$/i.test(head[1] ?? "")) return body
  try {
    return Encoding.encodeBase64(decodeURIComponent(body))
  } catch {
    return undefined
  }
}

/** Keys are media types, or their beginning before a `*`. */
const isSupported = (url: URL, mediaType: string, supported: Sdk.SupportedUrls): boolean => {
  const type = mediaType.toLowerCase()
  return Object.entries(supported).some(([key, patterns]) => {
    const begin = key === "*" || key === "*/*" ? "" : key.toLowerCase().replace(/\*$/, "")
    return (
      type.startsWith(begin) &&
      patterns.some((pattern) => new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, "")).test(url.href))
    )
  })
}

const fromUrl = (url: URL, mediaType: string, target: Target): Converted<Sdk.FileData> => {
  if (url.protocol === "data:") return fromBytes(ofDataUrl(url.href), target)
  if (!isSupported(url, mediaType, target.supportedUrls))
    return Either.left(
      new UnsupportedPart(
        `The model ${target.model} does not fetch a file of type ${mediaType} from this URL`,
        "Download the file and give its bytes instead."
      )
    )
  return Either.right(target.version === "v3" ? url : { type: "url", url })
}

const fromBytes = (data: Uint8Array | string | undefined, target: Target): Converted<Sdk.FileData> => {
  if (data === undefined || (typeof data === "string" && Either.isLeft(Encoding.decodeBase64(data))))
    return Either.left(new UnsupportedPart("The data of a file is not Base64", "Give the bytes, Base64 or a URL."))
  return Either.right(target.version === "v3" ? data : { type: "data", data })
}

/** The URL by which a file is given. */
const urlOf = (data: Prompt.FilePartEncoded["data"]): URL | undefined => {
  if (data instanceof URL) return data
  return typeof data === "string" && /^(?:https?|data):/i.test(data) && URL.canParse(data) ? new URL(data) : undefined
}

/**
 * True if a message has a file by its URL, so that it matters which URLs the model fetches.
 *
 * @category guards
 */
export const hasFileUrl = ({ messages }: LlmRequest): boolean =>
  messages.some(
    ({ content, role }) =>
      (role === "user" || role === "assistant") &&
      typeof content !== "string" &&
      content.some((part) => {
        const url = part.type === "file" ? urlOf(part.data) : undefined
        return url !== undefined && url.protocol !== "data:"
      })
  )

const fileData = ({ data, mediaType }: Prompt.FilePartEncoded, target: Target): Converted<Sdk.FileData> => {
  const url = urlOf(data)
  return url === undefined ? fromBytes(data as Uint8Array | string, target) : fromUrl(url, mediaType, target)
}

const filePart = (part: Prompt.FilePartEncoded, target: Target): Converted<Sdk.FilePart> =>
  Either.map(fileData(part, target), (data) => ({
    type: "file",
    mediaType: part.mediaType,
    ...(part.fileName === undefined ? {} : { filename: part.fileName }),
    data,
    ...optionsOf(part)
  }))

const outputOf = ({ isFailure, result }: Prompt.ToolResultPartEncoded): Sdk.ToolResultPart["output"] =>
  typeof result === "string"
    ? { type: isFailure ? "error-text" : "text", value: result }
    : { type: isFailure ? "error-json" : "json", value: result ?? null }

/** Whether the package sends the files of results; others would write their Base64 into the text of the result. */
const sendsFiles = ({ api, provider }: Target): boolean =>
  provider === "anthropic" || provider === "google" || (isOpenAi(provider) && api === "responses")

const isOpenAi = (provider: string): boolean => provider === "openai" || provider === "azure"

/** Files of results by address are for those that fetch them at the server. */
const fileOfResult = (file: Prompt.FilePartEncoded, { provider, version }: Target): object | undefined => {
  if (isOpenAi(provider) && !/^image\/|^application\/pdf$/.test(file.mediaType)) return undefined
  const { data, fileName, mediaType } = file
  const isImage = mediaType.startsWith("image/")
  const named = fileName === undefined ? {} : { filename: fileName }
  if (data instanceof URL) {
    if (provider === "google") return undefined
    if (version === "v4") return { type: "file", mediaType, ...named, data: { type: "url", url: data } }
    return isImage ? { type: "image-url", url: data.href } : { type: "file-url", url: data.href, mediaType }
  }
  const base64 = ToolResults.base64Of(data)
  if (version === "v4") return { type: "file", mediaType, ...named, data: { type: "data", data: base64 } }
  return isImage
    ? { type: "image-data", data: base64, mediaType }
    : { type: "file-data", data: base64, mediaType, ...named }
}

const toolResult = (part: Prompt.ToolResultPartEncoded, target: Target): Sdk.ToolResultPart => {
  const value = sendsFiles(target)
    ? ToolResults.partsOf<object>(part, {
        text: (text) => ({ type: "text", text }),
        file: (file) => fileOfResult(file, target)
      })
    : undefined
  return {
    type: "tool-result",
    toolCallId: part.id,
    toolName: part.name,
    output: value === undefined ? outputOf(part) : { type: "content", value },
    ...optionsOf(part)
  }
}

const assistantPart = (
  part: Prompt.AssistantMessagePartEncoded,
  target: Target
): Converted<Sdk.AssistantPart | undefined> => {
  switch (part.type) {
    case "text":
      return Either.right(part.text === "" ? undefined : textPart(part.text, part))
    case "reasoning":
      return Either.right({ type: "reasoning", text: part.text, ...optionsOf(part) })
    case "file":
      return filePart(part, target)
    case "tool-call":
      return Either.right({
        type: "tool-call",
        toolCallId: part.id,
        toolName: part.name,
        // A call whose parameters were no JSON is repeated as an object: providers refuse anything else.
        input: typeof part.params === "string" ? { input: part.params } : (part.params ?? {}),
        ...(part.providerExecuted === true ? { providerExecuted: true } : {}),
        ...optionsOf(part)
      })
    case "tool-result":
      return Either.right(toolResult(part, target))
  }
}

const isPresent = <A>(value: A | undefined): value is A => value !== undefined

const messageOf = (message: Message, target: Target): Converted<Sdk.Message | undefined> => {
  const options = optionsOf(message)
  const whole = <A extends Sdk.Message>(made: A): A | undefined => (made.content.length === 0 ? undefined : made)
  switch (message.role) {
    case "system":
      return Either.right(whole({ role: "system", content: message.content, ...options }))
    case "user": {
      const parts =
        typeof message.content === "string" ? [{ type: "text" as const, text: message.content }] : message.content
      return Either.map(
        Either.all(
          parts
            .filter((part) => part.type !== "text" || part.text !== "")
            .map(
              (part): Converted<Sdk.TextPart | Sdk.FilePart> =>
                part.type === "text" ? Either.right(textPart(part.text, part)) : filePart(part, target)
            )
        ),
        (content) => whole({ role: "user", content, ...options })
      )
    }
    case "assistant": {
      const parts =
        typeof message.content === "string" ? [{ type: "text" as const, text: message.content }] : message.content
      return Either.map(Either.all(parts.map((part) => assistantPart(part, target))), (content) =>
        whole({ role: "assistant", content: content.filter(isPresent), ...options })
      )
    }
    case "tool":
      return Either.right(
        whole({ role: "tool", content: message.content.map((part) => toolResult(part, target)), ...options })
      )
  }
}

const choiceOf = (choice: ToolChoice): { readonly type: string; readonly toolName?: string } =>
  typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool }

/** OpenAI caches by itself. */
const cacheOf = (cache: ModelSettings["promptCache"]): { readonly [key: string]: string } =>
  cache === undefined || cache === false
    ? {}
    : {
        ...(cache.key === undefined ? {} : { promptCacheKey: cache.key }),
        ...(cache.ttl === "24h" ? { promptCacheRetention: "24h" } : {})
      }

/** Settings that the specification leaves to the options of each provider. */
const ownOptions = (
  { parallelToolCalls, promptCache }: ModelSettings,
  { own: reasoning }: SdkReasoning.Asked,
  { provider }: Target
): { readonly [key: string]: unknown } => {
  const cachedContent = provider === "google" ? CachedContent.nameOf({ promptCache }) : undefined
  const own = {
    ...reasoning,
    ...(isOpenAi(provider) ? cacheOf(promptCache) : {}),
    ...(cachedContent === undefined ? {} : { cachedContent })
  }
  if (parallelToolCalls === undefined || provider === "google") return own
  return provider === "anthropic"
    ? { disableParallelToolUse: !parallelToolCalls, ...own }
    : { parallelToolCalls, ...own }
}

const providerOptions = (
  settings: ModelSettings,
  reasoning: SdkReasoning.Asked,
  target: Target
): { readonly providerOptions?: Sdk.Options } => {
  const given = settings.providerOptions as Sdk.Options | undefined
  const own = ownOptions(settings, reasoning, target)
  if (Object.keys(own).length === 0) return given === undefined ? {} : { providerOptions: given }
  return { providerOptions: { ...given, [target.provider]: { ...own, ...given?.[target.provider] } } }
}

const hasCacheMark = ({ providerOptions }: { readonly providerOptions?: Sdk.Options | undefined }): boolean =>
  providerOptions?.anthropic?.cacheControl !== undefined || providerOptions?.anthropic?.cache_control !== undefined

const isMarked = (message: Sdk.Message): boolean =>
  hasCacheMark(message) || (typeof message.content !== "string" && message.content.some(hasCacheMark))

const cached = <A extends { readonly providerOptions?: Sdk.Options | undefined }>(one: A, cacheControl: object): A => ({
  ...one,
  providerOptions: { ...one.providerOptions, anthropic: { ...one.providerOptions?.anthropic, cacheControl } }
})

/** Marks what Anthropic is to cache: the tools, the system prompt, and a conversation that is likely to go on. */
const withCacheMarks = (options: Sdk.CallOptions, request: LlmRequest, target: Target): Sdk.CallOptions => {
  const mark = target.provider === "anthropic" ? AnthropicCache.markOf(request.settings?.promptCache) : undefined
  const { prompt, tools } = options
  if (mark === undefined || hasCacheMark(options) || prompt.some(isMarked)) return options
  const places = new Set<number>([prompt.findLastIndex(({ role }) => role === "system")])
  if (AnthropicCache.isContinued(request)) places.add(prompt.length - 1)
  return {
    ...options,
    prompt: prompt.map((message, index) => (places.has(index) ? cached(message, mark) : message)),
    ...(tools === undefined
      ? {}
      : { tools: tools.map((tool, index) => (index === tools.length - 1 ? cached(tool as object, mark) : tool)) })
  }
}

const defined = <A extends object>(value: A): A =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as A

/** What content that Gemini keeps has, and a request for it must not have. */
const withoutKept = (request: LlmRequest): LlmRequest => ({
  ...request,
  messages: request.messages.filter(({ role }) => role !== "system"),
  tools: undefined,
  toolChoice: undefined
})

/**
 * The options of a call, without a signal. Empty texts and messages are left out, because providers reject them.
 *
 * @category conversions
 */
export const make = (
  given: LlmRequest,
  target: Target,
  own: ReadonlyArray<SdkTools.Tool> = []
): Converted<Sdk.CallOptions> => {
  const settings = given.settings ?? {}
  const isKept = CachedContent.nameOf(settings) !== undefined
  const request = isKept ? withoutKept(given) : given
  const reasoning = SdkReasoning.ask(request, target)
  const format = request.responseFormat
  const tools = [
    ...(request.tools ?? []).map(({ description, name, parameters }) => ({
      type: "function",
      name,
      description,
      inputSchema: parameters
    })),
    ...(isKept ? [] : own)
  ]
  const messages = sendsFiles(target) ? request.messages : ToolResults.lower(request.messages, false)
  const made = Either.map(Either.all(messages.map((message) => messageOf(message, target))), (messages) => ({
    ...defined({
      prompt: messages.filter(isPresent),
      maxOutputTokens: reasoning.maxOutputTokens,
      temperature: reasoning.samples ? settings.temperature : undefined,
      topP: reasoning.samples ? settings.topP : undefined,
      stopSequences: settings.stop,
      presencePenalty: settings.presencePenalty,
      frequencyPenalty: settings.frequencyPenalty,
      seed: settings.seed,
      reasoning: reasoning.level
    }),
    ...(tools.length === 0
      ? {}
      : {
          tools,
          ...(request.toolChoice === undefined ? {} : { toolChoice: choiceOf(request.toolChoice) })
        }),
    ...(format?.type === "json"
      ? {
          responseFormat: {
            type: "json" as const,
            schema: format.schema,
            name: format.name,
            ...(format.description === undefined ? {} : { description: format.description })
          }
        }
      : {}),
    ...providerOptions(
      settings,
      { ...reasoning, own: { ...reasoning.own, ...SdkTools.boundsOf(request, target) } },
      target
    )
  }))
  return Either.map(made, (options) => withCacheMarks(options, request, target))
}
