/**
 * Builds and recognizes entries that summarize others.
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import { EntryId } from "../../domain/Ids.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as EntryGroups from "../entry/EntryGroups.js"
import * as MemoryEntry from "../entry/MemoryEntry.js"
import type { TimeRange } from "../entry/Selection.js"

type Entry = MemoryEntry.MemoryEntry

/**
 * The `metadata.type` of a summary.
 *
 * @since 0.1.0
 * @category constants
 */
export const TYPE = "summary"

/**
 * The metadata of a summary, in addition to the metadata that all its entries share.
 *
 * @since 0.1.0
 * @category models
 */
export interface SummaryMetadata {
  readonly type: typeof TYPE
  /** The ids it replaces, oldest first: entries, or summaries one level below. */
  readonly compressedIds: ReadonlyArray<EntryId>
  /** From the oldest to the newest entry it covers. */
  readonly timeRange: TimeRange
  /** 1 above entries, 2 above summaries of entries, and so on. */
  readonly level: number
  /** The number of entries it covers, including those of its summaries. */
  readonly turns: number
}

const field = (entry: Entry, key: keyof SummaryMetadata): unknown =>
  Object.hasOwn(entry.metadata, key) ? entry.metadata[key] : undefined

const positive = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : undefined

/**
 * @since 0.1.0
 * @category guards
 */
export const isSummary = (entry: Entry): boolean => EntryGroups.kind(entry) === TYPE

/**
 * The level of a summary; 0 for any other entry.
 *
 * @since 0.1.0
 * @category getters
 */
export const level = (entry: Entry): number => (isSummary(entry) ? (positive(field(entry, "level")) ?? 1) : 0)

/**
 * The number of entries that a summary covers; 1 for any other entry.
 *
 * @since 0.1.0
 * @category getters
 */
export const turns = (entry: Entry): number => (isSummary(entry) ? (positive(field(entry, "turns")) ?? 1) : 1)

const rangeOf = (entry: Entry): TimeRange => {
  const range: unknown = isSummary(entry) ? field(entry, "timeRange") : undefined
  const at = { start: entry.timestamp, end: entry.timestamp }
  if (typeof range !== "object" || range === null) return at
  const { end, start } = range as Partial<Record<keyof TimeRange, unknown>>
  return Number.isFinite(start) && Number.isFinite(end) ? { start: start as number, end: end as number } : at
}

/** The common value of all entries, if there is one. */
const common = <A>(entries: NonEmptyReadonlyArray<Entry>, get: (entry: Entry) => A): A | undefined => {
  const first = get(entries[0])
  return entries.every((entry) => get(entry) === first) ? first : undefined
}

const isScalar = (value: unknown): boolean => value === null || typeof value !== "object"

const commonMetadata = (entries: NonEmptyReadonlyArray<Entry>): ReadonlyArray<readonly [string, unknown]> =>
  Object.entries(entries[0].metadata).filter(
    ([key, value]) =>
      isScalar(value) && entries.every(({ metadata }) => Object.hasOwn(metadata, key) && metadata[key] === value)
  )

const least = (values: ReadonlyArray<number | undefined>): number | undefined =>
  values.reduce((least, value) => (value === undefined ? least : Math.min(value, least ?? value)), undefined)

const most = (values: ReadonlyArray<number | undefined>): number | undefined =>
  values.reduce((most, value) => (value === undefined ? most : Math.max(value, most ?? value)), undefined)

const mean = (values: ReadonlyArray<number>): number => {
  const average = values.reduce((sum, value) => sum + value, 0) / values.length
  // Rounding can move the average of equal values off that value, across a threshold.
  return Math.min(Math.max(average, least(values) ?? 0), most(values) ?? 1)
}

/**
 * Makes the summary of these entries of one owner. Its id derives from theirs, so that the same entries always give the
 * same id. It is dated like the newest entry: a branch that left the session earlier does not see it. It keeps the
 * session, run, role (otherwise `assistant`) and scalar metadata that all entries share. It has their average
 * importance and the sum of their recalls, and expires with the first of them.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { MemoryConsolidator, MemorySummary } from "effect-lexigram/memory"
 * import * as Array from "effect/Array"
 * import * as Effect from "effect/Effect"
 *
 * // A strategy that replaces the aged notes of an owner by a line with their number.
 * const headline: MemoryConsolidator.ConsolidationStrategy = {
 *   name: "headline",
 *   propose: ({ entries }) => {
 *     if (!Array.isNonEmptyReadonlyArray(entries) || entries.length < 2) return Effect.succeed({})
 *     const summary = MemorySummary.make({ entries, content: `${entries.length} notes` })
 *     return Effect.succeed({ replace: [{ summary, ids: entries.map(({ id }) => id) }] })
 *   }
 * }
 * ```
 */
export const make = (options: { readonly entries: NonEmptyReadonlyArray<Entry>; readonly content: string }): Entry => {
  const entries = options.entries.toSorted(EntryGroups.order) as [Entry, ...Array<Entry>]
  const ids = entries.map(({ id }) => id)
  const newest = entries[entries.length - 1] as Entry
  const ranges = entries.map(rangeOf)
  const metadata: SummaryMetadata = {
    type: TYPE,
    compressedIds: ids,
    timeRange: {
      start: least(ranges.map(({ start }) => start)) ?? newest.timestamp,
      end: most(ranges.map(({ end }) => end)) ?? newest.timestamp
    },
    level: (most(entries.map(level)) ?? 0) + 1,
    turns: entries.reduce((sum, entry) => sum + turns(entry), 0)
  }
  const sessionId = common(entries, (entry) => entry.sessionId)
  const runId = common(entries, (entry) => entry.runId)
  const expiresAt = least(entries.map((entry) => entry.expiresAt))
  const accessCount = entries.reduce((sum, entry) => sum + (entry.accessCount ?? 0), 0)
  const lastAccessedAt = most(entries.map((entry) => entry.lastAccessedAt))
  return MemoryEntry.make({
    id: EntryId.make(`summary-${CanonicalJson.hash(ids)}`),
    ownerId: newest.ownerId,
    content: options.content,
    role: common(entries, (entry) => entry.role) ?? "assistant",
    timestamp: newest.timestamp,
    importance: mean(entries.map((entry) => entry.importance)),
    metadata: { ...Object.fromEntries(commonMetadata(entries)), ...metadata },
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(runId === undefined ? {} : { runId }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(accessCount === 0 ? {} : { accessCount }),
    ...(lastAccessedAt === undefined ? {} : { lastAccessedAt })
  })
}
