/**
 * Cases: an open exchange is kept beside the turns until it is answered, and found after its owner is gone.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { RunId, TurnId } from "../../domain/Ids.js"
import type { Exchange, NewTurn } from "../../session/turn/Session.js"
import type * as SessionStore from "../../session/turn/SessionStore.js"
import { equal } from "../suite/SuiteAssert.js"
import { behind, epoch, next, session, sessionId, turnsOf } from "./SessionFixtures.js"
import { type Case, conflicts, created, make, said, wayTo } from "./SessionStoreCase.js"

const run = (id: string): RunId => RunId.make(id)

const asked = (id: string, content: string): NewTurn => ({
  id: TurnId.make(id),
  role: "user",
  content,
  timestamp: epoch,
  toolCalls: [],
  skillResults: [],
  metadata: {},
  tokensUsed: 0,
  cost: 0
})

const exchange = (in_: string, runId: string, owner?: string | undefined, content = "question"): Exchange => ({
  sessionId: sessionId(in_),
  runId: run(runId),
  ...(owner === undefined ? {} : { owner }),
  turns: [asked(`${runId}:user`, content)]
})

const ref = (in_: string, runId: string): SessionStore.ExchangeRef => ({ sessionId: sessionId(in_), runId: run(runId) })

const kept = (store: SessionStore.Service, in_: string, runId: string) =>
  Effect.map(store.exchange(ref(in_, runId)), Option.getOrUndefined)

const orphans = (store: SessionStore.Service, at: number, limit = 100) =>
  Effect.map(store.orphans({ at, limit }), (found) => found.map((one) => `${one.sessionId} ${one.runId}`).sort())

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("stores an open exchange unchanged and apart from the turns", function* (store) {
    const one = yield* said(store, yield* created(store, session("s")), "t1")
    const given: Exchange = {
      ...exchange("s", "r", "me"),
      turns: [
        {
          ...asked("r:user", "\u0000 a \ud800 'b' 猫"),
          metadata: { __proto__x: 1, nested: [null, { a: 1 }] },
          model: "m",
          runId: run("r"),
          unanswered: "failed"
        },
        asked("r:user:1", "x".repeat(20_000))
      ]
    }
    yield* store.open(given)
    equal(yield* kept(store, "s", "r"), given, "the exchange")
    equal(yield* wayTo(store, one.head), ["t1"], "the turns")
    equal(Option.isNone(yield* store.turn({ sessionId: one.id, turnId: TurnId.make("r:user") })), true, "its turn")
    for (const [in_, of] of [
      ["s", "R"],
      ["S", "r"],
      ["t", "r"]
    ] as const) {
      equal(yield* kept(store, in_, of), undefined, `the exchange ${of} of ${in_}`)
    }
    yield* said(store, one, "t2")
    equal(yield* kept(store, "s", "r"), given, "the exchange, with another turn")
  }),
  make("opens an exchange only in an existing session", function* (store) {
    yield* conflicts(store.open(exchange("s", "r", "me")), "there is no session")
    const one = yield* created(store, session("s"))
    yield* store.delete(one.id)
    yield* conflicts(store.open(exchange("s", "r", "me")), "the session is deleted")
    equal(yield* kept(store, "s", "r"), undefined, "the exchange")
    yield* store.lease({ owner: "me", until: epoch })
    equal(yield* orphans(store, epoch), [], "orphans")
  }),
  make("a run has one open exchange in a session: the last one opened", function* (store) {
    yield* created(store, session("s"))
    yield* store.open(exchange("s", "r", "me", "first"))
    yield* store.lease({ owner: "me", until: epoch })
    yield* store.lease({ owner: "you", until: epoch + 10 })
    yield* store.open(exchange("s", "r", "you", "second"))
    equal(yield* kept(store, "s", "r"), exchange("s", "r", "you", "second"), "the exchange")
    equal(yield* orphans(store, epoch), [], "orphans of the first owner")
    equal(yield* orphans(store, epoch + 10), ["s r"], "orphans of the second")
    yield* store.open(exchange("s", "r"))
    equal(yield* orphans(store, epoch + 1000), [], "orphans, where it has no owner")
    equal(yield* kept(store, "s", "r"), exchange("s", "r"), "the exchange without an owner")
  }),
  make("turns close an exchange atomically", function* (store) {
    const one = yield* created(store, session("s"))
    yield* store.open(exchange("s", "r1", "me"))
    yield* store.open(exchange("s", "r2", "me"))
    const turns = turnsOf(one, ["t1", "t2"])
    const after = behind(one, turns)
    yield* conflicts(
      store.append({ session: { ...after, revision: after.revision + 1 }, turns, closes: run("r1") }),
      "a stale one"
    )
    equal(yield* kept(store, "s", "r1"), exchange("s", "r1", "me"), "the exchange, after a write that was refused")
    equal(yield* store.append({ session: after, turns, closes: run("r1") }), [], "turns that were known")
    equal(yield* wayTo(store, after.head), ["t1", "t2"], "the turns")
    equal(yield* kept(store, "s", "r1"), undefined, "the exchange that was closed")
    equal(yield* kept(store, "s", "r2"), exchange("s", "r2", "me"), "the other one")
    const more = turnsOf(after, ["t3"])
    equal(
      yield* store.append({ session: behind(after, more), turns: more, closes: run("r1") }),
      [],
      "an exchange that is closed already"
    )
    const last = behind(after, more)
    const again = turnsOf(last, ["t3"])
    const known = yield* store.append({ session: behind(last, again), turns: again, closes: run("r2") })
    equal(known.length, 1, "turns that were known")
    equal(yield* kept(store, "s", "r2"), exchange("s", "r2", "me"), "the exchange, where nothing was written")
    yield* store.lease({ owner: "me", until: epoch })
    equal(yield* orphans(store, epoch), ["s r2"], "orphans")
  }),
  make("turns with a new state close an exchange too", function* (store) {
    const one = yield* created(store, session("s"))
    yield* store.open(exchange("s", "r", "me"))
    const turns = turnsOf(one, ["t1"])
    const after = { ...behind(one, turns), variables: { a: 1 } }
    yield* store.append({ session: after, turns, isStateChanged: true, closes: run("r") })
    equal(yield* kept(store, "s", "r"), undefined, "the exchange")
  }),
  make("a withdrawn exchange leaves nothing behind", function* (store) {
    const one = yield* created(store, session("s"))
    yield* store.open(exchange("s", "r", "me"))
    equal(yield* store.withdraw(ref("s", "R")), false, "another run")
    equal(yield* store.withdraw(ref("s", "r")), true, "the run")
    equal(yield* store.withdraw(ref("s", "r")), false, "the run once more")
    equal(yield* kept(store, "s", "r"), undefined, "the exchange")
    yield* store.lease({ owner: "me", until: epoch })
    equal(yield* orphans(store, epoch), [], "orphans")
    equal(yield* wayTo(store, (yield* said(store, one, "t1")).head), ["t1"], "the session goes on")
  }),
  make("deleting a session deletes its exchanges", function* (store) {
    const one = yield* created(store, session("s"))
    const other = yield* created(store, session("s2"))
    yield* store.open(exchange("s", "r", "me"))
    yield* store.open(exchange("s2", "r", "me"))
    yield* store.delete(one.id)
    yield* created(store, session("s"))
    equal(yield* kept(store, "s", "r"), undefined, "the exchange of the deleted session")
    yield* store.lease({ owner: "me", until: epoch })
    equal(yield* orphans(store, epoch), [`${other.id} r`], "orphans")
  }),
  make("orphans are the open exchanges of owners whose lease has ended", function* (store) {
    for (const id of ["a", "b", "c"]) yield* created(store, session(id))
    yield* store.lease({ owner: "dead", until: epoch })
    yield* store.lease({ owner: "alive", until: epoch + 60_000 })
    yield* store.open(exchange("a", "r1", "dead"))
    yield* store.open(exchange("b", "r2", "dead"))
    yield* store.open(exchange("a", "r3", "alive"))
    yield* store.open(exchange("b", "r4"))
    yield* store.open(exchange("c", "r5", "Dead"))
    equal(yield* orphans(store, epoch - 1), ["c r5"], "before the lease ends, those of one that never had any")
    equal(yield* orphans(store, epoch), ["a r1", "b r2", "c r5"], "when it has ended")
    equal(yield* orphans(store, epoch + 59_999), ["a r1", "b r2", "c r5"], "as long as the other lasts")
    equal(yield* orphans(store, epoch + 60_000), ["a r1", "a r3", "b r2", "c r5"], "when both have ended")
    yield* store.lease({ owner: "dead", until: epoch + 70_000 })
    equal(yield* orphans(store, epoch + 65_000), ["a r3", "c r5"], "when the first is renewed")
    yield* store.lease({ owner: "alive", until: 0 })
    equal(yield* orphans(store, epoch), ["a r3", "c r5"], "when the second is given up")
    const [one] = yield* store.orphans({ at: epoch + 70_000, limit: 1 })
    equal(["a r3", "c r5"].includes(`${one?.sessionId} ${one?.runId}`), true, "the first ended comes first")
    equal(yield* orphans(store, epoch + 70_000, 0), [], "none are asked for")
    equal((yield* orphans(store, epoch + 70_000, 3)).length, 3, "three are asked for")
  }),
  make("ended leases without exchanges do not hide others", function* (store) {
    yield* created(store, session("s"))
    for (let n = 0; n < 7; n++) yield* store.lease({ owner: `idle ${n}`, until: epoch - 100 + n })
    yield* store.lease({ owner: "dead", until: epoch })
    yield* store.open(exchange("s", "r", "dead"))
    equal(yield* orphans(store, epoch, 2), ["s r"], "by pages of two")
    // A forgotten owner may return.
    yield* store.lease({ owner: "idle 3", until: epoch + 10 })
    yield* store.open(exchange("s", "r3", "idle 3"))
    equal(yield* orphans(store, epoch), ["s r"], "while it lasts")
    equal(yield* orphans(store, epoch + 10), ["s r", "s r3"], "when it has ended again")
  }),
  make("concurrent openings and closings all take effect", function* (store) {
    const one = yield* created(store, session("s"))
    const names = Array.from({ length: 20 }, (_, n) => `r${n}`)
    yield* Effect.forEach(names, (name) => store.open(exchange("s", name, "me", name)), {
      concurrency: "unbounded",
      discard: true
    })
    yield* store.save({ session: next(one, { metadata: { a: 1 } }) })
    const done = yield* Effect.forEach(names.slice(0, 10), (name) => store.withdraw(ref("s", name)), {
      concurrency: "unbounded"
    })
    equal(done, new Array(10).fill(true), "withdrawn")
    yield* store.lease({ owner: "me", until: epoch })
    equal(
      yield* orphans(store, epoch),
      names
        .slice(10)
        .map((name) => `s ${name}`)
        .sort(),
      "what is left"
    )
  })
]
