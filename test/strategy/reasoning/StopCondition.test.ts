import { assert, describe, it } from "@effect/vitest"
import * as StopCondition from "../../../src/strategy/reasoning/StopCondition.js"

const progress = (over: Partial<StopCondition.Progress> = {}): StopCondition.Progress => ({
  step: 2,
  usage: { inputTokens: 60, outputTokens: 40 },
  toolCalls: 3,
  text: "",
  last: [
    { name: "search", isFailure: false },
    { name: "save", isFailure: true }
  ],
  ...over
})

const yes: StopCondition.StopCondition = () => true
const no: StopCondition.StopCondition = () => false

describe("StopCondition", () => {
  it("steps holds from that step on", () => {
    assert.deepStrictEqual(
      [1, 2, 3].map((n) => StopCondition.steps(n)(progress())),
      [true, true, false]
    )
  })

  it("toolSucceeded requires a success of one of the tools in the last step", () => {
    assert.isTrue(StopCondition.toolSucceeded("other", "search")(progress()))
    assert.isFalse(StopCondition.toolSucceeded("save")(progress()))
    assert.isFalse(StopCondition.toolSucceeded("search")(progress({ last: [] })))
    assert.isFalse(StopCondition.toolSucceeded()(progress()))
  })

  it("tokens counts the total, reported or summed", () => {
    assert.deepStrictEqual(
      [99, 100, 101].map((n) => StopCondition.tokens(n)(progress())),
      [true, true, false]
    )
    assert.isTrue(StopCondition.tokens(500)(progress({ usage: { totalTokens: 500, inputTokens: 1 } })))
  })

  it("toolCalls counts all calls", () => {
    assert.deepStrictEqual(
      [3, 4].map((n) => StopCondition.toolCalls(n)(progress())),
      [true, false]
    )
  })

  it("any holds if one does, all if all do", () => {
    assert.isTrue(StopCondition.any(no, yes)(progress()))
    assert.isFalse(StopCondition.any(no, no)(progress()))
    assert.isFalse(StopCondition.any()(progress()))
    assert.isTrue(StopCondition.all(yes, yes)(progress()))
    assert.isFalse(StopCondition.all(yes, no)(progress()))
  })
})
