import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SessionId, TurnId, UserId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as MemoryConsolidator from "../../../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"
import * as BranchManager from "../../../src/session/branch/BranchManager.js"
import * as DefaultBranchManager from "../../../src/session/branch/DefaultBranchManager.js"
import * as DefaultSessionManager from "../../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as InMemorySessionStore from "../../../src/session/turn/InMemorySessionStore.js"
import type { NewTurn } from "../../../src/session/turn/Session.js"
import * as DefaultSessionAnalytics from "../../../src/session/upkeep/DefaultSessionAnalytics.js"
import * as SessionAnalytics from "../../../src/session/upkeep/SessionAnalytics.js"

const layer = Layer.mergeAll(
  Layer.provideMerge(DefaultSessionAnalytics.layer(), DefaultSessionManager.layer()),
  DefaultBranchManager.layer()
).pipe(
  Layer.provideMerge(InMemorySessionStore.layer),
  Layer.provide(Layer.mergeAll(WorkingMemory.layerNoop, MemoryConsolidator.layerNoop))
)

const ada = { userId: UserId.make("ada") }
const id = SessionId.make("adas")
const nobodys = SessionId.make("nobodys")

const turn = (id: string): NewTurn => ({
  id: TurnId.make(id),
  role: "user",
  content: `said ${id}`,
  timestamp: 0,
  toolCalls: [],
  skillResults: [],
  metadata: {},
  tokensUsed: 0,
  cost: 0
})

const prepared = Effect.gen(function* () {
  const sessions = yield* SessionManager.SessionManager
  const branches = yield* BranchManager.BranchManager
  const analytics = yield* SessionAnalytics.SessionAnalytics
  yield* sessions.create({ id, ...ada })
  yield* sessions.addTurn(id, turn("1"), ada)
  const checkpoint = yield* sessions.checkpoint(id, ada)
  const branch = yield* branches.fork(id, ada)
  yield* sessions.create({ id: nobodys })
  yield* sessions.addTurn(nobodys, turn("1"))
  return { analytics, branch, branches, checkpoint, sessions }
})

describe("a user's sessions for callers without a user", () => {
  it.effect("are not found by any operation", () =>
    Effect.gen(function* () {
      const { analytics, branch, branches, checkpoint, sessions } = yield* prepared
      const before = yield* sessions.get(id, ada)
      const refused: { readonly [operation: string]: Effect.Effect<unknown, { readonly _tag: string }> } = {
        create: sessions.create({ id }),
        resume: sessions.resume(id),
        addTurn: sessions.addTurn(id, turn("2")),
        "addTurn, known": sessions.addTurn(id, turn("1")),
        turns: sessions.turns(id, { last: 10 }),
        update: sessions.update(id, { variables: { a: 1 } }),
        checkpoint: sessions.checkpoint(id),
        checkpoints: sessions.checkpoints(id),
        suspend: sessions.suspend(id),
        close: sessions.close(id),
        fork: branches.fork(id),
        branches: branches.branches(id),
        tree: branches.tree(id),
        merge: branches.merge(id, branch.id),
        ofSession: analytics.ofSession(id)
      }
      for (const [operation, effect] of Object.entries(refused)) {
        assert.strictEqual((yield* Effect.flip(effect))._tag, "SessionNotFoundError", operation)
      }
      assert.strictEqual((yield* Effect.flip(sessions.restore(checkpoint.id)))._tag, "CheckpointNotFoundError")
      assert.strictEqual(
        (yield* Effect.flip(branches.diff(checkpoint.id, checkpoint.id)))._tag,
        "CheckpointNotFoundError"
      )
      assert.isTrue(Option.isNone(yield* sessions.get(id)))
      yield* sessions.delete(id)
      assert.deepStrictEqual(yield* sessions.get(id, ada), before)
    }).pipe(Effect.provide(layer))
  )

  it.effect("are found by the system", () =>
    Effect.gen(function* () {
      const { analytics, branches, checkpoint, sessions } = yield* prepared
      assert.strictEqual((yield* SystemAccess.grant(sessions.turns(id, { last: 10 }))).length, 1)
      assert.isTrue(Option.isSome(yield* SystemAccess.grant(sessions.get(id))))
      assert.strictEqual((yield* SystemAccess.grant(analytics.ofSession(id))).totalTurns, 1)
      assert.strictEqual((yield* SystemAccess.grant(branches.fork(id))).userId, ada.userId)
      assert.strictEqual((yield* SystemAccess.grant(sessions.restore(checkpoint.id))).id, id)
      yield* SystemAccess.grant(sessions.delete(id))
      assert.isTrue(Option.isNone(yield* sessions.get(id, ada)))
    }).pipe(Effect.provide(layer))
  )

  it.effect("are not found by the system when it names another user", () =>
    Effect.gen(function* () {
      const { sessions } = yield* prepared
      const bob = { userId: UserId.make("bob") }
      assert.isTrue(Option.isNone(yield* SystemAccess.grant(sessions.get(id, bob))))
      assert.isTrue(Option.isNone(yield* SystemAccess.grant(sessions.get(nobodys, bob))))
    }).pipe(Effect.provide(layer))
  )

  it.effect("are not listed, even when the user is forced to be absent", () =>
    Effect.gen(function* () {
      const { sessions } = yield* prepared
      const page = yield* sessions.list(undefined as unknown as null)
      assert.deepStrictEqual(
        page.sessions.map((session) => session.id),
        [nobodys]
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("do not hide those without an owner", () =>
    Effect.gen(function* () {
      const { sessions } = yield* prepared
      assert.strictEqual((yield* sessions.turns(nobodys, { last: 10 })).length, 1)
      yield* sessions.addTurn(nobodys, turn("2"))
      yield* sessions.delete(nobodys)
      assert.isTrue(Option.isNone(yield* sessions.get(nobodys)))
    }).pipe(Effect.provide(layer))
  )

  it.effect("show no figures to other users", () =>
    Effect.gen(function* () {
      const { analytics } = yield* prepared
      assert.strictEqual((yield* analytics.ofUser(ada.userId)).totalTurns, 0)
      assert.strictEqual((yield* analytics.ofUser(ada.userId, { access: ada })).totalTurns, 1)
      assert.strictEqual((yield* SystemAccess.grant(analytics.ofUser(ada.userId))).totalTurns, 1)
      assert.strictEqual((yield* analytics.ofUser(null)).totalTurns, 1)
      assert.strictEqual((yield* analytics.ofUser(null, { access: ada })).totalTurns, 0)
    }).pipe(Effect.provide(layer))
  )
})

describe("claim", () => {
  it.effect("gives a session without an owner to a user", () =>
    Effect.gen(function* () {
      const { sessions } = yield* prepared
      const claimed = yield* sessions.claim(nobodys, ada.userId)
      assert.strictEqual(claimed.userId, ada.userId)
      assert.isTrue(Option.isNone(yield* sessions.get(nobodys)))
      assert.strictEqual((yield* sessions.turns(nobodys, { last: 10, ...ada })).length, 1)
      assert.include(
        (yield* sessions.list(ada.userId)).sessions.map((session) => session.id),
        nobodys
      )
      assert.deepStrictEqual((yield* sessions.list(null)).sessions, [])
      assert.deepStrictEqual(yield* sessions.claim(nobodys, ada.userId), claimed)
    }).pipe(Effect.provide(layer))
  )

  it.effect("takes nothing from another user, even for the system", () =>
    Effect.gen(function* () {
      const { sessions } = yield* prepared
      const bob = UserId.make("bob")
      assert.strictEqual((yield* Effect.flip(sessions.claim(id, bob)))._tag, "SessionNotFoundError")
      const forSystem = yield* Effect.flip(SystemAccess.grant(sessions.claim(id, bob)))
      assert.strictEqual(forSystem._tag, "SessionNotFoundError")
      const unknown = yield* Effect.flip(sessions.claim(SessionId.make("none"), bob))
      assert.strictEqual(unknown._tag, "SessionNotFoundError")
      assert.strictEqual((yield* Effect.flip(sessions.claim(nobodys, "" as UserId)))._tag, "SessionInputError")
    }).pipe(Effect.provide(layer))
  )

  it.effect("gives a session to one of two users who claim it at once", () =>
    Effect.gen(function* () {
      const { sessions } = yield* prepared
      const exits = yield* Effect.all(
        [sessions.claim(nobodys, ada.userId), sessions.claim(nobodys, UserId.make("bob"))].map(Effect.either),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(exits.filter((exit) => exit._tag === "Right").length, 1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("counts against the limit of the user", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create(ada)
      yield* sessions.create({ id: nobodys })
      assert.strictEqual((yield* Effect.flip(sessions.claim(nobodys, ada.userId)))._tag, "SessionCapacityError")
    }).pipe(
      Effect.provide(
        DefaultSessionManager.layer({ maxSessionsPerUser: 1 }).pipe(
          Layer.provide(
            Layer.mergeAll(InMemorySessionStore.layer, WorkingMemory.layerNoop, MemoryConsolidator.layerNoop)
          )
        )
      )
    )
  )
})

describe("operations on sessions of all owners", () => {
  it.effect("require the system capability; without it they fail, expire nothing and publish nothing", () =>
    Effect.gen(function* () {
      const { sessions } = yield* prepared
      for (const work of [Effect.asVoid(sessions.expireIdle({ idle: 0 })), Effect.asVoid(sessions.recover)]) {
        const refused = yield* Effect.flip(work)
        assert.strictEqual(refused._tag, "SessionInputError")
        assert.include(refused.hint, "SystemAccess.grant")
      }
      assert.strictEqual(Option.getOrThrow(yield* sessions.get(nobodys)).status, "active")
      assert.strictEqual(Option.getOrThrow(yield* sessions.get(id, ada)).status, "active")
      const expired = yield* SystemAccess.grant(sessions.expireIdle({ idle: 0 }))
      assert.includeMembers(
        expired.map((session) => session.id),
        [id, nobodys]
      )
    }).pipe(Effect.provide(layer))
  )
})
