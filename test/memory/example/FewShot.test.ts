import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import type { EntryId } from "../../../src/domain/Ids.js"
import * as Dataset from "../../../src/eval/dataset/Dataset.js"
import * as Experiment from "../../../src/eval/Experiment.js"
import * as InMemoryExperimentStore from "../../../src/eval/record/InMemoryExperimentStore.js"
import * as Scorer from "../../../src/eval/scorer/Scorer.js"
import * as Task from "../../../src/eval/Task.js"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as HashingEmbedder from "../../../src/llm/embedding/HashingEmbedder.js"
import * as TokenCounter from "../../../src/llm/model/TokenCounter.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import * as FewShot from "../../../src/memory/example/FewShot.js"
import * as InMemoryMemoryStore from "../../../src/memory/search/InMemoryMemoryStore.js"
import * as SqlMemoryStore from "../../../src/persistence/memory/SqlMemoryStore.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as HostileText from "../../trace/HostileText.js"

const example = (id: string, input: string, output = `of ${id}`): FewShot.Example => ({ id, input, output })

const parcels = [
  example("broken", "My parcel arrived broken"),
  example("late", "My parcel is late"),
  example("later", "My parcel is very late today"),
  example("refund", "I want my money back for the shoes"),
  example("hours", "When do you open on Sunday?")
]

const ids = (chosen: ReadonlyArray<FewShot.Example>) => chosen.map(({ id }) => id)

const select = (options: FewShot.Options, examples: Iterable<FewShot.Example> = parcels) =>
  Effect.flatMap(FewShot.make(examples), (made) => FewShot.select(made, options))

describe("FewShot.select", () => {
  it.effect("takes the likest inputs, the best first, and fills up with others", () =>
    Effect.gen(function* () {
      const query = "The parcel of my sister arrived broken"
      assert.deepStrictEqual(ids(yield* select({ query, limit: 1 })), ["broken"])
      assert.deepStrictEqual(ids(yield* select({ query, limit: 3 })).slice(0, 1), ["broken"])
      assert.sameMembers(ids(yield* select({ query, limit: 5 })), ids(parcels))
      assert.lengthOf(yield* select({ query }), 4)
      assert.deepStrictEqual((yield* select({ query, limit: 1 }))[0], parcels[0])
      assert.deepStrictEqual(yield* select({ query }, []), [])
      assert.lengthOf(yield* select({ query: "" }), 4)
    })
  )

  it.effect("takes no example of less relevance than is wanted", () =>
    Effect.gen(function* () {
      const query = "Are you open on Sunday morning?"
      assert.deepStrictEqual(ids(yield* select({ query, minRelevance: 0.1 })), ["hours"])
      assert.deepStrictEqual(yield* select({ query: "quantum chromodynamics", minRelevance: 0.1 }), [])
    })
  )

  it.effect("takes inputs that differ from one another", () =>
    Effect.gen(function* () {
      const alike = [
        ...["red", "green", "blue"].map((color) => example(color, `How do I return the ${color} shirt that I bought`)),
        example("other", "How do I exchange a shirt")
      ]
      const query = "How do I return the yellow shirt that I bought"
      const plain = yield* select({ query, limit: 2 }, alike)
      assert.notInclude(ids(plain), "other")
      const diverse = yield* select({ query, limit: 2, diversity: 0.8 }, alike)
      assert.deepStrictEqual(ids(diverse), [plain[0]?.id, "other"])
    })
  )

  it.effect("fits examples into so many tokens, and takes a smaller one where one does not fit", () =>
    Effect.gen(function* () {
      const words: TokenCounter.Service = TokenCounter.make({
        model: "words",
        exact: true,
        count: (text) => text.split(" ").length
      })
      const examples = [
        example("long", `late parcel late parcel ${"and more ".repeat(100)}`),
        example("short", "late parcel"),
        example("shorter", "parcel")
      ]
      const query = "late parcel late parcel and more"
      assert.deepStrictEqual(ids(yield* select({ query }, examples))[0], "long")
      for (const maxTokens of [0, 10, 16, 29, 30, 60, 1000]) {
        const chosen = yield* select({ query, maxTokens, tokens: words }, examples)
        const total = chosen.length === 0 ? 0 : words.countMessages(FewShot.toMessages(chosen))
        assert.isAtMost(total, maxTokens)
      }
      assert.deepStrictEqual(yield* select({ query, maxTokens: 5, tokens: words }, examples), [])
      assert.sameMembers(ids(yield* select({ query, maxTokens: 60, tokens: words }, examples)), ["short", "shorter"])
      const two = { query, maxTokens: words.countMessages(FewShot.toMessages(examples.slice(1))) }
      assert.lengthOf(yield* select({ ...two, tokens: words }, examples), 2)
      const heavy = { ...words, countMessages: () => 1000 }
      const inContext = Effect.provideService(select(two, examples), TokenCounter.TokenCounter, heavy)
      assert.deepStrictEqual(yield* inContext, [])
    })
  )

  it.effect("leaves out the input itself, unless it is kept, and what is excluded", () =>
    Effect.gen(function* () {
      const query = "my  parcel is LATE!"
      assert.notInclude(ids(yield* select({ query, limit: 5 })), "late")
      // "very" is a small word, which changes nothing.
      assert.include(ids(yield* select({ query, limit: 5, keepSame: true })), "late")
      assert.strictEqual(ids(yield* select({ query, limit: 1, keepSame: true }))[0], "late")
      const exclude = ({ id }: FewShot.Example) => id === "later" || id === "broken"
      assert.sameMembers(ids(yield* select({ query, limit: 5, exclude })), ["refund", "hours"])
      assert.deepStrictEqual(yield* select({ query, exclude: () => true }), [])
      for (const same of ["", " ", "\ud83d\ude00", "?!"]) {
        assert.deepStrictEqual(yield* select({ query: same }, [example("1", same)]), [])
      }
    })
  )

  it.effect("looks behind what is excluded, among the 200 likest", () =>
    Effect.gen(function* () {
      const many = [
        ...Array.from({ length: 199 }, (_, index) => example(`${index}`, `late parcel ${index}`)),
        example("next", "a parcel without any number on any of its sides"),
        example("no", "something else")
      ]
      const exclude = ({ id }: FewShot.Example) => id !== "next" && id !== "no"
      assert.deepStrictEqual(ids(yield* select({ query: "late parcel", exclude }, many)), ["next"])
    })
  )

  it.effect("finds by meaning where there is an embedder, and embeds each example once", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const meanings = ["car automobile", "meal lunch"]
      const embedder = Embedder.make({
        model: "meanings",
        dimensions: 2,
        embedMany: (texts) =>
          Effect.sync(() => {
            asked.push(...texts)
            return texts.map((text) =>
              meanings.map((words) => (words.split(" ").some((word) => text.includes(word)) ? 1 : 0.01))
            )
          })
      })
      const examples = [example("lunch", "a good lunch"), example("car", "a fast car")]
      const query = "automobile"
      const made = yield* FewShot.make(examples, { embedder })
      assert.deepStrictEqual(ids(yield* FewShot.select(made, { query, limit: 1 })), ["car"])
      assert.deepStrictEqual(ids(yield* FewShot.select(made, { query: "meal", limit: 1 })), ["lunch"])
      assert.deepStrictEqual(asked.toSorted(), ["a fast car", "a good lunch", "automobile", "meal"])
    })
  )

  it.effect("gives the same selection for the same examples, in whatever order they came", () =>
    Effect.gen(function* () {
      const embedder = HashingEmbedder.make()
      const many = Array.from({ length: 60 }, (_, index) =>
        example(`${index}`, `question ${index % 7} of ${index % 3}`)
      )
      const options = { query: "question 3 of 1", limit: 10, diversity: 0.4, maxTokens: 300 }
      const of = (examples: ReadonlyArray<FewShot.Example>) =>
        Effect.flatMap(FewShot.make(examples, { embedder }), (made) => FewShot.select(made, options))
      const first = yield* of(many)
      assert.lengthOf(first, 10)
      assert.deepStrictEqual(yield* of(many), first)
      assert.deepStrictEqual(yield* of(many.toReversed()), first)
    })
  )

  const inStore = Effect.gen(function* () {
    const mine = yield* FewShot.fromStore("examples of mine")
    const yours = yield* FewShot.fromStore("examples of yours")
    yield* FewShot.add(mine, parcels)
    yield* FewShot.add(mine, [example("late", "My parcel is late", "another answer")])
    yield* FewShot.add(yours, [example("yours", "My parcel is late, too")])
    yield* mine.store.store(
      MemoryEntry.make({
        id: "memory" as EntryId,
        ownerId: mine.ownerId,
        content: "My parcel is late, said the user",
        role: "user",
        timestamp: 0
      })
    )
    const chosen = yield* FewShot.select(mine, { query: "parcel is late", limit: 10, keepSame: true })
    assert.sameMembers(ids(chosen), ids(parcels))
    assert.strictEqual(chosen.find(({ id }) => id === "late")?.output, "another answer")
    yield* mine.store.delete(mine.ownerId, "late" as EntryId)
    assert.lengthOf(yield* FewShot.select(mine, { query: "parcel is late", limit: 10 }), 4)
    assert.deepStrictEqual(ids(yield* FewShot.select(yours, { query: "late" })), ["yours"])
  })
  for (const [where, layer] of [
    ["in this process", InMemoryMemoryStore.layer()],
    ["in a database", SqlMemoryStore.layerMigrated().pipe(Layer.provide(SqliteClient.layer({ file: ":memory:" })))]
  ] as const) {
    it.effect(`finds the examples of an owner in a memory store ${where}, and nothing else of it`, () =>
      Effect.provide(inStore, layer)
    )
  }

  it.effect("refuses options out of their bounds, and examples that no store can hold", () =>
    Effect.gen(function* () {
      for (const [name, values] of [
        ["limit", [0, -1, 1.5, 101, Number.NaN, Number.POSITIVE_INFINITY]],
        ["diversity", [-0.1, 1.1, Number.NaN]],
        ["minRelevance", [-0.1, 1.1, Number.NaN]],
        ["maxTokens", [-1, Number.NaN]]
      ] as const) {
        for (const value of values) {
          const error = yield* Effect.flip(select({ query: "x", [name]: value }))
          assert.strictEqual(error._tag, "FewShotError")
          assert.include(error.message, name)
        }
      }
      for (const wrong of [example("", "x"), example("1", "x".repeat(1_000_001))]) {
        assert.strictEqual(
          (yield* Effect.flip(FewShot.make([parcels[0] as FewShot.Example, wrong])))._tag,
          "MemoryStoreError"
        )
      }
    })
  )

  it.effect("reads any texts as texts", () =>
    Effect.gen(function* () {
      const texts = [...HostileText.pieces, "constructor", "__proto__", "x".repeat(100_000)]
      const examples = texts.map((text, index) => example(`${index}`, text, text))
      const made = yield* FewShot.make(examples)
      for (const query of texts) {
        const chosen = yield* FewShot.select(made, { query, limit: 5, diversity: 0.5, keepSame: true })
        for (const { id, input, output } of chosen) {
          assert.deepStrictEqual([input, output], [texts[Number(id)], texts[Number(id)]])
        }
      }
    })
  )
})

describe("FewShot as a prompt", () => {
  it("is messages of a user and an assistant", () => {
    assert.deepStrictEqual(FewShot.toMessages([example("1", "a", "b"), example("2", "c", "d")]), [
      { role: "user", content: "a" },
      { role: "assistant", content: "b" },
      { role: "user", content: "c" },
      { role: "assistant", content: "d" }
    ])
    assert.deepStrictEqual(FewShot.toMessages([]), [])
  })

  it("is a text in which no example ends another or begins one", () => {
    assert.strictEqual(
      FewShot.toText([example("1", "2 < 3", "yes")]),
      "<example>\n<input>\n2 < 3\n</input>\n<output>\nyes\n</output>\n</example>"
    )
    assert.strictEqual(FewShot.toText([]), "")
    const part = FastCheck.constantFrom(
      "<",
      "/",
      "example",
      "EXAMPLE",
      "examples",
      "input",
      "output",
      ">",
      " ",
      "a",
      "\n"
    )
    const texts = FastCheck.array(part).map((parts) => parts.join(""))
    FastCheck.assert(
      FastCheck.property(texts, texts, (input, output) => {
        const text = FewShot.toText([example("1", input, output), example("2", output, input)])
        const tags = text.match(/<\/?(?:examples?|input|output)\b/gi) ?? []
        const one = ["<example", "<input", "</input", "<output", "</output", "</example"]
        assert.deepStrictEqual(tags, [...one, ...one])
      })
    )
  })
})

describe("FewShot in experiments", () => {
  it.effect("is an axis like others, and leaks no answer of the case that is evaluated", () =>
    Effect.gen(function* () {
      const topics = { delivery: "parcel late", damage: "arrived broken", refund: "money back" }
      const cases = Object.entries(topics).flatMap(([topic, words]) =>
        ["shoes", "shirt", "lamp", "chair"].map((thing) => ({
          id: `${topic} ${thing}`,
          input: `${words}: the ${thing}`,
          expected: topic
        }))
      )
      // Nothing but its own input is like this one.
      const dataset = yield* Dataset.make("topics", [...cases, { id: "odd", input: "zebra", expected: "animals" }])
      const examples = yield* FewShot.make(
        dataset.cases.map(({ expected, id, input }) => ({ id, input, output: expected }))
      )
      /** A model that answers as the likest example does. */
      const answer = (chosen: ReadonlyArray<FewShot.Example>) => FewShot.toMessages(chosen)[1]?.content ?? "unknown"
      const variants = Task.matrix(
        { shots: { none: undefined, three: { keepSame: false }, leaky: { keepSame: true } } },
        ({ shots }) =>
          Task.make("", (query: string) =>
            shots === undefined
              ? Effect.succeed(answer([]))
              : Effect.map(FewShot.select(examples, { query, limit: 3, minRelevance: 0.1, ...shots }), answer)
          )
      )
      const experiment = yield* Experiment.make("shots", {
        dataset,
        variants,
        scorers: [
          Scorer.make("right", ({ expected, output }: Scorer.Subject<string, unknown, string>) => expected === output)
        ]
      })
      const { finished } = yield* Experiment.run(experiment, { id: "1" })
      const right = (variant: string) =>
        finished.filter(({ result, trial }) => trial.variant === variant && result.scores[0]?.value === 1).length
      assert.deepStrictEqual(["none", "three", "leaky"].map(right), [0, 12, 13])
    }).pipe(Effect.provide(InMemoryExperimentStore.layer))
  )
})
