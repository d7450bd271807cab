/** JSON that nobody sends, or nearly what somebody sends. */
import type * as SeededRandom from "./SeededRandom.js"

export const texts = [
  "",
  "null",
  "\u0000",
  "\ud800",
  "x".repeat(300),
  "__proto__",
  "../../x",
  "a\r\nb: c",
  "data:,",
  "%00"
]

/** Values of every kind; objects have these members among others, and texts are these words among others. */
export const make = (
  members: ReadonlyArray<string>,
  words: ReadonlyArray<string>
): ((random: SeededRandom.SeededRandom) => unknown) => {
  const valueOf = (random: SeededRandom.SeededRandom, depth = 0): unknown => {
    const kind = random.below(depth > 3 ? 4 : 7)
    if (kind === 0) return random.pick(texts)
    if (kind === 1) return random.below(1000) - 500
    if (kind === 2) return random.pick([null, true, false])
    if (kind === 3) return random.pick([...words])
    if (kind === 4) return Array.from({ length: random.below(4) }, () => valueOf(random, depth + 1))
    return Object.fromEntries(
      Array.from({ length: random.below(5) }, () => [random.pick([...members, ...texts]), valueOf(random, depth + 1)])
    )
  }
  return valueOf
}
