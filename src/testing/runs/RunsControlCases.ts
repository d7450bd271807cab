/**
 * Cases: runs are interrupted, steered and answered by those who may.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type AgentEvent, isTerminal } from "../../domain/AgentEvent.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import { equal, failure, holds } from "../suite/SuiteAssert.js"
import { all, atWork, type Case, eventually, inState, make, type Stage, start } from "./RunsCase.js"

const ann = { userId: "ann" }

/** The id of the only request of Ann that waits. */
const requestOf = (stage: Stage) =>
  eventually(
    Effect.map(stage.approvals.list(ann), ([first]) => first?.request.id),
    "a request waits"
  )

const interrupting: ReadonlyArray<Case> = [
  make("interrupts a run and its tools, and records it", function* (stage) {
    const { runs } = stage
    const { runId } = yield* start(stage, "work")
    yield* atWork(stage)
    const record = yield* runs.interrupt(runId, ann)
    equal([record.state, stage.working()], ["interrupted", 0], "the state, and calls that go on")
    holds(record.endedAt !== undefined, "the record has the end")
    const events = yield* all(stage, runId)
    const last = events.at(-1)
    holds(last?._tag === "Error" && last.interrupted, "the last event says that the run was interrupted", last)
    equal(events.filter(isTerminal).length, 1, "last events")
    const error = yield* failure(runs.await(runId, ann), "the interrupted run")
    equal([error._tag, "state" in error && error.state], ["RunFailedError", "interrupted"], "the failure of the wait")
    const again = yield* failure(runs.interrupt(runId, ann), "a second interruption")
    equal(again.reason, "not-running", "the second interruption")
  }),
  make("does not interrupt a run that has ended", function* (stage) {
    const { runId } = yield* start(stage, "hello")
    yield* stage.runs.await(runId, ann)
    const error = yield* failure(stage.runs.interrupt(runId, ann), "a run that has ended")
    equal(error.reason, "not-running", "the reason")
    equal(Option.getOrThrow(yield* stage.runs.poll(runId, ann)).record.state, "completed", "the state")
  }),
  make("interrupts a run that waits for a person, whose request is withdrawn", function* (stage) {
    const { runId } = yield* start(stage, "danger")
    yield* inState(stage, runId, "waiting")
    const id = yield* requestOf(stage)
    equal((yield* stage.runs.interrupt(runId, ann)).state, "interrupted", "the state")
    equal(yield* stage.approvals.list(ann), [], "requests that wait")
    const error = yield* failure(stage.runs.answer(id, { _tag: "Approved" }, ann), "a withdrawn request")
    equal(error.reason, "not-waiting", "the answer to a withdrawn request")
  })
]

const steering: ReadonlyArray<Case> = [
  make("shows the model a message that was sent while the run goes on", function* (stage) {
    const { runId } = yield* start(stage, "work")
    yield* atWork(stage)
    yield* stage.runs.steer(runId, "and hurry", ann)
    yield* stage.open
    equal((yield* stage.runs.await(runId, ann)).message, "worked | and hurry", "the answer")
    equal((yield* all(stage, runId)).filter(({ _tag }) => _tag === "Steered").length, 1, "messages in the events")
  }),
  make("takes no message for a run that has ended", function* (stage) {
    const { runId } = yield* start(stage, "hello")
    yield* stage.runs.await(runId, ann)
    const error = yield* failure(stage.runs.steer(runId, "too late", ann), "a late message")
    equal(error.reason, "not-running", "the reason")
  })
]

const answering: ReadonlyArray<Case> = [
  make("waits for an approval, and goes on with it", function* (stage) {
    const { runId } = yield* start(stage, "danger")
    const waiting = yield* inState(stage, runId, "waiting")
    equal(waiting.endedAt, undefined, "the end of a run that waits")
    yield* stage.runs.answer(yield* requestOf(stage), { _tag: "Approved" }, { ...ann, by: "boss" })
    equal((yield* stage.runs.await(runId, ann)).message, "boom", "the answer")
  }),
  make("goes on without a call that was denied", function* (stage) {
    const { runId } = yield* start(stage, "danger")
    yield* inState(stage, runId, "waiting")
    yield* stage.runs.answer(yield* requestOf(stage), { _tag: "Denied", reason: "too dear" }, ann)
    const { message, toolCalls } = yield* stage.runs.await(runId, ann)
    equal(toolCalls[0]?.isFailure, true, "the call")
    holds(!message.includes("boom"), "the tool did not run", message)
  }),
  make("asks a question until the answer fits", function* (stage) {
    const { runId } = yield* start(stage, "ask")
    yield* inState(stage, runId, "waiting")
    const id = yield* requestOf(stage)
    const error = yield* failure(
      stage.runs.answer(id, { _tag: "Approved", params: { row: "x" } }, ann),
      "an answer that does not fit"
    )
    equal(error.reason, "invalid", "the reason")
    equal(Option.getOrThrow(yield* stage.runs.poll(runId, ann)).record.state, "waiting", "the state")
    yield* stage.runs.answer(id, { _tag: "Approved", params: { row: 7 } }, ann)
    equal((yield* stage.runs.await(runId, ann)).message, "row 7", "the answer")
  }),
  make("refuses answers to requests that do not wait", function* (stage) {
    for (const id of ["", "nothing", "\u0000", "x".repeat(10_000)]) {
      const error = yield* failure(stage.runs.answer(id, { _tag: "Approved" }, ann), "an unknown request")
      equal(error.reason, "not-waiting", `the request ${id.slice(0, 20)}`)
    }
    const { runId } = yield* start(stage, "danger")
    const id = yield* requestOf(stage)
    yield* stage.runs.answer(id, { _tag: "Approved" }, ann)
    const error = yield* failure(stage.runs.answer(id, { _tag: "Denied" }, ann), "a decided request")
    equal(error.reason, "not-waiting", "a decided request")
    yield* stage.runs.await(runId, ann)
  })
]

const owning: ReadonlyArray<Case> = [
  make("hides a run from everybody but its owner and the system", function* (stage) {
    const { runs } = stage
    const { runId } = yield* start(stage, "danger")
    yield* inState(stage, runId, "waiting")
    const id = yield* requestOf(stage)
    for (const access of [{ userId: "bob" }, {}]) {
      const who = access.userId ?? "nobody"
      equal(Option.isNone(yield* runs.poll(runId, access)), true, `the run for ${who}`)
      equal((yield* runs.list(access)).records, [], `runs of ${who}`)
      const calls: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        runs.await(runId, access),
        all(stage, runId, { userId: undefined, ...access }),
        runs.interrupt(runId, access),
        runs.steer(runId, "hi", access),
        runs.resume(runId, access),
        runs.fork(runId, { step: 1, ...access })
      ]
      for (const [i, call] of calls.entries()) {
        const error = yield* failure(call, "a foreign run")
        equal("reason" in error && error.reason, "unknown-run", `the reason of call ${i} for ${who}`)
      }
      const error = yield* failure(runs.answer(id, { _tag: "Approved" }, access), "a foreign request")
      equal(error.reason, "not-waiting", `the request for ${who}`)
    }
    equal(Option.getOrThrow(yield* SystemAccess.grant(runs.poll(runId))).record.runId, runId, "the run for the system")
    equal((yield* SystemAccess.grant(runs.list())).records.length, 1, "runs for the system")
    yield* SystemAccess.grant(runs.answer(id, { _tag: "Approved" }))
    equal((yield* SystemAccess.grant(runs.await(runId))).message, "boom", "the answer for the system")
    const seen = yield* SystemAccess.grant(all(stage, runId, { userId: undefined }))
    equal(seen.at(-1)?._tag, "Finished", "the events for the system")
  }),
  make("shows a run of the system to the system alone", function* (stage) {
    const { runs } = stage
    const record = yield* SystemAccess.grant(start(stage, "hello", { userId: undefined }))
    equal([record.system, record.userId], [true, undefined], "the record")
    equal((yield* SystemAccess.grant(runs.await(record.runId))).message, "You said hello", "the answer")
    for (const access of [ann, {}]) {
      equal(Option.isNone(yield* runs.poll(record.runId, access)), true, "the run for others")
      equal((yield* runs.list(access)).records, [], "runs of others")
    }
    const nobodys = yield* start(stage, "hello", { userId: undefined })
    equal(nobodys.system, undefined, "a run of nobody")
    equal((yield* runs.await(nobodys.runId)).message, "You said hello", "the answer for nobody")
    equal(Option.isNone(yield* runs.poll(nobodys.runId, ann)), true, "the run of nobody for Ann")
  })
]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...interrupting, ...steering, ...answering, ...owning]

/**
 * The cases of what runs can or cannot do besides.
 *
 * @since 0.1.0
 * @category constructors
 */
export const capabilities = (can: { readonly resume: boolean; readonly fork: boolean }): ReadonlyArray<Case> => [
  make("says what it can do", function* ({ runs }) {
    equal(runs.capabilities, can, "the capabilities")
  }),
  can.resume
    ? make("does not resume a run that has ended", function* (stage) {
        const { runId } = yield* start(stage, "hello")
        yield* stage.runs.await(runId, ann)
        const error = yield* failure(stage.runs.resume(runId, ann), "a run that has ended")
        equal(error.reason, "not-running", "the reason")
      })
    : make("says that runs cannot be resumed", function* (stage) {
        const { runId } = yield* start(stage, "hello")
        const error = yield* failure(stage.runs.resume(runId, ann), "a run to resume")
        equal([error.reason, error.hint !== undefined], ["unsupported", true], "the reason")
        equal((yield* stage.runs.await(runId, ann)).message, "You said hello", "the answer")
      }),
  can.fork
    ? make("goes on from a step of another run, which stays as it is", function* (stage) {
        const { runId } = yield* start(stage, "work", { labels: { team: "x" } })
        yield* stage.open
        yield* stage.runs.await(runId, ann)
        const before = yield* all(stage, runId)
        const [asked, worked] = [stage.asked(), stage.worked()]
        const forked = yield* stage.runs.fork(runId, { step: 1, changes: { labels: { team: "y" } }, ...ann })
        holds(forked.runId !== runId, "the fork has an id of its own", forked.runId)
        equal([forked.forkedFrom, forked.userId], [{ runId, step: 1 }, "ann"], "the record of the fork")
        equal(forked.labels, { team: "y" }, "the labels of the fork")
        equal((yield* stage.runs.await(forked.runId, ann)).message, "worked", "the answer of the fork")
        equal([stage.asked(), stage.worked()], [asked + 1, worked], "calls of the model and the tool")
        const own = (events: ReadonlyArray<AgentEvent>) =>
          events.flatMap(({ _tag }) => (/^Text/.test(_tag) ? [] : [_tag]))
        equal(own(yield* all(stage, forked.runId)), own(before), "the events of the fork")
        equal(yield* all(stage, runId), before, "the events of the run")
        const again = yield* stage.runs.fork(runId, {
          step: 1,
          changes: { runId: forked.runId, labels: { team: "y" } },
          ...ann
        })
        equal(again.runId, forked.runId, "a fork that is asked for again")
        const changed = yield* stage.runs.fork(forked.runId, { step: 1, changes: { input: "else" }, ...ann })
        equal((yield* stage.runs.await(changed.runId, ann)).message, "worked", "a fork of the fork with another input")
        equal([stage.asked(), stage.worked()], [asked + 2, worked], "calls of the second fork")
        const whole = yield* stage.runs.fork(runId, { step: 0, changes: { input: "hello" }, ...ann })
        equal((yield* stage.runs.await(whole.runId, ann)).message, "You said hello", "a fork from the first step")
        const schema = { type: "object", properties: { degrees: { type: "integer" } } }
        const output = { name: "forecast", schema }
        const formed = yield* stage.runs.fork(runId, { step: 1, changes: { output }, ...ann })
        const value = { city: "Delft", degrees: 7 }
        equal((yield* stage.runs.await(formed.runId, ann)).output, value, "the answer in the form of the fork")
        const same = yield* stage.runs.fork(formed.runId, { step: 1, ...ann })
        equal((yield* stage.runs.await(same.runId, ann)).output, value, "the answer in the form of its run")
        const error = yield* failure(stage.runs.fork(runId, { step: 99, ...ann }), "an unknown step")
        equal(error.reason, "invalid", "a step that the run has not")
      })
    : make("says that runs cannot be forked", function* (stage) {
        const { runId } = yield* start(stage, "hello")
        yield* stage.runs.await(runId, ann)
        const error = yield* failure(stage.runs.fork(runId, { step: 1, ...ann }), "a run to fork")
        equal([error.reason, error.hint !== undefined], ["unsupported", true], "the reason")
        equal((yield* stage.runs.list(ann)).records.length, 1, "runs")
      })
]
