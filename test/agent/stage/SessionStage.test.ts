import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import { SessionId, UserId } from "../../../src/domain/Ids.js"
import { Requester } from "../../../src/domain/Requester.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as SessionContext from "../../../src/session/manager/SessionContext.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import { SessionStorageError } from "../../../src/session/turn/SessionError.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Collaborators from "../../support/Collaborators.js"
import * as KeptSessions from "../../support/KeptSessions.js"
import * as Runs from "../../support/Runs.js"

const agent = Agent.make("a", { system: "You help." })

describe("SessionStage", () => {
  it.effect("creates an unknown session, and continues a known one with its last turns", () => {
    const sessions = Collaborators.sessions()
    return Effect.gen(function* () {
      const first = yield* AgentExecutor.run(agent, { input: "one", sessionId: "s", userId: "ada" })
      assert.strictEqual(first.sessionId, "s")
      assert.strictEqual(sessions.kept.get("s")?.userId, "ada")
      const { events } = yield* Runs.record(
        AgentExecutor.stream(agent, {
          input: "two",
          sessionId: "s",
          userId: "ada",
          history: [{ role: "user", content: "aside" }]
        })
      )
      assert.deepStrictEqual(Collaborators.said((yield* TestModel.requests)[1]!.messages), [
        "system: You help.",
        "user: one",
        "assistant: 1",
        "user: aside",
        "user: two"
      ])
      assert.deepInclude(Runs.of(events, "MemoryRecalled")[0], { source: "session", count: 2 })
      assert.strictEqual(Runs.of(events, "Finished")[0]?.sessionId, "s")
    }).pipe(Effect.provide(Runs.layer(["1", "2"], { sessions: sessions.layer })))
  })

  it.effect("prefers the session's system prompt over the agent's", () => {
    const sessions = Collaborators.sessions()
    return Effect.gen(function* () {
      yield* sessions.service.create({ id: SessionId.make("s"), systemPrompt: "Be short." })
      yield* AgentExecutor.run(agent, { input: "one", sessionId: "s" })
      assert.strictEqual(Collaborators.said((yield* TestModel.requests)[0]!.messages)[0], "system: Be short.")
    }).pipe(Effect.provide(Runs.layer(["1"], { sessions: sessions.layer })))
  })

  it.effect("neither reads nor writes another user's session", () => {
    const sessions = Collaborators.sessions()
    return Effect.gen(function* () {
      yield* sessions.service.create({ id: SessionId.make("s"), userId: UserId.make("ada") })
      const error = yield* Effect.flip(AgentExecutor.run(agent, { input: "mine", sessionId: "s", userId: "eve" }))
      assert.strictEqual(error._tag, "SessionNotFoundError")
      assert.deepStrictEqual(sessions.turns("s"), [])
      assert.strictEqual((yield* TestModel.requests).length, 0)
    }).pipe(Effect.provide(Runs.layer([], { sessions: sessions.layer })))
  })

  it.effect("reaches a user's session without a user only for the system", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const ada = { userId: UserId.make("ada") }
      const id = SessionId.make("s")
      const seen: Array<boolean> = []
      const look = Tool.make("look", {
        description: "Looks",
        handler: () =>
          Effect.gen(function* () {
            seen.push(yield* SystemAccess.isGranted, Option.isSome(yield* sessions.get(id)))
            return "ok"
          }).pipe(Effect.orDie)
      })
      const looking = Agent.make("looking", { tools: [look] })
      yield* sessions.create({ id, ...ada })
      const error = yield* Effect.flip(AgentExecutor.run(looking, { input: "mine", sessionId: "s" }))
      assert.strictEqual(error._tag, "SessionNotFoundError")
      assert.strictEqual((yield* TestModel.requests).length, 0)
      assert.deepStrictEqual(yield* sessions.turns(id, { last: 10, ...ada }), [])
      const forged = { input: "mine", sessionId: "s", system: true, held: {}, access: { system: true } }
      assert.strictEqual((yield* Effect.flip(AgentExecutor.run(looking, forged)))._tag, "SessionNotFoundError")
      yield* SystemAccess.grant(AgentExecutor.run(looking, { input: "for her", sessionId: "s" }))
      assert.strictEqual((yield* sessions.turns(id, { last: 10, ...ada })).length, 2)
      assert.deepStrictEqual(seen, [false, false])
    }).pipe((program) => {
      const sessions = KeptSessions.layer
      return Effect.provide(
        program,
        Layer.provideMerge(Runs.layer([{ calls: [{ name: "look" }] }, "done"], { sessions }), sessions)
      )
    })
  )

  it.effect("works and remembers for the session's user in a run of the system", () => {
    const memory = Collaborators.memory()
    const works: Array<string | undefined> = []
    const look = Tool.make("look", {
      description: "Looks",
      handler: () =>
        Effect.map(Requester, ({ sessionId, userId }) => {
          works.push(userId, sessionId)
          return "ok"
        })
    })
    const looking = Agent.make("looking", { tools: [look] })
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id: SessionId.make("s"), userId: UserId.make("ada") })
      const stream = AgentExecutor.stream(looking, { input: "for her", sessionId: "s" })
      const { events } = yield* SystemAccess.grant(Runs.record(stream))
      assert.deepStrictEqual(
        Runs.of(events, "Started").map(({ system, userId }) => [system, userId]),
        [[true, undefined]]
      )
      assert.deepStrictEqual(
        memory.entries().map(({ ownerId }) => ownerId),
        ["ada", "ada"]
      )
      assert.deepStrictEqual(works, ["ada", "s"])
      const { events: hers } = yield* SystemAccess.grant(
        Runs.record(AgentExecutor.stream(agent, { input: "mine", sessionId: "s", userId: "ada" }))
      )
      assert.notProperty(Runs.of(hers, "Started")[0], "system")
    }).pipe((program) => {
      const sessions = KeptSessions.layer
      const layer = Runs.layer([{ calls: [{ name: "look" }] }, "done", "done"], { sessions, memory: memory.layer })
      return Effect.provide(program, Layer.provideMerge(layer, sessions))
    })
  })

  it.effect("hides a session bound for another user", () => {
    const seen: Array<string> = []
    const look = Tool.make("look", {
      description: "Looks",
      handler: () =>
        Effect.map(SessionContext.option, (bound) => {
          seen.push(Option.match(bound, { onNone: () => "none", onSome: ({ id }) => id }))
          return "ok"
        })
    })
    const ask = (name: string, userId: string | undefined) =>
      Tool.make(name, {
        description: "Asks another agent",
        handler: () =>
          AgentExecutor.run(Agent.make("inner", { tools: [look] }), { input: "look", userId }).pipe(
            Effect.as("asked"),
            Effect.orDie
          )
      })
    const outer = Agent.make("outer", {
      tools: [look, ask("for_bob", "bob"), ask("for_ada", "ada"), ask("for_nobody", undefined)]
    })
    const calls = (name: string) => ({ calls: [{ name }] })
    return Effect.gen(function* () {
      yield* AgentExecutor.run(outer, { input: "hi", sessionId: "s", userId: "ada" })
      assert.deepStrictEqual(seen, ["s", "none", "s", "s"])
    }).pipe(
      Effect.provide(
        Runs.layer(
          [
            calls("look"),
            calls("for_bob"),
            calls("look"),
            "done",
            calls("for_ada"),
            calls("look"),
            "done",
            calls("for_nobody"),
            calls("look"),
            "done",
            "done"
          ],
          { sessions: Collaborators.sessions().layer }
        )
      )
    )
  })

  it.effect("fails the run when a session cannot be read", () => {
    const down = new SessionStorageError({ message: "the disk is full" })
    const sessions = Collaborators.sessions({ get: () => down })
    return Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(agent, { input: "one", sessionId: "s" }))
      assert.strictEqual(error._tag, "SessionStorageError")
    }).pipe(Effect.provide(Runs.layer([], { sessions: sessions.layer })))
  })

  it.effect("refuses invalid ids before any call", () => {
    const sessions = Collaborators.sessions()
    return Effect.gen(function* () {
      for (const ids of [{ sessionId: "" }, { userId: "a\u0000b" }, { sessionId: "x".repeat(257) }]) {
        const error = yield* Effect.flip(AgentExecutor.run(agent, { input: "one", ...ids }))
        assert.strictEqual(error._tag, "AgentConfigurationError")
      }
      assert.strictEqual(sessions.kept.size, 0)
    }).pipe(Effect.provide(Runs.layer([], { sessions: sessions.layer })))
  })

  it.effect("marks a message that was never answered for the model", () => {
    const sessions = Collaborators.sessions()
    return Effect.gen(function* () {
      yield* Effect.exit(AgentExecutor.run(agent, { input: "one", sessionId: "s" }))
      yield* AgentExecutor.run(agent, { input: "two", sessionId: "s" })
      assert.deepStrictEqual(Collaborators.said((yield* TestModel.requests)[1]!.messages).slice(1), [
        "user: one",
        "assistant: (no answer: failed)",
        "user: two"
      ])
    }).pipe(
      Effect.provide(
        Runs.layer([{ fail: Collaborators.overloaded }, "2"], {
          sessions: sessions.layer
        })
      )
    )
  })
})
