/** Reserves a whole monthly budget for a call, and waits for its end. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { RunId, UserId } from "../../../src/domain/Ids.js"
import * as DefaultGovernance from "../../../src/governance/DefaultGovernance.js"
import * as Governance from "../../../src/governance/Governance.js"
import * as CostEstimator from "../../../src/llm/model/CostEstimator.js"
import * as SqlCostLedger from "../../../src/persistence/governance/SqlCostLedger.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly file: string
}

export const layer = (file: string) => {
  const ledger = SqlCostLedger.layerMigrated().pipe(Layer.provide(SqliteClient.layer({ file })))
  return DefaultGovernance.layerWith({ ledger, config: { monthlyBudget: 1, maxRequestCost: 1 } }).pipe(
    Layer.provideMerge(CostEstimator.layerPrices({ m: { input: 1000, output: 1000 } }))
  )
}

/** A call that may cost the whole budget. */
export const request = {
  runId: RunId.make("run"),
  userId: UserId.make("ada"),
  provider: "p",
  model: "m",
  inputTokens: 500,
  maxOutputTokens: 500
}

if (process.argv[1]?.includes("BudgetHolder") === true) {
  Programs.main<Input>(({ hear, input, say }) =>
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      yield* governance.reserve(request)
      yield* say(yield* Clock.currentTimeMillis)
      yield* hear
    }).pipe(Effect.provide(layer(input.file)))
  )
}
