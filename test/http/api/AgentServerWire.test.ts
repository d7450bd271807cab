import * as Net from "node:net"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgentServers from "../../support/AgentServers.js"

const helper = Agent.make("helper", { system: "You help." })

/** Sends a text, and gives all that comes until the server closes the connection. */
const exchange = (url: string, text: string): Effect.Effect<string> =>
  Effect.async((resume) => {
    let answer = ""
    const socket = Net.connect(Number(new URL(url).port), "127.0.0.1", () => socket.write(text))
    socket.setEncoding("latin1")
    socket.on("data", (bytes: string) => {
      answer += bytes
    })
    socket.on("error", () => undefined)
    socket.on("close", () => resume(Effect.succeed(answer)))
    return Effect.sync(() => socket.destroy())
  })

const request = (method: string, path: string, headers: ReadonlyArray<string>, body = ""): string =>
  [
    `${method} ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    "Authorization: Bearer token-ann",
    ...(body === "" ? [] : ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`]),
    ...headers,
    "",
    body
  ].join("\r\n")

const statusesOf = (answer: string): ReadonlyArray<string> =>
  Array.from(answer.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => status ?? "")

/** The lines of all heads of answers. */
const headsOf = (answer: string): string =>
  answer
    .split("\r\n\r\n")
    .filter((part) => part.includes("HTTP/1.1 "))
    .join("\n")
    .toLowerCase()

describe("a server of agents on the wire", () => {
  it.scopedLive("answers requests that come at once in their order, and closes where it is told to", () =>
    Effect.gen(function* () {
      const { url } = yield* AgentServers.start({ agents: [helper] })
      const body = JSON.stringify({ agent: "nobody", input: "Hi" })
      const answer = yield* exchange(
        url,
        [
          request("GET", "/v1/agents", []),
          request("POST", "/v1/runs", [], body),
          request("GET", "/v1/runs/unknown", []),
          request("GET", "/v1/agents/helper", ["Connection: close"])
        ].join("")
      )
      assert.deepStrictEqual(statusesOf(answer), ["200", "404", "404", "200"])
      assert.include(headsOf(answer), "connection: close")
    })
  )

  it.scopedLive("has no header that a caller writes", () =>
    Effect.gen(function* () {
      const { url } = yield* AgentServers.start({ agents: [helper] })
      const injected = "a\r\nSet-Cookie: stolen=1\r\n\r\n<script>"
      const encoded = encodeURIComponent(injected)
      const body = JSON.stringify({ agent: injected, input: injected, labels: { [injected]: injected } })
      const all = [
        request("GET", `/v1/runs/${encoded}`, ["Connection: close"]),
        request("GET", `/v1/agents/${encoded}`, ["Connection: close"]),
        request("GET", `/v1/runs?agent=${encoded}`, ["Connection: close"]),
        request("GET", "/v1/agents", [`X-Request-Id: ${encoded}`, `Origin: http://${encoded}`, "Connection: close"]),
        request("POST", "/v1/runs", [`Idempotency-Key: ${encoded}`, "Connection: close"], body),
        request("POST", "/v1/runs/stream", [`Last-Event-ID: ${encoded}`, "Connection: close"], body)
      ]
      for (const one of all) {
        const heads = headsOf(yield* exchange(url, one))
        assert.include(heads, "http/1.1 ", one)
        assert.notInclude(heads, "\nset-cookie", one)
        assert.notInclude(heads, "<script>", one)
      }
      // What is no HTTP ends the connection, and nothing else.
      const split = yield* exchange(url, "GET /v1/agents HTTP/1.1\r\nHost: a\r\nX-Request-Id: a\rSet-Cookie: b\r\n\r\n")
      assert.deepStrictEqual(statusesOf(split), ["400"])
      const smuggled =
        "POST /v1/runs HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /"
      assert.deepStrictEqual(statusesOf(yield* exchange(url, smuggled)), ["400"])
    })
  )

  it.scopedLive("asks proxies to pass events on as they come", () =>
    Effect.gen(function* () {
      const { url } = yield* AgentServers.start({ agents: [helper] })
      const body = JSON.stringify({ agent: "helper", input: "Hi" })
      const heads = headsOf(yield* exchange(url, request("POST", "/v1/runs/stream", ["Connection: close"], body)))
      for (const header of ["content-type: text/event-stream", "x-accel-buffering: no", "no-transform"]) {
        assert.include(heads, header)
      }
      assert.notInclude(heads, "content-length")
    })
  )
})
