import type * as ConfigError from "effect/ConfigError"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { expectTypeOf, test } from "vitest"
import * as Governance from "../../src/governance/Governance.js"
import type * as GovernanceConfig from "../../src/governance/GovernanceConfig.js"
import type { GovernanceControl } from "../../src/governance/GovernanceControl.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import type { GovernanceConfigurationError } from "../../src/governance/store/GovernanceError.js"
import type { CostEstimator } from "../../src/llm/model/CostEstimator.js"

type Made = Governance.Governance | GovernanceControl

test("a decision is told apart by its tag, and has an error only where it denies", () => {
  type Decision = Effect.Effect.Success<ReturnType<Governance.Service["checkRequest"]>>
  expectTypeOf<Decision>().toEqualTypeOf<Governance.Allowed | Governance.Denied>()
  expectTypeOf<Extract<Decision, { allowed: true }>>().not.toHaveProperty("error")
  expectTypeOf<Extract<Decision, { allowed: false }>>().toHaveProperty("error")
})

test("layers show what they fail with and require", () => {
  expectTypeOf(Governance.layer({ rpmLimit: 100 })).toEqualTypeOf<Layer.Layer<Made, GovernanceConfigurationError>>()
  expectTypeOf(Governance.layer()).toEqualTypeOf<Layer.Layer<Made, GovernanceConfigurationError>>()
  const ledger = Layer.effect(CostLedger.CostLedger, {} as Effect.Effect<CostLedger.Service, "broken", "sql">)
  expectTypeOf(Governance.layerWith({ ledger, config: { rpmLimit: 1 } })).toEqualTypeOf<
    Layer.Layer<Made, GovernanceConfigurationError | "broken", "sql">
  >()
  expectTypeOf(Governance.layerConfig()).toEqualTypeOf<
    Layer.Layer<Made, ConfigError.ConfigError | GovernanceConfigurationError>
  >()
  // @ts-expect-error misspelt
  Governance.layerWith({ legder: ledger })
  // @ts-expect-error no such limit
  Governance.layer({ rpm: 1 })
  // @ts-expect-error no such limit
  Governance.layer({ monthlyBudget: 1, rpm: 1 })
  // @ts-expect-error no such limit
  Governance.layerWith({ config: { monthlyBudget: 1, rpm: 1 } })
})

test("a limit of money requires prices", () => {
  type Priced = Layer.Layer<Made, GovernanceConfigurationError, CostEstimator>
  expectTypeOf(Governance.layer({ monthlyBudget: 100 })).toEqualTypeOf<Priced>()
  expectTypeOf(Governance.layer({ maxRequestCost: 0 })).toEqualTypeOf<Priced>()
  expectTypeOf(Governance.layerWith({ config: { monthlyBudget: 100, unknownPrice: "allow" } })).toEqualTypeOf<Priced>()
  expectTypeOf(Governance.layer({} as GovernanceConfig.Options)).toEqualTypeOf<Priced>()
  const unit = <const K extends "cost" | "tokens">(kind: K) =>
    ({ name: "a", kind, quotas: { "*": { limit: 1 } } }) as const
  expectTypeOf(Governance.layer({ resourceUnits: [unit("cost")] })).toEqualTypeOf<Priced>()
  expectTypeOf(Governance.layer({ resourceUnits: [unit("tokens")] })).toEqualTypeOf<
    Layer.Layer<Made, GovernanceConfigurationError>
  >()
  expectTypeOf(Governance.layer({ monthlyBudget: undefined })).toEqualTypeOf<
    Layer.Layer<Made, GovernanceConfigurationError>
  >()
})
