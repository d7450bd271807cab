/** Searches among many entries of one owner: by words, by vectors and by both. */
import * as Effect from "effect/Effect"
import { EntryId } from "../src/domain/Ids.js"
import * as HashingEmbedder from "../src/llm/HashingEmbedder.js"
import type * as MemoryEntry from "../src/memory/MemoryEntry.js"
import * as MemoryStore from "../src/memory/MemoryStore.js"
import type * as VectorIndex from "../src/memory/VectorIndex.js"
import * as SqliteVectorIndex from "../src/persistence/SqliteVectorIndex.js"
import * as SqlMemoryStore from "../src/persistence/SqlMemoryStore.js"
import * as SqlVectorIndex from "../src/persistence/SqlVectorIndex.js"
import type * as Databases from "./Databases.js"
import { makeRow, type Row, type Sample } from "./Harness.js"
import type { Above } from "./Persistence.js"

/** Milliseconds. */
const most = 150
const dimensions = 384
const ownerId = "ada"
const searches = 10

/** As words of a language are: a few in most texts, most in few of them. */
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

const textOf = (seed: number, words: number): string => {
  const next = random(seed)
  return Array.from({ length: words }, () => vocabulary[Math.floor(vocabulary.length * next() ** 3)]).join(" ")
}

const vectorOf = (seed: number): Float32Array => {
  const next = random(seed)
  return Float32Array.from({ length: dimensions }, () => next() * 2 - 1)
}

const entryOf = (n: number): MemoryEntry.MemoryEntry => ({
  id: EntryId.make(`entry-${n}`),
  ownerId,
  content: textOf(n, 20),
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
  const rounds = options.quick ? 2 : 3
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
      MemoryStore.fromBackend(backend, { ttl: 0, vectors: { embedder, index } })
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

    const byWords = MemoryStore.fromBackend(backend, { ttl: 0 })
    const retrieve = (store: MemoryStore.Service) => (n: number) =>
      store.retrieve({ ownerId, query: textOf(1_000_000 + n, 4), topK: 10 })
    const nearest = (index: VectorIndex.Service) => (n: number) =>
      index.search(ownerId, vectorOf(1_000_000 + n), { limit: 10 })
    const subjects: ReadonlyArray<readonly [string, (n: number) => Effect.Effect<ReadonlyArray<unknown>, unknown>]> = [
      ["words", retrieve(byWords)],
      ["vectors, scan", nearest(scan)],
      ["words and vectors, scan", retrieve(both)],
      ...others.flatMap(
        ([name, index]) =>
          [
            [`vectors, ${name}`, nearest(index)],
            [`words and vectors, ${name}`, retrieve(of(index))]
          ] as const
      )
    ]
    /** Of each search the best round, which others disturbed least. */
    const samples = new Map<string, Array<Sample>>(subjects.map(([subject]) => [subject, []]))
    for (let round = -1; round < rounds; round++) {
      for (const [subject, search] of subjects) {
        const kept = samples.get(subject) as Array<Sample>
        for (let n = 0; n < searches; n++) {
          const from = performance.now()
          const found = await Effect.runPromise(search(n))
          const value = performance.now() - from
          if (round < 0) continue
          kept[n] = { value: Math.min(value, kept[n]?.value ?? value), counts: { found: found.length } }
        }
      }
    }
    for (const [subject, of] of samples) {
      const row = makeRow(label, subject, "ms", of, { found: 10 })
      rows.push(row)
      options.above(`${label}: ${subject}, ms of the slowest`, row.max, most)
    }
  } finally {
    await opened.close()
  }
  return rows
}
