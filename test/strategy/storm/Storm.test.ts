import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import type { AgentEvent } from "../../../src/domain/AgentEvent.js"
import * as AgentResponse from "../../../src/domain/AgentResponse.js"
import * as StateGraph from "../../../src/graph/StateGraph.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as Storm from "../../../src/strategy/storm/Storm.js"
import * as StormArticle from "../../../src/strategy/storm/StormArticle.js"
import * as EventRecorder from "../../../src/testing/EventRecorder.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import * as Strategies from "../Strategies.js"
import * as StormWorld from "./StormWorld.js"

const task = { input: StormWorld.TOPIC }

const run = (options: Storm.Options & Strategies.Setup = {}, script: Strategies.Script = StormWorld.model) =>
  Strategies.run(Storm.make(options), script, { tools: ToolSet.make(StormWorld.search()), task, ...options })

const countsOf = (ran: { readonly requests: ReadonlyArray<LlmClient.LlmRequest> }) => {
  const counts: Partial<Record<StormWorld.StepName, number>> = {}
  for (const request of ran.requests) {
    const step = StormWorld.stepOf(request)
    counts[step] = (counts[step] ?? 0) + 1
  }
  return counts
}

const articleOf = (events: ReadonlyArray<AgentEvent>): StormArticle.Article =>
  Option.getOrThrow(Storm.fromEvents(events))

/** The facts of the library that stand in an article with a citation of their own document. */
const citedFacts = (article: StormArticle.Article): ReadonlyArray<string> =>
  StormWorld.corpus.flatMap((document) => {
    const source = article.sources.find(({ url }) => url === document.url)
    const fact = StormWorld.factOf(document)
    return source !== undefined && article.text.includes(`${fact} [${source.number}].`) ? [fact] : []
  })

const allFacts = StormWorld.corpus.map(StormWorld.factOf)

describe("storm", () => {
  it.effect("writes what its library says, each statement with its document", () =>
    Effect.gen(function* () {
      for (const format of ["json", "text"] as const) {
        const ran = yield* run({ format })
        const { reason, text } = yield* ran.exit
        const article = articleOf(ran.events)
        assert.deepStrictEqual([article.text, reason], [text, "completed"])
        assert.deepStrictEqual(citedFacts(article), allFacts)
        assert.deepStrictEqual(
          article.sections.map(({ grounded, title }) => [title, grounded]),
          [
            ["History", true],
            ["Economy", true],
            ["Nature", true]
          ]
        )
        assert.isTrue(article.grounded)
        assert.strictEqual(article.removedCitations, 0)
        assert.match(article.lead, /^Aldhaven is a town\. .* \[1\]\.$/)
        assert.strictEqual(
          ran.requests.every(({ responseFormat }) => responseFormat === undefined),
          format === "text"
        )
      }
    })
  )

  it.effect("takes as many model calls as its formula says", () =>
    Effect.gen(function* () {
      // Two conversations that never end by themselves.
      const talkative = (request: LlmClient.LlmRequest, index: number) =>
        StormWorld.stepOf(request) === "GenerateQuestions"
          ? JSON.stringify({ done: false, question: `What about the history of Aldhaven, part ${index}?` })
          : StormWorld.model(request)
      for (const maxTurns of [1, 2, 3]) {
        const ran = yield* run({ maxTurns }, talkative)
        const { sections } = articleOf(ran.events)
        assert.strictEqual(ran.requests.length, 6 + 3 * 2 * maxTurns + sections.length)
        assert.strictEqual(ran.of("StepStarted").length, ran.requests.length)
      }
      const own = yield* run({ maxTurns: 2, perspectives: Storm.PERSPECTIVES }, talkative)
      assert.strictEqual(own.requests.length, 4 + 3 * 4 * 2 + articleOf(own.events).sections.length)
      const bare = yield* run({ maxTurns: 1, polish: false }, talkative)
      assert.strictEqual(bare.requests.length, 5 + 3 * 2 + articleOf(bare.events).sections.length)
    })
  )

  it.effect("ends a conversation when its writer has no question left or repeats one", () =>
    Effect.gen(function* () {
      const ran = yield* run()
      assert.deepStrictEqual(countsOf(ran), {
        GenerateOutline: 1,
        RelatedTopics: 1,
        GeneratePerspectives: 1,
        GenerateQuestions: 5,
        GenerateQueries: 4,
        AnswerQuestion: 4,
        RefineOutline: 1,
        SynthesizeSection: 3,
        WriteLead: 1,
        CompileReport: 1
      })
      assert.deepStrictEqual(
        articleOf(ran.events).conversations.map(({ perspective, turns }) => [
          perspective.name,
          turns.length,
          turns.every((turn) => turn.grounded)
        ]),
        [
          [Storm.BASIC_FACT_WRITER.name, 3, true],
          ["Reader of Nature", 1, true]
        ]
      )
      const stubborn = yield* run({}, (request) =>
        StormWorld.stepOf(request) === "GenerateQuestions"
          ? JSON.stringify({ done: false, question: "What about the history of Aldhaven?" })
          : StormWorld.model(request)
      )
      assert.deepStrictEqual(
        articleOf(stubborn.events).conversations.map(({ turns }) => turns.length),
        [1, 1]
      )
    })
  )

  it.effect("finds its perspectives in texts on related topics", () =>
    Effect.gen(function* () {
      const ran = yield* run()
      const request = ran.requests.find((one) => StormWorld.stepOf(one) === "GeneratePerspectives")!
      assert.include(StormWorld.user(request), "Nature of marsh towns / Herons: Nature: 220 pairs")
      assert.deepStrictEqual(
        ran.of("ToolCall").map(({ id, params }) => [id, params]),
        [
          ["storm_survey_1", { query: "Nature of marsh towns" }],
          ["storm_search_1", { query: "history of Aldhaven" }],
          ["storm_search_2", { query: "nature of Aldhaven" }],
          ["storm_search_3", { query: "economy of Aldhaven" }]
        ],
        "the second question about nature is answered from what was found for the first"
      )
      const without = yield* run({ maxRelatedTopics: 0 })
      assert.isUndefined(countsOf(without).RelatedTopics)
      const facts = yield* run({ maxPerspectives: 0 })
      assert.isUndefined(countsOf(facts).GeneratePerspectives)
      assert.deepStrictEqual(
        articleOf(facts.events).conversations.map(({ perspective }) => perspective),
        [Storm.BASIC_FACT_WRITER]
      )
    })
  )

  it.effect("settles the outline by the conversations, not before them", () =>
    Effect.gen(function* () {
      const ran = yield* run()
      const nodes = ran.of("NodeFinished")
      const draft = nodes.find(({ node }) => node === "generate_outline")!.update as Storm.State
      const refined = nodes.find(({ node }) => node === "refine_outline")!.update as Storm.State
      assert.deepStrictEqual(
        [draft.draft.sections.length, refined.outline.sections.map(({ title }) => title)],
        [2, ["History", "Economy", "Nature"]]
      )
    })
  )

  it.effect("emits events in order and sums usage", () =>
    Effect.gen(function* () {
      const { events, exit } = yield* Strategies.record(Storm.make(), StormWorld.model, {
        tools: ToolSet.make(StormWorld.search()),
        task
      })
      yield* exit
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      const nodes = events.flatMap((event) => (event._tag === "NodeFinished" ? [event.node] : []))
      const turn = ["generate_questions", "dispatch_queries", "execute_search", "collect_results"]
      assert.deepStrictEqual(
        [nodes[0], [...nodes.slice(1, 3)].sort(), nodes.slice(3)],
        [
          "choose_retrieval",
          ["generate_outline", "generate_perspectives"],
          [
            "open_conversations",
            ...turn,
            ...turn,
            ...turn,
            "refine_outline",
            "synthesize_sections",
            "write_lead",
            "compile_report"
          ]
        ]
      )
      const plans = events.flatMap((event) => (event._tag === "Plan" ? [event.steps.map(({ status }) => status)] : []))
      assert.deepStrictEqual(
        plans.map((statuses) => statuses.filter((status) => status === "completed").length),
        [0, 1, 2, 3]
      )
      const response = AgentResponse.fromEvents(events)
      assert.strictEqual(response.modelCalls, 22)
      assert.strictEqual(response.usage.totalTokens, 22 * 15)
      assert.deepStrictEqual(
        events.flatMap((event) => (event._tag === "Thought" ? [event.text] : []))[0],
        "Basic fact writer: What about the history of Aldhaven?"
      )
      // What a log gives back is the article as well.
      const article = Option.getOrThrow(Storm.fromEvents(JSON.parse(JSON.stringify(events))))
      assert.deepStrictEqual(article, articleOf(events))
      assert.isTrue(Option.isNone(Storm.fromEvents(events.filter(({ _tag }) => _tag !== "NodeFinished"))))
    })
  )

  it.effect("returns the article itself from research", () =>
    Effect.gen(function* () {
      const given = yield* Strategies.task({ tools: ToolSet.make(StormWorld.search()), task })
      const article = yield* Storm.research(given, { maxTurns: 1 })
      assert.deepStrictEqual(Schema.decodeUnknownSync(StormArticle.Article)(article), article)
      assert.strictEqual(article.title, "The town of Aldhaven")
    }).pipe(Effect.provide(Strategies.layer(StormWorld.model)))
  )

  it.effect("returns a shaped output in addition to the article", () =>
    Effect.gen(function* () {
      const ran = yield* run({ task: { ...task, output: Strategies.outputSpec(0) } })
      const answer = yield* ran.exit
      assert.deepStrictEqual([answer.output, countsOf(ran).ShapeAnswer], [{ n: 4 }, 1])
      assert.isTrue(answer.text.startsWith("# The town of Aldhaven"))
      assert.deepStrictEqual(Strategies.shape(answer.messages), [
        ["user", StormWorld.TOPIC],
        ["assistant", answer.text]
      ])
      assert.strictEqual(ran.requests.at(-1)!.responseFormat?.type, "json")
    })
  )

  it.effect("changes no fact and no citation with the order of the library", () =>
    Effect.gen(function* () {
      const orders = FastCheck.sample(FastCheck.shuffledSubarray([...StormWorld.corpus], { minLength: 6 }), {
        numRuns: 12,
        seed: 17
      })
      for (const [i, documents] of orders.entries()) {
        const name = i % 2 === 0 ? "search" : "encyclopedia"
        const ran = yield* run({ tools: ToolSet.make(StormWorld.search(documents, name)) })
        yield* ran.exit
        const article = articleOf(ran.events)
        assert.deepStrictEqual(citedFacts(article), allFacts)
        assert.isTrue(article.sources.every(({ tool }) => tool === name))
      }
    })
  )

  it.effect("has a state of plain data that fits its schema", () =>
    Effect.gen(function* () {
      const ran = yield* run()
      yield* ran.exit
      const decode = Schema.decodeUnknownSync(Schema.partial(Schema.Struct(Storm.State.fields)), {
        onExcessProperty: "error"
      })
      const updates = ran.of("NodeFinished").map(({ update }) => update)
      assert.lengthOf(updates, 4 + 3 * 4 + 4)
      for (const update of updates) assert.deepStrictEqual(decode(JSON.parse(JSON.stringify(update))), update)
    })
  )

  it("draws the graph that runs", () => {
    const { graph } = Storm.make()
    const drawn = StateGraph.toMermaid(graph!)
    for (const node of [
      "choose_retrieval",
      "generate_outline",
      "generate_perspectives",
      "generate_questions",
      "dispatch_queries",
      "execute_search",
      "collect_results",
      "refine_outline",
      "synthesize_sections",
      "write_lead",
      "compile_report"
    ]) {
      assert.include(drawn, node)
    }
  })
})

/** Every model call takes a second; gives the seconds that the run took. */
const seconds = (options: Storm.Options & Strategies.Setup = {}) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(
      run(options, (request) => ({ text: StormWorld.model(request) as string, delay: "1 second" }))
    )
    for (let passed = 0; passed < 60; passed++) {
      if (Option.isSome(yield* Fiber.poll(fiber))) return passed
      yield* TestClock.adjust("1 second")
    }
    return yield* Effect.dieMessage("it never ended")
  })

describe("concurrency of storm", () => {
  it.effect("overlaps outline and perspectives, conversations, and sections", () =>
    Effect.gen(function* () {
      // Perspectives 2, three turns of 3, outline, sections, lead, polish.
      assert.strictEqual(yield* seconds(), 2 + 9 + 4)
      assert.strictEqual(yield* seconds({ maxTurns: 1 }), 2 + 3 + 4)
      // One call after another: the turns are 2 · 3, question · 1 and 3 · 2 more, the sections 3.
      assert.strictEqual(yield* seconds({ toolConcurrency: 1 }), 3 + 6 + 4 + 3 + 6)
    })
  )

  it.effect("overlaps lookups", () =>
    Effect.gen(function* () {
      const slow = (name: string) =>
        Tool.make(name, {
          description: "Searches slowly",
          parameters: { query: Schema.String },
          success: Schema.String,
          handler: ({ query }) => Effect.delay(Effect.succeed(`History: ${name} says ${query}.`), "10 seconds")
        })
      const tools = ToolSet.make(slow("search_a"), slow("search_b"), slow("search_c"))
      const fiber = yield* Effect.fork(run({ tools, maxTurns: 1 }))
      // One survey, one round of questions.
      yield* TestClock.adjust("19 seconds")
      assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      yield* TestClock.adjust("1 second")
      const ran = yield* Fiber.join(fiber)
      // Both conversations begin with the same question, which is looked up once.
      assert.strictEqual(ran.of("ToolCall").length, 3 + 3)
    })
  )

  it.effect("leaves nothing running when it is interrupted in sections", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      let sections = 0
      const script = (request: LlmClient.LlmRequest): Effect.Effect<TestModel.Turn | string> =>
        StormWorld.stepOf(request) !== "SynthesizeSection"
          ? Effect.succeed(StormWorld.model(request))
          : ++sections === 3
            ? Effect.zipRight(Deferred.succeed(started, undefined), Effect.never)
            : Effect.never
      yield* Effect.gen(function* () {
        const given = yield* Strategies.task({ tools: ToolSet.make(StormWorld.search()), task })
        const fiber = yield* Effect.fork(Storm.make().program(given))
        yield* Deferred.await(started)
        const observer = yield* TestModel.TestModel
        assert.strictEqual(yield* observer.active, 3)
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(yield* observer.active, 0)
      }).pipe(Effect.provide(Strategies.layer(script)))
    })
  )

  it.effect("runs the finalizers of tools when it is interrupted in lookups", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      let open = 0
      const endless = Tool.make("search", {
        description: "Searches for ever",
        parameters: { query: Schema.String },
        handler: () =>
          Effect.acquireUseRelease(
            Effect.sync(() => ++open),
            (count) =>
              count === 2 ? Effect.zipRight(Deferred.succeed(started, undefined), Effect.never) : Effect.never,
            () => Effect.sync(() => void open--)
          )
      })
      yield* Effect.gen(function* () {
        const given = yield* Strategies.task({ tools: ToolSet.make(endless), task })
        const fiber = yield* Effect.fork(
          Storm.make({ maxRelatedTopics: 0, perspectives: Storm.PERSPECTIVES }).program(given)
        )
        yield* Deferred.await(started)
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(open, 0)
        assert.strictEqual(yield* (yield* TestModel.TestModel).active, 0)
      }).pipe(
        Effect.provide(
          Strategies.layer((request) =>
            StormWorld.stepOf(request) === "GenerateQueries"
              ? JSON.stringify({ queries: [StormWorld.user(request).slice(0, 40), "and another"] })
              : StormWorld.model(request)
          )
        )
      )
    })
  )
})
