import { assert, describe, it } from "@effect/vitest"
import * as FactTimes from "../../../src/memory/statement/FactTimes.js"
import * as CalendarWords from "../../../src/memory/text/CalendarWords.js"
import * as EntityNames from "../../../src/memory/text/EntityNames.js"
import * as QueryDates from "../../../src/memory/text/QueryDates.js"

describe("CalendarWords", () => {
  it("has twelve months and seven weekdays, no name twice", () => {
    assert.lengthOf(CalendarWords.months, 12)
    assert.lengthOf(CalendarWords.weekdays, 7)
    const all = [...CalendarWords.months.flat(), ...CalendarWords.weekdays]
    assert.lengthOf(new Set(all), all.length)
  })

  for (const [index, names] of CalendarWords.months.entries()) {
    it(`gives ${names.join(" and ")} one number in queries and in facts`, () => {
      for (const name of names) {
        assert.strictEqual(CalendarWords.monthOf(name), index + 1)
        assert.deepStrictEqual(QueryDates.datesOf(`on 3 ${name} 2021`), [{ year: 2021, month: index + 1, day: 3 }])
        assert.deepStrictEqual(FactTimes.at(["since", name, "2021"], 0), [{ from: Date.UTC(2021, index, 1) }, 3])
      }
    })
  }

  it("is no name of somebody", () => {
    for (const name of [...CalendarWords.weekdays, ...CalendarWords.months.map(([month]) => month)]) {
      const capitalized = `${name[0]!.toUpperCase()}${name.slice(1)}`
      assert.deepStrictEqual(EntityNames.entitiesOf(`we met on ${capitalized} there`), [], name)
    }
  })
})
