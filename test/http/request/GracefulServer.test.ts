import { createServer, type Server } from "node:http"
import * as Https from "node:https"
import * as Net from "node:net"
import * as Tls from "node:tls"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { GracefulServer } from "effect-lexigram/http"
import * as Certificate from "../../support/servers/Certificate.js"

it.scopedLive("requests are answered before an application listens, while it does, and after it", () =>
  Effect.gen(function* () {
    const server = yield* NodeHttpServer.make(() => GracefulServer.make(createServer()), {
      port: 0,
      host: "127.0.0.1"
    })
    const url = `http://127.0.0.1:${server.address._tag === "TcpAddress" ? server.address.port : ""}/`
    const ask = Effect.promise(() => fetch(url, { method: "POST", body: "x".repeat(100_000) }))
    const refused = Effect.gen(function* () {
      const response = yield* ask
      assert.strictEqual(response.status, 503)
      assert.strictEqual(response.headers.get("retry-after"), "1")
      assert.strictEqual(response.headers.get("content-type"), "application/problem+json")
      assert.include(yield* Effect.promise(() => response.json()), { status: 503 })
    })
    yield* refused
    const application = yield* Scope.make()
    yield* Scope.extend(
      Effect.provideService(
        HttpServer.serveEffect(Effect.succeed(HttpServerResponse.text("here"))),
        HttpServer.HttpServer,
        server
      ),
      application
    )
    const answered = yield* ask
    assert.strictEqual(answered.status, 200)
    assert.strictEqual(yield* Effect.promise(() => answered.text()), "here")
    yield* Scope.close(application, Exit.void)
    yield* refused
  })
)

const listening = (server: Server | Https.Server) =>
  Effect.async<number>((resume) => {
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as Net.AddressInfo).port)))
  })

const closed = (server: Server | Https.Server) =>
  Effect.async<void>((resume) => {
    server.close(() => resume(Effect.void))
  })

/** What comes until the end. */
const ended = (socket: Net.Socket) => {
  let received = ""
  socket.on("data", (chunk) => {
    received += String(chunk)
  })
  const closed = new Promise<string>((resolve) => {
    socket.on("close", () => resolve(received))
  })
  return Effect.promise(() => closed)
}

/** Connects, sends the text, and waits until the server has read it. Succeeds with what comes until the end. */
const connect = (server: Server, port: number, text: string) =>
  Effect.gen(function* () {
    const seen = Effect.async<Net.Socket>((resume) => {
      server.once("connection", (socket: Net.Socket) => resume(Effect.succeed(socket)))
    })
    const socket = Net.connect(port, "127.0.0.1")
    socket.on("error", () => undefined)
    const inside = yield* seen
    if (text !== "") {
      socket.write(text)
      yield* Effect.repeat(
        Effect.promise(() => new Promise(setImmediate)),
        { until: () => inside.bytesRead >= text.length }
      )
    }
    return ended(socket)
  })

it.scopedLive("its end waits for open requests, and for no connection that has asked nothing", () =>
  Effect.gen(function* () {
    const server = GracefulServer.make(createServer())
    const port = yield* listening(server)
    const asked = Effect.async<(body: string) => void>((resume) => {
      server.once("request", (_, response) => {
        resume(Effect.succeed((body) => void response.writeHead(200, { connection: "close" }).end(body)))
      })
    })
    const nothing = yield* connect(server, port, "")
    const half = yield* connect(server, port, "GET / HTTP/1.1\r\nhost: loc")
    const fiber = yield* Effect.fork(asked)
    yield* Effect.yieldNow()
    const whole = yield* connect(server, port, "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
    const answer = yield* Fiber.join(fiber)
    const end = yield* Effect.fork(closed(server))
    assert.deepStrictEqual(yield* Effect.all([nothing, half]), ["", ""])
    answer("all of it")
    assert.include(yield* whole, "all of it")
    yield* Fiber.join(end)
  })
)

it.scopedLive("sockets that were upgraded are ended by who upgraded them", () =>
  Effect.gen(function* () {
    const server = GracefulServer.make(createServer())
    const port = yield* listening(server)
    let upgraded: Net.Socket | undefined
    server.on("upgrade", (_, socket: Net.Socket) => {
      upgraded = socket
    })
    const head = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: own\r\n\r\n"
    const received = yield* connect(server, port, head)
    const end = yield* Effect.fork(closed(server))
    yield* Effect.yieldNow()
    upgraded?.end("good bye")
    assert.strictEqual(yield* received, "good bye")
    yield* Fiber.join(end)
  })
)

it.scopedLive("with TLS, connections that were opened ahead are ended, and open requests are answered", () =>
  Effect.gen(function* () {
    const { certificate, key } = Certificate.make()
    const server = GracefulServer.make(Https.createServer({ cert: certificate, key }))
    const port = yield* listening(server)
    const options = { host: "127.0.0.1", port, ca: certificate, checkServerIdentity: () => undefined }
    const dialled = (text: string) =>
      Effect.async<Tls.TLSSocket>((resume) => {
        const socket = Tls.connect(options, () => socket.write(text))
        socket.on("error", () => undefined)
        server.once("secureConnection", () => resume(Effect.succeed(socket)))
      })
    const raw = yield* connect(server as never, port, "")
    const quiet = ended(yield* dialled(""))
    const asked = new Promise<(body: string) => void>((resolve) => {
      server.once("request", (_, response) => {
        resolve((body) => void response.writeHead(200, { connection: "close" }).end(body))
      })
    })
    const whole = ended(yield* dialled("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"))
    const answer = yield* Effect.promise(() => asked)
    const end = yield* Effect.fork(closed(server))
    yield* raw
    yield* quiet
    answer("all of it")
    assert.include(yield* whole, "all of it")
    yield* Fiber.join(end)
  })
)
