/**
 * Entries in their order, and those that belong together.
 *
 * @internal
 * @since 0.1.0
 */
import * as Array from "effect/Array"
import type { MemoryEntry } from "./MemoryEntry.js"
import * as Selection from "./Selection.js"
import * as ToolPairs from "./ToolPairs.js"

/** The order of an owner's entries: by time, then by id. */
export const order = (a: MemoryEntry, b: MemoryEntry): number =>
  a.timestamp - b.timestamp || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

const field = (entry: MemoryEntry, key: string): unknown =>
  Object.hasOwn(entry.metadata, key) ? entry.metadata[key] : undefined

/** What its metadata says it is. */
export const kind = (entry: MemoryEntry): string | null => {
  const type = field(entry, "type")
  return typeof type === "string" ? type : null
}

/** The tree of sessions it belongs to, if it says so. */
export const tree = (entry: MemoryEntry): string | null => {
  const tree = field(entry, Selection.treeKey)
  return typeof tree === "string" ? tree : null
}

/**
 * What is recalled by the same branches, as far as entries say: one session, and of that what was said on one way. Put
 * together with others they would be lost to some branches, or told to others.
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

/** How long the results of a call may be on their way. */
const underWay = 3_600_000

/**
 * What must not be separated: a call of tools with its results; every other entry alone. Calls and results that lack
 * the other half are left out while it may still be too young to be seen.
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
