import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Citations from "../../src/document/Citations.js"
import * as Growth from "../support/Growth.js"

const source = (number: number, text: string, more: Partial<Citations.Source> = {}): Citations.Source => ({
  number,
  title: "Guide",
  source: "guide.md",
  place: "",
  text,
  ...more
})

const sources = [
  source(1, "Boats moor at the eastern quay. A mooring costs nine crowns, or 1,250 crowns a year."),
  source(2, "Diesel is sold until 12:30. Petrol is not sold here.", { place: "Fuel" }),
  source(3, "The kiosk opened on 2024-05-01 and sells tokens for the showers.")
]

const problems = (answer: string, options?: Citations.Options) =>
  Citations.check(answer, sources, options).map(({ numbers, problem }) => [problem, ...numbers])

describe("Citations", () => {
  it("accepts sentences whose words, figures and quotations the cited sources have", () => {
    for (const answer of [
      "Boats moor at the eastern quay [1].",
      "Boats moor at the eastern quay. [1]",
      "A mooring costs 1250 crowns a year [1], and diesel is sold until 12:30 [2].",
      "1. Petrol is not sold here. [2]\n2. Tokens for the showers are sold at the kiosk [3]",
      'It says "Petrol is not sold here" [2].',
      "The kiosk opened on 1.5.2024 [3].",
      "Fuel: diesel is sold [2].",
      "I do not know.",
      "Mooring costs nine crowns, and showers need tokens [1, 3].",
      "Code is no citation: `a[9]`.\n\n```ts\nb[9]\n```"
    ]) {
      assert.deepStrictEqual(problems(answer), [], answer)
    }
  })

  it("reports numbers that were not shown", () => {
    assert.deepStrictEqual(problems("Boats moor here [7]. Diesel is sold [2]."), [["Unknown", 7]])
    assert.deepStrictEqual(problems("All of it [2-5]."), [["Unknown", 4, 5]])
    assert.deepStrictEqual(problems("None [0]."), [["Unknown", 0]])
  })

  it("reports sentences that their sources do not have the words, figures or quotations of", () => {
    for (const answer of [
      "Visitors may camp behind the lighthouse all summer [1].",
      "A mooring costs 12 crowns [1].",
      "Diesel is sold until 12:45 [2].",
      'It says "Petrol is always sold here" [2].',
      "Boats moor at the eastern quay [2].",
      "The kiosk opened on 2 May 2024 [3]."
    ]) {
      assert.strictEqual(problems(answer)[0]?.[0], "Unsupported", answer)
    }
    assert.deepStrictEqual(problems("Boats moor at the eastern quay [1]. Camels graze in the northern desert [1]."), [
      ["Unsupported", 1]
    ])
  })

  it("takes the share of words that is asked for, and a citation where one is required", () => {
    const half = "Boats moor at the beautiful sandy lagoon [1]."
    assert.deepStrictEqual(problems(half, { minSupport: 0 }), [])
    assert.deepStrictEqual(problems(half, { minSupport: 0.9 }), [["Unsupported", 1]])
    assert.deepStrictEqual(problems("Boats moor there.", { required: true }), [["Missing"]])
    assert.deepStrictEqual(Citations.check("Hello.", [], { required: true }), [])
  })

  it.effect("fails with words for a model that have no text of the answer or the sources", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Citations.verify("Secret boats [9]. Camels graze in deserts [1].", sources))
      assert.strictEqual(error._tag, "CitationError")
      assert.strictEqual(
        error.message,
        "The citations do not hold: [9] was not shown; a sentence that cites [1] says what that does not say"
      )
      assert.strictEqual(error.hint, "Cite only what the sources [1] to [3] say, by their numbers")
      yield* Citations.verify("Boats moor at the eastern quay [1].", sources)
      const none = yield* Effect.flip(Citations.verify("Boats [1].", []))
      assert.include(none.hint, "No sources were shown")
    })
  )

  it("takes time in proportion to the answer", () => {
    Growth.assertLinearTexts(
      ["[1] ", "a [1]. ", "\n \n", '"quoted words ', "[1,", "1.", "1,000,", "- [2]\n", "[1", "`[1]", "word ", "【1】"],
      (answer) => Citations.check(answer, sources),
      64_000
    )
  })
})
