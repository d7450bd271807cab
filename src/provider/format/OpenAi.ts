/**
 * A client of OpenAI's own models over `/responses`.
 *
 * The optional package `@effect/ai-openai` makes requests; `OpenAiResponses` reads answers, because the package's
 * decoder rejects many valid ones.
 *
 * @since 0.1.0
 */

import * as AiError from "@effect/ai/AiError"
import type * as Prompt from "@effect/ai/Prompt"
import type * as AiOpenAiClient from "@effect/ai-openai/OpenAiClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as CachedContent from "../../llm/CachedContent.js"
import * as ContentSupport from "../../llm/ContentSupport.js"
import * as CallGate from "../../llm/model/CallGate.js"
import type { LlmRequest, Message, ResponseFormat, Service, ToolChoice } from "../../llm/model/LlmClient.js"
import { LlmClient } from "../../llm/model/LlmClient.js"
import type { LlmConfigurationError } from "../../llm/model/LlmError.js"
import type { ModelSettings } from "../../llm/model/ModelSettings.js"
import * as ProviderTool from "../../llm/ProviderTool.js"
import * as AiErrorClassifier from "../exchange/AiErrorClassifier.js"
import * as ClientTransport from "../exchange/ClientTransport.js"
import * as LanguageModelRequest from "../exchange/LanguageModelRequest.js"
import * as OptionalPackage from "../exchange/OptionalPackage.js"
import * as ProviderExchange from "../exchange/ProviderExchange.js"
import * as ReasoningLevels from "../exchange/ReasoningLevels.js"
import * as ToolResults from "../exchange/ToolResults.js"
import type { Json } from "../exchange/WireDecoder.js"
import * as Wire from "../exchange/WireDecoder.js"
import * as OpenAiModels from "./OpenAiModels.js"
import * as OpenAiResponses from "./OpenAiResponses.js"
import * as ProviderToolForms from "./ProviderToolForms.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly apiKey: Redacted.Redacted<string>
  readonly model: string
  /** With its version, as in the default `https://api.openai.com/v1`. */
  readonly baseUrl?: string | undefined
  readonly organizationId?: string | undefined
  readonly projectId?: string | undefined
  /** Settings of every request; those of a request override them. */
  readonly settings?: ModelSettings | undefined
  /** Media types of files that the models take. Default: what `ContentSupport.table` says. */
  readonly accepts?: ReadonlyArray<string> | undefined
  /** Whether schemas are sent as strict. Default: those that satisfy the rules of the strict mode. */
  readonly strict?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaultBaseUrl = "https://api.openai.com/v1"

/** The level, the summary, and the sealed reasoning that goes back where the server keeps none. */
const reasoning = (settings: ModelSettings): Json => {
  const effort = ReasoningLevels.openAiEffort(settings, settings.model ?? "")
  const summary = ReasoningLevels.wishOf(settings)?.summary
  const sealed = settings.providerOptions?.store === false && OpenAiModels.isReasoning(settings.model ?? "")
  const fields = {
    ...(effort === undefined ? {} : { effort }),
    ...(summary === true ? { summary: "auto" } : {})
  }
  return {
    ...(Object.keys(fields).length === 0 ? {} : { reasoning: fields }),
    ...(sealed ? { include: ["reasoning.encrypted_content"] } : {})
  }
}

/**
 * Settings as fields of the request body. `/responses` does not support `stop`, `seed` and the penalties: they are
 * omitted, and so are `temperature` and `topP` for reasoning models (the o series, gpt-5 except gpt-5-chat), which
 * reject them unless they are told not to reason. `providerOptions` reach a server that supports more.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromSettings = (settings: ModelSettings): Json => {
  const isOff = ReasoningLevels.openAiEffort(settings, settings.model ?? "") === "none"
  const { temperature, topP } = isOff ? settings : OpenAiModels.accepted(settings.model ?? "", settings)
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(settings.maxTokens === undefined ? {} : { max_output_tokens: settings.maxTokens }),
    ...reasoning(settings),
    ...(settings.parallelToolCalls === undefined ? {} : { parallel_tool_calls: settings.parallelToolCalls }),
    ...(settings.model === undefined ? {} : { model: settings.model }),
    ...OpenAiModels.cacheFields(settings),
    ...settings.providerOptions
  }
}

const toolChoice = (choice: ToolChoice | undefined): unknown =>
  typeof choice === "object" ? { type: "function", name: choice.tool } : (choice ?? "auto")

const takesDeveloper = /^(?:o\d|gpt-[5-9]|codex-|computer-use)/

/** Items of the provider's own tools, by the id under which they pass through the package as texts. */
const ownItems = (
  messages: ReadonlyArray<Message>
): { readonly messages: ReadonlyArray<Message>; readonly items: ReadonlyMap<string, Json> } => {
  const items = new Map<string, Json>()
  const passing = (part: Prompt.AssistantMessagePartEncoded): ReadonlyArray<Prompt.AssistantMessagePartEncoded> => {
    const item = part.type === "tool-call" ? Wire.record(Wire.record(part.options?.openai)?.item) : undefined
    const id = Wire.string(item?.id)
    if (item === undefined || id === undefined) return [part]
    items.set(id, item)
    return [{ type: "text", text: id, options: { openai: { itemId: id } } }]
  }
  return {
    messages: messages.map((message) =>
      message.role === "assistant" && typeof message.content !== "string"
        ? { ...message, content: message.content.flatMap(passing) }
        : message
    ),
    items
  }
}

/** Results have texts, images and PDFs. */
const resultForm: ToolResults.Form<Json> = {
  text: (text) => ({ type: "input_text", text }),
  file: (file) => {
    const { data, fileName, mediaType } = file
    if (mediaType.startsWith("image/")) return { type: "input_image", image_url: ToolResults.urlOf(file) }
    if (mediaType !== "application/pdf") return undefined
    if (data instanceof URL) return { type: "input_file", file_url: data.href }
    return { type: "input_file", filename: fileName ?? "file.pdf", file_data: ToolResults.urlOf(file) }
  }
}

const jsonFormat = (format: Extract<ResponseFormat, { readonly type: "json" }>, strict: boolean): Json => ({
  type: "json_schema",
  name: format.name,
  ...(format.description === undefined ? {} : { description: format.description }),
  schema: format.schema,
  strict
})

/** Corrects the body that the package made. */
const finishBody = (
  payload: unknown,
  request: LlmRequest & { readonly settings: ModelSettings & { readonly model: string } },
  items: ReadonlyMap<string, Json>,
  options: Options,
  own: ProviderToolForms.Form,
  streamed: boolean
): Json => {
  const body = Wire.record(payload) ?? {}
  const results = ToolResults.collect(request.messages, resultForm)
  const systemRole = takesDeveloper.test(request.settings.model) ? "developer" : "system"
  const input = Wire.records(body.input).map((item): Json => {
    const own = items.get(Wire.string(item.id) ?? "")
    if (own !== undefined) return own
    if (item.role === "system" || item.role === "developer") return { ...item, role: systemRole }
    const output = item.type === "function_call_output" ? results.get(Wire.string(item.call_id) ?? "") : undefined
    // The package would send a text as a JSON string, with quotes and escapes, and no files.
    return output === undefined ? item : { ...item, output }
  })
  const strict = (schema: Json): boolean => options.strict ?? LanguageModelRequest.isStrict(schema)
  const functions = (request.tools ?? []).map(({ description, name, parameters }) => ({
    type: "function",
    name,
    description,
    parameters,
    strict: strict(parameters)
  }))
  const tools: ReadonlyArray<Json> = [...functions, ...own.tools]
  const settings = fromSettings(request.settings)
  const include = [...Wire.strings(own.fields.include), ...Wire.strings(settings.include)]
  const format = request.responseFormat
  return {
    model: request.settings.model,
    input,
    ...(tools.length === 0 ? {} : { tools, tool_choice: toolChoice(request.toolChoice) }),
    ...(format?.type === "json" ? { text: { format: jsonFormat(format, strict(format.schema)) } } : {}),
    ...own.fields,
    ...settings,
    ...(include.length === 0 ? {} : { include: Array.from(new Set(include)) }),
    ...(streamed ? { stream: true } : {})
  }
}

/**
 * Fails when `@effect/ai-openai` is not installed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<Service, LlmConfigurationError, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const provider = "openai"
    const url = yield* ProviderExchange.baseUrl(options.baseUrl ?? defaultBaseUrl, provider)
    const { OpenAiClient, OpenAiLanguageModel } = yield* OptionalPackage.load({
      name: "@effect/ai-openai",
      install: "npm install @effect/ai-openai@^0.41.0",
      provider,
      modules: async () => {
        const [client, model] = await Promise.all([
          import("@effect/ai-openai/OpenAiClient"),
          import("@effect/ai-openai/OpenAiLanguageModel")
        ])
        return { OpenAiClient: client.OpenAiClient, OpenAiLanguageModel: model }
      }
    })
    const http = yield* ClientTransport.fromContext
    const apiKey = yield* ProviderExchange.key(options.apiKey, provider)
    const redact = [apiKey]
    const recording = {
      createResponse: (payload: unknown) =>
        Effect.flatMap(ProviderExchange.Recorder, (slot) => {
          slot.payload = payload
          return Effect.fail(new AiError.UnknownError({ module: "OpenAi", method: "encode" }))
        })
    } as unknown as AiOpenAiClient.Service
    const encoder = yield* OpenAiLanguageModel.make({
      model: options.model,
      config: { fileIdPrefixes: ["file-", "assistant-"] }
    }).pipe(Effect.provideService(OpenAiClient, recording))

    const encode: ProviderExchange.Options["encode"] = Effect.fnUntraced(function* (request, streamed) {
      const model = request.settings.model
      const refused =
        ReasoningLevels.levelsOnly(request.settings, { provider, model }) ??
        CachedContent.check(request.settings, { provider, model })
      if (refused !== undefined) return yield* refused
      const form = yield* ProviderToolForms.openAi(request, { provider, model })
      const { items, messages } = ownItems(request.messages)
      // Only messages pass through the package: it would build a schema of every tool for each call.
      const { prompt } = yield* LanguageModelRequest.make({ messages }, provider)
      const recorded = yield* ProviderExchange.record(
        encoder.generateText({ prompt }).pipe(OpenAiLanguageModel.withConfigOverride({ model })),
        (error) => AiErrorClassifier.classify(error, { provider, model, redact })
      )
      const post = HttpClientRequest.post(`${url}/responses`).pipe(
        HttpClientRequest.acceptJson,
        HttpClientRequest.bearerToken(apiKey),
        HttpClientRequest.setHeaders({
          ...(options.organizationId === undefined ? {} : { "openai-organization": options.organizationId }),
          ...(options.projectId === undefined ? {} : { "openai-project": options.projectId })
        })
      )
      const body = () => finishBody(recorded.payload, request, items, options, form, streamed)
      return yield* ProviderExchange.jsonBody(post, body, provider)
    })

    const client = ProviderExchange.make({
      provider,
      model: options.model,
      settings: options.settings,
      http,
      redact,
      encode,
      decoder: () => OpenAiResponses.make()
    })
    return ContentSupport.wrap({ accepts: options.accepts })(
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
 * import { OpenAi } from "effect-lexigram/provider"
 *
 * const layer = Layer.unwrapEffect(
 *   Effect.map(Config.redacted("OPENAI_API_KEY"), (apiKey) => OpenAi.layer({ apiKey, model: "gpt-4.1-mini" }))
 * ).pipe(Layer.provide(FetchHttpClient.layer))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<LlmClient, LlmConfigurationError, HttpClient.HttpClient> =>
  Layer.effect(LlmClient, Effect.map(make(options), CallGate.wrap))
