import { assert, describe, it } from "@effect/vitest"
import type { Message } from "../../../src/llm/model/LlmClient.js"
import * as RecalledCalls from "../../../src/llm/model/RecalledCalls.js"
import * as RecalledTurn from "../../../src/llm/model/RecalledTurn.js"

const turns = (count: number): ReadonlyArray<Message> =>
  Array.from(
    { length: count },
    (_, n): ReadonlyArray<Message> => [
      { role: "user", content: `question ${n}` },
      ...RecalledTurn.messages(2 * n + 2, [
        { index: 0, name: "look", params: { n }, result: `found ${n}`, isFailure: false },
        { index: 1, name: "gone", params: {}, result: "not there", isFailure: true }
      ]),
      { role: "assistant", content: `answer ${n}` }
    ]
  ).flat()

const system: Message = { role: "system", content: "Be kind." }

/** The same messages, and how often something of them was looked at. */
const watched = (messages: ReadonlyArray<Message>) => {
  let looks = 0
  const seen = messages.map(
    (message) =>
      new Proxy(message, {
        get: (target, key, receiver) => {
          looks++
          return Reflect.get(target, key, receiver)
        }
      })
  )
  return { messages: seen, looks: () => looks }
}

describe("RecalledCalls.within", () => {
  const added = (n: number): ReadonlyArray<Message> => [
    { role: "user", content: "now" },
    ...Array.from({ length: n }, (_, i): Message => ({ role: "assistant", content: `step ${i}` }))
  ]

  it("converts the history as the whole would be, whatever surrounds it", () => {
    const history = turns(3)
    const told = RecalledCalls.within(history)
    for (const names of [["look"], ["look", "gone"], [], undefined, ["look"]]) {
      for (const before of [[], [system]]) {
        for (const given of [
          [...before, ...history, ...added(2)],
          // A strategy that leaves something out.
          [...before, ...history.slice(4), ...added(1)],
          [...before, ...added(1)]
        ]) {
          const { hasCalls, messages } = told(given, names)
          const whole = RecalledCalls.renameCalls(given, (name) => (names?.includes(name) === true ? name : undefined))
          assert.deepStrictEqual(messages, whole)
          assert.strictEqual(hasCalls, RecalledCalls.isIn(whole))
        }
      }
    }
  })

  it("scans the history once per set of tools, and never the additions of the run", () => {
    const history = watched(turns(50))
    const steps = watched(added(100))
    const told = RecalledCalls.within(history.messages)
    const give = (n: number, names: ReadonlyArray<string>) =>
      told([system, ...history.messages, ...steps.messages.slice(0, n)], names)
    give(1, ["look"])
    const first = history.looks()
    assert.isAbove(first, 0)
    for (let n = 2; n <= 100; n++) give(n, ["look"])
    assert.strictEqual(history.looks(), first)
    assert.strictEqual(steps.looks(), 0)
    give(100, ["look", "gone"])
    assert.isAbove(history.looks(), first)
    assert.strictEqual(steps.looks(), 0)
  })
})
