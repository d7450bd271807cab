import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Dataset from "../../src/eval/dataset/Dataset.js"
import * as DefaultModelRouter from "../../src/llm/DefaultModelRouter.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as Reflection from "../../src/strategy/Reflection.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as AgentServers from "../support/AgentServers.js"
import { pieces as hostile } from "../trace/HostileText.js"
import * as StudioServers from "./StudioServers.js"

const KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"

const find = Tool.make("find", {
  description: "Finds a book",
  parameters: { title: Schema.String, pin: Schema.String },
  secretParams: ["pin"],
  handler: ({ title }) => Effect.succeed({ title, shelf: "B2", key: KEY })
})

const inner = Agent.make("inner", { system: "You check.", description: "Checks" })

const clerk = Agent.make("clerk", {
  system: "You lend books.",
  tools: [find, AgentTool.make(inner)],
  strategy: Reflection.make()
}).pipe(Agent.withLimits({ timeout: "2 minutes", maxModelCalls: 9 }))
const plain = Agent.make("plain", { system: "You lend books.", tools: [find, AgentTool.make(inner)] })

const agents = [clerk, plain, inner] as ReadonlyArray<Agent.Agent<any, any, AgentExecutor.AgentExecutor>>

/** Calls the tool, then the other agent, then answers. */
const script: TestModel.Script = (request) => {
  const tools = request.messages.filter(({ role }) => role === "tool").length
  if (request.tools === undefined) return "checked"
  if (tools === 0) return { calls: [{ name: "find", params: { title: "Emma", pin: "1234" } }] }
  if (tools === 1) return { calls: [{ name: "delegate_to_inner", params: { message: "Check it" } }] }
  return "On shelf B2"
}

type Server = Pick<AgentServers.Server, "ask">

const started = (server: Server, body: object = {}, user = "ann") =>
  Effect.gen(function* () {
    const { json, status, text } = yield* server.ask("/studio/api/runs", {
      body: { agent: "plain", input: "Where is Emma?", ...body },
      user
    })
    assert.strictEqual(status, 202, text)
    return json.runId as string
  })

const ended = (server: Server, runId: string, user = "ann") =>
  Effect.repeat(server.ask(`/studio/api/runs/${runId}`, { user }), {
    until: ({ json }) => json.answer !== undefined
  })

const tests = (name: string, check: (server: AgentServers.Server) => Effect.Effect<void>) =>
  it.scopedLive(name, () =>
    Effect.gen(function* () {
      yield* check(yield* StudioServers.start({ agents, script }))
    })
  )

const paths = (runId: string): ReadonlyArray<string> => [
  `/studio/api/runs/${runId}`,
  `/studio/api/runs/${runId}/settings`,
  `/studio/api/runs/${runId}/events`,
  `/studio/api/runs/${runId}/trace`,
  `/studio/api/runs/${runId}/case`
]

describe("runs in the studio", () => {
  tests("shows all events with their fields, without secrets", (server) =>
    Effect.gen(function* () {
      const runId = yield* started(server)
      const { text } = yield* server.ask(`/studio/api/runs/${runId}/events`)
      const events = AgentServers.eventsOf(text)
      assert.deepStrictEqual(
        events.map(({ id }) => Number(id)),
        events.map((_, at) => at)
      )
      const call = events.find(({ event }) => event === "ToolCall")?.data
      assert.deepStrictEqual(call.params, { title: "Emma", pin: "[REDACTED]" })
      const result = events.find(({ event }) => event === "ToolResult")?.data
      assert.strictEqual(result.result.shelf, "B2")
      assert.notInclude(text, KEY)
      assert.notInclude(text, "1234")
      const usage = events.find(({ event }) => event === "UsageReported")?.data
      assert.strictEqual(usage.provider, "test")
      assert.strictEqual(events.at(-1)?.event, "Finished")
    })
  )

  tests("goes on after the last event that the page has, and ends with 204", (server) =>
    Effect.gen(function* () {
      const runId = yield* started(server)
      const all = AgentServers.eventsOf((yield* server.ask(`/studio/api/runs/${runId}/events`)).text)
      const some = AgentServers.eventsOf(
        (yield* server.ask(`/studio/api/runs/${runId}/events`, { headers: { "last-event-id": "2" } })).text
      )
      assert.deepStrictEqual(some.at(0)?.data.seq, 3)
      assert.strictEqual(some.at(-1)?.data.seq, all.at(-1)?.data.seq)
      const end = yield* server.ask(`/studio/api/runs/${runId}/events?from=${all.length}`)
      assert.strictEqual(end.status, 204)
      for (const bad of ["-1", "1e9", "__proto__", "99999999999999999999"]) {
        const { status } = yield* server.ask(`/studio/api/runs/${runId}/events?from=${bad}`)
        assert.isTrue(status === 400 || (bad === "1e9" && status === 204), bad)
      }
      const header = yield* server.ask(`/studio/api/runs/${runId}/events`, { headers: { "last-event-id": "x" } })
      assert.strictEqual(header.status, 400)
    })
  )

  tests("shows the events of a run inside, which has no record", (server) =>
    Effect.gen(function* () {
      const runId = yield* started(server)
      const all = AgentServers.eventsOf((yield* server.ask(`/studio/api/runs/${runId}/events`)).text)
      const child = all.find(({ event }) => event === "Delegated")?.data.childRunId as string
      const { text } = yield* server.ask(`/studio/api/runs/${child}/events`)
      const events = AgentServers.eventsOf(text)
      assert.deepStrictEqual([events.at(0)?.event, events.at(-1)?.event], ["Started", "Finished"])
      const rest = yield* server.ask(`/studio/api/runs/${child}/events?from=${events.at(-1)?.data.seq + 1}`)
      assert.strictEqual(rest.status, 204)
      assert.strictEqual((yield* server.ask(`/studio/api/runs/${child}/events`, { user: "bob" })).status, 404)
    })
  )

  tests("gives a trace that has no script and may run none", (server) =>
    Effect.gen(function* () {
      const runId = yield* started(server, { input: `Where is ${hostile.join(" ")}?` })
      yield* ended(server, runId)
      const { headers, text } = yield* server.ask(`/studio/api/runs/${runId}/trace`)
      assert.include(text, "On shelf B2")
      assert.notInclude(text, "<script")
      assert.notInclude(text, KEY)
      assert.notInclude(text, "1234")
      const policy = headers.get("content-security-policy") ?? ""
      assert.include(policy, "default-src 'none'")
      assert.include(policy, "sandbox")
      assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
    })
  )

  tests("makes a case of a run, which a dataset reads", (server) =>
    Effect.gen(function* () {
      const runId = yield* started(server, { input: `The key is ${KEY}` })
      yield* ended(server, runId)
      const { text } = yield* server.ask(`/studio/api/runs/${runId}/case`)
      assert.strictEqual(text.split("\n").length, 2)
      const { cases } = yield* Effect.orDie(
        Dataset.fromJsonl(text, { name: "kept", input: Schema.String, expected: Schema.String })
      )
      const [one] = cases
      assert.deepStrictEqual([one?.id, one?.expected, one?.tags], [runId, "On shelf B2", ["plain"]])
      assert.notInclude(one?.input ?? "", KEY)
      const without = yield* server.ask(`/studio/api/runs/${runId}/case?expected=none`)
      assert.notProperty(without.json, "expected")
      assert.strictEqual((yield* server.ask(`/studio/api/runs/${runId}/case?expected=all`)).status, 400)
    })
  )

  it.scopedLive("makes no case of a run that goes on", () =>
    Effect.gen(function* () {
      const server = yield* StudioServers.start({ agents, model: TestModel.layer(() => Effect.never) })
      const runId = yield* started(server)
      const { json, status } = yield* server.ask(`/studio/api/runs/${runId}/case`)
      assert.strictEqual(status, 409)
      assert.include(json.hint, "ended")
      yield* server.ask(`/v1/runs/${runId}/interrupt`, { method: "POST" })
    })
  )

  tests("shows nothing of another user's runs, and nothing to others than developers", (server) =>
    Effect.gen(function* () {
      const runId = yield* started(server)
      yield* ended(server, runId)
      for (const path of paths(runId)) {
        assert.strictEqual((yield* server.ask(path)).status, 200, path)
        assert.strictEqual((yield* server.ask(path, { user: "bob" })).status, 404, path)
        assert.strictEqual((yield* server.ask(path, { user: "plainjoe" })).status, 403, path)
        assert.strictEqual((yield* server.ask(path, { user: "" })).status, 401, path)
      }
      for (const path of ["/studio/api/agents/plain", "/studio/api/strategies/react"]) {
        assert.strictEqual((yield* server.ask(path, { user: "plainjoe" })).status, 403, path)
        assert.strictEqual((yield* server.ask(path, { user: "" })).status, 401, path)
      }
      for (const [user, status] of [
        ["plainjoe", 403],
        ["", 401]
      ] as const) {
        const body = { agent: "plain", input: "x" }
        assert.strictEqual((yield* server.ask("/studio/api/runs", { user, body })).status, status)
      }
    })
  )

  it.scopedLive("says what a server without a log of its runs does not keep", () =>
    Effect.gen(function* () {
      const server = yield* StudioServers.start({ agents, script, without: RunLog.RunLog })
      const runId = yield* started(server)
      yield* ended(server, runId)
      for (const path of ["trace", "case"]) {
        const { json, status } = yield* server.ask(`/studio/api/runs/${runId}/${path}`)
        assert.strictEqual(status, 501)
        assert.include(json.hint, "RunLog")
      }
      const { status } = yield* server.ask(`/studio/api/runs/${runId}/events`)
      assert.strictEqual(status, 200)
    })
  )

  tests("finds nothing at ids that no run has", (server) =>
    Effect.gen(function* () {
      for (const id of [
        "__proto__",
        "..%2F..",
        "%00",
        "a%0Ab",
        encodeURIComponent(hostile[0] ?? "<"),
        "x".repeat(256)
      ]) {
        for (const path of paths(id)) {
          const { status } = yield* server.ask(path)
          assert.include([400, 404], status, path)
        }
      }
      assert.strictEqual((yield* server.ask(paths("x".repeat(257))[0] as string)).status, 400)
      assert.strictEqual((yield* server.ask("/studio/api/agents/__proto__")).status, 404)
      assert.strictEqual((yield* server.ask("/studio/api/strategies/constructor")).status, 404)
    })
  )
})

describe("runs that are tried out", () => {
  const settings: Array<unknown> = []
  const router = DefaultModelRouter.layer({
    roles: { solver: { client: TestModel.layer(() => "solved\nSCORE: 9\nNEEDS_REFINEMENT: no") } }
  })
  const setup: AgentServers.Setup = {
    agents,
    router,
    script: (request) => {
      settings.push(request.settings?.temperature)
      return "plain answer"
    }
  }

  const tried = (name: string, check: (server: AgentServers.Server) => Effect.Effect<void>) =>
    it.scopedLive(name, () => Effect.flatMap(StudioServers.start(setup), check))

  tried("have the model, the strategy and the settings that their caller chose", (server) =>
    Effect.gen(function* () {
      const runId = yield* started(server, { policy: { model: "solver", strategy: "reflection" } })
      const { json } = yield* ended(server, runId)
      assert.include(json.answer.message, "solved")
      const { text } = yield* server.ask(`/studio/api/runs/${runId}/events`)
      assert.strictEqual(AgentServers.eventsOf(text)[0]?.data.strategy, "reflection")
      const cold = yield* started(server, { settings: { temperature: 0.125 } })
      assert.strictEqual((yield* ended(server, cold)).json.answer.message, "plain answer")
      assert.include(settings, 0.125)
    })
  )

  tried("are refused with what could be chosen", (server) =>
    Effect.gen(function* () {
      for (const [body, hint] of [
        [{ policy: { model: "solvr" } }, "solver"],
        [{ policy: { model: "__proto__" } }, "solver"],
        [{ policy: { strategy: "reflexon" } }, "reflexion"]
      ] as const) {
        const { json, status } = yield* server.ask("/studio/api/runs", {
          body: { agent: "plain", input: "x", ...body }
        })
        assert.strictEqual(status, 400)
        assert.include(json.hint, hint)
      }
      for (const body of [
        { settings: { temperature: 9 } },
        { policy: { limits: { maxTokens: -1 } } },
        { policy: { limits: { timeout: "never" } } },
        { policy: { model: "" } },
        { agent: "" },
        { input: 7 }
      ]) {
        const { status } = yield* server.ask("/studio/api/runs", { body: { agent: "plain", input: "x", ...body } })
        assert.strictEqual(status, 400, JSON.stringify(body))
      }
      const { status } = yield* server.ask("/studio/api/runs", { body: { agent: "nobody", input: "x" } })
      assert.strictEqual(status, 404)
    })
  )

  tried("say which settings they have, from their agent, their request and the defaults", (server) =>
    Effect.gen(function* () {
      const runId = yield* started(server, {
        agent: "clerk",
        settings: { maxTokens: 77 },
        policy: { model: "solver", limits: { maxModelCalls: 3, toolTimeout: "5 seconds" } },
        toolChoice: "none"
      })
      const { json } = yield* server.ask(`/studio/api/runs/${runId}/settings`)
      assert.strictEqual(json.system, "You lend books.")
      assert.deepStrictEqual(json.settings, { temperature: 0.7, maxTokens: 77 })
      assert.strictEqual(json.role, "solver")
      assert.deepStrictEqual(json.roles, [
        { role: "solver", settings: { temperature: 0.7, maxTokens: 77, model: "test-model" } }
      ])
      assert.deepInclude(json.limits, { timeout: 120_000, maxModelCalls: 3, toolTimeout: 5000, llmTimeout: 120_000 })
      assert.deepStrictEqual(json.toolChoice, { choice: "none", on: "every" })
      assert.strictEqual(json.asked.settings.maxTokens, 77)
      // What all callers see of a run does not have it.
      assert.notProperty((yield* server.ask(`/v1/runs/${runId}`)).json.run, "asked")
      const plain = yield* started(server)
      assert.notProperty((yield* server.ask(`/studio/api/runs/${plain}/settings`)).json, "asked")
    })
  )

  tests("say the settings of a run inside, which are those of its agent", (server) =>
    Effect.gen(function* () {
      const runId = yield* started(server, { settings: { temperature: 0.5 } })
      const all = AgentServers.eventsOf((yield* server.ask(`/studio/api/runs/${runId}/events`)).text)
      const child = all.find(({ event }) => event === "Delegated")?.data.childRunId as string
      const { json } = yield* server.ask(`/studio/api/runs/${child}/settings`)
      assert.deepStrictEqual([json.agent, json.system, json.settings.temperature], ["inner", "You check.", 0.7])
      assert.strictEqual((yield* server.ask(`/studio/api/runs/${child}/settings`, { user: "bob" })).status, 404)
    })
  )

  it.scopedLive("go on from a step of another run with other settings, where runs are durable", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const server = yield* StudioServers.startDurable({
        agents: [plain],
        script: (request, call) => {
          seen.push(request.settings?.temperature)
          return script(request, call)
        }
      })
      const runId = yield* started(server, { settings: { temperature: 0.25, maxTokens: 90 } })
      yield* ended(server, runId)
      const { json, status, text } = yield* server.ask(`/studio/api/runs/${runId}/fork`, {
        body: { step: 1, settings: { temperature: 0.75 } }
      })
      assert.strictEqual(status, 202, text)
      assert.deepStrictEqual(json.forkedFrom, { runId, step: 1 })
      yield* ended(server, json.runId)
      const settings = (yield* server.ask(`/studio/api/runs/${json.runId}/settings`)).json
      assert.deepStrictEqual(settings.asked.settings, { temperature: 0.75, maxTokens: 90 })
      assert.strictEqual(seen.at(-1), 0.75)
      for (const [body, user, expected] of [
        [{ step: 99 }, "ann", 400],
        [{ step: 1, settings: { temperature: 9 } }, "ann", 400],
        [{ step: 1, policy: { strategy: "reflexon" } }, "ann", 400],
        [{ step: 1 }, "bob", 404],
        [{ step: 1 }, "plainjoe", 403]
      ] as const) {
        const answer = yield* server.ask(`/studio/api/runs/${runId}/fork`, { body, user })
        assert.strictEqual(answer.status, expected, JSON.stringify(body))
      }
    })
  )

  tried("are not forked where runs are not durable", (server) =>
    Effect.gen(function* () {
      const runId = yield* started(server)
      yield* ended(server, runId)
      assert.strictEqual((yield* server.ask(`/studio/api/runs/${runId}/fork`, { body: { step: 0 } })).status, 501)
    })
  )

  tried("cannot be had by the callers of the public API", (server) =>
    Effect.gen(function* () {
      const body = { agent: "plain", input: "x", policy: { model: "solver" }, settings: { temperature: 0.75 } }
      const { json } = yield* server.ask("/v1/runs?wait=10", { body })
      assert.strictEqual(json.answer.message, "plain answer")
      assert.notInclude(settings, 0.75)
    })
  )

  it.scopedLive("keep the limits that the server sets", () =>
    Effect.gen(function* () {
      const server = yield* StudioServers.start({ ...setup, policy: () => ({ limits: { maxModelCalls: 0 } }) })
      const runId = yield* started(server, { policy: { limits: { maxModelCalls: 50 } } })
      const { json } = yield* ended(server, runId)
      assert.strictEqual(json.answer.error.tag, "RunLimitExceededError")
    })
  )

  tried("say what an agent is and what its runs may choose", (server) =>
    Effect.gen(function* () {
      const { json } = yield* server.ask("/studio/api/agents/clerk")
      assert.strictEqual(json.system, "You lend books.")
      assert.deepStrictEqual(json.limits, { timeout: 120_000, maxModelCalls: 9 })
      assert.deepStrictEqual(json.tools[0].parameters.required, ["title", "pin"])
      assert.deepStrictEqual(json.tools[0].secret, ["pin"])
      assert.deepStrictEqual(json.choices.models, [
        { provider: "test", model: "test-model" },
        { role: "solver", provider: "test", model: "test-model" }
      ])
      assert.include(json.choices.strategies, "react")
      const { edges, nodes } = json.strategy.graph
      assert.include(
        nodes.map(({ node }: { node: string }) => node),
        "reflect"
      )
      const ids = new Set(nodes.map(({ id }: { id: string }) => id))
      assert.strictEqual(ids.size, nodes.length)
      for (const { from, to } of edges) assert.isTrue(ids.has(from) && ids.has(to), `${from} ${to}`)
      assert.include(json.strategy.mermaid, "flowchart")
    })
  )

  tried("say the graph of every strategy", (server) =>
    Effect.gen(function* () {
      const { json } = yield* server.ask("/studio/api/agents/plain")
      for (const name of json.choices.strategies as ReadonlyArray<string>) {
        const { json, status } = yield* server.ask(`/studio/api/strategies/${name}`)
        assert.strictEqual(status, 200, name)
        if (json.graph === undefined) continue
        const ids = new Set(json.graph.nodes.map(({ id }: { id: string }) => id))
        for (const { from, to } of json.graph.edges)
          assert.isTrue(ids.has(from) && ids.has(to), `${name}: ${from} ${to}`)
      }
    })
  )
})
