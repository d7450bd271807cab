import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as DefaultModelRouter from "../../src/llm/DefaultModelRouter.js"
import * as ModelRouter from "../../src/llm/ModelRouter.js"
import * as CallGate from "../../src/llm/model/CallGate.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import { LlmConfigurationError } from "../../src/llm/model/LlmError.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as Scripted from "../support/ScriptedClient.js"

const named = (provider: string, model = "small") =>
  CallGate.wrap(Scripted.make((_, __, options) => Scripted.answer(provider, options), { provider, model }))

const standard = named("standard")
const Standard = LlmGateway.layer(standard)

/** A layer of a client that notes how often it was built and closed. */
const counted = (provider: string) => {
  const counts = { built: 0, closed: 0 }
  const layer = Layer.scoped(
    LlmClient.LlmClient,
    Effect.acquireRelease(
      Effect.sync(() => {
        counts.built++
        return named(provider)
      }),
      () => Effect.sync(() => counts.closed++)
    )
  )
  return { counts, layer }
}

describe("ModelRouter", () => {
  it.effect("uses the default client without settings for every role by default", () =>
    Effect.gen(function* () {
      for (const role of [...ModelRouter.roles, "my own", "__proto__", "constructor"]) {
        assert.deepStrictEqual(yield* ModelRouter.resolve(role), { client: standard, settings: {}, isDefault: true })
      }
    }).pipe(Effect.provide(Layer.provideMerge(DefaultModelRouter.layerDefault, Standard)))
  )

  it.effect("uses client and settings of a role, and the default for others", () =>
    Effect.gen(function* () {
      const large = named("large", "large-1")
      const layer = DefaultModelRouter.layer({
        roles: {
          thinking: { client: large, settings: { temperature: 0.2 } },
          planning: { client: large, settings: { model: "large-2" } },
          execution: { settings: { maxTokens: 10 } },
          solver: {}
        }
      })
      yield* Effect.gen(function* () {
        const thinking = yield* ModelRouter.resolve("thinking")
        assert.strictEqual(thinking.client, large)
        assert.deepStrictEqual(thinking.settings, { model: "large-1", temperature: 0.2 })
        assert.deepStrictEqual((yield* ModelRouter.resolve("planning")).settings, { model: "large-2" })
        assert.deepStrictEqual(yield* ModelRouter.resolve("execution"), {
          client: standard,
          settings: { maxTokens: 10 }
        })
        assert.deepStrictEqual(yield* ModelRouter.resolve("solver"), {
          client: standard,
          settings: {}
        })
        assert.deepStrictEqual(yield* ModelRouter.resolve("toString"), {
          client: standard,
          settings: {},
          isDefault: true
        })
      }).pipe(Effect.provide(Layer.provideMerge(layer, Standard)))
    })
  )

  it.effect("builds a client once, even when roles share its layer, and closes it with the router", () =>
    Effect.gen(function* () {
      const shared = counted("shared")
      const single = counted("single")
      const layer = DefaultModelRouter.layer({
        roles: {
          thinking: { client: shared.layer },
          reflection: { client: shared.layer, settings: { temperature: 1 } },
          planning: { client: single.layer }
        }
      })
      yield* Effect.gen(function* () {
        const first = yield* ModelRouter.resolve("thinking")
        const again = yield* ModelRouter.resolve("thinking")
        assert.strictEqual(first.client, again.client)
        assert.strictEqual((yield* ModelRouter.resolve("reflection")).client, first.client)
        assert.deepStrictEqual(
          [shared.counts, single.counts],
          [
            { built: 1, closed: 0 },
            { built: 1, closed: 0 }
          ]
        )
      }).pipe(Effect.provide(Layer.provideMerge(layer, Standard)))
      assert.deepStrictEqual(
        [shared.counts, single.counts],
        [
          { built: 1, closed: 1 },
          { built: 1, closed: 1 }
        ]
      )
    })
  )

  it.effect("gives the default client to a wrapper layer", () =>
    Effect.gen(function* () {
      const wrapped = LlmGateway.layerWrapped((inner) =>
        Effect.succeed({ ...inner, provider: `around ${inner.provider}` })
      )
      const { client } = yield* ModelRouter.resolve("thinking").pipe(
        Effect.provide(
          Layer.provideMerge(DefaultModelRouter.layer({ roles: { thinking: { client: wrapped } } }), Standard)
        )
      )
      assert.strictEqual(client.provider, "around standard")
    })
  )

  it.effect("fails the layer with the error of a client that cannot be built", () =>
    Effect.gen(function* () {
      const broken = Layer.fail(new LlmConfigurationError({ message: "no key", provider: "x" }))
      const layer: Layer.Layer<ModelRouter.ModelRouter, LlmConfigurationError, LlmClient.LlmClient> =
        DefaultModelRouter.layer({
          roles: { thinking: { client: broken as Layer.Layer<LlmClient.LlmClient, LlmConfigurationError> } }
        })
      const error = yield* Effect.flip(
        ModelRouter.resolve("thinking").pipe(Effect.provide(Layer.provideMerge(layer, Standard)))
      )
      assert.strictEqual(error._tag, "LlmConfigurationError")
    })
  )
})
