import { assert, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as BlobStore from "../../../src/content/BlobStore.js"
import { UserId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as AgentWorkflow from "../../../src/durable/AgentWorkflow.js"
import * as RunBlobs from "../../../src/durable/payload/RunBlobs.js"
import * as SqlBlobStore from "../../../src/persistence/blob/SqlBlobStore.js"
import * as SqlFactStore from "../../../src/persistence/memory/SqlFactStore.js"
import * as SqlMemoryStore from "../../../src/persistence/memory/SqlMemoryStore.js"
import * as OwnerData from "../../../src/persistence/OwnerData.js"
import * as SqlOwnerData from "../../../src/persistence/SqlOwnerData.js"
import * as SqlSessionStore from "../../../src/persistence/session/SqlSessionStore.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import * as SessionFixtures from "../../../src/testing/session/SessionFixtures.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import { asleep, begin, blobs, blobsOf, onEngine, report, type Store, start, World } from "./LargePayloads.js"

const SIZE = 100_000
const file = { owner: "ann", scope: "mine", bytes: new Uint8Array([1, 2, 3]), mediaType: "image/png" }

const cases = (backend: SqlBackends.SqlBackend, storeOf: Effect.Effect<Store, never, Scope.Scope>) => {
  const data = (store: Store) =>
    SqlOwnerData.layer.pipe(
      Layer.provide([SqlMemoryStore.layer(), SqlFactStore.layer(), SqlSessionStore.layer, store]),
      Layer.provide(backend.kept)
    )
  const erase = (store: Store) =>
    Effect.provide(
      Effect.flatMap(OwnerData.OwnerData, (data) => data.erase(UserId.make("ann"))),
      data(store)
    )

  it.scopedLive("leaves none of the owner's runs, nor of runs in the owner's sessions, and those of others", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(Layer.build(backend.layer))
      const store = yield* storeOf
      const world = new World(report(SIZE))
      const process = yield* start(world, backend.kept, onEngine(store))
      yield* Effect.flatMap(SessionStore.SessionStore, (sessions) =>
        sessions.create({ session: SessionFixtures.session("s") })
      ).pipe(Effect.provide(Layer.provide(SqlSessionStore.layer, backend.kept)))
      yield* process.within(asleep("anns", SIZE))
      yield* process.within(SystemAccess.grant(begin("systems", SIZE, { userId: undefined, sessionId: "s" })))
      yield* process.within(begin("bobs", SIZE, { userId: "bob" }))
      yield* Effect.repeat(Effect.sleep("10 millis"), { until: () => world.done.length >= 9 })
      const system = RunBlobs.ownerOf(yield* AgentWorkflow.executionOf("systems"))
      const kept = (owner: string) => Effect.map(Effect.provide(blobsOf(owner), store), ({ length }) => length)
      assert.deepStrictEqual([yield* kept("ann"), yield* kept(system), yield* kept("bob")], [2, 2, 2])
      yield* erase(store)
      assert.deepStrictEqual([yield* kept("ann"), yield* kept(system), yield* kept("bob")], [0, 0, 2])
      yield* process.end
      assert.deepStrictEqual([yield* kept("ann"), yield* kept(system)], [0, 0])
    })
  )

  it.scopedLive("leaves none of a step that ends after it", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(Layer.build(backend.layer))
      const store = yield* storeOf
      const working = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const world = new World(report(SIZE), "You sign reports.", () =>
        Effect.zipRight(Deferred.succeed(working, undefined), Deferred.await(gate))
      )
      const process = yield* start(world, backend.kept, onEngine(store))
      yield* process.within(Effect.zipRight(begin("run", SIZE), Deferred.await(working)))
      assert.lengthOf(yield* Effect.provide(blobsOf("ann"), store), 1)
      yield* erase(store)
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.repeat(Effect.sleep("10 millis"), { until: () => world.done.includes("fetch") })
      yield* process.end
      assert.deepStrictEqual(yield* Effect.provide(blobsOf("ann"), store), [])
    })
  )

  it.scopedLive("is not needed for an export, which has the owner's other blobs", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(Layer.build(backend.layer))
      const store = yield* storeOf
      const process = yield* start(new World(report(SIZE)), backend.kept, onEngine(store))
      yield* process.within(asleep("run", SIZE))
      yield* Effect.provide(
        Effect.flatMap(BlobStore.BlobStore, (blobs) => blobs.put(file)),
        store
      )
      const lines = yield* Effect.flatMap(OwnerData.OwnerData, (data) =>
        Stream.runCollect(data.export(UserId.make("ann")))
      ).pipe(Effect.provide(data(store)))
      const text = Chunk.toReadonlyArray(lines).join("\n")
      assert.include(text, '"mine"')
      assert.notInclude(text, '"durable:')
      yield* process.end
    })
  )
}

SqlBackends.suite("the erasure of blobs of durable runs beside the database", (backend) => cases(backend, blobs))

SqlBackends.suite("the erasure of blobs of durable runs in the database", (backend) =>
  cases(backend, Effect.succeed(Layer.orDie(Layer.provide(SqlBlobStore.layer(), backend.kept))))
)
