/** The memory of the library with many entries of one owner, and searches for the ten best by words. */
import * as Effect from "effect/Effect"
import { InMemoryMemoryStore } from "effect-lexigram/memory"

const ownerId = "bench"

/** The same numbers in each process (xorshift). */
const makeRandom = () => {
  let state = 42
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 4_294_967_296
  }
}

const syllables = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split(" ")

/** A word by its rank; by Zipf's law the first ones occur in most texts. */
const wordOf = (rank) => {
  let word = ""
  for (let rest = rank + 20; rest > 0; rest = Math.floor(rest / 20)) word += syllables[rest % 20]
  return word
}

const makeTexts = (random) => (words) =>
  Array.from({ length: words }, () => wordOf(Math.floor(20_000 ** random()))).join(" ")

export const make = async ({ entries }) => {
  const text = makeTexts(makeRandom())
  const store = await Effect.runPromise(InMemoryMemoryStore.make())
  for (let at = 0; at < entries; at += 1_000) {
    const some = Array.from({ length: 1_000 }, (_, i) => ({
      id: `entry-${at + i}`,
      ownerId,
      content: text(25),
      role: "user",
      timestamp: 1_700_000_000_000 + (at + i) * 60_000,
      importance: (i % 10) / 10,
      metadata: {}
    }))
    await Effect.runPromise(store.storeMany(some))
  }
  return {
    search: async () => {
      const found = await Effect.runPromise(store.retrieve({ ownerId, query: text(6), topK: 10 }))
      if (found.length !== 10) throw new Error(`${found.length} entries found`)
    }
  }
}
