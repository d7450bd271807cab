/**
 * A client of Anthropic's models over `/messages`.
 *
 * The optional package `@effect/ai-anthropic` makes requests; `AnthropicMessages` reads answers, because the package's
 * decoder rejects some valid answers and dies on others.
 *
 * @since 0.1.0
 */

import * as AiError from "@effect/ai/AiError"
import type * as Prompt from "@effect/ai/Prompt"
import type * as AiAnthropicClient from "@effect/ai-anthropic/AnthropicClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as CachedContent from "../../llm/CachedContent.js"
import * as ContentSupport from "../../llm/ContentSupport.js"
import * as CallGate from "../../llm/model/CallGate.js"
import type { LlmRequest, Message, Service } from "../../llm/model/LlmClient.js"
import { LlmClient } from "../../llm/model/LlmClient.js"
import type { LlmConfigurationError } from "../../llm/model/LlmError.js"
import type { ModelSettings } from "../../llm/model/ModelSettings.js"
import * as ProviderTool from "../../llm/ProviderTool.js"
import * as AiErrorClassifier from "../exchange/AiErrorClassifier.js"
import * as AnthropicCache from "../exchange/AnthropicCache.js"
import * as ClientTransport from "../exchange/ClientTransport.js"
import * as LanguageModelRequest from "../exchange/LanguageModelRequest.js"
import * as OptionalPackage from "../exchange/OptionalPackage.js"
import * as ProviderExchange from "../exchange/ProviderExchange.js"
import * as ReasoningLevels from "../exchange/ReasoningLevels.js"
import * as ToolResults from "../exchange/ToolResults.js"
import type { Json } from "../exchange/WireDecoder.js"
import * as Wire from "../exchange/WireDecoder.js"
import * as AnthropicMessages from "./AnthropicMessages.js"
import * as ProviderToolForms from "./ProviderToolForms.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly apiKey: Redacted.Redacted<string>
  readonly model: string
  /** Default `https://api.anthropic.com/v1`; the version may be omitted. */
  readonly baseUrl?: string | undefined
  /** The `anthropic-version` header. */
  readonly version?: string | undefined
  /** Settings of every request; those of a request override them. */
  readonly settings?: ModelSettings | undefined
  /** Media types of files that the models take. Default: what `ContentSupport.table` says. */
  readonly accepts?: ReadonlyArray<string> | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaultBaseUrl = "https://api.anthropic.com/v1"

/**
 * The `max_tokens` of a request whose settings name none: Anthropic requires it.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaultMaxTokens = 8192

/**
 * Settings as fields of the request body. `seed` and the penalties are sent too; Anthropic itself rejects them, other
 * servers accept them. `temperature` and `topP` are omitted where they are rejected: while the model thinks, and for
 * newer models. `parallelToolCalls` is part of the tool choice. No thinking is asked for while a tool is forced.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromSettings = (settings: ModelSettings, model: string, isForced = false): Json => {
  const named = settings.model ?? model
  const { effort, maxTokens, samples, thinking } = ReasoningLevels.anthropic(settings, named, {
    isForced,
    usual: defaultMaxTokens
  })
  return {
    model: named,
    max_tokens: maxTokens,
    ...(thinking === undefined ? {} : { thinking }),
    ...(effort === undefined ? {} : { output_config: { effort } }),
    ...(settings.temperature === undefined || !samples ? {} : { temperature: settings.temperature }),
    ...(settings.topP === undefined || !samples ? {} : { top_p: settings.topP }),
    ...(settings.stop === undefined ? {} : { stop_sequences: settings.stop }),
    ...(settings.seed === undefined ? {} : { seed: settings.seed }),
    ...(settings.presencePenalty === undefined ? {} : { presence_penalty: settings.presencePenalty }),
    ...(settings.frequencyPenalty === undefined ? {} : { frequency_penalty: settings.frequencyPenalty }),
    ...settings.providerOptions
  }
}

/** Blocks of the provider's own tools; the package lets a few names through, and the id identifies the block. */
const ownBlocks = (
  messages: ReadonlyArray<Message>
): { readonly messages: ReadonlyArray<Message>; readonly blocks: ReadonlyMap<string, Json> } => {
  const blocks = new Map<string, Json>()
  const passing = (part: Prompt.AssistantMessagePartEncoded): ReadonlyArray<Prompt.AssistantMessagePartEncoded> => {
    if (part.type !== "tool-call" && part.type !== "tool-result") return [part]
    const block = Wire.record(Wire.record(part.options?.anthropic)?.block)
    if (block !== undefined) {
      blocks.set(`${part.type}:${part.id}`, block)
      return [{ ...part, name: "AnthropicWebSearch" }]
    }
    // Tools that another provider ran are not part of this conversation.
    return part.type === "tool-result" || part.providerExecuted === true ? [] : [part]
  }
  return {
    messages: messages.map((message) =>
      message.role === "assistant" && typeof message.content !== "string"
        ? { ...message, content: message.content.flatMap(passing) }
        : message
    ),
    blocks
  }
}

const images = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"])

/** Results have texts, images and PDFs. */
const resultForm: ToolResults.Form<Json> = {
  text: (text) => ({ type: "text", text }),
  file: ({ data, mediaType }) => {
    const isImage = mediaType.startsWith("image/")
    if (!isImage && mediaType !== "application/pdf") return undefined
    const type = isImage ? "image" : "document"
    if (data instanceof URL) return { type, source: { type: "url", url: data.href } }
    if (isImage && !images.has(mediaType)) return undefined
    return { type, source: { type: "base64", media_type: mediaType, data: ToolResults.base64Of(data) } }
  }
}

const finishBlock = (block: Json, own: ReadonlyMap<string, Json>, results: ReadonlyMap<string, unknown>): Json => {
  switch (block.type) {
    case "server_tool_use":
      return own.get(`tool-call:${Wire.string(block.id) ?? ""}`) ?? block
    case "web_search_tool_result":
      return own.get(`tool-result:${Wire.string(block.tool_use_id) ?? ""}`) ?? block
    case "tool_result": {
      // The package would send a text as a JSON string, with quotes and escapes, and no files.
      const content = results.get(Wire.string(block.tool_use_id) ?? "")
      return content === undefined ? block : { ...block, content }
    }
    default:
      return block
  }
}

const isForcing = (choice: LlmRequest["toolChoice"]): boolean => choice === "required" || typeof choice === "object"

/**
 * Whether a call must be made. The answer of JSON output is a call that a thinking model is not forced to make.
 *
 * @since 0.1.0
 * @category guards
 */
export const isForced = ({ responseFormat, toolChoice, tools }: LlmRequest): boolean =>
  responseFormat?.type !== "json" && (tools ?? []).length > 0 && isForcing(toolChoice)

/** The tool whose input is the answer for JSON output, besides the tools of the request. */
const toolsOf = (request: LlmRequest, settings: Json, own: ReadonlyArray<Json>): Json => {
  const format = request.responseFormat
  const functions = (request.tools ?? []).map(({ description, name, parameters }) => ({
    name,
    description,
    input_schema: parameters
  }))
  const offered: ReadonlyArray<Json> = [...functions, ...own]
  const isParallel = request.settings?.parallelToolCalls
  const parallel = isParallel === undefined ? {} : { disable_parallel_tool_use: !isParallel }
  // A choice that forces a tool is rejected while the model thinks.
  const isThinking =
    ["enabled", "adaptive"].includes(Wire.string(Wire.record(settings.thinking)?.type) ?? "") ||
    ReasoningLevels.alwaysThinks(Wire.string(settings.model) ?? "")
  const choice = isThinking && isForcing(request.toolChoice) ? "auto" : (request.toolChoice ?? "auto")
  if (format?.type === "json") {
    const output = {
      name: format.name,
      description: format.description ?? "Give the final answer.",
      input_schema: format.schema
    }
    const isOnly = offered.length === 0 || choice === "none"
    const forced =
      typeof choice === "object"
        ? { type: "tool", name: choice.tool }
        : isOnly
          ? { type: "tool", name: format.name }
          : { type: "any" }
    return {
      tools: [...offered.filter((tool) => tool.name !== format.name), output],
      tool_choice: { ...(isThinking ? { type: "auto" } : forced), disable_parallel_tool_use: true, ...parallel }
    }
  }
  if (offered.length === 0) return {}
  const kinds = { auto: "auto", none: "none", required: "any" } as const
  return {
    tools: offered,
    tool_choice:
      typeof choice === "object"
        ? { type: "tool", name: choice.tool, ...parallel }
        : { type: kinds[choice], ...(choice === "none" ? {} : parallel) }
  }
}

const finishBody = (
  payload: unknown,
  request: LlmRequest & { readonly settings: ModelSettings & { readonly model: string } },
  own: ReadonlyMap<string, Json>,
  providerTools: ReadonlyArray<Json>,
  streamed: boolean
): Json => {
  const body = Wire.record(payload) ?? {}
  const results = ToolResults.collect(request.messages, resultForm)
  const settings = fromSettings(request.settings, request.settings.model, isForced(request))
  const messages = Wire.records(body.messages)
    .map((message): Json => {
      const content = Wire.records(message.content)
      return { ...message, content: content.map((block) => finishBlock(block, own, results)) }
    })
    .filter((message) => Array.isArray(message.content) && message.content.length > 0)
  const made = {
    ...(body.system === undefined ? {} : { system: body.system }),
    messages,
    ...toolsOf(request, settings, providerTools)
  }
  return {
    ...AnthropicCache.mark(made, request),
    ...settings,
    ...(streamed ? { stream: true } : {})
  }
}

/**
 * Fails when `@effect/ai-anthropic` is not installed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<Service, LlmConfigurationError, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const provider = "anthropic"
    const base = yield* ProviderExchange.baseUrl(options.baseUrl ?? defaultBaseUrl, provider)
    const url = /\/v\d+$/.test(base) ? base : `${base}/v1`
    const { AnthropicClient, AnthropicLanguageModel } = yield* OptionalPackage.load({
      name: "@effect/ai-anthropic",
      install: "npm install @effect/ai-anthropic@^0.27.0",
      provider,
      modules: async () => {
        const [client, model] = await Promise.all([
          import("@effect/ai-anthropic/AnthropicClient"),
          import("@effect/ai-anthropic/AnthropicLanguageModel")
        ])
        return { AnthropicClient: client.AnthropicClient, AnthropicLanguageModel: model }
      }
    })
    const http = yield* ClientTransport.fromContext
    const apiKey = yield* ProviderExchange.key(options.apiKey, provider)
    const redact = [apiKey]
    const recording = {
      createMessage: (sent: { readonly params?: Json; readonly payload: unknown }) =>
        Effect.flatMap(ProviderExchange.Recorder, (slot) => {
          slot.payload = sent.payload
          slot.headers = { "anthropic-beta": Wire.string(sent.params?.["anthropic-beta"]) }
          return Effect.fail(new AiError.UnknownError({ module: "Anthropic", method: "encode" }))
        })
    } as unknown as AiAnthropicClient.Service
    const encoder = yield* AnthropicLanguageModel.make({ model: options.model }).pipe(
      Effect.provideService(AnthropicClient, recording)
    )

    const encode: ProviderExchange.Options["encode"] = Effect.fnUntraced(function* (request, streamed) {
      const model = request.settings.model
      const refused =
        ReasoningLevels.checkAnthropic(request.settings, { provider, model }) ??
        CachedContent.check(request.settings, { provider, model })
      if (refused !== undefined) return yield* refused
      const form = yield* ProviderToolForms.anthropic(request, { provider, model })
      const { blocks, messages } = ownBlocks(request.messages)
      // Only messages pass through the package: it would build a schema of every tool for each call.
      const { prompt } = yield* LanguageModelRequest.make({ messages }, provider)
      const recorded = yield* ProviderExchange.record(encoder.generateText({ prompt }), (error) =>
        AiErrorClassifier.classify(error, { provider, model, redact })
      )
      const betas = [recorded.headers["anthropic-beta"], ...form.betas].filter((beta) => beta !== undefined)
      const post = HttpClientRequest.post(`${url}/messages`).pipe(
        HttpClientRequest.acceptJson,
        HttpClientRequest.setHeaders({
          "x-api-key": Redacted.value(apiKey),
          "anthropic-version": options.version ?? "2023-06-01",
          ...(betas.length === 0 ? {} : { "anthropic-beta": betas.join(",") })
        })
      )
      const body = () => finishBody(recorded.payload, request, blocks, form.tools, streamed)
      return yield* ProviderExchange.jsonBody(post, body, provider)
    })

    const client = ProviderExchange.make({
      provider,
      model: options.model,
      settings: options.settings,
      http,
      redact,
      encode,
      decoder: (request) =>
        AnthropicMessages.make(request.responseFormat?.type === "json" ? { output: request.responseFormat.name } : {})
    })
    return ContentSupport.wrap({ accepts: options.accepts, urls: ["image/*", "application/pdf"] })(
      ProviderTool.counted({ provider, settings: options.settings })(client)
    )
  })

/**
 * @example
 * ```ts
 * import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
 * import * as Config from "effect/Config"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import { Anthropic } from "effect-lexigram/provider"
 *
 * const layer = Layer.unwrapEffect(
 *   Effect.map(Config.redacted("ANTHROPIC_API_KEY"), (apiKey) =>
 *     Anthropic.layer({ apiKey, model: "claude-sonnet-4-5" })
 *   )
 * ).pipe(Layer.provide(FetchHttpClient.layer))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<LlmClient, LlmConfigurationError, HttpClient.HttpClient> =>
  Layer.effect(LlmClient, Effect.map(make(options), CallGate.wrap))
