import { assert, describe, it } from "@effect/vitest"
import { SessionId, TurnId } from "../../../src/domain/Ids.js"
import type { Progress } from "../../../src/session/group/GroupOutcome.js"
import * as GroupTermination from "../../../src/session/group/GroupTermination.js"
import type { SessionTurn } from "../../../src/session/turn/Session.js"
import * as Growth from "../../support/Growth.js"

const said = (content: string, agent = "ann"): SessionTurn => ({
  id: TurnId.make("t"),
  sessionId: SessionId.make("s"),
  role: "assistant",
  content,
  timestamp: 0,
  toolCalls: [],
  skillResults: [],
  metadata: { agent },
  tokensUsed: 0,
  cost: 0,
  depth: 1
})

const progress = (over: Partial<Progress> = {}): Progress => ({
  round: 1,
  isRoundOver: false,
  answers: 0,
  last: undefined,
  participants: [],
  usage: {},
  costUsd: 0,
  isUnpriced: false,
  elapsedMs: 0,
  ...over
})

const holds = (condition: GroupTermination.GroupTermination, over: Partial<Progress>) =>
  condition.holds(progress(over)) !== undefined

describe("GroupTermination", () => {
  it("matches a token only as the whole answer", () => {
    const done = GroupTermination.saidExactly("DONE")
    for (const text of ["DONE", "  DONE\n"]) assert.isTrue(holds(done, { last: said(text) }), text)
    for (const text of ["NOT DONE", "DONE.", "done", "DONE\nDONE", "UNDONE", "", "\u200bDONE"]) {
      assert.isFalse(holds(done, { last: said(text) }), JSON.stringify(text))
    }
    assert.isFalse(holds(done, {}))
    assert.isFalse(holds(GroupTermination.saidExactly("  "), { last: said(" ") }))
  })

  it("matches a whole line at a fixed position", () => {
    const first = GroupTermination.saidExactly("DONE", { at: "first" })
    const last = GroupTermination.saidExactly("DONE", { at: "last" })
    assert.isTrue(holds(first, { last: said("\n DONE \r\nthanks") }))
    assert.isFalse(holds(first, { last: said("thanks\nDONE") }))
    assert.isTrue(holds(last, { last: said("thanks\r\n  DONE \n\n") }))
    assert.isTrue(holds(last, { last: said("DONE") }))
    assert.isFalse(holds(last, { last: said("DONE\nthanks") }))
    assert.isFalse(holds(last, { last: said("thanks\nit is DONE") }))
    const both = (text: string) => [holds(first, { last: said(text) }), holds(last, { last: said(text) })]
    Growth.assertLinearTexts(["\n", " ", "\r\n x"], both, 100_000)
  })

  it("matches the author of the answer", () => {
    const approved = GroupTermination.saidExactly("OK", { by: "boss" })
    assert.isFalse(holds(approved, { last: said("OK") }))
    assert.isTrue(holds(approved, { last: said("OK", "boss") }))
    assert.isTrue(holds(GroupTermination.by("boss"), { last: said("anything", "boss") }))
    assert.isFalse(holds(GroupTermination.by("boss"), { last: said("boss") }))
    const long = GroupTermination.by("ann", (turn) => turn.content.length > 3)
    assert.isTrue(holds(long, { last: said("long") }))
    assert.isFalse(holds(long, { last: said("abc") }))
  })

  it("holds when a limit is reached", () => {
    assert.isFalse(holds(GroupTermination.maxTurns(2), { answers: 1 }))
    assert.isTrue(holds(GroupTermination.maxTurns(2), { answers: 2 }))
    assert.isFalse(holds(GroupTermination.maxRounds(2), { round: 2 }))
    assert.isFalse(holds(GroupTermination.maxRounds(2), { round: 1, isRoundOver: true }))
    assert.isTrue(holds(GroupTermination.maxRounds(2), { round: 2, isRoundOver: true }))
    assert.isFalse(holds(GroupTermination.tokenBudget(10), { usage: { inputTokens: 9 } }))
    assert.isTrue(holds(GroupTermination.tokenBudget(10), { usage: { inputTokens: 9, outputTokens: 1 } }))
    assert.isFalse(holds(GroupTermination.timeout("1 second"), { elapsedMs: 999 }))
    assert.isTrue(holds(GroupTermination.timeout("1 second"), { elapsedMs: 1000 }))
  })

  it("does not treat an unknown price as zero", () => {
    const budget = GroupTermination.costBudget(0.5)
    assert.isFalse(holds(budget, { costUsd: 0.49 }))
    assert.isTrue(holds(budget, { costUsd: 0.5 }))
    assert.isTrue(holds(budget, { isUnpriced: true }))
  })

  it("combines conditions and names the one that held", () => {
    const two = GroupTermination.maxTurns(2)
    const done = GroupTermination.saidExactly("DONE")
    const either = GroupTermination.or(two, done)
    assert.strictEqual(either.holds(progress({ answers: 1, last: said("DONE") })), "said_exactly(DONE)")
    assert.strictEqual(either.holds(progress({ answers: 2, last: said("DONE") })), "max_turns(2)")
    assert.isUndefined(either.holds(progress()))
    const both = GroupTermination.and(two, done)
    assert.strictEqual(
      both.holds(progress({ answers: 2, last: said("DONE") })),
      "and(max_turns(2), said_exactly(DONE))"
    )
    assert.isUndefined(both.holds(progress({ answers: 2, last: said("go on") })))
    assert.isUndefined(both.holds(progress({ answers: 1, last: said("DONE") })))
    assert.isUndefined(GroupTermination.and().holds(progress()))
    assert.isUndefined(GroupTermination.or().holds(progress()))
  })
})
