/**
 * Validates what enters a memory store. Bounds are checked once, here; the store keeps a frozen copy.
 *
 * @private
 * @since 0.1.0
 */
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as PlainCheck from "../../internal/text/PlainCheck.js"
import * as PlainId from "../../internal/text/PlainId.js"
import * as Json from "./JsonCopy.js"
import { MemoryEntry, MemoryQuery, maxContent, OwnerId } from "./MemoryEntry.js"
import { MemoryStoreError } from "./MemoryError.js"
import { MemoryRole, Selection } from "./Selection.js"

const { embedding: _, metadata: __, ...flat } = MemoryEntry.fields
// The two fields that can be long are checked by hand.
const Flat = Schema.typeSchema(Schema.Struct(flat))

const matchesFlat = Schema.is(Flat)
const matchesSelection = Schema.is(Schema.typeSchema(Selection))
const matchesQuery = Schema.is(Schema.typeSchema(MemoryQuery))

// Decoding an entry with the schema costs several times as much as indexing it, and nearly every entry is plain. Only
// entries that fail these quick tests go through the schema. No test accepts a value that the schema rejects.

const isPlainId = PlainId.is

const isOwner = PlainCheck.make(OwnerId)

const isNumber = (value: unknown, least: number, most: number): boolean =>
  typeof value === "number" && value >= least && value <= most

const isTime = (value: unknown): boolean => Number.isFinite(value)

const roles: ReadonlySet<unknown> = new Set(MemoryRole.literals)

const isPlain = (value: MemoryEntry): boolean =>
  typeof value === "object" &&
  value !== null &&
  Object.getPrototypeOf(value) === Object.prototype &&
  isPlainId(value.id) &&
  isOwner(value.ownerId) &&
  typeof value.content === "string" &&
  value.content.length <= maxContent &&
  roles.has(value.role) &&
  isTime(value.timestamp) &&
  isNumber(value.importance, 0, 1) &&
  (value.sessionId === undefined || isPlainId(value.sessionId)) &&
  (value.runId === undefined || isPlainId(value.runId)) &&
  (value.turnId === undefined || isPlainId(value.turnId)) &&
  (value.expiresAt === undefined || isTime(value.expiresAt)) &&
  (value.accessCount === undefined || (Number.isSafeInteger(value.accessCount) && value.accessCount >= 0)) &&
  (value.lastAccessedAt === undefined || isTime(value.lastAccessedAt))

const isPlainSelection = PlainCheck.make(Selection)

const isPlainQuery = PlainCheck.make(MemoryQuery)

const isSelection = (value: Selection): boolean => isPlainSelection(value) || matchesSelection(value)

const isQuery = (value: MemoryQuery): boolean => isPlainQuery(value) || matchesQuery(value)

const isFlat = (value: MemoryEntry): boolean => isPlain(value) || matchesFlat(value)

/** Names the fields that are out of bounds. Never includes their values. */
const fieldsOf = <A>(schema: Schema.Schema<A>, value: unknown): string => {
  const result = Schema.validateEither(schema, { errors: "all" })(value)
  if (result._tag === "Right") return ""
  const names = ParseResult.ArrayFormatter.formatErrorSync(result.left).map((issue) => String(issue.path[0] ?? ""))
  return Array.from(new Set(names.filter((name) => name !== ""))).join(", ")
}

const refuse = (store: string, message: string, hint?: string): MemoryStoreError =>
  new MemoryStoreError({ message, store, ...(hint === undefined ? {} : { hint }) })

const outOfBounds = (store: string, what: string, fields: string): MemoryStoreError =>
  refuse(
    store,
    `${what} is out of bounds${fields === "" ? "" : `: ${fields}`}`,
    "The schemas of `MemoryEntry` and `Selection` define the bounds of each field"
  )

/**
 * Returns `undefined` if the text is a valid owner.
 *
 * @category checks
 */
export const owner = (store: string, ownerId: string): MemoryStoreError | undefined =>
  isOwner(ownerId) ? undefined : refuse(store, "The owner is out of bounds", "An owner has 1 to 256 characters")

/**
 * Returns `undefined` if the value is a valid selection.
 *
 * @category checks
 */
export const selection = (store: string, value: Selection): MemoryStoreError | undefined =>
  isSelection(value) ? undefined : outOfBounds(store, "The selection", fieldsOf(Schema.typeSchema(Selection), value))

/**
 * Returns `undefined` if the value is a valid query.
 *
 * @category checks
 */
export const query = (store: string, value: MemoryQuery): MemoryStoreError | undefined =>
  isQuery(value) ? undefined : outOfBounds(store, "The query", fieldsOf(Schema.typeSchema(MemoryQuery), value))

/**
 * Returns the entry as it is stored: frozen, with plain metadata, without absent fields, and expiring at `latest`.
 *
 * @category checks
 */
export const entry = (
  store: string,
  ownerId: string,
  value: MemoryEntry,
  latest: number
): MemoryEntry | MemoryStoreError => {
  if (!isFlat(value)) return outOfBounds(store, "The entry", fieldsOf(Flat, value))
  if (value.ownerId !== ownerId) {
    return refuse(store, "The entry belongs to another owner than the one named by the call")
  }
  const metadata = Json.copy(value.metadata)
  if (metadata === undefined) {
    return refuse(
      store,
      "The entry is out of bounds: metadata",
      `Metadata is plain JSON data of at most ${Json.maxDepth} levels and ${Json.maxValues} values`
    )
  }
  const { embedding } = value
  if (embedding !== undefined && !(Array.isArray(embedding) && embedding.every(Number.isFinite))) {
    return outOfBounds(store, "The entry", "embedding")
  }
  const expiresAt = Math.min(value.expiresAt ?? Number.POSITIVE_INFINITY, latest)
  return Object.freeze({
    id: value.id,
    ownerId,
    content: value.content,
    role: value.role,
    timestamp: value.timestamp,
    importance: value.importance,
    metadata,
    ...(embedding === undefined ? {} : { embedding: embedding.slice() }),
    ...(value.sessionId === undefined ? {} : { sessionId: value.sessionId }),
    ...(value.runId === undefined ? {} : { runId: value.runId }),
    ...(value.turnId === undefined ? {} : { turnId: value.turnId }),
    ...(expiresAt === Number.POSITIVE_INFINITY ? {} : { expiresAt }),
    ...(value.accessCount === undefined ? {} : { accessCount: value.accessCount }),
    ...(value.lastAccessedAt === undefined ? {} : { lastAccessedAt: value.lastAccessedAt })
  })
}
