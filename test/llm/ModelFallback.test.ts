import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ModelFallback from "../../src/llm/ModelFallback.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmError from "../../src/llm/model/LlmError.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as Scripted from "../support/ScriptedClient.js"

const failing = (error: LlmError.LlmError, provider = "first") => Scripted.make(() => Effect.fail(error), { provider })
const working = (provider = "second") =>
  Scripted.make((_, __, options) => Scripted.answer(`by ${provider}`, options, { provider }), { provider })

const fields = { message: "no", provider: "first" }

describe("ModelFallback", () => {
  it.effect("answers by the next client, and names it", () =>
    Effect.gen(function* () {
      const client = ModelFallback.make([
        failing(Scripted.unavailable()),
        failing(Scripted.rateLimited()),
        working("third")
      ])
      const response = yield* client.complete(Scripted.user("hi"))
      assert.deepStrictEqual([LlmClient.text(response), response.provider], ["by third", "third"])
      assert.deepStrictEqual([client.provider, client.model], ["first", "small"])
    })
  )

  it.effect("fails with the last error when all fail", () =>
    Effect.gen(function* () {
      const last = Scripted.rateLimited()
      const client = ModelFallback.make([failing(Scripted.unavailable()), failing(last)])
      assert.strictEqual(yield* Effect.flip(client.complete(Scripted.user("hi"))), last)
    })
  )

  it.effect("continues by default except for an invalid request and a refusal", () =>
    Effect.gen(function* () {
      const errors: ReadonlyArray<readonly [LlmError.LlmError, boolean]> = [
        [new LlmError.LlmAuthenticationError(fields), true],
        [new LlmError.LlmQuotaError(fields), true],
        [new LlmError.LlmContextOverflowError(fields), true],
        [new LlmError.LlmConnectionError(fields), true],
        [new LlmError.LlmMalformedResponseError(fields), true],
        [new LlmError.LlmTimeoutError({ ...fields, phase: "whole" }), true],
        [new LlmError.LlmContentPolicyError(fields), false],
        [new LlmError.LlmInvalidRequestError(fields), false]
      ]
      for (const [error, goesOn] of errors) {
        const second = working()
        yield* Effect.exit(ModelFallback.make([failing(error), second]).complete(Scripted.user("hi")))
        assert.strictEqual(second.requests.length, goesOn ? 1 : 0, error._tag)
      }
    })
  )

  it.effect("decides by when if given", () =>
    Effect.gen(function* () {
      const second = working()
      const client = ModelFallback.make([failing(Scripted.unavailable()), second], { when: () => false })
      assert.strictEqual((yield* Effect.flip(client.complete(Scripted.user("hi"))))._tag, "LlmUnavailableError")
      assert.strictEqual(second.requests.length, 0)
    })
  )

  it.effect("fails after the first part", () =>
    Effect.gen(function* () {
      const half = Scripted.make((_, __, options) =>
        Effect.andThen(options!.onParts!([{ type: "text-delta", id: "0", delta: "half" }]), Scripted.unavailable())
      )
      const second = working()
      const seen = Scripted.collector()
      yield* Effect.flip(ModelFallback.make([half, second]).complete(Scripted.user("hi"), seen))
      assert.deepStrictEqual([seen.text(), second.requests.length], ["half", 0])
    })
  )

  it.effect("sends model and provider options to no other provider by default", () =>
    Effect.gen(function* () {
      const settings = { model: "large", temperature: 0.3, providerOptions: { store: false } }
      const same = Scripted.make(() => Effect.fail(Scripted.unavailable()), { provider: "first" })
      const other = Scripted.make(() => Effect.fail(Scripted.unavailable()), { provider: "other" })
      const gateway = Scripted.make((_, __, options) => Scripted.answer("ok", options), { provider: "gateway" })
      yield* ModelFallback.make([
        failing(Scripted.unavailable()),
        same,
        other,
        { client: gateway, passModel: true }
      ]).complete(Scripted.user("hi", settings))
      assert.deepStrictEqual(same.requests[0]?.settings, settings)
      assert.deepStrictEqual(other.requests[0]?.settings, { temperature: 0.3 })
      assert.deepStrictEqual(gateway.requests[0]?.settings, settings)
    })
  )

  it.effect("overrides the request's settings by those of an entry", () =>
    Effect.gen(function* () {
      const second = working()
      yield* ModelFallback.make([
        failing(Scripted.unavailable()),
        { client: second, settings: { model: "other-small", temperature: 0 } }
      ]).complete(Scripted.user("hi", { model: "large", temperature: 1, maxTokens: 7 }))
      assert.deepStrictEqual(second.requests[0]?.settings, { model: "other-small", temperature: 0, maxTokens: 7 })
    })
  )

  it.effect("calls onFallback for each step", () =>
    Effect.gen(function* () {
      const steps: Array<string> = []
      const client = ModelFallback.make([failing(Scripted.unavailable()), working()], {
        onFallback: ({ error, from, to }) =>
          Effect.sync(() => void steps.push(`${from.provider} ${error._tag} ${to.provider}`))
      })
      yield* client.complete(Scripted.user("hi"))
      assert.deepStrictEqual(steps, ["first LlmUnavailableError second"])
    })
  )

  it.effect("builds each client of a chain of layers once", () =>
    Effect.gen(function* () {
      let built = 0
      const second = Layer.effect(
        LlmClient.LlmClient,
        Effect.sync(() => {
          built++
          return working()
        })
      )
      const layer = ModelFallback.layerOf([LlmGateway.layer(failing(Scripted.unavailable())), second])
      const call = LlmGateway.complete(Scripted.user("hi"))
      const responses = yield* Effect.all([call, call]).pipe(Effect.provide(layer))
      assert.deepStrictEqual(responses.map(LlmClient.text), ["by second", "by second"])
      assert.strictEqual(built, 1)
    })
  )

  it.effect("wrap appends others to a client", () =>
    Effect.gen(function* () {
      const client = ModelFallback.wrap([working()])(failing(Scripted.unavailable()))
      assert.strictEqual(LlmClient.text(yield* client.complete(Scripted.user("hi"))), "by second")
    })
  )
})
