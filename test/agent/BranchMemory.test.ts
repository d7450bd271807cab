import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import { SessionId, UserId } from "../../src/domain/Ids.js"
import * as TokenCounter from "../../src/llm/model/TokenCounter.js"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as SummarizeStrategy from "../../src/memory/consolidation/SummarizeStrategy.js"
import * as ConversationMemory from "../../src/memory/conversation/ConversationMemory.js"
import * as DefaultMemory from "../../src/memory/DefaultMemory.js"
import * as DefaultEpisodicCompressor from "../../src/memory/episodic/DefaultEpisodicCompressor.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as BranchManager from "../../src/session/branch/BranchManager.js"
import * as DefaultBranchManager from "../../src/session/branch/DefaultBranchManager.js"
import * as DefaultSessionManager from "../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as SessionMemory from "../../src/session/manager/SessionMemory.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Collaborators from "../support/Collaborators.js"

/** The executor and the sessions both feed memory. Of a session an answer stands in the prompt: what else is known of it was recalled. */
const withMemory = (
  memory: Layer.Layer<
    WorkingMemory.WorkingMemory | MemoryConsolidator.MemoryConsolidator | MemoryStore.MemoryStore,
    any,
    any
  >
) => {
  const sessions = DefaultSessionManager.layer({ sessionTtl: 0, consolidateOnClose: false }).pipe(
    Layer.provide([memory, InMemorySessionStore.layer])
  )
  const branches = DefaultBranchManager.layer().pipe(Layer.provide([memory, InMemorySessionStore.layer]))
  return Agents.layerWith({ memory, sessions, config: { sessionTurns: 1, memoryTokenBudget: 4000 } }).pipe(
    Layer.provideMerge(Layer.mergeAll(memory, sessions, branches)),
    Layer.provideMerge(TestModel.layer(() => ({ text: "ok" })))
  ) as Layer.Layer<
    | AgentExecutor.AgentExecutor
    | MemoryStore.MemoryStore
    | WorkingMemory.WorkingMemory
    | MemoryConsolidator.MemoryConsolidator
    | SessionManager.SessionManager
    | BranchManager.BranchManager
    | TestModel.TestModel
  >
}

const layer = Layer.suspend(() =>
  withMemory(
    DefaultMemory.layer({
      config: { ttlSeconds: 0, consolidation: { enabled: false } },
      compressor: DefaultEpisodicCompressor.layer((entries) =>
        Effect.succeed(`Summary: ${entries.map(({ content }) => content).join("; ")}`)
      ).pipe(Layer.provide(TokenCounter.layerApproximate())),
      strategies: [SummarizeStrategy.make({ minEntries: 2 })]
    })
  )
)

/** For agents that have their own. */
const layerWithout = Layer.suspend(() =>
  withMemory(Layer.mergeAll(WorkingMemory.layerNoop, MemoryConsolidator.layerNoop, MemoryStore.layerNoop))
)

const sid = SessionId.make
const agent = Agent.make("a", { system: "You help." })

interface Who {
  readonly userId?: string
  readonly agent?: Agent.Agent<string, never, never>
}

const ada: Who = { userId: "ada" }
const access = ({ userId }: Who) => (userId === undefined ? {} : { userId: userId as UserId })

const say = Effect.fnUntraced(function* (session: string, input: string, who: Who = ada) {
  yield* TestClock.adjust("1 minute")
  return yield* AgentExecutor.run(who.agent ?? agent, { input, sessionId: session, ...access(who) })
})

/** What the model is told besides the question. */
const told = Effect.fnUntraced(function* (session: string, input: string, who: Who = ada) {
  yield* say(session, input, who)
  const messages = (yield* TestModel.requests).at(-1)?.messages ?? []
  return Collaborators.said(messages.slice(0, -1)).join("\n")
})

const knows = Effect.fnUntraced(function* (session: string, words: ReadonlyArray<string>, who: Who = ada) {
  const prompt = yield* told(session, `What do you remember of ${words.join(", ")}?`, who)
  return words.filter((word) => prompt.includes(`the ${word}`))
})

const fork = Effect.fnUntraced(function* (from: string, id: string, who: Who = ada) {
  yield* TestClock.adjust("1 minute")
  const branches = yield* BranchManager.BranchManager
  return yield* branches.fork(sid(from), { id: sid(id), ...access(who) })
})

const checkpoint = (session: string) =>
  Effect.flatMap(SessionManager.SessionManager, (sessions) => sessions.checkpoint(sid(session), access(ada)))

const restore = Effect.fnUntraced(function* (
  checkpoint: Effect.Effect.Success<ReturnType<SessionManager.Service["checkpoint"]>>
) {
  yield* TestClock.adjust("1 minute")
  const sessions = yield* SessionManager.SessionManager
  return yield* sessions.restore(checkpoint.id, access(ada))
})

const kept = (ownerId: string) =>
  Effect.flatMap(MemoryStore.MemoryStore, (store) =>
    Effect.map(Stream.runCollect(store.stream(ownerId)), (entries) => Array.from(entries))
  )

describe("the memory of branches", () => {
  it.effect("recalls the common past and other conversations, but not what only the other branch said", () =>
    Effect.gen(function* () {
      yield* say("other", "I own the kayak")
      yield* say("main", "I planted the oak")
      yield* fork("main", "branch")
      yield* say("main", "I painted the fence")
      yield* say("branch", "I repaired the boiler")
      yield* say("later", "I sold the piano")
      const words = ["kayak", "oak", "fence", "boiler", "piano"]
      assert.deepStrictEqual(yield* knows("main", words), ["kayak", "oak", "fence", "piano"])
      assert.deepStrictEqual(yield* knows("branch", words), ["kayak", "oak", "boiler", "piano"])
      // Another conversation is no part of the tree: it knows what all of them said.
      assert.deepStrictEqual(yield* knows("other", words), words)
    }).pipe(Effect.provide(layer))
  )

  it.effect("recalls once what both the executor and the sessions remember", () =>
    Effect.gen(function* () {
      yield* say("main", "I planted the oak")
      yield* fork("main", "branch")
      yield* say("branch", "I planted the oak")
      const entries = yield* kept("ada")
      assert.deepStrictEqual(
        entries.map(({ content, metadata, role, sessionId }) => [role, content, sessionId, metadata["sessionTree"]]),
        [
          ["user", "I planted the oak", sid("main"), "main"],
          ["assistant", "ok", sid("main"), "main"],
          ["user", "I planted the oak", sid("branch"), "main"],
          ["assistant", "ok", sid("branch"), "main"]
        ]
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("does not recall what a restore undid, there or in later branches", () =>
    Effect.gen(function* () {
      yield* say("main", "I planted the oak")
      const planted = yield* checkpoint("main")
      yield* say("main", "I painted the fence")
      yield* fork("main", "before")
      yield* restore(planted)
      yield* say("main", "I repaired the boiler")
      yield* fork("main", "after")
      const words = ["oak", "fence", "boiler"]
      assert.deepStrictEqual(yield* knows("main", words), ["oak", "boiler"])
      assert.deepStrictEqual(yield* knows("after", words), ["oak", "boiler"])
      assert.deepStrictEqual(yield* knows("before", words), ["oak", "fence"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("recalls the whole lineage of nested branches, and nothing beside it", () =>
    Effect.gen(function* () {
      yield* say("main", "I planted the oak")
      yield* fork("main", "one")
      yield* say("one", "I painted the fence")
      yield* fork("one", "two")
      yield* say("one", "I repaired the boiler")
      yield* say("two", "I sold the piano")
      yield* fork("two", "three")
      yield* say("main", "I own the kayak")
      const words = ["oak", "fence", "boiler", "piano", "kayak"]
      assert.deepStrictEqual(yield* knows("three", words), ["oak", "fence", "piano"])
      assert.deepStrictEqual(yield* knows("two", words), ["oak", "fence", "piano"])
      assert.deepStrictEqual(yield* knows("one", words), ["oak", "fence", "boiler"])
      assert.deepStrictEqual(yield* knows("main", words), ["oak", "kayak"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("recalls what a merge took over", () =>
    Effect.gen(function* () {
      yield* say("main", "I planted the oak")
      yield* fork("main", "branch")
      yield* say("branch", "I painted the fence")
      yield* say("main", "I repaired the boiler")
      yield* TestClock.adjust("1 minute")
      const branches = yield* BranchManager.BranchManager
      yield* branches.merge(sid("main"), sid("branch"), access(ada))
      const words = ["oak", "fence", "boiler"]
      assert.deepStrictEqual(yield* knows("main", words), words)
      assert.deepStrictEqual(yield* knows("branch", words), ["oak", "fence"])
      const copies = (yield* kept("ada")).filter(({ content }) => content === "I painted the fence")
      assert.deepStrictEqual(
        copies.map(({ sessionId }) => sessionId),
        [sid("branch"), sid("main")]
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("recalls the past in a branch of a session without a user", () =>
    Effect.gen(function* () {
      const nobody: Who = {}
      yield* say("main", "I planted the oak", nobody)
      yield* fork("main", "branch", nobody)
      yield* say("main", "I painted the fence", nobody)
      yield* say("branch", "I repaired the boiler", nobody)
      const words = ["oak", "fence", "boiler"]
      assert.deepStrictEqual(yield* knows("branch", words, nobody), ["oak", "boiler"])
      assert.deepStrictEqual(yield* knows("main", words, nobody), ["oak", "fence"])
      assert.deepStrictEqual(yield* knows("stranger", words, nobody), [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("keeps a fact of one branch from changing another one", () =>
    Effect.gen(function* () {
      const memory = yield* WorkingMemory.WorkingMemory
      const flush = (session: string) => memory.flush({ ownerId: "ada", sessionId: sid(session) })
      yield* say("main", "I live in Paris.")
      yield* flush("main")
      yield* fork("main", "branch")
      yield* say("branch", "I live in Rome.")
      yield* flush("branch")
      yield* say("main", "I like tea.")
      yield* flush("main")
      const facts = (session: string) =>
        Effect.map(told(session, "Where do I live, and what do I like?"), (prompt) =>
          Array.from(prompt.matchAll(/"fact":"([^"]*)"/g), ([, fact]) => fact).sort()
        )
      assert.deepStrictEqual(yield* facts("main"), ["user likes tea", "user lives in Paris"])
      assert.deepStrictEqual(yield* facts("branch"), ["user lives in Rome"])
      assert.deepStrictEqual(yield* facts("other"), ["user likes tea", "user lives in Rome"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("does not recall summaries of undone turns, or of more than a branch has seen", () =>
    Effect.gen(function* () {
      yield* say("main", "I planted the oak")
      const planted = yield* checkpoint("main")
      yield* say("main", "I painted the fence")
      yield* restore(planted)
      yield* say("main", "I repaired the boiler")
      yield* fork("main", "branch")
      yield* say("branch", "I sold the piano")
      yield* say("other", "I own the kayak")
      yield* TestClock.adjust("3 days")
      const consolidator = yield* MemoryConsolidator.MemoryConsolidator
      assert.strictEqual((yield* consolidator.consolidate({ ownerId: "ada" })).summariesStored, 4)
      const words = ["oak", "fence", "boiler", "piano", "kayak"]
      // The summary of what was said first is half of it left behind: the oak went with the fence.
      assert.deepStrictEqual(yield* knows("main", words), ["boiler", "kayak"])
      assert.deepStrictEqual(yield* knows("branch", words), ["boiler", "piano", "kayak"])
      assert.deepStrictEqual(yield* knows("other", words), words)
    }).pipe(Effect.provide(layer))
  )

  it.effect("keeps an agent's plain conversation on the lineage of the branch", () =>
    Effect.gen(function* () {
      const plain = Agent.make("a").pipe(Agent.withMemory(() => ConversationMemory.window({ size: 20 })))
      const who: Who = { ...ada, agent: plain }
      yield* say("main", "I planted the oak", who)
      yield* fork("main", "branch")
      yield* say("main", "I painted the fence", who)
      yield* say("branch", "I repaired the boiler", who)
      const words = ["oak", "fence", "boiler"]
      assert.deepStrictEqual(yield* knows("branch", words, who), ["oak", "boiler"])
      assert.deepStrictEqual(yield* knows("main", words, who), ["oak", "fence"])
    }).pipe(Effect.provide(layerWithout))
  )

  it.effect("records the agent of each turn", () =>
    Effect.gen(function* () {
      yield* say("main", "I planted the oak", { ...ada, agent: Agent.make("gardener") })
      const sessions = yield* SessionManager.SessionManager
      const turns = yield* sessions.turns(sid("main"), { last: 10, userId: UserId.make("ada") })
      assert.deepStrictEqual(
        turns.map(({ metadata }) => metadata["agent"]),
        ["gardener", "gardener"]
      )
      const entries = yield* kept("ada")
      assert.deepStrictEqual(
        entries.map(({ metadata }) => metadata),
        turns.map((turn) => SessionMemory.entryOf(turn, { id: sid("main") }).metadata)
      )
    }).pipe(Effect.provide(layer))
  )
})
