import * as LanguageModel from "@effect/ai/LanguageModel"
import * as AiTool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as AiToolkit from "../../src/tool/AiToolkit.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import { Fatality } from "../../src/tool/ToolRunner.js"
import { call, layer, run } from "./RecordedRun.js"

class Prefix extends Context.Tag("test/Prefix")<Prefix, string>() {}
class Locale extends Context.Tag("test/Locale")<Locale, string>() {}
class Search extends Schema.TaggedRequest<Search>()("Search", {
  success: Schema.Array(Schema.String),
  failure: Schema.Never,
  payload: { query: Schema.String.annotations({ description: "What to look for" }) }
}) {}
class Missing extends Schema.TaggedError<Missing>()("Missing", { id: Schema.Number }) {}

const Localised = Schema.transformOrFail(Schema.String, Schema.String, {
  strict: true,
  decode: (text) => Effect.map(Locale, (locale) => `${locale}:${text}`),
  encode: (text) => Effect.succeed(text)
})

const kit = Toolkit.make(
  AiTool.make("read", {
    description: "Reads a row",
    parameters: { id: Schema.NumberFromString },
    success: Schema.Struct({ at: Schema.Date }),
    failure: Missing
  }).annotate(AiTool.Idempotent, true),
  AiTool.make("try", { parameters: { n: Schema.Number }, failure: Missing, failureMode: "return" }),
  AiTool.make("greet", { parameters: { name: Localised }, success: Schema.String, dependencies: [Locale] }),
  AiTool.make("now", { success: Schema.String }),
  AiTool.fromTaggedRequest(Search)
)

const handlers = kit.toLayer(
  Effect.map(Prefix, (prefix) =>
    kit.of({
      read: ({ id }) => (id > 9 ? Effect.fail(new Missing({ id })) : Effect.succeed({ at: new Date(id) })),
      try: ({ n }) => Effect.fail(new Missing({ id: n })),
      greet: ({ name }) => Effect.map(Locale, (locale) => `${prefix} ${name} ${locale}`),
      now: () => Effect.succeed("now"),
      Search: ({ query }) => Effect.succeed([query])
    })
  )
)

describe("fromToolkit", () => {
  const set = AiToolkit.fromToolkit(kit).pipe(Effect.provide(handlers), Effect.provideService(Prefix, "hello"))
  const answer = (name: string, params: unknown) =>
    Effect.flatMap(set, (set) => run(set, call(name, params))).pipe(Effect.provideService(Locale, "de"))

  it.effect("keeps the name, description, schemas and handler of each tool", () =>
    Effect.gen(function* () {
      const tools = yield* set
      assert.deepStrictEqual(tools.problems, [])
      assert.deepStrictEqual(
        tools.definitions.map(({ description, name }) => [name, description]),
        [
          ["read", "Reads a row"],
          ["try", "try"],
          ["greet", "greet"],
          ["now", "now"],
          ["Search", "Search"]
        ]
      )
      assert.deepStrictEqual(tools.get("now")?.parameters, {
        type: "object",
        properties: {},
        additionalProperties: false
      })
      assert.deepStrictEqual(tools.get("read")?.parameters["required"], ["id"])
      assert.strictEqual(tools.get("read")?.annotations.idempotent, true)
      assert.strictEqual(tools.get("try")?.annotations.idempotent, false)
      assert.deepStrictEqual((yield* answer("read", { id: "5" })).result, { at: "1970-01-01T00:00:00.005Z" })
      assert.strictEqual((yield* answer("now", {})).result, "now")
      assert.strictEqual((yield* answer("read", { id: "x" })).error?.tag, "ToolValidationError")
    })
  )

  it.effect("provides services of the handlers' layer, of the request and of schemas to the call", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* answer("greet", { name: "Ada" })).result, "hello de:Ada de")
    })
  )

  it.effect("ends the run on failures in mode error, and lets the model read them in mode return", () =>
    Effect.gen(function* () {
      const fatality = yield* Effect.flip(answer("read", { id: "10" }))
      assert.instanceOf(fatality, Fatality)
      assert.deepStrictEqual(fatality.encoded, { _tag: "Missing", id: 10 })
      const observed = yield* answer("try", { n: 3 })
      assert.isTrue(observed.isFailure)
      assert.include(observed.observation, "3")
    })
  )

  it.effect("does not ask for the tag of a tagged request", () =>
    Effect.gen(function* () {
      const parameters = (yield* set).get("Search")?.parameters
      assert.deepStrictEqual(parameters?.["properties"], { query: { type: "string", description: "What to look for" } })
      assert.deepStrictEqual(parameters?.["required"], ["query"])
      assert.deepStrictEqual((yield* answer("Search", { query: "x" })).result, ["x"])
      assert.deepStrictEqual((yield* answer("Search", "x")).result, ["x"])
      assert.include((yield* answer("Search", {})).observation, "query")
    })
  )

  it.effect("reports provider-executed tools as problems of the set", () =>
    Effect.gen(function* () {
      const WebSearch = AiTool.providerDefined({
        id: "openai.web_search",
        toolkitName: "WebSearch",
        providerName: "web_search",
        args: {}
      })
      const made = yield* AiToolkit.fromToolkit(Toolkit.make(WebSearch({})))
      assert.deepStrictEqual(
        made.problems.map((problem) => [problem.toolName, problem._tag]),
        [["WebSearch", "ToolDefinitionError"]]
      )
    })
  )
})

describe("toToolkit", () => {
  const set = ToolSet.make(
    Tool.make("math.double", {
      description: "Doubles",
      parameters: { n: Schema.NumberFromString },
      success: Schema.Struct({ n: Schema.Number }),
      idempotent: true,
      handler: ({ n }) => Effect.succeed({ n: n * 2 })
    }),
    Tool.make("lookup", {
      description: "Looks up",
      parameters: { id: Schema.Number },
      handler: ({ id }) => Effect.zipRight(Prefix, Effect.fail(new Missing({ id })))
    }).pipe(Tool.failOn("Missing")),
    Tool.make("soft", { description: "Fails", handler: () => Effect.fail("not today") })
  )
  const calling = (name: string, params: unknown) =>
    Effect.gen(function* () {
      const seen: Array<AiTool.Any> = []
      const model = yield* LanguageModel.make({
        generateText: (options) =>
          Effect.sync(() => {
            seen.push(...options.tools)
            return [{ type: "tool-call" as const, id: "c1", name, params, providerExecuted: false }]
          }),
        streamText: () => {
          throw new Error("not streamed")
        }
      })
      const toolkit = yield* AiToolkit.toToolkit(set, { maxResultChars: 50 })
      const response = yield* LanguageModel.generateText({ prompt: "go", toolkit }).pipe(
        Effect.provideService(LanguageModel.LanguageModel, model)
      )
      return { result: response.toolResults[0], seen }
    }).pipe(Effect.provide(layer()), Effect.provideService(Prefix, ""))

  it.effect("shows our tools to the model under accepted names, with their results", () =>
    Effect.gen(function* () {
      const { result, seen } = yield* calling("math_double", { n: "4" })
      assert.deepStrictEqual(
        seen.map((tool) => [tool.name, tool.description]),
        [
          ["math_double", "Doubles"],
          ["lookup", "Looks up"],
          ["soft", "Fails"]
        ]
      )
      assert.deepStrictEqual(AiTool.getJsonSchema(seen[0] as never), set.tools[0]?.parameters as never)
      assert.isTrue(Context.get(seen[0]?.annotations as Context.Context<never>, AiTool.Idempotent))
      assert.isFalse(Context.get(seen[1]?.annotations as Context.Context<never>, AiTool.Idempotent))
      assert.deepStrictEqual([result?.result, result?.isFailure], [{ n: 8 }, false])
    })
  )

  it.effect("lets the model read wrong arguments and failures as results", () =>
    Effect.gen(function* () {
      const wrong = yield* calling("math_double", { n: [] })
      assert.isTrue(wrong.result?.isFailure)
      assert.include(String(wrong.result?.result), "[TRUNCATED")
      const failed = yield* calling("soft", {})
      assert.deepStrictEqual(
        [failed.result?.result, failed.result?.isFailure],
        ['Error: "soft" failed: not today', true]
      )
    })
  )

  it.effect("fails the request with fatal failures", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(calling("lookup", { id: 7 }))
      if (error._tag !== "Missing") return assert.fail(error._tag)
      assert.strictEqual(error.id, 7)
    })
  )

  it.effect("converts a set from a toolkit back", () =>
    Effect.gen(function* () {
      const ours = yield* AiToolkit.fromToolkit(kit).pipe(Effect.provide(handlers), Effect.provideService(Prefix, "hi"))
      const back = yield* AiToolkit.toToolkit(ours)
      const { result } = yield* back.handle("read", { id: "2" } as never)
      assert.deepStrictEqual(result, { at: "1970-01-01T00:00:00.002Z" })
      assert.isTrue(Exit.isFailure(yield* Effect.exit(back.handle("read", { id: "20" } as never))))
    }).pipe(Effect.provide(layer()), Effect.provideService(Locale, "en"))
  )
})
