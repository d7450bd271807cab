import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgUi from "../../../src/http/agui/AgUi.js"
import * as OpenAiServer from "../../../src/http/openai/OpenAiServer.js"
import * as UiChat from "../../../src/http/ui/UiChat.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as AgentServers from "../../support/AgentServers.js"

const agents = [Agent.make("helper")]

const slow = Layer.succeed(LlmClient.LlmClient, { provider: "test", model: "m", complete: () => Effect.never })

const completion = {
  name: "openAiChat",
  path: "/openai/v1/chat/completions",
  body: { model: "helper", messages: [{ role: "user", content: "go" }], stream: true }
}
const chat = {
  name: "sendMessages",
  path: "/ui/chat/helper",
  body: { id: "c", messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "go" }] }] }
}
const thread = {
  name: "agUiRun",
  path: "/agui/helper",
  body: { threadId: "t", runId: "r", messages: [{ id: "m", role: "user", content: "go" }] }
}

describe("the edges of a server", () => {
  for (const { body, name, path } of [completion, chat, thread]) {
    const leaves = (detach: boolean) =>
      Effect.gen(function* () {
        const { ask, url } = yield* AgentServers.start({
          agents,
          model: slow,
          edges: [
            OpenAiServer.make({ agents, detach }),
            UiChat.make({ detach, grace: "10 millis" }),
            AgUi.make({ detach, grace: "10 millis" })
          ]
        })
        const states = Effect.map(ask("/v1/runs"), ({ json }) => json.runs.map(({ state }: { state: string }) => state))
        const leaving = new AbortController()
        const response = yield* Effect.promise(() =>
          fetch(`${url}${path}`, { ...AgentServers.init({ body }), signal: leaving.signal })
        )
        assert.strictEqual(response.status, 200)
        assert.deepStrictEqual(yield* states, ["running"])
        leaving.abort()
        return states
      })

    it.scopedLive(`interrupt the run of ${path} when its caller leaves`, () =>
      Effect.gen(function* () {
        const states = yield* leaves(false)
        const ended = yield* Effect.repeat(Effect.delay(states, "10 millis"), {
          until: ([state]) => state !== "running"
        })
        assert.deepStrictEqual(ended, ["interrupted"])
      })
    )

    it.scopedLive(`let the run of ${path} go on where it is detached`, () =>
      Effect.gen(function* () {
        const states = yield* leaves(true)
        yield* Effect.sleep("300 millis")
        assert.deepStrictEqual(yield* states, ["running"])
      })
    )

    it.scopedLive(`are asked whether a caller may use ${path}, by a name of their own`, () =>
      Effect.gen(function* () {
        const asked: Array<string> = []
        const { ask } = yield* AgentServers.start({
          agents,
          edges: [OpenAiServer.make({ agents }), UiChat.make(), AgUi.make()],
          permits: (_caller, endpoint) => {
            asked.push(endpoint)
            return false
          }
        })
        assert.strictEqual((yield* ask(path, { body })).status, 403)
        assert.deepStrictEqual(asked, [`edge:${name}`])
      })
    )
  }
})
