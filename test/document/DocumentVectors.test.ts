import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as InMemoryDocumentIndex from "../../src/document/InMemoryDocumentIndex.js"
import * as Embedder from "../../src/llm/embedding/Embedder.js"
import * as OwnerNamespace from "../../src/memory/entry/OwnerNamespace.js"
import * as VectorIndex from "../../src/memory/search/VectorIndex.js"
import * as CountingEmbedder from "../support/CountingEmbedder.js"
import { document, found, guide } from "../support/DocumentIndexes.js"

const space = OwnerNamespace.documents("ann")

const made = Effect.fnUntraced(function* (
  before?: (texts: ReadonlyArray<string>, call: number) => Effect.Effect<void, Embedder.EmbeddingError>
) {
  const counting = CountingEmbedder.make(before)
  const { embedder } = counting
  const vectors = yield* VectorIndex.makeMemory(embedder)
  const index = yield* InMemoryDocumentIndex.make({ vectors: { embedder, index: vectors } })
  return { ...counting, index, vectors }
})

/** An embedder of two topics: boats and money. */
const topics = Embedder.make({
  model: "topics",
  dimensions: 2,
  embedMany: (texts) =>
    Effect.succeed(
      texts.map((text) => [/boat|vessel|moor/i.test(text) ? 1 : 0, /crown|price|cost/i.test(text) ? 1 : 0])
    )
})

describe("DocumentIndex with vectors", () => {
  it.effect("finds a paraphrase by meaning that shares no word", () =>
    Effect.gen(function* () {
      const vectors = yield* VectorIndex.makeMemory(topics)
      const index = yield* InMemoryDocumentIndex.make({ vectors: { embedder: topics, index: vectors } })
      const byWords = yield* InMemoryDocumentIndex.make()
      for (const one of [index, byWords]) yield* one.ingest("ann", [document("guide.md", guide)])
      const query = { text: "vessels price", limit: 1 }
      assert.deepStrictEqual(yield* byWords.search("ann", query), { hits: [] })
      const { hits, warning } = yield* index.search("ann", query)
      assert.deepStrictEqual(hits[0]!.headings, ["Guide", "Mooring"])
      assert.isTrue(hits[0]!.document.isEmbedded)
      assert.isTrue(hits[0]!.score > 0 && hits[0]!.score <= 1)
      assert.isUndefined(warning)
    })
  )

  it.effect("embeds the chunks that changed and no others", () =>
    Effect.gen(function* () {
      const { calls, index } = yield* made()
      yield* index.ingest("ann", [document("guide.md", guide)])
      assert.strictEqual(calls.flat().length, 4)
      yield* index.ingest("ann", [document("guide.md", guide)])
      yield* index.ingest("ann", [document("guide.md", guide, { tags: ["new"] })])
      assert.strictEqual(calls.flat().length, 4)
      yield* index.ingest("ann", [document("guide.md", `${guide.replace("noon", "nine")}\n\n## New\n\nMore.`)])
      assert.deepStrictEqual(
        calls
          .flat()
          .slice(4)
          .map((text) => text.split("\n")[1]),
        ["Fuel", "New"]
      )
    })
  )

  it.effect(
    "keeps documents that cannot be embedded for a search by words, with a warning, until the next ingestion",
    () =>
      Effect.gen(function* () {
        let works = false
        const { calls, index, vectors } = yield* made(() => (works ? Effect.void : CountingEmbedder.error(false)))
        const [ingested] = yield* index.ingest("ann", [document("guide.md", guide)])
        assert.include(ingested!.warning, "no vectors today")
        assert.strictEqual(ingested!.added, 4)
        const { hits, warning } = yield* index.search("ann", { text: "diesel" })
        assert.include(warning, "words alone")
        assert.deepStrictEqual(hits[0]!.headings, ["Guide", "Fuel"])
        assert.isFalse(hits[0]!.document.isEmbedded)
        works = true
        const before = calls.flat().length
        const [again] = yield* index.ingest("ann", [document("guide.md", guide)])
        assert.deepStrictEqual(again, { id: "guide.md", status: "unchanged", added: 0, kept: 4, removed: 0 })
        assert.strictEqual(calls.flat().length - before, 4)
        assert.strictEqual(yield* vectors.count(space), 4)
        const later = yield* index.search("ann", { text: "diesel" })
        assert.isUndefined(later.warning)
        assert.isTrue(later.hits[0]!.document.isEmbedded)
        assert.strictEqual(later.hits[0]!.document.changedAt, hits[0]!.document.changedAt)
      })
  )

  it.effect("restricts hits by meaning to documents and tags, and to the owner", () =>
    Effect.gen(function* () {
      const { index } = yield* made()
      yield* index.ingest("ann", [document("a", "apples", { tags: ["fruit"] }), document("b", "apples")])
      yield* index.ingest("bob", [document("c", "apples")])
      assert.deepStrictEqual(yield* found(index, "ann", "apples", { tags: ["fruit"] }), ["a"])
      assert.deepStrictEqual(yield* found(index, "ann", "apples", { documents: ["b"] }), ["b"])
      assert.deepStrictEqual(yield* found(index, "bob", "apples"), ["c"])
    })
  )

  it.effect("removes the vectors of chunks and documents that are gone", () =>
    Effect.gen(function* () {
      const { index, vectors } = yield* made()
      yield* index.ingest("ann", [document("guide.md", guide), document("a", "apples")])
      assert.strictEqual(yield* vectors.count(space), 5)
      yield* index.ingest("ann", [document("guide.md", "# Guide\n\nShort.")])
      assert.strictEqual(yield* vectors.count(space), 2)
      yield* index.delete("ann", ["guide.md"])
      assert.strictEqual(yield* vectors.count(space), 1)
      yield* index.clear("ann")
      assert.strictEqual(yield* vectors.count(space), 0)
    })
  )

  it.effect("removes the vectors of a document that could not be stored", () =>
    Effect.gen(function* () {
      const { embedder } = CountingEmbedder.make()
      const vectors = yield* VectorIndex.makeMemory(embedder)
      const index = yield* InMemoryDocumentIndex.make({ capacity: 8, vectors: { embedder, index: vectors } })
      yield* index.ingest("ann", [document("guide.md", guide)])
      const error = yield* Effect.flip(index.ingest("ann", [document("more.md", guide.replace("Guide", "More"))]))
      assert.strictEqual(error._tag, "MemoryCapacityError")
      assert.strictEqual(yield* vectors.count(space), 4)
    })
  )

  it.effect("searches by words where the index holds vectors of another model", () =>
    Effect.gen(function* () {
      const { embedder } = CountingEmbedder.make()
      const vectors = yield* VectorIndex.makeMemory({ model: "other", dimensions: embedder.dimensions })
      const index = yield* InMemoryDocumentIndex.make({ vectors: { embedder, index: vectors } })
      const [ingested] = yield* index.ingest("ann", [document("a", "apples")])
      assert.include(ingested!.warning, "other")
      assert.deepStrictEqual(yield* found(index, "ann", "apples"), ["a"])
    })
  )
})
