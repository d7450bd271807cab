import type * as ConfigError from "effect/ConfigError"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { expectTypeOf, test } from "vitest"
import * as CostLedger from "../../src/governance/CostLedger.js"
import * as Governance from "../../src/governance/Governance.js"
import type { GovernanceControl } from "../../src/governance/GovernanceControl.js"
import type { GovernanceConfigurationError } from "../../src/governance/GovernanceError.js"

type Made = Governance.Governance | GovernanceControl

test("a decision is told apart by its tag, and has an error only where it denies", () => {
  type Decision = Effect.Effect.Success<ReturnType<Governance.Service["checkRequest"]>>
  expectTypeOf<Decision>().toEqualTypeOf<Governance.Allowed | Governance.Denied>()
  expectTypeOf<Extract<Decision, { allowed: true }>>().not.toHaveProperty("error")
  expectTypeOf<Extract<Decision, { allowed: false }>>().toHaveProperty("error")
})

test("layers show what they fail with and require", () => {
  expectTypeOf(Governance.layer({ monthlyBudget: 100 })).toEqualTypeOf<
    Layer.Layer<Made, GovernanceConfigurationError>
  >()
  const ledger = Layer.effect(CostLedger.CostLedger, {} as Effect.Effect<CostLedger.Service, "broken", "sql">)
  expectTypeOf(Governance.layerWith({ ledger, config: { rpmLimit: 1 } })).toEqualTypeOf<
    Layer.Layer<Made, GovernanceConfigurationError | "broken", "sql">
  >()
  expectTypeOf(Governance.layerConfig()).toEqualTypeOf<Layer.Layer<Made, ConfigError.ConfigError>>()
  // @ts-expect-error misspelt
  Governance.layerWith({ legder: ledger })
  // @ts-expect-error no such limit
  Governance.layer({ rpm: 1 })
})
