import type * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { expectTypeOf, test } from "vitest"
import type { RunError } from "../../../src/agent/record/RunError.js"
import * as RunPolicy from "../../../src/agent/record/RunPolicy.js"
import type { RunRecord } from "../../../src/agent/record/RunRecord.js"
import * as Runs from "../../../src/agent/runs/Runs.js"

test("a policy of plain data is one", () => {
  expectTypeOf(
    RunPolicy.make({
      limits: { timeout: "1 minute", maxTokens: 10 },
      retry: { maxRetries: 1, cap: 500 },
      fallback: ["solver"]
    })
  ).toEqualTypeOf<RunPolicy.RunPolicy>()
  expectTypeOf(Runs.start({ agent: "a", input: "go", policy: { limits: { maxModelCalls: 3 } } })).toEqualTypeOf<
    Effect.Effect<RunRecord, RunError, Runs.Runs>
  >()
})

test("a closure in a policy does not compile, and the message says why", () => {
  type Why = "A policy is data that is kept with its run: it has no functions and no Schedules"
  expectTypeOf<RunPolicy.Data<{ retry: { while: () => boolean } }>>().toEqualTypeOf<{
    readonly retry: { readonly while: Why }
  }>()
  expectTypeOf<RunPolicy.Data<{ retry: Schedule.Schedule<number> }>>().toEqualTypeOf<{ readonly retry: Why }>()
  // @ts-expect-error a function
  RunPolicy.make({ retry: { maxRetries: 1, while: () => true } })
  // @ts-expect-error a schedule
  RunPolicy.make({ retry: Schedule.recurs(3) })
  // @ts-expect-error a function in place of an amount
  RunPolicy.make({ limits: { maxTokens: () => 3 } })
  // @ts-expect-error unknown options are not kept
  expectTypeOf(Runs.start({ agent: "a", input: "go", policy: { retry: { while: () => true } } })).toBeObject()
})
