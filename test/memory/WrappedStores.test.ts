import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as BufferMemoryStore from "../../src/memory/conversation/BufferMemoryStore.js"
import * as SummaryMemoryStore from "../../src/memory/conversation/SummaryMemoryStore.js"
import { ConsolidationError } from "../../src/memory/entry/MemoryError.js"
import { EpisodicCompressor } from "../../src/memory/episodic/EpisodicCompressor.js"
import * as InMemoryMemoryStore from "../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStores from "../support/MemoryStores.js"

const below = InMemoryMemoryStore.layer()

// With a bound that no case reaches they are stores like any other.
MemoryStores.suite("BufferMemoryStore", BufferMemoryStore.layer({ maxEntries: 1e9 }).pipe(Layer.provide(below)))

MemoryStores.suite(
  "SummaryMemoryStore",
  SummaryMemoryStore.layer({ compressThreshold: 1e9 }).pipe(
    Layer.provide([
      below,
      Layer.succeed(EpisodicCompressor, {
        compress: () => Effect.fail(new ConsolidationError({ message: "never asked" }))
      })
    ])
  )
)
