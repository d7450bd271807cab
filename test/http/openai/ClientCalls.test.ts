import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { assert, describe, it } from "@effect/vitest"
import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import OpenAI6 from "openai"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as OpenAiServer from "../../../src/http/openai/OpenAiServer.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as PageTool from "../../../src/tool/client/PageTool.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../../support/AgentServers.js"
import { failureOf, versions } from "../../support/OpenAiClients.js"

const parameters = { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] }
const described = { name: "weather", description: "The weather of a city", parameters }
const chatTools = [{ type: "function" as const, function: described }]
const responseTools = [{ type: "function" as const, ...described, strict: null }]

const pay = Tool.make("pay", {
  description: "Pays",
  requiresApproval: true,
  handler: () => Effect.succeed("paid")
})
const helper = Agent.make("helper", { system: "help", tools: [pay] })

const resultsOf = ({ messages }: LlmClient.LlmRequest) =>
  messages.flatMap((message) => (message.role === "tool" ? message.content.map(({ result }) => String(result)) : []))

/** Asks for the weather of two cities, and says what it heard. */
const forecast = (request: LlmClient.LlmRequest) => {
  const results = resultsOf(request)
  return results.length === 0
    ? {
        text: "Let me look. ",
        calls: ["Delft", "Ghent"].map((city) => ({ name: "weather", params: { city } }))
      }
    : { text: results.toSorted().join(", ") }
}

const start = (setup: Partial<AgentServers.Setup> = {}, options: Omit<OpenAiServer.Options, "agents"> = {}) =>
  Effect.map(
    AgentServers.start({
      agents: [helper],
      script: forecast,
      ...setup,
      edges: [OpenAiServer.make({ agents: [helper], ...options })]
    }),
    (server) => ({ ...server, baseURL: `${server.url}/openai/v1` })
  )

const weather = (city: string) => `${city} 7`

for (const [version, OpenAI] of versions)
  describe(`tools of the client of OpenAI in version ${version}`, () => {
    const clientOf = (baseURL: string, user = "ann") => new OpenAI({ baseURL, apiKey: `token-${user}`, maxRetries: 0 })
    const asked = { model: "helper", messages: [{ role: "user" as const, content: "the weather?" }] }

    it.scopedLive("are run by its tool runner, in whole answers and in streams", () =>
      Effect.gen(function* () {
        const openai = clientOf((yield* start()).baseURL)
        for (const stream of [false, true] as const) {
          const cities: Array<string> = []
          const runner = openai.chat.completions.runTools({
            ...asked,
            stream: stream as false,
            tools: [
              {
                type: "function",
                function: {
                  ...described,
                  parse: JSON.parse,
                  function: ({ city }: { readonly city: string }) => {
                    cities.push(city)
                    return weather(city)
                  }
                }
              }
            ]
          })
          assert.strictEqual(yield* Effect.promise(() => runner.finalContent()), "Delft 7, Ghent 7")
          assert.sameMembers(cities, ["Delft", "Ghent"])
        }
      })
    )

    it.scopedLive("wait for all results, once, of their caller alone", () =>
      Effect.gen(function* () {
        const { ask, baseURL } = yield* start()
        const openai = clientOf(baseURL)
        const first = yield* Effect.promise(() => openai.chat.completions.create({ ...asked, tools: chatTools }))
        const { finish_reason: reason, message } = first.choices[0]!
        assert.deepStrictEqual([reason, message.content], ["tool_calls", "Let me look. "])
        const calls = (message.tool_calls ?? []) as ReadonlyArray<{
          readonly id: string
          readonly function: { readonly name: string; readonly arguments: string }
        }>
        assert.sameMembers(
          calls.map(({ function: { arguments: args, name } }) => `${name} ${args}`),
          ['weather {"city":"Delft"}', 'weather {"city":"Ghent"}']
        )
        const runId = first.id.replace("chatcmpl-", "")
        const state = Effect.map(ask(`/v1/runs/${runId}`), ({ json }) => json.run.state as string)
        assert.strictEqual(yield* state, "waiting")
        const resultOf = ({ function: { arguments: args }, id }: (typeof calls)[number], city?: string) => ({
          role: "tool" as const,
          tool_call_id: id,
          content: weather(city ?? JSON.parse(args).city)
        })
        const [one, other] = calls as [(typeof calls)[number], (typeof calls)[number]]
        const go =
          (...results: ReadonlyArray<ReturnType<typeof resultOf>>) =>
          (client = openai) =>
            client.chat.completions.create({ ...asked, messages: [...asked.messages, message, ...results] })
        assert.strictEqual((yield* failureOf(() => go(resultOf(one))(clientOf(baseURL, "bob")))).status, 400)
        const half = yield* Effect.promise(() => go(resultOf(one))())
        assert.deepStrictEqual(
          half.choices.map(({ finish_reason, message: { content, tool_calls } }) => [
            finish_reason,
            content,
            tool_calls?.map(({ id }) => id)
          ]),
          [["tool_calls", null, [other.id]]]
        )
        assert.strictEqual((yield* failureOf(() => go(resultOf(one, "Bruges"))())).status, 409)
        const unknown = { role: "tool" as const, tool_call_id: "none", content: "" }
        assert.strictEqual((yield* failureOf(() => go(unknown)())).status, 400)
        for (let n = 0; n < 2; n++) {
          const { choices } = yield* Effect.promise(() => go(resultOf(one), resultOf(other))())
          assert.strictEqual(choices[0]?.message.content, "Delft 7, Ghent 7")
        }
        assert.strictEqual(yield* state, "completed")
        const late = clientOf(baseURL).chat.completions.create({
          ...asked,
          messages: [...asked.messages, message, resultOf(one), resultOf(other), { role: "user", content: "thanks" }]
        })
        // What is over is history.
        assert.strictEqual((yield* Effect.promise(() => late)).choices[0]?.message.content, "Delft 7, Ghent 7")
      })
    )

    it.scopedLive("are functions of responses, in whole answers and in streams, with and without conversations", () =>
      Effect.gen(function* () {
        for (const sessions of [undefined, Layer.orDie(Sessions.layer())]) {
          const { baseURL } = yield* start(sessions === undefined ? {} : { sessions })
          const openai = clientOf(baseURL)
          const base = { model: "helper", input: "the weather?", tools: responseTools }
          const streamed = (body: object) =>
            Effect.promise(() => openai.responses.stream({ ...base, ...body } as never).finalResponse())
          const created = (body: object) => Effect.promise(() => openai.responses.create({ ...base, ...body } as never))
          for (const respond of [created, streamed]) {
            const first = yield* respond({})
            const calls = first.output.flatMap((item) => (item.type === "function_call" ? [item] : []))
            assert.sameMembers(
              calls.map(({ arguments: args, name, status }) => `${name} ${args} ${status}`),
              ['weather {"city":"Delft"} completed', 'weather {"city":"Ghent"} completed']
            )
            const read = yield* Effect.promise(() => openai.responses.retrieve(first.id))
            assert.sameMembers(
              read.output.flatMap((item) =>
                item.type === "function_call" ? [`${item.call_id} ${item.arguments}`] : []
              ),
              calls.map((call) => `${call.call_id} ${call.arguments}`)
            )
            const results = calls.map(({ arguments: args, call_id }) => ({
              type: "function_call_output" as const,
              call_id,
              output: weather(JSON.parse(args).city)
            }))
            const last = yield* respond({ input: results, previous_response_id: first.id })
            assert.deepStrictEqual([last.status, last.output_text], ["completed", "Delft 7, Ghent 7"])
          }
        }
      })
    )

    it.scopedLive(
      "are not called with `none`, are called where the request says so, and take no name of the agent's",
      () =>
        Effect.gen(function* () {
          const seen: Array<unknown> = []
          const { baseURL } = yield* start({
            script: ({ toolChoice, tools = [] }) => {
              seen.push([tools.map(({ name }) => name), toolChoice])
              return typeof toolChoice === "object"
                ? { calls: [{ name: toolChoice.tool, params: { city: "Delft" } }] }
                : "hi"
            }
          })
          const openai = clientOf(baseURL)
          const create = (more: object) =>
            openai.chat.completions.create({ ...asked, tools: chatTools, ...more } as never)
          yield* Effect.promise(() => create({}))
          yield* Effect.promise(() => create({ tool_choice: "none" }))
          const named = { tool_choice: { type: "function", function: { name: "weather" } } }
          const { choices } = yield* Effect.promise(() => create(named))
          assert.strictEqual(choices[0]?.finish_reason, "tool_calls")
          const both = ["pay", "weather"]
          assert.deepStrictEqual(seen, [
            [both, undefined],
            [both, "none"],
            [both, { tool: "weather" }]
          ])
          for (const more of [
            { ...named, tools: [] },
            { tools: [{ type: "custom", custom: { name: "x" } }] },
            { tools: [{ type: "function", function: { name: "" } }] },
            { tools: Array.from({ length: 129 }, (_, at) => ({ type: "function", function: { name: `t${at}` } })) },
            { functions: [{ name: "x" }] },
            { tools: [{ type: "function", function: { name: "x", parameters: { type: "array" } } }] },
            { tools: [{ type: "function", function: { name: "pay" } }] }
          ]) {
            assert.strictEqual((yield* failureOf(() => create(more))).status, 400, JSON.stringify(more).slice(0, 100))
          }
        })
    )
  })

describe("tools of clients of OpenAI's API", () => {
  it.scopedLive("are run by the AI SDK, by completions and responses", () =>
    Effect.gen(function* () {
      const { baseURL } = yield* start()
      const models = [
        createOpenAICompatible({ name: "agents", baseURL, apiKey: "token-ann" })("helper"),
        createOpenAI({ baseURL, apiKey: "token-ann" }).responses("helper")
      ]
      const tools = {
        weather: tool({
          description: "The weather of a city",
          inputSchema: jsonSchema<{ city: string }>(parameters),
          execute: ({ city }) => weather(city)
        })
      }
      for (const model of models) {
        const options = {
          model,
          tools,
          prompt: "the weather?",
          stopWhen: isStepCount(3),
          providerOptions: { openai: { store: false } }
        }
        const whole = yield* Effect.promise(() => generateText(options))
        assert.deepStrictEqual([whole.text, whole.steps.length], ["Delft 7, Ghent 7", 2])
        assert.strictEqual(yield* Effect.promise(() => streamText(options).text), "Delft 7, Ghent 7")
      }
    })
  )

  it.scopedLive("wait as long as the server says", () =>
    Effect.gen(function* () {
      const { ask, baseURL } = yield* start({}, { callsExpireAfter: "50 millis", quiet: "10 millis" })
      const openai = new OpenAI6({ baseURL, apiKey: "token-ann", maxRetries: 0 })
      const first = yield* Effect.promise(() =>
        openai.chat.completions.create({
          model: "helper",
          messages: [{ role: "user", content: "the weather?" }],
          tools: chatTools
        })
      )
      const runId = first.id.replace("chatcmpl-", "")
      const ended = yield* Effect.repeat(Effect.delay(ask(`/v1/runs/${runId}`), "20 millis"), {
        until: ({ json }) => json.run.endedAt !== undefined
      })
      assert.strictEqual(ended.json.run.state, "completed")
    })
  )

  it.scopedLive("go with approvals: first the calls, then what waits for a person", () =>
    Effect.gen(function* () {
      const { ask, baseURL } = yield* start({
        script: (request) => {
          const results = resultsOf(request)
          return results.length === 0
            ? { calls: [{ name: "pay" }, { name: "weather", params: { city: "Delft" } }] }
            : { text: results.toSorted().join(", ") }
        }
      })
      const openai = new OpenAI6({ baseURL, apiKey: "token-ann", maxRetries: 0 })
      const messages = [{ role: "user" as const, content: "the weather?" }]
      const first = yield* Effect.promise(() =>
        openai.chat.completions.create({ model: "helper", messages, tools: chatTools })
      )
      const { message } = first.choices[0]!
      const [call] = message.tool_calls ?? []
      const given = [...messages, message, { role: "tool" as const, tool_call_id: call?.id ?? "", content: "Delft 7" }]
      const answer = () => openai.chat.completions.create({ model: "helper", messages: given })
      const waits = yield* failureOf(answer)
      assert.strictEqual(waits.code, "waits_for_person")
      const [, approval = ""] = /approvals\/(\S+)\/decision/.exec(waits.message) ?? []
      yield* ask(`/v1/approvals/${approval}/decision`, { body: { decision: "approve" } })
      assert.strictEqual((yield* Effect.promise(answer)).choices[0]?.message.content, "Delft 7, paid")
    })
  )

  it.scopedLive("do not include those that the agent declares: their calls wait as questions to a person do", () =>
    Effect.gen(function* () {
      const weather = PageTool.make("weather", { description: "Its own", parameters: { city: Schema.String } })
      const agents = [Agent.make("helper", { tools: [weather] })]
      const { ask, baseURL } = yield* start({ agents })
      const openai = new OpenAI6({ baseURL, apiKey: "token-ann", maxRetries: 0 })
      const messages = [{ role: "user" as const, content: "the weather?" }]
      const error = yield* failureOf(() => openai.chat.completions.create({ model: "helper", messages }))
      assert.deepStrictEqual([error.status, error.code], [409, "waits_for_person"])
      const response = yield* Effect.promise(() => openai.responses.create({ model: "helper", input: "the weather?" }))
      const items = response.output.flatMap((item: any) => (item.type === "message" ? [] : [item]))
      assert.deepStrictEqual(
        items.map(({ name, type }) => [type, name]),
        Array.from({ length: 2 }, () => ["mcp_approval_request", "weather"])
      )
      assert.sameDeepMembers(
        items.map((item) => JSON.parse(item.arguments).params),
        [{ city: "Delft" }, { city: "Ghent" }]
      )
      for (const { id } of items) {
        // It is no call of this client, which cannot give its result as one.
        const input = [{ type: "function_call_output" as const, call_id: id, output: "9 degrees" }]
        const refused = yield* failureOf(() => openai.responses.create({ model: "helper", input }))
        assert.strictEqual(refused.status, 400)
        const body = { decision: "approve", params: { result: "7 degrees" } }
        const path = `/v1/approvals/${encodeURIComponent(id)}/decision`
        assert.strictEqual((yield* ask(path, { body })).status, 204)
      }
      const kept = yield* Effect.repeat(
        Effect.promise(() => openai.responses.retrieve(response.id)),
        {
          until: ({ output_text }) => output_text.includes("degrees")
        }
      )
      assert.include(kept.output_text, "7 degrees, 7 degrees")
      const both = yield* failureOf(() =>
        openai.chat.completions.create({ model: "helper", messages, tools: chatTools })
      )
      assert.strictEqual(both.status, 400)
    })
  )
})
