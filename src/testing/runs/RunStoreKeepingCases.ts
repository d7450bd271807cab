/**
 * Cases: records are added once, states change by compare-and-set, and ended runs can be removed.
 *
 * @since 0.1.0
 * @private
 */
import * as Option from "effect/Option"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Parallel from "../../internal/fiber/Parallel.js"
import { equal, failure, holds } from "../suite/SuiteAssert.js"
import { add, type Case, end, epoch, ids, make, record, some } from "./RunStoreCase.js"

const changing: ReadonlyArray<Case> = [
  make("changes a state only from one of the states named", function* (store) {
    yield* add(store, "a", { state: "queued" })
    const refused = some(yield* store.update("a", { from: ["running"], to: "waiting", at: epoch + 1 }), "the refused")
    equal([refused.changed, refused.record.state, refused.record.updatedAt], [false, "queued", epoch], "an unmet state")
    const made = some(yield* store.update("a", { from: ["queued", "waiting"], to: "running", at: epoch + 2 }), "made")
    equal([made.changed, made.record.state, made.record.updatedAt], [true, "running", epoch + 2], "a met state")
    equal(made.record.endedAt, undefined, "the end of a run that goes on")
    equal(some(yield* store.get("a", { userId: "ann" }), "the record"), made.record, "the record as read")
  }),
  make("never changes a run that has ended", function* (store) {
    for (const state of ["completed", "failed", "interrupted"] as const) {
      yield* add(store, state)
      const error = { tag: "LlmError", message: "no" }
      const notUndone = [{ runId: record("inner").runId, toolCallId: "c", tool: "book", error }]
      const ended = some(
        yield* store.update(state, { from: ["running"], to: state, at: epoch + 5, error, notUndone }),
        "the ended run"
      )
      equal([ended.record.state, ended.record.endedAt, ended.record.error], [state, epoch + 5, error], "the end")
      equal(ended.record.notUndone, notUndone, "the calls that are not undone")
      const again = some(
        yield* store.update(state, { from: [state, "running"], to: "running", at: epoch + 6 }),
        "the second change"
      )
      equal([again.changed, again.record], [false, ended.record], `a change of a ${state} run`)
    }
  }),
  make("lets one of concurrent changes win", function* (store) {
    yield* add(store, "a")
    const changes = yield* Parallel.forEach(
      Array.from({ length: 8 }, (_, i) => i),
      (i) => store.update("a", { from: ["running"], to: i % 2 === 0 ? "completed" : "interrupted", at: epoch + i }),
      8
    )
    equal(changes.filter((one) => some(one, "a change").changed).length, 1, "changes that were made")
  }),
  make("keeps the session that a run has", function* (store) {
    yield* add(store, "a")
    const { sessionId: first } = record("-", { sessionId: "s1" })
    const { sessionId: second } = record("-", { sessionId: "s2" })
    const change = { from: ["running"], to: "running" } as const
    yield* store.update("a", { ...change, at: epoch + 1, sessionId: first })
    yield* store.update("a", { ...change, at: epoch + 2, sessionId: second })
    equal(some(yield* store.get("a", { userId: "ann" }), "the run").sessionId, "s1", "the session")
    equal(yield* ids(store, { sessionId: "s1" }), ["a"], "runs of the session")
    equal(yield* ids(store, { sessionId: "s2" }), [], "runs of the other session")
  }),
  make("has no change for an unknown run", function* (store) {
    equal(Option.isNone(yield* end(store, "a", 1)), true, "an unknown run")
  })
]

const adding: ReadonlyArray<Case> = [
  make("keeps every field of a record", function* (store) {
    const full = record("full ü\ud83d\ude00", {
      sessionId: "s \u2028",
      version: "2.1",
      labels: { team: "a\u0000b", constructor: "1", "\ud83d": "" },
      forkedFrom: { runId: record("root").runId, step: 3 },
      error: { tag: "LlmError", code: "LEX_ERR_LLM_001", message: "no \ud800", hint: "h" },
      notUndone: [
        { runId: record("inner").runId, toolCallId: "c \ud800", tool: "book", error: { tag: "E", message: "m" } }
      ],
      state: "failed"
    })
    const kept = { ...full, endedAt: epoch + 9, tenantId: record("-", { userId: "tenant" }).userId }
    yield* store.insert(kept as typeof full, "f")
    equal(some(yield* store.get(full.runId, { userId: "ann" }), "the record"), kept, "the record")
  }),
  make("returns the known record to the same request, and refuses another one with its id", function* (store) {
    const first = yield* store.insert(record("a"), "one")
    equal(first.added, true, "the first")
    yield* store.update("a", { from: ["running"], to: "waiting", at: epoch + 1 })
    const again = yield* store.insert(record("a", { after: 10 }), "one")
    equal([again.added, again.record.state, again.record.createdAt], [false, "waiting", epoch], "the second")
    const other = yield* failure(store.insert(record("a"), "two"), "another request")
    equal([other.reason, other.runId], ["conflict", "a"], "another request")
  }),
  make("refuses the id of another owner's run even to the same request", function* (store) {
    yield* add(store, "a")
    yield* add(store, "s", { userId: undefined, system: true })
    for (const userId of ["bob", undefined]) {
      const error = yield* failure(store.insert(record("a", { userId }), "a"), "a foreign id")
      equal(error.reason, "conflict", `the id of a run of another owner for ${userId}`)
    }
    const error = yield* failure(store.insert(record("s", { userId: undefined }), "s"), "an id of the system")
    equal(error.reason, "conflict", "the id of a run of the system for nobody")
  }),
  make("adds one of concurrent records of an id", function* (store) {
    const added = yield* Parallel.forEach(
      Array.from({ length: 8 }, (_, i) => i),
      (i) => store.insert(record("a", { after: i }), "same"),
      8
    )
    equal(added.filter((one) => one.added).length, 1, "added records")
    const [first] = added
    holds(
      added.every((one) => one.record.createdAt === first?.record.createdAt),
      "all callers get the added record"
    )
  })
]

const removing: ReadonlyArray<Case> = [
  make("prunes runs that ended before a time, and no others", function* (store) {
    for (const id of ["old", "new", "open"]) yield* add(store, id, { labels: { keep: id } })
    yield* end(store, "old", 10)
    yield* end(store, "new", 20)
    equal(yield* store.prune({ before: epoch + 10 }), 0, "runs that ended before the first end")
    equal(yield* store.prune({ before: epoch + 20 }), 1, "runs that ended before the second end")
    equal((yield* ids(store)).sort(), ["new", "open"], "the other runs")
    equal(yield* ids(store, { labels: { keep: "old" } }), [], "the labels of a pruned run")
    equal((yield* store.insert(record("old"), "other")).added, true, "the id is free again")
  }),
  make("prunes more than a page of runs", function* (store) {
    for (let i = 0; i < 620; i++) yield* add(store, `r${i}`, { state: "completed", endedAt: epoch + i } as object)
    equal(yield* store.prune({ before: epoch + 600 }), 600, "pruned runs")
    equal((yield* ids(store, { limit: 500 })).length, 20, "kept runs")
  }),
  make("erases the runs of one user, whatever their state", function* (store) {
    yield* add(store, "a", { labels: { of: "x" } })
    yield* add(store, "b")
    yield* end(store, "b", 1)
    yield* add(store, "c", { userId: "bob", labels: { of: "x" } })
    yield* add(store, "d", { userId: undefined })
    equal(yield* store.erase("ann"), 2, "erased runs")
    const left = yield* SystemAccess.grant(store.list())
    equal(left.records.map(({ runId }) => runId).sort(), ["c", "d"], "the other runs")
    const labelled = yield* SystemAccess.grant(store.list({ labels: { of: "x" } }))
    equal(
      labelled.records.map(({ runId }) => runId),
      ["c"],
      "the labels of the other runs"
    )
  })
]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...adding, ...changing, ...removing]
