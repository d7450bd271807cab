import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgentClient from "../../../src/http/api/AgentClient.js"
import * as AgentServers from "../../support/AgentServers.js"

const helper = Agent.make("helper", { system: "helper" })

const clientOf = (baseUrl: string, options: Partial<AgentClient.Options> = {}) =>
  Effect.provide(AgentClient.make({ baseUrl, token: Redacted.make("token-ann"), ...options }), FetchHttpClient.layer)

/** Passes requests on, and cuts each stream of events off after so many bytes. */
const cutting = (target: string, after: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<Http.Server & { streams?: number }>((resume) => {
        const server: Http.Server & { streams?: number } = Http.createServer((request, response) => {
          const url = new URL(request.url ?? "/", target)
          const passed = Http.request(url, { method: request.method, headers: request.headers }, (answer) => {
            response.writeHead(answer.statusCode ?? 500, answer.headers)
            if (!answer.headers["content-type"]?.startsWith("text/event-stream")) {
              answer.pipe(response)
              return
            }
            server.streams = (server.streams ?? 0) + 1
            let passedOn = 0
            answer.on("data", (bytes: Buffer) => {
              response.write(bytes)
              passedOn += bytes.length
              if (passedOn > after) {
                passed.destroy()
                setImmediate(() => response.destroy())
              }
            })
            answer.on("end", () => response.end())
            answer.on("error", () => response.destroy())
          })
          passed.on("error", () => response.destroy())
          request.pipe(passed)
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.async<void>((resume) => {
          server.closeAllConnections()
          server.close(() => resume(Effect.void))
        })
    ),
    (server) => ({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      streams: () => server.streams ?? 0
    })
  )

/** Answers the first request for events never, the second one in part, and passes on what follows. */
const falteringBefore = (target: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<Http.Server>((resume) => {
        let asked = 0
        const server = Http.createServer((request, response) => {
          const number = request.url?.includes("/events") === true ? ++asked : Number.POSITIVE_INFINITY
          if (number === 1) return
          const url = new URL(request.url ?? "/", target)
          const passed = Http.request(url, { method: request.method, headers: request.headers }, (answer) => {
            response.writeHead(answer.statusCode ?? 500, answer.headers)
            if (number > 2) answer.pipe(response)
            else answer.once("data", (bytes: Buffer) => response.write(bytes))
          })
          passed.on("error", () => response.destroy())
          request.pipe(passed)
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.async<void>((resume) => {
          server.closeAllConnections()
          server.close(() => resume(Effect.void))
        })
    ),
    (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  )

describe("AgentClient", () => {
  it.scopedLive("asks again where a server is silent", () =>
    Effect.gen(function* () {
      const { url } = yield* AgentServers.start({ agents: [helper] })
      const direct = yield* clientOf(url)
      const { runId } = yield* direct.run({ agent: "helper", input: "hello" })
      const client = yield* clientOf(yield* falteringBefore(url), { idle: "300 millis" })
      const events = Array.from(yield* Stream.runCollect(client.events(runId)))
      assert.deepStrictEqual(events, Array.from(yield* Stream.runCollect(direct.events(runId))))
      assert.strictEqual(events.at(-1)?._tag, "Finished")
      const once = yield* clientOf(yield* falteringBefore(url), { idle: "50 millis", attempts: 1 })
      const error = yield* Effect.flip(Stream.runDrain(once.events(runId)))
      assert.strictEqual(error.reason, "unavailable")
      assert.include(error.message, "sends nothing any more")
    })
  )

  it.scopedLive("runs an agent, and reads its run", () =>
    Effect.gen(function* () {
      const { url } = yield* AgentServers.start({ agents: [helper] })
      const client = yield* clientOf(url)
      const answer = yield* client.run({ agent: "helper", input: "hello" })
      assert.strictEqual(answer.message, "hi")
      const { run } = yield* client.api.runs.getRun({ path: { runId: answer.runId } })
      assert.strictEqual(run.state, "completed")
      const events = yield* Stream.runCollect(client.events(answer.runId))
      assert.strictEqual(Chunk.toReadonlyArray(events).at(-1)?._tag, "Finished")
    })
  )

  it.scopedLive("brings tools of its own, and runs their calls", () =>
    Effect.gen(function* () {
      const params = { city: "Ghent", token: "abcdefgh12345678" }
      const { url } = yield* AgentServers.start({
        agents: [helper],
        script: ({ messages }) => {
          const results = messages.flatMap((one) => (one.role === "tool" ? one.content : []))
          return results.length === 0
            ? { calls: [{ name: "weather", params }] }
            : results.map(({ result }) => String(result)).join()
        }
      })
      const client = yield* clientOf(url)
      const clientTools = [{ name: "weather", parameters: { type: "object" } }]
      const events = client.stream({ agent: "helper", input: "hello", clientTools })
      const asked = Stream.tap(events, (event) => {
        if (event._tag !== "QuestionAsked") return Effect.void
        return Effect.gen(function* () {
          assert.isTrue(event.clientTool)
          const { approvals } = yield* Effect.repeat(
            Effect.delay(client.api.approvals.listApprovals({ urlParams: {} }), "20 millis"),
            { until: ({ approvals }) => approvals.length > 0 }
          )
          assert.deepStrictEqual(approvals[0]?.params, params)
          yield* client.api.approvals.decideApproval({
            path: { requestId: event.id },
            payload: { decision: "approve", params: { result: "7 degrees" } }
          })
        })
      })
      const read = Chunk.toReadonlyArray(yield* Stream.runCollect(asked))
      assert.include(
        read.map((event) => (event._tag === "Message" ? event.text : "")),
        "7 degrees"
      )
      const refused = yield* Effect.flip(client.run({ agent: "helper", input: "", clientTools: [{ name: "" }] }))
      assert.strictEqual(refused.reason, "invalid")
    })
  )

  it.scopedLive("says the form of its answer, and the tool that is called for it", () =>
    Effect.gen(function* () {
      const choices: Array<unknown> = []
      const { url } = yield* AgentServers.start({
        agents: [helper],
        script: ({ responseFormat, toolChoice }) => {
          if (responseFormat?.type === "json") return '{"degrees":7}'
          choices.push(toolChoice)
          return "7 degrees"
        }
      })
      const client = yield* clientOf(url)
      const schema = { type: "object", properties: { degrees: { type: "integer" } }, required: ["degrees"] }
      const asked = { agent: "helper", input: "hello", output: { name: "forecast", schema } }
      const answer = yield* client.run({ ...asked, clientTools: [{ name: "weather" }], toolChoice: "none" })
      assert.deepStrictEqual([answer.output, choices], [{ degrees: 7 }, ["none"]])
      for (const more of [{ output: { schema: { type: "array" } } }, { toolChoice: { tool: "none such" } }]) {
        assert.strictEqual((yield* Effect.flip(client.run({ ...asked, ...more }))).reason, "invalid")
        assert.lengthOf(choices, 1)
      }
    })
  )

  it.scopedLive("reaches runs by any id, and refuses those that would be another path", () =>
    Effect.gen(function* () {
      const { url } = yield* AgentServers.start({ agents: [helper] })
      const client = yield* clientOf(url)
      const get = (runId: string) => client.api.runs.getRun({ path: { runId } })
      for (const runId of ["a/b", "a b?c#d", "ü%2F", "…", ".x"]) {
        assert.strictEqual((yield* Effect.flip(get(runId)))._tag, "ApiError", runId)
        const error = yield* Effect.flip(get(runId))
        assert.include(error.message, "run", runId)
      }
      for (const runId of [".", "..", "\ud800"]) assert.strictEqual((yield* Effect.flip(get(runId)))._tag, "ParseError")
    })
  )

  it.scopedLive("fails as the server does: unknown agents, strangers, servers that are not there", () =>
    Effect.gen(function* () {
      const { url } = yield* AgentServers.start({ agents: [helper] })
      const client = yield* clientOf(url)
      const unknown = yield* Effect.flip(client.run({ agent: "helpr", input: "hello" }))
      assert.deepInclude(unknown, { reason: "unknown", error: "LEX_ERR_AGT_121", hint: 'Did you mean "helper"?' })
      const streamed = yield* Effect.flip(Stream.runDrain(client.stream({ agent: "helpr", input: "hello" })))
      assert.deepInclude(streamed, { reason: "unknown", hint: 'Did you mean "helper"?' })
      const stranger = yield* clientOf(url, { token: Redacted.make("nobody") })
      assert.strictEqual((yield* Effect.flip(stranger.run({ agent: "helper", input: "" }))).reason, "unauthenticated")
      const gone = yield* clientOf("http://127.0.0.1:9", { attempts: 2 })
      assert.strictEqual((yield* Effect.flip(gone.run({ agent: "helper", input: "" }))).reason, "unavailable")
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(gone.events("r")))).reason, "unavailable")
    })
  )

  it.scopedLive("follows a run over connections that break, each event once", () =>
    Effect.gen(function* () {
      const words = Array.from({ length: 150 }, (_, at) => `word${at} `)
      const { url } = yield* AgentServers.start({
        agents: [helper],
        script: () => ({ text: words, partDelay: "8 millis" }),
        heartbeat: "5 millis"
      })
      const proxy = yield* cutting(url, 3000)
      const client = yield* clientOf(proxy.url)
      const events = Chunk.toReadonlyArray(yield* Stream.runCollect(client.stream({ agent: "helper", input: "hello" })))
      assert.isAbove(proxy.streams(), 1)
      assert.strictEqual(events.at(-1)?._tag, "Finished")
      assert.strictEqual(events.filter(({ _tag }) => _tag === "Started").length, 1)
      // What is read again after a break is taken back first.
      let text = ""
      for (const event of events) {
        if (event._tag === "TextRetracted") text = ""
        if (event._tag === "TextDelta") text += event.text
      }
      assert.strictEqual(text, words.join(""))
      const numbers = events
        .filter(({ _tag }) => _tag !== "TextDelta" && _tag !== "TextRetracted")
        .map(({ seq }) => seq)
      assert.deepStrictEqual(
        numbers,
        Array.from(new Set(numbers)).sort((a, b) => a - b)
      )
    })
  )
})
