/**
 * Searches among many entries of one owner: by distinct words, by four words that each occur in half of the entries, by
 * vectors, and by both. After a warm-up each search is measured once, and the slowest counts. `ms CPU` is the time of
 * this process, independent of other load: all of the work with SQLite, the client's share with Postgres.
 *
 * `sqlite-vec` is measured without a limit: it keeps nothing in this process, and reads and compares all vectors of the
 * owner for each search, about a quarter of a second for 100,000 vectors of 384 numbers. The default, a scan, takes a
 * fifth of that.
 */
import * as Effect from "effect/Effect"
import { EntryId } from "../src/domain/Ids.js"
import * as HashingEmbedder from "../src/llm/embedding/HashingEmbedder.js"
import type * as MemoryEntry from "../src/memory/entry/MemoryEntry.js"
import * as DefaultMemoryStore from "../src/memory/search/DefaultMemoryStore.js"
import type * as MemoryStore from "../src/memory/search/MemoryStore.js"
import type * as VectorIndex from "../src/memory/search/VectorIndex.js"
import * as SqlMemoryStore from "../src/persistence/memory/SqlMemoryStore.js"
import * as SqliteVectorIndex from "../src/persistence/vector/SqliteVectorIndex.js"
import * as SqlVectorIndex from "../src/persistence/vector/SqlVectorIndex.js"
import type * as Databases from "./Databases.js"
import { cpuMicros, makeRow, type Row, type Sample } from "./Harness.js"
import type { Above } from "./Persistence.js"

/** Milliseconds. */
const most = 150
/** Limit where each of four words occurs in half of all entries. */
const mostCommon = 300
const dimensions = 384
const ownerId = "ada"
const searches = 30
const warmup = 5

/** Distributed like words of a language: a few in most texts, most in few of them. */
const vocabulary = Array.from({ length: 20_000 }, (_, n) => {
  let word = ""
  for (let rest = n + 700; rest > 0; rest = Math.floor(rest / 20)) word += "bcdfghklmnprstvwzaei"[rest % 20]
  return `${word}o${word.slice(0, 2)}`
})

const random = (seed: number): (() => number) => {
  let state = Math.imul(seed + 1, 2_654_435_761)
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 1_664_525) + 1_013_904_223) | 0
    return (state >>> 0) / 2 ** 32
  }
}

/** Each occurs in half of the texts. */
const common = ["kamo", "lipo", "nuro", "sito", "voga", "zelo"]

const commonOf = (n: number): string =>
  Array.from({ length: 4 }, (_, at) => common[(n + at * (1 + (n % 2))) % common.length]).join(" ")

const textOf = (seed: number, words: number): string => {
  const next = random(seed)
  return Array.from({ length: words }, () => vocabulary[Math.floor(vocabulary.length * next() ** 3)]).join(" ")
}

/** 10 to 30 words, 20 on average. */
const contentOf = (seed: number): string => {
  const next = random(-1 - seed)
  const words = common.filter(() => next() < 0.5)
  return `${words.join(" ")} ${textOf(seed, 10 + Math.floor(21 * next()) - words.length)}`
}

const vectorOf = (seed: number): Float32Array => {
  const next = random(seed)
  return Float32Array.from({ length: dimensions }, () => next() * 2 - 1)
}

const entryOf = (n: number): MemoryEntry.MemoryEntry => ({
  id: EntryId.make(`entry-${n}`),
  ownerId,
  content: contentOf(n),
  role: n % 2 === 0 ? "user" : "assistant",
  timestamp: 1_700_000_000_000 + n,
  importance: 0.5,
  metadata: {},
  embedding: Array.from(vectorOf(n))
})

export const rows = async (
  place: Databases.Place,
  options: { readonly quick: boolean; readonly above: Above }
): Promise<ReadonlyArray<Row>> => {
  const size = options.quick ? 5_000 : 100_000
  const opened = await place.open({ extensions: ["sqlite-vec"] })
  const rows: Array<Row> = []
  const label = `${place.name} ${size} entries`
  const seconds = (subject: string, from: number): void => {
    const value = (performance.now() - from) / 1000
    rows.push(makeRow(label, subject, "s", [{ value, counts: {} }], {}))
  }
  try {
    const embedder = HashingEmbedder.make({ dimensions })
    const model = { model: embedder.model, dimensions }
    const backend = await opened.run(SqlMemoryStore.makeBackend())
    const scan = await opened.run(SqlVectorIndex.make(model))
    const others: Array<readonly [string, VectorIndex.Service]> =
      place.name === "SQLite"
        ? [["sqlite-vec", await opened.run(SqliteVectorIndex.make({ ...model, search: "sqlite-vec" }))]]
        : []
    const of = (index: VectorIndex.Service) =>
      DefaultMemoryStore.fromBackend(backend, { ttl: 0, vectors: { embedder, index } })
    const both = of(scan)

    const begun = performance.now()
    for (let first = 0; first < size; first += 1_000) {
      const entries = Array.from({ length: 1_000 }, (_, n) => entryOf(first + n))
      await Effect.runPromise(both.storeMany(entries))
    }
    seconds("filled with words and vectors", begun)
    const reading = performance.now()
    await Effect.runPromise(scan.search(ownerId, vectorOf(-1), { limit: 10 }))
    seconds("vectors, the first scan", reading)

    const byWords = DefaultMemoryStore.fromBackend(backend, { ttl: 0 })
    const retrieve = (store: MemoryStore.Service, queryOf: (n: number) => string) => (n: number) =>
      store.retrieve({ ownerId, query: queryOf(n), topK: 10 })
    const wordsOf = (n: number): string => textOf(1_000_000 + n, 4)
    const nearest = (index: VectorIndex.Service) => (n: number) =>
      index.search(ownerId, vectorOf(1_000_000 + n), { limit: 10 })
    type Search = (n: number) => Effect.Effect<ReadonlyArray<unknown>, unknown>
    const subjects: ReadonlyArray<readonly [subject: string, most: number, Search]> = [
      ["words", most, retrieve(byWords, wordsOf)],
      ["common words", mostCommon, retrieve(byWords, commonOf)],
      ["vectors, scan", most, nearest(scan)],
      ["words and vectors, scan", most, retrieve(both, wordsOf)],
      ["common words and vectors, scan", mostCommon, retrieve(both, commonOf)],
      ...others.flatMap(
        ([name, index]) =>
          [
            [`vectors, ${name}`, Number.POSITIVE_INFINITY, nearest(index)],
            [`words and vectors, ${name}`, Number.POSITIVE_INFINITY, retrieve(of(index), wordsOf)]
          ] as const
      )
    ]
    for (const [subject, most, search] of subjects) {
      const wall: Array<Sample> = []
      const cpu: Array<Sample> = []
      for (let n = -warmup; n < searches; n++) {
        const cpuFrom = cpuMicros()
        const from = performance.now()
        const found = await Effect.runPromise(search(n + warmup))
        const value = performance.now() - from
        const counts = { found: found.length }
        if (n < 0) continue
        wall.push({ value, counts })
        cpu.push({ value: (cpuMicros() - cpuFrom) / 1000, counts })
      }
      const row = makeRow(label, subject, "ms", wall, { found: 10 })
      rows.push(row, makeRow(label, subject, "ms CPU", cpu, { found: 10 }))
      options.above(`${label}: ${subject}, ms of the slowest`, row.max, most)
    }
  } finally {
    await opened.close()
  }
  return rows
}
