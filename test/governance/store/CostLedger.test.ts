import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as CostLedger from "../../../src/governance/store/CostLedger.js"
import type { GovernancePersistenceError } from "../../../src/governance/store/GovernanceError.js"
import * as InMemoryCostLedger from "../../../src/governance/store/InMemoryCostLedger.js"
import { suite } from "./CostLedgerSuite.js"

suite("memory", InMemoryCostLedger.layer())

const of = (nanoUsd: number): CostLedger.Amount => ({ nanoUsd, tokens: 0 })

describe("CostLedger", () => {
  it("rounds dollars up to billionths, except the error of doubles", () => {
    assert.strictEqual(CostLedger.fromUsd(0.1 + 0.2), 300_000_000)
    assert.strictEqual(CostLedger.fromUsd(0.7 * 3), 2_100_000_000)
    assert.strictEqual(CostLedger.fromUsd(37.5e-9), 38)
    assert.strictEqual(CostLedger.fromUsd(0.4e-9), 1)
    assert.strictEqual(CostLedger.toUsd(300_000_000), 0.3)
  })

  it("makes an amount of any value", () => {
    for (const value of [Number.NaN, -1, Number.NEGATIVE_INFINITY, 0, -0, 1e-300]) {
      assert.deepStrictEqual(CostLedger.amount({ usd: value, tokens: value }), { nanoUsd: 0, tokens: 0 })
    }
    assert.deepStrictEqual(CostLedger.amount({}), { nanoUsd: 0, tokens: 0 })
    assert.deepStrictEqual(CostLedger.amount({ usd: 1.5, tokens: 2.2 }), { nanoUsd: 1_500_000_000, tokens: 3 })
    const most = CostLedger.amount({ usd: Number.POSITIVE_INFINITY, tokens: Number.MAX_VALUE })
    assert.deepStrictEqual(most, { nanoUsd: 1e15, tokens: 1e12 })
  })

  it.effect("refuses new accounts and holds when full, and evicts none", () =>
    Effect.gen(function* () {
      const ledger = yield* InMemoryCostLedger.make({ capacity: 2, spendTtl: "2 hours", holdTtl: "1 minute" })
      yield* ledger.book(["a"], of(1))
      yield* ledger.hold({ id: "h", amount: of(1), accounts: [{ account: "b" }] })
      for (const refused of [
        ledger.book(["c"], of(1)),
        ledger.hold({ id: "i", amount: of(1), accounts: [{ account: "a" }, { account: "c" }] })
      ]) {
        const error = yield* Effect.flip(Effect.asVoid(refused as Effect.Effect<unknown, GovernancePersistenceError>))
        assert.strictEqual(error._tag, "GovernancePersistenceError")
        assert.include(error.message, "2 accounts")
        assert.isDefined(error.hint)
      }
      yield* ledger.book(["a", "b"], of(1))
      assert.deepStrictEqual(yield* ledger.read("a"), { spent: of(2), reserved: of(0) })
      yield* ledger.hold({ id: "i", amount: of(1), accounts: [{ account: "a" }] })
      yield* Effect.flip(ledger.hold({ id: "j", amount: of(1), accounts: [{ account: "a" }] }))
      yield* ledger.release("i")
      assert.strictEqual((yield* ledger.hold({ id: "j", amount: of(1), accounts: [{ account: "a" }] }))._tag, "Held")
      yield* ledger.close("b")
      yield* ledger.book(["c"], of(1))
    })
  )

  it.effect("keeps an account as long as its holds", () =>
    Effect.gen(function* () {
      const ledger = yield* InMemoryCostLedger.make({ spendTtl: 0 })
      yield* ledger.hold({ id: "h", amount: of(1), accounts: [{ account: "a" }] })
      assert.deepStrictEqual((yield* ledger.read("a")).reserved, of(1))
    })
  )
})
