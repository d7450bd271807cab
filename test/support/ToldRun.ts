/**
 * A run that records hooks, bus events and spans.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { RunId } from "../../src/domain/Ids.js"
import type * as DomainEvent from "../../src/observability/DomainEvent.js"
import * as EventBus from "../../src/observability/EventBus.js"
import * as Hooks from "../../src/observability/Hooks.js"
import * as Run from "../../src/observability/Run.js"

export interface Span {
  readonly name: string
  readonly attributes: Map<string, unknown>
  readonly parent: Option.Option<Tracer.AnySpan>
}

export const make = (telemetry: Partial<Run.TelemetryOptions> = {}) => {
  const calls: Array<readonly [place: string, payload: any]> = []
  const events: Array<DomainEvent.Body> = []
  const spans: Array<Span> = []
  const tracer = Tracer.make({
    span: (name, parent, context, links, startTime, kind) => {
      const attributes = new Map<string, unknown>()
      spans.push({ name, attributes, parent })
      return {
        _tag: "Span",
        name,
        spanId: String(spans.length),
        traceId: "t",
        parent,
        context,
        status: { _tag: "Started", startTime },
        attributes,
        links,
        sampled: true,
        kind,
        end: () => {},
        attribute: (key, value) => void attributes.set(key, value),
        event: () => {},
        addLinks: () => {}
      }
    },
    context: (f) => f()
  })
  const run = Run.make({
    runId: RunId.make("run-1"),
    agent: "a",
    clock: Clock.make(),
    sink: { push: () => {}, settle: () => undefined, live: false },
    telemetry: { tracing: true, metrics: true, content: false, ...telemetry },
    hooks: {
      ...Hooks.noop,
      has: () => true,
      call: (place, payload) => Effect.sync(() => void calls.push([place.name, payload]))
    },
    bus: {
      ...EventBus.noop,
      enabled: true,
      offer: (event) => {
        events.push(event)
        return true
      }
    }
  })
  const within = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withTracer(Effect.provideService(effect, Run.Run, run), tracer) as Effect.Effect<A, E, R>
  return { run, calls, events, spans, within }
}
