/**
 * Metrics of model calls, by OpenTelemetry's semantic conventions for generative AI: tokens and seconds per call.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricKey from "effect/MetricKey"
import * as MetricLabel from "effect/MetricLabel"
import type * as Usage from "../domain/Usage.js"
import { attribute, providerName } from "./Telemetry.js"

/**
 * Histogram of the tokens of one call, input and output separately.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_TOKEN_USAGE = "gen_ai.client.token.usage"
/**
 * Histogram of the duration of a call in seconds.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_OPERATION_DURATION = "gen_ai.client.operation.duration"
/**
 * The label for names beyond the limits.
 *
 * @since 0.1.0
 * @category constants
 */
export const OTHER = "_OTHER"

// The boundaries that the conventions recommend.
const tokens = MetricBoundaries.fromIterable(Array.from({ length: 14 }, (_, i) => 4 ** i))
const seconds = MetricBoundaries.fromIterable(Array.from({ length: 14 }, (_, i) => 2 ** i / 100))

const maxProviders = 32
const maxModels = 64
const maxAnswering = 16
const maxErrors = 64
const maxLength = 128

/**
 * How a call ended. `usage` is that of an answer, `errorType` is set without one, and `lost` is the usage of requests
 * that were cut off.
 *
 * @since 0.1.0
 * @category models
 */
export interface Call {
  readonly durationMs: number
  /** The model as the provider names it in its answer. */
  readonly responseModel?: string | undefined
  readonly usage?: Usage.Usage | undefined
  readonly errorType?: string | undefined
  readonly lost?: ReadonlyArray<{ readonly usage: Usage.Usage }> | undefined
}

/**
 * The metrics of one model of one provider.
 *
 * @since 0.1.0
 * @category models
 */
export interface ModelMetrics {
  readonly called: (call: Call) => void
}

type Labels = ReadonlyArray<MetricLabel.MetricLabel>

/** Effect's exporters read the unit from `unit`; they and `PrometheusPage` keep it out of the labels. */
const histogram = (
  name: string,
  boundaries: MetricBoundaries.MetricBoundaries,
  description: string,
  unit: string,
  labels: Labels
) => {
  const key = MetricKey.taggedWithLabels(MetricKey.histogram(name, boundaries, description), [
    ...labels,
    MetricLabel.make("unit", unit)
  ])
  const metric = Metric.fromMetricKey(key)
  return (value: number) => metric.unsafeUpdate(value, [])
}

const durations = (labels: Labels) =>
  histogram(METRIC_OPERATION_DURATION, seconds, "GenAI operation duration.", "s", labels)

const usages = (labels: Labels, type: string) =>
  histogram(METRIC_TOKEN_USAGE, tokens, "Number of input and output tokens used.", "{token}", [
    ...labels,
    MetricLabel.make(attribute.genAiTokenType, type)
  ])

/**
 * Creates the metrics of a name once. Names come from configurations and provider answers: names beyond `limit` or of
 * an unreasonable length share those of `_OTHER`, so that label sets cannot exhaust the memory.
 */
const bounded = <A>(limit: number, make: (name: string) => A): ((name: string) => A) => {
  const known = new Map<string, A>()
  const keep = (name: string): A => {
    const made = make(name)
    known.set(name, made)
    return made
  }
  return (name) => {
    const found = known.get(name)
    if (found !== undefined) return found
    if (known.size < limit && name.length <= maxLength) return keep(name)
    return known.get(OTHER) ?? keep(OTHER)
  }
}

/** A value that is not a number would corrupt the sum permanently. */
const isCount = (tokens: number | undefined): tokens is number =>
  tokens !== undefined && tokens >= 0 && tokens < Infinity

const make = (provider: string, model: string): ModelMetrics => {
  const labels = [
    MetricLabel.make(attribute.genAiOperation, "chat"),
    MetricLabel.make(attribute.genAiProvider, provider),
    ...(model === "" ? [] : [MetricLabel.make(attribute.genAiRequestModel, model)])
  ]
  const answering = bounded(maxAnswering, (name) => {
    const all = name === "" ? labels : [...labels, MetricLabel.make(attribute.genAiResponseModel, name)]
    return { input: usages(all, "input"), output: usages(all, "output"), duration: durations(all) }
  })
  const failing = bounded(maxErrors, (errorType) =>
    durations([...labels, MetricLabel.make(attribute.errorType, errorType)])
  )
  const used = (usage: Usage.Usage, responseModel: string): void => {
    const { input, output } = answering(responseModel)
    if (isCount(usage.inputTokens)) input(usage.inputTokens)
    if (isCount(usage.outputTokens)) output(usage.outputTokens)
  }
  return {
    called: ({ durationMs, errorType, lost, responseModel, usage }) => {
      for (const { usage } of lost ?? []) used(usage, "")
      if (errorType !== undefined) return failing(errorType)(durationMs / 1000)
      answering(responseModel ?? "").duration(durationMs / 1000)
      if (usage !== undefined) used(usage, responseModel ?? "")
    }
  }
}

const providers = bounded(maxProviders, (name) => {
  const provider = providerName(name)
  return bounded(maxModels, (model) => make(provider, model))
})

/**
 * The metrics of a model, created once per name: at most 32 providers, 64 models for each, and 16 models that answer in
 * place of the requested one.
 *
 * @since 0.1.0
 * @category constructors
 */
export const forModel = (provider: string, model: string | undefined): ModelMetrics => providers(provider)(model ?? "")
