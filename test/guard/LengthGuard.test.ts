import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as LengthGuard from "../../src/guard/LengthGuard.js"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as Windows from "../support/Windows.js"

const input = { stage: "input" } as const

describe("LengthGuard", () => {
  it.effect("passes a text of the limit and blocks a longer one", () =>
    Effect.gen(function* () {
      const guard = LengthGuard.make({ maxChars: 5 })
      assert.deepStrictEqual(guard.stages, ["input", "output"])
      assert.strictEqual((yield* guard.check("12345", input)).action, "pass")
      const result = yield* guard.check("123456", input)
      assert.strictEqual(result.action, "block")
      assert.strictEqual(result.guardName, "length")
      assert.strictEqual(result.details.reason, "longer than 5 characters")
      assert.deepStrictEqual(result.spans, [{ start: 5, end: 6, label: "LENGTH" }])
    })
  )

  it.effect("counts units without splitting a character", () =>
    Effect.gen(function* () {
      const cut = (maxChars: number, text: string) =>
        Effect.map(LengthGuard.make({ maxChars, action: "redact" }).check(text, input), (result) =>
          result.action === "redact" ? result.redactedContent : result.action
        )
      assert.strictEqual(yield* cut(3, "abcd"), "abc")
      assert.strictEqual(yield* cut(3, "ab😀d"), "ab")
      assert.strictEqual(yield* cut(4, "ab😀d"), "ab😀")
      assert.strictEqual(yield* cut(4, "ab😀"), "pass")
      assert.strictEqual(yield* cut(1, "😀"), "")
      assert.strictEqual(yield* cut(0, "a"), "")
    })
  )

  it.effect("can only warn, run at other stages and have another name", () =>
    Effect.gen(function* () {
      const guard = LengthGuard.make({ maxChars: 1, action: "warn", stages: ["toolOutput"], name: "short" })
      const pipeline = yield* DefaultGuardPipeline.fromGuards([guard])
      assert.strictEqual((yield* pipeline.checkInput("long", {})).action, "pass")
      const result = yield* pipeline.checkToolOutput("long", { toolName: "t" })
      assert.strictEqual(result.action, "warn")
      assert.strictEqual(result.finalContent, "long")
      assert.strictEqual(result.results[0]?.guardName, "short")
    })
  )

  it.effect("cuts a streamed answer where it cuts a whole one", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.array(FastCheck.constantFrom("a", "😀", "é"), { maxLength: 40 }).map((parts) => parts.join("")),
          FastCheck.integer({ min: 0, max: 40 }),
          FastCheck.integer({ min: 1, max: 9 }),
          (text, maxChars, size) =>
            Effect.gen(function* () {
              const whole = yield* LengthGuard.make({ maxChars, action: "redact" }).check(text, input)
              const cut = whole.action === "redact" ? whole.redactedContent : text
              const streamed = yield* Windows.written(LengthGuard.make({ maxChars, action: "redact" }), text, size)
              assert.strictEqual(streamed.text, cut)
              const blocked = yield* Windows.written(LengthGuard.make({ maxChars }), text, size)
              assert.strictEqual(blocked.blocked !== undefined, text.length > maxChars)
              assert.isTrue(cut.startsWith(blocked.text))
            }).pipe(Effect.runPromise)
        ),
        { numRuns: 300 }
      )
    )
  )

  it.effect("blocks a streamed answer soon after the limit, not at its end", () =>
    Effect.gen(function* () {
      const window = (yield* DefaultGuardPipeline.fromGuards([LengthGuard.make({ maxChars: 100 })])).openOutput!({})
      let given = 0
      while (window.push("x").blockingResult === undefined) given++
      assert.isAtMost(given, 110)
    })
  )
})
