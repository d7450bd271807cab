/** What a form can be made of, read from a JSON Schema that anybody may have written. */

export type Schema = Readonly<Record<string, unknown>>

export interface Member {
  readonly name: string
  readonly schema: unknown
  readonly isRequired: boolean
}

/** How a value is edited. */
export type Field =
  | { readonly kind: "text"; readonly isLong: boolean; readonly isSecret: boolean; readonly maxLength?: number }
  | { readonly kind: "number"; readonly isInteger: boolean; readonly min?: number; readonly max?: number }
  | { readonly kind: "boolean" }
  | { readonly kind: "choice"; readonly options: ReadonlyArray<unknown> }
  | { readonly kind: "list"; readonly items: unknown }
  | { readonly kind: "object"; readonly members: ReadonlyArray<Member> }
  /** Anything else is written as JSON. */
  | { readonly kind: "json" }

export const isRecord = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const own = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined

const MOST_STEPS = 20

/** A schema without references and without the null that an optional value may be. */
export const resolved = (root: unknown, schema: unknown): Schema => {
  let current = schema
  for (let step = 0; step < MOST_STEPS; step++) {
    if (!isRecord(current)) return {}
    const reference = own(current, "$ref")
    if (typeof reference === "string") {
      const path = reference.split("/")
      if (path[0] !== "#") return {}
      let target: unknown = root
      for (const part of path.slice(1)) target = own(target, part.replace(/~1/g, "/").replace(/~0/g, "~"))
      current = target
      continue
    }
    const choices = own(current, "anyOf") ?? own(current, "oneOf")
    const present = Array.isArray(choices) ? choices.filter((one) => own(one, "type") !== "null") : []
    if (present.length !== 1) return current
    current = present[0]
  }
  return {}
}

const typeOf = (schema: Schema): unknown => {
  const type = own(schema, "type")
  if (!Array.isArray(type)) return type
  const present = type.filter((one) => one !== "null")
  return present.length === 1 ? present[0] : undefined
}

const numberIn = (schema: Schema, name: string): number | undefined => {
  const value = own(schema, name)
  return typeof value === "number" && Number.isFinite(value) ? value : undefined
}

const MOST_MEMBERS = 100
const LONG = 200

const textField = (schema: Schema): Field => {
  const maxLength = numberIn(schema, "maxLength")
  const isSecret = own(schema, "format") === "password" || own(schema, "writeOnly") === true
  return {
    kind: "text",
    isSecret,
    isLong: !isSecret && maxLength !== undefined && maxLength > LONG,
    ...(maxLength === undefined ? {} : { maxLength })
  }
}

const membersOf = (schema: Schema): ReadonlyArray<Member> => {
  const properties = own(schema, "properties")
  const required = own(schema, "required")
  const names = new Set(Array.isArray(required) ? required : [])
  return isRecord(properties)
    ? Object.keys(properties).map((name) => ({ name, schema: properties[name], isRequired: names.has(name) }))
    : []
}

/** The field of a resolved schema. */
export const fieldOf = (schema: Schema): Field => {
  const constant = own(schema, "const")
  const options = constant === undefined ? own(schema, "enum") : [constant]
  if (Array.isArray(options) && options.length > 0 && options.length <= 500) return { kind: "choice", options }
  const type = typeOf(schema)
  switch (type) {
    case "string":
      return textField(schema)
    case "number":
    case "integer": {
      const [min, max] = [numberIn(schema, "minimum"), numberIn(schema, "maximum")]
      return {
        kind: "number",
        isInteger: type === "integer",
        ...(min === undefined ? {} : { min }),
        ...(max === undefined ? {} : { max })
      }
    }
    case "boolean":
      return { kind: "boolean" }
    case "array":
      return isRecord(own(schema, "items")) ? { kind: "list", items: own(schema, "items") } : { kind: "json" }
    case "object": {
      const members = membersOf(schema)
      const isOpen = isRecord(own(schema, "additionalProperties")) || own(schema, "patternProperties") !== undefined
      return isOpen || members.length === 0 || members.length > MOST_MEMBERS
        ? { kind: "json" }
        : { kind: "object", members }
    }
    default:
      return { kind: "json" }
  }
}

/** Deeper values are written as JSON. */
export const DEEPEST = 6

/** The value that a form begins with: defaults, and what is required. */
export const initial = (root: unknown, schema: unknown, isRequired: boolean, depth = 0): unknown => {
  const found = resolved(root, schema)
  const given = own(found, "default") ?? own(schema, "default")
  if (given !== undefined) return given
  if (!isRequired || depth > DEEPEST) return undefined
  const field = fieldOf(found)
  switch (field.kind) {
    case "text":
      return ""
    case "boolean":
      return false
    case "choice":
      return field.options[0]
    case "list":
      return []
    case "object":
      return Object.fromEntries(
        field.members.flatMap(({ isRequired, name, schema }) => {
          const value = initial(root, schema, isRequired, depth + 1)
          return value === undefined ? [] : [[name, value]]
        })
      )
    default:
      return undefined
  }
}

/** The description of a value, by the nearest schema that has one. */
export const describe = (schema: unknown, found: Schema): string | undefined => {
  const text = own(schema, "description") ?? own(found, "description")
  return typeof text === "string" && text !== "" ? text : undefined
}

/** The member of a record, even if it has the name of an inherited property. */
export const memberOf = (value: unknown, name: string): unknown => own(value, name)

/** The record with another member, or without it. */
export const withMember = (value: unknown, name: string, member: unknown): Schema => {
  const rest = isRecord(value) ? Object.entries(value).filter(([known]) => known !== name) : []
  return Object.fromEntries(member === undefined ? rest : [...rest, [name, member]])
}
