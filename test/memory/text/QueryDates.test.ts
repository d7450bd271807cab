import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as QueryDates from "../../../src/memory/text/QueryDates.js"

const read = (query: string) =>
  QueryDates.datesOf(query).map(({ day, month, year }) => [year ?? 0, month ?? 0, day ?? 0])

describe("QueryDates.datesOf", () => {
  it.each([
    ["When did Mel go camping in June?", [[0, 6, 0]]],
    ["What happened in October 2023?", [[2023, 10, 0]]],
    ["the painting shown on October 13, 2023", [[2023, 10, 13]]],
    ["found on 1 February, 2023 in town", [[2023, 2, 1]]],
    ["the 3rd of May", [[0, 5, 3]]],
    ["May 3rd was fine", [[0, 5, 3]]],
    [
      "between 2023-05-13 and 2023-06",
      [
        [2023, 5, 13],
        [2023, 6, 0]
      ]
    ],
    ["How often did we swim in 2023?", [[2023, 0, 0]]],
    ["last Sept. or so", [[0, 9, 0]]],
    ["last Sep we met", [[0, 9, 0]]],
    [
      "in May 2022 and in June",
      [
        [2022, 5, 0],
        [0, 6, 0]
      ]
    ],
    ["IN MAY", [[0, 5, 0]]]
  ])("reads %s", (query, dates) => {
    assert.deepStrictEqual(read(query), dates)
  })

  it.each([
    "May I ask who will march in the band?",
    "Who may come, and who is August?",
    "the 45 May apples",
    "version 2023-99-99",
    "room 2023 has 12 chairs",
    "decimals like 3.14 and 20 000",
    "in the marching band",
    ""
  ])("reads no date in %s", (query) => {
    assert.deepStrictEqual(read(query), [])
  })

  it("bounds what it reads of a long query", () => {
    assert.strictEqual(read("in May 2023 ".repeat(100_000)).length, 8)
    assert.deepStrictEqual(read(`${"x".repeat(5_000)} in May`), [])
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ unit: "binary", maxLength: 200 }), (query) => {
        assert.isAtMost(read(query).length, 8)
      })
    )
  })
})

describe("QueryDates.includes", () => {
  const at = Date.UTC(2023, 4, 13, 23, 30)

  it("holds within the date, with a day on either side of a named day", () => {
    assert.isTrue(QueryDates.includes([{ month: 5 }], at))
    assert.isFalse(QueryDates.includes([{ month: 6 }], at))
    assert.isTrue(QueryDates.includes([{ month: 6 }, { year: 2023 }], at))
    for (const [day, expected] of [
      [11, false],
      [12, true],
      [13, true],
      [14, true],
      [15, false]
    ] as const) {
      assert.strictEqual(QueryDates.includes([{ year: 2023, month: 5, day }], at), expected)
    }
    assert.isTrue(QueryDates.includes([{ month: 6, day: 1 }], Date.UTC(2023, 4, 31)))
  })

  it("does not hold for a time that is no date", () => {
    for (const time of [Number.NaN, Number.POSITIVE_INFINITY, 1e300, -1e300]) {
      assert.isFalse(QueryDates.includes([{ month: 5 }, { month: 5, day: 1 }], time))
    }
  })
})
