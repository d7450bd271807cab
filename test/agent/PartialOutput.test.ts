import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as PartialOutput from "../../src/agent/PartialOutput.js"
import type * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Runs from "../support/Runs.js"

const Recipe = Schema.Struct({
  title: Schema.String,
  steps: Schema.Array(Schema.Struct({ text: Schema.String, minutes: Schema.NumberFromString })),
  level: Schema.Literal("easy", "hard")
})

const recipe = { title: "Soup", steps: [{ text: "Boil water", minutes: "10" }], level: "easy" }
const pieces = (text: string): ReadonlyArray<string> => text.match(/.{1,9}/g) ?? []

const partials = <A, I>(
  schema: Schema.Schema<A, I>,
  script: ReadonlyArray<TestModel.ScriptItem>,
  options: { readonly strategy?: string; readonly tools?: ReadonlyArray<Tool.Any> } = {}
) =>
  AgentExecutor.stream(
    Agent.make("cook", { output: schema as Schema.Schema<any, any>, ...options } as object),
    "go"
  ).pipe(
    PartialOutput.fromEvents(schema),
    Stream.runCollect,
    Effect.map((all) => Array.from(all)),
    Effect.provide(Runs.layer(script))
  ) as unknown as Effect.Effect<ReadonlyArray<PartialOutput.DeepPartial<I>>>

describe("a partial output", () => {
  it.effect("grows to the whole output, in its encoded form", () =>
    Effect.gen(function* () {
      const seen = yield* partials(Recipe, [{ text: pieces(JSON.stringify(recipe)) }])
      assert.deepStrictEqual(seen.slice(0, 5), [
        {},
        { title: "Soup" },
        { title: "Soup", steps: [{}] },
        { title: "Soup", steps: [{ text: "Bo" }] },
        { title: "Soup", steps: [{ text: "Boil water" }] }
      ])
      assert.deepStrictEqual(seen.at(-1), recipe as any)
      for (const { title } of seen) assert.isTrue("Soup".startsWith(title ?? ""))
    })
  )

  it.effect("starts behind steps with tools, and is whole behind an answer that did not fit", () =>
    Effect.gen(function* () {
      const look = Tool.make("look", { description: "Looks", handler: () => Effect.succeed("seen") })
      const seen = yield* partials(
        Recipe,
        [
          { text: "I look first.", calls: [{ name: "look" }] },
          { text: pieces(JSON.stringify({ ...recipe, level: "odd" })) },
          { text: pieces(JSON.stringify({ ...recipe, title: "Stew" })) }
        ],
        { strategy: "function_calling", tools: [look] }
      )
      const levels = seen.map(({ level }) => level)
      assert.include(levels, "odd")
      const whole = { ...recipe, title: "Stew" } as any
      assert.deepStrictEqual(seen.slice(levels.lastIndexOf("odd") + 1), [whole, whole], "its text, and `Message`")
    })
  )

  it.effect("starts again behind an answer that a validator rejected", () =>
    Effect.gen(function* () {
      const cook = Agent.make("cook", { output: Recipe, strategy: "function_calling" }).pipe(
        Agent.withValidator(({ title }) => (title === "Soup" ? Agent.reject("No soup") : Effect.void))
      )
      const texts = [recipe, { ...recipe, title: "Stew" }].map((one) => ({ text: pieces(JSON.stringify(one)) }))
      const seen = yield* AgentExecutor.stream(cook, "go").pipe(
        PartialOutput.fromEvents(Recipe),
        Stream.runCollect,
        Effect.provide(Runs.layer(texts))
      )
      const titles = Array.from(seen, ({ title }) => title)
      assert.deepStrictEqual(Array.from(new Set(titles)), [undefined, "Soup", "Stew"])
      assert.isUndefined(titles[titles.lastIndexOf("Soup") + 1])
      assert.deepStrictEqual(titles.at(-1), "Stew")
    })
  )

  it.effect("of a list or a text is the value itself", () =>
    Effect.gen(function* () {
      const list = yield* partials(Schema.Array(Schema.String), [{ text: pieces('{"value":["a","bcdef","g"]}') }])
      assert.deepStrictEqual(list.at(0), ["a", "bcd"] as any)
      assert.deepStrictEqual(list.at(-1), ["a", "bcdef", "g"])
      for (const one of list) assert.isTrue(Array.isArray(one))
    })
  )

  it.effect("is only the last value where the text is not JSON, or not shown", () =>
    Effect.gen(function* () {
      const fenced = yield* partials(Recipe, [{ text: ["Sure: ", JSON.stringify(recipe)] }])
      assert.deepStrictEqual(fenced, [recipe as any])
    })
  )

  it.effect("leaves the outputs of delegated agents out", () =>
    Effect.gen(function* () {
      const sub = Agent.make("sub", { output: Recipe })
      const seen = yield* partials(
        Schema.Struct({ done: Schema.Boolean }),
        [
          { calls: [{ name: "delegate_to_sub", params: { message: "cook" } }] },
          { text: pieces(JSON.stringify(recipe)) },
          { text: ['{"do', 'ne":true}'] }
        ],
        { strategy: "function_calling", tools: [AgentTool.make(sub) as unknown as Tool.Any] }
      )
      assert.deepStrictEqual(seen, [{}, { done: true }, { done: true }])
    })
  )
})
