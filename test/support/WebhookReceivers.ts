/** Receivers of webhooks on loopback. */
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as SetClock from "./SetClock.js"

export interface Got {
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

/**
 * A receiver that answers with these statuses, one after another, and then with 204. It redirects to an address of a
 * cloud, `hang` never answers, and `flood` answers without an end.
 */
export const receiver = (...statuses: ReadonlyArray<number | "hang" | "flood">) =>
  Effect.gen(function* () {
    const got = yield* Queue.unbounded<Got>()
    const left = [...statuses]
    const server = createServer((request, response) => {
      let body = ""
      request.on("data", (chunk) => (body += chunk))
      request.on("end", () => {
        const status = left.shift() ?? 204
        Queue.unsafeOffer(got, { headers: request.headers, body })
        if (status === "hang") return
        if (status === "flood") {
          const more = (): void => {
            while (!response.destroyed && response.write("x".repeat(65_536)));
          }
          response.on("drain", more)
          return more()
        }
        response.writeHead(status, status === 302 ? { location: "http://169.254.169.254/" } : {}).end()
      })
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    const { port } = server.address() as AddressInfo
    return { got, url: `http://127.0.0.1:${port}/hook` }
  })

/** A second of the clock is a millisecond. */
export const quickly = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.clockWith((clock) => Effect.withClock(effect, SetClock.faster(clock, 1000)))
