import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as DefaultDocumentIndex from "../../src/document/DefaultDocumentIndex.js"
import * as InMemoryDocumentIndex from "../../src/document/InMemoryDocumentIndex.js"
import * as InMemoryBackend from "../../src/memory/search/InMemoryBackend.js"
import * as TextAnalyzer from "../../src/memory/text/TextAnalyzer.js"
import { document, found, guide } from "../support/DocumentIndexes.js"

const sentences = Array.from({ length: 60 }, (_, n) => `Sentence number${n} says a thing.`).join(" ")

describe("the options of a document index", () => {
  it.effect("maxTokens, overlapTokens and count decide how documents are cut", () =>
    Effect.gen(function* () {
      const cut = Effect.fnUntraced(function* (options: InMemoryDocumentIndex.Options) {
        const index = yield* InMemoryDocumentIndex.make(options)
        yield* index.ingest("ann", [document("a", sentences)])
        return yield* index.read("ann", "a")
      })
      const chunks = (options: InMemoryDocumentIndex.Options) => Effect.map(cut(options), ({ length }) => length)
      assert.isAbove(yield* chunks({ maxTokens: 40 }), yield* chunks({ maxTokens: 200 }))
      const [, second] = yield* cut({ maxTokens: 60, overlapTokens: 30 })
      const [first, apart] = yield* cut({ maxTokens: 60, overlapTokens: 0 })
      assert.isAbove(apart!.start, first!.end)
      assert.isBelow(second!.start, first!.end)
      assert.strictEqual(yield* chunks({ maxTokens: 60, count: () => 1, overlapTokens: 0 }), 1)
    })
  )

  it.effect("a change of maxTokens cuts a document again that did not change", () =>
    Effect.gen(function* () {
      const backend = yield* InMemoryBackend.make()
      const ingest = (maxTokens: number) =>
        Effect.map(
          DefaultDocumentIndex.fromBackend(backend, { maxTokens }).ingest("ann", [document("a", sentences)]),
          ([one]) => one!.status
        )
      assert.deepStrictEqual(
        [yield* ingest(200), yield* ingest(200), yield* ingest(40)],
        ["added", "unchanged", "changed"]
      )
    })
  )

  it.effect("maxChunks, maxBytes and maxCharacters refuse a document that has more, and keep the one before", () =>
    Effect.gen(function* () {
      const bounds: ReadonlyArray<InMemoryDocumentIndex.Options> = [
        { maxChunks: 3 },
        { maxBytes: 200 },
        { maxCharacters: 200 }
      ]
      for (const options of bounds) {
        const index = yield* InMemoryDocumentIndex.make({ maxTokens: 40, ...options })
        yield* index.ingest("ann", [document("a", "Few words.")])
        const error = yield* Effect.flip(index.ingest("ann", [document("b", "Other words."), document("a", sentences)]))
        assert.deepInclude(error, { _tag: "DocumentError", reason: "TooLarge", document: "a" })
        assert.deepStrictEqual(yield* found(index, "ann", "few words"), ["a", "b"])
      }
    })
  )

  it.effect("capacity refuses what does not fit, and leaves nothing of it", () =>
    Effect.gen(function* () {
      const index = yield* InMemoryDocumentIndex.make({ capacity: 10 })
      yield* index.ingest("ann", [document("guide.md", guide)])
      for (const id of ["one.md", "two.md", "three.md", "four.md"]) {
        const error = yield* Effect.flip(index.ingest("ann", [document(id, `${guide}\n\n## More\n\nOf it.`)]))
        assert.strictEqual(error._tag, "MemoryCapacityError")
        assert.isUndefined(yield* index.get("ann", id))
      }
      assert.deepStrictEqual(yield* index.count("ann"), { documents: 1, chunks: 4 })
      const [small] = yield* index.ingest("ann", [document("small.md", guide)])
      assert.strictEqual(small!.status, "added")
    })
  )

  it.effect("analyzer decides which words are found", () =>
    Effect.gen(function* () {
      const english = yield* InMemoryDocumentIndex.make()
      const plain = yield* InMemoryDocumentIndex.make({ analyzer: TextAnalyzer.plain })
      for (const index of [english, plain]) yield* index.ingest("ann", [document("a", "mooring boats")])
      assert.deepStrictEqual(yield* found(english, "ann", "moored"), ["a"])
      assert.deepStrictEqual(yield* found(plain, "ann", "moored"), [])
    })
  )
})
