import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import type * as MetricLabel from "effect/MetricLabel"
import * as MetricState from "effect/MetricState"
import * as Tracer from "effect/Tracer"
import { EntryId, RunId } from "../../../src/domain/Ids.js"
import * as DefaultMemory from "../../../src/memory/DefaultMemory.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import * as MemoryHooks from "../../../src/memory/entry/MemoryHooks.js"
import * as MemoryMetrics from "../../../src/memory/entry/MemoryMetrics.js"
import * as MemoryTelemetry from "../../../src/memory/entry/MemoryTelemetry.js"
import * as ProceduralMemory from "../../../src/memory/procedural/ProceduralMemory.js"
import * as SemanticMemory from "../../../src/memory/semantic/SemanticMemory.js"
import * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"
import * as Hooks from "../../../src/observability/Hooks.js"
import * as Run from "../../../src/observability/Run.js"

const hasLabels = (tags: ReadonlyArray<MetricLabel.MetricLabel>, given: Record<string, string>): boolean =>
  Object.entries(given).every(([key, value]) => tags.some((tag) => tag.key === key && tag.value === value))

/** The value of a counter, or how often a histogram was updated. */
const measured = (name: string, given: Record<string, string>): number => {
  for (const pair of Metric.unsafeSnapshot()) {
    if (pair.metricKey.name !== name || !hasLabels(pair.metricKey.tags, given)) continue
    const state: unknown = pair.metricState
    if (MetricState.isCounterState(state)) return Number(state.count)
    if (MetricState.isHistogramState(state)) return state.count
  }
  return 0
}

const operations = (tier: string, operation: string, outcome: string) =>
  measured(MemoryMetrics.METRIC_MEMORY_OPERATIONS_TOTAL, { tier, operation, outcome })

const added = <A, E, R>(read: () => number, effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const before = read()
    return Effect.map(Effect.exit(effect), () => read() - before)
  })

describe("MemoryTelemetry", () => {
  it.effect("counts operations by outcome, and times them", () =>
    Effect.gen(function* () {
      const observed = MemoryTelemetry.observed("episodic", "recall")
      assert.strictEqual(yield* added(() => operations("episodic", "recall", "success"), observed(Effect.void)), 1)
      assert.strictEqual(yield* added(() => operations("episodic", "recall", "failed"), observed(Effect.fail("no"))), 1)
      assert.strictEqual(yield* added(() => operations("episodic", "recall", "failed"), observed(Effect.die("no"))), 1)
      const interrupted = Effect.gen(function* () {
        const fiber = yield* Effect.fork(observed(Effect.never))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
      })
      assert.strictEqual(yield* added(() => operations("episodic", "recall", "interrupted"), interrupted), 1)
      const times = () =>
        measured(MemoryMetrics.METRIC_MEMORY_OPERATION_DURATION_MS, { tier: "episodic", operation: "recall" })
      assert.strictEqual(yield* added(times, observed(Effect.void)), 1)
    })
  )

  it.effect("puts the tier on spans, but no owner, query or content", () =>
    Effect.gen(function* () {
      const spans: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        context: (f) => f(),
        span: (name, parent, context, links, startTime, kind) => {
          const attributes = new Map<string, unknown>()
          const span: Tracer.Span = {
            _tag: "Span",
            spanId: String(spans.length),
            traceId: "t",
            name,
            parent,
            context,
            links,
            kind,
            sampled: true,
            status: { _tag: "Started", startTime },
            attributes,
            attribute: (key, value) => void attributes.set(key, value),
            event: () => {},
            end: () => {},
            addLinks: () => {}
          }
          spans.push(span)
          return span
        }
      })
      const run = Effect.gen(function* () {
        const working = yield* WorkingMemory.WorkingMemory
        const semantic = yield* SemanticMemory.SemanticMemory
        const procedural = yield* ProceduralMemory.ProceduralMemory
        yield* working.add(
          MemoryEntry.make({
            id: EntryId.make("secret-id"),
            ownerId: "secret-owner",
            content: "secret-content",
            role: "user",
            timestamp: 0
          })
        )
        yield* working.assemble({ ownerId: "secret-owner", query: "secret-query", tokenBudget: 100 })
        yield* semantic.storeFact("secret-owner", { subject: "secret-subject", predicate: "is", object: "secret" })
        yield* procedural.learn({
          ownerId: "secret-owner",
          task: "secret-task",
          steps: [{ tool: "look", parameters: [] }],
          success: true
        })
      })
      yield* run.pipe(Effect.provide(DefaultMemory.layer()), Effect.withTracer(tracer))
      const names = spans.map(({ name }) => name)
      for (const operation of ["record", "assemble", "recall", "recent", "store_fact", "learn"]) {
        assert.include(names, MemoryMetrics.SPAN_MEMORY + operation)
      }
      for (const span of spans) {
        const said = JSON.stringify([span.name, Array.from(span.attributes)])
        assert.notInclude(said, "secret")
        if (span.name.startsWith(MemoryMetrics.SPAN_MEMORY)) {
          assert.isString(span.attributes.get(MemoryMetrics.attribute.tier))
        }
      }
    })
  )

  it.effect("distinguishes hits from misses", () =>
    Effect.gen(function* () {
      const telemetry = yield* MemoryTelemetry.make
      const retrieved = (count: number) => telemetry.retrieved({ tier: "semantic", ownerId: "ann", count })
      const hits = () => measured(MemoryMetrics.METRIC_MEMORY_HITS, { tier: "semantic" })
      const misses = () => measured(MemoryMetrics.METRIC_MEMORY_MISSES, { tier: "semantic" })
      assert.strictEqual(yield* added(hits, retrieved(2)), 1)
      assert.strictEqual(yield* added(misses, retrieved(0)), 1)
      assert.strictEqual(yield* added(hits, retrieved(0)), 0)
    })
  )

  it.effect("calls the run's hooks within a run, otherwise those of the context of construction", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const listening = (name: string) =>
        Effect.gen(function* () {
          const hooks = yield* Hooks.make
          yield* hooks.on(MemoryHooks.MemoryWrittenHook, ({ ids }) =>
            Effect.sync(() => seen.push(`${name} ${ids.join()}`))
          )
          return hooks
        })
      const outside = yield* listening("outside")
      const inside = yield* listening("inside")
      const telemetry = yield* Effect.provideService(MemoryTelemetry.make, Hooks.Hooks, outside)
      const written = (...ids: ReadonlyArray<string>) =>
        telemetry.written({ tier: "episodic", backend: "x", ownerId: "ann", ids })
      yield* written("a")
      yield* written()
      const run = Run.make({
        runId: RunId.make("r"),
        agent: "a",
        clock: yield* Effect.clock,
        sink: { push: () => {}, settle: () => undefined, live: false },
        hooks: inside
      })
      yield* Effect.provideService(written("b", "c"), Run.Run, run)
      assert.deepStrictEqual(seen, ["outside a", "inside b,c"])
    }).pipe(Effect.scoped)
  )
})
