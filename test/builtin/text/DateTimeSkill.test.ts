import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as DateTimeSkill from "../../../src/builtin/text/DateTimeSkill.js"
import { call } from "../../support/Skills.js"

const at = Date.parse("2026-03-29T00:30:05.250Z")
const now = (params: unknown) => Effect.zipRight(TestClock.setTime(at), call(DateTimeSkill.skill, params))

describe("DateTimeSkill", () => {
  it.effect("returns the time of the clock, in UTC by default", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* now({}), {
        datetime: "2026-03-29T00:30:05.250+00:00",
        date: "2026-03-29",
        time: "00:30:05",
        weekday: "Sunday",
        timestamp: Math.floor(at / 1000),
        timezone: "UTC"
      })
    })
  )

  it.effect("accepts zones by name and by offset, around a change to summer time", () =>
    Effect.gen(function* () {
      const time = (timezone: string) => Effect.map(now({ timezone }), (told) => [told.datetime, told.timezone])
      assert.deepStrictEqual(yield* time("Europe/Berlin"), ["2026-03-29T01:30:05.250+01:00", "Europe/Berlin"])
      assert.deepStrictEqual(yield* time("+05:30"), ["2026-03-29T06:00:05.250+05:30", "+05:30"])
      assert.deepStrictEqual(yield* time("America/Los_Angeles"), [
        "2026-03-28T17:30:05.250-07:00",
        "America/Los_Angeles"
      ])
      yield* TestClock.setTime(at + 3_600_000)
      const later = yield* call(DateTimeSkill.skill, { timezone: "Europe/Berlin" })
      assert.strictEqual(later.datetime, "2026-03-29T03:30:05.250+02:00")
    })
  )

  it.effect("formats in a style and a language", () =>
    Effect.gen(function* () {
      assert.match((yield* now({ style: "full" })).formatted ?? "", /^Sunday, March 29, 2026 at 12:30:05 AM/)
      assert.match((yield* now({ style: "long", locale: "fr" })).formatted ?? "", /^29 mars 2026/)
      assert.match((yield* now({ style: "short", timezone: "Asia/Tokyo" })).formatted ?? "", /^3\/29\/26, 9:30/)
    })
  )

  it.effect("fails for unknown values and names the known ones", () =>
    Effect.gen(function* () {
      const zone = yield* Effect.flip(now({ timezone: "Europe/Pariss" }))
      assert.strictEqual(zone._tag, "DateTimeError")
      assert.strictEqual("hint" in zone ? zone.hint : "", "Did you mean Europe/Paris?")
      const huge = yield* Effect.flip(now({ timezone: "A".repeat(100_000) }))
      assert.isBelow(huge.message.length, 200)
      const locale = yield* Effect.flip(now({ style: "full", locale: "not a language" }))
      assert.strictEqual("parameter" in locale ? locale.parameter : "", "locale")
    })
  )
})
