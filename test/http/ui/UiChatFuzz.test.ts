import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgentServer from "../../../src/http/api/AgentServer.js"
import * as UiChat from "../../../src/http/ui/UiChat.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as SeededRandom from "../../support/SeededRandom.js"

/** `npm run test:crash` sends more. */
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? 1_000)

const strange = [
  "",
  "\u0000",
  "__proto__",
  "../..",
  "%00",
  "a\r\nb: c",
  "x".repeat(3000),
  "\u2028",
  "{}",
  "data:,",
  "constructor"
]
const types = [
  "text",
  "file",
  "reasoning",
  "step-start",
  "tool-",
  "tool-pay",
  "dynamic-tool",
  "data-x",
  "source-url",
  "?"
]
const states = ["input-available", "approval-requested", "approval-responded", "output-available", "output-error", "x"]

const partOf = (random: SeededRandom.SeededRandom): unknown => ({
  type: random.pick([...types, ...types, ...strange]),
  text: random.pick([...strange, "hi", 1]),
  state: random.pick([...states, "done"]),
  url: random.pick([...strange, "https://a.example/b.png", "data:image/png;base64,AAAA", "file:///etc/passwd"]),
  mediaType: random.pick(["image/png", "text/plain", ...strange]),
  toolCallId: random.pick(["c", ...strange]),
  toolName: random.pick(["pay", ...strange]),
  input: random.pick([null, {}, 1, [[[]]]]),
  approval: random.pick([
    undefined,
    null,
    { id: random.pick(["a", ...strange]), approved: random.pick([true, false, 1]) }
  ]),
  output: random.pick([null, {}, "x"]),
  errorText: random.pick(["x", 1]),
  callProviderMetadata: random.pick([
    undefined,
    null,
    "x",
    { "effect-lexigram": random.pick([null, "x", { requestId: random.pick(["a", 1, ...strange]) }]) }
  ]),
  data: random.pick([null, {}])
})

const messageOf = (random: SeededRandom.SeededRandom): unknown => ({
  id: random.pick(["1", "2", ...strange]),
  role: random.pick(["user", "user", "user", "assistant", "system", "tool"]),
  parts:
    random.below(3) === 0
      ? Array.from({ length: random.below(4) }, () => partOf(random))
      : [{ type: "text", text: random.pick(["hi", ...strange]) }]
})

const requestOf = (random: SeededRandom.SeededRandom): Request => {
  const id = () => encodeURIComponent(random.pick(["c1", "c2", "c3", ...strange]))
  const agent = random.below(8) === 0 ? id() : "helper"
  const headers = new Headers({
    authorization: `Bearer token-${random.pick(["ann", "bob"])}`,
    "content-type": random.below(20) === 0 ? "text/plain" : "application/json"
  })
  const url = `http://localhost/ui/chat/${agent}`
  const kind = random.below(10)
  if (kind < 5) {
    const body = JSON.stringify({
      id: random.pick(["c1", "c2", "c3", ...strange]),
      messages: Array.from({ length: random.below(4) }, () => messageOf(random)),
      trigger: random.pick(["submit-message", "regenerate-message", undefined, "x"]),
      messageId: random.pick([undefined, "1", 1, null])
    })
    const end = random.below(20) === 0 ? random.below(body.length) : body.length
    return new Request(url, { method: "POST", headers, body: body.slice(0, end) })
  }
  if (kind === 5) return new Request(`${url}/${id()}/stop`, { method: "POST", headers })
  if (kind === 6) {
    const body = JSON.stringify({ decision: random.pick(["approve", "deny", ...strange]), params: partOf(random) })
    return new Request(`${url}/${id()}/answers/${id()}`, { method: "POST", headers, body })
  }
  const query = random.below(2) === 0 ? "" : `?limit=${id()}&before=${id()}`
  const method = random.pick(["GET", "GET", "GET", "DELETE", "PUT"])
  return new Request(`${url}/${id()}/${random.pick(["stream", "messages", "stop", "?"])}${query}`, { method, headers })
}

describe("chats of AI SDK UI", () => {
  it.scopedLive(`answer ${REQUESTS} strange requests, and none with a failure of the server`, () =>
    Effect.gen(function* () {
      const random = SeededRandom.make(7)
      const agents = [Agent.make("helper", { system: "helper" })]
      const { dispose, handler } = AgentServer.toWebHandler(
        {
          agents,
          edges: [UiChat.make({ grace: "10 millis" })],
          limits: { requestsPerMinute: 10_000_000, maxStreams: 10_000 }
        },
        AgentServers.services({ agents, sessions: Layer.orDie(Sessions.layer()) })
      )
      yield* Effect.addFinalizer(() => Effect.promise(dispose))
      const statuses = new Map<number, number>()
      yield* Effect.promise(async () => {
        for (let n = 0; n < REQUESTS; n++) {
          const request = requestOf(random)
          const told = `${request.method} ${request.url}`
          const response = await handler(request)
          const text = await response.text()
          statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
          assert.notInclude([500, 502], response.status, `${told}: ${text}`)
          if (response.status >= 400) {
            assert.strictEqual(response.headers.get("content-type"), "application/problem+json", told)
          }
          if (response.status === 200 && request.method === "POST") assert.match(text, /data: \[DONE\]\n\n$/, told)
        }
      })
      for (const status of [200, 204, 400, 404, 405]) {
        assert.isAbove(statuses.get(status) ?? 0, REQUESTS / 200, JSON.stringify([...statuses]))
      }
    })
  )
})
