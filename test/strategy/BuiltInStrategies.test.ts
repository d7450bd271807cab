import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as BuiltInStrategies from "../../src/strategy/BuiltInStrategies.js"
import * as Strategy from "../../src/strategy/definition/Strategy.js"
import { StrategyRegistry } from "../../src/strategy/definition/StrategyRegistry.js"

const own = (name: string) =>
  Strategy.make(name, () => Effect.succeed({ text: name, reason: "completed" as const, messages: [] }))

const named = (name: string) => ({ _tag: "Named" as const, name, options: {} })

describe("BuiltInStrategies", () => {
  it.effect("makes every strategy of the library under its own name", () =>
    Effect.gen(function* () {
      const registry = yield* StrategyRegistry
      assert.deepStrictEqual(
        [...registry.names],
        [
          "adaptive",
          "function_calling",
          "lats",
          "llm-compiler",
          "plan-and-solve",
          "plan-execute",
          "react",
          "reflection",
          "reflexion",
          "rewoo",
          "self-discovery",
          "storm",
          "supervisor"
        ]
      )
      for (const name of registry.names) assert.strictEqual((yield* registry.resolve(named(name))).name, name)
    }).pipe(Effect.provide(BuiltInStrategies.layer()))
  )

  it.effect("adds given strategies to the built-in ones, which they override", () =>
    Effect.gen(function* () {
      const registry = yield* StrategyRegistry
      assert.include(registry.names, "mine")
      assert.strictEqual((yield* registry.resolve(named("react"))).name, "replaced")
    }).pipe(Effect.provide(BuiltInStrategies.layer({ mine: () => own("mine"), react: () => own("replaced") })))
  )
})
