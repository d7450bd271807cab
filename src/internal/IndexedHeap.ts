/**
 * A binary heap with the smallest item first. Any item can be moved or removed in logarithmic time. Items store their
 * position in the heap themselves, in the field that `place` names; it is -1 outside the heap.
 */
export class IndexedHeap<Key extends string, A extends { [K in Key]: number }> {
  private readonly items: Array<A> = []

  constructor(
    private readonly place: Key,
    private readonly compare: (a: A, b: A) => number
  ) {}

  get size(): number {
    return this.items.length
  }

  get first(): A | undefined {
    return this.items[0]
  }

  add(item: A): void {
    this.items.push(item)
    this.up(item, this.items.length - 1)
  }

  /** Ignores an item that is not in the heap. */
  remove(item: A): void {
    const at: number = item[this.place]
    if (at < 0) return
    this.put(item, -1)
    const last = this.items.pop() as A
    if (last === item) return
    this.items[at] = last
    this.settle(last, at)
  }

  /** Call it after the order of an item changed. */
  moved(item: A): void {
    if (item[this.place] >= 0) this.settle(item, item[this.place])
  }

  private put(item: A, at: number): void {
    ;(item as Record<Key, number>)[this.place] = at
  }

  private settle(item: A, at: number): void {
    const parent = this.items[(at - 1) >> 1]
    if (at > 0 && this.compare(item, parent as A) < 0) this.up(item, at)
    else this.down(item, at)
  }

  private up(item: A, from: number): void {
    let at = from
    while (at > 0) {
      const above = (at - 1) >> 1
      const parent = this.items[above] as A
      if (this.compare(item, parent) >= 0) break
      this.items[at] = parent
      this.put(parent, at)
      at = above
    }
    this.items[at] = item
    this.put(item, at)
  }

  private down(item: A, from: number): void {
    let at = from
    for (;;) {
      let below = at * 2 + 1
      if (below >= this.items.length) break
      if (below + 1 < this.items.length && this.compare(this.items[below + 1] as A, this.items[below] as A) < 0) below++
      const child = this.items[below] as A
      if (this.compare(item, child) <= 0) break
      this.items[at] = child
      this.put(child, at)
      at = below
    }
    this.items[at] = item
    this.put(item, at)
  }
}
