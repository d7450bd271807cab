import { assert, describe, it } from "@effect/vitest"
import { calcPrice, updatePrices } from "@pydantic/genai-prices"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as TestClock from "effect/TestClock"
import type { Usage } from "../../src/domain/Usage.js"
import * as ModelPrices from "../../src/llm/ModelPrices.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import { LlmConfigurationError } from "../../src/llm/model/LlmError.js"
import * as Bundle from "../support/Bundle.js"
import * as Growth from "../support/Growth.js"
import * as Programs from "../support/Programs.js"
import type { Said } from "../support/programs/PricesMissing.js"
import * as RawPrices from "../support/RawPrices.js"

const usage = { inputTokens: 1_000_000, outputTokens: 1_000_000 }
const short = { inputTokens: 1000, outputTokens: 1000 }

const estimating = (options?: ModelPrices.Options) =>
  Effect.map(
    ModelPrices.make(options),
    (prices) =>
      (provider: string, model: string | undefined, used: Usage = short) =>
        prices.estimate({ provider, model, usage: used })
  )

const near = (actual: number | undefined, expected: number, label?: string) => {
  assert.isDefined(actual, label)
  assert.closeTo(actual as number, expected, Math.max(1e-12, expected * 1e-9), label)
}

const base = (price: RawPrices.RawPrice | undefined): number => {
  assert.isDefined(price)
  return typeof price === "number" ? price : (price?.base ?? Number.NaN)
}

/** Client and model as they name themselves, and where their prices stand. */
const sold: ReadonlyArray<[provider: string, model: string, rawProvider: string, rawModel: string]> = [
  ["openai", "gpt-4.1-mini", "openai", "gpt-4.1-mini"],
  ["openai", "gpt-4.1-mini-2025-04-14", "openai", "gpt-4.1-mini"],
  ["openai", "gpt-4o", "openai", "gpt-4o"],
  ["openai", "gpt-5", "openai", "gpt-5"],
  ["openai-chat", "o4-mini-2025-04-16", "openai", "o4-mini"],
  ["anthropic", "claude-sonnet-4-5-20250929", "anthropic", "claude-sonnet-4-5"],
  ["anthropic", "claude-opus-4-1-20250805", "anthropic", "claude-opus-4-1"],
  ["anthropic", "claude-haiku-4-5", "anthropic", "claude-haiku-4-5"],
  ["google", "gemini-2.5-pro", "google", "gemini-2.5-pro"],
  ["gemini", "gemini-2.5-flash", "google", "gemini-2.5-flash"],
  ["groq", "llama-3.3-70b-versatile", "groq", "llama-3.3-70b-versatile"],
  ["groq", "llama-3.1-8b-instant", "groq", "llama-3.1-8b-instant"],
  ["mistral", "codestral-2501", "mistral", "codestral"],
  ["xai", "grok-3", "x-ai", "grok-3"],
  ["azure", "gpt-4.1", "openai", "gpt-4.1"]
]

describe("ModelPrices", () => {
  it.effect("prices real models of many providers as in the data set", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating()
      for (const [provider, model, rawProvider, rawModel] of sold) {
        const { input_mtok, output_mtok } = RawPrices.prices(rawProvider, rawModel)
        const expected = (base(input_mtok) * 1000 + base(output_mtok) * 1000) / 1e6
        assert.isAbove(expected, 0)
        near(estimate(provider, model), expected, `${provider}/${model}`)
      }
    })
  )

  it.effect("ignores case in names of models and providers", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating()
      assert.strictEqual(estimate("OpenAI", "GPT-4o"), estimate("openai", "gpt-4o"))
      assert.isDefined(estimate("OpenAI", "GPT-4o"))
    })
  )

  it.effect("treats unknown names as unknown, never free", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating()
      assert.strictEqual(estimate("openai", "gpt-99-ultra-nothing"), undefined)
      assert.strictEqual(estimate("openai", undefined), undefined)
      assert.strictEqual(estimate("openai", ""), undefined)
      assert.strictEqual(estimate("openai", "__proto__"), undefined)
      assert.strictEqual(estimate("constructor", "constructor"), undefined)
      assert.strictEqual(estimate("openai", "gpt-4o", { inputTokens: 5 }), undefined)
      assert.strictEqual(estimate("openai", "gpt-4o", { totalTokens: 5 }), undefined)
      // Models whose prices are not by token.
      assert.strictEqual(estimate("openai", "whisper-1"), undefined)
      assert.strictEqual(estimate("openai", "omni-moderation-latest"), undefined)
    })
  )

  it.effect("has no price for a server that anybody can run, even for models that others sell", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating()
      for (const provider of ["ollama", "vllm", "llamacpp", "lmstudio", "openai-compatible", "test", "my-openai", ""]) {
        assert.strictEqual(estimate(provider, "gpt-4o"), undefined, provider)
        assert.strictEqual(estimate(provider, "deepseek-chat"), undefined, provider)
      }
    })
  )

  it.effect("prices the embedded model at zero, and no other with its name", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating()
      assert.strictEqual(estimate("offline", "offline"), 0)
      assert.strictEqual(estimate("offline", "anything", {}), 0)
      assert.strictEqual(estimate("ollama", "offline"), undefined)
    })
  )

  it.effect("prices free models at zero, and output without a price at none", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating()
      const free = RawPrices.providers
        .find(({ id }) => id === "openrouter")
        ?.models.find(({ id, prices }) => id.endsWith(":free") && Object.keys(prices).length === 0)
      assert.isDefined(free)
      assert.strictEqual(estimate("openrouter", free?.id), 0)
      const { input_mtok } = RawPrices.prices("openai", "text-embedding-3-small")
      near(estimate("openai", "text-embedding-3-small", { inputTokens: 1e6, outputTokens: 0 }), base(input_mtok))
      assert.strictEqual(estimate("openai", "text-embedding-3-small"), undefined)
    })
  )

  it.effect("prices cached input separately, within the input", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating()
      for (const [provider, model] of [
        ["openai", "gpt-4.1"],
        ["anthropic", "claude-haiku-4-5"]
      ] as const) {
        const raw = RawPrices.prices(provider, model)
        const cached = { inputTokens: 1000, outputTokens: 0, cachedInputTokens: 800 }
        assert.isBelow(base(raw.cache_read_mtok), base(raw.input_mtok))
        near(estimate(provider, model, cached), (200 * base(raw.input_mtok) + 800 * base(raw.cache_read_mtok)) / 1e6)
      }
    })
  )

  it.effect("prices input written to a cache separately", () =>
    Effect.gen(function* () {
      const { estimate } = yield* ModelPrices.make()
      const of = (usage: object) => estimate({ provider: "anthropic", model: "claude-sonnet-4-5", usage }) ?? Number.NaN
      const plain = of({ inputTokens: 1000, outputTokens: 0 })
      const written = of({ inputTokens: 1000, outputTokens: 0, cacheWriteTokens: 1000 })
      assert.closeTo(written / plain, 1.25, 1e-9)
    })
  )

  it.effect("charges reasoning once, as a part of the output", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating()
      const reasoned = { ...short, reasoningTokens: 400 }
      assert.strictEqual(estimate("openai", "o4-mini", reasoned), estimate("openai", "o4-mini", short))
      const raw = RawPrices.prices("perplexity", "sonar-deep-research")
      assert.notStrictEqual(raw.output_reasoning_mtok, raw.output_mtok)
      near(
        estimate("perplexity", "sonar-deep-research", reasoned),
        (1000 * base(raw.input_mtok) + 600 * base(raw.output_mtok) + 400 * base(raw.output_reasoning_mtok)) / 1e6
      )
    })
  )

  it.effect("adds a price per call to that of the tokens", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating()
      const raw = RawPrices.prices("perplexity", "sonar-pro")
      near(
        estimate("perplexity", "sonar-pro"),
        base(raw.requests_kcount) / 1000 + (1000 * base(raw.input_mtok) + 1000 * base(raw.output_mtok)) / 1e6
      )
    })
  )

  it.effect("applies the tier of a long context", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating()
      const raw = RawPrices.prices("google", "gemini-2.5-pro")
      const tier = (price: RawPrices.RawPrice | undefined) => (typeof price === "object" ? price.tiers[0] : undefined)
      const input = tier(raw.input_mtok)
      const output = tier(raw.output_mtok)
      assert.isDefined(input)
      assert.isDefined(output)
      const start = input?.start ?? 0
      const at = (inputTokens: number) => estimate("google", "gemini-2.5-pro", { inputTokens, outputTokens: 1000 })
      near(at(start), (start * base(raw.input_mtok) + 1000 * base(raw.output_mtok)) / 1e6)
      near(at(start + 1), ((start + 1) * (input?.price ?? 0) + 1000 * (output?.price ?? 0)) / 1e6)
    })
  )

  it.effect("follows the clock for prices that change at a date", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating()
      const { prices } = RawPrices.model("openai", "o3")
      assert.isArray(prices)
      const [before, after] = prices as Extract<typeof prices, ReadonlyArray<unknown>>
      const start = Date.parse(after?.constraint?.start_date ?? "")
      const price = (raw: typeof before) => base(raw?.prices.input_mtok) + base(raw?.prices.output_mtok)
      assert.notStrictEqual(price(before), price(after))
      yield* TestClock.setTime(start - 1)
      near(estimate("openai", "o3", usage), price(before))
      yield* TestClock.setTime(start)
      near(estimate("openai", "o3", usage), price(after))
    })
  )

  it.effect("follows the clock for prices by time of day, even when cached", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating()
      const { prices } = RawPrices.model("deepseek", "deepseek-reasoner")
      assert.isArray(prices)
      const [night, day] = prices as Extract<typeof prices, ReadonlyArray<unknown>>
      assert.deepInclude(day?.constraint, { start_time: "00:30:00Z", end_time: "16:30:00Z" })
      const price = (raw: typeof night) => base(raw?.prices.input_mtok) + base(raw?.prices.output_mtok)
      const of = () => estimate("deepseek", "deepseek-reasoner", usage)
      const midnight = Date.parse("2026-01-05T00:00:00Z")
      const minute = 60_000
      for (const [at, raw] of [
        [midnight, night],
        [midnight + 30 * minute - 1, night],
        [midnight + 30 * minute, day],
        [midnight + 16.5 * 60 * minute - 1, day],
        [midnight + 16.5 * 60 * minute, night]
      ] as const) {
        yield* TestClock.setTime(at)
        near(of(), price(raw))
      }
    })
  )

  it.effect("agrees with the package on every model at many times", () =>
    Effect.gen(function* () {
      const prices = yield* ModelPrices.make()
      let compared = 0
      for (const at of ["2025-01-01T00:10:00Z", "2026-03-13T12:00:00Z", "2027-02-01T03:30:00.500Z"]) {
        yield* TestClock.setTime(Date.parse(at))
        for (const provider of RawPrices.providers) {
          for (const { id } of provider.models) {
            const tokens = { inputTokens: 300_000, outputTokens: 2000, cachedInputTokens: 1000, reasoningTokens: 300 }
            const cost = prices.estimate({ provider: provider.id, model: id, usage: tokens })
            if (cost === undefined) continue
            const theirs = calcPrice(
              { input_tokens: 300_000, output_tokens: 2000, cache_read_tokens: 1000, output_reasoning_tokens: 300 },
              id,
              { providerId: provider.id, timestamp: new Date(at) }
            )
            near(cost, theirs?.total_price ?? Number.NaN, `${provider.id}/${id} at ${at}`)
            compared++
          }
        }
      }
      assert.isAbove(compared, 3000)
    })
  )

  it.effect("prices two calls as the sum of their tokens within a tier", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating()
      const tokens = FastCheck.integer({ min: 0, max: 50_000 })
      FastCheck.assert(
        FastCheck.property(tokens, tokens, tokens, tokens, (i1, o1, i2, o2) => {
          const of = (inputTokens: number, outputTokens: number) =>
            estimate("anthropic", "claude-sonnet-4-5", { inputTokens, outputTokens }) ?? Number.NaN
          assert.closeTo(of(i1, o1) + of(i2, o2), of(i1 + i2, o1 + o2), 1e-9)
        })
      )
    })
  )

  it.effect("prefers custom prices for their model and its releases, and fills gaps", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating({
        own: {
          "gpt-4.1": { input: 1000, output: 0 },
          "azure/gpt-4o": { input: 2000, output: 0 },
          "ollama/llama3": { input: 0, output: 0 },
          offline: { input: 7, output: 0 },
          "house-model": { input: 3, output: 0, cachedInput: 1 }
        }
      })
      const input = { inputTokens: 1_000_000, outputTokens: 0 }
      assert.strictEqual(estimate("openai", "gpt-4.1", input), 1000)
      assert.strictEqual(estimate("openai", "gpt-4.1-2025-04-14", input), 1000)
      near(estimate("openai", "gpt-4.1-mini", input), base(RawPrices.prices("openai", "gpt-4.1-mini").input_mtok))
      assert.strictEqual(estimate("azure", "gpt-4o", input), 2000)
      near(estimate("openai", "gpt-4o", input), base(RawPrices.prices("openai", "gpt-4o").input_mtok))
      assert.strictEqual(estimate("ollama", "llama3:8b", input), 0)
      assert.strictEqual(estimate("ollama", "llama4", input), undefined)
      assert.strictEqual(estimate("offline", "offline", input), 7)
      assert.strictEqual(estimate("vllm", "house-model-large", { ...input, cachedInputTokens: 1_000_000 }), 1)
    })
  )

  it.effect("maps a client to the prices of a provider", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating({ providers: { "openai-compatible": "groq" } })
      assert.isDefined(estimate("openai-compatible", "llama-3.1-8b-instant"))
      assert.strictEqual(
        estimate("openai-compatible", "llama-3.1-8b-instant"),
        estimate("groq", "llama-3.1-8b-instant")
      )
      const error = yield* Effect.flip(ModelPrices.make({ providers: { house: "no-such-provider" } }))
      assert.instanceOf(error, LlmConfigurationError)
      assert.strictEqual(error.provider, "house")
    })
  )

  it.effect("does not cache made-up names forever, or look up long ones", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating()
      const first = estimate("openai", "gpt-4o")
      for (let index = 0; index < 2500; index++) estimate(`p${index % 3}`, `made-up-${index}`)
      assert.strictEqual(estimate("openai", "gpt-4o"), first)
      // The short ones are as long as the long ones together: those cost nothing, since nobody reads them.
      Growth.assertLinearTexts(
        ["gpt-4o"],
        (long) => {
          assert.strictEqual(estimate("openai", long), undefined)
          assert.strictEqual(estimate(long, "gpt-4o"), undefined)
        },
        120_000
      )
    })
  )

  it.effect("provides the estimator to the layers below", () =>
    Effect.gen(function* () {
      const of = Effect.map(CostEstimator.CostEstimator, (prices) =>
        prices.estimate({ provider: "openai", model: "gpt-4.1", usage: { inputTokens: 1_000_000, outputTokens: 0 } })
      )
      near(yield* Effect.provide(of, ModelPrices.layer), base(RawPrices.prices("openai", "gpt-4.1").input_mtok))
      const own = ModelPrices.layerWith({ own: { "gpt-4.1": { input: 9, output: 9 } } })
      assert.strictEqual(yield* Effect.provide(of, own), 9)
    })
  )

  it.scoped("applies updated prices within a minute, and treats contradictory ones as unknown", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating()
      const before = estimate("openai", "gpt-4o")
      const replace = (providers: unknown) =>
        Effect.async<void>((resume) =>
          updatePrices(({ setProviderData }) => {
            setProviderData(providers as Parameters<typeof setProviderData>[0])
            resume(Effect.void)
          })
        )
      // The prices are those of the process: other tests have them too.
      yield* Effect.addFinalizer(() => replace(RawPrices.providers))
      const renew = (prices: Record<string, number>) => {
        const models = [{ id: "gpt-4o", match: { equals: "gpt-4o" }, prices }]
        return replace([{ id: "openai", name: "OpenAI", api_pattern: "x", models }])
      }
      yield* renew({ input_mtok: 500, output_mtok: 500 })
      assert.strictEqual(estimate("openai", "gpt-4o"), before)
      yield* TestClock.adjust("1 minute")
      near(estimate("openai", "gpt-4o"), 1)
      yield* renew({ input_mtok: 500, output_mtok: 500, cache_write_1h_mtok: 5 })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(estimate("openai", "gpt-4o"), undefined)
    })
  )
})

describe("ModelPrices without its package", () => {
  const load = () => Promise.reject(new Error("Cannot find package"))

  it.effect("fails with what to install", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(ModelPrices.make({ load }))
      assert.instanceOf(error, LlmConfigurationError)
      assert.include(error.hint, "npm install @pydantic/genai-prices")
    })
  )

  it.scopedLive("names what to install where it is not, and runs without prices where they are optional", () =>
    Effect.gen(function* () {
      // A bundle in a folder without packages.
      const program = yield* Programs.start(yield* Bundle.make("PricesMissing"), {})
      const { failure, hasPrice, warnings }: Said = yield* program.hear
      assert.strictEqual(failure.tag, "LlmConfigurationError")
      assert.include(failure.hint, "npm install @pydantic/genai-prices")
      assert.lengthOf(warnings, 1)
      assert.match(warnings[0]!, /^WARN: .*costs are unknown\. npm install @pydantic\/genai-prices/)
      assert.isFalse(hasPrice)
    })
  )

  it.effect("takes the package that it is given", () =>
    Effect.gen(function* () {
      const estimate = yield* estimating({ load: () => import("@pydantic/genai-prices") })
      assert.isDefined(estimate("openai", "gpt-4o"))
    })
  )
})
