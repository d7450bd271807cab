/**
 * A server of Node that answers while no application does. It listens before its application is built, and `Scope`
 * closes the application before the server: without this, a request that comes meanwhile is never answered.
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
  listenerCount(event: "request"): number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Request {
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
 * Answers requests with 503 and `Retry-After` as long as nothing else listens to them.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { createServer } from "node:http"
 * import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
 * import { StartingServer } from "effect-lexigram/http"
 *
 * const http = NodeHttpServer.layer(() => StartingServer.make(createServer()), { port: 3000 })
 * ```
 */
export const make = <S extends Server>(server: S): S => {
  server.on("request", (request, response) => {
    if (server.listenerCount("request") > 1) return
    request.resume()
    response.writeHead(503, HEADERS).end(BODY)
  })
  return server
}
