import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as ConversationMemory from "../../../src/memory/conversation/ConversationMemory.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Collaborators from "../../support/Collaborators.js"
import * as Runs from "../../support/Runs.js"

const plain = Agent.make("a").pipe(Agent.withMemory(() => ConversationMemory.window({ size: 2 })))

const prompts = Effect.map(TestModel.requests, (requests) =>
  requests.map(({ messages }) => Collaborators.said(messages).join("\n"))
)

describe("the memory of an agent", () => {
  it.effect("recalls from a plain conversation without a working memory", () =>
    Effect.gen(function* () {
      yield* AgentExecutor.run(plain, { input: "my name is Ada", userId: "ada" })
      yield* AgentExecutor.run(plain, { input: "two", userId: "ada" })
      yield* AgentExecutor.run(plain, { input: "three", userId: "ada" })
      const [first, second, third] = yield* prompts
      assert.notInclude(first, "remembered")
      assert.include(second, "my name is Ada")
      // Two turns are its window.
      assert.include(third, '"text":"two"')
      assert.include(third, "my name is Ada")
    }).pipe(Effect.provide(Runs.layer(["1", "2", "3"])))
  )

  it.effect("separates users of one agent, and sessions of a user", () =>
    Effect.gen(function* () {
      yield* AgentExecutor.run(plain, { input: "my secret", userId: "ada", sessionId: "one" })
      yield* AgentExecutor.run(plain, { input: "tell me", userId: "bob" })
      yield* AgentExecutor.run(plain, { input: "tell me", userId: "ada", sessionId: "two" })
      yield* AgentExecutor.run(plain, { input: "tell me", userId: "ada", sessionId: "one" })
      const seen = (yield* prompts).map((prompt) => prompt.includes('"text":"my secret"'))
      assert.deepStrictEqual(seen, [false, false, false, true])
    }).pipe(Effect.provide(Runs.layer(["1", "2", "3", "4"])))
  )

  it.effect("prefers a working memory, saves to both, and falls back to the other", () => {
    let fails = false
    const memory = Collaborators.memory()
    const failing = Collaborators.memory({
      ...memory.service,
      assemble: (options) => (fails ? Collaborators.storageError : memory.service.assemble(options))
    })
    return Effect.gen(function* () {
      yield* AgentExecutor.run(plain, { input: "one", userId: "ada" })
      yield* AgentExecutor.run(plain, { input: "two", userId: "ada" })
      assert.lengthOf(memory.asked, 2)
      assert.lengthOf(memory.entries(), 4)
      fails = true
      const response = yield* AgentExecutor.run(plain, { input: "three", userId: "ada" })
      assert.deepStrictEqual(
        response.degraded.map(({ stage }) => stage),
        ["memory"]
      )
      const last = (yield* prompts)[2]
      assert.include(last, '"text":"two"')
    }).pipe(Effect.provide(Runs.layer(["1", "2", "3"], { memory: failing.layer })))
  })

  it.effect("uses its own working memory in place of the executor's", () => {
    const own = Collaborators.memory()
    const shared = Collaborators.memory()
    return Effect.gen(function* () {
      yield* AgentExecutor.run(Agent.make("a", { memory: own.service }), { input: "one", userId: "ada" })
      assert.lengthOf(own.entries(), 2)
      assert.isEmpty(shared.entries())
      assert.isEmpty(shared.asked)
    }).pipe(Effect.provide(Runs.layer(["1"], { memory: shared.layer })))
  })

  it.effect("reports a missing section of memory and recalls the others", () => {
    const memory = Collaborators.memory()
    const partly = Collaborators.memory({
      ...memory.service,
      assemble: (options) =>
        Effect.map(memory.service.assemble(options), (assembled) => ({
          ...assembled,
          facts: ["Ada likes tea"],
          report: [{ source: "episodic", tokenBudget: 1, tokens: 0, taken: [], left: [], failed: "StorageError" }]
        }))
    })
    return Effect.gen(function* () {
      const { events } = yield* Runs.record(AgentExecutor.stream(Agent.make("a"), { input: "one", userId: "ada" }))
      assert.deepStrictEqual(
        Runs.of(events, "Degraded").map(({ error, stage }) => [stage, error.tag, error.message]),
        [["memory", "StorageError", "The section episodic of memory could not be read"]]
      )
      assert.include((yield* prompts)[0], "Ada likes tea")
      assert.deepInclude(Runs.of(events, "MemoryRecalled")[0], { count: 1, tokens: 0 })
    }).pipe(Effect.provide(Runs.layer(["1"], { memory: partly.layer })))
  })
})
