import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Growth from "./Growth.js"

const input = (size: number): string => "[".repeat(size)

const linear = (text: string): number => {
  let sum = 0
  for (let at = 0; at < text.length; at++) sum += text.charCodeAt(at) % 7
  return sum
}

const sorted = (text: string): ReadonlyArray<string> => [...text].map((char, at) => `${char}${at % 97}`).sort()

// Two nested loops, like an expression that searches for a missing end.
const quadratic = (text: string): boolean => /\[[^\]]*\]/.test(text)

const sync = (run: (text: string) => unknown) => () => Growth.assertLinear({ input, size: 4000, run })

describe("Growth", () => {
  it("accepts linear work and sorting", () => {
    sync(linear)()
    sync(sorted)()
  })

  it("accepts work that is too short to be measured once", () => {
    Growth.assertLinear({ input, size: 64, run: linear })
  })

  it("refuses quadratic work and names it", () => {
    assert.throws(sync(quadratic), /grows faster than its input/)
    assert.throws(
      () => Growth.assertLinear({ input, size: 4000, name: "brackets", run: quadratic }),
      /^brackets: grows faster/
    )
  })

  it("refuses work that is quadratic in its steps only for large inputs", () => {
    const late = (text: string): unknown => [linear(text), linear(text), quadratic(text)]
    assert.throws(() => Growth.assertLinear({ input, size: 8000, run: late }), /grows faster/)
  })

  it.effect("judges effects in the same way", () =>
    Effect.gen(function* () {
      const effect = (run: (text: string) => unknown) =>
        Growth.assertLinearEffect({
          input,
          size: 4000,
          run: (text) =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.sync(() => run(text))
            )
        })
      yield* effect(linear)
      assert.match(String(yield* Effect.flip(Effect.sandbox(effect(quadratic)))), /grows faster/)
    })
  )

  it("tells how many times the time of another work one takes", () => {
    const text = input(50_000)
    const four = (): unknown => [linear(text), linear(text), linear(text), linear(text)]
    const found = Growth.ratio({ one: four, other: () => linear(text) })
    assert.isAbove(found, 2)
    assert.isBelow(found, 8)
  })

  it("stops as soon as the ratio is at most the limit", () => {
    const text = input(50_000)
    const runs = { limited: 0, unlimited: 0 }
    const once = (name: keyof typeof runs) => () => {
      runs[name]++
      return linear(text)
    }
    Growth.ratio({ one: once("limited"), other: () => linear(text) }, 1000)
    Growth.ratio({ one: once("unlimited"), other: () => linear(text) })
    assert.isBelow(runs.limited, runs.unlimited)
  })
})
