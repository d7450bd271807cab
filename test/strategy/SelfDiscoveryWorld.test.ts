/** A model that can do only what a step tells it, and answers from what the request holds. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as TestClock from "effect/TestClock"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as ReasoningModules from "../../src/strategy/discovery/ReasoningModules.js"
import * as SelfDiscovery from "../../src/strategy/discovery/SelfDiscovery.js"
import type * as TestModel from "../../src/testing/TestModel.js"
import * as Strategies from "./Strategies.js"

/** What each way of thinking, adapted to such tasks, has one do. */
const uses: { readonly [name: string]: string } = {
  identify_constraints: "Keep the numbers that meet the condition.",
  model_and_compute: "Add up what was kept."
}

const numbers = (text: string) => Array.from(text.matchAll(/-?\d+/g), (match) => Number(match[0]))

const model =
  (delay: (name: string) => number) =>
  (request: LlmClient.LlmRequest): TestModel.Turn | string => {
    const asked = String(request.messages.at(-1)!.content)
    const line = (pattern: RegExp) => pattern.exec(asked)?.[1] ?? ""
    switch (request.responseFormat?.type === "json" ? request.responseFormat.name : "") {
      case "selected_modules": {
        const listed = Array.from(asked.matchAll(/^- (\w+):/gm), (match) => match[1]!)
        return JSON.stringify({ selected: [...listed.filter((name) => name in uses), "hunch"] })
      }
      case "adapted_modules": {
        const name = line(/## Module: (\w+)/)
        return { text: JSON.stringify({ modules: [{ name, strategy: uses[name] }] }), delay: delay(name) }
      }
      case "reasoning_plan":
        // The order of the work is that of the task, not that in which the modules stand.
        return JSON.stringify({ steps: Object.values(uses).filter((use) => asked.includes(use)) })
    }
    const step = line(/## This step\n\n(.+)/)
    const [condition, given] = /the (even|odd) ones among ([-\d, ]+)/.exec(asked)!.slice(1) as [string, string]
    if (step.startsWith("Keep")) {
      const kept = numbers(given).filter((n) => (Math.abs(n) % 2 === 0) === (condition === "even"))
      return `Kept: ${kept.join(", ")}`
    }
    if (step.startsWith("Add")) {
      const kept = line(/Kept: ([-\d, ]*)/)
      return `Sum: ${(kept === "" ? numbers(given) : numbers(kept)).reduce((a, b) => a + b, 0)}`
    }
    return line(/Sum: (-?\d+)/)
  }

const solve = (
  seed: number,
  options: { readonly modules?: SelfDiscovery.Options["modules"]; readonly delay?: (name: string) => number } = {}
) =>
  Effect.gen(function* () {
    const given = yield* Effect.replicateEffect(Random.nextIntBetween(-50, 50), 8)
    const isEven = yield* Random.nextBoolean
    const best = given.filter((n) => (Math.abs(n) % 2 === 0) === isEven).reduce((a, b) => a + b, 0)
    const modules = options.modules ?? Array.from(yield* Random.shuffle(ReasoningModules.all))
    const input = `The sum of the ${isEven ? "even" : "odd"} ones among ${given.join(", ")}`
    const fiber = yield* Effect.fork(
      Strategies.run(SelfDiscovery.make({ modules }), model(options.delay ?? (() => 0)), { task: { input } })
    )
    yield* TestClock.adjust("1 minute")
    const ran = yield* Fiber.join(fiber)
    return { best: String(best), found: (yield* Effect.orDie(ran.exit)).text, ran }
  }).pipe(Effect.withRandom(Random.make(seed)))

const seeds = Array.from({ length: 10 }, (_, seed) => seed)

describe("Self-Discover on sums with a condition", () => {
  it.effect("reaches the sum by the selected modules, in whatever order they are offered", () =>
    Effect.gen(function* () {
      for (const seed of seeds) {
        const { best, found, ran } = yield* solve(seed)
        assert.strictEqual(found, best)
        assert.lengthOf(ran.requests, 1 + 2 + 1 + 2 + 1)
      }
    })
  )

  it.effect("adds up everything without the module that looks at conditions", () =>
    Effect.gen(function* () {
      const modules = ReasoningModules.all.filter((one) => one.name !== "identify_constraints")
      let wrong = 0
      for (const seed of seeds) {
        const { best, found } = yield* solve(seed, { modules })
        if (found !== best) wrong++
      }
      assert.isAbove(wrong, seeds.length / 2)
    })
  )

  it.effect("is not affected by the order of adaptations", () =>
    Effect.gen(function* () {
      const modules = ["identify_constraints", "model_and_compute"] as const
      for (const seed of seeds.slice(0, 3)) {
        const first = yield* solve(seed, { modules, delay: (name) => (name === modules[0] ? 10 : 1) })
        const second = yield* solve(seed, { modules, delay: (name) => (name === modules[0] ? 1 : 10) })
        assert.deepStrictEqual([first.found, second.found], [first.best, first.best])
        assert.deepStrictEqual(first.ran.requests.at(3)!.messages, second.ran.requests.at(3)!.messages)
      }
    })
  )
})
