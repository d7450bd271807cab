/**
 * Indexes the entries of one owner by id, time, session and word.
 *
 * @private
 * @since 0.1.0
 */
import type { EntryId, SessionId } from "../../domain/Ids.js"
import { IndexedHeap } from "../../internal/IndexedHeap.js"
import { OrderedList } from "../../internal/OrderedList.js"
import type { Position } from "../entry/MemoryBackend.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { Selection } from "../entry/Selection.js"
import * as Selections from "../entry/Selection.js"
import { LexicalIndex, type Matches, type Scratch } from "../text/LexicalIndex.js"

/**
 * An entry and its places in the indexes.
 *
 * @category models
 */
export interface Held {
  entry: MemoryEntry
  readonly owner: OwnerEntries
  /** When it was last stored or recalled. */
  usedAt: number
  slot: number
  expiry: number
  eviction: number
}

/**
 * Orders entries for eviction: negative if the first is evicted before the second.
 *
 * @category models
 */
export type Eviction = (a: Held, b: Held) => number

/**
 * @category instances
 */
export const byPosition = (a: Position, b: Position): number =>
  a.timestamp - b.timestamp || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

const heldByPosition = (a: Held, b: Held): number => byPosition(a.entry, b.entry)

type Direction = 1 | -1

/**
 * @category models
 */
export class OwnerEntries {
  private readonly held = new Map<string, Held>()
  private readonly order = new OrderedList<Held>(heldByPosition)
  /** Entries with names in their metadata: each retrieval that names something reads them. */
  private readonly named = new OrderedList<Held>(heldByPosition)
  /** The key `undefined` holds the entries without a session. */
  private readonly sessions = new Map<SessionId | undefined, OrderedList<Held>>()
  private readonly evictions: IndexedHeap<"eviction", Held> | undefined
  private readonly words: LexicalIndex<Held>
  /** The index of this owner among the owners of the store. */
  rank = -1

  constructor(
    readonly ownerId: string,
    room: Scratch,
    eviction: Eviction | undefined
  ) {
    this.words = new LexicalIndex(room, (a, b) => heldByPosition(b, a))
    this.evictions = eviction === undefined ? undefined : new IndexedHeap("eviction", eviction)
  }

  get size(): number {
    return this.held.size
  }

  get(id: EntryId): Held | undefined {
    return this.held.get(id)
  }

  /** The id must not exist. */
  add(entry: MemoryEntry, usedAt: number, terms: ReadonlyArray<string>): Held {
    const item: Held = { entry, owner: this, usedAt, slot: -1, expiry: -1, eviction: -1 }
    this.held.set(entry.id, item)
    this.order.add(item)
    if (hasNames(entry)) this.named.add(item)
    let session = this.sessions.get(entry.sessionId)
    if (session === undefined) {
      session = new OrderedList(heldByPosition)
      this.sessions.set(entry.sessionId, session)
    }
    session.add(item)
    this.words.add(item, terms)
    this.evictions?.add(item)
    return item
  }

  remove(item: Held): void {
    this.held.delete(item.entry.id)
    this.order.remove(item)
    if (hasNames(item.entry)) this.named.remove(item)
    const session = this.sessions.get(item.entry.sessionId)
    session?.remove(item)
    if (session?.size === 0) this.sessions.delete(item.entry.sessionId)
    this.words.remove(item)
    this.evictions?.remove(item)
  }

  /** Position, session and words do not change. */
  replace(item: Held, entry: MemoryEntry, usedAt: number): void {
    item.entry = entry
    item.usedAt = usedAt
    this.evictions?.moved(item)
  }

  /** The entry to evict first. */
  get evictable(): Held | undefined {
    return this.evictions === undefined ? this.order.first : this.evictions.first
  }

  items(): Iterable<Held> {
    return this.held.values()
  }

  /** In the order of time, starting after one position. */
  read(options: {
    readonly direction: Direction
    readonly limit: number
    readonly selection: Selection
    readonly from?: Position | undefined
  }): ReadonlyArray<MemoryEntry> {
    const found: Array<MemoryEntry> = []
    if (options.limit <= 0) return found
    const wanted = Selections.predicate(options.selection)
    for (const { entry } of this.walk(options.selection, options.direction, options.from)) {
      if (wanted !== undefined && !wanted(entry)) continue
      found.push(entry)
      if (found.length >= options.limit) break
    }
    return found
  }

  count(selection: Selection): number {
    const wanted = Selections.predicate(selection)
    if (wanted === undefined) return this.size
    let count = 0
    for (const { entry } of this.walk(selection, 1, undefined)) if (wanted(entry)) count++
    return count
  }

  around(
    item: Held,
    options: { readonly before: number; readonly after: number; readonly selection: Selection }
  ): ReadonlyArray<MemoryEntry> {
    const sessionId = item.entry.sessionId
    const session = sessionId === undefined ? undefined : this.sessions.get(sessionId)
    if (session === undefined) return []
    const wanted = Selections.predicate(options.selection)
    const take = (items: Iterable<Held>, limit: number) => {
      const found: Array<MemoryEntry> = []
      if (limit <= 0) return found
      for (const { entry } of items) {
        if (wanted !== undefined && !wanted(entry)) continue
        found.push(entry)
        if (found.length >= limit) break
      }
      return found
    }
    return take(startAfter(session, -1, item.entry), options.before)
      .reverse()
      .concat(take(startAfter(session, 1, item.entry), options.after))
  }

  search(terms: ReadonlyArray<string>, limit: number, selection: Selection): Matches<Held> {
    const wanted = Selections.predicate(selection)
    return this.words.search(terms, limit, wanted === undefined ? undefined : ({ entry }) => wanted(entry))
  }

  /** A superset of the selection, by order, sessions and times. */
  private *walk(selection: Selection, direction: Direction, from: Position | undefined): Generator<Held, void> {
    const lists = this.lists(selection)
    const range = selection.timeRange
    const walks = lists.map((list) => walkRange(list, direction, from, range))
    const walk = walks.length === 1 ? (walks[0] as Iterable<Held>) : mergeWalks(walks, direction)
    for (const item of walk) {
      const { timestamp } = item.entry
      if (range !== undefined && (direction === 1 ? timestamp > range.end : timestamp < range.start)) return
      yield item
    }
  }

  private lists(selection: Selection): ReadonlyArray<OrderedList<Held>> {
    const sessions = sessionsOf(selection)
    if (sessions === undefined) return [wantsNames(selection) ? this.named : this.order]
    const lists: Array<OrderedList<Held>> = []
    for (const id of sessions) {
      const list = this.sessions.get(id)
      if (list !== undefined) lists.push(list)
    }
    return lists
  }
}

const hasNames = ({ metadata }: MemoryEntry): boolean => Object.hasOwn(metadata, "entities")

/** Whether the selection excludes entries without names. */
const wantsNames = ({ filters }: Selection): boolean => {
  const names = filters !== undefined && Object.hasOwn(filters, "entities") ? filters["entities"] : null
  if (names === null || names === undefined) return false
  return typeof names !== "object" || !("in" in names) || !names.in.includes(null)
}

/** The sessions that a selection can contain, or `undefined` for all. */
const sessionsOf = ({ lineage, sessionIds, tree }: Selection): ReadonlySet<SessionId | undefined> | undefined => {
  if (sessionIds !== undefined) return new Set(sessionIds)
  // With a tree, the owner's other sessions stay.
  if (lineage === undefined || tree !== undefined) return undefined
  return new Set([undefined, ...lineage.map((ancestor) => ancestor.sessionId)])
}

const startAfter = (list: OrderedList<Held>, direction: Direction, from: Position): Iterable<Held> =>
  direction === 1
    ? list.ascending((item) => byPosition(item.entry, from) > 0)
    : list.descending((item) => byPosition(item.entry, from) >= 0)

/** Starts at the position or at the end of the range, whichever is reached later. */
const walkRange = (
  list: OrderedList<Held>,
  direction: Direction,
  from: Position | undefined,
  range: Selection["timeRange"]
): Iterable<Held> =>
  direction === 1
    ? list.ascending(
        (item) =>
          (from === undefined || byPosition(item.entry, from) > 0) &&
          (range === undefined || item.entry.timestamp >= range.start)
      )
    : list.descending(
        (item) =>
          (from !== undefined && byPosition(item.entry, from) >= 0) ||
          (range !== undefined && item.entry.timestamp > range.end)
      )

interface Cursor {
  readonly rest: Iterator<Held>
  item: Held
  at: number
}

function* mergeWalks(walks: ReadonlyArray<Iterable<Held>>, direction: Direction): Generator<Held, void> {
  const heap = new IndexedHeap<"at", Cursor>("at", (a, b) => direction * heldByPosition(a.item, b.item))
  for (const walk of walks) {
    const rest = walk[Symbol.iterator]()
    const next = rest.next()
    if (next.done !== true) heap.add({ rest, item: next.value, at: -1 })
  }
  for (let cursor = heap.first; cursor !== undefined; cursor = heap.first) {
    yield cursor.item
    const next = cursor.rest.next()
    if (next.done === true) heap.remove(cursor)
    else {
      cursor.item = next.value
      heap.moved(cursor)
    }
  }
}
