import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgentServer from "../../../src/http/api/AgentServer.js"
import * as OpenAiServer from "../../../src/http/openai/OpenAiServer.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as SeededRandom from "../../support/SeededRandom.js"
import * as StrangeJson from "../../support/StrangeJson.js"

/** `npm run test:crash` sends more. */
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? 1_000)

const members = [
  "model",
  "messages",
  "role",
  "content",
  "type",
  "text",
  "image_url",
  "url",
  "file",
  "input_audio",
  "stream",
  "metadata",
  "session_id",
  "n",
  "stop",
  "tool_calls",
  "tool_call_id",
  "input",
  "previous_response_id",
  "conversation",
  "approval_request_id",
  "temperature"
]

const valueOf = StrangeJson.make(members, [
  "helper",
  "user",
  "assistant",
  "tool",
  "system",
  "text",
  "image_url",
  "file"
])

const requestOf = (random: SeededRandom.SeededRandom): Request => {
  const path = random.pick([
    "chat/completions",
    "chat/completions",
    "responses",
    "responses",
    "responses/resp_x",
    "models",
    "models/helper",
    "x"
  ])
  const url = `http://localhost/openai/v1/${path}`
  const right = path === "chat/completions" || path === "responses" ? "POST" : "GET"
  const method = random.below(10) > 0 ? right : random.pick(["PUT", "PATCH", "DELETE", "POST", "GET"])
  const headers = new Headers({ authorization: random.below(20) > 0 ? "Bearer token-ann" : "Bearer wrong" })
  if (method === "GET") return new Request(url, { headers })
  if (random.below(9) > 0) headers.set("content-type", "application/json")
  const message = { role: "user", content: "go", ...(random.below(3) > 0 ? {} : { content: [valueOf(random)] }) }
  const input = random.below(2) === 0 ? [message] : [valueOf(random)]
  const nearly = { model: "helper", messages: [message], input, stream: random.pick([true, false]) }
  const changed = random.below(2) === 0 ? nearly : { ...nearly, [random.pick(members)]: valueOf(random) }
  const body =
    random.below(6) === 0
      ? random.pick(StrangeJson.texts)
      : JSON.stringify(random.below(6) === 0 ? valueOf(random) : changed)
  return new Request(url, { method, headers, body })
}

describe("OpenAiServer", () => {
  it.scopedLive(`answers ${REQUESTS} strange requests with OpenAI's errors, and none with a failure of its own`, () =>
    Effect.gen(function* () {
      const random = SeededRandom.make(12)
      const agents = [Agent.make("helper", { system: "helper" })]
      const { dispose, handler } = AgentServer.toWebHandler(
        {
          agents,
          edges: [OpenAiServer.make({ agents })],
          limits: { requestsPerMinute: 10_000_000, maxStreams: 10_000 }
        },
        AgentServers.services({ agents })
      )
      yield* Effect.addFinalizer(() => Effect.promise(dispose))
      const statuses = new Map<number, number>()
      yield* Effect.promise(async () => {
        for (let n = 0; n < REQUESTS; n++) {
          const response = await handler(requestOf(random))
          const text = await response.text()
          statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
          assert.isBelow(response.status, 500, text)
          if (response.status >= 400) assert.hasAllKeys(JSON.parse(text).error, ["message", "type", "code", "param"])
        }
      })
      // The requests reach the endpoints, and not only their refusals.
      for (const status of [200, 400, 401, 404, 405, 415]) {
        assert.isAbove(statuses.get(status) ?? 0, REQUESTS / 200, JSON.stringify([...statuses]))
      }
    })
  )
})
