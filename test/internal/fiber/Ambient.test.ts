import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Ambient from "../../../src/internal/fiber/Ambient.js"
import * as Programs from "../../support/Programs.js"

class Level extends Ambient.Reference<Level>()("test/Level", { defaultValue: () => ({ level: 1 }) }) {}

describe("Ambient", () => {
  it.effect("is a reference: its default without a context, what is provided with one", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Level, { level: 1 })
      assert.strictEqual(yield* Level, Context.get(Context.empty(), Level))
      assert.deepStrictEqual(yield* Effect.provideService(Level, Level, { level: 2 }), { level: 2 })
    })
  )

  it.scopedLive(
    "two copies of the library over one Effect share no default, and both run agents",
    () =>
      Effect.gen(function* () {
        const { hear } = yield* Programs.start("TwoCopies", {})
        assert.deepStrictEqual(yield* hear, {
          isOneEffect: true,
          messages: ["done", "done"],
          shared: [],
          inRun: [false, false],
          recording: [false, false],
          unmarked: []
        })
      }),
    60_000
  )
})
