import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import type * as TestModel from "../../../src/testing/TestModel.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import * as DefaultToolRegistry from "../../../src/tool/DefaultToolRegistry.js"
import * as DefaultToolRunner from "../../../src/tool/DefaultToolRunner.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ModuleGraph from "../../../src/tool/ModuleGraph.js"
import * as ToolRegistry from "../../../src/tool/ToolRegistry.js"
import * as Runs from "../../support/Runs.js"

const ran: Array<string> = []
const tool = (name: string, owner: string) =>
  Tool.make(name, { description: "d", owner, handler: () => Effect.sync(() => ran.push(name)) })
const find = tool("order_find", "orders")
const refund = tool("refund", "billing")
const modules = ModuleGraph.layer({ modules: { support: { imports: ["orders"] }, orders: {}, billing: {} } })

/** Each calls a tool that the agent's module may not see, then ends: after a denial, and after the call. */
const direct = [{ calls: [{ name: "refund" }] }, "done"]
const plan = "PLAN:\n1. [TOOL:refund] give the money back"
const paths: Record<string, { readonly denied: TestModel.Script; readonly allowed: TestModel.Script }> = {
  function_calling: { denied: direct, allowed: direct },
  react: { denied: direct, allowed: direct },
  "plan-execute": {
    denied: [plan, "PLAN:\n1. Say that it cannot be done", "STEP_RESULT: It cannot be done", "done"],
    allowed: [plan, "done"]
  }
}

describe("a tool hidden from the agent's module", () => {
  for (const [strategy, { allowed, denied }] of Object.entries(paths)) {
    it.effect(`does not run under ${strategy}`, () =>
      Effect.gen(function* () {
        const run = (module: string | undefined, script: TestModel.Script) => {
          ran.length = 0
          const agent = Agent.make("a", {
            strategy,
            tools: [find, refund],
            ...(module === undefined ? {} : { module })
          })
          return AgentExecutor.run(agent, "hi").pipe(
            Effect.tap(({ message }) => assert.strictEqual(message, "done")),
            Effect.map(() => [...ran]),
            Effect.provide(Runs.layer(script, { modules }))
          )
        }
        assert.deepStrictEqual(yield* run("support", denied), [])
        assert.deepStrictEqual(yield* run(undefined, denied), [])
        assert.deepStrictEqual(yield* run("billing", allowed), ["refund"])
      })
    )
  }

  it.effect("stays hidden beside an agent of another module, and is denied when called", () => {
    const answer: TestModel.ScriptItem = (request) =>
      Effect.as(
        Effect.yieldNow(),
        request.messages.some((message) => message.role === "tool")
          ? "done"
          : { calls: [{ name: "order_find" }, { name: "refund" }] }
      )
    return Effect.gen(function* () {
      const run = (module: string) =>
        Effect.map(
          AgentExecutor.run(Agent.make(module, { strategy: "function_calling", tools: [find, refund], module }), "hi"),
          (response) => response.toolCalls.map((call) => `${call.name} ${call.error?.tag ?? "ran"}`)
        )
      const both = Effect.all([run("support"), run("billing")], { concurrency: "unbounded" })
      for (const [support, billing] of yield* Effect.all([both, both, both], { concurrency: "unbounded" })) {
        assert.deepStrictEqual(support, ["order_find ran", "refund ToolAccessDeniedError"])
        assert.deepStrictEqual(billing, ["order_find ToolAccessDeniedError", "refund ran"])
      }
    }).pipe(Effect.provide(Runs.layer(answer, { modules })))
  })

  it.effect("does not run through a registry called by another tool", () =>
    Effect.gen(function* () {
      ran.length = 0
      const deputy = Tool.make("deputy", {
        description: "d",
        owner: "orders",
        handler: () => Effect.flatMap(ToolRegistry.ToolRegistry, (registry) => registry.execute("refund", {}))
      })
      const agent = Agent.make("a", { strategy: "function_calling", tools: [deputy], module: "support" })
      const response = yield* AgentExecutor.run(agent, "hi")
      assert.match(String(response.toolCalls[0]?.observation), /not available to this agent/)
      assert.deepStrictEqual(ran, [])
    }).pipe(
      Effect.provide(
        Layer.merge(
          Runs.layer([{ calls: [{ name: "deputy" }] }, "done"], { modules }),
          DefaultToolRegistry.layerTools(refund).pipe(
            Layer.provide(DefaultToolRunner.layer()),
            Layer.provide(Layer.merge(ApprovalGate.layerDeny, modules))
          )
        )
      )
    )
  )
})
