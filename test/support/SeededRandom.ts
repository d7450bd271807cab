/** Mulberry32: 32 bits of state, identical on every platform. */
export interface SeededRandom {
  /** From 0 to below 1. */
  readonly next: () => number
  /** A whole number from 0 to below `n`. */
  readonly below: (n: number) => number
  readonly pick: <A>(items: ReadonlyArray<A>) => A
  readonly shuffled: <A>(items: ReadonlyArray<A>) => Array<A>
}

export const make = (seed: number): SeededRandom => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (n: number): number => Math.floor(next() * n)
  const pick = <A>(items: ReadonlyArray<A>): A => items[below(items.length)] as A
  const shuffled = <A>(items: ReadonlyArray<A>): Array<A> => {
    const out = [...items]
    for (let i = out.length - 1; i > 0; i--) {
      const j = below(i + 1)
      const kept = out[i] as A
      out[i] = out[j] as A
      out[j] = kept
    }
    return out
  }
  return { next, below, pick, shuffled }
}
