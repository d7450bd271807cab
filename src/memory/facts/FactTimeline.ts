/**
 * When what held, worked out from what was said, whatever the order it is told in.
 *
 * A record is a time without a break in which a triple held. It keeps when it was said (`mentions`), so that what is
 * told late and belongs between two of them can part it.
 *
 * @internal
 * @since 0.1.0
 */
import type { EntryId } from "../../domain/Ids.js"
import type { Fact, FactId, Origin } from "./Fact.js"
import type { FactRow } from "./FactBackend.js"

/**
 * @category constants
 */
export const maxMentions = 64
/**
 * @category constants
 */
export const maxSources = 64
/**
 * Characters of the metadata of a fact as JSON.
 *
 * @category constants
 */
export const maxMetadata = 20_000

/**
 * Once that a triple was said, or taken back: how sure, by which entries, and whether other objects end then.
 *
 * @category models
 */
export interface Mention {
  readonly at: number
  readonly confidence: number
  readonly sources: ReadonlyArray<EntryId>
  readonly replaces: boolean
  /** It was taken back. Only the last mention of a record that ends then. */
  readonly denies?: boolean | undefined
  /** Where it was said: everywhere in one of these together. Absent where it does not matter. */
  readonly origins?: ReadonlyArray<ReadonlyArray<Origin>> | undefined
}

type Mentions = readonly [Mention, ...ReadonlyArray<Mention>]

/** What a row says in its `body`; only this module writes it. */
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
 * A row and what only the store reads of it.
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

/** A schema would drop metadata under `__proto__`, and takes ten times as long. */
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
 * Nothing if no store wrote it.
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
 * Those that say that it is so. Of a triple of which is known only that it was taken back: none.
 *
 * @category getters
 */
export const affirming = (mentions: ReadonlyArray<Mention>): ReadonlyArray<Mention> =>
  mentions.filter(({ denies }) => denies !== true)

/** What a fact is made of: what was said of it, or else what took it back. */
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

/** Of too many those told first go: what is told without any is known everywhere. */
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

/** Of too many the oldest become one, and the oldest sources go. */
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

/** The same source says nothing new. */
const isKnown = (record: FactRecord, { at, sources }: Mention): boolean => {
  if (sources.length === 0 || !(covers(record, at) || validFrom(record) === at)) return false
  return isFrom(affirming(record.mentions), sources)
}

const isFrom = (mentions: ReadonlyArray<Mention>, sources: ReadonlyArray<EntryId>): boolean => {
  const known = new Set(sourcesOf(mentions))
  return sources.every((source) => known.has(source))
}

/** The part before a time and, if it was said again after, the part from then on. */
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
 * What becomes of the records around when a triple is said.
 *
 * @category models
 */
export interface Insertion {
  readonly changed: ReadonlyArray<FactRecord>
  readonly kept: FactRecord
}

/**
 * `told` is what is said, as a record of its own that is open and has one mention; its id is that of a new record.
 * `near` are the records of its subject and predicate as `FactBackend.near` gives them; `ids` are new ones, as many as
 * there are of these.
 *
 * Of two objects from the same time the one that is told later takes the place of the other.
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
 * As `insert`, for a triple that is taken back: `told` has one mention, that it no longer holds from then on. `id` is
 * that of what was said again after that. Other objects stay as they are.
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

/** What is told later wins; what is known gives way when both together would be too much. */
const merged = (known: FactRecord["metadata"], told: FactRecord["metadata"]): FactRecord["metadata"] => {
  if (Object.keys(told).length === 0) return known
  const both = { ...known, ...told }
  return JSON.stringify(both).length > maxMetadata ? told : both
}

const grown = (record: FactRecord, told: FactRecord): FactRecord => ({
  ...record,
  mentions: withMention(record.mentions, told.mentions[0]),
  metadata: merged(record.metadata, told.metadata)
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
 * Ended by somebody's word, not before it began; what was said after that counts as said before it. One that had ended
 * by then stays as it is.
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
