import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Authentication from "../../../src/http/api/Authentication.js"
import * as McpEdge from "../../../src/mcp/server/McpEdge.js"
import * as AgentServers from "../../support/AgentServers.js"
import { definition } from "../../support/McpConformance.js"
import { run } from "../../support/McpConformanceSuite.js"

describe("the conformance suite of MCP", () => {
  it.scopedLive("passes in all its scenarios for servers", () =>
    Effect.gen(function* () {
      const { url } = yield* AgentServers.start({
        agents: [Agent.make("helper")],
        authentication: Authentication.layerAnonymous,
        limits: { requestsPerMinute: 100_000 },
        edges: [McpEdge.make(definition)]
      })
      const { checks, printed } = yield* run("server", "--url", `${url}/mcp`, "--suite", "all")
      const ending = (status: string) =>
        checks.flatMap(([scenario, all]) =>
          all.filter((one) => one.status === status).map(({ id }) => `${scenario}: ${id}`)
        )
      assert.strictEqual(checks.length, 32, printed.slice(-4_000))
      assert.deepStrictEqual(ending("FAILURE"), [], printed.slice(-4_000))
      // The scenario speaks the version 2025-03-26, whose clients cannot take up streams.
      assert.deepStrictEqual(ending("WARNING"), [
        "server-sse-polling: server-sse-priming-event",
        "server-sse-polling: server-sse-retry-field"
      ])
    })
  )
})
