/** Requests of MCP servers to the model: the model of the run answers, once a person approves. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as McpClientSdk from "../../../src/mcp/McpClientSdk.js"
import * as McpBridge from "../../../src/skill/mcp/McpBridge.js"
import type { Service } from "../../../src/skill/mcp/McpClient.js"
import * as EventRecorder from "../../../src/testing/EventRecorder.js"
import type * as TestModel from "../../../src/testing/TestModel.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import * as PendingApprovals from "../../../src/tool/approval/PendingApprovals.js"
import * as McpServers from "../../support/McpServers.js"
import * as Runs from "../../support/Runs.js"

const stdio = (options: Partial<McpClientSdk.StdioOptions> = {}) =>
  McpClientSdk.makeStdio({ name: "one", ...McpServers.stdio(McpServers.program), ...options })

type Said = string | TestModel.Turn

/** Keeps what the model is asked. */
const scriptOf = (script: ReadonlyArray<Said>, requests: Array<LlmClient.LlmRequest> = []) => {
  const turns = [...script]
  return (request: LlmClient.LlmRequest): Said => {
    requests.push(request)
    return turns.shift() ?? "done"
  }
}

/** The result of the tool that asks the model, in a run whose model says these. */
const sampling = (
  client: Service,
  options: {
    readonly params?: object
    readonly says?: ReadonlyArray<Said>
    /** The tool of the server. */
    readonly tool?: string
    readonly requests?: Array<LlmClient.LlmRequest>
    readonly approvals?: Layer.Layer<ApprovalGate.ApprovalGate>
  } = {}
) =>
  Effect.gen(function* () {
    const { approvals = ApprovalGate.layerAutoApprove, params = {}, says = ["It is"], tool = "sample" } = options
    const tools = (yield* McpBridge.tools(client, { confirm: "never" })).filter(({ name }) =>
      name.endsWith(`__${tool}`)
    )
    const agent = Agent.make("clerk", { tools: tools as never })
    const call = { calls: [{ name: tools[0]?.name as string, params }] }
    const { events } = yield* EventRecorder.record(AgentExecutor.stream(agent, { input: "hi" })).pipe(
      Effect.provide(Runs.layer(scriptOf([call, ...says, "done"], options.requests), { approvals }))
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

  it.scopedLive("lets the model call tools of the server, which runs them and asks again", () =>
    Effect.gen(function* () {
      const requests: Array<LlmClient.LlmRequest> = []
      const says = [
        {
          text: "I turn it.",
          calls: [
            { name: "dial", params: { by: 3 } },
            { name: "dial", params: { by: 9 } },
            { name: "unknown", params: {} }
          ]
        },
        "It is up"
      ]
      const { events, text } = yield* sampling(yield* stdio({ sampling: true }), {
        tool: "dial_sample",
        says,
        requests
      })
      assert.include(text, '"content":[{"type":"text","text":"It is up"}]')
      const [first, second] = requests.filter(({ tools }) => tools?.some(({ name }) => name === "dial"))
      assert.strictEqual(first?.toolChoice, "auto")
      assert.deepInclude(first?.tools?.[0], { name: "dial", description: "Turns\\u{202e} it" })
      assert.deepStrictEqual(
        second?.messages.map(({ role }) => role),
        ["user", "assistant", "tool"]
      )
      const results = second?.messages.flatMap((message) => (message.role === "tool" ? message.content : []))
      assert.deepStrictEqual(
        results?.map(({ isFailure, name, result }) => [name, result, isFailure]),
        [
          ["dial", "turned by 3", false],
          ["dial", "too\\u{202e} far", true]
        ]
      )
      const asked = Runs.of(events, "ApprovalRequested").map(({ params }) => JSON.stringify(params))
      assert.lengthOf(asked, 2)
      assert.include(asked[0], '"tools":[{"name":"dial"')
      assert.include(asked[1], '[dial] {\\"by\\":3}')
      assert.include(asked[1], "[result] turned by 3")
      // Two calls of the run, and the server's two.
      assert.lengthOf(Runs.of(events, "UsageReported"), 4)
    })
  )

  it.scopedLive("refuses tools and messages that no model takes", () =>
    Effect.gen(function* () {
      const client = yield* stdio({ sampling: true })
      const schema = { type: "object" }
      const use = (id: string) => ({ type: "tool_use", id, name: "dial", input: {} })
      const result = (toolUseId: string) => ({ type: "tool_result", toolUseId, content: [] })
      const text = { type: "text", text: "hi" }
      const conversation = (...contents: ReadonlyArray<ReadonlyArray<object>>) => ({
        messages: contents.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content }))
      })
      let deep: object = {}
      for (let n = 0; n < 500; n++) deep = { not: deep }
      const cases: ReadonlyArray<readonly [object, string]> = [
        [{ tools: [{ name: "", inputSchema: schema }] }, "no such tools"],
        [{ tools: [{ name: "a b", inputSchema: schema }] }, "no such tools"],
        [{ tools: Array.from({ length: 129 }, (_, n) => ({ name: `t${n}`, inputSchema: schema })) }, "no such tools"],
        [{ tools: ["x", "x"].map((name) => ({ name, inputSchema: schema })) }, "no such tools"],
        [{ tools: [{ name: "x", inputSchema: { type: "object", properties: { a: deep } } }] }, "refused"],
        [conversation([text], [use("1")]), "no such tools"],
        [conversation([text], [use("1")], [result("2")]), "no such tools"],
        [conversation([text], [use("1")], [result("1"), text]), "no such tools"],
        [conversation([text], [use("1"), use("1")], [result("1"), result("1")]), "no such tools"],
        [conversation([result("1")]), "no such tools"],
        [conversation([use("1")]), "no such tools"]
      ]
      for (const [params, problem] of cases) {
        const answer = yield* sampling(client, { tool: "dial_sample", params, says: [] })
        assert.include(answer.text, problem, JSON.stringify(params).slice(0, 200))
      }
    })
  )

  it.scopedLive("takes no tools where they are off, and is off by default", () =>
    Effect.gen(function* () {
      const tools = [{ name: "x", inputSchema: { type: "object" } }]
      const off = yield* stdio({ sampling: { tools: false } })
      assert.include((yield* sampling(off, { params: { tools }, says: [] })).text, "no such tools")
      const { content } = yield* (yield* stdio()).callTool("sample", {})
      assert.deepStrictEqual(content, [{ type: "text", text: "cannot ask" }])
    })
  )
})
