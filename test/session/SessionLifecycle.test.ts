import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SessionId, TurnId, UserId } from "../../src/domain/Ids.js"
import * as MemoryConsolidator from "../../src/memory/MemoryConsolidator.js"
import * as WorkingMemory from "../../src/memory/WorkingMemory.js"
import * as Session from "../../src/session/Session.js"
import * as SessionManager from "../../src/session/SessionManager.js"
import * as SessionStore from "../../src/session/SessionStore.js"

const id = SessionId.make("s1")
const userId = UserId.make("user-1")
const turn = (n: number) =>
  Session.NewTurn.make({ id: TurnId.make(`t${n}`), role: "user", content: `text ${n}`, timestamp: n, tokensUsed: n })

const layer = SessionManager.layer().pipe(
  Layer.provide(Layer.mergeAll(SessionStore.layerMemory, WorkingMemory.layerNoop, MemoryConsolidator.layerNoop))
)

describe("SessionManager.layer", () => {
  it.effect("smoke", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const created = yield* sessions.create({ id, userId })
      assert.strictEqual(created.status, "active")
      for (let n = 1; n <= 12; n++) yield* sessions.addTurn(id, turn(n))
      const turns = yield* sessions.turns(id, { last: 5 })
      assert.deepStrictEqual(
        turns.map(({ id }) => id),
        ["t8", "t9", "t10", "t11", "t12"] as never
      )
      const checkpoints = yield* sessions.checkpoints(id)
      assert.deepStrictEqual(
        checkpoints.map(({ kind }) => kind),
        ["auto"]
      )
      const back = yield* sessions.restore(checkpoints[0]!.id)
      assert.strictEqual(back.depth, 10)
      assert.deepStrictEqual(back.cuts, [{ after: 10, before: 0 }])
      yield* sessions.suspend(id)
      assert.strictEqual((yield* Effect.flip(sessions.addTurn(id, turn(13))))._tag, "SessionTransitionError")
      yield* sessions.resume(id)
      yield* sessions.close(id)
      assert.strictEqual((yield* Effect.flip(sessions.addTurn(id, turn(13))))._tag, "SessionClosedError")
      assert.strictEqual((yield* sessions.addTurn(id, turn(12))).content, "text 12")
    }).pipe(Effect.provide(layer))
  )
})
