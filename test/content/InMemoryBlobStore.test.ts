import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as InMemoryBlobStore from "../../src/content/InMemoryBlobStore.js"
import * as BlobStoreSuite from "./suites/BlobStoreSuite.js"

BlobStoreSuite.suite<never>("memory", { layer: InMemoryBlobStore.layer() })

describe("InMemoryBlobStore", () => {
  const blob = (scope: string, size: number) => ({
    owner: "ann",
    scope,
    bytes: new Uint8Array(size).fill(size),
    mediaType: "application/octet-stream"
  })

  it.effect("bounds one blob by maxBytes", () =>
    Effect.gen(function* () {
      const store = yield* InMemoryBlobStore.make({ maxBytes: 10 })
      yield* store.put(blob("s1", 10))
      assert.strictEqual((yield* Effect.flip(store.put(blob("s1", 11)))).reason, "too-large")
    })
  )

  it.effect("bounds all blobs by maxTotalBytes and has room again after a removal", () =>
    Effect.gen(function* () {
      const store = yield* InMemoryBlobStore.make({ maxTotalBytes: 10 })
      const { hash } = yield* store.put(blob("s1", 6))
      yield* store.put(blob("s1", 6))
      assert.strictEqual((yield* Effect.flip(store.put(blob("s2", 5)))).reason, "full")
      const copied = yield* Effect.flip(store.copy({ owner: "ann", from: "s1", to: "s2", hashes: [hash] }))
      assert.strictEqual(copied._tag === "BlobStoreError" ? copied.reason : undefined, "full")
      yield* store.removeScope({ owner: "ann", scope: "s1" })
      yield* store.put(blob("s2", 5))
    })
  )
})
