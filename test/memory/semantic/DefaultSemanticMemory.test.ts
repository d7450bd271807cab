import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { EntryId, SessionId } from "../../../src/domain/Ids.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import { FactExtractionError } from "../../../src/memory/entry/MemoryError.js"
import { MemoryRetrievedHook, MemoryWrittenHook } from "../../../src/memory/entry/MemoryHooks.js"
import * as Selection from "../../../src/memory/entry/Selection.js"
import { type Fact, FactId, type NewFact } from "../../../src/memory/facts/Fact.js"
import * as FactStore from "../../../src/memory/facts/FactStore.js"
import * as InMemoryFactStore from "../../../src/memory/facts/InMemoryFactStore.js"
import * as DefaultEntityExtractor from "../../../src/memory/semantic/DefaultEntityExtractor.js"
import * as DefaultSemanticMemory from "../../../src/memory/semantic/DefaultSemanticMemory.js"
import * as EntityExtractor from "../../../src/memory/semantic/EntityExtractor.js"
import * as SemanticMemory from "../../../src/memory/semantic/SemanticMemory.js"
import * as Hooks from "../../../src/observability/Hooks.js"

const entry = (id: string, content: string, timestamp = 0, ownerId = "ann") =>
  MemoryEntry.make({ id: EntryId.make(id), ownerId, content, role: "user", timestamp })

const fact = (subject: string, predicate: string, object: string, more?: Partial<NewFact>): NewFact => ({
  subject,
  predicate,
  object,
  ...more
})

const told = (facts: ReadonlyArray<Fact>) =>
  facts.map(({ object, predicate, subject }) => `${subject} ${predicate} ${object}`)

const extractor = (extract: EntityExtractor.Service["extract"]) =>
  Layer.succeed(EntityExtractor.EntityExtractor, { extract })

const run = <A, E>(
  body: (memory: SemanticMemory.Service, store: FactStore.Service) => Effect.Effect<A, E, Hooks.Hooks>,
  options?: DefaultSemanticMemory.Options & { readonly extractor?: Layer.Layer<EntityExtractor.EntityExtractor> }
) =>
  Effect.gen(function* () {
    return yield* body(yield* SemanticMemory.SemanticMemory, yield* FactStore.FactStore)
  }).pipe(
    Effect.provide(
      DefaultSemanticMemory.layer(options).pipe(
        Layer.provideMerge(
          Layer.mergeAll(
            InMemoryFactStore.layer(),
            options?.extractor ?? DefaultEntityExtractor.layerHeuristic(),
            Hooks.layer
          )
        )
      )
    )
  )

describe("SemanticMemory.layer: facts", () => {
  it.effect("finds facts by the beginning of the subject, highest confidence first, then newest", () =>
    run((memory) =>
      Effect.gen(function* () {
        yield* TestClock.adjust(100)
        yield* memory.storeFact("ann", fact("Anna", "likes", "tea", { confidence: 0.7, validFrom: 1 }))
        yield* memory.storeFact("ann", fact("Anna Smith", "likes", "milk", { confidence: 0.7, validFrom: 2 }))
        yield* memory.storeFact("ann", fact("anna", "likes", "water", { confidence: 0.9, validFrom: 0 }))
        yield* memory.storeFact("ann", fact("Bob", "knows", "Anna"))
        assert.deepStrictEqual(told(yield* memory.queryFacts("ann", "ANNA")), [
          "anna likes water",
          "Anna Smith likes milk",
          "Anna likes tea"
        ])
        assert.strictEqual((yield* memory.queryFacts("ann", "anna", { limit: 2 })).length, 2)
        assert.deepStrictEqual(yield* memory.queryFacts("bob", "anna"), [])
      })
    )
  )

  it.effect("finds an entity in the subject or object as whole words", () =>
    run((memory) =>
      Effect.gen(function* () {
        yield* memory.storeFact("ann", fact("Anna", "likes", "tea"))
        yield* memory.storeFact("ann", fact("Bob", "knows", "Anna Smith"))
        yield* memory.storeFact("ann", fact("Bob", "knows", "Hannah"))
        assert.deepStrictEqual(told(yield* memory.getEntityFacts("ann", "anna")).sort(), [
          "Anna likes tea",
          "Bob knows Anna Smith"
        ])
      })
    )
  )

  it.effect("stores facts below the minimum confidence, and returns them only on request", () =>
    run((memory) =>
      Effect.gen(function* () {
        const kept = yield* memory.storeFact("ann", fact("Anna", "likes", "tea", { confidence: 0.49 }))
        yield* memory.storeFact("ann", fact("Anna", "likes", "milk", { confidence: 0.5 }))
        for (const ask of [memory.queryFacts, memory.getEntityFacts, memory.recall]) {
          assert.deepStrictEqual(told(yield* ask("ann", "Anna")), ["Anna likes milk"])
          assert.strictEqual((yield* ask("ann", "Anna", { minConfidence: 0 })).length, 2)
        }
        const surer = yield* memory.updateFact("ann", kept.id, 0.8)
        assert.strictEqual(surer.confidence, 0.8)
        assert.deepStrictEqual(told(yield* memory.recall("ann", "Anna")), ["Anna likes tea", "Anna likes milk"])
      })
    )
  )

  it.effect("uses the configured minimum confidence", () =>
    run(
      (memory) =>
        Effect.gen(function* () {
          yield* memory.storeFact("ann", fact("Anna", "likes", "tea", { confidence: 0.8 }))
          assert.deepStrictEqual(yield* memory.queryFacts("ann", "Anna"), [])
        }),
      { minConfidence: 0.9 }
    )
  )

  it.effect("returns what held at a time, and what held before it", () =>
    run((memory) =>
      Effect.gen(function* () {
        yield* memory.storeFact("ann", fact("Anna", "lives in", "Paris"))
        yield* TestClock.adjust(10)
        yield* memory.storeFact("ann", fact("Anna", "lives in", "Rome"))
        yield* TestClock.adjust(10)
        for (const ask of [memory.queryFacts, memory.getEntityFacts, memory.recall]) {
          assert.deepStrictEqual(told(yield* ask("ann", "Anna")), ["Anna lives in Rome"])
          assert.deepStrictEqual(told(yield* ask("ann", "Anna", { at: 9 })), ["Anna lives in Paris"])
          assert.deepStrictEqual(told(yield* ask("ann", "Anna", { includeClosed: true })).sort(), [
            "Anna lives in Paris",
            "Anna lives in Rome"
          ])
        }
      })
    )
  )

  it.effect("rejects a less certain fact for a full subject, and bounds a result unless asked otherwise", () =>
    run(
      (memory) =>
        Effect.gen(function* () {
          yield* memory.storeFact("ann", fact("Anna", "likes", "tea"))
          yield* memory.storeFact("ann", fact("Anna", "likes", "milk"))
          const error = yield* Effect.flip(memory.storeFact("ann", fact("Anna", "likes", "water", { confidence: 0.9 })))
          assert.strictEqual(error._tag, "MemoryCapacityError")
          assert.include(error, { capacity: 2 })
          yield* memory.storeFact("ann", fact("Bob", "likes", "tea"))
          assert.strictEqual((yield* memory.queryFacts("ann", "")).length, 2)
          assert.strictEqual((yield* memory.queryFacts("ann", "", { limit: 9 })).length, 3)
        }),
      { maxFactsPerEntity: 2 }
    )
  )

  it.effect("fails to change or delete a fact that the owner does not have", () =>
    run((memory) =>
      Effect.gen(function* () {
        const { id } = yield* memory.storeFact("ann", fact("Anna", "likes", "tea"))
        assert.strictEqual((yield* Effect.flip(memory.updateFact("bob", id, 0.1)))._tag, "MemoryStoreError")
        assert.strictEqual(yield* memory.deleteFact("bob", id), false)
        assert.strictEqual(yield* memory.deleteFact("ann", id), true)
        assert.strictEqual(yield* memory.deleteFact("ann", id), false)
        yield* memory.storeFact("ann", fact("Anna", "likes", "milk"))
        assert.strictEqual(yield* memory.clear("ann"), 1)
        assert.deepStrictEqual(yield* memory.queryFacts("ann", ""), [])
        yield* memory.health
      })
    )
  )
})

describe("SemanticMemory.layer: recall", () => {
  const known = [
    fact("Anna", "lives in", "Paris"),
    fact("Anna", "likes", "green tea"),
    fact("Anna Smith", "owns", "a boat"),
    fact("Bob", "works at", "Acme"),
    fact("user", "is called", "Eva"),
    fact("user", "lives in", "Oslo"),
    fact("green tea", "comes from", "Japan", { confidence: 0.3 })
  ]
  const asked = (question: string, options?: SemanticMemory.FactOptions & DefaultSemanticMemory.Options) =>
    run(
      (memory) =>
        Effect.gen(function* () {
          for (const one of known) yield* memory.storeFact("ann", one)
          return told(yield* memory.recall("ann", question, options))
        }),
      options
    )

  it.effect("returns facts about named entities first, those that share words with the question before others", () =>
    Effect.gen(function* () {
      const found = yield* asked("Where does anna live?")
      assert.strictEqual(found[0], "Anna lives in Paris")
      assert.deepStrictEqual(
        found.slice(0, 3).sort(),
        ["Anna Smith owns a boat", "Anna lives in Paris", "Anna likes green tea"].sort()
      )
      assert.strictEqual(found[3], "user lives in Oslo")
    })
  )

  it.effect("then returns facts that share words with the question", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* asked("who drinks green tea?"), ["Anna likes green tea"])
      assert.deepStrictEqual(yield* asked("who works at Acme?"), ["Bob works at Acme"])
      assert.strictEqual((yield* asked("where does Bob live?"))[0], "Bob works at Acme")
    })
  )

  it.effect("takes I and my as the speaker", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* asked("Where do I live?")).slice(0, 2), [
        "user lives in Oslo",
        "user is called Eva"
      ])
      assert.notInclude(yield* asked("What is my name?", { speaker: "somebody" }), "user is called Eva")
    })
  )

  it.effect("takes the longest name in a question", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* asked("anna smith?"))[0], "Anna Smith owns a boat")
      assert.strictEqual((yield* asked("anna smith?", { limit: 1 })).length, 1)
    })
  )

  it.effect("returns nothing without anything in common", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* asked("weather tomorrow"), [])
      assert.deepStrictEqual(yield* asked(""), [])
      assert.deepStrictEqual(yield* asked("anna", { limit: 0 }), [])
    })
  )

  it.effect("answers a question of 1 MB from its beginning", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 100_000 }, (_, index) => `Name${index}`).join(" ")
      assert.match((yield* asked(`Anna ${names}`))[0] ?? "", /^Anna/)
      assert.deepStrictEqual(yield* asked(`${names} Anna`), [])
    })
  )
})

describe("SemanticMemory.layer: ingest", () => {
  const said = [
    entry("e1", "I live in Ghent. I like tea. I like coffee", 1),
    entry("e2", "I no longer live in Ghent, and I no longer like tea.", 5),
    entry("e3", "I used to play chess", 6)
  ] as const
  for (const [how, order] of [
    ["in order", [0, 1, 2]],
    ["the other way around", [2, 1, 0]]
  ] as const) {
    it.effect(`ends a retracted fact and keeps the others, told ${how}`, () =>
      run((memory) =>
        Effect.gen(function* () {
          yield* TestClock.adjust(100)
          for (const index of order) yield* memory.ingest([said[index]])
          assert.deepStrictEqual(told(yield* memory.recall("ann", "What do I like, and where do I live?")), [
            "user likes coffee"
          ])
          const all = yield* memory.queryFacts("ann", "user", { includeClosed: true })
          assert.sameDeepMembers(
            all.map(({ object, validFrom, validTo }) => [object, validFrom, validTo] as const),
            [
              ["Ghent", 1, 5],
              ["tea", 1, 5],
              ["coffee", 1, undefined],
              ["chess", 6, 6]
            ]
          )
          assert.deepStrictEqual(told(yield* memory.queryFacts("ann", "user", { at: 3 })).length, 3)
          for (const index of order) yield* memory.ingest([said[index]])
          assert.deepStrictEqual(yield* memory.queryFacts("ann", "user", { includeClosed: true }), all)
        })
      )
    )
  }

  it.effect("stores what is stated, and replaces it by a new statement", () =>
    run((memory) =>
      Effect.gen(function* () {
        yield* TestClock.adjust(100)
        const first = yield* memory.ingest([entry("e1", "My name is Anna and I live in Paris.", 1)])
        assert.deepStrictEqual(told(first), ["user is called Anna", "user lives in Paris"])
        assert.deepStrictEqual(
          first.map(({ confidence, sources, validFrom }) => [confidence, sources.map(String), validFrom]),
          [
            [0.8, ["e1"], 1],
            [0.8, ["e1"], 1]
          ]
        )
        const again = yield* memory.ingest([entry("e1", "My name is Anna and I live in Paris.", 1)])
        assert.deepStrictEqual(again, first)
        yield* memory.ingest([entry("e2", "I moved to Berlin.", 2)])
        assert.strictEqual((yield* memory.recall("ann", "Where do I live?"))[0]?.object, "Berlin")
        const all = yield* memory.queryFacts("ann", "USER", { includeClosed: true })
        assert.strictEqual(all.find(({ object }) => object === "Paris")?.validTo, 2)
      })
    )
  )

  it.effect("uses the configured confidence for unrated facts", () =>
    run(
      (memory) =>
        Effect.gen(function* () {
          const kept = yield* memory.ingest([entry("e1", "hello")])
          assert.deepStrictEqual(
            kept.map(({ confidence }) => confidence),
            [0.6, 0.3]
          )
        }),
      {
        ingestConfidence: 0.6,
        extractor: extractor(() =>
          Effect.succeed({
            facts: [fact("Anna", "likes", "tea"), fact("Anna", "likes", "milk", { confidence: 0.3 })],
            entities: []
          })
        )
      }
    )
  )

  it.effect("reads and stores entries of several owners separately", () => {
    const read: Array<ReadonlyArray<string>> = []
    return run(
      (memory) =>
        Effect.gen(function* () {
          const kept = yield* memory.ingest([
            entry("e1", "I like tea", 0, "ann"),
            entry("e2", "I like milk", 0, "__proto__"),
            entry("e3", "I like water", 0, "ann")
          ])
          assert.deepStrictEqual(
            kept.map(({ object, ownerId }) => [ownerId, object]),
            [
              ["ann", "tea"],
              ["ann", "water"],
              ["__proto__", "milk"]
            ]
          )
          assert.deepStrictEqual(told(yield* memory.queryFacts("__proto__", "")), ["user likes milk"])
          assert.deepStrictEqual(read, [["e1", "e3"], ["e2"]])
          assert.deepStrictEqual(yield* memory.ingest([]), [])
        }),
      {
        extractor: extractor((entries) =>
          Effect.suspend(() => {
            read.push(entries.map(({ id }) => id))
            return DefaultEntityExtractor.makeHeuristic().extract(entries)
          })
        )
      }
    )
  })

  it.effect("leaves out facts that do not fit, and returns each fact once", () =>
    run(
      (memory) =>
        Effect.gen(function* () {
          const kept = yield* memory.ingest([entry("e1", "hello")])
          assert.deepStrictEqual(told(kept), ["Anna likes tea"])
        }),
      {
        maxFactsPerEntity: 1,
        extractor: extractor(() =>
          Effect.succeed({
            facts: [
              fact("Anna", "likes", "tea"),
              fact("Anna", "likes", "milk", { confidence: 0.1 }),
              fact("anna", "likes", "TEA")
            ],
            entities: []
          })
        )
      }
    )
  )

  it.effect("stores nothing when the extractor fails", () =>
    run(
      (memory, store) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(memory.ingest([entry("e1", "I like tea")]))
          assert.strictEqual(error._tag, "FactExtractionError")
          assert.strictEqual(yield* store.count("ann"), 0)
        }),
      { extractor: extractor(() => Effect.fail(new FactExtractionError({ message: "no" }))) }
    )
  )

  it.effect("stores nothing when it is interrupted", () => {
    const gate = Deferred.unsafeMake<void>(FiberId.none)
    return run(
      (memory, store) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(memory.ingest([entry("e1", "I like tea")]))
          yield* Effect.yieldNow()
          yield* Fiber.interrupt(fiber)
          yield* Deferred.succeed(gate, undefined)
          assert.strictEqual(yield* store.count("ann"), 0)
        }),
      {
        extractor: extractor(() =>
          Effect.as(Deferred.await(gate), { facts: [fact("Anna", "likes", "tea")], entities: [] })
        )
      }
    )
  })
})

describe("SemanticMemory.layer: branches", () => {
  const trunk = SessionId.make("trunk")
  const branch = SessionId.make("branch")
  const said = (id: string, content: string, timestamp: number, sessionId: SessionId) => ({
    ...entry(id, content, timestamp),
    sessionId,
    metadata: { [Selection.treeKey]: trunk }
  })
  const ways = {
    trunk: { tree: trunk, lineage: [{ sessionId: trunk }] },
    branch: { tree: trunk, lineage: [{ sessionId: trunk, until: 2 }, { sessionId: branch }] }
  }
  const entries = [
    said("e1", "I live in Paris.", 1, trunk),
    said("e2", "I live in Rome.", 3, trunk),
    said("e3", "I like tea.", 4, branch),
    entry("e4", "My name is Anna.", 5)
  ]

  it.effect("each know what they and their ancestors were told", () =>
    run((memory) =>
      Effect.gen(function* () {
        yield* TestClock.adjust(100)
        yield* memory.ingest(entries)
        const recall = (options?: SemanticMemory.FactOptions) =>
          Effect.map(memory.recall("ann", "What do I like, and where do I live?", options), (facts) =>
            told(facts).sort()
          )
        assert.deepStrictEqual(yield* recall(), ["user is called Anna", "user likes tea", "user lives in Rome"])
        assert.deepStrictEqual(yield* recall(ways.trunk), ["user is called Anna", "user lives in Rome"])
        assert.deepStrictEqual(yield* recall(ways.branch), [
          "user is called Anna",
          "user likes tea",
          "user lives in Paris"
        ])
        const of = { ...ways.branch, includeClosed: true }
        assert.include(told(yield* memory.queryFacts("ann", "user", of)), "user lives in Paris")
        assert.notInclude(told(yield* memory.queryFacts("ann", "user", of)), "user lives in Rome")
        assert.deepStrictEqual(told(yield* memory.getEntityFacts("ann", "tea", ways.trunk)), [])
        assert.deepStrictEqual(told(yield* memory.getEntityFacts("ann", "tea", ways.branch)), ["user likes tea"])
      })
    )
  )

  it.effect("are not displaced by facts of another branch", () =>
    run((memory) =>
      Effect.gen(function* () {
        yield* TestClock.adjust(100)
        for (let index = 0; index < 3; index++) {
          yield* memory.ingest([
            said(`b${index}`, `My favourite ${"xyz"[index]}food is soup.`, 10 + index, branch),
            said(`t${index}`, `My favourite ${"xyz"[index]}drink is milk.`, index, trunk)
          ])
        }
        const found = yield* memory.recall("ann", "What is my favourite?", { ...ways.trunk, limit: 3 })
        assert.strictEqual(found.length, 3)
        for (const { object } of found) assert.strictEqual(object, "milk")
      })
    )
  )

  it.effect("know a fact without sources if they recall all entries it may come from", () =>
    run(
      (memory) =>
        Effect.gen(function* () {
          yield* TestClock.adjust(100)
          yield* memory.ingest(entries)
          const knows = (options: SemanticMemory.FactOptions) =>
            Effect.map(memory.queryFacts("ann", "Anna", options), ({ length }) => length > 0)
          assert.isFalse(yield* knows(ways.trunk))
          assert.isFalse(yield* knows(ways.branch))
          assert.isTrue(yield* knows({ tree: trunk, lineage: [{ sessionId: trunk }, { sessionId: branch }] }))
          assert.isTrue(yield* knows({ tree: SessionId.make("elsewhere"), lineage: [] }))
        }),
      { extractor: extractor(() => Effect.succeed({ facts: [fact("Anna", "likes", "tea")], entities: [] })) }
    )
  )

  it.effect("ignore an invalid tree name", () =>
    run((memory) =>
      Effect.gen(function* () {
        yield* TestClock.adjust(100)
        const odd = { ...entry("e1", "I like tea."), metadata: { [Selection.treeKey]: "x".repeat(1000) } }
        assert.deepStrictEqual(told(yield* memory.ingest([odd])), ["user likes tea"])
        assert.strictEqual((yield* memory.queryFacts("ann", "user", ways.trunk)).length, 1)
      })
    )
  )
})

describe("SemanticMemory.layer: hooks", () => {
  it.effect("are called for stored and returned facts", () =>
    run((memory) =>
      Effect.gen(function* () {
        const heard: Array<unknown> = []
        yield* Hooks.on(MemoryWrittenHook, (payload) => Effect.sync(() => heard.push(payload)))
        yield* Hooks.on(MemoryRetrievedHook, (payload) => Effect.sync(() => heard.push(payload)))
        const { id } = yield* memory.storeFact("ann", fact("user", "lives in", "Paris"))
        yield* memory.queryFacts("ann", "user")
        yield* memory.getEntityFacts("ann", "Rome")
        yield* memory.recall("ann", "Where do I live?")
        yield* memory.updateFact("ann", id, 0.5)
        const [read] = yield* memory.ingest([entry("e1", "I like tea")])
        yield* memory.ingest([entry("e2", "nothing")])
        const written = { tier: "semantic", backend: "in_memory", ownerId: "ann" }
        const retrieved = { tier: "semantic", ownerId: "ann" }
        assert.deepStrictEqual(heard, [
          { ...written, ids: [id] },
          { ...retrieved, resultCount: 1 },
          { ...retrieved, resultCount: 0 },
          { ...retrieved, resultCount: 1 },
          { ...written, ids: [id] },
          { ...written, ids: [read?.id] }
        ])
      }).pipe(Effect.scoped)
    )
  )
})

describe("SemanticMemory.layerNoop", () => {
  it.effect("knows nothing", () =>
    Effect.gen(function* () {
      const memory = yield* SemanticMemory.SemanticMemory
      yield* TestClock.adjust(7)
      const given = yield* memory.storeFact("ann", fact("Anna", "likes", "tea"))
      assert.deepStrictEqual(given, {
        id: given.id,
        ownerId: "ann",
        subject: "Anna",
        predicate: "likes",
        object: "tea",
        confidence: 1,
        sources: [],
        validFrom: 7,
        recordedAt: 7,
        metadata: {}
      })
      for (const ask of [memory.queryFacts, memory.getEntityFacts, memory.recall]) {
        assert.deepStrictEqual(yield* ask("ann", "Anna"), [])
      }
      assert.deepStrictEqual(yield* memory.ingest([entry("e1", "I like tea")]), [])
      assert.strictEqual(yield* memory.deleteFact("ann", given.id), false)
      assert.strictEqual(yield* memory.clear("ann"), 0)
      assert.strictEqual((yield* Effect.flip(memory.updateFact("ann", FactId.make("f"), 1)))._tag, "MemoryStoreError")
      yield* memory.health
    }).pipe(Effect.provide(SemanticMemory.layerNoop))
  )
})
