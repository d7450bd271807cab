import * as Fs from "node:fs/promises"
import * as Os from "node:os"
import * as Path from "node:path"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as Embeddings from "../../../src/provider/embedding/Embeddings.js"
import * as ChatCompletions from "../../../src/provider/format/ChatCompletions.js"
import * as Cassette from "../../../src/testing/cassette/Cassette.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as LoopbackServer from "../../support/LoopbackServer.js"

const KEY = "a-key-that-nothing-recognizes-by-its-shape"

const folder = Effect.acquireRelease(
  Effect.promise(() => Fs.mkdtemp(Path.join(Os.tmpdir(), "cassette-"))),
  (path) => Effect.promise(() => Fs.rm(path, { recursive: true }))
)

const textOf = (file: string) => Effect.promise(() => Fs.readFile(file, "utf8"))

const given = (variables: Record<string, string>) =>
  Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(variables))))

const outside = Effect.provide([FetchHttpClient.layer, NodeFileSystem.layer])

/** Uses a client of a cassette, and closes the cassette. */
const using = <A, E>(
  options: Cassette.Options,
  use: (client: HttpClient.HttpClient) => Effect.Effect<A, E, never>,
  variables: Record<string, string> = {}
) => Effect.scoped(Effect.flatMap(Cassette.make(options), use)).pipe(outside, given(variables))

const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  HttpClientRequest.post(url, { headers }).pipe(HttpClientRequest.bodyUnsafeJson(body))

const json = (client: HttpClient.HttpClient, request: HttpClientRequest.HttpClientRequest) =>
  Effect.flatMap(client.execute(request), (response) => response.json)

const messageOf = (exit: Exit.Exit<unknown, unknown>): string => (Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "")

/** Answers with what it was asked and how often it was asked. */
const echo = Effect.map(
  Effect.suspend(() => {
    let asked = 0
    return LoopbackServer.http(({ body }, response) => {
      response.writeHead(200, { "content-type": "application/json", "set-cookie": "session=of-mine" })
      response.end(JSON.stringify({ asked: ++asked, body: JSON.parse(body) }))
    })
  }),
  (server) => ({ ...server, v1: `${server.url}/v1` })
)

/** A server of the chat-completions API that calls a tool and then answers in pieces. */
const provider = LoopbackServer.http(({ body, path }, response) => {
  if (path.endsWith("/embeddings")) {
    response.writeHead(200, { "content-type": "application/json" })
    return response.end(JSON.stringify({ data: [{ index: 0, embedding: [0.25, -0.5] }], usage: { total_tokens: 3 } }))
  }
  const { messages } = JSON.parse(body)
  const isAnswered = messages.at(-1).role === "tool"
  const deltas = isAnswered
    ? [{ content: "It is " }, { content: "12 degrees" }, { content: " in Oslo." }]
    : [{ tool_calls: [{ index: 0, id: "call_1", function: { name: "weather", arguments: '{"city":"Oslo"}' } }] }]
  response.writeHead(200, { "content-type": "text/event-stream" })
  for (const delta of deltas) response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`)
  const reason = isAnswered ? "stop" : "tool_calls"
  response.end(
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: reason }] })}\n\ndata: [DONE]\n\n`
  )
  return undefined
})

const weather = Tool.make("weather", {
  description: "The weather of a city",
  parameters: Schema.Struct({ city: Schema.String }),
  success: Schema.String,
  handler: ({ city }) => Effect.succeed(`12 degrees in ${city}`)
})

const agent = Agent.make("helper", { system: "You know the weather.", tools: [weather] })

describe("Cassette", () => {
  for (const name of ["run.yaml", "run.json", "run.jsonl"]) {
    it.scopedLive(`records the run of an agent in ${name}, and runs it again without the provider`, () =>
      Effect.gen(function* () {
        const file = Path.join(yield* folder, "deep", name)
        const { port, requests } = yield* provider
        const run = (client: HttpClient.HttpClient) =>
          Effect.gen(function* () {
            const options = { baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: Redacted.make(KEY), model: "small" }
            const model = yield* Effect.provideService(ChatCompletions.make(options), HttpClient.HttpClient, client)
            const events = yield* Effect.provide(
              Stream.runCollect(AgentExecutor.stream(agent, "How warm is Oslo?")),
              Agents.layer()
            ).pipe(Effect.provideService(LlmClient.LlmClient, model))
            return Array.from(events, (event) => [
              event._tag,
              event._tag === "TextDelta" ? event.text : event._tag === "ToolResult" ? event.result : undefined
            ])
          })
        const first = yield* using({ file, mode: "record" }, run)
        assert.strictEqual(requests.length, 2)
        assert.deepInclude(first, ["TextDelta", "It is "])
        assert.deepInclude(first, ["ToolResult", "12 degrees in Oslo"])
        const text = yield* textOf(file)
        assert.notInclude(text, KEY)
        assert.include(text, "How warm is Oslo?")
        assert.deepStrictEqual(yield* using({ file }, run), first)
        assert.strictEqual(requests.length, 2)
      })
    )
  }

  it.scopedLive("records what embedders ask", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* folder, "vectors.yaml")
      const { requests, url } = yield* provider
      const embed = (client: HttpClient.HttpClient) =>
        Embeddings.make({ baseUrl: `${url}/v1`, apiKey: Redacted.make(KEY), model: "small", dimensions: 2 }).pipe(
          Effect.provideService(HttpClient.HttpClient, client),
          Effect.flatMap((embedder) => embedder.embed("a text")),
          Effect.map((vector) => Array.from(vector))
        )
      const first = yield* using({ file, mode: "record" }, embed)
      assert.deepStrictEqual(yield* using({ file }, embed), first)
      assert.isBelow(Math.abs(first[0]! - 0.4472), 0.001)
      assert.strictEqual(requests.length, 1)
    })
  )

  it.scopedLive("keeps bytes, forms, empty answers, streams of bodies and large numbers as they were", () =>
    Effect.gen(function* () {
      const { url } = yield* LoopbackServer.http(({ path }, response) => {
        if (path === "/none") return response.writeHead(204).end()
        if (path === "/large") {
          response.writeHead(200, { "content-type": "application/json" })
          return response.end('{"n":12345678901234567890,"id":"1234567890123456789"}')
        }
        response.writeHead(path === "/limit" ? 429 : 200, { "content-type": "image/png", "retry-after": "7" })
        return response.end(Buffer.from([0, 255, 128, 10]))
      })
      const file = Path.join(yield* folder, "bytes.yaml")
      const form = new FormData()
      form.append("model", "ears")
      form.append("file", new Blob([new Uint8Array([1, 2, 3])]), "a.wav")
      const requests = [
        HttpClientRequest.post(`${url}/bytes`).pipe(
          HttpClientRequest.bodyUint8Array(new Uint8Array([254, 0]), "application/octet-stream")
        ),
        HttpClientRequest.post(`${url}/form`).pipe(HttpClientRequest.bodyFormData(form)),
        HttpClientRequest.post(`${url}/stream`).pipe(
          HttpClientRequest.bodyStream(Stream.make(new Uint8Array([1]), new Uint8Array([2])))
        ),
        HttpClientRequest.post(`${url}/text`).pipe(HttpClientRequest.bodyText("a text", "text/plain")),
        HttpClientRequest.get(`${url}/none`),
        HttpClientRequest.get(`${url}/large`),
        HttpClientRequest.get(`${url}/limit?b=1&a=2`)
      ]
      const all = (client: HttpClient.HttpClient) =>
        Effect.forEach(requests, (request) =>
          Effect.flatMap(client.execute(request), (response) =>
            Effect.map(response.arrayBuffer, (bytes) => [
              response.status,
              response.headers["retry-after"],
              Buffer.from(bytes).toString("latin1")
            ])
          )
        )
      const first = yield* using({ file, mode: "record" }, all)
      assert.deepStrictEqual(yield* using({ file }, all), first)
      assert.deepStrictEqual(first[0], [200, "7", "\u0000\u00ff\u0080\n"])
      assert.deepStrictEqual(first[5]?.[2], '{"n":12345678901234567890,"id":"1234567890123456789"}')
      const changed = HttpClientRequest.post(`${url}/form`).pipe(
        HttpClientRequest.bodyFormDataRecord({ model: "eyes" })
      )
      const exit = yield* Effect.exit(using({ file }, (client) => client.execute(changed)))
      assert.include(messageOf(exit), 'recorded "ears"')
    })
  )

  it.scopedLive("reads the stream of a body once, and fails as it does", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* folder, "stream.yaml")
      const { requests, url } = yield* LoopbackServer.http(({ body }, response) =>
        response.writeHead(200, { "content-type": "text/plain" }).end(body.toUpperCase())
      )
      const sent = () => {
        let reads = 0
        const body = Stream.suspend(() =>
          reads++ === 0 ? Stream.make(new TextEncoder().encode("once")) : Stream.empty
        )
        return HttpClientRequest.bodyStream(HttpClientRequest.post(url), body, { contentType: "text/plain" })
      }
      const answer = (request: HttpClientRequest.HttpClientRequest) => (client: HttpClient.HttpClient) =>
        Effect.flatMap(client.execute(request), (response) => response.text)
      assert.strictEqual(yield* using({ file, mode: "record" }, answer(sent())), "ONCE")
      assert.strictEqual(yield* using({ file }, answer(sent())), "ONCE")
      const broken = HttpClientRequest.bodyStream(HttpClientRequest.post(url), Stream.fail("broken"))
      const error = yield* Effect.flip(using({ file }, answer(broken)))
      assert.strictEqual(error._tag === "RequestError" && error.reason, "Encode")
      assert.strictEqual(requests.length, 1)
    })
  )

  it.scopedLive("keeps secrets out of its file: those of headers, addresses, options, and what looks like one", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* folder, "secrets.yaml")
      const { v1 } = yield* echo
      const secret = "the word that nobody may know"
      const send = (client: HttpClient.HttpClient) =>
        json(
          client,
          post(
            `${v1}/x?key=in-the-address&b=1`,
            { said: `${KEY}, ${secret}`, more: "sk-proj-abcdefghijk", plain: "Hello" },
            { authorization: `Bearer ${KEY}`, cookie: "taste=sweet-and-sour", "x-organization": "of-mine" }
          )
        )
      const options = { file, secrets: [Redacted.make(secret)] }
      const first = yield* using({ ...options, mode: "record" }, send)
      assert.include(JSON.stringify(first), secret)
      const text = yield* textOf(file)
      for (const one of [KEY, secret, "in-the-address", "sk-proj", "sweet", "of-mine"]) assert.notInclude(text, one)
      assert.include(text, "Hello")
      assert.include(JSON.stringify(yield* using(options, send)), "[REDACTED]")
    })
  )

  it.scopedLive("answers requests that differ in the order of keys, ids and times, and what else the options say", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* folder, "same.yaml")
      const { v1 } = yield* echo
      const record = post(`${v1}/chat?a=1&b=2`, {
        model: "small",
        user: "ann",
        messages: [{ role: "user", content: "At 2026-11-28T10:00:00Z call_abc123456 said run 17", name: "a" }]
      })
      yield* using({ file, mode: "record" }, (client) => json(client, record))
      const sent = (changes: Record<string, unknown> = {}, message: Record<string, unknown> = {}) =>
        post(`${v1}/chat?b=2&a=1`, {
          messages: [
            { name: "a", content: "At 2027-01-01T00:00Z call_Zyx987654 said run 17", role: "user", ...message }
          ],
          user: "ann",
          model: "small",
          ...changes
        })
      const answers = (request: HttpClientRequest.HttpClientRequest, options: Partial<Cassette.Options> = {}) =>
        Effect.map(Effect.exit(using({ file, ...options }, (client) => json(client, request))), (exit) =>
          Exit.isSuccess(exit)
        )
      const said = { content: "At 2027-01-01T00:00Z call_Zyx987654 said run 18" }
      assert.isTrue(yield* answers(sent()))
      assert.isFalse(yield* answers(sent({ user: "bob" })))
      assert.isTrue(yield* answers(sent({ user: "bob" }), { ignore: ["user"] }))
      assert.isFalse(yield* answers(sent({}, { name: "b" }), { ignore: ["name"] }))
      assert.isTrue(yield* answers(sent({}, { name: "b" }), { ignore: ["messages[*].name"] }))
      assert.isFalse(yield* answers(sent({}, said)))
      assert.isTrue(yield* answers(sent({}, said), { volatile: [/run \d+/g] }))
      assert.isFalse(yield* answers(sent({ temperature: 1 })))
      assert.isTrue(yield* answers(sent({ temperature: 1 }), { match: "lenient" }))
      assert.isFalse(yield* answers(sent({ model: "large" }), { match: "lenient" }))
      assert.isTrue(yield* answers(sent({ model: "large" }), { match: "order" }))
      const elsewhere = HttpClientRequest.setUrl(sent(), "https://elsewhere.test/v1/chat?b=2&a=1")
      assert.isFalse(yield* answers(elsewhere))
      assert.isTrue(yield* answers(elsewhere, { match: "lenient" }))
      assert.isFalse(yield* answers(HttpClientRequest.setUrl(sent(), `${v1}/other`), { match: "order" }))
      assert.isFalse(yield* answers(HttpClientRequest.setMethod(sent(), "PUT"), { match: "order" }))
    })
  )

  it.scopedLive("tells the names of tools apart that look like ids", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* folder, "names.yaml")
      const { v1 } = yield* echo
      yield* using({ file, mode: "record" }, (client) => json(client, post(v1, { tool: "run_analysis" })))
      const exit = yield* Effect.exit(using({ file }, (client) => json(client, post(v1, { tool: "run_deployment" }))))
      assert.include(messageOf(exit), 'tool:\n    recorded "run_analysis"\n    sent     "run_deployment"')
    })
  )

  it.scopedLive("lets each exchange answer once, in the order in which requests began", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* folder, "order.jsonl")
      const waiting: Array<() => void> = []
      const { url } = yield* LoopbackServer.http(({ body }, response) => {
        waiting.push(() => response.writeHead(200, { "content-type": "application/json" }).end(body))
        // The last one is answered first.
        if (waiting.length === 3) for (const answer of waiting.reverse()) answer()
      })
      const same = (client: HttpClient.HttpClient) =>
        Effect.forEach([1, 2, 3], (n) => json(client, post(url, { n })), { concurrency: "unbounded" })
      yield* using({ file, mode: "record" }, same)
      const order = (yield* textOf(file)).match(/"n":\d/g)
      assert.deepStrictEqual(order, ['"n":1', '"n":1', '"n":2', '"n":2', '"n":3', '"n":3'])
      const twice = yield* Effect.exit(
        using({ file, unused: "ignore" }, (client) =>
          Effect.zipRight(json(client, post(url, { n: 1 })), json(client, post(url, { n: 1 })))
        )
      )
      assert.include(messageOf(twice), "nothing answers request 2")
    })
  )

  it.scopedLive("says what differs, as a defect that no client repeats", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* folder, "differs.yaml")
      const { requests, url } = yield* provider
      const ask = (temperature: number) => (client: HttpClient.HttpClient) =>
        Effect.flatMap(
          Effect.provideService(
            ChatCompletions.make({ baseUrl: `${url}/v1`, model: "small" }),
            HttpClient.HttpClient,
            client
          ),
          (model) =>
            model.complete(
              { messages: [{ role: "user", content: "Hi" }], settings: { temperature } },
              { onParts: () => Effect.void }
            )
        )
      yield* using({ file, mode: "record" }, ask(0))
      const exit = yield* Effect.exit(using({ file }, ask(1)))
      assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
      const message = messageOf(exit)
      for (const part of ["differs.yaml", "exchange 1 of 1", "temperature", "LEXIGRAM_CASSETTES=record"]) {
        assert.include(message, part)
      }
      assert.strictEqual(requests.length, 1)
    })
  )

  it.scopedLive("fails at its end if nobody asked for an exchange, unless the test failed or it may be so", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* folder, "unused.yaml")
      const { v1 } = yield* echo
      const one = (n: number) => (client: HttpClient.HttpClient) => json(client, post(`${v1}/one`, { n }))
      yield* using({ file, mode: "record" }, (client) => Effect.zipRight(one(1)(client), one(2)(client)))
      const exit = yield* Effect.exit(using({ file }, one(2)))
      assert.include(messageOf(exit), "nobody asked for 1 of 2 exchanges")
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(using({ file, unused: "ignore" }, one(2)))))
      const failed = yield* Effect.exit(using({ file }, () => Effect.fail("of the test")))
      assert.deepStrictEqual(failed, Exit.fail("of the test"))
    })
  )

  it.scopedLive("records where the mode or the variable says so, and fails typed without a file it can use", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const file = Path.join(path, "modes.yaml")
      const { requests, v1 } = yield* echo
      const one = (client: HttpClient.HttpClient) => json(client, post(v1, { n: 1 }))
      const failure = (options: Cassette.Options, variables?: Record<string, string>) =>
        Effect.map(Effect.flip(using(options, one, variables)), (error) =>
          error._tag === "effect-lexigram/testing/Cassette/CassetteError" ? error.reason : error._tag
        )
      assert.strictEqual(yield* failure({ file }), "missing")
      yield* using({ file, mode: "auto" }, one)
      assert.deepStrictEqual(yield* using({ file, mode: "auto" }, one), { asked: 1, body: { n: 1 } })
      assert.deepStrictEqual(yield* using({ file }, one), { asked: 1, body: { n: 1 } })
      const again = yield* using({ file }, one, { LEXIGRAM_CASSETTES: "record" })
      assert.deepStrictEqual(again, { asked: 2, body: { n: 1 } })
      assert.deepStrictEqual(yield* using({ file, mode: "record" }, one, { LEXIGRAM_CASSETTES: "replay" }), again)
      assert.strictEqual(requests.length, 2)
      assert.strictEqual(yield* failure({ file }, { LEXIGRAM_CASSETTES: "sometimes" }), "invalid")
      assert.strictEqual(yield* failure({ file: path, mode: "record" }), "unwritable")
      for (const text of ["interactions: 3", "{", "[]", "interactions:\n  - request: {}\n", ""]) {
        yield* Effect.promise(() => Fs.writeFile(file, text))
        assert.strictEqual(yield* failure({ file }), "invalid", text)
      }
      assert.strictEqual(requests.length, 2)
    })
  )

  it.scopedLive("reads the files of VCR, and a case of several by its id", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const vcr = Path.join(path, "vcr.yaml")
      const lines = Path.join(path, "cases.jsonl")
      yield* Effect.promise(() =>
        Fs.writeFile(
          vcr,
          `version: 1
interactions:
- request:
    headers: {content-type: [application/json], host: [api.test]}
    method: POST
    parsed_body: {model: small}
    uri: https://api.test/v1/a
  response:
    headers: {content-type: [application/json], content-encoding: [gzip], transfer-encoding: [chunked]}
    parsed_body: {text: parsed}
    status: {code: 200, message: OK}
- request:
    body: '{"model": "large"}'
    headers: {}
    method: POST
    uri: https://api.test/v1/a
  response:
    body: {string: '{"text": "plain"}'}
    headers: {Content-Type: [application/json]}
    status: {code: 201, message: Created}
`
        )
      )
      const both = (client: HttpClient.HttpClient) =>
        Effect.forEach(["large", "small"], (model) => json(client, post("https://api.test/v1/a", { model })))
      assert.deepStrictEqual(yield* using({ file: vcr }, both), [{ text: "plain" }, { text: "parsed" }])

      const flat = (id: string, response: unknown) =>
        JSON.stringify({ id, interactions: [{ path: "/v1/a", status: 200, request: { model: "small" }, response }] })
      yield* Effect.promise(() => Fs.writeFile(lines, `${flat("one", { n: 1 })}\n${flat("two", { n: 2 })}\n`))
      const one = (client: HttpClient.HttpClient) => json(client, post("https://api.test/v1/a", { model: "small" }))
      assert.deepStrictEqual(yield* using({ file: lines, case: "two" }, one), { n: 2 })
      for (const id of [undefined, "three"]) {
        const error = yield* Effect.flip(using({ file: lines, case: id }, one))
        assert.include(error.message, '"one", "two"')
      }
    })
  )
})
