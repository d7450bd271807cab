/**
 * Checks the input of sessions once, at the boundary, and copies it, so that every store receives plain data that the
 * caller can no longer change.
 *
 * @private
 * @since 0.1.0
 */

import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { SessionId, UserId } from "../../domain/Ids.js"
import * as PlainCheck from "../../internal/text/PlainCheck.js"
import * as JsonCopy from "../../memory/entry/JsonCopy.js"
import { NewTurn, type SessionState, type TurnFile, TurnToolCall } from "./Session.js"
import { SessionInputError } from "./SessionError.js"
import * as TurnBytes from "./TurnBytes.js"

type Checked<A> = Either.Either<A, SessionInputError>

const { metadata: _metadata, skillResults: _skillResults, toolCalls: _toolCalls, ...flatFields } = NewTurn.fields
// The fields that can be long or deep are copied by hand.
const flatTypes = { ...flatFields, cost: Schema.NonNegative.pipe(Schema.finite()) }
const Flat = Schema.typeSchema(Schema.Struct(flatTypes))
const { params: _params, result: _result, ...flatCallFields } = TurnToolCall.fields
const Call = Schema.Struct(flatCallFields)
const Names = Schema.Array(Schema.String)

// A schema costs several times as much as its plain check, which nearly every turn passes.
const isPlainTurn = PlainCheck.make(
  Schema.Struct({ ...flatTypes, metadata: Schema.Unknown, skillResults: Schema.Unknown, toolCalls: Schema.Unknown })
)
const isPlainCall = PlainCheck.make(
  Schema.Struct({ ...flatCallFields, params: Schema.Unknown, result: Schema.optional(Schema.Unknown) })
)
const matchesFlat = Schema.is(Flat)
const matchesCall = Schema.is(Call)

const isFlat = (value: NewTurn): boolean => isPlainTurn(value) || matchesFlat(value)
const isCall = (value: TurnToolCall): boolean => isPlainCall(value) || matchesCall(value)
const areNames = Schema.is(Names)
const isSessionId = Schema.is(SessionId)
const isUserId = Schema.is(UserId)

const refused = (what: string, fields: string, hint: string): Checked<never> =>
  Either.left(
    new SessionInputError({
      message: `${what} is out of bounds${fields === "" ? "" : `: ${fields}`}`,
      hint
    })
  )

/** Parameters and results of tools may be deeper than remembered data. */
const bounds = { maxDepth: 256, maxValues: 250_000 }
const copyOf = (value: unknown) => JsonCopy.copy(value, bounds)

const plainData = `It must be plain JSON data of at most ${bounds.maxDepth} levels and ${bounds.maxValues} values`
const asTheSchema = "The schema `Session.NewTurn` gives the bounds of each field"

/** Copies the fields of a schema that have a value. */
const picker = <A extends object>(fields: { readonly [K in keyof A]: unknown }): ((given: A) => A) => {
  const names = Object.keys(fields) as Array<keyof A>
  return (given) => {
    const copy: Partial<A> = {}
    for (const name of names) if (given[name] !== undefined) copy[name] = given[name]
    return copy as A
  }
}

const flatTurn = picker<typeof Flat.Type>(flatFields)
const flatCall = picker<typeof Call.Type>(flatCallFields)

const fileOf = ({ data, fileName, mediaType }: TurnFile): TurnFile => ({
  mediaType,
  ...(fileName === undefined ? {} : { fileName }),
  data: "url" in data ? { url: data.url } : { hash: data.hash, size: data.size, mediaType: data.mediaType }
})

/** The fields that are out of bounds, never their values. */
const fieldsOf = (value: unknown): string => {
  const result = Schema.validateEither(Flat, { errors: "all" })(value)
  if (Either.isRight(result)) return ""
  const names = ParseResult.ArrayFormatter.formatErrorSync(result.left).map((issue) => String(issue.path[0] ?? ""))
  return Array.from(new Set(names.filter((name) => name !== ""))).join(", ")
}

/** Any value as plain data; none if it is not plain data. */
const data = (value: unknown): { readonly value: unknown } | undefined => {
  const copied = copyOf({ value })
  return copied === undefined ? undefined : { value: copied["value"] }
}

const callOf = (call: TurnToolCall): TurnToolCall | undefined => {
  if (!isCall(call)) return undefined
  const params = data(call.params)
  const result = data(call.result)
  if (params === undefined || result === undefined) return undefined
  return {
    ...flatCall(call),
    params: params.value ?? null,
    ...(result.value === undefined ? {} : { result: result.value })
  }
}

const none: ReadonlyArray<never> = Object.freeze([])

const callsOf = (calls: ReadonlyArray<TurnToolCall>): ReadonlyArray<TurnToolCall> | undefined => {
  if (!Array.isArray(calls)) return undefined
  if (calls.length === 0) return none
  const copied: Array<TurnToolCall> = []
  for (const call of calls) {
    const one = callOf(call)
    if (one === undefined) return undefined
    copied.push(one)
  }
  return copied
}

const skillResultsOf = (results: NewTurn["skillResults"]): NewTurn["skillResults"] | undefined => {
  if (!Array.isArray(results)) return undefined
  if (results.length === 0) return none
  return results.every(Predicate.isReadonlyRecord)
    ? (data(results)?.value as NewTurn["skillResults"] | undefined)
    : undefined
}

/**
 * A turn as it is stored, without unknown fields, of at most `maxBytes`.
 *
 * @category checks
 */
export const turn = (given: NewTurn, maxBytes: number): Checked<NewTurn> =>
  Either.flatMap(copied(given), (turn) => {
    const bytes = TurnBytes.measure(turn)
    return bytes <= maxBytes
      ? Either.right(turn)
      : Either.left(
          new SessionInputError({
            message: `The turn has ${bytes} bytes, and may not have more than ${maxBytes}`,
            hint: "Store large contents elsewhere and refer to them, or allow more (`maxTurnBytes`)"
          })
        )
  })

const copied = (given: NewTurn): Checked<NewTurn> => {
  if (!isFlat(given)) return refused("The turn", fieldsOf(given), asTheSchema)
  const metadata = copyOf(given.metadata)
  if (metadata === undefined) return refused("The turn", "metadata", plainData)
  const toolCalls = callsOf(given.toolCalls)
  if (toolCalls === undefined) return refused("The turn", "toolCalls", plainData)
  const skillResults = skillResultsOf(given.skillResults)
  if (skillResults === undefined) return refused("The turn", "skillResults", plainData)
  const { files, ...flat } = flatTurn(given)
  return Either.right({
    ...flat,
    ...(files === undefined ? {} : { files: files.map(fileOf) }),
    toolCalls,
    skillResults,
    metadata
  })
}

/**
 * Attributes as they are stored; none by default.
 *
 * @category checks
 */
export const attributes = (
  what: string,
  field: string,
  given: { readonly [key: string]: unknown } | undefined
): Checked<Readonly<Record<string, unknown>>> => {
  const copied = copyOf(given === undefined ? {} : given)
  return copied === undefined ? refused(what, field, plainData) : Either.right(copied)
}

/**
 * @category models
 */
export interface Given {
  readonly metadata?: { readonly [key: string]: unknown } | undefined
  readonly systemPrompt?: string | undefined
  readonly variables?: { readonly [key: string]: unknown } | undefined
  readonly activeTools?: ReadonlyArray<string> | undefined
  readonly activeSkills?: ReadonlyArray<string> | undefined
}

/**
 * The fields of the small state that a caller may set.
 *
 * @category models
 */
export type Settings = Partial<
  Pick<SessionState, "metadata" | "systemPrompt" | "variables" | "activeTools" | "activeSkills">
>

/**
 * The given fields, as they are stored.
 *
 * @category checks
 */
export const settings = (given: Given): Checked<Settings> => {
  const checked: { -readonly [K in keyof Settings]: Settings[K] } = {}
  for (const field of ["metadata", "variables"] as const) {
    if (given[field] === undefined) continue
    const copied = attributes("The session", field, given[field])
    if (Either.isLeft(copied)) return Either.left(copied.left)
    checked[field] = copied.right
  }
  for (const field of ["activeTools", "activeSkills"] as const) {
    const value = given[field]
    if (value === undefined) continue
    if (!areNames(value)) return refused("The session", field, "It must be a list of names")
    checked[field] = value.slice()
  }
  if (given.systemPrompt !== undefined) {
    if (typeof given.systemPrompt !== "string") return refused("The session", "systemPrompt", "It must be a text")
    checked.systemPrompt = given.systemPrompt
  }
  return Either.right(checked)
}

/**
 * Valid ids.
 *
 * @category checks
 */
export const ids = (id: SessionId | undefined, userId: UserId | undefined): Checked<void> => {
  const hint = "An id has 1 to 256 characters without control characters"
  if (id !== undefined && !isSessionId(id)) return refused("The session", "id", hint)
  if (userId !== undefined && !isUserId(userId)) return refused("The session", "userId", hint)
  return Either.right(undefined)
}

/**
 * @category checks
 */
export const name = (given: string | undefined): Checked<void> =>
  given === undefined || typeof given === "string"
    ? Either.right(undefined)
    : refused("The checkpoint", "name", "It must be a text")
