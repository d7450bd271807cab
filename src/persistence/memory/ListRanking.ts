/**
 * Scores entries from the lists of their words alone.
 *
 * The length of an entry is in its row unless the lists have it, and reading rows costs more than lists. But an entry
 * has at least as many words as were found in it, and shorter entries score higher: that bounds its score (as in Turtle
 * and Flood, "Query Evaluation: Strategies and Optimizations", 1995). Rows are read from the highest bound on, until no
 * remaining entry can be among the best.
 *
 * @private
 * @since 0.1.0
 */
import * as LexicalIndex from "../../memory/text/LexicalIndex.js"
import type { List } from "./SqlFullText.js"

/**
 * @category models
 */
export interface Weighed extends Omit<List, "place"> {
  readonly weight: number
}

/**
 * @category models
 */
export interface Ranking {
  /**
   * The next `count` entries by their bounds, or more if others have about the same bound as the last; none with a
   * bound below `least`. Empty at the end.
   */
  readonly next: (count: number, least: number) => ReadonlyArray<number>
  /** Scores of entries with these lengths, summed in the order of the lists. */
  readonly scores: (serials: ReadonlyArray<number>, lengths: ReadonlyArray<number>) => Float64Array
}

/** Serials in one page are close together, as those of one owner usually are. */
const PAGE = 64

const none: Int32Array = new Int32Array(0)

/** Numbers serials from 0. */
class Slots {
  readonly serials: Array<number> = []
  private readonly pages = new Map<number, Int32Array>()
  private number = -1
  private page = none

  /** -1 if there is none. */
  of(serial: number): number {
    this.turn(serial)
    return (this.page[serial % PAGE] ?? 0) - 1
  }

  add(serial: number): number {
    const known = this.of(serial)
    if (known >= 0) return known
    if (this.page.length === 0) {
      this.page = new Int32Array(PAGE)
      this.pages.set(this.number, this.page)
    }
    this.page[serial % PAGE] = this.serials.push(serial)
    return this.serials.length - 1
  }

  private turn(serial: number): void {
    const number = Math.floor(serial / PAGE)
    if (number === this.number) return
    this.number = number
    this.page = this.pages.get(number) ?? none
  }
}

/** Resolution of bounds in the search for the highest. */
const LEVELS = 1024

/**
 * @category constructors
 */
export const make = (lists: ReadonlyArray<Weighed>, average: number): Ranking => {
  const slots = new Slots()
  const placed = lists.map((list) => {
    const at = new Int32Array(list.serials.length)
    for (let n = 0; n < at.length; n++) at[n] = slots.add(list.serials[n] as number)
    return { ...list, at }
  })
  const size = slots.serials.length

  /** The total of each slot over all words, where it has a length; zero otherwise. */
  const summed = (lengths: Float64Array): Float64Array => {
    const sums = new Float64Array(size)
    for (const { at, times, weight } of placed) {
      for (let n = 0; n < at.length; n++) {
        const slot = at[n] as number
        const length = lengths[slot] as number
        if (length > 0) sums[slot]! += LexicalIndex.share(weight, times[n] as number, length, average)
      }
    }
    return sums
  }

  const shortest = new Float64Array(size)
  for (const { at, lengths, times } of placed) {
    for (let n = 0; n < at.length; n++) {
      const slot = at[n] as number
      if (lengths === undefined) shortest[slot]! += times[n] as number
      else shortest[slot] = lengths[n] as number
    }
  }
  const bounds = summed(shortest)
  const highest = bounds.reduce((most, bound) => Math.max(most, bound), Number.MIN_VALUE)
  const levelOf = (bound: number): number => Math.floor((bound / highest) * (LEVELS - 1))
  const levels = new Int32Array(LEVELS)
  for (const bound of bounds) levels[levelOf(bound)]!++
  /** Entries at or above this level were returned. */
  let level = LEVELS

  return {
    next: (count, least) => {
      const before = level
      for (let more = 0; level > 0 && more < count; ) more += levels[--level] as number
      const found: Array<number> = []
      for (let slot = 0; slot < size; slot++) {
        const bound = bounds[slot] as number
        if (bound < least) continue
        const own = levelOf(bound)
        if (own >= level && own < before) found.push(slots.serials[slot] as number)
      }
      return found
    },
    scores: (serials, lengths) => {
      const bySlot = new Float64Array(size)
      const own = Int32Array.from(serials, (serial) => slots.of(serial))
      own.forEach((slot, at) => {
        bySlot[slot] = lengths[at] as number
      })
      const sums = summed(bySlot)
      return Float64Array.from(own, (slot) => sums[slot] as number)
    }
  }
}
