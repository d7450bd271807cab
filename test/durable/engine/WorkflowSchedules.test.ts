/**
 * Random workflows in random schedules of crashes, frozen processes, repeated and reordered wake-ups and jumps of the
 * clock. `WORKFLOW_SCHEDULES` and `WORKFLOW_SEED` choose how many, and the first one.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as WorkflowSchedules from "./WorkflowSchedules.js"

const schedules = Number(process.env.WORKFLOW_SCHEDULES ?? 200)
const seed = Number(process.env.WORKFLOW_SEED ?? 1)

describe("a durable workflow", () => {
  it.effect(
    `ends with the result of the reference in ${schedules} schedules, and repeats no finished activity`,
    () =>
      Effect.gen(function* () {
        for (let at = seed; at < seed + schedules; at++) {
          assert.deepStrictEqual(yield* WorkflowSchedules.run(at), [])
        }
      }).pipe(Effect.provide(WorkflowSchedules.database)),
    60_000 + schedules * 2_000
  )
})
