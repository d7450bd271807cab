/** What a provider signs or seals of its reasoning goes back to it within a run that calls tools. */
import { createGoogleGenerativeAI as google4 } from "@ai-sdk/google"
import { createGoogleGenerativeAI as google3 } from "@ai-sdk/google-v3"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import type * as ModelSettings from "../../src/llm/model/ModelSettings.js"
import * as Anthropic from "../../src/provider/format/Anthropic.js"
import * as OpenAi from "../../src/provider/format/OpenAi.js"
import * as AiSdkModel from "../../src/provider/sdk/AiSdkModel.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ChatServer from "../support/ChatServer.js"
import * as ProviderBodies from "../support/ProviderBodies.js"

type Make = (baseUrl: string) => Effect.Effect<LlmClient.Service, unknown, any>

const strategy = FunctionCalling.make()
const city = Tool.make("get_city", { description: "The city", handler: () => Effect.succeed("Ghent") })

/** The bodies of a run that streams, reasons and calls a tool. */
const bodiesOf = Effect.fnUntraced(function* (
  make: Make,
  exchanges: ReadonlyArray<ChatServer.Exchange>,
  agent = Agent.make("clerk", { tools: [city], strategy, settings: { reasoning: "low" } })
) {
  const server = yield* ChatServer.make
  yield* server.script(...exchanges)
  const client = yield* make(server.baseUrl)
  const layer = Layer.provide(Agents.layer(), LlmGateway.layer(client))
  const events = yield* EventRecorder.record(AgentExecutor.stream(agent, "Where am I?")).pipe(Effect.provide(layer))
  return { bodies: server.requests.map(({ body }) => body), events }
})

const test = (program: Effect.Effect<void, unknown, any>) =>
  Effect.provide(program, FetchHttpClient.layer) as Effect.Effect<void, unknown, never>

const events = (...all: ReadonlyArray<{ readonly type: string; readonly [key: string]: unknown }>) =>
  ChatServer.sse(all.map((event) => `event: ${event.type}\n${ChatServer.event(event)}`))

const anthropic = (model: string) => (baseUrl: string) =>
  Anthropic.make({ apiKey: Redacted.make("key"), model, baseUrl })

const claudeCall = events(
  { type: "message_start", message: { ...ProviderBodies.claude, content: [], stop_reason: null } },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm" } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "SIGNED" } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "redacted_thinking", data: "SEALED" } },
  { type: "content_block_stop", index: 1 },
  { type: "content_block_start", index: 2, content_block: { type: "tool_use", id: "c1", name: "get_city", input: {} } },
  { type: "content_block_stop", index: 2 },
  { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 5 } },
  { type: "message_stop" }
)
const claudeEnd = events(
  { type: "message_start", message: { ...ProviderBodies.claude, content: [], stop_reason: null } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "Ghent" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
  { type: "message_stop" }
)

const item = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Hm" }],
  encrypted_content: "SEALED"
}
const response = (output: ReadonlyArray<object>) => ({ ...ProviderBodies.responses, output })
const openAiStream = (output: ReadonlyArray<object>) =>
  events(
    { type: "response.created", response: { ...response([]), status: "in_progress" } },
    ...output.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
    { type: "response.completed", response: response(output) }
  )

const geminiStream = (...parts: ReadonlyArray<object>) =>
  ChatServer.sse([
    ChatServer.event({
      ...ProviderBodies.gemini,
      candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }]
    })
  ])

describe("reasoning in a run with tools", () => {
  it.scopedLive("goes back to Anthropic with its signature and sealed, and is an event", () =>
    test(
      Effect.gen(function* () {
        const { bodies, events } = yield* bodiesOf(anthropic("claude-sonnet-4-5"), [claudeCall, claudeEnd])
        assert.deepStrictEqual(bodies[1].messages[1].content, [
          { type: "thinking", thinking: "Hm", signature: "SIGNED" },
          { type: "redacted_thinking", data: "SEALED" },
          { type: "tool_use", id: "c1", name: "get_city", input: {} }
        ])
        const shown = events.events.flatMap((event) => (event._tag === "ReasoningDelta" ? [event.text] : []))
        assert.deepStrictEqual(shown.join(""), "Hm")
      })
    )
  )

  it.scopedLive("goes back to OpenAI with its id and sealed", () =>
    test(
      Effect.gen(function* () {
        const call = { type: "function_call", id: "fc_1", call_id: "c1", name: "get_city", arguments: "{}" }
        const make: Make = (baseUrl) => OpenAi.make({ apiKey: Redacted.make("key"), model: "gpt-5", baseUrl })
        const settings = { reasoning: "low", providerOptions: { store: false } } as const
        const agent = Agent.make("clerk", { tools: [city], strategy, settings })
        const { bodies } = yield* bodiesOf(
          make,
          [openAiStream([item, call]), openAiStream(ProviderBodies.responses.output)],
          agent
        )
        assert.deepStrictEqual(bodies[0].include, ["reasoning.encrypted_content"])
        assert.deepInclude(
          bodies[1].input.find(({ type }: { readonly type: string }) => type === "reasoning"),
          item
        )
      })
    )
  )

  it.scopedLive.each([
    ["6", google3],
    ["7", google4]
  ] as const)("goes back to Gemini with the signature of its call: AI SDK %s", ([, make]) =>
    test(
      Effect.gen(function* () {
        const call = { functionCall: { name: "get_city", args: {} }, thoughtSignature: "U0lHTkVE" }
        const client: Make = (baseURL) =>
          AiSdkModel.make(make({ baseURL, apiKey: "key" })("gemini-3-pro-preview") as never)
        const { bodies } = yield* bodiesOf(client, [
          geminiStream({ text: "Hm", thought: true }, call),
          geminiStream({ text: "Ghent" })
        ])
        assert.include(JSON.stringify(bodies[1].contents), '"thoughtSignature":"U0lHTkVE"')
      })
    )
  )
})

describe("the reasoning of an agent", () => {
  const thinking = ({ max_tokens, thinking }: any) => [max_tokens, thinking?.budget_tokens]

  it.scopedLive("has room in the default bound of its answers, and can change with each step", () =>
    test(
      Effect.gen(function* () {
        const reasoning = (given: ModelSettings.Reasoning) => ({ settings: { reasoning: given } })
        const agent = Agent.make("clerk", { tools: [city], strategy, ...reasoning("high") }).pipe(
          Agent.withPrepareStep(({ step }) =>
            Effect.succeed(step === 1 ? undefined : reasoning({ budgetTokens: 1500 }))
          )
        )
        const { bodies } = yield* bodiesOf(anthropic("claude-sonnet-4-5"), [claudeCall, claudeEnd], agent)
        assert.deepStrictEqual(bodies.map(thinking), [
          [2048 + 24_576, 24_576],
          [2048 + 24_576, 1500]
        ])
      })
    )
  )
})
