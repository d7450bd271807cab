/** Loopback servers for HTTP and plain bytes. The scope closes them and their connections. */
import * as Http from "node:http"
import * as Net from "node:net"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: Http.IncomingHttpHeaders
  readonly body: string
}

export interface LoopbackServer {
  readonly port: number
  /** `http://127.0.0.1:port` */
  readonly url: string
  /** Requests received completely. */
  readonly requests: ReadonlyArray<Received>
  /** Open connections. */
  readonly open: () => number
  /** Completes when the first connection is closed. */
  readonly closed: Effect.Effect<void>
}

const listen = (server: Net.Server, requests: ReadonlyArray<Received>) =>
  Effect.gen(function* () {
    const sockets = new Set<Net.Socket>()
    const closed = yield* Deferred.make<void>()
    server.on("connection", (socket: Net.Socket) => {
      sockets.add(socket)
      socket.on("error", () => undefined)
      socket.on("close", () => {
        sockets.delete(socket)
        Deferred.unsafeDone(closed, Effect.void)
      })
    })
    yield* Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
    yield* Effect.addFinalizer(() =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        for (const socket of sockets) socket.destroy()
      })
    )
    const { port } = server.address() as Net.AddressInfo
    return {
      port,
      url: `http://127.0.0.1:${port}`,
      requests,
      open: () => sockets.size,
      closed: Deferred.await(closed)
    } satisfies LoopbackServer
  })

export const http = (
  answer: (request: Received, response: Http.ServerResponse) => void
): Effect.Effect<LoopbackServer, never, Scope.Scope> =>
  Effect.suspend(() => {
    const requests: Array<Received> = []
    const server = Http.createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("error", () => undefined)
      response.on("error", () => undefined)
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const received = {
          method: request.method ?? "",
          path: request.url ?? "",
          headers: request.headers,
          body: Buffer.concat(chunks).toString("utf8")
        }
        requests.push(received)
        answer(received, response)
      })
    })
    return listen(server, requests)
  })

/** `answer` is called at the first bytes of a request. */
export const raw = (answer: (socket: Net.Socket) => void): Effect.Effect<LoopbackServer, never, Scope.Scope> =>
  Effect.suspend(() =>
    listen(
      Net.createServer((socket) => void socket.once("data", () => answer(socket))),
      []
    )
  )
