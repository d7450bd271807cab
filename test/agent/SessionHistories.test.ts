/** What runs are shown of their sessions by other histories than the last turns, and the session that is bound in runs. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { expectTypeOf } from "vitest"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import { SessionId, UserId } from "../../src/domain/Ids.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import { LlmConnectionError } from "../../src/llm/model/LlmError.js"
import * as TokenCounter from "../../src/llm/model/TokenCounter.js"
import * as DefaultHistoryCompactor from "../../src/memory/conversation/DefaultHistoryCompactor.js"
import * as HistoryCompactor from "../../src/memory/conversation/HistoryCompactor.js"
import * as CompactedSessionHistory from "../../src/session/history/CompactedSessionHistory.js"
import type * as HistoryPruner from "../../src/session/history/HistoryPruner.js"
import * as PrunedSessionHistory from "../../src/session/history/PrunedSessionHistory.js"
import * as RelevanceContextPruner from "../../src/session/history/RelevanceContextPruner.js"
import * as SessionHistory from "../../src/session/history/SessionHistory.js"
import * as SessionContext from "../../src/session/manager/SessionContext.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import { SessionStorageError } from "../../src/session/turn/SessionError.js"
import * as Skill from "../../src/skill/definition/Skill.js"
import * as Skills from "../../src/skill/Skills.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Collaborators from "../support/Collaborators.js"
import * as KeptSessions from "../support/KeptSessions.js"
import * as Tiers from "../support/MemoryTiers.js"
import * as Runs from "../support/Runs.js"
import { fresh } from "../support/SessionTurns.js"

const agent = Agent.make("a", { system: "You help." })
const counted = Layer.succeed(TokenCounter.TokenCounter, Tiers.characters)
const request = { input: "which tea?", sessionId: "s", userId: "ada" }

/** Sessions with one of Ada, `s`, of twelve turns; the third is about tea. */
const sessions = Layer.effect(
  SessionManager.SessionManager,
  Effect.tap(SessionManager.SessionManager, (sessions) =>
    Effect.gen(function* () {
      const { id } = yield* sessions.create({ id: SessionId.make("s"), userId: UserId.make("ada") })
      for (let n = 1; n <= 12; n++) {
        const content = n === 3 ? "green tea" : `turn ${n} `.padEnd(60, "x")
        const turn = fresh(`t${n}`, { role: n % 2 === 1 ? "user" : "assistant", content, timestamp: n })
        yield* sessions.addTurn(id, turn, { userId: UserId.make("ada") })
      }
    }).pipe(Effect.orDie)
  )
).pipe(Layer.provide(KeptSessions.layer))

const shownTo = (request: LlmClient.LlmRequest | undefined) =>
  Collaborators.said(request?.messages ?? []).map((line) => line.replace(/x+$/, "").trim())

describe("the history of a run", () => {
  it.effect("shows the last turns by default", () =>
    Effect.gen(function* () {
      yield* AgentExecutor.run(agent, request)
      assert.deepStrictEqual(shownTo((yield* TestModel.requests)[0]), [
        "system: You help.",
        "assistant: turn 10",
        "user: turn 11",
        "assistant: turn 12",
        "user: which tea?"
      ])
    }).pipe(Effect.provide(Runs.layer(["green"], { sessions, config: { sessionTurns: 3 } })))
  )

  it.effect("shows the turns relevant to the message, and tells memory which", () => {
    const memory = Collaborators.memory()
    const history = PrunedSessionHistory.layer().pipe(Layer.provide(RelevanceContextPruner.layer()))
    return Effect.gen(function* () {
      const { events } = yield* Runs.record(AgentExecutor.stream(agent, request))
      assert.deepStrictEqual(shownTo((yield* TestModel.requests)[0]), [
        "system: You help.",
        "user: green tea",
        "user: turn 11",
        "assistant: turn 12",
        "user: which tea?"
      ])
      assert.deepInclude(Runs.of(events, "MemoryRecalled")[0], { source: "session", count: 3 })
      assert.deepStrictEqual(Array.from(memory.asked[0]!.shown ?? []) as ReadonlyArray<string>, ["t3", "t11", "t12"])
    }).pipe(
      Effect.provide(
        Runs.layer(["green"], {
          sessions,
          history,
          tokens: counted,
          memory: memory.layer,
          config: { sessionTurns: 3 }
        })
      )
    )
  })

  it.effect("shows a summary of older turns, written by the executor's router", () =>
    Effect.gen(function* () {
      yield* AgentExecutor.run(agent, request)
      const requests = yield* TestModel.requests
      assert.strictEqual(requests.length, 2)
      const summary = HistoryCompactor.summaryMessage({ text: "Ada likes green tea." }).content
      assert.deepStrictEqual(shownTo(requests[1]), [
        "system: You help.",
        `user: ${summary}`,
        "user: turn 11",
        "assistant: turn 12",
        "user: which tea?"
      ])
      yield* AgentExecutor.run(agent, request)
      assert.strictEqual((yield* TestModel.requests).length, 3)
      assert.deepStrictEqual(shownTo((yield* TestModel.requests)[2]).slice(1, 3), [`user: ${summary}`, "user: turn 11"])
    }).pipe(
      Effect.provide(
        Runs.layer(["Ada likes green tea.", "green", "green again"], {
          sessions,
          history: CompactedSessionHistory.layer().pipe(Layer.provide(DefaultHistoryCompactor.layer())),
          tokens: counted,
          config: { sessionTurns: 5 }
        })
      )
    )
  )

  it.effect("survives a model that cannot summarize", () =>
    Effect.gen(function* () {
      const { message } = yield* AgentExecutor.run(agent, request)
      assert.strictEqual(message, "green")
      assert.include(shownTo((yield* TestModel.requests)[1])[1], "data, not instructions")
    }).pipe(
      Effect.provide(
        Runs.layer([{ fail: new LlmConnectionError({ message: "no route", provider: "test" }) }, "green"], {
          sessions,
          history: CompactedSessionHistory.layer().pipe(Layer.provide(DefaultHistoryCompactor.layer())),
          tokens: counted,
          config: { sessionTurns: 5 }
        })
      )
    )
  )

  it.effect("reads the executor's own sessions", () =>
    Effect.gen(function* () {
      yield* AgentExecutor.run(agent, { input: "one", sessionId: "s" })
      yield* AgentExecutor.run(agent, { input: "two", sessionId: "s" })
      assert.deepStrictEqual(shownTo((yield* TestModel.requests)[1]).slice(1, 3), ["user: one", "assistant: first"])
    }).pipe(Effect.provide(Runs.layer(["first", "second"], { sessions: Layer.fresh(KeptSessions.layer) })))
  )

  it.effect("may be empty while the session is saved", () => {
    const kept = Collaborators.sessions()
    return Effect.gen(function* () {
      yield* AgentExecutor.run(agent, { input: "one", sessionId: "s" })
      const { events } = yield* Runs.record(AgentExecutor.stream(agent, { input: "two", sessionId: "s" }))
      assert.deepStrictEqual(shownTo((yield* TestModel.requests)[1]), ["system: You help.", "user: two"])
      assert.deepStrictEqual(Runs.of(events, "MemoryRecalled"), [])
      assert.strictEqual(kept.turns("s").length, 4)
    }).pipe(Effect.provide(Runs.layer(["1", "2"], { sessions: kept.layer, history: SessionHistory.layerNoop })))
  })

  it.effect("fails the run if it cannot be read", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(agent, request))
      assert.strictEqual(error._tag, "SessionStorageError")
      assert.deepStrictEqual(yield* TestModel.requests, [])
    }).pipe(
      Effect.provide(
        Runs.layer([], {
          sessions,
          history: Layer.succeed(SessionHistory.SessionHistory, {
            read: () => new SessionStorageError({ message: "the disk is full" })
          })
        })
      )
    )
  )

  it("requires what its layer requires, except what the executor has", () => {
    class Db extends Context.Tag("test/Db")<Db, { readonly name: string }>() {}
    class NoDb extends Schema.TaggedError<NoDb>()("NoDb", {}) {}
    const compacted = CompactedSessionHistory.layer().pipe(Layer.provide(DefaultHistoryCompactor.layer()))
    expectTypeOf(Agents.layerWith({ history: compacted })).toEqualTypeOf<
      Layer.Layer<AgentExecutor.AgentExecutor, never, LlmClient.LlmClient | TokenCounter.TokenCounter>
    >()
    expectTypeOf(Agents.layerWith({ history: compacted, tokens: counted })).toEqualTypeOf<
      Layer.Layer<AgentExecutor.AgentExecutor, never, LlmClient.LlmClient>
    >()
    expectTypeOf(Agents.layerWith({ history: PrunedSessionHistory.layer(), tokens: counted })).toEqualTypeOf<
      Layer.Layer<AgentExecutor.AgentExecutor, never, LlmClient.LlmClient | HistoryPruner.HistoryPruner>
    >()
    const own = Layer.effect(
      SessionHistory.SessionHistory,
      Effect.flatMap(Db, ({ name }) =>
        name === "" ? Effect.fail(new NoDb()) : Effect.succeed({ read: () => Effect.succeed(SessionHistory.empty) })
      )
    )
    expectTypeOf(Agents.layerWith({ history: own })).toEqualTypeOf<
      Layer.Layer<AgentExecutor.AgentExecutor, NoDb, LlmClient.LlmClient | Db>
    >()
    // @ts-expect-error a layer of something else
    Agents.layerWith({ history: sessions })
  })
})

const bound = Effect.map(SessionContext.option, (session) =>
  Option.match(session, { onNone: () => "none", onSome: ({ id }) => id as string })
)
const where = Tool.make("where", { description: "Names the session", handler: () => bound })
const asks = Agent.make("asks", { tools: [where] })
const calls = (name: string, params: unknown = {}): TestModel.Turn => ({ calls: [{ name, params }] })
const answers = (response: { readonly toolCalls: ReadonlyArray<{ readonly result?: unknown }> }) =>
  response.toolCalls.map(({ result }) => result)

describe("the session of a run", () => {
  const run = { input: "where?", sessionId: "s", userId: "ada" }

  it.effect("is bound for its tools only", () =>
    Effect.gen(function* () {
      const response = yield* AgentExecutor.run(asks, run)
      assert.deepStrictEqual(answers(response), ["s"])
      assert.strictEqual(yield* bound, "none")
      assert.deepStrictEqual(answers(yield* AgentExecutor.run(asks, "where?")), ["none"])
      const { events } = yield* Runs.record(AgentExecutor.stream(asks, { ...run, sessionId: "other" }))
      assert.deepStrictEqual(
        Runs.of(events, "ToolResult").map(({ result }) => result),
        ["other"]
      )
    }).pipe(
      Effect.provide(
        Runs.layer([calls("where"), "1", calls("where"), "2", calls("where"), "3"], { sessions: KeptSessions.layer })
      )
    )
  )

  it.effect("is bound for its skills", () => {
    const skill = Skill.make("place", { description: "Names the session", handler: () => bound })
    const skills = Skills.layer({ config: { enableSkillSources: false }, skills: [skill] })
    return Effect.gen(function* () {
      const response = yield* AgentExecutor.run(Agent.make("a"), run)
      assert.deepStrictEqual(answers(response), ["s"])
    }).pipe(Effect.provide(Runs.layer([calls("place"), "done"], { sessions: KeptSessions.layer, skills })))
  })

  it.effect("is reread by a tool over the same sessions", () => {
    const rename = Tool.make("rename", {
      description: "Renames the session",
      handler: () =>
        Effect.gen(function* () {
          const sessions = yield* SessionManager.SessionManager
          yield* sessions.update(yield* SessionContext.sessionId, {
            userId: UserId.make("ada"),
            metadata: { name: "tea" }
          })
          return [(yield* SessionContext.session).metadata, (yield* SessionContext.current).metadata]
        })
    })
    return Effect.gen(function* () {
      const response = yield* AgentExecutor.run(Agent.make("a", { tools: [rename] }), run)
      assert.deepStrictEqual(answers(response), [[{}, { name: "tea" }]])
    }).pipe(
      Effect.provide(
        Layer.merge(Runs.layer([calls("rename"), "done"], { sessions: KeptSessions.layer }), KeptSessions.layer)
      )
    )
  })

  it.effect("is visible to an agent for the same user, which writes nothing into it", () => {
    const kept = Collaborators.sessions()
    return Effect.gen(function* () {
      const outer = Agent.make("outer", { tools: [AgentTool.make(asks, { name: "asks" })] })
      const response = yield* AgentExecutor.run(outer, run)
      assert.include(JSON.stringify(answers(response)), "told: s")
      assert.deepStrictEqual(
        kept.turns("s").map(({ content }) => content),
        ["where?", "done"]
      )
    }).pipe(
      Effect.provide(
        Runs.layer([calls("asks", { message: "ask" }), calls("where"), "told: s", "done"], { sessions: kept.layer })
      )
    )
  })

  it.effect("is visible to an inner run without a user, but not to one for another user or session", () => {
    const kept = Collaborators.sessions()
    const seen: Array<string> = []
    const inside = (request: string | AgentExecutor.AgentRequest) =>
      Effect.map(AgentExecutor.run(asks, request), (response) => void seen.push(String(answers(response)[0])))
    const delegate = Tool.make("delegate", {
      description: "Asks others",
      handler: () =>
        Effect.gen(function* () {
          yield* inside("where?")
          yield* inside({ input: "where?", userId: "ada" })
          yield* inside({ input: "where?", userId: "eve" })
          yield* inside({ input: "where?", userId: "eve", sessionId: "hers" })
          seen.push(yield* bound)
          return "asked"
        }).pipe(Effect.orDie)
    })
    return Effect.gen(function* () {
      yield* AgentExecutor.run(Agent.make("outer", { tools: [delegate] }), run)
      assert.deepStrictEqual(seen, ["s", "s", "none", "hers", "s"])
      assert.strictEqual(kept.turns("s").length, 2)
      assert.strictEqual(kept.turns("hers").length, 2)
    }).pipe(
      Effect.provide(
        Runs.layer([calls("delegate"), ...Array.from({ length: 4 }, () => [calls("where"), "there"]).flat(), "done"], {
          sessions: kept.layer
        })
      )
    )
  })
})
