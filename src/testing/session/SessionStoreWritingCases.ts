/**
 * Cases: writes are atomic, and concurrent writers do not overwrite each other.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Session } from "../../session/turn/Session.js"
import type * as SessionStore from "../../session/turn/SessionStore.js"
import { equal, failure, sameMembers } from "../suite/SuiteAssert.js"
import {
  behind,
  checkpoint,
  checkpointId,
  epoch,
  next,
  ref,
  refOf,
  session,
  sessionId,
  turnsOf,
  userId
} from "./SessionFixtures.js"
import {
  type Case,
  checkpointed,
  conflicts,
  created,
  forked,
  idsOf,
  isKept,
  make,
  refuses,
  restored,
  retried,
  said,
  saved,
  some,
  wayTo
} from "./SessionStoreCase.js"

const noCheckpoints = (store: SessionStore.Service, id: string, ...ids: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    equal(yield* store.checkpoints(sessionId(id), { limit: 10 }), [], `checkpoints of ${id}`)
    for (const one of ids) {
      equal(Option.isNone(yield* store.checkpoint(checkpointId(one))), true, `the checkpoint ${one} is not kept`)
    }
  })

/** A write based on any other revision changes nothing. */
const others = (one: Session): ReadonlyArray<Session> =>
  [-1, 1, 2].map((by) => ({ ...next(one, { status: "closed" }), revision: one.revision + 1 + by }))

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("turns with a new state are written atomically", function* (store) {
    const one = yield* created(store, session("s", { variables: { a: 1, b: 1 }, systemPrompt: "old" }))
    const turns = turnsOf(one, ["t1"])
    const { systemPrompt: _, ...bare } = behind(one, turns)
    const after: Session = { ...bare, variables: { b: 2, c: [3] }, metadata: { m: 1 }, activeTools: ["t"] }
    equal(yield* store.append({ session: after, turns, isStateChanged: true }), [], "turns that were known")
    yield* isKept(store, after)
    const again = turnsOf(after, ["t1"])
    const other: Session = { ...behind(after, again), variables: { z: 1 } }
    equal(
      (yield* store.append({ session: other, turns: again, isStateChanged: true })).length,
      1,
      "turns that were known"
    )
    yield* conflicts(
      store.append({ session: { ...other, revision: 9 }, turns: again, isStateChanged: true }),
      "a stale one"
    )
    yield* isKept(store, after)
  }),
  make("saving replaces the session", function* (store) {
    const one = yield* created(
      store,
      session("s", { metadata: { a: 1, b: 2 }, systemPrompt: "old", variables: { x: 1 }, activeTools: ["a"] })
    )
    const two = yield* saved(store, one, {
      status: "suspended",
      metadata: { b: 3 },
      systemPrompt: undefined,
      variables: { y: [1, { z: null }] },
      activeTools: [],
      activeSkills: ["s"],
      cuts: [{ after: 0, before: 7 }],
      updatedAt: epoch + 5,
      checkpointId: checkpointId("elsewhere")
    })
    yield* isKept(store, two)
    yield* isKept(store, yield* saved(store, two, { checkpointId: undefined, status: "closed" }))
  }),
  make("saving a session does not change its turns", function* (store) {
    const one = yield* said(store, yield* created(store, session("s")), "t1", "t2")
    const two = yield* saved(store, one, { variables: { a: 1 } })
    equal(yield* wayTo(store, two.head), ["t1", "t2"], "turns")
    equal(yield* wayTo(store, (yield* said(store, two, "t3")).head), ["t1", "t2", "t3"], "with one more")
  }),
  make("rejects a save based on another revision and writes nothing", function* (store) {
    const one = yield* saved(store, yield* created(store, session("s")), { variables: { n: 1 } })
    for (const other of others(one)) {
      yield* conflicts(store.save({ session: other, checkpoint: checkpoint("c", other) }), `revision ${other.revision}`)
    }
    yield* isKept(store, one)
    yield* noCheckpoints(store, "s", "c")
    equal(idsOf(yield* store.list({ statuses: ["active"], limit: 10 })), ["s"], "active sessions")
    equal(yield* store.list({ statuses: ["closed"], limit: 10 }), [], "closed sessions")
  }),
  make("rejects turns based on another revision and writes nothing", function* (store) {
    const one = yield* said(store, yield* created(store, session("s")), "t1")
    const turns = turnsOf(one, ["t2"])
    for (const by of [-1, 1]) {
      const other = { ...behind(one, turns), revision: one.revision + 1 + by }
      yield* conflicts(
        store.append({ session: other, turns, checkpoint: checkpoint("c", other) }),
        `revision ${other.revision}`
      )
    }
    yield* isKept(store, one)
    equal(Option.isNone(yield* store.turn(ref("s", "t2"))), true, "the turn is not kept")
    yield* noCheckpoints(store, "s", "c")
    yield* said(store, one, "t2")
  }),
  make("does not write to a session that does not exist", function* (store) {
    const one = session("s")
    const turns = turnsOf(one, ["t1"])
    const after = behind(one, turns)
    yield* conflicts(store.save({ session: next(one), checkpoint: checkpoint("c", one) }), "save")
    yield* conflicts(store.append({ session: after, turns, checkpoint: checkpoint("c", after) }), "append")
    equal(Option.isNone(yield* store.load(sessionId("s"))), true, "no session")
    equal(Option.isNone(yield* store.turn(ref("s", "t1"))), true, "no turn")
    yield* noCheckpoints(store, "s", "c")
  }),
  make("concurrent saves each win one revision", function* (store) {
    yield* created(store, session("s"))
    const before = yield* Effect.forEach(
      Array.from({ length: 24 }, (_, at) => `w${at}`),
      (name) =>
        retried(store, "s", (found) =>
          store.save({ session: next(found, { variables: { ...found.variables, [name]: found.revision } }) })
        ),
      { concurrency: "unbounded" }
    )
    const revisions = before.map(({ revision }) => revision).sort((a, b) => a - b)
    equal(
      revisions,
      revisions.map((_, at) => at),
      "the revisions that were gone on from"
    )
    const after = some(yield* store.load(sessionId("s")), "the session")
    equal(after.revision, 24, "its revision")
    equal(Object.keys(after.variables).length, 24, "how many have written")
  }),
  make("keeps the turns of all concurrent writers in sequence", function* (store) {
    yield* created(store, session("s"))
    const ids = Array.from({ length: 8 }, (_, writer) => Array.from({ length: 10 }, (_, at) => `w${writer}-${at}`))
    yield* Effect.forEach(
      ids,
      (own) =>
        Effect.forEach(own, (id) =>
          retried(store, "s", (found) => {
            const turns = turnsOf(found, [id])
            return store.append({ session: behind(found, turns), turns })
          })
        ),
      { concurrency: "unbounded" }
    )
    const after = some(yield* store.load(sessionId("s")), "the session")
    equal([after.depth, after.totalTokens, after.revision], [80, 80, 80], "depth, tokens and revision")
    const turns = yield* store.turns(after.head ?? ref("s", "none"), { limit: 1000 })
    sameMembers(idsOf(turns), ids.flat(), "all turns")
    equal(
      turns.map(({ depth }) => depth),
      turns.map((_, at) => at + 1),
      "their depths"
    )
    for (const [at, one] of turns.entries()) {
      const parent = turns[at - 1]
      equal(one.parent, parent === undefined ? undefined : refOf(parent), `the parent of turn ${at}`)
    }
  }),
  make("appending moves the session and stores all turns", function* (store) {
    const one = yield* created(store, session("s", { metadata: { a: 1 }, systemPrompt: "p", variables: { b: [2] } }))
    const turns = turnsOf(one, ["t1", "t2", "t3"])
    const after = behind(one, turns)
    equal(yield* store.append({ session: after, turns }), [], "turns that were known")
    yield* isKept(store, after)
    for (const turn of turns) equal(some(yield* store.turn(refOf(turn)), turn.id), turn, `the turn ${turn.id}`)
    equal(yield* store.turns(ref("s", "t3"), { limit: 10 }), turns, "the turns on the way")
  }),
  make("returns a known turn as stored and writes nothing", function* (store) {
    const one = yield* said(store, yield* created(store, session("s")), "t1", "t2")
    const kept = yield* store.turns(ref("s", "t2"), { limit: 10 })
    for (const ids of [["t1"], ["t2"], ["t3", "t1"], ["t2", "t3", "t1"]]) {
      const turns = turnsOf(one, ids).map((turn) => ({ ...turn, content: "another" }))
      const after = behind(one, turns)
      const known = yield* store.append({ session: after, turns, checkpoint: checkpoint("c", after) })
      const expected = ids.flatMap((id) => kept.filter((turn) => turn.id === id))
      equal(known, expected, `${ids} that were known`)
    }
    yield* isKept(store, one)
    equal(yield* store.turns(ref("s", "t2"), { limit: 10 }), kept, "the turns")
    equal(Option.isNone(yield* store.turn(ref("s", "t3"))), true, "the turn beside them is not kept")
    yield* noCheckpoints(store, "s", "c")
  }),
  make("recognizes an abandoned turn too", function* (store) {
    const one = yield* checkpointed(store, yield* said(store, yield* created(store, session("s")), "t1"), "c")
    const back = yield* restored(store, yield* said(store, one, "t2"), "c")
    const left = some(yield* store.turn(ref("s", "t2")), "the turn left behind")
    const turns = turnsOf(back, ["t2"]).map((turn) => ({ ...turn, content: "another" }))
    equal(yield* store.append({ session: behind(back, turns), turns }), [left], "what was known")
    yield* isKept(store, back)
  }),
  make("checks the revision before the turns", function* (store) {
    const one = yield* said(store, yield* created(store, session("s")), "t1")
    const turns = turnsOf(one, ["t1"])
    yield* conflicts(store.append({ session: one, turns }), "a known turn from an old revision")
  }),
  make("a session and its branches can use the same turn ids", function* (store) {
    const one = yield* said(store, yield* created(store, session("one")), "t1", "t2")
    const two = yield* said(store, yield* created(store, session("two")), "t1", "t2")
    const fork = yield* said(store, yield* forked(store, one, "fork", ref("one", "t1")), "t1", "t2")
    const contents = (head: Session["head"]) =>
      Effect.map(store.turns(head ?? ref("none", "none"), { limit: 10 }), (turns) => turns.map((turn) => turn.content))
    equal(yield* contents(one.head), ["t1 of one", "t2 of one"], "turns of the first")
    equal(yield* contents(two.head), ["t1 of two", "t2 of two"], "turns of the second")
    equal(yield* contents(fork.head), ["t1 of one", "t1 of fork", "t2 of fork"], "turns of the branch")
  }),
  make("writes turns and their checkpoint atomically", function* (store) {
    const one = yield* created(store, session("s"))
    const turns = turnsOf(one, ["t1"])
    const after = { ...behind(one, turns), checkpointId: checkpointId("c1") }
    const first = checkpoint("c1", after, { kind: "auto" })
    yield* store.append({ session: after, turns, checkpoint: first })
    yield* isKept(store, after)
    equal(yield* store.checkpoints(sessionId("s"), { limit: 10 }), [first], "checkpoints")
    const more = turnsOf(after, ["t2"])
    const last = { ...behind(after, more), checkpointId: checkpointId("c2") }
    const second = checkpoint("c2", last, { kind: "auto" })
    yield* store.append({ session: last, turns: more, checkpoint: second, keepCheckpoints: 1 })
    equal(yield* store.checkpoints(sessionId("s"), { limit: 10 }), [second], "checkpoints of which one stays")
    equal(Option.isNone(yield* store.checkpoint(checkpointId("c1"))), true, "the first one is gone")
    yield* isKept(store, last)
  }),
  make("rejects a checkpoint with a taken id and writes nothing", function* (store) {
    const one = yield* checkpointed(store, yield* created(store, session("s")), "c", { name: "the first" })
    const other = yield* created(store, session("other", { userId: "bob" }))
    const first = some(yield* store.checkpoint(checkpointId("c")), "the checkpoint")
    const refused = (effect: Effect.Effect<unknown, { readonly _tag: string }>, what: string) =>
      Effect.map(failure(effect, what), (error) => equal(error._tag, "SessionStorageError", what))
    for (const each of [one, other]) {
      const after = next(each, { status: "closed" })
      yield* refused(store.save({ session: after, checkpoint: checkpoint("c", after) }), "save")
      const turns = turnsOf(each, ["t1"])
      const moved = behind(each, turns)
      yield* refused(store.append({ session: moved, turns, checkpoint: checkpoint("c", moved) }), "append")
      yield* isKept(store, each)
      equal(Option.isNone(yield* store.turn(ref(each.id, "t1"))), true, "the turn is not kept")
    }
    yield* refused(store.create({ session: session("new"), checkpoint: checkpoint("c", session("new")) }), "create")
    equal(Option.isNone(yield* store.load(sessionId("new"))), true, "the session is not kept")
    equal(some(yield* store.checkpoint(checkpointId("c")), "the checkpoint"), first, "the checkpoint")
    equal(yield* store.checkpoints(sessionId("other"), { limit: 10 }), [], "checkpoints of the other session")
  }),
  make("limits a session that becomes live again but not a live one", function* (store) {
    const one = yield* created(store, session("one", { status: "closed" }))
    const two = yield* created(store, session("two"))
    const limits = { perUser: 1 }
    const reopened = next(one, { status: "active" })
    yield* refuses(store.save({ session: reopened, checkpoint: checkpoint("c", reopened), limits }), "a second one")
    yield* isKept(store, one)
    yield* noCheckpoints(store, "one", "c")
    yield* store.save({ session: next(two, { status: "suspended" }), limits })
    yield* saved(store, next(two, { status: "suspended" }), { status: "closed" })
    yield* store.save({ session: reopened, limits })
    yield* isKept(store, reopened)
  }),
  make("limits a live session given to a user and lists it for that user only", function* (store) {
    const one = yield* created(store, session("one", { userId: undefined }))
    const two = yield* created(store, session("two"))
    const limits = { perUser: 1, perParent: 0 }
    const given = next(one, { userId: userId("ann") })
    yield* refuses(store.save({ session: given, limits }), "a second one")
    yield* isKept(store, one)
    yield* saved(store, two, { status: "closed" })
    yield* store.save({ session: given, limits })
    yield* isKept(store, given)
    const ids = (of: string | null) =>
      Effect.map(store.list({ userId: of === null ? null : userId(of), statuses: ["active"], limit: 10 }), (sessions) =>
        sessions.map((one) => one.id)
      )
    equal(yield* ids("ann"), ["one"], "sessions of the user")
    equal(yield* ids(null), [], "sessions of nobody")
    yield* refuses(store.create({ session: session("three"), limits: { perUser: 1 } }), "it counts")
  }),
  make("concurrent reactivations do not exceed the limit", function* (store) {
    const closed = yield* Effect.forEach(
      Array.from({ length: 16 }, (_, at) =>
        session(`s${at}`, { status: "closed", parentSessionId: "p", rootSessionId: "p" })
      ),
      (one) => created(store, one)
    )
    for (const [limits, count] of [
      [{ perParent: 3 }, 3],
      [{ perUser: 7 }, 7]
    ] as const) {
      yield* Effect.forEach(
        closed,
        (one) =>
          Effect.flatMap(store.load(one.id), (found) => {
            const now = some(found, one.id)
            return now.status === "active"
              ? Effect.void
              : Effect.either(store.save({ session: next(now, { status: "active" }), limits }))
          }),
        { concurrency: "unbounded" }
      )
      const live = yield* store.list({ userId: userId("ann"), statuses: ["active"], limit: 100 })
      equal(live.length, count, `live sessions within ${JSON.stringify(limits)}`)
    }
  })
]
