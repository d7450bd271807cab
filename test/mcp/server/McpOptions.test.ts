import { assert, describe, it } from "@effect/vitest"
import { LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as McpPeer from "../../../src/mcp/offer/McpPeer.js"
import * as McpEdge from "../../../src/mcp/server/McpEdge.js"
import * as McpServer from "../../../src/mcp/server/McpServer.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as McpClients from "../../support/McpClients.js"

const start = (
  options: Partial<McpServer.Options>,
  edge: McpEdge.Options = {},
  setup: Partial<AgentServers.Setup> = {}
) =>
  AgentServers.start({
    agents: [Agent.make("helper")],
    ...setup,
    edges: [
      McpEdge.make(McpServer.make({ name: "desk", version: "1.0.0", ...options }) as McpServer.Definition<never>, edge)
    ]
  })

const tool = <A, E>(name: string, handler: () => Effect.Effect<A, E>) =>
  Tool.make(name, { description: `The tool ${name}`, handler })

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } }
}
const headers = {
  accept: "application/json, text/event-stream",
  authorization: "Bearer token-ann",
  "content-type": "application/json",
  "mcp-protocol-version": "2025-11-25"
}

const post = (url: string, message: unknown, session?: string) =>
  Effect.promise(() =>
    fetch(url, {
      method: "POST",
      headers: { ...headers, ...(session === undefined ? {} : { "mcp-session-id": session }) },
      body: JSON.stringify(message)
    })
  )

const begin = (url: string) =>
  Effect.map(post(url, initialize), (response) => response.headers.get("mcp-session-id") ?? "")

/** Reads a stream until it has a text, and leaves it. */
const until = ({ body }: Response, text: string) =>
  Effect.promise(async () => {
    const reader = body?.getReader()
    let read = ""
    while (!read.includes(text)) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
      if (done) throw new Error(`It ended: ${read}`)
      read += new TextDecoder().decode(value)
    }
    await reader?.cancel()
    return read
  })

describe("the options of an MCP server", () => {
  it.scopedLive("path, retry and heartbeat: where it is, and how its streams live", () =>
    Effect.gen(function* () {
      const never = tool("never", () => Effect.never)
      const { ask, url } = yield* start(
        { tools: [never] },
        { path: "/tools/mcp", retry: "7 millis", heartbeat: "10 millis" }
      )
      assert.strictEqual((yield* ask("/mcp", { body: initialize })).status, 404)
      const session = yield* begin(`${url}/tools/mcp`)
      const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "never" } }
      const text = yield* until(yield* post(`${url}/tools/mcp`, call, session), ": keepalive")
      assert.include(text, "retry: 7\n")
    })
  )

  it.scopedLive("replay: how many messages a client can still get", () =>
    Effect.gen(function* () {
      const chatty = tool("chatty", () =>
        Effect.as(
          Effect.forEach([1, 2, 3], (n) => McpPeer.log("info", n), { discard: true }),
          "done"
        )
      )
      for (const [replay, status] of [
        [2, 400],
        [100, 200]
      ] as const) {
        const { url } = yield* start({ tools: [chatty] }, { replay })
        const session = yield* begin(`${url}/mcp`)
        const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "chatty" } }
        const text = yield* until(yield* post(`${url}/mcp`, call, session), "done")
        const id = /^id: (\S+)$/m.exec(text)?.[1] ?? ""
        const resumed = yield* Effect.promise(() =>
          fetch(`${url}/mcp`, { headers: { ...headers, "mcp-session-id": session, "last-event-id": id } })
        )
        assert.strictEqual(resumed.status, status)
        if (status === 200) assert.strictEqual((yield* until(resumed, "done")).match(/notifications/g)?.length, 3)
      }
    })
  )

  it.scopedLive("answerTimeout: how long a person has", () =>
    Effect.gen(function* () {
      const done: Array<string> = []
      const pay = Tool.make("pay", {
        description: "Pays",
        requiresApproval: true,
        handler: () => Effect.sync(() => done.push("paid"))
      })
      const cancelled = yield* Deferred.make<void>()
      const { url } = yield* start({ tools: [pay], answerTimeout: "1 millis" })
      const { client } = yield* McpClients.http(url, {
        elicit: () =>
          Effect.runPromise(Effect.as(Deferred.await(cancelled), { action: "accept" as const, content: {} }))
      })
      const result = yield* Effect.promise(() => client.callTool({ name: "pay" }))
      assert.isTrue(result.isError)
      assert.include(McpClients.textOf(result), "did not answer")
      yield* Deferred.succeed(cancelled, undefined)
      assert.deepStrictEqual(done, [])
    })
  )

  it.scopedLive("the policy of the server's callers holds for tools", () =>
    Effect.gen(function* () {
      const done: Array<string> = []
      const work = tool("work", () => Effect.sync(() => done.push("worked")))
      const { url } = yield* start({ tools: [work] }, {}, { policy: () => ({ limits: { maxToolCalls: 0 } }) })
      const { client } = yield* McpClients.http(url)
      const result = yield* Effect.promise(() => client.callTool({ name: "work" }))
      assert.isTrue(result.isError)
      assert.deepStrictEqual(done, [])
    })
  )

  it.scopedLive("the level of a client's log holds for its session", () =>
    Effect.gen(function* () {
      const chatty = tool("chatty", () =>
        Effect.forEach(["debug", "info", "error"] as const, (level) => McpPeer.log(level, { at: level }), {
          discard: true
        })
      )
      const { url } = yield* start({ tools: [chatty] })
      const one = yield* McpClients.http(url)
      const other = yield* McpClients.http(url)
      const logged = { one: [] as Array<unknown>, other: [] as Array<unknown> }
      one.client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.one.push(params))
      other.client.setNotificationHandler(
        LoggingMessageNotificationSchema,
        ({ params: { level } }) => void logged.other.push(level)
      )
      yield* Effect.promise(() => one.client.setLoggingLevel("error"))
      for (const { client } of [one, other]) yield* Effect.promise(() => client.callTool({ name: "chatty" }))
      assert.deepStrictEqual(logged.one, [{ level: "error", logger: "desk", data: { at: "error" } }])
      assert.deepStrictEqual(logged.other, ["info", "error"])
    })
  )
})
