/**
 * Encodes sessions and turns as JSON without their schemas, which cost ten times as much. Nearly every session and turn
 * is plain JSON; the others go through the schema. The checks here accept nothing that the schema would reject or
 * change.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Session, SessionTurn } from "../../session/turn/Session.js"
import * as SessionCodec from "../../session/turn/SessionCodec.js"
import type { SessionStorageError } from "../../session/turn/SessionError.js"
import * as Refusals from "../../session/turn/SessionRefusals.js"

type Fields = { readonly [key: string]: unknown }
type Check = (value: unknown) => boolean

const isId: Check = (value) => typeof value === "string" && /^[!-~](?:[ -~]{0,254}[!-~])?$/.test(value)
const isText: Check = (value) => typeof value === "string"
const isTime: Check = (value) => Number.isFinite(value)
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isDepth: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 1
const isCost: Check = (value) => Number.isFinite(value) && (value as number) >= 0
const isEmpty: Check = (value) => Array.isArray(value) && value.length === 0
const isFlag: Check = (value) => typeof value === "boolean"
const isAnything: Check = (value) => value !== undefined

const isData: Check = (value) => {
  if (typeof value !== "object" || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && !("toJSON" in value)
}

const among =
  (...values: ReadonlyArray<string>): Check =>
  (value) =>
    values.includes(value as string)

const listOf =
  (each: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(each)

/** Requires some fields, allows others, and rejects the rest. */
const struct = (
  required: { readonly [key: string]: Check },
  optional: { readonly [key: string]: Check } = {}
): Check => {
  const checks = new Map(Object.entries({ ...required, ...optional }))
  const names = Object.keys(required)
  return (value) => {
    if (!isData(value)) return false
    for (const name of names) if (!Object.hasOwn(value as Fields, name)) return false
    for (const name of Object.keys(value as Fields)) {
      const check = checks.get(name)
      const field = (value as Fields)[name]
      if (check === undefined) return false
      if (field === undefined ? Object.hasOwn(required, name) : !check(field)) return false
    }
    return true
  }
}

const isRef = struct({ sessionId: isId, turnId: isId })

const isToolCall = struct({ id: isText, name: isText, params: isAnything }, { result: isAnything, isFailure: isFlag })

/**
 * A turn whose JSON is the turn itself.
 *
 * @category predicates
 */
export const isTurn: Check = struct(
  {
    id: isId,
    role: among("system", "user", "assistant", "tool"),
    content: isText,
    timestamp: isTime,
    toolCalls: listOf(isToolCall),
    skillResults: listOf(isData),
    metadata: isData,
    tokensUsed: isCount,
    cost: isCost,
    sessionId: isId,
    depth: isDepth
  },
  { model: isText, provider: isText, runId: isId, parent: isRef }
)

const place = { depth: isCount, totalTokens: isCount, totalCost: isCost }

const isSession = struct(
  {
    ...place,
    id: isId,
    status: among("active", "suspended", "closed", "expired"),
    metadata: isData,
    activeTools: listOf(isText),
    activeSkills: listOf(isText),
    variables: isData,
    cuts: isEmpty,
    createdAt: isTime,
    updatedAt: isTime,
    revision: isCount,
    lineage: isEmpty
  },
  {
    userId: isId,
    systemPrompt: isText,
    head: isRef,
    checkpointId: isId,
    parentSessionId: isId,
    rootSessionId: isId,
    branchName: isText
  }
)

/**
 * Whether the fields that a turn changes in a session can be stored unchanged.
 *
 * @category predicates
 */
export const isMoved = (session: Session): boolean =>
  isCount(session.depth) &&
  isCount(session.totalTokens) &&
  isCost(session.totalCost) &&
  isTime(session.updatedAt) &&
  isCount(session.revision) &&
  (session.head === undefined || isRef(session.head)) &&
  (session.checkpointId === undefined || isId(session.checkpointId))

const isPlace = struct(place, { head: isRef, checkpointId: isId })

const makeCodec = <A>(isPlain: Check, codec: SessionCodec.Codec<A>): SessionCodec.Codec<A> => ({
  encode: (value) => {
    if (!isPlain(value)) return codec.encode(value)
    try {
      return Effect.succeed(JSON.stringify(value))
    } catch {
      return Effect.fail(Refusals.notJson)
    }
  },
  decode: (key, text) => {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return Effect.fail(SessionCodec.unreadable(key))
    }
    return isPlain(value) ? Effect.succeed(value as A) : codec.decode(key, text)
  }
})

/**
 * @category constants
 */
export const session: SessionCodec.Codec<Session> = makeCodec(isSession, SessionCodec.session)

/**
 * @category constants
 */
export const turn: SessionCodec.Codec<SessionTurn> = makeCodec(isTurn, SessionCodec.turn)

const { checkpointId, depth, head, totalCost, totalTokens } = SessionCodec.sessionFields

const placed = makeCodec(isPlace, SessionCodec.of(Schema.Struct({ head, depth, totalTokens, totalCost, checkpointId })))

/**
 * The fields of a session that turns change, without its revision and time, which are stored separately.
 *
 * @category encoding
 */
export const encodePlace = (session: Session): Effect.Effect<string, SessionStorageError> =>
  placed.encode({
    head: session.head,
    depth: session.depth,
    totalTokens: session.totalTokens,
    totalCost: session.totalCost,
    checkpointId: session.checkpointId
  } as Parameters<typeof placed.encode>[0])
