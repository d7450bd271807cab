/**
 * Cases: lists select runs by owner, agent, session, state, time and labels, and have pages.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as SystemAccess from "../../domain/SystemAccess.js"
import { equal, failure, holds } from "../suite/SuiteAssert.js"
import { add, type Case, end, epoch, ids, make, pages } from "./RunStoreCase.js"

const owning: ReadonlyArray<Case> = [
  make("shows a run to its owner, and to the system that names no user", function* (store) {
    yield* add(store, "anns", { after: 3 })
    yield* add(store, "bobs", { userId: "bob", after: 2 })
    yield* add(store, "nobodys", { userId: undefined, after: 1 })
    yield* add(store, "systems", { userId: undefined, system: true })
    const all = ["anns", "bobs", "nobodys", "systems"]
    const seen = Effect.fnUntraced(function* (userId?: string) {
      const listed = (yield* store.list({ userId })).records.map(({ runId }) => runId as string)
      const got: Array<string> = []
      for (const id of all) if (Option.isSome(yield* store.get(id, { userId }))) got.push(id)
      equal(got, listed, "runs that are found by id")
      return listed
    })
    equal(yield* seen("ann"), ["anns"], "runs of Ann")
    equal(yield* seen(), ["nobodys"], "runs of nobody")
    equal(yield* seen("eve"), [], "runs of Eve")
    equal(yield* SystemAccess.grant(seen()), all, "runs for the system")
    equal(yield* SystemAccess.grant(seen("bob")), ["bobs"], "runs of Bob for the system")
  }),
  make("finds no run by an id that nobody has, however strange", function* (store) {
    yield* add(store, "a")
    for (const id of ["", "A", "a ", "a%", "_", "'; DROP TABLE lex_run_records --", "\u0000", "x".repeat(10_000)]) {
      equal(Option.isNone(yield* store.get(id, { userId: "ann" })), true, `the id ${id.slice(0, 20)}`)
      equal(Option.isNone(yield* end(store, id, 1)), true, `a change of ${id.slice(0, 20)}`)
    }
  }),
  make("distinguishes long ids and labels", function* (store) {
    const long = "界".repeat(255)
    yield* add(store, `${long}a`, { labels: { [`${"界".repeat(63)}a`]: `${long}a` } })
    yield* add(store, `${long}b`, { after: 1, labels: { [`${"界".repeat(63)}a`]: `${long}b` } })
    equal(yield* ids(store), [`${long}b`, `${long}a`], "both runs")
    equal(
      yield* ids(store, { labels: { [`${"界".repeat(63)}a`]: `${long}b` } }),
      [`${long}b`],
      "the run with the label"
    )
  })
]

const selecting: ReadonlyArray<Case> = [
  make("selects runs by agent, session and state", function* (store) {
    yield* add(store, "a", { agent: "writer", sessionId: "s1", after: 4 })
    yield* add(store, "b", { agent: "writer", sessionId: "s2", after: 3 })
    yield* add(store, "c", { sessionId: "s1", after: 2 })
    yield* add(store, "d", { state: "queued", after: 1 })
    yield* end(store, "b", 10, "failed")
    yield* end(store, "c", 11)
    equal(yield* ids(store, { agent: "writer" }), ["a", "b"], "runs of an agent")
    equal(yield* ids(store, { sessionId: "s1" }), ["a", "c"], "runs of a session")
    equal(yield* ids(store, { sessionId: "s1", agent: "writer" }), ["a"], "runs of an agent in a session")
    equal(yield* ids(store, { states: ["failed"] }), ["b"], "failed runs")
    equal(yield* ids(store, { states: ["failed", "completed"] }), ["b", "c"], "failed or completed runs")
    equal(yield* ids(store, { states: ["queued", "running", "waiting"] }), ["a", "d"], "runs that go on")
    equal(yield* ids(store, { states: ["running"], agent: "writer" }), ["a"], "running runs of an agent")
    equal(yield* ids(store, { states: [] }), [], "runs in no state")
    equal(yield* ids(store, { agent: "nobody" }), [], "runs of an unknown agent")
    const all = yield* SystemAccess.grant(store.list({ states: ["failed", "completed"] }))
    equal(all.records.map(({ runId }) => runId).join(), "b,c", "failed or completed runs for the system")
    const one = yield* SystemAccess.grant(store.list({ states: ["queued"] }))
    equal(one.records.map(({ runId }) => runId).join(), "d", "queued runs for the system")
  }),
  make("selects runs by the time of their creation, from one time and before another", function* (store) {
    for (let i = 0; i < 5; i++) yield* add(store, `r${i}`, { after: i * 10 })
    equal(yield* ids(store, { createdFrom: epoch + 20 }), ["r4", "r3", "r2"], "from a time")
    equal(yield* ids(store, { createdBefore: epoch + 20 }), ["r1", "r0"], "before a time")
    equal(yield* ids(store, { createdFrom: epoch + 10, createdBefore: epoch + 30 }), ["r2", "r1"], "between times")
    equal(yield* ids(store, { createdFrom: epoch + 30, createdBefore: epoch + 10 }), [], "between times in disorder")
  }),
  make("selects runs that have all labels", function* (store) {
    yield* add(store, "a", { after: 2, labels: { team: "x", tier: "1" } })
    yield* add(store, "b", { after: 1, labels: { team: "x", tier: "2" } })
    yield* add(store, "c", { labels: { team: "y", tier: "1" } })
    yield* add(store, "bobs", { userId: "bob", labels: { team: "x" } })
    equal(yield* ids(store, { labels: {} }), ["a", "b", "c"], "without labels")
    equal(yield* ids(store, { labels: { team: "x" } }), ["a", "b"], "with one label")
    equal(yield* ids(store, { labels: { team: "x", tier: "1" } }), ["a"], "with two labels")
    equal(yield* ids(store, { labels: { team: "x", tier: "3" } }), [], "with two labels of which none has both")
    equal(yield* ids(store, { labels: { toString: "x" } }), [], "with a label that every object has")
    equal(yield* ids(store, { labels: { team: "x" }, createdBefore: epoch + 2 }), ["b"], "with a label, before a time")
    equal(yield* ids(store, { labels: { team: "x" }, states: ["failed"] }), [], "with a label, in a state")
  })
]

const paging: ReadonlyArray<Case> = [
  make("shows every run on one page, the newest first, also those of one time", function* (store) {
    for (let i = 0; i < 9; i++) {
      yield* add(store, `r${i}`, { after: Math.floor(i / 3), labels: { half: String(i % 2) } })
    }
    equal(
      yield* pages(store, { userId: "ann", limit: 4 }),
      [["r8", "r7", "r6", "r5"], ["r4", "r3", "r2", "r1"], ["r0"]],
      "pages of four"
    )
    const found = yield* pages(store, { userId: "ann", limit: 2, labels: { half: "0" } })
    equal(found.flat(), ["r8", "r6", "r4", "r2", "r0"], "pages with a label")
    equal(
      yield* pages(store, { userId: "ann", limit: 9 }),
      [["r8", "r7", "r6", "r5", "r4", "r3", "r2", "r1", "r0"]],
      "one page"
    )
  }),
  make("leaves runs that begin meanwhile out of later pages", function* (store) {
    for (let i = 0; i < 4; i++) yield* add(store, `r${i}`, { after: i })
    const first = yield* store.list({ userId: "ann", limit: 2 })
    yield* add(store, "late", { after: 9 })
    const second = yield* store.list({ userId: "ann", limit: 2, cursor: first.next })
    equal(
      second.records.map(({ runId }) => runId),
      ["r1", "r0"],
      "the second page"
    )
  }),
  make("has 50 runs on a page by default, and at most 500", function* (store) {
    for (let i = 0; i < 501; i++) yield* add(store, `r${i}`, { after: i })
    equal((yield* ids(store)).length, 50, "the default")
    equal((yield* ids(store, { limit: 10_000 })).length, 500, "the most")
    equal((yield* ids(store, { limit: -3 })).length, 1, "the least")
    equal((yield* ids(store, { limit: Number.NaN })).length, 50, "no number")
  }),
  make("refuses a cursor that is none", function* (store) {
    yield* add(store, "a")
    for (const cursor of ["", " ", "x", "1e999 a", "NaN a", `1 ${"x".repeat(3000)}`]) {
      const error = yield* failure(store.list({ userId: "ann", cursor }), "a strange cursor")
      equal(error.reason, "invalid", `the cursor ${cursor.slice(0, 20)}`)
    }
  }),
  make("shows nobody else's runs to a cursor from another list", function* (store) {
    yield* add(store, "a", { after: 1 })
    yield* add(store, "b")
    yield* add(store, "bobs", { userId: "bob" })
    const { next } = yield* store.list({ userId: "ann", limit: 1 })
    holds(next !== undefined, "there is a second page")
    const bobs = yield* store.list({ userId: "bob", cursor: next })
    equal(
      bobs.records.map(({ runId }) => runId),
      ["bobs"],
      "the runs of Bob"
    )
  })
]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...owning, ...selecting, ...paging]
