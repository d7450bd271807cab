import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as McpEdge from "../../../src/mcp/server/McpEdge.js"
import * as McpServer from "../../../src/mcp/server/McpServer.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as SeededRandom from "../../support/SeededRandom.js"

/** `npm run test:crash` sends more. */
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? 600)

const deep = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`

const strange: ReadonlyArray<unknown> = [
  "",
  "\u0000",
  "__proto__",
  "constructor",
  "../..",
  "%00",
  "x".repeat(3_000),
  "\ud800",
  null,
  undefined,
  true,
  -1,
  1e308,
  2 ** 53,
  {},
  [],
  [[[{}]]],
  { __proto__: 1 }
]

const methods = [
  "initialize",
  "ping",
  "tools/list",
  "tools/call",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/read",
  "resources/templates/list",
  "resources/subscribe",
  "resources/unsubscribe",
  "completion/complete",
  "logging/setLevel",
  "notifications/initialized",
  "notifications/cancelled",
  "notifications/progress",
  "notifications/roots/list_changed",
  "tasks/get",
  "sampling/createMessage"
]

const paramsOf = (random: SeededRandom.SeededRandom): unknown => {
  const any = () => random.pick([...strange, "echo", "helper", "continue_run", "greet", "test://a", "order://{id}"])
  return random.pick([
    any(),
    {
      name: any(),
      arguments: random.pick([any(), { text: any(), input: any(), run: any() }]),
      uri: any(),
      cursor: any(),
      level: any(),
      requestId: any(),
      progressToken: any(),
      progress: any(),
      ref: random.pick([any(), { type: "ref/prompt", name: any() }, { type: "ref/resource", uri: any() }]),
      argument: random.pick([any(), { name: any(), value: any() }]),
      protocolVersion: random.pick(["2025-11-25", any()]),
      capabilities: random.pick([{}, any(), { elicitation: {}, sampling: {} }]),
      clientInfo: random.pick([{ name: "x", version: "1" }, any()]),
      task: random.pick([undefined, undefined, { ttl: 1 }]),
      _meta: random.pick([undefined, any(), { progressToken: any() }])
    }
  ])
}

const messageOf = (random: SeededRandom.SeededRandom): unknown =>
  random.pick([
    {
      jsonrpc: random.pick(["2.0", "2.0", "2.0", "2.0", ...strange]),
      id: random.pick([1, 2, "a", ...strange]),
      method: random.pick([...methods, ...methods, ...methods, ...strange]),
      params: paramsOf(random)
    },
    { jsonrpc: "2.0", id: random.pick([1, ...strange]), result: random.pick([{}, ...strange]) },
    { jsonrpc: "2.0", id: random.pick([1, ...strange]), error: { code: random.pick([1, ...strange]), message: "" } },
    random.pick(strange)
  ])

const bodyOf = (random: SeededRandom.SeededRandom): string =>
  random.pick([
    () => JSON.stringify(messageOf(random)) ?? "",
    () => JSON.stringify(messageOf(random)) ?? "",
    () => JSON.stringify(messageOf(random)) ?? "",
    () => JSON.stringify([messageOf(random), messageOf(random)]),
    () => "{",
    () => deep(20_000),
    () => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":${deep(5_000)}}}}`
  ])()

const headersOf = (random: SeededRandom.SeededRandom, session: string): Record<string, string> => {
  const headers: Record<string, string> = {
    accept: random.pick(["application/json, text/event-stream", "application/json, text/event-stream", "*/*", ""]),
    "content-type": random.pick(["application/json", "application/json", "application/json", "text/plain", "x"])
  }
  const id = random.pick([session, session, session, session, "none", "x".repeat(5_000), "__proto__", ""])
  if (id !== "") headers["mcp-session-id"] = id
  if (random.pick([true, false])) headers["mcp-protocol-version"] = random.pick(["2025-11-25", "2025-03-26", "1", "x"])
  if (random.pick([true, false])) headers["last-event-id"] = random.pick(["1", "-1", "x", "9".repeat(400)])
  if (random.pick([true, false, false])) headers["origin"] = random.pick(["null", "http://evil.example", "x"])
  return headers
}

const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "fuzz", version: "1" } }
}

describe("an MCP server", () => {
  it.scopedLive("answers whatever is sent to it, and goes on", () =>
    Effect.gen(function* () {
      const agents = [Agent.make("helper")]
      const definition = McpServer.make({
        name: "desk",
        version: "1.0.0",
        agents,
        tools: [
          Tool.make("echo", {
            description: "Echoes",
            parameters: { text: Schema.String },
            handler: ({ text }) => Effect.succeed(text)
          })
        ],
        prompts: [{ name: "greet", get: () => Effect.succeed("hello") }],
        resources: [{ uri: "test://a", name: "a", read: () => Effect.succeed("a") }],
        templates: [{ uriTemplate: "order://{id}", name: "order", read: ({ id = "" }) => Effect.succeed(id) }]
      })
      const { ask } = yield* AgentServers.start({
        agents,
        limits: { requestsPerMinute: 10_000_000, maxBodyBytes: 1_000_000 },
        edges: [McpEdge.make(definition)]
      })
      const begin = Effect.map(
        ask("/mcp", { body: initialize, headers: { accept: "application/json, text/event-stream" } }),
        ({ headers }) => headers.get("mcp-session-id") ?? ""
      )
      const random = SeededRandom.make(7)
      let session = yield* begin
      for (let n = 0; n < REQUESTS; n++) {
        const method = random.pick(["POST", "POST", "POST", "POST", "POST", "POST", "DELETE", "PUT"])
        const body = method === "POST" || method === "PUT" ? bodyOf(random) : undefined
        const headers = headersOf(random, session)
        const answer = yield* ask("/mcp", { method, headers, ...(body === undefined ? {} : { body }) })
        const sent = `${method} ${JSON.stringify(headers).slice(0, 300)} ${body?.slice(0, 300)}`
        assert.isBelow(answer.status, 500, `${sent}: ${answer.text}`)
        assert.notInclude(answer.text, "node_modules", sent)
        assert.notInclude(answer.text, "its log has more", sent)
        if (method === "DELETE" && answer.status === 200) session = yield* begin
      }
      const fresh = yield* begin
      const { text } = yield* ask("/mcp", {
        body: {
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name: "echo", arguments: { text: "still here" } }
        },
        headers: { accept: "application/json, text/event-stream", "mcp-session-id": fresh }
      })
      assert.include(text, "still here")
    })
  )
})
