import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgentServer from "../../../src/http/api/AgentServer.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../../support/AgentServers.js"
import { eventsOf } from "../../support/AgentServers.js"

const helper = Agent.make("helper", { system: "secret prompt", description: "Helps" })

describe("AgentServer", () => {
  it.scopedLive("lists agents without their prompts", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({ agents: [helper] })
      const { json, status, text } = yield* ask("/v1/agents")
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(json, { agents: [{ name: "helper", description: "Helps", tools: [] }] })
      assert.notInclude(text, "secret prompt")
      assert.strictEqual((yield* ask("/v1/agents/helper")).status, 200)
      assert.strictEqual((yield* ask("/v1/agents/other")).status, 404)
    })
  )

  it.scopedLive("starts a run, waits for it, and shows it to its owner alone", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({ agents: [helper] })
      const body = { agent: "helper", input: "hello", labels: { from: "test" } }
      const started = yield* ask("/v1/runs?wait=10", { body })
      assert.strictEqual(started.status, 200, started.text)
      assert.strictEqual(started.json.answer.message, "hi")
      assert.strictEqual(started.json.run.state, "completed")
      const { runId } = started.json.run
      assert.strictEqual((yield* ask(`/v1/runs/${runId}`)).json.answer.output, "hi")
      assert.strictEqual((yield* ask(`/v1/runs/${runId}`, { user: "bob" })).status, 404)
      assert.deepStrictEqual(
        (yield* ask("/v1/runs")).json.runs.map(({ runId }: { runId: string }) => runId),
        [runId]
      )
      assert.deepStrictEqual((yield* ask("/v1/runs", { user: "bob" })).json.runs, [])
      assert.strictEqual((yield* ask(`/v1/runs/${runId}/events`, { user: "bob" })).status, 404)
    })
  )

  it.scopedLive("streams the public view of a run, resumes it by Last-Event-ID, and ends with 204", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({ agents: [helper] })
      const streamed = yield* ask("/v1/runs/stream", { body: { agent: "helper", input: "hello" } })
      assert.strictEqual(streamed.status, 200)
      assert.match(streamed.headers.get("content-type") ?? "", /^text\/event-stream/)
      const runId = streamed.headers.get("lexigram-run-id") ?? ""
      const events = eventsOf(streamed.text)
      assert.strictEqual(events.at(-1)?.event, "Finished")
      assert.notInclude(streamed.text, "secret prompt")
      const after = yield* ask(`/v1/runs/${runId}/events`, { headers: { "last-event-id": events[1]?.id ?? "" } })
      // What was streamed as deltas is taken back and comes as a whole text.
      assert.deepStrictEqual(
        eventsOf(after.text).map(({ event, id }) => `${id} ${event}`),
        ["1 TextRetracted", ...events.slice(2).map(({ event, id }) => `${id} ${event}`)]
      )
      const done = yield* ask(`/v1/runs/${runId}/events`, { headers: { "last-event-id": events.at(-1)?.id ?? "" } })
      assert.strictEqual(done.status, 204)
    })
  )

  it.scopedLive("asks a person, and goes on with edited arguments", () =>
    Effect.gen(function* () {
      const paid = yield* Deferred.make<unknown>()
      const pay = Tool.make("pay", {
        description: "Pays",
        parameters: { amount: Schema.Number },
        requiresApproval: true,
        handler: (params) => Effect.as(Deferred.succeed(paid, params), "paid")
      })
      const clerk = Agent.make("clerk", { tools: [pay] })
      let calls = 0
      const { ask } = yield* AgentServers.start({
        agents: [clerk],
        script: () => (calls++ === 0 ? { calls: [{ name: "pay", params: { amount: 5 } }] } : "done")
      })
      const { json } = yield* ask("/v1/runs", { body: { agent: "clerk", input: "pay" } })
      const { runId } = json.run
      const approvals = ask(`/v1/approvals?runId=${runId}`)
      const waiting = yield* Effect.repeat(Effect.delay(approvals, "20 millis"), {
        until: ({ json }) => json.approvals.length > 0
      })
      assert.strictEqual(waiting.status, 200, waiting.text)
      const [{ id, params, tool }] = waiting.json.approvals
      assert.deepStrictEqual({ params, tool }, { params: { amount: 5 }, tool: "pay" })
      const decision = { decision: "approve", params: { amount: 3 } }
      assert.strictEqual((yield* ask(`/v1/approvals/${id}/decision`, { body: decision, user: "bob" })).status, 404)
      assert.strictEqual((yield* ask(`/v1/approvals/${id}/decision`, { body: decision })).status, 204)
      assert.deepStrictEqual(yield* Deferred.await(paid), { amount: 3 })
      assert.strictEqual((yield* ask(`/v1/approvals/${id}/decision`, { body: decision })).status, 409)
    })
  )

  it.scopedLive("starts a run once for an idempotency key of a caller", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({ agents: [helper] })
      const body = { agent: "helper", input: "hello" }
      const headers = { "idempotency-key": "order 7" }
      const first = yield* ask("/v1/runs?wait=5", { body, headers })
      const again = yield* ask("/v1/runs", { body, headers })
      assert.strictEqual(again.json.run.runId, first.json.run.runId)
      const other = yield* ask("/v1/runs", { body: { ...body, input: "other" }, headers })
      assert.strictEqual(other.status, 409)
      const bobs = yield* ask("/v1/runs", { body, headers, user: "bob" })
      assert.notStrictEqual(bobs.json.run.runId, first.json.run.runId)
      assert.strictEqual((yield* ask("/v1/runs")).json.runs.length, 1)
    })
  )

  it.scopedLive("describes itself by OpenAPI, without credentials", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({ agents: [helper] })
      const { json } = yield* ask("/v1/openapi.json", { user: "" })
      assert.deepStrictEqual(Object.keys(json.paths["/v1/runs"]).sort(), ["get", "post"])
      const { responses } = json.paths["/v1/runs"].post
      assert.include(Object.keys(responses["404"].content), "application/problem+json")
      assert.deepStrictEqual(Object.keys(responses).sort(), [
        "200",
        "202",
        "400",
        "401",
        "403",
        "404",
        "409",
        "413",
        "429",
        "500",
        "503"
      ])
    })
  )

  it.scopedLive("answers pages of the origins that it knows", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({
        agents: [helper],
        origins: ["https://app.example"],
        allowedHeaders: ["x-tenant-key"]
      })
      const headers = { origin: "https://app.example", "access-control-request-method": "POST" }
      const preflight = yield* ask("/v1/runs", { method: "OPTIONS", headers, user: "" })
      assert.strictEqual(preflight.status, 204)
      assert.strictEqual(preflight.headers.get("access-control-allow-origin"), "https://app.example")
      assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /\bx-api-key\b.*\bx-tenant-key\b/)
      const { headers: got } = yield* ask("/v1/agents", { headers: { origin: "https://app.example" } })
      assert.strictEqual(got.get("access-control-allow-origin"), "https://app.example")
      assert.include(got.get("access-control-expose-headers") ?? "", "lexigram-run-id")
      const other = yield* ask("/v1/agents", { headers: { origin: "https://evil.example" } })
      assert.notInclude([null, "https://evil.example", "*"].slice(1), other.headers.get("access-control-allow-origin"))
    })
  )

  it.scopedLive("shows results of tools and a header where it is told to", () =>
    Effect.gen(function* () {
      const look = Tool.make("look", { description: "Looks", handler: () => Effect.succeed("seen") })
      const script = [{ calls: [{ name: "look" }] }, "done"]
      const body = { agent: "looker", input: "look" }
      const agents = [Agent.make("looker", { tools: [look] })]
      const shown = yield* AgentServers.start({
        agents,
        script,
        view: { toolResults: true },
        headers: { "x-served-by": "test" }
      })
      const open = yield* shown.ask("/v1/runs/stream", { body })
      assert.include(open.text, '"observation":"seen"')
      assert.strictEqual(open.headers.get("x-served-by"), "test")
      const hidden = yield* AgentServers.start({ agents, script })
      assert.notInclude((yield* hidden.ask("/v1/runs/stream", { body })).text, "seen")
    })
  )

  it.scopedLive("hides secrets of a call that waits, and keeps them where its arguments are edited", () =>
    Effect.gen(function* () {
      const called = yield* Deferred.make<unknown>()
      const login = Tool.make("login", {
        description: "Logs in",
        parameters: { user: Schema.String, password: Schema.String },
        requiresApproval: true,
        handler: (params) => Effect.as(Deferred.succeed(called, params), "in")
      })
      const script = [{ calls: [{ name: "login", params: { user: "ann", password: "hunter2" } }] }, "done"]
      const { ask } = yield* AgentServers.start({ agents: [Agent.make("clerk", { tools: [login] })], script })
      yield* ask("/v1/runs", { body: { agent: "clerk", input: "log in" } })
      const { json, text } = yield* Effect.repeat(Effect.delay(ask("/v1/approvals"), "20 millis"), {
        until: ({ json }) => json.approvals.length > 0
      })
      assert.notInclude(text, "hunter2")
      const [{ id, params }] = json.approvals
      const body = { decision: "approve", params: { ...params, user: "bob" } }
      assert.strictEqual((yield* ask(`/v1/approvals/${id}/decision`, { body })).status, 204)
      assert.deepStrictEqual(yield* Deferred.await(called), { user: "bob", password: "hunter2" })
    })
  )

  it.scopedLive("is an application for a server of another framework", () =>
    Effect.gen(function* () {
      const agents = [helper]
      const services = Layer.merge(AgentServers.services({ agents }), NodeHttpServer.layerContext)
      const context = yield* Layer.build(services)
      const options = { agents, limits: { maxBodyBytes: 1000 }, origins: ["https://app.example"] }
      const listener = yield* Effect.provide(
        Effect.flatMap(AgentServer.toHttpApp(options), (app) => NodeHttpServer.makeHandler(app)),
        context
      )
      const server = createServer((request, response) =>
        request.url === "/own" ? response.end("own") : listener(request, response)
      )
      yield* Effect.acquireRelease(
        Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
      )
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const ask = (path: string, asked?: AgentServers.Asked) =>
        Effect.promise(async () => {
          const response = await fetch(`${url}${path}`, AgentServers.init(asked))
          return { response, text: await response.text() }
        })
      assert.strictEqual((yield* ask("/own")).text, "own")
      const started = yield* ask("/v1/runs?wait=10", { body: { agent: "helper", input: "hello" } })
      assert.strictEqual(JSON.parse(started.text).answer.message, "hi")
      const large = yield* ask("/v1/runs", { body: { agent: "helper", input: "x".repeat(2000) } })
      assert.strictEqual(large.response.status, 413)
      assert.strictEqual(large.response.headers.get("content-type"), "application/problem+json")
      assert.strictEqual((yield* ask("/v1/runs", { user: "" })).response.status, 401)
      const { response } = yield* ask("/v1/agents", { headers: { origin: "https://app.example" } })
      assert.strictEqual(response.headers.get("access-control-allow-origin"), "https://app.example")
    })
  )
})
