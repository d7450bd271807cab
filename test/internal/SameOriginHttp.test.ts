import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SameOriginHttp from "../../src/internal/SameOriginHttp.js"
import * as LoopbackServer from "../support/LoopbackServer.js"

const clients: ReadonlyArray<readonly [string, Layer.Layer<HttpClient.HttpClient>]> = [
  ["fetch", FetchHttpClient.layer],
  ["node:http", NodeHttpClient.layer],
  ["undici", NodeHttpClient.layerUndici]
]

const statuses = [301, 302, 303, 307, 308] as const

/** Answers `/from` with a redirect to `location`, and everything else with 200. */
const redirecting = (status: number, location: () => string) =>
  LoopbackServer.http((request, response) => {
    if (request.path === "/from") response.writeHead(status, { location: location() }).end()
    else response.writeHead(200).end(request.path)
  })

const post = (url: string) =>
  HttpClientRequest.post(url, { headers: { "x-api-key": "secret" } }).pipe(HttpClientRequest.bodyText("question"))

const send = (request: HttpClientRequest.HttpClientRequest) =>
  Effect.flatMap(SameOriginHttp.make, (http) =>
    Effect.scoped(
      Effect.flatMap(http(request), (response) => Effect.map(response.text, (text) => ({ response, text })))
    )
  )

describe.each(clients)("over %s", (_, client) => {
  it.scopedLive.each(statuses)("a redirect (%d) to another origin is rejected, and no key is sent there", (status) =>
    Effect.gen(function* () {
      const elsewhere = yield* LoopbackServer.http((_request, response) => response.writeHead(200).end())
      const server = yield* redirecting(status, () => `${elsewhere.url}/to?key=hidden`)
      for (const request of [post(`${server.url}/from`), HttpClientRequest.get(`${server.url}/from`)]) {
        const error = yield* Effect.flip(send(request))
        assert.isTrue(SameOriginHttp.isRefusedRedirect(error))
        assert.include(error.message, `another origin (${elsewhere.url})`)
        assert.notInclude(error.message, "hidden")
      }
      assert.deepStrictEqual(elsewhere.requests, [])
    }).pipe(Effect.provide(client))
  )

  it.scopedLive.each([307, 308])("a redirect (%d) within the origin repeats the request", (status) =>
    Effect.gen(function* () {
      const server = yield* redirecting(status, () => "/to?a=b")
      const { response, text } = yield* send(post(`${server.url}/from`))
      assert.strictEqual(response.status, 200)
      assert.strictEqual(text, "/to?a=b")
      assert.deepInclude(server.requests[1], { method: "POST", body: "question" })
      assert.strictEqual(server.requests[1]?.headers["x-api-key"], "secret")
    }).pipe(Effect.provide(client))
  )

  it.scopedLive("a redirect that changes the method is rejected", () =>
    Effect.gen(function* () {
      const server = yield* redirecting(302, () => "/to")
      assert.isTrue(SameOriginHttp.isRefusedRedirect(yield* Effect.flip(send(post(`${server.url}/from`)))))
      assert.strictEqual(server.requests.length, 1)
      const { text } = yield* send(HttpClientRequest.get(`${server.url}/from`))
      assert.strictEqual(text, "/to")
    }).pipe(Effect.provide(client))
  )

  it.scopedLive("endless redirects and invalid targets are rejected", () =>
    Effect.gen(function* () {
      const circle = yield* redirecting(307, () => "/from")
      assert.isTrue(SameOriginHttp.isRefusedRedirect(yield* Effect.flip(send(post(`${circle.url}/from`)))))
      assert.strictEqual(circle.requests.length, SameOriginHttp.maxRedirects + 1)
      const broken = yield* redirecting(307, () => "http://[")
      assert.isTrue(SameOriginHttp.isRefusedRedirect(yield* Effect.flip(send(post(`${broken.url}/from`)))))
      const named: LoopbackServer.LoopbackServer = yield* redirecting(
        307,
        () => `http://user:password@127.0.0.1:${named.port}/to`
      )
      assert.isTrue(SameOriginHttp.isRefusedRedirect(yield* Effect.flip(send(post(`${named.url}/from`)))))
      assert.strictEqual(named.requests.length, 1)
    }).pipe(Effect.provide(client))
  )
})

describe("over a fetch that", () => {
  const answering = (answer: (url: string) => Response, seen: Array<RequestInit> = []) =>
    FetchHttpClient.layer.pipe(
      Layer.provide(
        Layer.succeed(FetchHttpClient.Fetch, (url, init) => {
          seen.push(init ?? {})
          return Promise.resolve(answer(String(url)))
        })
      )
    )

  it.effect("leads from https to http, the request is not sent there", () => {
    const seen: Array<RequestInit> = []
    const answer = () => new Response(null, { status: 307, headers: { location: "http://api.example/v1" } })
    return Effect.gen(function* () {
      const error = yield* Effect.flip(send(post("https://api.example/v1")))
      assert.include(error.message, "another origin (http://api.example)")
      assert.strictEqual(seen.length, 1)
    }).pipe(Effect.provide(answering(answer, seen)))
  })

  it.effect("hides the target of a redirect, the redirect is rejected", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(send(post("https://api.example/v1")))
      assert.isTrue(SameOriginHttp.isRefusedRedirect(error))
      assert.include(error.message, "hidden")
    }).pipe(Effect.provide(answering(() => Response.error())))
  )

  it.effect("has options in context, they apply and no redirect is followed automatically", () => {
    const seen: Array<RequestInit> = []
    return Effect.gen(function* () {
      yield* send(post("https://api.example/v1"))
      assert.deepInclude(seen[0], { credentials: "include", redirect: "manual" })
    }).pipe(
      Effect.provideService(FetchHttpClient.RequestInit, { credentials: "include", redirect: "follow" }),
      Effect.provide(answering(() => new Response("ok"), seen))
    )
  })
})
