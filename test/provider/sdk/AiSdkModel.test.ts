/** What a model of the AI SDK is asked and what it may answer, by a model that answers what a test says. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import type { LlmPart, LlmRequest, Message } from "../../../src/llm/model/LlmClient.js"
import * as AiSdkModel from "../../../src/provider/sdk/AiSdkModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"

const usage = {
  inputTokens: { total: 3, noCache: 2, cacheRead: 1, cacheWrite: 0 },
  outputTokens: { total: 2, text: 1, reasoning: 1 }
}
const answer = (...content: ReadonlyArray<unknown>) => ({
  content,
  finishReason: { unified: "stop", raw: "stop" },
  usage,
  warnings: []
})
const hello = answer({ type: "text", text: "hello" })
const finish = { type: "finish", usage, finishReason: { unified: "stop", raw: undefined } }

interface Scripted extends AiSdkModel.Model {
  readonly asked: Array<any>
}

/** A model that gives its answers in order, the last one again and again. */
const scripted = (version: string, answers: ReadonlyArray<unknown>, more: Partial<AiSdkModel.Model> = {}): Scripted => {
  const asked: Array<any> = []
  const next = () => (answers.length > asked.length - 1 ? answers[asked.length - 1] : answers.at(-1))
  const model: Scripted = {
    asked,
    specificationVersion: version,
    provider: "anthropic.messages",
    modelId: "m",
    supportedUrls: {},
    doGenerate: async (options) => {
      asked.push(options)
      return next()
    },
    doStream: async (options) => {
      asked.push(options)
      return {
        stream: new ReadableStream({
          start: (to) => {
            for (const part of next() as ReadonlyArray<unknown>) to.enqueue(part)
            to.close()
          }
        })
      }
    }
  }
  return Object.defineProperties(model, Object.getOwnPropertyDescriptors(more))
}

const optionsFor = (version: string, request: LlmRequest, more: Partial<AiSdkModel.Model> = {}) =>
  Effect.gen(function* () {
    const model = scripted(version, [hello], more)
    const client = yield* AiSdkModel.make(model)
    yield* client.complete({ ...request, settings: { promptCache: false, ...request.settings } })
    const { abortSignal, ...options } = model.asked[0]
    assert.instanceOf(abortSignal, AbortSignal)
    return options
  })

const user = (...content: ReadonlyArray<any>): LlmRequest => ({ messages: [{ role: "user", content }] })
const png = new Uint8Array([137, 80, 78, 71])

describe("AiSdkModel", () => {
  it.effect("passes every setting, tool, choice and format", () =>
    Effect.gen(function* () {
      const request: LlmRequest = {
        messages: [
          { role: "system", content: "Be brief" },
          { role: "user", content: "hi" }
        ],
        tools: [{ name: "t", description: "T", parameters: { type: "object" } }],
        toolChoice: { tool: "t" },
        responseFormat: { type: "json", name: "out", schema: { type: "object" }, description: "D" },
        settings: {
          temperature: 0.5,
          topP: 0.9,
          maxTokens: 100,
          stop: ["END"],
          seed: 7,
          presencePenalty: 0.1,
          frequencyPenalty: 0.2,
          parallelToolCalls: false,
          providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } }, other: { x: 1 } }
        }
      }
      const common = {
        prompt: [
          { role: "system", content: "Be brief" },
          { role: "user", content: [{ type: "text", text: "hi" }] }
        ],
        tools: [{ type: "function", name: "t", description: "T", inputSchema: { type: "object" } }],
        toolChoice: { type: "tool", toolName: "t" },
        responseFormat: { type: "json", name: "out", schema: { type: "object" }, description: "D" },
        temperature: 0.5,
        topP: 0.9,
        maxOutputTokens: 100,
        stopSequences: ["END"],
        seed: 7,
        presencePenalty: 0.1,
        frequencyPenalty: 0.2
      }
      const own = { disableParallelToolUse: true, cacheControl: { type: "ephemeral" } }
      assert.deepStrictEqual(yield* optionsFor("v4", request), {
        ...common,
        providerOptions: { anthropic: own, other: { x: 1 } }
      })
      assert.deepStrictEqual(yield* optionsFor("v3", request), {
        ...common,
        providerOptions: { anthropic: own, other: { x: 1 } }
      })
    })
  )

  it.effect.each([
    ["google.generative-ai", "gemini-3-pro-preview", { google: { thinkingConfig: { thinkingLevel: "low" } } }],
    ["openai.responses", "gpt-5", { openai: { reasoningEffort: "low" } }],
    ["local.chat", "m", { local: { reasoningEffort: "low" } }]
  ] as const)("passes the level of reasoning to %s of AI SDK 6 by its own option", ([provider, modelId, expected]) =>
    Effect.gen(function* () {
      const request: LlmRequest = { ...user({ type: "text", text: "hi" }), settings: { reasoning: "low" } }
      const { providerOptions } = yield* optionsFor("v3", request, { provider, modelId })
      assert.deepStrictEqual(providerOptions, expected)
    })
  )

  it.effect("passes the level of reasoning to an unknown package of AI SDK 7 by the option of all", () =>
    Effect.gen(function* () {
      const request: LlmRequest = { ...user({ type: "text", text: "hi" }), settings: { reasoning: "low" } }
      const { providerOptions, reasoning } = yield* optionsFor("v4", request, { provider: "local.chat" })
      assert.deepStrictEqual([reasoning, providerOptions], ["low", undefined])
    })
  )

  it.effect("sends files as bytes, as Base64 and by a URL that the provider fetches", () =>
    Effect.gen(function* () {
      const supportedUrls = { "image/*": [/^https:\/\/images\.example\//] }
      const url = new URL("https://images.example/a.png")
      const file = (data: unknown, mediaType = "image/png") => ({ type: "file", mediaType, fileName: "a", data })
      const request = user(
        file(png),
        file("iVBORw=="),
        file(`data:image/png;base64,iVBORw==`),
        file(url),
        file(url.href)
      )
      const sent = (data: unknown) => ({ type: "file", mediaType: "image/png", filename: "a", data })
      const of = (version: string) =>
        Effect.map(
          optionsFor(version, request, { supportedUrls: Promise.resolve(supportedUrls) }),
          ({ prompt }) => prompt[0].content
        )
      assert.deepStrictEqual(yield* of("v3"), [png, "iVBORw==", "iVBORw==", url, url].map(sent))
      assert.deepStrictEqual(
        yield* of("v4"),
        [
          ...[png, "iVBORw==", "iVBORw=="].map((data) => ({ type: "data", data })),
          ...[url, url].map((url) => ({ type: "url", url }))
        ].map(sent)
      )
    })
  )

  it.effect.each([
    ["a URL that the provider does not fetch", "https://elsewhere.example/a.png", "Download the file"],
    ["a URL into the private network", "http://169.254.169.254/latest", "Download the file"],
    ["data that is no Base64", "%%%", "Base64"],
    ["a broken data URL", "data:image/png,%E0%A4%A", "Base64"]
  ] as const)("refuses %s before anything is sent, and says what to do", ([_, data, hint]) =>
    Effect.gen(function* () {
      const model = scripted("v4", [hello], { supportedUrls: { "image/*": [/^https:\/\/images\.example\//] } })
      const client = yield* AiSdkModel.make(model)
      const error = yield* Effect.flip(client.complete(user({ type: "file", mediaType: "image/png", data })))
      assert.strictEqual(error._tag, "LlmInvalidRequestError")
      assert.include(`${error.message} ${error.hint}`, hint)
      assert.lengthOf(model.asked, 0)
    })
  )

  it.effect.each(["v3", "v4"])("asks a model of %s once which URLs it fetches, when a message has one", (version) =>
    Effect.gen(function* () {
      let reads = 0
      const model = scripted(version, [hello], {
        get supportedUrls() {
          reads++
          return Promise.resolve({ "image/*": [/^https:/] })
        }
      })
      const client = yield* AiSdkModel.make(model)
      const withFile = (data: unknown) => client.complete(user({ type: "file", mediaType: "image/png", data }))
      yield* client.complete(user({ type: "text", text: "see https://images.example/a.png" }))
      yield* withFile(png)
      yield* withFile("data:image/png;base64,iVBORw==")
      assert.strictEqual(reads, 0)
      const url = "https://images.example/a.png"
      yield* Effect.all([withFile(url), withFile(new URL(url))], { concurrency: 2 })
      yield* withFile(url)
      assert.strictEqual(reads, 1)
      assert.lengthOf(model.asked, 6)
    })
  )

  it.effect("asks each model that the settings name which URLs it fetches", () =>
    Effect.gen(function* () {
      const reads: Array<string> = []
      const named = (modelId: string) =>
        scripted("v4", [hello], {
          modelId,
          get supportedUrls() {
            reads.push(modelId)
            return { "image/*": [/^https:/] }
          }
        })
      const client = yield* AiSdkModel.make(named("a"), { models: named })
      const request = user({ type: "file", mediaType: "image/png", data: "https://images.example/a.png" })
      for (const model of ["a", "b", "b", "a", "c"]) yield* client.complete({ ...request, settings: { model } })
      assert.deepStrictEqual(reads, ["a", "b", "c"])
    })
  )

  it.effect.each([
    ["rejects", () => Promise.reject(new Error("no list, key sk-secret-0123456789"))],
    [
      "throws",
      () => {
        throw new Error("no list, key sk-secret-0123456789")
      }
    ]
  ] as const)("says what to do when the package %s instead of telling the URLs, and asks again", ([_, first]) =>
    Effect.gen(function* () {
      let reads = 0
      const model = scripted("v4", [hello], {
        get supportedUrls() {
          return ++reads === 1 ? first() : Promise.resolve({ "image/*": [/^https:/] })
        }
      })
      const client = yield* AiSdkModel.make(model, { redact: [Redacted.make("sk-secret-0123456789")] })
      const request = user({ type: "file", mediaType: "image/png", data: "https://images.example/a.png" })
      const error = yield* Effect.flip(client.complete(request))
      assert.strictEqual(error._tag, "LlmInvalidRequestError")
      assert.include(error.message, "no list")
      assert.notInclude(error.message, "sk-secret")
      assert.include(error.hint ?? "", "Give the bytes of the file")
      assert.lengthOf(model.asked, 0)
      yield* client.complete(request)
      assert.lengthOf(model.asked, 1)
    })
  )

  it.effect("sends back calls, results and what the provider said beside them, and leaves empty texts out", () =>
    Effect.gen(function* () {
      const signature = { other: { signature: "signed" } }
      const messages: ReadonlyArray<Message> = [
        { role: "user", content: "" },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "hm", options: signature },
            { type: "text", text: "" },
            { type: "tool-call", id: "c", name: "t", params: "{broken", providerExecuted: false }
          ]
        },
        {
          role: "tool",
          content: [
            { type: "tool-result", id: "c", name: "t", isFailure: true, result: "no", providerExecuted: false },
            { type: "tool-result", id: "d", name: "t", isFailure: false, result: { a: 1 }, providerExecuted: false },
            { type: "tool-result", id: "e", name: "t", isFailure: false, result: undefined, providerExecuted: false }
          ]
        }
      ]
      const { prompt } = yield* optionsFor("v4", { messages })
      const result = (toolCallId: string, output: object) => ({
        type: "tool-result",
        toolCallId,
        toolName: "t",
        output
      })
      assert.deepStrictEqual(prompt, [
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "hm", providerOptions: signature },
            { type: "tool-call", toolCallId: "c", toolName: "t", input: { input: "{broken" } }
          ]
        },
        {
          role: "tool",
          content: [
            result("c", { type: "error-text", value: "no" }),
            result("d", { type: "json", value: { a: 1 } }),
            result("e", { type: "json", value: null })
          ]
        }
      ])
    })
  )

  it.effect(
    "reads reasoning, files, sources, results of the provider's tools and metadata, whole and streamed alike",
    () =>
      Effect.gen(function* () {
        const metadata = { other: { signature: "signed" } }
        const others = [
          { type: "file", mediaType: "image/png", data: { type: "data", data: png } },
          { type: "file", mediaType: "text/plain", data: "aGk=" },
          { type: "source", sourceType: "url", id: "1", url: "https://a.example", title: "A" },
          {
            type: "source",
            sourceType: "document",
            id: "2",
            mediaType: "application/pdf",
            title: "B",
            filename: "b.pdf"
          },
          { type: "tool-call", toolCallId: "s", toolName: "search", input: '{"q":1}', providerExecuted: true },
          { type: "tool-result", toolCallId: "s", toolName: "search", result: { found: 1 } },
          { type: "tool-call", toolCallId: "c", toolName: "t", input: "{broken" }
        ]
        const whole = answer(
          { type: "reasoning", text: "hm", providerMetadata: metadata },
          { type: "text", text: "hello" },
          ...others
        )
        const streamed = [
          { type: "stream-start", warnings: [] },
          { type: "ping" },
          { type: "reasoning-start", id: "r" },
          { type: "reasoning-delta", id: "r", delta: "hm" },
          { type: "reasoning-end", id: "r", providerMetadata: metadata },
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta: "hel" },
          { type: "text-delta", id: "t", delta: "lo" },
          { type: "text-end", id: "t" },
          ...others,
          { type: "tool-result", toolCallId: "s", toolName: "search", result: { found: 0 }, preliminary: true },
          finish
        ]
        const client = yield* AiSdkModel.make(scripted("v4", [whole, streamed]))
        const first = yield* client.complete(user({ type: "text", text: "hi" }))
        const second = yield* client.complete(user({ type: "text", text: "hi" }), { onParts: () => Effect.void })
        assert.deepStrictEqual(first, second)
        assert.deepStrictEqual(first.content, [
          { type: "reasoning", text: "hm", metadata },
          { type: "text", text: "hello" },
          { type: "file", mediaType: "image/png", data: "iVBORw==" },
          { type: "file", mediaType: "text/plain", data: "aGk=" },
          { type: "source", sourceType: "url", id: "1", url: "https://a.example", title: "A" },
          {
            type: "source",
            sourceType: "document",
            id: "2",
            mediaType: "application/pdf",
            title: "B",
            fileName: "b.pdf"
          },
          { type: "tool-call", id: "s", name: "search", params: { q: 1 }, providerExecuted: true },
          {
            type: "tool-result",
            id: "s",
            name: "search",
            isFailure: false,
            result: { found: 1 },
            providerExecuted: true
          },
          { type: "tool-call", id: "c", name: "t", params: "{broken" }
        ])
        assert.deepStrictEqual(first.usage, {
          inputTokens: 3,
          outputTokens: 2,
          totalTokens: 5,
          reasoningTokens: 1,
          cachedInputTokens: 1,
          cacheWriteTokens: 0,
          providerToolCalls: 1
        })
      })
  )

  it.effect("asks the model that the settings name, if the provider's function is given", () =>
    Effect.gen(function* () {
      const other = scripted("v3", [hello], { modelId: "other" })
      const model = scripted("v4", [hello])
      const request: LlmRequest = { ...user({ type: "text", text: "hi" }), settings: { model: "other" } }
      const error = yield* Effect.flip(Effect.flatMap(AiSdkModel.make(model), (client) => client.complete(request)))
      assert.strictEqual(error._tag, "LlmInvalidRequestError")
      assert.include(error.message, "other")
      const client = yield* AiSdkModel.make(model, { models: (id) => (id === "other" ? other : model) })
      assert.strictEqual((yield* client.complete(request)).model, "other")
      assert.lengthOf(other.asked, 1)
      assert.lengthOf(model.asked, 0)
    })
  )

  it.effect("refuses models of other versions of the specification", () =>
    Effect.gen(function* () {
      for (const version of ["v2", "v5", undefined as unknown as string]) {
        const error = yield* Effect.flip(AiSdkModel.make(scripted(version, [hello])))
        assert.strictEqual(error._tag, "LlmConfigurationError")
        assert.include(error.message, String(version))
      }
    })
  )

  it.effect("names the provider as in its prices, or as told", () =>
    Effect.gen(function* () {
      const model = scripted("v3", [hello])
      assert.strictEqual((yield* AiSdkModel.make(model)).provider, "anthropic")
      assert.strictEqual((yield* AiSdkModel.make(model, { provider: "mine" })).provider, "mine")
    })
  )

  const lies: ReadonlyArray<readonly [string, unknown, ReadonlyArray<unknown>]> = [
    ["nothing", undefined, []],
    ["null parts", answer(null, 1, "x", []), [null, 1, "x", [], finish]],
    [
      "parts without fields",
      answer({ type: "text" }, { type: "tool-call" }, { type: "file" }, { type: "source" }),
      [
        { type: "text-delta" },
        { type: "tool-call" },
        { type: "tool-result" },
        { type: "tool-input-start" },
        { type: "finish" }
      ]
    ],
    [
      "a usage of texts",
      { ...hello, usage: { inputTokens: "many", outputTokens: { total: Number.NaN } } },
      [{ type: "finish", usage: null, finishReason: null }]
    ],
    [
      "a hostile prototype",
      answer(JSON.parse('{"type":"text","text":"x","__proto__":{"polluted":1}}')),
      [JSON.parse('{"type":"text-delta","id":"__proto__","delta":"x"}'), finish]
    ]
  ]

  it.effect.each(lies)("survives a model that answers %s", ([_, whole, stream]) =>
    Effect.gen(function* () {
      const ask = user({ type: "text", text: "hi" })
      for (const [said, onParts] of [
        [whole, undefined],
        [stream, () => Effect.void]
      ] as const) {
        const client = yield* AiSdkModel.make(scripted("v4", [said]))
        const exit = yield* Effect.either(client.complete(ask, { onParts }))
        if (exit._tag === "Left") assert.strictEqual(exit.left._tag, "LlmMalformedResponseError")
        else assert.isArray(exit.right.content)
      }
      assert.isUndefined(({} as any).polluted)
    })
  )

  it.effect.each([
    [
      "throws at once",
      () => {
        throw new Error("boom")
      },
      "LlmUnavailableError"
    ],
    ["rejects with nothing", () => Promise.reject(undefined), "LlmUnavailableError"],
    [
      "lacks a key",
      () => Promise.reject(Object.assign(new Error("key is missing"), { name: "AI_LoadAPIKeyError" })),
      "LlmAuthenticationError"
    ],
    [
      "cannot do it",
      () => Promise.reject(Object.assign(new Error("'x' not supported"), { name: "AI_UnsupportedFunctionalityError" })),
      "LlmInvalidRequestError"
    ],
    [
      "could not parse",
      () => Promise.reject(Object.assign(new Error("bad"), { name: "AI_JSONParseError" })),
      "LlmMalformedResponseError"
    ]
  ] as ReadonlyArray<readonly [string, () => Promise<never>, string]>)("classifies a model that %s", ([_, fail, tag]) =>
    Effect.gen(function* () {
      const client = yield* AiSdkModel.make(scripted("v4", [], { doGenerate: fail, doStream: fail }))
      const ask = user({ type: "text", text: "hi" })
      assert.strictEqual((yield* Effect.flip(client.complete(ask)))._tag, tag)
      assert.strictEqual((yield* Effect.flip(client.complete(ask, { onParts: () => Effect.void })))._tag, tag)
    })
  )

  it.effect("ends at an error within a stream, with the parts before it", () =>
    Effect.gen(function* () {
      const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }
      const client = yield* AiSdkModel.make(
        scripted("v4", [[{ type: "text-delta", id: "t", delta: "hel" }, error, finish]])
      )
      const parts: Array<LlmPart> = []
      const failed = yield* Effect.flip(
        client.complete(user({ type: "text", text: "hi" }), {
          onParts: (more) => Effect.sync(() => void parts.push(...more))
        })
      )
      assert.strictEqual(failed._tag, "LlmUnavailableError")
      assert.lengthOf(parts, 1)
    })
  )

  it.effect("cancels the stream of a model that does not listen to its signal", () =>
    Effect.gen(function* () {
      let cancelled = 0
      const stream = new ReadableStream({ cancel: () => void cancelled++ })
      const model = scripted("v4", [], { doStream: () => Promise.resolve({ stream }) })
      const client = yield* AiSdkModel.make(model)
      const fiber = yield* Effect.fork(
        client.complete(user({ type: "text", text: "hi" }), { onParts: () => Effect.void })
      )
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(cancelled, 1)
    })
  )

  it.effect("runs an agent with a tool", () => {
    const add = Tool.make("add", {
      description: "Adds",
      parameters: { a: Schema.Number, b: Schema.Number },
      success: Schema.Number,
      handler: ({ a, b }) => Effect.succeed(a + b)
    })
    const call = { type: "tool-call", toolCallId: "c", toolName: "add", input: '{"a":2,"b":3}' }
    const calls = { ...answer(call), finishReason: { unified: "tool-calls", raw: undefined } }
    const model = scripted("v4", [calls, answer({ type: "text", text: "It is 5." })])
    return Effect.gen(function* () {
      const agent = Agent.make("sums", { tools: [add] })
      assert.strictEqual((yield* AgentExecutor.run(agent, { input: "2 + 3?" })).output, "It is 5.")
      assert.deepStrictEqual(model.asked[1].prompt.at(-1).content[0].output, { type: "json", value: 5 })
    }).pipe(Effect.provide(Agents.layer().pipe(Layer.provide(AiSdkModel.layer(model)))))
  })
})
