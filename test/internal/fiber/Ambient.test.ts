import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Ambient from "../../../src/internal/fiber/Ambient.js"
import * as Programs from "../../support/Programs.js"

class Level extends Ambient.Reference<Level>()("test/Level", { defaultValue: () => ({ level: 1 }) }) {}

describe("Ambient", () => {
  it.effect("has its default without a context, and the provided value with one", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Level, { level: 1 })
      assert.strictEqual(yield* Level, Context.get(Context.empty(), Level))
      assert.deepStrictEqual(yield* Effect.provideService(Level, Level, { level: 2 }), { level: 2 })
    })
  )

  it.scopedLive(
    "shares no default between two copies of the library, and both run agents",
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
