/**
 * Cases: runs are started, awaited, listed and refused.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { StartRequest } from "../../agent/runs/Runs.js"
import * as Parallel from "../../internal/fiber/Parallel.js"
import { equal, failure, holds } from "../suite/SuiteAssert.js"
import { all, atWork, type Case, epoch, inState, make, start } from "./RunsCase.js"

const ann = { userId: "ann" }

const running: ReadonlyArray<Case> = [
  make("returns when a run is accepted, and finds it by its id while it goes on", function* (stage) {
    const record = yield* start(stage, "work", { labels: { team: "x" }, tenantId: "acme" })
    holds(["queued", "running"].includes(record.state), "the run is open", record.state)
    equal([record.agent, record.userId, record.tenantId], ["helper", "ann", "acme"], "the record")
    equal([record.labels, record.createdAt, record.endedAt], [{ team: "x" }, epoch, undefined], "the record")
    yield* atWork(stage)
    const polled = yield* stage.runs.poll(record.runId, ann)
    holds(Option.isSome(polled), "the run is found")
    equal([polled.value.record.state, polled.value.response], ["running", undefined], "the run as it goes on")
    yield* stage.open
    yield* inState(stage, record.runId, "completed")
  }),
  make("gives the response of a run to those who wait for it, and to those who come later", function* (stage) {
    const { runId } = yield* start(stage, "work")
    const waiting = yield* Effect.fork(stage.runs.await(runId, ann))
    yield* atWork(stage)
    yield* stage.open
    const response = yield* Fiber.join(waiting)
    equal([response.runId, response.message, response.output], [runId, "worked", "worked"], "the response")
    equal([response.input, response.modelCalls, response.interrupted], ["work", 2, false], "the response")
    equal(response.usage.totalTokens, 30, "the tokens of both calls")
    const later = yield* stage.runs.await(runId, ann)
    equal(
      [later.message, later.output, later.usage],
      [response.message, response.output, response.usage],
      "the later one"
    )
    const polled = Option.getOrThrow(yield* stage.runs.poll(runId, ann))
    equal([polled.record.state, polled.response?.message], ["completed", "worked"], "the polled one")
    holds(polled.record.endedAt !== undefined, "the record has the end")
  }),
  make("records why a run failed, and fails those who wait for it", function* (stage) {
    const { runId } = yield* start(stage, "fail")
    const error = yield* failure(stage.runs.await(runId, ann), "the failed run")
    holds(error._tag === "RunFailedError", "the failure is that of a run", error)
    equal([error.state, error.runId, error.error.tag], ["failed", runId, "LlmConnectionError"], "the failure")
    equal([error.error.code, error.response?.error?.tag], ["LEX_ERR_LLM_107", "LlmConnectionError"], "its code")
    const { record, response } = Option.getOrThrow(yield* stage.runs.poll(runId, ann))
    equal(
      [record.state, record.error?.tag, response?.error?.tag],
      ["failed", error.error.tag, error.error.tag],
      "the record"
    )
  }),
  make("keeps the run when those who wait for it leave", function* (stage) {
    const { runId } = yield* start(stage, "work")
    yield* atWork(stage)
    const waiting = yield* Effect.fork(stage.runs.await(runId, ann))
    yield* Effect.yieldNow()
    yield* Fiber.interrupt(waiting)
    equal(stage.working(), 1, "calls that go on")
    yield* stage.open
    equal((yield* stage.runs.await(runId, ann)).message, "worked", "the answer")
  })
]

const repeating: ReadonlyArray<Case> = [
  make("gives the known run to the same request with the same id, and runs it once", function* (stage) {
    const request = { runId: "mine", labels: { b: "2", a: "1" } }
    const first = yield* start(stage, "hello", request)
    equal(first.runId, "mine", "the id")
    const again = yield* start(stage, "hello", { labels: { a: "1", b: "2" }, runId: "mine" })
    equal([again.runId, again.createdAt], ["mine", first.createdAt], "the known run")
    yield* stage.runs.await("mine", ann)
    const late = yield* start(stage, "hello", request)
    equal([late.state, stage.asked()], ["completed", 1], "the run that ended")
  }),
  make("runs one of concurrent requests with the same id", function* (stage) {
    const records = yield* Parallel.forEach(
      Array.from({ length: 6 }, (_, i) => i),
      () => start(stage, "hello", { runId: "mine" }),
      6
    )
    yield* stage.runs.await("mine", ann)
    equal([new Set(records.map(({ runId }) => runId)).size, stage.asked()], [1, 1], "runs, and requests of the model")
  }),
  make("refuses an id that another run has", function* (stage) {
    yield* start(stage, "hello", { runId: "mine" })
    const others: ReadonlyArray<Partial<StartRequest>> = [
      { input: "other" },
      { agent: "clerk" },
      { userId: "bob" },
      { userId: undefined },
      { labels: { a: "1" } },
      { sessionId: "s" },
      { settings: { temperature: 0 } }
    ]
    for (const other of others) {
      const error = yield* failure(start(stage, "hello", { runId: "mine", ...other }), "another request")
      equal(error.reason, "conflict", `the reason for ${JSON.stringify(other)}`)
    }
    yield* stage.runs.await("mine", ann)
    equal(stage.asked(), 1, "requests of the model")
  })
]

const refusing: ReadonlyArray<Case> = [
  make("names the nearest agent when none has the name", function* (stage) {
    const error = yield* failure(start(stage, "hello", { agent: "helpr" }), "a misspelled agent")
    equal(error.reason, "unknown-agent", "the reason")
    holds(error.hint?.includes('"helper"') === true, "the hint has the nearest name", error.hint)
    for (const agent of ["", "__proto__", "x".repeat(5000), "\u0000"]) {
      const error = yield* failure(start(stage, "hello", { agent }), "a strange agent")
      holds(error.reason === "unknown-agent" && error.message.length < 300, "a strange agent is unknown", error.message)
    }
    equal((yield* stage.runs.list(ann)).records, [], "recorded runs")
  }),
  make("refuses ids and labels that are not valid, and records nothing", function* (stage) {
    const strange: ReadonlyArray<Partial<StartRequest>> = [
      { runId: "" },
      { runId: "a\u0000" },
      { runId: "x".repeat(257) },
      { userId: "" },
      { sessionId: "\n" },
      { tenantId: "x".repeat(257) },
      { labels: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`l${i}`, ""])) },
      { labels: { ["l".repeat(65)]: "" } },
      { labels: { "": "x" } },
      { labels: { l: "v".repeat(257) } },
      { labels: JSON.parse('{"__proto__":"x"}') },
      { labels: { l: 1 } as never }
    ]
    for (const fields of strange) {
      const error = yield* failure(start(stage, "hello", fields), "a strange request")
      equal(error.reason, "invalid", `the reason for ${JSON.stringify(fields).slice(0, 60)}`)
      holds(error.hint !== undefined, "the error says what is valid")
    }
    equal((yield* stage.runs.list(ann)).records, [], "recorded runs")
    const most = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`${i}${"l".repeat(62)}`, "v".repeat(256)]))
    equal((yield* start(stage, "hello", { labels: most })).labels, most, "the most labels")
  }),
  make("knows no run by an id that no run has, whatever it is", function* (stage) {
    const { runs } = stage
    yield* start(stage, "hello", { runId: "mine" })
    for (const id of ["", "other", "mine ", "MINE", "\u0000", "x".repeat(10_000), "../mine", "%6dine", "' OR 1=1 --"]) {
      equal(Option.isNone(yield* runs.poll(id, ann)), true, `the run ${id.slice(0, 20)}`)
      const calls: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        runs.await(id, ann),
        all(stage, id),
        runs.interrupt(id, ann),
        runs.steer(id, "hi", ann),
        runs.resume(id, ann),
        runs.fork(id, { step: 1, ...ann })
      ]
      for (const [i, call] of calls.entries()) {
        const error = yield* failure(call, "an unknown run")
        equal("reason" in error && error.reason, "unknown-run", `the reason of call ${i} for ${id.slice(0, 20)}`)
      }
    }
  })
]

const listing: ReadonlyArray<Case> = [
  make("lists runs by agent, state, labels and session, the newest first", function* (stage) {
    const { runs } = stage
    const ids = (filter: Parameters<typeof runs.list>[0]) =>
      Effect.map(runs.list({ ...ann, ...filter }), ({ records }) => records.map(({ runId }) => runId as string))
    yield* start(stage, "hello", { runId: "a", labels: { team: "x" } })
    yield* runs.await("a", ann)
    yield* start(stage, "fail", { runId: "b", agent: "clerk", labels: { team: "x", tier: "1" }, sessionId: "s" })
    yield* failure(runs.await("b", ann), "the failed run")
    yield* start(stage, "work", { runId: "c" })
    yield* atWork(stage)
    equal(yield* ids({}), ["c", "b", "a"], "all runs")
    equal(yield* ids({ agent: "clerk" }), ["b"], "runs of an agent")
    equal(yield* ids({ states: ["completed", "failed"] }), ["b", "a"], "runs that ended")
    equal(yield* ids({ states: ["running"] }), ["c"], "running runs")
    equal(yield* ids({ labels: { team: "x" } }), ["b", "a"], "runs with a label")
    equal(yield* ids({ labels: { team: "x", tier: "1" } }), ["b"], "runs with both labels")
    equal(yield* ids({ sessionId: "s" }), ["b"], "runs of a session")
    const page = yield* runs.list({ ...ann, limit: 2 })
    equal(yield* ids({ limit: 2, cursor: page.next }), ["a"], "the second page")
    yield* stage.open
    yield* runs.await("c", ann)
  })
]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...running, ...repeating, ...refusing, ...listing]
