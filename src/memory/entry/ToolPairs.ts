/**
 * Pairs tool calls with their results. One without the other means nothing to a model, and providers reject it.
 *
 * The convention: an entry of the role `assistant` that calls tools lists the ids of its calls in
 * `metadata.toolCallIds`. An entry that holds a result (role `tool`) names its call in `metadata.toolCallId`. A result
 * belongs to the latest preceding call of that id in the same session and run that has no result yet, so that later
 * turns may reuse ids.
 *
 * @since 0.1.0
 */
import type { MemoryEntry } from "./MemoryEntry.js"

/**
 * The metadata key of an entry that calls tools.
 *
 * @since 0.1.0
 * @category constants
 */
export const TOOL_CALL_IDS = "toolCallIds"

/**
 * The metadata key of an entry that holds a result.
 *
 * @since 0.1.0
 * @category constants
 */
export const TOOL_CALL_ID = "toolCallId"

/**
 * An item that may call a tool or hold its result: a memory entry, a turn of a session.
 *
 * @since 0.1.0
 * @category models
 */
export interface Item {
  readonly role: MemoryEntry["role"]
  readonly metadata: Readonly<Record<string, unknown>>
  readonly sessionId?: string | undefined
  readonly runId?: string | undefined
}

const own = (entry: Item, key: string): unknown =>
  Object.hasOwn(entry.metadata, key) ? entry.metadata[key] : undefined

/**
 * The distinct calls of an entry. Empty for a role other than `assistant`.
 *
 * @since 0.1.0
 * @category getters
 */
export const callsOf = (entry: Item): Set<string> => {
  const ids = entry.role === "assistant" ? own(entry, TOOL_CALL_IDS) : undefined
  return new Set(Array.isArray(ids) ? ids.filter((id): id is string => typeof id === "string") : [])
}

/**
 * The call whose result the entry holds.
 *
 * @since 0.1.0
 * @category getters
 */
export const resultOf = (entry: Item): string | undefined => {
  const id = own(entry, TOOL_CALL_ID)
  return typeof id === "string" ? id : undefined
}

const turnOrder = { system: 0, user: 1, assistant: 2, tool: 3 } as const

/**
 * Oldest first. Of entries of the same moment, a question comes before its answer and a call before its result;
 * otherwise ids decide.
 *
 * @since 0.1.0
 * @category ordering
 */
export const chronological = (a: MemoryEntry, b: MemoryEntry): number =>
  a.timestamp - b.timestamp || turnOrder[a.role] - turnOrder[b.role] || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

/**
 * Entries that belong together: one without tools, or a call with all its results.
 *
 * @since 0.1.0
 * @category models
 */
export interface Unit<out A = MemoryEntry> {
  /** Oldest first. */
  readonly entries: ReadonlyArray<A>
  /** A call that lacks a result, or a result without its call. */
  readonly broken: boolean
}

interface Open<A> {
  readonly entries: Array<A>
  readonly pending: Set<string>
}

/**
 * Groups entries into units, in the order of their first entries. The entries must be oldest first (`chronological`) or
 * in the order of their conversation. Linear time.
 *
 * @since 0.1.0
 * @category combinators
 */
export const units = <A extends Item>(entries: ReadonlyArray<A>): ReadonlyArray<Unit<A>> => {
  const found: Array<Open<A>> = []
  const waiting = new Map<string, Map<string, Open<A>>>()
  for (const entry of entries) {
    const result = resultOf(entry)
    const calls = callsOf(entry)
    if (result === undefined && calls.size === 0) {
      found.push({ entries: [entry], pending: calls })
      continue
    }
    const place = JSON.stringify([entry.sessionId, entry.runId])
    let open = waiting.get(place)
    if (result !== undefined) {
      const unit = open?.get(result)
      if (unit === undefined) found.push({ entries: [entry], pending: new Set([result]) })
      else {
        unit.entries.push(entry)
        unit.pending.delete(result)
        open?.delete(result)
      }
      continue
    }
    const unit: Open<A> = { entries: [entry], pending: calls }
    found.push(unit)
    if (open === undefined) {
      open = new Map()
      waiting.set(place, open)
    }
    for (const id of calls) open.set(id, unit)
  }
  return found.map(({ entries, pending }) => ({ entries, broken: pending.size > 0 }))
}
