/**
 * Holds the vectors of one owner in one array, with the fields that selections read.
 *
 * @private
 * @since 0.1.0
 */
import type { EntryId } from "../../domain/Ids.js"
import type { Vector } from "../../llm/embedding/Embedder.js"
import type { Selectable } from "../entry/Selection.js"

interface Item extends Selectable {
  readonly id: EntryId
  readonly expiresAt: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Hit {
  readonly id: EntryId
  readonly similarity: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface SearchOptions {
  readonly limit: number
  readonly now: number
  readonly accepts: ((item: Selectable) => boolean) | undefined
}

/**
 * A search that proceeds in steps.
 *
 * @since 0.1.0
 * @category models
 */
export interface Search {
  /**
   * Examines this many more items. Returns true when it has examined all. After a change of the table it restarts and
   * examines all at once.
   */
  readonly advance: (count: number) => boolean
  /** Call once, at the end. */
  readonly hits: () => ReadonlyArray<Hit>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface VectorTable {
  readonly size: number
  /** Bytes of the vectors, including reserved room. */
  readonly bytes: number
  /** Reserves room for this many items at once. */
  readonly reserve: (items: number) => void
  readonly ids: () => Iterable<EntryId>
  /** Copies the vector, which must have the right length. Returns true if the id is new. */
  readonly set: (
    item: Selectable & { readonly id: EntryId; readonly expiresAt?: number | undefined },
    vector: Vector
  ) => boolean
  readonly delete: (id: EntryId) => boolean
  readonly has: (id: EntryId, now: number) => boolean
  /** Ids that have expired. Scans all items only if something can have expired. */
  readonly expired: (now: number) => ReadonlyArray<EntryId>
  readonly nearest: (query: Vector, options: SearchOptions) => ReadonlyArray<Hit>
  readonly search: (query: Vector, options: SearchOptions) => Search
}

const minCapacity = 8

/** Four independent sums, which the processor computes in parallel. */
const dot = (a: Float32Array, b: Float32Array, start: number, length: number): number => {
  let s0 = 0
  let s1 = 0
  let s2 = 0
  let s3 = 0
  const whole = length & ~3
  let i = 0
  for (let j = start; i < whole; i += 4, j += 4) {
    s0 += (a[i] as number) * (b[j] as number)
    s1 += (a[i + 1] as number) * (b[j + 1] as number)
    s2 += (a[i + 2] as number) * (b[j + 2] as number)
    s3 += (a[i + 3] as number) * (b[j + 3] as number)
  }
  for (; i < length; i++) s0 += (a[i] as number) * (b[start + i] as number)
  return s0 + s1 + (s2 + s3)
}

/** The best hits so far, with the worst on top. */
class Best {
  size = 0
  private readonly slots: Int32Array
  private readonly similarities: Float64Array

  constructor(
    private readonly limit: number,
    private readonly items: ReadonlyArray<Item>
  ) {
    this.slots = new Int32Array(limit)
    this.similarities = new Float64Array(limit)
  }

  offer(slot: number, similarity: number): void {
    if (this.size < this.limit) {
      this.rise(this.size++, slot, similarity)
    } else if (this.isWorse(this.slots[0] as number, this.similarities[0] as number, slot, similarity)) {
      this.sink(slot, similarity, this.size)
    }
  }

  /** Empties the heap into a list, best first. */
  hits(): ReadonlyArray<Hit> {
    const hits: Array<Hit> = new Array(this.size)
    for (let i = this.size - 1; i >= 0; i--) {
      const { id } = this.items[this.slots[0] as number] as Item
      hits[i] = { id, similarity: Math.max(-1, Math.min(1, this.similarities[0] as number)) }
      this.sink(this.slots[i] as number, this.similarities[i] as number, i)
    }
    return hits
  }

  private isWorse(slot: number, similarity: number, than: number, thanSimilarity: number): boolean {
    if (similarity !== thanSimilarity) return similarity < thanSimilarity
    return (this.items[slot] as Item).id > (this.items[than] as Item).id
  }

  private put(at: number, slot: number, similarity: number): void {
    this.slots[at] = slot
    this.similarities[at] = similarity
  }

  private rise(from: number, slot: number, similarity: number): void {
    let at = from
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = this.slots[parent] as number
      const aboveSimilarity = this.similarities[parent] as number
      if (!this.isWorse(slot, similarity, above, aboveSimilarity)) break
      this.put(at, above, aboveSimilarity)
      at = parent
    }
    this.put(at, slot, similarity)
  }

  private sink(slot: number, similarity: number, size: number): void {
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= size) break
      const right = child + 1
      if (
        right < size &&
        this.isWorse(
          this.slots[right] as number,
          this.similarities[right] as number,
          this.slots[child] as number,
          this.similarities[child] as number
        )
      ) {
        child = right
      }
      const below = this.slots[child] as number
      const belowSimilarity = this.similarities[child] as number
      if (!this.isWorse(below, belowSimilarity, slot, similarity)) break
      this.put(at, below, belowSimilarity)
      at = child
    }
    this.put(at, slot, similarity)
  }
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (dimensions: number): VectorTable => {
  const items: Array<Item> = []
  const slots = new Map<EntryId, number>()
  let vectors = new Float32Array(minCapacity * dimensions)
  /** Nothing expires before this time. */
  let nextExpiry = Number.POSITIVE_INFINITY
  let changes = 0

  const resize = (capacity: number): void => {
    const larger = new Float32Array(capacity * dimensions)
    larger.set(vectors.subarray(0, Math.min(vectors.length, larger.length)))
    vectors = larger
  }

  const search = (query: Vector, { accepts, limit, now }: SearchOptions): Search => {
    let best = new Best(0, items)
    let begun = changes - 1
    let slot = 0
    const begin = (): void => {
      begun = changes
      slot = 0
      // A limit that is NaN or below 1 asks for nothing.
      const most = Math.min(Math.floor(limit), items.length)
      best = new Best(most > 0 ? most : 0, items)
      if (!(most > 0)) slot = items.length
    }
    begin()
    return {
      advance: (count) => {
        let end = Math.min(items.length, slot + count)
        if (begun !== changes) {
          begin()
          end = items.length
        }
        const mayExpire = nextExpiry <= now
        for (; slot < end; slot++) {
          if (mayExpire || accepts !== undefined) {
            const item = items[slot] as Item
            if (item.expiresAt <= now || (accepts !== undefined && !accepts(item))) continue
          }
          best.offer(slot, dot(query, vectors, slot * dimensions, dimensions))
        }
        return slot >= items.length
      },
      hits: () => best.hits()
    }
  }

  return {
    get size() {
      return items.length
    },
    get bytes() {
      return vectors.byteLength
    },
    reserve: (count) => {
      if (count * dimensions > vectors.length) resize(count)
    },
    ids: () => slots.keys(),
    set: ({ expiresAt, id, metadata, role, sessionId, timestamp }, vector) => {
      const known = slots.get(id)
      const slot = known ?? items.length
      if (slot * dimensions >= vectors.length) resize(2 * slot)
      vectors.set(vector, slot * dimensions)
      changes++
      const end = expiresAt ?? Number.POSITIVE_INFINITY
      items[slot] = { id, timestamp, role, metadata, sessionId, expiresAt: end }
      slots.set(id, slot)
      nextExpiry = Math.min(nextExpiry, end)
      return known === undefined
    },
    delete: (id) => {
      const slot = slots.get(id)
      if (slot === undefined) return false
      changes++
      slots.delete(id)
      const last = items.pop() as Item
      if (slot < items.length) {
        items[slot] = last
        slots.set(last.id, slot)
        vectors.copyWithin(slot * dimensions, items.length * dimensions, (items.length + 1) * dimensions)
      }
      const capacity = vectors.length / dimensions
      if (capacity > minCapacity && items.length < capacity / 4) resize(capacity / 2)
      return true
    },
    has: (id, now) => {
      const slot = slots.get(id)
      return slot !== undefined && (items[slot] as Item).expiresAt > now
    },
    expired: (now) => {
      if (nextExpiry > now) return []
      const ids: Array<EntryId> = []
      nextExpiry = Number.POSITIVE_INFINITY
      for (const { expiresAt, id } of items) {
        if (expiresAt <= now) ids.push(id)
        else nextExpiry = Math.min(nextExpiry, expiresAt)
      }
      return ids
    },
    nearest: (query, options) => {
      const one = search(query, options)
      one.advance(items.length)
      return one.hits()
    },
    search
  }
}
