import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { assert, describe, it } from "@effect/vitest"
import { generateObject, generateText, isStepCount, Output, streamText, tool } from "ai"
import * as Effect from "effect/Effect"
import * as EffectSchema from "effect/Schema"
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod"
import * as z from "zod"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as OpenAiServer from "../../../src/http/openai/OpenAiServer.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import type * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../../support/AgentServers.js"
import { failureOf, versions } from "../../support/OpenAiClients.js"

const look = Tool.make("look", { description: "Looks", handler: () => Effect.succeed("it rains") })
const helper = Agent.make("helper", { tools: [look] })
const former = Agent.make("former", { output: EffectSchema.Struct({ degrees: EffectSchema.Int }) })
const agents = [helper, former]

const Forecast = z.object({
  city: z.string(),
  degrees: z.number().int(),
  wind: z.object({ force: z.number() }).nullable()
})
const value = { city: "Delft", degrees: 7, wind: null }

/** Speaks around the JSON, unless it is asked for its text alone, and once does not fit. */
const speak = ({ messages, responseFormat }: LlmClient.LlmRequest): TestModel.Turn => {
  if (responseFormat?.type !== "json") return { text: "It is 7 degrees in Delft" }
  if (JSON.stringify(messages).includes("riddle")) return { text: '{"city":7}' }
  if (responseFormat.name === "former_output") return { text: '{"degrees":7}' }
  return { text: ["```json\n", JSON.stringify(value), "\n```"] }
}

const start = (script: (request: LlmClient.LlmRequest) => TestModel.Turn = speak) =>
  Effect.gen(function* () {
    const seen: Array<LlmClient.LlmRequest> = []
    const server = yield* AgentServers.start({
      agents,
      edges: [OpenAiServer.make({ agents })],
      script: (request) => {
        seen.push(request)
        return script(request)
      }
    })
    return { ...server, seen, baseURL: `${server.url}/openai/v1` }
  })

const messages = [{ role: "user" as const, content: "the weather?" }]

for (const [version, OpenAI] of versions)
  describe(`the form of an answer, with the client of OpenAI in version ${version}`, () => {
    const clientOf = (baseURL: string) => new OpenAI({ baseURL, apiKey: "token-ann", maxRetries: 0 })

    it.scopedLive("is that of a schema, in whole completions and in streams", () =>
      Effect.gen(function* () {
        const { baseURL, seen } = yield* start()
        const { completions } = clientOf(baseURL).chat
        const asked = { model: "helper", messages, response_format: zodResponseFormat(Forecast, "forecast") }
        const whole = yield* Effect.promise(() => completions.parse(asked))
        assert.deepStrictEqual(whole.choices[0]?.message.parsed, value)
        const format = seen.at(-1)?.responseFormat
        assert.deepInclude(format, { type: "json", name: "forecast" })
        const streamed = completions.stream({ ...asked, stream: true })
        assert.deepStrictEqual(
          (yield* Effect.promise(() => streamed.finalChatCompletion())).choices[0]?.message.parsed,
          value
        )
      })
    )

    it.scopedLive("is that of a schema, in whole responses, in streams, and where they are read again", () =>
      Effect.gen(function* () {
        const { responses } = clientOf((yield* start()).baseURL)
        const asked = { model: "helper", input: "the weather?", text: { format: zodTextFormat(Forecast, "forecast") } }
        const whole = yield* Effect.promise(() => responses.parse(asked))
        assert.deepStrictEqual(whole.output_parsed, value)
        const streamed = responses.stream(asked)
        assert.deepStrictEqual((yield* Effect.promise(() => streamed.finalResponse())).output_parsed, value)
        const read = yield* Effect.promise(() => responses.retrieve(whole.id))
        assert.deepStrictEqual(JSON.parse(read.output_text), value)
      })
    )

    it.scopedLive("is any object, or the agent's own", () =>
      Effect.gen(function* () {
        const { baseURL, seen } = yield* start()
        const openai = clientOf(baseURL)
        for (const [model, expected] of [["helper", value] as const, ["former", { degrees: 7 }] as const]) {
          const chat = yield* Effect.promise(() =>
            openai.chat.completions.create({ model, messages, response_format: { type: "json_object" } })
          )
          assert.deepStrictEqual(JSON.parse(chat.choices[0]?.message.content ?? ""), expected)
          const response = yield* Effect.promise(() =>
            openai.responses.create({ model, input: "the weather?", text: { format: { type: "json_object" } } })
          )
          assert.deepStrictEqual(JSON.parse(response.output_text), expected)
        }
        assert.deepInclude(seen[1]?.responseFormat, { schema: { type: "object" } })
        const text = { type: "text" as const }
        const said = openai.chat.completions.create({ model: "helper", messages, response_format: text })
        assert.strictEqual((yield* Effect.promise(() => said)).choices[0]?.message.content, "It is 7 degrees in Delft")
      })
    )

    it.scopedLive("is refused where it is none, and fails the answer that never fits", () =>
      Effect.gen(function* () {
        const { baseURL, seen } = yield* start()
        const openai = clientOf(baseURL)
        const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
        const none: ReadonlyArray<readonly [object, object?]> = [
          [{ name: "no name", schema }],
          [{ name: "x", schema: "object" }],
          [{ name: "x", schema: { type: "array" } }],
          [{ name: "x", schema: { type: "object", properties: { a: { $ref: "http://127.0.0.1/schema" } } } }],
          [{ name: "x", description: "x".repeat(9000), schema }],
          [{ name: "x", schema }, { model: "former" }]
        ]
        for (const [form, more] of none) {
          const calls = [
            () =>
              openai.chat.completions.create({
                model: "helper",
                messages,
                response_format: { type: "json_schema", json_schema: form },
                ...more
              } as never),
            () =>
              openai.responses.create({
                model: "helper",
                input: "hi",
                text: { format: { type: "json_schema", ...form } },
                ...more
              } as never)
          ]
          for (const call of calls) {
            assert.strictEqual((yield* failureOf(call)).status, 400, JSON.stringify(form).slice(0, 100))
          }
        }
        assert.lengthOf(seen, 0)
        const never = openai.chat.completions.create({
          model: "helper",
          messages: [{ role: "user", content: "riddle" }],
          response_format: { type: "json_schema", json_schema: { name: "x", strict: true, schema } }
        })
        const error = yield* failureOf(() => never)
        assert.deepStrictEqual([error.status, error.type], [500, "server_error"])
      })
    )

    it.scopedLive("makes the model call the tools that the request names first, and one at a time", () =>
      Effect.gen(function* () {
        const { baseURL, seen } = yield* start(({ messages, toolChoice = "auto" }) =>
          messages.some(({ role }) => role === "tool") || toolChoice === "auto" || toolChoice === "none"
            ? { text: "done" }
            : { calls: [{ name: "look" }] }
        )
        const openai = clientOf(baseURL)
        const chosen = { type: "function", name: "look" }
        const choices: ReadonlyArray<readonly [unknown, ReadonlyArray<unknown>]> = [
          ["auto", [undefined]],
          ["none", ["none"]],
          ["required", ["required", undefined]],
          [chosen, [{ tool: "look" }, undefined]],
          [{ type: "function", function: { name: "look" } }, [{ tool: "look" }, undefined]]
        ]
        for (const [choice, expected] of choices) {
          const more = { tool_choice: choice, parallel_tool_calls: false }
          for (const call of [
            () => openai.chat.completions.create({ model: "helper", messages, ...more } as never),
            () => openai.responses.create({ model: "helper", input: "hi", ...more } as never)
          ]) {
            yield* Effect.promise<unknown>(call)
            const asked = seen.splice(0)
            assert.deepStrictEqual(
              asked.map(({ toolChoice }) => toolChoice),
              expected
            )
            assert.isTrue(asked.every(({ settings }) => settings?.parallelToolCalls === false))
          }
        }
        for (const choice of [
          "any",
          { type: "function", name: "other" },
          { type: "allowed_tools", mode: "auto", tools: [chosen] },
          { type: "custom", custom: { name: "look" } },
          { type: "function" }
        ]) {
          const chat = { model: "helper", messages, tool_choice: choice }
          const response = { model: "helper", input: "hi", tool_choice: choice }
          assert.strictEqual((yield* failureOf(() => openai.chat.completions.create(chat as never))).status, 400)
          assert.strictEqual((yield* failureOf(() => openai.responses.create(response as never))).status, 400)
        }
        assert.lengthOf(seen, 0)
      })
    )
  })

describe("the form of an answer, with the AI SDK", () => {
  it.scopedLive("is that of the answer behind the calls of its tools", () =>
    Effect.gen(function* () {
      const { baseURL } = yield* start((request) =>
        request.messages.every(({ role }) => role !== "tool")
          ? { text: "Let me look.", calls: [{ name: "sky" }] }
          : speak(request)
      )
      const settings = { name: "agents", baseURL, apiKey: "token-ann", supportsStructuredOutputs: true }
      const options = {
        model: createOpenAICompatible(settings)("helper"),
        prompt: "the weather?",
        output: Output.object({ schema: Forecast }),
        tools: { sky: tool({ inputSchema: z.object({}), execute: () => "clear" }) },
        stopWhen: isStepCount(3)
      }
      const whole = yield* Effect.promise(() => generateText(options))
      assert.deepStrictEqual([whole.output, whole.steps.length], [value, 2])
      const { output } = streamText(options)
      assert.deepStrictEqual(yield* Effect.promise(() => output), value)
    })
  )

  it.scopedLive("is that of its objects, whole and in streams", () =>
    Effect.gen(function* () {
      const { baseURL } = yield* start()
      const models = [
        createOpenAICompatible({ name: "agents", baseURL, apiKey: "token-ann", supportsStructuredOutputs: true })(
          "helper"
        ),
        createOpenAI({ baseURL, apiKey: "token-ann" }).responses("helper"),
        createOpenAI({ baseURL, apiKey: "token-ann" }).chat("helper")
      ]
      for (const model of models) {
        const options = { model, prompt: "the weather?" }
        const whole = yield* Effect.promise(() => generateObject({ ...options, schema: Forecast }))
        assert.deepStrictEqual(whole.object, value)
        const { output } = streamText({ ...options, output: Output.object({ schema: Forecast }) })
        assert.deepStrictEqual(yield* Effect.promise(() => output), value)
      }
    })
  )
})
