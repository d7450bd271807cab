import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as CitationMarks from "../../../src/document/text/CitationMarks.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import { LlmContentPolicyError } from "../../../src/llm/model/LlmError.js"
import { MaxIterationsExceededError, StrategyReplyError } from "../../../src/strategy/definition/StrategyError.js"
import * as Storm from "../../../src/strategy/storm/Storm.js"
import * as StormArticle from "../../../src/strategy/storm/StormArticle.js"
import type * as TestModel from "../../../src/testing/TestModel.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import * as Strategies from "../Strategies.js"
import * as StormWorld from "./StormWorld.js"

const task = { input: StormWorld.TOPIC }

type Reply = (request: LlmClient.LlmRequest, nth: number) => TestModel.Turn | string

/** The world's model, but for some steps. */
const but = (replies: Partial<Record<StormWorld.StepName, Reply>>): Strategies.Script => {
  const asked = new Map<string, number>()
  return (request) => {
    const step = StormWorld.stepOf(request)
    const nth = asked.get(step) ?? 0
    asked.set(step, nth + 1)
    return (replies[step] ?? StormWorld.model)(request, nth)
  }
}

const run = (
  options: Storm.Options = {},
  script: Strategies.Script = StormWorld.model,
  more: Partial<Strategies.Setup> = {}
) => Strategies.run(Storm.make(options), script, { tools: ToolSet.make(StormWorld.search()), task, ...more })

const compiled = (ran: Strategies.Ran<unknown>): StormArticle.Article => Option.getOrThrow(Storm.fromEvents(ran.events))

const count = (ran: Strategies.Ran<unknown>, step: StormWorld.StepName): number =>
  ran.requests.filter((request) => StormWorld.stepOf(request) === step).length

const refusal = "I'm sorry, but I can't help with that."

describe("options", () => {
  it.effect("bound what they name", () =>
    Effect.gen(function* () {
      const many = but({
        RelatedTopics: () =>
          JSON.stringify({ topics: ["Nature", "History", "Economy", "nature", StormWorld.TOPIC, ""] }),
        GeneratePerspectives: () =>
          JSON.stringify({
            perspectives: ["Basic Fact Writer", "A", "B", "a", "C", "D"].map((name) => ({ name, description: "" }))
          }),
        GenerateQuestions: (_, nth) => JSON.stringify({ done: false, question: `Question ${nth}?` }),
        GenerateQueries: (_, nth) =>
          JSON.stringify({ queries: ["a", "b", "b ", "c", "d"].map((query) => `${query} history ${nth}`) }),
        RefineOutline: () => Array.from({ length: 500 }, (_, i) => `# Part ${i}\n${"## x\n## y\n## z"}`).join("\n"),
        SynthesizeSection: (request) => `It is so [${StormWorld.sourcesIn(StormWorld.user(request))[0]!.id}].`
      })
      const ran = yield* run({}, many)
      yield* ran.exit
      const article = compiled(ran)
      assert.deepStrictEqual(
        article.conversations.map(({ perspective, turns }) => [perspective.name, turns.length]),
        [
          [Storm.BASIC_FACT_WRITER.name, 3],
          ["A", 3],
          ["B", 3],
          ["C", 3]
        ]
      )
      assert.strictEqual(article.sections.length, 8)
      assert.isTrue(article.conversations.every(({ turns }) => turns.every(({ queries }) => queries.length === 3)))
      const surveys = ran.of("ToolCall").filter(({ id }) => id.startsWith("storm_survey_"))
      assert.deepStrictEqual(
        surveys.map(({ params }) => params),
        [{ query: "Nature" }, { query: "History" }, { query: "Economy" }]
      )

      const options = {
        maxPerspectives: 1,
        maxTurns: 2,
        maxQueries: 1,
        maxSections: 2,
        maxSubsections: 1,
        maxRelatedTopics: 1
      }
      const small = yield* run(options, many)
      yield* small.exit
      const { conversations, sections } = compiled(small)
      assert.deepStrictEqual(
        [
          conversations.length,
          conversations[1]!.turns.length,
          conversations[0]!.turns[0]!.queries.length,
          sections.length
        ],
        [2, 2, 1, 2]
      )
      assert.strictEqual(small.of("ToolCall").length, 1 + 2 * 2)
      const written = small.requests.find((request) => StormWorld.stepOf(request) === "SynthesizeSection")!
      assert.include(StormWorld.user(written), "What it covers:\n- x\n\n")
    })
  )

  it.effect("keep three levels of the outline in the prompt of a section, with the allowed points", () =>
    Effect.gen(function* () {
      const script = but({ RefineOutline: () => "# Nature\n## Rivers\n### The Aar\n### The Emme\n# History" })
      for (const [maxPoints, covered] of [
        [undefined, "- Rivers\n  - The Aar\n  - The Emme"],
        [1, "- Rivers\n  - The Aar"],
        [0, "- Rivers"]
      ] as const) {
        const ran = yield* run({ maxPoints }, script)
        yield* ran.exit
        const written = ran.requests.find((request) => StormWorld.stepOf(request) === "SynthesizeSection")!
        assert.include(StormWorld.user(written), `What it covers:\n${covered}\n\n`)
      }
    })
  )

  it.effect("fall back to the default or the minimum for invalid numbers", () =>
    Effect.gen(function* () {
      const ran = yield* run({ maxTurns: Number.NaN, maxQueries: -3, maxSections: 0, sourcesPerSection: 0 })
      yield* ran.exit
      assert.strictEqual(compiled(ran).sections.length, 1)
      assert.strictEqual(compiled(ran).conversations[0]!.turns.length, 3)
    })
  )

  it.effect("use exactly the given perspectives", () =>
    Effect.gen(function* () {
      const ran = yield* run({ perspectives: Storm.PERSPECTIVES, maxPerspectives: 1 })
      yield* ran.exit
      assert.deepStrictEqual([count(ran, "RelatedTopics"), count(ran, "GeneratePerspectives")], [0, 0])
      assert.deepStrictEqual(
        compiled(ran).conversations.map(({ perspective }) => perspective),
        [...Storm.PERSPECTIVES]
      )
    })
  )
})

describe("model calls", () => {
  it.effect("fail typed at the limit, not one call later", () =>
    Effect.gen(function* () {
      for (const maxModelCalls of [1, 2, 5, 16, 21]) {
        const ran = yield* run({ maxModelCalls })
        const error = yield* Effect.flip(ran.exit)
        assert.instanceOf(error, MaxIterationsExceededError)
        assert.deepInclude(error, {
          strategyName: "storm",
          maxIterations: maxModelCalls,
          currentIteration: maxModelCalls
        })
        assert.strictEqual(ran.requests.length, maxModelCalls)
      }
      const enough = yield* run({ maxModelCalls: 22 })
      assert.strictEqual((yield* enough.exit).reason, "completed")
    })
  )

  it.effect("end the research in time to write, and report the limit", () =>
    Effect.gen(function* () {
      for (const maxModelCalls of [8, 10, 12, 14, 17, 20]) {
        const ran = yield* run({ maxModelCalls, onLimit: "answer" })
        const { reason, text } = yield* ran.exit
        assert.strictEqual(reason, "limit", `${maxModelCalls}`)
        assert.isAtMost(ran.requests.length, maxModelCalls)
        assert.isAtLeast(compiled(ran).sections.length, 2)
        assert.strictEqual(text, compiled(ran).text)
        if (maxModelCalls >= 14) assert.isTrue(compiled(ran).grounded)
      }
      const enough = yield* run({ maxModelCalls: 60, onLimit: "answer" })
      assert.strictEqual((yield* enough.exit).reason, "completed")
    })
  )

  it.effect("leave out sections without a call, and mark them in the plan", () =>
    Effect.gen(function* () {
      const script = but({
        RefineOutline: () => "# History\n# Economy\n# Nature\n# Siege\n# Ferry",
        SynthesizeSection: (request) => `It is so [${StormWorld.sourcesIn(StormWorld.user(request))[0]!.id}].`
      })
      const few = yield* run(
        { maxModelCalls: 9, maxTurns: 1, perspectives: [Storm.BASIC_FACT_WRITER], onLimit: "answer" },
        script
      )
      const { reason } = yield* few.exit
      assert.deepStrictEqual(
        few
          .of("Plan")
          .at(-1)!
          .steps.map(({ status }) => status),
        ["completed", "completed", "completed", "completed", "skipped"]
      )
      assert.deepStrictEqual([reason, compiled(few).sections.length, compiled(few).lead], ["limit", 4, ""])
    })
  )

  it.effect("count repeated questions", () =>
    Effect.gen(function* () {
      const script = but({ GenerateOutline: (request, nth) => (nth < 2 ? refusal : StormWorld.model(request)) })
      const ran = yield* run({ maxModelCalls: 23 }, script)
      assert.instanceOf(yield* Effect.flip(ran.exit), MaxIterationsExceededError)
      assert.strictEqual(ran.requests.length, 23)
      assert.strictEqual(
        (yield* (yield* run(
          { maxModelCalls: 24 },
          but({ GenerateOutline: (request, nth) => (nth < 2 ? refusal : StormWorld.model(request)) })
        )).exit).reason,
        "completed"
      )
    })
  )

  it.effect("fail without a call for the first outline", () =>
    Effect.gen(function* () {
      const script = but({ GenerateOutline: () => refusal })
      const ran = yield* run({ maxModelCalls: 2, onLimit: "answer" }, script)
      assert.instanceOf(yield* Effect.flip(ran.exit), MaxIterationsExceededError)
    })
  )

  it.effect("keep a call for the output of the task", () =>
    Effect.gen(function* () {
      const output = Strategies.outputSpec(0)
      const ran = yield* run({ maxModelCalls: 12, onLimit: "answer" }, StormWorld.model, { task: { ...task, output } })
      const answer = yield* ran.exit
      assert.strictEqual(answer.reason, "limit")
      assert.deepStrictEqual(answer.output, { n: (answer.text.match(/^## /gm) ?? []).length })
      assert.isAtMost(ran.requests.length, 12)
    })
  )
})

describe("unusable replies", () => {
  const steps: ReadonlyArray<StormWorld.StepName> = [
    "GenerateOutline",
    "RelatedTopics",
    "GeneratePerspectives",
    "GenerateQuestions",
    "GenerateQueries",
    "AnswerQuestion",
    "RefineOutline",
    "SynthesizeSection",
    "WriteLead",
    "CompileReport"
  ]

  it.effect("fail typed on a content filter in any step", () =>
    Effect.gen(function* () {
      for (const step of steps) {
        const ran = yield* run({}, but({ [step]: () => ({ text: "I", finishReason: "content-filter" }) }))
        const error = yield* Effect.flip(ran.exit)
        assert.instanceOf(error, LlmContentPolicyError, step)
        assert.include(error.message, `STORMAgent/${step}`)
      }
    })
  )

  it.effect("ask again on a refusal in words, then fail typed", () =>
    Effect.gen(function* () {
      for (const format of ["json", "text"] as const) {
        for (const step of steps.slice(0, 5).concat("RefineOutline")) {
          const ran = yield* run({ format, replyRetries: 1 }, but({ [step]: () => refusal }))
          const error = yield* Effect.flip(ran.exit)
          assert.instanceOf(error, StrategyReplyError, step)
          assert.deepInclude(error, { prompt: `STORMAgent/${step}`, text: refusal, attempts: 2 })
        }
      }
    })
  )

  it.effect("repair a malformed outline by telling the model what is wrong", () =>
    Effect.gen(function* () {
      let told = ""
      const ran = yield* run(
        {},
        but({
          RefineOutline: (request, nth) => {
            if (nth === 0) return '{"sections": []}'
            told = String(request.messages.at(-1)!.content)
            return StormWorld.model(request)
          }
        })
      )
      yield* ran.exit
      assert.include(told, "no section was found in it")
      assert.strictEqual(compiled(ran).sections.length, 3)
    })
  )

  it.effect("do not count an answer without citations as grounded", () =>
    Effect.gen(function* () {
      const ran = yield* run({}, but({ AnswerQuestion: () => "Everybody knows that. [44]" }))
      yield* ran.exit
      const { conversations, removedCitations } = compiled(ran)
      const turns = conversations.flatMap((conversation) => conversation.turns)
      assert.isTrue(
        turns.every((turn) => !turn.grounded && turn.sources.length === 0 && turn.answer === "Everybody knows that.")
      )
      assert.strictEqual(removedCitations, turns.length)
      assert.strictEqual(count(ran, "RefineOutline"), 0, "nothing was learnt that could change the outline")
      assert.match(ran.of("Critique")[0]!.text, /^The answer to ".*" cites \[44\], which it was not given: taken out$/)
    })
  )

  it.effect("ask again for a section without citations, then leave it empty and failed", () =>
    Effect.gen(function* () {
      const script = but({
        SynthesizeSection: (request) =>
          StormWorld.user(request).includes("Your section: History") ? "All invented [77]." : StormWorld.model(request)
      })
      const ran = yield* run({}, script)
      const { text } = yield* ran.exit
      assert.strictEqual(count(ran, "SynthesizeSection"), 3 + 2)
      assert.include(text, `## History\n\n${StormArticle.NOT_BACKED}`)
      assert.notInclude(text, "All invented")
      assert.deepStrictEqual(
        ran
          .of("Plan")
          .at(-1)!
          .steps.map(({ status }) => status),
        ["failed", "completed", "completed"]
      )
      assert.deepStrictEqual(
        compiled(ran).sections.map(({ grounded }) => grounded),
        [false, true, true]
      )
      const marked = yield* run({ ungrounded: true }, script)
      assert.include((yield* marked.exit).text, `## History\n\n${StormArticle.UNGROUNDED}\n\nAll invented.`)
    })
  )

  it.effect("fail typed when no section is backed", () =>
    Effect.gen(function* () {
      const ran = yield* run({ replyRetries: 0 }, but({ SynthesizeSection: () => refusal }))
      const error = yield* Effect.flip(ran.exit)
      assert.instanceOf(error, StrategyReplyError)
      assert.strictEqual(error.prompt, "STORMAgent/SynthesizeSection")
    })
  )

  it.effect("remove, count and report unknown citations", () =>
    Effect.gen(function* () {
      const ran = yield* run(
        {},
        but({
          SynthesizeSection: (request) => `${StormWorld.model(request)} More [98][99].`,
          WriteLead: () => "Aldhaven [98]."
        })
      )
      yield* ran.exit
      const article = compiled(ran)
      assert.strictEqual(article.removedCitations, 3 * 2 + 1)
      assert.notMatch(article.text, /\[9[89]\]/)
      assert.strictEqual(article.lead, "Aldhaven.")
      assert.deepStrictEqual(
        ran.of("Critique").map(({ accepted, text }) => [accepted, text]),
        [
          ...["History", "Economy", "Nature"].map((title) => [
            false,
            `Section "${title}" cites [98], [99], which it was not given: taken out`
          ]),
          [false, "The lead cites [98], which it was not given: taken out"],
          [true, "Polished as a whole"]
        ]
      )
    })
  )

  it.effect("report a text that the token limit cut", () =>
    Effect.gen(function* () {
      const ran = yield* run({}, but({ WriteLead: () => ({ text: "Aldhaven is", finishReason: "length" }) }))
      assert.strictEqual((yield* ran.exit).reason, "length")
    })
  )
})

describe("polishing", () => {
  const article = (request: LlmClient.LlmRequest): string => StormWorld.model(request) as string

  it.effect("may change words, and can be disabled", () =>
    Effect.gen(function* () {
      const polished = yield* run(
        {},
        but({ CompileReport: (request) => article(request).replaceAll(" a day ", " every day ") })
      )
      assert.include((yield* polished.exit).text, "carries 3100 people every day [4].")
      const plain = yield* run({ polish: false })
      yield* plain.exit
      assert.strictEqual(count(plain, "CompileReport"), 0)
    })
  )

  it.effect("never loses a citation: a part that lost one stays unchanged", () =>
    Effect.gen(function* () {
      const before = yield* run({ polish: false })
      const expected = CitationMarks.cited((yield* before.exit).text)
      const polishes: ReadonlyArray<readonly [Reply, RegExp]> = [
        [
          (request) =>
            article(request)
              .replaceAll(/\[\d+\]/g, "")
              .replaceAll("Aldhaven", "X"),
          /^Polished 0 of 4 parts/
        ],
        [(request) => article(request).replace(/## Economy[\s\S]*?(?=## )/, ""), /^Polished 3 of 4 parts/],
        [() => refusal, /^Polished 0 of 4 parts/],
        [(request) => ({ text: article(request).slice(0, -30), finishReason: "length" }), /^Polished 3 of 4 parts/],
        [(request) => article(request).replaceAll("## ", "# The "), /^Polished 0 of 4 parts/],
        [(request) => `${article(request)}\n\n## Advertisement\n\nBuy [1] salt.`, /^Polished as a whole/]
      ]
      for (const [polish, told] of polishes) {
        const ran = yield* run({}, but({ CompileReport: polish }))
        const { text } = yield* ran.exit
        assert.deepStrictEqual(CitationMarks.cited(text), expected)
        assert.match(ran.of("Critique").at(-1)!.text, told)
        assert.deepStrictEqual(
          compiled(ran).sections.map(({ title }) => title),
          ["History", "Economy", "Nature"]
        )
        assert.notInclude(text, "Buy")
      }
    })
  )

  it.effect("leaves the article unchanged when nothing comes back", () =>
    Effect.gen(function* () {
      const ran = yield* run({ replyRetries: 0 }, but({ CompileReport: () => "" }))
      const { reason, text } = yield* ran.exit
      assert.strictEqual(reason, "completed")
      assert.include(text, "## Nature")
    })
  )
})
