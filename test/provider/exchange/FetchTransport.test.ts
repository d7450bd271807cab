import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Undici from "@effect/platform-node/Undici"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SameOriginHttp from "../../../src/internal/SameOriginHttp.js"
import * as ClientTransport from "../../../src/provider/exchange/ClientTransport.js"
import * as FetchTransport from "../../../src/provider/exchange/FetchTransport.js"
import * as HttpTransport from "../../../src/provider/exchange/HttpTransport.js"
import * as ChatCompletions from "../../../src/provider/format/ChatCompletions.js"
import * as ChatServer from "../../support/ChatServer.js"

const exchanges: ReadonlyArray<readonly [string, Layer.Layer<HttpTransport.HttpTransport>]> = [
  ["fetch", FetchTransport.layer],
  ["HttpClient", Layer.provide(ClientTransport.layer, FetchHttpClient.layer)]
]

const post = (url: string) => HttpClientRequest.post(url).pipe(HttpClientRequest.bodyText("question"))

const text = (url: string, maxBytes = 1000) =>
  Effect.flatMap(HttpTransport.HttpTransport, (http) => http.exchange(post(url), (answer) => answer.text(maxBytes)))

describe.each(exchanges)("an exchange over %s", (_, layer) => {
  it.scopedLive("reads a body whole, in characters that are cut between its pieces", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      const bytes = new TextEncoder().encode("\ufeffgrüße")
      yield* server.script(
        { steps: [ChatServer.write(bytes.slice(0, 6)), ChatServer.write(bytes.slice(6))] },
        { status: 204 }
      )
      assert.deepStrictEqual(yield* text(server.baseUrl), { text: "grüße", cut: false })
      assert.deepStrictEqual(yield* text(server.baseUrl), { text: "", cut: false })
      assert.strictEqual(server.requests[0]?.text, "question")
      assert.strictEqual(server.abandoned(), 0)
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("reads no further than its bound, and closes the connection", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      yield* server.script({ steps: [ChatServer.write("x".repeat(2000)), ChatServer.hang] })
      assert.isTrue((yield* text(server.baseUrl)).cut)
      yield* server.left(1)
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("reads a body piece by piece, and closes the connection of one that is left", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      const http = yield* HttpTransport.HttpTransport
      yield* server.script({ steps: [ChatServer.write("first"), ChatServer.hang] }, ChatServer.json("whole"))
      const first = yield* http.exchange(post(server.baseUrl), (answer) => answer.next)
      assert.deepStrictEqual(
        Array.from(first ?? [], (bytes) => new TextDecoder().decode(bytes)),
        ["first"]
      )
      yield* server.left(1)
      const ends = yield* http.exchange(post(server.baseUrl), (answer) => Effect.all([answer.next, answer.next]))
      assert.isUndefined(ends[1])
      assert.strictEqual(server.abandoned(), 1)
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("is cancelled by interruption, before the answer and while its body is read", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      yield* server.script(ChatServer.silence, { steps: [ChatServer.write("first"), ChatServer.hang] })
      for (const count of [1, 2]) {
        const fiber = yield* Effect.fork(text(server.baseUrl))
        yield* server.received(count)
        yield* Fiber.interrupt(fiber)
        yield* server.left(count)
      }
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("fails with the error of the client, whose cause is kept", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      yield* server.script({ steps: [ChatServer.write("first"), ChatServer.cut] })
      const cut = yield* Effect.flip(text(server.baseUrl))
      assert.isTrue(HttpClientError.isHttpClientError(cut))
      assert.strictEqual(cut.reason, "Decode")
      const refused = yield* Effect.flip(text("http://127.0.0.1:1/"))
      assert.deepInclude(refused, { _tag: "RequestError", reason: "Transport" })
      assert.deepInclude(yield* Effect.flip(text("http://")), { _tag: "RequestError", reason: "InvalidUrl" })
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("follows redirects within the origin alone", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      const redirect = (location: string): ChatServer.Exchange => ({ status: 307, headers: { location } })
      yield* server.script(redirect("/to"), ChatServer.json("there"), redirect("http://127.0.0.1:1/?key=hidden"))
      assert.strictEqual((yield* text(`${server.baseUrl}/from`)).text, "there")
      assert.deepInclude(server.requests[1], { method: "POST", url: "/to", text: "question" })
      const error = yield* Effect.flip(text(server.baseUrl))
      assert.isTrue(SameOriginHttp.isRefusedRedirect(error))
      assert.notInclude(error.message, "hidden")
      yield* server.script(...Array.from({ length: 4 }, () => redirect("/again")))
      assert.isTrue(SameOriginHttp.isRefusedRedirect(yield* Effect.flip(text(server.baseUrl))))
    }).pipe(Effect.provide(layer))
  )
})

const completion = { choices: [{ message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }] }
const hello = { messages: [{ role: "user" as const, content: "Hello" }] }
const ask = Effect.flatMap(ChatCompletions.make({ baseUrl: "https://api.example/v1", model: "m" }), (client) =>
  client.complete(hello)
)

describe("a whole answer", () => {
  it.effect("takes one request and one read of the body, and aborts nothing", () => {
    const signals: Array<AbortSignal | null | undefined> = []
    let readers = 0
    const fetch: typeof globalThis.fetch = (_url, init) => {
      signals.push(init?.signal)
      const response = Response.json(completion)
      const body = response.body!
      const getReader = body.getReader.bind(body)
      body.getReader = (() => {
        readers++
        return getReader()
      }) as typeof body.getReader
      return Promise.resolve(response)
    }
    return Effect.gen(function* () {
      yield* ask
      assert.strictEqual(signals.length, 1)
      assert.strictEqual(readers, 1)
      assert.isFalse(signals[0]?.aborted)
    }).pipe(Effect.provide(FetchTransport.layer), Effect.provideService(FetchHttpClient.Fetch, fetch))
  })

  it.effect("is read by text alone, outside any scope", () => {
    const seen: Array<string> = []
    const exchange = Effect.map(HttpClient.HttpClient, (client) =>
      HttpTransport.HttpTransport.of({
        client,
        exchange: (_request, use) =>
          Effect.gen(function* () {
            seen.push(Option.isSome(yield* Effect.serviceOption(Scope.Scope)) ? "in a scope" : "exchange")
            return yield* use({
              status: 200,
              headers: { "content-type": "application/json" },
              text: () => {
                seen.push("text")
                return Effect.succeed({ text: JSON.stringify(completion), cut: false })
              },
              next: Effect.sync(() => {
                seen.push("next")
                return undefined
              })
            })
          })
      })
    )
    return Effect.gen(function* () {
      yield* ask
      assert.deepStrictEqual(seen, ["exchange", "text"])
    }).pipe(
      Effect.provide(Layer.provideMerge(Layer.effect(HttpTransport.HttpTransport, exchange), FetchHttpClient.layer))
    )
  })
})

describe("fromContext", () => {
  const answering =
    (seen: Array<RequestInit | undefined>): typeof globalThis.fetch =>
    (_url, init) => {
      seen.push(init)
      return Promise.resolve(Response.json(completion))
    }

  it.effect("uses a client to which middleware was added", () => {
    const seen: Array<RequestInit | undefined> = []
    const marked = Effect.updateService(
      ask,
      HttpClient.HttpClient,
      HttpClient.mapRequest(HttpClientRequest.setHeader("x-app", "mine"))
    )
    return Effect.gen(function* () {
      yield* marked
      assert.strictEqual(new Headers(seen[0]?.headers).get("x-app"), "mine")
    }).pipe(Effect.provide(FetchTransport.layer), Effect.provideService(FetchHttpClient.Fetch, answering(seen)))
  })

  it.effect("gives the fetch of its layer the options of the constructor and of the call", () => {
    const seen: Array<RequestInit | undefined> = []
    const layer = FetchTransport.layer.pipe(
      Layer.provide(Layer.succeed(FetchHttpClient.Fetch, answering(seen))),
      Layer.provide(Layer.succeed(FetchHttpClient.RequestInit, { keepalive: true, headers: { "x-layer": "1" } }))
    )
    return Effect.gen(function* () {
      yield* ask
      assert.deepInclude(seen[0], { keepalive: true, redirect: "manual", method: "POST" })
      assert.strictEqual(new Headers(seen[0]?.headers).get("x-layer"), "1")
      yield* Effect.provideService(ask, FetchHttpClient.RequestInit, { credentials: "include", redirect: "follow" })
      assert.deepInclude(seen[1], { credentials: "include", redirect: "manual" })
      const client = yield* ClientTransport.fromContext.pipe(
        Effect.provideService(FetchHttpClient.RequestInit, { credentials: "omit" })
      )
      yield* client.exchange(post("https://api.example/"), (answer) => answer.text(1000))
      assert.deepInclude(seen[2], { credentials: "omit", redirect: "manual" })
    }).pipe(Effect.provide(layer))
  })

  it.effect("refuses a request whose body is a stream", () =>
    Effect.gen(function* () {
      const http = yield* HttpTransport.HttpTransport
      const request = HttpClientRequest.post("https://api.example/").pipe(HttpClientRequest.bodyStream(Stream.empty))
      const error = yield* Effect.flip(http.exchange(request, (answer) => answer.next))
      assert.deepInclude(error, { _tag: "RequestError", reason: "Encode" })
    }).pipe(Effect.provide(FetchTransport.layer))
  )
})

describe("a dispatcher of undici", () => {
  const limited = Effect.acquireRelease(
    Effect.sync(() => new Undici.Agent({ connections: 1 })),
    (agent) => Effect.promise(() => agent.destroy())
  )
  const initOf = (dispatcher: Undici.Dispatcher) => ({ dispatcher }) as RequestInit
  const together = (server: ChatServer.ChatServer) =>
    Effect.gen(function* () {
      yield* server.script(...Array.from({ length: 4 }, () => ChatServer.json(completion)))
      const client = yield* ChatCompletions.make({ baseUrl: server.baseUrl, model: "m" })
      yield* Effect.all(
        Array.from({ length: 4 }, () => client.complete(hello)),
        { concurrency: "unbounded" }
      )
    })

  it.scopedLive("limits the connections of its layer, and of a client made with it", () =>
    Effect.gen(function* () {
      const agent = yield* limited
      const layer = Layer.provide(FetchTransport.layer, Layer.succeed(FetchHttpClient.RequestInit, initOf(agent)))
      const server = yield* ChatServer.make
      yield* Effect.provide(together(server), layer)
      assert.strictEqual(server.connections(), 1)
      const other = yield* ChatServer.make
      yield* Effect.provide(together(other), FetchTransport.layer).pipe(
        Effect.provideService(FetchHttpClient.RequestInit, initOf(agent))
      )
      assert.strictEqual(other.connections(), 1)
      const unlimited = yield* ChatServer.make
      yield* Effect.provide(together(unlimited), FetchTransport.layer)
      assert.strictEqual(unlimited.connections(), 4)
    })
  )

  it.scopedLive("closes its connection when a call is interrupted, and makes another one", () =>
    Effect.gen(function* () {
      const agent = yield* limited
      const server = yield* ChatServer.make
      yield* server.script(ChatServer.silence, ChatServer.json("next"))
      const call = text(server.baseUrl).pipe(
        Effect.provide(FetchTransport.layer),
        Effect.provideService(FetchHttpClient.RequestInit, initOf(agent))
      )
      const fiber = yield* Effect.fork(call)
      yield* server.received(1)
      yield* Fiber.interrupt(fiber)
      yield* server.left(1)
      assert.strictEqual((yield* call).text, "next")
    })
  )
})
