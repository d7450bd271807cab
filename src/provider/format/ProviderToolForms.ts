/**
 * Tools that a provider runs itself, in the bodies of Anthropic and OpenAI's Responses.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import type { LlmRequest } from "../../llm/model/LlmClient.js"
import type { LlmUnsupportedFeatureError } from "../../llm/model/LlmError.js"
import * as ProviderTool from "../../llm/ProviderTool.js"
import type { Json } from "../exchange/WireDecoder.js"

/**
 * The entries of `tools`, and what else the body or its headers need for them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Form {
  readonly tools: ReadonlyArray<Json>
  readonly fields: Json
  readonly betas: ReadonlyArray<string>
}

type Made = Either.Either<Form, LlmUnsupportedFeatureError>

interface Target {
  readonly provider: string
  readonly model: string
}

const defined = (fields: Json): Json =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const located = (options: ProviderTool.WebSearch): Json =>
  options.userLocation === undefined ? {} : { user_location: { type: "approximate", ...options.userLocation } }

const toolsOf = ({ settings }: LlmRequest): ReadonlyArray<ProviderTool.ProviderTool> => settings?.providerTools ?? []

/** The first tool that this provider does not run. */
const strange = (
  request: LlmRequest,
  target: Target,
  known: ReadonlyArray<string>
): LlmUnsupportedFeatureError | undefined => {
  const { provider } = target
  for (const tool of toolsOf(request)) {
    const isKnown = tool.provider === undefined ? known.includes(tool.tool) : tool.provider === provider
    if (!isKnown) return ProviderTool.unsupported(target, tool.tool)
    if (request.tools?.some(({ name }) => name === tool.tool) === true)
      return ProviderTool.unsupported(
        target,
        tool.tool,
        `A tool of the agent has the name of the provider's ${tool.tool}`
      )
  }
  return undefined
}

/**
 * @since 0.1.0
 * @category encoding
 */
export const anthropic = (request: LlmRequest, target: Target): Made => {
  const refused = strange(request, target, ["web_search", "code_execution"])
  if (refused !== undefined) return Either.left(refused)
  const betas = new Set<string>()
  const tools = toolsOf(request).map(({ options = {}, provider, tool }): Json => {
    if (provider !== undefined) return { type: tool, ...options }
    if (tool === "code_execution") {
      betas.add("code-execution-2025-08-25")
      return { type: "code_execution_20250825", name: tool }
    }
    const given = options as ProviderTool.WebSearch
    return defined({
      type: "web_search_20250305",
      name: tool,
      max_uses: given.maxUses,
      allowed_domains: given.allowedDomains,
      blocked_domains: given.blockedDomains,
      ...located(given)
    })
  })
  return Either.right({ tools, fields: {}, betas: Array.from(betas) })
}

/** What OpenAI tells of the calls of its tools only if it is asked to. */
const included: { readonly [tool: string]: string } = {
  web_search: "web_search_call.action.sources",
  code_execution: "code_interpreter_call.outputs",
  file_search: "file_search_call.results"
}

const openAiTool = ({ options = {}, provider, tool }: ProviderTool.ProviderTool): Json => {
  if (provider !== undefined) return { type: tool, ...options }
  switch (tool) {
    case "code_execution":
      return { type: "code_interpreter", container: { type: "auto" } }
    case "file_search": {
      const { maxResults, stores } = options as unknown as ProviderTool.FileSearch
      return defined({ type: tool, vector_store_ids: stores, max_num_results: maxResults })
    }
    default: {
      const given = options as ProviderTool.WebSearch
      const filters = defined({ allowed_domains: given.allowedDomains, blocked_domains: given.blockedDomains })
      return { type: tool, ...(Object.keys(filters).length === 0 ? {} : { filters }), ...located(given) }
    }
  }
}

/**
 * @since 0.1.0
 * @category encoding
 */
export const openAi = (request: LlmRequest, target: Target): Made => {
  const refused = strange(request, target, Object.keys(included))
  if (refused !== undefined) return Either.left(refused)
  const given = toolsOf(request)
  const include = given.flatMap(({ provider, tool }) => (provider === undefined ? [included[tool]] : []))
  const bounds = given.flatMap(({ options }) => (typeof options?.maxUses === "number" ? [options.maxUses] : []))
  return Either.right({
    tools: given.map(openAiTool),
    fields: {
      ...(include.length === 0 ? {} : { include }),
      ...(bounds.length === 0 ? {} : { max_tool_calls: Math.min(...bounds) })
    },
    betas: []
  })
}
