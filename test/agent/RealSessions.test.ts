import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import { SessionId, UserId } from "../../src/domain/Ids.js"
import * as ModelPrices from "../../src/llm/ModelPrices.js"
import * as DefaultMemory from "../../src/memory/DefaultMemory.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as BranchManager from "../../src/session/branch/BranchManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as Sessions from "../../src/session/Sessions.js"
import * as SessionAnalytics from "../../src/session/upkeep/SessionAnalytics.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Collaborators from "../support/Collaborators.js"

const userId = UserId.make("ada")
const id = SessionId.make("s")
const agent = Agent.make("a", { system: "You help." })
const say = (input: string, sessionId: string = id) => AgentExecutor.run(agent, { input, userId, sessionId })

const given = (
  script: Parameters<typeof TestModel.layer>[0],
  options: Agents.Replaceable & { readonly sessionConfig?: Parameters<typeof Sessions.layer>[0] } = {}
) => {
  const { sessionConfig, ...others } = options
  const sessions = Sessions.layer({ cleanup: false, ...(sessionConfig as {}) })
  return Agents.layerWith({ sessions, ...others }).pipe(
    Layer.provideMerge(sessions),
    Layer.provideMerge(TestModel.layer(script))
  ) as Layer.Layer<AgentExecutor.AgentExecutor | Sessions.Out | TestModel.TestModel>
}

const manager = SessionManager.SessionManager
const session = Effect.flatMap(manager, (sessions) => Effect.map(sessions.get(id, { userId }), Option.getOrThrow))
const turns = Effect.flatMap(manager, (sessions) => sessions.turns(id, { userId, last: 100 }))
const asked = (index: number) =>
  Effect.map(TestModel.requests, (requests) => Collaborators.said(requests[index]?.messages ?? []))

describe("agents with sessions", () => {
  it.effect("creates a session in one run and continues it in another", () =>
    Effect.gen(function* () {
      yield* say("I live in Ghent.")
      yield* say("Where do I live?")
      assert.includeMembers(
        [...(yield* asked(1))],
        ["user: I live in Ghent.", "assistant: noted", "user: Where do I live?"]
      )
      const { depth, revision, status, totalTokens } = yield* session
      assert.deepStrictEqual({ depth, status }, { depth: 4, status: "active" })
      // One write for each question with its answer.
      assert.strictEqual(revision, 2)
      assert.strictEqual(
        totalTokens,
        (yield* turns).reduce((sum, turn) => sum + turn.tokensUsed, 0)
      )
      assert.deepStrictEqual(
        (yield* turns).map(({ depth, metadata, parent, role }) => [
          depth,
          role,
          parent === undefined,
          metadata["agent"]
        ]),
        [
          [1, "user", true, "a"],
          [2, "assistant", false, "a"],
          [3, "user", false, "a"],
          [4, "assistant", false, "a"]
        ]
      )
    }).pipe(Effect.provide(given(["noted", "In Ghent."])))
  )

  it.effect("sums tokens and cost of runs, those of a failed run with the user's turn", () => {
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
    const echo = Tool.make("echo", {
      description: "Says it again",
      parameters: { text: Schema.String },
      handler: ({ text }) => Effect.succeed(text)
    })
    const prices = ModelPrices.layerWith({ own: { test: { input: 1_000_000, output: 1_000_000 } } })
    return Effect.gen(function* () {
      yield* say("hello")
      const before = yield* session
      assert.strictEqual(before.totalTokens, 15)
      assert.isAbove(before.totalCost, 0)
      yield* Effect.flip(
        AgentExecutor.run(Agent.make("b", { tools: [echo] }), { input: "more", userId, sessionId: id })
      )
      const after = yield* session
      assert.strictEqual(after.totalTokens, 30)
      const [, , failed] = yield* turns
      assert.deepStrictEqual(
        [failed?.role, failed?.unanswered, failed?.tokensUsed, failed?.content],
        ["user", "failed", 15, "more"]
      )
      assert.strictEqual(
        (yield* turns).reduce((sum, turn) => sum + turn.cost, 0),
        after.totalCost
      )
      const figures = yield* (yield* SessionAnalytics.SessionAnalytics).ofSession(id, { userId })
      assert.deepStrictEqual(figures.agentsUsed, ["a", "b"])
      assert.strictEqual(figures.unansweredTurns, 1)
    }).pipe(
      Effect.provide(
        given(
          [
            { text: "hi", usage },
            { calls: [{ name: "echo", params: { text: "x" } }], usage },
            { fail: Collaborators.overloaded }
          ],
          { prices }
        )
      )
    )
  })

  it.effect("saves a turn whatever usage a provider claims", () =>
    Effect.gen(function* () {
      yield* say("hello")
      assert.deepStrictEqual(
        (yield* turns).map(({ content, tokensUsed }) => [content, tokensUsed]),
        [
          ["hello", 0],
          ["hi", 0]
        ]
      )
    }).pipe(Effect.provide(given([{ text: "hi", usage: { totalTokens: Number.NaN } }])))
  )

  it.effect("resumes a suspended session, and fails for closed, expired and foreign ones", () =>
    Effect.gen(function* () {
      const sessions = yield* manager
      yield* sessions.create({ id, userId })
      yield* sessions.suspend(id, { userId })
      yield* say("one")
      assert.strictEqual((yield* session).status, "active")
      yield* sessions.close(id, { userId })
      assert.strictEqual((yield* Effect.flip(say("two")))._tag, "SessionClosedError")
      yield* sessions.create({ id: SessionId.make("old"), userId })
      yield* TestClock.adjust("2 days")
      assert.strictEqual((yield* Effect.flip(say("three", "old")))._tag, "SessionExpiredError")
      yield* sessions.create({ id: SessionId.make("bob"), userId: UserId.make("bob") })
      assert.strictEqual((yield* Effect.flip(say("four", "bob")))._tag, "SessionNotFoundError")
      assert.strictEqual((yield* TestModel.requests).length, 1)
    }).pipe(Effect.provide(given(["1"])))
  )

  it.effect("loses the turns of a full session as degraded, not the answer", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* say("one")).message, "1")
      assert.strictEqual((yield* say("two")).message, "2")
      // There is room for one turn more, but not for a question with its answer.
      assert.strictEqual((yield* turns).length, 2)
    }).pipe(Effect.provide(given(["1", "2"], { sessionConfig: { config: { maxTurnsPerSession: 3 } } })))
  )

  it.effect("loses no turn of concurrent runs of one session", () =>
    Effect.gen(function* () {
      const fibers = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => index),
        (index) => Effect.fork(say(`question ${index}`))
      )
      yield* TestClock.adjust("1 second")
      yield* Effect.forEach(fibers, Fiber.join)
      const said = yield* turns
      assert.strictEqual(said.length, 40)
      assert.deepStrictEqual(
        said.map(({ depth }) => depth),
        Array.from({ length: 40 }, (_, index) => index + 1)
      )
      assert.strictEqual(new Set(said.map(({ id }) => id)).size, 40)
    }).pipe(Effect.provide(given(() => ({ text: "answer", delay: "10 millis" }))))
  )

  it.effect("starts a branch as a conversation of its own with the earlier turns", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* say("The code is marigold.")
      const branch = yield* branches.fork(id, { userId })
      yield* say("On the branch we say tulip.", branch.id)
      yield* say("And here?")
      const shown = (yield* asked(2)).join("\n")
      assert.include(shown, "marigold")
      assert.notInclude(shown, "tulip")
      const { isNew, turns: taken } = yield* branches.merge(id, branch.id, { userId })
      assert.isTrue(isNew)
      assert.strictEqual(taken.length, 2)
      yield* say("Now?")
      assert.include((yield* asked(3)).join("\n"), "tulip")
    }).pipe(Effect.provide(given(["1", "2", "3", "4"])))
  )

  it.effect("records what a merge takes over in the memory of the sessions", () => {
    const memory = DefaultMemory.layer({ config: { ttlSeconds: 0, consolidation: { enabled: false } } })
    return Effect.gen(function* () {
      const sessions = yield* manager
      const branches = yield* BranchManager.BranchManager
      yield* sessions.create({ id, userId })
      const branch = yield* branches.fork(id, { userId })
      yield* say("The gate is painted in marigold.", branch.id)
      const { turns: taken } = yield* branches.merge(id, branch.id, { userId })
      const store = yield* MemoryStore.MemoryStore
      const contents = (sessionId: SessionId) =>
        Effect.map(store.getRecent({ ownerId: userId, n: 10, selection: { sessionIds: [sessionId] } }), (entries) =>
          entries.map(({ content }) => content).toSorted()
        )
      const said = taken.map(({ content }) => content).toSorted()
      assert.strictEqual(said.length, 2)
      assert.deepStrictEqual(yield* contents(branch.id), said)
      assert.deepStrictEqual(yield* contents(id), said)
    }).pipe(
      Effect.provide(
        Layer.provideMerge(
          given(["noted"], { memory, sessionConfig: { memory } as never }) as Layer.Layer<
            AgentExecutor.AgentExecutor | Sessions.Out | TestModel.TestModel
          >,
          memory
        )
      )
    )
  })
})
