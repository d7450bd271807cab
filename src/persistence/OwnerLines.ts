/**
 * The lines of an export of `OwnerData`.
 *
 * @private
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { UserId } from "../domain/Ids.js"
import * as MemoryEntry from "../memory/entry/MemoryEntry.js"
import * as MemoryNamespace from "../memory/tools/MemoryNamespace.js"
import type { Param } from "./engine/Dialect.js"

/**
 * @category constants
 */
export const FORMAT = "effect-lexigram.owner"

const headFields = {
  format: Schema.Literal(FORMAT),
  version: Schema.Literal(1),
  /** Version of the tables. */
  tables: Schema.Number,
  at: Schema.Number
}

const Head = Schema.Union(
  Schema.Struct({ ...headFields, userId: UserId }),
  Schema.Struct({ ...headFields, namespace: MemoryNamespace.MemoryNamespace })
)

const Cell = Schema.Union(Schema.String, Schema.JsonNumber, Schema.Null, Schema.Struct({ base64: Schema.String }))

const Blob = Schema.Struct({
  scope: Schema.String,
  hash: Schema.String,
  mediaType: Schema.String,
  base64: Schema.String
})
/**
 * A blob of a store outside of the database.
 *
 * @category models
 */
export type Blob = typeof Blob.Type

/**
 * @category schemas
 */
export const Line = Schema.Union(
  Schema.Struct({ table: Schema.String, row: Schema.Array(Cell) }),
  Schema.Struct({ entry: MemoryEntry.MemoryEntry }),
  Schema.Struct({ blob: Blob }),
  Schema.Struct({ end: Schema.Number })
)

/**
 * @category decoding
 */
export const readHead = Schema.decodeUnknownEither(Schema.parseJson(Head), { onExcessProperty: "error" })

/**
 * @category decoding
 */
export const readLine = Schema.decodeUnknownEither(Schema.parseJson(Line), { onExcessProperty: "error" })

/**
 * @category encoding
 */
export const encodeEntry = Schema.encodeSync(MemoryEntry.MemoryEntry)

/**
 * @category encoding
 */
export const toCell = (value: unknown): typeof Cell.Encoded => {
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString("base64") }
  return typeof value === "string" || typeof value === "number" || value === null ? value : String(value)
}

/**
 * @category decoding
 */
export const toParam = (cell: typeof Cell.Type): Param =>
  typeof cell === "object" && cell !== null ? Buffer.from(cell.base64, "base64") : cell
