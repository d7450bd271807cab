import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as CacheBackend from "../../src/llm/CacheBackend.js"
import * as Strategy from "../../src/strategy/definition/Strategy.js"
import * as SelfDiscovery from "../../src/strategy/discovery/SelfDiscovery.js"
import * as Strategies from "./Strategies.js"

const discovered = [
  '{"selected": ["simplify"]}',
  '{"modules": [{"name": "simplify", "strategy": "use it"}]}',
  '{"steps": ["look"]}'
]
const solved = ["seen", "answer"]

const key = (task: Strategy.Task) => (task.input.startsWith("sum") ? "sums" : undefined)

const run = (
  backend: CacheBackend.Service,
  input: string,
  script: ReadonlyArray<string>,
  cache: Partial<SelfDiscovery.CacheOptions> = {}
) => {
  const strategy = SelfDiscovery.make({ cache: { key, ...cache } })
  const provided = Strategy.make("cached", (task) =>
    Effect.provideService(strategy.program(task), CacheBackend.CacheBackend, backend)
  )
  return Effect.tap(Strategies.run(provided, script, { task: { input } }), (ran) => ran.exit)
}

describe("a cache of structures", () => {
  it.effect("shares a structure among tasks of one kind until it expires", () =>
    Effect.gen(function* () {
      const backend = yield* CacheBackend.makeMemory()
      const ttl = "1 hour"
      assert.lengthOf((yield* run(backend, "sum of 1", [...discovered, ...solved], { ttl })).requests, 5)
      const second = yield* run(backend, "sum of 2", solved, { ttl })
      assert.deepStrictEqual(
        second.of("StepStarted").map((event) => event.name),
        ["ExecuteStep", "SynthesizeOutput"]
      )
      assert.deepStrictEqual(
        second.of("Plan")[0]?.steps.map((step) => step.description),
        ["look"]
      )
      yield* TestClock.adjust("2 hours")
      assert.lengthOf((yield* run(backend, "sum of 3", [...discovered, ...solved], { ttl })).requests, 5)
    })
  )

  it.effect("neither looks up nor keeps a task without a kind", () =>
    Effect.gen(function* () {
      const calls: Array<string> = []
      const backend: CacheBackend.Service = {
        get: (name) =>
          Effect.as(
            Effect.sync(() => calls.push(name)),
            Option.none()
          ),
        set: (name) => Effect.sync(() => void calls.push(name)),
        delete: () => Effect.void
      }
      yield* run(backend, "something else", [...discovered, ...solved])
      assert.deepStrictEqual(calls, [])
      yield* run(backend, "sum of 1", [...discovered, ...solved])
      assert.lengthOf(calls, 2)
      assert.strictEqual(calls[0], calls[1])
      assert.isTrue(calls[0]!.endsWith("/sums"))
    })
  )

  it.effect("overwrites a value that is not a structure", () =>
    Effect.gen(function* () {
      for (const broken of ["", "{", "null", '{"modules": [], "steps": []}', '{"modules": [], "steps": [""]}']) {
        const backend = yield* CacheBackend.makeMemory()
        let name = ""
        const spied: CacheBackend.Service = {
          ...backend,
          get: (asked) => {
            name = asked
            return Effect.as(backend.get(asked), Option.some(broken))
          }
        }
        assert.lengthOf((yield* run(spied, "sum of 1", [...discovered, ...solved])).requests, 5)
        assert.deepStrictEqual(JSON.parse(Option.getOrThrow(yield* backend.get(name))).steps, ["look"])
      }
    })
  )

  it.effect("ignores and reports a failing backend", () =>
    Effect.gen(function* () {
      const failure = (operation: "get" | "set") =>
        new CacheBackend.CacheBackendError({ message: `no ${operation}`, operation })
      const backend: CacheBackend.Service = {
        get: () => Effect.fail(failure("get")),
        set: () => Effect.fail(failure("set")),
        delete: () => Effect.void
      }
      const ran = yield* run(backend, "sum of 1", [...discovered, ...solved])
      assert.strictEqual((yield* ran.exit).text, "answer")
      assert.deepStrictEqual(
        ran.of("Degraded").map(({ error, stage }) => [stage, error.message]),
        [
          ["structure-cache", "no get"],
          ["structure-cache", "no set"]
        ]
      )
    })
  )
})
