import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { StrategyConfigurationError } from "../../../src/strategy/definition/StrategyError.js"
import * as Storm from "../../../src/strategy/storm/Storm.js"
import * as StormArticle from "../../../src/strategy/storm/StormArticle.js"
import * as StormRetrieval from "../../../src/strategy/storm/StormRetrieval.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import { Fatality } from "../../../src/tool/ToolRunner.js"
import * as Strategies from "../Strategies.js"
import * as StormWorld from "./StormWorld.js"

const task = { input: StormWorld.TOPIC }

const run = (
  tools: ToolSet.ToolSet<unknown, never>,
  options: Storm.Options = {},
  script: Strategies.Script = StormWorld.model
) => Strategies.run(Storm.make(options), script, { tools, task })

const compiled = (ran: Strategies.Ran<unknown>): StormArticle.Article => {
  const article = Storm.fromEvents(ran.events)
  assert.strictEqual(article._tag, "Some")
  return (article as { readonly value: StormArticle.Article }).value
}

const named = (name: string, parameters: Schema.Struct.Fields) =>
  Tool.make(name, {
    description: "Some tool",
    parameters,
    success: Schema.Unknown,
    handler: () => Effect.succeed("ok")
  })

const chosen = (...tools: ReadonlyArray<Tool.Any>) =>
  Effect.map(ToolSet.bind(ToolSet.make(...tools) as ToolSet.ToolSet), (bound) =>
    Either.getOrThrow(StormRetrieval.choose(bound, undefined)).map(({ parameter, tool }) => `${tool}(${parameter})`)
  )

describe("retrieval tools", () => {
  it.effect("take one text, or are named like a search and need only a query", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* chosen(
          named("encyclopedia", { subject: Schema.String }),
          named("articles", { topic: Schema.NonEmptyString, limit: Schema.optional(Schema.Number) }),
          named("web_search", { site: Schema.optional(Schema.String), query: Schema.String }),
          named("lookUp", { site: Schema.optional(Schema.String), q: Schema.optional(Schema.String) }),
          named("add", { a: Schema.Number, b: Schema.Number }),
          named("mail", { to: Schema.String, text: Schema.String }),
          named("search_range", { query: Schema.String, from: Schema.Number }),
          named("language", { code: Schema.Literal("de", "en") }),
          named("now", {})
        ),
        ["encyclopedia(subject)", "articles(topic)", "web_search(query)", "lookUp(q)"]
      )
    })
  )

  it.effect("can be named; an unknown name fails typed before anything is asked", () =>
    Effect.gen(function* () {
      const tools = ToolSet.make(StormWorld.search(), StormWorld.search([], "archive"), Strategies.add)
      const ran = yield* run(tools, { retrieval: ["search"] })
      yield* ran.exit
      assert.deepStrictEqual([...new Set(ran.of("ToolCall").map(({ name }) => name))], ["search"])
      for (const [retrieval, message] of [
        [["serch"], /There is no tool named "serch"/],
        [["search", "add"], /"add" cannot be called with a query alone/],
        [["__proto__"], /There is no tool named/]
      ] as const) {
        const failed = yield* run(tools, { retrieval, ungrounded: true })
        const error = yield* Effect.flip(failed.exit)
        assert.instanceOf(error, StrategyConfigurationError)
        assert.deepInclude(error, { option: "retrieval", strategyName: "storm", code: "LEX_ERR_AGT_109" })
        assert.match(error.message, message)
        assert.lengthOf(failed.requests, 0)
      }
      const similar = yield* Effect.flip((yield* run(tools, { retrieval: ["serch"] })).exit)
      assert.include((similar as StrategyConfigurationError).hint, 'Did you mean "search"?')
    })
  )

  it.effect("are required, unless the article may be ungrounded", () =>
    Effect.gen(function* () {
      for (const options of [{}, { retrieval: [] }]) {
        const ran = yield* run(ToolSet.make(Strategies.add), options)
        const error = yield* Effect.flip(ran.exit)
        assert.instanceOf(error, StrategyConfigurationError)
        assert.include(error.hint, "ungrounded: true")
        assert.lengthOf(ran.requests, 0)
      }
      const ran = yield* run(ToolSet.empty, { ungrounded: true }, (request) =>
        StormWorld.stepOf(request) === "SynthesizeSection" ? "From memory [1]." : StormWorld.model(request)
      )
      const { text } = yield* ran.exit
      const article = compiled(ran)
      // Outline, two sections, lead, polish: nobody is interviewed who could look nothing up.
      assert.strictEqual(ran.requests.length, 5)
      assert.deepStrictEqual([article.grounded, article.sources, article.conversations], [false, [], []])
      assert.strictEqual(text.split(StormArticle.UNGROUNDED).length, 3)
      assert.notMatch(text, /\[\d/)
      assert.strictEqual(article.removedCitations, 2)
    })
  )
})

describe("tool results", () => {
  it.effect("are collected from all tools, and shared ones are one source", () =>
    Effect.gen(function* () {
      const first = StormWorld.search(StormWorld.corpus.slice(0, 4))
      const second = StormWorld.search(StormWorld.corpus.slice(2), "archive_search")
      const ran = yield* run(ToolSet.make(first, second))
      yield* ran.exit
      const article = compiled(ran)
      const urls = article.sources.map(({ url }) => url)
      assert.strictEqual(new Set(urls).size, urls.length)
      assert.strictEqual(urls.length, StormWorld.corpus.length)
      assert.deepStrictEqual([...new Set(article.sources.map(({ tool }) => tool))].sort(), ["archive_search", "search"])
      for (const { params } of ran.of("ToolCall")) {
        const both = ran.of("ToolCall").filter((one) => JSON.stringify(one.params) === JSON.stringify(params))
        assert.deepStrictEqual(both.map(({ name }) => name).sort(), ["archive_search", "search"])
      }
      assert.strictEqual(new Set(ran.of("ToolCall").map(({ id }) => id)).size, ran.of("ToolCall").length)
    })
  )

  it.effect("may fail in one tool while the others carry the article", () =>
    Effect.gen(function* () {
      const broken = Tool.make("broken_search", {
        description: "Fails",
        parameters: { query: Schema.String },
        handler: () => Effect.fail(new Strategies.Broken({ message: "out of order" }))
      })
      const ran = yield* run(ToolSet.make(broken, StormWorld.search()))
      yield* ran.exit
      const { failedQueries, grounded } = compiled(ran)
      assert.isTrue(grounded)
      assert.deepInclude(failedQueries[0], { tool: "broken_search", query: "Nature of marsh towns" })
      assert.include(failedQueries[0]!.message, "out of order")
      assert.strictEqual(failedQueries.length, 1 + 4)
    })
  )

  it.effect("lead to no invention when empty: the article says so without another call", () =>
    Effect.gen(function* () {
      const broken = Tool.make("search", {
        description: "Fails",
        parameters: { query: Schema.String },
        handler: () => Effect.fail(new Strategies.Broken({ message: "out of order" }))
      })
      for (const tools of [ToolSet.make(broken), ToolSet.make(StormWorld.search([]))]) {
        const ran = yield* run(tools)
        const { reason, text } = yield* ran.exit
        const article = compiled(ran)
        const steps = new Set(ran.requests.map(StormWorld.stepOf))
        for (const step of [
          "AnswerQuestion",
          "RefineOutline",
          "SynthesizeSection",
          "WriteLead",
          "CompileReport"
        ] as const) {
          assert.isFalse(steps.has(step), step)
        }
        assert.deepStrictEqual([reason, article.grounded, article.sources.length], ["completed", false, 0])
        assert.strictEqual(text.split(StormArticle.NO_SOURCES).length, 3)
        const turns = article.conversations.flatMap((conversation) => conversation.turns)
        assert.isAtLeast(turns.length, 1)
        assert.isTrue(turns.every((turn) => !turn.grounded && turn.answer === "Nothing was found about this."))
        assert.deepStrictEqual(
          ran
            .of("Plan")
            .at(-1)!
            .steps.map(({ status }) => status),
          ["failed", "failed"]
        )
      }
    })
  )

  it.effect("are read as text when they are garbage", () =>
    Effect.gen(function* () {
      let n = 0
      const garbage: ReadonlyArray<unknown> = [
        null,
        7,
        "[[[",
        "{",
        { a: { b: [] } },
        ["", null, 3],
        "\u0000",
        [[["x"]]]
      ]
      const tool = Tool.make("search", {
        description: "Gives garbage",
        parameters: { query: Schema.String },
        success: Schema.Unknown,
        handler: () => Effect.sync(() => garbage[n++ % garbage.length])
      })
      const ran = yield* run(ToolSet.make(tool), { maxTurns: 6 }, (request) => {
        const step = StormWorld.stepOf(request)
        if (step === "GenerateQuestions") return JSON.stringify({ done: false, question: `Question ${n}?` })
        if (step === "GenerateQueries") return JSON.stringify({ queries: [`query ${n}`, `more ${n}`] })
        return step === "GeneratePerspectives"
          ? JSON.stringify({ perspectives: [{ name: "One", description: "" }] })
          : step === "SynthesizeSection" || step === "AnswerQuestion"
            ? "It says so [1]."
            : step === "RefineOutline"
              ? "# One\n# Two"
              : StormWorld.model(request)
      })
      yield* ran.exit
      assert.isAbove(n, garbage.length)
    })
  )

  it.effect("end the run on a fatal tool", () =>
    Effect.gen(function* () {
      const fatal = Tool.make("search", {
        description: "Fails for good",
        parameters: { query: Schema.String },
        failure: Strategies.Broken,
        fatal: true,
        handler: () => Effect.fail(new Strategies.Broken({ message: "the end" }))
      })
      const error = yield* Effect.flip((yield* run(ToolSet.make(fatal))).exit)
      assert.instanceOf(error, Fatality)
      assert.instanceOf(error.error, Strategies.Broken)
    })
  )

  it.effect("are cut to their length, and reach a section up to the limit", () =>
    Effect.gen(function* () {
      const documents = Array.from({ length: 12 }, (_, i) => ({
        url: `https://h.example/${i}`,
        title: `Chronicle ${i}`,
        text: `History: In the year ${1300 + i} something happened.\n${"and more ".repeat(20)}`
      }))
      const ran = yield* run(ToolSet.make(StormWorld.search(documents)), { sourcesPerSection: 3, sourceMaxChars: 60 })
      yield* ran.exit
      const given = ran.requests
        .filter((request) => ["SynthesizeSection", "AnswerQuestion"].includes(StormWorld.stepOf(request)))
        .map((request) => StormWorld.sourcesIn(StormWorld.user(request)).length)
      assert.isAbove(given.length, 0)
      assert.isTrue(given.every((count) => count === 3))
      assert.isTrue(compiled(ran).sources.every(({ text }) => text.length <= 60))
      assert.strictEqual(compiled(ran).sources.length, 12)
    })
  )
})
