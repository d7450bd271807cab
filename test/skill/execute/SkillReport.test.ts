// Failures of others are what they are.
// @effect-diagnostics globalErrorInEffectFailure:off
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import type * as Tracer from "effect/Tracer"
import { RunId } from "../../../src/domain/Ids.js"
import * as EventBus from "../../../src/observability/EventBus.js"
import * as Hooks from "../../../src/observability/Hooks.js"
import * as LocalEventBus from "../../../src/observability/LocalEventBus.js"
import * as Run from "../../../src/observability/Run.js"
import * as Step from "../../../src/observability/Step.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import { SkillExecutedEvent } from "../../../src/skill/definition/SkillEvents.js"
import { SkillExecutedHook, SkillExecutionFailedHook } from "../../../src/skill/definition/SkillHooks.js"
import * as SkillMetrics from "../../../src/skill/definition/SkillMetrics.js"
import * as DefaultSkillExecutor from "../../../src/skill/execute/DefaultSkillExecutor.js"
import * as DefaultSkillRegistry from "../../../src/skill/execute/DefaultSkillRegistry.js"
import * as PermissionChecker from "../../../src/skill/execute/PermissionChecker.js"
import * as SkillExecutor from "../../../src/skill/execute/SkillExecutor.js"
import * as SkillResultCache from "../../../src/skill/execute/SkillResultCache.js"
import * as SkillResultMemory from "../../../src/skill/execute/SkillResultMemory.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import * as WatchedRun from "../../support/WatchedRun.js"
import { ann, make, session } from "../definition/SkillRig.js"

const one = Skill.make("one", {
  description: "d",
  category: "counting",
  cacheable: true,
  handler: () => Effect.delay(Effect.succeed(1), "2 seconds")
})
const bad = Skill.make("bad", {
  description: "d",
  maxRetries: 1,
  handler: () => Effect.fail(new Error("key sk-abcdef123456"))
})

/** Hooks and a bus that write down what they are told. */
const listening = () => {
  const told: Array<unknown> = []
  const hooks: Hooks.Service = {
    ...Hooks.noop,
    has: () => true,
    call: (place, payload) => Effect.sync(() => void told.push([place.name, payload]))
  }
  const bus: EventBus.Service = {
    ...EventBus.noop,
    enabled: true,
    offer: (event) => told.push([event.eventType, event.aggregateId, event.actorId, event.fields]) > 0
  }
  return { told, hooks, bus }
}

const play = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Effect.fork(effect), (fiber) =>
    Effect.zipRight(
      Effect.forEach([1, 2, 3, 4], () => TestClock.adjust("1 second"), { discard: true }),
      Fiber.await(fiber)
    )
  )

describe("reports of executions", () => {
  it.effect("are hooks and an event for a success, fresh and from the cache", () =>
    Effect.gen(function* () {
      const { told, ...options } = listening()
      const { executor } = yield* make([one], { ...options, cache: yield* SkillResultMemory.make() })
      const execute = executor.execute({ name: "one", params: {}, userId: ann, sessionId: session })
      yield* play(execute)
      yield* play(execute)
      const info = { skillName: "one", userId: ann, sessionId: session }
      assert.deepStrictEqual(told, [
        ["SkillExecutedHook", { ...info, durationMs: 2000, attempt: 1, cached: false }],
        [
          "SkillExecutedEvent",
          "one",
          ann,
          { skillName: "one", success: true, durationMs: 2000, cached: false, attempt: 1 }
        ],
        ["SkillExecutedHook", { ...info, durationMs: 0, attempt: 0, cached: true }],
        ["SkillExecutedEvent", "one", ann, { skillName: "one", success: true, durationMs: 0, cached: true, attempt: 0 }]
      ])
    })
  )

  it.effect("are hooks and an event for a failure, without secrets", () =>
    Effect.gen(function* () {
      const { told, ...options } = listening()
      const { executor } = yield* make([bad], options)
      yield* play(executor.execute({ name: "bad", params: {} }))
      yield* play(executor.execute({ name: "none", params: {} }))
      assert.notInclude(JSON.stringify(told), "sk-abcdef")
      const [hook, event, unknownHook, unknownEvent] = told as ReadonlyArray<ReadonlyArray<any>>
      assert.strictEqual(hook![0], "SkillExecutionFailedHook")
      assert.deepInclude(hook![1], { skillName: "bad", durationMs: 1000, attempt: 2 })
      assert.strictEqual(hook![1].error.tag, "SkillExecutionError")
      assert.deepStrictEqual(event, [
        "SkillExecutedEvent",
        "bad",
        undefined,
        { skillName: "bad", success: false, durationMs: 1000, cached: false, attempt: 2 }
      ])
      assert.strictEqual(unknownHook![1].error.tag, "SkillNotFoundError")
      assert.deepStrictEqual(unknownEvent, [
        "SkillExecutedEvent",
        "unknown",
        undefined,
        { skillName: "none", success: false, durationMs: 0, cached: false, attempt: 0 }
      ])
    })
  )

  it.effect("are an unsuccessful event and no hook for an interruption", () =>
    Effect.gen(function* () {
      const { told, ...options } = listening()
      const { executor } = yield* make([one], options)
      const fiber = yield* Effect.fork(executor.execute({ name: "one", params: {} }))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(told, [
        [
          "SkillExecutedEvent",
          "one",
          undefined,
          { skillName: "one", success: false, durationMs: 1000, cached: false, attempt: 1 }
        ]
      ])
    })
  )

  it.effect("do not end the executions of a suspended run", () =>
    Effect.gen(function* () {
      const { told, ...options } = listening()
      const { executor } = yield* make([one], options)
      const asleep: Step.Service = { run: (_, effect) => effect, isSuspended: () => true }
      const fiber = yield* Effect.fork(
        Effect.provideService(executor.execute({ name: "one", params: {} }), Step.Step, asleep)
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(told, [])
    })
  )

  it.effect("go to the hooks and bus of a surrounding run, once", () =>
    Effect.gen(function* () {
      const { told, ...options } = listening()
      const watched = yield* WatchedRun.make
      const { executor } = yield* make([one], options)
      yield* play(watched.inside(executor.execute({ name: "one", params: {} })))
      assert.deepStrictEqual(told, [])
      assert.deepStrictEqual(
        watched.hooks.map(({ name }) => name),
        ["SkillExecutedHook"]
      )
      assert.deepStrictEqual(
        watched.events.map(({ eventType }) => eventType),
        ["SkillExecutedEvent"]
      )
    })
  )

  it.effect("reach real hooks and a real bus, and survive a failing handler", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const heard: Array<string> = []
        const hooks = yield* Hooks.make
        const bus = yield* LocalEventBus.make()
        yield* hooks.on(SkillExecutedHook, ({ skillName }) => {
          heard.push(`executed ${skillName}`)
          return Effect.fail("no")
        })
        yield* hooks.on(SkillExecutionFailedHook, ({ error }) => Effect.sync(() => heard.push(`failed ${error.tag}`)))
        yield* bus.on(SkillExecutedEvent, ({ skillName, success }) =>
          Effect.sync(() => heard.push(`event ${skillName} ${success}`))
        )
        const { executor } = yield* make([one, bad], { hooks, bus })
        yield* play(executor.execute({ name: "one", params: {} }))
        yield* play(executor.execute({ name: "bad", params: {} }))
        assert.deepStrictEqual(heard.toSorted(), [
          "event bad false",
          "event one true",
          "executed one",
          "failed SkillExecutionError"
        ])
      })
    )
  )

  it.effect("include the questions of a run among its events", () =>
    Effect.gen(function* () {
      const emitted: Array<string> = []
      const clock = yield* Effect.clock
      const run = Run.make({
        runId: RunId.make("run-7"),
        agent: "asker",
        clock,
        sink: { push: (event) => void emitted.push(event._tag), settle: () => undefined, live: false }
      })
      const skill = Skill.annotate(one, { requiresConfirmation: true })
      const { asked, executor } = yield* make([skill])
      yield* play(Effect.provideService(executor.execute({ name: "one", params: {} }), Run.Run, run))
      assert.deepStrictEqual(emitted, ["ApprovalRequested", "ApprovalResolved"])
      assert.deepStrictEqual([asked[0]?.runId, asked[0]?.rootRunId, asked[0]?.agent], ["run-7", "run-7", "asker"])
    })
  )
})

describe("metrics of skills", () => {
  const outcome = (skill: string, outcome: SkillMetrics.Outcome) =>
    Effect.map(
      Metric.value(
        Metric.counter(SkillMetrics.METRIC_SKILL_EXECUTIONS_TOTAL, { incremental: true }).pipe(
          Metric.tagged("skill", skill),
          Metric.tagged("outcome", outcome)
        )
      ),
      ({ count }) => count
    )
  const counted = (name: string, skill: string) =>
    Effect.map(
      Metric.value(Metric.counter(name, { incremental: true }).pipe(Metric.tagged("skill", skill))),
      ({ count }) => count
    )

  it.effect("count executions by outcome, retries, hits and misses", () =>
    Effect.gen(function* () {
      const name = "metered"
      const handlers: Record<string, Effect.Effect<number, unknown>> = {
        ok: Effect.succeed(1),
        fail: Effect.fail("no"),
        hang: Effect.never
      }
      let does = "ok"
      const skill = Skill.make(name, {
        description: "d",
        cacheable: true,
        maxRetries: 1,
        timeout: "1 second",
        permissions: ["p"],
        handler: () => Effect.suspend(() => handlers[does]!)
      })
      const { executor } = yield* make([skill], { cache: yield* SkillResultMemory.make() })
      for (const userId of [ann, ann, undefined]) yield* play(executor.execute({ name, params: {}, userId }))
      does = "fail"
      yield* executor.execute({ name: "nobody knows it", params: {} }).pipe(Effect.flip)
      const other = Skill.annotate(skill, { cacheable: false })
      yield* play(executor.run(other, {}, { userId: ann }))
      does = "hang"
      yield* play(executor.run(other, {}, { userId: ann }))
      const fiber = yield* Effect.fork(executor.run(other, {}, { userId: ann }))
      yield* TestClock.adjust(1)
      yield* Fiber.interrupt(fiber)
      for (const [kind, count] of [
        ["success", 1],
        ["cached", 1],
        ["denied", 1],
        ["failed", 1],
        ["timeout", 1],
        ["interrupted", 1],
        ["invalid", 0]
      ] as const) {
        assert.strictEqual(yield* outcome(name, kind), count, kind)
      }
      assert.isAtLeast(yield* outcome("unknown", "not_found"), 1)
      assert.strictEqual(yield* outcome("nobody knows it", "not_found"), 0)
      assert.strictEqual(yield* counted(SkillMetrics.METRIC_SKILL_RETRIES_TOTAL, name), 1)
      assert.strictEqual(yield* counted(SkillMetrics.METRIC_SKILL_CACHE_HITS, name), 1)
      assert.strictEqual(yield* counted(SkillMetrics.METRIC_SKILL_CACHE_MISSES, name), 1)
    })
  )

  it.effect("show how many wait for a place", () =>
    Effect.gen(function* () {
      const waiting = Effect.map(
        Metric.value(Metric.gauge(SkillMetrics.METRIC_SKILL_EXECUTIONS_WAITING)),
        ({ value }) => value
      )
      const { executor } = yield* make([], { maxConcurrent: 2 })
      const plain = Skill.annotate(one, { cacheable: false })
      const fibers = yield* Effect.forEach([1, 2, 3, 4, 5], () => Effect.fork(executor.run(plain, {})))
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* waiting, 3)
      yield* Fiber.interrupt(fibers[4]!)
      assert.strictEqual(yield* waiting, 2)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* waiting, 0)
      yield* Fiber.interruptAll(fibers)
      assert.strictEqual(yield* waiting, 0)
    })
  )

  it("count names separately up to a bound", () => {
    const all = new Set(
      Array.from({ length: SkillMetrics.maxNames + 10 }, (_, index) => SkillMetrics.forSkill(`s${index}`))
    )
    assert.isAtMost(all.size, SkillMetrics.maxNames + 1)
    assert.strictEqual(SkillMetrics.forSkill("yet another"), SkillMetrics.forSkill("and one more"))
    assert.strictEqual(SkillMetrics.forSkill(undefined), SkillMetrics.forSkill(undefined))
  })
})

describe("spans of skills", () => {
  /** Collects what ends. */
  const traced = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const spans: Array<{
        readonly name: string
        readonly attributes: Record<string, unknown>
        readonly parent: string
      }> = []
      const tracer: Tracer.Tracer = {
        [Symbol.for("effect/Tracer")]: Symbol.for("effect/Tracer"),
        context: (f: () => any) => f(),
        span: (
          name: string,
          parent: Option.Option<Tracer.AnySpan>,
          context: Context.Context<never>,
          _links: any,
          startTime: bigint
        ) => {
          const attributes: Record<string, unknown> = {}
          return {
            _tag: "Span",
            name,
            spanId: name,
            traceId: "t",
            parent,
            context,
            status: { _tag: "Started", startTime },
            attributes: new Map(),
            links: [],
            sampled: true,
            kind: "internal",
            attribute: (key: string, value: unknown) => {
              attributes[key] = value
            },
            event: () => {},
            addLinks: () => {},
            end: () => {
              spans.push({
                name,
                attributes,
                parent: Option.match(parent, { onNone: () => "", onSome: (span) => span.spanId })
              })
            }
          }
        }
      } as never
      const exit = yield* Effect.exit(Effect.withTracer(effect, tracer))
      return { exit, spans }
    })

  it.effect("name the skill, the attempts and the outcome", () =>
    Effect.gen(function* () {
      const { executor } = yield* make([one, bad], { cache: yield* SkillResultMemory.make() })
      const { spans } = yield* traced(
        Effect.all(
          [
            play(executor.execute({ name: "one", params: {} })),
            play(executor.execute({ name: "one", params: {} })),
            play(executor.execute({ name: "bad", params: {} }))
          ],
          { discard: true }
        )
      )
      assert.deepStrictEqual(
        spans.map(({ attributes, name }) => [name, attributes]),
        [
          [
            "skill.execute",
            { "skill.name": "one", "skill.category": "counting", "skill.attempt": 1, "skill.cached": false }
          ],
          [
            "skill.execute",
            { "skill.name": "one", "skill.category": "counting", "skill.attempt": 0, "skill.cached": true }
          ],
          [
            "skill.execute",
            {
              "skill.name": "bad",
              "skill.category": "general",
              "skill.attempt": 2,
              "skill.cached": false,
              "error.type": "SkillExecutionError"
            }
          ]
        ]
      )
    })
  )

  it.effect("contain those of the handler, and are absent in a run without tracing", () =>
    Effect.gen(function* () {
      const inner = Skill.make("inner", { description: "d", handler: () => Effect.withSpan(Effect.void, "work") })
      const { executor } = yield* make([inner])
      const { spans } = yield* traced(executor.run(inner, {}))
      assert.deepStrictEqual(
        spans.map(({ name, parent }) => [name, parent]),
        [
          ["work", "skill.execute"],
          ["skill.execute", ""]
        ]
      )
      const run = Run.make({
        runId: RunId.make("r"),
        agent: "a",
        clock: yield* Effect.clock,
        sink: { push: () => {}, settle: () => undefined, live: false },
        telemetry: { tracing: false, metrics: false, content: false }
      })
      const quiet = yield* traced(Effect.provideService(executor.run(inner, {}), Run.Run, run))
      assert(Exit.isSuccess(quiet.exit))
      assert.deepStrictEqual(
        quiet.spans.map(({ name }) => name),
        ["work"]
      )
    })
  )
})

describe("SkillExecutor.layer", () => {
  it.effect("takes its services from layers", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(
        Effect.flatMap(SkillExecutor.SkillExecutor, (executor) => executor.execute({ name: "one", params: {} }))
      )
      yield* TestClock.adjust("1 second")
      const exit = yield* Fiber.await(fiber)
      assert(Exit.isFailure(exit))
      assert.strictEqual(Option.getOrThrow(Cause.failureOption(exit.cause))._tag, "SkillTimeoutError")
    }).pipe(
      Effect.provide(
        DefaultSkillExecutor.layer({ timeout: "1 second" }).pipe(
          Layer.provide(
            Layer.mergeAll(
              Layer.orDie(DefaultSkillRegistry.layer(one)),
              PermissionChecker.layerNoop,
              SkillResultCache.layerNoop,
              ApprovalGate.layerDeny
            )
          )
        )
      )
    )
  )
})
