/**
 * Cases: sessions are created once and within their limits.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SessionStatus } from "../../session/turn/Session.js"
import { equal, sameMembers } from "../suite/SuiteAssert.js"
import { branch, checkpoint, checkpointId, hostileIds, ref, session, sessionId, userId } from "./SessionFixtures.js"
import {
  type Case,
  conflicts,
  created,
  forked,
  idsOf,
  isKept,
  make,
  refuses,
  said,
  saved,
  some,
  wayTo
} from "./SessionStoreCase.js"

const statuses: ReadonlyArray<SessionStatus> = ["active", "suspended", "closed", "expired"]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("finds nothing that was never stored", function* (store) {
    const nothing = sessionId("nothing")
    equal(Option.isNone(yield* store.load(nothing)), true, "no session")
    equal(Option.isNone(yield* store.turn(ref("nothing", "t"))), true, "no turn")
    equal(yield* store.turns(ref("nothing", "t"), { limit: 10 }), [], "turns on a way that is not there")
    equal(yield* store.list({ limit: 10 }), [], "all sessions")
    equal(yield* store.idle({ since: Number.MAX_SAFE_INTEGER, limit: 10 }), [], "idle sessions")
    equal(yield* store.expire({ since: Number.MAX_SAFE_INTEGER, at: 1, limit: 10 }), [], "sessions that expire")
    equal(Option.isNone(yield* store.checkpoint(checkpointId("c"))), true, "no checkpoint")
    equal(yield* store.checkpoints(nothing, { limit: 10 }), [], "checkpoints of no session")
    equal(Option.isNone(yield* store.lastMerge(nothing, nothing)), true, "no merge")
    equal(yield* store.deleteCheckpoint(checkpointId("c")), false, "deletion of no checkpoint")
    equal(yield* store.delete(nothing), false, "deletion of no session")
  }),
  make("reports health", function* (store) {
    yield* store.health
    equal(store.name.length > 0, true, "it has a name")
  }),
  make("loads a session as it was created", function* (store) {
    const one = session("s", { metadata: { a: 1 }, systemPrompt: "be brief" })
    const answer = yield* store.create({ session: one })
    equal(answer, { session: one, isNew: true }, "what is created")
    yield* isKept(store, one)
  }),
  make("stores the checkpoint that a session is created with", function* (store) {
    const one = session("s", { checkpointId: checkpointId("c") })
    const first = checkpoint("c", one)
    yield* store.create({ session: one, checkpoint: first })
    yield* isKept(store, one)
    equal(some(yield* store.checkpoint(checkpointId("c")), "the checkpoint"), first, "the checkpoint")
    equal(yield* store.checkpoints(sessionId("s"), { limit: 10 }), [first], "checkpoints of the session")
  }),
  make("creating an existing id returns the stored session and changes nothing", function* (store) {
    for (const status of statuses) {
      const first = yield* created(store, session(status, { metadata: { n: 1 } }))
      const kept = yield* saved(store, first, { status })
      const other = session(status, { userId: "bob", metadata: { n: 2 }, head: ref("nothing", "t") })
      const answer = yield* store.create({
        session: other,
        checkpoint: checkpoint(`c of ${status}`, other),
        limits: { perUser: 0, perParent: 0 }
      })
      equal(answer, { session: kept, isNew: false }, `creation of what is ${status}`)
      yield* isKept(store, kept)
      equal(Option.isNone(yield* store.checkpoint(checkpointId(`c of ${status}`))), true, "its checkpoint is not kept")
    }
    equal(yield* store.list({ userId: userId("bob"), limit: 10 }), [], "sessions of the second user")
  }),
  make("exactly one of many concurrent creations of one id succeeds", function* (store) {
    const answers = yield* Effect.forEach(
      Array.from({ length: 32 }, (_, at) => session("s", { metadata: { at } })),
      (one) => store.create({ session: one }),
      { concurrency: "unbounded" }
    )
    equal(answers.filter(({ isNew }) => isNew).length, 1, "how many were first")
    const first = answers.find(({ isNew }) => isNew)?.session
    for (const answer of answers) equal(answer.session, first, "what all are given")
    equal(yield* store.list({ limit: 100 }), [first], "all sessions")
  }),
  make("limits the live sessions of a user and counts no others", function* (store) {
    const limits = { perUser: 2 }
    for (const status of statuses) yield* created(store, session(status, { status }))
    yield* created(store, session("of bob", { userId: "bob" }))
    yield* created(store, session("of nobody", { userId: undefined }))
    yield* refuses(store.create({ session: session("third"), limits }), "a third live session")
    yield* store.create({ session: session("another of bob", { userId: "bob" }), limits })
    yield* saved(store, session("suspended", { status: "suspended" }), { status: "closed" })
    yield* store.create({ session: session("third"), limits })
    yield* refuses(store.create({ session: session("fourth"), limits }), "one more")
    yield* store.delete(sessionId("third"))
    yield* store.create({ session: session("fourth"), limits })
    yield* store.expire({ since: Number.MAX_SAFE_INTEGER, at: 1, limit: 1000 })
    yield* store.create({ session: session("fifth"), limits })
    yield* refuses(store.create({ session: session("sixth"), limits: { perUser: 0 } }), "a limit of none")
  }),
  make("does not limit sessions without a user", function* (store) {
    for (const id of ["a", "b", "c"]) {
      yield* store.create({ session: session(id, { userId: undefined }), limits: { perUser: 1 } })
    }
    sameMembers(idsOf(yield* store.list({ userId: null, limit: 10 })), ["a", "b", "c"], "sessions of nobody")
  }),
  make("limits the live branches of a session and counts no others", function* (store) {
    const limits = { perParent: 2 }
    for (const parent of ["p", "P"]) yield* created(store, session(parent))
    const of = (id: string, parentSessionId: string, status: SessionStatus = "active") =>
      session(id, { parentSessionId, rootSessionId: parentSessionId, status })
    for (const status of statuses) yield* created(store, of(status, "p", status))
    yield* refuses(store.create({ session: of("third", "p"), limits }), "a third live branch")
    yield* store.create({ session: of("of another", "P"), limits })
    yield* store.create({ session: session("of none"), limits })
    yield* saved(store, of("active", "p"), { status: "expired" })
    yield* store.create({ session: of("third", "p"), limits })
    yield* refuses(store.create({ session: of("fourth", "p"), limits }), "one more")
  }),
  make("does not limit sessions that are not live", function* (store) {
    for (const status of ["closed", "expired"] as const) {
      yield* store.create({
        session: session(status, { status, parentSessionId: "p", rootSessionId: "p" }),
        limits: { perUser: 0, perParent: 0 }
      })
    }
  }),
  make("a session rejected by a limit leaves nothing behind", function* (store) {
    const one = session("s", { checkpointId: checkpointId("c") })
    yield* refuses(
      store.create({ session: one, checkpoint: checkpoint("c", one), limits: { perUser: 0 } }),
      "a limit of none"
    )
    equal(Option.isNone(yield* store.load(sessionId("s"))), true, "the session is not kept")
    equal(Option.isNone(yield* store.checkpoint(checkpointId("c"))), true, "its checkpoint is not kept")
    equal(yield* store.list({ limit: 10 }), [], "all sessions")
    equal(yield* store.delete(sessionId("s")), false, "there is nothing to delete")
    yield* store.create({ session: one, checkpoint: checkpoint("c", one) })
  }),
  make("concurrent creations do not exceed the limit", function* (store) {
    const attempts = <A>(limits: { readonly perUser?: number; readonly perParent?: number }, of: (at: number) => A) =>
      Effect.forEach(
        Array.from({ length: 32 }, (_, at) => of(at)),
        (one) => Effect.either(store.create({ session: one as never, limits })),
        { concurrency: "unbounded" }
      )
    const ofUser = yield* attempts({ perUser: 5 }, (at) => session(`u${at}`))
    equal(ofUser.filter((one) => one._tag === "Right").length, 5, "how many the user has")
    equal((yield* store.list({ userId: userId("ann"), limit: 100 })).length, 5, "how many are kept")
    const parent = yield* created(store, session("p", { userId: "bob" }))
    const ofParent = yield* attempts({ perParent: 3 }, (at) =>
      session(`p${at}`, { userId: "bob", parentSessionId: parent.id, rootSessionId: parent.id })
    )
    equal(ofParent.filter((one) => one._tag === "Right").length, 3, "how many branches there are")
    equal((yield* store.list({ parentSessionId: parent.id, limit: 100 })).length, 3, "how many are kept")
  }),
  make("rejects a session whose first turn does not exist", function* (store) {
    const parent = yield* said(store, yield* created(store, session("p")), "t1", "t2")
    const turn = some(yield* store.turn(ref("p", "t2")), "the turn")
    for (const head of [ref("p", "t3"), ref("P", "t2"), ref("b", "t2")]) {
      yield* conflicts(
        store.create({ session: branch("b", parent, turn, { head }) }),
        `a branch at ${head.sessionId} ${head.turnId}`
      )
    }
    equal(Option.isNone(yield* store.load(sessionId("b"))), true, "nothing of it is kept")
    yield* store.create({ session: branch("b", parent, turn) })
  }),
  make("a branch begins with the turns of its parent", function* (store) {
    const parent = yield* said(store, yield* created(store, session("p")), "t1", "t2", "t3")
    const early = yield* forked(store, parent, "early", ref("p", "t2"))
    const late = yield* forked(store, parent, "late")
    yield* isKept(store, early)
    equal(yield* wayTo(store, early.head), ["t1", "t2"], "turns of the branch")
    equal(yield* wayTo(store, (yield* said(store, early, "t1")).head), ["t1", "t2", "t1"], "with one of its own")
    equal(yield* wayTo(store, late.head), ["t1", "t2", "t3"], "turns of the other branch")
    equal(yield* wayTo(store, parent.head), ["t1", "t2", "t3"], "turns of the parent")
  }),
  make("keeps similar ids of sessions, users, turns and checkpoints apart", function* (store) {
    for (const [at, id] of hostileIds.entries()) {
      const one = yield* created(store, session(id, { userId: id, metadata: { at }, createdAt: at, updatedAt: at }))
      const two = yield* said(store, one, id, `${id.slice(0, 200)} 2`)
      const three = { ...two, checkpointId: checkpointId(id), revision: two.revision + 1 }
      yield* store.save({ session: three, checkpoint: checkpoint(id, three, { metadata: { at } }) })
    }
    for (const [at, id] of hostileIds.entries()) {
      const shown = JSON.stringify(id.slice(0, 40))
      equal(some(yield* store.load(sessionId(id)), shown).metadata, { at }, `the session ${shown}`)
      equal(idsOf(yield* store.list({ userId: userId(id), limit: 10 })), [id], `sessions of the user ${shown}`)
      equal(idsOf(yield* store.list({ rootSessionId: sessionId(id), limit: 10 })), [id], `the tree of ${shown}`)
      equal(some(yield* store.turn(ref(id, id)), shown).content, `${id} of ${id}`, `the turn ${shown}`)
      equal((yield* wayTo(store, ref(id, `${id.slice(0, 200)} 2`))).length, 2, `turns of ${shown}`)
      equal(some(yield* store.checkpoint(checkpointId(id)), shown).metadata, { at }, `the checkpoint ${shown}`)
      equal(idsOf(yield* store.checkpoints(sessionId(id), { limit: 10 })), [id], `checkpoints of ${shown}`)
    }
    equal((yield* store.list({ limit: 1000 })).length, hostileIds.length, "all sessions")
    for (const [at, id] of hostileIds.entries()) {
      equal(yield* store.delete(sessionId(id)), true, `deletion of ${JSON.stringify(id.slice(0, 40))}`)
      sameMembers(idsOf(yield* store.list({ limit: 1000 })), hostileIds.slice(at + 1), "sessions that are left")
    }
  }),
  make("keeps ids that are not well-formed text apart, or rejects them", function* (store) {
    const ids = ["\ud800", "\udbff", "\udc00", "a\ud800", "\ufffd"]
    const taken = yield* Effect.filter(ids, (id) =>
      Effect.match(store.create({ session: session(id, { metadata: { id: JSON.stringify(id) } }) }), {
        onFailure: (error) => {
          equal(error._tag, "SessionStorageError", "the refusal")
          return false
        },
        onSuccess: ({ isNew }) => {
          equal(isNew, true, `${JSON.stringify(id)} is a session of its own`)
          return true
        }
      })
    )
    for (const id of taken) {
      equal(
        some(yield* store.load(sessionId(id)), JSON.stringify(id)).metadata,
        { id: JSON.stringify(id) },
        `the session ${JSON.stringify(id)}`
      )
    }
  })
]
