/**
 * Cases: windows of turns in a lineage of any length.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import type { Session, SessionTurn } from "../../session/turn/Session.js"
import type * as SessionStore from "../../session/turn/SessionStore.js"
import { equal, holds } from "../suite/SuiteAssert.js"
import { behind, ref, refOf, session, turnsOf } from "./SessionFixtures.js"
import {
  type Case,
  checkpointed,
  created,
  forked,
  idsOf,
  make,
  restored,
  said,
  some,
  wayTo
} from "./SessionStoreCase.js"

const numbered = (from: number, to: number): ReadonlyArray<string> =>
  Array.from({ length: to - from + 1 }, (_, at) => `t${from + at}`)

const window = (
  store: SessionStore.Service,
  [in_, turn]: readonly [string, string],
  limit: number,
  since?: readonly [string, string]
) =>
  Effect.map(
    store.turns(ref(in_, turn), { limit, ...(since === undefined ? undefined : { since: ref(...since) }) }),
    idsOf
  )

/** Many turns, some at a time. */
const long = Effect.fnUntraced(function* (store: SessionStore.Service, from: Session, count: number) {
  let one = from
  for (let at = 1; at <= count; at += 200) {
    const turns = turnsOf(one, numbered(at, Math.min(count, at + 199)))
    const after = behind(one, turns)
    yield* store.append({ session: after, turns })
    one = after
  }
  return one
})

/** Pages back to the first turn, with `limit` turns each except the last. */
const pages = Effect.fnUntraced(function* (store: SessionStore.Service, head: Session["head"], limit: number) {
  const all: Array<ReadonlyArray<SessionTurn>> = []
  let at = head
  while (at !== undefined) {
    const page: ReadonlyArray<SessionTurn> = yield* store.turns(at, { limit })
    holds(page.length > 0 && page.length <= limit, "a page has up to so many turns", page.length)
    holds(all.length <= 100, "pages come to an end", all.length)
    all.unshift(page)
    at = page[0]?.parent
  }
  return all.flat()
})

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("a window contains the newest turns, oldest first", function* (store) {
    const one = yield* created(store, session("s"))
    yield* said(store, yield* said(store, one, "z", "y"), "a", "x", "b")
    equal(yield* window(store, ["s", "b"], 10), ["z", "y", "a", "x", "b"], "all")
    equal(yield* window(store, ["s", "b"], 5), ["z", "y", "a", "x", "b"], "five of five")
    equal(yield* window(store, ["s", "b"], 2), ["x", "b"], "the newest two")
    equal(yield* window(store, ["s", "b"], 1), ["b"], "the newest")
    equal(yield* window(store, ["s", "b"], 0), [], "none")
    equal(yield* window(store, ["s", "y"], 10), ["z", "y"], "those up to one in the middle")
    equal(yield* window(store, ["s", "nothing"], 10), [], "those up to one that is not there")
  }),
  make("the page before a page begins with the parent of its first turn", function* (store) {
    const parent = yield* long(store, yield* created(store, session("p")), 23)
    const one = yield* said(store, yield* forked(store, parent, "s", ref("p", "t17")), ...numbered(1, 11))
    const all = yield* store.turns(one.head ?? ref("s", "none"), { limit: 100 })
    equal(idsOf(all), [...numbered(1, 17), ...numbered(1, 11)], "the turns at once")
    for (const limit of [1, 3, 7, 28, 29]) equal(yield* pages(store, one.head, limit), all, `pages of ${limit}`)
  }),
  make("a window begins after a turn of the lineage", function* (store) {
    yield* said(store, yield* created(store, session("s")), ...numbered(1, 9))
    equal(yield* window(store, ["s", "t9"], 100, ["s", "t6"]), ["t7", "t8", "t9"], "those behind it")
    equal(yield* window(store, ["s", "t9"], 2, ["s", "t6"]), ["t8", "t9"], "the newest two of those")
    equal(yield* window(store, ["s", "t9"], 100, ["s", "t9"]), [], "those behind the last")
    equal(yield* window(store, ["s", "t9"], 0, ["s", "t6"]), [], "none of those")
  }),
  make("a turn outside of the lineage does not limit the window", function* (store) {
    const one = yield* checkpointed(store, yield* said(store, yield* created(store, session("s")), "t1", "t2"), "c")
    const back = yield* restored(store, yield* said(store, one, "t3", "t4"), "c")
    yield* said(store, yield* forked(store, back, "b"), "t1")
    yield* said(store, back, "t5", "t6")
    const all = ["t1", "t2", "t5", "t6"]
    for (const since of [
      ["s", "t3"],
      ["s", "t4"],
      ["s", "nothing"],
      ["b", "t1"],
      ["S", "t1"]
    ] as const) {
      equal(yield* window(store, ["s", "t6"], 100, since), all, `those behind ${since}`)
    }
    equal(yield* window(store, ["s", "t5"], 100, ["s", "t6"]), ["t1", "t2", "t5"], "those behind a later one")
    equal(yield* window(store, ["s", "t6"], 3, ["s", "t4"]), ["t2", "t5", "t6"], "the newest three of those")
  }),
  make("a window continues across branch points", function* (store) {
    const first = yield* said(store, yield* created(store, session("a")), "t1", "t2", "t3")
    const second = yield* said(store, yield* forked(store, first, "b", ref("a", "t2")), "t1", "t2", "t3")
    const third = yield* said(store, yield* forked(store, second, "c", ref("b", "t2")), "t1", "t2")
    // Forks at a turn of the first session through the third one.
    const fourth = yield* said(store, yield* forked(store, third, "d", ref("a", "t1")), "t9")
    const contents = (one: Session, limit = 100, since?: readonly [string, string]) =>
      Effect.map(
        store.turns(one.head ?? ref("none", "none"), {
          limit,
          ...(since === undefined ? undefined : { since: ref(...since) })
        }),
        (turns) => turns.map((turn) => turn.content)
      )
    const way = ["t1 of a", "t2 of a", "t1 of b", "t2 of b", "t1 of c", "t2 of c"]
    equal(yield* contents(third), way, "the way to the third")
    for (let limit = 1; limit <= 6; limit++)
      equal(yield* contents(third, limit), way.slice(-limit), `the last ${limit}`)
    equal(yield* contents(third, 100, ["a", "t1"]), way.slice(1), "behind the first turn of all")
    equal(yield* contents(third, 100, ["b", "t1"]), way.slice(3), "behind the first turn of the second")
    equal(yield* contents(third, 100, ["a", "t3"]), way, "behind one that it never had")
    equal(yield* contents(second), ["t1 of a", "t2 of a", "t1 of b", "t2 of b", "t3 of b"], "the way to the second")
    equal(yield* contents(first), ["t1 of a", "t2 of a", "t3 of a"], "the way to the first")
    equal(yield* contents(fourth), ["t1 of a", "t9 of d"], "the way to the fourth")
  }),
  make("turns abandoned by a restore leave the lineage but stay readable", function* (store) {
    const one = yield* checkpointed(store, yield* said(store, yield* created(store, session("s")), "t1", "t2"), "c1")
    const two = yield* checkpointed(store, yield* said(store, one, "t3", "t4"), "c2")
    const back = yield* restored(store, two, "c1")
    equal(yield* wayTo(store, back.head), ["t1", "t2"], "the way after the restore")
    const on = yield* said(store, back, "t5")
    equal(yield* wayTo(store, on.head), ["t1", "t2", "t5"], "the way that goes on from there")
    equal(some(yield* store.turn(ref("s", "t4")), "it is there").content, "t4 of s", "what was left behind")
    const again = yield* restored(store, on, "c2")
    equal(yield* wayTo(store, again.head), ["t1", "t2", "t3", "t4"], "the way after the second restore")
    const empty = yield* restored(store, yield* checkpointed(store, yield* created(store, session("e")), "c3"), "c3")
    const filled = yield* restored(store, yield* said(store, empty, "t1"), "c3")
    equal(filled.head, undefined, "a session that is empty again")
    equal(yield* wayTo(store, (yield* said(store, filled, "t2")).head), ["t2"], "and begins anew")
  }),
  make("reads ten thousand turns by windows", function* (store) {
    const one = yield* long(store, yield* created(store, session("s")), 10_000)
    equal([one.depth, one.totalTokens], [10_000, 10_000], "depth and tokens")
    equal(yield* window(store, ["s", "t10000"], 3), ["t9998", "t9999", "t10000"], "the newest")
    equal(yield* window(store, ["s", "t5000"], 2), ["t4999", "t5000"], "two in the middle")
    equal(yield* window(store, ["s", "t3"], 10), ["t1", "t2", "t3"], "the first")
    equal(yield* window(store, ["s", "t10000"], 100, ["s", "t9996"]), numbered(9997, 10_000), "those behind one")
    const fork = yield* said(store, yield* forked(store, one, "b", ref("s", "t7000")), "t1")
    equal(yield* window(store, ["b", "t1"], 3), ["t6999", "t7000", "t1"], "those of a branch")
    const all = yield* pages(store, fork.head, 1000)
    equal(all.length, 7001, "turns of the branch")
    equal(
      all.every((turn, at) => turn.depth === at + 1),
      true,
      "their depths ascend by one"
    )
    const middle = some(yield* store.turn(ref("s", "t4321")), "one of them")
    equal(middle.parent, refOf(some(yield* store.turn(ref("s", "t4320")), "its parent")), "the parent of one")
  })
]
