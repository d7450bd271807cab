import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { SessionId, TurnId, UserId } from "../../../src/domain/Ids.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as Session from "../../../src/session/turn/Session.js"

const id = SessionId.make("s1")
const userId = UserId.make("user-1")
const turn = Session.NewTurn.make({ id: TurnId.make("t1"), role: "user", content: "hello", timestamp: 1 })

describe("SessionManager.layerNoop", () => {
  it.effect("creates and resumes an active session with the given id", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(5000)
      const sessions = yield* SessionManager.SessionManager
      const created = yield* sessions.create({ id, userId, variables: { a: 1 }, systemPrompt: "be brief" })
      assert.deepStrictEqual(created, {
        id,
        userId,
        status: "active",
        metadata: {},
        activeTools: [],
        activeSkills: [],
        systemPrompt: "be brief",
        variables: { a: 1 },
        depth: 0,
        totalTokens: 0,
        totalCost: 0,
        cuts: [],
        createdAt: 5000,
        updatedAt: 5000,
        revision: 0,
        lineage: []
      })
      const resumed = yield* sessions.resume(id)
      assert.strictEqual(resumed.id, id)
      assert.strictEqual(resumed.status, "active")
      assert.isTrue(Schema.is(Session.Session)(resumed))
    }).pipe(Effect.provide(SessionManager.layerNoop))
  )

  it.effect("makes different ids for two sessions without one", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const first = yield* sessions.create()
      const second = yield* sessions.create()
      assert.notStrictEqual(first.id, second.id)
    }).pipe(Effect.provide(SessionManager.layerNoop))
  )

  it.effect("returns turns without storing them", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const added = yield* sessions.addTurn(id, turn)
      assert.deepStrictEqual(added, { ...turn, sessionId: id, depth: 1 })
      assert.deepStrictEqual(yield* sessions.turns(id, { last: 10 }), [])
      assert.isTrue(Option.isNone(yield* sessions.get(id)))
      assert.deepStrictEqual(yield* sessions.list(userId), { sessions: [] })
    }).pipe(Effect.provide(SessionManager.layerNoop))
  )

  it.effect("does not find a checkpoint to restore", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const checkpoint = yield* sessions.checkpoint(id, { metadata: { why: "test" } })
      assert.isTrue(Schema.is(Session.SessionCheckpoint)(checkpoint))
      assert.strictEqual(checkpoint.sessionId, id)
      assert.deepStrictEqual(checkpoint.metadata, { why: "test" })
      assert.deepStrictEqual(yield* sessions.checkpoints(id), [])
      const error = yield* Effect.flip(sessions.restore(checkpoint.id))
      assert.strictEqual(error._tag, "CheckpointNotFoundError")
    }).pipe(Effect.provide(SessionManager.layerNoop))
  )

  it.effect("returns a suspended session, and closes, deletes and reports health successfully", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      assert.strictEqual((yield* sessions.suspend(id)).status, "suspended")
      assert.deepStrictEqual((yield* sessions.update(id, { variables: { b: 2 } })).variables, { b: 2 })
      yield* sessions.close(id)
      yield* sessions.delete(id)
      yield* sessions.health
    }).pipe(Effect.provide(SessionManager.layerNoop))
  )
})

describe("Session", () => {
  it("applies defaults to a turn when made and when decoded", () => {
    const decoded = Schema.decodeUnknownSync(Session.NewTurn)({
      id: "t1",
      role: "user",
      content: "hello",
      timestamp: 1
    })
    assert.deepStrictEqual(decoded, turn)
    assert.deepStrictEqual(turn.toolCalls, [])
    assert.strictEqual(turn.tokensUsed, 0)
    assert.strictEqual(turn.cost, 0)
  })

  it("rejects ids with control characters", () => {
    assert.isFalse(Schema.is(Session.NewTurn)({ ...turn, id: "t\n1" }))
  })
})
