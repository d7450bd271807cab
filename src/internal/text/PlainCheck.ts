/**
 * Compiles the schema of a record to a check for values whose JSON is the value itself, as the schema would encode and
 * decode it. The check knows every field of the schema, accepts nothing that the schema would reject or change, and
 * costs a tenth of it.
 *
 * @private
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"

/** Whether a value is plain. */
export type Check = (value: unknown) => boolean

type Fields = { readonly [key: string]: unknown }

const never: Check = () => false

/** A record that JSON writes field by field. */
const isData = (value: unknown): value is Fields => {
  if (typeof value !== "object" || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && !("toJSON" in value)
}

/** The type of an optional field. */
const defined = (ast: AST.AST): AST.AST =>
  AST.isUnion(ast) ? AST.Union.make(ast.types.filter((type) => !AST.isUndefinedKeyword(type))) : ast

const struct = ({ propertySignatures }: AST.TypeLiteral): Check => {
  const checks = new Map<PropertyKey, { readonly check: Check; readonly isOptional: boolean }>()
  for (const { isOptional, name, type } of propertySignatures) {
    checks.set(name, { check: compile(isOptional ? defined(type) : type), isOptional })
  }
  const required = [...checks].flatMap(([name, { isOptional }]) => (isOptional ? [] : [name]))
  return (value) => {
    if (!isData(value)) return false
    for (const name of required) if (!Object.hasOwn(value, name)) return false
    for (const name of Object.keys(value)) {
      const field = checks.get(name)
      if (field === undefined) return false
      const content = value[name]
      if (content === undefined ? !field.isOptional : !field.check(content)) return false
    }
    return true
  }
}

const refinement = (ast: AST.Refinement): Check => {
  const inner = compile(ast.from)
  return (value) => inner(value) && Option.isNone(ast.filter(value, AST.defaultParseOption, ast))
}

const list = (ast: AST.TupleType): Check => {
  const [rest, ...more] = ast.rest
  if (rest === undefined || more.length > 0 || ast.elements.length > 0) return never
  const each = compile(rest.type)
  // Holes are absent values too, which `every` passes over.
  return (value) => Array.isArray(value) && !value.includes(undefined) && value.every(each)
}

const union = (ast: AST.Union): Check => {
  const checks = ast.types.map(compile)
  return (value) => checks.some((check) => check(value))
}

/** A record by texts. One of anything is plain if it is data. */
const record = ({ indexSignatures, propertySignatures }: AST.TypeLiteral): Check => {
  const [signature, ...more] = indexSignatures
  if (signature === undefined || more.length > 0 || propertySignatures.length > 0) return never
  if (AST.isUnknownKeyword(signature.type)) return isData
  if (!AST.isStringKeyword(signature.parameter)) return never
  const each = compile(signature.type)
  return (value) => isData(value) && Object.values(value).every(each)
}

/** What the compiler does not know is not plain. */
const compile = (ast: AST.AST): Check => {
  switch (ast._tag) {
    case "StringKeyword":
      return (value) => typeof value === "string"
    case "NumberKeyword":
      return Number.isFinite
    case "BooleanKeyword":
      return (value) => typeof value === "boolean"
    case "UnknownKeyword":
      return (value) => value !== undefined
    case "Literal":
      return (value) => value === ast.literal
    case "Refinement":
      return refinement(ast)
    case "Union":
      return union(ast)
    case "TupleType":
      return list(ast)
    case "TypeLiteral":
      return ast.indexSignatures.length === 0 ? struct(ast) : record(ast)
    case "Declaration": {
      const is = Schema.is(Schema.make(ast))
      return (value) => isData(value) && is(value)
    }
    default:
      return never
  }
}

/**
 * For schemas whose transformations only supply defaults.
 *
 * @category constructors
 */
export const make = (schema: Schema.Schema.Any): Check => compile(AST.typeAST(schema.ast))
