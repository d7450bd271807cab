import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricLabel from "effect/MetricLabel"
import type * as MetricState from "effect/MetricState"
import * as TestClock from "effect/TestClock"
import * as DefaultGuardPipeline from "../../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as Guard from "../../../src/guard/pipeline/Guard.js"
import * as GuardMetrics from "../../../src/guard/pipeline/GuardMetrics.js"
import * as WindowGuard from "../../../src/guard/pipeline/WindowGuard.js"
import * as ToldRun from "../../support/ToldRun.js"

const stages = ["input", "output", "toolInput", "toolOutput"] as const

const word = (name: string, wanted: string, action: Guard.Finding["action"], replacement?: string) =>
  WindowGuard.make({
    name,
    stages,
    window: {
      reach: wanted.length,
      find: (text) => {
        const found: Array<Guard.Finding> = []
        for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
          found.push({ start: at, end: at + wanted.length, label: name.toUpperCase(), action, replacement })
        }
        return found
      }
    }
  })

/** Says what came out, not where. */
const opaque = (name: string, change: (text: string) => string, seen: Array<string> = []) =>
  Guard.make({
    name,
    stages,
    check: (text) =>
      Effect.sync(() => {
        seen.push(text)
        const changed = change(text)
        return changed === text ? Guard.pass(name) : Guard.redact(name, changed)
      })
  })

const count = (name: string, labels: Record<string, string>) =>
  Effect.map(
    Metric.value(
      Metric.taggedWithLabels(
        Metric.counter(name, { incremental: true }),
        Object.entries(labels).map(([key, value]) => MetricLabel.make(key, value))
      )
    ),
    (state) => state.count
  )

const parallel = (...guards: ReadonlyArray<Guard.Any>) => DefaultGuardPipeline.fromGuards(guards, { parallel: true })

describe("guards in parallel", () => {
  it.effect("all check the original text, and their redactions are combined", () =>
    Effect.gen(function* () {
      const pipeline = yield* parallel(
        word("one", "abc", "redact", "-"),
        word("two", "cd", "redact", "+"),
        word("three", "xyz", "redact", "")
      )
      const result = yield* pipeline.checkInput("abcd abc xyz cd", {})
      assert.strictEqual(result.finalContent, "- -  +")
      assert.strictEqual(result.action, "redact")
      assert.deepStrictEqual(
        result.results.map(({ guardName }) => guardName),
        ["one", "two", "three"]
      )
    })
  )

  it.effect("run concurrently", () =>
    Effect.gen(function* () {
      const waiting = (name: string, own: Deferred.Deferred<void>, other: Deferred.Deferred<void>) =>
        Guard.make({
          name,
          stages,
          check: () =>
            Effect.as(Effect.zipRight(Deferred.succeed(own, undefined), Deferred.await(other)), Guard.pass(name))
        })
      const [a, b] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const pipeline = yield* parallel(waiting("a", a, b), waiting("b", b, a))
      assert.isTrue((yield* pipeline.checkInput("text", {})).passed)
    })
  )

  it.effect("are interrupted by the first block", () =>
    Effect.gen(function* () {
      let stopped = false
      const slow = Guard.make({
        name: "slow",
        stages,
        check: () =>
          Effect.onInterrupt(Effect.never, () =>
            Effect.sync(() => {
              stopped = true
            })
          )
      })
      const pipeline = yield* parallel(word("one", "abc", "redact"), slow, word("bad", "bad", "block"))
      const result = yield* pipeline.checkOutput("abc bad", {})
      assert.isTrue(result.blocked)
      assert.strictEqual(result.blockingResult?.guardName, "bad")
      assert.isUndefined(result.finalContent)
      assert.isTrue(stopped)
      assert.deepStrictEqual(
        result.results.map(({ guardName }) => guardName),
        ["one", "bad"]
      )
    })
  )

  it.effect("withhold the text and stop when one of them fails", () =>
    Effect.gen(function* () {
      let stopped = false
      const slow = Guard.make({
        name: "slow",
        stages,
        check: () =>
          Effect.onInterrupt(Effect.never, () =>
            Effect.sync(() => {
              stopped = true
            })
          )
      })
      const broken = Guard.make({ name: "broken", stages, check: () => Effect.fail("offline" as const) })
      const error = yield* Effect.flip((yield* parallel(slow, broken)).checkInput("text", {}))
      assert.strictEqual(error.guard, "broken")
      assert.isTrue(stopped)
    })
  )

  it.effect("check the text of a guard that changed it without spans again", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const pipeline = yield* parallel(
        word("one", "abc", "redact", "-"),
        opaque("upper", (text) => text.replace("secret", "SECRET")),
        opaque("tail", (text) => text.replace("tail", "end"), seen)
      )
      assert.strictEqual((yield* pipeline.checkInput("abc secret tail", {})).finalContent, "- SECRET end")
      assert.deepStrictEqual(seen, ["abc secret tail", "- SECRET tail"])
    })
  )

  it.effect("can block the text that others left", () =>
    Effect.gen(function* () {
      const strict = Guard.make({
        name: "strict",
        stages,
        check: (text) =>
          Effect.succeed(text.includes("SECRET") ? Guard.block("strict") : Guard.redact("strict", `${text}!`))
      })
      const pipeline = yield* parallel(
        opaque("upper", (text) => text.replace("secret", "SECRET")),
        strict
      )
      const result = yield* pipeline.checkInput("secret", {})
      assert.strictEqual(result.blockingResult?.guardName, "strict")
    })
  )

  it.effect("ignore spans that do not cover all changes", () =>
    Effect.gen(function* () {
      const liar = Guard.make({
        name: "liar",
        stages,
        check: (text) =>
          Effect.succeed(
            Guard.redact("liar", text.replaceAll("b", ""), { spans: [{ start: 0, end: 1, replacement: "" }] })
          )
      })
      const pipeline = yield* parallel(word("one", "abc", "redact", "-"), liar)
      assert.strictEqual((yield* pipeline.checkInput("b b x", {})).finalContent, "  x")
    })
  )
})

describe("what a check reports", () => {
  const guards = [
    word("calm", "zzz", "block"),
    word("odd", "odd", "warn"),
    word("bad", "bad", "block"),
    word("late", "x", "warn")
  ]

  for (const options of [{ parallel: false }, { parallel: true }]) {
    it.effect(`calls hooks and publishes an event once per guard (parallel: ${options.parallel})`, () =>
      Effect.gen(function* () {
        const { calls, events, within } = ToldRun.make()
        const pipeline = yield* DefaultGuardPipeline.fromGuards(guards.slice(0, 3), options)
        yield* within(pipeline.checkInput("an odd text", {}))
        const base = { runId: "run-1", stage: "input", blocked: false }
        assert.deepStrictEqual(calls, [
          ["GuardInputChecked", { ...base, guardName: "calm", action: "pass" }],
          ["GuardInputChecked", { ...base, guardName: "odd", action: "warn" }],
          ["GuardInputChecked", { ...base, guardName: "bad", action: "pass" }],
          ["GuardPipelineCompleted", base]
        ])
        assert.deepStrictEqual(
          events.map(({ aggregateId, eventType, fields }) => [eventType, aggregateId, fields]),
          [["InputGuardTriggeredEvent", "run-1", { guardName: "odd", triggered: true, action: "warn", stage: "input" }]]
        )
      })
    )
  }

  it.effect("does not report guards after a block", () =>
    Effect.gen(function* () {
      const { calls, events, within } = ToldRun.make()
      const pipeline = yield* DefaultGuardPipeline.fromGuards(guards)
      yield* within(pipeline.checkToolOutput("odd and bad", { toolName: "t" }))
      assert.deepStrictEqual(
        calls.map(([place, { blocked, guardName }]) => [place, guardName, blocked]),
        [
          ["GuardOutputChecked", "calm", false],
          ["GuardOutputChecked", "odd", false],
          ["GuardOutputChecked", "bad", true],
          ["GuardPipelineCompleted", undefined, true]
        ]
      )
      assert.deepStrictEqual(
        events.map(({ eventType, fields }) => [eventType, fields["guardName"], fields["action"], fields["stage"]]),
        [
          ["OutputGuardTriggeredEvent", "odd", "warn", "toolOutput"],
          ["OutputGuardTriggeredEvent", "bad", "block", "toolOutput"]
        ]
      )
    })
  )

  it.effect("reports a guard failure as a withheld text", () =>
    Effect.gen(function* () {
      const { calls, events, spans, within } = ToldRun.make()
      const broken = Guard.make({ name: "broken-1", stages, check: () => Effect.fail("offline" as const) })
      yield* Effect.flip(within((yield* DefaultGuardPipeline.fromGuards([broken])).checkOutput("text", {})))
      assert.deepStrictEqual(calls, [
        ["GuardPipelineCompleted", { runId: "run-1", stage: "output", blocked: true, failedGuard: "broken-1" }]
      ])
      assert.deepStrictEqual(events, [])
      assert.strictEqual(spans[0]?.attributes.get("guard.action"), "error")
      const labels = { guard: "broken-1", stage: "output", action: "error" }
      assert.strictEqual(yield* count(GuardMetrics.METRIC_GUARD_CHECKS_TOTAL, labels), 1)
    })
  )

  it.effect("names guards and outcome in one span per check, without the text", () =>
    Effect.gen(function* () {
      const { spans, within } = ToldRun.make()
      const pipeline = yield* DefaultGuardPipeline.fromGuards(guards)
      yield* within(pipeline.checkInput("odd", {}))
      yield* within((yield* DefaultGuardPipeline.fromGuards([])).checkInput("odd", {}))
      assert.deepStrictEqual(
        spans.map(({ attributes, name }) => [name, Object.fromEntries(attributes)]),
        [
          [
            "guard.check",
            { "guard.stage": "input", "guard.names": ["calm", "odd", "bad", "late"], "guard.action": "warn" }
          ]
        ]
      )
      const off = ToldRun.make({ tracing: false })
      yield* off.within(pipeline.checkInput("odd", {}))
      assert.deepStrictEqual(off.spans, [])
    })
  )

  it.effect("measures checks, violations and durations when metrics are on", () =>
    Effect.gen(function* () {
      const slow = Guard.make({
        name: "measured",
        stages,
        check: (text) =>
          Effect.as(Effect.sleep("5 millis"), text === "bad" ? Guard.block("measured") : Guard.pass("measured"))
      })
      const pipeline = yield* DefaultGuardPipeline.fromGuards([slow])
      const labels = (action: string) => ({ guard: "measured", stage: "input", action })
      for (const [metrics, text] of [
        [true, "fine"],
        [true, "bad"],
        [true, "bad"],
        [false, "bad"]
      ] as const) {
        const { within } = ToldRun.make({ metrics })
        const fiber = yield* Effect.fork(within(pipeline.checkInput(text, {})))
        yield* TestClock.adjust("5 millis")
        yield* fiber
      }
      assert.strictEqual(yield* count(GuardMetrics.METRIC_GUARD_CHECKS_TOTAL, labels("pass")), 1)
      assert.strictEqual(yield* count(GuardMetrics.METRIC_GUARD_CHECKS_TOTAL, labels("block")), 2)
      assert.strictEqual(yield* count(GuardMetrics.METRIC_GUARD_VIOLATIONS_TOTAL, labels("block")), 2)
      assert.strictEqual(yield* count(GuardMetrics.METRIC_GUARD_VIOLATIONS_TOTAL, labels("pass")), 0)
      const durations = (yield* Metric.snapshot).filter(
        ({ metricKey }) =>
          metricKey.name === GuardMetrics.METRIC_GUARD_CHECK_DURATION_MS &&
          metricKey.tags.every(({ key, value }) =>
            Object.entries(labels("block")).some(([k, v]) => k === key && v === value)
          )
      )
      assert.lengthOf(durations, 1)
      const state = durations[0]!.metricState as MetricState.MetricState.Histogram
      assert.deepStrictEqual([state.count, state.sum], [2, 10])
    })
  )

  it.effect("reports and counts nothing outside of a run", () =>
    Effect.gen(function* () {
      const pipeline = yield* DefaultGuardPipeline.fromGuards([word("alone", "bad", "block")])
      assert.isTrue((yield* pipeline.checkInput("bad", {})).blocked)
      const labels = { guard: "alone", stage: "input", action: "block" }
      assert.strictEqual(yield* count(GuardMetrics.METRIC_GUARD_CHECKS_TOTAL, labels), 0)
    })
  )
})

describe("what a window reports", () => {
  it.effect(
    "counts each finding, publishes one event per guard and action, and calls hooks when the text has ended",
    () =>
      Effect.gen(function* () {
        const { calls, events, run } = ToldRun.make()
        const pipeline = yield* DefaultGuardPipeline.fromGuards([
          word("w-odd", "odd", "warn"),
          word("w-x", "x", "redact")
        ])
        const window = pipeline.openOutput!({}, run)
        for (const text of ["odd ", "text ", "odd ", "odd "]) window.push(text)
        yield* window.report
        assert.deepStrictEqual(calls, [])
        window.end()
        yield* window.report
        yield* window.report
        assert.deepStrictEqual(
          calls.map(([place, { action, blocked, guardName }]) => [place, guardName, action, blocked]),
          [
            ["GuardOutputChecked", "w-odd", "warn", false],
            ["GuardOutputChecked", "w-x", "redact", false],
            ["GuardPipelineCompleted", undefined, undefined, false]
          ]
        )
        assert.deepStrictEqual(
          events.map(({ eventType, fields }) => [eventType, fields["guardName"], fields["action"]]),
          [
            ["OutputGuardTriggeredEvent", "w-odd", "warn"],
            ["OutputGuardTriggeredEvent", "w-x", "redact"]
          ]
        )
        const labels = { guard: "w-odd", stage: "output", action: "warn" }
        assert.strictEqual(yield* count(GuardMetrics.METRIC_GUARD_CHECKS_TOTAL, labels), 1)
        assert.isAtLeast(yield* count(GuardMetrics.METRIC_GUARD_VIOLATIONS_TOTAL, labels), 2)
      })
  )

  it.effect("reports a block at once as the end of the check", () =>
    Effect.gen(function* () {
      const { calls, events, run } = ToldRun.make({ metrics: false })
      const pipeline = yield* DefaultGuardPipeline.fromGuards([word("w-bad", "bad", "block")])
      const window = pipeline.openOutput!({}, run)
      window.push("this is bad and goes on")
      assert.deepStrictEqual(
        events.map(({ fields }) => fields),
        [{ guardName: "w-bad", triggered: true, action: "block", stage: "output" }]
      )
      window.push("more")
      window.end()
      yield* window.report
      assert.deepStrictEqual(
        calls.map(([place, { blocked }]) => [place, blocked]),
        [
          ["GuardOutputChecked", true],
          ["GuardPipelineCompleted", true]
        ]
      )
      assert.lengthOf(events, 1)
      const labels = { guard: "w-bad", stage: "output", action: "block" }
      assert.strictEqual(yield* count(GuardMetrics.METRIC_GUARD_CHECKS_TOTAL, labels), 0)
    })
  )
})
