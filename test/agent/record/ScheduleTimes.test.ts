import { assert, describe, it } from "@effect/vitest"
import * as Cron from "effect/Cron"
import * as DateTime from "effect/DateTime"
import * as Either from "effect/Either"
import * as ScheduleRequest from "../../../src/agent/dispatch/ScheduleRequest.js"
import type * as RunSchedule from "../../../src/agent/record/RunSchedule.js"
import * as ScheduleTimes from "../../../src/agent/record/ScheduleTimes.js"
import * as SeededRandom from "../../support/SeededRandom.js"

const at = (text: string): number => DateTime.unsafeMake(text).epochMillis

const cron = (text: string, timeZone: string): RunSchedule.Timing => {
  const timing = Either.getOrThrow(ScheduleRequest.timingOf({ cron: text, timeZone }, 0, undefined))
  assert.isDefined(timing)
  return timing!
}

/** The firings after a time, until another one. */
const firings = (timing: RunSchedule.Timing, after: string, until: string): ReadonlyArray<string> => {
  const next = ScheduleTimes.make({ timing })
  const found: Array<string> = []
  for (let time = next(at(after)); time !== undefined && time <= at(until); time = next(time)) {
    found.push(DateTime.formatIso(DateTime.unsafeMake(time)).slice(5, 16))
  }
  return found
}

const berlin = "Europe/Berlin"

describe("ScheduleTimes", () => {
  it("fires after the gap what has its hour in the gap", () => {
    assert.deepStrictEqual(firings(cron("30 2 * * *", berlin), "2026-03-28T12:00:00Z", "2026-03-31T00:00:00Z"), [
      "03-29T01:30",
      "03-30T00:30"
    ])
  })

  it("fires once what has its hour in the hour that comes twice", () => {
    assert.deepStrictEqual(firings(cron("30 2 * * *", berlin), "2026-10-24T12:00:00Z", "2026-10-27T00:00:00Z"), [
      "10-25T00:30",
      "10-26T01:30"
    ])
  })

  it("fires in every hour, in a gap and in the hour that comes twice, if the hour is open", () => {
    assert.deepStrictEqual(firings(cron("*/30 * * * *", berlin), "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z"), [
      "03-29T00:30",
      "03-29T01:00",
      "03-29T01:30",
      "03-29T02:00"
    ])
    assert.deepStrictEqual(firings(cron("*/30 * * * *", berlin), "2026-10-24T23:30:00Z", "2026-10-25T02:00:00Z"), [
      "10-25T00:00",
      "10-25T00:30",
      "10-25T01:00",
      "10-25T01:30",
      "10-25T02:00"
    ])
    // Half an hour comes twice.
    assert.deepStrictEqual(
      firings(cron("15 * * * *", "Australia/Lord_Howe"), "2026-04-04T13:30:00Z", "2026-04-04T17:00:00Z"),
      ["04-04T14:15", "04-04T15:45", "04-04T16:45"]
    )
  })

  it("fires in UTC and at offsets without gaps", () => {
    assert.deepStrictEqual(firings(cron("0 9 * * 1-5", "+05:30"), "2026-11-26T00:00:00Z", "2026-11-30T12:00:00Z"), [
      "11-26T03:30",
      "11-27T03:30",
      "11-30T03:30"
    ])
  })

  it("has no firing on days that do not exist, and finds that at once", () => {
    for (const text of ["0 0 30 2 *", "0 0 31 4,6,9,11 *"]) {
      const started = ScheduleTimes.make({ timing: cron(text, "UTC") })
      assert.isUndefined(started(at("2026-01-01T00:00:00Z")))
    }
    assert.deepStrictEqual(firings(cron("0 0 29 2 *", "UTC"), "2026-01-01T00:00:00Z", "2030-01-01T00:00:00Z"), [
      "02-29T00:00"
    ])
  })

  it("keeps a distance and its bounds", () => {
    const timing: RunSchedule.Timing = { _tag: "Every", millis: 1000, from: 5000 }
    const next = ScheduleTimes.make({ timing, startsAt: 7000, endsAt: 9000 })
    assert.deepStrictEqual([0, 6999, 7000, 7001, 8999, 9000].map(next), [7000, 7000, 8000, 8000, 9000, undefined])
  })

  it("gives each instant whose local time matches, and no other, if the hour is open", () => {
    const { pick } = SeededRandom.make(7)
    for (let i = 0; i < 60; i++) {
      const text = `${pick(["*/15", "0", "7,37", "*/20"])} * ${pick(["*", "*", "*/2", "28-31"])} * ${pick(["*", "0", "6,0"])}`
      const zone = pick([berlin, "America/New_York", "Australia/Lord_Howe", "UTC"])
      const timing = cron(text, zone)
      const known = Either.getOrThrow(Cron.parse(text, zone))
      const begin = at(
        pick(["2026-03-07T00:00:00Z", "2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z", "2026-04-04T00:00:00Z"])
      )
      const expected: Array<number> = []
      for (let minute = 1; minute <= 2 * 24 * 60; minute++) {
        if (Cron.match(known, begin + minute * 60_000)) expected.push(begin + minute * 60_000)
      }
      const next = ScheduleTimes.make({ timing })
      const found: Array<number> = []
      const end = begin + 2 * 24 * 3600_000
      for (let time = next(begin); time !== undefined && time <= end; time = next(time)) found.push(time)
      assert.deepStrictEqual(found, expected, `${text} in ${zone}`)
    }
  })

  it("finds the newest firings without reading the older ones", () => {
    let asked = 0
    const every = ScheduleTimes.make({ timing: { _tag: "Every", millis: 60_000, from: 0 } })
    const next: ScheduleTimes.Next = (after) => {
      asked++
      return every(after)
    }
    const year = 365 * 24 * 3600_000
    assert.deepStrictEqual(ScheduleTimes.newest(next, 60_000, year, 3), [year - 180_000, year - 120_000, year - 60_000])
    assert.isBelow(asked, 30)
    assert.deepStrictEqual(ScheduleTimes.newest(next, 60_000, 200_000, 9), [60_000, 120_000, 180_000])
    assert.deepStrictEqual(ScheduleTimes.newest(next, 60_000, 60_000, 9), [])
  })
})
