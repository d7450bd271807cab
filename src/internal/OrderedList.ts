const CHUNK = 512

/**
 * A sorted list in chunks of bounded length. Appending takes constant time; any other insertion takes logarithmic time
 * and one short move. No two items compare as 0.
 */
export class OrderedList<A> {
  private readonly chunks: Array<Array<A>> = []
  private held = 0

  constructor(private readonly compare: (a: A, b: A) => number) {}

  get size(): number {
    return this.held
  }

  get first(): A | undefined {
    return this.chunks[0]?.[0]
  }

  add(item: A): void {
    this.held++
    const last = this.chunks[this.chunks.length - 1]
    if (last === undefined) {
      this.chunks.push([item])
      return
    }
    if (this.compare(last[last.length - 1] as A, item) < 0) {
      if (last.length < CHUNK) last.push(item)
      else this.chunks.push([item])
      return
    }
    const at = this.chunkOf((held) => this.compare(held, item) >= 0)
    const chunk = this.chunks[at] as Array<A>
    chunk.splice(
      indexIn(chunk, (held) => this.compare(held, item) >= 0),
      0,
      item
    )
    if (chunk.length > CHUNK) this.chunks.splice(at + 1, 0, chunk.splice(CHUNK / 2))
  }

  /** Returns whether the item was in the list. */
  remove(item: A): boolean {
    const at = this.chunkOf((held) => this.compare(held, item) >= 0)
    const chunk = this.chunks[at]
    if (chunk === undefined) return false
    const index = indexIn(chunk, (held) => this.compare(held, item) >= 0)
    if (index === chunk.length || this.compare(chunk[index] as A, item) !== 0) return false
    this.held--
    if (chunk.length === 1) this.chunks.splice(at, 1)
    else chunk.splice(index, 1)
    this.join(at)
    return true
  }

  /**
   * Iterates upward from the first item for which `reached` holds; it must hold for all items after it too. The list
   * must not change meanwhile.
   */
  *ascending(reached: (item: A) => boolean = () => true): Generator<A, void> {
    let at = this.chunkOf(reached)
    let index = at < this.chunks.length ? indexIn(this.chunks[at] as Array<A>, reached) : 0
    for (; at < this.chunks.length; at++, index = 0) {
      const chunk = this.chunks[at] as Array<A>
      for (; index < chunk.length; index++) yield chunk[index] as A
    }
  }

  /**
   * Iterates downward from the last item for which `passed` does not hold; it must hold for all items after it. The
   * list must not change meanwhile.
   */
  *descending(passed: (item: A) => boolean = () => false): Generator<A, void> {
    let at = this.chunkOf(passed)
    let index = at < this.chunks.length ? indexIn(this.chunks[at] as Array<A>, passed) : 0
    for (;;) {
      const chunk = this.chunks[at]
      for (index--; chunk !== undefined && index >= 0; index--) yield chunk[index] as A
      if (at === 0) return
      at--
      index = (this.chunks[at] as Array<A>).length
    }
  }

  /** The first chunk whose last item passes. */
  private chunkOf(test: (item: A) => boolean): number {
    let low = 0
    let high = this.chunks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const chunk = this.chunks[middle] as Array<A>
      if (test(chunk[chunk.length - 1] as A)) high = middle
      else low = middle + 1
    }
    return low
  }

  /** Merges short neighbors, so that removals leave no short chunks. */
  private join(at: number): void {
    const left = this.chunks[at - 1]
    const right = this.chunks[at]
    if (left !== undefined && right !== undefined && left.length + right.length <= CHUNK / 2) {
      left.push(...right)
      this.chunks.splice(at, 1)
    }
  }
}

const indexIn = <A>(chunk: ReadonlyArray<A>, test: (item: A) => boolean): number => {
  let low = 0
  let high = chunk.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (test(chunk[middle] as A)) high = middle
    else low = middle + 1
  }
  return low
}
