import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as HashingEmbedder from "../../src/llm/HashingEmbedder.js"
import type * as VectorIndex from "../../src/memory/VectorIndex.js"
import * as PgVectorIndex from "../../src/persistence/PgVectorIndex.js"
import * as VectorIndexSuite from "../../src/testing/VectorIndexSuite.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as TestServers from "../support/TestServers.js"

const suite = (name: string, layer: Layer.Layer<VectorIndex.VectorIndex, unknown>) => {
  describe(`${name} passes the suite`, () => {
    for (const one of VectorIndexSuite.cases) it(one.name, () => Effect.runPromise(VectorIndexSuite.check(one, layer)))
  })
}

const embedder = HashingEmbedder.layer({ dimensions: 16 })
const pgvector = await PostgresServer.vectorDatabase({
  setup: Effect.scoped(Layer.build(PgVectorIndex.layerMigrated().pipe(Layer.provide(embedder))))
})

TestServers.suite("pgvector", pgvector, ({ layer }) => {
  suite("pgvector", PgVectorIndex.layer().pipe(Layer.provide(Layer.merge(layer, embedder))))
  suite("pgvector by its graph", PgVectorIndex.layer({ exactBelow: 0 }).pipe(Layer.provide(Layer.merge(layer, embedder))))
  suite("pgvector by a graph of half precision", PgVectorIndex.layer({ exactBelow: 0, precision: "half" }).pipe(Layer.provide(Layer.merge(layer, embedder))))
})
