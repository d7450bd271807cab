/** Both planners over a model that answers from the content of its request, in worlds whose answer is known. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmCompiler from "../../src/strategy/compiler/LlmCompiler.js"
import type * as Strategy from "../../src/strategy/definition/Strategy.js"
import * as ReWoo from "../../src/strategy/ReWoo.js"
import * as PlanWorlds from "./PlanWorlds.js"
import * as Strategies from "./Strategies.js"

type Model = (request: LlmClient.LlmRequest) => string

/** A plan from the request; the results, and what to do when they are not enough. */
const compiler =
  (reverse: boolean): Model =>
  (request) => {
    const text = PlanWorlds.textOf(request)
    const steps = PlanWorlds.stepsOf(PlanWorlds.sumIn(text))
    if (text.includes("Further plans that may be asked for")) {
      const results = Array.from(text.matchAll(/^\d+\. .* \[(\w+)\]\n {2}(.*)$/gm), ([, status, value]) => ({
        status,
        value
      }))
      const round = results.slice(-steps.length)
      // The step that no other needs is the last of the sum, wherever it stands.
      const value = reverse ? round[0] : round.at(-1)
      return request.responseFormat?.type === "json"
        ? JSON.stringify(
            value?.status === "completed"
              ? { action: "finish", answer: value.value }
              : { action: "replan", feedback: "a call failed" }
          )
        : value?.status === "completed"
          ? `Thought: done\nAction: Finish(${value.value})`
          : "Thought: a call failed\nAction: Replan(do it again)"
    }
    const from = Number(/begins with number (\d+)/.exec(text)?.[1] ?? 1) - 1
    const tools = PlanWorlds.toolsIn(text)
    const shown = (part: PlanWorlds.Step["left"]) => (typeof part === "number" ? part : `$${part.step + from}`)
    const ordered = reverse ? [...steps].reverse() : steps
    if (request.responseFormat?.type === "json") {
      return JSON.stringify({
        tasks: ordered.map(({ id, left, right, sign }) => ({
          id: id + from,
          tool: tools.get(sign),
          args: { right: shown(right), left: shown(left) }
        }))
      })
    }
    return ordered
      .map(({ id, left, right, sign }) => `${id + from}. ${tools.get(sign)}(${shown(left)}, ${shown(right)})\n`)
      .join("")
  }

const rewoo =
  (reverse: boolean): Model =>
  (request) => {
    const text = PlanWorlds.textOf(request)
    const steps = PlanWorlds.stepsOf(PlanWorlds.sumIn(text))
    const last = `#E${steps.length}`
    if (text.includes("Evidence:\n\n"))
      return new RegExp(`^${last} \\[completed\\]\\n {2}(.*)$`, "m").exec(text)?.[1] ?? "unknown"
    const tools = PlanWorlds.toolsIn(text)
    const shown = (part: PlanWorlds.Step["left"]) => (typeof part === "number" ? part : `#E${part.step}`)
    const ordered = reverse ? [...steps].reverse() : steps
    if (request.responseFormat?.type === "json") {
      return JSON.stringify({
        steps: ordered.map(({ id, left, right, sign }) => ({
          plan: `do ${sign}`,
          variable: `#E${id}`,
          tool: tools.get(sign),
          input: { left: shown(left), right: shown(right) }
        }))
      })
    }
    return ordered
      .map(
        ({ id, left, right, sign }) =>
          `Plan: do ${sign}\n#E${id} = ${tools.get(sign)}[{"left": "${shown(left)}", "right": "${shown(right)}"}]`
      )
      .join("\n")
  }

const solve = (strategy: Strategy.Strategy, model: Model, seed: number, options: PlanWorlds.Options = {}) =>
  Effect.gen(function* () {
    const given = yield* PlanWorlds.world(seed, options)
    const run = Strategies.run(strategy, model, { tools: given.tools, task: { input: given.input } })
    // Only what takes time needs a clock that is moved.
    const ran =
      options.ms === undefined
        ? yield* run
        : yield* Effect.flatMap(Effect.fork(run), (fiber) =>
            Effect.zipRight(TestClock.adjust(100_000), Fiber.join(fiber))
          )
    const started = ran.of("ToolCall")[0]?.at ?? 0
    const ended = ran.of("ToolResult").at(-1)?.at ?? 0
    return {
      ...given,
      ran,
      text: (yield* Effect.orDie(ran.exit)).text,
      elapsed: ended - started,
      operations: PlanWorlds.operations(given.sum)
    }
  })

const seeds = Array.from({ length: 10 }, (_, seed) => seed)

const strategies = {
  "llm-compiler": { make: LlmCompiler.make, model: compiler },
  rewoo: { make: ReWoo.make, model: rewoo }
}

for (const [name, { make, model }] of Object.entries(strategies)) {
  describe(`${name} in a world of sums`, () => {
    for (const format of ["json", "text"] as const) {
      it.effect(
        `finds every sum by plans in ${format}: each operation once, in two model calls, in the time of its depth`,
        () =>
          Effect.gen(function* () {
            for (const seed of seeds) {
              const ms = seed < 4 ? 10 : undefined
              const found = yield* solve(make({ format, maxParallel: 100 }), model(false), seed, { ms })
              assert.strictEqual(found.text, String(PlanWorlds.valueOf(found.sum)))
              assert.deepStrictEqual(
                [found.calls.length, found.ran.requests.length, found.elapsed],
                [found.operations, 2, found.depth * (ms ?? 0)]
              )
            }
          })
      )
    }

    it.effect("is not affected by another order of the plan, other tool names or concurrency", () =>
      Effect.gen(function* () {
        for (const seed of seeds) {
          const expected = (yield* solve(make({ format: "text" }), model(false), seed)).text
          assert.strictEqual((yield* solve(make({ format: "text" }), model(true), seed)).text, expected)
          assert.strictEqual((yield* solve(make(), model(true), seed)).text, expected)
          assert.strictEqual((yield* solve(make(), model(false), seed, { prefix: "do_the_" })).text, expected)
          const ms = seed < 2 ? 10 : undefined
          const alone = yield* solve(make({ maxParallel: 1 }), model(false), seed, { ms })
          assert.deepStrictEqual([alone.text, alone.elapsed], [expected, alone.operations * (ms ?? 0)])
        }
      })
    )
  })
}

describe("the cost of a failed call", () => {
  it.effect("llm-compiler plans again and finds the sum with two more model calls", () =>
    Effect.gen(function* () {
      for (const seed of seeds) {
        for (const format of ["json", "text"] as const) {
          const found = yield* solve(LlmCompiler.make({ format, toolMaxRetries: 1 }), compiler(false), seed, {
            failFirst: true
          })
          assert.strictEqual(found.text, String(PlanWorlds.valueOf(found.sum)))
          assert.lengthOf(found.ran.requests, 4)
        }
      }
    })
  )

  it.effect("rewoo says that it does not know, because it looks only once", () =>
    Effect.gen(function* () {
      for (const seed of seeds) {
        const found = yield* solve(ReWoo.make({ toolMaxRetries: 1 }), rewoo(false), seed, { failFirst: true })
        assert.deepStrictEqual([found.text, found.ran.requests.length], ["unknown", 2])
      }
    })
  )
})
