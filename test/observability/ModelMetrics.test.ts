import { assert, describe, it } from "@effect/vitest"
import * as Metric from "effect/Metric"
import * as MetricKeyType from "effect/MetricKeyType"
import * as MetricState from "effect/MetricState"
import * as ModelMetrics from "../../src/observability/ModelMetrics.js"

/** The histograms of one provider by name and the labels that tell them apart. */
const read = (provider: string) => {
  const found: Record<string, { readonly count: number; readonly sum: number }> = {}
  for (const { metricKey, metricState } of Metric.unsafeSnapshot()) {
    const tags = new Map(metricKey.tags.map((tag) => [tag.key, tag.value]))
    if (tags.get("gen_ai.provider.name") !== provider || !MetricState.isHistogramState(metricState)) continue
    assert.strictEqual(tags.get("gen_ai.operation.name"), "chat")
    for (const key of ["gen_ai.provider.name", "gen_ai.operation.name"]) tags.delete(key)
    const labels = [...tags].map(([key, value]) => `${key}=${value}`).sort()
    found[[metricKey.name, ...labels].join(" ")] = { count: metricState.count, sum: metricState.sum }
  }
  return found
}

describe("ModelMetrics", () => {
  it("count tokens and seconds of calls", () => {
    const { called } = ModelMetrics.forModel("mm-calls", "big")
    called({ durationMs: 500, responseModel: "big-1", usage: { inputTokens: 10, outputTokens: 5 } })
    called({ durationMs: 1500, responseModel: "big-1", usage: { inputTokens: 30 } })
    called({ durationMs: 250, errorType: "LlmTimeoutError" })
    const answered = "gen_ai.request.model=big gen_ai.response.model=big-1"
    assert.deepStrictEqual(read("mm-calls"), {
      [`gen_ai.client.operation.duration ${answered} unit=s`]: { count: 2, sum: 2 },
      [`gen_ai.client.token.usage ${answered} gen_ai.token.type=input unit={token}`]: { count: 2, sum: 40 },
      [`gen_ai.client.token.usage ${answered} gen_ai.token.type=output unit={token}`]: { count: 1, sum: 5 },
      "gen_ai.client.operation.duration error.type=LlmTimeoutError gen_ai.request.model=big unit=s": {
        count: 1,
        sum: 0.25
      }
    })
  })

  it("say nothing of a model that nobody named, and call providers by their well-known names", () => {
    ModelMetrics.forModel("watsonx", undefined).called({ durationMs: 1000 })
    assert.deepStrictEqual(Object.keys(read("ibm.watsonx.ai")), ["gen_ai.client.operation.duration unit=s"])
  })

  it("counts that are none spoil no sum", () => {
    const { called } = ModelMetrics.forModel("mm-odd", undefined)
    for (const tokens of [Number.NaN, -5, Number.POSITIVE_INFINITY, 7]) {
      called({ durationMs: 0, usage: { inputTokens: tokens, outputTokens: 0 } })
    }
    const values = read("mm-odd")
    assert.deepStrictEqual(values["gen_ai.client.token.usage gen_ai.token.type=input unit={token}"], {
      count: 1,
      sum: 7
    })
    assert.strictEqual(values["gen_ai.client.token.usage gen_ai.token.type=output unit={token}"]?.count, 4)
  })

  it("have the buckets of the conventions", () => {
    ModelMetrics.forModel("mm-buckets", undefined).called({ durationMs: 1, usage: { inputTokens: 1 } })
    for (const { metricKey } of Metric.unsafeSnapshot()) {
      if (!MetricKeyType.isHistogramKey(metricKey.keyType)) continue
      const { values } = metricKey.keyType.boundaries
      if (metricKey.name === ModelMetrics.METRIC_OPERATION_DURATION) {
        const expected = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
        assert.deepStrictEqual(Array.from(values), [...expected, Number.POSITIVE_INFINITY])
      }
      if (metricKey.name === ModelMetrics.METRIC_TOKEN_USAGE) {
        const expected = [
          1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864
        ]
        assert.deepStrictEqual(Array.from(values), [...expected, Number.POSITIVE_INFINITY])
      }
    }
  })

  it("are made once, and their label sets are bounded", () => {
    assert.strictEqual(ModelMetrics.forModel("mm-once", "a"), ModelMetrics.forModel("mm-once", "a"))
    const { called } = ModelMetrics.forModel("mm-many", "a")
    for (let i = 0; i < 1000; i++) {
      called({ durationMs: 1, responseModel: `answers-${i}` })
      called({ durationMs: 1, errorType: `Error${i}` })
      ModelMetrics.forModel("mm-many", `model-${i}`).called({ durationMs: 1 })
    }
    called({ durationMs: 1, responseModel: "long".repeat(100) })
    const values = read("mm-many")
    assert.isBelow(Object.keys(values).length, 160)
    const other = "gen_ai.client.operation.duration gen_ai.request.model=a gen_ai.response.model=_OTHER unit=s"
    assert.strictEqual(values[other]?.count, 1000 - 16 + 1)
    assert.strictEqual(
      Object.values(values).reduce((sum, { count }) => sum + count, 0),
      3001
    )
    for (const key of Object.keys(values)) assert.isBelow(key.length, 300)
  })
})
