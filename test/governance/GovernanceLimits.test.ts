import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { RunId, UserId } from "../../src/domain/Ids.js"
import * as Governance from "../../src/governance/Governance.js"

const runId = RunId.make("run-1")
const userId = UserId.make("user-1")

describe("Governance.layer", () => {
  it.effect("what a call used is spent, and what is left is told", () =>
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const reservation = yield* governance.reserve({ runId, userId, inputTokens: 10, maxOutputTokens: 20 })
      yield* governance.settle(reservation, { inputTokens: 10, outputTokens: 3 }, { cost: 2 })
      assert.deepStrictEqual(yield* governance.getBudget(userId), { spent: 2, reserved: 0, limit: 100, remaining: 98 })
    }).pipe(Effect.provide(Governance.layer({ monthlyBudget: 100 })))
  )
})
