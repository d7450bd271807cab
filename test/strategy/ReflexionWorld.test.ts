/** A model that answers from what the request holds, in a world where only lessons help. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Evaluator from "../../src/strategy/definition/Evaluator.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as Reflexion from "../../src/strategy/reflexion/Reflexion.js"
import type * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as Strategies from "./Strategies.js"

const colours = ["red", "blue", "green", "white", "black"]

/** Doors of which one holds gold; a trial opens one. */
const world = (seed: number, toolName: string) =>
  Effect.gen(function* () {
    const doors = Array.from(yield* Random.shuffle(colours))
    const gold = doors[yield* Random.nextIntBetween(0, doors.length)] as string
    const opened: Array<string> = []
    const open = Tool.make(toolName, {
      description: "Opens a door",
      parameters: { door: Schema.String },
      handler: ({ door }) =>
        Effect.sync(() => {
          opened.push(door)
          return door === gold ? "gold" : "nothing"
        })
    })
    return { doors, gold, opened, tools: ToolSet.make(open) }
  }).pipe(Effect.withRandom(Random.make(seed)))

const contents = (request: LlmClient.LlmRequest) =>
  request.messages.map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)))

/** Opens the first door that no lesson speaks against. */
const model = (request: LlmClient.LlmRequest): TestModel.Turn | string => {
  const all = contents(request)
  if (request.tools === undefined) {
    const door = /"door":"(\w+)"/.exec(all.join("\n"))?.[1]
    return door === undefined ? "I know nothing." : `Behind the ${door} door there is nothing.`
  }
  const last = request.messages.at(-1)!
  if (last.role === "tool") return all.at(-1)!.includes("gold") ? "gold" : "nothing found"
  const doors = /doors: ([\w, ]+)/.exec(all.at(-1)!)![1]!.split(", ")
  const known = new Set(Array.from(all[0]!.matchAll(/Behind the (\w+) door/g), (match) => match[1]))
  const door = doors.find((one) => !known.has(one)) ?? doors[0]
  return { calls: [{ name: request.tools[0]!.name, params: { door } }] }
}

const solve = (seed: number, options: Reflexion.Options & { readonly toolName?: string; readonly reverse?: boolean }) =>
  Effect.gen(function* () {
    const { doors, gold, opened, tools } = yield* world(seed, options.toolName ?? "open")
    const shown = options.reverse === true ? [...doors].reverse() : doors
    const ran = yield* Strategies.run(
      Reflexion.make({
        maxTrials: doors.length,
        memorySize: doors.length,
        inner: FunctionCalling.make({ maxIterations: 2 }),
        evaluator: Evaluator.exactMatch("gold"),
        ...options
      }),
      model,
      { tools, task: { input: `Find the gold. There are doors: ${shown.join(", ")}` } }
    )
    const answer = yield* Effect.orDie(ran.exit)
    return { isSolved: answer.reason === "completed", opened, place: shown.indexOf(gold) + 1, ran }
  })

const seeds = Array.from({ length: 12 }, (_, seed) => seed)

describe("Reflexion in a world of doors", () => {
  it.effect("finds the gold by its lessons in the expected number of trials", () =>
    Effect.gen(function* () {
      for (const seed of seeds) {
        const { isSolved, opened, place, ran } = yield* solve(seed, {})
        assert.isTrue(isSolved)
        assert.strictEqual(opened.length, place)
        assert.lengthOf(new Set(opened), place)
        assert.strictEqual(ran.requests.length, place * 2 + place - 1)
      }
    })
  )

  it.effect("repeats the first trial without reflections", () =>
    Effect.gen(function* () {
      let solved = 0
      for (const seed of seeds) {
        const { isSolved, opened, place } = yield* solve(seed, { memorySize: 0 })
        assert.strictEqual(isSolved, place === 1)
        assert.lengthOf(new Set(opened), 1)
        if (isSolved) solved++
      }
      assert.isBelow(solved, seeds.length / 2)
    })
  )

  it.effect("forgets the first failures when the memory is too small", () =>
    Effect.gen(function* () {
      for (const seed of seeds) {
        const { isSolved, place } = yield* solve(seed, { memorySize: 1 })
        assert.strictEqual(isSolved, place <= 2)
      }
    })
  )

  it.effect("is not affected by another tool name or order of the doors", () =>
    Effect.gen(function* () {
      for (const seed of seeds) {
        assert.isTrue((yield* solve(seed, { toolName: "unlock_and_look" })).isSolved)
        assert.isTrue((yield* solve(seed, { reverse: true })).isSolved)
      }
    })
  )
})
