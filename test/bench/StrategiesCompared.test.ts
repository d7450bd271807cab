/** The comparison of strategies: what its solver may know, that it is the same each time, and what the page says. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Comparison from "../../bench/strategies/Comparison.js"
import * as Noise from "../../bench/strategies/Noise.js"
import * as Reading from "../../bench/strategies/Reading.js"
import * as Solver from "../../bench/strategies/Solver.js"
import * as Worlds from "../../bench/strategies/Worlds.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as BuiltInStrategies from "../../src/strategy/BuiltInStrategies.js"
import * as TestModel from "../../src/testing/TestModel.js"

const page = Fs.readFileSync(Path.join(import.meta.dirname, "../../docs/strategies-compared.md"), "utf8")

const never: Solver.Rates = { slip: 0, lapse: 0, blur: 0 }

const always: Solver.Rates = { slip: 1, lapse: 1, blur: 1 }

const tool = (finds: string, of: string): LlmClient.ToolDefinition => ({
  name: `find_${finds.toLowerCase()}`,
  description: `Finds the ${finds} of a ${of}.`,
  parameters: { type: "object" }
})

const tools = [tool("DEPOT", "PARCEL"), tool("PORT", "DEPOT"), tool("ROUTE", "PARCEL")]

const ask = (...texts: ReadonlyArray<string>): LlmClient.LlmRequest => ({
  messages: ["What is the PORT of PARCEL-1?", ...texts].map((content) => ({ role: "user", content })),
  tools
})

const first = "Record: the DEPOT of PARCEL-1 is DEPOT-2."

const second = "Record: the PORT of DEPOT-2 is PORT-3."

const judging = (answer: string): LlmClient.LlmRequest => ({
  messages: [{ role: "user", content: `What is the PORT of PARCEL-1? ${first} ${second} ${answer}` }]
})

describe("the solver", () => {
  it("calls the tool that leads on from what the request shows", () => {
    const solve = Solver.make(never, 1)
    assert.deepStrictEqual(solve(ask()).calls, [{ name: "find_depot", params: { of: "PARCEL-1" } }])
    assert.deepStrictEqual(solve(ask(first)).calls, [{ name: "find_port", params: { of: "DEPOT-2" } }])
    assert.strictEqual(solve(ask(first, second)).text, `Answer: the PORT of PARCEL-1 is PORT-3. ${first} ${second}`)
  })

  it("knows no record that the request does not show", () => {
    const { calls, text } = Solver.make(never, 1)({ messages: ask(second).messages })
    assert.isUndefined(calls)
    assert.strictEqual(text, "The PORT of PARCEL-1 is not known.")
  })

  it("does not take the record of another identifier, and asks again", () => {
    const wrong = "Record: the DEPOT of PARCEL-9 is DEPOT-9."
    assert.deepStrictEqual(Solver.make(never, 1)(ask(wrong)).calls, [
      { name: "find_depot", params: { of: "PARCEL-1" } }
    ])
  })

  it("gives up a tool that knows of no record", () => {
    assert.isUndefined(Solver.make(never, 1)(ask("There is no DEPOT of PARCEL-1.")).calls)
  })

  it("slips and lapses at its rates", () => {
    const solve = Solver.make(always, 1)
    assert.notStrictEqual(solve(ask()).calls?.[0]?.name, "find_depot")
    const note = "Note: the PORT of PARCEL-1 is PORT-8, as far as I remember."
    const { text } = solve({ messages: ask(first, second, note).messages })
    assert.strictEqual(text, "Answer: the PORT of PARCEL-1 is PORT-8.")
  })

  it("reads the last answer, and whether the records lead to it", () => {
    const { claims, ways } = Reading.read(judging("Answer: the PORT of PARCEL-1 is PORT-4."))
    assert.deepStrictEqual(Array.from(claims), [["PARCEL-1", "PORT-4"]])
    assert.deepStrictEqual(
      ways.map(({ at, isDone }) => [at, isDone]),
      [["PORT-3", true]]
    )
  })

  it("ends on records that lead in a circle", () => {
    const circle = ask(first, "Record: the PARCEL of DEPOT-2 is PARCEL-1.")
    assert.isFalse(Reading.read(circle).ways[0]?.isDone)
  })

  it("says the same to the same requests, and errs elsewhere when asked again", () => {
    const rates = { slip: 0.5, lapse: 0.5, blur: 0.5 }
    const replies = (seed: number) => {
      const solve = Solver.make(rates, seed)
      return Array.from({ length: 20 }, () => solve(ask()).calls?.[0]?.name)
    }
    assert.deepStrictEqual(replies(1), replies(1))
    assert.notDeepEqual(replies(1), replies(2))
    assert.strictEqual(new Set(replies(1)).size, 3)
  })

  it("draws evenly from texts that differ in one character", () => {
    const drawn = Array.from({ length: 10_000 }, (_, index) => Noise.make(`prompt ${index}`).next())
    for (let tenth = 0; tenth < 10; tenth++) {
      const count = drawn.filter((value) => Math.floor(10 * value) === tenth).length
      assert.isTrue(count > 850 && count < 1150, `${count} in tenth ${tenth}`)
    }
  })
})

describe("the worlds", () => {
  it.effect("lead from what is named to what is expected, and are the same each time", () =>
    Effect.gen(function* () {
      const datasets = yield* Worlds.datasets(10)
      assert.deepStrictEqual(
        datasets.map(({ name, version }) => [name, version]),
        (yield* Worlds.datasets(10)).map(({ name, version }) => [name, version])
      )
      const told = datasets[2]!.cases
      for (const { expected, input } of [...datasets.slice(0, 2).flatMap(({ cases }) => cases), ...told]) {
        const records = input.facts.map(({ kind, of, value }) => `Record: the ${kind} of ${of} is ${value}.`)
        const content = [input.question, ...records].join("\n")
        const { ways } = Reading.read({ messages: [{ role: "user", content }] })
        assert.deepStrictEqual(
          ways.map(({ at }) => at),
          expected
        )
      }
      assert.isTrue(told.every(({ input }) => input.question.includes("Note: ") && input.facts.length === 0))
    })
  )

  it.effect("give each record after at most one fault, and count the calls", () =>
    Effect.gen(function* () {
      const { cases } = (yield* Worlds.datasets(30))[1]!
      const seen = new Set<string>()
      for (const { input } of cases) {
        const { calls, find } = Worlds.open(input)
        for (const { kind, of, value } of input.facts) {
          const fault = input.faults[of]
          const before = yield* Effect.either(find(kind, Worlds.kindOf(of), of))
          const after = yield* find(kind, Worlds.kindOf(of), `The ${kind} of ${of}`)
          assert.strictEqual(after, `Record: the ${kind} of ${of} is ${value}.`)
          assert.strictEqual(Either.isRight(before) && before.right === after, fault === undefined)
          assert.strictEqual(Either.isLeft(before), fault === "fails")
          if (fault !== undefined) seen.add(fault)
        }
        assert.strictEqual(calls(), 2 * input.facts.length)
      }
      assert.deepStrictEqual(Array.from(seen).sort(), ["fails", "late", "wrong"])
    })
  )
})

describe("the comparison", () => {
  it("has every strategy of the registry", () => {
    assert.deepStrictEqual(Comparison.missing, [])
    for (const name of Object.keys(BuiltInStrategies.loaders)) {
      assert.lengthOf(page.match(new RegExp(`^\\| \`${name}\` \\|`, "gm")) ?? [], 3, name)
    }
  })

  it.effect("is the same however many trials run at once", () =>
    Effect.gen(function* () {
      const options = { ...Comparison.offline, size: 2, names: ["lats", "llm-compiler", "storm", "supervisor"] }
      const alone = yield* Comparison.compare({ ...options, concurrency: 1 })
      assert.deepStrictEqual(yield* Comparison.compare({ ...options, concurrency: 16 }), alone)
    })
  )

  it.effect("counts the model calls and tool calls of agents that were delegated to", () =>
    Effect.gen(function* () {
      let asked = 0
      const solve = Solver.make(never, 1)
      const model = TestModel.layer((request) => {
        asked += 1
        return solve(request)
      })
      const [plans] = yield* Comparison.compare({ model, size: 3, names: ["supervisor"] })
      const [row] = plans!.rows
      assert.strictEqual(row!.solved, 1)
      assert.isAtLeast(row!.toolCalls, 2)
      const [, faults, distractors] = yield* Comparison.compare({ model, size: 3, names: ["supervisor"] })
      const all = [plans, faults, distractors].reduce((sum, one) => sum + 3 * one!.rows[0]!.modelCalls, 0)
      assert.strictEqual(Math.round(2 * all), asked)
    })
  )

  it.effect("begins no run once the budget of all datasets is spent", () =>
    Effect.gen(function* () {
      const model = TestModel.layer(Solver.make(never, 1), { model: "priced" })
      const options = { model, size: 3, names: ["react"], concurrency: 1 }
      const whole = yield* Comparison.compare(options)
      const spent = whole[0]!.costUsd
      assert.isAbove(spent, 0)
      const [plans, faults, distractors] = yield* Comparison.compare({ ...options, maxCostUsd: spent })
      assert.deepStrictEqual([plans!.isOverBudget, plans!.rows], [false, whole[0]!.rows])
      assert.deepStrictEqual([faults!.isOverBudget, faults!.rows, distractors!.rows], [true, [], []])
    }).pipe(Effect.provide(CostEstimator.layerPrices({ priced: { input: 1, output: 1 } })))
  )

  it("refuses a page that lacks a table", () => {
    const compared = [{ dataset: "plans", rows: [], costUsd: 0, isOverBudget: false }]
    assert.throws(() => Comparison.withTables("# A page", compared), "There is no place for the table plans")
  })

  it.live(
    "is what the page says: else run npm run compare:strategies",
    () =>
      Effect.gen(function* () {
        const compared = yield* Comparison.compare(Comparison.offline)
        assert.strictEqual(Comparison.withTables(page, compared), page)
      }),
    180_000
  )
})
