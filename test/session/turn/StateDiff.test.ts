import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { SessionId, TurnId } from "../../../src/domain/Ids.js"
import type { SessionState, SessionTurn } from "../../../src/session/turn/Session.js"
import * as StateDiff from "../../../src/session/turn/StateDiff.js"

const blank: SessionState = {
  status: "active",
  metadata: {},
  activeTools: [],
  activeSkills: [],
  variables: {},
  depth: 0,
  totalTokens: 0,
  totalCost: 0,
  cuts: []
}

const keys = FastCheck.constantFrom("a", "b", "c", "__proto__", "constructor", "toString", "", "\u0000")
const attributes = FastCheck.array(FastCheck.tuple(keys, FastCheck.jsonValue()), { maxLength: 5 }).map(
  (entries) => Object.fromEntries(entries) as Record<string, unknown>
)
const names = FastCheck.array(FastCheck.constantFrom("x", "y", "z", "__proto__"), { maxLength: 6 })
const ref = FastCheck.record({
  sessionId: FastCheck.constantFrom("s", "t").map((id) => SessionId.make(id)),
  turnId: FastCheck.constantFrom("1", "2").map((id) => TurnId.make(id))
})

const states: FastCheck.Arbitrary<SessionState> = FastCheck.record(
  {
    status: FastCheck.constantFrom("active", "suspended", "closed", "expired"),
    metadata: attributes,
    activeTools: names,
    activeSkills: names,
    systemPrompt: FastCheck.constantFrom("", "p", "q"),
    variables: attributes,
    head: ref,
    depth: FastCheck.nat(3),
    totalTokens: FastCheck.nat(3),
    totalCost: FastCheck.double({ min: 0, max: 3, noNaN: true }),
    cuts: FastCheck.array(FastCheck.record({ after: FastCheck.nat(2), before: FastCheck.nat(2) }), { maxLength: 2 })
  },
  {
    requiredKeys: [
      "status",
      "metadata",
      "activeTools",
      "activeSkills",
      "variables",
      "depth",
      "totalTokens",
      "totalCost",
      "cuts"
    ]
  }
)
  // JSON knows no negative zero.
  .map((state) => JSON.parse(JSON.stringify(state)))

describe("StateDiff", () => {
  it("gives the second state when applied to the first, in every field", () => {
    FastCheck.assert(
      FastCheck.property(states, states, (a, b) => {
        assert.deepStrictEqual(StateDiff.apply(a, StateDiff.compute(a, b)), b)
      }),
      { numRuns: 500 }
    )
  })

  it("is empty for equal states, and changes nothing when applied", () => {
    FastCheck.assert(
      FastCheck.property(states, states, (a, b) => {
        const none = StateDiff.compute(a, a, { removed: [], added: [] })
        assert.deepStrictEqual(none, {})
        assert.isTrue(StateDiff.isEmpty(none))
        assert.deepStrictEqual(StateDiff.apply(b, none), b)
      }),
      { numRuns: 200 }
    )
  })

  it("survives JSON", () => {
    const encode = Schema.encodeSync(StateDiff.StateDiff)
    const decode = Schema.decodeUnknownSync(StateDiff.StateDiff)
    FastCheck.assert(
      FastCheck.property(states, states, (a, b) => {
        const read = decode(JSON.parse(JSON.stringify(encode(StateDiff.compute(a, b)))))
        assert.deepStrictEqual(StateDiff.apply(a, read), b)
      }),
      { numRuns: 200 }
    )
  })

  it("names the changes of each field", () => {
    const turn: SessionTurn = {
      id: TurnId.make("2"),
      sessionId: SessionId.make("s"),
      role: "user",
      content: "hello",
      timestamp: 1,
      toolCalls: [],
      skillResults: [],
      metadata: {},
      tokensUsed: 3,
      cost: 0.5,
      depth: 1
    }
    const one = { sessionId: turn.sessionId, turnId: TurnId.make("1") }
    const two = { sessionId: turn.sessionId, turnId: turn.id }
    const diff = StateDiff.compute(
      { ...blank, head: one, depth: 1, variables: { a: 1, b: { c: 1 } }, activeTools: ["x", "y"], systemPrompt: "p" },
      {
        ...blank,
        head: two,
        depth: 1,
        totalTokens: 3,
        totalCost: 0.5,
        variables: { b: { c: 1 }, d: 2 },
        metadata: { m: 1 },
        activeTools: ["y", "z"],
        activeSkills: ["k"],
        status: "closed",
        cuts: [{ after: 0, before: 9 }]
      },
      { removed: [one], added: [turn] }
    )
    assert.deepStrictEqual(diff, {
      turns: { removed: [one], added: [turn] },
      head: { from: one, to: two },
      status: { from: "active", to: "closed" },
      systemPrompt: { from: "p" },
      variables: { set: [{ key: "d", value: 2 }], removed: ["a"] },
      metadata: { set: [{ key: "m", value: 1 }], removed: [] },
      activeTools: { added: ["z"], removed: ["x"] },
      activeSkills: { added: ["k"], removed: [] },
      metrics: { totalTokens: { from: 0, to: 3 }, totalCost: { from: 0, to: 0.5 } },
      cuts: { from: [], to: [{ after: 0, before: 9 }] }
    })
    assert.isFalse(StateDiff.isEmpty(diff))
  })

  it("gives the whole list for a new order of the same names", () => {
    const diff = StateDiff.compute({ ...blank, activeTools: ["x", "y"] }, { ...blank, activeTools: ["y", "x"] })
    assert.deepStrictEqual(diff, { activeTools: { added: [], removed: [], order: ["y", "x"] } })
  })

  it("changes only its fields when applied to another state", () => {
    const diff = StateDiff.compute(
      { ...blank, variables: { a: 1, b: 1 }, activeTools: ["x"] },
      { ...blank, variables: { a: 2 }, activeTools: ["y"] }
    )
    const other = { ...blank, variables: { a: 5, b: 5, c: 5 }, activeTools: ["w", "y"], systemPrompt: "mine" }
    assert.deepStrictEqual(StateDiff.apply(other, diff), {
      ...other,
      variables: { a: 2, c: 5 },
      activeTools: ["w", "y"]
    })
  })

  it("treats __proto__ as a key", () => {
    const evil = JSON.parse('{"__proto__":{"polluted":true}}')
    const diff = StateDiff.compute(blank, { ...blank, variables: evil })
    assert.deepStrictEqual(diff.variables?.set[0]?.key, "__proto__")
    const applied = StateDiff.apply(blank, diff).variables
    assert.isTrue(Object.hasOwn(applied, "__proto__"))
    assert.isUndefined((applied as Record<string, unknown>)["polluted"])
    assert.isUndefined(({} as Record<string, unknown>)["polluted"])
  })
})
