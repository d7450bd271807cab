/** Requests of MCP servers to the model: the model of the run answers, once a person approves. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as McpClientSdk from "../../../src/mcp/McpClientSdk.js"
import * as McpBridge from "../../../src/skill/mcp/McpBridge.js"
import type { Service } from "../../../src/skill/mcp/McpClient.js"
import * as EventRecorder from "../../../src/testing/EventRecorder.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import * as PendingApprovals from "../../../src/tool/approval/PendingApprovals.js"
import * as McpServers from "../../support/McpServers.js"
import * as Runs from "../../support/Runs.js"

const stdio = (options: Partial<McpClientSdk.StdioOptions> = {}) =>
  McpClientSdk.makeStdio({ name: "one", ...McpServers.stdio(McpServers.program), ...options })

/** The result of the tool that asks the model, in a run whose model says these. */
const sampling = (
  client: Service,
  options: {
    readonly params?: object
    readonly says?: ReadonlyArray<string>
    readonly approvals?: Layer.Layer<ApprovalGate.ApprovalGate>
  } = {}
) =>
  Effect.gen(function* () {
    const { approvals = ApprovalGate.layerAutoApprove, params = {}, says = ["It is"] } = options
    const tools = (yield* McpBridge.tools(client, { confirm: "never" })).filter(({ name }) => name.endsWith("sample"))
    const agent = Agent.make("clerk", { tools: tools as never })
    const call = { calls: [{ name: tools[0]?.name as string, params }] }
    const { events } = yield* EventRecorder.record(AgentExecutor.stream(agent, { input: "hi" })).pipe(
      Effect.provide(Runs.layer([call, ...says, "done"], { approvals }))
    )
    return { events, text: Runs.of(events, "ToolResult")[0]?.observation ?? "" }
  })

describe("sampling of an MCP server", () => {
  it.scopedLive("is answered by the model of the run, whose usage it is", () =>
    Effect.gen(function* () {
      const client = yield* stdio({ sampling: true })
      const { events, text } = yield* sampling(client)
      assert.include(text, '"text":"It is"')
      assert.include(text, '"stopReason":"endTurn"')
      const [request] = Runs.of(events, "ApprovalRequested")
      assert.deepInclude(request?.params, {
        sampling: { messages: [{ role: "user", content: "Is it\\u{202e} 0?" }], maxTokens: 50 }
      })
      assert.strictEqual(request?.reason, "A server asks the model: Is it\\u{202e} 0?")
      // Two calls of the run, and the server's.
      assert.lengthOf(Runs.of(events, "UsageReported"), 3)
      assert.deepStrictEqual(EventRecorder.violations(events), [])
    })
  )

  it.scopedLive("waits for the approval in the inbox", () =>
    Effect.gen(function* () {
      const client = yield* stdio({ sampling: true })
      const inbox = yield* PendingApprovals.PendingApprovals
      const approvals = Layer.succeed(ApprovalGate.ApprovalGate, yield* ApprovalGate.ApprovalGate)
      const run = yield* Effect.fork(sampling(client, { approvals }))
      const [waiting] = yield* Effect.repeat(
        Effect.zipRight(
          Effect.promise(() => new Promise((resolve) => setImmediate(resolve))),
          inbox.list()
        ),
        { until: ({ length }) => length > 0 }
      )
      assert.isTrue(waiting?.request.tool.endsWith("sample"))
      yield* PendingApprovals.approve(waiting?.request.id ?? "")
      assert.include((yield* Fiber.join(run)).text, "It is")
    }).pipe(Effect.provide(PendingApprovals.layerMemory()))
  )

  it.scopedLive("is refused where the person denies it, and outside of a run", () =>
    Effect.gen(function* () {
      const client = yield* stdio({ sampling: true })
      const { text } = yield* sampling(client, { approvals: ApprovalGate.layerDeny, says: [] })
      assert.include(text, "refused")
      const { content } = yield* client.callTool("sample", {})
      assert.include(JSON.stringify(content), "refused")
    })
  )

  it.scopedLive("is bounded in requests and tokens", () =>
    Effect.gen(function* () {
      const client = yield* stdio({ sampling: { maxRequests: 2, maxTokens: 10 } })
      const { events, text } = yield* sampling(client, { params: { times: 3, maxTokens: 1e9 }, says: ["one", "two"] })
      assert.strictEqual(text.split("\n").filter((line) => line.includes("refused")).length, 1)
      const asked = Runs.of(events, "ApprovalRequested").map(({ params }) => params)
      assert.strictEqual(asked.length, 2)
      assert.include(JSON.stringify(asked), '"maxTokens":10')
    })
  )

  it.scopedLive("takes no tools, and is off by default", () =>
    Effect.gen(function* () {
      const tools = [{ name: "x", inputSchema: { type: "object" } }]
      const { text } = yield* sampling(yield* stdio({ sampling: true }), { params: { tools }, says: [] })
      assert.include(text, "no tools")
      const { content } = yield* (yield* stdio()).callTool("sample", {})
      assert.deepStrictEqual(content, [{ type: "text", text: "cannot ask" }])
    })
  )
})
