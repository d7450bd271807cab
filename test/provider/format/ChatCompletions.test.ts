import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import * as IdGenerator from "../../../src/domain/IdGenerator.js"
import type { LlmPart, LlmRequest } from "../../../src/llm/model/LlmClient.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as LlmError from "../../../src/llm/model/LlmError.js"
import * as LlmGateway from "../../../src/llm/model/LlmGateway.js"
import * as ChatCompletions from "../../../src/provider/format/ChatCompletions.js"
import * as ChatServer from "../../support/ChatServer.js"
import * as Transports from "../../support/Transports.js"

const hello: LlmRequest = { messages: [{ role: "user", content: "Hi" }] }

const whole = (message: unknown = { role: "assistant", content: "Hello" }, rest: object = {}) => ({
  id: "c-1",
  model: "m-1",
  choices: [{ index: 0, message, finish_reason: "stop" }],
  ...rest
})
const delta = (value: unknown, finish: string | null = null) =>
  ChatServer.event({ id: "c-1", model: "m-1", choices: [{ index: 0, delta: value, finish_reason: finish }] })
const done = ChatServer.event("[DONE]")

const start = (options?: Partial<ChatCompletions.Options>) =>
  Effect.gen(function* () {
    const server = yield* ChatServer.make
    const client = yield* ChatCompletions.make({ baseUrl: server.baseUrl, model: "m-1", ...options })
    return { server, client }
  })

const eventLoopTurn = Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))

/** A streamed call, its parts by batch. */
const collect = (client: LlmClient.Service, request: LlmRequest = hello) =>
  Effect.gen(function* () {
    const batches: Array<ReadonlyArray<LlmPart>> = []
    const response = yield* client.complete(request, {
      onParts: (parts) => Effect.sync(() => void batches.push(parts))
    })
    return { response, batches, parts: batches.flat() }
  })

describe.each(Transports.all)("over $transport", ({ layer: http }) => {
  it.scoped("completes, and sends key, model and body", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start({ apiKey: Redacted.make("key-12345678"), provider: "acme" })
      yield* server.script(ChatServer.json(whole()))
      const response = yield* client.complete(hello)
      assert.strictEqual(LlmClient.text(response), "Hello")
      assert.strictEqual(response.provider, "acme")
      const [request] = server.requests
      assert.strictEqual(request!.method, "POST")
      assert.strictEqual(request!.url, "/v1/chat/completions")
      assert.strictEqual(request!.headers["authorization"], "Bearer key-12345678")
      assert.strictEqual(request!.headers["content-type"], "application/json")
      assert.deepStrictEqual(request!.body, { model: "m-1", messages: [{ role: "user", content: "Hi" }] })
    }).pipe(Effect.provide(http))
  )

  it.scoped("delivers parts while the answer is still being written", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const seen = yield* Deferred.make<void>()
      yield* server.script(
        ChatServer.sse([
          delta({ role: "assistant", content: "one" }),
          ChatServer.wait(Deferred.await(seen)),
          delta({ content: " two" }, "stop"),
          done
        ])
      )
      const texts: Array<string> = []
      const response = yield* client.complete(hello, {
        onParts: (parts) =>
          Effect.suspend(() => {
            for (const part of parts) if (part.type === "text-delta") texts.push(part.delta)
            return texts.length > 0 ? Deferred.succeed(seen, undefined) : Effect.void
          })
      })
      assert.deepStrictEqual(texts, ["one", " two"])
      assert.strictEqual(LlmClient.text(response), "one two")
      assert.isTrue(server.requests[0]!.body.stream)
    }).pipe(Effect.provide(http))
  )

  it.scoped("delivers the parts of one socket chunk together", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(
        ChatServer.sse([delta({ content: "a" }) + delta({ content: "b" }) + delta({ content: "c" }, "stop") + done])
      )
      const { batches } = yield* collect(client)
      const [first] = batches
      assert.deepStrictEqual(
        first!.map((part) => part.type),
        ["response-metadata", "text-start", "text-delta", "text-delta", "text-delta"]
      )
    }).pipe(Effect.provide(http))
  )

  it.scoped("closes the request when it is interrupted midway, even while parts are consumed", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(
        ChatServer.sse([delta({ content: "a" }), ChatServer.hang]),
        ChatServer.sse([delta({ content: "a" }), ChatServer.hang])
      )
      for (const n of [1, 2]) {
        const seen = yield* Deferred.make<void>()
        const fiber = yield* Effect.fork(
          client.complete(hello, {
            onParts: () => Effect.zipRight(Deferred.succeed(seen, undefined), n === 1 ? Effect.void : Effect.never)
          })
        )
        yield* Deferred.await(seen)
        yield* Fiber.interrupt(fiber)
        yield* server.left(n)
      }
      assert.strictEqual(server.open(), 0)
    }).pipe(Effect.provide(http))
  )

  it.scoped("closes the request when the derived stream is abandoned", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(ChatServer.sse([delta({ content: "a" }), ChatServer.hang]))
      const parts = yield* LlmGateway.stream(hello).pipe(
        Stream.take(1),
        Stream.runCollect,
        Effect.provideService(LlmClient.LlmClient, client)
      )
      assert.strictEqual(parts.length, 1)
      yield* server.left(1)
    }).pipe(Effect.provide(http))
  )

  it.scoped("waits for the end of the connection after [DONE], so that it can be reused", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      for (let n = 0; n < 3; n++) {
        const finished = yield* Deferred.make<void>()
        const gate = yield* Deferred.make<void>()
        yield* server.script(
          ChatServer.sse([delta({ content: "a" }, "stop"), done, ChatServer.wait(Deferred.await(gate))])
        )
        const fiber = yield* Effect.fork(
          client.complete(hello, {
            onParts: (parts) =>
              parts.some((part) => part.type === "finish") ? Deferred.succeed(finished, undefined) : Effect.void
          })
        )
        yield* Deferred.await(finished)
        for (let turn = 0; turn < 5; turn++) yield* eventLoopTurn
        assert.isNull(fiber.unsafePoll())
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(fiber)
      }
      assert.strictEqual(server.requests.length, 3)
      assert.strictEqual(server.abandoned(), 0)
    }).pipe(Effect.provide(http))
  )

  it.scoped("reports a cut answer and a refused connection as connection errors", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(
        { before: [ChatServer.cut] },
        {
          headers: { "content-type": "application/json", "content-length": "500" },
          steps: [ChatServer.write("{"), ChatServer.cut]
        },
        ChatServer.sse([delta({ content: "a" }), ChatServer.cut])
      )
      const first = yield* Effect.flip(client.complete(hello))
      const second = yield* Effect.flip(client.complete(hello))
      const third = yield* Effect.flip(collect(client))
      for (const error of [first, second, third]) assert.strictEqual(error._tag, "LlmConnectionError")
      const closed = yield* Effect.scoped(Effect.map(ChatServer.make, (gone) => gone.baseUrl))
      const refused = yield* ChatCompletions.make({ baseUrl: closed, model: "m" })
      const error = yield* Effect.flip(refused.complete(hello))
      assert.strictEqual(error._tag, "LlmConnectionError")
      assert.strictEqual(error.message, `${new URL(closed).host} refused the connection`)
    }).pipe(Effect.provide(http))
  )

  it.scoped("shows no key in any failure", () =>
    Effect.gen(function* () {
      const secrets = ["key-top/secret+1", "header-secret-2", "plain-secret-3", "query-secret-4"]
      const { client, server } = yield* start({
        apiKey: Redacted.make(secrets[0]!),
        headers: { "x-proxy": Redacted.make(secrets[1]!), "x-auth-token": secrets[2]! },
        query: { key: Redacted.make(secrets[3]!) }
      })
      const echo = secrets.join(" and ")
      yield* server.script(
        ChatServer.json({ error: { message: `bad key ${echo}` } }, { status: 401, headers: { "x-request-id": echo } }),
        ChatServer.json({ error: echo }, { status: 400 }),
        ChatServer.json(`<html>${echo}</html>`, { status: 500 }),
        ChatServer.json({ error: { message: echo } }),
        ChatServer.json(`not json ${echo}`),
        { before: [ChatServer.cut] },
        ChatServer.sse([`data: ${echo}\n\n`]),
        ChatServer.sse([`event: error\ndata: ${echo}\n\n`]),
        ChatServer.sse([delta({ content: "x" })]),
        ChatServer.sse([delta({ content: "x" }), ChatServer.cut])
      )
      const failures = []
      for (let n = 0; n < 10; n++)
        failures.push(
          yield* Effect.exit(n < 6 ? Effect.asVoid(client.complete(hello)) : Effect.asVoid(collect(client)))
        )
      const closed = yield* Effect.scoped(Effect.map(ChatServer.make, (gone) => gone.baseUrl))
      const refused = yield* ChatCompletions.make({
        baseUrl: closed,
        model: "m",
        apiKey: Redacted.make(secrets[0]!),
        query: { key: secrets[3]! }
      })
      failures.push(yield* Effect.exit(Effect.asVoid(refused.complete(hello))))
      assert.strictEqual(failures.length, 11)
      assert.include(server.requests[0]!.url, secrets[3]!)
      for (const exit of failures) {
        assert.isTrue(Exit.isFailure(exit))
        if (!Exit.isFailure(exit)) continue
        const error = yield* Effect.flip(exit)
        const shown = [
          JSON.stringify(error),
          JSON.stringify(Schema.encodeSync(LlmError.LlmError)(error)),
          Cause.pretty(exit.cause, { renderErrorCause: true }),
          String(error),
          String(error.stack),
          JSON.stringify(exit)
        ].join("\n")
        for (const secret of secrets) {
          assert.notInclude(shown, secret)
          assert.notInclude(shown, encodeURIComponent(secret))
        }
        assert.notMatch(shown, /authorization/i)
      }
    }).pipe(Effect.provide(http))
  )
})

describe("ChatCompletions", () => {
  const test = (name: string, body: Effect.Effect<unknown, unknown, HttpClient.HttpClient | Scope.Scope>) =>
    it.scoped(name, () => body.pipe(Effect.provide(NodeHttpClient.layer)))

  const failing = (
    exchange: ChatServer.Exchange,
    options?: Partial<ChatCompletions.Options> & { readonly stream?: boolean }
  ) =>
    Effect.gen(function* () {
      const { client, server } = yield* start(options)
      yield* server.script(exchange)
      return yield* Effect.flip(
        options?.stream === true ? Effect.asVoid(collect(client)) : Effect.asVoid(client.complete(hello))
      )
    })

  describe("options", () => {
    test(
      "shape the request",
      Effect.gen(function* () {
        const server = yield* ChatServer.make
        yield* server.script(...Array.from({ length: 3 }, () => ChatServer.json(whole())))
        const azure = yield* ChatCompletions.make({
          baseUrl: `${server.origin}/openai/deployments/d/?a=1`,
          apiKey: Redacted.make(" azure-key\n"),
          auth: "api-key",
          query: { "api-version": "2024-10-21" },
          headers: { "X-Title": "t", "x-secret": Redacted.make("s") },
          model: "m-1"
        })
        yield* azure.complete(hello)
        const [first] = server.requests
        assert.strictEqual(first!.url, "/openai/deployments/d/chat/completions?a=1&api-version=2024-10-21")
        assert.strictEqual(first!.headers["api-key"], "azure-key")
        assert.notProperty(first!.headers, "authorization")
        assert.strictEqual(first!.headers["x-title"], "t")
        assert.strictEqual(first!.headers["x-secret"], "s")
        const full = yield* ChatCompletions.make({
          baseUrl: `${server.baseUrl}/chat/completions`,
          headers: { authorization: "Custom x" },
          apiKey: Redacted.make("ignored"),
          model: "m-1",
          settings: { temperature: 0.2, seed: 1 },
          dialect: { maxTokensField: "max_completion_tokens" }
        })
        yield* full.complete({ ...hello, settings: { seed: 2, maxTokens: 5 } })
        const second = server.requests[1]!
        assert.strictEqual(second.url, "/v1/chat/completions")
        assert.strictEqual(second.headers["authorization"], "Custom x")
        assert.strictEqual(second.body.temperature, 0.2)
        assert.strictEqual(second.body.seed, 2)
        assert.strictEqual(second.body.max_completion_tokens, 5)
        const keyless = yield* ChatCompletions.make({ baseUrl: server.baseUrl, model: "m-1" })
        yield* keyless.complete(hello)
        assert.notProperty(server.requests[2]!.headers, "authorization")
      })
    )

    test(
      "name the default model, which the request's overrides",
      Effect.gen(function* () {
        const { client, server } = yield* start({ model: "default" })
        yield* server.script(ChatServer.json(whole()), ChatServer.json(whole()))
        yield* client.complete(hello)
        yield* client.complete({ ...hello, settings: { model: "asked" } })
        assert.deepStrictEqual(
          server.requests.map((request) => request.body.model),
          ["default", "asked"]
        )
        assert.strictEqual(client.model, "default")
        assert.strictEqual(client.provider, "openai-compatible")
      })
    )

    test(
      "send nothing without a model and say what to do",
      Effect.gen(function* () {
        const server = yield* ChatServer.make
        const client = yield* ChatCompletions.make({ baseUrl: server.baseUrl })
        assert.isUndefined(client.model)
        const error = yield* Effect.flip(client.complete(hello))
        assert.strictEqual(error._tag, "LlmInvalidRequestError")
        assert.include(error.hint, "model")
        assert.strictEqual(server.requests.length, 0)
      })
    )

    test(
      "fail every call when invalid, without showing their values",
      Effect.gen(function* () {
        const broken: ReadonlyArray<Partial<ChatCompletions.Options>> = [
          { baseUrl: "nowhere" },
          { baseUrl: "ftp://host/v1" },
          { baseUrl: "http://user:topsecret@host/v1" },
          { apiKey: Redacted.make("top\nsecret") },
          { headers: { "x-a": "top\u0000secret" } },
          { headers: { "x topsecret": "a" } }
        ]
        for (const options of broken) {
          const client = yield* ChatCompletions.make({ baseUrl: "http://127.0.0.1:1", model: "m", ...options })
          const error = yield* Effect.flip(client.complete(hello))
          assert.strictEqual(error._tag, "LlmInvalidRequestError")
          assert.notMatch(JSON.stringify(error), /top|secret/)
        }
      })
    )

    test(
      "reject anything but plain data",
      Effect.gen(function* () {
        const { client, server } = yield* start()
        const round: { self?: unknown } = {}
        round.self = round
        for (const value of [round, 1n]) {
          const error = yield* Effect.flip(client.complete({ ...hello, settings: { providerOptions: { value } } }))
          assert.strictEqual(error._tag, "LlmInvalidRequestError")
        }
        assert.strictEqual(server.requests.length, 0)
      })
    )

    it.scoped("make a layer", () =>
      Effect.gen(function* () {
        const server = yield* ChatServer.make
        yield* server.script(ChatServer.json(whole()))
        const layer = ChatCompletions.layer({ baseUrl: server.baseUrl, model: "m" }).pipe(
          Layer.provide(FetchHttpClient.layer)
        )
        const response = yield* Effect.provide(LlmGateway.complete(hello), layer)
        assert.strictEqual(LlmClient.text(response), "Hello")
      })
    )
  })

  describe("failures", () => {
    test(
      "are typed by the server's answer",
      Effect.gen(function* () {
        const cases = [
          [ChatServer.json({ error: { message: "bad key" } }, { status: 401 }), "LlmAuthenticationError"],
          [ChatServer.json({ error: { message: "slow" } }, { status: 429 }), "LlmRateLimitError"],
          [ChatServer.json({ error: { message: "oops" } }, { status: 500 }), "LlmUnavailableError"],
          [ChatServer.json("", { status: 503 }), "LlmUnavailableError"],
          [{ status: 302, headers: { location: "/elsewhere" } }, "LlmInvalidRequestError"],
          [ChatServer.json({ error: { message: "full", code: 429 } }), "LlmRateLimitError"],
          [ChatServer.json("{nope"), "LlmMalformedResponseError"],
          [ChatServer.json(""), "LlmMalformedResponseError"],
          [{ status: 204 }, "LlmMalformedResponseError"],
          [ChatServer.json("null"), "LlmMalformedResponseError"],
          [ChatServer.json({ choices: [] }), "LlmMalformedResponseError"]
        ] as const
        for (const [exchange, tag] of cases) {
          const error = yield* failing(exchange)
          assert.strictEqual(error._tag, tag, JSON.stringify(exchange))
          assert.strictEqual(error.model, "m-1")
        }
      })
    )

    test(
      "carry the delay, the status and the request id",
      Effect.gen(function* () {
        const limited = yield* failing(
          ChatServer.json(
            { error: { message: "slow" } },
            { status: 429, headers: { "retry-after": "3", "x-request-id": "r-1" } }
          )
        )
        assert.strictEqual(limited._tag === "LlmRateLimitError" ? limited.retryAfterMs : undefined, 3000)
        assert.strictEqual(limited.status, 429)
        assert.strictEqual(limited.requestId, "r-1")
        const empty = yield* failing(ChatServer.json({ choices: [] }, { headers: { "x-request-id": "r-2" } }))
        assert.strictEqual(empty.requestId, "r-2")
        assert.strictEqual(empty.status, 200)
      })
    )

    test(
      "keep a short excerpt of an answer that is not JSON",
      Effect.gen(function* () {
        const error = yield* failing(ChatServer.json(`<!doctype html>\n${"x".repeat(100_000)}`))
        assert.match(error.message, /^The answer is not JSON: <!doctype html> x+/)
        assert.isAtMost(error.message.length, 300)
        assert.isTrue((error as LlmError.LlmMalformedResponseError).isRetryable)
      })
    )

    test(
      "of a stream come after the parts before them",
      Effect.gen(function* () {
        const cases = [
          [[ChatServer.event({ error: { message: "overloaded", type: "overloaded_error" } })], "LlmUnavailableError"],
          [["event: error\ndata: rate limit reached\n\n"], "LlmRateLimitError"],
          [
            [
              'error: {"code":400,"message":"exceeds the available context size","type":"exceed_context_size_error"}\n\n'
            ],
            "LlmContextOverflowError"
          ],
          [['{"error":{"message":"invalid api key"}}\n\n'], "LlmAuthenticationError"],
          [["data: {broken\n\n"], "LlmMalformedResponseError"],
          [[], "LlmMalformedResponseError"]
        ] as const
        for (const [steps, tag] of cases) {
          const { client, server } = yield* start()
          yield* server.script(ChatServer.sse([delta({ content: "a" }), ...steps]))
          const texts: Array<string> = []
          const error = yield* Effect.flip(
            client.complete(hello, {
              onParts: (parts) =>
                Effect.sync(() => {
                  for (const part of parts) if (part.type === "text-delta") texts.push(part.delta)
                  assert.isFalse(parts.some((part) => part.type === "finish"))
                })
            })
          )
          assert.strictEqual(error._tag, tag)
          assert.deepStrictEqual(texts, ["a"])
        }
      })
    )

    test(
      "of an empty stream name the request",
      Effect.gen(function* () {
        const error = yield* failing(ChatServer.sse([": hi\n\n", done], { headers: { "x-request-id": "r-3" } }), {
          stream: true
        })
        assert.strictEqual(error._tag, "LlmMalformedResponseError")
        assert.strictEqual(error.requestId, "r-3")
        assert.strictEqual((yield* failing(ChatServer.sse([]), { stream: true }))._tag, "LlmMalformedResponseError")
      })
    )

    test(
      "come from answers, events and error bodies that are too long",
      Effect.gen(function* () {
        const long = ChatServer.json(whole({ content: "x".repeat(5000) }))
        const error = yield* failing(long, { maxResponseBytes: 4000 })
        assert.strictEqual(error._tag, "LlmMalformedResponseError")
        assert.include(error.message, "4000 bytes")
        const stream = ChatServer.sse([...Array.from({ length: 100 }, () => delta({ content: "x".repeat(50) }))])
        assert.include((yield* failing(stream, { maxResponseBytes: 4000, stream: true })).message, "4000 bytes")
        const line = ChatServer.sse([`data: ${"x".repeat(3000)}`, "x".repeat(3000), ChatServer.hang])
        assert.include((yield* failing(line, { maxEventLength: 4000, stream: true })).message, "4000 characters")
        const refused = yield* failing({ status: 500, steps: [ChatServer.write("y".repeat(400_000)), ChatServer.hang] })
        assert.strictEqual(refused._tag, "LlmUnavailableError")
      })
    )

    test(
      "do not keep a connection open",
      Effect.gen(function* () {
        const { client, server } = yield* start({ maxResponseBytes: 1000 })
        yield* server.script(ChatServer.sse([delta({ content: "x".repeat(2000) }), ChatServer.hang]))
        yield* Effect.flip(collect(client))
        yield* server.left(1)
        assert.strictEqual(server.open(), 0)
      })
    )
  })

  describe("streams", () => {
    test(
      "take usage from a chunk without choices, and need no [DONE] after a finish",
      Effect.gen(function* () {
        const { client, server } = yield* start()
        const usage = ChatServer.event({
          choices: [],
          usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }
        })
        yield* server.script(
          ChatServer.sse([delta({ content: "a" }), delta({}, "stop"), usage, done]),
          ChatServer.sse([delta({ content: "a" }, "stop")]),
          ChatServer.sse([delta({ content: "a" }, "stop"), ChatServer.cut])
        )
        const { parts, response } = yield* collect(client)
        assert.deepStrictEqual(response.usage, { inputTokens: 3, outputTokens: 1, totalTokens: 4 })
        assert.deepStrictEqual(parts[parts.length - 1], { type: "finish", reason: "stop", usage: response.usage })
        assert.strictEqual((yield* collect(client)).response.finishReason, "stop")
        assert.strictEqual((yield* collect(client)).response.finishReason, "stop")
      })
    )

    it.effect("show neither the request nor what a failed connection quotes of it", () =>
      Effect.gen(function* () {
        const secret = "key-12345678"
        const quoting = () => new Error(`Headers.append: "${secret}" is an invalid header value`)
        const failures: ReadonlyArray<() => Promise<Response>> = [
          () => Promise.reject(quoting()),
          () =>
            Promise.resolve(
              new Response(new ReadableStream({ pull: (controller) => controller.error(quoting()) }), {
                headers: { "content-type": "text/event-stream" }
              })
            )
        ]
        for (const fetch of failures) {
          const client = yield* ChatCompletions.make({
            baseUrl: "http://127.0.0.1",
            model: "m",
            apiKey: Redacted.make(secret)
          }).pipe(Effect.provide(Layer.provide(FetchHttpClient.layer, Layer.succeed(FetchHttpClient.Fetch, fetch))))
          const error = yield* Effect.flip(collect(client))
          assert.strictEqual(error._tag, "LlmConnectionError")
          assert.include(JSON.stringify(error), "[REDACTED]")
          assert.notInclude(JSON.stringify(error), secret)
        }
      })
    )

    test(
      "are complete with [DONE], even without a finish reason",
      Effect.gen(function* () {
        const { client, server } = yield* start()
        yield* server.script(ChatServer.sse([delta({ content: "a" }), done]))
        assert.strictEqual((yield* collect(client)).response.finishReason, "unknown")
      })
    )

    it.scopedLive("do not wait long for a server that leaves the connection open after [DONE]", () =>
      Effect.gen(function* () {
        const { client, server } = yield* start()
        yield* server.script(ChatServer.sse([delta({ content: "a" }, "stop"), done, ChatServer.hang]))
        const finished = yield* Deferred.make<void>()
        const fiber = yield* Effect.fork(
          client.complete(hello, {
            onParts: (parts) =>
              parts.some((part) => part.type === "finish") ? Deferred.succeed(finished, undefined) : Effect.void
          })
        )
        yield* Deferred.await(finished)
        assert.strictEqual(LlmClient.text(yield* Fiber.join(fiber)), "a")
        yield* server.left(1)
      }).pipe(Effect.provide(NodeHttpClient.layer))
    )

    test(
      "survive CRLF, comments, missing empty lines, and split characters",
      Effect.gen(function* () {
        const { client, server } = yield* start()
        const bytes = new TextEncoder().encode(delta({ content: "héé😀" }))
        yield* server.script(
          ChatServer.sse([
            ": OPENROUTER PROCESSING\r\n\r\n",
            delta({ content: "a" }, "stop").replace(/\n/g, "\r\n"),
            done
          ]),
          ChatServer.sse([
            delta({ content: "a" }).trimEnd(),
            "\n",
            delta({ content: "b" }, "stop").trimEnd(),
            "\n",
            done
          ]),
          ChatServer.sse([...Array.from(bytes, (byte) => new Uint8Array([byte])), delta({}, "stop"), done])
        )
        assert.strictEqual(LlmClient.text((yield* collect(client)).response), "a")
        assert.strictEqual(LlmClient.text((yield* collect(client)).response), "ab")
        assert.strictEqual(LlmClient.text((yield* collect(client)).response), "héé😀")
      })
    )

    test(
      "are read in place of JSON, and JSON in place of a stream",
      Effect.gen(function* () {
        const { client, server } = yield* start()
        yield* server.script(ChatServer.sse([delta({ content: "a" }, "stop"), done]), ChatServer.json(whole()))
        assert.strictEqual(LlmClient.text(yield* client.complete(hello)), "a")
        const { parts, response } = yield* collect(client)
        assert.strictEqual(LlmClient.text(response), "Hello")
        assert.deepStrictEqual(
          parts.map((part) => part.type),
          ["response-metadata", "text-start", "text-delta", "text-end", "finish"]
        )
      })
    )

    test(
      "return tool calls whole, with made-up ids if the server has none",
      Effect.gen(function* () {
        const { client, server } = yield* start()
        const call = (index: number, name: string | undefined, text: string) =>
          delta({ tool_calls: [{ index, function: { ...(name === undefined ? {} : { name }), arguments: text } }] })
        yield* server.script(
          ChatServer.sse([
            call(0, "f", '{"x'),
            call(1, "g", ""),
            call(0, undefined, '":1}'),
            call(1, undefined, "{}"),
            delta({}, "stop"),
            done
          ])
        )
        const { parts, response } = yield* collect(client).pipe(Effect.provide(IdGenerator.layerSequential()))
        assert.deepStrictEqual(
          LlmClient.toolCalls(response).map(({ id, name, params }) => ({ id, name, params })),
          [
            { id: "call_0_id000000001", name: "f", params: { x: 1 } },
            { id: "call_1_id000000001", name: "g", params: {} }
          ]
        )
        assert.strictEqual(response.finishReason, "tool-calls")
        assert.deepStrictEqual(
          parts.flatMap((part) => (part.type === "tool-call" ? [part.id] : [])),
          ["call_0_id000000001", "call_1_id000000001"]
        )
      })
    )

    test(
      "give the same answer for any split of the bytes",
      Effect.gen(function* () {
        const text = [
          ": comment\n\n",
          delta({ reasoning_content: "Ü" }),
          delta({ content: "é😀" }),
          delta({ tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: '{"ü":' } }] }),
          delta({ tool_calls: [{ index: 1, id: "b", function: { name: "g", arguments: "{}" } }] }).replace(
            /\n/g,
            "\r\n"
          ),
          delta({ tool_calls: [{ index: 0, function: { arguments: "1}" } }] }),
          delta({}, "tool_calls"),
          ChatServer.event({ choices: [], usage: { prompt_tokens: 1 } }),
          done
        ].join("")
        const bytes = new TextEncoder().encode(text)
        const run = (chunks: ReadonlyArray<Uint8Array>) =>
          Effect.gen(function* () {
            const response = new Response(
              new ReadableStream({
                start: (controller) => {
                  for (const chunk of chunks) controller.enqueue(chunk)
                  controller.close()
                }
              }),
              { headers: { "content-type": "text/event-stream" } }
            )
            const fetch = Layer.succeed(FetchHttpClient.Fetch, () => Promise.resolve(response))
            const client = yield* ChatCompletions.make({ baseUrl: "http://127.0.0.1", model: "m" }).pipe(
              Effect.provide(FetchHttpClient.layer.pipe(Layer.provide(fetch)))
            )
            const { parts, response: answer } = yield* collect(client)
            return { parts, answer }
          })
        const expected = yield* run([bytes])
        assert.strictEqual(LlmClient.toolCalls(expected.answer).length, 2)
        yield* Effect.promise(() =>
          FastCheck.assert(
            FastCheck.asyncProperty(FastCheck.array(FastCheck.nat(bytes.length), { maxLength: 30 }), (cuts) => {
              const points = Array.from(new Set([0, ...cuts, bytes.length])).sort((a, b) => a - b)
              const chunks = points.slice(1).map((point, index) => bytes.slice(points[index], point))
              return Effect.runPromise(Effect.map(run(chunks), (actual) => assert.deepStrictEqual(actual, expected)))
            })
          )
        )
      })
    )
  })

  test(
    "sends no trace to the provider, and nothing of the request to the trace",
    Effect.gen(function* () {
      const { client, server } = yield* start({ apiKey: Redacted.make("key-12345678"), auth: "api-key" })
      yield* server.script(ChatServer.json(whole()))
      const names: Array<string> = []
      const tracer = Tracer.make({
        span: (name, parent, context, links, startTime, kind) => {
          names.push(name)
          const attributes = new Map<string, unknown>()
          return {
            _tag: "Span",
            name,
            spanId: "0000000000000001",
            traceId: "00000000000000000000000000000001",
            parent,
            context,
            status: { _tag: "Started", startTime },
            attributes,
            links,
            sampled: true,
            kind,
            end: () => undefined,
            attribute: (key, value) => void attributes.set(key, value),
            event: () => undefined,
            addLinks: () => undefined
          }
        },
        context: (f) => f()
      })
      yield* client.complete(hello).pipe(Effect.withSpan("outer"), Effect.withTracer(tracer))
      assert.deepStrictEqual(names, ["outer"])
      const headers = Object.keys(server.requests[0]!.headers)
      for (const name of ["traceparent", "b3", "x-b3-traceid"]) assert.notInclude(headers, name)
    })
  )
})
