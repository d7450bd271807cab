import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as EmbeddingScorer from "../../../src/eval/scorer/EmbeddingScorer.js"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as HashingEmbedder from "../../../src/llm/embedding/HashingEmbedder.js"
import * as GivenVectors from "../../support/GivenVectors.js"

const subject = (output: string, expected: string | ReadonlyArray<string>) => ({
  input: "",
  output,
  expected,
  response: undefined
})

describe("EmbeddingScorer", () => {
  const { calls, embedder } = GivenVectors.make(
    { east: [1, 0], north: [0, 1], northeast: [3, 3], west: [-1, 0] },
    { dimensions: 2 }
  )
  const valueOf = (options: EmbeddingScorer.Options, output: string, expected: string | ReadonlyArray<string>) =>
    EmbeddingScorer.make(options)
      .score(subject(output, expected))
      .pipe(
        Effect.map(({ value }) => value),
        Effect.provide(Embedder.layer(embedder))
      )

  it.effect("is the cosine of the vectors, and 0 below 0", () =>
    Effect.gen(function* () {
      assert.closeTo(yield* valueOf({}, "east", "northeast"), Math.SQRT1_2, 1e-6)
      assert.closeTo(yield* valueOf({}, "northeast", "northeast"), 1, 1e-6)
      assert.strictEqual(yield* valueOf({}, "east", "north"), 0)
      assert.strictEqual(yield* valueOf({}, "east", "west"), 0)
      assert.strictEqual(yield* valueOf({}, "unknown", "east"), 0)
    })
  )

  it.effect("takes the nearest of several references, in one call", () =>
    Effect.gen(function* () {
      calls.length = 0
      assert.closeTo(yield* valueOf({}, "northeast", ["west", "north", "unknown"]), Math.SQRT1_2, 1e-6)
      assert.deepStrictEqual(calls, [["northeast", "west", "north", "unknown"]])
    })
  )

  it.effect("uses the whole range above its floor", () =>
    Effect.gen(function* () {
      assert.closeTo(yield* valueOf({ floor: 0.5 }, "east", "northeast"), (Math.SQRT1_2 - 0.5) / 0.5, 1e-6)
      assert.strictEqual(yield* valueOf({ floor: 0.8 }, "east", "northeast"), 0)
      assert.closeTo(yield* valueOf({ floor: -1 }, "east", "north"), 0.5, 1e-6)
      for (const floor of [1, -2, Number.NaN]) assert.throws(() => EmbeddingScorer.make({ floor }), `floor is ${floor}`)
    })
  )

  it.effect("tells near texts from others with an embedder of the library", () =>
    Effect.gen(function* () {
      const scorer = EmbeddingScorer.make({ name: "meaning" })
      assert.strictEqual(scorer.name, "meaning")
      const near = yield* scorer.score(subject("Paris is the capital of France", "The capital of France is Paris"))
      const far = yield* scorer.score(subject("Paris is the capital of France", "Bananas contain potassium"))
      assert.isAbove(near.value, far.value + 0.3)
      const huge = yield* scorer.score(subject("a b ".repeat(250_000), "a b"))
      assert.isTrue(huge.value >= 0 && huge.value <= 1)
    }).pipe(Effect.provide(HashingEmbedder.layer()))
  )

  it.effect("fails where the embedder does, and for what is no text", () =>
    Effect.gen(function* () {
      const failing = GivenVectors.make({}, { dimensions: 2, fails: () => true }).embedder
      const score = (output: any) =>
        Effect.flip(Effect.provide(EmbeddingScorer.make().score(subject(output, "a")), Embedder.layer(failing)))
      assert.include((yield* score("b")).message, "embedding gave no score: no vectors today")
      assert.include((yield* score(5)).message, "its output is no text")
    })
  )
})
