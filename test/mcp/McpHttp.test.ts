import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as McpClientSdk from "../../src/mcp/McpClientSdk.js"
import type { Service } from "../../src/skill/mcp/McpClient.js"
import * as McpServers from "../support/McpServers.js"

const make = (url: string, options: Partial<McpClientSdk.HttpOptions> = {}) =>
  McpClientSdk.makeHttp({ name: "far", url, ...options })

const hanging = (client: Service) =>
  Effect.gen(function* () {
    const begun = yield* Deferred.make<void>()
    const onProgress = () => Effect.asVoid(Deferred.succeed(begun, undefined))
    const call = yield* Effect.fork(Effect.flip(client.callTool("hang", {}, { onProgress })))
    yield* Deferred.await(begun)
    return call
  })

/** A server that answers each request in the same way; it keeps the headers it was sent. */
const answering = (answer: (request: Http.IncomingMessage, response: Http.ServerResponse) => void) =>
  Effect.acquireRelease(
    Effect.async<{ readonly url: string; readonly server: Http.Server }>((resume) => {
      const server = Http.createServer((request, response) => {
        request.resume()
        request.on("end", () => answer(request, response))
      })
      server.listen(0, "127.0.0.1", () => {
        resume(Effect.succeed({ server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` }))
      })
    }),
    ({ server }) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

describe("McpClientSdk over HTTP", () => {
  it.scopedLive("sends the headers with every request, and shows them in no error", () =>
    Effect.gen(function* () {
      const token = "a-very-secret-token"
      const { url } = yield* McpServers.http({ TOKEN: token })
      const client = yield* make(url, { headers: { authorization: Redacted.make(`Bearer ${token}`) } })
      yield* client.ping
      const told = yield* Effect.flip(client.callTool(`no-tool-${token}`))
      assert.strictEqual(told.reason, "Protocol")
      assert.notInclude(told.message, token)
      const error = yield* Effect.flip(
        make(url, { headers: { authorization: Redacted.make("Bearer another-secret") } })
      )
      assert.strictEqual(error.reason, "Refused")
      assert.strictEqual(error.status, 401)
      assert.notInclude(`${error.message} ${JSON.stringify(error)}`, "another-secret")
    })
  )

  it.scopedLive("can compute headers for each request", () =>
    Effect.gen(function* () {
      const { url } = yield* McpServers.http({ TOKEN: "right" })
      let token = "right"
      const client = yield* make(url, { headers: Effect.sync(() => ({ authorization: `Bearer ${token}` })) })
      yield* client.ping
      token = "wrong"
      assert.strictEqual((yield* Effect.flip(client.ping)).reason, "Refused")
      token = "right"
      yield* client.ping
      for (const headers of [Effect.fail("no token: a-secret"), Effect.die("a-secret"), { x: "a-secret\n." }]) {
        const failing = yield* Effect.flip(make(url, { headers }))
        assert.strictEqual(failing.reason, "Configuration")
        assert.notInclude(`${failing.message} ${JSON.stringify(failing)}`, "a-secret")
      }
    })
  )

  it.scopedLive("replaces a session that the server has forgotten, unnoticed", () =>
    Effect.gen(function* () {
      const { url } = yield* McpServers.http()
      const client = yield* make(url)
      yield* client.callTool("grow", { name: "of-the-session", description: "Is of the session" })
      yield* client.callTool("forget")
      const { content } = yield* client.callTool("echo", { message: "again" })
      assert.deepStrictEqual(content, [{ type: "text", text: "again" }])
      assert.notInclude(
        (yield* client.listTools).map(({ name }) => name),
        "of-the-session"
      )
    })
  )

  it.scopedLive("fails the call when the server is killed, and the next one says that it is unreachable", () =>
    Effect.gen(function* () {
      const { child, url } = yield* McpServers.http()
      const client = yield* make(url, { reconnect: { schedule: Schedule.stop, maxRestarts: 20 } })
      const call = yield* hanging(client)
      child.kill("SIGKILL")
      assert.strictEqual((yield* Fiber.join(call)).reason, "Closed")
      // A socket that was open before may still be tried.
      const isUnreached = Effect.map(Effect.flip(client.ping), ({ reason }) => reason === "Connection")
      assert.isTrue(yield* Effect.repeat(isUnreached, { until: (is) => is, times: 5 }))
    })
  )

  it.scopedLive("reconnects to a server that comes back", () =>
    Effect.gen(function* () {
      const first = yield* McpServers.http()
      const client = yield* make(first.url)
      yield* client.ping
      first.child.kill("SIGKILL")
      yield* McpServers.eventually(() => first.child.signalCode !== null)
      yield* McpServers.http({ PORT: new URL(first.url).port })
      yield* client.ping
      assert.strictEqual((yield* client.info).name, "suite")
    })
  )

  it.scopedLive("fails the call whose connection is cut, while the others continue", () =>
    Effect.gen(function* () {
      const { url } = yield* McpServers.http()
      const client = yield* make(url)
      const other = yield* hanging(client)
      assert.strictEqual((yield* Effect.flip(client.callTool("cut"))).reason, "Closed")
      yield* client.ping
      assert.isNull(other.unsafePoll())
      yield* Fiber.interrupt(other)
    })
  )

  it.scopedLive("resumes an answer whose connection is cut if the server can", () =>
    Effect.gen(function* () {
      const { url } = yield* McpServers.http({ RESUMABLE: "1" })
      const client = yield* make(url, { resume: { delay: "20 millis" } })
      const { content } = yield* client.callTool("cut")
      assert.deepStrictEqual(content, [{ type: "text", text: "after the cut" }])
    })
  )

  it.scopedLive("fails after some attempts when an answer cannot be resumed", () =>
    Effect.gen(function* () {
      const { child, url } = yield* McpServers.http({ RESUMABLE: "1" })
      const client = yield* make(url, { resume: { attempts: 2, delay: "20 millis" } })
      const call = yield* hanging(client)
      child.kill("SIGKILL")
      assert.strictEqual((yield* Fiber.join(call)).reason, "Closed")
    })
  )

  it.scopedLive("ends the call for a message that is too large, as JSON and in a stream", () =>
    Effect.gen(function* () {
      for (const env of [{}, { JSON_ANSWERS: "1" }] as ReadonlyArray<Record<string, string>>) {
        const { url } = yield* McpServers.http(env)
        const client = yield* make(url, { maxMessageBytes: 100_000 })
        assert.strictEqual((yield* client.callTool("large", { size: 90_000 })).isError, false)
        const error = yield* Effect.flip(client.callTool("large", { size: 5_000_000 }))
        assert.strictEqual(error.reason, "TooLarge")
        yield* client.ping
      }
    })
  )

  it.scopedLive("accepts many small events", () =>
    Effect.gen(function* () {
      const { url } = yield* McpServers.http()
      const client = yield* make(url, { maxMessageBytes: 10_000 })
      let told = 0
      const onProgress = () => Effect.sync(() => void told++)
      yield* client.callTool("progress", { steps: 200 }, { onProgress })
      assert.strictEqual(told, 200)
    })
  )

  it.live("ends the session when the client is closed", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const server = yield* McpServers.http()
        yield* Effect.scoped(Effect.flatMap(make(server.url), ({ ping }) => ping))
        yield* McpServers.eventually(() => server.printed().includes("deleted"))
      })
    )
  )

  it.scopedLive("fails for answers outside the protocol", () =>
    Effect.gen(function* () {
      const expect = (status: number, type: string, body: string, reason: string) =>
        Effect.gen(function* () {
          const { url } = yield* answering((_, response) => {
            response.writeHead(status, { "content-type": type }).end(body)
          })
          const error = yield* Effect.flip(make(url, { connectTimeout: "2 seconds" }))
          assert.strictEqual(error.reason, reason, `${status} ${type}`)
          assert.notInclude(error.message, "leaked")
          return error
        })
      assert.strictEqual((yield* expect(500, "text/plain", "leaked", "InvalidResponse")).status, 500)
      assert.strictEqual((yield* expect(403, "text/plain", "leaked", "Refused")).status, 403)
      assert.strictEqual((yield* expect(404, "text/html", "leaked", "InvalidResponse")).status, 404)
      yield* expect(200, "text/html", "leaked", "InvalidResponse")
      yield* expect(200, "application/json", "{ leaked", "InvalidResponse")
      yield* expect(200, "application/json", '{"leaked":1}', "InvalidResponse")
      yield* expect(200, "text/event-stream", "data: leaked\n\n", "Connection")
    })
  )

  it.scopedLive("does not follow a redirect to another origin, and sends the headers nowhere else", () =>
    Effect.gen(function* () {
      let asked = 0
      const elsewhere = yield* answering((_, response) => {
        asked++
        response.writeHead(200).end()
      })
      const { url } = yield* answering((_, response) => {
        response.writeHead(307, { location: elsewhere.url }).end()
      })
      const error = yield* Effect.flip(make(url, { headers: { authorization: Redacted.make("Bearer secret") } }))
      assert.strictEqual(error.reason, "InvalidResponse")
      assert.strictEqual(error.status, 307)
      assert.strictEqual(asked, 0)
    })
  )

  it.scopedLive("reaches what a custom fetch reaches", () =>
    Effect.gen(function* () {
      const refused = Object.assign(new Error("not allowed"), { code: "ECONNREFUSED" })
      const error = yield* Effect.flip(make("http://169.254.169.254/mcp", { fetch: () => Promise.reject(refused) }))
      assert.strictEqual(error.reason, "Connection")
    })
  )

  it.effect("rejects an invalid address", () =>
    Effect.gen(function* () {
      for (const url of ["not an address", "file:///etc/passwd", "ws://localhost"]) {
        assert.strictEqual((yield* Effect.flip(Effect.scoped(make(url)))).reason, "Configuration")
      }
    })
  )
})
