/**
 * Assigns the entries of an owner to segments, and tracks which segments to write when entries change.
 *
 * @since 0.1.0
 * @private
 */
import type { EntryId } from "../../domain/Ids.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { Reference } from "./CacheRecords.js"
import * as Records from "./CacheRecords.js"

/** Bounds of one write: entries and characters of a segment, segments of a page. */
const MAX_ENTRIES = 32
const MAX_CHARACTERS = 32_768
const MAX_SEGMENTS = 64
/** A segment with at most this many entries is dissolved, so that deletions leave no trail of nearly empty segments. */
const FEW_ENTRIES = MAX_ENTRIES / 4
const FEW_CHARACTERS = MAX_CHARACTERS / 4

/**
 * An entry and its length when written.
 *
 * @since 0.1.0
 * @category models
 */
export interface Written {
  readonly entry: MemoryEntry
  readonly characters: number
}

const never = Number.POSITIVE_INFINITY

/** The key it is written under; `""` if it never was. */
interface Dated {
  key: string
  soonest: number
  latest: number
}

interface Segment extends Dated {
  readonly page: Page
  readonly entries: Map<EntryId, Written>
  characters: number
}

interface Page extends Dated {
  readonly segments: Array<Segment>
}

const date = (one: Dated, parts: Iterable<{ readonly soonest: number; readonly latest: number }>): void => {
  one.soonest = never
  one.latest = Number.NEGATIVE_INFINITY
  for (const { latest, soonest } of parts) {
    one.soonest = Math.min(one.soonest, soonest)
    one.latest = Math.max(one.latest, latest)
  }
}

const fits = (segment: Segment, characters: number): boolean =>
  segment.entries.size === 0 ||
  (segment.entries.size < MAX_ENTRIES && segment.characters + characters <= MAX_CHARACTERS)

/**
 * A record to write under its own key.
 *
 * @since 0.1.0
 * @category models
 */
export interface Writing {
  readonly text: string
  /** When its last entry expires. */
  readonly latest: number
  /** Called with the key it was written under. */
  readonly done: (key: string) => void
}

/**
 * @since 0.1.0
 * @category models
 */
export class CacheSegments {
  private readonly pages: Array<Page> = []
  private readonly places = new Map<EntryId, Segment>()
  private readonly changedSegments = new Set<Segment>()
  private readonly changedPages = new Set<Page>()
  private dead: Array<string> = []

  get size(): number {
    return this.places.size
  }

  has(id: EntryId): boolean {
    return this.places.has(id)
  }

  *entries(): Generator<MemoryEntry, void> {
    for (const { segments } of this.pages) {
      for (const { entries } of segments) for (const { entry } of entries.values()) yield entry
    }
  }

  /** Ids of expired entries. */
  expired(now: number): ReadonlyArray<EntryId> {
    const found: Array<EntryId> = []
    for (const page of this.pages) {
      for (const segment of page.soonest > now ? [] : page.segments) {
        for (const { entry } of segment.soonest > now ? [] : segment.entries.values()) {
          if (entry.expiresAt !== undefined && entry.expiresAt <= now) found.push(entry.id)
        }
      }
    }
    return found
  }

  /**
   * Restores a page as it was read. Missing segments are left out, and the next change rewrites the page.
   */
  restore(
    page: Reference,
    segments: ReadonlyArray<{ readonly at: Reference; readonly entries: ReadonlyArray<Written> | undefined }>
  ): void {
    const restored: Page = { ...page, segments: [] }
    this.pages.push(restored)
    for (const { at, entries } of segments) {
      if (entries === undefined || entries.length === 0) {
        this.dead.push(at.key)
        this.changedPages.add(restored)
        continue
      }
      const segment: Segment = { ...at, page: restored, entries: new Map(), characters: 0 }
      restored.segments.push(segment)
      for (const one of entries) {
        segment.entries.set(one.entry.id, one)
        segment.characters += one.characters
        this.places.set(one.entry.id, segment)
      }
    }
    if (restored.segments.length === 0) this.dropPage(restored)
  }

  /** Records a page that was not found. */
  lost(page: Reference): void {
    this.dead.push(page.key)
  }

  change(changes: ReadonlyMap<EntryId, Written | undefined>): void {
    const homeless: Array<Written> = []
    for (const [id, written] of changes) {
      const segment = this.places.get(id)
      if (segment === undefined) {
        if (written !== undefined) homeless.push(written)
        continue
      }
      this.take(id, segment)
      if (written === undefined) continue
      if (fits(segment, written.characters)) this.place(written, segment)
      else homeless.push(written)
    }
    const last = this.last()
    for (const segment of Array.from(this.changedSegments)) {
      const isFew = segment.entries.size <= FEW_ENTRIES && segment.characters <= FEW_CHARACTERS
      if (segment.entries.size > 0 && (segment === last || !isFew)) continue
      homeless.push(...segment.entries.values())
      for (const id of Array.from(segment.entries.keys())) this.take(id, segment)
      this.dropSegment(segment)
    }
    for (const written of homeless) this.place(written, this.roomFor(written.characters))
  }

  /**
   * The changed records, in the order in which to write them. When all are done, `references` has the keys of the
   * pages.
   */
  *writings(): Generator<Writing, void> {
    for (const segment of this.changedSegments) {
      date(
        segment,
        Array.from(segment.entries.values(), ({ entry: { expiresAt = never } }) => ({
          soonest: expiresAt,
          latest: expiresAt
        }))
      )
      yield {
        text: Records.encodeSegment(Array.from(segment.entries.values(), ({ entry }) => entry)),
        latest: segment.latest,
        done: (key) => this.written(segment, key)
      }
    }
    this.changedSegments.clear()
    for (const page of this.changedPages) {
      date(page, page.segments)
      yield {
        text: Records.encodePage(page.segments),
        latest: page.latest,
        done: (key) => this.written(page, key)
      }
    }
    this.changedPages.clear()
  }

  references(): ReadonlyArray<Reference> {
    return this.pages
  }

  /** Returns the keys that became unreferenced since the last call. */
  takeDead(): ReadonlyArray<string> {
    const { dead } = this
    this.dead = []
    return dead
  }

  /** All written keys. */
  keys(): ReadonlyArray<string> {
    const keys = [...this.dead]
    for (const page of this.pages) {
      for (const { key } of [page, ...page.segments]) if (key !== "") keys.push(key)
    }
    return keys
  }

  private written(one: Dated, key: string): void {
    if (one.key !== "") this.dead.push(one.key)
    one.key = key
  }

  private last(): Segment | undefined {
    return this.pages[this.pages.length - 1]?.segments.at(-1)
  }

  private roomFor(characters: number): Segment {
    const last = this.last()
    if (last !== undefined && fits(last, characters)) return last
    let page = this.pages[this.pages.length - 1]
    if (page === undefined || page.segments.length >= MAX_SEGMENTS) {
      page = { key: "", soonest: never, latest: never, segments: [] }
      this.pages.push(page)
    }
    const segment: Segment = {
      key: "",
      soonest: never,
      latest: never,
      page,
      entries: new Map(),
      characters: 0
    }
    page.segments.push(segment)
    this.touch(segment)
    return segment
  }

  private place(written: Written, segment: Segment): void {
    segment.entries.set(written.entry.id, written)
    segment.characters += written.characters
    this.places.set(written.entry.id, segment)
    this.touch(segment)
  }

  private take(id: EntryId, segment: Segment): void {
    segment.characters -= segment.entries.get(id)?.characters ?? 0
    segment.entries.delete(id)
    this.places.delete(id)
    this.touch(segment)
  }

  private touch(segment: Segment): void {
    this.changedSegments.add(segment)
    this.changedPages.add(segment.page)
  }

  private dropSegment(segment: Segment): void {
    const { page } = segment
    page.segments.splice(page.segments.indexOf(segment), 1)
    this.changedSegments.delete(segment)
    if (segment.key !== "") this.dead.push(segment.key)
    if (page.segments.length === 0) this.dropPage(page)
  }

  private dropPage(page: Page): void {
    this.pages.splice(this.pages.indexOf(page), 1)
    this.changedPages.delete(page)
    if (page.key !== "") this.dead.push(page.key)
  }
}
