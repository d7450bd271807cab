import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { RunId, UserId } from "../../src/domain/Ids.js"
import * as Governance from "../../src/governance/Governance.js"
import { isGovernanceError, ModelAccessDeniedError } from "../../src/governance/store/GovernanceError.js"

const runId = RunId.make("run-1")
const userId = UserId.make("user-1")

describe("Governance", () => {
  it.effect("allows everything and tracks nothing without governance", () =>
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      assert.deepStrictEqual(yield* governance.checkRequest({ runId, agent: "a", provider: "openai", userId }), {
        allowed: true
      })
      assert.deepStrictEqual(yield* governance.checkToolCall({ runId, agent: "a", toolName: "t" }), { allowed: true })
      assert.isTrue(yield* governance.checkBudget({ cost: 1e9, userId }))
      const reservation = yield* governance.reserve({ runId, userId, inputTokens: 1e9, maxOutputTokens: 1e9 })
      assert.strictEqual(reservation.runId, runId)
      assert.strictEqual(reservation.inputTokens, 1e9)
      yield* governance.settle(reservation, { inputTokens: 10 }, { cost: 5 })
      yield* governance.refund(reservation)
      yield* governance.trackCost({ cost: 5, usage: {}, userId })
      assert.deepStrictEqual(yield* governance.getBudget(userId), { spent: 0, reserved: 0 })
    }).pipe(Effect.provide(Governance.layerNoop))
  )

  it.effect("keeps the error of a denial across encoding", () =>
    Effect.gen(function* () {
      const error = new ModelAccessDeniedError({ message: "not this one", model: "m", reason: "restricted" })
      const denial = Governance.deny(error, { remainingBudget: 3 })
      assert.strictEqual(denial.reason, "not this one")
      const encoded = yield* Schema.encode(Governance.GovernanceDecision)(denial)
      const decoded = yield* Schema.decodeUnknown(Governance.GovernanceDecision)(JSON.parse(JSON.stringify(encoded)))
      assert.isFalse(decoded.allowed)
      if (decoded.allowed) return
      assert.instanceOf(decoded.error, ModelAccessDeniedError)
      assert.isTrue(isGovernanceError(decoded.error))
      assert.strictEqual(decoded.remainingBudget, 3)
    })
  )
})
