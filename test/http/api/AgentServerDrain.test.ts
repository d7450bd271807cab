import * as Http from "node:http"
import * as Net from "node:net"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgentServer from "../../../src/http/api/AgentServer.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as Programs from "../../support/Programs.js"

const teller = Agent.make("teller", { system: "You tell." })

/** A model whose answers begin, and end when they may. */
const gated = Effect.gen(function* () {
  const begun = Effect.unsafeMakeSemaphore(1_000)
  yield* begun.take(1_000)
  const go = yield* Deferred.make<void>()
  const model = Layer.succeed(LlmClient.LlmClient, {
    provider: "test",
    model: "m",
    complete: (_request, { onParts } = {}) =>
      Effect.gen(function* () {
        yield* onParts?.([{ type: "text-delta", id: "0", delta: "begun" }]) ?? Effect.void
        yield* begun.release(1)
        yield* Deferred.await(go)
        return { content: [{ type: "text" as const, text: "begun, ended" }], finishReason: "stop" as const, usage: {} }
      })
  })
  return { model, begun: begun.take(1), go: Deferred.succeed(go, undefined) }
})

/** A server in a scope of its own, with two answers that have begun: one streamed, one waited for. */
const serving = (setup: Pick<AgentServers.Setup, "drain">) =>
  Effect.gen(function* () {
    const { begun, go, model } = yield* gated
    const scope = yield* Scope.make()
    const server = yield* Scope.extend(AgentServers.start({ agents: [teller], model, ...setup }), scope)
    const body = { agent: "teller", input: "tell" }
    const streamed = yield* Effect.fork(server.ask("/v1/runs/stream", { body }))
    yield* begun
    const waited = yield* Effect.fork(server.ask("/v1/runs?wait=600", { body }))
    yield* begun
    const closed = yield* Effect.fork(Scope.close(scope, Exit.void))
    return { ...server, go, streamed, waited, closed }
  })

const tagsOf = ({ text }: AgentServers.Answered): ReadonlyArray<string> =>
  AgentServers.eventsOf(text).map(({ data }) => data._tag)

/** The status of an answer that says the server is ending, once it does. */
const refusal = (server: { readonly ask: (path: string) => Effect.Effect<AgentServers.Answered> }) =>
  Effect.repeat(server.ask("/v1/agents"), { until: ({ status }) => status !== 200 })

describe("a server of agents that ends", () => {
  it.scoped("answers what is open, refuses what comes, and then is gone", () =>
    Effect.gen(function* () {
      const { closed, go, streamed, waited, ...server } = yield* serving({})
      const refused = yield* refusal(server)
      assert.deepStrictEqual([refused.status, refused.json.reason], [503, "unavailable"])
      assert.include(refused.json.detail, "The server is ending")
      assert.deepStrictEqual([refused.headers.get("retry-after"), refused.headers.get("connection")], ["1", "close"])
      assert.isTrue(Option.isNone(yield* Fiber.poll(closed)))
      yield* go
      assert.strictEqual(tagsOf(yield* Fiber.join(streamed)).at(-1), "Finished")
      const answer = yield* Fiber.join(waited)
      assert.deepStrictEqual([answer.status, answer.json.answer.message], [200, "begun, ended"])
      yield* Fiber.join(closed)
      const gone = yield* Effect.exit(Effect.tryPromise(() => fetch(`${server.url}/v1/health`)))
      assert.isTrue(Exit.isFailure(gone))
    })
  )

  it.scoped("cuts what is open after the time it was given", () =>
    Effect.gen(function* () {
      const { closed, streamed, waited, ...server } = yield* serving({ drain: "3 seconds" })
      yield* refusal(server)
      yield* TestClock.adjust("2999 millis")
      assert.strictEqual((yield* refusal(server)).status, 503)
      yield* TestClock.adjust("1 millis")
      assert.notInclude(tagsOf(yield* Fiber.join(streamed)), "Finished")
      const answer = yield* Fiber.join(waited)
      assert.deepStrictEqual([answer.status, answer.json.reason], [503, "unavailable"])
      assert.include(answer.json.hint, "Idempotency-Key")
      yield* Fiber.join(closed)
    })
  )

  it.scoped("cuts the connection of a client that does not read its answer", () =>
    Effect.gen(function* () {
      const size = 32 * 1024 * 1024
      const model = Layer.succeed(LlmClient.LlmClient, {
        provider: "test",
        model: "m",
        complete: () =>
          Effect.succeed({
            content: [{ type: "text" as const, text: "x".repeat(size) }],
            finishReason: "stop" as const,
            usage: {}
          })
      })
      const scope = yield* Scope.make()
      const { url } = yield* Scope.extend(AgentServers.start({ agents: [teller], model, drain: 0 }), scope)
      const { body, headers } = AgentServers.init({ body: { agent: "teller", input: "tell" } })
      const socket = yield* Effect.acquireRelease(
        Effect.sync(() => Net.connect(Number(new URL(url).port), "127.0.0.1")),
        (socket) => Effect.sync(() => socket.destroy())
      )
      const lines = Object.entries({ ...headers, host: "127.0.0.1", "content-length": String(body).length })
      socket.write(
        `POST /v1/runs?wait=600 HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`
      )
      yield* Effect.async<void>((resume) => {
        socket.once("readable", () => resume(Effect.void))
      })
      const closed = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* Effect.repeat(Effect.zipRight(TestClock.adjust("1 second"), Fiber.poll(closed)), { until: Option.isSome })
      const received = yield* Effect.async<number>((resume) => {
        let bytes = 0
        socket.on("data", (part: Buffer) => {
          bytes += part.length
        })
        socket.on("error", () => undefined).on("close", () => resume(Effect.succeed(bytes)))
        socket.resume()
      })
      assert.isBelow(received, size)
    })
  )

  it.scopedLive("cuts bodies that another runtime reads", () =>
    Effect.gen(function* () {
      const { begun, model } = yield* gated
      const setup: AgentServers.Setup = { agents: [teller], model, drain: 0 }
      const { dispose, handler } = AgentServer.toWebHandler(setup, AgentServers.services(setup))
      const init = AgentServers.init({ body: { agent: "teller", input: "tell" } })
      const response = yield* Effect.promise(() => handler(new Request("http://127.0.0.1/v1/runs/stream", init)))
      const text = yield* Effect.fork(Effect.exit(Effect.tryPromise(() => response.text())))
      yield* begun
      yield* Effect.promise(dispose)
      const read = yield* Fiber.join(text)
      assert.isFalse(Exit.isSuccess(read) && read.value.includes("Finished"))
    })
  )

  it.scopedLive("drains a process that gets SIGTERM, records its runs, and ends", () =>
    Effect.gen(function* () {
      const program = yield* Programs.start("DrainedServer", {})
      const url: string = yield* program.hear
      const agent = new Http.Agent({ keepAlive: true, maxSockets: 1 })
      const ask = (path: string, body: unknown) =>
        Effect.async<{ readonly status: number | undefined; readonly text: string }>((resume) => {
          const { body: sent, headers, method } = AgentServers.init({ body })
          const request = Http.request(`${url}${path}`, { agent, method, headers: headers as never }, (response) => {
            let text = ""
            response.setEncoding("utf8").on("data", (part: string) => {
              text += part
            })
            response.on("end", () => resume(Effect.succeed({ status: response.statusCode, text })))
          })
          request.on("error", (error) => resume(Effect.die(error)))
          request.end(sent)
        })
      const detached = yield* ask("/v1/runs", { agent: "holder", input: "hold" })
      assert.strictEqual(detached.status, 202)
      assert.strictEqual(yield* program.hear, "begun")
      const streamed = yield* Effect.fork(ask("/v1/runs/stream", { agent: "teller", input: "tell" }))
      assert.strictEqual(yield* program.hear, "begun")
      process.kill(program.pid, "SIGTERM")
      assert.strictEqual(yield* program.hear, "ending")
      yield* program.say("go")
      assert.include((yield* Fiber.join(streamed)).text, `"_tag":"Finished"`)
      assert.deepStrictEqual(yield* program.hear, { holder: "interrupted", teller: "completed" })
      assert.strictEqual((yield* program.ended).signal, null)
      agent.destroy()
    })
  )
})
