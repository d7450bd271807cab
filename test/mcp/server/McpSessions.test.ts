import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Agent from "../../../src/agent/definition/Agent.js"
import { UserId } from "../../../src/domain/Ids.js"
import * as Authentication from "../../../src/http/api/Authentication.js"
import * as McpPeer from "../../../src/mcp/offer/McpPeer.js"
import * as McpEdge from "../../../src/mcp/server/McpEdge.js"
import * as McpServer from "../../../src/mcp/server/McpServer.js"
import * as Served from "../../../src/mcp/server/Served.js"
import * as ServedSessions from "../../../src/mcp/server/ServedSessions.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as McpClients from "../../support/McpClients.js"

const helper = Agent.make("helper", { system: "You help" })

const start = (
  options: Partial<McpServer.Options> = {},
  edge: McpEdge.Options = {},
  setup: Partial<AgentServers.Setup> = {}
) =>
  AgentServers.start({
    agents: [helper],
    // Some tests ask until the server has noticed something.
    limits: { requestsPerMinute: 1_000_000 },
    ...setup,
    edges: [
      McpEdge.make(McpServer.make({ name: "desk", version: "1.0.0", ...options }) as McpServer.Definition<never>, edge)
    ]
  })

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } }
}
const ping = { jsonrpc: "2.0", id: 2, method: "ping" }
const accept = { accept: "application/json, text/event-stream" }

type Asking = AgentServers.Server["ask"]

const begin = (ask: Asking, user = "ann") =>
  Effect.map(ask("/mcp", { body: initialize, headers: accept, user }), ({ headers, status }) => {
    assert.strictEqual(status, 200)
    return headers.get("mcp-session-id") ?? ""
  })

const pinged = (ask: Asking, id: string, user = "ann") =>
  Effect.map(ask("/mcp", { body: ping, headers: { ...accept, "mcp-session-id": id }, user }), ({ status }) => status)

describe("sessions", () => {
  it.scopedLive("belong to their caller: others find nothing under their ids", () =>
    Effect.gen(function* () {
      const { ask } = yield* start()
      const id = yield* begin(ask)
      assert.strictEqual(yield* pinged(ask, id), 200)
      assert.strictEqual(yield* pinged(ask, id, "bob"), 404)
      assert.strictEqual(yield* pinged(ask, "none"), 404)
      assert.strictEqual(yield* pinged(ask, id, ""), 401)
      const headers = { ...accept, "mcp-session-id": id }
      assert.strictEqual((yield* ask("/mcp", { method: "GET", headers, user: "bob" })).status, 404)
      assert.strictEqual((yield* ask("/mcp", { method: "DELETE", headers, user: "bob" })).status, 404)
      const without = yield* ask("/mcp", { body: ping, headers: accept })
      assert.strictEqual(without.status, 400)
      assert.deepInclude(without.json, { jsonrpc: "2.0", id: null })
      assert.strictEqual(yield* pinged(ask, id), 200)
    })
  )

  it.scopedLive("end when the client ends them, with its calls", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const wait = Tool.make("wait", {
        description: "Waits",
        handler: () =>
          Effect.onInterrupt(Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never), () =>
            Deferred.succeed(interrupted, undefined)
          )
      })
      const { ask, url } = yield* start({ tools: [wait] })
      const { client, transport } = yield* McpClients.http(url)
      const id = transport.sessionId ?? ""
      const called = yield* Effect.fork(Effect.promise(() => client.callTool({ name: "wait" }).catch(() => undefined)))
      yield* Deferred.await(begun)
      yield* Effect.promise(() => transport.terminateSession())
      yield* Deferred.await(interrupted)
      assert.strictEqual(yield* pinged(ask, id), 404)
      yield* Effect.promise(() => client.close())
      yield* called
    })
  )

  it.scopedLive("are bounded: for one more of a caller, its least recent one ends", () =>
    Effect.gen(function* () {
      const { ask } = yield* start({}, { maxSessionsPerCaller: 2, maxSessions: 3 })
      const first = yield* begin(ask)
      const second = yield* begin(ask)
      assert.strictEqual(yield* pinged(ask, first), 200)
      const third = yield* begin(ask)
      assert.deepStrictEqual(yield* Effect.forEach([first, second, third], (id) => pinged(ask, id)), [200, 404, 200])
      yield* begin(ask, "bob")
      const full = yield* ask("/mcp", { body: initialize, headers: accept, user: "eve" })
      assert.strictEqual(full.status, 503)
      assert.include(full.json.error.message, "too many sessions")
    })
  )

  it.scopedLive("that a client does not begin are not kept", () =>
    Effect.gen(function* () {
      const { ask } = yield* start({}, { maxSessions: 1 })
      // Without the types that it must accept, the request is refused.
      assert.strictEqual((yield* ask("/mcp", { body: initialize })).status, 406)
      assert.strictEqual((yield* ask("/mcp", { body: { ...initialize, params: {} }, headers: accept })).status, 400)
      yield* begin(ask)
    })
  )

  it.scoped("that nobody uses end", () =>
    Effect.gen(function* () {
      const { options } = McpServer.make({ name: "desk", version: "1.0.0" })
      const served = yield* Served.make(options, () => false)
      const sessions = yield* ServedSessions.make(served, { idle: "10 minutes" })
      const caller = { userId: UserId.make("ann") }
      const { id } = yield* Effect.scoped(sessions.begin(caller))
      yield* TestClock.adjust("9 minutes")
      const use = yield* Effect.scoped(Effect.zipLeft(sessions.use(id, caller), TestClock.adjust("30 minutes")))
      assert.strictEqual(use.id, id)
      yield* TestClock.adjust("13 minutes")
      assert.strictEqual((yield* Effect.flip(Effect.scoped(sessions.use(id, caller)))).reason, "unknown")
    }).pipe(Effect.provide(Layer.orDie(AgentServers.services({ agents: [helper] }))))
  )

  it.scopedLive("go on after a lost stream: the client gets the result that it missed", () =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      const long = Tool.make("long", {
        description: "Takes long",
        handler: () => Effect.as(Effect.zipRight(McpPeer.disconnect, Deferred.await(go)), "done")
      })
      const { url } = yield* start({ tools: [long] }, { retry: "1 millis" })
      const { client } = yield* McpClients.http(url)
      const called = yield* Effect.fork(Effect.promise(() => client.callTool({ name: "long" })))
      yield* Deferred.succeed(go, undefined)
      assert.strictEqual(McpClients.textOf(yield* called), "done")
    })
  )
})

describe("the end of a server", () => {
  it.scopedLive("does not wait for clients that listen", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { ask, url } = yield* Scope.extend(start({}, {}, { drain: "10 minutes" }), scope)
      const headers = { ...accept, authorization: "Bearer token-ann", "mcp-session-id": yield* begin(ask) }
      const listening = yield* Effect.promise(() => fetch(`${url}/mcp`, { headers }))
      const heard = yield* Effect.fork(Effect.promise(() => listening.text()))
      yield* Scope.close(scope, Exit.void)
      assert.include(yield* heard, ":")
    })
  )

  it.scopedLive("ends the streams and the calls of its clients", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const wait = Tool.make("wait", {
        description: "Waits",
        handler: () =>
          Effect.onInterrupt(Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never), () =>
            Deferred.succeed(interrupted, undefined)
          )
      })
      const scope = yield* Scope.make()
      const { ask, url } = yield* Scope.extend(start({ tools: [wait] }, {}, { drain: "100 millis" }), scope)
      const session = yield* begin(ask)
      const headers = { ...accept, authorization: "Bearer token-ann", "mcp-session-id": session }
      const listening = yield* Effect.promise(() => fetch(`${url}/mcp`, { headers }))
      const ended = yield* Effect.fork(Effect.promise(() => listening.text().catch(() => "")))
      const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "wait" } }
      const called = yield* Effect.fork(ask("/mcp", { body: call, headers: { ...accept, "mcp-session-id": session } }))
      yield* Deferred.await(begun)
      yield* Scope.close(scope, Exit.void)
      yield* Deferred.await(interrupted)
      yield* ended
      yield* Fiber.interrupt(called)
    })
  )
})

describe("a log of a call", () => {
  it.scopedLive("is not one of the request that began the session", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const look = Tool.make("look", {
        description: "Looks at its fiber",
        handler: () =>
          Effect.map(FiberRef.get(FiberRef.currentLogAnnotations), (annotations) => {
            seen.push(Option.getOrUndefined(HashMap.get(annotations, "requestId")))
          })
      })
      const { url } = yield* start({ tools: [look] })
      const { client } = yield* McpClients.http(url)
      yield* Effect.promise(() => client.callTool({ name: "look" }))
      assert.deepStrictEqual(seen, [undefined])
    })
  )
})

describe("a lost connection", () => {
  it.scopedLive("does not end the call: its result is taken up by the last event", () =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      const long = Tool.make("long", {
        description: "Takes long",
        handler: () => Effect.as(Deferred.await(go), "done at last")
      })
      const { ask, url } = yield* start({ tools: [long] })
      const id = yield* begin(ask)
      const headers = {
        ...accept,
        authorization: "Bearer token-ann",
        "content-type": "application/json",
        "mcp-session-id": id,
        "mcp-protocol-version": "2025-11-25"
      }
      const first = yield* Effect.promise(async () => {
        const controller = new AbortController()
        const body = JSON.stringify({ jsonrpc: "2.0", id: 5, method: "tools/call", params: { name: "long" } })
        const { body: stream } = await fetch(`${url}/mcp`, { method: "POST", headers, body, signal: controller.signal })
        const reader = stream?.getReader()
        let text = ""
        while (!text.includes("id: ")) text += new TextDecoder().decode((await reader?.read())?.value)
        controller.abort()
        return text
      })
      const event = /^id: (\S+)$/m.exec(first)?.[1] ?? ""
      assert.notStrictEqual(event, "")
      const resume = (user: string) =>
        Effect.promise(async () => {
          const given = { ...headers, authorization: `Bearer token-${user}`, "last-event-id": event }
          const { body, status } = await fetch(`${url}/mcp`, { headers: given })
          return { status, reader: body?.getReader() }
        })
      assert.strictEqual((yield* resume("bob")).status, 404)
      // Until the server has noticed that the connection is lost, the stream is in use.
      const { reader } = yield* Effect.repeat(resume("ann"), { until: ({ status }) => status !== 409 })
      yield* Deferred.succeed(go, undefined)
      const result = yield* Effect.promise(async () => {
        let text = ""
        while (!text.includes("done at last")) text += new TextDecoder().decode((await reader?.read())?.value)
        await reader?.cancel()
        return text
      })
      assert.include(result, '"id":5')
    })
  )
})

describe("OAuth", () => {
  const oauth = {
    resource: "https://agents.example/mcp",
    authorizationServers: ["https://login.example"],
    scopes: ["mcp:read", "mcp:call"]
  } as const
  const metadata = "https://agents.example/.well-known/oauth-protected-resource/mcp"

  it.scopedLive("tells clients without credentials where they get them", () =>
    Effect.gen(function* () {
      const { ask } = yield* start({}, { oauth })
      const refused = yield* ask("/mcp", { body: initialize, headers: accept, user: "" })
      assert.strictEqual(refused.status, 401)
      assert.strictEqual(
        refused.headers.get("www-authenticate"),
        `Bearer scope="mcp:read mcp:call", resource_metadata="${metadata}"`
      )
      const { json, status } = yield* ask("/.well-known/oauth-protected-resource/mcp", { user: "" })
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(json, {
        resource: "https://agents.example/mcp",
        authorization_servers: ["https://login.example"],
        bearer_methods_supported: ["header"],
        resource_name: "desk",
        scopes_supported: ["mcp:read", "mcp:call"]
      })
    })
  )

  it.scopedLive("names the scopes that a caller lacks", () =>
    Effect.gen(function* () {
      const { ask } = yield* start({}, { oauth }, { permits: (_, endpoint) => endpoint !== "edge:mcpSend" })
      const refused = yield* ask("/mcp", { body: initialize, headers: accept })
      assert.strictEqual(refused.status, 403)
      assert.include(
        refused.headers.get("www-authenticate") ?? "",
        'error="insufficient_scope", scope="mcp:read mcp:call"'
      )
    })
  )

  it.scopedLive("is not there unless it is set up", () =>
    Effect.gen(function* () {
      const { ask } = yield* start()
      assert.strictEqual((yield* ask("/.well-known/oauth-protected-resource/mcp", { user: "" })).status, 404)
      const refused = yield* ask("/mcp", { body: initialize, headers: accept, user: "" })
      assert.strictEqual(refused.headers.get("www-authenticate"), "Bearer")
    })
  )

  it.scopedLive("checks the credentials of every request, and calls have its scopes", () =>
    Effect.gen(function* () {
      const authentication = Authentication.layerBearer({
        verify: (token) => {
          const [name = "", ...scopes] = Redacted.value(token).split("+")
          return Effect.succeed(name === "" ? Option.none() : Option.some({ userId: UserId.make(name), scopes }))
        }
      })
      const tool = Tool.make("tool", { description: "A tool", handler: () => Effect.succeed("called") })
      const { ask } = yield* start(
        { tools: [tool], permits: ({ scopes = [] }) => scopes.includes("call") },
        {},
        { authentication }
      )
      const as = (token: string) => ({ ...accept, authorization: `Bearer ${token}` })
      const { headers } = yield* ask("/mcp", { body: initialize, headers: as("ann"), user: "" })
      const call = (token: string) =>
        ask("/mcp", {
          user: "",
          body: { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "tool" } },
          headers: { ...as(token), "mcp-session-id": headers.get("mcp-session-id") ?? "" }
        })
      assert.include((yield* call("ann")).text, "no such tool")
      assert.include((yield* call("ann+call")).text, "called")
      assert.strictEqual((yield* call("bob+call")).status, 404)
    })
  )
})
