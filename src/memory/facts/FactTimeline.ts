/**
 * Computes when facts held from what was stated, independent of the order of the statements.
 *
 * A record is an uninterrupted period in which a triple held. It keeps when the triple was stated (`mentions`), so that
 * a late statement between two of them can split it.
 *
 * @private
 * @since 0.1.0
 */
import type { EntryId } from "../../domain/Ids.js"
import type { Fact, FactId, Origin } from "./Fact.js"
import type { FactRow } from "./FactBackend.js"

/**
 * @category constants
 */
const maxMentions = 64
/**
 * @category constants
 */
const maxSources = 64
/**
 * Maximum length of the metadata of a fact, as JSON.
 *
 * @category constants
 */
export const maxMetadata = 20_000

/**
 * One statement or retraction of a triple: its confidence, its sources, and whether other objects end then.
 *
 * @category models
 */
export interface Mention {
  readonly at: number
  readonly confidence: number
  readonly sources: ReadonlyArray<EntryId>
  readonly replaces: boolean
  /** A retraction. Only the last mention of a record that ends then. */
  readonly denies?: boolean | undefined
  /** Where it was stated: in all origins of one of these lists. Absent if that does not matter. */
  readonly origins?: ReadonlyArray<ReadonlyArray<Origin>> | undefined
}

type Mentions = readonly [Mention, ...ReadonlyArray<Mention>]

/** The `body` of a row. Only this module writes it. */
interface Body {
  readonly subject: string
  readonly predicate: string
  readonly object: string
  /** Ascending in time. */
  readonly mentions: Mentions
  readonly closedBy?: FactId | undefined
  readonly recordedAt: number
  readonly metadata: Readonly<Record<string, unknown>>
}

/**
 * A row and the parts of it that only the store reads.
 *
 * @category models
 */
export interface FactRecord extends Body {
  readonly row: Omit<FactRow, "body" | "confidence" | "validFrom" | "validTo" | "replacesFrom">
  readonly validTo?: number | undefined
}

const isMention = (mention: Partial<Mention> | null): boolean =>
  typeof mention?.at === "number" &&
  typeof mention.confidence === "number" &&
  Array.isArray(mention.sources) &&
  (mention.origins === undefined || (Array.isArray(mention.origins) && mention.origins.every(Array.isArray)))

/** Decoding with a schema would drop metadata under `__proto__`, and takes ten times as long. */
const isBody = (body: Partial<Body> | null): body is Body =>
  typeof body?.subject === "string" &&
  typeof body.predicate === "string" &&
  typeof body.object === "string" &&
  typeof body.recordedAt === "number" &&
  typeof body.metadata === "object" &&
  body.metadata !== null &&
  Array.isArray(body.mentions) &&
  body.mentions.length > 0 &&
  body.mentions.every(isMention)

/**
 * `undefined` if no store wrote the row.
 *
 * @category conversions
 */
export const fromRow = (row: FactRow): FactRecord | undefined => {
  let body: Partial<Body> | null
  try {
    body = JSON.parse(row.body)
  } catch {
    return undefined
  }
  return isBody(body) ? { ...body, row, validTo: row.validTo } : undefined
}

/**
 * The affirming mentions. Empty for a triple that was only retracted.
 *
 * @category getters
 */
export const affirming = (mentions: ReadonlyArray<Mention>): ReadonlyArray<Mention> =>
  mentions.filter(({ denies }) => denies !== true)

/** The mentions that a fact is built from: the affirming ones, or else the retraction. */
const telling = (mentions: ReadonlyArray<Mention>): ReadonlyArray<Mention> => {
  const said = affirming(mentions)
  return said.length === 0 ? mentions : said
}

const confidenceOf = (mentions: ReadonlyArray<Mention>): number => {
  let highest = 0
  for (const { confidence } of mentions) if (confidence > highest) highest = confidence
  return highest
}

const sourcesOf = (mentions: ReadonlyArray<Mention>): ReadonlyArray<EntryId> => {
  const all = new Set<EntryId>()
  for (const { sources } of mentions) for (const source of sources) all.add(source)
  return [...all]
}

/**
 * @category getters
 */
export const validFrom = (record: FactRecord): number => record.mentions[0].at

/**
 * @category conversions
 */
export const toRow = (record: FactRecord): FactRow => {
  const { closedBy, mentions, metadata, object, predicate, recordedAt, row, subject, validTo } = record
  const { id, objectKey, objectWords, ownerId, predicateKey, subjectKey, subjectWords, text } = row
  return {
    id,
    ownerId,
    subject: row.subject,
    subjectKey,
    predicateKey,
    objectKey,
    subjectWords,
    objectWords,
    text,
    confidence: confidenceOf(telling(mentions)),
    validFrom: mentions[0].at,
    validTo,
    replacesFrom: mentions.find((mention) => mention.replaces)?.at,
    body: JSON.stringify({ subject, predicate, object, mentions, closedBy, recordedAt, metadata })
  }
}

/**
 * @category conversions
 */
export const toFact = (record: FactRecord): Fact => ({
  id: record.row.id,
  ownerId: record.row.ownerId,
  subject: record.subject,
  predicate: record.predicate,
  object: record.object,
  confidence: confidenceOf(telling(record.mentions)),
  sources: sourcesOf(telling(record.mentions)),
  validFrom: validFrom(record),
  ...(record.validTo === undefined ? {} : { validTo: record.validTo }),
  ...(record.closedBy === undefined ? {} : { closedBy: record.closedBy }),
  recordedAt: record.recordedAt,
  metadata: record.metadata
})

/** If there are too many, the oldest go first. A fact stated without origins is known everywhere. */
const joinedOrigins = ({ origins: a }: Mention, { origins: b }: Mention): Pick<Mention, "origins"> =>
  a === undefined || b === undefined
    ? {}
    : { origins: [...new Map([...a, ...b].map((one) => [JSON.stringify(one), one])).values()].slice(-maxSources) }

const joined = (a: Mention, b: Mention): Mention => ({
  at: a.at,
  confidence: Math.max(a.confidence, b.confidence),
  sources: [...new Set([...a.sources, ...b.sources])],
  replaces: a.replaces || b.replaces,
  ...(a.denies === true && b.denies === true ? { denies: true } : {}),
  ...joinedOrigins(a, b)
})

/** If there are too many, the oldest are joined and the oldest sources are dropped. */
const bounded = (mentions: ReadonlyArray<Mention>): Mentions => {
  const kept = mentions.slice()
  while (kept.length > maxMentions) kept.splice(0, 2, joined(kept[0]!, kept[1]!))
  let room = maxSources
  for (let index = kept.length - 1; index >= 0; index--) {
    const mention = kept[index]!
    if (mention.sources.length > room)
      kept[index] = { ...mention, sources: room === 0 ? [] : mention.sources.slice(-room) }
    room -= kept[index]!.sources.length
  }
  return kept as unknown as Mentions
}

/**
 * @category combinators
 */
export const withMention = (mentions: ReadonlyArray<Mention>, mention: Mention): Mentions => {
  const index = mentions.findIndex(({ at }) => at >= mention.at)
  if (index < 0) return bounded([...mentions, mention])
  const before = mentions.slice(0, index)
  const there = mentions[index]!
  return bounded(
    there.at === mention.at
      ? [...before, joined(there, mention), ...mentions.slice(index + 1)]
      : [...before, mention, ...mentions.slice(index)]
  )
}

const covers = (record: FactRecord, at: number): boolean =>
  validFrom(record) <= at && (record.validTo === undefined || record.validTo > at)

/** A repetition by the same source adds nothing. */
const isKnown = (record: FactRecord, { at, sources }: Mention): boolean => {
  if (sources.length === 0 || !(covers(record, at) || validFrom(record) === at)) return false
  return isFrom(affirming(record.mentions), sources)
}

const isFrom = (mentions: ReadonlyArray<Mention>, sources: ReadonlyArray<EntryId>): boolean => {
  const known = new Set(sourcesOf(mentions))
  return sources.every((source) => known.has(source))
}

/** The part before a time and, if it was stated again afterwards, the part from then on. */
const parted = (
  record: FactRecord,
  at: number,
  rest: FactId
): { readonly before: FactRecord; readonly after: FactRecord | undefined } => {
  const before = record.mentions.filter((mention) => mention.at <= at) as unknown as Mentions
  const after = record.mentions.filter((mention) => mention.at > at)
  return {
    before: { ...record, mentions: before, validTo: at },
    after:
      after.length === 0
        ? undefined
        : { ...record, row: { ...record.row, id: rest }, mentions: after as unknown as Mentions }
  }
}

/**
 * What an assertion does to the surrounding records.
 *
 * @category models
 */
export interface Insertion {
  readonly changed: ReadonlyArray<FactRecord>
  readonly kept: FactRecord
}

/**
 * Inserts an assertion. `told` is the asserted fact as a new, open record with one mention; its id is that of a new
 * record. `near` are the records of its subject and predicate from `FactBackend.near`. `ids` are new ids, as many as
 * there are records.
 *
 * Of two objects with the same time, the later assertion replaces the other.
 *
 * @category combinators
 */
export const insert = (near: ReadonlyArray<FactRecord>, told: FactRecord, ids: ReadonlyArray<FactId>): Insertion => {
  const mention = told.mentions[0]
  const at = mention.at
  const own: Array<FactRecord> = []
  const others: Array<FactRecord> = []
  for (const record of near) (record.row.objectKey === told.row.objectKey ? own : others).push(record)
  const known = own.find((record) => isKnown(record, mention))
  if (known !== undefined) return { changed: [], kept: known }

  const closed: Array<FactRecord> = []
  const reopened: Array<FactRecord> = []
  const staying: Array<FactRecord> = []
  others.forEach((record, index) => {
    if (!mention.replaces || !covers(record, at)) {
      staying.push(record)
      return
    }
    const { after, before } = parted(record, at, ids[index]!)
    closed.push(before)
    if (after !== undefined) reopened.push(after)
  })

  const kept = placed(own, [...staying, ...reopened], told)
  const changed = [...closed.map((record) => ({ ...record, closedBy: kept.row.id })), ...reopened, kept]
  return { changed, kept }
}

/**
 * Like `insert`, for a retraction: `told` has one mention, which denies the triple from then on. `id` is that of the
 * part that was stated again afterwards. Other objects do not change.
 *
 * @category combinators
 */
export const retract = (near: ReadonlyArray<FactRecord>, told: FactRecord, id: FactId): Insertion => {
  const mention: Mention = { ...told.mentions[0], replaces: false, denies: true }
  const { at } = mention
  const own = near.filter(({ row }) => row.objectKey === told.row.objectKey)
  const home = own.find((record) => covers(record, at))
  if (home !== undefined) {
    const { after, before } = parted(home, at, id)
    const { closedBy: _, ...open } = before
    const kept = { ...open, mentions: bounded([...before.mentions, mention]) }
    return { changed: after === undefined ? [kept] : [kept, after], kept }
  }
  const over = own.find((record) => record.validTo === at)
  if (over === undefined) {
    const kept: FactRecord = { ...told, mentions: [mention], validTo: at }
    return { changed: [kept], kept }
  }
  const known = over.mentions.filter(({ denies }) => denies === true)
  if (known.length > 0 && isFrom(known, mention.sources)) return { changed: [], kept: over }
  const kept = { ...over, mentions: bounded([...affirming(over.mentions), known.reduce(joined, mention)]) }
  return { changed: [kept], kept }
}

/** The later statement wins. Known metadata is dropped if both together are too large. */
const mergeMetadata = (known: FactRecord["metadata"], told: FactRecord["metadata"]): FactRecord["metadata"] => {
  if (Object.keys(told).length === 0) return known
  const both = { ...known, ...told }
  return JSON.stringify(both).length > maxMetadata ? told : both
}

const grown = (record: FactRecord, told: FactRecord): FactRecord => ({
  ...record,
  mentions: withMention(record.mentions, told.mentions[0]),
  metadata: mergeMetadata(record.metadata, told.metadata)
})

const placed = (own: ReadonlyArray<FactRecord>, others: ReadonlyArray<FactRecord>, told: FactRecord): FactRecord => {
  const at = validFrom(told)
  const home = own.find((record) => covers(record, at))
  if (home !== undefined) return grown(home, told)
  let end: { readonly at: number; readonly by: FactId } | undefined
  for (const record of others) {
    const next = record.mentions.find((mention) => mention.at > at && mention.replaces)
    if (next !== undefined && (end === undefined || next.at < end.at)) end = { at: next.at, by: record.row.id }
  }
  let next: FactRecord | undefined
  for (const record of own) {
    if (validFrom(record) > at && (next === undefined || validFrom(record) < validFrom(next))) next = record
  }
  if (next !== undefined && (end === undefined || validFrom(next) <= end.at)) return grown(next, told)
  return end === undefined ? told : { ...told, validTo: end.at, closedBy: end.by }
}

/**
 * Ends a record explicitly, not before it began. Later mentions count as stated before the end. A record that had ended
 * by then does not change.
 *
 * @category combinators
 */
export const ended = (record: FactRecord, at: number): FactRecord => {
  const end = Math.max(at, validFrom(record))
  if (record.validTo !== undefined && record.validTo <= end) return record
  const { closedBy: _, ...open } = record
  const [first, ...rest] = record.mentions
  const mentions: [Mention, ...Array<Mention>] = [first]
  for (const mention of rest) {
    if (mention.at < end) mentions.push(mention)
    else mentions.push(joined(mentions.pop() ?? first, mention))
  }
  return { ...open, mentions, validTo: end }
}

/**
 * @category combinators
 */
export const withConfidence = (record: FactRecord, confidence: number): FactRecord => {
  const [first, ...rest] = record.mentions
  return { ...record, mentions: [{ ...first, confidence }, ...rest.map((mention) => ({ ...mention, confidence }))] }
}
