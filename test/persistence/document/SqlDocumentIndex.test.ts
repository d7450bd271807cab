import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as DocumentIndex from "../../../src/document/DocumentIndex.js"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as HashingEmbedder from "../../../src/llm/embedding/HashingEmbedder.js"
import * as SqlDocumentIndex from "../../../src/persistence/document/SqlDocumentIndex.js"
import * as SqlVectorIndex from "../../../src/persistence/vector/SqlVectorIndex.js"
import * as DocumentIndexes from "../../support/DocumentIndexes.js"
import * as SqlBackends from "../../support/SqlBackends.js"

const { document, found, guide } = DocumentIndexes

SqlBackends.suite("SqlDocumentIndex", ({ layer, other }) => {
  const words = Layer.provide(SqlDocumentIndex.layer(), layer)
  const embedder = Embedder.layer(HashingEmbedder.make({ dimensions: 64 }))
  const vectors = SqlDocumentIndex.layerVectors().pipe(
    Layer.provide(SqlVectorIndex.layer({ name: "documents" })),
    Layer.provide(embedder),
    Layer.provide(layer)
  )

  DocumentIndexes.suite("SqlDocumentIndex", words)
  DocumentIndexes.suiteOfVectors("SqlDocumentIndex with vectors", vectors)

  it.effect("leaves one whole version of a document that two processes write at once", () =>
    Effect.gen(function* () {
      const here = yield* DocumentIndex.DocumentIndex
      const there = yield* Effect.provide(SqlDocumentIndex.make(), yield* Layer.build(other))
      for (let round = 0; round < 5; round++) {
        const version = (n: number) =>
          document(
            "guide.md",
            `# V${n}\n\nround${round} by${n}\n\n## Same\n\nround${round} shared\n\n## Own ${n}\n\ntext`
          )
        yield* Effect.all([here.ingest("ann", [version(1)]), there.ingest("ann", [version(2)])], { concurrency: 2 })
        assert.deepStrictEqual(yield* here.count("ann"), { documents: 1, chunks: 3 })
        const passages = yield* there.read("ann", "guide.md")
        const titles = new Set(passages.map(({ headings }) => headings[0]))
        assert.strictEqual(titles.size, 1)
      }
      yield* Effect.all([here.delete("ann", ["guide.md"]), there.ingest("ann", [document("a", guide)])], {
        concurrency: 2
      })
      assert.deepStrictEqual(yield* found(there, "ann", "diesel"), ["a"])
    }).pipe(Effect.scoped, Effect.provide(words))
  )
})
