import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { OPEN } from "../../../src/agent/record/RunRecord.js"
import * as RunStore from "../../../src/agent/record/RunStore.js"
import type { UserId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as Experiment from "../../../src/eval/Experiment.js"
import * as OnlineScoring from "../../../src/eval/online/OnlineScoring.js"
import * as ExperimentStore from "../../../src/eval/record/ExperimentStore.js"
import * as ExperimentStoreError from "../../../src/eval/record/ExperimentStoreError.js"
import * as InMemoryExperimentStore from "../../../src/eval/record/InMemoryExperimentStore.js"
import * as Scorer from "../../../src/eval/scorer/Scorer.js"
import * as RunLog from "../../../src/observability/RunLog.js"
import * as RecordedRuns from "../../support/RecordedRuns.js"

const given = Effect.provide(Layer.merge(RecordedRuns.layer, InMemoryExperimentStore.layer))

const short = Scorer.make("short", ({ output }: Scorer.Subject<string, string, undefined>) => output.length < 10)

/** A scorer that costs, and tells which inputs it saw. */
const paid = (seen: Array<string>, costUsd = 0.25) =>
  Scorer.make("paid", ({ input }: Scorer.Subject<string, unknown, undefined>) => {
    seen.push(input)
    return { value: 1, reason: `of ${input}`, costUsd, usage: { totalTokens: 3 } }
  })

const options = { id: "online", agents: ["helper"], scorers: [short], rate: 1 }

const scores = Effect.map(Experiment.load("online"), ({ finished }) =>
  Object.fromEntries(finished.map(({ result, trial }) => [trial.caseId, result.scores.map(({ value }) => value)]))
)

/** Runs with inputs that are their ids. */
const add = (...ids: ReadonlyArray<string>) =>
  Effect.forEach(ids, (runId) =>
    Effect.flatMap(TestClock.currentTimeMillis, (createdAt) => RecordedRuns.add({ runId, input: runId, createdAt }))
  )

const minutes = (count: number) => TestClock.adjust(`${count} minutes`)

describe("OnlineScoring", () => {
  it.effect("scores runs of its agents as they end, once each", () =>
    Effect.gen(function* () {
      yield* RecordedRuns.add({ runId: "1", answer: "yes" })
      yield* RecordedRuns.add({ runId: "2", answer: "a long answer" })
      yield* RecordedRuns.add({ runId: "3", agent: "other" })
      yield* RecordedRuns.add({ runId: "4", state: "failed" })
      yield* RecordedRuns.add({ runId: "5", state: "interrupted" })
      yield* RecordedRuns.add({ runId: "6", state: "running" })
      yield* RecordedRuns.add({ runId: "7", logged: false })
      const fiber = yield* Effect.fork(OnlineScoring.run({ ...options, agents: ["helper", "clerk"] }))
      yield* minutes(1)
      assert.deepStrictEqual(yield* scores, { 1: [1], 2: [0], 4: [0] })
      yield* RecordedRuns.add({ runId: "8", agent: "clerk", answer: "no", createdAt: 60_000 })
      yield* minutes(30)
      const store = yield* RunStore.RunStore
      yield* RecordedRuns.log({ runId: "6", answer: "late" })
      yield* store.update("6", { from: OPEN, to: "completed", at: 1_900_000 })
      yield* minutes(1)
      assert.deepStrictEqual(yield* scores, { 1: [1], 2: [0], 4: [0], 8: [1], 6: [1] })
      const { finished, header, missing } = yield* Experiment.load("online")
      assert.deepStrictEqual([header.variants, header.scorers, missing], [["helper", "clerk"], ["short"], 0])
      assert.deepStrictEqual(
        finished.map(({ trial }) => trial.variant),
        ["helper", "helper", "helper", "clerk", "helper"]
      )
      const [first] = finished
      assert.deepStrictEqual(first?.result, {
        durationMs: 12,
        modelCalls: 1,
        usage: { totalTokens: 7 },
        runId: "1",
        costUsd: 0.5,
        scores: [{ scorer: "short", value: 1 }]
      })
      yield* Fiber.interrupt(fiber)
      yield* add("9")
      yield* minutes(5)
      assert.notProperty(yield* scores, "9")
    }).pipe(given)
  )

  it.effect("draws runs by their ids: a higher rate draws those of a lower one, too", () =>
    Effect.gen(function* () {
      const ids = Array.from({ length: 400 }, (_, index) => `run ${index}`)
      yield* add(...ids)
      const drawn = (rate: number, id: string) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(OnlineScoring.run({ ...options, id, rate, since: "1 day" }))
          yield* minutes(1)
          yield* Fiber.interrupt(fiber)
          return (yield* Experiment.load(id)).finished.map(({ trial }) => trial.caseId)
        })
      assert.deepStrictEqual(yield* drawn(0, "none"), [])
      assert.lengthOf(yield* drawn(1, "all"), 400)
      const few = yield* drawn(0.1, "few")
      assert.isTrue(few.length > 20 && few.length < 65, `${few.length} of 400`)
      assert.sameMembers(yield* drawn(0.1, "few again"), few)
      assert.includeMembers([...(yield* drawn(0.2, "more"))], few)
    }).pipe(given)
  )

  it.effect("shares the work of processes, and scores no run twice", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const start = Effect.fork(OnlineScoring.run({ ...options, scorers: [paid(seen)] }))
      const fibers = [yield* start, yield* start, yield* start]
      yield* add("1", "2", "3")
      yield* minutes(1)
      yield* add("4", "5")
      yield* minutes(1)
      yield* Fiber.interruptAll(fibers)
      assert.deepStrictEqual(seen.toSorted(), ["1", "2", "3", "4", "5"])
      yield* Effect.fork(OnlineScoring.run({ ...options, scorers: [paid(seen)] }))
      yield* add("6")
      yield* minutes(10)
      assert.deepStrictEqual(seen.toSorted(), ["1", "2", "3", "4", "5", "6"])
      assert.lengthOf(Object.keys(yield* scores), 6)
    }).pipe(given)
  )

  it.effect("scores what a killed process had claimed, once its claims no longer hold", () =>
    Effect.gen(function* () {
      let hangs = true
      const slow = Scorer.makeEffect("slow", () => (hangs ? Effect.never : Effect.succeed(1)))
      const start = Effect.fork(OnlineScoring.run({ ...options, scorers: [slow], timeout: "1 minute", since: "1 day" }))
      yield* add("1")
      const killed = yield* start
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.interrupt(killed)
      hangs = false
      const early = yield* start
      yield* minutes(5)
      assert.deepStrictEqual(yield* scores, {})
      yield* Fiber.interrupt(early)
      yield* minutes(7)
      yield* start
      yield* minutes(1)
      assert.deepStrictEqual(yield* scores, { 1: [1] })
    }).pipe(given)
  )

  it.effect("ends when its money is spent, also what other processes and earlier ones spent", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const start = Effect.fork(OnlineScoring.run({ ...options, scorers: [paid(seen)], maxCostUsd: 1, concurrency: 1 }))
      yield* add("1", "2")
      const [first, second] = [yield* start, yield* start]
      yield* minutes(1)
      yield* add("3", "4", "5", "6")
      yield* minutes(5)
      assert.lengthOf(seen, 4)
      yield* Fiber.join(first)
      yield* add("7")
      yield* minutes(2)
      yield* Fiber.join(second)
      yield* Fiber.join(yield* start)
      assert.lengthOf(seen, 4)
      assert.lengthOf((yield* Experiment.load("online")).finished, 4)
    }).pipe(given)
  )

  it.effect("scores so many runs an hour, over all processes", () =>
    Effect.gen(function* () {
      const start = Effect.fork(OnlineScoring.run({ ...options, maxPerHour: 3 }))
      yield* start
      yield* start
      yield* add("1", "2", "3", "4")
      yield* minutes(1)
      yield* add("5")
      yield* minutes(50)
      assert.lengthOf(Object.keys(yield* scores), 3)
      yield* minutes(11)
      yield* add("6", "7", "8", "9")
      yield* minutes(2)
      assert.lengthOf(Object.keys(yield* scores), 6)
    }).pipe(given)
  )

  it.effect("keeps no text of people and models unless it is told to, and then no credentials", () =>
    Effect.gen(function* () {
      const key = "sk-test-1234567890abcdef"
      yield* RecordedRuns.add({ runId: "1", input: "canary", answer: `canary ${key}` })
      yield* RecordedRuns.add({ runId: "2", state: "failed" })
      const fails = Scorer.make("fails", () => {
        throw new Error("canary")
      })
      const scorers = [paid([]), fails]
      yield* Effect.fork(OnlineScoring.run({ ...options, scorers }))
      yield* Effect.fork(OnlineScoring.run({ ...options, scorers, id: "kept", keepContent: true }))
      yield* minutes(1)
      const bare = (yield* Experiment.load("online")).finished
      assert.lengthOf(bare, 2)
      assert.notMatch(JSON.stringify(bare), /canary|it broke/)
      const caseOf = (all: Experiment.Results["finished"], id: string) => all.find(({ trial }) => trial.caseId === id)
      assert.strictEqual(caseOf(bare, "1")?.result.scores.at(1)?.error?.tag, "ScorerError")
      const { finished } = yield* Experiment.load("kept")
      const [kept, failed] = [caseOf(finished, "1"), caseOf(finished, "2")]
      assert.strictEqual(kept?.result.output, "canary [REDACTED]")
      assert.strictEqual(kept?.result.scores.at(0)?.reason, "of canary")
      assert.include(kept?.result.scores.at(1)?.error?.message, "canary")
      assert.strictEqual(failed?.result.error?.message, "it broke")
    }).pipe(given)
  )

  it.effect("cuts outputs that are kept, and leaves no beginning of a credential", () =>
    Effect.gen(function* () {
      const text = "a ".repeat(9995)
      yield* RecordedRuns.add({ runId: "1", answer: `${text}sk-test-1234567890abcdef` })
      yield* Effect.fork(OnlineScoring.run({ ...options, keepContent: true }))
      yield* minutes(1)
      const [one] = (yield* Experiment.load("online")).finished
      assert.isTrue(one?.result.isCut)
      assert.notInclude(String(one?.result.output), "sk-")
      assert.isTrue(String(one?.result.output).startsWith(text))
    }).pipe(given)
  )

  it.effect("scores runs of nobody, of one user, or of everybody by choice", () =>
    Effect.gen(function* () {
      yield* RecordedRuns.add({ runId: "free" })
      yield* RecordedRuns.add({ runId: "ada", userId: "ada" as UserId })
      yield* RecordedRuns.add({ runId: "bob", userId: "bob" as UserId })
      yield* RecordedRuns.add({ runId: "system", system: true })
      const granted: Array<boolean> = []
      const asks = Scorer.makeEffect("asks", () =>
        Effect.map(SystemAccess.isGranted, (isGranted) => {
          granted.push(isGranted)
          return 1
        })
      )
      const of = (more: Partial<OnlineScoring.Options<never>>, id: string) =>
        Effect.gen(function* () {
          const run = OnlineScoring.run({ ...options, scorers: [asks], id, ...more })
          const fiber = yield* Effect.fork(id.startsWith("granted") ? SystemAccess.grant(run) : run)
          yield* minutes(1)
          yield* Fiber.interrupt(fiber)
          return (yield* Experiment.load(id)).finished.map(({ trial }) => trial.caseId).sort()
        })
      assert.deepStrictEqual(yield* of({}, "nobody"), ["free"])
      assert.deepStrictEqual(yield* of({ userId: "ada" }, "ada"), ["ada"])
      assert.deepStrictEqual(yield* of({ userId: "ada", everybody: true }, "still ada"), ["ada"])
      const all = ["ada", "bob", "free", "system"]
      assert.deepStrictEqual(yield* of({ everybody: true }, "all"), all)
      assert.deepStrictEqual(yield* of({}, "granted"), all)
      assert.notInclude(granted, true)
      assert.lengthOf(granted, 11)
    }).pipe(given)
  )

  it.effect("looks back so far, and waits for a run so long", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("3 hours")
      yield* RecordedRuns.add({ runId: "old", createdAt: 0 })
      yield* RecordedRuns.add({ runId: "recent", createdAt: 10_000_000 })
      yield* RecordedRuns.add({ runId: "long", createdAt: 10_000_000, state: "waiting" })
      const store = yield* RunStore.RunStore
      yield* Effect.fork(OnlineScoring.run({ ...options, maxDuration: "30 minutes" }))
      yield* Effect.fork(OnlineScoring.run({ ...options, id: "patient", since: "1 day" }))
      yield* minutes(40)
      yield* RecordedRuns.log({ runId: "long" })
      yield* store.update("long", { from: OPEN, to: "completed", at: 14_000_000 })
      yield* minutes(1)
      assert.hasAllKeys(yield* scores, ["recent"])
      const patient = yield* Experiment.load("patient")
      assert.sameMembers(
        patient.finished.map(({ trial }) => trial.caseId),
        ["old", "recent", "long"]
      )
    }).pipe(given)
  )

  it.effect("finds runs whose records come later than their times", () =>
    Effect.gen(function* () {
      yield* Effect.fork(OnlineScoring.run({ ...options, since: 0 }))
      yield* minutes(20)
      yield* RecordedRuns.add({ runId: "late", createdAt: 17 * 60_000 })
      yield* minutes(1)
      assert.hasAllKeys(yield* scores, ["late"])
    }).pipe(given)
  )

  it.effect(
    "reads each entry once, however many there are, and those of an experiment that took the place of another",
    () =>
      Effect.gen(function* () {
        const store = yield* ExperimentStore.ExperimentStore
        let entries = 0
        const counting: ExperimentStore.Service = {
          ...store,
          read: (id, range) => Stream.tap(store.read(id, range), () => Effect.sync(() => entries++))
        }
        yield* Effect.fork(Effect.provideService(OnlineScoring.run(options), ExperimentStore.ExperimentStore, counting))
        for (let round = 0; round < 30; round++) {
          yield* add(...Array.from({ length: 10 }, (_, index) => `${round} ${index}`))
          yield* minutes(1)
        }
        assert.lengthOf(Object.keys(yield* scores), 300)
        // All begins and ends but the ends of the last batch.
        assert.strictEqual(entries, 590)
        const { header } = yield* Experiment.load("online")
        yield* store.remove("online")
        yield* store.open(header)
        yield* RecordedRuns.add({ runId: "of the next one", createdAt: 1_800_000 })
        yield* minutes(2)
        assert.deepStrictEqual(yield* scores, { "of the next one": [1] })
        assert.strictEqual(entries, 591)
      }).pipe(given)
  )

  it.effect("polls at its interval", () =>
    Effect.gen(function* () {
      yield* Effect.fork(OnlineScoring.run({ ...options, interval: "10 minutes" }))
      yield* minutes(1)
      yield* add("1")
      yield* minutes(8)
      assert.deepStrictEqual(yield* scores, {})
      yield* minutes(1)
      assert.hasAllKeys(yield* scores, ["1"])
    }).pipe(given)
  )
})

describe("OnlineScoring among failures", () => {
  const failing: Record<string, Scorer.Scorer<string, unknown, undefined>> = {
    fails: Scorer.makeEffect("s", () => Effect.fail("no")),
    dies: Scorer.makeEffect("s", () => Effect.die("no")),
    "throws before its effect": {
      name: "s",
      score: () => {
        throw new Error("no")
      }
    },
    "never ends": Scorer.makeEffect("s", () => Effect.never)
  }
  for (const [what, scorer] of Object.entries(failing)) {
    it.effect(`goes on after a scorer that ${what}, and keeps the error beside other scores`, () =>
      Effect.gen(function* () {
        yield* add("1")
        yield* Effect.fork(OnlineScoring.run({ ...options, scorers: [scorer, short], timeout: "2 minutes" }))
        yield* minutes(5)
        yield* add("2")
        yield* minutes(5)
        const { finished } = yield* Experiment.load("online")
        assert.deepStrictEqual(
          finished.map(({ result }) => result.scores.map(({ error, value }) => [error !== undefined, value])),
          [
            [
              [true, undefined],
              [false, 1]
            ],
            [
              [true, undefined],
              [false, 1]
            ]
          ]
        )
      }).pipe(given)
    )
  }

  it.effect("goes on after a scorer that interrupts itself", () =>
    Effect.gen(function* () {
      const strange = Scorer.makeEffect("s", ({ input }: Scorer.Subject<string>) =>
        input === "1" ? Effect.interrupt : Effect.succeed(1)
      )
      yield* add("1", "2")
      yield* Effect.fork(OnlineScoring.run({ ...options, scorers: [strange], concurrency: 1 }))
      yield* minutes(1)
      yield* add("3")
      yield* minutes(1)
      assert.hasAllKeys(yield* scores, ["2", "3"])
    }).pipe(given)
  )

  it.effect("scores later what it could not while a store or the log failed", () =>
    Effect.gen(function* () {
      const [runs, log, store] = [
        yield* RunStore.RunStore,
        yield* RunLog.RunLog,
        yield* ExperimentStore.ExperimentStore
      ]
      let broken = ""
      const storage = ExperimentStoreError.storage("the disk is full")
      const run = OnlineScoring.run(options).pipe(
        Effect.provideService(RunStore.RunStore, {
          ...runs,
          list: (filter) => (broken === "list" ? Effect.die("the database is gone") : runs.list(filter))
        }),
        Effect.provideService(RunLog.RunLog, {
          ...log,
          read: (runId, given) =>
            broken === "log"
              ? new RunLog.RunLogError({ operation: "read", message: "the disk is full" })
              : log.read(runId, given)
        }),
        Effect.provideService(ExperimentStore.ExperimentStore, {
          ...store,
          open: (header) => Effect.suspend(() => (broken === "open" ? Effect.fail(storage) : store.open(header))),
          append: (id, entry) =>
            Effect.suspend(() => (broken === entry._tag ? Effect.fail(storage) : store.append(id, entry)))
        })
      )
      broken = "open"
      yield* Effect.fork(run)
      yield* minutes(3)
      let count = 0
      for (const what of ["", "list", "log", "Began"]) {
        broken = what
        yield* add(`${count++}`, `${count++}`)
        yield* minutes(3)
        assert.lengthOf(Object.keys(yield* scores), what === "" ? count : count - 2, what)
        broken = ""
        yield* minutes(1)
        assert.lengthOf(Object.keys(yield* scores), count, what)
      }
      broken = "Ended"
      yield* add("last")
      yield* TestClock.adjust("62 seconds")
      broken = ""
      yield* minutes(1)
      assert.property(yield* scores, "last")
    }).pipe(given)
  )

  it.effect("gives runs up whose log cannot be read for an hour", () =>
    Effect.gen(function* () {
      const log = yield* RunLog.RunLog
      let reads = 0
      yield* add("1")
      yield* Effect.fork(
        Effect.provideService(OnlineScoring.run(options), RunLog.RunLog, {
          ...log,
          read: () =>
            Effect.zipRight(
              Effect.sync(() => reads++),
              Effect.die("no log")
            )
        })
      )
      yield* minutes(61)
      const before = reads
      assert.isTrue(before >= 60, `${before} reads`)
      yield* minutes(60)
      assert.strictEqual(reads, before)
    }).pipe(given)
  )
})

describe("OnlineScoring.layer", () => {
  it.effect("works as long as its scope", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(OnlineScoring.layer(options), scope)
      yield* add("1")
      yield* minutes(1)
      assert.hasAllKeys(yield* scores, ["1"])
      yield* Scope.close(scope, Exit.void)
      yield* add("2")
      yield* minutes(10)
      assert.hasAllKeys(yield* scores, ["1"])
    }).pipe(given)
  )

  it.effect("refuses options that are not valid", () =>
    Effect.gen(function* () {
      const wrong: ReadonlyArray<readonly [string, Partial<OnlineScoring.Options<never>>]> = [
        ["id", { id: "" }],
        ["id", { id: "x".repeat(257) }],
        ["agents", { agents: [] }],
        ["agents", { agents: ["a", "a"] }],
        ["scorers", { scorers: [] }],
        ["scorers", { scorers: [short, short] }],
        ["rate", { rate: 1.5 }],
        ["rate", { rate: Number.NaN }],
        ["maxCostUsd", { maxCostUsd: -1 }],
        ["maxPerHour", { maxPerHour: 0.5 }],
        ["concurrency", { concurrency: 0 }]
      ]
      for (const [what, change] of wrong) {
        const error = yield* Effect.flip(Effect.scoped(Layer.build(OnlineScoring.layer({ ...options, ...change }))))
        assert.strictEqual(error._tag, "ExperimentError")
        assert.include(error.message, what)
        assert.strictEqual((yield* Effect.flip(OnlineScoring.run({ ...options, ...change })))._tag, "ExperimentError")
      }
    }).pipe(given)
  )

  it.effect("does not add to another experiment", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(OnlineScoring.run(options))
      yield* minutes(1)
      yield* Fiber.interrupt(fiber)
      const error = yield* Effect.flip(OnlineScoring.run({ ...options, agents: ["other"] }))
      assert.deepStrictEqual([error._tag, "reason" in error && error.reason], ["ExperimentStoreError", "conflict"])
      yield* Effect.scoped(
        Effect.zipRight(Layer.build(OnlineScoring.layer({ ...options, agents: ["other"] })), minutes(1))
      )
      assert.deepStrictEqual((yield* Experiment.load("online")).header.variants, ["helper"])
    }).pipe(given)
  )
})
