/**
 * What only some servers of chat completions have or need, loaded by the calls that do: strict schemas, schemas of JSON
 * output in the system message, and levels and budgets of reasoning.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as CachedContent from "../../llm/CachedContent.js"
import type { JsonSchema, ResponseFormat } from "../../llm/model/LlmClient.js"
import type { LlmUnsupportedFeatureError } from "../../llm/model/LlmError.js"
import type { ModelSettings } from "../../llm/model/ModelSettings.js"
import * as ProviderTool from "../../llm/ProviderTool.js"
import * as ReasoningLevels from "../exchange/ReasoningLevels.js"
import type { Dialect } from "./ChatCompletionsDialect.js"
import type { Asked } from "./ChatCompletionsReasoning.js"

type JsonFormat = Extract<ResponseFormat, { readonly type: "json" }>

type Fields = Asked["fields"]

const levelFields = (effort: string, summary: boolean | undefined, { reasoningEffort }: Dialect): Fields => {
  switch (reasoningEffort) {
    case "none":
      return {}
    case "reasoning":
      return { reasoning: { effort, ...(summary === undefined ? {} : { exclude: !summary }) } }
    case "reasoning_effort":
      return { reasoning_effort: effort }
  }
}

const budgetFields = (tokens: number, summary: boolean | undefined, budget: Dialect["reasoningBudget"]): Fields => {
  if (budget === undefined) return {}
  if (budget === "reasoning")
    return { reasoning: { max_tokens: tokens, ...(summary === undefined ? {} : { exclude: !summary }) } }
  if (typeof budget === "object") return { [budget.field]: tokens }
  const shown = summary === undefined ? {} : { include_thoughts: summary }
  return { extra_body: { google: { thinking_config: { thinking_budget: tokens, ...shown } } } }
}

/**
 * The fields for some settings; fails for a budget that the server does not take, for tools of its own and for content
 * that it keeps.
 *
 * @since 0.1.0
 * @category encoding
 */
export const reasoning = (
  settings: ModelSettings,
  dialect: Dialect,
  target: ReasoningLevels.Target
): Either.Either<Asked, LlmUnsupportedFeatureError> => {
  const refused = CachedContent.check(settings, target)
  if (refused !== undefined) return Either.left(refused)
  const [tool] = settings.providerTools ?? []
  if (tool !== undefined) return Either.left(ProviderTool.unsupported(target, tool.tool))
  const { budgetTokens, effort, summary } = ReasoningLevels.wishOf(settings) ?? {}
  if (budgetTokens !== undefined) {
    const { reasoningBudget } = dialect
    return reasoningBudget === undefined
      ? Either.left(ReasoningLevels.noBudget(target))
      : Either.right({ fields: budgetFields(budgetTokens, summary, reasoningBudget), isOff: false })
  }
  const levels =
    dialect.reasoningLevels ?? (dialect.reasoningModels ? ReasoningLevels.openAiLevels(target.model) : undefined)
  const level = effort === undefined ? undefined : ReasoningLevels.nearest(effort, levels)
  return Either.right({
    fields: level === undefined ? {} : levelFields(level, summary, dialect),
    isOff: level === "none"
  })
}

const maxStrictDepth = 64
const strictKeywords = new Set(
  "$schema $ref $defs definitions type title description properties required additionalProperties items anyOf enum const pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems".split(
    " "
  )
)

/** OpenAI's rules for strict schemas: every object closed, every property required, and no keyword but these. */
const satisfiesStrict = (schema: unknown, depth = 0): boolean => {
  if (depth > maxStrictDepth || typeof schema !== "object" || schema === null || Array.isArray(schema)) return false
  const { additionalProperties, anyOf, items, properties, required, type, ...rest } = schema as JsonSchema
  if (!Object.keys(schema).every((keyword) => strictKeywords.has(keyword))) return false
  if (anyOf !== undefined) return Array.isArray(anyOf) && anyOf.every((member) => satisfiesStrict(member, depth + 1))
  for (const key of ["$defs", "definitions"]) {
    const definitions = rest[key]
    if (definitions === undefined) continue
    if (typeof definitions !== "object" || definitions === null) return false
    if (!Object.values(definitions).every((member) => satisfiesStrict(member, depth + 1))) return false
  }
  if (typeof rest.$ref === "string") return true
  const types = Array.isArray(type) ? type : [type]
  if (types.includes("object")) {
    if (additionalProperties !== false || typeof properties !== "object" || properties === null) return false
    const names = Object.keys(properties)
    if (!Array.isArray(required) || !names.every((name) => required.includes(name))) return false
    if (!Object.values(properties).every((member) => satisfiesStrict(member, depth + 1))) return false
  }
  if (types.includes("array") && !satisfiesStrict(items, depth + 1)) return false
  return type !== undefined || Array.isArray(rest.enum) || rest.const !== undefined
}

const strictness = new WeakMap<JsonSchema, boolean>()

/**
 * @since 0.1.0
 * @category guards
 */
export const isStrict = (schema: JsonSchema): boolean => {
  const known = strictness.get(schema)
  if (known !== undefined) return known
  const result = schema.type === "object" && satisfiesStrict(schema)
  strictness.set(schema, result)
  return result
}

const schemaInstruction = (format: JsonFormat): string =>
  [
    "Reply with a single JSON value and nothing around it: no prose, no code fence.",
    ...(format.description === undefined ? [] : [`The value is: ${format.description}`]),
    `It has to validate against this JSON Schema: ${JSON.stringify(format.schema)}`
  ].join("\n")

/**
 * Puts the schema of JSON output into the system message.
 *
 * @since 0.1.0
 * @category encoding
 */
export const instruct = (
  messages: ReadonlyArray<Fields>,
  format: JsonFormat,
  systemRole: string
): ReadonlyArray<Fields> => {
  const text = schemaInstruction(format)
  const first = messages[0]
  return first !== undefined && first.role === systemRole
    ? [{ ...first, content: `${String(first.content)}\n\n${text}` }, ...messages.slice(1)]
    : [{ role: systemRole, content: text }, ...messages]
}
