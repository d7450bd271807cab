import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as SqliteLeftovers from "../../../src/persistence/sqlite/SqliteLeftovers.js"
import * as Bundle from "../../support/Bundle.js"
import * as Programs from "../../support/Programs.js"
import * as SqliteDrivers from "../../support/SqliteDrivers.js"

/** A machine whose collections take a time, and collect nothing. */
const machine = (cost: number) => {
  let time = 0
  let collections = 0
  const due: Array<{ readonly at: number; readonly call: () => void }> = []
  const leftovers = SqliteLeftovers.make({
    now: () => time,
    later: (millis, call) => void due.push({ at: time + millis, call }),
    collect: () => {
      collections++
      time += cost
    }
  })
  const run = (to: number): void => {
    for (;;) {
      const next = due.toSorted((a, b) => a.at - b.at)[0]
      if (next === undefined || next.at > to) break
      due.splice(due.indexOf(next), 1)
      time = Math.max(time, next.at)
      next.call()
    }
    time = Math.max(time, to)
  }
  return { leftovers, run, collections: () => collections, time: () => time }
}

describe("SqliteLeftovers", () => {
  it("collects once for all connections closed within a second", () => {
    const { collections, leftovers, run } = machine(5)
    const pins = Array.from({ length: 30 }, () => ({}))
    for (const pin of pins) leftovers.closed(pin)
    run(900)
    assert.strictEqual(collections(), 0)
    run(5000)
    assert.strictEqual(collections(), 1)
    assert.lengthOf(pins, 30)
  })

  it("collects at once when very many are open, and again only for as many more", () => {
    const { collections, leftovers, run, time } = machine(5)
    const pins = Array.from({ length: 1000 }, () => ({}))
    for (const pin of pins) {
      leftovers.closed(pin)
      run(time())
    }
    assert.strictEqual(collections(), 10)
    assert.lengthOf(pins, 1000)
  })

  it("uses at most a twentieth of the time, however slow a collection is", () => {
    const { collections, leftovers, run } = machine(1000)
    const pins: Array<object> = []
    for (let second = 0; second < 200; second++) {
      const pin = {}
      pins.push(pin)
      leftovers.closed(pin)
      run(second * 1000)
    }
    assert.isAtMost(collections(), 10)
    assert.isAtLeast(collections(), 8)
    assert.lengthOf(pins, 200)
  })

  it.scopedLive.skipIf(process.platform !== "linux")("closes the files of closed libsql connections", () =>
    Effect.gen(function* () {
      const folder = yield* SqliteDrivers.folder
      const program = yield* Programs.start(yield* Bundle.make("LibsqlFiles"), { folder, databases: 150 })
      const { left, most } = yield* program.hear
      assert.strictEqual(left, 0)
      assert.isAtMost(most, 500)
    })
  )
})
