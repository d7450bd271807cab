/**
 * A loopback HTTP server that plays scripted exchanges and records requests: a model provider for tests. It knows no
 * API; exchanges define the bytes on the wire.
 */
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"

/** One step of an answer. */
export type Step =
  /** Writes bytes, and waits until the socket accepted them. */
  | { readonly _tag: "write"; readonly data: string | Uint8Array }
  /** Waits, for example for the test to open a gate. */
  | { readonly _tag: "wait"; readonly until: Effect.Effect<unknown> }
  /** Breaks the connection. */
  | { readonly _tag: "cut" }
  /** Never continues. */
  | { readonly _tag: "hang" }

export const write = (data: string | Uint8Array): Step => ({ _tag: "write", data })
export const wait = (until: Effect.Effect<unknown>): Step => ({ _tag: "wait", until })
export const cut: Step = { _tag: "cut" }
export const hang: Step = { _tag: "hang" }

/** An answer. Without `cut` or `hang` it ends after its last step. */
export interface Exchange {
  /** Steps before the first byte, status and headers included. */
  readonly before?: ReadonlyArray<Step> | undefined
  readonly status?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly steps?: ReadonlyArray<Step> | undefined
}

export const json = (
  body: unknown,
  options?: { readonly status?: number; readonly headers?: Record<string, string> }
): Exchange => ({
  status: options?.status,
  headers: { "content-type": "application/json", ...options?.headers },
  steps: [write(typeof body === "string" ? body : JSON.stringify(body))]
})

/** One `data:` event. */
export const event = (value: unknown): string =>
  `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`

/** A stream of events; strings and bytes are written unchanged, other steps are executed. */
export const sse = (
  steps: ReadonlyArray<string | Uint8Array | Step>,
  options?: { readonly headers?: Record<string, string> }
): Exchange => ({
  headers: { "content-type": "text/event-stream", ...options?.headers },
  steps: steps.map((step) => (typeof step === "string" || step instanceof Uint8Array ? write(step) : step))
})

/** Accepts the request and never answers. */
export const silence: Exchange = { before: [hang] }

export interface Received {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** The body as JSON, `undefined` if it is not JSON. */
  readonly body: any
}

export interface ChatServer {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string
  /** The origin with `/v1`. */
  readonly baseUrl: string
  /** Adds exchanges for the next requests. A request without one gets status 599. */
  readonly script: (...exchanges: ReadonlyArray<Exchange>) => Effect.Effect<void>
  readonly requests: ReadonlyArray<Received>
  /** Requests whose answer has not ended. */
  readonly open: () => number
  /** Answers that the client abandoned. */
  readonly abandoned: () => number
  /** Sockets opened so far. */
  readonly connections: () => number
  /** Waits for that many requests. */
  readonly received: (count: number) => Effect.Effect<void>
  /** Waits until the client abandoned that many answers. */
  readonly left: (count: number) => Effect.Effect<void>
}

/** Wakes all waiters whenever something happens. */
const makeSignal = () => {
  const waiting = new Set<() => void>()
  return {
    notify: () => {
      for (const wake of Array.from(waiting)) wake()
    },
    until: (condition: () => boolean): Effect.Effect<void> =>
      Effect.async<void>((resume) => {
        const check = () => {
          if (!condition()) return
          waiting.delete(check)
          resume(Effect.void)
        }
        waiting.add(check)
        check()
        return Effect.sync(() => void waiting.delete(check))
      })
  }
}

const send = (response: Http.ServerResponse, data: string | Uint8Array): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    response.write(data, () => resume(Effect.void))
  })

const step = (response: Http.ServerResponse, current: Step): Effect.Effect<void> => {
  switch (current._tag) {
    case "write":
      return send(response, current.data)
    case "wait":
      return Effect.asVoid(current.until)
    case "cut":
      return Effect.sync(() => void response.socket?.destroy())
    case "hang":
      return Effect.never
  }
}

const play = (response: Http.ServerResponse, exchange: Exchange): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const current of exchange.before ?? []) yield* step(response, current)
    response.writeHead(exchange.status ?? 200, exchange.headers ?? {})
    response.flushHeaders()
    for (const current of exchange.steps ?? []) yield* step(response, current)
    yield* Effect.sync(() => void response.end())
  })

/** Starts a server; the scope closes it and every connection. */
export const make: Effect.Effect<ChatServer, never, Scope.Scope> = Effect.gen(function* () {
  const run = yield* FiberSet.makeRuntime<never>()
  const scripted: Array<Exchange> = []
  const requests: Array<Received> = []
  const signal = makeSignal()
  let open = 0
  let abandoned = 0
  let connections = 0

  const server = Http.createServer((request, response) => {
    open++
    const chunks: Array<Buffer> = []
    let answering: { readonly interrupt: () => void } | undefined
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("error", () => undefined)
    response.on("error", () => undefined)
    response.on("close", () => {
      open--
      if (!response.writableFinished) abandoned++
      answering?.interrupt()
      signal.notify()
    })
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8")
      let body: unknown
      try {
        body = JSON.parse(text)
      } catch {
        body = undefined
      }
      requests.push({
        method: request.method ?? "",
        url: request.url ?? "",
        headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
        text,
        body
      })
      signal.notify()
      const exchange = scripted.shift() ?? json({ error: { message: "nothing is scripted" } }, { status: 599 })
      const fiber = run(play(response, exchange))
      answering = { interrupt: () => fiber.unsafeInterruptAsFork(fiber.id()) }
    })
  })
  server.on("connection", () => connections++)

  const listening = yield* Deferred.make<number>()
  yield* Effect.acquireRelease(
    Effect.sync(() =>
      server.listen(0, "127.0.0.1", () =>
        Deferred.unsafeDone(listening, Exit.succeed((server.address() as AddressInfo).port))
      )
    ),
    () =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  const origin = `http://127.0.0.1:${yield* Deferred.await(listening)}`
  return {
    origin,
    baseUrl: `${origin}/v1`,
    script: (...exchanges) => Effect.sync(() => void scripted.push(...exchanges)),
    requests,
    open: () => open,
    abandoned: () => abandoned,
    connections: () => connections,
    received: (count) => signal.until(() => requests.length >= count),
    left: (count) => signal.until(() => abandoned >= count)
  }
})
