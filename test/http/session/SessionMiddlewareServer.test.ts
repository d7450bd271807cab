import * as Http from "node:http"
import * as Net from "node:net"
import { fileURLToPath } from "node:url"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Esbuild from "esbuild"
import * as Jose from "jose"
import { SessionId, UserId } from "../../../src/domain/Ids.js"
import * as SessionMiddleware from "../../../src/http/session/SessionMiddleware.js"
import * as SessionToken from "../../../src/http/session/SessionToken.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import { asking, router, type Shown, serve, sessions, show, user } from "../../support/HttpSessions.js"

const ann = UserId.make("ann")

describe("concurrent requests", () => {
  it.effect("never see each other's session", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      const ask = yield* serve({ user })
      const users = Array.from({ length: 100 }, (_, i) => UserId.make(`user-${i}`))
      for (const userId of users) yield* manager.create({ id: SessionId.make(`of-${userId}`), userId })
      const answers = yield* Effect.forEach(
        users,
        (userId, i) =>
          ask(i % 3 === 0 ? `/?session_id=of-${userId}` : "/", {
            "x-user": userId,
            ...(i % 3 === 1 ? { "x-session-id": `of-${userId}` } : {}),
            ...(i % 3 === 2 ? { cookie: `lexigram_session=of-${userId}` } : {})
          }),
        { concurrency: "unbounded" }
      )
      for (const [i, { cookie, shown }] of answers.entries()) {
        assert.deepStrictEqual([shown.id, shown.again, shown.userId], [`of-user-${i}`, `of-user-${i}`, `user-${i}`])
        assert.strictEqual(cookie?.value, i % 3 === 2 ? `of-user-${i}` : undefined)
      }
    }).pipe(Effect.provide(sessions))
  )

  it.effect("get one session each without a cookie", () =>
    Effect.gen(function* () {
      const ask = yield* serve()
      const answers = yield* Effect.forEach(Array.from({ length: 100 }), () => ask("/"), { concurrency: "unbounded" })
      assert.strictEqual(new Set(answers.map(({ shown }) => shown.id)).size, 100)
      for (const { cookie, shown } of answers) {
        assert.strictEqual(shown.again, shown.id)
        assert.strictEqual(cookie?.value, shown.id)
      }
    }).pipe(Effect.provide(sessions))
  )
})

/** A server of Node on the loopback interface; the scope closes it. */
const listen = (options: SessionMiddleware.Options = {}) =>
  Effect.gen(function* () {
    const server = Http.createServer()
    yield* Layer.build(
      Layer.provide(
        HttpServer.serve(router, SessionMiddleware.make(options)),
        NodeHttpServer.layer(() => server, { host: "127.0.0.1", port: 0 })
      )
    )
    const { port } = server.address() as Net.AddressInfo
    const get = (path: string, headers: Record<string, string> = {}) =>
      Effect.promise(async () => {
        const response = await fetch(`http://127.0.0.1:${port}${path}`, {
          headers: { connection: "close", ...headers }
        })
        return { status: response.status, headers: response.headers, shown: (await response.json()) as Shown }
      })
    /** Sends bytes as they are, and gives what comes back. */
    const send = (text: string) =>
      Effect.async<string>((resume) => {
        const socket = Net.connect(port, "127.0.0.1", () => socket.write(text, "latin1"))
        let received = ""
        socket.on("data", (chunk) => {
          received += chunk.toString("latin1")
        })
        socket.on("close", () => resume(Effect.succeed(received)))
        socket.on("error", () => undefined)
      })
    return { get, send }
  })

const request = (...headers: ReadonlyArray<string>) =>
  ["GET / HTTP/1.1", "Host: app.example", "Connection: close", ...headers, "", ""].join("\r\n")

describe("a server on Node", () => {
  it.scopedLive("continues a conversation by cookie", () =>
    Effect.gen(function* () {
      const { get } = yield* listen()
      const first = yield* get("/")
      const [set] = first.headers.getSetCookie()
      assert.strictEqual(set, `lexigram_session=${first.shown.id}; Max-Age=86400; Path=/; HttpOnly; SameSite=Lax`)
      const second = yield* get("/", { cookie: set!.split(";")[0]! })
      assert.strictEqual(second.shown.id, first.shown.id)
    }).pipe(Effect.provide(sessions))
  )

  it.scopedLive("ignores hostile bytes, which add no header", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      const { id } = yield* manager.create()
      const { send } = yield* listen()
      for (const headers of [
        [`X-Session-ID: ${id}`, `X-Session-ID: ${id}`],
        ["X-Session-ID: a\u0001b"],
        ["X-Session-ID: \u00ff\u00fe"],
        ["__proto__: x", "constructor: y"],
        ["Cookie: lexigram_session=\u00ff\u00fe"],
        ["Cookie: lexigram_session=a%0d%0aEvil:%20yes"],
        ["Cookie: __proto__=x; lexigram_session=__proto__"],
        [`Cookie: lexigram_session=${id}`, "Cookie: lexigram_session=other"],
        [`Cookie: lexigram_session=${"x".repeat(8000)}`]
      ]) {
        const answer = yield* send(request(...headers))
        const [head] = answer.split("\r\n\r\n")
        assert.match(head!, /^HTTP\/1\.1 (200|400) /)
        assert.notMatch(head!, /^(evil|a:)/im)
        assert.notInclude(answer, `"id":"${id}"`)
      }
      assert.include(yield* send(request(`Cookie: lexigram_session=${id}`)), `"id":"${id}"`)
    }).pipe(Effect.provide(sessions))
  )

  it.scopedLive("does not infer TLS from the request line", () =>
    Effect.gen(function* () {
      const { send } = yield* listen()
      const answer = yield* send(request().replace("GET /", "GET https://app.example/"))
      assert.notInclude(answer, "Secure")
    }).pipe(Effect.provide(sessions))
  )

  it.scopedLive("verifies real tokens", () =>
    Effect.gen(function* () {
      const secret = new Uint8Array(32).fill(9)
      const token = yield* SessionToken.make({ secret: Redacted.make(secret), algorithms: ["HS256"] })
      const { get } = yield* listen({ token })
      const signed = yield* Effect.promise(() =>
        new Jose.SignJWT({ sub: "ann" }).setProtectedHeader({ alg: "HS256" }).setExpirationTime("1 minute").sign(secret)
      )
      const { shown, status } = yield* get("/", { authorization: `Bearer ${signed}` })
      assert.deepStrictEqual([status, shown.userId], [200, "ann"])
      assert.strictEqual((yield* get("/", { authorization: `Bearer ${signed}x` })).status, 401)
      assert.strictEqual((yield* get("/")).status, 401)
    }).pipe(Effect.provide(sessions))
  )
})

describe("SessionMiddleware", () => {
  it.effect("works on a part of a router", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      yield* manager.create({ id: SessionId.make("s"), userId: ann })
      const parts = HttpRouter.empty.pipe(
        HttpRouter.mount(
          "/chat",
          HttpRouter.use(HttpRouter.get(HttpRouter.empty, "/", show), SessionMiddleware.make({ user }))
        )
      )
      const ask = yield* asking(parts)
      assert.strictEqual((yield* ask("/chat/", { "x-user": "ann", "x-session-id": "s" })).shown.id, "s")
    }).pipe(Effect.provide(sessions))
  )
})

describe("the entry point", () => {
  it("loads jose only when a verifier is made", async () => {
    const { metafile } = await Esbuild.build({
      entryPoints: [fileURLToPath(new URL("../../../src/http/index.ts", import.meta.url))],
      bundle: true,
      packages: "external",
      format: "esm",
      write: false,
      metafile: true
    })
    const imports = Object.values(metafile.outputs).flatMap((output) => output.imports)
    assert.deepStrictEqual(
      imports.filter(({ path }) => path === "jose").map(({ kind }) => kind),
      ["dynamic-import"]
    )
    assert.isFalse(imports.some(({ path }) => path.startsWith("@effect/platform-node")))
  })
})
