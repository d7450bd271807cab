/** Tools that providers run themselves: how they are asked for, and what comes of their calls. */
import { createAnthropic as anthropic4 } from "@ai-sdk/anthropic"
import { createAnthropic as anthropic3 } from "@ai-sdk/anthropic-v3"
import { createGoogleGenerativeAI as google4 } from "@ai-sdk/google"
import { createGoogleGenerativeAI as google3 } from "@ai-sdk/google-v3"
import { createOpenAI as openai4 } from "@ai-sdk/openai"
import { createOpenAI as openai3 } from "@ai-sdk/openai-v3"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as PublicView from "../../src/domain/PublicView.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as ProviderTool from "../../src/llm/ProviderTool.js"
import * as Anthropic from "../../src/provider/format/Anthropic.js"
import * as ChatCompletions from "../../src/provider/format/ChatCompletions.js"
import * as OpenAi from "../../src/provider/format/OpenAi.js"
import * as LanguageModelClient from "../../src/provider/LanguageModelClient.js"
import * as AiSdkModel from "../../src/provider/sdk/AiSdkModel.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../src/strategy/loop/ReAct.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ChatServer from "../support/ChatServer.js"
import * as ProviderBodies from "../support/ProviderBodies.js"
import * as Runs from "../support/Runs.js"

type Make = (baseUrl: string) => Effect.Effect<LlmClient.Service, unknown, any>

const apiKey = "key"
const claude: Make = (baseUrl) => Anthropic.make({ apiKey: Redacted.make(apiKey), model: "claude-sonnet-4-5", baseUrl })
const gpt: Make = (baseUrl) => OpenAi.make({ apiKey: Redacted.make(apiKey), model: "gpt-5", baseUrl })
const sdk =
  (
    make: (options: { readonly baseURL: string; readonly apiKey: string }) => (model: string) => unknown,
    model: string
  ): Make =>
  (baseURL) =>
    AiSdkModel.make(make({ baseURL, apiKey })(model) as never)

const test = (program: Effect.Effect<void, unknown, any>) =>
  Effect.provide(program, FetchHttpClient.layer) as Effect.Effect<void, unknown, never>

const asking = (tools: ReadonlyArray<ProviderTool.ProviderTool>, more: object = {}): LlmClient.LlmRequest => ({
  messages: [{ role: "user", content: "Hello" }],
  settings: { providerTools: tools, promptCache: false },
  ...more
})

/** The bodies that clients send for one request. */
const sent = Effect.fnUntraced(function* (answer: object, clients: ReadonlyArray<Make>, request: LlmClient.LlmRequest) {
  const server = yield* ChatServer.make
  for (const make of clients) {
    const client = yield* make(server.baseUrl)
    yield* server.script(ChatServer.json(answer))
    yield* client.complete(request)
  }
  return server.requests
})

const search = ProviderTool.webSearch({
  maxUses: 3,
  allowedDomains: ["example.com"],
  userLocation: { city: "Ghent", country: "BE" }
})
const own = { name: "get_city", description: "The city", parameters: { type: "object", properties: {} } }

describe("a tool of the provider", () => {
  it.scopedLive("is a server tool at Anthropic, as its packages send it", () =>
    test(
      Effect.gen(function* () {
        const clients = [claude, sdk(anthropic3, "claude-sonnet-4-5"), sdk(anthropic4, "claude-sonnet-4-5")]
        const requests = yield* sent(
          ProviderBodies.claude,
          clients,
          asking([search, ProviderTool.codeExecution()], { tools: [own] })
        )
        for (const { body, headers } of requests) {
          assert.deepStrictEqual(body.tools.slice(1), [
            {
              type: "web_search_20250305",
              name: "web_search",
              max_uses: 3,
              allowed_domains: ["example.com"],
              user_location: { type: "approximate", city: "Ghent", country: "BE" }
            },
            { type: "code_execution_20250825", name: "code_execution" }
          ])
          assert.include(headers["anthropic-beta"], "code-execution-2025-08-25")
        }
      })
    )
  )

  it.scopedLive("is a built-in tool at OpenAI's Responses, as its packages send it", () =>
    test(
      Effect.gen(function* () {
        const tools = [
          search,
          ProviderTool.codeExecution(),
          ProviderTool.fileSearch({ stores: ["vs_1"], maxResults: 4 })
        ]
        const clients = [gpt, sdk(openai3, "gpt-5"), sdk(openai4, "gpt-5")]
        const requests = yield* sent(ProviderBodies.responses, clients, asking(tools))
        for (const { body } of requests) {
          assert.deepStrictEqual(body.tools, [
            {
              type: "web_search",
              filters: { allowed_domains: ["example.com"] },
              user_location: { type: "approximate", city: "Ghent", country: "BE" }
            },
            { type: "code_interpreter", container: { type: "auto" } },
            { type: "file_search", vector_store_ids: ["vs_1"], max_num_results: 4 }
          ])
          assert.strictEqual(body.max_tool_calls, 3)
          assert.includeMembers(body.include, ["web_search_call.action.sources", "code_interpreter_call.outputs"])
        }
      })
    )
  )

  it.scopedLive("is sent by Gemini's packages, beside tools of an agent since Gemini 3", () =>
    test(
      Effect.gen(function* () {
        const tools = [ProviderTool.webSearch(), ProviderTool.codeExecution(), ProviderTool.of("google", "url_context")]
        const alone = yield* sent(
          ProviderBodies.gemini,
          [sdk(google3, "gemini-2.5-flash"), sdk(google4, "gemini-2.5-flash")],
          asking(tools)
        )
        for (const { body } of alone)
          assert.deepStrictEqual(body.tools, [{ googleSearch: {} }, { codeExecution: {} }, { urlContext: {} }])
        const [beside] = yield* sent(
          ProviderBodies.gemini,
          [sdk(google4, "gemini-3-pro-preview")],
          asking(tools, { tools: [own] })
        )
        assert.include(JSON.stringify(beside?.body.tools), '"get_city"')
        assert.include(JSON.stringify(beside?.body.tools), '"googleSearch"')
      })
    )
  )

  it.scopedLive("of one provider alone has the fields that are given", () =>
    test(
      Effect.gen(function* () {
        const fetch = ProviderTool.of("anthropic", "web_fetch_20250910", {
          options: { name: "web_fetch", max_uses: 2 }
        })
        const [body] = yield* sent(ProviderBodies.claude, [claude], asking([fetch]))
        assert.deepStrictEqual(body?.body.tools, [{ type: "web_fetch_20250910", name: "web_fetch", max_uses: 2 }])
        const made = ProviderTool.of("anthropic", "web_fetch_20250910", { options: { maxUses: 2 } })
        const [packed] = yield* sent(ProviderBodies.claude, [sdk(anthropic4, "claude-sonnet-4-5")], asking([made]))
        assert.deepInclude(packed?.body.tools[0], { type: "web_fetch_20250910", name: "web_fetch", max_uses: 2 })
      })
    )
  )

  const chat: Make = (baseUrl) => ChatCompletions.make({ baseUrl, model: "m" })
  const refused: ReadonlyArray<readonly [string, Make, LlmClient.LlmRequest]> = [
    ["chat completions", chat, asking([search])],
    ["file search at Anthropic", claude, asking([ProviderTool.fileSearch({ stores: [] })])],
    ["the tool of another provider", gpt, asking([ProviderTool.of("anthropic", "web_fetch_20250910")])],
    ["the name of a tool of the agent", claude, asking([search], { tools: [{ ...own, name: "web_search" }] })],
    ["bounds that Gemini cannot keep", sdk(google4, "gemini-3-pro-preview"), asking([search])],
    [
      "tools of an agent before Gemini 3",
      sdk(google3, "gemini-2.5-pro"),
      asking([ProviderTool.codeExecution()], { tools: [own] })
    ],
    [
      "chat completions of OpenAI's package",
      (baseURL) => AiSdkModel.make(openai4({ baseURL, apiKey }).chat("gpt-4.1") as never),
      asking([search])
    ],
    [
      "models of @effect/ai",
      () => Effect.succeed(LanguageModelClient.make({} as never, { provider: "anthropic" })),
      asking([search])
    ]
  ]
  it.scopedLive.each(refused)("that cannot run fails before the call: %s", ([, make, request]) =>
    test(
      Effect.gen(function* () {
        const server = yield* ChatServer.make
        const client = yield* make(server.baseUrl)
        const error = yield* Effect.flip(client.complete(request))
        assert.strictEqual(error._tag, "LlmUnsupportedFeatureError")
        assert.lengthOf(server.requests, 0)
      })
    )
  )
})

const searched = [
  { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "Ghent" } },
  {
    type: "web_search_tool_result",
    tool_use_id: "srv_1",
    content: [{ type: "web_search_result", url: "https://example.com", title: "Ghent", encrypted_content: "SEALED" }]
  }
]
const paused = { ...ProviderBodies.claude, content: searched, stop_reason: "pause_turn" }
const answered = { ...ProviderBodies.claude, content: [{ type: "text", text: "FINAL_ANSWER: In Ghent" }] }

/** The same message as events. */
const streamOf = ({ content, ...message }: typeof paused | typeof answered) =>
  ChatServer.sse(
    [
      { type: "message_start", message: { ...message, content: [], stop_reason: null } },
      ...(content as ReadonlyArray<any>).flatMap((block, index) => [
        {
          type: "content_block_start",
          index,
          content_block: block.type === "server_tool_use" ? { ...block, input: {} } : block
        },
        ...(block.type === "server_tool_use"
          ? [
              {
                type: "content_block_delta",
                index,
                delta: { type: "input_json_delta", partial_json: JSON.stringify(block.input) }
              }
            ]
          : []),
        { type: "content_block_stop", index }
      ]),
      { type: "message_delta", delta: { stop_reason: message.stop_reason }, usage: message.usage },
      { type: "message_stop" }
    ].map((event) => `event: ${event.type}\n${ChatServer.event(event)}`)
  )

const openAiStream = (response: { readonly output: ReadonlyArray<object> }) =>
  ChatServer.sse(
    [
      { type: "response.created", response: { ...response, output: [], status: "in_progress" } },
      ...response.output.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
      { type: "response.completed", response }
    ].map(ChatServer.event)
  )

const prices = CostEstimator.layerPrices({ answered: { input: 0, output: 0 } })

const agentOf = (strategy: ReturnType<typeof FunctionCalling.make>, tools: ReadonlyArray<Tool.Any> = []) =>
  Agent.make("reporter", { strategy, tools, settings: { providerTools: [search], promptCache: false } } as never)

/** A run that is streamed, and one that is not. */
const run = Effect.fnUntraced(function* (
  make: Make,
  exchanges: ReadonlyArray<ChatServer.Exchange>,
  agent: Agent.Any,
  whole: ReadonlyArray<object> = []
) {
  const server = yield* ChatServer.make
  yield* server.script(...exchanges)
  const client = yield* make(server.baseUrl)
  const layer = Layer.merge(Layer.provide(Agents.layer(), LlmGateway.layer(client)), prices)
  const recorded = yield* EventRecorder.record(AgentExecutor.stream(agent as never, "Where?")).pipe(
    Effect.provide(layer)
  )
  yield* server.script(...(whole.length === 0 ? exchanges : whole.map((body) => ChatServer.json(body))))
  const response = yield* AgentExecutor.run(agent as never, "Where?").pipe(Effect.provide(layer))
  return { bodies: server.requests.map(({ body }) => body), events: recorded.events, response: response as any }
})

describe("the calls of a provider's tool in a run", () => {
  it.scopedLive.each([
    ["function_calling", FunctionCalling.make()],
    ["react", ReAct.make()],
    ["react in text", ReAct.make({ format: "text" })]
  ] as const)("are events, go back to Anthropic after a pause, and are counted and priced: %s", ([, strategy]) =>
    test(
      Effect.gen(function* () {
        const { bodies, events, response } = yield* run(
          claude,
          [streamOf(paused), streamOf(answered)],
          agentOf(strategy),
          [paused, answered]
        )
        const used = Runs.of(events, "ProviderToolUsed")
        assert.deepStrictEqual(
          used.map(({ id, isFailure, name, params, result }) => ({ id, isFailure, name, params, result })),
          [
            {
              id: "srv_1",
              isFailure: false,
              name: "web_search",
              params: { query: "Ghent" },
              result: [{ type: "web_search_result", url: "https://example.com", title: "Ghent" }]
            }
          ]
        )
        assert.lengthOf(Runs.of(events, "ToolCall"), 0)
        assert.lengthOf(Runs.of(events, "ToolResult"), 0)
        assert.deepStrictEqual(bodies[1].messages.at(-1).content, searched)
        assert.deepStrictEqual(bodies[3].messages.at(-1).content, searched)
        const [first, second] = Runs.of(events, "UsageReported")
        assert.deepInclude(first?.usage, { providerToolCalls: 1, providerToolUsd: 0.01 })
        assert.deepStrictEqual([first?.costUsd, second?.costUsd], [0.01, 0])
        assert.deepInclude(response.usage, { providerToolCalls: 1, providerToolUsd: 0.01 })
        assert.strictEqual(response.costUsd, 0.01)
        const shown = used.map((event) => PublicView.fromEvent(event))
        assert.include(JSON.stringify(shown), "Ghent")
        assert.notInclude(JSON.stringify(shown), "example.com")
      })
    )
  )

  it.scopedLive.each([
    ["6", anthropic3],
    ["7", anthropic4]
  ] as const)("are events and go back through Anthropic's package of AI SDK %s", ([, make]) =>
    test(
      Effect.gen(function* () {
        const { bodies, events, response } = yield* run(
          sdk(make as never, "claude-sonnet-4-5"),
          [streamOf(paused), streamOf(answered)],
          agentOf(FunctionCalling.make()),
          [paused, answered]
        )
        const used = Runs.of(events, "ProviderToolUsed")
        assert.deepStrictEqual(
          used.map(({ name, params }) => [name, params]),
          [["web_search", { query: "Ghent" }]]
        )
        assert.include(JSON.stringify(used[0]?.result), "https://example.com")
        const back = bodies[1].messages.at(-1)
        assert.strictEqual(back.role, "assistant")
        assert.deepStrictEqual(
          back.content.map(({ type }: { readonly type: string }) => type),
          ["server_tool_use", "web_search_tool_result"]
        )
        assert.include(JSON.stringify(back), "SEALED")
        assert.deepInclude(response.usage, { providerToolCalls: 1, providerToolUsd: 0.01 })
      })
    )
  )

  it.scopedLive("go back to OpenAI as items, beside the calls of the agent's own tools", () =>
    test(
      Effect.gen(function* () {
        const item = {
          type: "web_search_call",
          id: "ws_1",
          status: "completed",
          action: { type: "search", query: "Ghent", sources: [{ type: "url", url: "https://example.com" }] }
        }
        const call = { type: "function_call", id: "fc_1", call_id: "c1", name: "get_city", arguments: "{}" }
        const city = Tool.make("get_city", { description: "The city", handler: () => Effect.succeed("Ghent") })
        const acting = { ...ProviderBodies.responses, output: [item, call] }
        const { bodies, events, response } = yield* run(
          gpt,
          [openAiStream(acting), openAiStream(ProviderBodies.responses)],
          agentOf(FunctionCalling.make(), [city]),
          [acting, ProviderBodies.responses]
        )
        assert.deepInclude(bodies[1].input, item)
        assert.deepInclude(bodies[3].input, item)
        assert.deepStrictEqual(
          Runs.of(events, "ProviderToolUsed").map(({ name, params }) => [name, params]),
          [["web_search", { action: item.action }]]
        )
        assert.deepStrictEqual(
          Runs.of(events, "ToolResult").map(({ id }) => id),
          ["c1"]
        )
        assert.deepInclude(response.usage, { providerToolCalls: 1, providerToolUsd: 0.01 })
      })
    )
  )

  it.scopedLive("have bounded results in events, and what an agent is not told to use is shown as well", () =>
    test(
      Effect.gen(function* () {
        const long = { type: "web_search_result", url: "https://example.com", title: "x".repeat(100_000) }
        const failed = [
          { type: "server_tool_use", id: "srv_2", name: "web_fetch", input: {} },
          {
            type: "web_fetch_tool_result",
            tool_use_id: "srv_2",
            content: { type: "web_fetch_tool_result_error", error_code: "unavailable" }
          },
          // A result without its call.
          { type: "web_search_tool_result", tool_use_id: "srv_9", content: [] }
        ]
        const content = [searched[0], { ...searched[1], content: [long] }, ...failed]
        const { events } = yield* run(
          claude,
          [streamOf({ ...paused, content } as never), streamOf(answered)],
          agentOf(FunctionCalling.make())
        )
        const used = Runs.of(events, "ProviderToolUsed")
        assert.deepStrictEqual(
          used.map(({ id, isFailure, name }) => [id, name, isFailure]),
          [
            ["srv_1", "web_search", false],
            ["srv_2", "web_fetch", true]
          ]
        )
        assert.isString(used[0]?.result)
        assert.isBelow(String(used[0]?.result).length, 17_000)
      })
    )
  )

  it.scopedLive("of Gemini are read from what grounds its answer", () =>
    test(
      Effect.gen(function* () {
        const server = yield* ChatServer.make
        const client = yield* sdk(google4, "gemini-3-pro-preview")(server.baseUrl)
        const [candidate] = ProviderBodies.gemini.candidates
        const grounded = { ...candidate, groundingMetadata: { webSearchQueries: ["a", "b"] } }
        yield* server.script(ChatServer.json({ ...ProviderBodies.gemini, candidates: [grounded] }))
        const { usage } = yield* client.complete(asking([ProviderTool.webSearch()]))
        assert.deepInclude(usage, { providerToolCalls: 1, providerToolUsd: 0.035 })
      })
    )
  )

  it.scopedLive("have the price that the tool names, and an unknown price is unknown", () =>
    test(
      Effect.gen(function* () {
        const server = yield* ChatServer.make
        const client = yield* claude(server.baseUrl)
        yield* server.script(
          ChatServer.json(paused),
          ChatServer.json({ ...paused, content: [{ ...searched[0], name: "other" }] })
        )
        const { usage } = yield* client.complete(asking([ProviderTool.webSearch({ usdPerCall: 0.5 })]))
        assert.deepInclude(usage, { providerToolCalls: 1, providerToolUsd: 0.5 })
        const other = yield* client.complete(asking([]))
        assert.strictEqual(other.usage.providerToolCalls, 1)
        assert.notProperty(other.usage, "providerToolUsd")
        const estimator = CostEstimator.fromPrices({ m: { input: 1, output: 1 } })
        assert.isUndefined(estimator.estimate({ provider: "p", model: "m", usage: other.usage }))
      })
    )
  )
})
