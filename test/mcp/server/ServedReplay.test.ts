import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ServedReplay from "../../../src/mcp/server/ServedReplay.js"

const message = (id: number, text = "") => ({ jsonrpc: "2.0" as const, id, result: { text } })

const replayed = (store: ReturnType<typeof ServedReplay.make>, after: string) =>
  Effect.promise(async () => {
    const sent: Array<unknown> = []
    await store.replayEventsAfter(after, {
      send: async (_, one) => void sent.push((one as { readonly id: number }).id)
    })
    return sent
  })

describe("ServedReplay", () => {
  it.effect("replays what came after an event of the same stream", () =>
    Effect.gen(function* () {
      const store = ServedReplay.make({ maxEvents: 10, maxCharacters: 10_000 })
      const ids = yield* Effect.promise(async () => [
        await store.storeEvent("a", message(1)),
        await store.storeEvent("b", message(2)),
        await store.storeEvent("a", message(3))
      ])
      assert.deepStrictEqual(yield* replayed(store, ids[0] as string), [3])
      assert.deepStrictEqual(yield* replayed(store, ids[1] as string), [])
      assert.strictEqual(yield* Effect.promise(async () => store.getStreamIdForEventId?.(ids[1] as string)), "b")
    })
  )

  it.effect("forgets the oldest messages beyond a number, and beyond a size", () =>
    Effect.gen(function* () {
      const known = (store: ReturnType<typeof ServedReplay.make>, ids: ReadonlyArray<string>) =>
        Effect.promise(() =>
          Promise.all(ids.map(async (id) => (await store.getStreamIdForEventId?.(id)) !== undefined))
        )
      const few = ServedReplay.make({ maxEvents: 2, maxCharacters: 10_000 })
      const some = yield* Effect.forEach([1, 2, 3], (id) => Effect.promise(() => few.storeEvent("a", message(id))))
      assert.deepStrictEqual(yield* known(few, some), [false, true, true])
      const small = ServedReplay.make({ maxEvents: 10, maxCharacters: 1_000 })
      const large = yield* Effect.forEach([1, 2, 3], (id) =>
        Effect.promise(() => small.storeEvent("a", message(id, "x".repeat(400))))
      )
      assert.deepStrictEqual(yield* known(small, large), [false, true, true])
      assert.deepStrictEqual(
        yield* known(small, ["", "x", "-1", "0", "9".repeat(20), "__proto__"]),
        new Array(6).fill(false)
      )
    })
  )
})
