import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as DataScorer from "../../../src/eval/scorer/DataScorer.js"
import type * as Scorer from "../../../src/eval/scorer/Scorer.js"
import * as Growth from "../../support/Growth.js"

type AnyScorer = Scorer.Scorer<unknown, unknown, any>

const scoreOf = (scorer: AnyScorer, output: unknown, expected?: unknown) =>
  scorer.score({ input: "", output, expected, response: undefined })

const check = Effect.fnUntraced(function* (
  scorer: AnyScorer,
  cases: ReadonlyArray<readonly [output: unknown, expected: unknown, value: number]>
) {
  for (const [output, expected, value] of cases) {
    const score = yield* scoreOf(scorer, output, expected)
    assert.strictEqual(score.value, value, `${String(output)} ${String(expected)} ${score.reason}`)
  }
})

const cyclic: { self?: unknown } = {}
cyclic.self = cyclic

describe("json", () => {
  it.effect("takes no notice of the order of keys, space and forms of numbers", () =>
    check(DataScorer.json(), [
      ['{"b": [1, 2.0], "a": null}', { a: null, b: [1, 2] }, 1],
      [{ a: 1, b: undefined }, '{ "a": 1e0 }', 1],
      ['{"a":[1,2]}', '{"a":[2,1]}', 0],
      ['{"a":"1"}', '{"a":1}', 0],
      ['"text"', '"text"', 1],
      ["true", true, 1],
      ['{"__proto__": 1}', "{}", 0],
      ['{"toString": 1}', "{}", 0]
    ])
  )

  it.effect("scores 0 for what is no JSON, and reads it inside of text if lenient", () =>
    Effect.gen(function* () {
      const fenced = 'Here it is:\n```json\n{"a": 1,}\n```'
      assert.deepStrictEqual(yield* scoreOf(DataScorer.json(), fenced, '{"a":1}'), {
        value: 0,
        reason: "it is not JSON"
      })
      const lenient = DataScorer.json({ name: "loose", lenient: true })
      assert.strictEqual(lenient.name, "loose")
      yield* check(lenient, [[fenced, '{"a":1}', 1]])
      assert.strictEqual((yield* scoreOf(lenient, "no", '{"a":1}')).reason, "the answer is not JSON")
    })
  )

  it.effect("survives cyclic and deep data", () =>
    Effect.gen(function* () {
      const deep = "[".repeat(100_000) + "]".repeat(100_000)
      for (const output of [cyclic, deep]) {
        const score = yield* scoreOf(DataScorer.json(), output, "1")
        assert.strictEqual(score.value, 0)
      }
      const error = yield* Effect.flip(scoreOf(DataScorer.json(), "1", cyclic))
      assert.include(error.message, "what is expected has no JSON: it is cyclic or too deep")
      assert.include((yield* Effect.flip(scoreOf(DataScorer.json(), "1", "{"))).message, "it is not JSON")
    })
  )
})

describe("jsonSchema", () => {
  const schema = {
    type: "object",
    properties: { seats: { type: "integer", minimum: 1 }, name: { type: "string" } },
    required: ["seats"]
  }

  it.effect("checks texts of JSON and data, and says what does not fit", () =>
    Effect.gen(function* () {
      const scorer = DataScorer.jsonSchema(schema, { name: "shape" })
      assert.strictEqual(scorer.name, "shape")
      yield* check(scorer, [
        ['{"seats": 2}', undefined, 1],
        [{ seats: 2, name: "x" }, undefined, 1]
      ])
      const { reason, value } = yield* scoreOf(scorer, '{"name": 5}')
      assert.strictEqual(value, 0)
      assert.include(reason ?? "", "seats is missing")
      assert.include(reason ?? "", "name must be string")
      assert.strictEqual((yield* scoreOf(scorer, "two seats")).reason, "it is not JSON")
      const lenient = DataScorer.jsonSchema(schema, { lenient: true })
      yield* check(lenient, [['So: {"seats": 2}', undefined, 1]])
      assert.include((yield* scoreOf(DataScorer.jsonSchema({ type: "string" }), 5)).reason ?? "", "it must be string")
    })
  )

  it("refuses a schema that does not compile", () => {
    assert.throws(() => DataScorer.jsonSchema({ $ref: "https://other.example/schema.json" }), TypeError)
  })
})

describe("schema", () => {
  const Table = Schema.Struct({ seats: Schema.NumberFromString })

  it.effect("decodes values, or the JSON of a text, and says what does not fit", () =>
    Effect.gen(function* () {
      const scorer = DataScorer.schema(Table, { name: "table" })
      assert.strictEqual(scorer.name, "table")
      yield* check(scorer, [
        [{ seats: "2" }, undefined, 1],
        ['{"seats": "2"}', undefined, 0]
      ])
      assert.include((yield* scoreOf(scorer, { seats: 2 })).reason ?? "", "seats")
      const texts = DataScorer.schema(Table, { json: true })
      yield* check(texts, [
        ['{"seats": "2"}', undefined, 1],
        ['So: {"seats": "2"}', undefined, 0]
      ])
      yield* check(DataScorer.schema(Table, { json: true, lenient: true }), [['So: {"seats": "2"}', undefined, 1]])
      yield* check(DataScorer.schema(Schema.NonEmptyString), [
        ["text", undefined, 1],
        ["", undefined, 0]
      ])
    })
  )
})

describe("numeric", () => {
  it.effect("compares numbers of values and texts", () =>
    check(DataScorer.numeric(), [
      [42, 42, 1],
      ["42", 42, 1],
      ["The answer is 42.", "42", 1],
      ["-1.5e3", -1500, 1],
      ["−5", -5, 1],
      ["1,234,567.89", 1_234_567.89, 1],
      ["1'234 CHF", 1234, 1],
      ["1\u202f234\u00a0567", 1_234_567, 1],
      ["+7", 7, 1],
      ["x-5", 5, 1],
      ["(3)-4", 0, 0],
      ["0.30000000000000004", 0.3, 1],
      ["43", 42, 0],
      ["50%", 50, 1],
      ["5 km", 5000, 0],
      ["1000000000001", 1_000_000_000_000, 0]
    ])
  )

  it.effect("takes an absolute and a relative tolerance, of which the larger counts", () =>
    Effect.gen(function* () {
      yield* check(DataScorer.numeric({ absolute: 0.1 }), [
        ["1.1", 1, 1],
        ["0.9", 1, 1],
        ["1.11", 1, 0]
      ])
      yield* check(DataScorer.numeric({ relative: 0.01 }), [
        ["101", 100, 1],
        ["-99", -100, 1],
        ["102", 100, 0],
        ["0.0001", 0, 0]
      ])
      yield* check(DataScorer.numeric({ absolute: 5, relative: 0.01 }), [["104", 100, 1]])
      assert.strictEqual((yield* scoreOf(DataScorer.numeric(), "43", 42)).reason, "it is 43, not 42")
    })
  )

  it.effect("takes the only, the first or the last number", () =>
    Effect.gen(function* () {
      const text = "Of 12 and 30 it is 18"
      const only = yield* scoreOf(DataScorer.numeric(), text, 18)
      assert.deepStrictEqual(only, { value: 0, reason: "it has 3 numbers" })
      yield* check(DataScorer.numeric({ which: "last" }), [[text, 18, 1]])
      yield* check(DataScorer.numeric({ which: "first" }), [[text, 12, 1]])
      assert.strictEqual((yield* scoreOf(DataScorer.numeric(), "none", 1)).reason, "it has no number")
    })
  )

  it.effect("reads decimals after a comma", () =>
    Effect.gen(function* () {
      yield* check(DataScorer.numeric({ name: "de", decimal: "," }), [
        ["1.234,5", 1234.5, 1],
        ["0,5", 0.5, 1],
        ["0.5", 0.5, 0]
      ])
      yield* check(DataScorer.numeric(), [["1.234,5", 1234.5, 0]])
    })
  )

  it.effect("counts only numbers with a unit that is asked for", () =>
    Effect.gen(function* () {
      yield* check(DataScorer.numeric({ unit: "km" }), [
        ["In 2024 it was 5 km", 5, 1],
        ["5km.", 5, 1],
        ["5 kmh", 5, 0],
        ["5 m", 5, 0]
      ])
      yield* check(DataScorer.numeric({ unit: "$" }), [
        ["2 apples for $5", 5, 1],
        ["$ 5", "5", 1]
      ])
      assert.strictEqual(
        (yield* scoreOf(DataScorer.numeric({ unit: "%" }), "5", 5)).reason,
        "it has no number with the unit %"
      )
    })
  )

  it.effect("scores 0 for what has no number, and fails for a case that has none", () =>
    Effect.gen(function* () {
      yield* check(DataScorer.numeric(), [
        [Number.NaN, 1, 0],
        [Number.POSITIVE_INFINITY, 1, 0],
        [undefined, 1, 0],
        [{}, 1, 0],
        ["1e999", 1, 0]
      ])
      for (const expected of [undefined, "none", "1 or 2", Number.NaN]) {
        const { message } = yield* Effect.flip(scoreOf(DataScorer.numeric({ which: "only" }), "1", expected))
        assert.include(message, "what is expected is no number")
      }
    })
  )

  it("refuses tolerances and units that are none", () => {
    for (const tolerance of [-1, Number.NaN]) {
      assert.throws(() => DataScorer.numeric({ absolute: tolerance }), "give numbers of 0 or more")
      assert.throws(() => DataScorer.numeric({ relative: tolerance }), "give numbers of 0 or more")
    }
    assert.throws(() => DataScorer.numeric({ unit: " " }), "the unit is blank")
  })

  it.effect("takes time linear in the text", () =>
    Growth.assertLinearTextsEffect(
      ["1", "1,", "1,234", "1 ", "1e", "-", "9.", "km 5", "1'234'"],
      (text) =>
        Effect.forEach(
          [DataScorer.numeric({ which: "last" }), DataScorer.numeric({ decimal: ",", unit: "km" })],
          (scorer) => scoreOf(scorer, text, 1)
        ),
      60_000
    )
  )
})

describe("json and jsonSchema", () => {
  it.effect("take time linear in the text", () =>
    Growth.assertLinearTextsEffect(
      [(size) => JSON.stringify(Array.from({ length: size / 8 }, (_, i) => ({ [`k${i}`]: i }))), "{", '"', "[1,"],
      (text) =>
        Effect.forEach([DataScorer.json(), DataScorer.jsonSchema({ type: "array" })], (scorer) =>
          scoreOf(scorer, text, "1")
        ),
      60_000
    )
  )
})
