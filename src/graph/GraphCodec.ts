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
import { type Chosen, type Fields, GotoTypeId } from "./GraphChoice.js"

type State = Fields

/** The field under which an update has where its node went; no field of a state has this name. */
const GOTO = ""

/** A target as it is saved: the name of a node, or a node and the fields that are sent to it. */
type SavedTarget = string | readonly [node: string, writes: Writes]

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

const isTarget = (target: unknown): target is SavedTarget =>
  typeof target === "string" ||
  (Array.isArray(target) && target.length === 2 && typeof target[0] === "string" && isWrites(target[1]))

const isWrites = (value: unknown): value is Writes =>
  Array.isArray(value) &&
  value.every((write, at) => {
    if (!Array.isArray(write) || write.length !== 2 || typeof write[0] !== "string") return false
    if (write[0] !== GOTO) return true
    return at === value.length - 1 && Array.isArray(write[1]) && write[1].every(isTarget)
  })

/** The update that a text holds. Throws if it holds none. */
export const writesOf = (text: string): Writes => {
  const value: unknown = JSON.parse(text)
  if (isWrites(value)) return value
  throw new TypeError("No update")
}

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
  const encodeFields = (state: State, update: State): Effect.Effect<Writes, string> =>
    Effect.forEach(Object.keys(update), (field) =>
      Effect.map(codecOf(field).encode(state, field, update[field]), (value) => [field, value] as const)
    )
  const decodeFields = (writes: Writes): Effect.Effect<State, string> =>
    Effect.map(
      Effect.forEach(writes, ([field, value]) =>
        Effect.map(codecOf(field).decode(value, field), (decoded) => [field, decoded] as const)
      ),
      Object.fromEntries
    )
  const encodeGoto = (state: State, to: Chosen): Effect.Effect<Json, string> =>
    Effect.forEach(
      Array.isArray(to) ? (to as ReadonlyArray<Single>) : [to as Single],
      (target): Effect.Effect<Json, string> =>
        typeof target === "string"
          ? Effect.succeed(target)
          : Effect.map(encodeFields(state, target.update), (writes): Json => [target.node, writes])
    )
  const decodeGoto = (to: Json): Effect.Effect<Chosen, string> =>
    Effect.forEach(
      to as unknown as ReadonlyArray<SavedTarget>,
      (target): Effect.Effect<Single, string> =>
        typeof target === "string"
          ? Effect.succeed(target)
          : Effect.map(decodeFields(target[1]), (update) => ({ _tag: "Send", node: target[0], update }))
    )
  return {
    encode,
    decode,
    encodeUpdate: (state, update) => {
      const to = (update as { readonly [GotoTypeId]?: Chosen })[GotoTypeId]
      const writes = encodeFields(state, update)
      return to === undefined
        ? writes
        : Effect.zipWith(writes, encodeGoto(state, to), (writes, to) => [...writes, [GOTO, to]])
    },
    decodeUpdate: (writes) => {
      const last = writes.at(-1)
      if (last?.[0] !== GOTO) return decodeFields(writes)
      return Effect.zipWith(decodeFields(writes.slice(0, -1)), decodeGoto(last[1]), (update, to) => ({
        ...update,
        [GotoTypeId]: to
      }))
    }
  }
}

type Single = Exclude<Chosen, ReadonlyArray<unknown>>

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
