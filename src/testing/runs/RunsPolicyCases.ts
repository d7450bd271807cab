/**
 * Cases: runs undo their calls.
 *
 * @since 0.1.0
 * @private
 */
import * as Option from "effect/Option"
import { equal } from "../suite/SuiteAssert.js"
import { all, atWork, type Case, make, start } from "./RunsCase.js"

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
  })
]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...undoing]
