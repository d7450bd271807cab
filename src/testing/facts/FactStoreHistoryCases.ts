/**
 * Cases: assertions close, replace and extend earlier facts.
 *
 * @since 0.1.0
 * @private
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { FactId, type NewFact } from "../../memory/facts/Fact.js"
import type * as FactStore from "../../memory/facts/FactStore.js"
import { equal, failure, holds, sameMembers } from "../suite/SuiteAssert.js"
import { type Case, epoch, ever, fact, lives, make, objects, some, sources, tell, timeline } from "./FactStoreCase.js"

const permutations = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  items.length < 2
    ? [items]
    : items.flatMap((item, index) =>
        permutations([...items.slice(0, index), ...items.slice(index + 1)]).map((rest) => [item, ...rest])
      )

const history = (store: FactStore.Service, ownerId = "ann") => Effect.map(store.query(ownerId, ever), timeline)

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("returns a fact unchanged, with defaults for omitted fields", function* (store) {
    yield* TestClock.adjust(7)
    const now = yield* Clock.currentTimeMillis
    const least = yield* tell(store, { subject: "Bob", predicate: "likes", object: "tea" })
    equal(
      least,
      {
        id: least.id,
        ownerId: "ann",
        subject: "Bob",
        predicate: "likes",
        object: "tea",
        confidence: 1,
        sources: [],
        validFrom: now,
        recordedAt: now,
        metadata: {}
      },
      "the least fact"
    )
    const told: NewFact = {
      subject: " Dr.  Bob\u0007 Smith ",
      predicate: "Likes",
      object: "tea & \ud83c\udf75 'with' \"milk\"\n\u0000 \ud800",
      confidence: 0.25,
      sources: sources("e1", "e2"),
      validFrom: -1234.5,
      metadata: JSON.parse('{"__proto__": {"a": 1}, "list": [1, "b", null], "nested": {"constructor": true}}')
    }
    const kept = yield* tell(store, told)
    equal(kept, { ...told, id: kept.id, ownerId: "ann", recordedAt: now, metadata: kept.metadata }, "the whole fact")
    equal(JSON.stringify(kept.metadata), JSON.stringify(told.metadata), "its metadata")
    equal(some(yield* store.get("ann", kept.id), "it is there"), kept, "the fact as it is kept")
  }),
  make("the same triple in another case or with other spaces is one fact", function* (store) {
    const first = yield* tell(store, lives("New  York", 5, { confidence: 0.6, sources: sources("e1") }))
    const second = yield* tell(store, {
      ...lives(" new york", 9, { confidence: 0.9, sources: sources("e2") }),
      subject: "ANNA",
      predicate: "Lives  in"
    })
    equal(second.id, first.id, "its id")
    const third = yield* tell(store, lives("NEW YORK", 7, { confidence: 0.1, sources: sources("e3") }))
    equal(third.confidence, 0.9, "it is as sure as the surest")
    equal(third.object, "New  York", "it stays as it was said first")
    sameMembers(third.sources, ["e1", "e2", "e3"], "its sources")
    equal(yield* history(store), ["New  York 5-"], "its time")
  }),
  make("the same assertion by the same sources changes nothing", function* (store) {
    const first = yield* tell(store, lives("Paris", 0, { sources: sources("e1", "e2") }))
    const lower = yield* store.updateConfidence("ann", first.id, 0.2)
    equal(lower.confidence, 0.2, "what was set")
    equal(yield* tell(store, lives("Paris", 0, { sources: sources("e2") })), lower, "said again by one")
    equal(yield* tell(store, lives("paris", 0, { sources: sources("e1", "e2") })), lower, "said again by both")
    const surer = yield* tell(store, lives("Paris", 0, { sources: sources("e3") }))
    equal(surer.confidence, 0.9, "said by another one")
  }),
  make("another object of a single-valued predicate closes the previous fact", function* (store) {
    const first = yield* tell(store, lives("Paris", 0))
    const second = yield* tell(store, lives("Rome", 10))
    holds(second.validTo === undefined, "the new one is open", second)
    const closed = some(yield* store.get("ann", first.id), "the old one stays")
    equal(closed.validTo, epoch + 10, "when it ended")
    equal(closed.closedBy, second.id, "what closed it")
    equal({ ...closed, validTo: undefined, closedBy: undefined }, first, "the rest of it")
  }),
  make("other predicates have any number of objects", function* (store) {
    yield* tell(store, fact("likes", "tea"))
    yield* tell(store, fact("likes", "coffee"))
    yield* tell(store, lives("Paris", 0))
    sameMembers(objects(yield* store.query("ann", { at: epoch })), ["tea", "coffee", "Paris"], "what holds")
  }),
  make("a replacing fact closes every other object", function* (store) {
    yield* tell(store, fact("likes", "tea"))
    yield* tell(store, fact("likes", "coffee", { validFrom: epoch + 1 }))
    yield* tell(store, fact("likes", "water", { validFrom: epoch + 5, replaces: true }))
    yield* tell(store, fact("likes", "milk", { validFrom: epoch + 3 }))
    yield* tell(store, fact("likes", "beer", { validFrom: epoch + 6 }))
    equal(
      yield* history(store),
      ["tea 0-5 by water", "coffee 1-5 by water", "milk 3-5 by water", "water 5-", "beer 6-"],
      "what held when"
    )
  }),
  make("a late fact ends where the next one begins", function* (store) {
    yield* tell(store, lives("Rome", 10))
    yield* tell(store, lives("Oslo", 20))
    const late = yield* tell(store, lives("Paris", 0))
    equal(late.validTo, epoch + 10, "it is given as it is kept")
    equal(yield* history(store), ["Paris 0-10 by Rome", "Rome 10-20 by Oslo", "Oslo 20-"], "what held when")
  }),
  make("a late fact splits an interval around it", function* (store) {
    yield* tell(store, lives("Paris", 0, { confidence: 0.6, sources: sources("e1") }))
    yield* tell(store, lives("Paris", 10, { confidence: 0.8, sources: sources("e2") }))
    yield* tell(store, lives("Rome", 5))
    equal(yield* history(store), ["Paris 0-5 by Rome", "Rome 5-10 by Paris", "Paris 10-"], "what held when")
    const [before, after] = (yield* store.query("ann", { ...ever, object: "paris" })).toSorted(
      (a, b) => a.validFrom - b.validFrom
    )
    equal([before?.confidence, before?.sources], [0.6, ["e1"]], "what was said before")
    equal([after?.confidence, after?.sources], [0.8, ["e2"]], "what was said after")
  }),
  make("a fact that begins when another ended does not close it again", function* (store) {
    const first = yield* tell(store, lives("Paris", 0, { sources: sources("e1") }))
    const closed = yield* store.close("ann", first.id, epoch + 10)
    yield* tell(store, lives("Rome", 10))
    equal(some(yield* store.get("ann", first.id), "the ended one stays"), closed, "as it was closed")
    equal(yield* history(store), ["Paris 0-10", "Rome 10-"], "what held when")
  }),
  make("a fact asserted again at its end is valid again", function* (store) {
    const first = yield* tell(store, lives("Paris", 0, { sources: sources("e1") }))
    yield* store.close("ann", first.id, epoch + 10)
    const again = yield* tell(store, lives("Paris", 10, { sources: sources("e1") }))
    holds(again.id !== first.id, "it is another fact", again)
    equal(yield* history(store), ["Paris 0-10", "Paris 10-"], "what held when")
  }),
  make("repeating a fact that lost its only instant changes nothing", function* (store) {
    yield* tell(store, lives("Paris", 10, { sources: sources("e1") }))
    yield* tell(store, lives("Rome", 10, { sources: sources("e2") }))
    const before = yield* history(store)
    yield* tell(store, lives("Paris", 10, { sources: sources("e1") }))
    equal(yield* history(store), before, "what held when")
    sameMembers(objects(yield* store.query("ann", { at: epoch + 10 })), ["Rome"], "what holds at the instant")
  }),
  make("the same assertions give the same history in any order, one by one or at once", function* (store) {
    const told = [lives("Paris", 0), lives("Rome", 10), lives("Paris", 20), lives("Paris", 30)]
    const expected = ["Paris 0-10 by Rome", "Rome 10-20 by Paris", "Paris 20-"]
    for (const [index, order] of permutations(told).entries()) {
      const ownerId = `owner${index}`
      if (index % 2 === 0) yield* store.assert(ownerId, order)
      else for (const one of order) yield* store.assert(ownerId, [one])
      const names = order.map(({ object, validFrom }) => `${object} ${(validFrom ?? 0) - epoch}`).join(", ")
      equal(yield* history(store, ownerId), expected, `told in the order ${names}`)
    }
  }),
  make("the later assertion wins between facts of the same time", function* (store) {
    yield* store.assert("ann", [lives("Paris", 0), lives("Rome", 0)])
    equal(objects(yield* store.query("ann", { at: epoch })), ["Rome"], "told at once")
    yield* tell(store, lives("Oslo", 0))
    equal(objects(yield* store.query("ann", { at: epoch })), ["Oslo"], "told one by one")
    equal((yield* store.query("ann", ever)).length, 3, "none is lost")
  }),
  make("stores all facts of a call or none", function* (store) {
    const refused: ReadonlyArray<Partial<Record<keyof NewFact, unknown>>> = [
      { subject: "" },
      { subject: " \n\u200b" },
      { object: "\u0000" },
      { predicate: "x".repeat(1001) },
      { object: "x".repeat(10_001) },
      { confidence: 1.1 },
      { confidence: Number.NaN },
      { validFrom: Number.POSITIVE_INFINITY },
      { sources: [""] },
      { metadata: { at: new Map() } },
      { metadata: { text: "x".repeat(20_001) } },
      { subject: undefined }
    ]
    for (const wrong of refused) {
      const what = `with ${Object.keys(wrong)[0]} out of bounds`
      const error = yield* failure(
        store.assert("ann", [lives("Paris", 0), { ...fact("likes", "hush"), ...wrong } as NewFact]),
        what
      )
      equal(error._tag, "MemoryStoreError", what)
      holds(
        !JSON.stringify(error).includes("hush") && !JSON.stringify(error).includes("xx"),
        "it quotes nothing",
        error
      )
    }
    equal(yield* store.count("ann", ever), 0, "what is kept")
    equal(yield* store.assert("ann", []), [], "nothing is nothing")
  }),
  make("removes the least certain open facts beyond the limit of a subject", function* (store) {
    const limit = { maxFactsPerEntity: 2 }
    yield* store.assert("ann", [lives("Paris", 0), lives("Rome", 1), fact("likes", "tea", { confidence: 0.5 })], limit)
    const [kept] = yield* store.assert("ann", [fact("likes", "coffee", { confidence: 0.7 })], limit)
    some(kept, "the surer one has room")
    const [none] = yield* store.assert("ann", [fact("likes", "milk", { confidence: 0.6 })], limit)
    equal(none === undefined ? undefined : Option.isNone(none), true, "the least sure one has none")
    yield* store.assert("ann", [fact("likes", "water", { confidence: 0.7, validFrom: epoch + 1 })], limit)
    yield* store.assert("ann", [{ ...fact("likes", "beer", { confidence: 0.1 }), subject: "Bob" }], limit)
    sameMembers(
      objects(yield* store.query("ann", ever)),
      ["Paris", "Rome", "water", "beer"],
      "closed ones and those of others do not count; of equally sure ones the older goes"
    )
  }),
  make("a fact asserted endlessly stays small", function* (store) {
    for (let index = 0; index < 80; index++) {
      yield* store.assert("ann", [lives("Paris", index, { sources: sources(`e${index}`) })])
    }
    const [only, ...more] = yield* store.query("ann", ever)
    equal(more, [], "one fact")
    equal(only?.validFrom, epoch, "since it was said first")
    sameMembers(
      only?.sources ?? [],
      Array.from({ length: 64 }, (_, index) => `e${79 - index}`),
      "the newest sources"
    )
  }),
  make("a fact closed by hand ends but stays stored", function* (store) {
    const first = yield* tell(store, lives("Paris", 0))
    yield* TestClock.adjust(50)
    const closed = yield* store.close("ann", first.id)
    equal(closed, { ...first, validTo: epoch + 50 }, "closed now")
    equal(yield* store.close("ann", first.id, epoch + 60), closed, "closed again, later")
    equal((yield* store.close("ann", first.id, epoch + 40)).validTo, epoch + 40, "closed again, earlier")
    equal((yield* store.close("ann", first.id, epoch - 40)).validTo, epoch, "not before it began")
    yield* tell(store, lives("Rome", 70))
    yield* tell(store, lives("Paris", 80))
    equal(yield* history(store), ["Paris 0-0", "Rome 70-80 by Paris", "Paris 80-"], "what held when")
    const error = yield* failure(store.close("ann", FactId.make("nobody")), "an id that is not there")
    equal(error._tag, "MemoryStoreError", "an id that is not there")
    equal((yield* failure(store.close("ann", first.id, Number.NaN), "no time"))._tag, "MemoryStoreError", "no time")
  }),
  make("a retracted fact ends, and nothing else changes", function* (store) {
    const first = yield* tell(store, lives("Paris", 0, { sources: sources("e1") }))
    yield* tell(store, fact("likes", "tea"))
    yield* tell(store, fact("likes", "coffee"))
    yield* tell(store, { ...lives("Paris", 0), subject: "Bob" })
    const ended = yield* tell(store, lives("paris", 10, { retracted: true, sources: sources("e2") }))
    equal(ended, { ...first, validTo: epoch + 10 }, "it is given as it ended")
    yield* tell(store, fact("likes", "tea", { retracted: true, validFrom: epoch + 5 }))
    yield* tell(store, fact("likes", "milk", { retracted: true, validFrom: epoch + 5 }))
    const at = { at: epoch + 20 }
    sameMembers(
      (yield* store.query("ann", at)).map(({ object, subject }) => `${subject} ${object}`),
      ["Anna coffee", "Bob Paris"],
      "what holds"
    )
    sameMembers(
      yield* history(store),
      ["Paris 0-10", "tea 0-5", "coffee 0-", "Paris 0-", "milk 5-5"],
      "what held when, and of what nobody said that it ended by then"
    )
    equal(
      objects(yield* store.query("ann", { at: epoch + 4, subject: "Anna", predicate: "lives in" })),
      ["Paris"],
      "then"
    )
    yield* tell(store, lives("Paris", 15))
    sameMembers(
      objects(yield* store.query("ann", { ...at, subject: "Anna" })),
      ["Paris", "coffee"],
      "said again later it holds again"
    )
  }),
  make("a repeated retraction has no effect", function* (store) {
    const gone = lives("Paris", 10, { retracted: true, sources: sources("e2") })
    yield* store.assert("ann", [lives("Paris", 0, { sources: sources("e1") }), gone])
    const before = yield* store.query("ann", ever)
    yield* tell(store, gone)
    yield* tell(store, lives("Paris", 0, { sources: sources("e1") }))
    equal(yield* store.query("ann", ever), before, "told again")
    yield* tell(store, { ...gone, sources: sources("e3") })
    equal(yield* history(store), ["Paris 0-10"], "told by another one")
  }),
  make("retractions give the same history in any order", function* (store) {
    const told = [lives("Paris", 0), lives("Paris", 10, { retracted: true }), lives("Rome", 20), lives("Paris", 30)]
    const expected = ["Paris 0-10", "Rome 20-30 by Paris", "Paris 30-"]
    for (const [index, order] of permutations(told).entries()) {
      const ownerId = `owner${index}`
      if (index % 2 === 0) yield* store.assert(ownerId, order)
      else for (const one of order) yield* store.assert(ownerId, [one])
      const names = order.map(({ object, validFrom }) => `${object} ${(validFrom ?? 0) - epoch}`).join(", ")
      equal(yield* history(store, ownerId), expected, `told in the order ${names}`)
    }
  }),
  make(
    "what held from when until when is kept so, and takes the place of nothing that holds after it",
    function* (store) {
      yield* tell(store, lives("Rome", -50))
      const past = yield* tell(store, lives("Ghent", -30, { validTo: epoch - 10 }))
      equal([past.validFrom, past.validTo], [epoch - 30, epoch - 10], "its time")
      yield* tell(store, lives("Oslo", 0))
      equal(yield* history(store), ["Rome -50-0 by Oslo", "Ghent -30--10", "Oslo 0-"], "what held when")
      equal(objects(yield* store.query("ann", { at: epoch })), ["Oslo"], "what holds now")
      yield* tell(store, { subject: "Anna", predicate: "works at", object: "Acme", validTo: epoch + 40 })
      equal(objects(yield* store.query("ann", { at: epoch, predicate: "works at" })), ["Acme"], "until then")
      equal(objects(yield* store.query("ann", { at: epoch + 40, predicate: "works at" })), [], "and no longer")
      for (const wrong of [
        lives("Bern", 5, { validTo: epoch + 5 }),
        lives("Bern", 5, { validTo: epoch + 9, retracted: true })
      ]) {
        equal((yield* failure(store.assert("ann", [wrong]), "an end that is none"))._tag, "MemoryStoreError", "refused")
      }
    }
  ),
  make("concurrent assertions lose nothing", function* (store) {
    const told = Array.from({ length: 40 }, (_, index) => index)
    yield* Effect.forEach(
      told,
      (index) =>
        Effect.zipRight(
          Effect.yieldNow(),
          store.assert("ann", [
            fact("likes", `thing ${index % 20}`, { sources: sources(`e${index}`) }),
            lives(`place ${index}`, index)
          ])
        ),
      { concurrency: "unbounded", discard: true }
    )
    equal(yield* store.count("ann", { predicate: "likes", at: epoch + 100 }), 20, "each once")
    const likes = yield* store.query("ann", { predicate: "likes", at: epoch + 100 })
    equal(
      likes.map(({ sources }) => sources.length),
      Array.from({ length: 20 }, () => 2),
      "with both who said so"
    )
    const places = timeline(yield* store.query("ann", { ...ever, predicate: "lives in" }))
    equal(
      places,
      told.map((index) => `place ${index} ${index}-${index === 39 ? "" : `${index + 1} by place ${index + 1}`}`),
      "the history"
    )
  })
]
