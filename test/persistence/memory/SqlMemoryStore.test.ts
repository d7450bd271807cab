import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { EntryId } from "../../../src/domain/Ids.js"
import * as InMemoryMemoryStore from "../../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import * as TextAnalyzer from "../../../src/memory/text/TextAnalyzer.js"
import { MigrationError } from "../../../src/persistence/engine/PersistenceError.js"
import * as SqlMemoryStore from "../../../src/persistence/memory/SqlMemoryStore.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as Conversations from "../../support/Conversations.js"
import * as Dialogues from "../../support/Dialogues.js"
import * as MemoryStores from "../../support/MemoryStores.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as SqlDatabases from "../../support/SqlDatabases.js"

SqlBackends.suite("SqlMemoryStore", ({ layer }) => {
  MemoryStores.suite("SqlMemoryStore", Layer.provide(SqlMemoryStore.layer(), layer))
})

describe("SqlMemoryStore", () => {
  it.effect("rejects a database without tables, or migrates it on request", () =>
    Effect.gen(function* () {
      const client = yield* Layer.build(SqliteClient.layer({ file: ":memory:" }))
      const within = <A, E, R>(effect: Effect.Effect<A, E, R | SqlClient.SqlClient>) =>
        Effect.provideService(effect, SqlClient.SqlClient, Context.get(client, SqlClient.SqlClient))
      const failure = yield* Effect.flip(within(Effect.scoped(Layer.build(SqlMemoryStore.layer()))))
      assert.instanceOf(failure, MigrationError)
      assert.strictEqual((failure as MigrationError).reason, "absent")
      const store = Context.get(
        yield* within(Layer.build(SqlMemoryStore.layerMigrated({ analyzer: TextAnalyzer.plain, topK: 2 }))),
        MemoryStore.MemoryStore
      )
      assert.strictEqual(store.name, "sqlite")
      yield* store.health
      const entry = (id: string, content: string) =>
        ({
          id: id as EntryId,
          ownerId: "o",
          content,
          role: "user",
          timestamp: 0,
          importance: 0.5,
          metadata: {}
        }) as const
      yield* store.storeMany([entry("a", "dogs"), entry("b", "dog"), entry("c", "dog"), entry("d", "dog")])
      const found = yield* store.retrieve({ ownerId: "o", query: "dog", relevanceWeight: 1 })
      assert.deepStrictEqual(
        found.map((one) => one.entry.id),
        ["b", "c"] as ReadonlyArray<string>
      )
    }).pipe(Effect.scoped)
  )
})

SqlDatabases.suite("SqlMemoryStore", ({ layer }) => {
  it.effect.each([
    ["conversations", Conversations.make({ users: 2, turnsPerUser: 300, days: 60, seed: 5 })],
    ["dialogues", Dialogues.make({ pairs: 1, sessions: 12, smallTalk: 4, seed: 5 })]
  ] as const)("finds in %s what the store in memory finds, in the same order", ([, { questions, turns }]) =>
    Effect.gen(function* () {
      const store = yield* SqlMemoryStore.make({ ttl: 0 })
      const model = yield* InMemoryMemoryStore.make({ ttl: 0 })
      yield* store.storeMany(turns)
      yield* model.storeMany(turns)
      assert.isAtLeast(questions.length, 20)
      for (const { ownerId, text } of questions) {
        const ranked = (service: MemoryStore.Service) =>
          Effect.map(service.retrieve({ ownerId, query: text }), (results) =>
            results.map(({ entry, relevance, score }) => [entry.id, score, relevance])
          )
        assert.deepStrictEqual(yield* ranked(store), yield* ranked(model))
      }
    }).pipe(Effect.provide(layer))
  )
})
