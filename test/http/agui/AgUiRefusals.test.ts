import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgUi from "../../../src/http/agui/AgUi.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../../support/AgentServers.js"
import { Page } from "../../support/AgUiClients.js"

const helper = Agent.make("helper", { system: "helper" })
const pay = Tool.make("pay", {
  description: "Pays",
  parameters: { amount: Schema.Number },
  requiresApproval: true,
  handler: () => Effect.succeed("paid")
})
const sessions = Layer.orDie(Sessions.layer())
const user = { id: "m", role: "user", content: "hi" }
const input = { threadId: "t", runId: "r", messages: [user] }

describe("AgUi", () => {
  it.scopedLive("refuses what it does not take, as problem details", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({ agents: [helper], sessions, edges: [AgUi.make()] })
      const source = (value: string, type = "url") => ({
        type: "image",
        source: { type, value, mimeType: "image/png" }
      })
      const withParts = (...content: ReadonlyArray<unknown>) => ({ ...input, messages: [{ ...user, content }] })
      const cases: ReadonlyArray<readonly [unknown, number]> = [
        ["{", 400],
        [{}, 400],
        [{ ...input, messages: [] }, 400],
        [{ ...input, messages: [{ ...user, role: "assistant" }] }, 400],
        [{ ...input, messages: [{ ...user, role: "unheard-of" }] }, 400],
        [{ ...input, threadId: "a\r\nb" }, 400],
        [{ ...input, runId: "" }, 400],
        [{ ...input, resume: [{ interruptId: "i", status: "maybe" }] }, 400],
        [withParts(source("javascript:alert(1)")), 400],
        [withParts(source("file:///etc/passwd")), 400],
        [withParts(source("!!", "data")), 400],
        [withParts(source("file-1", "file")), 400],
        [{ ...input, state: null, tools: [], resume: null, context: [], forwardedProps: {} }, 200]
      ]
      for (const [body, status] of cases) {
        const answer = yield* ask("/agui/helper", { body })
        assert.strictEqual(answer.status, status, `${JSON.stringify(body)}: ${answer.text}`)
        const type = status === 200 ? "text/event-stream" : "application/problem+json"
        assert.strictEqual(answer.headers.get("content-type"), type)
      }
      assert.strictEqual((yield* ask("/agui/nobody", { body: input })).status, 404)
      assert.strictEqual((yield* ask("/agui/helper")).status, 405)
      assert.strictEqual((yield* ask("/agui/helper", { body: input, user: "" })).status, 401)
      assert.strictEqual((yield* ask("/agui/helper/connect", { body: input, user: "" })).status, 401)
    })
  )

  it.scopedLive("keeps the threads of callers apart", () =>
    Effect.gen(function* () {
      const server = yield* AgentServers.start({ agents: [helper], sessions, edges: [AgUi.make()] })
      assert.strictEqual((yield* server.ask("/agui/helper", { body: input })).status, 200)
      const other = yield* server.ask("/agui/helper", { body: { ...input, runId: "r2" }, user: "bob" })
      assert.strictEqual(other.status, 404, other.text)
      const page = new Page({ url: server.url, agent: "helper", threadId: "t", user: "bob" })
      yield* Effect.promise(() => page.connectAgent())
      assert.deepStrictEqual(page.messages, [])
      assert.deepStrictEqual(page.types, ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"])
    })
  )

  it.scopedLive("stands values that nest deep, and long ids", () =>
    Effect.gen(function* () {
      let calls = 0
      const { ask, url } = yield* AgentServers.start({
        agents: [helper, Agent.make("clerk", { system: "clerk", tools: [pay] })],
        sessions,
        edges: [AgUi.make({ state: true })],
        script: ({ messages }) =>
          JSON.stringify(messages[0]).includes("clerk") && calls++ === 0
            ? { calls: [{ name: "pay", params: { amount: 5 } }] }
            : "hi"
      })
      const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`
      const body = (more: string) => `{"threadId":"t","runId":"r","messages":[${JSON.stringify(user)}],${more}}`
      for (const more of [
        `"state":${deep}`,
        `"state":{"a":${deep}}`,
        `"tools":${deep}`,
        `"resume":[{"interruptId":"i","status":"resolved","payload":${deep}}]`,
        `"metadata":${deep}`,
        `"messages":${deep}`
      ]) {
        const { status, text } = yield* ask("/agui/helper", { body: body(more) })
        assert.isBelow(status, 500, `${more.slice(0, 20)}: ${text.slice(0, 300)}`)
      }
      const page = new Page({ url, agent: "clerk", threadId: "t2" })
      yield* Effect.promise(() => page.send("pay"))
      const { id } = page.interrupt
      const edited = `[{"interruptId":"${id}","status":"resolved","payload":{"approved":true,"editedArgs":{"amount":${deep}}}}]`
      const answer = yield* ask("/agui/clerk", {
        body: `{"threadId":"t2","runId":"r","messages":[],"resume":${edited}}`
      })
      assert.strictEqual(answer.status, 200)
      assert.match(answer.text, /RUN_FINISHED|RUN_ERROR/)
      const long = { ...input, runId: "x".repeat(512), messages: [{ ...user, id: "y".repeat(512) }] }
      assert.strictEqual((yield* ask("/agui/helper", { body: long })).status, 200)
    })
  )
})
