import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as HashingEmbedder from "../../src/llm/HashingEmbedder.js"
import type * as VectorIndex from "../../src/memory/VectorIndex.js"
import * as Migrations from "../../src/persistence/Migrations.js"
import * as SqlVectorIndex from "../../src/persistence/SqlVectorIndex.js"
import * as VectorIndexSuite from "../../src/testing/VectorIndexSuite.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as TestServers from "../support/TestServers.js"

const suite = (name: string, layer: Layer.Layer<VectorIndex.VectorIndex, unknown>) => {
  describe(`${name} passes the suite`, () => {
    for (const one of VectorIndexSuite.cases) it(one.name, () => Effect.runPromise(VectorIndexSuite.check(one, layer)))
  })
}

const embedder = HashingEmbedder.layer({ dimensions: 16 })
const postgres = await PostgresServer.database({ setup: Migrations.run })

TestServers.suite("postgres", postgres, ({ layer }) => {
  suite("postgres", SqlVectorIndex.layer().pipe(Layer.provide(Layer.merge(layer, embedder))))
  suite("postgres without a cache", SqlVectorIndex.layer({ cacheBytes: 0 }).pipe(Layer.provide(Layer.merge(layer, embedder))))
})
