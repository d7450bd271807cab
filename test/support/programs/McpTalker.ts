/** A client that does what the scenarios for clients of the conformance suite of MCP ask; the last argument is the address. */
import * as Effect from "effect/Effect"
import * as McpClientSdk from "../../../src/mcp/McpClientSdk.js"

const scenarios: Readonly<
  Record<string, { readonly tool?: string; readonly args?: Readonly<Record<string, unknown>> }>
> = {
  initialize: {},
  tools_call: { tool: "add_numbers", args: { a: 5, b: 3 } },
  "sse-retry": { tool: "test_reconnection" },
  "elicitation-sep1034-client-defaults": { tool: "test_client_elicitation_defaults" }
}

const talk = Effect.gen(function* () {
  const { args = {}, tool } = scenarios[process.env["MCP_CONFORMANCE_SCENARIO"] ?? ""] ?? {}
  const client = yield* McpClientSdk.makeHttp({ url: process.argv.at(-1) ?? "", elicitation: true })
  yield* client.listTools
  if (tool === undefined) return
  // The person accepts and gives nothing.
  yield* client.callTool(tool, args, {
    elicit: { asker: "person", answer: () => Effect.succeed({ action: "accept", content: {} }) }
  })
})

Effect.runFork(Effect.scoped(talk))
