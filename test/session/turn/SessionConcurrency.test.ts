import * as KeyValueStore from "@effect/platform/KeyValueStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TurnId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as MemoryConsolidator from "../../../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"
import * as KeyValueSessionStore from "../../../src/session/keyvalue/KeyValueSessionStore.js"
import * as DefaultSessionManager from "../../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as InMemorySessionStore from "../../../src/session/turn/InMemorySessionStore.js"
import { NewTurn } from "../../../src/session/turn/Session.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import * as ManagedSessions from "../../support/ManagedSessions.js"

const id = ManagedSessions.sid("s1")
const fibers = 64
const each = 20

const options: DefaultSessionManager.Options = { maxTurnsPerSession: 10_000 }

/** One process of its own over a store that others use too. */
const manager = (store: SessionStore.Service) =>
  Effect.map(
    Layer.build(
      Layer.fresh(DefaultSessionManager.layer(options)).pipe(
        Layer.provide(
          Layer.mergeAll(
            Layer.succeed(SessionStore.SessionStore, store),
            WorkingMemory.layerNoop,
            MemoryConsolidator.layerNoop
          )
        )
      )
    ),
    (context) => context.unsafeMap.get(SessionManager.SessionManager.key) as SessionManager.Service
  )

const turnOf = (fiber: number, n: number, content: string): NewTurn =>
  NewTurn.make({ id: TurnId.make(`${fiber}-${n}`), role: "user", content, timestamp: n, tokensUsed: 1 })

/** Every fiber adds its turns one after the other, through the manager it is given. */
const addAll = (managers: ReadonlyArray<SessionManager.Service>, content: string, perFiber = each) =>
  Effect.forEach(
    Array.from({ length: fibers }, (_, fiber) => fiber),
    (fiber) =>
      Effect.forEach(
        Array.from({ length: perFiber }, (_, n) => n),
        (n) => (managers[fiber % managers.length] as SessionManager.Service).addTurn(id, turnOf(fiber, n, content)),
        { discard: true }
      ),
    { concurrency: "unbounded", discard: true }
  )

/** None lost, none twice, each fiber's in its order, one behind the other. */
const check = (sessions: SessionManager.Service, perFiber = each) =>
  Effect.gen(function* () {
    const all = fibers * perFiber
    const turns = yield* sessions.turns(id, { last: all + 1 })
    assert.strictEqual(turns.length, all)
    assert.strictEqual(new Set(turns.map((turn) => turn.id)).size, all)
    const next = new Map<string, number>()
    turns.forEach((turn, at) => {
      assert.strictEqual(turn.depth, at + 1)
      assert.strictEqual(turn.parent?.turnId, turns[at - 1]?.id)
      assert.strictEqual(turn.content, "first")
      const [fiber = "", n] = turn.id.split("-")
      assert.strictEqual(Number(n), next.get(fiber) ?? 0)
      next.set(fiber, Number(n) + 1)
    })
    const { sessions: listed } = yield* sessions.list(null)
    assert.deepInclude(listed[0], { depth: all, totalTokens: all })
  })

/** Others come between the reading and the writing of a session. */
const slow = ManagedSessions.storeWith((store) => ({
  load: (id) => Effect.zipLeft(store.load(id), Effect.yieldNow()),
  append: (addition) => Effect.zipRight(Effect.yieldNow(), store.append(addition)),
  save: (change) => Effect.zipRight(Effect.yieldNow(), store.save(change))
}))

const stores: ReadonlyArray<readonly [string, Layer.Layer<SessionStore.SessionStore>]> = [
  ["in memory", InMemorySessionStore.layer],
  ["in memory that takes its time", slow],
  ["in a key-value store", Layer.provide(KeyValueSessionStore.layer(), KeyValueStore.layerMemory)]
]

for (const [name, store] of stores) {
  describe(`SessionManager with many writers, sessions stored ${name}`, () => {
    it.live(
      "adds each of 64 × 20 concurrent turns once, also when repeated",
      () =>
        Effect.gen(function* () {
          const sessions = yield* manager(yield* SessionStore.SessionStore)
          yield* sessions.create({ id })
          yield* addAll([sessions], "first")
          yield* check(sessions)
          yield* addAll([sessions], "first")
          yield* check(sessions)
          const checkpoints = yield* sessions.checkpoints(id)
          assert.strictEqual(checkpoints.length, 50)
          assert.strictEqual(checkpoints[0]?.state.depth, fibers * each)
        }).pipe(Effect.scoped, Effect.provide(store)),
      60_000
    )

    it.live(
      "loses and duplicates nothing with two managers on one store",
      () =>
        Effect.gen(function* () {
          const kept = yield* SessionStore.SessionStore
          let lost = 0
          const store: SessionStore.Service = {
            ...kept,
            append: (addition) => Effect.tapError(kept.append(addition), () => Effect.sync(() => lost++))
          }
          const managers = [yield* manager(store), yield* manager(store)] as const
          yield* managers[0].create({ id })
          // Both try every turn, and only the first to come has it written.
          yield* Effect.all([addAll(managers, "first", 10), addAll(managers.toReversed(), "first", 10)], {
            concurrency: "unbounded"
          })
          yield* check(managers[0], 10)
          if (name.endsWith("takes its time")) assert.isAbove(lost, 0)
        }).pipe(Effect.scoped, Effect.provide(store)),
      60_000
    )

    it.live(
      "publishes once when two managers close or expire a session at once",
      () =>
        Effect.gen(function* () {
          const told = new ManagedSessions.Told()
          const shared = yield* SessionStore.SessionStore
          const one = ManagedSessions.layer({}, { store: Layer.succeed(SessionStore.SessionStore, shared), told })
          const managers = yield* Effect.all(
            [1, 2].map(() =>
              Effect.map(
                Layer.build(Layer.fresh(one)),
                (context) => context.unsafeMap.get(SessionManager.SessionManager.key) as SessionManager.Service
              )
            )
          )
          yield* Effect.forEach(
            Array.from({ length: 20 }, (_, n) => ManagedSessions.sid(`n${n}`)),
            (id) => (managers[0] as SessionManager.Service).create({ id })
          )
          yield* Effect.all(
            managers.flatMap((sessions) => [
              ...Array.from({ length: 20 }, (_, n) => sessions.close(ManagedSessions.sid(`n${n}`))),
              SystemAccess.grant(sessions.expireIdle({ idle: 0 }))
            ]),
            { concurrency: "unbounded" }
          )
          const ended = told.hooks.filter((hook) => hook.startsWith("closed") || hook.startsWith("expired"))
          assert.strictEqual(ended.length, 20)
          assert.strictEqual(new Set(ended.map((hook) => hook.split(" ")[1])).size, 20)
        }).pipe(Effect.scoped, Effect.provide(store)),
      60_000
    )
  })
}
