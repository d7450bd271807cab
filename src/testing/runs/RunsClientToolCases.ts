/**
 * Cases: runs wait for the tools of their callers.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import type { ApprovalDecision } from "../../tool/approval/ApprovalGate.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import type { ClientTool } from "../../tool/definition/ClientTool.js"
import { equal, failure } from "../suite/SuiteAssert.js"
import { all, type Case, eventually, inState, make, type Stage, start } from "./RunsCase.js"

const ann = { userId: "ann" }

/** The model calls it for two cities on the input `weather`. */
const weather: ClientTool = {
  name: "weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
}

const cityOf = ({ request }: Effect.Effect.Success<ReturnType<PendingApprovals.Service["list"]>>[number]): unknown =>
  (request.params as { readonly city?: unknown }).city

/** The two calls that wait, in the order of their cities. */
const waiting = ({ approvals }: Stage, runId: string) =>
  eventually(
    Effect.map(approvals.list({ ...ann, rootRunId: runId }), (found) => {
      const calls = found.filter(({ request }) => request.question?.clientTool === true)
      return calls.length < 2
        ? undefined
        : calls.toSorted((one, other) => (`${cityOf(one)}` < `${cityOf(other)}` ? -1 : 1))
    }),
    "two calls wait"
  )

/** The call of `locate` that waits. */
const located = ({ approvals }: Stage, runId: string) =>
  eventually(
    Effect.map(approvals.list({ ...ann, rootRunId: runId }), (found) => (found.length === 0 ? undefined : found)),
    "a call waits"
  )

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("waits for the results of its caller's tools", function* (stage) {
    const { runId } = yield* start(stage, "weather", { clientTools: [weather] })
    const [delft, ghent] = yield* waiting(stage, runId)
    yield* inState(stage, runId, "waiting")
    equal(
      [delft, ghent].map((one) => one && [one.request.tool, cityOf(one)]),
      [
        ["weather", "Delft"],
        ["weather", "Ghent"]
      ],
      "the calls"
    )
    const answer = (id: string | undefined, params: unknown) =>
      stage.runs.answer(id ?? "", { _tag: "Approved", params }, ann)
    const unfit = yield* failure(answer(delft?.request.id, { temperature: 7 }), "an answer that is no result")
    equal(unfit.reason, "invalid", "the reason")
    yield* answer(delft?.request.id, { result: "The station is closed", isError: true })
    yield* answer(ghent?.request.id, { result: "7 degrees" })
    const response = yield* stage.runs.await(runId, ann)
    equal(response.message, 'Error: "weather" failed: The station is closed | 7 degrees', "what the model read")
    equal(
      response.toolCalls.map(({ isFailure, name }) => [name, isFailure]),
      [
        ["weather", true],
        ["weather", false]
      ],
      "the calls of the response"
    )
    const asked = (yield* all(stage, runId)).flatMap((event) => (event._tag === "QuestionAsked" ? [event] : []))
    equal(
      asked.map(({ clientTool, name }) => [name, clientTool]),
      [
        ["weather", true],
        ["weather", true]
      ],
      "the events"
    )
  }),
  make("tells the model that its caller gave no result in time", function* (stage) {
    const { runId } = yield* start(stage, "weather", { clientTools: [{ ...weather, expiresAfter: 1000 }] })
    yield* waiting(stage, runId)
    yield* TestClock.adjust("1 minute")
    // Whoever looks at what waits settles what has expired.
    yield* stage.approvals.list(ann)
    yield* inState(stage, runId, "completed")
    const polled = Option.getOrThrow(yield* stage.runs.poll(runId, ann))
    equal(
      polled.response?.toolCalls.map(({ isFailure }) => isFailure),
      [true, true],
      "the calls"
    )
  }),
  make("lets a caller refuse to run its tool", function* (stage) {
    const { runId } = yield* start(stage, "weather", { clientTools: [weather] })
    for (const { request } of yield* waiting(stage, runId)) {
      yield* stage.runs.answer(request.id, { _tag: "Denied", reason: "not now" }, ann)
    }
    const denied = 'Error: "weather" failed: not now'
    equal((yield* stage.runs.await(runId, ann)).message, `${denied} | ${denied}`, "what the model read")
  }),
  make("waits for the result of a tool that its agent declares for the caller", function* (stage) {
    const { runId } = yield* start(stage, "locate")
    const [found] = yield* located(stage, runId)
    const { declared } = found?.request.question ?? {}
    equal([found?.request.tool, found?.request.params, declared], ["locate", { exact: true }, true], "the call")
    yield* inState(stage, runId, "waiting")
    yield* stage.runs.answer(found?.request.id ?? "", { _tag: "Approved", params: { result: '{"city":"Delft"}' } }, ann)
    equal((yield* stage.runs.await(runId, ann)).message, '{"city":"Delft"}', "what the model read")
    const events = (yield* all(stage, runId)).flatMap((event): ReadonlyArray<unknown> => {
      if (event._tag === "ToolCall") return [[event.name, event.clientTool]]
      return event._tag === "QuestionAsked" ? [[event.name, event.clientTool, event.declared, event.params]] : []
    })
    equal(
      events,
      [
        ["locate", true],
        ["locate", true, true, { exact: true }]
      ],
      "the events"
    )
  }),
  make("tells the model why such a call has no result", function* (stage) {
    const messageOf = (decision: ApprovalDecision | undefined) =>
      Effect.gen(function* () {
        const { runId } = yield* start(stage, "locate")
        const [found] = yield* located(stage, runId)
        if (decision !== undefined) yield* stage.runs.answer(found?.request.id ?? "", decision, ann)
        else {
          yield* TestClock.adjust("2 hours")
          // Whoever looks at what waits settles what has expired.
          yield* stage.approvals.list(ann)
        }
        yield* inState(stage, runId, "completed")
        const { message = "" } = Option.getOrThrow(yield* stage.runs.poll(runId, ann)).response ?? {}
        return message
      })
    const unfit = yield* messageOf({ _tag: "Approved", params: { result: '{"city":7}' } })
    equal(unfit.includes("The result does not fit") && unfit.includes("city"), true, unfit)
    const failed = yield* messageOf({ _tag: "Approved", params: { result: "No signal", isError: true } })
    equal(failed, 'Error: "locate" failed: No signal', "a call that failed")
    equal(
      yield* messageOf({ _tag: "Denied", reason: "not now" }),
      'Error: "locate" failed: not now',
      "a call that was declined"
    )
    const late = yield* messageOf(undefined)
    equal(late.startsWith('Error: "locate" failed: '), true, late)
  }),
  make("refuses tools of callers that are none", function* (stage) {
    const none: ReadonlyArray<unknown> = [
      [{ name: "" }],
      [{ name: "x".repeat(129) }],
      [{ name: "weather", parameters: "none" }],
      [{ name: "weather", expiresAfter: -1 }],
      [{ name: "weather", parameters: { type: "array" } }],
      // The agent has these.
      [{ name: "work" }],
      [{ name: "locate" }],
      Array.from({ length: 129 }, (_, at) => ({ name: `t${at}` }))
    ]
    for (const clientTools of none) {
      const error = yield* failure(
        start(stage, "hello", { clientTools: clientTools as ReadonlyArray<ClientTool> }),
        "tools that are none"
      )
      equal(error.reason, "invalid", "the reason")
    }
  })
]
