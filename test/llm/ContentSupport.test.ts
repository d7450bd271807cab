/** Files that a model does not take. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as ToolFiles from "../../src/content/ToolFiles.js"
import type { StoredFile } from "../../src/domain/StoredFile.js"
import * as ContentSupport from "../../src/llm/ContentSupport.js"
import * as ModelFallback from "../../src/llm/ModelFallback.js"
import * as CallMeter from "../../src/llm/model/CallMeter.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Anthropic from "../../src/provider/format/Anthropic.js"
import * as ChatCompletions from "../../src/provider/format/ChatCompletions.js"
import * as ChatCompletionsDialect from "../../src/provider/format/ChatCompletionsDialect.js"
import * as OpenAi from "../../src/provider/format/OpenAi.js"
import * as AiSdkModel from "../../src/provider/sdk/AiSdkModel.js"
import * as ChatServer from "../support/ChatServer.js"

const asking = (...mediaTypes: ReadonlyArray<string>): LlmClient.LlmRequest => ({
  messages: [
    { role: "system", content: "You describe files." },
    {
      role: "user",
      content: [
        { type: "text", text: "What is it?" },
        ...mediaTypes.map((mediaType) => ({ type: "file" as const, mediaType, data: new Uint8Array([1]) }))
      ]
    }
  ]
})

const response: LlmClient.LlmResponse = { content: [{ type: "text", text: "A file" }], finishReason: "stop", usage: {} }

/** A client that counts its calls. */
const counting = (provider: string, model = "m") => {
  const calls: Array<LlmClient.LlmRequest> = []
  const client: LlmClient.Service = {
    provider,
    model,
    complete: (request) =>
      Effect.as(
        Effect.sync(() => calls.push(request)),
        response
      )
  }
  return { calls, client }
}

describe("ContentSupport", () => {
  it.effect("refuses a file that the model does not take, before the call", () =>
    Effect.gen(function* () {
      const { calls, client } = counting("anthropic", "claude-sonnet-4-5")
      const error = yield* Effect.flip(ContentSupport.wrap()(client).complete(asking("image/png", "audio/wav")))
      assert.strictEqual(error._tag, "LlmUnsupportedContentError")
      if (error._tag !== "LlmUnsupportedContentError") return
      const { hint, kind, mediaType, messageIndex, model, partIndex, provider } = error
      assert.deepStrictEqual(
        { kind, mediaType, messageIndex, model, partIndex, provider },
        {
          kind: "audio",
          mediaType: "audio/wav",
          messageIndex: 1,
          model: "claude-sonnet-4-5",
          partIndex: 2,
          provider: "anthropic"
        }
      )
      assert.include(hint, "Models of openai, google, gemini take it")
      assert.strictEqual(error.code, "LEX_ERR_LLM_113")
      assert.isFalse(error.isRetryable)
      assert.lengthOf(calls, 0)
    })
  )

  it.effect("sends what the model takes, and everything to an unknown provider", () =>
    Effect.gen(function* () {
      for (const [provider, types] of [
        ["anthropic", ["image/png", "image/*", "application/pdf", "text/plain"]],
        ["google", ["audio/wav", "video/mp4", "image/heic"]],
        ["somebody", ["audio/wav", "application/zip"]]
      ] as const) {
        const { calls, client } = counting(provider)
        yield* ContentSupport.wrap()(client).complete(asking(...types))
        assert.lengthOf(calls, 1, provider)
      }
    })
  )

  it.effect("decides by the model of the request", () =>
    Effect.gen(function* () {
      const { calls, client } = counting("openai", "gpt-5")
      const wrapped = ContentSupport.wrap()(client)
      yield* wrapped.complete(asking("image/png"))
      const older = { ...asking("image/png"), settings: { model: "gpt-3.5-turbo" } }
      assert.strictEqual((yield* Effect.flip(wrapped.complete(older)))._tag, "LlmUnsupportedContentError")
      assert.lengthOf(calls, 1)
    })
  )

  it.effect("takes other types by options", () =>
    Effect.gen(function* () {
      const { calls, client } = counting("anthropic")
      yield* ContentSupport.wrap({ accepts: ["audio/*"] })(client).complete(asking("audio/wav"))
      const table = [...ContentSupport.table, { provider: "anthropic", model: /^m$/, accepts: ["video/mp4"] }]
      yield* ContentSupport.wrap({ table })(client).complete(asking("video/mp4"))
      assert.lengthOf(calls, 2)
    })
  )

  it.effect("lets a fallback answer with the next client that takes it, and spends nothing before", () =>
    Effect.gen(function* () {
      const first = counting("anthropic")
      const second = counting("google")
      const spent: Array<LlmClient.SentRequest> = []
      const chain = ModelFallback.make([ContentSupport.wrap()(first.client), ContentSupport.wrap()(second.client)], {
        onFallback: () => Effect.void
      })
      yield* CallMeter.metered(chain).complete(asking("audio/wav"), { meter: { sent: (one) => void spent.push(one) } })
      assert.lengthOf(first.calls, 0)
      assert.lengthOf(second.calls, 1)
      const count = { request: () => 100, text: () => 10 }
      assert.deepStrictEqual(spent[0]?.spent(count, true), [])
    })
  )

  it.effect("is part of models of the AI SDK, which are not called", () =>
    Effect.gen(function* () {
      let calls = 0
      const model: AiSdkModel.Model = {
        specificationVersion: "v4",
        provider: "anthropic.messages",
        modelId: "m",
        supportedUrls: {},
        doGenerate: () => {
          calls += 1
          return Promise.reject(new Error("called"))
        },
        doStream: () => Promise.reject(new Error("called"))
      }
      const refused = yield* Effect.flip((yield* AiSdkModel.make(model)).complete(asking("audio/wav")))
      assert.strictEqual(refused._tag, "LlmUnsupportedContentError")
      assert.strictEqual(calls, 0)
      const lenient = yield* AiSdkModel.make(model, { accepts: ["audio/*"] })
      yield* Effect.flip(lenient.complete(asking("audio/wav")))
      assert.strictEqual(calls, 1)
    })
  )

  it.scopedLive(
    "is part of the clients of Anthropic and OpenAI, which send nothing",
    () =>
      Effect.gen(function* () {
        const server = yield* ChatServer.make
        const options = { apiKey: Redacted.make("key"), model: "m", baseUrl: server.baseUrl }
        for (const client of [yield* Anthropic.make(options), yield* OpenAi.make(options)]) {
          const error = yield* Effect.flip(client.complete(asking("audio/wav")))
          assert.strictEqual(error._tag, "LlmUnsupportedContentError")
        }
        assert.lengthOf(server.requests, 0)
        const narrow = yield* Anthropic.make({ ...options, accepts: ["application/pdf"] })
        const error = yield* Effect.flip(narrow.complete(asking("image/png")))
        assert.strictEqual(error._tag, "LlmUnsupportedContentError")
      }).pipe(Effect.provide(FetchHttpClient.layer)) as Effect.Effect<void, unknown, any>
  )

  it.effect("leaves out files of results that the model does not take; the text names them", () =>
    Effect.gen(function* () {
      const { calls, client } = counting("anthropic")
      const refs = ["image/png", "audio/wav"].map((mediaType) =>
        ToolFiles.hold({ mediaType, data: { hash: "h", size: 1, mediaType } }, new Uint8Array([1]))
      )
      const result = (files: ReadonlyArray<StoredFile>): LlmClient.Message => ({
        role: "tool",
        content: [
          {
            type: "tool-result",
            id: "1",
            name: "record",
            result: "[picture, image/png]\n[sound, audio/wav]",
            isFailure: false,
            providerExecuted: false,
            options: { anthropic: { cacheControl: { type: "ephemeral" } }, ...ToolFiles.optionsOf(files).options }
          }
        ]
      })
      const wrapped = ContentSupport.wrap()(client)
      yield* wrapped.complete({ messages: [result(refs)] })
      const fitting: LlmClient.LlmRequest = { messages: [result(refs.slice(0, 1))] }
      yield* wrapped.complete(fitting)
      assert.strictEqual(calls[1], fitting)
      const [message] = calls[0]?.messages ?? []
      if (message?.role !== "tool") return assert.fail("no result")
      const [part] = message.content
      assert.deepStrictEqual(part?.options?.anthropic, { cacheControl: { type: "ephemeral" } })
      assert.deepStrictEqual(part === undefined ? [] : ToolFiles.refsOf(part), refs.slice(0, 1))
      assert.include(String(part?.result), "sound")
      yield* ContentSupport.wrap({ accepts: [] })(client).complete({ messages: [result(refs)] })
      const [bare] = calls[2]?.messages ?? []
      assert.isUndefined(bare?.role === "tool" ? bare.content[0]?.options?.lexigram : null)
    })
  )

  it.effect("says of a file by URL that its bytes would be taken", () =>
    Effect.gen(function* () {
      const { calls, client } = counting("somebody")
      const by = (mediaType: string): LlmClient.LlmRequest => ({
        messages: [{ role: "user", content: [{ type: "file", mediaType, data: new URL("https://example.com/a") }] }]
      })
      const wrapped = ContentSupport.wrap({ urls: ["image/*"] })(client)
      yield* wrapped.complete(by("image/png"))
      yield* wrapped.complete(asking("application/pdf"))
      const error = yield* Effect.flip(wrapped.complete(by("application/pdf")))
      assert.strictEqual(error._tag, "LlmUnsupportedContentError")
      assert.include(error.message, "by URL")
      assert.include(error.hint ?? "", "RemoteContent")
      assert.lengthOf(calls, 2)
    })
  )

  it.scopedLive(
    "is part of chat completions, by provider and by the URLs that its server fetches",
    () =>
      Effect.gen(function* () {
        const server = yield* ChatServer.make
        const { baseUrl } = server
        const pdf = new URL("https://example.com/a.pdf")
        const linked: LlmClient.LlmRequest = {
          messages: [{ role: "user", content: [{ type: "file", mediaType: "application/pdf", data: pdf }] }]
        }
        const blind = yield* ChatCompletions.make({ ...ChatCompletionsDialect.deepseek, baseUrl, model: "m" })
        const any = yield* ChatCompletions.make({ baseUrl, model: "m" })
        const bytesOnly = yield* ChatCompletions.make({ ...ChatCompletionsDialect.ollama, baseUrl, model: "m" })
        const image: LlmClient.LlmRequest = {
          messages: [{ role: "user", content: [{ type: "file", mediaType: "image/png", data: pdf }] }]
        }
        for (const [client, request] of [
          [blind, asking("image/png")],
          [any, linked],
          [bytesOnly, image]
        ] as const) {
          const error = yield* Effect.flip(client.complete(request))
          assert.strictEqual(error._tag, "LlmUnsupportedContentError")
        }
        assert.lengthOf(server.requests, 0)
        const seeing = yield* ChatCompletions.make({
          ...ChatCompletionsDialect.deepseek,
          baseUrl,
          model: "m",
          accepts: ["image/png"]
        })
        const router = yield* ChatCompletions.make({ ...ChatCompletionsDialect.openrouter, baseUrl, model: "m" })
        for (const [client, request] of [
          [seeing, asking("image/png")],
          [any, image],
          [router, linked]
        ] as const) {
          yield* server.script(ChatServer.json({ choices: [{ message: { content: "ok" }, finish_reason: "stop" }] }))
          yield* client.complete(request)
        }
        assert.lengthOf(server.requests, 3)
      }).pipe(Effect.provide(FetchHttpClient.layer)) as Effect.Effect<void, unknown, any>
  )
})
