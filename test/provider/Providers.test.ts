import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as OptionalPackage from "../../src/provider/exchange/OptionalPackage.js"
import * as Providers from "../../src/provider/Providers.js"
import * as ChatServer from "../support/ChatServer.js"

const ask: LlmClient.LlmRequest = { messages: [{ role: "user", content: "Hello" }] }

const answers: { readonly [path: string]: unknown } = {
  "/v1/responses": { id: "r", output: [{ type: "message", id: "m", content: [{ type: "output_text", text: "Hi" }] }] },
  "/v1/messages": { id: "r", content: [{ type: "text", text: "Hi" }], stop_reason: "end_turn" },
  "/v1/chat/completions": {
    id: "r",
    choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }]
  }
}

const pathOf = (provider: string): string =>
  provider === "openai" ? "/v1/responses" : provider === "anthropic" ? "/v1/messages" : "/v1/chat/completions"

const withEnv = (env: Record<string, string>) =>
  Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(env)), { pathDelim: "_" }))

const client = (layer: Layer.Layer<LlmClient.LlmClient, unknown, never>) =>
  Effect.map(LlmClient.LlmClient, ({ model, provider }) => ({ model, provider })).pipe(Effect.provide(layer))

const fromEnv = (env: Record<string, string>) =>
  client(Layer.provide(Providers.layerConfig, FetchHttpClient.layer)).pipe(withEnv(env))

const fromOptions = (options: Providers.Options) =>
  Effect.asVoid(Providers.make(options)).pipe(Effect.provide(FetchHttpClient.layer))

describe("layer", () => {
  it.scopedLive("reaches every provider at its path, with its key, model and settings", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      for (const [index, provider] of Providers.names.entries()) {
        const path = pathOf(provider)
        yield* server.script(ChatServer.json(answers[path]))
        const layer = Providers.layer({
          provider,
          model: "some-model",
          baseUrl: server.baseUrl,
          apiKey: Redacted.make("the-key-0123456789"),
          settings: { temperature: 0.25 }
        })
        const response = yield* LlmGateway.complete(ask).pipe(
          Effect.provide(Layer.provide(layer, FetchHttpClient.layer))
        )
        assert.strictEqual(LlmClient.text(response), "Hi")
        const { body, headers, url } = server.requests[index]!
        assert.strictEqual(url, path)
        assert.deepInclude(body, { model: "some-model", temperature: 0.25 })
        const key = headers.authorization ?? headers["x-api-key"] ?? headers["api-key"]
        assert.include(key, "the-key-0123456789", provider)
        assert.strictEqual(response.provider, provider === "openai-chat" ? "openai" : provider)
      }
    })
  )

  it.effect("names the known and the nearest provider for an unknown one", () =>
    Effect.gen(function* () {
      for (const [given, meant] of [
        ["antropic", "anthropic"],
        ["Open-AI", "openai"],
        ["lm-studio", "lmstudio"],
        ["llama.cpp", "llamacpp"]
      ] as const) {
        const error = yield* Effect.flip(fromOptions({ provider: given, model: "m" }))
        assert.strictEqual(error._tag, "LlmConfigurationError")
        for (const name of Providers.names) assert.include(error.message, name)
        assert.strictEqual(error.hint, `Did you mean ${meant}?`)
      }
      const huge = yield* Effect.flip(fromOptions({ provider: "x".repeat(100_000), model: "m" }))
      assert.isBelow(huge.message.length, 500)
    })
  )

  it.effect("ignores the case of a name", () => fromOptions({ provider: " OLLAMA ", model: "m" }))

  it.effect("names the variables of a missing key", () =>
    Effect.gen(function* () {
      for (const [provider, variable] of [
        ["openai", "OPENAI_API_KEY"],
        ["openai-chat", "OPENAI_API_KEY"],
        ["anthropic", "ANTHROPIC_API_KEY"],
        ["azure", "AZURE_OPENAI_API_KEY"],
        ["openrouter", "OPENROUTER_API_KEY"],
        ["groq", "GROQ_API_KEY"],
        ["deepseek", "DEEPSEEK_API_KEY"],
        ["gemini", "GEMINI_API_KEY"],
        ["mistral", "MISTRAL_API_KEY"],
        ["xai", "XAI_API_KEY"],
        ["together", "TOGETHER_API_KEY"],
        ["fireworks", "FIREWORKS_API_KEY"],
        ["cerebras", "CEREBRAS_API_KEY"]
      ] as const) {
        for (const apiKey of [undefined, Redacted.make(" ")]) {
          const error = yield* Effect.flip(fromOptions({ provider, model: "m", apiKey }))
          assert.strictEqual(error.provider, provider)
          assert.include(error.hint, variable)
          assert.include(error.hint, "LEX_AI_LLM__API_KEY")
        }
      }
      for (const provider of ["ollama", "vllm", "llamacpp", "lmstudio"]) yield* fromOptions({ provider, model: "m" })
      yield* fromOptions({ provider: "openai-compatible", model: "m", baseUrl: "http://127.0.0.1:1/v1" })
    })
  )

  it.effect("names the variable of a missing model or address", () =>
    Effect.gen(function* () {
      const apiKey = Redacted.make("k")
      const model = yield* Effect.flip(fromOptions({ provider: "ollama" }))
      assert.include(model.hint, "LEX_AI_LLM__MODEL")
      for (const provider of ["azure", "openai-compatible"]) {
        const address = yield* Effect.flip(fromOptions({ provider, model: "m", apiKey }))
        assert.include(address.hint, "LEX_AI_LLM__BASE_URL")
      }
      const wrong = yield* Effect.flip(fromOptions({ provider: "ollama", model: "m", baseUrl: "nowhere" }))
      assert.strictEqual(wrong._tag, "LlmConfigurationError")
      yield* fromOptions({ provider: "ollama", settings: { model: "m" } })
    })
  )

  it.effect("names a missing package", () =>
    Effect.gen(function* () {
      const absent: string = "@effect/ai-not-there"
      const error = yield* Effect.flip(
        OptionalPackage.load({ name: absent, provider: "p", modules: () => import(/* @vite-ignore */ absent) })
      )
      assert.strictEqual(error._tag, "LlmConfigurationError")
      assert.include(error.message, absent)
      assert.strictEqual(error.hint, `npm install ${absent}`)
      const versioned = yield* Effect.flip(
        OptionalPackage.load({
          name: absent,
          install: `npm install ${absent}@^1.2.3`,
          provider: "p",
          modules: () => import(/* @vite-ignore */ absent)
        })
      )
      assert.strictEqual(versioned.hint, `npm install ${absent}@^1.2.3`)
      const broken = yield* Effect.flip(
        OptionalPackage.load({ name: "there", provider: "p", modules: () => Promise.reject(new Error("no")) })
      )
      assert.notInclude(broken.message, "not installed")
    })
  )
})

describe("layerConfig", () => {
  it.scopedLive("applies every variable to the request", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      const path = "/v1/chat/completions"
      yield* server.script(ChatServer.json(answers[path]))
      yield* LlmGateway.complete(ask).pipe(
        Effect.provide(Layer.provide(Providers.layerConfig, FetchHttpClient.layer)),
        withEnv({
          LEX_AI_LLM__PROVIDER: "vllm",
          LEX_AI_LLM__MODEL: "some-model",
          LEX_AI_LLM__BASE_URL: server.baseUrl,
          LEX_AI_LLM__API_KEY: "the-key",
          LEX_AI_LLM__TEMPERATURE: "0.25",
          LEX_AI_LLM__MAX_TOKENS: "99",
          LEX_AI_LLM__REASONING: "low"
        })
      )
      const { body, headers, url } = server.requests[0]!
      assert.strictEqual(url, path)
      assert.strictEqual(headers.authorization, "Bearer the-key")
      assert.deepInclude(body, { model: "some-model", temperature: 0.25, max_tokens: 99, reasoning_effort: "low" })
    })
  )

  it.effect("chooses provider and default model by a key alone", () =>
    Effect.gen(function* () {
      const openai = { provider: "openai", model: Providers.defaultModels.openai }
      const anthropic = { provider: "anthropic", model: Providers.defaultModels.anthropic }
      assert.deepStrictEqual(yield* fromEnv({ OPENAI_API_KEY: "a" }), openai)
      assert.deepStrictEqual(yield* fromEnv({ ANTHROPIC_API_KEY: "a" }), anthropic)
      assert.deepStrictEqual(yield* fromEnv({ OPENAI_API_KEY: "", ANTHROPIC_API_KEY: "a" }), anthropic)
      assert.deepStrictEqual(yield* fromEnv({ OPENAI_API_KEY: "a", ANTHROPIC_API_KEY: "b" }), openai)
      const claude = { OPENAI_API_KEY: "a", ANTHROPIC_API_KEY: "b", LEX_AI_LLM__MODEL: "claude-x" }
      assert.deepStrictEqual(yield* fromEnv(claude), { provider: "anthropic", model: "claude-x" })
    })
  )

  it.effect("chooses a compatible server by an address alone", () =>
    Effect.gen(function* () {
      const env = { LEX_AI_LLM__BASE_URL: "http://127.0.0.1:1/v1", LEX_AI_LLM__MODEL: "m" }
      assert.deepStrictEqual(yield* fromEnv(env), { provider: "openai-compatible", model: "m" })
    })
  )

  it.effect("uses only a named provider's own key by default", () =>
    Effect.gen(function* () {
      const named = yield* fromEnv({ LEX_AI_LLM__PROVIDER: "Anthropic", ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "b" })
      assert.strictEqual(named.provider, "anthropic")
      yield* fromEnv({ LEX_AI_LLM__PROVIDER: "groq", LEX_AI_LLM__MODEL: "m", GROQ_API_KEY: "a" })
      const error = yield* Effect.flip(fromEnv({ LEX_AI_LLM__PROVIDER: "anthropic", OPENAI_API_KEY: "b" }))
      assert.include(String((error as { readonly hint?: string }).hint), "ANTHROPIC_API_KEY")
    })
  )

  it.scopedLive("prefers a given key to the provider's own", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      yield* server.script(ChatServer.json(answers["/v1/responses"]))
      yield* LlmGateway.complete(ask).pipe(
        Effect.provide(Layer.provide(Providers.layerConfig, FetchHttpClient.layer)),
        withEnv({
          LEX_AI_LLM__PROVIDER: "openai",
          LEX_AI_LLM__BASE_URL: server.baseUrl,
          LEX_AI_LLM__API_KEY: "given",
          OPENAI_API_KEY: "own"
        })
      )
      assert.strictEqual(server.requests[0]!.headers.authorization, "Bearer given")
    })
  )

  it.effect("rejects NaN and out-of-range numbers", () =>
    Effect.gen(function* () {
      for (const wrong of [
        { LEX_AI_LLM__TEMPERATURE: "warm" },
        { LEX_AI_LLM__TEMPERATURE: "3" },
        { LEX_AI_LLM__MAX_TOKENS: "0" },
        { LEX_AI_LLM__MAX_TOKENS: "1.5" },
        { LEX_AI_LLM__REASONING: "much" },
        { LEX_AI_LLM__REASONING: "0" }
      ]) {
        const error = yield* Effect.flip(fromEnv({ OPENAI_API_KEY: "a", ...wrong } as Record<string, string>))
        assert.include(String(error), Object.keys(wrong)[0]!.slice("LEX_AI_LLM__".length))
      }
    })
  )

  it.effect("says what to set when nothing is configured", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(fromEnv({ LEX_AI_LLM__TEMPERATURE: "1" }))
      assert.include(String((error as { readonly hint?: string }).hint), "LEX_AI_LLM__PROVIDER")
    })
  )
})

describe("configured", () => {
  it.effect("detects a configured provider, valid or not", () =>
    Effect.gen(function* () {
      const read = (env: Record<string, string>) => Providers.configured.pipe(withEnv(env))
      assert.deepStrictEqual(yield* read({}), Option.none())
      assert.deepStrictEqual(yield* read({ OPENAI_API_KEY: " " }), Option.none())
      assert.deepStrictEqual(
        yield* read({ ANTHROPIC_API_KEY: "a" }),
        Option.some({ provider: "anthropic", model: Providers.defaultModels.anthropic })
      )
      assert.deepStrictEqual(
        yield* read({ LEX_AI_LLM__PROVIDER: "nobody", LEX_AI_LLM__MODEL: "m" }),
        Option.some({ provider: "nobody", model: "m" })
      )
    })
  )

  it("exports the prefix of the variables", () => {
    assert.strictEqual(Providers.ENV_PREFIX, "LEX_AI_LLM__")
  })
})

describe("layerConfigOr", () => {
  const fallback = LlmGateway.layer({ provider: "fallback", complete: () => Effect.dieMessage("not asked") })
  const chosen = (env: Record<string, string>) =>
    client(Layer.provide(Providers.layerConfigOr(fallback), FetchHttpClient.layer)).pipe(withEnv(env))

  it.effect("uses the given model while the environment names none", () =>
    Effect.map(chosen({}), ({ provider }) => assert.strictEqual(provider, "fallback"))
  )

  it.effect("uses the model the environment names", () =>
    Effect.map(chosen({ LEX_AI_LLM__PROVIDER: "ollama", LEX_AI_LLM__MODEL: "qwen3" }), (found) =>
      assert.deepStrictEqual(found, { provider: "ollama", model: "qwen3" })
    )
  )

  it.effect("fails for an invalid name", () =>
    Effect.map(Effect.flip(chosen({ LEX_AI_LLM__PROVIDER: "olama" })), (error) =>
      assert.strictEqual((error as { readonly _tag: string })._tag, "LlmConfigurationError")
    )
  )
})
