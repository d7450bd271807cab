/**
 * The entries of one owner, as read from a cache, in the indexes of an in-memory store.
 *
 * @since 0.1.0
 * @private
 */
import type { EntryId } from "../../domain/Ids.js"
import { IndexedHeap } from "../../internal/IndexedHeap.js"
import type { LexicalMatches } from "../entry/MemoryBackend.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { Selection } from "../entry/Selection.js"
import { type Held, OwnerEntries } from "../search/OwnerEntries.js"
import type { Scratch } from "../text/LexicalIndex.js"
import { queryTerms, type TextAnalyzer } from "../text/TextAnalyzer.js"

/** Whether only the access count or time differs, which no index uses. */
const isRecount = (before: MemoryEntry, after: MemoryEntry): boolean =>
  before.content === after.content &&
  before.timestamp === after.timestamp &&
  before.sessionId === after.sessionId &&
  before.expiresAt === after.expiresAt

/**
 * @since 0.1.0
 * @category models
 */
export class CacheDecoded {
  readonly entries: OwnerEntries
  private readonly expiries = new IndexedHeap<"expiry", Held>(
    "expiry",
    (a, b) => (a.entry.expiresAt as number) - (b.entry.expiresAt as number)
  )

  constructor(
    ownerId: string,
    room: Scratch,
    private readonly analyzer: TextAnalyzer
  ) {
    this.entries = new OwnerEntries(ownerId, room, undefined)
  }

  get(id: EntryId): MemoryEntry | undefined {
    return this.entries.get(id)?.entry
  }

  /** Replaces the entry of the same id. */
  put(entry: MemoryEntry): void {
    const item = this.entries.get(entry.id)
    if (item !== undefined && isRecount(item.entry, entry)) {
      this.entries.replace(item, entry, 0)
      return
    }
    this.remove(entry.id)
    const added = this.entries.add(entry, 0, this.analyzer.analyze(entry.content))
    if (entry.expiresAt !== undefined) this.expiries.add(added)
  }

  remove(id: EntryId): void {
    const item = this.entries.get(id)
    if (item === undefined) return
    this.entries.remove(item)
    this.expiries.remove(item)
  }

  expire(now: number): void {
    for (let first = this.expiries.first; first !== undefined; first = this.expiries.first) {
      if ((first.entry.expiresAt as number) > now) return
      this.remove(first.entry.id)
    }
  }

  search(options: { readonly text: string; readonly limit: number; readonly selection: Selection }): LexicalMatches {
    const { ceiling, hits } = this.entries.search(
      queryTerms(this.analyzer, options.text),
      options.limit,
      options.selection
    )
    return {
      ceiling,
      entries: this.entries.size,
      hits: hits.map(({ item, score }) => ({ entry: item.entry, score }))
    }
  }
}
