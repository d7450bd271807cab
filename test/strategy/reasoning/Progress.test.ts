import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Progress from "../../../src/strategy/reasoning/Progress.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"

type Made = readonly [name: string, params: unknown, observation: string, approved?: boolean]

const tools = Effect.runSync(
  ToolSet.bind(
    ToolSet.make(
      Tool.make("t", { description: "A tool", handler: () => Effect.void }),
      Tool.make("status", { description: "A state", polling: true, handler: () => Effect.void })
    )
  )
)

/** The counts after each step. */
const counts = (...steps: ReadonlyArray<ReadonlyArray<Made>>): ReadonlyArray<number> => {
  let circles = Progress.empty
  return steps.map((made) => {
    const calls = made.map(([name, params], i) => ({ id: `c${i}`, name, params }))
    const outcomes = made.map(([name, , observation, approved], i) => ({
      ...{ id: `c${i}`, name, isFailure: false, result: observation, observation, truncated: false, attempts: 1 },
      ...(approved === undefined ? {} : { approved })
    }))
    circles = Progress.note(circles, tools, calls, outcomes)
    return circles.repeats
  })
}

describe("Progress", () => {
  const a: Made = ["t", { a: 1 }, "x"]
  const b: Made = ["t", { a: 2 }, "x"]

  it("counts consecutive steps with the same results", () => {
    const seen = (observation: string): ReadonlyArray<Made> => [["t", { a: 1 }, observation]]
    assert.deepStrictEqual(counts(...["x", "x", "y", "y", "y", "x"].map(seen)), [1, 2, 1, 2, 3, 1])
  })

  it("distinguishes calls by name, arguments and result", () => {
    assert.deepStrictEqual(counts([a], [b], [["u", { a: 1 }, "x"]], [["u", undefined, "x"]]), [1, 1, 1, 1])
  })

  it("resets after any other step", () => {
    assert.deepStrictEqual(counts([a], [a], [b], [a], [a]), [1, 2, 1, 1, 2])
  })

  it("counts a step with something new as progress, and equal calls of one step once", () => {
    assert.deepStrictEqual(counts([a, a], [a], [a, b], [b, a], [b]), [1, 2, 1, 2, 3])
  })

  it("never counts a polling tool, nor calls next to one", () => {
    const poll: Made = ["status", {}, "pending"]
    assert.deepStrictEqual(counts([poll], [poll], [a], [a, poll], [a]), [0, 0, 1, 0, 1])
  })

  it("resets after an approved call, but not after a denied one", () => {
    const allowed: Made = ["t", {}, "x", true]
    const denied: Made = ["t", {}, "x", false]
    assert.deepStrictEqual(counts([allowed], [allowed], [denied], [denied]), [0, 0, 1, 2])
  })

  it("keeps nothing of earlier steps", () => {
    let circles = Progress.empty
    for (let n = 0; n < 1000; n++) {
      const call = { id: "c", name: "t", params: { n } }
      const outcome = { ...call, isFailure: false, result: n, observation: "x", truncated: false, attempts: 1 }
      circles = Progress.note(circles, tools, [call], [outcome])
    }
    assert.lengthOf(circles.seen, 1)
  })
})
