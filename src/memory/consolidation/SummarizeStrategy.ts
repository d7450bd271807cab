/**
 * Puts summaries in the place of what is old.
 *
 * @since 0.1.0
 */
import type { NonEmptyArray } from "effect/Array"
import * as Effect from "effect/Effect"
import * as Count from "../../internal/Count.js"
import * as EntryGroups from "../entry/EntryGroups.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { EpisodicCompressor } from "../episodic/EpisodicCompressor.js"
import * as MemorySummary from "../episodic/MemorySummary.js"
import type { Batch, ConsolidationStrategy } from "./MemoryConsolidator.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * What becomes one summary, of entries of one session and of those of none, of a session that was taken back to an
   * earlier turn what was said before and since apart: what was said on one `day` (UTC) once all of the day is old
   * enough; the whole `session` once nothing was added for a day; or what a function gives one name, likewise. `day`
   * unless set.
   */
  readonly groupBy?: "day" | "session" | ((entry: MemoryEntry) => string) | undefined
  /** Entries of different sessions may become one summary, which then belongs to none: branches see what they did not see before. Sessions
   * of one tree alone make a summary that none of them sees. */
  readonly acrossSessions?: boolean | undefined
  /**
   * Entries of one summary, at most; a call of tools stays with its results. The consolidator's number (100) unless
   * set.
   */
  readonly batchSize?: number | undefined
  /** Fewer are left as they are; 5 unless set, at least 2. */
  readonly minEntries?: number | undefined
  /** Of a summary, at most; the compressor's number (200) unless set. */
  readonly maxTokens?: number | undefined
  /** So many summaries of a level become one of the next; 10 unless set, at least 2. */
  readonly fanIn?: number | undefined
  /** Summaries of this level are not summarised any more; 3 unless set. 1: only entries are. */
  readonly maxLevel?: number | undefined
}

type Group = NonEmptyArray<MemoryEntry>

const DAY = 86_400_000

const dayOf = (entry: MemoryEntry): number => Math.floor(entry.timestamp / DAY)

/** What is done before it is written: a model that fails later takes no more than these summaries with it. */
const perProposal = 8

/** Parts of nearly the same size, no larger than need be; units stay whole. */
const chunks = (entries: Group, most: number, agedBefore: number): ReadonlyArray<Group> => {
  const each = Math.ceil(entries.length / Math.ceil(entries.length / most))
  const result: Array<Group> = []
  for (const unit of EntryGroups.units(entries, agedBefore)) {
    const last = result[result.length - 1]
    if (last === undefined || last.length + unit.length > each) result.push([...unit])
    else last.push(...unit)
  }
  return result
}

/** What is to become one summary each, oldest first. */
const plan = (batch: Batch, options: Options | undefined): ReadonlyArray<Group> => {
  const batchSize = Count.count(options?.batchSize ?? batch.batchSize, 100, 2)
  const minEntries = Count.count(options?.minEntries, 5, 2)
  const fanIn = Count.count(options?.fanIn, 10, 2)
  const maxLevel = Count.count(options?.maxLevel, 3, 1)
  const groupBy = options?.groupBy ?? "day"
  // What expires and what does not: in one summary the one would take the other with it.
  const placeOf = (entry: MemoryEntry) => [
    options?.acrossSessions === true ? null : EntryGroups.way(entry),
    entry.expiresAt === undefined
  ]
  const nameOf = (entry: MemoryEntry): unknown =>
    groupBy === "day" ? dayOf(entry) : groupBy === "session" ? null : groupBy(entry)
  const isOver = (group: Group): boolean => {
    const newest = group.reduce((newest, entry) => Math.max(newest, entry.timestamp), Number.NEGATIVE_INFINITY)
    return groupBy === "day"
      ? (Math.floor(newest / DAY) + 1) * DAY <= batch.agedBefore
      : newest + DAY <= batch.agedBefore
  }

  const said: Array<MemoryEntry> = []
  const summaries: Array<MemoryEntry> = []
  for (const unit of EntryGroups.units(batch.entries, batch.agedBefore)) {
    if (unit.some(({ role }) => role === "system")) continue
    for (const entry of unit) (MemorySummary.isSummary(entry) ? summaries : said).push(entry)
  }
  const planned: Array<Group> = []
  // What goes on past midnight belongs to the day it began.
  const names = new Map<MemoryEntry, unknown>()
  for (const unit of EntryGroups.units(said, batch.agedBefore))
    for (const entry of unit) names.set(entry, nameOf(unit[0]))
  for (const group of EntryGroups.groupBy(said, (entry) =>
    JSON.stringify([...placeOf(entry), names.get(entry)])
  ).values()) {
    if (!isOver(group)) continue
    for (const chunk of chunks(group, batchSize, batch.agedBefore)) if (chunk.length >= minEntries) planned.push(chunk)
  }
  const low = summaries.filter((summary) => MemorySummary.level(summary) < maxLevel)
  for (const group of EntryGroups.groupBy(low, (summary) =>
    JSON.stringify([...placeOf(summary), MemorySummary.level(summary)])
  ).values()) {
    for (let at = 0; at + fanIn <= group.length; at += fanIn) {
      planned.push(group.slice(at, at + fanIn) as Group)
    }
  }
  return planned.slice(0, perProposal)
}

/**
 * Entries that belong together become one summary when they are old enough, and many summaries become one of the next
 * level. A summary is never summarised alone, and none above `maxLevel`. Entries that expire and entries that do not
 * are kept apart. Writes by the `EpisodicCompressor`; when that fails, everything stays.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): ConsolidationStrategy<EpisodicCompressor> => ({
  name: "summarize",
  propose: Effect.fnUntraced(function* (batch) {
    const compressor = yield* EpisodicCompressor
    const replace = yield* Effect.forEach(plan(batch, options), (entries) =>
      Effect.map(
        batch.dryRun
          ? Effect.sync(() => MemorySummary.make({ entries, content: "" }))
          : compressor.compress(entries, { maxTokens: options?.maxTokens }),
        (summary) => ({ summary, ids: entries.map(({ id }) => id) })
      )
    )
    return { replace }
  })
})
