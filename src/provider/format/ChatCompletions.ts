/**
 * A client for every server with the chat-completions API: OpenAI, Azure, OpenRouter, Groq, DeepSeek, Ollama, vLLM,
 * llama.cpp, LM Studio and others. A {@link ChatCompletionsDialect.Dialect} describes their differences.
 *
 * @since 0.1.0
 */
import * as HttpBody from "@effect/platform/HttpBody"
import type * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as ToolFiles from "../../content/ToolFiles.js"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as CallGate from "../../llm/model/CallGate.js"
import type { CompleteOptions, LlmRequest, Service } from "../../llm/model/LlmClient.js"
import { LlmClient } from "../../llm/model/LlmClient.js"
import { LlmInvalidRequestError } from "../../llm/model/LlmError.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as ClientTransport from "../exchange/ClientTransport.js"
import * as ProviderEndpoint from "../exchange/ProviderEndpoint.js"
import * as ChatCompletionsAnswer from "./ChatCompletionsAnswer.js"
import * as ChatCompletionsDialect from "./ChatCompletionsDialect.js"
import * as ChatCompletionsRequest from "./ChatCompletionsRequest.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The name in telemetry and errors; default `openai-compatible`. */
  readonly provider?: string | undefined
  /** The parent of `/chat/completions`, such as `https://api.openai.com/v1`. */
  readonly baseUrl: string
  readonly apiKey?: Redacted.Redacted<string> | undefined
  /** The header of the key: `authorization: Bearer` (default) or `api-key`. */
  readonly auth?: "bearer" | "api-key" | undefined
  /** Further headers; they override that of the key. */
  readonly headers?: { readonly [name: string]: string | Redacted.Redacted<string> } | undefined
  /** Query parameters, such as Azure's `api-version`. */
  readonly query?: { readonly [name: string]: string | Redacted.Redacted<string> } | undefined
  /** The model of requests that name none. */
  readonly model?: string | undefined
  /** Settings of requests that do not set them. */
  readonly settings?: ModelSettings.ModelSettings | undefined
  /** How this server differs from `ChatCompletionsDialect.standard`. */
  readonly dialect?: Partial<ChatCompletionsDialect.Dialect> | undefined
  /** Media types of files that the models take. Default: what `ContentSupport.table` says. */
  readonly accepts?: ReadonlyArray<string> | undefined
  /** Media types that the server fetches by their URL. Default `image/*`. */
  readonly urls?: ReadonlyArray<string> | undefined
  /** The maximum bytes of an answer; default 32 MiB. */
  readonly maxResponseBytes?: number | undefined
  /** The maximum characters of a stream event; default 8 Mi. */
  readonly maxEventLength?: number | undefined
}

const defaultMaxResponseBytes = 32 * 1024 * 1024
const defaultMaxEventLength = 8 * 1024 * 1024

const contentSupport = OnDemand.make(() => import("../../llm/ContentSupport.js"))
const extensions = OnDemand.make(() => import("./ChatCompletionsExtensions.js"))

const images = ["image/*"]

const invalid = (provider: string, message: string, hint: string): LlmInvalidRequestError =>
  new LlmInvalidRequestError({ provider, message, hint })

/**
 * A client of one server. Servers that need no key get none. It neither retries nor times out: wrappers do. The trace
 * does not reach the server, and no header reaches a span or an error.
 *
 * @example
 * ```ts
 * import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
 * import * as Effect from "effect/Effect"
 * import { ChatCompletions, ChatCompletionsDialect } from "effect-lexigram/provider"
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* ChatCompletions.make({ ...ChatCompletionsDialect.ollama, model: "qwen3" })
 *   return yield* client.complete({ messages: [{ role: "user", content: "Hello" }] })
 * }).pipe(Effect.provide(FetchHttpClient.layer))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<Service, never, HttpClient.HttpClient> =>
  Effect.map(ClientTransport.fromContext, (http): Service => {
    const provider = options.provider ?? "openai-compatible"
    const dialect = { ...ChatCompletionsDialect.standard, ...options.dialect }
    const defaults = options.settings ?? ModelSettings.empty
    const defaultModel = defaults.model ?? options.model
    const redact = ProviderEndpoint.secretsOf(options)
    const prepared = ProviderEndpoint.post(options, "/chat/completions")

    const complete = Effect.fnUntraced(function* (request: LlmRequest, completeOptions?: CompleteOptions | undefined) {
      if (typeof prepared === "string") return yield* invalid(provider, prepared, "Check the options of the client.")
      const settings = ModelSettings.merge(defaults, request.settings)
      const model = settings.model ?? defaultModel
      if (model === undefined || model === "") {
        return yield* invalid(
          provider,
          "No model is set",
          "Set model in the options of the client, or in the settings of the request."
        )
      }
      const extended =
        dialect.strictSchemas ||
        dialect.jsonMode !== "json_schema" ||
        settings.reasoning ||
        settings.providerTools ||
        settings.promptCache
          ? yield* extensions
          : undefined
      const reasoning =
        extended === undefined ? undefined : yield* extended.reasoning(settings, dialect, { provider, model })
      const onParts = completeOptions?.onParts
      const fitting = request.messages.some(ToolFiles.hasFiles)
        ? yield* Effect.flatMap(contentSupport, ({ fit }) =>
            fit(request, { provider, model }, { accepts: options.accepts, urls: options.urls ?? images })
          )
        : request
      const body = yield* Effect.try({
        try: () =>
          ChatCompletionsRequest.toText(
            ChatCompletionsRequest.encode(fitting, {
              dialect,
              provider,
              model,
              settings,
              stream: onParts !== undefined,
              reasoning,
              isStrict: dialect.strictSchemas ? extended?.isStrict : undefined,
              instruct: dialect.jsonMode === "json_schema" ? undefined : extended?.instruct
            })
          ),
        catch: () =>
          invalid(provider, "The request cannot be written as JSON", "Messages, tools and settings must be plain data.")
      })
      const call: ChatCompletionsAnswer.Call = {
        provider,
        model,
        redact,
        maxResponseBytes: options.maxResponseBytes ?? defaultMaxResponseBytes,
        maxEventLength: options.maxEventLength ?? defaultMaxEventLength
      }
      const withBody = HttpClientRequest.setBody(prepared, HttpBody.text(body, "application/json"))
      return yield* ChatCompletionsAnswer.read({ http, request: withBody, call, handed: completeOptions ?? {} })
    })

    return { provider, ...(defaultModel === undefined ? {} : { model: defaultModel }), complete }
  })

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<LlmClient, never, HttpClient.HttpClient> =>
  Layer.effect(LlmClient, Effect.map(make(options), CallGate.wrap))
