import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as ClientTools from "../../src/agent/ClientTools.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as NextTurn from "../../src/internal/fiber/NextTurn.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as PendingApprovals from "../../src/tool/approval/PendingApprovals.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Elicitation from "../../src/tool/Elicitation.js"

const weather = {
  name: "weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
}

const offered: Array<ReadonlyArray<string>> = []

const model = (city: unknown) =>
  TestModel.layer(({ messages, tools }) => {
    offered.push((tools ?? []).map(({ name }) => name))
    const results = messages.flatMap((message) => (message.role === "tool" ? message.content : []))
    return results.length === 0
      ? { calls: [{ name: "weather", params: { city } }] }
      : results.map(({ result }) => String(result)).join(" | ")
  })

const request = { input: "the weather?", clientTools: [weather] }

it.effect("gives tools of the caller to one run of an agent", () =>
  Effect.gen(function* () {
    const agent = Agent.make("clerk")
    const run = yield* Effect.fork(AgentExecutor.run(agent, request))
    const pending = yield* PendingApprovals.PendingApprovals
    const asked = yield* Effect.repeat(Effect.zipRight(NextTurn.nextTurn, pending.list()), {
      until: (all) => all.length > 0
    })
    assert.deepStrictEqual(
      asked.map(({ request: { params, tool } }) => [tool, params]),
      [["weather", { city: "Ghent" }]]
    )
    yield* Elicitation.accept(asked[0]?.request.id ?? "", { result: "7 degrees" })
    assert.strictEqual((yield* Fiber.join(run)).message, "7 degrees")
    // The agent itself stays as it is.
    const without = yield* AgentExecutor.run(agent, "the weather?")
    assert.include(without.message, "weather")
    assert.deepStrictEqual(offered.splice(0), [["weather"], ["weather"], [], []])
  }).pipe(
    Effect.provide(
      Layer.unwrapEffect(
        Effect.sync(() => {
          const approvals = PendingApprovals.layerMemory()
          return Layer.merge(Layer.provide(Agents.layerWith({ approvals }), model("Ghent")), approvals)
        })
      )
    )
  )
)

it.effect("checks the arguments of such a call before anybody is asked", () =>
  Effect.gen(function* () {
    const { message } = yield* AgentExecutor.run(Agent.make("clerk"), request)
    assert.include(message, "city")
  }).pipe(Effect.provide(Layer.provide(Agents.layerWith({ approvals: PendingApprovals.layerMemory() }), model(7))))
)

it.effect("tells the model that nobody can be asked where there is no inbox", () =>
  Effect.gen(function* () {
    const { message } = yield* AgentExecutor.run(Agent.make("clerk"), request)
    assert.include(message, "Nobody can be asked")
  }).pipe(Effect.provide(Layer.provide(Agents.layer(), model("Ghent"))))
)

it.effect("does not begin with tools that are none, or that take a name of the agent's", () =>
  Effect.gen(function* () {
    const own = Tool.make("weather", { description: "Its own", handler: () => Effect.succeed("9") })
    const agent = Agent.make("clerk", { tools: [own] })
    let deep: Record<string, unknown> = {}
    for (let n = 0; n < 100_000; n++) deep = { not: deep }
    for (const clientTools of [[weather], [{ name: "" }], [{ name: "x", parameters: deep }]]) {
      const error = yield* Effect.flip(AgentExecutor.run(agent, { ...request, clientTools }))
      assert.strictEqual(error._tag, "AgentConfigurationError")
    }
  }).pipe(Effect.provide(Layer.provide(Agents.layer(), model("Ghent"))))
)

it("compiles a tool that many requests have once, and keeps no large one and none that cannot be called", () => {
  const toolOf = (parameters: object) =>
    Either.getOrThrow(ClientTools.apply(Agent.make("clerk"), [{ ...weather, parameters: { ...parameters } }]))
      .definition.tools
  assert.strictEqual(toolOf(weather.parameters).tools[0], toolOf(weather.parameters).tools[0])
  const large = { ...weather.parameters, description: "x".repeat(20_000) }
  assert.notStrictEqual(toolOf(large).tools[0], toolOf(large).tools[0])
  const [one, other] = [toolOf({ type: "array" }), toolOf({ type: "array" })]
  assert.lengthOf(one.problems, 1)
  assert.notStrictEqual(one.problems[0], other.problems[0])
})
