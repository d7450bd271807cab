import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Run from "../../src/observability/Run.js"
import * as Step from "../../src/observability/Step.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as ToolRunner from "../../src/tool/ToolRunner.js"
import { layer, make } from "./RecordedRun.js"

const Plan = Schema.Struct({
  does: Schema.Literal("succeed", "fail", "lose", "hang", "interrupt", "die", "end"),
  afterMs: Schema.Number
})
type Plan = typeof Plan.Type

/** Does as it is told, after the time it is told. */
const scripted = Tool.make("scripted", {
  description: "d",
  timeout: "3 seconds",
  retries: 1,
  parameters: Plan,
  handler: ({ afterMs, does }) =>
    Effect.zipRight(
      Effect.sleep(afterMs),
      Effect.gen(function* () {
        switch (does) {
          case "succeed":
            return `done after ${afterMs}`
          case "fail":
            return yield* Effect.fail({ _tag: "Failed" as const })
          case "lose":
            return yield* Effect.fail({ _tag: "Lost" as const, code: "ECONNRESET" })
          case "end":
            return yield* Effect.fail({ _tag: "Ended" as const })
          case "hang":
            return yield* Effect.never
          case "interrupt":
            return yield* Effect.interrupt
          case "die":
            return yield* Effect.die("bug")
        }
      })
    )
}).pipe(Tool.failOn("Ended"))

const expected = (plan: Plan): string | undefined => {
  if (plan.afterMs > 3000) return "ToolTimeoutError"
  switch (plan.does) {
    case "succeed":
      return undefined
    case "hang":
      return "ToolTimeoutError"
    default:
      return "ToolExecutionError"
  }
}

const plan = (does: ReadonlyArray<Plan["does"]>): FastCheck.Arbitrary<Plan> =>
  FastCheck.record({
    does: FastCheck.constantFrom(...does),
    afterMs: FastCheck.oneof(FastCheck.constantFrom(0, 1000), FastCheck.integer({ min: 0, max: 4000 }))
  })
const concurrency = FastCheck.constantFrom(1, 2, 8, "unbounded" as const)

/** Runs the plans side by side in virtual time. */
const play = (plans: ReadonlyArray<Plan>, atOnce: number | "unbounded") =>
  Effect.gen(function* () {
    const recorded = yield* make()
    const runner = yield* ToolRunner.ToolRunner
    const bound = yield* ToolSet.bind(ToolSet.make(scripted))
    const calls = plans.map((params, index) => ({ id: `c${index}`, name: "scripted", params }))
    const fiber = yield* Step.forEach(calls, (call) => runner.run(bound, call), { concurrency: atOnce }).pipe(
      Effect.provideService(Run.Run, recorded.run),
      Effect.fork
    )
    yield* TestClock.adjust("10 minutes")
    const exit = yield* Fiber.await(fiber)
    return { recorded, exit, now: yield* Clock.currentTimeMillis }
  })

const pairsExactly = (recorded: { readonly events: ReadonlyArray<{ readonly _tag: string }> }) => {
  const open = new Set<string>()
  const seen = new Set<string>()
  for (const event of recorded.events as ReadonlyArray<{ readonly _tag: string; readonly id: string }>) {
    if (event._tag === "ToolCall") {
      assert.isFalse(seen.has(event.id), "announced twice")
      seen.add(event.id)
      open.add(event.id)
    } else {
      assert.strictEqual(event._tag, "ToolResult")
      assert.isTrue(open.delete(event.id), "a result without a call, or a second one")
    }
  }
  assert.strictEqual(open.size, 0, "a call without a result")
  return seen.size
}

describe("concurrent calls", () => {
  it.effect.prop(
    "give one outcome each, in the order of the calls, in any completion order",
    {
      plans: FastCheck.array(plan(["succeed", "fail", "lose", "hang", "interrupt"]), { maxLength: 10 }),
      atOnce: concurrency
    },
    ({ atOnce, plans }) =>
      Effect.gen(function* () {
        const { exit, recorded } = yield* play(plans, atOnce)
        if (Exit.isFailure(exit)) return assert.fail("the run ended")
        assert.deepStrictEqual(
          exit.value.map((outcome) => outcome.id),
          plans.map((_, index) => `c${index}`)
        )
        for (const [index, outcome] of exit.value.entries()) {
          const given = plans[index] as Plan
          assert.strictEqual(outcome.error?.tag, expected(given))
          if (!outcome.isFailure) assert.strictEqual(outcome.result, `done after ${given.afterMs}`)
          const lost = given.does === "lose" && given.afterMs < 3000
          if (given.afterMs !== 3000) assert.strictEqual(outcome.attempts, lost ? 2 : 1)
        }
        assert.strictEqual(pairsExactly(recorded), plans.length)
      }).pipe(Effect.provide(layer())),
    { fastCheck: { numRuns: 30 } }
  )

  it.effect.prop(
    "all emit a result when one of them ends or crashes the run",
    {
      plans: FastCheck.array(plan(["succeed", "fail", "lose", "hang", "interrupt", "die", "end"]), { maxLength: 8 }),
      last: FastCheck.record({
        does: FastCheck.constantFrom("die" as const, "end" as const),
        afterMs: FastCheck.integer({ min: 0, max: 2000 })
      }),
      at: FastCheck.nat({ max: 8 }),
      atOnce: concurrency
    },
    ({ at, atOnce, last, plans }) =>
      Effect.gen(function* () {
        const all = [...plans.slice(0, at), last, ...plans.slice(at)]
        const { exit, recorded } = yield* play(all, atOnce)
        assert.isTrue(Exit.isFailure(exit))
        const announced = pairsExactly(recorded)
        assert.isAtLeast(announced, 1)
        assert.isAtMost(announced, all.length)
      }).pipe(Effect.provide(layer())),
    { fastCheck: { numRuns: 30 } }
  )
})
