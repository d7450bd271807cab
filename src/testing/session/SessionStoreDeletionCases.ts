/**
 * Cases: a deleted session is gone, except turns that branches need, as long as they need them.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { equal } from "../suite/SuiteAssert.js"
import { behind, branch, checkpointId, ref, session, sessionId, turnsOf, userId } from "./SessionFixtures.js"
import {
  type Case,
  checkpointed,
  conflicts,
  created,
  forked,
  idsOf,
  isKept,
  make,
  restored,
  said,
  saved,
  some,
  turnsKept,
  wayTo
} from "./SessionStoreCase.js"

const all = ["t1", "t2", "t3", "t4", "t5"]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("deletes a session with its turns and checkpoints", function* (store) {
    const one = yield* said(store, yield* created(store, session("s")), "t1", "t2")
    const two = yield* said(store, yield* checkpointed(store, one, "c1"), "t3")
    const back = yield* restored(store, two, "c1")
    yield* checkpointed(store, yield* said(store, back, "t4", "t5"), "c2")
    yield* created(store, session("other"))
    equal(yield* store.delete(sessionId("s")), true, "it was there")
    equal(yield* store.delete(sessionId("s")), false, "it is not there any more")
    equal(Option.isNone(yield* store.load(sessionId("s"))), true, "no session")
    yield* turnsKept(store, "s", all, [])
    for (const id of all) equal(yield* wayTo(store, ref("s", id)), [], `the way to ${id}`)
    for (const id of ["c1", "c2"]) {
      equal(Option.isNone(yield* store.checkpoint(checkpointId(id))), true, `no checkpoint ${id}`)
      equal(yield* store.deleteCheckpoint(checkpointId(id)), false, `nothing to delete of ${id}`)
    }
    equal(yield* store.checkpoints(sessionId("s"), { limit: 10 }), [], "its checkpoints")
    for (const options of [
      {},
      { userId: userId("ann") },
      { rootSessionId: sessionId("s") },
      { order: "updated" },
      { statuses: ["active"] }
    ] as const) {
      equal(
        idsOf(yield* store.list({ ...options, limit: 10 })).includes("s"),
        false,
        `not in ${JSON.stringify(options)}`
      )
    }
    equal(idsOf(yield* store.idle({ since: Number.MAX_SAFE_INTEGER, limit: 10 })), ["other"], "idle sessions")
    yield* conflicts(saved(store, one), "a save of what is deleted")
    yield* conflicts(said(store, one, "t9"), "turns for what is deleted")
  }),
  make("a deleted id can be reused without anything of the old session", function* (store) {
    const one = yield* checkpointed(store, yield* said(store, yield* created(store, session("s")), "t1", "t2"), "c")
    yield* store.delete(one.id)
    const again = yield* created(store, session("s", { userId: "bob" }))
    yield* isKept(store, again)
    yield* turnsKept(store, "s", all, [])
    equal(yield* store.checkpoints(sessionId("s"), { limit: 10 }), [], "its checkpoints")
    equal(yield* store.list({ userId: userId("ann"), limit: 10 }), [], "sessions of the first user")
    const on = yield* checkpointed(store, yield* said(store, again, "t1"), "c")
    equal(yield* wayTo(store, on.head), ["t1"], "its turns")
  }),
  make("turns that a branch needs stay until it is deleted", function* (store) {
    const parent = yield* said(store, yield* created(store, session("p")), ...all)
    const fork = yield* said(store, yield* forked(store, parent, "b", ref("p", "t3")), "own")
    equal(yield* store.delete(parent.id), true, "the parent was there")
    equal(Option.isNone(yield* store.load(parent.id)), true, "the parent is gone")
    equal(idsOf(yield* store.list({ limit: 10 })), ["b"], "sessions that are left")
    yield* turnsKept(store, "p", all, ["t1", "t2", "t3"])
    equal(yield* wayTo(store, fork.head), ["t1", "t2", "t3", "own"], "the way to the branch")
    const on = yield* said(store, fork, "more")
    equal(yield* wayTo(store, on.head), ["t1", "t2", "t3", "own", "more"], "the branch goes on")
    equal(yield* store.delete(parent.id), false, "the parent is no session any more")
    yield* turnsKept(store, "p", all, ["t1", "t2", "t3"])
    yield* store.delete(fork.id)
    yield* turnsKept(store, "p", all, [])
    yield* turnsKept(store, "b", ["own", "more"], [])
  }),
  make("a branch without own turns keeps the turns it begins with", function* (store) {
    const parent = yield* said(store, yield* created(store, session("p")), ...all)
    const fork = yield* forked(store, parent, "b", ref("p", "t2"))
    yield* store.delete(parent.id)
    equal(yield* wayTo(store, fork.head), ["t1", "t2"], "the way to the branch")
    const on = yield* restored(store, yield* said(store, fork, "own"), "fork of b")
    equal(yield* wayTo(store, on.head), ["t1", "t2"], "the way after it went back to where it began")
    yield* store.delete(fork.id)
    yield* turnsKept(store, "p", all, [])
  }),
  make("a branch at an abandoned turn keeps its lineage", function* (store) {
    const one = yield* checkpointed(store, yield* said(store, yield* created(store, session("p")), "t1", "t2"), "c")
    const aside = yield* said(store, one, "t3", "t4")
    const fork = yield* forked(store, aside, "b", ref("p", "t3"))
    yield* said(store, yield* restored(store, aside, "c"), "t5")
    yield* store.delete(sessionId("p"))
    yield* turnsKept(store, "p", all, ["t1", "t2", "t3"])
    equal(yield* wayTo(store, fork.head), ["t1", "t2", "t3"], "the way to the branch")
  }),
  make("each of several branches keeps what it needs until it is deleted", function* (store) {
    const parent = yield* said(store, yield* created(store, session("p")), ...all)
    const fork = (id: string, at: string) => forked(store, parent, id, ref("p", at))
    for (const [id, at] of [
      ["b1", "t1"],
      ["b3", "t3"],
      ["c3", "t3"],
      ["b4", "t4"]
    ] as const) {
      yield* fork(id, at)
    }
    yield* store.delete(sessionId("b4"))
    yield* turnsKept(store, "p", all, all)
    yield* store.delete(parent.id)
    yield* turnsKept(store, "p", all, ["t1", "t2", "t3"])
    yield* store.delete(sessionId("b3"))
    yield* turnsKept(store, "p", all, ["t1", "t2", "t3"])
    yield* store.delete(sessionId("c3"))
    yield* turnsKept(store, "p", all, ["t1"])
    yield* store.delete(sessionId("b1"))
    yield* turnsKept(store, "p", all, [])
    yield* created(store, session("p"))
  }),
  make("keeps what a branch of a branch needs through all generations", function* (store) {
    const names = ["a", "b", "c", "d"] as const
    const first = yield* said(store, yield* created(store, session("a")), ...all)
    const second = yield* said(store, yield* forked(store, first, "b", ref("a", "t4")), ...all)
    const third = yield* said(store, yield* forked(store, second, "c", ref("b", "t2")), ...all)
    const fourth = yield* forked(store, third, "d", ref("c", "t1"))
    const kept = Effect.fnUntraced(function* (...expected: ReadonlyArray<number>) {
      for (const [at, name] of names.slice(0, 3).entries()) {
        yield* turnsKept(store, name, all, all.slice(0, expected[at]))
      }
    })
    yield* store.delete(second.id)
    yield* kept(5, 2, 5)
    yield* store.delete(first.id)
    yield* kept(4, 2, 5)
    equal(yield* wayTo(store, third.head), ["t1", "t2", "t3", "t4", "t1", "t2", ...all], "the way to the third")
    yield* store.delete(third.id)
    yield* kept(4, 2, 1)
    equal(yield* wayTo(store, fourth.head), ["t1", "t2", "t3", "t4", "t1", "t2", "t1"], "the way to the fourth")
    equal(idsOf(yield* store.list({ limit: 10 })), ["d"], "sessions that are left")
    yield* store.delete(fourth.id)
    yield* kept(0, 0, 0)
    for (const name of names) yield* created(store, session(name))
  }),
  make("a branch made at an older session's turn needs nothing of the younger one", function* (store) {
    const first = yield* said(store, yield* created(store, session("a")), ...all)
    const second = yield* said(store, yield* forked(store, first, "b", ref("a", "t4")), ...all)
    const third = yield* forked(store, second, "c", ref("a", "t2"))
    yield* store.delete(second.id)
    yield* turnsKept(store, "b", all, [])
    yield* store.delete(first.id)
    yield* turnsKept(store, "a", all, ["t1", "t2"])
    equal(yield* wayTo(store, third.head), ["t1", "t2"], "the way to the branch")
  }),
  make("deleting a branch does not change its parent", function* (store) {
    const parent = yield* said(store, yield* created(store, session("p")), ...all)
    yield* said(store, yield* forked(store, parent, "b", ref("p", "t2")), ...all)
    yield* store.delete(sessionId("b"))
    yield* turnsKept(store, "p", all, all)
    yield* turnsKept(store, "b", all, [])
    equal(yield* wayTo(store, (yield* said(store, parent, "t6")).head), [...all, "t6"], "it goes on")
  }),
  make("the id of a deleted session stays taken while its turns are needed", function* (store) {
    const parent = yield* said(store, yield* created(store, session("p")), ...all)
    yield* forked(store, parent, "b", ref("p", "t2"))
    yield* store.delete(parent.id)
    yield* conflicts(store.create({ session: session("p") }), "the id while a branch needs its turns")
    equal(Option.isNone(yield* store.load(parent.id)), true, "there is no session of that id")
    yield* turnsKept(store, "p", all, ["t1", "t2"])
    const turns = turnsOf(parent, ["t6"])
    yield* conflicts(store.append({ session: behind(parent, turns), turns }), "turns for it")
    yield* store.delete(sessionId("b"))
    const again = yield* created(store, session("p"))
    yield* turnsKept(store, "p", all, [])
    equal(yield* wayTo(store, (yield* said(store, again, "t9")).head), ["t9"], "its turns")
  }),
  make("a branch can begin at a remaining turn but not at a deleted one", function* (store) {
    const parent = yield* said(store, yield* created(store, session("p")), ...all)
    const turn = (id: string) => Effect.map(store.turn(ref("p", id)), (found) => some(found, id))
    const [second, fourth] = [yield* turn("t2"), yield* turn("t4")]
    const fork = yield* forked(store, parent, "b", ref("p", "t3"))
    yield* store.delete(parent.id)
    yield* conflicts(store.create({ session: branch("c", parent, fourth) }), "a branch at a turn that is gone")
    equal(Option.isNone(yield* store.load(sessionId("c"))), true, "it is not kept")
    yield* store.create({ session: branch("c", fork, second) })
    yield* store.delete(fork.id)
    yield* turnsKept(store, "p", all, ["t1", "t2"])
    yield* store.delete(sessionId("c"))
    yield* turnsKept(store, "p", all, [])
  }),
  make("exactly one of many concurrent deletions finds the session", function* (store) {
    const parent = yield* said(store, yield* created(store, session("p")), ...all)
    yield* forked(store, parent, "b", ref("p", "t2"))
    const found = yield* Effect.forEach(Array.from({ length: 16 }), () => store.delete(parent.id), {
      concurrency: "unbounded"
    })
    equal(found.filter((one) => one).length, 1, "how many found it")
    yield* turnsKept(store, "p", all, ["t1", "t2"])
  }),
  make("a concurrent fork and deletion leave nothing partial", function* (store) {
    for (let round = 0; round < 8; round++) {
      const [from, to] = [`p${round}`, `b${round}`]
      const parent = yield* said(store, yield* created(store, session(from)), ...all)
      const turn = some(yield* store.turn(ref(from, "t2")), "the turn")
      const fork = store.create({ session: branch(to, parent, turn) })
      const remove = store.delete(parent.id)
      const [made] = yield* Effect.all(
        round % 2 === 0
          ? [Effect.either(fork), Effect.either(remove)]
          : [Effect.either(fork), Effect.zipRight(Effect.yieldNow(), Effect.either(remove))],
        { concurrency: "unbounded" }
      )
      yield* turnsKept(store, from, all, made._tag === "Right" ? ["t1", "t2"] : [])
      equal(Option.isSome(yield* store.load(sessionId(to))), made._tag === "Right", "the branch is there")
      yield* store.delete(sessionId(to))
      yield* turnsKept(store, from, all, [])
    }
  }),
  make("deletes a session with ten thousand turns", function* (store) {
    let one = yield* created(store, session("s"))
    for (let at = 0; at < 50; at++) {
      const turns = turnsOf(
        one,
        Array.from({ length: 200 }, (_, index) => `t${at * 200 + index + 1}`)
      )
      const after = behind(one, turns)
      yield* store.append({ session: after, turns })
      one = after
    }
    yield* forked(store, one, "b", ref("s", "t7"))
    yield* store.delete(one.id)
    const some = ["t1", "t7", "t8", "t5000", "t10000"]
    yield* turnsKept(store, "s", some, ["t1", "t7"])
    yield* store.delete(sessionId("b"))
    yield* turnsKept(store, "s", some, [])
  })
]
