import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as DefaultGovernance from "../../../src/governance/DefaultGovernance.js"
import * as Governance from "../../../src/governance/Governance.js"
import * as CostLedger from "../../../src/governance/store/CostLedger.js"
import { GovernancePersistenceError } from "../../../src/governance/store/GovernanceError.js"
import * as InMemoryCostLedger from "../../../src/governance/store/InMemoryCostLedger.js"
import * as CostEstimator from "../../../src/llm/model/CostEstimator.js"
import * as Bundle from "../../support/Bundle.js"
import * as Programs from "../../support/Programs.js"
import * as BudgetHolder from "../../support/programs/BudgetHolder.js"
import * as SqliteDrivers from "../../support/SqliteDrivers.js"

const { request } = BudgetHolder
const used = { inputTokens: 500, outputTokens: 100 }

/** Governance of a process of its own over the ledger. */
const governed = (ledger: CostLedger.Service) =>
  Effect.map(
    Layer.build(
      DefaultGovernance.layerWith({
        ledger: Layer.succeed(CostLedger.CostLedger, ledger),
        config: { monthlyBudget: 1, maxRequestCost: 1 }
      }).pipe(Layer.provide(CostEstimator.layerPrices({ m: { input: 1000, output: 1000 } })))
    ),
    Context.get(Governance.Governance)
  )

const tagOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.match(effect, { onFailure: ({ _tag }) => _tag, onSuccess: () => "reserved" })

describe("the hold of a call", () => {
  it.scoped("remains while the call runs", () =>
    Effect.gen(function* () {
      const ledger = yield* InMemoryCostLedger.make()
      const one = yield* governed(ledger)
      const other = yield* governed(ledger)
      const reservation = yield* one.reserve(request)
      for (let minute = 0; minute < 10; minute++) {
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* other.getBudget(request.userId)).reserved, 1)
      }
      assert.strictEqual(yield* tagOf(other.reserve(request)), "BudgetExceededError")
      yield* one.settle(reservation, used)
      assert.deepInclude(yield* other.getBudget(request.userId), { spent: 0.6, reserved: 0 })
    })
  )

  it.scoped("expires within seconds after its process died", () =>
    Effect.gen(function* () {
      assert.isAtMost(Duration.toSeconds(CostLedger.HOLD_TTL), 60)
      const ledger = yield* InMemoryCostLedger.make()
      const process = yield* Scope.make()
      const dead = yield* Scope.extend(governed(ledger), process)
      yield* dead.reserve(request)
      yield* TestClock.adjust("10 minutes")
      yield* Scope.close(process, Exit.void)
      const next = yield* governed(ledger)
      assert.strictEqual(yield* tagOf(next.reserve(request)), "BudgetExceededError")
      yield* TestClock.adjust(CostLedger.HOLD_TTL)
      assert.strictEqual(yield* tagOf(next.reserve(request)), "reserved")
    })
  )

  it.scoped("is settled in full, once, after it was lost", () =>
    Effect.gen(function* () {
      const ledger = yield* InMemoryCostLedger.make()
      const failing = { ...ledger, renew: () => Effect.fail(new GovernancePersistenceError({ message: "away" })) }
      const governance = yield* governed(failing)
      const reservation = yield* governance.reserve(request)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* governance.getBudget(request.userId)).reserved, 0)
      yield* governance.settle(reservation, used)
      yield* governance.settle(reservation, used)
      yield* governance.refund(reservation)
      assert.deepInclude(yield* governance.getBudget(request.userId), { spent: 0.6, reserved: 0 })
    })
  )

  it.scoped("survives a failed renewal", () =>
    Effect.gen(function* () {
      const ledger = yield* InMemoryCostLedger.make()
      let calls = 0
      const governance = yield* governed({
        ...ledger,
        renew: (ids) =>
          Effect.suspend(() =>
            calls++ % 2 === 0 ? Effect.fail(new GovernancePersistenceError({ message: "away" })) : ledger.renew(ids)
          )
      })
      yield* governance.reserve(request)
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* governance.getBudget(request.userId)).reserved, 1)
    })
  )

  it.scoped("is released after an hour if never ended", () =>
    Effect.gen(function* () {
      const governance = yield* governed(yield* InMemoryCostLedger.make())
      const reservation = yield* governance.reserve(request)
      yield* TestClock.adjust("59 minutes")
      assert.strictEqual((yield* governance.getBudget(request.userId)).reserved, 1)
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual((yield* governance.getBudget(request.userId)).reserved, 0)
      yield* governance.settle(reservation, used)
      assert.strictEqual((yield* governance.getBudget(request.userId)).spent, 0)
    })
  )

  it.scoped("uses a timer only while held", () =>
    Effect.gen(function* () {
      const timers = Effect.map(TestClock.sleeps(), Chunk.size)
      const governance = yield* governed(yield* InMemoryCostLedger.make())
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* timers, 0)
      for (const end of ["settle", "refund", "release"] as const) {
        const reservation = yield* governance.reserve(request)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* timers, 1)
        if (end === "settle") yield* governance.settle(reservation, { inputTokens: 0, outputTokens: 0 })
        else if (end === "refund") yield* governance.refund(reservation)
        else yield* governance.release(request.runId)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* timers, 0, end)
      }
    })
  )

  it.scoped("expires within seconds when its process is killed", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      const program = yield* Programs.start(yield* Bundle.make("BudgetHolder"), { file } satisfies BudgetHolder.Input)
      yield* TestClock.setTime(yield* program.hear)
      yield* program.kill()
      const governance = Context.get(yield* Layer.build(BudgetHolder.layer(file)), Governance.Governance)
      assert.strictEqual(yield* tagOf(governance.reserve(request)), "BudgetExceededError")
      yield* TestClock.adjust(CostLedger.HOLD_TTL)
      assert.strictEqual(yield* tagOf(governance.reserve(request)), "reserved")
    })
  )
})
