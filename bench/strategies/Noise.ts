/** Chances that are drawn from a seed and a text: the same ones for the same text, asked for the same time. */

/** FNV-1a of 32 bits, with a last mix, so that texts of one end differ in all bits. */
const hash = (text: string): number => {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  return Math.imul(value ^ (value >>> 15), 0x2c1b3c6d) >>> 0
}

/** Draws numbers from 0 to 1, without 1 (mulberry32). */
export interface Noise {
  readonly next: () => number
  readonly happens: (rate: number) => boolean
  readonly pick: <A>(items: ReadonlyArray<A>) => A | undefined
}

export const make = (text: string): Noise => {
  let state = hash(text)
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    const mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    const more = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((more ^ (more >>> 14)) >>> 0) / 4294967296
  }
  return {
    next,
    happens: (rate) => next() < rate,
    pick: (items) => items[Math.floor(next() * items.length)]
  }
}
