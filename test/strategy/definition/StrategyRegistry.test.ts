import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Strategy from "../../../src/strategy/definition/Strategy.js"
import * as StrategyRegistry from "../../../src/strategy/definition/StrategyRegistry.js"

const own = (name: string) =>
  Strategy.make(name, () => Effect.succeed({ text: name, reason: "completed" as const, messages: [] }))

const named = (name: string, options: StrategyRegistry.Options = {}): StrategyRegistry.Named => ({
  _tag: "Named",
  name,
  options
})

const refusal = (service: StrategyRegistry.Service, name: string): Effect.Effect<string> =>
  Effect.orDieWith(Effect.flip(service.resolve(named(name))), () => new Error(`${name} was resolved`))

describe("StrategyRegistry", () => {
  const registry = StrategyRegistry.make({ react: () => own("react"), function_calling: () => own("function_calling") })

  it.effect("names the known strategies and the nearest one when a name is unknown", () =>
    Effect.gen(function* () {
      assert.include(yield* refusal(registry, "reakt"), 'did you mean "react"?')
      assert.include(yield* refusal(registry, "Function-Calling"), 'did you mean "function_calling"?')
      assert.notInclude(yield* refusal(registry, "something else"), "did you mean")
      assert.include(yield* refusal(registry, "reakt"), "Known: function_calling, react")
      assert.isBelow((yield* refusal(registry, "x".repeat(10_000))).length, 1000)
    })
  )

  it.effect("does not take inherited keys for names", () =>
    Effect.forEach(["constructor", "toString", "__proto__", ""], (name) => refusal(registry, name))
  )

  it.effect("makes a strategy once per options object and name, and passes it the options", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const factory = (options: unknown) => {
        seen.push(options)
        return own("a")
      }
      const registry = StrategyRegistry.make({ a: factory, b: factory })
      const options = { maxIterations: 3 }
      const first = yield* registry.resolve(named("a", options))
      assert.strictEqual(yield* registry.resolve(named("a", options)), first)
      assert.deepStrictEqual(seen, [options])
      assert.notStrictEqual(yield* registry.resolve(named("b", options)), first)
      assert.notStrictEqual(yield* registry.resolve(named("a", { ...options })), first)
      assert.lengthOf(seen, 3)
    })
  )

  it.effect("loads a factory once, when it is first named", () =>
    Effect.gen(function* () {
      let loads = 0
      const loader = Effect.sync((): StrategyRegistry.Factory => {
        loads++
        return () => own("late")
      })
      const registry = StrategyRegistry.make({ a: () => own("a") }, { late: loader, a: Effect.die("never loaded") })
      assert.deepStrictEqual(registry.names, ["a", "late"])
      yield* registry.resolve(named("a"))
      assert.strictEqual(loads, 0)
      assert.strictEqual((yield* registry.resolve(named("late"))).name, "late")
      yield* registry.resolve(named("late"))
      assert.strictEqual(loads, 1)
    })
  )

  it.effect("describes a factory that throws or makes something else", () =>
    Effect.gen(function* () {
      const registry = StrategyRegistry.make({
        throwing: () => {
          throw new TypeError("no such mode")
        },
        wrong: (() => ({ name: "wrong" })) as never,
        none: (() => undefined) as never
      })
      assert.strictEqual(yield* refusal(registry, "throwing"), 'The strategy "throwing" cannot be made: no such mode')
      assert.strictEqual(yield* refusal(registry, "wrong"), 'The factory of "wrong" does not make a strategy')
      assert.strictEqual(yield* refusal(registry, "none"), 'The factory of "none" does not make a strategy')
    })
  )
})
