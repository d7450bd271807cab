import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as HashingEmbedder from "../../../src/llm/embedding/HashingEmbedder.js"
import * as OwnerNamespace from "../../../src/memory/entry/OwnerNamespace.js"
import type { Fact, NewFact } from "../../../src/memory/facts/Fact.js"
import * as FactStore from "../../../src/memory/facts/FactStore.js"
import * as InMemoryFactStore from "../../../src/memory/facts/InMemoryFactStore.js"
import * as VectorIndex from "../../../src/memory/search/VectorIndex.js"
import * as DefaultEntityExtractor from "../../../src/memory/semantic/DefaultEntityExtractor.js"
import * as DefaultSemanticMemory from "../../../src/memory/semantic/DefaultSemanticMemory.js"
import * as FactVectors from "../../../src/memory/semantic/FactVectors.js"
import * as SemanticMemory from "../../../src/memory/semantic/SemanticMemory.js"
import * as SqlFactStore from "../../../src/persistence/memory/SqlFactStore.js"
import * as SqlVectorIndex from "../../../src/persistence/vector/SqlVectorIndex.js"
import * as FactStoreSuite from "../../../src/testing/facts/FactStoreSuite.js"
import * as GivenVectors from "../../support/GivenVectors.js"
import * as SqlBackends from "../../support/SqlBackends.js"

const fact = (subject: string, predicate: string, object: string, more?: Partial<NewFact>): NewFact => ({
  subject,
  predicate,
  object,
  ...more
})

const objects = (facts: ReadonlyArray<Fact>) => facts.map(({ object }) => object)

const question = "Which snacks must stay off the menu?"
/** Food, music, and anything else. */
const vectors = {
  [question]: [1, 0, 0],
  "Nora is allergic to peanuts": [0.9, 0.1, 0],
  "Nora plays the cello": [0, 1, 0],
  "Nora likes the menu of Da Vito": [0.2, 0, 0.9]
}

const facts = [
  fact("Nora", "is allergic to", "peanuts"),
  fact("Nora", "plays", "the cello"),
  fact("Nora", "likes", "the menu of Da Vito")
]

type Backend = (embedder: Embedder.Service | undefined) => Layer.Layer<FactStore.FactStore, unknown>

/** Cases of a store with the vectors of an embedder, in its own index. */
const cases = (name: string, store: Backend) => {
  const using = <A, E>(
    embedder: Embedder.Service | undefined,
    body: (store: FactStore.Service) => Effect.Effect<A, E>
  ): Effect.Effect<A, unknown> => Effect.provide(Effect.flatMap(FactStore.FactStore, body), store(embedder))

  describe(`FactVectors: ${name}`, () => {
    it.effect("finds a paraphrase by meaning that no word finds, together with what shares words", () =>
      Effect.gen(function* () {
        const found = (embedder: Embedder.Service | undefined) =>
          using(embedder, (store) =>
            Effect.zipRight(store.assert("ann", facts), Effect.map(store.search("ann", question), objects))
          )
        assert.deepStrictEqual(yield* found(undefined), ["the menu of Da Vito"])
        assert.sameMembers(
          [...(yield* found(GivenVectors.make(vectors, { dimensions: 3 }).embedder))],
          ["peanuts", "the menu of Da Vito"]
        )
      })
    )

    it.effect("embeds each fact once, whatever happens to it, and a question at each search", () =>
      Effect.gen(function* () {
        const { calls, embedder } = GivenVectors.make(vectors, { dimensions: 3 })
        yield* using(embedder, (store) =>
          Effect.gen(function* () {
            const [nuts] = yield* store.assert("ann", facts)
            if (nuts?._tag !== "Some") return assert.fail("not stored")
            yield* store.assert("ann", facts)
            yield* store.updateConfidence("ann", nuts.value.id, 0.7)
            yield* store.search("ann", question)
            yield* store.search("ann", question)
          })
        )
        assert.deepStrictEqual(
          calls.map((texts) => texts.length),
          [3, 1, 1]
        )
      })
    )

    it.effect("finds no fact by meaning that ended, was deleted or belongs to another owner", () =>
      using(GivenVectors.make(vectors, { dimensions: 3 }).embedder, (store) =>
        Effect.gen(function* () {
          const search = Effect.map(store.search("ann", question), objects)
          yield* store.assert("bob", facts)
          assert.deepStrictEqual(yield* search, [])
          yield* TestClock.adjust(10)
          yield* store.assert("ann", facts.slice(0, 1))
          assert.deepStrictEqual(yield* search, ["peanuts"])
          yield* TestClock.adjust(10)
          yield* store.assert("ann", [fact("Nora", "is allergic to", "peanuts", { retracted: true })])
          assert.deepStrictEqual(yield* search, [])
          yield* TestClock.adjust(10)
          const [again] = yield* store.assert("ann", facts.slice(0, 1))
          assert.deepStrictEqual(yield* search, ["peanuts"])
          if (again?._tag === "Some") yield* store.delete("ann", again.value.id)
          assert.deepStrictEqual(yield* search, [])
          yield* store.assert("ann", facts.slice(0, 1))
          assert.deepStrictEqual(yield* search, ["peanuts"])
          assert.isAbove(yield* store.clear("ann"), 0)
          assert.deepStrictEqual(yield* search, [])
          assert.deepStrictEqual(objects(yield* store.search("bob", question)).includes("peanuts"), true)
        })
      )
    )

    it.effect("stores and finds by words while the embedder fails, and makes the vectors later", () =>
      Effect.gen(function* () {
        const logs: Array<unknown> = []
        const logger = Logger.make(({ message }) => void logs.push(...[message].flat()))
        let broken = true
        const { embedder } = GivenVectors.make(vectors, { dimensions: 3, fails: () => broken })
        yield* using(embedder, (store) =>
          Effect.gen(function* () {
            yield* store.assert("ann", facts)
            assert.deepStrictEqual(objects(yield* store.search("ann", question)), ["the menu of Da Vito"])
            assert.deepStrictEqual(logs, ["Facts were stored without their vectors", "Facts are found by words only"])
            broken = false
            assert.deepStrictEqual(objects(yield* store.search("ann", question)), ["the menu of Da Vito"])
            yield* TestClock.adjust("1 minute")
            assert.sameMembers(objects(yield* store.search("ann", question)) as Array<string>, [
              "peanuts",
              "the menu of Da Vito"
            ])
          })
        ).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
      })
    )
  })
}

const wrapped = (layer: (options: InMemoryFactStore.Options) => Layer.Layer<FactStore.FactStore, unknown, any>) =>
  Layer.unwrapEffect(Effect.map(FactVectors.inContext, (wrapBackend) => layer({ wrapBackend })))

cases("in memory", (embedder) => {
  const store = wrapped(InMemoryFactStore.layer) as Layer.Layer<FactStore.FactStore>
  return embedder === undefined ? store : Layer.provide(store, Embedder.layer(embedder))
})

SqlBackends.suite("FactVectors", ({ dialect, layer }) => {
  cases(dialect, (embedder) => {
    const store = wrapped(SqlFactStore.layer)
    const client = layer
    return (
      embedder === undefined
        ? Layer.provide(store, client)
        : store.pipe(
            Layer.provide(SqlVectorIndex.layer()),
            Layer.provide(Embedder.layer(embedder)),
            Layer.provide(client)
          )
    ) as Layer.Layer<FactStore.FactStore>
  })
})

describe("FactVectors keeps the promises of the port", () => {
  /** No two texts are alike, so that nothing is found by meaning alone. */
  const apart = Embedder.make({
    model: "apart",
    dimensions: 64,
    embedMany: (texts) =>
      Effect.succeed(
        texts.map((text) => {
          const row = new Array<number>(64).fill(0)
          row[[...text].reduce((sum, char) => (31 * sum + char.charCodeAt(0)) % 61, 7)] = 1
          return row
        })
      )
  })
  const layer = Layer.provide(FactVectors.layerMemory(), Embedder.layer(apart))
  for (const one of FactStoreSuite.cases) it(one.name, () => Effect.runPromise(FactStoreSuite.check(one, layer)))
})

describe("FactVectors", () => {
  const memoryOf = (embedder: Embedder.Service, index: VectorIndex.Service) =>
    DefaultSemanticMemory.layer().pipe(
      Layer.provideMerge(Layer.merge(FactVectors.layerMemory(), DefaultEntityExtractor.layerHeuristic())),
      Layer.provide(Layer.merge(Embedder.layer(embedder), Layer.succeed(VectorIndex.VectorIndex, index)))
    )

  it.effect("puts facts of similar meaning into what semantic memory recalls", () =>
    Effect.gen(function* () {
      const { embedder } = GivenVectors.make(vectors, { dimensions: 3 })
      const index = yield* VectorIndex.makeMemory({ model: "given", dimensions: 3 })
      yield* Effect.gen(function* () {
        const memory = yield* SemanticMemory.SemanticMemory
        for (const one of facts) yield* memory.storeFact("ann", one)
        assert.include(objects(yield* memory.recall("ann", question)), "peanuts")
        yield* memory.clear("ann")
        assert.strictEqual(yield* index.count(OwnerNamespace.facts("ann")), 0)
      }).pipe(Effect.provide(memoryOf(embedder, index)))
    })
  )

  it.effect("finds misspelled words with the embedder of letters", () =>
    Effect.gen(function* () {
      const store = yield* FactStore.FactStore
      yield* store.assert("ann", facts)
      assert.strictEqual(objects(yield* store.search("ann", "alergic to peanutts"))[0], "peanuts")
    }).pipe(Effect.provide(Layer.provide(FactVectors.layerMemory(), HashingEmbedder.layer())))
  )

  it.effect("has a vector for each fact that a full subject keeps, and for no other", () =>
    Effect.gen(function* () {
      const index = yield* VectorIndex.makeMemory({ model: "given", dimensions: 3 })
      const { embedder } = GivenVectors.make({}, { dimensions: 3 })
      yield* Effect.gen(function* () {
        const store = yield* FactStore.FactStore
        for (let at = 0; at < 1_000; at++) yield* store.assert("ann", [fact("Nora", "owns", `thing ${at}`)])
        assert.strictEqual(yield* store.count("ann"), 100)
        assert.strictEqual(yield* index.count(OwnerNamespace.facts("ann")), 100)
      }).pipe(
        Effect.provide(FactVectors.layerMemory()),
        Effect.provideService(Embedder.Embedder, embedder),
        Effect.provideService(VectorIndex.VectorIndex, index)
      )
    })
  )

  it.effect("embeds facts that were stored without vectors by pages, however many there are", () =>
    Effect.gen(function* () {
      const plain = yield* InMemoryFactStore.make({ maxFactsPerEntity: 10_000 })
      const many = Array.from({ length: 600 }, (_, at) => fact("Nora", "owns", `thing ${at}`))
      const { calls, embedder } = GivenVectors.make({}, { dimensions: 3 })
      const index = yield* VectorIndex.makeMemory({ model: "given", dimensions: 3 })
      let isOn = false
      const wrap = yield* FactVectors.make({ embedder, index })
      const store = yield* InMemoryFactStore.make({
        maxFactsPerEntity: 10_000,
        wrapBackend: (backend) => {
          const inner = wrap(backend)
          return { ...inner, apply: (...args) => (isOn ? inner.apply(...args) : backend.apply(...args)) }
        }
      })
      yield* store.assert("ann", many)
      isOn = true
      assert.strictEqual(yield* plain.count("ann"), 0)
      const counts: Array<number> = []
      for (let at = 0; at < 5; at++) {
        yield* store.search("ann", "anything")
        counts.push(yield* index.count(OwnerNamespace.facts("ann")))
      }
      assert.deepStrictEqual(counts, [256, 512, 600, 600, 600])
      assert.deepStrictEqual(
        calls.map((texts) => texts.length),
        [256, 1, 256, 1, 88, 1, 1, 1]
      )
    })
  )

  it.effect("fails to build over an index of another model", () =>
    Effect.gen(function* () {
      const index = yield* VectorIndex.makeMemory({ model: "other", dimensions: 3 })
      const { embedder } = GivenVectors.make({}, { dimensions: 3 })
      const error = yield* Effect.flip(FactVectors.make({ embedder, index }))
      assert.strictEqual(error._tag, "MemorySystemError")
    })
  )
})
