/** Tools of a source and a tool search serve every strategy as declared tools do. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Lats from "../../src/strategy/lats/Lats.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSource from "../../src/tool/ToolSource.js"
import * as Runs from "../support/Runs.js"
import { cases, succeed } from "./EveryStrategy.js"

const offered = ({ tools }: LlmClient.LlmRequest) => (tools ?? []).map(({ name }) => name)

const source = (tools: ReadonlyArray<Tool.Any>) =>
  ToolSource.make({ name: "all", tools: Effect.succeed(tools as ReadonlyArray<Tool.Tool<never, unknown>>) })

/** The only tool of its set that a search shows. */
const decoy = Tool.make("decoy", {
  description: "Does nothing",
  readOnly: true,
  handler: () => Effect.succeed("nothing")
})

describe("tools that change", () => {
  for (const given of cases) {
    const tools = given.sample.tools ?? []
    if (tools.length === 0) continue

    it.effect(`run from a source as declared ones do: ${given.name}`, () =>
      Effect.gen(function* () {
        const plain = yield* succeed(given)
        const changed = yield* succeed(given, { tools: [], agent: Agent.withToolSource(source(tools)) })
        assert.strictEqual(changed.answer, plain.answer)
        assert.deepStrictEqual(changed.tools, plain.tools)
        assert.deepStrictEqual(changed.requests.map(offered), plain.requests.map(offered))
        assert.deepStrictEqual(
          changed.requests.map(({ messages }) => messages),
          plain.requests.map(({ messages }) => messages)
        )
      })
    )

    it.effect(`run while a search hides them: ${given.name}`, () =>
      Effect.gen(function* () {
        const plain = yield* succeed(given)
        const searched = yield* succeed(given, {
          tools: [...tools, decoy],
          agent: Agent.withToolSearch({ maxDefinitions: 2, pinned: [decoy.name] })
        })
        assert.strictEqual(searched.answer, plain.answer)
        assert.deepStrictEqual(searched.tools.begun, plain.tools.begun)
      })
    )
  }
})

describe("a search of plans over tools that change", () => {
  const pay = Tool.make("pay", { description: "Pays", handler: () => Effect.succeed("paid") })
  const refused = (agent: Agent.Agent<string, any, any>) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(agent, "hi"))
      assert.strictEqual(error._tag, "StrategyConfigurationError")
      assert.include(error.message, '"pay"')
      return yield* TestModel.requests
    })

  it.effect("refuses a tool with lasting effects that a tool search hides", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { strategy: "lats", tools: [decoy, pay] }).pipe(
        Agent.withToolSearch({ maxDefinitions: 2, pinned: [decoy.name] })
      )
      assert.isEmpty(yield* refused(agent))
    }).pipe(Effect.provide(Runs.layer([])))
  )

  it.effect("refuses a tool with lasting effects that a source adds later, before it is called", () => {
    let asked = 0
    let paid = 0
    const paying = Tool.make("pay", {
      description: "Pays",
      handler: () => Effect.sync(() => ++paid)
    })
    const look = Tool.make("look", { description: "Looks", readOnly: true, handler: () => Effect.succeed("seen") })
    const growing = ToolSource.make({
      name: "growing",
      tools: Effect.sync((): ReadonlyArray<Tool.Tool<never, unknown>> => (++asked === 1 ? [look] : [look, paying]))
    })
    return Effect.gen(function* () {
      const strategy = Lats.make({ numExpansions: 1, actions: "native" })
      yield* refused(Agent.make("a", { strategy }).pipe(Agent.withToolSource(growing)))
      assert.isAbove(asked, 1)
      assert.strictEqual(paid, 0)
    }).pipe(
      Effect.provide(
        Runs.layer(({ tools = [] }) => {
          if (tools.length === 0) return JSON.stringify({ reason: "go on", score: 0.4 })
          return { calls: [{ name: tools.some(({ name }) => name === "pay") ? "pay" : "look" }] }
        })
      )
    )
  })
})
