import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as DocumentIndex from "../../src/document/DocumentIndex.js"
import * as DocumentOwner from "../../src/document/DocumentOwner.js"
import * as DocumentTools from "../../src/document/DocumentTools.js"
import * as InMemoryDocumentIndex from "../../src/document/InMemoryDocumentIndex.js"
import { UserId } from "../../src/domain/Ids.js"
import * as TestModel from "../../src/testing/TestModel.js"
import { document, guide } from "../support/DocumentIndexes.js"

interface Answer {
  readonly sources: ReadonlyArray<{
    readonly cite: string
    readonly title: string
    readonly source: string
    readonly place?: string
    readonly text: string
  }>
  readonly note?: string
}

const ann = UserId.make("ann")

/** Runs an agent whose model makes these searches one after another, and returns their results. */
const search = (
  tools: DocumentTools.DocumentTools,
  queries: ReadonlyArray<string>,
  userId: string | undefined = "ann"
) =>
  Effect.map(
    AgentExecutor.run(Agent.make("clerk").pipe(Agent.withTools(tools.search)), {
      input: "go",
      ...(userId === "" ? {} : { userId })
    }).pipe(
      Effect.provide(
        Layer.provide(
          Agents.layer(),
          TestModel.layer([
            ...queries.map((query) => ({ calls: [{ name: "search_documents", params: { query } }] })),
            { text: "done" }
          ])
        )
      )
    ),
    ({ toolCalls }) => toolCalls
  )

const found = (...given: Parameters<typeof search>) =>
  Effect.map(search(...given), (calls) => calls.map(({ result }) => result as Answer))

const refusals = (...given: Parameters<typeof search>) =>
  Effect.map(search(...given), (calls) => calls.map(({ observation }) => observation))

const filled = Layer.tap(InMemoryDocumentIndex.layer(), (context) =>
  Effect.gen(function* () {
    const index = yield* DocumentIndex.DocumentIndex
    yield* index.ingest(DocumentOwner.user(ann), [document("guide.md", guide, { tags: ["port"] })])
    yield* index.ingest(DocumentOwner.user(UserId.make("bob")), [
      document("secret.md", "# Secret\n\nBob sells diesel.")
    ])
    yield* index.ingest(DocumentOwner.collection("rules"), [document("rules.md", "# Rules\n\nNo diesel at night.")])
  }).pipe(Effect.provide(context), Effect.orDie)
)

const numbers = ({ sources }: Answer) => sources.map(({ cite, title }) => `${cite} ${title}`)

describe("DocumentTools", () => {
  it.effect("shows the passages of the run's user by numbers, with title, source, place and text", () =>
    Effect.gen(function* () {
      const [diesel, zebra] = yield* found(DocumentTools.make(), ["diesel", "zebra"])
      assert.deepStrictEqual(diesel, {
        sources: [
          {
            cite: "[1]",
            title: "Guide",
            source: "guide.md",
            place: "Guide › Fuel",
            text: "## Fuel\n\nDiesel is sold until noon. Petrol is not sold."
          }
        ]
      })
      assert.deepStrictEqual(zebra, { sources: [], note: "Nothing was found. Try other words" })
    }).pipe(Effect.provide(filled))
  )

  it.effect(
    "counts on through the searches of a run, keeps the number of a passage, and begins again in another run",
    () =>
      Effect.gen(function* () {
        const tools = DocumentTools.make({ limit: 1, collections: ["rules"] })
        const one = yield* found(tools, ["petrol noon", "night rules", "petrol noon", "showers"])
        assert.deepStrictEqual(one.flatMap(numbers), ["[1] Guide", "[2] Rules", "[1] Guide", "[3] Guide"])
        assert.deepStrictEqual((yield* found(tools, ["showers"])).flatMap(numbers), ["[1] Guide"])
        assert.deepStrictEqual(yield* tools.sources, [])
      }).pipe(Effect.provide(filled))
  )

  it.effect("searches the user's documents and collections, never those of another user", () =>
    Effect.gen(function* () {
      const both = DocumentTools.make({ collections: ["rules"], limit: 2 })
      const [all] = yield* found(both, ["diesel"])
      assert.deepStrictEqual(all!.sources.map(({ title }) => title).sort(), ["Guide", "Rules"])
      const shared = DocumentTools.make({ collections: ["rules"], own: false })
      assert.deepStrictEqual((yield* found(shared, ["diesel"])).flatMap(numbers), ["[1] Rules"])
      for (const user of ["rules", "collection:rules", "carl"]) {
        assert.deepStrictEqual((yield* found(DocumentTools.make(), ["diesel"], user)).flatMap(numbers), [])
      }
    }).pipe(Effect.provide(filled))
  )

  it.effect("lets a run without a user search collections alone, and refuses one without either", () =>
    Effect.gen(function* () {
      const shared = DocumentTools.make({ collections: ["rules"] })
      assert.deepStrictEqual((yield* found(shared, ["diesel"], "")).flatMap(numbers), ["[1] Rules"])
      for (const options of [{}, { own: false }]) {
        const [refused] = yield* refusals(DocumentTools.make(options), ["diesel"], "")
        assert.include(refused, "nobody is signed in")
      }
    }).pipe(Effect.provide(filled))
  )

  it.effect("bounds queries, passages and their text, and follows tags and neighbours", () =>
    Effect.gen(function* () {
      const [empty, long] = yield* refusals(DocumentTools.make(), [" ", "x".repeat(1_001)])
      assert.include(empty, "The query is empty")
      assert.include(long, "1000 are allowed")
      const [short] = yield* found(DocumentTools.make({ maxCharacters: 100, neighbours: 3 }), ["diesel"])
      assert.match(short!.sources[0]!.text, /^# Guide[\s\S]{90,95} …$/)
      const [wide] = yield* found(DocumentTools.make({ neighbours: 1, limit: 1 }), ["diesel"])
      assert.match(wide!.sources[0]!.text, /^## Mooring[\s\S]*## Fuel[\s\S]*## Showers/)
      const [none] = yield* found(DocumentTools.make({ tags: ["none"] }), ["diesel"])
      assert.deepStrictEqual(none!.sources, [])
      const [tagged] = yield* found(DocumentTools.make({ tags: ["port"] }), ["diesel"])
      assert.lengthOf(tagged!.sources, 1)
    }).pipe(Effect.provide(filled))
  )

  it.effect("tells a run that was shown as many passages as it may be", () =>
    Effect.gen(function* () {
      const index = yield* DocumentIndex.DocumentIndex
      const many = Array.from({ length: 220 }, (_, n) => document(`d${n}`, `common group${Math.floor(n / 20)}`))
      yield* index.ingest("ann", many)
      const groups = Array.from({ length: 11 }, (_, n) => `group${n}`)
      const tools = DocumentTools.make({ limit: 20 })
      const answers = yield* Effect.map(
        AgentExecutor.run(Agent.make("clerk").pipe(Agent.withTools(tools.search)), { input: "go", userId: "ann" }).pipe(
          Effect.provide(
            Layer.provide(
              Agents.layer(),
              TestModel.layer([
                { calls: groups.map((query) => ({ name: "search_documents", params: { query } })) },
                { text: "done" }
              ])
            )
          )
        ),
        ({ toolCalls }) => toolCalls.map(({ result }) => result as Answer)
      )
      const all = answers.flatMap(numbers).map((text) => text.split(" ")[0])
      assert.strictEqual(new Set(all).size, 200)
      assert.deepStrictEqual(
        answers.flatMap(({ note }) => note ?? []),
        ["This run was shown 200 passages already. Answer from those"]
      )
    }).pipe(Effect.provide(InMemoryDocumentIndex.layer()))
  )

  it.effect("sends an answer back whose citations do not hold", () =>
    Effect.gen(function* () {
      const documents = DocumentTools.make({ required: true })
      const clerk = Agent.make("clerk").pipe(
        Agent.withTools(documents.search),
        Agent.withValidator((answer) =>
          Effect.mapError(documents.verify(answer), ({ hint, message }) => Agent.reject(`${message}. ${hint}`))
        )
      )
      const model = TestModel.layer([
        { calls: [{ name: "search_documents", params: { query: "diesel" } }] },
        { text: "Diesel is sold all night [7]." },
        { text: "Diesel is sold until noon [1]." }
      ])
      const layer = Layer.provideMerge(Agents.layer(), model)
      yield* Effect.gen(function* () {
        const { message } = yield* AgentExecutor.run(clerk, { input: "Until when is diesel sold?", userId: ann })
        assert.strictEqual(message, "Diesel is sold until noon [1].")
        const asked = yield* TestModel.requests
        assert.lengthOf(asked, 3)
        const shown = JSON.stringify(asked[1]!.messages)
        assert.include(shown, "Diesel is sold until noon")
        assert.notInclude(JSON.stringify(asked[1]!.messages.filter(({ role }) => role === "system")), "noon")
        assert.include(JSON.stringify(asked[2]!.messages), "[7] was not shown")
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.provide(filled))
  )
})
