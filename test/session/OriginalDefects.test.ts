/** What went wrong in the library whose behavior this one follows, and does not here. */
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as SessionStateMachine from "../../src/session/manager/SessionStateMachine.js"
import * as ManagedSessions from "../support/ManagedSessions.js"
import * as SystemTest from "../support/SystemTest.js"

const { ada, layer, sid, turn, words } = ManagedSessions
const id = sid("s1")

const statusNow = Effect.flatMap(SessionManager.SessionManager, (sessions) =>
  Effect.map(sessions.get(id), (found) => Option.getOrThrow(found).status)
)

describe("sessions", () => {
  SystemTest.effect("expires sessions", () =>
    Effect.gen(function* () {
      assert.isTrue(SessionStateMachine.canTransition("active", "expired"))
      assert.isTrue(SessionStateMachine.canTransition("suspended", "expired"))
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* TestClock.adjust("25 hours")
      yield* SystemAccess.grant(sessions.expireIdle())
      assert.strictEqual(yield* statusNow, "expired")
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("consolidates the memory of the owner on close, not of a session", () => {
    const told = new ManagedSessions.Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* sessions.close(id)
      yield* Effect.repeatN(Effect.yieldNow(), 50)
      assert.deepStrictEqual(told.memory, ["flush ada s1", "consolidate ada"])
    }).pipe(Effect.provide(layer({}, { told })))
  })

  SystemTest.effect("cleans up on every store by expiring sessions instead of closing or deleting them", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* sessions.addTurn(id, turn(1))
      yield* TestClock.adjust("24 hours")
      assert.strictEqual((yield* SystemAccess.grant(sessions.expireIdle())).length, 1)
      assert.deepStrictEqual(yield* words(id), ["t1"])
      assert.strictEqual(yield* statusNow, "expired")
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("does not reopen a closed session by a restore of an open checkpoint", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      const checkpoint = yield* sessions.checkpoint(id)
      yield* sessions.close(id)
      assert.strictEqual((yield* Effect.flip(sessions.restore(checkpoint.id)))._tag, "SessionClosedError")
      assert.strictEqual(yield* statusNow, "closed")
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("rejects turns of suspended and expired sessions", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* sessions.suspend(id)
      assert.strictEqual((yield* Effect.flip(sessions.addTurn(id, turn(1))))._tag, "SessionTransitionError")
      yield* SystemAccess.grant(sessions.expireIdle({ idle: 0 }))
      assert.strictEqual((yield* Effect.flip(sessions.addTurn(id, turn(1))))._tag, "SessionExpiredError")
      assert.deepStrictEqual(yield* words(id), [])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("resumes an active session without a change", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const created = yield* sessions.create({ id, userId: ada })
      assert.deepStrictEqual(yield* sessions.resume(id), created)
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("applies the default prompt, ignores expired sessions in limits, and gives them checkpoints", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      assert.strictEqual((yield* sessions.create({ id, userId: ada })).systemPrompt, "be kind")
      for (let n = 0; n < 3; n++) yield* sessions.checkpoint(id)
      assert.strictEqual((yield* sessions.checkpoints(id)).length, 2)
      yield* SystemAccess.grant(sessions.expireIdle({ idle: 0 }))
      yield* sessions.create({ userId: ada })
    }).pipe(
      Effect.provide(layer({ defaultSystemPrompt: "be kind", maxSessionsPerUser: 1, maxCheckpointsPerSession: 2 }))
    )
  )

  SystemTest.effect("neither overwrites nor duplicates turns in a second run with as many steps", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* sessions.addTurn(id, turn(1, { content: "first" }))
      yield* sessions.addTurn(id, turn(1, { content: "first" }))
      const error = yield* Effect.flip(sessions.addTurn(id, turn(1, { content: "second" })))
      assert.strictEqual(error._tag, "SessionConflictError")
      assert.deepStrictEqual(yield* words(id), ["first"])
    }).pipe(Effect.provide(layer()))
  )
})
