/**
 * A client for every server that speaks the chat-completions API: OpenAI, Azure, OpenRouter, Groq, DeepSeek, Ollama, vLLM, llama.cpp,
 * LM Studio and their like. What they differ in is a {@link ChatCompletionsDialect.Dialect}.
 *
 * @since 0.1.0
 */
import * as HttpBody from "@effect/platform/HttpBody"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { CompleteOptions, LlmRequest, OnParts, Service } from "../llm/LlmClient.js"
import { LlmClient } from "../llm/LlmClient.js"
import { LlmInvalidRequestError } from "../llm/LlmError.js"
import * as ModelSettings from "../llm/ModelSettings.js"
import * as ChatCompletionsAnswer from "./ChatCompletionsAnswer.js"
import * as ChatCompletionsDialect from "./ChatCompletionsDialect.js"
import * as ChatCompletionsRequest from "./ChatCompletionsRequest.js"
import * as LlmErrorClassifier from "./LlmErrorClassifier.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Name for telemetry and errors; `openai-compatible` by default. */
  readonly provider?: string | undefined
  /** Where `/chat/completions` hangs, `https://api.openai.com/v1` for instance. */
  readonly baseUrl: string
  readonly apiKey?: Redacted.Redacted<string> | undefined
  /** How the key is sent: `authorization: Bearer`, by default, or `api-key`. */
  readonly auth?: "bearer" | "api-key" | undefined
  /** Further headers; they win over the key's. */
  readonly headers?: { readonly [name: string]: string | Redacted.Redacted<string> } | undefined
  /** Parameters of the URL, such as Azure's `api-version`. */
  readonly query?: { readonly [name: string]: string | Redacted.Redacted<string> } | undefined
  /** The model of requests that name none. */
  readonly model?: string | undefined
  /** Settings of requests that do not set them. */
  readonly settings?: ModelSettings.ModelSettings | undefined
  /** What this server does differently from `ChatCompletionsDialect.standard`. */
  readonly dialect?: Partial<ChatCompletionsDialect.Dialect> | undefined
  /** The longest answer taken, in bytes; 32 MiB by default. */
  readonly maxResponseBytes?: number | undefined
  /** The longest event of a stream taken, in characters; 8 Mi by default. */
  readonly maxEventLength?: number | undefined
}

const defaultMaxResponseBytes = 32 * 1024 * 1024
const defaultMaxEventLength = 8 * 1024 * 1024

const reveal = (value: string | Redacted.Redacted<string>): string =>
  typeof value === "string" ? value : Redacted.value(value)

const credential = /auth|key|token|secret|cookie|password|signature/i

/** Everything of the options that must never be shown, even where it was given as a plain string. */
const secretsOf = (options: Options): ReadonlyArray<Redacted.Redacted<string>> => {
  const secrets: Array<Redacted.Redacted<string>> = []
  const add = (value: string) => {
    const trimmed = value.trim()
    if (trimmed !== "") secrets.push(Redacted.make(trimmed))
  }
  if (options.apiKey !== undefined) add(Redacted.value(options.apiKey))
  for (const [name, value] of [...Object.entries(options.headers ?? {}), ...Object.entries(options.query ?? {})]) {
    if (typeof value !== "string") add(Redacted.value(value))
    else if (credential.test(name)) add(value.replace(/^(?:bearer|basic)\s+/i, ""))
  }
  return secrets
}

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** The request without its body, or what is wrong with the options. */
const prepare = (options: Options): HttpClientRequest.HttpClientRequest | string => {
  let url: URL
  try {
    url = new URL(options.baseUrl)
  } catch {
    return "The base URL is no URL"
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return "The base URL is neither http nor https"
  if (url.username !== "" || url.password !== "")
    return "The base URL holds credentials: pass them as apiKey or headers"
  url.pathname = `${url.pathname.replace(/\/+$/, "").replace(/\/chat\/completions$/, "")}/chat/completions`
  url.hash = ""
  for (const [name, value] of Object.entries(options.query ?? {})) url.searchParams.set(name, reveal(value))
  const headers: Record<string, string> = {}
  if (options.apiKey !== undefined) {
    const key = Redacted.value(options.apiKey).trim()
    if (options.auth === "api-key") headers["api-key"] = key
    else headers.authorization = `Bearer ${key}`
  }
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = reveal(value).trim()
  for (const [name, value] of Object.entries(headers)) {
    if (!headerName.test(name)) return "The name of a header holds characters that no header may hold"
    if (!headerValue.test(value)) return `The header ${name} holds characters that no header may hold`
  }
  return HttpClientRequest.post(url, { headers })
}

const invalid = (provider: string, message: string, hint: string): LlmInvalidRequestError =>
  new LlmInvalidRequestError({ provider, message, hint })

/**
 * A client of one server. It needs no key for servers that ask for none. Nothing is retried and nothing times out here: wrappers do.
 * The trace does not reach the server, and no header reaches a span or an error.
 *
 * @example
 * ```ts
 * import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
 * import * as Effect from "effect/Effect"
 * import { ChatCompletions, ChatCompletionsDialect } from "effect-lexigram"
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
  Effect.map(HttpClient.HttpClient, (httpClient): Service => {
    const provider = options.provider ?? "openai-compatible"
    const dialect = { ...ChatCompletionsDialect.standard, ...options.dialect }
    const defaults = options.settings ?? ModelSettings.empty
    const defaultModel = defaults.model ?? options.model
    const redact = secretsOf(options)
    const prepared = prepare(options)
    const http = httpClient.pipe(
      HttpClient.withTracerPropagation(false),
      HttpClient.withTracerDisabledWhen(() => true),
      HttpClient.withScope
    )

    const exchange = Effect.fnUntraced(function* (
      request: HttpClientRequest.HttpClientRequest,
      call: ChatCompletionsAnswer.Call,
      onParts: OnParts | undefined
    ) {
      const response = yield* Effect.mapError(http.execute(request), (error) =>
        LlmErrorClassifier.fromTransport({ provider, model: call.model, error, redact })
      )
      return yield* ChatCompletionsAnswer.read({ response, call, onParts })
    }, Effect.scoped)

    const complete = Effect.fnUntraced(function* (request: LlmRequest, completeOptions?: CompleteOptions | undefined) {
      if (typeof prepared === "string") return yield* invalid(provider, prepared, "Check the options of the client.")
      const settings = ModelSettings.merge(defaults, request.settings)
      const model = settings.model ?? defaultModel
      if (model === undefined || model === "") {
        return yield* invalid(
          provider,
          "No model was named",
          "Set model in the options of the client, or in the settings of the request."
        )
      }
      const onParts = completeOptions?.onParts
      const body = yield* Effect.try({
        try: () =>
          JSON.stringify(
            ChatCompletionsRequest.encode(request, {
              dialect,
              provider,
              model,
              settings,
              stream: onParts !== undefined
            })
          ),
        catch: () =>
          invalid(
            provider,
            "The request cannot be written as JSON",
            "Messages, tools and settings have to be plain data."
          )
      })
      const call: ChatCompletionsAnswer.Call = {
        provider,
        model,
        redact,
        maxResponseBytes: options.maxResponseBytes ?? defaultMaxResponseBytes,
        maxEventLength: options.maxEventLength ?? defaultMaxEventLength
      }
      const withBody = HttpClientRequest.setBody(prepared, HttpBody.text(body, "application/json"))
      return yield* exchange(withBody, call, onParts)
    })

    return { provider, ...(defaultModel === undefined ? {} : { model: defaultModel }), complete }
  })

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<LlmClient, never, HttpClient.HttpClient> =>
  Layer.effect(LlmClient, make(options))
