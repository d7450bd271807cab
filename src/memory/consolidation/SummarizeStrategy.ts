/**
 * Replaces old entries by summaries.
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
   * What becomes one summary: the entries of one `day` (UTC) once the whole day is old enough; the whole `session` once
   * nothing was added for a day; or the entries with the same result of a function, likewise. Always separate: entries
   * of each session, entries without a session, and what a session contains before and after it was rewound to an
   * earlier turn. Default `day`.
   */
  readonly groupBy?: "day" | "session" | ((entry: MemoryEntry) => string) | undefined
  /**
   * Allows summaries of entries of different sessions. They belong to no session: branches see what they did not see
   * before. If all sessions are of one tree, none of them sees the summary.
   */
  readonly acrossSessions?: boolean | undefined
  /**
   * Maximum entries of one summary; tool calls stay with their results. Default: the consolidator's number (100).
   */
  readonly batchSize?: number | undefined
  /** Fewer entries are left as they are. Default 5, at least 2. */
  readonly minEntries?: number | undefined
  /** Maximum tokens of a summary. Default: the compressor's number (200). */
  readonly maxTokens?: number | undefined
  /** Number of summaries of one level that become one of the next. Default 10, at least 2. */
  readonly fanIn?: number | undefined
  /** Summaries of this level are not summarized again. Default 3; 1 summarizes only entries. */
  readonly maxLevel?: number | undefined
}

type Group = NonEmptyArray<MemoryEntry>

const DAY = 86_400_000

const dayOf = (entry: MemoryEntry): number => Math.floor(entry.timestamp / DAY)

/** Maximum summaries per proposal: a later failure of the model loses no more than these. */
const perProposal = 8

/** Parts of nearly equal size, as few as possible. Units stay whole. */
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

/** The groups to summarize, oldest first. */
const plan = (batch: Batch, options: Options | undefined): ReadonlyArray<Group> => {
  const batchSize = Count.count(options?.batchSize ?? batch.batchSize, 100, 2)
  const minEntries = Count.count(options?.minEntries, 5, 2)
  const fanIn = Count.count(options?.fanIn, 10, 2)
  const maxLevel = Count.count(options?.maxLevel, 3, 1)
  const groupBy = options?.groupBy ?? "day"
  // Separates expiring entries from others: in one summary they would take the others with them.
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
  // A unit that continues past midnight belongs to the day it began.
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
 * Summarizes entries that belong together once they are old enough, and many summaries into one of the next level. A
 * summary is never summarized alone, nor above `maxLevel`. Expiring and lasting entries are kept apart. Uses the
 * `EpisodicCompressor`; if it fails, nothing changes.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import {
 *   ConsolidationStrategies,
 *   DefaultEpisodicCompressor,
 *   DefaultMemory,
 *   SummarizeStrategy
 * } from "effect-lexigram/memory"
 *
 * const memory = DefaultMemory.layer({
 *   compressor: DefaultEpisodicCompressor.layerExtractive,
 *   strategies: [
 *     ConsolidationStrategies.deduplication(),
 *     SummarizeStrategy.make({ groupBy: "session", minEntries: 10, maxTokens: 150 })
 *   ]
 * })
 * ```
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
