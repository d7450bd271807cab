import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Remembering from "../../../src/agent/definition/Remembering.js"
import * as ConversationMemory from "../../../src/memory/conversation/ConversationMemory.js"
import * as DefaultMemory from "../../../src/memory/DefaultMemory.js"
import * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import * as MemoryBlock from "../../../src/memory/tools/MemoryBlock.js"
import * as MemoryNamespace from "../../../src/memory/tools/MemoryNamespace.js"
import * as MemoryNamespaces from "../../../src/memory/tools/MemoryNamespaces.js"
import * as MemoryTools from "../../../src/memory/tools/MemoryTools.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Collaborators from "../../support/Collaborators.js"

const profile = MemoryBlock.make("profile", {
  description: "Who the user is",
  fields: { name: Schema.String, namespace: Schema.String }
})
const team = { scope: "team", id: "payments" } as const
const namespaces = MemoryNamespaces.make({
  write: ["user", "team"],
  memberships: ({ tenantId, userId }) =>
    Effect.succeed(userId === "ada" && tenantId === "acme" ? [{ ...team, mayWrite: true }] : [])
})

const memory = DefaultMemory.layer({ config: { consolidation: { enabled: false } } })
const given = (script: Parameters<typeof TestModel.layer>[0]) =>
  Agents.layerWith({ memory }).pipe(Layer.provideMerge(memory), Layer.provideMerge(TestModel.layer(script)))

const call = (name: string, params: object) => ({ calls: [{ name, params }] })
const toolsOf = (index: number) =>
  Effect.map(TestModel.requests, (requests) => (requests[index]?.tools ?? []).map(({ name }) => name))
const saidIn = (index: number) =>
  Effect.map(TestModel.requests, (requests) => Collaborators.said(requests[index]?.messages ?? []).join("\n"))

describe("Remembering", () => {
  const agent = Agent.make("clerk").pipe(
    Agent.withMemory(
      Remembering.make({ tools: (given) => MemoryTools.make({ ...given, maxNotes: 1 }), blocks: [profile], namespaces })
    )
  )

  it.effect("gives the model tools and blocks, and shares the memory of teams", () =>
    Effect.gen(function* () {
      const ada = { userId: "ada", tenantId: "acme" }
      const { toolCalls } = yield* AgentExecutor.run(agent, { ...ada, input: "deploys" })
      assert.deepStrictEqual(yield* toolsOf(0), ["remember", "search_memory", "forget", "update_profile"])
      assert.isUndefined(toolCalls[0]?.isFailure || undefined, String(toolCalls[0]?.observation))
      assert.include(toolCalls[1]?.observation, "There are 1 notes already")
      assert.deepStrictEqual(yield* MemoryBlock.read(profile, MemoryNamespace.ownerOf(team)), { namespace: "x" })
      assert.deepStrictEqual(yield* MemoryBlock.read(profile, "ada"), { name: "Ada" })
      yield* AgentExecutor.run(agent, { ...ada, input: "when are deploys?" })
      const shown = yield* saidIn(5)
      assert.include(shown, '"namespace":"team","text":"deploys are on tuesdays"')
      assert.include(shown, '"values":{"name":"Ada","namespace":"x"},"inherited":{"namespace":"team"}')
      yield* AgentExecutor.run(agent, { userId: "ada", input: "when are deploys?" })
      assert.notInclude(yield* saidIn(6), "tuesdays")
    }).pipe(
      Effect.provide(
        given([
          call("remember", { text: "deploys are on tuesdays", namespace: "team" }),
          call("remember", { text: "deploys need reviews", namespace: "team" }),
          call("update_profile", { namespace: "x", _namespace: "team" }),
          call("update_profile", { name: "Ada" }),
          "done",
          "2",
          "3"
        ])
      )
    )
  )

  it.effect("shows blocks without tools, and keeps the executor's memory", () =>
    Effect.gen(function* () {
      const reader = Agent.make("reader").pipe(Agent.withMemory(Remembering.make({ blocks: [profile] })))
      yield* MemoryBlock.write(profile, "ada", { name: "Ada" })
      yield* AgentExecutor.run(reader, { userId: "ada", input: "I like tea" })
      yield* AgentExecutor.run(reader, { userId: "ada", input: "what do I like? tea?" })
      assert.deepStrictEqual(yield* toolsOf(0), [])
      assert.include(yield* saidIn(0), '"values":{"name":"Ada"}')
      assert.include(yield* saidIn(1), "I like tea")
    }).pipe(Effect.provide(given(["1", "2"])))
  )

  it.effect("keeps a plain conversation that the agent has", () =>
    Effect.gen(function* () {
      const talker = Agent.make("talker").pipe(
        Agent.withMemory(() => ConversationMemory.window({ size: 5 })),
        Agent.withMemory(Remembering.make({ tools: MemoryTools.make }))
      )
      yield* AgentExecutor.run(talker, { userId: "ada", input: "hello" })
      assert.deepStrictEqual(yield* toolsOf(0), ["remember", "search_memory", "forget"])
      assert.isFunction(talker.definition.memory)
    }).pipe(Effect.provide(given(["done"])))
  )

  it.effect("refuses a tool of the agent that has the name of a memory tool", () =>
    Effect.gen(function* () {
      const own = Tool.make("remember", { description: "mine", handler: () => Effect.succeed("kept by me") })
      const both = Agent.make("both", { tools: [own] }).pipe(
        Agent.withMemory(Remembering.make({ tools: MemoryTools.make }))
      )
      const error = yield* Effect.flip(AgentExecutor.run(both, { userId: "ada", input: "hello" }))
      assert.include(String(error), 'Two tools are named "remember"')
    }).pipe(Effect.provide(given([])))
  )

  it.effect("adds nothing when all options are off", () =>
    Effect.gen(function* () {
      const plain = Agent.make("plain").pipe(Agent.withMemory(Remembering.make({ blocks: [] })))
      assert.lengthOf(plain.definition.stages, 0)
      yield* AgentExecutor.run(plain, { userId: "ada", input: "hello" })
      assert.deepStrictEqual(yield* toolsOf(0), [])
      assert.strictEqual(yield* Effect.flatMap(MemoryStore.MemoryStore, (store) => store.count("ada")), 2)
    }).pipe(Effect.provide(given(["1"])))
  )
})
