import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { EntryId } from "../../../src/domain/Ids.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as DefaultMemory from "../../../src/memory/DefaultMemory.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import { FactExtractionError } from "../../../src/memory/entry/MemoryError.js"
import * as FactStore from "../../../src/memory/facts/FactStore.js"
import * as EntityMatcher from "../../../src/memory/semantic/EntityMatcher.js"
import * as EntityResolution from "../../../src/memory/semantic/EntityResolution.js"
import * as ModelEntityMatcher from "../../../src/memory/semantic/ModelEntityMatcher.js"
import * as SemanticMemory from "../../../src/memory/semantic/SemanticMemory.js"
import * as TestModel from "../../../src/testing/TestModel.js"

/** People and places that somebody's conversations named. */
const names = [
  "Paris Hilton",
  "Jack London",
  "Emily Lake",
  "Kim Park",
  "Victor Street",
  "London",
  "Paris",
  "Hyde Park",
  "Wall Street",
  "Elizabeth Moreau",
  "Alexander Petrov",
  "Katherine Johansson",
  "William Okafor",
  "Margaret Chen",
  "Michael Chen",
  "Thomas Weber",
  "Theodore Nilsson",
  "Björn Åkesson",
  "Maria Gonzalez",
  "Marta Gonzalez",
  "Sofia Rossi",
  "Acme Logistics"
]

/** 76 mentions of our own, each with whom it means; none for somebody or something else. */
const gold: ReadonlyArray<readonly [mention: string, name: string | undefined]> = [
  ["Paris Hilton", "Paris Hilton"],
  ["Hilton", "Paris Hilton"],
  ["Ms Hilton", "Paris Hilton"],
  ["P. Hilton", "Paris Hilton"],
  ["Paris", "Paris"],
  ["Jack London", "Jack London"],
  ["Mr London", "Jack London"],
  ["J. London", "Jack London"],
  ["Jack", "Jack London"],
  ["London", "London"],
  ["Emily", "Emily Lake"],
  ["Mrs Lake", "Emily Lake"],
  ["E. Lake", "Emily Lake"],
  ["Emily Lake's", "Emily Lake"],
  ["Kim", "Kim Park"],
  ["K. Park", "Kim Park"],
  ["Ms Park", "Kim Park"],
  ["Hyde Park", "Hyde Park"],
  ["Victor", "Victor Street"],
  ["Mr Street", "Victor Street"],
  ["V. Street", "Victor Street"],
  ["Wall Street", "Wall Street"],
  ["Wall", undefined],
  ["Hyde", undefined],
  ["Central Park", undefined],
  ["Elizabeth", "Elizabeth Moreau"],
  ["Eliza Moreau", "Elizabeth Moreau"],
  ["Elisabeth Moreau", "Elizabeth Moreau"],
  ["Eliz", "Elizabeth Moreau"],
  ["Moreau, Elizabeth", "Elizabeth Moreau"],
  ["Eric Moreau", undefined],
  ["Alex Petrov", "Alexander Petrov"],
  ["Alex", "Alexander Petrov"],
  ["Alexandr Petrov", "Alexander Petrov"],
  ["A. Petrov", "Alexander Petrov"],
  ["Anna Petrov", undefined],
  ["Kathy Johansson", "Katherine Johansson"],
  ["Katharine Johansson", "Katherine Johansson"],
  ["Katherine Johanson", "Katherine Johansson"],
  ["Karl Johansson", undefined],
  ["Will Okafor", "William Okafor"],
  ["Will", "William Okafor"],
  ["Okafor William", "William Okafor"],
  ["Okafor", "William Okafor"],
  ["Wendy Okafor", undefined],
  ["Chen", undefined],
  ["M. Chen", undefined],
  ["Maggie Chen", "Margaret Chen"],
  ["Mike Chen", "Michael Chen"],
  ["Margaret", "Margaret Chen"],
  ["Micheal Chen", "Michael Chen"],
  ["Dr Chen", undefined],
  ["Tom Weber", "Thomas Weber"],
  ["Tomas Weber", "Thomas Weber"],
  ["Tina Weber", undefined],
  ["Weber", "Thomas Weber"],
  ["Theo Nilsson", "Theodore Nilsson"],
  ["Theo", "Theodore Nilsson"],
  ["Ted Nilsson", "Theodore Nilsson"],
  ["Theodor Nilsson", "Theodore Nilsson"],
  ["Bjorn Akesson", "Björn Åkesson"],
  ["Björn", "Björn Åkesson"],
  ["Bengt Åkesson", undefined],
  ["Maria", "Maria Gonzalez"],
  ["Maria González", "Maria Gonzalez"],
  ["M. Gonzalez", undefined],
  ["Gonzalez", undefined],
  ["Marta", "Marta Gonzalez"],
  ["Sofi Rossi", "Sofia Rossi"],
  ["Sofie Rossi", "Sofia Rossi"],
  ["Sofia", "Sofia Rossi"],
  ["Stefano Rossi", undefined],
  ["Rossi", "Sofia Rossi"],
  ["ACME LOGISTICS", "Acme Logistics"],
  ["Acme Logistic", "Acme Logistics"],
  ["Ghent", undefined]
]

const known = names.map((name) => ({ name, aliases: [] }))

/** How many mentions were given the right name, of those that were given one and of those that have one. */
const measured = (found: ReadonlyArray<string | undefined>) => {
  const given = found.filter((name) => name !== undefined).length
  const right = found.filter((name, at) => name !== undefined && name === gold[at]?.[1]).length
  const wanted = gold.filter(([, name]) => name !== undefined).length
  const share = (part: number, whole: number) => Math.round((100 * part) / whole) / 100
  return { precision: share(right, given), recall: share(right, wanted) }
}

const byRules = gold.map(([mention]) => {
  const found = EntityResolution.resolve(mention, known)
  return found._tag === "One" ? found.name : undefined
})

/** Answers of the rules, and of a model where they are undecided. */
const withModel = (choose: (mention: string, candidates: ReadonlyArray<string>) => string | undefined) => {
  let asked = 0
  const found = gold.map(([mention], at) => {
    const decided = byRules[at]
    if (decided !== undefined) return decided
    const candidates = EntityResolution.undecided(mention, known)
    if (candidates.length === 0) return undefined
    asked++
    return choose(mention, candidates)
  })
  return { asked, ...measured(found) }
}

describe("EntityResolution with a matcher, on 76 mentions of our own", () => {
  it("has the measured precision and recall", () => {
    assert.deepStrictEqual(measured(byRules), { precision: 1, recall: 0.58 })
    const answers = new Map(gold)
    assert.deepStrictEqual(
      withModel((mention, candidates) => candidates.find((name) => name === answers.get(mention))),
      { asked: 37, precision: 1, recall: 1 }
    )
    // A model that always takes the first of its candidates.
    assert.deepStrictEqual(
      withModel((_, [first]) => first),
      { asked: 37, precision: 0.79, recall: 0.95 }
    )
  })
})

const undecided: ReadonlyArray<EntityMatcher.Undecided> = [
  { mention: "Alex", text: "Alex moved to Rome.", candidates: ["Alexander Petrov", "Alexandra Weiss"] },
  { mention: "Tom Weber", text: "Tom Weber sings.", candidates: ["Thomas Weber"] },
  { mention: "Chen", text: "Chen likes tea.", candidates: ["Margaret Chen", "Michael Chen"] },
  { mention: "Chenn", text: "Chenn likes tea.", candidates: ["Michael Chen", "Margaret Chen"] }
]

const matched = (...texts: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const matcher = ModelEntityMatcher.make(yield* LlmClient.LlmClient)
    return { answer: yield* Effect.either(matcher.match(undecided)), requests: yield* TestModel.requests }
  }).pipe(Effect.provide(TestModel.layer(texts.map((text) => ({ text })))))

const answered = (...matches: ReadonlyArray<readonly [mention: number, candidate: number | null]>) =>
  JSON.stringify({ matches: matches.map(([mention, candidate]) => ({ mention, candidate })) })

describe("ModelEntityMatcher", () => {
  it.effect("asks about all mentions in one call, as data", () =>
    Effect.gen(function* () {
      const { answer, requests } = yield* matched(answered([1, 2], [2, 1], [3, null]))
      assert.deepStrictEqual(answer._tag === "Right" ? answer.right : answer.left, [1, 0, undefined, undefined])
      assert.lengthOf(requests, 1)
      const [system, user] = requests[0]?.messages ?? []
      assert.notInclude(JSON.stringify(system), "Alex")
      assert.include(JSON.stringify(user), "Alexandra Weiss")
    })
  )

  it.effect("refuses answers about what it did not ask, and those that make all one", () =>
    Effect.gen(function* () {
      for (const text of [
        answered([1, 3]),
        answered([1, 0]),
        answered([5, 1]),
        answered([-1, 1]),
        JSON.stringify({ matches: [{ mention: "__proto__", candidate: 1 }] }),
        JSON.stringify({ matches: "all" }),
        "They are all the same person.",
        ""
      ]) {
        const { answer } = yield* matched(text)
        assert.strictEqual(answer._tag, "Left", text)
      }
      const same = undecided.map(({ mention, text }) => ({ mention, text, candidates: ["Michael Chen"] }))
      const all = Effect.gen(function* () {
        const matcher = ModelEntityMatcher.make(yield* LlmClient.LlmClient)
        return yield* Effect.flip(matcher.match(same))
      }).pipe(Effect.provide(TestModel.layer([{ text: answered([1, 1], [2, 1], [3, 1], [4, 1]) }])))
      assert.include((yield* all).message, "makes all one")
    })
  )

  it.effect("takes no candidate of a mention that is answered in two ways", () =>
    Effect.gen(function* () {
      const { answer } = yield* matched(answered([1, 1], [1, 2], [2, 1], [2, 1]))
      assert.deepStrictEqual(answer._tag === "Right" ? answer.right : answer.left, [undefined, 0, undefined, undefined])
    })
  )
})

describe("semantic memory with a matcher", () => {
  const entry = (id: string, content: string, timestamp: number) =>
    MemoryEntry.make({ id: EntryId.make(id), ownerId: "ada", content, role: "user", timestamp })

  /** What is found of Alexander Petrov after Alex was named, and the questions that were asked. */
  const recalled = (match: EntityMatcher.Service["match"]) =>
    Effect.gen(function* () {
      const asked: Array<ReadonlyArray<EntityMatcher.Undecided>> = []
      const matcher = Layer.succeed(EntityMatcher.EntityMatcher, {
        match: (undecided: ReadonlyArray<EntityMatcher.Undecided>) =>
          Effect.suspend(() => {
            asked.push(undecided)
            return match(undecided)
          })
      })
      const body = Effect.gen(function* () {
        const memory = yield* SemanticMemory.SemanticMemory
        yield* TestClock.adjust(10)
        yield* memory.ingest([entry("e1", "Alexander Petrov works at Acme.", 1)])
        yield* memory.ingest([entry("e2", "Alex owns a boat.", 2)])
        yield* memory.ingest([entry("e2", "Alex owns a boat.", 2)])
        const found = yield* memory.recall("ada", "what has Alexander Petrov bought?")
        const back = yield* memory.recall("ada", "who pays Alex?")
        const facts = yield* FactStore.FactStore
        const aliases = yield* facts.query("ada", { predicate: "is also called" })
        for (const { id } of aliases) yield* memory.deleteFact("ada", id)
        const undone = yield* memory.recall("ada", "what has Alexander Petrov bought?")
        const objects = (list: typeof found) => list.map(({ object }) => object)
        return { found: objects(found), back: objects(back), undone: objects(undone), aliases }
      })
      const result = yield* Effect.provide(
        body,
        DefaultMemory.layer({ matcher, config: { consolidation: { enabled: false } } })
      )
      return { ...result, asked }
    })

  it.effect("keeps what the matcher decides as an alias, which can be deleted, and asks once", () =>
    Effect.gen(function* () {
      const { aliases, asked, back, found, undone } = yield* recalled((undecided) =>
        Effect.succeed(undecided.map(() => 0))
      )
      assert.include(found, "a boat")
      assert.include(back, "Acme")
      assert.notInclude(undone, "a boat")
      assert.deepInclude(aliases[0] ?? {}, {
        subject: "Alexander Petrov",
        object: "Alex",
        confidence: 0.7,
        sources: [EntryId.make("e2")]
      })
      assert.deepStrictEqual(
        asked.map((undecided) => undecided.map(({ candidates, mention }) => [mention, candidates])),
        [[["Alex", ["Alexander Petrov"]]]]
      )
    })
  )

  it.effect("stays with the rules if the matcher fails, answers nothing, or answers too little or too much", () =>
    Effect.gen(function* () {
      const failure = new FactExtractionError({ message: "The model matched no names: LlmTimeoutError" })
      for (const match of [
        () => Effect.fail(failure),
        () => Effect.succeed([undefined]),
        () => Effect.succeed([]),
        () => Effect.succeed([99, 0, 0]),
        () => Effect.succeed([-1])
      ]) {
        const { aliases, found } = yield* recalled(match)
        assert.deepStrictEqual(aliases, [])
        assert.notInclude(found, "a boat")
        assert.include(found, "Acme")
      }
    })
  )
})
