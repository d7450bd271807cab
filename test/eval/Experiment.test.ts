import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
import * as TestClock from "effect/TestClock"
import * as Dataset from "../../src/eval/dataset/Dataset.js"
import * as Experiment from "../../src/eval/Experiment.js"
import * as ExperimentStore from "../../src/eval/record/ExperimentStore.js"
import * as InMemoryExperimentStore from "../../src/eval/record/InMemoryExperimentStore.js"
import * as Scorer from "../../src/eval/scorer/Scorer.js"
import * as Task from "../../src/eval/Task.js"

class Busy extends Data.TaggedError("Busy")<{ readonly message: string }> {
  readonly isRetryable = true
}

const numbers = (count: number) =>
  Dataset.make(
    "numbers",
    Array.from({ length: count }, (_, index) => ({ input: index, expected: index * 2 }))
  )

const exact = Scorer.make(
  "exact",
  ({ expected, output }: Scorer.Subject<number, unknown, number>) => output === expected
)
const doubles = Task.make("doubles", (input: number) => Effect.succeed(input * 2))
const adds = Task.make("adds", (input: number) => Effect.succeed(input + 2))

/** A task that costs, and counts its calls. */
const paid = (name: string, costUsd: number, calls: Array<number> = []): Task.Task<number, number> => ({
  name,
  version: "",
  run: (input) =>
    Effect.sync(() => {
      calls.push(input)
      return { _tag: "Answered", output: input, costUsd, usage: { totalTokens: 10 }, modelCalls: 2 }
    })
})

const experiment = <R = never>(
  variants: ReadonlyArray<Task.Task<number, unknown, R>>,
  options: {
    readonly cases?: number
    readonly repetitions?: number
    readonly scorers?: ReadonlyArray<Scorer.Scorer<number, unknown, number>>
  } = {}
) =>
  Effect.flatMap(numbers(options.cases ?? 3), (dataset) =>
    Experiment.make("sums", {
      dataset,
      variants,
      scorers: options.scorers ?? [exact],
      ...(options.repetitions === undefined ? {} : { repetitions: options.repetitions })
    })
  )

const valuesOf = ({ finished }: Experiment.Results) =>
  Object.fromEntries(
    finished.map(({ result, trial }) => [
      `${trial.variant} ${trial.caseId} ${trial.repetition}`,
      result.scores.map(({ value }) => value)
    ])
  )

const withStore = Effect.provide(InMemoryExperimentStore.layer)

describe("Experiment", () => {
  it.effect("scores each case by each variant, as often as it says", () =>
    Effect.gen(function* () {
      const results = yield* Experiment.run(yield* experiment([doubles, adds], { repetitions: 2 }), { id: "e" })
      assert.deepStrictEqual(valuesOf(results), {
        "doubles 1 1": [1],
        "adds 1 1": [0],
        "doubles 2 1": [1],
        "adds 2 1": [0],
        "doubles 3 1": [1],
        "adds 3 1": [1],
        "doubles 1 2": [1],
        "adds 1 2": [0],
        "doubles 2 2": [1],
        "adds 2 2": [0],
        "doubles 3 2": [1],
        "adds 3 2": [1]
      })
      assert.deepStrictEqual(
        [results.missing, results.attempts, results.open, results.isOverBudget],
        [0, 12, [], false]
      )
      assert.deepStrictEqual(results.header.variants, ["doubles", "adds"])
      assert.deepStrictEqual(yield* Experiment.load("e"), results)
      assert.strictEqual((yield* Effect.flip(Experiment.load("none"))).reason, "unknown")
    }).pipe(withStore)
  )

  it.effect("goes on where it was, and refuses another experiment with its id", () =>
    Effect.gen(function* () {
      const calls: Array<number> = []
      const gate = yield* Deferred.make<void>()
      const slow: Task.Task<number, unknown> = {
        ...paid("slow", 0.25, calls),
        run: (input) =>
          Effect.zipLeft(paid("slow", 0.25, calls).run(input), input < 2 ? Effect.void : Deferred.await(gate))
      }
      const made = yield* experiment([slow], { cases: 5 })
      const told = yield* Ref.make(0)
      const fiber = yield* Effect.fork(
        Experiment.run(made, { id: "e", concurrency: 2, onResult: () => Ref.update(told, (count) => count + 1) })
      )
      yield* Effect.repeat(Effect.yieldNow(), { until: () => calls.length === 4 })
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* Ref.get(told), 2)
      const half = yield* Experiment.load("e")
      assert.deepStrictEqual([half.finished.length, half.missing, half.attempts, half.costUsd], [2, 3, 4, 0.5])
      yield* Deferred.succeed(gate, undefined)
      const whole = yield* Experiment.run(made, { id: "e", onResult: () => Ref.update(told, (count) => count + 1) })
      assert.deepStrictEqual([whole.finished.length, whole.missing, whole.attempts, whole.costUsd], [5, 0, 7, 1.25])
      assert.deepStrictEqual([yield* Ref.get(told), calls.length], [5, 7])
      yield* Experiment.run(made, { id: "e" })
      assert.strictEqual(calls.length, 7)
      for (const other of [
        yield* experiment([slow], { cases: 6 }),
        yield* experiment([Task.named(slow, "other")], { cases: 5 }),
        yield* experiment([{ ...slow, version: "2" }], { cases: 5 }),
        yield* experiment([slow], { cases: 5, repetitions: 2 }),
        yield* experiment([slow], { cases: 5, scorers: [{ ...exact, name: "other" }] })
      ]) {
        const error = yield* Effect.flip(Experiment.run(other, { id: "e" }))
        assert.strictEqual(error._tag === "ExperimentStoreError" && error.reason, "conflict")
      }
    }).pipe(withStore)
  )

  it.effect("begins no trial past its budget, and ends those that began", () =>
    Effect.gen(function* () {
      const made = yield* experiment([paid("a", 0.25)], { cases: 10 })
      const results = yield* Experiment.run(made, { id: "e", maxCostUsd: 1, concurrency: 1 })
      assert.deepStrictEqual([results.finished.length, results.costUsd, results.isOverBudget], [4, 1, true])
      assert.deepStrictEqual([results.missing, results.usage], [6, { totalTokens: 40 }])
      const more = yield* Experiment.run(made, { id: "e", maxCostUsd: 1.5, concurrency: 1 })
      assert.deepStrictEqual([more.finished.length, more.isOverBudget], [6, true])
      const all = yield* Experiment.run(made, { id: "e", maxCostUsd: 100 })
      assert.deepStrictEqual([all.finished.length, all.isOverBudget], [10, false])
      const judge = Scorer.make("judge", (): Scorer.Score => ({ value: 1, costUsd: 0.5, usage: { totalTokens: 1 } }))
      const judged = yield* experiment([paid("a", 0)], { cases: 10, scorers: [judge] })
      const scored = yield* Experiment.run(judged, { id: "j", maxCostUsd: 1, concurrency: 1 })
      assert.deepStrictEqual([scored.finished.length, scored.costUsd], [2, 1])
      assert.deepStrictEqual(scored.finished[0]?.result.scoring, { costUsd: 0.5, usage: { totalTokens: 1 } })
    }).pipe(withStore)
  )

  it.effect("counts what trials cost that it leaves open", () =>
    Effect.gen(function* () {
      const busy: Task.Task<number, number> = {
        name: "busy",
        version: "",
        run: () =>
          Effect.succeed({ _tag: "Failed", cause: Cause.fail(new Busy({ message: "busy" })), costUsd: 0.5, usage: {} })
      }
      const made = yield* experiment([busy], { cases: 10 })
      const options = { id: "e", maxCostUsd: 1, retries: 0, concurrency: 1 }
      const results = yield* Experiment.run(made, options)
      assert.deepStrictEqual([results.attempts, results.open.length, results.isOverBudget], [2, 2, true])
      assert.deepStrictEqual([results.missing, results.costUsd], [10, 0])
    }).pipe(withStore)
  )

  it.effect("tries again what may pass, and leaves it open if it does not", () =>
    Effect.gen(function* () {
      const failures = new Map([
        [0, 1],
        [1, 9]
      ])
      const made = yield* experiment([
        Task.make("flaky", (input: number) =>
          Effect.suspend(() => {
            const left = failures.get(input) ?? 0
            failures.set(input, left - 1)
            return left > 0 ? Effect.fail(new Busy({ message: "busy" })) : Effect.succeed(input * 2)
          })
        )
      ])
      const fiber = yield* Effect.fork(Experiment.run(made, { id: "e", retries: 3, concurrency: 3 }))
      yield* TestClock.adjust("999 millis")
      assert.strictEqual((yield* Experiment.load("e")).attempts, 3)
      yield* TestClock.adjust("7 seconds")
      const results = yield* Fiber.join(fiber)
      assert.deepStrictEqual([results.finished.length, results.missing, results.attempts], [2, 1, 3 + 1 + 3])
      assert.deepStrictEqual(
        results.open.map(({ error, trial }) => [trial.caseId, error.tag, error.message]),
        [["2", "Busy", "busy"]]
      )
      failures.clear()
      const again = yield* Experiment.run(made, { id: "e" })
      assert.deepStrictEqual([again.finished.length, again.missing, again.open], [3, 0, []])
    }).pipe(withStore)
  )

  it.effect("gives no point to a task that failed or took too long", () =>
    Effect.gen(function* () {
      const asked: Array<unknown> = []
      const counting = Scorer.make("counting", ({ input }) => {
        asked.push(input)
        return true
      })
      const bad = Task.make("bad", (input: number) =>
        input === 0
          ? Effect.die(new Error("token sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaa"))
          : input === 1
            ? Effect.never
            : Effect.succeed(1)
      )
      const made = yield* experiment([bad], { scorers: [exact, counting] })
      const fiber = yield* Effect.fork(Experiment.run(made, { id: "e", timeout: "1 minute" }))
      yield* TestClock.adjust("1 minute")
      const { finished, missing } = yield* Fiber.join(fiber)
      assert.strictEqual(missing, 0)
      const results = Object.fromEntries(finished.map(({ result, trial }) => [trial.caseId, result]))
      assert.deepStrictEqual(results["1"]?.scores, [
        { scorer: "exact", value: 0 },
        { scorer: "counting", value: 0 }
      ])
      assert.notInclude(results["1"]?.error?.message ?? "", "sk-ant")
      assert.strictEqual(results["2"]?.error?.tag, "TimeoutException")
      assert.strictEqual(results["2"]?.durationMs, 60_000)
      assert.deepStrictEqual(results["3"]?.scores, [
        { scorer: "exact", value: 0 },
        { scorer: "counting", value: 1 }
      ])
      assert.deepStrictEqual(asked, [2])
    }).pipe(withStore)
  )

  it.effect("keeps the error of a scorer beside the scores of others", () =>
    Effect.gen(function* () {
      const scorers = [
        Scorer.make("throws", () => {
          throw new Error("no verdict")
        }),
        { name: "dies", score: () => Effect.die(new Error("bug")) },
        exact
      ]
      const { finished } = yield* Experiment.run(yield* experiment([doubles], { cases: 1, scorers }), { id: "e" })
      const scores = finished[0]?.result.scores ?? []
      assert.deepStrictEqual(
        scores.map(({ error, scorer, value }) => [scorer, value, error?.tag]),
        [
          ["throws", undefined, "ScorerError"],
          ["dies", undefined, "Error"],
          ["exact", 1, undefined]
        ]
      )
    }).pipe(withStore)
  )

  it.effect("keeps so much of an output, and any output", () =>
    Effect.gen(function* () {
      const cyclic: Record<string, unknown> = {}
      cyclic.self = cyclic
      const outputs: ReadonlyArray<unknown> = [
        "x".repeat(100),
        { a: "y".repeat(100) },
        cyclic,
        undefined,
        5n,
        "😀".repeat(30)
      ]
      const made = yield* experiment([Task.make("t", (input: number) => Effect.succeed(outputs[input]))], { cases: 6 })
      const { finished } = yield* Experiment.run(made, { id: "e", keptOutput: 51, concurrency: 1 })
      assert.deepStrictEqual(
        finished.map(({ result: { isCut, output } }) => [output, isCut]),
        [
          ["x".repeat(51), true],
          [`{"a":"${"y".repeat(45)}`, true],
          ["[object Object]", true],
          [undefined, undefined],
          ["5", true],
          ["😀".repeat(25), true]
        ]
      )
      const whole = yield* Experiment.run(made, { id: "f" })
      assert.deepStrictEqual(whole.finished[1]?.result.output, { a: "y".repeat(100) })
    }).pipe(withStore)
  )

  it.effect("runs so many trials at once, and begins so many a minute", () =>
    Effect.gen(function* () {
      let running = 0
      let most = 0
      const task = Task.make("t", () =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            most = Math.max(most, ++running)
          }),
          () => Effect.sleep("1 second"),
          () => Effect.sync(() => running--)
        )
      )
      const made = yield* experiment([task], { cases: 30 })
      const wide = yield* Effect.fork(Experiment.run(made, { id: "wide", concurrency: 7 }))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(wide)).missing, 0)
      assert.strictEqual(most, 7)
      const paced = yield* Effect.fork(Experiment.run(made, { id: "paced", concurrency: 30, perMinute: 10 }))
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* Experiment.load("paced")).finished.length, 10)
      yield* TestClock.adjust("40 seconds")
      assert.strictEqual((yield* Experiment.load("paced")).finished.length, 20)
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual((yield* Fiber.join(paced)).missing, 0)
    }).pipe(withStore)
  )

  it.effect("keeps labels, and times by the clock", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(5000)
      const { header } = yield* Experiment.run(yield* experiment([doubles]), { id: "e", labels: { commit: "abc" } })
      assert.deepStrictEqual([header.labels, header.createdAt, header.name], [{ commit: "abc" }, 5000, "sums"])
      const page = yield* Effect.flatMap(ExperimentStore.ExperimentStore, (store) => store.list())
      assert.deepStrictEqual(page.experiments, [header])
    }).pipe(withStore)
  )

  it.effect("refuses what cannot be an experiment, and what no run can be", () =>
    Effect.gen(function* () {
      for (const [options, message] of [
        [{ variants: [doubles], cases: 0 }, "has no case"],
        [{ variants: [] }, "has no variant"],
        [{ variants: [doubles], scorers: [] }, "has no scorer"],
        [{ variants: [doubles, doubles] }, 'two variants named "doubles"'],
        [{ variants: [doubles], scorers: [exact, exact] }, 'two scorers named "exact"'],
        [{ variants: [doubles], repetitions: 0 }, "has 0 repetitions"],
        [{ variants: [doubles], repetitions: 1001 }, "has 1001 repetitions"],
        [{ variants: [doubles], repetitions: Number.NaN }, "has NaN repetitions"]
      ] as const) {
        const { variants, ...others } = options as { readonly variants: ReadonlyArray<typeof doubles> }
        const error = yield* Effect.flip(experiment(variants, others))
        assert.strictEqual(error._tag, "ExperimentError")
        assert.include(error.message, message)
        assert.isNotEmpty(error.hint)
      }
      const made = yield* experiment([doubles])
      for (const [options, message] of [
        [{ id: "" }, "an id that is not valid"],
        [{ id: "x".repeat(257) }, "an id that is not valid"],
        [{ concurrency: 0 }, "`concurrency` 0"],
        [{ concurrency: 1001 }, "`concurrency` 1001"],
        [{ perMinute: 0.5 }, "`perMinute` 0.5"],
        [{ retries: -1 }, "`retries` -1"],
        [{ retries: 11 }, "`retries` 11"],
        [{ keptOutput: Number.NaN }, "`keptOutput` NaN"],
        [{ maxCostUsd: Number.NaN }, "`maxCostUsd` NaN"],
        [{ maxCostUsd: -1 }, "`maxCostUsd` -1"]
      ] as const) {
        const error = yield* Effect.flip(Experiment.run(made, { ...{ id: "e" }, ...options }))
        assert.strictEqual(error._tag, "ExperimentError")
        assert.include(error.message, message)
      }
    }).pipe(withStore)
  )

  it.effect("tells the span of a trial of its scores", () =>
    Effect.gen(function* () {
      const events: Array<readonly [string, unknown]> = []
      const spied = Scorer.makeEffect("spied", () =>
        Effect.map(Effect.orDie(Effect.currentSpan), (span) => {
          const { event } = span
          span.event = (name, at, attributes) => {
            events.push([name, attributes])
            event.call(span, name, at, attributes)
          }
          return { value: 0.5, reason: "half" }
        })
      )
      yield* Experiment.run(yield* experiment([doubles], { cases: 1, scorers: [spied] }), { id: "e" })
      assert.deepStrictEqual(events, [
        [
          "gen_ai.evaluation.result",
          {
            "gen_ai.evaluation.name": "spied",
            "gen_ai.evaluation.score.value": 0.5,
            "gen_ai.evaluation.explanation": "half"
          }
        ]
      ])
    }).pipe(withStore)
  )
})
