/**
 * A word index of one owner's entries, scored by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework:
 * BM25 and Beyond", 2009) with the idf ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative. Removed entries stay
 * in the postings until they outnumber the remaining ones; then one sweep removes them all, so that a removal has
 * constant amortized cost.
 *
 * @private
 * @since 0.1.0
 */

/**
 * How soon repetitions of a word stop counting: the usual value for short texts.
 *
 * @category constants
 */
export const K1 = 1.2
/**
 * How much text length reduces the weight of a word: the usual value.
 *
 * @category constants
 */
const B = 0.75

/**
 * The weight of a word that `holders` of `all` entries contain.
 *
 * @category getters
 */
export const idf = (all: number, holders: number): number => Math.log(1 + (all - holders + 0.5) / (holders + 0.5))

/**
 * The score of an entry of `length` terms for a word that occurs `frequency` times in it.
 *
 * @category getters
 */
export const share = (weight: number, frequency: number, length: number, average: number): number =>
  (weight * frequency * (K1 + 1)) / (frequency + K1 * (1 - B + (B * length) / average))

/**
 * An item that can be indexed. The index stores its `slot`, -1 while it is not indexed.
 *
 * @category models
 */
export interface Indexed {
  slot: number
}

/** Postings of the longest run. */
const MAX_RUN = 256

/**
 * The slots of a term, ascending, each followed by its frequency. They share memory with those of all other terms, in
 * runs of 1, 2, 4 and so on up to `MAX_RUN` postings. Each run is followed by the position of the next one.
 */
interface Postings {
  readonly term: string
  first: number
  /** The position of the next posting, unless the last run is full. */
  next: number
  /** The end of the last run. */
  end: number
  /** Postings of the last run. */
  run: number
  /** Number of postings that were not removed. */
  live: number
}

/** Postings in one contiguous array: separate arrays would cost more to create than to fill. */
class Pool {
  private cells: Int32Array
  private used = 0

  constructor(cells: number) {
    this.cells = new Int32Array(cells)
  }

  make(term: string): Postings {
    const first = this.reserve(1)
    return { term, first, next: first, end: first + 2, run: 1, live: 0 }
  }

  /** Returns whether the slot is new. Otherwise increments the frequency of the last posting. */
  add(postings: Postings, slot: number): boolean {
    if (postings.next > postings.first && this.cells[postings.next - 2] === slot) {
      this.cells[postings.next - 1]!++
      return false
    }
    this.append(postings, slot, 1)
    return true
  }

  append(postings: Postings, slot: number, frequency: number): void {
    if (postings.next === postings.end) {
      postings.run = longer(postings.run)
      postings.next = this.reserve(postings.run)
      this.cells[postings.end] = postings.next
      postings.end = postings.next + postings.run * 2
    }
    this.cells[postings.next] = slot
    this.cells[postings.next + 1] = frequency
    postings.next += 2
  }

  each(postings: Postings, visit: (slot: number, frequency: number) => void): void {
    const cells = this.cells
    const last = postings.next
    let run = 1
    let at = postings.first
    let end = at + 2
    while (at !== last) {
      if (at === end) {
        run = longer(run)
        at = cells[end] as number
        end = at + run * 2
      }
      visit(cells[at] as number, cells[at + 1] as number)
      at += 2
    }
  }

  private reserve(run: number): number {
    const at = this.used
    this.used += run * 2 + 1
    if (this.used > this.cells.length) this.cells = grown(this.cells, this.used)
    return at
  }
}

/**
 * Working memory for one search at a time, shared by the indexes of a store.
 *
 * @category models
 */
export interface Scratch {
  scores: Float64Array
  touched: Int32Array
}

/**
 * @category constructors
 */
export const scratch = (): Scratch => ({ scores: new Float64Array(0), touched: new Int32Array(0) })

/**
 * Best hits first. No score exceeds `ceiling`.
 *
 * @category models
 */
export interface Matches<A> {
  readonly hits: ReadonlyArray<{ readonly item: A; readonly score: number }>
  readonly ceiling: number
}

const nowhere: ReadonlyArray<Postings> = []

const longer = (run: number): number => Math.min(run * 2, MAX_RUN)

const grown = (list: Int32Array, least: number): Int32Array => {
  const larger = new Int32Array(Math.max(least, Math.ceil(list.length * 1.5)))
  larger.set(list)
  return larger
}

/**
 * @category models
 */
export class LexicalIndex<A extends Indexed> {
  private readonly postings = new Map<string, Postings>()
  private pool = new Pool(64)
  private items: Array<A | undefined> = []
  /** The postings of each slot, for its removal. */
  private lists: Array<ReadonlyArray<Postings>> = []
  private lengths: Int32Array = new Int32Array(16)
  private live = 0
  private total = 0

  /** `later` orders items of equal score: negative if the first comes first. */
  constructor(
    private readonly room: Scratch,
    private readonly later: (a: A, b: A) => number
  ) {}

  get size(): number {
    return this.live
  }

  add(item: A, terms: ReadonlyArray<string>): void {
    const slot = this.items.length
    if (slot >= this.lengths.length) this.lengths = grown(this.lengths, slot + 1)
    const lists: Array<Postings> = []
    for (const term of terms) {
      let postings = this.postings.get(term)
      if (postings === undefined) {
        postings = this.pool.make(term)
        this.postings.set(term, postings)
      }
      if (!this.pool.add(postings, slot)) continue
      postings.live++
      lists.push(postings)
    }
    item.slot = slot
    this.items.push(item)
    // A copy has no spare capacity; an array that grew by itself has up to half.
    this.lists.push(lists.slice())
    this.lengths[slot] = terms.length
    this.live++
    this.total += terms.length
  }

  remove(item: A): void {
    const slot = item.slot
    if (slot < 0) return
    for (const postings of this.lists[slot]!) {
      if (--postings.live === 0) this.postings.delete(postings.term)
    }
    this.items[slot] = undefined
    this.lists[slot] = nowhere
    this.total -= this.lengths[slot] as number
    this.live--
    item.slot = -1
    if (this.items.length > this.live * 2 + 64) this.sweep()
  }

  /** The best `limit` items that are wanted. Repeated terms count once. */
  search(terms: ReadonlyArray<string>, limit: number, wanted?: ((item: A) => boolean) | undefined): Matches<A> {
    const different = new Set(terms)
    let ceiling = 0
    let count = 0
    this.prepare()
    const { scores, touched } = this.room
    const average = this.live === 0 ? 1 : Math.max(1, this.total / this.live)
    for (const term of different) {
      const postings = this.postings.get(term)
      const holders = postings?.live ?? 0
      const weight = idf(this.live, holders)
      ceiling += weight * (K1 + 1)
      if (postings === undefined || limit <= 0) continue
      this.pool.each(postings, (slot, frequency) => {
        const score = scores[slot] as number
        if (score === 0) touched[count++] = slot
        scores[slot] = score + share(weight, frequency, this.lengths[slot] as number, average)
      })
    }
    return { hits: this.best(count, limit, wanted), ceiling }
  }

  /** Collects the best scores and clears the working memory. */
  private best(
    count: number,
    limit: number,
    wanted: ((item: A) => boolean) | undefined
  ): ReadonlyArray<{ readonly item: A; readonly score: number }> {
    const { scores, touched } = this.room
    const worse = (a: { item: A; score: number }, b: { item: A; score: number }) =>
      a.score - b.score || this.later(b.item, a.item)
    const heap: Array<{ item: A; score: number }> = []
    try {
      // The slots of a term ascend by time of storing. From the last one on, an equal but older item is passed by with
      // one comparison; the other way round each newer one would displace an older one.
      for (let index = count - 1; index >= 0; index--) {
        const slot = touched[index] as number
        const score = scores[slot] as number
        const item = this.items[slot]
        if (item === undefined) continue
        if (heap.length === limit) {
          const least = heap[0]!
          if (score < least.score || (score === least.score && this.later(least.item, item) < 0)) continue
        }
        if (wanted !== undefined && !wanted(item)) continue
        if (heap.length < limit) push(heap, { item, score }, worse)
        else replace(heap, { item, score }, worse)
      }
    } finally {
      for (let index = 0; index < count; index++) scores[touched[index] as number] = 0
    }
    return heap.sort((a, b) => worse(b, a))
  }

  private prepare(): void {
    if (this.room.scores.length < this.items.length) {
      const room = Math.max(1024, this.items.length * 2)
      this.room.scores = new Float64Array(room)
      this.room.touched = new Int32Array(room)
    }
  }

  private sweep(): void {
    const moved = new Int32Array(this.items.length).fill(-1)
    const items: Array<A | undefined> = []
    const lists: Array<ReadonlyArray<Postings>> = []
    const lengths = new Int32Array(Math.max(16, this.live * 2))
    for (let slot = 0; slot < this.items.length; slot++) {
      const item = this.items[slot]
      if (item === undefined) continue
      item.slot = items.length
      moved[slot] = items.length
      lengths[items.length] = this.lengths[slot] as number
      items.push(item)
      lists.push(this.lists[slot]!)
    }
    const pool = new Pool(64)
    for (const postings of this.postings.values()) {
      const swept = pool.make(postings.term)
      this.pool.each(postings, (slot, frequency) => {
        const to = moved[slot] as number
        if (to >= 0) pool.append(swept, to, frequency)
      })
      // Slots refer to the old object.
      Object.assign(postings, { ...swept, live: postings.live })
    }
    this.pool = pool
    this.items = items
    this.lists = lists
    this.lengths = lengths
  }
}

const push = <A>(heap: Array<A>, item: A, compare: (a: A, b: A) => number): void => {
  let at = heap.length
  heap.push(item)
  while (at > 0) {
    const above = (at - 1) >> 1
    if (compare(item, heap[above] as A) >= 0) break
    heap[at] = heap[above] as A
    at = above
  }
  heap[at] = item
}

/** Replaces the least item. */
const replace = <A>(heap: Array<A>, item: A, compare: (a: A, b: A) => number): void => {
  let at = 0
  for (;;) {
    let below = at * 2 + 1
    if (below >= heap.length) break
    if (below + 1 < heap.length && compare(heap[below + 1] as A, heap[below] as A) < 0) below++
    if (compare(item, heap[below] as A) <= 0) break
    heap[at] = heap[below] as A
    at = below
  }
  heap[at] = item
}
