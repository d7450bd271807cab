import type * as HttpClient from "@effect/platform/HttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as LlmTimeout from "../../src/llm/LlmTimeout.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmError from "../../src/llm/model/LlmError.js"
import * as Embeddings from "../../src/provider/embedding/Embeddings.js"
import * as FetchTransport from "../../src/provider/exchange/FetchTransport.js"
import * as ChatServer from "../support/ChatServer.js"
import * as ProviderAnswers from "../support/ProviderAnswers.js"
import * as Transports from "../support/Transports.js"

const hello = { messages: [{ role: "user" as const, content: "Hello" }] }

interface Caller {
  readonly name: string
  /** A call as text; its failure is that of the exchange. */
  readonly ask: (baseUrl: string) => Effect.Effect<string, unknown, HttpClient.HttpClient>
  readonly whole: unknown
  readonly text: string
}

const callers: ReadonlyArray<Caller> = [
  ...ProviderAnswers.all.map(
    ({ make, name, whole }): Caller => ({
      name,
      ask: (baseUrl) => Effect.flatMap(make(baseUrl), (client) => Effect.map(client.complete(hello), LlmClient.text)),
      whole,
      text: "Hello you"
    })
  ),
  {
    name: "embeddings",
    ask: (baseUrl) =>
      Effect.flatMap(
        Embeddings.make({ baseUrl, model: "m", dimensions: 2, apiKey: ProviderAnswers.apiKey }),
        (embedder) => Effect.map(embedder.embed("Hello"), String)
      ).pipe(Effect.mapError((error) => ("cause" in error ? error.cause : error))),
    whole: { data: [{ index: 0, embedding: [1, 0] }] },
    text: "1,0"
  }
]

/** The error of a call that fails with one of the model port. */
const failureOf = <A, R>(call: Effect.Effect<A, unknown, R>): Effect.Effect<LlmError.LlmError, unknown, R> =>
  Effect.flatMap(Effect.flip(Effect.asVoid(call)), (error) =>
    LlmError.isLlmError(error) ? Effect.succeed(error) : Effect.die(error)
  )

const declared = (body: string, length: number): ChatServer.Exchange => ({
  headers: { "content-type": "application/json", "content-length": String(length) },
  steps: [ChatServer.write(body)]
})

describe.each(Transports.cross(callers))("a whole answer of $name over $transport", (options) => {
  const { ask, layer, reuses, text, whole } = options
  const body = JSON.stringify(whole)
  const start = Effect.map(ChatServer.make, (server) => ({ server, call: ask(server.baseUrl) }))

  it.scoped("is read in pieces, with or without its length", () =>
    Effect.gen(function* () {
      const { call, server } = yield* start
      const half = Math.floor(body.length / 2)
      const pieces = [ChatServer.write(body.slice(0, half)), ChatServer.write(body.slice(half))]
      const headers = { "content-type": "application/json" }
      yield* server.script(declared(body, body.length), ChatServer.json(body), { headers, steps: pieces })
      for (let n = 0; n < 3; n++) assert.strictEqual(yield* call, text)
      assert.strictEqual(server.abandoned(), 0)
    }).pipe(Effect.provide(layer))
  )

  it.scoped("leaves its connection to the next call", () =>
    Effect.gen(function* () {
      const { call, server } = yield* start
      for (let n = 0; n < 6; n++) {
        yield* server.script(ChatServer.json(body))
        yield* call
      }
      // `fetch` opens another connection while the last one is not free yet.
      assert.isBelow(server.connections(), reuses ? 4 : 7)
    }).pipe(Effect.provide(layer))
  )

  it.scoped("follows redirects within the origin, with the body of the request", () =>
    Effect.gen(function* () {
      const { call, server } = yield* start
      const redirect: ChatServer.Exchange = { status: 307, headers: { location: "/to" } }
      yield* server.script(redirect, ChatServer.json(body))
      assert.strictEqual(yield* call, text)
      assert.strictEqual(server.requests[1]?.url, "/to")
      assert.strictEqual(server.requests[1]?.text, server.requests[0]?.text)
      yield* server.script(redirect, redirect, redirect, redirect)
      const error = yield* failureOf(call)
      assert.strictEqual(error._tag, "LlmInvalidRequestError")
      assert.include(error.message, "redirects")
    }).pipe(Effect.provide(layer))
  )

  it.scoped("closes its connection when it is interrupted, before the answer and within its body", () =>
    Effect.gen(function* () {
      const { call, server } = yield* start
      yield* server.script(ChatServer.silence, { steps: [ChatServer.write(body.slice(0, 5)), ChatServer.hang] })
      for (const count of [1, 2]) {
        const fiber = yield* Effect.fork(call)
        yield* server.received(count)
        yield* Fiber.interrupt(fiber)
        yield* server.left(count)
      }
      assert.strictEqual(server.open(), 0)
    }).pipe(Effect.provide(layer))
  )

  it.scoped("says from when a limited call may be made again", () =>
    Effect.gen(function* () {
      const { call, server } = yield* start
      const cases = [
        [{ "retry-after": "2" }, 2000],
        [{ "retry-after": "Thu, 01 Jan 1970 00:00:05 GMT" }, 5000],
        [{ "retry-after-ms": "250", "retry-after": "9" }, 250]
      ] as const
      for (const [headers, expected] of cases) {
        yield* server.script(ChatServer.json({ error: { message: "slow down" } }, { status: 429, headers }))
        assert.deepInclude({ ...(yield* failureOf(call)) }, { _tag: "LlmRateLimitError", retryAfterMs: expected })
      }
    }).pipe(Effect.provide(layer))
  )

  it.scoped("keeps the status of an error whose body breaks off or does not end", () =>
    Effect.gen(function* () {
      const { call, server } = yield* start
      yield* server.script(
        {
          status: 503,
          headers: { "content-length": "500" },
          steps: [ChatServer.write('{"error":'), ChatServer.cut]
        },
        { status: 500, steps: [ChatServer.write("y".repeat(400_000)), ChatServer.hang] }
      )
      for (const status of [503, 500])
        assert.deepInclude({ ...(yield* failureOf(call)) }, { _tag: "LlmUnavailableError", status })
      yield* server.left(1)
      assert.strictEqual(server.open(), 0)
    }).pipe(Effect.provide(layer))
  )

  it.scoped("is a connection error when the connection breaks, before the answer and within its body", () =>
    Effect.gen(function* () {
      const { call, server } = yield* start
      const start5 = ChatServer.write(body.slice(0, 5))
      yield* server.script(
        { before: [ChatServer.cut] },
        { headers: { "content-length": String(body.length) }, steps: [start5, ChatServer.cut] },
        { steps: [start5, ChatServer.cut] }
      )
      for (let n = 0; n < 3; n++)
        assert.deepInclude({ ...(yield* failureOf(call)) }, { _tag: "LlmConnectionError", isRetryable: true })
      assert.strictEqual((yield* failureOf(ask("http://127.0.0.1:1/v1")))._tag, "LlmConnectionError")
    }).pipe(Effect.provide(layer))
  )

  it.scoped("is malformed when it is not whole JSON", () =>
    Effect.gen(function* () {
      const { call, server } = yield* start
      for (const broken of [body.slice(0, -1), "<html>", ""]) {
        yield* server.script(ChatServer.json(broken))
        const error = yield* failureOf(call)
        assert.strictEqual(error._tag, "LlmMalformedResponseError")
        assert.include(error.message, "The answer is not JSON")
      }
    }).pipe(Effect.provide(layer))
  )
})

describe.each(callers)("a whole answer of $name", ({ ask }) => {
  it.scoped("is read up to 32 MiB, and then its connection is closed", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      yield* server.script({ steps: [ChatServer.write(new Uint8Array(33 * 1024 * 1024).fill(32)), ChatServer.hang] })
      const error = yield* failureOf(ask(server.baseUrl))
      assert.strictEqual(error._tag, "LlmMalformedResponseError")
      assert.include(error.message, `longer than ${32 * 1024 * 1024} bytes`)
      yield* server.left(1)
      assert.strictEqual(server.open(), 0)
    }).pipe(Effect.provide(FetchTransport.layer))
  )
})

describe.each(Transports.cross(ProviderAnswers.all))("a call of $name over $transport", (options) => {
  const { layer, make, reuses, stream } = options
  const [begin, rest] = stream
  const whole = ChatServer.sse([...begin, ...rest])

  /** A streamed call with the text it delivered, which opens a gate with the first delta. */
  const start = (wrap: (client: LlmClient.Service) => LlmClient.Service = (client) => client) =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      const client = wrap(yield* make(server.baseUrl))
      const seen = yield* Deferred.make<void>()
      let delivered = ""
      const call = client.complete(hello, {
        onParts: (parts) =>
          Effect.suspend(() => {
            for (const part of parts) if (part.type === "text-delta") delivered += part.delta
            return delivered === "" ? Effect.void : Deferred.succeed(seen, undefined)
          })
      })
      return { server, call, client, seen: Deferred.await(seen), delivered: () => delivered }
    })

  it.scoped("delivers deltas while the answer is written", () =>
    Effect.gen(function* () {
      const { call, delivered, seen, server } = yield* start()
      yield* server.script(ChatServer.sse([...begin, ChatServer.wait(seen), ...rest]), whole)
      assert.strictEqual(LlmClient.text(yield* call), "Hello you")
      assert.strictEqual(LlmClient.text(yield* call), "Hello you")
      assert.strictEqual(delivered(), "Hello youHello you")
      assert.strictEqual(server.abandoned(), 0)
    }).pipe(Effect.provide(layer))
  )

  it.scoped("leaves its connection to the next call", () =>
    Effect.gen(function* () {
      const { call, server } = yield* start()
      for (let n = 0; n < 6; n++) {
        yield* server.script(whole)
        yield* call
      }
      assert.isBelow(server.connections(), reuses ? 4 : 7)
    }).pipe(Effect.provide(layer))
  )

  it.scoped("closes its connection when it is interrupted amid its deltas", () =>
    Effect.gen(function* () {
      const { call, seen, server } = yield* start()
      yield* server.script(ChatServer.sse([...begin, ChatServer.hang]))
      const fiber = yield* Effect.fork(call)
      yield* seen
      yield* Fiber.interrupt(fiber)
      yield* server.left(1)
      assert.strictEqual(server.open(), 0)
    }).pipe(Effect.provide(layer))
  )

  it.scoped("closes its connection when it takes too long, before the answer and after a delta", () =>
    Effect.gen(function* () {
      const { call, client, seen, server } = yield* start(LlmTimeout.wrap({ gap: "30 seconds" }))
      yield* server.script(ChatServer.silence, ChatServer.sse([...begin, ChatServer.hang]))
      const silent = yield* Effect.fork(Effect.flip(client.complete(hello)))
      yield* server.received(1)
      yield* TestClock.adjust("2 minutes")
      assert.deepInclude({ ...(yield* Fiber.join(silent)) }, { _tag: "LlmTimeoutError", phase: "whole" })
      yield* server.left(1)
      const stalled = yield* Effect.fork(Effect.flip(call))
      yield* seen
      yield* TestClock.adjust("30 seconds")
      assert.deepInclude({ ...(yield* Fiber.join(stalled)) }, { _tag: "LlmTimeoutError", phase: "gap" })
      yield* server.left(2)
      assert.strictEqual(server.open(), 0)
    }).pipe(Effect.provide(layer))
  )

  it.scoped("fails after the deltas that came when the stream breaks or ends before the answer does", () =>
    Effect.gen(function* () {
      const { call, delivered, server } = yield* start()
      yield* server.script(ChatServer.sse([...begin, ChatServer.cut]), ChatServer.sse(begin))
      assert.strictEqual((yield* failureOf(call))._tag, "LlmConnectionError")
      assert.strictEqual(delivered(), "Hello")
      assert.strictEqual((yield* failureOf(call))._tag, "LlmMalformedResponseError")
      assert.strictEqual(delivered(), "HelloHello")
    }).pipe(Effect.provide(layer))
  )
})
