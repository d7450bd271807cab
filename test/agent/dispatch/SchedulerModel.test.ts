/** Random schedules and outages, beside a reference that reads every firing. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as RunSchedules from "../../../src/agent/dispatch/RunSchedules.js"
import * as Scheduler from "../../../src/agent/dispatch/Scheduler.js"
import * as InMemoryScheduleStore from "../../../src/agent/record/InMemoryScheduleStore.js"
import type { RunSchedule } from "../../../src/agent/record/RunSchedule.js"
import * as ScheduleStore from "../../../src/agent/record/ScheduleStore.js"
import { Runs } from "../../../src/agent/runs/Runs.js"
import * as FakeRuns from "../../support/FakeRuns.js"
import * as SeededRandom from "../../support/SeededRandom.js"

const MINUTE = 60_000
const tolerance = 3 * MINUTE
const maxCatchUp = 4

interface Given {
  readonly id: string
  readonly minutes: number
  readonly offset: number
  readonly missed: RunSchedule["missed"]
  readonly until: number
}

/** What starts, if a process looks at these times: it does so at every minute in which it is there. */
const expected = ({ minutes, missed, offset, until }: Given, looks: ReadonlyArray<number>): ReadonlyArray<number> => {
  const found: Array<number> = []
  let seen = 0
  for (const now of looks) {
    const due: Array<number> = []
    for (let at = seen + MINUTE; at <= Math.min(now, until); at += MINUTE) {
      if (at > offset * MINUTE - 1 && (at / MINUTE - offset) % minutes === 0) due.push(at)
    }
    const late = due.filter((at) => at < now - tolerance)
    const kept = missed === "skip" ? [] : late.slice(missed === "once" ? -1 : -maxCatchUp)
    found.push(...kept, ...due.filter((at) => at >= now - tolerance))
    seen = Math.max(seen, now - (now % MINUTE))
  }
  return found
}

describe("Scheduler", () => {
  for (let seed = 1; seed <= 12; seed++) {
    it.scoped(`starts what a simple reference starts, with random schedules and outages (${seed})`, () =>
      Effect.gen(function* () {
        const { below, pick } = SeededRandom.make(seed)
        const fake = FakeRuns.make({ endAtOnce: true })
        const store = InMemoryScheduleStore.make()
        const open = Effect.gen(function* () {
          const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
          const options = { agents: ["helper"], poll: "1 minute", tolerance, maxCatchUp } as const
          const context = yield* Layer.buildWithScope(
            Layer.provide(Scheduler.layer(options), [
              Layer.succeed(Runs, fake.runs),
              Layer.succeed(ScheduleStore.ScheduleStore, store)
            ]),
            scope
          )
          return { end: Scope.close(scope, Exit.void), service: Context.get(context, RunSchedules.RunSchedules) }
        })
        let processes = [yield* open]
        const given: Array<Given> = []
        for (let i = 0; i < 8; i++) {
          const one: Given = {
            id: `s${i}`,
            minutes: 1 + below(30),
            offset: below(20),
            missed: pick(["skip", "once", "all"]),
            until: (60 + below(2000)) * MINUTE
          }
          given.push(one)
          const startsAt = one.offset === 0 ? one.minutes * MINUTE : one.offset * MINUTE
          yield* processes[0]!.service.create({
            id: one.id,
            agent: "helper",
            input: one.id,
            every: one.minutes * MINUTE,
            startsAt,
            endsAt: one.until,
            missed: one.missed
          })
        }
        const looks: Array<number> = []
        let now = 0
        for (let round = 0; round < 12; round++) {
          const length = below(round % 2 === 0 ? 40 : 300) + 1
          if (round % 2 === 0) {
            for (let minute = 0; minute <= length; minute++) looks.push(now + minute * MINUTE)
            yield* TestClock.adjust(length * MINUTE)
            now += length * MINUTE
            for (const { end } of processes) yield* end
          } else {
            now += length * MINUTE + below(MINUTE)
            yield* TestClock.setTime(now)
            looks.push(now)
            // What follows begins at a whole minute, so that the reference looks when the firings are.
            processes = []
            for (let i = 0; i <= below(3); i++) processes.push(yield* open)
            const rest = MINUTE - (now % MINUTE)
            yield* TestClock.adjust(rest)
            now += rest
            looks.push(now)
          }
        }
        for (const one of given) {
          const fired = fake.started.flatMap(({ labels, runId }) =>
            labels?.["schedule"] === one.id ? [Number(runId?.split("@")[1])] : []
          )
          const offset = one.offset === 0 ? one.minutes : one.offset
          assert.deepStrictEqual(
            [...fired].sort((a, b) => a - b),
            expected({ ...one, offset }, looks),
            JSON.stringify(one)
          )
        }
      })
    )
  }
})
