import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as HashingEmbedder from "../../src/llm/HashingEmbedder.js"
import type * as VectorIndex from "../../src/memory/VectorIndex.js"
import * as SqliteClient from "../../src/persistence/SqliteClient.js"
import * as SqliteVectorIndex from "../../src/persistence/SqliteVectorIndex.js"
import * as VectorIndexSuite from "../../src/testing/VectorIndexSuite.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"

const suite = (name: string, layer: Layer.Layer<VectorIndex.VectorIndex, unknown>) => {
  describe(`${name} passes the suite`, () => {
    for (const one of VectorIndexSuite.cases) it(one.name, () => Effect.runPromise(VectorIndexSuite.check(one, layer)))
  })
}

const embedder = HashingEmbedder.layer({ dimensions: 16 })

SqliteDrivers.suite("SqliteVectorIndex", (driver) => {
  const client = Layer.unwrapScoped(Effect.map(SqliteDrivers.file, (file) => SqliteClient.layer({ file, driver, extensions: ["sqlite-vec"] })))
  suite("a scan", SqliteVectorIndex.layerMigrated().pipe(Layer.provide(Layer.merge(client, embedder))))
  suite("sqlite-vec", SqliteVectorIndex.layerMigrated({ search: "sqlite-vec" }).pipe(Layer.provide(Layer.merge(client, embedder))))
})
