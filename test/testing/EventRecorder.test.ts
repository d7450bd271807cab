import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentEvent, Body } from "../../src/domain/AgentEvent.js"
import { RunId } from "../../src/domain/Ids.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"

/** Events of one run, numbered from 0. */
const events = (bodies: ReadonlyArray<Body>, run = "r"): ReadonlyArray<AgentEvent> =>
  bodies.map((body, seq) => ({ runId: RunId.make(run), agent: "a", seq, at: 0, ...body }) as AgentEvent)

const started: Body = { _tag: "Started", input: "x", strategy: "s" }
const finished: Body = { _tag: "Finished", reason: "completed", durationMs: 1 }
const failed: Body = { _tag: "Error", interrupted: false, error: { tag: "E", message: "e" } }
const delta: Body = { _tag: "TextDelta", text: "t" }
const call = (id: string): Body => ({ _tag: "ToolCall", step: 1, id, name: "t", params: {} })
const result = (id: string): Body => ({
  _tag: "ToolResult",
  step: 1,
  id,
  name: "t",
  isFailure: false,
  result: 1,
  observation: "1",
  truncated: false,
  durationMs: 0,
  attempts: 1
})

const finds = (given: ReadonlyArray<AgentEvent>, ...expected: ReadonlyArray<RegExp>) => {
  const found = EventRecorder.violations(given)
  assert.lengthOf(found, expected.length, found.join("; "))
  for (const [index, pattern] of expected.entries()) assert.match(found[index]!, pattern)
}

describe("EventRecorder.violations", () => {
  it("finds none in well-formed runs, also concurrent ones", () => {
    finds([])
    finds(events([started, call("a"), call("b"), result("b"), result("a"), call("a"), result("a"), finished]))
    const one = events([started, delta, finished], "one")
    const two = events([started, failed], "two")
    finds([one[0]!, two[0]!, two[1]!, one[1]!, one[2]!])
  })

  it("finds gaps, repetitions and wrong order of sequence numbers", () => {
    const [a, b, c] = events([started, delta, finished]) as [AgentEvent, AgentEvent, AgentEvent]
    finds([a, c], /event 1 \(Finished\) has seq 2/)
    finds([a, b, { ...c, seq: 1 }], /event 2 \(Finished\) has seq 1/)
    finds([a, { ...c, seq: 2 }, { ...b, seq: 1 }], /event 1 .* seq 2/, /event 2 .* seq 1/, /ends with TextDelta/)
  })

  it("finds a missing start", () => {
    finds(events([delta, finished]), /run r: begins with TextDelta/)
  })

  it("finds a missing end, a second one and events after it", () => {
    finds(events([started, delta]), /0 terminal/, /ends with TextDelta/)
    finds(events([started, finished, failed]), /2 terminal/)
    finds(events([started, finished, delta]), /ends with TextDelta/)
  })

  it("finds calls without a result, results without a call, and duplicate calls", () => {
    finds(events([started, call("a"), finished]), /no result of a/)
    finds(events([started, result("a"), finished]), /result of a without a call/)
    finds(events([started, call("a"), result("a"), result("a"), finished]), /result of a without a call/)
    finds(events([started, call("a"), call("a"), result("a"), finished]), /calls a twice/)
  })

  it("names the run", () => {
    const found = EventRecorder.violations([
      ...events([started, finished], "good"),
      ...events([delta, finished], "bad")
    ])
    assert.deepStrictEqual(found, ["run bad: begins with TextDelta"])
  })
})

describe("EventRecorder.record", () => {
  it.effect("keeps the events before a failure, and the failure", () =>
    Effect.gen(function* () {
      const given = events([started, failed])
      const recording = yield* EventRecorder.record(Stream.concat(Stream.fromIterable(given), Stream.fail("no")))
      assert.deepStrictEqual(recording.events, given)
      assert.deepStrictEqual(EventRecorder.tags(recording.events), ["Started", "Error"])
      assert.strictEqual(yield* Effect.flip(recording.exit), "no")
    })
  )

  it.effect("ends with the stream", () =>
    Effect.gen(function* () {
      const recording = yield* EventRecorder.record(Stream.fromIterable(events([started, finished])))
      yield* recording.exit
      assert.lengthOf(recording.events, 2)
    })
  )
})
