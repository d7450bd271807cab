/**
 * A server of Node that starts and ends well. It listens before its application is built, and `Scope` closes the
 * application before the server: without this, a request that comes meanwhile is never answered, and the end waits for
 * connections on which nothing was asked, such as those that browsers open ahead.
 *
 * @since 0.1.0
 */

/**
 * What is used of a server of `node:http` or `node:https`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Server {
  on(event: "request", listener: (request: Request, response: Response) => void): unknown
  on(event: "connection" | "secureConnection", listener: (socket: Socket) => void): unknown
  listenerCount(event: "request" | "upgrade"): number
  close(callback?: (error?: Error) => void): unknown
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Socket {
  readonly bytesRead: number
  once(event: "close", listener: () => void): unknown
  destroy(): unknown
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Request {
  readonly socket: Socket
  resume(): unknown
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Response {
  writeHead(status: number, headers: Record<string, string>): { end(body: string): unknown }
}

const BODY = JSON.stringify({
  type: "about:blank",
  title: "Unavailable",
  status: 503,
  detail: "The server starts, or ends"
})

const HEADERS = { "content-type": "application/problem+json", "retry-after": "1", connection: "close" }

/**
 * Answers requests with 503 and `Retry-After` as long as nothing else listens to them. `close` ends the connections
 * that have asked nothing yet, or a part of a header; those of open requests it leaves to Node, which waits for them.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { createServer } from "node:http"
 * import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
 * import { GracefulServer } from "effect-lexigram/http"
 *
 * const http = NodeHttpServer.layer(() => GracefulServer.make(createServer()), { port: 3000 })
 * ```
 */
export const make = <S extends Server>(server: S): S => {
  // Whether a socket is known to have asked something as soon as it has asked it.
  const silent = new Map<Socket, boolean>()
  const enter = (isPlain: boolean) => (socket: Socket) => {
    silent.set(socket, isPlain)
    socket.once("close", () => void silent.delete(socket))
  }
  // With TLS, requests have the socket of the second event, which is another than that of the first.
  server.on("connection", enter(!("setSecureContext" in server)))
  server.on("secureConnection", enter(true))
  server.on("request", (request, response) => {
    silent.delete(request.socket)
    if (server.listenerCount("request") > 1) return
    request.resume()
    response.writeHead(503, HEADERS).end(BODY)
  })
  const close = server.close
  server.close = (callback) => {
    const closed = close.call(server, callback)
    // A socket that was upgraded has asked something too. Only who listens to upgrades knows it.
    const knowsAll = server.listenerCount("upgrade") === 0
    for (const [socket, isPlain] of silent) if (socket.bytesRead === 0 || (isPlain && knowsAll)) socket.destroy()
    return closed
  }
  return server
}
