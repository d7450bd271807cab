import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { UserId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as RunCases from "../../../src/eval/online/RunCases.js"
import * as RunLog from "../../../src/observability/RunLog.js"
import * as Telemetry from "../../../src/observability/Telemetry.js"
import * as RecordedRuns from "../../support/RecordedRuns.js"
import * as RunEvents from "../../support/RunEvents.js"

const given = Effect.provide(RecordedRuns.layer)

const idsOf = ({ dataset }: RunCases.RunCases<unknown>) => dataset.cases.map(({ id }) => id)

describe("RunCases", () => {
  it.effect("makes a case of each run that completed, the newest first", () =>
    Effect.gen(function* () {
      yield* RecordedRuns.add({ runId: "1", input: "one?", answer: "one", createdAt: 1 })
      yield* RecordedRuns.add({ runId: "2", input: "two?", answer: "two", createdAt: 2, agent: "clerk" })
      yield* RecordedRuns.add({ runId: "3", state: "failed" })
      yield* RecordedRuns.add({ runId: "4", state: "running" })
      const { dataset, omitted } = yield* RunCases.fromRuns({ name: "asked" })
      assert.deepStrictEqual([dataset.name, omitted], ["asked", 0])
      assert.deepStrictEqual(dataset.cases, [
        { id: "2", input: "two?", expected: undefined, tags: ["clerk"] },
        { id: "1", input: "one?", expected: undefined, tags: ["helper"] }
      ])
      assert.strictEqual((yield* RunCases.fromRuns({ name: "asked" })).dataset.version, dataset.version)
    }).pipe(given)
  )

  it.effect("selects runs by agent, state, time, label and session", () =>
    Effect.gen(function* () {
      yield* RecordedRuns.add({ runId: "1", createdAt: 1, labels: { team: "a" }, sessionId: "s" as never })
      yield* RecordedRuns.add({ runId: "2", createdAt: 2, agent: "clerk" })
      yield* RecordedRuns.add({ runId: "3", createdAt: 3, state: "failed" })
      yield* RecordedRuns.add({ runId: "4", createdAt: 4, state: "interrupted" })
      const wanted: ReadonlyArray<readonly [RunCases.Selection, ReadonlyArray<string>]> = [
        [{ agent: "clerk" }, ["2"]],
        [{ states: ["failed", "interrupted"] }, ["4", "3"]],
        [{ states: [] }, []],
        [{ createdFrom: 2 }, ["2"]],
        [{ createdBefore: 2 }, ["1"]],
        [{ labels: { team: "a" } }, ["1"]],
        [{ labels: { constructor: "a" } }, []],
        [{ sessionId: "s" }, ["1"]]
      ]
      for (const [selection, ids] of wanted) {
        assert.deepStrictEqual(idsOf(yield* RunCases.fromRuns({ name: "asked", ...selection })), ids)
      }
    }).pipe(given)
  )

  it.effect("expects the answer, its output, or what a function takes out of the run", () =>
    Effect.gen(function* () {
      yield* RecordedRuns.add({ runId: "1", createdAt: 1, answer: "one" })
      yield* RecordedRuns.add({ runId: "2", createdAt: 2, answer: "{}", output: { city: "Bern" } })
      yield* RecordedRuns.add({ runId: "3", createdAt: 3, state: "failed" })
      const all = { name: "asked", states: ["completed", "failed"] } as const
      const answers = yield* RunCases.fromRuns({ ...all, expected: "answer" })
      assert.deepStrictEqual(
        answers.dataset.cases.map(({ expected }) => expected),
        [undefined, { city: "Bern" }, "one"]
      )
      const lengths = yield* RunCases.fromRuns({
        ...all,
        expected: ({ record, response }) => `${record.state} ${response.modelCalls}`
      })
      assert.deepStrictEqual(
        lengths.dataset.cases.map(({ expected }) => expected),
        ["failed 1", "completed 1", "completed 1"]
      )
      const error = yield* Effect.flip(
        RunCases.fromRuns({
          ...all,
          expected: () => {
            throw new Error("mine")
          }
        })
      )
      assert.strictEqual(error._tag, "DatasetError")
      assert.include(error.message, "mine")
    }).pipe(given)
  )

  it.effect("takes only runs that the caller may see", () =>
    Effect.gen(function* () {
      yield* RecordedRuns.add({ runId: "free", createdAt: 4 })
      yield* RecordedRuns.add({ runId: "ada", createdAt: 3, userId: "ada" as UserId })
      yield* RecordedRuns.add({ runId: "bob", createdAt: 2, userId: "bob" as UserId })
      yield* RecordedRuns.add({ runId: "system", createdAt: 1, system: true })
      const of = (userId?: string) => RunCases.fromRuns({ name: "asked", userId })
      assert.deepStrictEqual(idsOf(yield* of()), ["free"])
      assert.deepStrictEqual(idsOf(yield* of("ada")), ["ada"])
      assert.deepStrictEqual(idsOf(yield* of("nobody")), [])
      assert.deepStrictEqual(idsOf(yield* SystemAccess.grant(of())), ["free", "ada", "bob", "system"])
      assert.deepStrictEqual(idsOf(yield* SystemAccess.grant(of("ada"))), ["ada"])
    }).pipe(given)
  )

  it.effect("leaves out runs whose log is gone or has no input, and counts them, up to the limit", () =>
    Effect.gen(function* () {
      for (let index = 0; index < 450; index++) {
        yield* RecordedRuns.add({
          runId: `${index}`,
          createdAt: 1000 - index,
          logged: index % 3 !== 1,
          input: index % 3 === 2 ? "" : "asked"
        })
      }
      const some = yield* RunCases.fromRuns({ name: "asked", limit: 101 })
      assert.deepStrictEqual(
        idsOf(some),
        Array.from({ length: 101 }, (_, index) => `${3 * index}`)
      )
      assert.strictEqual(some.omitted, 200)
      const all = yield* RunCases.fromRuns({ name: "asked", limit: 10_000 })
      assert.deepStrictEqual([all.dataset.cases.length, all.omitted], [150, 300])
      assert.lengthOf((yield* RunCases.fromRuns({ name: "asked" })).dataset.cases, 100)
    }).pipe(given)
  )

  it.effect("leaves out a run whose log has no end", () =>
    Effect.gen(function* () {
      yield* RecordedRuns.add({ runId: "1", logged: false })
      const log = yield* RunLog.RunLog
      yield* log.append(RunEvents.of("1", [{ _tag: "Started", input: "asked", strategy: "react" }]))
      const { dataset, omitted } = yield* RunCases.fromRuns({ name: "asked" })
      assert.deepStrictEqual([dataset.cases.length, omitted], [0, 1])
    }).pipe(given)
  )

  it.effect("removes secrets from inputs, expected values and names of fields, unless told otherwise", () =>
    Effect.gen(function* () {
      const key = "sk-ant-REDACTED"
      yield* RecordedRuns.add({
        runId: "1",
        input: `my key is ${key}, I am Ada`,
        output: { [key]: [{ deep: key }], ["__proto__"]: 1, count: 3 }
      })
      const options = { name: "asked", expected: "answer" } as const
      const [one] = (yield* RunCases.fromRuns(options)).dataset.cases
      assert.notInclude(JSON.stringify(one), key)
      assert.strictEqual(one?.input, "my key is [REDACTED], I am Ada")
      assert.deepStrictEqual(
        one?.expected,
        JSON.parse('{"[REDACTED]":[{"deep":"[REDACTED]"}],"__proto__":1,"count":3}')
      )
      const [own] = (yield* RunCases.fromRuns(options).pipe(
        Effect.provideService(Telemetry.ContentRedactor, (text) => text.replaceAll("Ada", "*"))
      )).dataset.cases
      assert.strictEqual(own?.input, "my key is [REDACTED], I am *")
      const [kept] = (yield* RunCases.fromRuns({ ...options, redact: false })).dataset.cases
      assert.include(JSON.stringify(kept), key)
    }).pipe(given)
  )

  it.effect("leaves out data that nests too deep, and takes a large input", () =>
    Effect.gen(function* () {
      let deep: unknown = 1
      for (let depth = 0; depth < 20_000; depth++) deep = [deep]
      yield* RecordedRuns.add({ runId: "deep", output: deep })
      yield* RecordedRuns.add({ runId: "large", input: "a b".repeat(300_000) })
      const { dataset, omitted } = yield* RunCases.fromRuns({ name: "asked", expected: "answer" })
      assert.deepStrictEqual([dataset.cases.length, omitted], [1, 1])
      const nested = yield* RunCases.fromRuns({ name: "asked", expected: () => deep })
      assert.deepStrictEqual([nested.dataset.cases.length, nested.omitted], [0, 2])
    }).pipe(given)
  )

  it.effect("fails where the store or the log fails", () =>
    Effect.gen(function* () {
      yield* RecordedRuns.add({ runId: "1" })
      const log = yield* RunLog.RunLog
      const broken: RunLog.Service = {
        ...log,
        read: () => new RunLog.RunLogError({ operation: "read", message: "the disk is full" })
      }
      const error = yield* Effect.flip(
        Effect.provide(RunCases.fromRuns({ name: "asked" }), Layer.succeed(RunLog.RunLog, broken))
      )
      assert.deepStrictEqual([error._tag, error.message], ["RunError", "the disk is full"])
    }).pipe(given)
  )
})
