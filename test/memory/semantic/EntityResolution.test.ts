import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { EntryId } from "../../../src/domain/Ids.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import type * as FactStore from "../../../src/memory/facts/FactStore.js"
import * as InMemoryFactStore from "../../../src/memory/facts/InMemoryFactStore.js"
import * as DefaultEntityExtractor from "../../../src/memory/semantic/DefaultEntityExtractor.js"
import * as DefaultSemanticMemory from "../../../src/memory/semantic/DefaultSemanticMemory.js"
import * as EntityResolution from "../../../src/memory/semantic/EntityResolution.js"
import * as SemanticMemory from "../../../src/memory/semantic/SemanticMemory.js"
import * as SqlFactStore from "../../../src/persistence/memory/SqlFactStore.js"
import * as SqlBackends from "../../support/SqlBackends.js"

/** What a user said, from which the aliases below come. */
const said = [
  "My friends call me Ada.",
  "Bob is my brother.",
  "Bob is short for Robert Miller.",
  "My boss is called Ann Lee.",
  "I met Jürgen Groß, also known as Jojo.",
  "Sam Hill is my colleague. Kim Park is my colleague too."
]

const names = [
  "user",
  "Bob",
  "Robert Miller",
  "Sarah Miller",
  "Ann Lee",
  "Jürgen Groß",
  "Sam Hill",
  "Kim Park",
  "Maria del Carmen",
  "Peter J. Novak",
  "Peter Brown",
  "John Smith",
  "Jane Smith",
  "New York",
  "Bank of America",
  "Acme"
]

/** 72 mentions: the name that each means, `several`, or none. */
const gold: ReadonlyArray<readonly [mention: string, name: string | undefined]> = [
  ["Ada", "user"],
  ["ada", "user"],
  ["ADA's", "user"],
  ["user", "user"],
  ["Robert Miller", "Robert Miller"],
  ["robert miller", "Robert Miller"],
  ["ROBERT MILLER", "Robert Miller"],
  ["Robert  Miller's", "Robert Miller"],
  ["R. Miller", "Robert Miller"],
  ["R Miller", "Robert Miller"],
  ["Mr Robert Miller", "Robert Miller"],
  ["Dr. Robert Miller", "Robert Miller"],
  ["Robert A. Miller", "Robert Miller"],
  ["Robert", "Robert Miller"],
  ["Robert's", "Robert Miller"],
  ["Bob", "several"],
  ["my brother", "Bob"],
  ["My brother's", "Bob"],
  ["Miller", "several"],
  ["Mr Miller", "several"],
  ["S. Miller", "Sarah Miller"],
  ["Sarah", "Sarah Miller"],
  ["Mrs Sarah Miller", "Sarah Miller"],
  ["Sally Miller", undefined],
  ["Rob Miller", undefined],
  ["Rob", undefined],
  ["Ann", "Ann Lee"],
  ["Lee", "Ann Lee"],
  ["Ms Lee", "Ann Lee"],
  ["my boss", "Ann Lee"],
  ["A. Lee", "Ann Lee"],
  ["Anne Lee", undefined],
  ["Anna", undefined],
  ["Jurgen Gross", "Jürgen Groß"],
  ["JÜRGEN GROSS", "Jürgen Groß"],
  ["J. Groß", "Jürgen Groß"],
  ["Jojo", "Jürgen Groß"],
  ["jojo's", "Jürgen Groß"],
  ["Groß", "Jürgen Groß"],
  ["Prof. Groß", "Jürgen Groß"],
  ["Jo", undefined],
  ["my colleague", "several"],
  ["Sam", "Sam Hill"],
  ["Hill", "Sam Hill"],
  ["Sam Hill", "Sam Hill"],
  ["Samuel Hill", undefined],
  ["Kim", "Kim Park"],
  ["Maria del Carmen", "Maria del Carmen"],
  ["Maria", "Maria del Carmen"],
  ["Peter Novak", "Peter J. Novak"],
  ["P. Novak", "Peter J. Novak"],
  ["Peter J. Novak", "Peter J. Novak"],
  ["Peter John Novak", "Peter J. Novak"],
  ["Peter K. Novak", undefined],
  ["Peter", "several"],
  ["Novak", "Peter J. Novak"],
  ["Brown", "Peter Brown"],
  ["P. Brown", "Peter Brown"],
  ["J. Smith", "several"],
  ["Smith", "several"],
  ["John", "John Smith"],
  ["Jane Smith", "Jane Smith"],
  ["Mr John Smith", "John Smith"],
  ["Joan Smith", undefined],
  ["New York", "New York"],
  ["York", undefined],
  ["America", undefined],
  ["Bank", undefined],
  ["bank of america", "Bank of America"],
  ["ACME", "Acme"],
  ["Ghent", undefined],
  ["my sister", undefined]
]

const declared = said.flatMap((text) => EntityResolution.declared(text, "user"))
const known = names.map((name) => ({
  name,
  aliases: declared.filter((one) => one.name === name).map(({ alias }) => alias)
}))

describe("EntityResolution", () => {
  it("resolves mentions with a precision of 1 and a recall of 1", () => {
    let right = 0
    let wrong = 0
    const missed: Array<string> = []
    const wanted = gold.filter(([, name]) => name !== undefined && name !== "several")
    const mistakes: Array<string> = []
    for (const [mention, name] of gold) {
      const found = EntityResolution.resolve(mention, known)
      const merged = found._tag === "One" ? found.name : undefined
      if (merged !== undefined && merged === name) right++
      else if (merged !== undefined) {
        wrong++
        mistakes.push(`${mention} -> ${merged}`)
      } else if (name !== undefined && name !== "several") missed.push(mention)
      if (name === "several") assert.strictEqual(found._tag, "Ambiguous", mention)
    }
    assert.isAtLeast(gold.length, 60)
    assert.deepStrictEqual(mistakes, [])
    assert.strictEqual(right / (right + wrong), 1)
    assert.deepStrictEqual([missed, wanted.length], [[], 51])
  })

  it("reads no alias of what is asked, denied, supposed or reported", () => {
    for (const text of [
      "Is Bob my brother?",
      "Bob is not my brother.",
      "If Bob is my brother, I am a king.",
      "Eve said Bob is my brother.",
      "Don't call me Bob.",
      "Bob is my brother and friend, maybe"
    ]) {
      assert.deepStrictEqual(EntityResolution.declared(text, "user"), [], text)
    }
  })

  it("reads hostile texts in a bounded way", () => {
    for (const part of ["Bob is my ", "call me ", "A ", "My brother ", "aka ", "’s"]) {
      assert.isAtMost(EntityResolution.declared(part.repeat(1_000_000 / part.length), "user").length, 4_000)
      assert.isString(EntityResolution.resolve(part.repeat(1_000_000 / part.length), known)._tag)
    }
  })
})

const suite = (name: string, facts: Layer.Layer<FactStore.FactStore>): void => {
  const layer = DefaultSemanticMemory.layer().pipe(
    Layer.provide(Layer.merge(facts, DefaultEntityExtractor.layerHeuristic()))
  )
  const entry = (id: string, content: string, timestamp = 0) =>
    MemoryEntry.make({ id: EntryId.make(id), ownerId: "ada", content, role: "user", timestamp })

  describe(`aliases on ${name}`, () => {
    it.effect("finds facts under a declared alias, until the alias is deleted", () =>
      Effect.gen(function* () {
        const memory = yield* SemanticMemory.SemanticMemory
        const asked = Effect.map(memory.recall("ada", "what does my brother's employer pay?"), (found) =>
          found.map(({ object }) => object)
        )
        yield* memory.storeFact("ada", { subject: "Robert Miller", predicate: "works at", object: "Acme" })
        assert.notInclude(yield* asked, "Acme")
        const kept = yield* memory.ingest([entry("e1", "My brother is called Robert Miller.")])
        const alias = kept.find(({ predicate }) => predicate === "is also called")
        assert.deepInclude(alias ?? {}, { subject: "Robert Miller", object: "my brother", sources: ["e1"] })
        assert.include(yield* asked, "Acme")
        if (alias !== undefined) assert.isTrue(yield* memory.deleteFact("ada", alias.id))
        assert.notInclude(yield* asked, "Acme")
        assert.lengthOf(yield* memory.queryFacts("ada", "Robert Miller", { limit: 5 }), 1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("keeps ambiguous names and owners apart", () =>
      Effect.gen(function* () {
        const memory = yield* SemanticMemory.SemanticMemory
        yield* memory.storeFact("ada", { subject: "Sam Hill", predicate: "works at", object: "Acme" })
        yield* memory.storeFact("ada", { subject: "Kim Park", predicate: "works at", object: "Initech" })
        yield* memory.storeFact("eve", { subject: "Kim Park", predicate: "works at", object: "Secret" })
        yield* memory.ingest([entry("e1", "Sam Hill is my colleague. Kim Park is my colleague too.")])
        const vague = yield* memory.recall("ada", "who pays my colleague?")
        assert.notIncludeMembers(
          vague.map(({ object }) => object),
          ["Acme"]
        )
        const clear = yield* memory.recall("ada", "who pays K. Park?")
        assert.include(
          clear.map(({ object }) => object),
          "Initech"
        )
        assert.notInclude(JSON.stringify([vague, clear]), "Secret")
      }).pipe(Effect.provide(layer))
    )
  })
}

suite("InMemoryFactStore", InMemoryFactStore.layer())

SqlBackends.suite("SqlFactStore", ({ layer }) => {
  suite("SqlFactStore", Layer.orDie(Layer.provide(SqlFactStore.layer(), layer)))
})
