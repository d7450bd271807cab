import * as Net from "node:net"
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServer from "@effect/platform/HttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Jose from "jose"
import * as Agent from "../../../src/agent/definition/Agent.js"
import { RunError } from "../../../src/agent/record/RunError.js"
import * as Runs from "../../../src/agent/runs/Runs.js"
import { UserId } from "../../../src/domain/Ids.js"
import { AgentApi } from "../../../src/http/api/AgentApi.js"
import * as AgentServer from "../../../src/http/api/AgentServer.js"
import { ApiConfigurationError } from "../../../src/http/api/ApiError.js"
import * as Authentication from "../../../src/http/api/Authentication.js"
import * as AgentServers from "../../support/AgentServers.js"

const helper = Agent.make("helper", { system: "helper" })
const start = { agent: "helper", input: "hello" }

const assertProblem = (answered: AgentServers.Answered, status: number, reason: string) => {
  assert.strictEqual(answered.status, status, answered.text)
  assert.strictEqual(answered.headers.get("content-type"), "application/problem+json")
  assert.strictEqual(answered.json.reason, reason)
  assert.strictEqual(answered.json.status, status)
  assert.match(answered.json.code, /^LEX_ERR_/)
  assert.strictEqual(answered.json.instance, answered.headers.get("x-request-id"))
}

describe("a server of agents refuses", () => {
  it.scopedLive("callers that it does not know", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({ agents: [helper] })
      for (const headers of [{}, { authorization: "Bearer nobody" }, { authorization: "Basic YTpi" }]) {
        for (const path of ["/v1/agents", "/v1/runs", "/v1/runs/1", "/v1/runs/1/events", "/v1/approvals"]) {
          const answered = yield* ask(path, { user: "", headers })
          assertProblem(answered, 401, "unauthenticated")
          assert.strictEqual(answered.headers.get("www-authenticate"), "Bearer")
        }
      }
      const long = yield* ask("/v1/agents", { user: "", headers: { authorization: `Bearer ${"x".repeat(9000)}` } })
      assertProblem(long, 401, "unauthenticated")
      // Health says nothing about parts.
      assert.deepStrictEqual((yield* ask("/v1/health", { user: "" })).json, { status: "healthy" })
    })
  )

  it.scopedLive("requests that are not what an endpoint takes", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({ agents: [helper], limits: { maxBodyBytes: 10_000 } })
      assertProblem(yield* ask("/v1/runs", { body: "{" }), 400, "invalid")
      const wrong = yield* ask("/v1/runs", { body: { agent: 5, input: "a" } })
      assertProblem(wrong, 400, "invalid")
      assert.deepStrictEqual(wrong.json.issues[0].path, ["agent"])
      for (const body of [{}, [], null, "text", { ...start, labels: { a: 1 } }, { ...start, startWith: "other" }]) {
        assertProblem(yield* ask("/v1/runs", { body: JSON.stringify(body) }), 400, "invalid")
      }
      const deep = `{"agent":"helper","input":${"[".repeat(4_900)}${"]".repeat(4_900)}}`
      assertProblem(yield* ask("/v1/runs", { body: deep }), 400, "invalid")
      assertProblem(yield* ask("/v1/runs?wait=-1", { body: start }), 400, "invalid")
      assertProblem(yield* ask("/v1/runs?limit=many"), 400, "invalid")
      assertProblem(yield* ask("/v1/runs?cursor=strange"), 400, "invalid")
      assertProblem(yield* ask("/v1/runs", { body: { ...start, agent: "helpr" } }), 404, "unknown")
      assertProblem(yield* ask("/v1/runs", { body: { ...start, input: "x".repeat(20_000) } }), 413, "too-large")
      const text = { body: "agent=helper", headers: { "content-type": "application/x-www-form-urlencoded" } }
      assertProblem(yield* ask("/v1/runs", text), 415, "media-type")
      assertProblem(yield* ask("/v1/nothing"), 404, "unknown")
      const method = yield* ask("/v1/runs", { method: "DELETE" })
      assertProblem(method, 405, "method")
      assert.deepStrictEqual(method.headers.get("allow")?.split(", ").sort(), ["GET", "POST"])
      const { json } = yield* ask("/v1/runs?wait=5", { body: start })
      const events = `/v1/runs/${json.run.runId}/events`
      assertProblem(yield* ask(events, { headers: { "last-event-id": "-1" } }), 400, "invalid")
      assertProblem(yield* ask("/v1/runs/unknown/events"), 404, "unknown")
      assertProblem(yield* ask(`/v1/runs/${json.run.runId}/interrupt`, { method: "POST" }), 409, "conflict")
      assertProblem(yield* ask(`/v1/runs/${json.run.runId}/resume`, { method: "POST" }), 501, "unsupported")
    })
  )

  it.scopedLive("a body that is larger than allowed and does not say so, and goes on", () =>
    Effect.gen(function* () {
      const { ask, url } = yield* AgentServers.start({ agents: [helper], limits: { maxBodyBytes: 10_000 } })
      const { init } = AgentServers
      const refused = yield* Effect.tryPromise(() =>
        fetch(`${url}/v1/runs`, {
          ...init({ body: "" }),
          body: new ReadableStream({
            start: (controller) => {
              controller.enqueue(new TextEncoder().encode(JSON.stringify({ ...start, input: "x".repeat(50_000) })))
              controller.close()
            }
          }),
          duplex: "half"
        } as RequestInit)
      ).pipe(
        Effect.map(({ status }) => status),
        // The connection is closed while the body still comes.
        Effect.orElseSucceed(() => 413)
      )
      assert.strictEqual(refused, 413)
      const web = AgentServer.toWebHandler(
        { agents: [helper], limits: { maxBodyBytes: 10_000 } },
        AgentServers.services({ agents: [helper] })
      )
      yield* Effect.addFinalizer(() => Effect.promise(web.dispose))
      const posted = (input: string) =>
        Effect.promise(() =>
          web.handler(new Request("http://localhost/v1/runs", AgentServers.init({ body: { ...start, input } })))
        )
      assert.strictEqual((yield* posted("x".repeat(50_000))).status, 413)
      assert.strictEqual((yield* posted("hello")).status, 202)
      assert.deepStrictEqual((yield* ask("/v1/runs")).json.runs, [])
    })
  )

  it.scopedLive("more requests and streams of a caller than allowed, and nobody else's", () =>
    Effect.gen(function* () {
      const limits = { requestsPerMinute: 50, maxStreams: 1 }
      const { ask } = yield* AgentServers.start({ agents: [helper], limits })
      const all = yield* Effect.all(
        Array.from({ length: 8 }, () => ask("/v1/agents")),
        { concurrency: 1 }
      )
      assert.deepStrictEqual(
        all.map(({ status }) => status),
        [200, 200, 200, 200, 200, 429, 429, 429]
      )
      assertProblem(all[7] as AgentServers.Answered, 429, "rate")
      assert.match(all[7]?.headers.get("retry-after") ?? "", /^\d+$/)
      assert.strictEqual((yield* ask("/v1/agents", { user: "bob" })).status, 200)
    })
  )

  it.scopedLive("an address that guesses credentials, for a while", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({ agents: [helper], limits: { refusalsPerMinute: 20, proxies: 1 } })
      const as = (user: string, address: string) => ask("/v1/agents", { user, headers: { "x-forwarded-for": address } })
      for (let n = 0; n < 2; n++) assert.strictEqual((yield* as("", "192.0.2.1")).status, 401)
      const refused = yield* as("ann", "192.0.2.1")
      assertProblem(refused, 429, "rate")
      assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/)
      assert.strictEqual((yield* as("ann", "192.0.2.2")).status, 200)
      // The connection is an address too.
      for (let n = 0; n < 2; n++) assert.strictEqual((yield* ask("/v1/agents", { user: "" })).status, 401)
      assertProblem(yield* ask("/v1/agents"), 429, "rate")
    })
  )

  it.scopedLive("a stream of a caller that follows as many as it may", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({
        agents: [helper],
        script: () => ({ text: "late", delay: "1 hour" }),
        limits: { maxStreams: 1 },
        grace: "10 millis"
      })
      const first = yield* Effect.fork(ask("/v1/runs/stream", { body: start }))
      yield* Effect.repeat(Effect.delay(ask("/v1/runs"), "50 millis"), { until: ({ json }) => json.runs.length > 0 })
      assertProblem(yield* ask("/v1/runs/stream", { body: start }), 429, "rate")
      // The run of the stream that was refused has not begun.
      assert.strictEqual((yield* ask("/v1/runs")).json.runs.length, 1)
      yield* Fiber.interrupt(first)
    })
  )

  it.scopedLive("to tell why it failed: storage and bugs are in its log alone", () =>
    Effect.gen(function* () {
      const secret = "postgres://user:password@db/agents is down"
      const failing = (error: Effect.Effect<never, RunError>) =>
        AgentServers.services({ agents: [helper] }).pipe(
          Layer.merge(
            Layer.succeed(Runs.Runs, {
              ...({} as Runs.Service),
              list: () => error,
              poll: () => error
            })
          )
        )
      const handlers = [
        [new RunError({ reason: "storage", message: secret }), 503, "unavailable"],
        [Effect.die(new Error(secret)), 500, "failed"]
      ] as const
      for (const [error, status, reason] of handlers) {
        const { dispose, handler } = AgentServer.toWebHandler({ agents: [helper] }, failing(error))
        yield* Effect.addFinalizer(() => Effect.promise(dispose))
        const response = yield* Effect.promise(() =>
          handler(new Request("http://localhost/v1/runs", AgentServers.init() as RequestInit))
        )
        const text = yield* Effect.promise(() => response.text())
        assert.strictEqual(response.status, status, text)
        assert.strictEqual(JSON.parse(text).reason, reason)
        assert.notInclude(text, "password")
      }
    })
  )
})

describe("the API as a part of another one", () => {
  it.scopedLive("answers each failure with its own status", () =>
    Effect.gen(function* () {
      const options = { agents: [helper], limits: { requestsPerMinute: 50 } }
      const app = HttpApi.make("app").addHttpApi(AgentApi)
      const { dispose, handler } = HttpApiBuilder.toWebHandler(
        HttpApiBuilder.api(app).pipe(
          Layer.provide(AgentServer.layerHandlers(app, options)),
          Layer.provide(AgentServers.services(options)),
          Layer.merge(HttpServer.layerContext)
        )
      )
      yield* Effect.addFinalizer(() => Effect.promise(dispose))
      const ask = (path: string, asked?: AgentServers.Asked) =>
        Effect.promise(async () => {
          const response = await handler(new Request(`http://localhost${path}`, AgentServers.init(asked)))
          const json = JSON.parse(await response.text())
          return { status: response.status, reason: json.reason, type: response.headers.get("content-type") }
        })
      const type = "application/problem+json"
      assert.strictEqual((yield* ask("/v1/agents")).status, 200)
      assert.deepStrictEqual(yield* ask("/v1/agents", { user: "" }), { status: 401, reason: "unauthenticated", type })
      assert.deepStrictEqual(yield* ask("/v1/agents/other"), { status: 404, reason: "unknown", type })
      const resumed = yield* ask("/v1/runs/none/resume", { method: "POST" })
      assert.deepStrictEqual(resumed, { status: 404, reason: "unknown", type })
      for (let n = 0; n < 3; n++) yield* ask("/v1/agents")
      assert.deepStrictEqual(yield* ask("/v1/agents"), { status: 429, reason: "rate", type })
    })
  )
})

describe("the callers of a server", () => {
  const secret = "a".repeat(32)
  const sign = (claims: Jose.JWTPayload) =>
    Effect.promise(() =>
      new Jose.SignJWT(claims)
        .setProtectedHeader({ alg: "HS256" })
        .setExpirationTime("1h")
        .sign(new TextEncoder().encode(secret))
    )

  it.scopedLive("have tokens that name them, or keys", () =>
    Effect.gen(function* () {
      const key = Redacted.make("key-of-the-machine-1")
      const authentication = Authentication.layerAny(
        Authentication.layerJwt({ secret: Redacted.make(secret), algorithms: ["HS256"] }),
        Authentication.layerApiKeys({ keys: [{ key, identity: { userId: UserId.make("machine") } }] })
      )
      const { ask } = yield* AgentServers.start({ agents: [helper], authentication })
      const bearer = (token: string) => ({ user: "", headers: { authorization: `Bearer ${token}` } })
      const ann = bearer(yield* sign({ sub: "ann" }))
      const { json } = yield* ask("/v1/runs?wait=5", { ...ann, body: start })
      assert.strictEqual(json.answer.message, "hi")
      const path = `/v1/runs/${json.run.runId}`
      assert.strictEqual((yield* ask(path, ann)).status, 200)
      assert.strictEqual((yield* ask(path, bearer(yield* sign({ sub: "bob" })))).status, 404)
      // A token without a user is nobody's.
      assertProblem(yield* ask(path, bearer(yield* sign({}))), 401, "unauthenticated")
      assertProblem(yield* ask(path, bearer("a.b.c")), 401, "unauthenticated")
      const machine = { user: "", headers: { "x-api-key": Redacted.value(key) } }
      const mine = yield* ask("/v1/runs", machine)
      assert.strictEqual(mine.status, 200, mine.text)
      assert.strictEqual((yield* ask(path, machine)).status, 404)
      assertProblem(yield* ask(path, { user: "", headers: { "x-api-key": "key" } }), 401, "unauthenticated")
      // A wrong token is not made good by a key.
      const both = { user: "", headers: { authorization: "Bearer wrong", "x-api-key": Redacted.value(key) } }
      assertProblem(yield* ask(path, both), 401, "unauthenticated")
    })
  )

  it.effect("need keys that nobody guesses, each its own", () =>
    Effect.gen(function* () {
      const identity = { userId: UserId.make("ann") }
      const key = Redacted.make("a".repeat(16))
      for (const keys of [
        [{ key: Redacted.make("short"), identity }],
        [{ sha256: "00", identity }],
        [
          { key, identity },
          { key, identity }
        ]
      ]) {
        const error = yield* Effect.flip(Effect.scoped(Layer.build(Authentication.layerApiKeys({ keys }))))
        assert.instanceOf(error, ApiConfigurationError)
      }
    })
  )

  it.scopedLive("are nobody only on this machine", () =>
    Effect.gen(function* () {
      const authentication = Authentication.layerAnonymous
      const { ask, url } = yield* AgentServers.start({
        agents: [helper],
        authentication,
        origins: ["http://a.example"]
      })
      assert.strictEqual((yield* ask("/v1/agents", { user: "" })).status, 200)
      const get = (head: string) =>
        Effect.async<string>((resume) => {
          const socket = Net.connect(Number(new URL(url).port), "127.0.0.1", () => socket.write(head))
          let text = ""
          socket.on("data", (bytes) => {
            text += bytes
          })
          socket.on("close", () => resume(Effect.succeed(text)))
        })
      const of = (host: string, origin = "") =>
        get(`GET /v1/agents HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${origin}\r\n`)
      const { host } = new URL(url)
      assert.include(yield* of(host), "200 OK")
      assert.include(yield* of("localhost"), "200 OK")
      assert.include(yield* of("evil.example"), "403 Forbidden")
      // Without a name nobody knows which machine is meant.
      assert.include(yield* get("GET /v1/agents HTTP/1.0\r\n\r\n"), "403 Forbidden")
      assert.include(yield* of(host, "Origin: http://evil.example\r\n"), "403 Forbidden")
      assert.include(yield* of(host, "Origin: null\r\n"), "403 Forbidden")
      assert.include(yield* of(host, `Origin: http://${host}\r\n`), "200 OK")
      assert.include(yield* of(host, "Origin: http://a.example\r\n"), "200 OK")
      const open = Layer.succeed(
        HttpServer.HttpServer,
        HttpServer.make({
          address: { _tag: "TcpAddress", hostname: "0.0.0.0", port: 80 },
          serve: () => Effect.void
        })
      )
      const error = yield* Effect.flip(
        Effect.scoped(
          Layer.build(
            AgentServer.layer({ agents: [helper] }).pipe(
              Layer.provide(open),
              Layer.provide(HttpServer.layerContext),
              Layer.provide(AgentServers.services({ agents: [helper], authentication }))
            )
          )
        )
      )
      assert.instanceOf(error, ApiConfigurationError)
    })
  )
})
