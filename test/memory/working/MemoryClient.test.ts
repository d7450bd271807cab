import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SessionId } from "../../../src/domain/Ids.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as MemoryClient from "../../../src/memory/working/MemoryClient.js"
import type * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Collaborators from "../../support/Collaborators.js"

const given = (
  script: Parameters<typeof TestModel.layer>[0],
  options: Partial<MemoryClient.Options> = {},
  over: Partial<WorkingMemory.Service> = {}
) => {
  const memory = Collaborators.memory(over)
  const model = TestModel.layer(script)
  const wrapped = MemoryClient.layer({ ownerId: "ada", ...options })
  const layer = Layer.merge(model, Layer.provide(wrapped, Layer.merge(model, memory.layer)))
  return { memory, layer }
}

const ask = (...messages: ReadonlyArray<LlmClient.Message>) =>
  Effect.flatMap(LlmClient.LlmClient, (client) => client.complete({ messages }))

const user = (content: string): LlmClient.Message => ({ role: "user", content })

describe("MemoryClient", () => {
  it.effect("inserts earlier messages as data after the system messages", () => {
    const { layer, memory } = given(["hello Ada", "Ada"], { sessionId: SessionId.make("s"), tokenBudget: 100 })
    return Effect.gen(function* () {
      yield* ask(user("my name is Ada"))
      const response = yield* ask({ role: "system", content: "Be kind." }, user("aside"), user("who am I?"))
      assert.strictEqual(LlmClient.text(response), "Ada")
      const [system, remembered, ...rest] = (yield* TestModel.requests)[1]!.messages
      assert.deepStrictEqual(system, { role: "system", content: "Be kind." })
      assert.strictEqual(remembered?.role, "user")
      assert.include(String(remembered?.content), JSON.stringify({ role: "user", text: "my name is Ada" }))
      assert.deepStrictEqual(Collaborators.said(rest), ["user: aside", "user: who am I?"])
      assert.deepStrictEqual(memory.asked[1], {
        query: "who am I?",
        tokenBudget: 100,
        ownerId: "ada",
        sessionId: SessionId.make("s")
      })
      assert.deepStrictEqual(
        memory
          .entries()
          .map(({ content, metadata, ownerId, role, sessionId }) => [
            ownerId,
            sessionId,
            role,
            content,
            metadata["type"]
          ]),
        [
          ["ada", "s", "user", "my name is Ada", "turn"],
          ["ada", "s", "assistant", "hello Ada", "turn"],
          ["ada", "s", "user", "who am I?", "turn"],
          ["ada", "s", "assistant", "Ada", "turn"]
        ]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("does not store a call that continues with a tool result", () => {
    const { layer, memory } = given(["done"])
    return Effect.gen(function* () {
      yield* ask(
        user("look"),
        {
          role: "assistant",
          content: [{ type: "tool-call", id: "c", name: "look", params: {}, providerExecuted: false }]
        },
        {
          role: "tool",
          content: [
            { type: "tool-result", id: "c", name: "look", result: "x", isFailure: false, providerExecuted: false }
          ]
        }
      )
      assert.strictEqual(memory.asked[0]?.query, "look")
      assert.isEmpty(memory.entries())
    }).pipe(Effect.provide(layer))
  })

  it.effect("only reads with remember: false, and makes no query without user text", () => {
    const { layer, memory } = given(["1", "2", "3"], { remember: false })
    return Effect.gen(function* () {
      yield* ask(user("hi"))
      yield* ask({ role: "system", content: "alone" })
      yield* ask(user("  "))
      assert.lengthOf(memory.asked, 1)
      assert.isEmpty(memory.entries())
    }).pipe(Effect.provide(layer))
  })

  it.effect("queries with the text parts of a message, and continues when memory fails", () => {
    const { layer, memory } = given(["1"], {}, { assemble: () => Collaborators.storageError })
    return Effect.gen(function* () {
      const response = yield* ask({
        role: "user",
        content: [
          { type: "text", text: "what is" },
          { type: "text", text: "this?" }
        ]
      })
      assert.strictEqual(LlmClient.text(response), "1")
      assert.lengthOf((yield* TestModel.requests)[0]!.messages, 1)
      assert.strictEqual(memory.entries()[0]?.content, "what is\nthis?")
    }).pipe(Effect.provide(layer))
  })

  it.effect("stores nothing when the call fails", () => {
    const { layer, memory } = given([{ fail: Collaborators.overloaded }])
    return Effect.gen(function* () {
      yield* Effect.flip(ask(user("hi")))
      assert.isEmpty(memory.entries())
    }).pipe(Effect.provide(layer))
  })
})
