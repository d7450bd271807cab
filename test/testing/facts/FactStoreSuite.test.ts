import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as DefaultFactStore from "../../../src/memory/facts/DefaultFactStore.js"
import type { FactBackend } from "../../../src/memory/facts/FactBackend.js"
import * as FactStore from "../../../src/memory/facts/FactStore.js"
import * as FactTable from "../../../src/memory/facts/FactTable.js"
import * as InMemoryFactStore from "../../../src/memory/facts/InMemoryFactStore.js"
import * as FactStoreSuite from "../../../src/testing/facts/FactStoreSuite.js"

describe("FactStoreSuite: layerMemory", () => {
  for (const one of FactStoreSuite.cases) {
    it.effect(one.name, () => FactStoreSuite.check(one, InMemoryFactStore.layer()))
  }
})

const over = (change: (backend: FactBackend) => Partial<FactBackend>): Layer.Layer<FactStore.FactStore> =>
  Layer.sync(FactStore.FactStore, () => {
    const backend = FactTable.make()
    return DefaultFactStore.fromBackend({ ...backend, ...change(backend) })
  })

const broken: ReadonlyArray<readonly [fault: string, promise: string, layer: Layer.Layer<FactStore.FactStore>]> = [
  [
    "ignores the owner of a look-up",
    "no call sees or changes data of another owner",
    over((backend) => ({
      get: (_, ids) =>
        Effect.map(
          Effect.forEach(["__proto__", "constructor", "a", "aa"], (ownerId) => backend.get(ownerId, ids)),
          (rows) => rows.flat()
        )
    }))
  ],
  [
    "tells every branch everything",
    "a branch knows the facts of its lineage and those of no tree",
    Layer.map(InMemoryFactStore.layer(), (context) => {
      const store = Context.get(context, FactStore.FactStore)
      return Context.make(FactStore.FactStore, { ...store, onLineage: (_, facts) => Effect.succeed(facts) })
    })
  ],
  [
    "overwrites instead of closing",
    "another object of a single-valued predicate closes the previous fact",
    over((backend) => ({
      apply: (ownerId, revision, change) =>
        backend.apply(ownerId, revision, {
          ...change,
          put: change.put?.filter(({ validTo }) => validTo === undefined),
          delete: [
            ...(change.delete ?? []),
            ...(change.put ?? []).flatMap((row) => (row.validTo === undefined ? [] : row.id))
          ]
        })
    }))
  ],
  [
    "forgets the history",
    "a fact is valid from its beginning until before its end",
    over((backend) => ({
      find: (ownerId, options) =>
        backend.find(ownerId, { ...options, selection: { ...options.selection, includeClosed: false } })
    }))
  ],
  [
    "answers in the wrong order",
    "answers are ordered by confidence, then the newest first, and read in pages",
    over((backend) => ({
      find: (ownerId, options) => Effect.map(backend.find(ownerId, options), (rows) => rows.toReversed())
    }))
  ],
  [
    "passes over what is taken back",
    "a retracted fact ends, and nothing else changes",
    Layer.map(InMemoryFactStore.layer(), (context) => {
      const store = Context.get(context, FactStore.FactStore)
      const assert: FactStore.Service["assert"] = (ownerId, facts, options) =>
        store.assert(
          ownerId,
          facts.map((fact) => ({ ...fact, retracted: false })),
          options
        )
      return Context.make(FactStore.FactStore, { ...store, assert })
    })
  ],
  [
    "keeps the same twice",
    "the same triple in another case or with other spaces is one fact",
    over(() => ({ near: () => Effect.succeed([]) }))
  ],
  [
    "looks only at what is open",
    "a late fact ends where the next one begins",
    over((backend) => ({
      near: (ownerId, options) =>
        Effect.map(backend.near(ownerId, options), (rows) => rows.filter(({ validFrom }) => validFrom <= options.at))
    }))
  ],
  [
    "never trims",
    "removes the least certain open facts beyond the limit of a subject",
    over((backend) => ({
      apply: (ownerId, revision, change) => backend.apply(ownerId, revision, { ...change, trim: [] })
    }))
  ],
  [
    "finds parts of words",
    "entities are found as whole words, in subjects and in objects",
    over((backend) => ({
      find: (ownerId, { selection: { words, ...selection }, ...options }) =>
        Effect.map(backend.find(ownerId, { ...options, selection }), (rows) =>
          rows.filter((row) => words === undefined || `${row.subjectWords}${row.objectWords}`.includes(words.trim()))
        )
    }))
  ],
  [
    "takes the end of a fact for a part of it",
    "a fact is valid from its beginning until before its end",
    over((backend) => ({
      find: (ownerId, options) =>
        Effect.map(
          backend.find(ownerId, { ...options, selection: { ...options.selection, includeClosed: true } }),
          (rows) =>
            rows.filter(
              ({ validTo }) => options.selection.includeClosed || (validTo ?? Infinity) >= options.selection.at
            )
        )
    }))
  ],
  [
    "searches what is not selected",
    "facts are found by the words they share with a text",
    over((backend) => ({
      lexical: (ownerId, options) =>
        backend.lexical(ownerId, { ...options, selection: { ...options.selection, minConfidence: 0 } })
    }))
  ]
]

const caseOf = (name: string): FactStoreSuite.Case => {
  const found = FactStoreSuite.cases.find((one) => one.name === name)
  if (found === undefined) throw new Error(`no case is called "${name}"`)
  return found
}

describe("FactStoreSuite: broken stores", () => {
  for (const [fault, promise, layer] of broken) {
    it.effect(`detects a store that ${fault}`, () =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(FactStoreSuite.check(caseOf(promise), layer))
        assert.strictEqual(exit._tag, "Failure")
        yield* FactStoreSuite.check(caseOf("reports health"), layer)
      })
    )
  }

  it.effect("reports how each case ended", () =>
    Effect.gen(function* () {
      const [, promise, layer] = broken[4]!
      const outcomes = yield* FactStoreSuite.run(layer)
      assert.deepStrictEqual(
        outcomes.map(({ name }) => name),
        FactStoreSuite.cases.map(({ name }) => name)
      )
      const failed = outcomes.filter(({ failure }) => failure !== undefined).map(({ name }) => name)
      assert.include(failed, promise)
      assert.notInclude(failed, "reports health")
    })
  )

  it("names each case once", () => {
    assert.strictEqual(new Set(FactStoreSuite.cases.map(({ name }) => name)).size, FactStoreSuite.cases.length)
  })
})
