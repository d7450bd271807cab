import { inspect } from "node:util"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Tracer from "effect/Tracer"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as VectorCodec from "../../../src/llm/embedding/VectorCodec.js"
import * as Embeddings from "../../../src/provider/embedding/Embeddings.js"
import * as ChatServer from "../../support/ChatServer.js"

const start = (options?: Partial<Embeddings.Options>) =>
  Effect.gen(function* () {
    const server = yield* ChatServer.make
    const embedder = yield* Embeddings.make({ baseUrl: server.baseUrl, model: "m-1", dimensions: 2, ...options })
    return { server, embedder }
  })

const rows = (...embeddings: ReadonlyArray<unknown>) =>
  ChatServer.json({
    object: "list",
    data: embeddings.map((embedding, index) => ({ object: "embedding", index, embedding })),
    usage: { prompt_tokens: 3, total_tokens: 3 }
  })

const scoped = <A, E>(name: string, body: Effect.Effect<A, E, any>) =>
  it.scopedLive(name, () => Effect.provide(body, FetchHttpClient.layer) as Effect.Effect<A, E, never>)

describe("make", () => {
  scoped(
    "asks with key, model and texts, and gives vectors of length 1",
    Effect.gen(function* () {
      const { embedder, server } = yield* start({ apiKey: Redacted.make("key-12345678") })
      yield* server.script(rows([3, 4], [0, -2]))
      assert.deepStrictEqual(yield* embedder.embedMany(["a", "b"]), [Float32Array.of(0.6, 0.8), Float32Array.of(0, -1)])
      const [request] = server.requests
      assert.strictEqual(request!.method, "POST")
      assert.strictEqual(request!.url, "/v1/embeddings")
      assert.strictEqual(request!.headers["authorization"], "Bearer key-12345678")
      assert.strictEqual(request!.headers["content-type"], "application/json")
      assert.deepStrictEqual(request!.body, { model: "m-1", input: ["a", "b"] })
      assert.deepInclude(embedder, { model: "m-1", dimensions: 2 })
    })
  )

  scoped(
    "sends dimensions and encoding where it is told to, and reads base64",
    Effect.gen(function* () {
      const { embedder, server } = yield* start({
        sendDimensions: true,
        encoding: "base64",
        auth: "api-key",
        apiKey: Redacted.make("key-12345678"),
        query: { "api-version": "1" }
      })
      const base64 = VectorCodec.toBase64(Float32Array.of(3, 4))
      yield* server.script(rows(base64, base64.replace(/=+$/, "")))
      const expected = Float32Array.of(0.6, 0.8)
      assert.deepStrictEqual(yield* embedder.embedMany(["a", "b"]), [expected, expected])
      const [request] = server.requests
      assert.deepStrictEqual(request!.body, {
        model: "m-1",
        input: ["a", "b"],
        dimensions: 2,
        encoding_format: "base64"
      })
      assert.strictEqual(request!.url, "/v1/embeddings?api-version=1")
      assert.strictEqual(request!.headers["api-key"], "key-12345678")
      assert.isUndefined(request!.headers["authorization"])
    })
  )

  scoped(
    "vectors go to the texts they say they are of; without a word they are in order",
    Effect.gen(function* () {
      const { embedder, server } = yield* start()
      yield* server.script(
        ChatServer.json({
          data: [
            { index: 1, embedding: [0, 1] },
            { index: 0, embedding: [1, 0] }
          ]
        }),
        ChatServer.json({ data: [{ embedding: [1, 0] }, { embedding: [0, 1] }] })
      )
      const expected = [Float32Array.of(1, 0), Float32Array.of(0, 1)]
      assert.deepStrictEqual(yield* embedder.embedMany(["a", "b"]), expected)
      assert.deepStrictEqual(yield* embedder.embedMany(["a", "b"]), expected)
    })
  )

  scoped(
    "answers that hold something else are errors that say what",
    Effect.gen(function* () {
      const { embedder, server } = yield* start()
      const answers: ReadonlyArray<readonly [ChatServer.Exchange, string]> = [
        [rows([1, 0]), "returned 1 vectors for 2 texts"],
        [rows([1, 0], [1, 0, 0]), "returned vectors of length 3 instead of 2"],
        [rows([1, 0], "AAAA"), "instead of vector 1"],
        [rows([1, 0], "no base64!"), "instead of vector 1"],
        [rows([1, 0], ["1", "0"]), "a number that is not finite"],
        [rows([1, 0], undefined), "returned undefined instead of vector 1"],
        [
          ChatServer.json({
            data: [
              { index: 0, embedding: [1, 0] },
              { index: 0, embedding: [1, 0] }
            ]
          }),
          "without a valid index"
        ],
        [
          ChatServer.json({
            data: [
              { index: 0, embedding: [1, 0] },
              { index: 7, embedding: [1, 0] }
            ]
          }),
          "without a valid index"
        ],
        [ChatServer.json({ data: [{ embedding: [1, 0] }, null] }), "a value that is not a vector"],
        [ChatServer.json({ data: {} }), "an answer without vectors"],
        [ChatServer.json("[]"), "an answer without vectors"],
        [ChatServer.json("<html>"), "The answer is not JSON"],
        [ChatServer.json(""), "The answer is not JSON: (empty)"],
        [ChatServer.json({ error: { message: "the model exploded", type: "server_error" } }), "the model exploded"]
      ]
      for (const [answer, message] of answers) {
        yield* server.script(answer)
        const error = yield* Effect.flip(embedder.embedMany(["a", "b"]))
        assert.instanceOf(error, Embedder.EmbeddingError)
        assert.include(error.message, message)
      }
    })
  )

  scoped(
    "refusals say whether trying again helps, and when",
    Effect.gen(function* () {
      const { embedder, server } = yield* start({ provider: "acme" })
      yield* server.script(
        ChatServer.json({ error: { message: "slow down" } }, { status: 429, headers: { "retry-after": "7" } }),
        ChatServer.json({ error: { message: "no such key" } }, { status: 401 }),
        { status: 503, steps: [] }
      )
      const limited = yield* Effect.flip(embedder.embed("a"))
      assert.deepInclude({ ...limited }, { isRetryable: true, retryAfterMs: 7000 })
      assert.strictEqual(limited.message, "acme: slow down")
      const refused = yield* Effect.flip(embedder.embed("a"))
      assert.isFalse(refused.isRetryable)
      assert.include(refused.hint!, "API key")
      assert.isTrue((yield* Effect.flip(embedder.embed("a"))).isRetryable)
    })
  )

  scoped(
    "splits large calls, cuts long texts, and asks nothing for blank ones",
    Effect.gen(function* () {
      const { embedder, server } = yield* start({ maxBatchSize: 2, maxCharacters: 3 })
      yield* server.script(rows([1, 0], [1, 0]), rows([1, 0]))
      assert.lengthOf(yield* embedder.embedMany(["abcdef", " ", "b", "c\ud800"]), 4)
      assert.deepStrictEqual(
        server.requests.map(({ body }) => body.input),
        [["abc", "b"], ["c\ufffd"]]
      )
    })
  )

  scoped(
    "requests hold 64 texts and 250,000 characters at most unless set, and texts 24,000",
    Effect.gen(function* () {
      const { embedder, server } = yield* start()
      yield* server.script(rows(...Array.from({ length: 64 }, () => [1, 0])), rows([1, 0]))
      yield* embedder.embedMany(Array.from({ length: 65 }, (_, n) => `t${n}`))
      yield* server.script(rows(...Array.from({ length: 10 }, () => [1, 0])), rows([1, 0]))
      yield* embedder.embedMany(Array.from({ length: 11 }, (_, n) => `${n} ${"x".repeat(30_000)}`))
      assert.deepStrictEqual(
        server.requests.map(({ body }) => body.input.length),
        [64, 1, 10, 1]
      )
      assert.lengthOf(server.requests[2]!.body.input[0], 24_000)
    })
  )

  scoped(
    "neither key nor header nor trace leaves by errors, spans or requests",
    Effect.gen(function* () {
      const secret = "sk-this-is-the-key-0123456789"
      const spans: Array<string> = []
      const tracer = Tracer.make({
        span: (name, parent, context, links, startTime, kind) => {
          spans.push(name)
          return {
            _tag: "Span",
            name,
            spanId: "s",
            traceId: "t",
            parent,
            context,
            links,
            kind,
            sampled: true,
            status: { _tag: "Started", startTime },
            attributes: new Map(),
            end: () => {},
            attribute: () => {},
            event: () => {},
            addLinks: () => {}
          }
        },
        context: (f) => f()
      })
      const { embedder, server } = yield* start({
        apiKey: Redacted.make(secret),
        headers: { "x-token": "another-secret-1" }
      })
      yield* server.script(
        ChatServer.json({ error: { message: `bad key ${secret} another-secret-1` } }, { status: 401 }),
        ChatServer.json(`garbage ${secret}`),
        { before: [ChatServer.cut] }
      )
      for (const _ of [1, 2, 3]) {
        const error = yield* embedder.embed("a").pipe(Effect.flip, Effect.withSpan("test"), Effect.withTracer(tracer))
        const text = [
          JSON.stringify(error),
          JSON.stringify(Schema.encodeSync(Embedder.EmbeddingError)(error)),
          Cause.pretty(Cause.fail(error), { renderErrorCause: true }),
          inspect(error, { depth: 20, showHidden: true })
        ].join()
        assert.notInclude(text, secret)
        assert.notInclude(text, "another-secret-1")
      }
      assert.deepStrictEqual(spans, ["test", "test", "test"])
      for (const { headers } of server.requests) assert.notProperty(headers, "traceparent")
    })
  )

  scoped(
    "options that cannot work are refused before anything is asked",
    Effect.gen(function* () {
      for (const options of [
        { baseUrl: "nowhere" },
        { baseUrl: "ftp://127.0.0.1" },
        { baseUrl: "http://user:password@127.0.0.1" },
        { headers: { "bad name": "x" } },
        { headers: { name: "bad\nvalue" } },
        { dimensions: 0 },
        { dimensions: 1.5 }
      ]) {
        const error = yield* Effect.flip(
          Embeddings.make({ baseUrl: "http://127.0.0.1:1/v1", model: "m", dimensions: 2, ...options })
        )
        assert.strictEqual(error._tag, "LlmConfigurationError")
        assert.notInclude(JSON.stringify(error), "password@")
      }
    })
  )

  scoped(
    "is a layer, and takes a base URL that ends in its path",
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      yield* server.script(rows([1, 0]))
      const layer = Embeddings.layer({ baseUrl: `${server.baseUrl}/embeddings/`, model: "m", dimensions: 2 })
      assert.deepStrictEqual(yield* Effect.provide(Embedder.embed("a"), layer), Float32Array.of(1, 0))
      assert.strictEqual(server.requests[0]!.url, "/v1/embeddings")
    })
  )
})
