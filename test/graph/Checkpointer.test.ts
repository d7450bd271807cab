import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Checkpointer from "../../src/graph/Checkpointer.js"
import { checkpoint, suite } from "./CheckpointerSuite.js"

suite("memory", Checkpointer.layerMemory())

describe("memory", () => {
  it.effect("keeps the newest threads", () =>
    Effect.gen(function* () {
      const checkpointer = yield* Checkpointer.Checkpointer
      for (const threadId of ["1", "2", "3"]) yield* checkpointer.put(checkpoint("a", { threadId }))
      yield* checkpointer.put(checkpoint("b", { threadId: "2" }))
      const kept = yield* Effect.forEach(["1", "2", "3"], (threadId) => checkpointer.get(threadId))
      assert.deepStrictEqual(kept.map(Option.isSome), [false, true, true])
    }).pipe(Effect.provide(Checkpointer.layerMemory({ maxThreads: 2 })))
  )
})

describe("the no-op checkpointer", () => {
  it.effect("keeps nothing", () =>
    Effect.gen(function* () {
      const checkpointer = yield* Checkpointer.Checkpointer
      yield* checkpointer.put(checkpoint("a"))
      yield* checkpointer.putWrites("thread", "a", "node", [])
      yield* checkpointer.deleteThread("thread")
      assert.deepStrictEqual(yield* checkpointer.get("thread"), Option.none())
      assert.deepStrictEqual(yield* checkpointer.list("thread"), [])
    }).pipe(Effect.provide(Checkpointer.layerNoop))
  )
})
