/** Files by URL: what is fetched, from where, how often, and what is refused. */
import type * as Http from "node:http"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as HttpRequestError from "../../../src/builtin/web/HttpRequestError.js"
import * as RemoteContent from "../../../src/builtin/web/RemoteContent.js"
import * as ToolFiles from "../../../src/content/ToolFiles.js"
import type { LlmRequest, LlmResponse, Message, Service } from "../../../src/llm/model/LlmClient.js"
import * as LoopbackServer from "../../support/LoopbackServer.js"

const local = { allowPrivate: ["127.0.0.1"], ports: "any" } as const
const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3])

const serve =
  (bytes: Uint8Array, headers: Http.OutgoingHttpHeaders = {}, status = 200) =>
  (_: unknown, response: Http.ServerResponse) => {
    response.writeHead(status, headers)
    response.end(bytes)
  }

const response: LlmResponse = { content: [{ type: "text", text: "A file" }], finishReason: "stop", usage: {} }

/** A client that keeps the messages of its calls. */
const recording = () => {
  const calls: Array<ReadonlyArray<Message>> = []
  const client: Service = {
    provider: "recording",
    complete: ({ messages }) =>
      Effect.sync(() => {
        calls.push(messages)
        return response
      })
  }
  return { calls, client }
}

const asking = (url: string, mediaType = "image/*"): LlmRequest => ({
  messages: [
    { role: "system", content: "You describe files." },
    {
      role: "user",
      content: [
        { type: "text", text: "What is it?" },
        { type: "file", mediaType, data: new URL(url) }
      ]
    }
  ]
})

const reasonOf = <A>(effect: Effect.Effect<A, { readonly _tag: string; readonly reason: string }>) =>
  Effect.map(Effect.flip(effect), ({ _tag, reason }) => `${_tag} ${reason}`)

describe("RemoteContent.fetch", () => {
  it.scopedLive("takes the type from the bytes, the answer or the request", () =>
    Effect.gen(function* () {
      const picture = yield* LoopbackServer.http(serve(png, { "content-type": "application/octet-stream" }))
      const table = yield* LoopbackServer.http(
        serve(Buffer.from("a,b\n1,2\n"), { "content-type": "text/csv; charset=utf-8" })
      )
      const fetch = RemoteContent.fetch(local)
      const found = yield* fetch({ url: `${picture.url}/x`, mediaType: "image/*", fileName: "x.png" })
      assert.deepInclude(found, { type: "file", mediaType: "image/png", fileName: "x.png" })
      assert.deepStrictEqual(Array.from(found.data as Uint8Array), Array.from(png))
      assert.strictEqual((yield* fetch({ url: table.url })).mediaType, "text/csv")
      assert.strictEqual((yield* fetch({ url: table.url, mediaType: "text/plain" })).mediaType, "text/plain")
      const [request] = picture.requests
      assert.strictEqual(request?.method, "GET")
      assert.strictEqual(request?.headers.accept, "image/*")
      assert.isUndefined(request?.headers.authorization)
    })
  )

  it.scopedLive("refuses bytes of another type, whatever the server says", () =>
    Effect.gen(function* () {
      const page = yield* LoopbackServer.http(
        serve(Buffer.from("<!doctype html><p>Sign in"), { "content-type": "image/png" })
      )
      const honest = yield* LoopbackServer.http(
        serve(Buffer.from("<!doctype html><p>Sign in"), { "content-type": "text/html" })
      )
      const fetch = RemoteContent.fetch(local)
      assert.strictEqual(yield* reasonOf(fetch({ url: page.url, mediaType: "image/*" })), "ContentError mismatch")
      assert.strictEqual(yield* reasonOf(fetch({ url: honest.url, mediaType: "image/*" })), "ContentError kind")
      assert.strictEqual(yield* reasonOf(fetch({ url: honest.url, mediaType: "image/png" })), "ContentError mismatch")
    })
  )

  it.effect("refuses addresses that are not public, by name, by number and behind a name", () =>
    Effect.gen(function* () {
      const fetch = RemoteContent.fetch({ resolve: () => Effect.succeed(["10.0.0.7"]) })
      for (const url of [
        "http://127.0.0.1/a.png",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/a.png",
        "http://0x7f.1/a.png",
        "http://localhost/a.png",
        "https://files.example.com/a.png"
      ]) {
        assert.strictEqual(yield* reasonOf(fetch({ url })), "HttpRequestError AddressNotAllowed", url)
      }
      assert.strictEqual(yield* reasonOf(fetch({ url: "file:///etc/passwd" })), "HttpRequestError InvalidUrl")
      assert.strictEqual(yield* reasonOf(fetch({ url: "http://a:b@example.com/" })), "HttpRequestError InvalidUrl")
      assert.strictEqual(yield* reasonOf(fetch({ url: "http://example.com:22/" })), "HttpRequestError NotAllowed")
      const own = RemoteContent.fetch({ hosts: ["files.example.com"] })
      assert.strictEqual(yield* reasonOf(own({ url: "https://example.com/" })), "HttpRequestError NotAllowed")
      const wrong = RemoteContent.fetch({ allowPrivate: ["nowhere"] })
      assert.strictEqual(yield* reasonOf(wrong({ url: "https://example.com/" })), "HttpRequestError Configuration")
    })
  )

  it.scopedLive("checks each redirect, and counts them", () =>
    Effect.gen(function* () {
      const towards = yield* LoopbackServer.http((request, response) => {
        const target = request.path === "/private" ? "http://127.0.0.2/" : "/again"
        response.writeHead(302, { location: target })
        response.end()
      })
      const fetch = RemoteContent.fetch({ ...local, maxRedirects: 2 })
      assert.strictEqual(
        yield* reasonOf(fetch({ url: `${towards.url}/private` })),
        "HttpRequestError AddressNotAllowed"
      )
      assert.strictEqual(yield* reasonOf(fetch({ url: `${towards.url}/loop` })), "HttpRequestError TooManyRedirects")
      assert.strictEqual(towards.requests.length, 4)
    })
  )

  it.scopedLive("stops at the limit of bytes, announced or not, and lets no connection live", () =>
    Effect.gen(function* () {
      const announced = yield* LoopbackServer.http((_, response) => {
        response.writeHead(200, { "content-length": String(500 * 1_048_576), "content-type": "image/png" })
        response.write(png)
      })
      const endless = yield* LoopbackServer.http((_, response) => {
        response.writeHead(200, { "content-type": "image/png" })
        const more = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536))) {}
          if (!response.destroyed) response.once("drain", more)
        }
        more()
      })
      const fetch = RemoteContent.fetch({ ...local, maxBytes: 100_000 })
      assert.strictEqual(yield* reasonOf(fetch({ url: announced.url })), "HttpRequestError TooLarge")
      assert.strictEqual(yield* reasonOf(fetch({ url: endless.url })), "HttpRequestError TooLarge")
      yield* announced.closed
      yield* endless.closed
      const small = yield* LoopbackServer.http(serve(png))
      assert.strictEqual((yield* fetch({ url: small.url })).mediaType, "image/png")
    })
  )

  it.scoped("gives up on a server that does not answer", () =>
    Effect.gen(function* () {
      const asked = yield* Effect.makeLatch()
      const silent = yield* LoopbackServer.http(() => Effect.runSync(asked.open))
      const fiber = yield* Effect.fork(
        reasonOf(RemoteContent.fetch({ ...local, timeout: "3 seconds" })({ url: silent.url }))
      )
      yield* asked.await
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(yield* Fiber.join(fiber), "HttpRequestError Timeout")
      yield* silent.closed
    })
  )

  it.scopedLive("takes no answer but 200 for a file", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.http(serve(png, {}, 404))
      const error = yield* Effect.flip(RemoteContent.fetch(local)({ url: `${server.url}/secret?token=t0p` }))
      assert.instanceOf(error, HttpRequestError.HttpRequestError)
      assert.strictEqual((error as HttpRequestError.HttpRequestError).reason, "Status")
      assert.notInclude(JSON.stringify(error), "t0p")
    })
  )
})

describe("RemoteContent.wrap", () => {
  it.scopedLive("gives the bytes in the place of the URL, once for all calls with the message", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.http(serve(png))
      const { calls, client } = recording()
      const wrapped = RemoteContent.wrap(local)(client)
      const request = asking(`${server.url}/a.png`)
      yield* Effect.all([wrapped.complete(request), wrapped.complete(request)], { concurrency: 2 })
      yield* wrapped.complete({ messages: [...request.messages, { role: "user", content: "And now?" }] })
      assert.strictEqual(server.requests.length, 1)
      assert.strictEqual(calls.length, 3)
      for (const messages of calls) {
        assert.deepStrictEqual(messages[1]?.content, [
          { type: "text", text: "What is it?" },
          { type: "file", mediaType: "image/png", data: Buffer.from(png) }
        ] as never)
      }
      assert.strictEqual(calls[0]?.[1], calls[2]?.[1])
    })
  )

  it.scopedLive("sends what has no URL as it is", () =>
    Effect.gen(function* () {
      const { calls, client } = recording()
      const messages: ReadonlyArray<Message> = [
        { role: "user", content: [{ type: "file", mediaType: "image/png", data: png }] }
      ]
      yield* RemoteContent.wrap(local)(client).complete({ messages })
      assert.strictEqual(calls[0], messages)
    })
  )

  it.scopedLive("fails before the call, typed by whether another try may succeed", () =>
    Effect.gen(function* () {
      const { calls, client } = recording()
      const refused = yield* Effect.flip(RemoteContent.wrap()(client).complete(asking("http://10.0.0.1/a.png?key=k3y")))
      assert.strictEqual(refused._tag, "LlmInvalidRequestError")
      assert.include(refused.message, "part 1 of message 1")
      assert.include(refused.message, "not on the public Internet")
      assert.notInclude(JSON.stringify(refused), "k3y")
      const working = yield* LoopbackServer.http(serve(png))
      const server = yield* LoopbackServer.raw((socket) => socket.destroy())
      const broken = yield* Effect.flip(RemoteContent.wrap(local)(client).complete(asking(server.url)))
      assert.strictEqual(broken._tag, "LlmConnectionError")
      assert.isTrue(broken.isRetryable)
      assert.strictEqual(calls.length, 0)
      yield* RemoteContent.wrap(local)(client).complete(asking(working.url))
      assert.strictEqual(calls.length, 1)
    })
  )

  it.scopedLive("tries again after a failure, and after an interruption", () =>
    Effect.gen(function* () {
      let requests = 0
      const asked = yield* Effect.makeLatch()
      const server = yield* LoopbackServer.http((request, response) => {
        requests++
        if (requests === 1) serve(png, {}, 503)(request, response)
        else if (requests === 2) Effect.runSync(asked.open)
        else serve(png)(request, response)
      })
      const { calls, client } = recording()
      const wrapped = RemoteContent.wrap(local)(client)
      const request = asking(server.url)
      yield* Effect.flip(wrapped.complete(request))
      const fiber = yield* Effect.fork(wrapped.complete(request))
      const waiting = yield* Effect.fork(wrapped.complete(request))
      yield* asked.await
      yield* Fiber.interrupt(fiber)
      yield* Fiber.join(waiting)
      assert.strictEqual(requests, 3)
      assert.strictEqual(calls.length, 1)
    })
  )

  it.scopedLive("fetches files of results, and leaves out those that it may not", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.http(serve(png))
      const { calls, client } = recording()
      const files = [
        { mediaType: "image/*", data: { url: `${server.url}/a.png` } },
        { mediaType: "image/*", data: { url: "http://10.0.0.1/b.png" } }
      ]
      const messages: ReadonlyArray<Message> = [
        {
          role: "tool",
          content: [
            {
              type: "tool-result",
              id: "1",
              name: "draw",
              isFailure: false,
              providerExecuted: false,
              result: "two pictures",
              ...ToolFiles.optionsOf(files)
            }
          ]
        }
      ]
      const wrapped = RemoteContent.wrap(local)(client)
      yield* wrapped.complete({ messages })
      yield* wrapped.complete({ messages })
      assert.strictEqual(server.requests.length, 1)
      const [message] = calls[1] ?? []
      if (message?.role !== "tool") return assert.fail("no result")
      const [part] = message.content
      assert.deepStrictEqual(part === undefined ? undefined : ToolFiles.read(part), [
        { type: "file", mediaType: "image/png", data: Buffer.from(png) }
      ] as never)
      assert.strictEqual(part?.result, "two pictures")
    })
  )
})
