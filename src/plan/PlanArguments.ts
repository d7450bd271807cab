/**
 * Arguments of planned tool calls: finds and replaces references to results, and assigns values to parameters.
 *
 * @since 0.1.0
 * @private
 */
import * as Predicate from "effect/Predicate"
import * as Observation from "../tool/definition/Observation.js"
import type { Bound } from "../tool/definition/ToolSet.js"

export type Schema = { readonly [key: string]: unknown }

/** A notation for references. `pattern` is global; `idOf` returns the name of the task. */
export interface Grammar {
  readonly pattern: RegExp
  readonly idOf: (match: RegExpMatchArray) => string
}

/** The ids that a value refers to at any depth, each once, in order. */
export const references = (value: unknown, grammar: Grammar): ReadonlyArray<string> => {
  const found = new Set<string>()
  const visit = (item: unknown): void => {
    if (typeof item === "string") {
      for (const match of item.matchAll(grammar.pattern)) found.add(grammar.idOf(match))
    } else if (Array.isArray(item)) item.forEach(visit)
    else if (Predicate.isReadonlyRecord(item)) Object.values(item).forEach(visit)
  }
  visit(value)
  return Array.from(found)
}

/** The resolution of a reference: a value, nothing (`missing`), or not a reference (`text`). */
export type Found = { readonly _tag: "value"; readonly value: unknown } | { readonly _tag: "missing" | "text" }

/**
 * Replaces the references in a value: one that is a whole string by the value itself, one inside a string by its text.
 * Inserted values are not searched again. `missing` are the ids without a value; the result is then invalid.
 */
export const substitute = (
  value: unknown,
  grammar: Grammar,
  find: (id: string) => Found
): { readonly value: unknown; readonly missing: ReadonlyArray<string> } => {
  const missing = new Set<string>()
  const inText = (text: string): unknown => {
    let whole: Found | undefined
    let result = ""
    let from = 0
    for (const match of text.matchAll(grammar.pattern)) {
      const id = grammar.idOf(match)
      const found = find(id)
      if (found._tag === "missing") missing.add(id)
      if (found._tag !== "value") continue
      if (match[0].length === text.trim().length) whole = found
      result += text.slice(from, match.index) + textOf(found.value)
      from = (match.index ?? 0) + match[0].length
    }
    return whole?._tag === "value" ? whole.value : result + text.slice(from)
  }
  const visit = (item: unknown): unknown => {
    if (typeof item === "string") return inText(item)
    if (Array.isArray(item)) return item.map(visit)
    if (Predicate.isReadonlyRecord(item))
      return Object.fromEntries(Object.entries(item).map(([key, inner]) => [key, visit(inner)]))
    return item
  }
  return { value: visit(value), missing: Array.from(missing) }
}

/** A value as text. */
export const textOf = (value: unknown): string => Observation.stringify(value) ?? String(value)

const propertiesOf = (schema: Schema): { readonly [name: string]: unknown } =>
  Predicate.isReadonlyRecord(schema["properties"]) ? schema["properties"] : {}

/** The parameters of a tool in the order of its schema. */
export const parameterNames = (schema: Schema): ReadonlyArray<string> => Object.keys(propertiesOf(schema))

const number = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/

/**
 * Converts a value to the type of its place if only the notation differs: results arrive as text, numbers as words.
 */
const fit = (value: unknown, schema: unknown, depth: number): unknown => {
  if (!Predicate.isReadonlyRecord(schema) || value === null || value === undefined || depth > 8) return value
  switch (schema["type"]) {
    case "string":
      return typeof value === "string" ? value : textOf(value)
    case "number":
    case "integer":
      return typeof value === "string" && number.test(value.trim()) ? Number(value) : value
    case "array":
      return Array.isArray(value) ? value.map((item) => fit(item, schema["items"], depth + 1)) : value
    case "object":
      return Predicate.isReadonlyRecord(value) ? fitFields(value, schema, depth + 1) : value
    default:
      return value
  }
}

const fitFields = (fields: { readonly [name: string]: unknown }, schema: Schema, depth: number): unknown => {
  const properties = propertiesOf(schema)
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      fit(value, Object.hasOwn(properties, name) ? properties[name] : undefined, depth)
    ])
  )
}

/**
 * Named arguments given as an object in the place of the first parameter, if all its keys are parameters and that
 * parameter takes no object.
 */
const isNamed = (value: unknown, schema: Schema): value is { readonly [name: string]: unknown } => {
  if (!Predicate.isReadonlyRecord(value)) return false
  const properties = propertiesOf(schema)
  const names = Object.keys(properties)
  const first = names[0] === undefined ? undefined : properties[names[0]]
  if (Predicate.isReadonlyRecord(first) && first["type"] === "object") return false
  return Object.keys(value).every((key) => Object.hasOwn(properties, key))
}

/** Positional and named arguments as the parameters of a tool. Positions follow the order of its schema. */
export const toParams = (
  schema: Schema,
  args: ReadonlyArray<unknown>,
  named: { readonly [name: string]: unknown } = {}
): unknown => {
  const names = parameterNames(schema)
  const [first] = args
  if (args.length === 1 && Predicate.isReadonlyRecord(first) && (names.length === 0 || isNamed(first, schema))) {
    return fitFields({ ...first, ...named }, schema, 0)
  }
  if (names.length === 0) return args.length === 0 ? named : args.length === 1 ? first : args
  const positional = args.slice(0, names.length).map((value, index) => [names[index] as string, value] as const)
  return fitFields({ ...Object.fromEntries(positional), ...named }, schema, 0)
}

const typeOf = (schema: unknown): string => {
  if (!Predicate.isReadonlyRecord(schema)) return "any"
  const { enum: values, type } = schema
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" | ")
  if (type === "array") return `list of ${typeOf(schema["items"])}`
  return typeof type === "string" ? type : Array.isArray(type) ? type.join(" | ") : "any"
}

const described = new WeakMap<Bound["definitions"], string>()

/**
 * Describes tools for planners: how to call them, what they do, what they take. Made once per set of definitions.
 */
export const describeTools = ({ definitions }: Bound): string => {
  let text = described.get(definitions)
  if (text === undefined) {
    text = definitions
      .map(({ description, name, parameters }) => {
        const properties = propertiesOf(parameters as Schema)
        const required = (parameters as Schema)["required"]
        const signature = Object.entries(properties)
          .map(
            ([key, schema]) =>
              `${key}${Array.isArray(required) && required.includes(key) ? "" : "?"}: ${typeOf(schema).slice(0, 200)}`
          )
          .join(", ")
        return `- ${name}(${signature}): ${description.replace(/\s+/g, " ")}\n  Parameters: ${JSON.stringify(parameters)}`
      })
      .join("\n")
    described.set(definitions, text)
  }
  return text === "" ? "There are no tools." : text
}
