import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as DefaultDocumentIndex from "../../src/document/DefaultDocumentIndex.js"
import type { Query } from "../../src/document/DocumentIndex.js"
import * as Rows from "../../src/document/DocumentRows.js"
import type { Vectors } from "../../src/document/DocumentVectors.js"
import * as HashingEmbedder from "../../src/llm/embedding/HashingEmbedder.js"
import type { MemoryBackend } from "../../src/memory/entry/MemoryBackend.js"
import * as OwnerNamespace from "../../src/memory/entry/OwnerNamespace.js"
import { itemOf } from "../../src/memory/search/EntryVectors.js"
import * as InMemoryBackend from "../../src/memory/search/InMemoryBackend.js"
import * as VectorIndex from "../../src/memory/search/VectorIndex.js"
import * as TextAnalyzer from "../../src/memory/text/TextAnalyzer.js"
import * as Database from "../../src/persistence/engine/Database.js"
import * as SqlMemoryBackend from "../../src/persistence/memory/SqlMemoryBackend.js"
import * as SqlBackends from "../support/SqlBackends.js"

const space = OwnerNamespace.documents("ann")

interface Written {
  readonly id: string
  readonly text: string
  readonly tags: ReadonlyArray<string>
}

/** The entries of documents of one chunk each, all at once. */
const entriesOf = (documents: ReadonlyArray<Written>) =>
  documents.flatMap(({ id, tags, text }) => {
    const described = { id, title: id, source: id, tags, hash: id }
    const read = { format: "text", syntax: "plain", text } as const
    const chunk = { text, headings: [], start: 0, end: text.length, tokens: 1 }
    const record = Rows.completed(space, described, read, { chunks: 1, changedAt: 0, model: undefined })
    return [record, ...Rows.chunkEntries(space, described, read, [chunk])]
  })

const write = (backend: MemoryBackend, documents: ReadonlyArray<Written>) =>
  Effect.asVoid(backend.apply(space, { store: entriesOf(documents) }))

/** Counts the entries that a backend returns. */
const watched = (backend: MemoryBackend) => {
  const seen = { rows: 0 }
  const counted = <A extends ReadonlyArray<unknown>, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.tap(effect, ({ length }) =>
      Effect.sync(() => {
        seen.rows += length
      })
    )
  const counting: MemoryBackend = {
    ...backend,
    page: (...args) => counted(backend.page(...args)),
    get: (...args) => counted(backend.get(...args)),
    lexical: (...args) =>
      Effect.tap(backend.lexical(...args), ({ hits }) =>
        Effect.sync(() => {
          seen.rows += hits.length
        })
      )
  }
  return { counting, seen }
}

const reads = Effect.fnUntraced(function* (backend: MemoryBackend, documents: ReadonlyArray<Written>, query: Query) {
  yield* backend.clear(space)
  yield* write(backend, documents)
  const { counting, seen } = watched(backend)
  const { hits } = yield* DefaultDocumentIndex.fromBackend(counting).search("ann", query)
  assert.lengthOf(hits, 5)
  return seen.rows
})

const many = (count: number): ReadonlyArray<Written> =>
  Array.from({ length: count }, (_, n) => ({
    id: `d${n}`,
    text: `apples number${n}`,
    tags: n % 300 === 0 ? ["all", "few"] : ["all"]
  }))

const cases = <R>(
  make: Effect.Effect<MemoryBackend, unknown, R>
): ReadonlyArray<readonly [string, Effect.Effect<void, unknown, R>]> => [
  [
    "reads the same amount for a tag of 600 and of 2,400 documents",
    Effect.gen(function* () {
      const backend = yield* make
      const query = { text: "apples", tags: ["all"] }
      const some = yield* reads(backend, many(600), query)
      assert.isAtMost(some, 750)
      assert.strictEqual(yield* reads(backend, many(2_400), query), some)
    })
  ],
  [
    "reads the documents of the rarest tag alone where it is one of few",
    Effect.gen(function* () {
      const backend = yield* make
      // 500 records of the first tag, 8 of the second, their 8 chunks, and the records of the hits.
      const read = yield* reads(backend, many(2_400), { text: "apples", tags: ["all", "few"] })
      assert.strictEqual(read, 500 + 8 + 8 + 5)
      assert.strictEqual(yield* reads(backend, many(2_400), { text: "apples", tags: ["few"] }), 8 + 8 + 5)
    })
  ]
]

describe("a search of documents by tags", () => {
  for (const [title, test] of cases(InMemoryBackend.make())) it.effect(`${title}: in memory`, () => test)

  SqlBackends.suite("on a database", ({ layer }) => {
    const make = Effect.map(Database.open, (database) => SqlMemoryBackend.make(database, TextAnalyzer.english))
    for (const [title, test] of cases(make)) it.effect(title, () => Effect.provide(test, layer))
  })

  const words = "apple pear plum fig quince cherry".split(" ")
  const mixed = Array.from({ length: 1_800 }, (_, n): Written => {
    const text = [words[n % 6], words[(n * 7) % 5], words[(n * n) % 6], n % 9 === 0 ? "medlar" : "grape"].join(" ")
    return { id: `d${n}`, text: `${text} ${n}`, tags: [n % 3 === 0 ? "third" : "other", n % 2 === 0 ? "even" : "odd"] }
  })
  const queries = ["apple", "fig plum", "medlar", "cherry medlar quince", "grape 17", "nothing of it"]

  const same = Effect.fnUntraced(function* (documents: ReadonlyArray<Written>, vectors: Vectors | undefined) {
    const backend = yield* InMemoryBackend.make()
    yield* write(backend, documents)
    const index = DefaultDocumentIndex.fromBackend(backend, { vectors })
    for (const text of queries) {
      for (const tags of [["third"], ["third", "even"], ["even", "third"], ["odd"]]) {
        const having = documents.filter((one) => tags.every((tag) => one.tags.includes(tag)))
        const byName = yield* index.search("ann", { text, limit: 100, documents: having.map(({ id }) => id) })
        assert.deepStrictEqual(yield* index.search("ann", { text, limit: 100, tags }), byName)
      }
    }
  })

  it.effect("finds what a search of the documents with the tags finds", () => same(mixed, undefined))

  it.effect("finds it by meaning, too", () =>
    Effect.gen(function* () {
      const embedder = HashingEmbedder.make({ dimensions: 32 })
      const index = yield* VectorIndex.makeMemory(embedder)
      const chunks = entriesOf(mixed).filter(Rows.isChunk)
      const found = yield* embedder.embedMany(chunks.map(({ content }) => content))
      yield* index.upsert(
        space,
        chunks.map((chunk, at) => itemOf(chunk, found[at]!))
      )
      yield* same(mixed, { embedder, index })
    })
  )

  it.effect("finds documents with a frequent tag behind thousands of better ones without it", () =>
    Effect.gen(function* () {
      const better = Array.from({ length: 2_000 }, (_, n) => ({ id: `b${n}`, text: "apple apple", tags: [] }))
      const long = "pear plum fig quince cherry grape medlar ".repeat(5)
      const worse = Array.from({ length: 510 }, (_, n) => ({ id: `w${n}`, text: `apple ${long}`, tags: ["third"] }))
      yield* same([...better, ...worse], undefined)
    })
  )
})
