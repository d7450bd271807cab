/**
 * Metrics of model calls, by OpenTelemetry's semantic conventions for generative AI: tokens and seconds a call.
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
 * Histogram of the tokens of one call, input and output each for itself.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_TOKEN_USAGE = "gen_ai.client.token.usage"
/**
 * Histogram of the seconds a call took.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_OPERATION_DURATION = "gen_ai.client.operation.duration"
/**
 * What stands for names past the limits.
 *
 * @since 0.1.0
 * @category constants
 */
export const OTHER = "_OTHER"

// As the conventions advise.
const tokens = MetricBoundaries.fromIterable(Array.from({ length: 14 }, (_, i) => 4 ** i))
const seconds = MetricBoundaries.fromIterable(Array.from({ length: 14 }, (_, i) => 2 ** i / 100))

const maxProviders = 32
const maxModels = 64
const maxAnswering = 16
const maxErrors = 64
const maxLength = 128

/**
 * How a call ended. `usage` is that of an answer, `errorType` there is where there is none, `lost` what requests used
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

/** `unit` is how Effect's exporters learn of units; they and `PrometheusPage` keep it out of the labels that matter. */
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
 * Makes what belongs to a name once. Names come from configurations and from answers of providers: past `limit` of
 * them, or past a sane length, they share what belongs to `_OTHER`, so that nobody can fill the memory with label sets.
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

/** One number that is none would spoil the sum for good. */
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
 * The metrics of a model, made once a name: at most 32 providers, 64 models each, and 16 models that answer for one
 * that was asked for.
 *
 * @since 0.1.0
 * @category constructors
 */
export const forModel = (provider: string, model: string | undefined): ModelMetrics => providers(provider)(model ?? "")
