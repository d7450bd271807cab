/**
 * Cached owners of a process: their entries, decoded and indexed like in a store in memory, and the last change that
 * the process knows.
 *
 * @private
 * @since 0.1.0
 */
import type { EntryId } from "../../domain/Ids.js"
import { CacheDecoded } from "../../memory/cache/CacheDecoded.js"
import * as EntryChecks from "../../memory/entry/EntryChecks.js"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import { MemoryStoreError } from "../../memory/entry/MemoryError.js"
import type { Scratch } from "../../memory/text/LexicalIndex.js"
import type { TextAnalyzer } from "../../memory/text/TextAnalyzer.js"
import * as KeyText from "../engine/KeyText.js"

/**
 * The text of an entry without its access figures.
 *
 * @category encoding
 */
export const encode = ({ accessCount: _, lastAccessedAt: __, ...entry }: MemoryEntry): string => JSON.stringify(entry)

/** `undefined` if the text is not an entry of the owner. */
const decode = (ownerId: string, text: string, figures: string | null): MemoryEntry | undefined => {
  const [count, last] = figures === null ? ["", ""] : figures.split(" ")
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== "object" || value === null) return undefined
  if (count) Object.assign(value, { accessCount: Number(count) })
  if (last) Object.assign(value, { lastAccessedAt: Number(last) })
  const entry = EntryChecks.entry("redis", ownerId, value as MemoryEntry, Number.POSITIVE_INFINITY)
  return entry instanceof MemoryStoreError ? undefined : entry
}

/**
 * @category models
 */
export class State {
  readonly decoded: CacheDecoded
  /** The number of changes of the owner, and the time of the last one. */
  revision = ""
  changedAt = ""
  /** The number of entries that could not be read. */
  unreadable = 0
  /** The number of entries when the state was last counted. */
  counted = 0

  constructor(
    readonly ownerId: string,
    room: Scratch,
    analyzer: TextAnalyzer
  ) {
    this.decoded = new CacheDecoded(ownerId, room, analyzer)
  }

  /** Without a text, the entry was removed. */
  put(name: string, text: string | null, figures: string | null): void {
    const entry = text === null ? undefined : decode(this.ownerId, text, figures)
    if (text !== null && entry === undefined) this.unreadable++
    if (entry === undefined) this.decoded.remove(KeyText.decode(name) as EntryId)
    else this.decoded.put(entry)
  }

  /** Replies may be processed out of order: an older one is ignored. */
  take(revision: string, changedAt: string, some: ReadonlyArray<string | null>): void {
    if (Number(revision) <= Number(this.revision)) return
    for (let at = 0; at < some.length; at += 3) {
      this.put(some[at] as string, some[at + 1] as string | null, some[at + 2] as string | null)
    }
    this.revision = revision
    this.changedAt = changedAt
  }
}

/**
 * States of owners. The most recently used one is the last.
 *
 * @category models
 */
export class Ready {
  private readonly states = new Map<string, State>()
  private entries = 0

  constructor(private readonly limit: number) {}

  get(ownerId: string): State | undefined {
    return this.states.get(ownerId)
  }

  /** Adds the state as the most recently used one. */
  set(state: State): void {
    this.delete(state.ownerId)
    this.states.set(state.ownerId, state)
    state.counted = state.decoded.entries.size
    this.entries += state.counted
    for (const oldest of this.states.keys()) {
      if (this.entries <= this.limit || oldest === state.ownerId) return
      this.delete(oldest)
    }
  }

  delete(ownerId: string): void {
    this.entries -= this.states.get(ownerId)?.counted ?? 0
    this.states.delete(ownerId)
  }
}
