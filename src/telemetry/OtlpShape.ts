/**
 * Corrects the output of Effect's exporters before serialization: interrupted spans end in an error that says so,
 * failed spans do not claim to be interrupted, and units are not labels.
 *
 * @private
 * @since 0.1.0
 */
import * as OtlpSerialization from "@effect/opentelemetry/OtlpSerialization"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { unitOf } from "./PrometheusText.js"

interface Attribute {
  readonly key: string
  readonly value: unknown
}

interface Span {
  readonly attributes: Array<Attribute>
  readonly events: ReadonlyArray<{ readonly name: string }>
  status: { readonly code: number; readonly message?: string }
}

const statusOk = 1
const statusError = 2

const removeAttributes = (attributes: Array<Attribute>, isWrong: (attribute: Attribute) => boolean): void => {
  for (let i = attributes.length - 1; i >= 0; i--) {
    if (isWrong(attributes[i] as Attribute)) attributes.splice(i, 1)
  }
}

const isMarker = ({ key }: Attribute): boolean => key === "span.label" || key === "status.interrupted"

const isUnit = ({ key, value }: Attribute): boolean =>
  unitOf({ key, value: (value as { readonly stringValue?: string }).stringValue ?? "" }) !== undefined

/** An interrupted span has a message but no exception, a failed one has both, a successful one neither. */
const correct = (span: Span): void => {
  const isException = span.events.some((event) => event.name === "exception")
  if (span.status.message === undefined && !isException) return
  removeAttributes(span.attributes, isMarker)
  if (isException) return
  if (span.status.code === statusOk || span.status.code === statusError) {
    span.attributes.push({ key: "status.interrupted", value: { boolValue: true } })
    span.status = { code: statusError, message: "interrupted" }
  }
}

interface TraceData {
  readonly resourceSpans: ReadonlyArray<{
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }>
  }>
}

interface Points {
  readonly dataPoints: ReadonlyArray<{ readonly attributes: Array<Attribute> }>
}

interface MetricData {
  readonly resourceMetrics: ReadonlyArray<{
    readonly scopeMetrics: ReadonlyArray<{
      readonly metrics: ReadonlyArray<{
        readonly gauge?: Points
        readonly sum?: Points
        readonly histogram?: Points
      }>
    }>
  }>
}

/**
 * Wraps a serialization with the corrections.
 */
export const layer: Layer.Layer<OtlpSerialization.OtlpSerialization, never, OtlpSerialization.OtlpSerialization> =
  Layer.effect(
    OtlpSerialization.OtlpSerialization,
    Effect.map(OtlpSerialization.OtlpSerialization, (inner) => ({
      traces: (data) => {
        for (const { scopeSpans } of (data as TraceData).resourceSpans) {
          for (const { spans } of scopeSpans) spans.forEach(correct)
        }
        return inner.traces(data)
      },
      metrics: (data) => {
        for (const { scopeMetrics } of (data as MetricData).resourceMetrics) {
          for (const { metrics } of scopeMetrics) {
            for (const { gauge, histogram, sum } of metrics) {
              for (const { attributes } of (gauge ?? sum ?? histogram)?.dataPoints ?? [])
                removeAttributes(attributes, isUnit)
            }
          }
        }
        return inner.metrics(data)
      },
      logs: inner.logs
    }))
  )
