/**
 * Encodes the records that the memory store writes into a cache, and their keys.
 *
 * The entries of an owner are in segments, the keys of segments on pages, the keys of pages in a head. A change writes
 * new keys, from the segments up. The head is written last and makes the whole change effective at once. So a change
 * writes a few small values however many entries there are, and an unchanged head means that nothing has changed.
 *
 * @since 0.1.0
 * @private
 */

import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Sha256 from "../../internal/text/Sha256.js"
import * as EntryChecks from "../entry/EntryChecks.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { MemoryStoreError } from "../entry/MemoryError.js"

/**
 * A key of a record, with the earliest and latest time at which its entries expire. `null` means never.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reference {
  readonly key: string
  readonly soonest: number
  readonly latest: number
}

const Encoded = Schema.Tuple(Schema.String, Schema.NullOr(Schema.Finite), Schema.NullOr(Schema.Finite))

const never = Number.POSITIVE_INFINITY

const encodeReference = ({ key, latest, soonest }: Reference): typeof Encoded.Type => [
  key,
  soonest === never ? null : soonest,
  latest === never ? null : latest
]

const decodeReference = ([key, soonest, latest]: typeof Encoded.Type): Reference => ({
  key,
  soonest: soonest ?? never,
  latest: latest ?? never
})

const FORMAT = 1

const Head = Schema.Struct({
  format: Schema.Literal(FORMAT),
  ownerId: Schema.String,
  version: Schema.String,
  pages: Schema.Array(Encoded),
  dead: Schema.Array(Schema.String)
})

/**
 * The version differs after each change. `dead` lists the keys that this change replaced: readers of the previous head
 * can still find them, and the next change deletes them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Head {
  readonly ownerId: string
  readonly version: string
  readonly pages: ReadonlyArray<Reference>
  readonly dead: ReadonlyArray<string>
}

const Page = Schema.Struct({ segments: Schema.Array(Encoded) })

const Segment = Schema.Struct({ entries: Schema.Array(Schema.Unknown) })

const Owners = Schema.Struct({ owners: Schema.Array(Schema.String) })

const Root = Schema.Struct({ chunks: Schema.Array(Schema.Tuple(Schema.String, Schema.String)) })

/**
 * `undefined` for texts that this module did not write. Returns the parsed value itself: decoding would lose keys like
 * `__proto__`.
 */
const reader = <A>(schema: Schema.Schema<A>) => {
  const is = Schema.is(schema)
  return (text: string): A | undefined => {
    const parsed = Either.try((): unknown => JSON.parse(text))
    return Either.isRight(parsed) && is(parsed.right) ? parsed.right : undefined
  }
}

const readHead = reader(Head)
const readPage = reader(Page)
const readSegment = reader(Segment)

/**
 * @since 0.1.0
 * @category encoding
 */
export const encodeHead = (head: Head): string =>
  JSON.stringify({ format: FORMAT, ...head, pages: head.pages.map(encodeReference) })
/**
 * `undefined` if it is not a head of this owner.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decodeHead = (ownerId: string, text: string): Head | undefined => {
  const head = readHead(text)
  return head?.ownerId === ownerId ? { ...head, pages: head.pages.map(decodeReference) } : undefined
}

/**
 * @since 0.1.0
 * @category encoding
 */
export const encodePage = (segments: ReadonlyArray<Reference>): string =>
  JSON.stringify({ segments: segments.map(encodeReference) })
/**
 * @since 0.1.0
 * @category decoding
 */
export const decodePage = (text: string): ReadonlyArray<Reference> | undefined =>
  readPage(text)?.segments.map(decodeReference)

/**
 * @since 0.1.0
 * @category encoding
 */
export const encodeSegment = (entries: ReadonlyArray<MemoryEntry>): string => JSON.stringify({ entries })
/**
 * `undefined` if it contains anything but entries of this owner.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decodeSegment = (ownerId: string, text: string): ReadonlyArray<MemoryEntry> | undefined => {
  const entries: Array<MemoryEntry> = []
  for (const one of readSegment(text)?.entries ?? [undefined]) {
    const entry = EntryChecks.entry("cache", ownerId, one as MemoryEntry, never)
    if (entry instanceof MemoryStoreError) return undefined
    entries.push(entry)
  }
  return entries
}

/**
 * Names of owners, ascending.
 *
 * @since 0.1.0
 * @category encoding
 */
export const encodeOwners = (owners: ReadonlyArray<string>): string => JSON.stringify({ owners })
/**
 * @since 0.1.0
 * @category decoding
 */
export const decodeOwners: (text: string) => typeof Owners.Type | undefined = reader(Owners)

/**
 * Chunks of owners: their first name (`""` for the first chunk) and their key.
 *
 * @since 0.1.0
 * @category encoding
 */
export const encodeRoot = (chunks: ReadonlyArray<readonly [from: string, key: string]>): string =>
  JSON.stringify({ chunks })
/**
 * @since 0.1.0
 * @category decoding
 */
export const decodeRoot: (text: string) => typeof Root.Type | undefined = reader(Root)

const MAX_NAME = 96

/** A distinct name for each owner, even where keys are file names and case does not matter. */
const nameOf = (ownerId: string): string => {
  const name = ownerId.replace(/[^a-z0-9_-]/g, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
  return name.length <= MAX_NAME ? name : `~${Sha256.hex(name)}`
}

/**
 * @since 0.1.0
 * @category keys
 */
export const headKey = (prefix: string, ownerId: string): string => `${prefix}:index:${nameOf(ownerId)}`
/**
 * The key of a record of an owner. `unique` must not be used again.
 *
 * @since 0.1.0
 * @category keys
 */
export const recordKey = (prefix: string, ownerId: string, unique: string): string =>
  `${prefix}:of:${nameOf(ownerId)}:${unique}`
/**
 * @since 0.1.0
 * @category keys
 */
export const rootKey = (prefix: string): string => `${prefix}:owners`
/**
 * @since 0.1.0
 * @category keys
 */
export const ownersKey = (prefix: string, unique: string): string => `${prefix}:owners:${unique}`
