/**
 * Tools that a provider runs itself, as its package of the AI SDK takes them.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import type { LlmRequest } from "../../llm/model/LlmClient.js"
import type { LlmUnsupportedFeatureError } from "../../llm/model/LlmError.js"
import * as ProviderTool from "../../llm/ProviderTool.js"

interface Target {
  readonly provider: string
  readonly api?: string | undefined
  readonly model: string
}

/**
 * A tool in terms of the specification.
 *
 * @category models
 */
export interface Tool {
  readonly type: "provider"
  readonly id: string
  readonly name: string
  readonly args: { readonly [key: string]: unknown }
}

type Options = { readonly [key: string]: unknown }

const defined = (fields: Options): Options =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const location = ({ userLocation }: ProviderTool.WebSearch): Options =>
  userLocation === undefined ? {} : { userLocation: { type: "approximate", ...userLocation } }

/** The id of a tool after the name of its provider, and its arguments. */
type Made = readonly [id: string, args: Options]

const anthropic = (tool: string, options: Options): Made | undefined => {
  switch (tool) {
    case "web_search":
      return ["web_search_20250305", { ...options, ...location(options) }]
    case "code_execution":
      return ["code_execution_20250825", {}]
    default:
      return undefined
  }
}

const openAi = (tool: string, options: Options): Made | undefined => {
  const { allowedDomains, blockedDomains } = options as ProviderTool.WebSearch
  switch (tool) {
    case "web_search": {
      const filters = defined({ allowedDomains, blockedDomains })
      return [tool, { ...(Object.keys(filters).length === 0 ? {} : { filters }), ...location(options) }]
    }
    case "code_execution":
      return ["code_interpreter", {}]
    case "file_search":
      return [tool, defined({ vectorStoreIds: options.stores, maxNumResults: options.maxResults })]
    default:
      return undefined
  }
}

const google = (tool: string, options: Options): Made | undefined => {
  switch (tool) {
    case "web_search":
      // Gemini bounds and places no search: what it cannot keep is refused.
      return Object.keys(options).length === 0 ? ["google_search", {}] : undefined
    case "code_execution":
      return [tool, {}]
    case "file_search":
      return [tool, defined({ fileSearchStoreNames: options.stores, topK: options.maxResults })]
    default:
      return undefined
  }
}

const makers: { readonly [provider: string]: typeof google } = { anthropic, openai: openAi, azure: openAi, google }

const toolOf = (given: ProviderTool.ProviderTool, { api, provider }: Target): Tool | undefined => {
  const { options = {}, tool } = given
  if (given.provider !== undefined)
    return given.provider === provider
      ? { type: "provider", id: `${provider}.${tool}`, name: tool.replace(/_\d{8}$/, ""), args: options }
      : undefined
  const isChat = api === "chat" || api === "completion"
  const made = isChat ? undefined : makers[provider]?.(tool, options)
  const name = provider === "azure" ? "openai" : provider
  return made && { type: "provider", id: `${name}.${made[0]}`, name: tool, args: made[1] }
}

/** Gemini runs no tools of its own beside others before its third generation. */
const isAlone = ({ model, provider }: Target): boolean =>
  provider === "google" && !/gemini-(?:[3-9]|flash-latest|pro-latest)/.test(model)

/**
 * The tools of a request; fails for one that the provider does not run, or not beside the tools of the agent.
 *
 * @category conversions
 */
export const make = (
  request: LlmRequest,
  target: Target
): Either.Either<ReadonlyArray<Tool>, LlmUnsupportedFeatureError> => {
  const made: Array<Tool> = []
  for (const given of request.settings?.providerTools ?? []) {
    const tool = toolOf(given, target)
    if (tool === undefined) return Either.left(ProviderTool.unsupported(target, given.tool))
    if (request.tools?.some(({ name }) => name === tool.name) === true)
      return Either.left(
        ProviderTool.unsupported(target, tool.name, `A tool of the agent has the name of the provider's ${tool.name}`)
      )
    if (isAlone(target) && (request.tools ?? []).length > 0)
      return Either.left(
        ProviderTool.unsupported(target, tool.name, `${target.model} runs no tool of its own beside those of an agent`)
      )
    made.push(tool)
  }
  return Either.right(made)
}

/**
 * Options of a provider that bound its tools.
 *
 * @category conversions
 */
export const boundsOf = (request: LlmRequest, { provider }: { readonly provider: string }): Options => {
  const bounds = (request.settings?.providerTools ?? []).flatMap(({ options }) =>
    typeof options?.maxUses === "number" ? [options.maxUses] : []
  )
  return bounds.length > 0 && (provider === "openai" || provider === "azure")
    ? { maxToolCalls: Math.min(...bounds) }
    : {}
}
