/** A tracer that counts ended spans, and counted metric updates: real telemetry, no exporter. */
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

export interface SpanCount {
  ended: number
}

let ids = 0

export const countingTracer = (count: SpanCount): Tracer.Tracer =>
  Tracer.make({
    span: (name, parent, context, links, startTime, kind) => {
      const attributes = new Map<string, unknown>()
      let status: Tracer.SpanStatus = { _tag: "Started", startTime }
      const span: Tracer.Span = {
        _tag: "Span",
        name,
        spanId: String(++ids),
        traceId: Option.isSome(parent) ? parent.value.traceId : "trace",
        parent,
        context,
        get status() {
          return status
        },
        attributes,
        links,
        sampled: true,
        kind,
        end: (endTime, exit) => {
          count.ended++
          status = { _tag: "Ended", endTime, exit, startTime }
        },
        attribute: (key, value) => void attributes.set(key, value),
        event: () => {},
        addLinks: () => {}
      }
      return span
    },
    context: (f) => f()
  })

export const layer = (count: SpanCount): Layer.Layer<never> => Layer.setTracer(countingTracer(count))

/** Updates of all counters and histograms with this prefix since the process started. */
export const metricUpdates = (prefix: string): number => {
  let total = 0
  for (const pair of Metric.unsafeSnapshot()) {
    if (!pair.metricKey.name.startsWith(prefix)) continue
    const state = pair.metricState as { readonly count?: number | bigint }
    total += Number(state.count ?? 0)
  }
  return total
}
