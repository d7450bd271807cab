/**
 * Cases: lists contain the matching sessions in order, page by page, and idle sessions expire once.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import type { Session, SessionStatus } from "../../session/turn/Session.js"
import type * as SessionStore from "../../session/turn/SessionStore.js"
import { equal, holds, sameMembers } from "../suite/SuiteAssert.js"
import { epoch, hostileIds, next, session, sessionId, userId } from "./SessionFixtures.js"
import { type Case, conflicts, created, idsOf, isKept, make, said, saved, some } from "./SessionStoreCase.js"

type Query = Omit<SessionStore.ListOptions, "limit" | "after">

const listed = (store: SessionStore.Service, options: Query = {}, limit = 1000) =>
  Effect.map(store.list({ ...options, limit }), idsOf)

const byPlace = (order: "created" | "updated") => {
  const timeOf = (one: Session) => (order === "created" ? one.createdAt : one.updatedAt)
  return (a: Session, b: Session): number => timeOf(a) - timeOf(b) || (a.id < b.id ? -1 : 1)
}

/** Written from the contract. */
const expected = (all: ReadonlyArray<Session>, query: Query): ReadonlyArray<string> =>
  idsOf(
    all
      .filter(
        (one) =>
          (query.userId === undefined || (one.userId ?? null) === query.userId) &&
          (query.statuses === undefined || query.statuses.includes(one.status)) &&
          (query.parentSessionId === undefined || one.parentSessionId === query.parentSessionId) &&
          (query.rootSessionId === undefined || (one.rootSessionId ?? one.id) === query.rootSessionId)
      )
      .sort(byPlace(query.order ?? "created"))
      .reverse()
  )

const statuses: ReadonlyArray<SessionStatus> = ["active", "suspended", "closed", "expired"]

/** Sessions of every kind with many equal times, created in no order. */
const many = Effect.fnUntraced(function* (store: SessionStore.Service, count: number) {
  const all = Array.from({ length: count }, (_, at): Session => {
    const place = (at * 37) % count
    const root = place % 5 === 0 ? undefined : `s${place - (place % 5)}`
    return session(`s${place}`, {
      userId: [undefined, "ann", "bob"][place % 3],
      status: statuses[place % 4] ?? "active",
      createdAt: epoch + Math.floor(place / 7),
      updatedAt: epoch + ((place * 5) % 11),
      ...(root === undefined
        ? undefined
        : { rootSessionId: root, parentSessionId: place % 5 < 3 ? root : `s${place - 1}` })
    })
  })
  for (const one of all) yield* created(store, one)
  return all
})

const paged = Effect.fnUntraced(function* (store: SessionStore.Service, query: Query, limit: number) {
  const found: Array<Session> = []
  let after: SessionStore.Cursor | undefined
  for (;;) {
    const page: ReadonlyArray<Session> = yield* store.list({ ...query, limit, after })
    found.push(...page)
    const last = page[page.length - 1]
    holds(found.length <= 1000, "pages come to an end", found.length)
    if (last === undefined || page.length < limit) return idsOf(found)
    after = { at: query.order === "updated" ? last.updatedAt : last.createdAt, id: last.id }
  }
})

const idle = (store: SessionStore.Service, since: number, limit = 100, after?: SessionStore.Cursor) =>
  Effect.map(store.idle({ since, limit, after }), idsOf)

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("lists the newest sessions first, and equal times by descending id", function* (store) {
    const ids = ["b", "a", "é", "B", "aa", "Z", "10", "9", "\u{1f600}", "\uffee"]
    const all = ids.map((id, at) => session(id, { createdAt: epoch + (at % 2), updatedAt: epoch - (at % 3) }))
    for (const one of all) yield* created(store, one)
    for (const order of ["created", "updated"] as const) {
      equal(yield* listed(store, { order }), expected(all, { order }), `by when they were ${order}`)
    }
    equal((yield* listed(store)).slice(0, 3), ["\uffee", "a", "Z"], "the newest ones")
  }),
  make("lists the sessions that match all filters", function* (store) {
    const all = yield* many(store, 60)
    const users = [undefined, null, userId("ann"), userId("bob"), userId("nobody else")]
    const chosen: ReadonlyArray<ReadonlyArray<SessionStatus> | undefined> = [
      undefined,
      ["active"],
      ["suspended", "expired"],
      ["closed", "active", "closed"],
      []
    ]
    const trees = [
      {},
      { rootSessionId: sessionId("s10") },
      { parentSessionId: sessionId("s10") },
      { parentSessionId: sessionId("s13") },
      { rootSessionId: sessionId("s10"), parentSessionId: sessionId("s13") },
      { rootSessionId: sessionId("s15"), parentSessionId: sessionId("s13") },
      { rootSessionId: sessionId("nothing") }
    ]
    for (const order of [undefined, "created", "updated"] as const) {
      for (const user of users) {
        for (const status of chosen) {
          for (const tree of trees) {
            const query: Query = { order, userId: user, statuses: status, ...tree }
            equal(yield* listed(store, query), expected(all, query), `sessions of ${JSON.stringify(query)}`)
          }
        }
      }
    }
  }),
  make("pages together contain everything once", function* (store) {
    const all = yield* many(store, 45)
    for (const order of ["created", "updated"] as const) {
      for (const query of [
        { order },
        { order, userId: userId("ann") },
        { order, statuses: ["active", "closed"] as const },
        { order, rootSessionId: sessionId("s10") }
      ]) {
        for (const limit of [1, 4, 45]) {
          equal(
            yield* paged(store, query, limit),
            expected(all, query),
            `pages of ${limit} of ${JSON.stringify(query)}`
          )
        }
      }
    }
    equal(yield* listed(store, {}, 0), [], "a page of none")
    equal(
      yield* store.list({ limit: 10, after: { at: epoch - 1, id: sessionId("z") } }),
      [],
      "what comes behind the last"
    )
  }),
  make("pages by creation miss nothing that changes in between", function* (store) {
    const all = yield* many(store, 20)
    const found: Array<string> = []
    let after: SessionStore.Cursor | undefined
    for (let at = 0; ; at++) {
      const page: ReadonlyArray<Session> = yield* store.list({ limit: 3, after })
      found.push(...idsOf(page))
      const last = page[page.length - 1]
      holds(at < 100, "pages come to an end", at)
      if (last === undefined) break
      after = { at: last.createdAt, id: last.id }
      for (const one of all.slice(at, at + 3)) {
        const now = some(yield* store.load(one.id), one.id)
        yield* saved(store, now, { updatedAt: epoch + 100 + at, status: "closed" })
      }
      yield* created(store, session(`new ${at}`, { createdAt: epoch + 100 + at }))
      if (at === 2) yield* store.delete(last.id)
    }
    equal(found, expected(all, {}), "the sessions that were there when the first page was read")
  }),
  make("lists reflect every write", function* (store) {
    const one = yield* created(store, session("one"))
    const two = yield* created(store, session("two", { createdAt: epoch + 1, updatedAt: epoch + 1 }))
    equal(yield* listed(store, { order: "updated" }), ["two", "one"], "at first")
    const said1 = yield* said(store, one, "t1", "t2", "t3")
    equal(yield* listed(store, { order: "updated" }), ["one", "two"], "after turns were added to the older")
    equal(yield* store.list({ limit: 1, order: "updated" }), [said1], "it is given as it is now")
    const closed = yield* saved(store, two, { status: "closed", updatedAt: epoch + 9 })
    equal(yield* listed(store, { order: "updated" }), ["two", "one"], "after the younger was closed")
    equal(yield* listed(store, { statuses: ["active"] }), ["one"], "those that are active")
    equal(yield* store.list({ limit: 10, statuses: ["closed"] }), [closed], "those that are closed")
    yield* store.delete(one.id)
    equal(yield* listed(store, { order: "updated", userId: userId("ann") }), ["two"], "after one was deleted")
  }),
  make("never lists sessions of another user", function* (store) {
    for (const [at, user] of hostileIds.entries()) {
      yield* created(store, session(`a${at}`, { userId: user }))
      yield* created(store, session(`b${at}`, { userId: user, status: "closed" }))
    }
    yield* created(store, session("of nobody", { userId: undefined }))
    for (const [at, user] of hostileIds.entries()) {
      const shown = JSON.stringify(user.slice(0, 40))
      equal(yield* listed(store, { userId: userId(user) }), [`b${at}`, `a${at}`], `sessions of ${shown}`)
      equal(yield* listed(store, { userId: userId(user), statuses: ["active"] }), [`a${at}`], `live ones of ${shown}`)
    }
    equal(yield* listed(store, { userId: null }), ["of nobody"], "sessions of nobody")
    equal(
      yield* listed(store, { userId: userId("null") }),
      [`b${hostileIds.indexOf("null")}`, `a${hostileIds.indexOf("null")}`],
      "sessions of null"
    )
    equal((yield* listed(store)).length, 2 * hostileIds.length + 1, "sessions of everybody")
  }),
  make("idle sessions are live and unchanged since, longest first", function* (store) {
    for (const [at, status] of statuses.entries()) {
      for (const minute of [1, 2, 3]) {
        yield* created(
          store,
          session(`${status}${minute}`, {
            status,
            updatedAt: epoch + minute,
            userId: ["ann", "bob", undefined][at % 3]
          })
        )
      }
    }
    const all = ["active1", "suspended1", "active2", "suspended2", "active3", "suspended3"]
    equal(yield* idle(store, epoch + 3), all, "all of them")
    equal(yield* idle(store, epoch + 2), all.slice(0, 4), "those not changed since the second minute")
    equal(yield* idle(store, epoch), [], "those not changed before")
    equal(yield* idle(store, epoch + 3, 3), all.slice(0, 3), "the first three")
    equal(yield* idle(store, epoch + 3, 0), [], "none")
    for (const [at, id] of all.entries()) {
      const after = { at: epoch + Number(id.at(-1)), id: sessionId(id) }
      equal(yield* idle(store, epoch + 3, 2, after), all.slice(at + 1, at + 3), `two behind ${id}`)
    }
  }),
  make("a session is idle from when it was changed last", function* (store) {
    const one = yield* created(store, session("one"))
    yield* created(store, session("two", { updatedAt: epoch + 1 }))
    const after = yield* said(store, one, "t1", "t2")
    equal(yield* idle(store, epoch + 1), ["two"], "after turns were added to the first")
    equal(yield* idle(store, epoch + 2), ["two", "one"], "later")
    yield* saved(store, after, { status: "closed" })
    equal(yield* idle(store, epoch + 2), ["two"], "after it was closed")
    yield* store.delete(sessionId("two"))
    equal(yield* idle(store, epoch + 2), [], "after the second was deleted")
  }),
  make("expires idle sessions, longest first, and returns them as expired", function* (store) {
    const all = yield* Effect.forEach(
      [
        session("late", { updatedAt: epoch + 9 }),
        session("first", { updatedAt: epoch + 1, metadata: { a: 1 } }),
        session("second", { updatedAt: epoch + 2, status: "suspended" }),
        session("closed", { status: "closed" }),
        session("expired", { status: "expired" }),
        session("third", { updatedAt: epoch + 2 })
      ],
      (one) => created(store, one)
    )
    const one = (id: string) => all.find((each) => each.id === id) as Session
    const gone = (id: string, at: number) => next(one(id), { status: "expired", updatedAt: at })
    const expire = (limit: number, at: number) => store.expire({ since: epoch + 2, at, limit })
    equal(yield* expire(0, epoch + 50), [], "none of them")
    equal(yield* expire(2, epoch + 60), [gone("first", epoch + 60), gone("second", epoch + 60)], "the first two")
    equal(yield* expire(2, epoch + 70), [gone("third", epoch + 70)], "the rest")
    equal(yield* expire(2, epoch + 80), [], "no more")
    yield* isKept(store, gone("first", epoch + 60))
    yield* isKept(store, gone("third", epoch + 70))
    for (const id of ["late", "closed", "expired"]) yield* isKept(store, one(id))
    equal(yield* listed(store, { statuses: ["active"] }), ["late"], "active sessions")
    sameMembers(
      yield* listed(store, { statuses: ["expired"] }),
      ["expired", "first", "second", "third"],
      "expired ones"
    )
    equal((yield* listed(store, { order: "updated" }))[0], "third", "the session changed last")
    equal(yield* idle(store, epoch + 100), ["late"], "what may still expire")
  }),
  make("concurrent expirations return each session once", function* (store) {
    const ids = Array.from({ length: 60 }, (_, at) => `s${at}`)
    for (const [at, id] of ids.entries()) {
      yield* created(store, session(id, { updatedAt: epoch + (at % 4), status: at % 2 === 0 ? "active" : "suspended" }))
    }
    const given = yield* Effect.forEach(
      Array.from({ length: 16 }, (_, at) => at),
      (at) => store.expire({ since: epoch + 4, at: epoch + 100 + at, limit: 7 }),
      { concurrency: "unbounded" }
    )
    const all = given.flat()
    sameMembers(idsOf(all), ids, "the sessions that expired")
    for (const one of given) equal(one.length <= 7, true, "how many at a time")
    for (const one of all) yield* isKept(store, one)
  }),
  make("rejects a write based on a session before it expired", function* (store) {
    const one = yield* created(store, session("s"))
    const [expired] = yield* store.expire({ since: epoch, at: epoch + 5, limit: 10 })
    yield* conflicts(said(store, one, "t1"), "a turn for a session that was live")
    yield* conflicts(saved(store, one, { status: "active" }), "a save of a session that was live")
    yield* isKept(store, expired as Session)
  }),
  make("either a write or an expiration of an idle session succeeds", function* (store) {
    const all = yield* Effect.forEach(
      Array.from({ length: 20 }, (_, at) => session(`s${at}`)),
      (one) => created(store, one)
    )
    const [written, expired] = yield* Effect.all(
      [
        Effect.forEach(all, (one) => Effect.either(said(store, one, "t1")), { concurrency: "unbounded" }),
        Effect.forEach([1, 2, 3], (at) => store.expire({ since: epoch, at: epoch + 50 + at, limit: 5 }), {
          concurrency: "unbounded"
        })
      ],
      { concurrency: "unbounded" }
    )
    const ids = idsOf(expired.flat())
    for (const [at, one] of all.entries()) {
      const now = some(yield* store.load(one.id), one.id)
      equal(now.revision, 1, `how often ${one.id} was written`)
      equal(now.status, ids.includes(one.id) ? "expired" : "active", `the status of ${one.id}`)
      equal(now.depth, written[at]?._tag === "Right" ? 1 : 0, `turns of ${one.id}`)
      equal(written[at]?._tag === "Right" && ids.includes(one.id), false, `${one.id} was given to both`)
    }
  })
]
