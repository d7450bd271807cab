/**
 * Cases: runs undo their calls, and keep to their policies.
 *
 * @since 0.1.0
 * @private
 */
import * as Option from "effect/Option"
import { equal, failure } from "../suite/SuiteAssert.js"
import { all, atWork, type Case, inState, make, start } from "./RunsCase.js"

const ann = { userId: "ann" }

const undoing: ReadonlyArray<Case> = [
  make("undoes the calls of a run that is interrupted, and records those that are not undone", function* (stage) {
    const { runId } = yield* start(stage, "trip")
    yield* atWork(stage)
    const record = yield* stage.runs.interrupt(runId, ann)
    equal(stage.undone(), ["p1 #p1", "p0 #p0"], "what was undone, in order")
    equal(
      record.notUndone?.map(({ error, tool }) => [tool, error.tag]),
      [["book", "ToolCompensationError"]],
      "what the record says is not undone"
    )
    const events = (yield* all(stage, runId)).flatMap((event) => (event._tag === "ToolCompensated" ? [event] : []))
    equal(
      events.map(({ isFailure, name }) => [name, isFailure]),
      [
        ["book", false],
        ["book", true]
      ],
      "the events"
    )
    const read = Option.getOrThrow(yield* stage.runs.poll(runId, ann))
    equal(read.record, record, "the record as it is read")
    equal(
      read.response?.toolCalls.map(({ compensation }) => compensation?.isFailure),
      [true, false, undefined],
      "the calls of the response"
    )
  }),
  make("undoes nothing where the policy of the run says so", function* (stage) {
    const { runId } = yield* start(stage, "trip", { policy: { compensate: false } })
    yield* atWork(stage)
    const record = yield* stage.runs.interrupt(runId, ann)
    equal([stage.undone(), record.notUndone], [[], undefined], "what was undone")
  })
]

const limiting: ReadonlyArray<Case> = [
  make("holds the limits of the policy of a run", function* (stage) {
    const limits = [{ maxModelCalls: 2 }, { maxToolCalls: 1 }, { maxTokens: 1 }] as const
    for (const limit of limits) {
      const { runId } = yield* start(stage, "trip", { policy: { limits: limit } })
      const error = yield* failure(stage.runs.await(runId, ann), `the limit ${Object.keys(limit)[0]}`)
      equal("error" in error && error.error.tag, "RunLimitExceededError", `the failure at ${Object.keys(limit)[0]}`)
    }
  }),
  make("ends a run at the time limit of its policy", function* (stage) {
    const { runId } = yield* start(stage, "work", { policy: { limits: { timeout: "3 seconds" } } })
    const record = yield* inState(stage, runId, "failed")
    equal([record.error?.tag, stage.working()], ["RunLimitExceededError", 0], "the end, and calls that go on")
  }),
  make("retries the model as the policy of a run says", function* (stage) {
    const retry = { maxRetries: 2, base: 20, factor: 1, jitter: false }
    const { runId } = yield* start(stage, "fail", { policy: { retry } })
    yield* inState(stage, runId, "failed")
    equal(stage.asked(), 3, "how often the model was asked")
  }),
  make("refuses settings that are not valid, and says which", function* (stage) {
    for (const settings of [{ temperature: 7 }, { maxTokens: 0.5 }, { topP: Number.NaN }]) {
      const error = yield* failure(start(stage, "hello", { settings }), "settings that are not valid")
      equal([error.reason, error.message.includes(String(Object.keys(settings)[0]))], ["invalid", true], "the reason")
    }
  }),
  make("refuses a policy that is not valid", function* (stage) {
    const policies: ReadonlyArray<unknown> = [
      { limits: { maxTokens: -1 } },
      { limits: { timeout: "soon" } },
      { retry: { maxRetries: 1.5 } },
      { retry: { while: () => true } },
      { unknown: 1 }
    ]
    for (const policy of policies) {
      const error = yield* failure(start(stage, "hello", { policy: policy as object }), "a policy that is not valid")
      equal(error.reason, "invalid", "the reason")
    }
  })
]

const recording: ReadonlyArray<Case> = [
  make("records what its request asks for in place of what its agent has", function* (stage) {
    const asked = {
      settings: { temperature: 0.25, maxTokens: 100 },
      policy: { limits: { timeout: "1 hour", maxModelCalls: 9 } },
      toolChoice: "none"
    } as const
    const providerOptions = { headers: { authorization: "of a provider" } }
    const { runId } = yield* start(stage, "hello", { ...asked, settings: { ...asked.settings, providerOptions } })
    yield* stage.runs.await(runId, ann)
    equal(Option.getOrThrow(yield* stage.runs.poll(runId, ann)).record.asked, asked, "what is recorded")
    const plain = yield* start(stage, "hello")
    equal(plain.asked, undefined, "what is recorded of a request that asks for nothing")
  }),
  make("does not record what is large of it", function* (stage) {
    const { asked } = yield* start(stage, "hello", { settings: { stop: ["x".repeat(20_000)] } })
    equal(asked, undefined, "what is recorded")
  })
]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...undoing, ...limiting, ...recording]
