import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as HashingEmbedder from "../../../src/llm/embedding/HashingEmbedder.js"
import * as Growth from "../../support/Growth.js"

const { vectorOf } = HashingEmbedder

const similarity = (a: Embedder.Vector, b: Embedder.Vector): number => a.reduce((sum, x, i) => sum + x * b[i]!, 0)
const alike = (a: string, b: string): number => similarity(vectorOf(a), vectorOf(b))
const lengthOf = (vector: Embedder.Vector): number => Math.sqrt(similarity(vector, vector))

/** The numbers that are not zero, with where they stand. */
const sparse = (vector: Embedder.Vector): ReadonlyArray<readonly [number, number]> =>
  Array.from(vector, (value, i) => [i, value] as const).filter(([, value]) => value !== 0)

describe("vectorOf", () => {
  it("gives exactly these numbers on every machine", () => {
    const third = 0.22298824787139893
    assert.deepStrictEqual(sparse(vectorOf("Cats", { dimensions: 64 })), [
      [3, third],
      [12, third],
      [18, third],
      [21, -third],
      [26, third],
      [31, 0.7432941198348999],
      [38, -third],
      [39, -third],
      [42, third],
      [63, -third]
    ])
    assert.deepStrictEqual(sparse(vectorOf("東京 Éa", { dimensions: 64 })), [
      [1, -0.25272849202156067],
      [2, -0.088454969227314],
      [7, 0.8424282670021057],
      [45, -0.25272849202156067],
      [54, -0.088454969227314],
      [56, -0.3833048641681671]
    ])
  })

  it("returns vectors of norm 1 for any text", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ unit: "binary", minLength: 0, maxLength: 60 }), (text) => {
        const length = lengthOf(vectorOf(text))
        assert.isTrue(length === 0 || Math.abs(length - 1) < 1e-6)
      })
    )
    assert.closeTo(lengthOf(vectorOf("a")), 1, 1e-6)
  })

  it("returns zero for a text without letters or digits", () => {
    for (const text of ["", " \t\n", "?!… – «»", "¨´`", "\u0301\u200d\ufe0f", "。、"])
      assert.strictEqual(lengthOf(vectorOf(text)), 0)
  })

  it("ignores case, accents, width, punctuation and word order", () => {
    const pairs = [
      ["Dark chocolate!", "dark CHOCOLATE"],
      ["café", "CAFE\u0301"],
      ["ΣΟΦΟΣ", "σοφος"],
      ["Привет, мир", "привет мир"],
      ["ＡＢＣ１２３", "abc123"],
      ["co\u00adoperate", "cooperate"],
      ["one two three", "three — one; two"],
      ["İzmir", "izmir"]
    ] as const
    for (const [a, b] of pairs) assert.closeTo(alike(a, b), 1, 1e-6, `${a} / ${b}`)
  })

  it("keeps typing errors and inflections closer than other words", () => {
    const cases = [
      ["retrieval of memories", "retreival of memories", "revenue of companies"],
      ["the user prefers dark chocolate", "user preference: dark chocolates", "the invoice was paid on monday"],
      ["kubernetes deployment failed", "deploying to kubernetes fails", "my dog likes long walks"],
      ["die Rechnung wurde bezahlt", "er bezahlt die Rechnungen", "der Hund wurde gefüttert"],
      ["ella prefiere el café solo", "las preferencias de café", "el coche rojo es nuevo"],
      ["東京は日本の首都です", "日本の首都は東京", "猫が好きです"],
      ["ร้านอาหารไทย", "อาหารไทยอร่อย", "รถไฟฟ้าใต้ดิน"]
    ] as const
    for (const [text, near, far] of cases) {
      assert.isAbove(alike(text, near), alike(text, far) + 0.2, `${text}: ${near}, not ${far}`)
    }
  })

  it("keeps most of a long word when one letter changes", () => {
    const word = FastCheck.string({
      unit: FastCheck.constantFrom(..."abcdefghijklmnopqrstuvwxyz"),
      minLength: 10,
      maxLength: 16
    })
    FastCheck.assert(
      FastCheck.property(word, word, FastCheck.nat(9), (first, other, at) => {
        FastCheck.pre(first !== other)
        const text = `please remember the ${first} of yesterday`
        const mistyped = `please remember the ${first.slice(0, at)}${first.slice(at + 1)} of yesterday`
        assert.isAbove(alike(text, mistyped), 0.6)
      })
    )
  })

  it("keeps unrelated texts near zero on average, thanks to the signs", () => {
    const random = (seed: number) =>
      Array.from({ length: 12 }, (_, i) => ((seed * 7919 + i * 104_729 + i * i * 31) % 2_000_003).toString(36)).join(
        " "
      )
    let sum = 0
    const pairs = 300
    for (let n = 0; n < pairs; n++) sum += alike(random(2 * n + 1), random(2 * n + 2))
    assert.isBelow(Math.abs(sum / pairs), 0.03)
  })

  it("weights a repeated word more, but below its count", () => {
    const once = alike("chocolate invoice", "chocolate")
    const often = alike(`${"chocolate ".repeat(16)}invoice`, "chocolate")
    assert.isAbove(often, once + 0.1)
    // 16 times counted fully would leave 0.998.
    assert.isBelow(often, 0.99)
  })

  it("reads only the beginning of a long text", () => {
    const text = "beginning ".repeat(10)
    assert.deepStrictEqual(vectorOf(`${text}end`, { maxCharacters: text.length }), vectorOf(text))
    assert.notDeepEqual(vectorOf(`${text}end`), vectorOf(text))
    assert.deepStrictEqual(
      vectorOf("x".repeat(HashingEmbedder.defaults.maxCharacters + 1)),
      vectorOf("x".repeat(HashingEmbedder.defaults.maxCharacters))
    )
  })

  it("takes linear time for huge and adversarial texts", () => {
    const words = (size: number) =>
      Array.from({ length: size / 5 }, (_, i) => (i * 2_654_435_761).toString(36)).join(" ")
    Growth.assertLinearTexts(
      ["a", "a ", "\ud800", "__proto__ ", "日本", words],
      (text) => assert.closeTo(lengthOf(vectorOf(text)), 1, 1e-6),
      320_000
    )
  })
})

describe("make", () => {
  it.effect("names version and dimensions, and embeds in order", () =>
    Effect.gen(function* () {
      const embedder = HashingEmbedder.make()
      assert.deepInclude(embedder, { model: "hashing-v1-512", dimensions: 512 })
      const vectors = yield* embedder.embedMany(["one", "two"])
      assert.deepStrictEqual(vectors, [vectorOf("one"), vectorOf("two")])
      assert.deepStrictEqual(yield* embedder.embed("one"), vectorOf("one"))
      assert.deepStrictEqual(yield* embedder.embedMany([]), [])
    })
  )

  it.effect("takes dimensions as an option, and names them", () =>
    Effect.gen(function* () {
      const { dimensions, model } = yield* Embedder.Embedder
      assert.deepStrictEqual([model, dimensions], ["hashing-v1-96", 96])
      assert.lengthOf(yield* Embedder.embed("text"), 96)
      assert.deepStrictEqual((yield* Embedder.embedMany(["a b", "c"])).length, 2)
    }).pipe(Effect.provide(HashingEmbedder.layer({ dimensions: 96 })))
  )

  it.effect("reads the configured number of characters", () =>
    Effect.gen(function* () {
      const embedder = HashingEmbedder.make({ maxCharacters: 3 })
      assert.deepStrictEqual(yield* embedder.embed("abcdef"), vectorOf("abc"))
    })
  )
})
