import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { RunId, TurnId } from "../../../src/domain/Ids.js"
import * as Session from "../../../src/session/turn/Session.js"
import * as SessionChecks from "../../../src/session/turn/SessionChecks.js"

const call: Required<Session.TurnToolCall> = {
  id: "c",
  name: "add",
  params: { a: 1 },
  result: 3,
  isFailure: false
}

const turn: Required<Session.NewTurn> = {
  id: TurnId.make("t"),
  role: "user",
  content: "hi",
  timestamp: 1,
  toolCalls: [call],
  skillResults: [{ name: "s" }],
  metadata: { a: { b: [1] } },
  tokensUsed: 2,
  cost: 0.5,
  model: "m",
  provider: "p",
  runId: RunId.make("r"),
  unanswered: "blocked"
}

describe("SessionChecks.turn", () => {
  it("keeps every field of the schema of turns and of tool calls, and no other", () => {
    assert.deepStrictEqual(Object.keys(turn).sort(), Object.keys(Session.NewTurn.fields).sort())
    assert.deepStrictEqual(Object.keys(call).sort(), Object.keys(Session.TurnToolCall.fields).sort())
    const given = { ...turn, toolCalls: [{ ...call, more: 1 }], more: 1 }
    assert.deepStrictEqual(Either.getOrThrow(SessionChecks.turn(given, 10_000)), turn)
  })

  it("leaves out fields without a value", () => {
    const checked = Either.getOrThrow(SessionChecks.turn({ ...turn, model: undefined }, 10_000))
    assert.isFalse("model" in checked)
  })

  it("copies the data of the caller", () => {
    const metadata = { a: { b: [1] } }
    const checked = Either.getOrThrow(SessionChecks.turn({ ...turn, metadata }, 10_000))
    metadata.a.b.push(2)
    assert.deepStrictEqual(checked.metadata, { a: { b: [1] } })
  })
})
