/**
 * Cases: the facts of a session branch.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import { SessionId } from "../../domain/Ids.js"
import type { NewFact, Origin } from "../../memory/facts/Fact.js"
import type * as FactStore from "../../memory/facts/FactStore.js"
import { equal } from "../suite/SuiteAssert.js"
import { type Case, epoch, ever, fact, lives, make, objects, sources, tell, timeline } from "./FactStoreCase.js"

const session = SessionId.make
const tree = session("trunk")

const said = (sessionId: string, after: number, from = after): Origin => ({
  sessionId: session(sessionId),
  tree,
  from: epoch + from,
  until: epoch + after
})

const inSession = (sessionId: string, object: string, after: number, more?: Partial<NewFact>): NewFact =>
  lives(object, after, { origins: [said(sessionId, after)], sources: sources(`${sessionId} ${after}`), ...more })

const now = epoch + 1000

/** The trunk. A branch left it at 20, and it was restored from 60 to 30. */
const trunk: FactStore.Lineage = {
  tree,
  lineage: [
    { sessionId: tree, until: epoch + 30 },
    { sessionId: tree, from: epoch + 60 }
  ],
  at: now
}
const branch: FactStore.Lineage = {
  tree,
  lineage: [{ sessionId: tree, until: epoch + 20 }, { sessionId: session("branch") }],
  at: now
}

const open = { at: now }

const known = (store: FactStore.Service, way: FactStore.Lineage, query: FactStore.FactQuery = open) =>
  Effect.flatMap(store.query("ann", query), (facts) => store.onLineage("ann", facts, way))

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("a branch knows the facts of its lineage and those of no tree", function* (store) {
    yield* store.assert("ann", [
      fact("likes", "tea", { origins: [said("trunk", 10)] }),
      fact("likes", "milk", { origins: [said("trunk", 25)] }),
      fact("likes", "wine", { origins: [said("trunk", 40)] }),
      fact("likes", "beer", { origins: [said("trunk", 70)] }),
      fact("likes", "water", { origins: [said("branch", 30)] }),
      fact("likes", "rum", { origins: [said("another branch", 10)] }),
      fact("likes", "soup", { origins: [{ ...said("elsewhere", 10), tree: session("elsewhere") }] }),
      fact("likes", "bread")
    ])
    equal(objects(yield* known(store, trunk)).toSorted(), ["beer", "bread", "milk", "soup", "tea"], "the trunk")
    equal(objects(yield* known(store, branch)).toSorted(), ["bread", "soup", "tea", "water"], "the branch")
    equal(yield* store.onLineage("ann", [], trunk), [], "nothing")
  }),
  make("knows a fact with several sources where all of them are known", function* (store) {
    yield* store.assert("ann", [
      fact("likes", "tea", { origins: [said("trunk", 10), said("branch", 30)] }),
      fact("likes", "milk", { origins: [said("trunk", 10), said("trunk", 70)] }),
      fact("likes", "wine", { origins: [said("trunk", 70, 10)] })
    ])
    equal(objects(yield* known(store, branch)), ["tea"], "the branch")
    equal(objects(yield* known(store, trunk)), ["milk"], "the trunk, and no summary of what it left behind")
  }),
  make(
    "what was said several times is known where one of them was, as sure and since when that says so",
    function* (store) {
      yield* tell(store, inSession("trunk", "Paris", 10, { confidence: 0.6 }))
      yield* tell(store, inSession("branch", "Paris", 40, { confidence: 0.9 }))
      yield* tell(store, inSession("another branch", "Paris", 50, { confidence: 1 }))
      const view = (way: FactStore.Lineage) =>
        Effect.map(known(store, way), (facts) =>
          facts.map(({ confidence, sources, validFrom }) => [confidence, validFrom - epoch, ...sources])
        )
      equal(yield* view(trunk), [[0.6, 10, "trunk 10"]], "the trunk")
      equal(yield* view(branch), [[0.9, 10, "trunk 10", "branch 40"]], "the branch")
      equal(yield* view({ ...branch, lineage: [{ sessionId: session("branch") }] }), [[0.9, 40, "branch 40"]], "alone")
      equal(yield* view({ ...trunk, minConfidence: 0.7 }), [], "not sure enough")
      equal(yield* view({ ...branch, lineage: [{ sessionId: session("branch") }], at: epoch + 39 }), [], "not yet")
      yield* tell(store, lives("Paris", 60, { confidence: 0.3 }))
      equal(yield* view({ ...trunk, lineage: [] }), [[0.3, 60]], "what was said in no session")
    }
  ),
  make("a fact of another branch closes nothing", function* (store) {
    yield* tell(store, inSession("trunk", "Paris", 10))
    yield* tell(store, inSession("branch", "Rome", 30))
    equal(timeline(yield* known(store, branch)), ["Rome 30-"], "the branch")
    equal(timeline(yield* known(store, trunk)), ["Paris 10-"], "the trunk")
    equal(timeline(yield* known(store, { ...trunk, at: epoch + 5 })), [], "before it was said")
    equal(timeline(yield* store.query("ann", ever)), ["Paris 10-30 by Rome", "Rome 30-"], "what is kept")
    yield* tell(store, inSession("trunk", "Bonn", 70))
    equal(timeline(yield* known(store, trunk)), ["Bonn 70-"], "the trunk, told something else")
    equal(timeline(yield* known(store, branch)), ["Rome 30-"], "the branch nevertheless")
    equal(timeline(yield* known(store, trunk, ever)), ["Paris 10-70 by Bonn", "Bonn 70-"], "what the trunk knew before")
  }),
  make("abandoned facts close nothing, however often they are repeated", function* (store) {
    yield* tell(store, inSession("trunk", "Paris", 10))
    yield* tell(store, inSession("trunk", "Rome", 40))
    yield* tell(store, inSession("trunk", "Bonn", 45))
    yield* tell(store, inSession("trunk", "Oslo", 50))
    equal(timeline(yield* known(store, trunk)), ["Paris 10-"], "the trunk")
    equal(timeline(yield* known(store, { ...trunk, minConfidence: 0.95 })), [], "none that is sure enough")
    yield* tell(store, lives("Rio", 80))
    equal(timeline(yield* known(store, trunk)), ["Rio 80-"], "told elsewhere")
    const oslo = yield* store.query("ann", { ...ever, object: "Oslo" })
    equal(yield* store.onLineage("ann", oslo, trunk), [], "what is closed itself")
  }),
  make("a fact that was closed by hand is closed on every branch", function* (store) {
    const paris = yield* tell(store, inSession("trunk", "Paris", 10))
    yield* store.close("ann", paris.id, epoch + 20)
    const rome = yield* tell(store, inSession("branch", "Rome", 30))
    equal(timeline(yield* known(store, trunk)), [], "the trunk")
    yield* store.close("ann", rome.id, epoch + 40)
    equal(timeline(yield* known(store, branch)), [], "the branch")
  }),
  make("facts of another owner are invisible in every lineage", function* (store) {
    const kept = yield* tell(store, inSession("trunk", "Paris", 10))
    yield* tell(store, inSession("trunk", "Rome", 10), "bob")
    equal(yield* store.onLineage("bob", [kept], trunk), [], "a fact of somebody else")
  })
]
