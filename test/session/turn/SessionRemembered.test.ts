/** Sessions over a real memory. */
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { RunId, TurnId } from "../../../src/domain/Ids.js"
import * as DefaultMemory from "../../../src/memory/DefaultMemory.js"
import * as EpisodicMemory from "../../../src/memory/episodic/EpisodicMemory.js"
import * as SemanticMemory from "../../../src/memory/semantic/SemanticMemory.js"
import * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"
import * as DefaultSessionManager from "../../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as InMemorySessionStore from "../../../src/session/turn/InMemorySessionStore.js"
import * as ManagedSessions from "../../support/ManagedSessions.js"
import * as SystemTest from "../../support/SystemTest.js"

const { ada, bob, sid, turn } = ManagedSessions
const id = sid("s1")

const layer = DefaultSessionManager.layer().pipe(
  Layer.provideMerge(Layer.merge(InMemorySessionStore.layer, DefaultMemory.layer()))
)

describe("SessionManager with a memory", () => {
  SystemTest.effect("recalls turns for their user in another session, and for nobody else", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const episodic = yield* EpisodicMemory.EpisodicMemory
      yield* sessions.create({ id, userId: ada })
      yield* sessions.addTurn(id, turn(1, { content: "the parcel waits at the harbour" }))
      const recalled = (ownerId: string) =>
        Effect.map(episodic.recall({ ownerId, query: "where is the parcel?" }), (found) =>
          found.map(({ entry }) => [entry.content, entry.sessionId, entry.turnId])
        )
      assert.deepStrictEqual(yield* recalled(ada), [["the parcel waits at the harbour", "s1", "t1"]])
      assert.deepStrictEqual(yield* recalled(bob), [])
    }).pipe(Effect.provide(layer))
  )

  SystemTest.effect("leaves turns to a caller who saves them in the same memory itself", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const working = yield* WorkingMemory.WorkingMemory
      const held = Effect.map(working.getContextEntries({ ownerId: ada, sessionId: id }), (entries) =>
        entries.map(({ turnId }) => turnId)
      )
      yield* sessions.create({ id, userId: ada })
      const end = (n: number, savedTo: ReadonlyArray<WorkingMemory.Service>) =>
        sessions.endExchange(id, { runId: RunId.make(`r${n}`), userId: ada, turns: [turn(n)], savedTo })
      yield* end(1, [WorkingMemory.noop, working])
      assert.deepStrictEqual(yield* held, [])
      yield* end(2, [WorkingMemory.noop])
      assert.deepStrictEqual(yield* held, [TurnId.make("t2")])
    }).pipe(Effect.provide(layer))
  )

  SystemTest.effect("flushes working memory when a session ends, with its facts stored", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const working = yield* WorkingMemory.WorkingMemory
      const semantic = yield* SemanticMemory.SemanticMemory
      yield* sessions.create({ id, userId: ada })
      yield* TestClock.setTime(10)
      yield* sessions.addTurn(id, turn(1, { content: "My name is Ada Lovelace." }))
      const held = working.getContextEntries({ ownerId: ada, sessionId: id })
      assert.strictEqual((yield* held).length, 1)
      const facts = semantic.getEntityFacts(ada, "Ada")
      assert.deepStrictEqual(yield* facts, [])
      yield* sessions.close(id)
      yield* Effect.repeatN(Effect.yieldNow(), 200)
      assert.strictEqual((yield* held).length, 0)
      assert.isAbove((yield* facts).length, 0)
    }).pipe(Effect.provide(layer))
  )
})
