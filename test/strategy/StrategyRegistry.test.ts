import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FunctionCalling from "../../src/strategy/FunctionCalling.js"
import * as Strategy from "../../src/strategy/reasoning/Strategy.js"
import * as StrategyRegistry from "../../src/strategy/StrategyRegistry.js"

const own = (name: string) =>
  Strategy.make(name, () => Effect.succeed({ text: name, reason: "completed" as const, messages: [] }))

const named = (name: string, options: StrategyRegistry.Options = {}): StrategyRegistry.Named => ({
  _tag: "Named",
  name,
  options
})

const left = (service: StrategyRegistry.Service, name: string): string =>
  Either.getOrThrow(Either.flip(service.resolve(named(name))))

describe("StrategyRegistry", () => {
  it.effect("knows what ships with the library, sorted", () =>
    Effect.gen(function* () {
      const registry = yield* StrategyRegistry.StrategyRegistry
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
      assert.deepStrictEqual([...registry.names].sort(), [...registry.names])
      for (const name of registry.names) {
        assert.strictEqual(Either.getOrThrow(registry.resolve(named(name))).name, name)
      }
    }).pipe(Effect.provide(StrategyRegistry.layerDefaults))
  )

  it("says which names there are, and the nearest", () => {
    const registry = StrategyRegistry.make(StrategyRegistry.builtIn)
    assert.include(left(registry, "reakt"), 'did you mean "react"?')
    assert.include(left(registry, "Function-Calling"), 'did you mean "function_calling"?')
    assert.notInclude(left(registry, "something else"), "did you mean")
    assert.include(left(registry, "reakt"), "Known: ")
    assert.isBelow(left(registry, "x".repeat(10_000)).length, 1000)
  })

  it("keys of objects are no names", () => {
    const registry = StrategyRegistry.make(StrategyRegistry.builtIn)
    for (const name of ["constructor", "toString", "__proto__", ""]) {
      assert.isTrue(Either.isLeft(registry.resolve(named(name))))
    }
  })

  it.effect("own strategies stand beside the built-in ones and win over them", () =>
    Effect.gen(function* () {
      const registry = yield* StrategyRegistry.StrategyRegistry
      assert.include(registry.names, "mine")
      assert.strictEqual(Either.getOrThrow(registry.resolve(named("react"))).name, "replaced")
    }).pipe(Effect.provide(StrategyRegistry.layer({ mine: () => own("mine"), react: () => own("replaced") })))
  )

  it("makes a strategy once an options object and name, and hands it the options", () => {
    const seen: Array<unknown> = []
    const factory = (options: unknown) => {
      seen.push(options)
      return own("a")
    }
    const registry = StrategyRegistry.make({ a: factory, b: factory, c: FunctionCalling.make })
    const options = { maxIterations: 3 }
    const first = Either.getOrThrow(registry.resolve(named("a", options)))
    assert.strictEqual(Either.getOrThrow(registry.resolve(named("a", options))), first)
    assert.deepStrictEqual(seen, [options])
    assert.notStrictEqual(Either.getOrThrow(registry.resolve(named("b", options))), first)
    assert.notStrictEqual(Either.getOrThrow(registry.resolve(named("a", { ...options }))), first)
    assert.lengthOf(seen, 3)
  })

  it("a factory that throws, or makes something else, says so and breaks nothing", () => {
    const registry = StrategyRegistry.make({
      throwing: () => {
        throw new TypeError("no such mode")
      },
      wrong: (() => ({ name: "wrong" })) as never,
      none: (() => undefined) as never
    })
    assert.strictEqual(left(registry, "throwing"), 'The strategy "throwing" cannot be made: no such mode')
    assert.strictEqual(left(registry, "wrong"), 'The factory of "wrong" does not make a strategy')
    assert.strictEqual(left(registry, "none"), 'The factory of "none" does not make a strategy')
  })
})
