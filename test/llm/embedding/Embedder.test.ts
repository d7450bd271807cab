import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"

/** An embedder whose model answers with `rows`, and what the model was asked. */
const giving = (rows: (texts: ReadonlyArray<string>) => unknown, options: Partial<Embedder.Options> = {}) => {
  const asked: Array<ReadonlyArray<string>> = []
  const embedder = Embedder.make({
    model: "m",
    dimensions: 2,
    embedMany: (texts) =>
      Effect.sync(() => {
        asked.push(texts)
        return rows(texts) as ReadonlyArray<ArrayLike<number>>
      }),
    ...options
  })
  return { embedder, asked }
}

/** A list of two whose first element is not there. */
const holes = (second: unknown): ReadonlyArray<unknown> => Object.assign(new Array(2), { 1: second })

const lengths = (texts: ReadonlyArray<string>) => texts.map((text) => [text.length, 0])

describe("make", () => {
  it.effect("returns vectors of norm 1 in the order of the texts", () =>
    Effect.gen(function* () {
      const { embedder } = giving((texts) => texts.map((text) => (text === "a" ? [3, 4] : Float64Array.of(0, -2))))
      assert.deepStrictEqual(yield* embedder.embedMany(["a", "b"]), [Float32Array.of(0.6, 0.8), Float32Array.of(0, -1)])
      assert.deepStrictEqual(yield* embedder.embed("b"), Float32Array.of(0, -1))
    })
  )

  it.effect("describes each invalid answer of a model in its error", () =>
    Effect.gen(function* () {
      const answers: ReadonlyArray<readonly [unknown, string]> = [
        [[[1, 0]], "returned 1 vectors for 2 texts"],
        [[], "returned 0 vectors for 2 texts"],
        [
          [
            [1, 0],
            [1, 0],
            [1, 0]
          ],
          "returned 3 vectors for 2 texts"
        ],
        [null, "returned null instead of a list of vectors"],
        [undefined, "returned undefined instead of a list of vectors"],
        [{ length: 2 }, "returned an object instead of a list of vectors"],
        [
          [
            [1, 0],
            [1, 0, 0]
          ],
          "returned vectors of length 3 instead of 2"
        ],
        [[[1, 0], []], "returned vectors of length 0 instead of 2"],
        [[[1, 0], null], "returned null instead of vector 1"],
        [[[1, 0], "ab"], "returned string instead of vector 1"],
        [[[1, 0], { 0: 1, 1: 0, length: 2 }], "returned an object instead of vector 1"],
        [holes([1, 0]), "returned undefined instead of vector 0"],
        [[[1, 0], holes(1)], "a number that is not finite (vector 1)"],
        [
          [
            [1, 0],
            [1, Number.NaN]
          ],
          "a number that is not finite (vector 1)"
        ],
        [
          [
            [Number.POSITIVE_INFINITY, 0],
            [1, 0]
          ],
          "a number that is not finite (vector 0)"
        ],
        [
          [
            [1, 0],
            ["1", "0"]
          ],
          "a number that is not finite (vector 1)"
        ]
      ]
      for (const [answer, message] of answers) {
        const { embedder } = giving(() => answer)
        const error = yield* Effect.flip(embedder.embedMany(["a", "b"]))
        assert.instanceOf(error, Embedder.EmbeddingError)
        assert.include(error.message, "The embedding model m ")
        assert.include(error.message, message)
        assert.isFalse(error.isRetryable)
      }
    })
  )

  it.effect("passes on an error of the model", () =>
    Effect.gen(function* () {
      const failure = new Embedder.EmbeddingError({ message: "busy", isRetryable: true, retryAfterMs: 7 })
      const { embedder } = giving(() => [], { embedMany: () => Effect.fail(failure) })
      assert.strictEqual(yield* Effect.flip(embedder.embed("a")), failure)
    })
  )

  it.effect("sends a text once per call, and nothing for blank texts", () =>
    Effect.gen(function* () {
      const { asked, embedder } = giving(lengths)
      const vectors = yield* embedder.embedMany(["a", " \n", "b", "a", ""])
      assert.deepStrictEqual(asked, [["a", "b"]])
      const [one, zero] = [Float32Array.of(1, 0), Float32Array.of(0, 0)]
      assert.deepStrictEqual(vectors, [one, zero, one, one, zero])
      assert.deepStrictEqual(yield* embedder.embedMany([]), [])
      assert.deepStrictEqual(yield* embedder.embed("\t"), zero)
      assert.lengthOf(asked, 1)
    })
  )

  it.effect("splits calls by number of texts and by characters", () =>
    Effect.gen(function* () {
      const bySize = giving(lengths, { maxBatchSize: 2 })
      assert.lengthOf(yield* bySize.embedder.embedMany(["a", "b", "c", "d", "e"]), 5)
      assert.deepStrictEqual(bySize.asked, [["a", "b"], ["c", "d"], ["e"]])
      const byCharacters = giving(lengths, { maxBatchCharacters: 5 })
      assert.lengthOf(yield* byCharacters.embedder.embedMany(["aa", "bbb", "c", "dddddddd", "e"]), 5)
      assert.deepStrictEqual(byCharacters.asked, [["aa", "bbb"], ["c"], ["dddddddd"], ["e"]])
    })
  )

  it.effect("cuts long texts, but never a character", () =>
    Effect.gen(function* () {
      const { asked, embedder } = giving(lengths, { maxCharacters: 3 })
      yield* embedder.embedMany(["abc", "abcd", "ab\u{1f600}"])
      assert.deepStrictEqual(asked, [["abc", "ab"]])
    })
  )

  it.effect("interrupts the request with its call", () =>
    Effect.gen(function* () {
      let interrupted = 0
      const { embedder } = giving(() => [], {
        embedMany: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++))
      })
      const fiber = yield* Effect.fork(embedder.embed("a"))
      yield* Effect.yieldNow()
      yield* fiber.interruptAsFork(fiber.id())
      assert.strictEqual((yield* fiber.await)._tag, "Failure")
      assert.strictEqual(interrupted, 1)
    })
  )
})

describe("normalize", () => {
  it("keeps the direction of numbers of any size", () => {
    const number = FastCheck.double({ noNaN: true, noDefaultInfinity: true })
    FastCheck.assert(
      FastCheck.property(FastCheck.array(number, { minLength: 1, maxLength: 20 }), (row) => {
        const vector = Embedder.normalize(row)!
        const length = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0))
        if (row.every((x) => x === 0)) assert.strictEqual(length, 0)
        else assert.closeTo(length, 1, 1e-6)
      })
    )
    assert.deepStrictEqual(Embedder.normalize([3e-320, 4e-320])?.length, 2)
    assert.deepStrictEqual(Embedder.normalize([3e300, 4e300]), Float32Array.of(0.6, 0.8))
    assert.deepStrictEqual(Embedder.normalize([3e-200, 4e-200]), Float32Array.of(0.6, 0.8))
  })
})

describe("EmbeddingError", () => {
  it("round-trips through its encoding, and is not retryable by default", () => {
    const error = new Embedder.EmbeddingError({ message: "no" })
    assert.isFalse(error.isRetryable)
    const schema = Schema.parseJson(Embedder.EmbeddingError)
    const decoded = Schema.decodeSync(schema)(Schema.encodeSync(schema)(error))
    assert.deepInclude({ ...decoded }, { code: "LEX_ERR_MEM_009", isRetryable: false })
  })
})
