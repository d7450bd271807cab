import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ModelRouter from "../../src/llm/ModelRouter.js"
import * as CallGate from "../../src/llm/model/CallGate.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as ProviderRoles from "../../src/provider/ProviderRoles.js"
import * as Scripted from "../support/ScriptedClient.js"

const standard = CallGate.wrap(
  Scripted.make((_, __, options) => Scripted.answer("standard", options), { provider: "standard", model: "small" })
)
const Standard = LlmGateway.layer(standard)

/** Answers nothing, and notes what was sent where with which key. */
const recordingHttp = () => {
  const requests: Array<HttpClientRequest.HttpClientRequest> = []
  const layer = Layer.succeed(
    HttpClient.HttpClient,
    HttpClient.make((request) =>
      Effect.sync(() => {
        requests.push(request)
        return HttpClientResponse.fromWeb(request, new Response("{}", { status: 401 }))
      })
    )
  )
  return { layer, requests }
}

const resolved = (
  variables: Record<string, string>,
  role: string,
  options?: Parameters<typeof ProviderRoles.layerConfig<never, never>>[0]
) =>
  Effect.gen(function* () {
    const http = recordingHttp()
    const result = yield* ModelRouter.resolve(role).pipe(
      Effect.provide(ProviderRoles.layerConfig(options)),
      Effect.provide([Standard, http.layer]),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(variables))))
    )
    yield* Effect.exit(result.client.complete(Scripted.user("hi", result.settings)))
    const sent = http.requests[0]
    return {
      ...result,
      url: sent?.url,
      headers: JSON.stringify(sent?.headers ?? {}),
      body: sent?.body._tag === "Uint8Array" ? new TextDecoder().decode(sent.body.body) : ""
    }
  })

const base = {
  LEX_AI_LLM__PROVIDER: "openai-compatible",
  LEX_AI_LLM__MODEL: "house-model",
  LEX_AI_LLM__API_KEY: "key-of-the-house",
  LEX_AI_LLM__BASE_URL: "http://house.test/v1"
}

describe("ProviderRoles.layerConfig", () => {
  it.effect("uses the default client for every role without variables", () =>
    Effect.gen(function* () {
      const { client, settings } = yield* resolved(base, "thinking")
      assert.deepStrictEqual([client, settings], [standard, {}])
    })
  )

  it.effect("uses the default client with model and settings for a role without a provider", () =>
    Effect.gen(function* () {
      const { client, settings } = yield* resolved(
        {
          ...base,
          LEX_AI_LLM__ROLES__THINKING__MODEL: "large",
          LEX_AI_LLM__ROLES__THINKING__TEMPERATURE: "0.3",
          LEX_AI_LLM__ROLES__THINKING__MAX_TOKENS: "50",
          LEX_AI_LLM__ROLES__THINKING__REASONING: "High"
        },
        "thinking"
      )
      assert.strictEqual(client, standard)
      assert.deepStrictEqual(settings, { model: "large", temperature: 0.3, maxTokens: 50, reasoning: "high" })
    })
  )

  it.effect("gives a role with another provider its own key, model and address, never the default's", () =>
    Effect.gen(function* () {
      const { body, client, headers, settings, url } = yield* resolved(
        {
          ...base,
          GROQ_API_KEY: "key-of-groq",
          LEX_AI_LLM__ROLES__PLANNING__PROVIDER: "groq",
          LEX_AI_LLM__ROLES__PLANNING__MODEL: "fast",
          LEX_AI_LLM__ROLES__PLANNING__TEMPERATURE: "0.5"
        },
        "planning"
      )
      assert.notStrictEqual(client, standard)
      assert.deepStrictEqual(settings, { model: "fast", temperature: 0.5 })
      assert.notMatch(String(url), /house/)
      assert.match(headers, /key-of-groq/)
      assert.notMatch(headers, /key-of-the-house/)
      const { model, temperature } = JSON.parse(body)
      assert.deepStrictEqual([model, temperature], ["fast", 0.5])
    })
  )

  it.effect("uses key and address of the default for a role of its provider", () =>
    Effect.gen(function* () {
      const { body, headers, url } = yield* resolved(
        {
          ...base,
          LEX_AI_LLM__ROLES__SOLVER__PROVIDER: "OpenAI-Compatible",
          LEX_AI_LLM__ROLES__SOLVER__MODEL: "other-model"
        },
        "solver"
      )
      assert.match(String(url), /^http:\/\/house\.test\/v1/)
      assert.match(headers, /key-of-the-house/)
      assert.strictEqual(JSON.parse(body).model, "other-model")
    })
  )

  it.effect("shares a client between roles with one provider and model, wrapped once", () =>
    Effect.gen(function* () {
      let wrapped = 0
      const roles = ["THINKING", "REFLECTION", "FACT_CHECK"]
      const variables = Object.fromEntries(
        roles.flatMap((role) => [
          [`LEX_AI_LLM__ROLES__${role}__PROVIDER`, "ollama"],
          [`LEX_AI_LLM__ROLES__${role}__MODEL`, "llama"]
        ])
      )
      const wrap = (client: LlmClient.Service) => Effect.sync(() => ({ ...client, provider: `wrapped ${++wrapped}` }))
      const { client } = yield* resolved(variables, "fact-check", { roles: ["fact-check"], wrap })
      assert.deepStrictEqual([client.provider, wrapped], ["wrapped 1", 1])
    })
  )

  it.effect("types an unknown provider, a missing key and an invalid number", () =>
    Effect.gen(function* () {
      const failure = (variables: Record<string, string>) => Effect.flip(resolved(variables, "thinking"))
      const unknown = yield* failure({ LEX_AI_LLM__ROLES__THINKING__PROVIDER: "opnai" })
      const keyless = yield* failure({ ...base, LEX_AI_LLM__ROLES__THINKING__PROVIDER: "anthropic" })
      for (const error of [unknown, keyless]) {
        assert.strictEqual("_tag" in error ? error._tag : "", "LlmConfigurationError")
        assert.notMatch(JSON.stringify(error), /key-of-the-house/)
      }
      for (const [name, value] of [
        ["TEMPERATURE", "3"],
        ["TEMPERATURE", "warm"],
        ["MAX_TOKENS", "0"],
        ["MAX_TOKENS", "1.5"],
        ["REASONING", "much"],
        ["REASONING", "-1"]
      ]) {
        const error = yield* failure({ [`LEX_AI_LLM__ROLES__THINKING__${name}`]: value! })
        assert.match("_op" in error ? error._op : "", /InvalidData/)
      }
    })
  )
})
