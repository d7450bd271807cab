import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import * as DefaultToolRegistry from "../../../src/tool/DefaultToolRegistry.js"
import * as DefaultToolRunner from "../../../src/tool/DefaultToolRunner.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ModuleGraph from "../../../src/tool/ModuleGraph.js"
import * as ToolRegistry from "../../../src/tool/ToolRegistry.js"
import * as Runs from "../../support/Runs.js"

const saying = (name: string, text: string) =>
  Tool.make(name, { description: `Says ${text}`, handler: () => Effect.succeed(text) })

const tools = (request: LlmClient.LlmRequest | undefined) => request?.tools?.map(({ name }) => name)

describe("the tools of a registry", () => {
  it.effect("are added to the agent's own, which win over tools of the same name", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [saying("time", "noon")] })
      const response = yield* AgentExecutor.run(agent, "hi")
      assert.deepStrictEqual(tools((yield* TestModel.requests)[0]), ["time", "place"])
      assert.deepStrictEqual(
        response.toolCalls.map(({ result }) => result),
        ["noon", "Ghent"]
      )
      assert.deepStrictEqual(
        response.degraded.map(({ error, stage }) => [stage, error.tag, error.message]),
        [["tools", "ToolShadowed", 'The registry tool "time" has the same name as a tool of the agent']]
      )
    }).pipe(
      Effect.provide(
        Runs.layer([{ calls: [{ name: "time" }, { name: "place" }] }, "done"], {
          tools: DefaultToolRegistry.layerTools(saying("time", "midnight"), saying("place", "Ghent"))
        })
      )
    )
  )

  it.effect("are those visible to the agent's module", () =>
    Effect.gen(function* () {
      yield* AgentExecutor.run(Agent.make("clerk", { module: "clerks" }), "hi")
      yield* AgentExecutor.run(Agent.make("guest", { module: "guests" }), "hi")
      const requests = yield* TestModel.requests
      assert.deepStrictEqual(requests.map(tools), [["files", "time"], ["time"]])
    }).pipe(
      Effect.provide(
        Runs.layer(["done", "done"], {
          modules: ModuleGraph.layer({ modules: { office: {}, clerks: { imports: ["office"] }, guests: {} } }),
          tools: DefaultToolRegistry.layerTools(
            saying("files", "a").pipe((tool) => Tool.annotate(tool, { owner: "office" })),
            saying("time", "noon")
          )
        })
      )
    )
  )

  it.effect("are those registered when the run begins", () => {
    const runner = DefaultToolRunner.layer().pipe(Layer.provide([ApprovalGate.layerDeny, ModuleGraph.layerNoop]))
    const registry = Layer.provide(DefaultToolRegistry.layer, runner)
    return Effect.gen(function* () {
      yield* AgentExecutor.run(Agent.make("a"), "hi")
      const { register, unregister } = yield* ToolRegistry.ToolRegistry
      yield* register(saying("late", "here"))
      const response = yield* AgentExecutor.run(Agent.make("a"), "hi")
      assert.deepStrictEqual(response.toolCalls[0]?.result, "here")
      yield* unregister("late")
      yield* AgentExecutor.run(Agent.make("a"), "hi")
      const requests = yield* TestModel.requests
      assert.deepStrictEqual(requests.map(tools), [undefined, ["late"], ["late"], undefined])
    }).pipe(
      Effect.provide(
        Layer.unwrapEffect(
          Effect.map(Effect.provide(ToolRegistry.ToolRegistry, registry), (made) => {
            const shared = Layer.succeed(ToolRegistry.ToolRegistry, made)
            return Layer.merge(
              shared,
              Runs.layer(["done", { calls: [{ name: "late" }] }, "done", "done"], { tools: shared })
            )
          })
        )
      )
    )
  })
})
