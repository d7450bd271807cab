import { assert, describe, it } from "@effect/vitest"
import * as Activity from "@effect/workflow/Activity"
import * as Workflow from "@effect/workflow/Workflow"
import { WorkflowInstance } from "@effect/workflow/WorkflowEngine"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as JournaledActivity from "../../../src/durable/engine/JournaledActivity.js"

const Job = Workflow.make({ name: "Job", payload: {}, idempotencyKey: () => "job" })

/** A process that takes milliseconds for each answer of its database, and whose run may be another one's by then. */
const processOf = (answers: { readonly finds: ReadonlyArray<readonly [number, boolean]>; readonly commit?: number }) =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const said: Array<string> = []
    const finds = [...answers.finds]
    const run = {
      claimed: { key: "k", runnerId: "r", executionId: "e" },
      entry: { workflow: Job },
      instance: WorkflowInstance.initial(Job, "e"),
      interrupted: 0,
      isStopped: false,
      isEnding: false,
      recorded: new Set<string>(),
      ownedAt: clock.unsafeCurrentTimeMillis()
    }
    const parts: JournaledActivity.Parts<typeof run> = {
      clock,
      persist: (_, effect) => effect,
      stop: (stopped) => {
        said.push("stopped")
        stopped.isStopped = true
      },
      store: {
        find: () =>
          Effect.suspend(() => {
            const [millis, isOwned] = finds.shift() ?? [0, true]
            said.push("find")
            return Effect.as(TestClock.adjust(millis), { isOwned, stored: undefined })
          }),
        commit: () => Effect.as(TestClock.adjust(answers.commit ?? 0), true)
      }
    }
    const execute = (name: string) =>
      Effect.scoped(
        JournaledActivity.execute(
          parts,
          run,
          Activity.make({ name, success: Schema.Void, execute: Effect.sync(() => void said.push(name)) }),
          1
        )
      ).pipe(Effect.provideService(WorkflowInstance, run.instance))
    return { execute, said }
  })

describe("an activity", () => {
  it.effect("begins without a look while its run is certain to be its runner's", () =>
    Effect.gen(function* () {
      const { execute, said } = yield* processOf({ finds: [] })
      yield* execute("mark")
      yield* execute("pay")
      assert.deepStrictEqual(said, ["mark", "pay"])
    })
  )

  it.effect("does not begin where the process was frozen before, and another one has the run", () =>
    Effect.gen(function* () {
      const { execute, said } = yield* processOf({ finds: [[0, false]], commit: 4_000 })
      yield* execute("mark")
      yield* execute("pay")
      assert.deepStrictEqual(said, ["mark", "find", "stopped"])
    })
  )

  it.effect("does not trust an answer that came late", () =>
    Effect.gen(function* () {
      const { execute, said } = yield* processOf({
        finds: [
          [4_000, true],
          [0, false]
        ],
        commit: 600
      })
      yield* execute("mark")
      yield* execute("pay")
      assert.deepStrictEqual(said, ["mark", "find", "find", "stopped"])
    })
  )

  it.effect("begins where all answers of the database are late", () =>
    Effect.gen(function* () {
      const { execute, said } = yield* processOf({
        finds: Array.from({ length: 9 }, () => [600, true] as const),
        commit: 600
      })
      yield* execute("mark")
      yield* execute("pay")
      assert.deepStrictEqual(said, ["mark", "find", "find", "find", "pay"])
    })
  )
})
