/**
 * Chooses the tools that look things up, and the parameter that takes the query.
 *
 * @since 0.1.0
 * @private
 */

import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Nearest from "../../internal/text/Nearest.js"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import type { Bound } from "../../tool/definition/ToolSet.js"
import { StrategyConfigurationError } from "../definition/StrategyError.js"

/** A tool, and the parameter that takes the query. */
export interface Retriever {
  readonly tool: string
  readonly parameter: string
}

const searching = /search|retriev|look_?up|find|query|browse|wiki/i

const preferred = ["query", "q", "search", "question", "keywords", "term", "topic", "text", "input", "subject"]

type Fields = { readonly [key: string]: unknown }

const refersTo = (schema: unknown, root: JsonSchema): unknown => {
  const reference = Predicate.isReadonlyRecord(schema) ? schema["$ref"] : undefined
  if (typeof reference !== "string") return schema
  const [, , name] = reference.split("/")
  const definitions = root["$defs"] ?? root["definitions"]
  return name !== undefined && Predicate.isReadonlyRecord(definitions) && Object.hasOwn(definitions, name)
    ? definitions[name]
    : undefined
}

const takesText = (schema: unknown, root: JsonSchema): boolean => {
  const resolved = refersTo(schema, root)
  if (!Predicate.isReadonlyRecord(resolved) || "enum" in resolved || "const" in resolved) return false
  const { anyOf, type } = resolved
  if (Array.isArray(anyOf)) return anyOf.some((one) => takesText(one, root))
  return type === "string" || (Array.isArray(type) && type.includes("string"))
}

interface Shape {
  readonly required: ReadonlyArray<string>
  readonly texts: ReadonlyArray<string>
}

const shapeOf = (parameters: JsonSchema): Shape => {
  const { properties, required } = parameters
  const all = Predicate.isReadonlyRecord(properties) ? Object.keys(properties) : []
  return {
    required: Array.isArray(required) ? required.filter((name) => typeof name === "string") : [],
    texts: all.filter((name) => takesText((properties as Fields)[name], parameters))
  }
}

/** The parameter for the query: the only required text, else the one with a matching name. */
const parameterOf = ({ required, texts }: Shape): string | undefined => {
  const [only, ...others] = required
  if (others.length > 0) return undefined
  if (only !== undefined) return texts.includes(only) ? only : undefined
  return preferred.find((name) => texts.includes(name)) ?? texts[0]
}

const wrong = (message: string, hint: string): Either.Either<never, StrategyConfigurationError> =>
  Either.left(new StrategyConfigurationError({ strategyName: "storm", option: "retrieval", message, hint }))

/**
 * The tools to use: those named, else all that take a single text, and all named like a search that need only a query.
 */
export const choose = (
  tools: Bound,
  named: ReadonlyArray<string> | undefined
): Either.Either<ReadonlyArray<Retriever>, StrategyConfigurationError> => {
  if (named === undefined) {
    const found: Array<Retriever> = []
    for (const { name, parameters } of tools.tools) {
      const shape = shapeOf(parameters)
      const parameter = parameterOf(shape)
      if (parameter === undefined) continue
      if (shape.texts.length === 1 || searching.test(name)) found.push({ tool: name, parameter })
    }
    return Either.right(found)
  }
  const found = new Map<string, Retriever>()
  for (const name of named) {
    const tool = tools.get(name)
    if (tool === undefined) {
      const names = tools.tools.map((one) => one.name)
      const near = Nearest.nearest(name, names)
      return wrong(
        `There is no tool named ${JSON.stringify(name.slice(0, 64))} to retrieve with`,
        `${near === undefined ? "" : `Did you mean "${near}"? `}Tools of the task: ${names.slice(0, 50).join(", ") || "none"}`
      )
    }
    const parameter = parameterOf(shapeOf(tool.parameters))
    if (parameter === undefined) {
      return wrong(
        `Tool "${tool.name}" cannot be called with a query alone`,
        "Name tools that require one text and nothing else"
      )
    }
    found.set(tool.name, { tool: tool.name, parameter })
  }
  return Either.right([...found.values()])
}
