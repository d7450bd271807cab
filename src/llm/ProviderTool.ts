/**
 * Tools that a provider runs itself: web search, code execution, search in stored files, and whatever else it has.
 *
 * They are a setting of models (`settings.providerTools`): of a client, a role, an agent, a run or one step. Their
 * calls and results come with the answer, are events (`ProviderToolUsed`), stay in the conversation, and cost money.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as LlmClient from "./model/LlmClient.js"
import { LlmUnsupportedFeatureError } from "./model/LlmError.js"
import * as ModelSettings from "./model/ModelSettings.js"

/**
 * @since 0.1.0
 * @category models
 */
export type ProviderTool = ModelSettings.ProviderTool

/**
 * @since 0.1.0
 * @category models
 */
export interface WebSearch {
  /** The most searches of one call. At OpenAI the most calls of all such tools. */
  readonly maxUses?: number | undefined
  readonly allowedDomains?: ReadonlyArray<string> | undefined
  readonly blockedDomains?: ReadonlyArray<string> | undefined
  readonly userLocation?:
    | {
        readonly city?: string | undefined
        readonly region?: string | undefined
        /** Two letters. */
        readonly country?: string | undefined
        readonly timezone?: string | undefined
      }
    | undefined
  /** Its price in US dollars. Default: that of `prices`. */
  readonly usdPerCall?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface FileSearch {
  /** The vector stores of OpenAI, or the file search stores of Gemini. */
  readonly stores: ReadonlyArray<string>
  readonly maxResults?: number | undefined
  readonly usdPerCall?: number | undefined
}

const make = (
  tool: string,
  { usdPerCall, ...options }: { readonly usdPerCall?: number | undefined },
  provider?: string
): ProviderTool => ({
  tool,
  ...(provider === undefined ? {} : { provider }),
  ...(Object.keys(options).length === 0 ? {} : { options }),
  ...(usdPerCall === undefined ? {} : { usdPerCall })
})

/**
 * Searches the web: at OpenAI's Responses, Anthropic and Gemini.
 *
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { ProviderTool } from "effect-lexigram/llm"
 *
 * const reporter = Agent.make("reporter", {
 *   settings: { providerTools: [ProviderTool.webSearch({ allowedDomains: ["example.com"] })] }
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const webSearch = (options: WebSearch = {}): ProviderTool => make("web_search", options)

/**
 * Runs code in the provider's sandbox: at OpenAI's Responses, Anthropic and Gemini.
 *
 * @since 0.1.0
 * @category constructors
 */
export const codeExecution = (options: { readonly usdPerCall?: number | undefined } = {}): ProviderTool =>
  make("code_execution", options)

/**
 * Searches files that the provider stores: at OpenAI's Responses and Gemini.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fileSearch = (options: FileSearch): ProviderTool => make("file_search", options)

/**
 * Any other tool of one provider, as it wants it: at `anthropic` and `openai` an entry of `tools`, with `options` as
 * its other fields; through `AiSdkModel` the id after the provider's name (`web_fetch_20250910` of `anthropic`), with
 * `options` as its arguments.
 *
 * @since 0.1.0
 * @category constructors
 */
export const of = (
  provider: string,
  tool: string,
  given: {
    readonly options?: { readonly [key: string]: unknown } | undefined
    readonly usdPerCall?: number | undefined
  } = {}
): ProviderTool => make(tool, { ...given.options, usdPerCall: given.usdPerCall }, provider)

/**
 * US dollars per call, as providers publish them, by `provider/tool`. Tools that are billed by time count as their
 * shortest session.
 *
 * @since 0.1.0
 * @category constants
 */
export const prices: { readonly [tool: string]: number } = {
  "anthropic/web_search": 0.01,
  "anthropic/code_execution": 0.0042,
  "openai/web_search": 0.01,
  "openai/code_execution": 0.03,
  "openai/file_search": 0.0025,
  "google/web_search": 0.035,
  "google/code_execution": 0,
  "google/file_search": 0
}

const priceOf = (provider: string, name: string, tools: ReadonlyArray<ProviderTool>): number | undefined =>
  tools.find(({ tool }) => tool === name)?.usdPerCall ?? prices[`${provider}/${name}`]

/** Gemini tells its searches beside the answer. */
const searchesOf = ({ metadata }: LlmClient.LlmResponse): number => {
  const google = metadata?.google as
    | { readonly groundingMetadata?: { readonly webSearchQueries?: unknown } }
    | undefined
  const queries = google?.groundingMetadata?.webSearchQueries
  return Array.isArray(queries) && queries.length > 0 ? 1 : 0
}

const namesOf = (response: LlmClient.LlmResponse): ReadonlyArray<string> => [
  ...response.content.flatMap((part) =>
    part.type === "tool-call" && part.providerExecuted === true ? [part.name] : []
  ),
  ...new Array<string>(searchesOf(response)).fill("web_search")
]

const withUsage = (
  response: LlmClient.LlmResponse,
  provider: string,
  tools: ReadonlyArray<ProviderTool>
): LlmClient.LlmResponse => {
  const names = namesOf(response)
  if (names.length === 0) return response
  const costs = names.map((name) => priceOf(provider, name, tools))
  const isKnown = costs.every((cost) => cost !== undefined)
  const usd = isKnown ? { providerToolUsd: costs.reduce((sum, cost) => sum + cost, 0) } : {}
  return { ...response, usage: { ...response.usage, providerToolCalls: names.length, ...usd } }
}

/**
 * A client whose answers count the calls of provider tools in their usage. `settings` are those that the client adds to
 * requests, and `provider` is the name in `prices`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const counted =
  (options: { readonly provider: string; readonly settings?: ModelSettings.ModelSettings | undefined }) =>
  (inner: LlmClient.Service): LlmClient.Service => ({
    ...inner,
    complete: (request, given) => {
      const settings = ModelSettings.merge(options.settings ?? ModelSettings.empty, request.settings)
      return Effect.map(inner.complete(request, given), (response) =>
        withUsage(response, options.provider, settings.providerTools ?? [])
      )
    }
  })

/**
 * The error for a tool that a provider does not run.
 *
 * @since 0.1.0
 * @category constructors
 */
export const unsupported = (
  { model, provider }: { readonly provider: string; readonly model?: string | undefined },
  tool: string,
  message = `${model ?? "The model"} of ${provider} has no tool ${tool} of its own`
): LlmUnsupportedFeatureError =>
  new LlmUnsupportedFeatureError({
    provider,
    ...(model === undefined ? {} : { model }),
    feature: "provider-tool",
    message,
    hint: "Give the agent a tool of yours instead, or a model of a provider that runs it"
  })
