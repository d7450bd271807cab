/**
 * Converts memory entries to rows and back: columns for selection and order, one JSON text for everything else, vectors
 * as the bytes of their numbers. Large texts are compressed, and read only with their entry.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { EntryId, SessionId } from "../../domain/Ids.js"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import { StorageError } from "../../memory/entry/MemoryError.js"
import * as Selections from "../../memory/entry/Selection.js"
import type { TextAnalyzer } from "../../memory/text/TextAnalyzer.js"
import type { Row } from "../engine/Database.js"
import type { Dialect, Param } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"
import * as Payloads from "../engine/Payloads.js"
import * as SqlFullText from "./SqlFullText.js"
import * as SqlSelection from "./SqlSelection.js"

/**
 * An entry ready to be written.
 *
 * @category models
 */
export interface Prepared {
  readonly entry: MemoryEntry
  readonly body: Payloads.Packed
  readonly attributes: string
  readonly words: SqlFullText.Words
}

/** The most attributes by which an entry can be found. An entry with more is marked as having any. */
const maxAttributes = 64

/**
 * Marks entries with more attributes than are indexed.
 *
 * @category constants
 */
export const anyAttribute = "any"

const attributeWords = (attributes: ReadonlyArray<string>): ReadonlyArray<string> =>
  attributes.length > maxAttributes ? [anyAttribute] : Array.from(new Set(attributes.map(SqlSelection.wordOf)))

/**
 * The words of an entry for full text.
 *
 * @category conversions
 */
export const wordsOf = (
  analyzer: TextAnalyzer,
  content: string,
  attributes: ReadonlyArray<string>
): SqlFullText.Words => SqlFullText.words(analyzer.analyze(content), attributeWords(attributes))

/**
 * Call it before the transaction, because large entries take time.
 *
 * @category constructors
 */
export const prepare = (entry: MemoryEntry, analyzer: TextAnalyzer): Effect.Effect<Prepared> => {
  const { content, importance, metadata, runId, turnId } = entry
  return Effect.map(Payloads.pack(JSON.stringify({ content, importance, metadata, runId, turnId })), (body) => {
    const attributes = SqlSelection.attributesOf(metadata)
    return {
      entry,
      body,
      attributes: SqlSelection.encode(attributes),
      words: wordsOf(analyzer, content, attributes)
    }
  })
}

/**
 * @category constants
 */
export const columns: ReadonlyArray<string> = [
  "owner",
  "id",
  "timestamp",
  "beginning",
  "role",
  "session_id",
  "expires_at",
  "words",
  "access_count",
  "accessed_at",
  "attributes"
]

/**
 * Access count and time of an entry.
 *
 * @category models
 */
export interface Figures {
  readonly count: number | null
  readonly at: number | null
}

const higher = (a: number | null | undefined, b: number | null | undefined): number | null =>
  a === null || a === undefined ? (b ?? null) : b === null || b === undefined ? a : Math.max(a, b)

/**
 * The row of `columns`. The higher of the access figures are kept.
 *
 * @category conversions
 */
export const row = (owner: number, prepared: Prepared, before: Figures | undefined): ReadonlyArray<Param> => {
  const { entry } = prepared
  return [
    owner,
    KeyText.encode(entry.id),
    entry.timestamp,
    Selections.beginning(entry),
    entry.role,
    entry.sessionId === undefined ? null : KeyText.encode(entry.sessionId),
    entry.expiresAt ?? null,
    prepared.words.length,
    higher(entry.accessCount, before?.count),
    higher(entry.lastAccessedAt, before?.at),
    prepared.attributes
  ]
}

const bytesOf = (numbers: ReadonlyArray<number>): Uint8Array => {
  const bytes = new Uint8Array(numbers.length * 8)
  const view = new DataView(bytes.buffer)
  for (let at = 0; at < numbers.length; at++) view.setFloat64(at * 8, numbers[at] as number, true)
  return bytes
}

const numbersOf = (bytes: Uint8Array): ReadonlyArray<number> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const numbers = new Array<number>(bytes.byteLength / 8)
  for (let at = 0; at < numbers.length; at++) numbers[at] = view.getFloat64(at * 8, true)
  return numbers
}

/**
 * The row of the body: serial, text, compressed text, vector.
 *
 * @category conversions
 */
export const bodyRow = (serial: number, { body, entry }: Prepared): ReadonlyArray<Param> => [
  serial,
  body.body,
  body.data ?? null,
  entry.embedding === undefined ? null : bytesOf(entry.embedding)
]

/**
 * The columns that `decode` reads, of the tables `m` and `b`.
 *
 * @category constants
 */
export const read =
  "m.serial, m.id, m.timestamp, m.role, m.session_id, m.expires_at, m.access_count, m.accessed_at, b.body, b.data, b.embedding"

interface Body {
  readonly content: string
  readonly importance: number
  readonly metadata: Readonly<Record<string, unknown>>
  readonly runId?: MemoryEntry["runId"]
  readonly turnId?: MemoryEntry["turnId"]
}

const isTextOrNone = (value: unknown): boolean => value === undefined || typeof value === "string"

const isBody = (parsed: unknown): parsed is Body => {
  if (typeof parsed !== "object" || parsed === null) return false
  const { content, importance, metadata, runId, turnId } = parsed as { readonly [K in keyof Body]?: unknown }
  return (
    typeof content === "string" &&
    typeof importance === "number" &&
    typeof metadata === "object" &&
    metadata !== null &&
    isTextOrNone(runId) &&
    isTextOrNone(turnId)
  )
}

const bodyOf = (found: Row): Body | undefined => {
  const text = Payloads.unpack({ body: found["body"], data: found["data"] })
  if (text === undefined) return undefined
  try {
    const parsed: unknown = JSON.parse(text)
    return isBody(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/**
 * @category conversions
 */
export const contentOf = (found: Row): string | undefined => bodyOf(found)?.content

/**
 * `undefined` if the rows do not hold a valid entry.
 *
 * @category conversions
 */
export const decode = (ownerId: string, found: Row): MemoryEntry | undefined => {
  const body = bodyOf(found)
  if (body === undefined) return undefined
  const entry: { -readonly [K in keyof MemoryEntry]?: MemoryEntry[K] } = {
    id: KeyText.decode(found["id"]) as EntryId,
    ownerId,
    content: body.content,
    role: found["role"],
    timestamp: Number(found["timestamp"]),
    importance: body.importance,
    metadata: body.metadata
  }
  if (found["embedding"] !== null) entry.embedding = numbersOf(found["embedding"])
  if (found["session_id"] !== null) entry.sessionId = KeyText.decode(found["session_id"]) as SessionId
  if (body.runId !== undefined) entry.runId = body.runId
  if (body.turnId !== undefined) entry.turnId = body.turnId
  if (found["expires_at"] !== null) entry.expiresAt = Number(found["expires_at"])
  if (found["access_count"] !== null) entry.accessCount = Number(found["access_count"])
  if (found["accessed_at"] !== null) entry.lastAccessedAt = Number(found["accessed_at"])
  return Object.freeze(entry) as MemoryEntry
}

/**
 * Serials as one parameter.
 *
 * @category conversions
 */
export const serials = ({ name }: Dialect, all: ReadonlyArray<number>): Param =>
  name === "sqlite" ? JSON.stringify(all) : `{${all.join(",")}}`

/**
 * A condition that a column is one of them.
 *
 * @category conversions
 */
export const oneOfSerials = ({ name }: Dialect, column: string): string =>
  name === "sqlite" ? `${column} IN (SELECT value FROM json_each(?))` : `${column} = ANY(?::bigint[])`

/**
 * @category errors
 */
export const unreadable = (): StorageError =>
  new StorageError({
    message: "An entry in the database cannot be read",
    hint: "It was written by something else or by a later version"
  })
