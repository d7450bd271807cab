/**
 * Entries in their order, and those that belong together.
 *
 * @internal
 * @since 0.1.0
 */
import type { NonEmptyArray } from "effect/Array"
import type { MemoryEntry } from "./MemoryEntry.js"

/** The order of an owner's entries: by time, then by id. */
export const order = (a: MemoryEntry, b: MemoryEntry): number =>
  a.timestamp - b.timestamp || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

/** What its metadata says it is. */
export const kind = (entry: MemoryEntry): string | null => {
  const type = Object.hasOwn(entry.metadata, "type") ? entry.metadata["type"] : undefined
  return typeof type === "string" ? type : null
}

export const groupBy = <A>(items: ReadonlyArray<A>, keyOf: (item: A) => string): Map<string, NonEmptyArray<A>> => {
  const groups = new Map<string, NonEmptyArray<A>>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

const exchangeOf = ({ runId, sessionId, turnId }: MemoryEntry): string | undefined =>
  runId === undefined && turnId === undefined ? undefined : JSON.stringify([sessionId, runId, runId ?? turnId])

/**
 * What must not be separated: the entries of a run (of a turn, where no run is known) that has results of tools, together; every other entry
 * alone. In the order of their first entries.
 */
export const units = (entries: ReadonlyArray<MemoryEntry>): ReadonlyArray<NonEmptyArray<MemoryEntry>> => {
  const withTools = new Set<string | undefined>()
  for (const entry of entries) if (entry.role === "tool") withTools.add(exchangeOf(entry))
  withTools.delete(undefined)
  const exchanges = new Map<string, NonEmptyArray<MemoryEntry>>()
  const result: Array<NonEmptyArray<MemoryEntry>> = []
  for (const entry of entries) {
    const exchange = withTools.size === 0 ? undefined : exchangeOf(entry)
    const known = exchange === undefined ? undefined : exchanges.get(exchange)
    if (known !== undefined) {
      known.push(entry)
      continue
    }
    const unit: NonEmptyArray<MemoryEntry> = [entry]
    result.push(unit)
    if (exchange !== undefined && withTools.has(exchange)) exchanges.set(exchange, unit)
  }
  return result
}
