import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { SessionId, TurnId } from "../../src/domain/Ids.js"
import type { Member } from "../../src/session/group/GroupParticipant.js"
import * as PriorityTurnManager from "../../src/session/group/PriorityTurnManager.js"
import * as RoundRobinTurnManager from "../../src/session/group/RoundRobinTurnManager.js"
import * as TopicTurnManager from "../../src/session/group/TopicTurnManager.js"
import type * as TurnManager from "../../src/session/group/TurnManager.js"
import type { SessionTurn } from "../../src/session/turn/Session.js"
import * as Growth from "../support/Growth.js"

const membersOf = (...names: ReadonlyArray<string>): ReadonlyArray<Member> =>
  names.map((name) => ({ name, role: "participant", description: "" }))

const members = membersOf("ann", "bob", "cid")

const turn = (content: string, agent?: string): SessionTurn => ({
  id: TurnId.make("t"),
  sessionId: SessionId.make("s"),
  role: agent === undefined ? "user" : "assistant",
  content,
  timestamp: 0,
  toolCalls: [],
  skillResults: [],
  metadata: agent === undefined ? {} : { agent },
  tokensUsed: 0,
  cost: 0,
  depth: 1
})

interface Seen {
  readonly members?: ReadonlyArray<Member>
  readonly answers?: number
  readonly visible?: (viewer: string) => ReadonlyArray<SessionTurn>
}

/** Whom the manager chooses for one view after the other; `-` for nobody. */
const chosen = <S, E>(manager: TurnManager.TurnManager<S, E>, views: ReadonlyArray<Seen>) =>
  Effect.gen(function* () {
    let state = manager.initial(members)
    const names: Array<string> = []
    for (const view of views) {
      const [selection, next] = yield* manager.next(state, {
        members: view.members ?? members,
        round: 1,
        answers: view.answers ?? 0,
        visibleTo: ({ name }) => view.visible?.(name) ?? []
      })
      state = next
      names.push(selection._tag === "Speak" ? selection.name : "-")
    }
    return names.join(" ")
  })

const times = (count: number, seen: Seen = {}): ReadonlyArray<Seen> => Array.from({ length: count }, () => seen)

describe("RoundRobinTurnManager", () => {
  it.effect("asks all members in order, round after round", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* chosen(RoundRobinTurnManager.make(), times(7)), "ann bob cid ann bob cid ann")
    })
  )

  it.effect("skips a member who left without costing anybody a turn", () =>
    Effect.gen(function* () {
      const left = { members: membersOf("ann", "cid") }
      const views = [...times(2), ...times(3, left)]
      assert.strictEqual(yield* chosen(RoundRobinTurnManager.make(), views), "ann bob cid ann cid")
      const first = [...times(1), ...times(3, { members: membersOf("bob", "cid") })]
      assert.strictEqual(yield* chosen(RoundRobinTurnManager.make(), first), "ann bob cid bob")
    })
  )
})

describe("PriorityTurnManager", () => {
  it.effect("asks the highest priority first in each cycle, keeps the order of equals, and defaults to 0", () =>
    Effect.gen(function* () {
      const manager = PriorityTurnManager.make({ priorities: { cid: 5, ann: -1 } })
      assert.strictEqual(yield* chosen(manager, times(6)), "cid bob ann cid bob ann")
      assert.strictEqual(yield* chosen(PriorityTurnManager.make(), times(4)), "ann bob cid ann")
      const infinite = PriorityTurnManager.make({ priorities: { bob: Infinity, cid: Infinity, ann: -Infinity } })
      assert.strictEqual(yield* chosen(infinite, times(3)), "bob cid ann")
    })
  )

  it.effect.prop(
    "asks everybody once per cycle, highest priority first",
    { values: FastCheck.tuple(FastCheck.integer(), FastCheck.integer(), FastCheck.integer()) },
    ({ values: [ann, bob, cid] }) =>
      Effect.gen(function* () {
        const priorities: { readonly [name: string]: number } = { ann, bob, cid }
        const names = (yield* chosen(PriorityTurnManager.make({ priorities }), times(3))).split(" ")
        assert.sameMembers(names, ["ann", "bob", "cid"])
        const order = names.map((name) => priorities[name] as number)
        assert.isTrue(order.every((value, index) => index === 0 || (order[index - 1] as number) >= value))
      })
  )

  it("reports unknown names and invalid priorities before a run", () => {
    const problem = PriorityTurnManager.make({ priorities: { anne: 1 } }).problem?.(members)
    assert.include(problem, 'did you mean "ann"?')
    assert.include(PriorityTurnManager.make({ priorities: { ann: Number.NaN } }).problem?.(members), "not a number")
    assert.isUndefined(PriorityTurnManager.make({ priorities: { ann: 1 } }).problem?.(members))
  })
})

describe("TopicTurnManager", () => {
  const topics = { refund: "ann", "second invoice": "bob", INVOICE: "cid" }
  const saying = (content: string, agent?: string, answers = 0): Seen => ({
    answers,
    visible: () => [turn("the first refund"), turn(content, agent)]
  })

  it.effect("chooses by the first topic in the newest turn, ignoring case", () =>
    Effect.gen(function* () {
      const manager = TopicTurnManager.make({ topics })
      assert.strictEqual(yield* chosen(manager, [saying("A REFUND of the invoice")]), "ann")
      assert.strictEqual(yield* chosen(manager, [saying("my (second)\n  invoice!")]), "bob")
      assert.strictEqual(yield* chosen(manager, [saying("second, an invoice")]), "cid")
      // Older turns do not count, and words are whole words.
      assert.strictEqual(yield* chosen(manager, [saying("refunds, invoices and prerefund")]), "-")
    })
  )

  it.effect("judges each candidate by the turns it sees", () =>
    Effect.gen(function* () {
      const manager = TopicTurnManager.make({ topics })
      const hidden: Seen = { visible: (name) => (name === "ann" ? [turn("hello")] : [turn("refund the invoice")]) }
      assert.strictEqual(yield* chosen(manager, [hidden]), "cid")
      assert.strictEqual(yield* chosen(manager, [{ visible: () => [] }]), "-")
    })
  )

  it.effect("asks nobody about its own turn or twice about the same one, then the others, the fallback, nobody", () =>
    Effect.gen(function* () {
      const manager = TopicTurnManager.make({ topics, fallback: "bob" })
      assert.strictEqual(yield* chosen(manager, [saying("refund", "ann")]), "bob")
      assert.strictEqual(yield* chosen(manager, times(4, saying("refund, invoice"))), "ann cid bob -")
      const again = [saying("refund"), saying("refund", "cid", 1), saying("refund", "ann", 2), saying("x", "bob", 3)]
      assert.strictEqual(yield* chosen(manager, again), "ann ann bob -")
    })
  )

  it.effect("never chooses an excluded member", () =>
    Effect.gen(function* () {
      const manager = TopicTurnManager.make({ topics, fallback: "bob" })
      const seen = { ...saying("refund"), members: membersOf("bob", "cid") }
      assert.strictEqual(yield* chosen(manager, [seen]), "bob")
      assert.strictEqual(yield* chosen(manager, [{ ...seen, members: membersOf("cid") }]), "-")
    })
  )

  it.effect("handles adversarial texts in linear time", () =>
    Effect.gen(function* () {
      const manager = TopicTurnManager.make({ topics: { ["a ".repeat(1000)]: "ann", refund: "cid" } })
      const run = (text: string) => chosen(manager, [saying(text)])
      yield* Growth.assertLinearTextsEffect(["a ", "\u0301", "\ud800", " "], run, 100_000)
    })
  )

  it("reports an invalid configuration before a run", () => {
    const problem = (options: Parameters<typeof TopicTurnManager.make>[0]) =>
      TopicTurnManager.make(options).problem?.(members)
    assert.include(problem({ topics: { "!?": "ann" } }), "has no word")
    assert.include(problem({ topics: { refund: "anne" } }), 'did you mean "ann"?')
    assert.include(problem({ topics: {}, fallback: "zoe" }), '"zoe"')
    assert.isUndefined(problem({ topics, fallback: "cid" }))
  })
})
