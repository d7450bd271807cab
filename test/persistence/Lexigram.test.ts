import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "../../src/agent/Agent.js"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import { SessionId, UserId } from "../../src/domain/Ids.js"
import * as AuditLog from "../../src/governance/AuditLog.js"
import * as MemoryStore from "../../src/memory/MemoryStore.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as Lexigram from "../../src/persistence/Lexigram.js"
import * as SessionManager from "../../src/session/SessionManager.js"
import * as TestModel from "../../src/testing/TestModel.js"

const agent = Agent.make("helper", { system: "You help." })
const userId = UserId.make("ada")
const sessionId = SessionId.make("chat")

describe("a system in memory", () => {
  it.effect("remembers, keeps the session, the run and what was done", () =>
    Effect.gen(function* () {
      const { output, runId } = yield* AgentExecutor.run(agent, { input: "my cat is called Tom", sessionId, userId })
      assert.strictEqual(output, "nice")
      const sessions = yield* SessionManager.SessionManager
      assert.strictEqual((yield* sessions.turns(sessionId, { last: 10, userId })).length, 2)
      const memory = yield* MemoryStore.MemoryStore
      assert.strictEqual(
        (yield* memory.retrieve({ ownerId: "ada", query: "cat" }))[0]?.entry.content,
        "my cat is called Tom"
      )
      const log = yield* RunLog.RunLog
      assert.isAbove((yield* log.read(runId)).length, 2)
      const audit = yield* AuditLog.AuditLog
      assert.isAbove((yield* audit.read({ userId })).length, 0)
      const { health } = yield* Lexigram.Lexigram
      assert.strictEqual((yield* health).status, "healthy")
    }).pipe(Effect.provide(Lexigram.layerMemory().pipe(Layer.provideMerge(TestModel.layer([{ text: "nice" }])))))
  )
})
