import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Jose from "jose"
import * as Agent from "../../../src/agent/definition/Agent.js"
import type * as AgentServer from "../../../src/http/api/AgentServer.js"
import * as Authentication from "../../../src/http/api/Authentication.js"
import * as OpenAiServer from "../../../src/http/openai/OpenAiServer.js"
import * as UiChat from "../../../src/http/ui/UiChat.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as AgentServers from "../../support/AgentServers.js"

const helper = Agent.make("helper")
const agents = [helper]
const start = { agent: "helper", input: "hello" }

describe("the callers of a server", () => {
  it.scopedLive("may use what their scopes allow", () =>
    Effect.gen(function* () {
      const secret = "0123456789abcdef0123456789abcdef"
      const token = (scope: string | undefined) =>
        Effect.promise(() =>
          new Jose.SignJWT(scope === undefined ? {} : { scope })
            .setProtectedHeader({ alg: "HS256" })
            .setSubject("ann")
            .setExpirationTime("1h")
            .sign(new TextEncoder().encode(secret))
        )
      const { ask } = yield* AgentServers.start({
        agents,
        authentication: Authentication.layerJwt({ secret: Redacted.make(secret), algorithms: ["HS256"] }),
        permits: ({ scopes = [] }, endpoint) =>
          scopes.includes("all") || (scopes.includes("read") && /^(?:get|list)/.test(endpoint))
      })
      const as = (scope: string | undefined, path: string, body?: unknown) =>
        Effect.flatMap(token(scope), (given) =>
          ask(path, {
            user: "",
            headers: { authorization: `Bearer ${given}` },
            ...(body === undefined ? {} : { body })
          })
        )
      assert.strictEqual((yield* as("other all", "/v1/runs?wait=10", start)).status, 200)
      assert.strictEqual((yield* as("read", "/v1/runs")).status, 200)
      const refused = yield* as("read", "/v1/runs", start)
      assert.strictEqual(refused.status, 403)
      assert.strictEqual(refused.json.reason, "forbidden")
      assert.strictEqual((yield* as(undefined, "/v1/agents")).status, 403)
      assert.strictEqual((yield* as("readall", "/v1/agents")).status, 403)
    })
  )

  it.scopedLive("are recorded with what they asked for, and what came of it", () =>
    Effect.gen(function* () {
      const entries: Array<AgentServer.AuditEntry> = []
      const { ask } = yield* AgentServers.start({
        agents,
        audit: (entry) =>
          Effect.sync(() => {
            entries.push(entry)
            // The log is full.
            if (entry.endpoint === "listRuns") throw new Error("full")
          })
      })
      const headers = { "x-request-id": "r-1" }
      yield* ask("/v1/runs?wait=10", { body: start, headers })
      yield* ask("/v1/agents", { user: "" })
      yield* ask("/v1/runs", { body: { agent: "nobody", input: "x" } })
      assert.strictEqual((yield* ask("/v1/runs")).status, 200)
      yield* ask("/v1/runs/stream", { body: start })
      yield* ask("/v1/health")
      yield* ask("/v1/nothing")
      assert.deepStrictEqual(
        entries.map(({ caller, endpoint, status }) => `${caller?.userId ?? "nobody"} ${endpoint} ${status}`),
        ["ann startRun 200", "nobody listAgents 401", "ann startRun 404", "ann listRuns 200", "ann streamRun 200"]
      )
      const [first] = entries
      assert.strictEqual(first?.requestId, "r-1")
      assert.isAtLeast(first?.durationMs ?? -1, 0)
      assert.isAbove(first?.at ?? 0, 0)
      assert.notInclude(JSON.stringify(entries), "token-ann")
    })
  )

  it.scopedLive("start runs that have the policy of their caller", () =>
    Effect.gen(function* () {
      const model = Layer.succeed(LlmClient.LlmClient, {
        provider: "test",
        model: "m",
        complete: ({ messages }) =>
          messages.at(-1)?.content === "slow"
            ? Effect.never
            : Effect.succeed({
                content: [{ type: "text", text: "hi" }],
                finishReason: "stop",
                usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
              } as const)
      })
      const { ask } = yield* AgentServers.start({
        agents,
        model,
        policy: ({ userId }) => (userId === "ann" ? { limits: { timeout: "100 millis" } } : {}),
        edges: [OpenAiServer.make({ agents }), UiChat.make()]
      })
      const slow = { ...start, input: "slow" }
      const cut = yield* ask("/v1/runs?wait=10", { body: slow })
      assert.strictEqual(cut.json.run.state, "failed", cut.text)
      assert.strictEqual((yield* ask("/v1/runs?wait=1", { body: slow, user: "bob" })).json.run.state, "running")
      // A caller does not choose its policy.
      const given = yield* ask("/v1/runs?wait=10", { body: { ...slow, policy: { limits: { timeout: "1 hour" } } } })
      assert.strictEqual(given.json.run.state, "failed")
      // Whatever the edge.
      const messages = [{ role: "user", content: "slow" }]
      const completion = yield* ask("/openai/v1/chat/completions", { body: { model: "helper", messages } })
      assert.isAtLeast(completion.status, 400, completion.text)
      const parts = [{ type: "text", text: "slow" }]
      const chat = { id: "c", messages: [{ id: "m", role: "user", parts }], trigger: "submit-message" }
      const { text } = yield* ask("/ui/chat/helper", { body: chat })
      assert.include(text, '"type":"error"')
    })
  )
})
