import { assert, describe, it } from "@effect/vitest"
import * as WorkflowEngine from "@effect/workflow/WorkflowEngine"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as A2aServer from "../../src/a2a/A2aServer.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as AgentServer from "../../src/http/api/AgentServer.js"
import * as A2aWebhooks from "../../src/webhook/A2aWebhooks.js"
import * as AgentServers from "../support/AgentServers.js"
import * as SeededRandom from "../support/SeededRandom.js"
import * as StrangeJson from "../support/StrangeJson.js"

/** `npm run test:crash` sends more. */
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? 1_000)

const pushes = ["Create", "Get", "Delete"].map((verb) => `${verb}TaskPushNotificationConfig`)
const methods = [
  ...["SendMessage", "SendStreamingMessage", "GetTask", "ListTasks", "CancelTask", "SubscribeToTask", "x"],
  ...[...pushes, "ListTaskPushNotificationConfigs"]
]
const members = [
  "message",
  "messageId",
  "contextId",
  "taskId",
  "role",
  "parts",
  "text",
  "raw",
  "url",
  "data",
  "id",
  "pageSize",
  "token",
  "authentication",
  "scheme"
]
const valueOf = StrangeJson.make(members, ["ROLE_USER", "ROLE_AGENT", "text/plain", "helper", "2.0", ...methods])

/** A text of URLs: half of a pair of code units becomes another character. */
const segmentOf = (text: string): string => encodeURIComponent(Buffer.from(text.slice(0, 300)).toString())

/** A request of HTTP+JSON. */
const restOf = (random: SeededRandom.SeededRandom): Request => {
  const id = segmentOf(random.pick([...StrangeJson.texts, "x", "x:cancel", "x:subscribe"]))
  const query = `?${random.pick(members)}=${segmentOf(random.pick(StrangeJson.texts))}`
  const configs = `tasks/${id}/pushNotificationConfigs`
  const path = random.pick(["message:send", "message:stream", "tasks", `tasks/${id}`, configs, `${configs}/${id}`, id])
  const method = random.pick(["GET", "POST", "POST", "DELETE"])
  const headers = new Headers({ authorization: "Bearer token-ann" })
  const url = `http://localhost/a2a/helper/${path}${random.below(2) === 0 ? query : ""}`
  if (method !== "POST" || random.below(5) === 0) return new Request(url, { method, headers })
  headers.set("content-type", random.pick(["application/json", "application/a2a+json"]))
  const message = { messageId: `m${random.below(50)}`, role: "ROLE_USER", parts: [{ text: "go" }] }
  const value = random.pick([{ message, [random.pick(members)]: valueOf(random) }, valueOf(random)])
  return new Request(url, { method, headers, body: JSON.stringify(value) })
}

const requestOf = (random: SeededRandom.SeededRandom): Request => {
  const path = random.pick(["helper", "helper", "helper", "helper/.well-known/agent-card.json", "nobody", "%00"])
  const url = `http://localhost/a2a/${path}`
  const method = random.below(9) > 0 ? (path.includes("card") ? "GET" : "POST") : random.pick(["PUT", "DELETE", "GET"])
  const headers = new Headers({ authorization: random.below(20) > 0 ? "Bearer token-ann" : "Bearer wrong" })
  if (random.below(20) === 0) headers.set("a2a-version", random.pick(["0.3", "1.0", "x", "99.9"]))
  if (method === "GET") return new Request(url, { method, headers })
  if (random.below(9) > 0) headers.set("content-type", "application/json")
  const parts = random.below(2) === 0 ? [{ text: "go" }] : [valueOf(random)]
  const changed = random.below(3) === 0 ? { [random.pick(members)]: valueOf(random) } : {}
  const context = random.below(2) === 0 ? { contextId: random.pick(StrangeJson.texts) } : {}
  const message = { ...context, messageId: `m${random.below(50)}`, role: "ROLE_USER", parts, ...changed }
  const params = random.below(2) === 0 ? { message } : random.below(2) === 0 ? { id: "x" } : valueOf(random)
  const call = { jsonrpc: "2.0", id: random.below(5), method: random.pick(methods), params }
  const sent = random.below(8) === 0 ? { ...call, [random.pick(["id", "jsonrpc", "method"])]: valueOf(random) } : call
  const body =
    random.below(8) === 0
      ? random.pick(StrangeJson.texts)
      : JSON.stringify(random.below(8) === 0 ? valueOf(random) : sent)
  return new Request(url, { method, headers, body })
}

describe("A2aServer", () => {
  it.scopedLive(`answers ${REQUESTS} strange requests by its protocol, and none with a failure of its own`, () =>
    Effect.gen(function* () {
      const random = SeededRandom.make(7)
      const agents = [Agent.make("helper", { system: "secret prompt" })]
      const push = A2aWebhooks.layer({ resolve: () => Effect.succeed(["10.0.0.7"]) })
      const { dispose, handler } = AgentServer.toWebHandler(
        {
          agents,
          edges: [A2aServer.make({ agents })],
          limits: { requestsPerMinute: 10_000_000, maxStreams: 10_000 }
        },
        Layer.provideMerge(Layer.provide(push, WorkflowEngine.layerMemory), AgentServers.services({ agents }))
      )
      yield* Effect.addFinalizer(() => Effect.promise(dispose))
      const counts = new Map<string, number>()
      const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1)
      yield* Effect.promise(async () => {
        for (let n = 0; n < REQUESTS; n++) {
          const response = await handler(random.below(4) === 0 ? restOf(random) : requestOf(random))
          const text = await response.text()
          count(`status ${response.status}`)
          assert.isBelow(response.status, 500, text)
          assert.notInclude(text, "secret")
          for (const [, status] of text.matchAll(/"status":"([A-Z]+(?:_[A-Z]+)+)"/g)) count(`error ${status}`)
          for (const [, code] of text.matchAll(/"error":\{"code":(-\d+)/g)) {
            count(`code ${code}`)
            assert.notInclude(["-32603"], code, text)
          }
        }
      })
      // The requests reach the methods, and not only their refusals.
      const seen = JSON.stringify([...counts])
      for (const what of ["200", "400", "401", "404", "405"]) {
        assert.isAbove(counts.get(`status ${what}`) ?? 0, REQUESTS / 200, seen)
      }
      for (const what of ["-32700", "-32600", "-32601", "-32602", "-32001", "-32009"]) {
        assert.isAbove(counts.get(`code ${what}`) ?? 0, 0, seen)
      }
      for (const what of ["INVALID_ARGUMENT", "NOT_FOUND"]) assert.isAbove(counts.get(`error ${what}`) ?? 0, 0, seen)
    })
  )
})
