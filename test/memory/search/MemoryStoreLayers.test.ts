import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as InMemoryMemoryStore from "../../../src/memory/search/InMemoryMemoryStore.js"
import * as VectorIndex from "../../../src/memory/search/VectorIndex.js"
import * as MemoryStoreSuite from "../../../src/testing/memory/MemoryStoreSuite.js"

/** No text has any feature: what is found is found by its words, as the cases want it, and vectors are written all the same. */
const mute = Embedder.layer(
  Embedder.make({
    model: "mute",
    dimensions: 4,
    embedMany: (texts) => Effect.succeed(texts.map(() => [0, 0, 0, 0]))
  })
)

const layers = {
  layerMemory: InMemoryMemoryStore.layer(),
  layerMemoryVectors: InMemoryMemoryStore.layerVectors().pipe(
    Layer.provide(Layer.provideMerge(VectorIndex.layerMemory(), mute))
  )
}

for (const [name, layer] of Object.entries(layers)) {
  describe(`MemoryStore.${name}`, () => {
    for (const one of MemoryStoreSuite.cases) {
      it(one.name, () => Effect.runPromise(MemoryStoreSuite.check(one, layer)))
    }
  })
}
