/**
 * Encodes the state of a graph and the updates of its nodes as JSON, and decodes them.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { Json, Writes } from "./Checkpointer.js"

type State = { readonly [field: string]: unknown }

/** A failure is the path where the value does not fit, never the value: a state may hold secrets. */
export interface Codec {
  readonly encode: (state: State) => Effect.Effect<Json, string>
  readonly decode: (json: Json) => Effect.Effect<State, string>
  readonly encodeUpdate: (state: State, update: State) => Effect.Effect<Writes, string>
  readonly decodeUpdate: (writes: Writes) => Effect.Effect<State, string>
}

const formatPath = (path: ReadonlyArray<PropertyKey>): string =>
  path.length === 0 ? "the whole" : path.map(String).join(".")

/** The path where a value is not JSON and would change or vanish. */
const notJson = (value: unknown, path: Array<PropertyKey>): ReadonlyArray<PropertyKey> | undefined => {
  if (value === null || typeof value === "string" || typeof value === "boolean") return undefined
  if (typeof value === "number") return Number.isFinite(value) ? undefined : [...path]
  if (typeof value !== "object") return [...path]
  const prototype = Object.getPrototypeOf(value)
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return [...path]
  for (const key of Object.keys(value)) {
    const item = (value as State)[key]
    // Absent and undefined fields are equal; an array would lose its length.
    if (item === undefined && !Array.isArray(value)) continue
    path.push(key)
    const found = notJson(item, path)
    path.pop()
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the value if JSON can represent it. */
export const json = (value: unknown): Effect.Effect<Json, string> =>
  Effect.suspend(() => {
    try {
      const found = notJson(value, [])
      return found === undefined ? Effect.succeed(value as Json) : Effect.fail(`${formatPath(found)} is not JSON`)
    } catch {
      return Effect.fail("it is too deep or cyclic")
    }
  })

/** Formats the paths where a value does not match. */
export const issues = (error: ParseResult.ParseIssue): string =>
  ParseResult.ArrayFormatter.formatIssueSync(error)
    .slice(0, 5)
    .map((issue) => `${formatPath(issue.path)} does not fit`)
    .join(", ")

const decoding: SchemaAST.ParseOptions = { errors: "all" }

interface FieldCodec {
  /** The state is needed where the schema cannot be split into fields. */
  readonly encode: (state: State, field: string, value: unknown) => Effect.Effect<Json, string>
  readonly decode: (json: Json, field: string) => Effect.Effect<unknown, string>
}

export const make = (schema: Schema.Schema<any, any>): Codec => {
  const encodeState = ParseResult.encode(schema)
  const decodeState = ParseResult.decode(schema)
  const encode = (state: State): Effect.Effect<Json, string> =>
    Effect.flatMap(Effect.mapError(encodeState(state), issues), json)
  const decode = (value: Json): Effect.Effect<State, string> => Effect.mapError(decodeState(value, decoding), issues)

  const whole: FieldCodec = {
    encode: (state, field, value) => encode({ ...state, [field]: value }),
    decode: (value, field) => Effect.map(decode(value), (state) => state[field])
  }
  const fields = new Map<string, FieldCodec>()
  const codecOf = (field: string): FieldCodec => {
    let codec = fields.get(field)
    if (codec === undefined) {
      codec = single(schema.ast, field) ?? whole
      fields.set(field, codec)
    }
    return codec
  }
  return {
    encode,
    decode,
    encodeUpdate: (state, update) =>
      Effect.forEach(Object.keys(update), (field) =>
        Effect.map(codecOf(field).encode(state, field, update[field]), (value) => [field, value] as const)
      ),
    decodeUpdate: (writes) =>
      Effect.map(
        Effect.forEach(writes, ([field, value]) =>
          Effect.map(codecOf(field).decode(value, field), (decoded) => [field, decoded] as const)
        ),
        Object.fromEntries
      )
  }
}

/** Encodes each field as its own struct, so that a write costs its own size and not that of the whole state. */
const single = (ast: SchemaAST.AST, field: string): FieldCodec | undefined => {
  let picked: SchemaAST.AST
  try {
    picked = SchemaAST.pick(ast, [field])
  } catch {
    // Schemas that transform the struct as a whole have no fields of their own.
    return undefined
  }
  const schema = Schema.make<State, any, never>(picked)
  const encodeField = ParseResult.encode(schema)
  const decodeField = ParseResult.decode(schema)
  return {
    encode: (_state, name, value) => Effect.flatMap(Effect.mapError(encodeField({ [name]: value }), issues), json),
    decode: (value, name) => Effect.map(Effect.mapError(decodeField(value, decoding), issues), (state) => state[name])
  }
}
