import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as RequestedAgent from "../../src/agent/RequestedAgent.js"
import * as AgentHooks from "../../src/observability/AgentHooks.js"
import * as Hooks from "../../src/observability/Hooks.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSource from "../../src/tool/ToolSource.js"

const schema = { type: "object", properties: { degrees: { type: "integer" } }, required: ["degrees"] }
const output = { name: "forecast", schema }
const clerk: Agent.Any = Agent.make("clerk")

const outputOf = (given: typeof output) => RequestedAgent.apply(clerk, { output: given }).definition.output

const run = (agent: Agent.Any) => AgentExecutor.run(agent as Agent.Agent<unknown, unknown>, "the weather?")

const on = (text: string) =>
  Layer.provide(
    Agents.layer(),
    TestModel.layer(() => text)
  )

describe("RequestedAgent", () => {
  it("compiles an output that many requests have once, and keeps no large one", () => {
    assert.strictEqual(outputOf(output), outputOf(structuredClone(output)))
    assert.notStrictEqual(outputOf(output), outputOf({ ...output, name: "other" }))
    const large = { ...output, schema: { ...schema, description: "x".repeat(20_000) } }
    assert.notStrictEqual(outputOf(large), outputOf(large))
    for (let n = 0; n < 300; n++) outputOf({ ...output, name: `n${n}` })
    assert.strictEqual(outputOf({ ...output, name: "n299" }), outputOf({ ...output, name: "n299" }))
  })

  it("tells the model the description of an output, and no address of its schema", () => {
    const described = { ...output, description: "The weather", schema: { ...schema, $id: "https://example.com/x" } }
    assert.deepStrictEqual(outputOf(described)?.spec.jsonSchema, { description: "The weather", ...schema })
  })

  it.effect("gives validators of the agent the text of the answer", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const agent = Agent.withValidator((text: string) => Effect.sync(() => void seen.push(text.trim())))(
        Agent.make("clerk")
      )
      const response = yield* run(RequestedAgent.apply(agent, { output }))
      assert.deepStrictEqual([response.output, seen], [{ degrees: 7 }, ['{"degrees":7}']])
    }).pipe(Effect.provide(on('{"degrees":7}')))
  )

  it.effect("does not run an agent that has another output by now", () =>
    Effect.gen(function* () {
      const agent = Agent.withOutput(Schema.Struct({ city: Schema.String }))(Agent.make("clerk"))
      const error = yield* Effect.flip(run(RequestedAgent.apply(agent, { output })))
      assert.propertyVal(error, "_tag", "AgentConfigurationError")
      assert.include(String(error), "form of its own")
    }).pipe(Effect.provide(on('{"degrees":7}')))
  )

  for (const [what, to] of [
    ["the output of a filtered answer", "8"],
    ["a failure where it fits no more", "none"]
  ] as const) {
    it.effect(`has ${what}`, () =>
      Effect.gen(function* () {
        const ran = yield* Effect.either(run(RequestedAgent.apply(clerk, { output })))
        if (Either.isRight(ran)) assert.deepStrictEqual([ran.right.output, to], [{ degrees: 8 }, "8"])
        else
          assert.deepStrictEqual([(ran.left as { readonly _tag?: string })._tag, to], ["OutputValidationError", "none"])
      }).pipe(
        Effect.provide(
          Agents.layerWith({
            hooks: Layer.provideMerge(
              Hooks.filterHandler(AgentHooks.AgentAnswerFilter, (text) => Effect.succeed(text.replace("7", to))),
              Hooks.layer
            )
          }).pipe(Layer.provide(TestModel.layer(() => '{"degrees":7}')))
        )
      )
    )
  }

  it("leaves the names of tools that come when the run begins to the run", () => {
    const look = Tool.make("look", { description: "Looks", handler: () => Effect.succeed("") })
    const sourced = Agent.withToolSource(ToolSource.make({ name: "later", tools: Effect.succeed([look]) }))(
      Agent.make("clerk")
    )
    const request = { toolChoice: { tool: "look" } }
    assert.isUndefined(RequestedAgent.problemOf(sourced, request))
    assert.isUndefined(RequestedAgent.problemOf(undefined, request))
    assert.include(RequestedAgent.problemOf(clerk, request)?.message, '"look"')
  })

  it("lets the agent's own choice of tools be where the request has none", () => {
    const choosing = Agent.withToolChoice("required")(Agent.make("clerk"))
    assert.strictEqual(RequestedAgent.apply(choosing, { toolChoice: "auto" }), choosing)
    assert.deepStrictEqual(RequestedAgent.apply(choosing, { toolChoice: "none" }).definition.control.toolChoice, {
      choice: "none",
      on: "every"
    })
  })
})
