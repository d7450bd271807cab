/**
 * Sorts entries and groups those that belong together.
 *
 * @private
 * @since 0.1.0
 */
import * as Array from "effect/Array"
import type { MemoryEntry } from "./MemoryEntry.js"
import * as Selection from "./Selection.js"
import * as ToolPairs from "./ToolPairs.js"

/** Orders an owner's entries by time, then by id. */
export const order = (a: MemoryEntry, b: MemoryEntry): number =>
  a.timestamp - b.timestamp || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

const field = (entry: MemoryEntry, key: string): unknown =>
  Object.hasOwn(entry.metadata, key) ? entry.metadata[key] : undefined

/** The kind that the entry's metadata states. */
export const kind = (entry: MemoryEntry): string | null => {
  const type = field(entry, "type")
  return typeof type === "string" ? type : null
}

/** The session tree that the entry belongs to, if its metadata names one. */
export const tree = (entry: MemoryEntry): string | null => {
  const tree = field(entry, Selection.treeKey)
  return typeof tree === "string" ? tree : null
}

/**
 * Identifies entries that the same branches recall, as far as entries tell: one session, and one lineage within it.
 * Merging entries across these keys would hide them from some branches or leak them to others.
 */
export const way = (entry: MemoryEntry): ReadonlyArray<unknown> => {
  const stretch = field(entry, Selection.stretchKey)
  return [entry.sessionId ?? null, tree(entry), typeof stretch === "number" ? stretch : null]
}

export const groupBy = <A>(
  items: ReadonlyArray<A>,
  keyOf: (item: A) => string
): Map<string, Array.NonEmptyArray<A>> => {
  const groups = new Map<string, Array.NonEmptyArray<A>>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

/** How long the result of a tool call may take to arrive. */
const underWay = 3_600_000

/**
 * Groups entries that must not be separated: a tool call with its results. Every other entry is alone. Calls and
 * results that lack their counterpart are omitted while the counterpart may still arrive.
 */
export const units = (
  entries: ReadonlyArray<MemoryEntry>,
  agedBefore: number
): ReadonlyArray<Array.NonEmptyReadonlyArray<MemoryEntry>> => {
  const found: Array.NonEmptyReadonlyArray<MemoryEntry>[] = []
  for (const unit of ToolPairs.units(entries.toSorted(ToolPairs.chronological))) {
    if (unit.broken && unit.entries.some(({ timestamp }) => timestamp > agedBefore - underWay)) continue
    if (Array.isNonEmptyReadonlyArray(unit.entries)) found.push(unit.entries)
  }
  return found
}
