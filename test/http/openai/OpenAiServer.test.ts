import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { assert, describe, it } from "@effect/vitest"
import { generateText, streamText } from "ai"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import OpenAI, { AuthenticationError, BadRequestError, ConflictError, NotFoundError } from "openai"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as OpenAiServer from "../../../src/http/openai/OpenAiServer.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as InnerApproval from "../../support/InnerApproval.js"
import { failureOf } from "../../support/OpenAiClients.js"

const helper = Agent.make("helper", { system: "secret prompt" })

const start = (setup: Partial<AgentServers.Setup>, options: Omit<OpenAiServer.Options, "agents"> = {}, user = "ann") =>
  Effect.map(
    AgentServers.start({
      agents: [helper],
      ...setup,
      edges: [OpenAiServer.make({ agents: setup.agents ?? [helper], ...options })]
    }),
    (server) => ({
      ...server,
      baseURL: `${server.url}/openai/v1`,
      openai: new OpenAI({ baseURL: `${server.url}/openai/v1`, apiKey: `token-${user}`, maxRetries: 0 }),
      compatible: createOpenAICompatible({
        name: "agents",
        baseURL: `${server.url}/openai/v1`,
        apiKey: `token-${user}`,
        includeUsage: true
      })
    })
  )

const hello = { model: "helper", messages: [{ role: "user" as const, content: "hello" }] }
const usage = { inputTokens: 7, outputTokens: 3, totalTokens: 10 }

const textsOf = (request: LlmClient.LlmRequest) =>
  request.messages.map(
    ({ content, role }) => `${role}: ${typeof content === "string" ? content : JSON.stringify(content)}`
  )

describe("OpenAiServer", () => {
  it.scopedLive("lists agents as models, and finds one", () =>
    Effect.gen(function* () {
      const { openai } = yield* start({})
      const listed = yield* Effect.promise(() => openai.models.list())
      assert.deepStrictEqual(
        listed.data.map(({ id, object }) => ({ id, object })),
        [{ id: "helper", object: "model" }]
      )
      assert.strictEqual((yield* Effect.promise(() => openai.models.retrieve("helper"))).id, "helper")
      assert.instanceOf(yield* failureOf(() => openai.models.retrieve("other")), NotFoundError)
    })
  )

  it.scopedLive("answers the client of OpenAI as a whole, with usage, for its caller alone", () =>
    Effect.gen(function* () {
      const { ask, openai } = yield* start({ script: () => ({ text: "hi", usage }) })
      const { data, response } = yield* Effect.promise(() => openai.chat.completions.create(hello).withResponse())
      assert.strictEqual(data.object, "chat.completion")
      assert.strictEqual(data.choices[0]?.message.content, "hi")
      assert.strictEqual(data.choices[0]?.finish_reason, "stop")
      assert.deepInclude(data.usage, { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 })
      const runId = response.headers.get("lexigram-run-id")
      assert.strictEqual(data.id, `chatcmpl-${runId}`)
      assert.strictEqual((yield* ask(`/v1/runs/${runId}`)).status, 200)
      assert.strictEqual((yield* ask(`/v1/runs/${runId}`, { user: "bob" })).status, 404)
    })
  )

  it.scopedLive("streams to the client of OpenAI, with usage at the end where it is asked for", () =>
    Effect.gen(function* () {
      const { openai } = yield* start({ script: () => ({ text: ["h", "i", " there"], usage }) })
      const chunks = yield* Effect.promise(async () => {
        const stream = await openai.chat.completions.create({
          ...hello,
          stream: true,
          stream_options: { include_usage: true }
        })
        const all = []
        for await (const chunk of stream) all.push(chunk)
        return all
      })
      assert.strictEqual(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""), "hi there")
      assert.strictEqual(chunks[0]?.choices[0]?.delta.role, "assistant")
      assert.strictEqual(chunks.at(-2)?.choices[0]?.finish_reason, "stop")
      assert.deepInclude(chunks.at(-1)?.usage, { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 })
    })
  )

  it.scopedLive("answers and streams to the provider openai-compatible of the AI SDK", () =>
    Effect.gen(function* () {
      const { compatible } = yield* start({ script: () => ({ text: ["h", "i"], usage }) })
      const model = compatible("helper")
      const whole = yield* Effect.promise(() => generateText({ model, prompt: "hello" }))
      assert.strictEqual(whole.text, "hi")
      assert.strictEqual(whole.finishReason, "stop")
      assert.strictEqual(whole.usage.inputTokens, 7)
      const streamed = streamText({ model, prompt: "hello" })
      assert.strictEqual(yield* Effect.promise(() => streamed.text), "hi")
      assert.strictEqual((yield* Effect.promise(() => streamed.usage)).outputTokens, 3)
    })
  )

  it.scopedLive("keeps tools of the agent to the server, and shows reasoning where it may", () =>
    Effect.gen(function* () {
      const time = Tool.make("time", { description: "Time", handler: () => Effect.succeed("noon") })
      const clock = Agent.make("clock", { tools: [time] })
      let calls = 0
      const { compatible } = yield* start(
        {
          agents: [clock],
          script: () =>
            calls++ % 2 === 0
              ? { reasoning: "think", text: "Let me see", calls: [{ name: "time", params: {} }] }
              : { text: ["It is", " noon"] }
        },
        { view: { reasoning: true } }
      )
      const streamed = streamText({ model: compatible("clock"), prompt: "time?" })
      assert.strictEqual(yield* Effect.promise(() => streamed.text), "Let me see\n\nIt is noon")
      assert.strictEqual(yield* Effect.promise(() => streamed.reasoningText), "think")
      assert.deepStrictEqual(yield* Effect.promise(() => streamed.toolCalls), [])
      const whole = yield* Effect.promise(() => generateText({ model: compatible("clock"), prompt: "time?" }))
      assert.strictEqual(whole.text, "It is noon")
    })
  )

  it.scopedLive("gives the model history, images and settings", () =>
    Effect.gen(function* () {
      const requests: Array<LlmClient.LlmRequest> = []
      const { openai } = yield* start({
        script: (request) => {
          requests.push(request)
          return "hi"
        }
      })
      const png =
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
      yield* Effect.promise(() =>
        openai.chat.completions.create({
          model: "helper",
          temperature: 0.5,
          max_completion_tokens: 50,
          stop: "END",
          reasoning_effort: "low",
          messages: [
            { role: "system", content: "Be brief" },
            { role: "user", content: "one" },
            {
              role: "assistant",
              tool_calls: [{ id: "c1", type: "function", function: { name: "find", arguments: '{"q":1}' } }]
            },
            { role: "tool", tool_call_id: "c1", content: "found" },
            { role: "assistant", content: "two" },
            {
              role: "user",
              content: [
                { type: "text", text: "three" },
                { type: "image_url", image_url: { url: png } }
              ]
            }
          ]
        })
      )
      const [request] = requests
      assert.isDefined(request)
      if (request === undefined) return
      const texts = textsOf(request).join("\n")
      for (const part of ["user: Be brief", "one", "find", "found", "two", "three", "image/png"]) {
        assert.include(texts, part)
      }
      assert.notInclude(texts, "system: Be brief")
      assert.deepInclude(request.settings, { temperature: 0.5, maxTokens: 50, stop: ["END"], reasoning: "low" })
    })
  )

  it.scopedLive("goes on with the session that the metadata name, of the caller alone", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const { baseURL, openai } = yield* start({
        sessions: Layer.orDie(Sessions.layer()),
        script: (request) => {
          seen.push(textsOf(request).join("\n"))
          return "hi"
        }
      })
      const say = (client: OpenAI, content: string) =>
        Effect.promise(() =>
          client.chat.completions.create({
            model: "helper",
            messages: [{ role: "user", content }],
            metadata: { session_id: "talk" },
            user: "eve"
          })
        )
      yield* say(openai, "first words")
      yield* say(openai, "second words")
      assert.include(seen[1] ?? "", "first words")
      const bob = new OpenAI({ baseURL, apiKey: "token-bob", maxRetries: 0 })
      yield* failureOf(() => Effect.runPromise(say(bob, "third words")))
      assert.isFalse(seen.slice(2).some((text) => text.includes("first words")))
    })
  )

  it.scopedLive("refuses with the errors of OpenAI: callers, models, values, bodies, paths and methods", () =>
    Effect.gen(function* () {
      const { ask, baseURL, openai } = yield* start({})
      const stranger = new OpenAI({ baseURL, apiKey: "wrong", maxRetries: 0 })
      const unknown = yield* failureOf(() => stranger.chat.completions.create(hello))
      assert.instanceOf(unknown, AuthenticationError)
      assert.strictEqual(unknown.code, "invalid_api_key")
      const model = yield* failureOf(() => openai.chat.completions.create({ ...hello, model: "gpt-4" }))
      assert.instanceOf(model, NotFoundError)
      assert.deepInclude(model, { code: "model_not_found", param: "model", type: "invalid_request_error" })
      for (const [more, param] of [
        [{ n: 2 }, "n"],
        [
          { tool_choice: { type: "allowed_tools" as const, allowed_tools: { mode: "auto", tools: [] } } },
          "tool_choice"
        ],
        [{ temperature: 7 }, "temperature"],
        [{ messages: [{ role: "assistant" as const, content: "a" }] }, "messages[0].role"]
      ] as const) {
        const error = yield* failureOf(() => openai.chat.completions.create({ ...hello, ...more } as typeof hello))
        assert.instanceOf(error, BadRequestError, JSON.stringify(more))
        assert.strictEqual(error.param, param)
      }
      const asked = [
        [yield* ask("/openai/v1/chat/completions", { body: "{" }), 400, "invalid_request"],
        [yield* ask("/openai/v1/other"), 404, "not_found"],
        [yield* ask("/openai/v1/models", { method: "DELETE" }), 405, "method_not_allowed"],
        [
          yield* ask("/openai/v1/chat/completions", { body: "a", headers: { "content-type": "text/plain" } }),
          415,
          "unsupported_media_type"
        ]
      ] as const
      for (const [{ json, status }, expected, code] of asked) {
        assert.strictEqual(status, expected)
        assert.strictEqual(json.error.code, code)
        assert.hasAllKeys(json.error, ["message", "type", "code", "param"])
      }
      // Other paths have problem details as before.
      assert.strictEqual((yield* ask("/v1/other")).json.status, 404)
    })
  )

  it.scopedLive("interrupts the run of a caller that leaves in mid-stream", () =>
    Effect.gen(function* () {
      const { ask, openai } = yield* start({
        script: () => ({ text: ["one", "two", "three"], partDelay: "200 millis" })
      })
      const runId = yield* Effect.promise(async () => {
        const stream = await openai.chat.completions.create({ ...hello, stream: true })
        let id = ""
        for await (const chunk of stream) {
          id = chunk.id
          if (chunk.choices[0]?.delta.content === "one") break
        }
        stream.controller.abort()
        return id.replace("chatcmpl-", "")
      })
      const ended = yield* Effect.repeat(Effect.delay(ask(`/v1/runs/${runId}`), "20 millis"), {
        until: ({ json }) => json.run.endedAt !== undefined
      })
      assert.strictEqual(ended.json.run.state, "interrupted")
    })
  )

  it.scopedLive("says that a run waits for a person, and keeps the run", () =>
    Effect.gen(function* () {
      const paid = yield* Deferred.make<unknown>()
      const pay = Tool.make("pay", {
        description: "Pays",
        parameters: { amount: Schema.Number },
        requiresApproval: true,
        handler: (params) => Effect.as(Deferred.succeed(paid, params), "paid")
      })
      const clerk = Agent.make("clerk", { tools: [pay] })
      let calls = 0
      const { ask, openai } = yield* start({
        agents: [clerk],
        script: () => (calls++ === 0 ? { calls: [{ name: "pay", params: { amount: 5 } }] } : "done")
      })
      const error = yield* failureOf(() => openai.chat.completions.create({ ...hello, model: "clerk" }))
      assert.instanceOf(error, ConflictError)
      assert.strictEqual(error.code, "waits_for_person")
      const runId = error.headers?.get("lexigram-run-id") ?? ""
      const { json } = yield* ask(`/v1/approvals?runId=${runId}`)
      assert.include(error.message, `/v1/approvals/${json.approvals[0].id}/decision`)
      yield* ask(`/v1/approvals/${json.approvals[0].id}/decision`, { body: { decision: "approve" } })
      assert.deepStrictEqual(yield* Deferred.await(paid), { amount: 5 })
    })
  )

  it.scopedLive("waits for so long for other events of a run that waits for a person (quiet)", () =>
    Effect.gen(function* () {
      const agents = [Agent.make("clerk", { tools: [InnerApproval.pay] })]
      for (const quiet of ["1 millis", "1 hour"] as const) {
        const { ask } = yield* AgentServers.start({
          agents,
          edges: [OpenAiServer.make({ agents, quiet })],
          script: InnerApproval.script
        })
        const asked = yield* Effect.fork(ask("/openai/v1/chat/completions", { body: { ...hello, model: "clerk" } }))
        const { json } = yield* Effect.repeat(Effect.delay(ask("/v1/approvals"), "5 millis"), {
          until: ({ json }) => json.approvals.length > 0
        })
        if (quiet === "1 hour") {
          yield* ask(`/v1/approvals/${json.approvals[0].id}/decision`, { body: { decision: "approve" } })
        }
        const answer = yield* Fiber.join(asked)
        if (quiet === "1 hour") assert.include(answer.json.choices[0].message.content, "paid 5")
        else assert.deepStrictEqual([answer.status, answer.json.error.code], [409, "waits_for_person"])
      }
    })
  )
})
