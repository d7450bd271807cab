/** Cost of memory: storing and finding, with few and many entries. */
import * as Effect from "effect/Effect"
import type { EntryId, SessionId } from "../src/domain/Ids.js"
import type { MemoryEntry } from "../src/memory/entry/MemoryEntry.js"
import * as InMemoryMemoryStore from "../src/memory/search/InMemoryMemoryStore.js"
import type * as MemoryStore from "../src/memory/search/MemoryStore.js"
import { cpuMicros, interleave, makeRow, type Row, type Sample } from "./Harness.js"

const OWNER = "bench"

/** The same numbers in each run (xorshift). */
const makeRandom = (seed: number) => {
  let state = seed
  return (): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 4_294_967_296
  }
}

const syllables = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu ra le mi no ta".split(" ")

/** Words by Zipf's law: the first ones occur in most texts, so their lists are as long as the store. */
const makeTexts = () => {
  const random = makeRandom(42)
  const vocabulary = Array.from({ length: 20_000 }, (_, rank) => {
    let word = ""
    for (let rest = rank + 25; rest > 0; rest = Math.floor(rest / 25)) word += syllables[rest % 25]
    return word
  })
  const cumulated: Array<number> = []
  let sum = 0
  for (let rank = 1; rank <= vocabulary.length; rank++) {
    sum += 1 / rank
    cumulated.push(sum)
  }
  const word = (): string => {
    const wanted = random() * sum
    let low = 0
    let high = cumulated.length - 1
    while (low < high) {
      const middle = (low + high) >>> 1
      if (cumulated[middle]! < wanted) low = middle + 1
      else high = middle
    }
    return vocabulary[low]!
  }
  return (least: number, most: number): string =>
    Array.from({ length: least + Math.floor(random() * (most - least + 1)) }, word).join(" ")
}

const START = 1_700_000_000_000

const makeEntries = (count: number): ReadonlyArray<MemoryEntry> => {
  const text = makeTexts()
  return Array.from({ length: count }, (_, at) => ({
    id: `entry-${at}` as EntryId,
    ownerId: OWNER,
    content: text(10, 40),
    role: at % 2 === 0 ? "user" : "assistant",
    timestamp: START + at * 60_000,
    importance: (at % 10) / 10,
    metadata: { type: "turn" },
    sessionId: `session-${Math.floor(at / 40)}` as SessionId
  }))
}

const filled = (entries: ReadonlyArray<MemoryEntry>): Promise<MemoryStore.Service> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const store = yield* InMemoryMemoryStore.make()
      for (let at = 0; at < entries.length; at += 1_000) yield* store.storeMany(entries.slice(at, at + 1_000))
      return store
    })
  )

const storeEach = (store: MemoryStore.Service, entries: ReadonlyArray<MemoryEntry>) =>
  Effect.forEach(entries, (entry) => store.store(entry), { discard: true })

export const rows = async (options: {
  readonly warmup: number
  readonly runs: number
  readonly quick: boolean
}): Promise<ReadonlyArray<Row>> => {
  const many = makeEntries(100_000)
  const some = many.slice(0, 6_000)
  const smaller = await filled(some)
  const larger = await filled(many)
  const text = makeTexts()
  const queries = Array.from({ length: options.quick ? 5 : 20 }, () => text(4, 10))
  const retrieve = (store: MemoryStore.Service) => async (): Promise<Sample> => {
    const from = cpuMicros()
    const found = await Effect.runPromise(
      Effect.forEach(queries, (query) => store.retrieve({ ownerId: OWNER, query, topK: 10 }))
    )
    const value = (cpuMicros() - from) / 1_000 / queries.length
    return { value, counts: { results: found.reduce((sum, results) => sum + results.length, 0) } }
  }
  const found = await interleave({ smaller: retrieve(smaller), larger: retrieve(larger) }, options)

  const tenth = many.length / 10
  const growth = { first: [] as Array<Sample>, last: [] as Array<Sample> }
  for (let round = 0; round < (options.quick ? 2 : 4); round++) {
    globalThis.gc?.()
    // A collection drops compiled code; compiling it again is not part of storing.
    await Effect.runPromise(
      Effect.flatMap(InMemoryMemoryStore.make(), (store) => storeEach(store, many.slice(0, 5_000)))
    )
    const store = await Effect.runPromise(InMemoryMemoryStore.make())
    const spent = async (from: number, to: number): Promise<Sample> => {
      const before = cpuMicros()
      await Effect.runPromise(storeEach(store, many.slice(from, to)))
      const value = (cpuMicros() - before) / (to - from)
      return { value, counts: { held: await Effect.runPromise(store.count(OWNER)) } }
    }
    const first = await spent(0, tenth)
    await spent(tenth, many.length - tenth)
    const last = await spent(many.length - tenth, many.length)
    // The first round warms up.
    if (round > 0) {
      growth.first.push(first)
      growth.last.push(last)
    }
  }
  const results = { results: queries.length * 10 }
  const storing = "memory: storing one by one"
  return [
    makeRow("memory: retrieving the best 10", "of 6,000 entries", "ms CPU", found["smaller"]!, results),
    makeRow("memory: retrieving the best 10", "of 100,000 entries", "ms CPU", found["larger"]!, results),
    makeRow(storing, "the first 10,000 of 100,000", "µs CPU", growth.first, { held: tenth }),
    makeRow(storing, "the last 10,000 of 100,000", "µs CPU", growth.last, { held: many.length })
  ]
}
