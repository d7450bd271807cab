import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Tracer from "effect/Tracer"
import * as HttpSearch from "../../../src/builtin/web/HttpSearch.js"
import * as SearchProvider from "../../../src/builtin/web/SearchProvider.js"
import * as WebSearchSkill from "../../../src/builtin/web/WebSearchSkill.js"
import * as LoopbackServer from "../../support/LoopbackServer.js"
import { call, Misfit } from "../../support/Skills.js"

const provider = (search: SearchProvider.Service["search"]) => Layer.succeed(SearchProvider.SearchProvider, { search })

const result = (index: number) => ({ title: `Title ${index}`, url: `https://example.org/${index}`, snippet: "text" })

const answering = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  LoopbackServer.http((_request, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers })
    response.end(typeof body === "string" ? body : JSON.stringify(body))
  })

const apiKey = Redacted.make("hush-key")

describe("WebSearchSkill", () => {
  it("describes itself", () => {
    const { definition, problem } = WebSearchSkill.skill
    assert.isUndefined(problem)
    assert.deepStrictEqual(
      [definition.name, definition.category, ...definition.permissions],
      ["web_search", "web", "web.search"]
    )
  })

  it.effect("requests five results by default, or the given number", () =>
    Effect.gen(function* () {
      const asked: Array<unknown> = []
      const layer = provider((query, { maxResults }) => {
        asked.push([query, maxResults])
        return Effect.succeed(Array.from({ length: 30 }, (_, index) => result(index)))
      })
      const search = (params: unknown, options?: WebSearchSkill.Options) =>
        Effect.map(Effect.provide(call(WebSearchSkill.make(options), params), layer), ({ results }) => results.length)
      assert.strictEqual(yield* search({ query: "effect" }), 5)
      assert.strictEqual(yield* search({ query: "effect", max_results: 20 }), 20)
      assert.strictEqual(yield* search({ query: "effect" }, { maxResults: 3 }), 3)
      assert.deepStrictEqual(asked, [
        ["effect", 5],
        ["effect", 20],
        ["effect", 3]
      ])
      for (const params of [
        {},
        { query: "" },
        { query: "a", max_results: 0 },
        { query: "a", max_results: 21 },
        { query: "a".repeat(1001) }
      ]) {
        assert.instanceOf(yield* Effect.flip(search(params)), Misfit)
      }
      assert.instanceOf(yield* Effect.flip(search({ query: "a", max_results: 4 }, { maxResults: 3 })), Misfit)
    })
  )

  it.effect("bounds results and omits addresses outside the web", () =>
    Effect.gen(function* () {
      const layer = provider(() =>
        Effect.succeed([
          { title: "a".repeat(1000), url: "https://example.org", snippet: "b".repeat(1000) },
          { title: "x", url: "javascript:alert(1)", snippet: "" },
          { title: "x", url: "file:///etc/passwd", snippet: "" },
          { title: "x", url: "http://", snippet: "" },
          { title: "x", url: `https://example.org/${"a".repeat(3000)}`, snippet: "" }
        ])
      )
      const { results } = yield* Effect.provide(
        call(WebSearchSkill.make({ maxSnippetChars: 10 }), { query: "a" }),
        layer
      )
      assert.deepStrictEqual(results, [
        { title: `${"a".repeat(300)}…`, url: "https://example.org", snippet: "bbbbbbbbbb…" }
      ])
    })
  )

  it.effect("says how to configure a missing provider", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        Effect.provide(call(WebSearchSkill.skill, { query: "a" }), SearchProvider.layerNoop)
      )
      assert.instanceOf(error, SearchProvider.SearchError)
      const { hint, reason } = error as SearchProvider.SearchError
      assert.strictEqual(reason, "NotConfigured")
      assert.include(hint, "SearchProvider")
    })
  )

  for (const [client, http] of [
    ["fetch", FetchHttpClient.layer],
    ["node", NodeHttpClient.layer]
  ] as const) {
    describe(`with ${client}`, () => {
      const search = (layer: ReturnType<typeof HttpSearch.layerHttp>, query = "a b&c", maxResults = 2) =>
        Effect.flatMap(SearchProvider.SearchProvider, (service) => service.search(query, { maxResults })).pipe(
          Effect.provide(Layer.provide(layer, http))
        )

      it.scopedLive("queries an instance of SearXNG", () =>
        Effect.gen(function* () {
          const results = [1, 2, 3].map((index) => ({ ...result(index), content: " a\n b ", engine: "x" }))
          const server = yield* answering({ query: "a", results: [null, 1, { url: "no title" }, ...results] })
          const found = yield* search(HttpSearch.layerSearxng({ baseUrl: `${server.url}/searx/` }))
          assert.deepStrictEqual(found, [
            { ...result(1), snippet: "a b" },
            { ...result(2), snippet: "a b" }
          ])
          assert.strictEqual(server.requests[0]?.path, "/searx/search?q=a+b%26c&format=json")
        })
      )

      it.scopedLive("queries Brave with its key", () =>
        Effect.gen(function* () {
          const body = { type: "search", web: { results: [{ title: "T", url: "https://a/", description: "d" }] } }
          const server = yield* answering(body)
          const found = yield* search(HttpSearch.layerBrave({ baseUrl: server.url, apiKey }), "q", 50)
          assert.deepStrictEqual(found, [{ title: "T", url: "https://a/", snippet: "d" }])
          const [request] = server.requests
          assert.strictEqual(request?.path, "/web/search?q=q&count=20&text_decorations=false")
          assert.strictEqual(request?.headers["x-subscription-token"], "hush-key")
          const empty = yield* answering({ type: "search", query: {} })
          assert.deepStrictEqual(yield* search(HttpSearch.layerBrave({ baseUrl: empty.url, apiKey })), [])
        })
      )

      it.scopedLive("queries Tavily with its key", () =>
        Effect.gen(function* () {
          const server = yield* answering({ results: [{ title: "T", url: "https://a/", content: "c", score: 1 }] })
          const found = yield* search(HttpSearch.layerTavily({ baseUrl: server.url, apiKey }), "q", 3)
          assert.deepStrictEqual(found, [{ title: "T", url: "https://a/", snippet: "c" }])
          const [request] = server.requests
          assert.strictEqual(`${request?.method} ${request?.path}`, "POST /search")
          assert.strictEqual(request?.headers.authorization, "Bearer hush-key")
          assert.deepStrictEqual(JSON.parse(request?.body ?? ""), { query: "q", max_results: 3 })
        })
      )

      it.scopedLive("gives a reason for invalid answers, and shows the key in no failure", () =>
        Effect.gen(function* () {
          const reasons = []
          for (const server of [
            yield* answering("hush", 401),
            yield* answering("hush", 403),
            yield* answering("hush", 429, { "retry-after": "7" }),
            yield* answering("hush", 422),
            yield* answering("hush", 500),
            yield* answering("", 302, { location: "/hush" }),
            yield* answering("<html>hush"),
            yield* answering({ results: "hush" }),
            yield* answering("null"),
            yield* answering({ results: [{ title: "hush".repeat(1000), url: "https://a/" }] })
          ]) {
            const layer = HttpSearch.layerTavily({ baseUrl: server.url, apiKey, maxBytes: 1000 })
            const error = yield* Effect.flip(search(layer))
            assert.notInclude(JSON.stringify(error) + error.message + error.stack, "hush")
            assert.strictEqual(error.provider, "tavily")
            assert.isDefined(error.hint)
            reasons.push(error.reason)
            if (error.reason === "RateLimited") assert.strictEqual(error.retryAfterSeconds, 7)
            assert.strictEqual(server.requests.length, 1)
          }
          assert.deepStrictEqual(reasons, [
            "Unauthorized",
            "Unauthorized",
            "RateLimited",
            "Refused",
            "Unavailable",
            "Unavailable",
            "Malformed",
            "Malformed",
            "Malformed",
            "Malformed"
          ])
        })
      )

      it.scopedLive("gives up a missing, silent or endless provider in time", () =>
        Effect.gen(function* () {
          const { url } = yield* Effect.scoped(answering(""))
          const gone = yield* Effect.flip(search(HttpSearch.layerBrave({ baseUrl: url, apiKey })))
          assert.strictEqual(gone.reason, "Unavailable")
          assert.notInclude(JSON.stringify(gone), "hush")
          const silent = yield* LoopbackServer.raw(() => undefined)
          const drip = yield* LoopbackServer.raw((socket) => {
            socket.write("HTTP/1.1 200 OK\r\n\r\n[")
            const timer = setInterval(() => socket.write(" "), 5)
            socket.on("close", () => clearInterval(timer))
          })
          for (const server of [silent, drip]) {
            const layer = HttpSearch.layerSearxng({ baseUrl: server.url, timeout: "100 millis" })
            assert.strictEqual((yield* Effect.flip(search(layer))).reason, "Timeout")
            yield* server.closed
          }
        })
      )

      it.scopedLive("closes the connection on interruption", () =>
        Effect.gen(function* () {
          const server = yield* LoopbackServer.raw(() => undefined)
          const fiber = yield* Effect.fork(search(HttpSearch.layerSearxng({ baseUrl: server.url })))
          while (server.open() === 0) yield* Effect.sleep("1 millis")
          yield* Fiber.interrupt(fiber)
          yield* server.closed
        })
      )

      it.scopedLive("releases an unread answer", () =>
        Effect.gen(function* () {
          const server = yield* LoopbackServer.raw((socket) => {
            socket.write("HTTP/1.1 500 Oops\r\n\r\n")
            const timer = setInterval(() => socket.write("a"), 5)
            socket.on("close", () => clearInterval(timer))
          })
          const error = yield* Effect.flip(search(HttpSearch.layerSearxng({ baseUrl: server.url })))
          assert.strictEqual(error.reason, "Unavailable")
          yield* server.closed
        })
      )

      it.scopedLive("shows the request in no span, and sends no span to the provider", () =>
        Effect.gen(function* () {
          const server = yield* answering({ type: "search" })
          const named: Array<string> = []
          const plain = yield* Effect.tracer
          const tracer = Tracer.make({
            context: plain.context,
            span: (...args) => {
              named.push(args[0])
              return plain.span(...args)
            }
          })
          yield* search(HttpSearch.layerBrave({ baseUrl: server.url, apiKey })).pipe(
            Effect.withSpan("outer"),
            Effect.withTracer(tracer)
          )
          assert.deepStrictEqual(named, ["outer"])
          for (const name of ["traceparent", "b3"]) assert.notProperty(server.requests[0]?.headers, name)
        })
      )
    })
  }
})
