import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as MetricState from "effect/MetricState"
import * as TestClock from "effect/TestClock"
import * as Tracer from "effect/Tracer"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as SessionMetrics from "../../../src/session/turn/SessionMetrics.js"
import * as SessionTelemetry from "../../../src/session/turn/SessionTelemetry.js"
import * as ManagedSessions from "../../support/ManagedSessions.js"

const { layer, sid, turn, uid } = ManagedSessions
const id = sid("s1")

/** The value of a counter, or how often a histogram was updated. */
const measured = (name: string, labels: Readonly<Record<string, string>> = {}): number => {
  for (const { metricKey, metricState } of Metric.unsafeSnapshot()) {
    const isIt =
      metricKey.name === name &&
      Object.entries(labels).every(([key, value]) =>
        metricKey.tags.some((tag) => tag.key === key && tag.value === value)
      )
    if (!isIt) continue
    const state: unknown = metricState
    if (MetricState.isCounterState(state)) return Number(state.count)
    if (MetricState.isHistogramState(state)) return state.count
  }
  return 0
}

/** By how much each number grew while the effect ran. */
const growth = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  ...numbers: ReadonlyArray<readonly [string, Readonly<Record<string, string>>?]>
) =>
  Effect.suspend(() => {
    const read = () => numbers.map(([name, labels]) => measured(name, labels))
    const before = read()
    return Effect.map(Effect.exit(effect), () => read().map((value, at) => value - (before[at] ?? 0)))
  })

const operations = (operation: string, outcome: string) =>
  [SessionMetrics.METRIC_SESSION_OPERATIONS_TOTAL, { operation, outcome }] as const

const recorder = () => {
  const spans: Array<Tracer.Span & { readonly exits: Array<Exit.Exit<unknown, unknown>> }> = []
  const tracer = Tracer.make({
    context: (f) => f(),
    span: (name, parent, context, links, startTime, kind) => {
      const attributes = new Map<string, unknown>()
      const exits: Array<Exit.Exit<unknown, unknown>> = []
      const span = {
        _tag: "Span" as const,
        spanId: String(spans.length),
        traceId: "t",
        name,
        parent,
        context,
        links,
        kind,
        sampled: true,
        status: { _tag: "Started" as const, startTime },
        attributes,
        exits,
        attribute: (key: string, value: unknown) => void attributes.set(key, value),
        event: () => {},
        end: (_at: bigint, exit: Exit.Exit<unknown, unknown>) => void exits.push(exit),
        addLinks: () => {}
      }
      spans.push(span)
      return span
    }
  })
  return { spans, tracer }
}

describe("SessionMetrics", () => {
  it.effect("counts operations by outcome and times them", () =>
    Effect.gen(function* () {
      const observed = <A, E>(effect: Effect.Effect<A, E>) => SessionTelemetry.observed("merge", id, effect)
      const all = (effect: Effect.Effect<unknown, unknown>) =>
        growth(
          effect,
          operations("merge", "success"),
          operations("merge", "failed"),
          operations("merge", "interrupted"),
          [SessionMetrics.METRIC_SESSION_OPERATION_DURATION_MS, { operation: "merge" }]
        )
      assert.deepStrictEqual(yield* all(observed(Effect.void)), [1, 0, 0, 1])
      assert.deepStrictEqual(yield* all(observed(Effect.fail("no"))), [0, 1, 0, 1])
      assert.deepStrictEqual(yield* all(observed(Effect.die("no"))), [0, 1, 0, 1])
      const interrupted = Effect.gen(function* () {
        const fiber = yield* Effect.fork(observed(Effect.never))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
      })
      assert.deepStrictEqual(yield* all(interrupted), [0, 0, 1, 1])
    })
  )

  it.effect("counts turns, checkpoints and ends when they happen, not when nothing changes", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const all = (effect: Effect.Effect<unknown, unknown>) =>
        growth(
          effect,
          [SessionMetrics.METRIC_SESSION_TURNS_TOTAL],
          [SessionMetrics.METRIC_SESSION_CHECKPOINTS_TOTAL, { kind: "manual" }],
          [SessionMetrics.METRIC_SESSION_CHECKPOINTS_TOTAL, { kind: "auto" }],
          [SessionMetrics.METRIC_SESSION_ENDED_TOTAL, { status: "closed" }],
          [SessionMetrics.METRIC_SESSION_ENDED_TOTAL, { status: "expired" }]
        )
      yield* sessions.create({ id })
      assert.deepStrictEqual(yield* all(sessions.addTurn(id, turn(1))), [1, 0, 0, 0, 0])
      assert.deepStrictEqual(yield* all(sessions.addTurn(id, turn(1))), [0, 0, 0, 0, 0])
      assert.deepStrictEqual(yield* all(sessions.addTurn(id, turn(2))), [1, 0, 1, 0, 0])
      assert.deepStrictEqual(yield* all(sessions.checkpoint(id)), [0, 1, 0, 0, 0])
      assert.deepStrictEqual(yield* all(sessions.close(id)), [0, 0, 0, 1, 0])
      assert.deepStrictEqual(yield* all(sessions.close(id)), [0, 0, 0, 0, 0])
      yield* sessions.create({ id: sid("s2") })
      assert.deepStrictEqual(yield* all(SystemAccess.grant(sessions.expireIdle({ idle: 0 }))), [0, 0, 0, 0, 1])
    }).pipe(Effect.provide(layer({ autoCheckpointInterval: 2 })))
  )

  it.effect("names the session in every span, but no user and no content", () => {
    const { spans, tracer } = recorder()
    const userId = uid("secret-user")
    return Effect.gen(function* () {
      yield* Effect.gen(function* () {
        const sessions = yield* SessionManager.SessionManager
        const access = { userId }
        yield* sessions.create({ id, userId, variables: { a: "secret" }, systemPrompt: "secret" })
        yield* sessions.addTurn(id, turn(1, { content: "secret", metadata: { a: "secret" } }), access)
        yield* sessions.turns(id, { last: 1, ...access })
        yield* sessions.update(id, { variables: { a: "secret" }, ...access })
        const { id: checkpointId } = yield* sessions.checkpoint(id, { name: "secret", ...access })
        yield* sessions.checkpoints(id, access)
        yield* sessions.restore(checkpointId, access)
        yield* sessions.suspend(id, access)
        yield* Effect.flip(sessions.addTurn(id, turn(2, { content: "secret" }), access))
        yield* sessions.resume(id, access)
        yield* Effect.flip(
          sessions.addTurn(id, turn(3, { content: "secret", metadata: { secret: () => "secret" } }), access)
        )
        yield* sessions.close(id, access)
        yield* Effect.flip(sessions.resume(id, access))
        yield* sessions.get(id, access)
        yield* sessions.list(userId)
        yield* SystemAccess.grant(sessions.expireIdle())
        yield* sessions.delete(id, access)
        yield* Effect.flip(sessions.turns(id, { last: 1, ...access }))
      }).pipe(Effect.provide(layer()), Effect.withTracer(tracer))
      const names = new Set(spans.map(({ name }) => name))
      const expected = [
        ["create", "add_turn", "turns", "update", "checkpoint", "checkpoints", "restore", "suspend", "resume"],
        ["close", "get", "list", "expire_idle", "delete"]
      ].flat()
      assert.deepStrictEqual(Array.from(names).toSorted(), expected.map((name) => `session.${name}`).toSorted())
      for (const { attributes, exits, name } of spans) {
        const said = JSON.stringify([name, Array.from(attributes), exits.filter(Exit.isFailure)])
        assert.notInclude(said, "secret")
        assert.strictEqual(exits.length, 1)
        const isOfOne = !["session.list", "session.expire_idle", "session.restore"].includes(name)
        assert.strictEqual(attributes.get("gen_ai.conversation.id"), isOfOne ? id : undefined)
      }
    })
  })

  it.effect("keeps background work out of the caller's span", () => {
    const { spans, tracer } = recorder()
    const told = new ManagedSessions.Told()
    told.doings.flush = Effect.withSpan(Effect.sleep(10), "flush")
    return Effect.gen(function* () {
      yield* Effect.gen(function* () {
        const sessions = yield* SessionManager.SessionManager
        yield* sessions.create({ id })
        yield* sessions.close(id)
        yield* TestClock.adjust(10)
      }).pipe(
        Effect.withSpan("request"),
        Effect.provide(layer({}, { told })),
        Effect.withSpan("program"),
        Effect.provide(Layer.setTracer(tracer))
      )
      const flush = spans.find(({ name }) => name === "flush")
      assert.strictEqual(flush?.parent._tag, "None")
      assert.strictEqual(spans.find(({ name }) => name === "session.close")?.parent._tag, "Some")
    })
  })
})
