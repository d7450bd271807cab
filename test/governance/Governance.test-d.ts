import type * as ConfigError from "effect/ConfigError"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { expectTypeOf, test } from "vitest"
import * as DefaultGovernance from "../../src/governance/DefaultGovernance.js"
import type * as Governance from "../../src/governance/Governance.js"
import type * as GovernanceConfig from "../../src/governance/GovernanceConfig.js"
import type { GovernanceControl } from "../../src/governance/GovernanceControl.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import type { GovernanceConfigurationError } from "../../src/governance/store/GovernanceError.js"
import type { CostEstimator } from "../../src/llm/model/CostEstimator.js"

type Made = Governance.Governance | GovernanceControl

test("narrows a decision by its tag, with an error only on a denial", () => {
  type Decision = Effect.Effect.Success<ReturnType<Governance.Service["checkRequest"]>>
  expectTypeOf<Decision>().toEqualTypeOf<Governance.Allowed | Governance.Denied>()
  expectTypeOf<Extract<Decision, { allowed: true }>>().not.toHaveProperty("error")
  expectTypeOf<Extract<Decision, { allowed: false }>>().toHaveProperty("error")
})

test("layers show their failures and requirements", () => {
  expectTypeOf(DefaultGovernance.layer({ rpmLimit: 100 })).toEqualTypeOf<
    Layer.Layer<Made, GovernanceConfigurationError>
  >()
  expectTypeOf(DefaultGovernance.layer()).toEqualTypeOf<Layer.Layer<Made, GovernanceConfigurationError>>()
  const ledger = Layer.effect(CostLedger.CostLedger, {} as Effect.Effect<CostLedger.Service, "broken", "sql">)
  expectTypeOf(DefaultGovernance.layerWith({ ledger, config: { rpmLimit: 1 } })).toEqualTypeOf<
    Layer.Layer<Made, GovernanceConfigurationError | "broken", "sql">
  >()
  expectTypeOf(DefaultGovernance.layerConfig()).toEqualTypeOf<
    Layer.Layer<Made, ConfigError.ConfigError | GovernanceConfigurationError>
  >()
  // @ts-expect-error misspelt
  DefaultGovernance.layerWith({ legder: ledger })
  // @ts-expect-error no such limit
  DefaultGovernance.layer({ rpm: 1 })
  // @ts-expect-error no such limit
  DefaultGovernance.layer({ monthlyBudget: 1, rpm: 1 })
  // @ts-expect-error no such limit
  DefaultGovernance.layerWith({ config: { monthlyBudget: 1, rpm: 1 } })
})

test("a money limit requires prices", () => {
  type Priced = Layer.Layer<Made, GovernanceConfigurationError, CostEstimator>
  expectTypeOf(DefaultGovernance.layer({ monthlyBudget: 100 })).toEqualTypeOf<Priced>()
  expectTypeOf(DefaultGovernance.layer({ maxRequestCost: 0 })).toEqualTypeOf<Priced>()
  expectTypeOf(
    DefaultGovernance.layerWith({ config: { monthlyBudget: 100, unknownPrice: "allow" } })
  ).toEqualTypeOf<Priced>()
  expectTypeOf(DefaultGovernance.layer({} as GovernanceConfig.Options)).toEqualTypeOf<Priced>()
  const unit = <const K extends "cost" | "tokens">(kind: K) =>
    ({ name: "a", kind, quotas: { "*": { limit: 1 } } }) as const
  expectTypeOf(DefaultGovernance.layer({ resourceUnits: [unit("cost")] })).toEqualTypeOf<Priced>()
  expectTypeOf(DefaultGovernance.layer({ resourceUnits: [unit("tokens")] })).toEqualTypeOf<
    Layer.Layer<Made, GovernanceConfigurationError>
  >()
  expectTypeOf(DefaultGovernance.layer({ monthlyBudget: undefined })).toEqualTypeOf<
    Layer.Layer<Made, GovernanceConfigurationError>
  >()
})
