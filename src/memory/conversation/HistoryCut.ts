/**
 * Cuts a history into the turns to summarize and the turns to keep.
 *
 * @private
 * @since 0.1.0
 */
import { EntryId } from "../../domain/Ids.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import * as ToolPairs from "../entry/ToolPairs.js"
import * as MemorySummary from "../episodic/MemorySummary.js"
import * as SummaryText from "../episodic/SummaryText.js"

/**
 * @category models
 */
export interface Item extends ToolPairs.Item {
  readonly id: string
  readonly content: string
}

interface Summary {
  readonly text: string
  readonly throughId: string
  readonly turns: number
}

/**
 * @category combinators
 */
export const sum = <A>(items: ReadonlyArray<A>, cost: (item: A) => number): number => {
  let total = 0
  for (const item of items) total += cost(item)
  return total
}

/**
 * The turns without system turns that no summary covers. A remembered summary counts only if the history contains its
 * last turn; otherwise the history is a different one by now. A summary that was passed in always counts.
 *
 * @category combinators
 */
export const since = <A extends Item>(
  items: ReadonlyArray<A>,
  given: Summary | undefined,
  remembered: Summary | undefined
): { readonly live: ReadonlyArray<A>; readonly previous: Summary | undefined } => {
  const summary = given ?? remembered
  const last = summary === undefined ? -1 : items.findLastIndex(({ id }) => id === summary.throughId)
  return {
    live: items.slice(last + 1).filter(({ role }) => role !== "system"),
    previous: last < 0 && given === undefined ? undefined : summary
  }
}

/** Turns in order, cut only where no call is separated from its results. */
const segments = <A extends Item>(live: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> => {
  const place = new Map(live.map((item, index) => [item, index] as const))
  const ends = live.map((_, index) => index)
  for (const { entries } of ToolPairs.units(live)) {
    const first = place.get(entries[0] as A) as number
    for (const entry of entries) ends[first] = Math.max(ends[first] as number, place.get(entry) as number)
  }
  const found: Array<ReadonlyArray<A>> = []
  for (let from = 0; from < live.length; ) {
    let end = from
    for (let at = from; at <= end; at++) end = Math.max(end, ends[at] as number)
    found.push(live.slice(from, end + 1))
    from = end + 1
  }
  return found
}

const whole = <A extends Item>(turns: ReadonlyArray<A>): ReadonlyArray<A> => {
  const paired = new Set(ToolPairs.units(turns).flatMap(({ broken, entries }) => (broken ? [] : entries)))
  return turns.filter((turn) => paired.has(turn))
}

/**
 * The newest turns that fit `target`, at least the newest one. `undefined` if that exceeds `most`. Drops calls without
 * results and results without calls.
 *
 * @category combinators
 */
export const split = <A extends Item>(
  live: ReadonlyArray<A>,
  cost: (item: A) => number,
  most: number,
  target: number
): { readonly head: ReadonlyArray<A>; readonly kept: ReadonlyArray<A> } | undefined => {
  const all = segments(live)
  let used = 0
  let from = all.length
  while (from > 0) {
    const next = sum(whole(all[from - 1] ?? []), cost)
    if (used + next > (from === all.length ? most : Math.min(most, target))) break
    used += next
    from--
  }
  if (most < 0 || (from === all.length && from > 0)) return undefined
  return { head: all.slice(0, from).flat(), kept: whole(all.slice(from).flat()) }
}

const asEntry = (item: Item, index: number): MemoryEntry => ({
  id: EntryId.make(`${index}`),
  ownerId: "-",
  content: item.content,
  role: item.role,
  timestamp: index,
  importance: 0.5,
  metadata: {}
})

/**
 * The beginnings of the turns, preceded by as much of the previous summary as fits.
 *
 * @category conversions
 */
export const extract = (
  head: ReadonlyArray<Item>,
  previous: Summary | undefined,
  maxTokens: number,
  count: (text: string) => number
): string => {
  const before: ReadonlyArray<MemoryEntry> =
    previous === undefined
      ? []
      : [
          {
            ...asEntry({ id: "", content: previous.text, role: "assistant", metadata: {} }, -1),
            importance: 1,
            metadata: { type: MemorySummary.TYPE, turns: previous.turns }
          }
        ]
  return SummaryText.extract([...before, ...head.map(asEntry)], maxTokens, count)
}

/**
 * The text, as far as its message fits.
 *
 * @category conversions
 */
export const fit = (
  text: string,
  room: number,
  maxTokens: number,
  cost: (text: string) => number,
  count: (text: string) => number
): string => {
  let most = maxTokens
  let fitting = SummaryText.cutSentences(text, Math.max(0, most), count)
  while (fitting !== "" && !(cost(fitting) <= room)) {
    most = Math.floor(most * 0.8)
    fitting = most < 1 ? "" : SummaryText.cutSentences(text, most, count)
  }
  return fitting
}
