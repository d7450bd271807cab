import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agents from "../../../src/agent/Agents.js"
import * as InMemoryRunStore from "../../../src/agent/record/InMemoryRunStore.js"
import * as Steering from "../../../src/agent/record/Steering.js"
import * as LocalRuns from "../../../src/agent/runs/LocalRuns.js"
import * as DefaultGuardPipeline from "../../../src/guard/pipeline/DefaultGuardPipeline.js"
import type { GuardStage } from "../../../src/guard/pipeline/Guard.js"
import * as McpPeer from "../../../src/mcp/offer/McpPeer.js"
import * as McpServer from "../../../src/mcp/server/McpServer.js"
import * as Served from "../../../src/mcp/server/Served.js"
import * as RunLog from "../../../src/observability/RunLog.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as PendingApprovals from "../../../src/tool/approval/PendingApprovals.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Collaborators from "../../support/Collaborators.js"
import * as McpClients from "../../support/McpClients.js"

const servicesWith = (stage: GuardStage, action: "redact" | "block") => {
  const log = RunLog.layerMemory()
  const steering = Steering.layer()
  const approvals = PendingApprovals.layerMemory()
  const guards = DefaultGuardPipeline.layerGuards([
    Collaborators.guard("g", [stage], (text) =>
      !text.includes("secret") ? undefined : action === "block" ? false : "[hidden]"
    )
  ])
  const executor = Layer.provide(Agents.layerWith({ log, steering, approvals, guards }), TestModel.layer([]))
  return Layer.provideMerge(
    LocalRuns.layer({ agents: [] }),
    Layer.mergeAll(executor, steering, approvals, log, InMemoryRunStore.layer())
  )
}

const calls: Array<string> = []

const repeat = Tool.make("repeat", {
  description: "Repeats a text",
  parameters: { text: Schema.String, times: Schema.Int },
  success: Schema.String,
  handler: ({ text, times }) =>
    Effect.sync(() => {
      calls.push(text)
      return text.repeat(times)
    })
})

const call = (args: { readonly text: string; readonly times: number }) =>
  Effect.gen(function* () {
    const served = yield* Served.make(
      McpServer.make({ name: "desk", version: "1.0.0", tools: [repeat] }).options,
      () => false
    )
    const tool = served.tools.get("repeat")
    if (tool === undefined) throw new Error("There is no tool")
    return yield* tool.call(args, {
      caller: {},
      policy: undefined,
      approves: true,
      peer: McpPeer.absent,
      progress: () => Effect.void,
      isStopping: () => false
    })
  })

describe("guards of the executor", () => {
  it.scoped("judge the arguments of a call before the tool runs", () =>
    Effect.gen(function* () {
      const before = calls.length
      const result = yield* call({ text: "secret", times: 1 })
      assert.isTrue(result.isError)
      assert.strictEqual(calls.length, before)
    }).pipe(Effect.provide(Layer.orDie(servicesWith("toolInput", "block"))))
  )

  for (const stage of ["toolOutput", "output"] as const) {
    it.scoped(`judge the result of a call (${stage}): what they take out is nowhere in it`, () =>
      Effect.gen(function* () {
        const short = yield* call({ text: "short", times: 1 })
        assert.deepStrictEqual([McpClients.textOf(short), short.structuredContent], ["short", { value: "short" }])
        const long = yield* call({ text: "secret", times: 10 })
        assert.strictEqual(McpClients.textOf(long), "[hidden]")
        assert.notInclude(JSON.stringify(long), "secret")
        const blocked = yield* Effect.provide(
          call({ text: "secret", times: 10 }),
          Layer.orDie(servicesWith(stage, "block"))
        )
        assert.notInclude(JSON.stringify(blocked), "secret")
      }).pipe(Effect.provide(Layer.orDie(servicesWith(stage, "redact"))))
    )
  }
})
