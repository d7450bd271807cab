/**
 * Cases: queries, changes and removals of facts.
 *
 * @since 0.1.0
 * @private
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { type Fact, FactId } from "../../memory/facts/Fact.js"
import { equal, failure, holds, sameMembers } from "../suite/SuiteAssert.js"
import { type Case, epoch, ever, fact, hostile, lives, make, objects, some, sources, tell } from "./FactStoreCase.js"

const owners = (stream: Stream.Stream<string, unknown>) => Effect.map(Stream.runCollect(stream), Chunk.toReadonlyArray)

const at = { at: epoch + 1000 }

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("finds subjects by prefix in any case", function* (store) {
    for (const subject of ["Anna", "ANNA Smith", "Bob", "Hannah", "An"]) {
      yield* tell(store, { ...fact("likes", subject), subject })
    }
    const begin = (subject: string) => Effect.map(store.query("ann", { ...at, subject }), objects)
    sameMembers(yield* begin("anna"), ["Anna", "ANNA Smith"], "anna")
    sameMembers(yield* begin("  ANNA  s"), ["ANNA Smith"], "ANNA s")
    sameMembers(yield* begin("anna "), ["ANNA Smith"], "a word that ends")
    sameMembers(yield* begin(""), ["Anna", "ANNA Smith", "Bob", "Hannah", "An"], "nothing")
    sameMembers(yield* begin("%"), [], "a pattern")
    sameMembers(yield* begin("_nna"), [], "another pattern")
    sameMembers(
      objects(yield* store.query("ann", { ...at, subjects: [" bob", "AN", "nobody"] })),
      ["Bob", "An"],
      "names of subjects"
    )
    equal(yield* store.query("ann", { ...at, subjects: [] }), [], "no names at all")
  }),
  make("entities are found as whole words, in subjects and in objects", function* (store) {
    yield* tell(store, fact("likes", "the green tea of Anna-Maria"))
    yield* tell(store, { ...fact("knows", "anna smith's dog"), subject: "Bob" })
    yield* tell(store, { ...fact("knows", "Annabel"), subject: "Bob" })
    yield* tell(store, { ...fact("likes", "東京都"), subject: "Eva" })
    const about = (entity: string) => Effect.map(store.query("ann", { ...at, entity }), objects)
    sameMembers(yield* about("ANNA"), ["the green tea of Anna-Maria", "anna smith's dog"], "one word")
    sameMembers(yield* about("Anna  Smith"), ["anna smith's dog"], "two words")
    sameMembers(yield* about("Smith Anna"), [], "in another order")
    sameMembers(yield* about("green"), ["the green tea of Anna-Maria"], "a word inside")
    sameMembers(yield* about("ann"), [], "a part of a word")
    sameMembers(yield* about("東京"), ["東京都"], "a script without spaces")
    sameMembers(yield* about("!"), [], "no word")
    sameMembers(yield* about(""), [], "nothing")
  }),
  make("predicate, object and confidence select", function* (store) {
    yield* tell(store, fact("likes", "tea", { confidence: 0.5 }))
    yield* tell(store, fact("Likes", "coffee", { confidence: 0.4 }))
    yield* tell(store, fact("dislikes", "TEA"))
    const found = (query: object) => Effect.map(store.query("ann", { ...at, ...query }), objects)
    sameMembers(yield* found({ predicate: " LIKES " }), ["tea", "coffee"], "the predicate")
    sameMembers(yield* found({ object: "Tea" }), ["tea", "TEA"], "the object")
    sameMembers(yield* found({ minConfidence: 0.5 }), ["tea", "TEA"], "the confidence, inclusive")
    sameMembers(yield* found({ minConfidence: 0.5, predicate: "likes" }), ["tea"], "all of it")
    equal(yield* store.count("ann", { ...at, predicate: "likes" }), 2, "the count")
  }),
  make("finds facts by the entries that they were read from, whenever they held", function* (store) {
    const read = (...ids: ReadonlyArray<string>) => store.query("ann", { ...ever, sources: sources(...ids) })
    const objectsOf = (...ids: ReadonlyArray<string>) => Effect.map(read(...ids), objects)
    yield* tell(store, lives("Paris", 0, { sources: sources("a", "b") }))
    yield* tell(store, lives("Rome", 10, { sources: sources("b") }))
    yield* tell(store, fact("likes", "tea", { sources: sources("c") }))
    yield* tell(store, fact("likes", "rain"))
    yield* tell(store, fact("likes", "tea", { sources: sources("a") }), "bob")
    sameMembers(yield* objectsOf("b"), ["Paris", "Rome"], "an entry of two facts")
    sameMembers(yield* objectsOf("a"), ["Paris"], "an entry of a fact that has ended")
    sameMembers(yield* objectsOf("a", "c", "d"), ["Paris", "tea"], "several entries")
    equal(yield* objectsOf("d"), [], "an unknown entry")
    equal(yield* objectsOf(), [], "no entries")
    equal(objects(yield* store.query("ann", { at: epoch + 20, sources: sources("a") })), [], "what holds now")
    const some = yield* store.query("ann", { ...ever, subjects: ["anna"], predicate: "likes", sources: sources("c") })
    equal(objects(some), ["tea"], "with other conditions")
    const first = yield* store.query("ann", { ...ever, limit: 1, sources: sources("b") })
    const second = yield* store.query("ann", { ...ever, limit: 1, sources: sources("b"), after: first[0] })
    sameMembers(objects([...first, ...second]), ["Paris", "Rome"], "page by page")
    yield* tell(store, fact("LIKES", "Tea", { sources: sources("d") }))
    sameMembers(yield* objectsOf("d"), ["tea"], "an entry that said it again")
    equal((yield* read("c"))[0]?.sources.length, 2, "the entry that said it first")
    for (const name of hostile)
      yield* tell(store, fact("knows", name, { sources: sources(`of ${name}`.slice(0, 256)) }))
    for (const name of hostile) equal(yield* objectsOf(`of ${name}`.slice(0, 256)), [name], `an entry "${name}"`)
    const [tea] = yield* read("c")
    if (tea !== undefined) yield* store.delete("ann", tea.id)
    equal(yield* objectsOf("c", "d"), [], "what was deleted")
    yield* store.clear("ann")
    equal(yield* objectsOf("a", "b"), [], "what was cleared")
  }),
  make("finds a fact by the newest of many entries", function* (store) {
    for (let n = 0; n < 70; n++) {
      yield* tell(store, fact("likes", "tea", { validFrom: epoch + n, sources: sources(`e${n}`) }))
    }
    const [tea] = yield* store.query("ann", { ...ever, sources: sources("e69") })
    equal(tea?.sources.length, 64, "the entries that are kept")
    for (let n = 0; n < 70; n++) {
      const found = yield* store.query("ann", { ...ever, sources: sources(`e${n}`) })
      equal(
        found.length > 0,
        tea?.sources.some((id) => id === `e${n}`),
        `entry ${n}`
      )
    }
  }),
  make("a fact is valid from its beginning until before its end", function* (store) {
    yield* store.assert("ann", [lives("Paris", 10), lives("Rome", 20)])
    const then = (after: number, includeClosed?: boolean) =>
      Effect.map(store.query("ann", { at: epoch + after, includeClosed }), objects)
    equal(yield* then(9), [], "before")
    equal(yield* then(10), ["Paris"], "at the beginning")
    equal(yield* then(19), ["Paris"], "before the end")
    equal(yield* then(20), ["Rome"], "at the end")
    equal(yield* then(20, true), ["Rome", "Paris"], "with what had ended by then")
    equal(yield* then(19, true), ["Paris"], "with what had ended by then, before the end")
    yield* TestClock.adjust(15)
    equal(objects(yield* store.query("ann")), ["Paris"], "now unless set")
    equal(yield* store.count("ann"), 1, "the count, now")
  }),
  make("answers are ordered by confidence, then the newest first, and read in pages", function* (store) {
    const told = Array.from({ length: 23 }, (_, index) =>
      fact("likes", `thing ${index}`, { confidence: (index % 3) / 2, validFrom: epoch + (index % 4) })
    )
    yield* store.assert("ann", told)
    const all = yield* store.query("ann", at)
    equal(all.length, 23, "all of them")
    const key = (one: Fact) => `${(2 - one.confidence).toFixed(1)}|${9 - (one.validFrom - epoch)}|${one.id}`
    equal(all.map(key), all.map(key).toSorted(), "the order")
    const pages: Array<Fact> = []
    for (let after: Fact | undefined; ; ) {
      const page: ReadonlyArray<Fact> = yield* store.query("ann", { ...at, limit: 5, after })
      holds(page.length <= 5, "a page has no more than asked for", page.length)
      pages.push(...page)
      after = page.at(-1)
      if (after === undefined) break
    }
    equal(pages, all, "page by page")
    equal(yield* store.query("ann", { ...at, limit: 0 }), [], "no facts")
  }),
  make("facts are found by the words they share with a text", function* (store) {
    yield* tell(store, fact("likes", "green tea"))
    yield* tell(store, fact("likes", "black coffee", { confidence: 0.2 }))
    yield* tell(store, { ...fact("owns", "a boat"), subject: "Bob" })
    yield* store.assert("ann", [lives("Paris", 0), lives("Rome", 1)])
    const found = (text: string, query: object = {}) =>
      Effect.map(store.search("ann", text, { ...at, ...query }), objects)
    equal((yield* found("who drinks green tea?"))[0], "green tea", "the best one")
    equal(yield* found("boat"), ["a boat"], "the only one")
    equal(yield* found("coffee", { minConfidence: 0.5 }), [], "not sure enough")
    equal(yield* found("paris"), [], "closed")
    equal(yield* found("paris", { includeClosed: true }), ["Paris"], "closed ones as well")
    equal(yield* found("nothing alike"), [], "no word in common")
    equal(yield* found(""), [], "no text")
    equal((yield* found("tea boat coffee", { limit: 2 })).length, 2, "no more than asked for")
    const tea = some(Option.fromNullable((yield* store.search("ann", "tea", at))[0]), "tea")
    yield* store.delete("ann", tea.id)
    equal(yield* found("tea"), [], "what is gone")
  }),
  make("facts are found by words of one Chinese character", function* (store) {
    yield* store.assert("ann", [fact("likes", "可爱的猫咪"), fact("has", "黒い犬"), fact("lives in", "東京")])
    const of = (text: string) => Effect.map(store.search("ann", text, at), objects)
    equal(yield* of("猫"), ["可爱的猫咪"], "a cat")
    equal(yield* of("犬"), ["黒い犬"], "a dog")
    equal(yield* of("京都"), [], "a word of two characters, by none of them alone")
  }),
  make("entities are listed with their facts, and known by name", function* (store) {
    yield* store.assert("ann", [lives("Paris", 0), lives("Rome", 1), fact("likes", "tea")])
    yield* tell(store, { ...fact("likes", "tea"), subject: "ANNA" })
    yield* tell(store, { ...fact("likes", "milk"), subject: "Bob" })
    yield* tell(store, { ...fact("likes", "milk"), subject: "__proto__" })
    const all = yield* store.entities("ann")
    equal(
      all,
      [
        { key: "__proto__", name: "__proto__", open: 1, closed: 0 },
        { key: "anna", name: "Anna", open: 2, closed: 1 },
        { key: "bob", name: "Bob", open: 1, closed: 0 }
      ],
      "all of them"
    )
    equal(yield* store.entities("ann", { limit: 1, after: "__proto__" }), [all[1]], "a page")
    equal(yield* store.entities("ann", { after: "bob" }), [], "the last page")
    equal(
      yield* store.known("ann", ["BOB", "Eva", " anna ", "bob", "", "toString"]),
      ["BOB", " anna "],
      "those that are known"
    )
    equal(yield* store.known("ann", []), [], "none")
  }),
  make("a confidence is set within its range", function* (store) {
    const first = yield* tell(store, lives("Paris", 0))
    equal(yield* store.updateConfidence("ann", first.id, 0), { ...first, confidence: 0 }, "what is given")
    equal(some(yield* store.get("ann", first.id), "it is there").confidence, 0, "what is kept")
    equal(objects(yield* store.query("ann", { ...at, minConfidence: 0.1 })), [], "what is found")
    for (const wrong of [-0.1, 1.1, Number.NaN]) {
      const error = yield* failure(store.updateConfidence("ann", first.id, wrong), `a confidence of ${wrong}`)
      equal(error._tag, "MemoryStoreError", `a confidence of ${wrong}`)
    }
    const error = yield* failure(store.updateConfidence("ann", FactId.make("nobody"), 1), "an id that is not there")
    equal(error._tag, "MemoryStoreError", "an id that is not there")
  }),
  make("a fact is deleted with every time it held, and nothing else", function* (store) {
    yield* store.assert("ann", [lives("Paris", 0), lives("Rome", 1), lives("paris", 2), fact("likes", "Paris")])
    const [paris] = yield* store.query("ann", { ...at, predicate: "lives in" })
    equal(yield* store.delete("ann", some(Option.fromNullable(paris), "Paris").id), true, "there was one")
    equal(yield* store.delete("ann", some(Option.fromNullable(paris), "Paris").id), false, "there is none")
    equal(yield* store.delete("ann", FactId.make("nobody")), false, "there was none")
    const left = yield* store.query("ann", ever)
    sameMembers(objects(left), ["Rome", "Paris"], "what is left")
    equal(left.find(({ object }) => object === "Rome")?.validTo, epoch + 2, "what it closed stays closed")
  }),
  make("no call sees or changes data of another owner", function* (store) {
    const ids: Array<FactId> = []
    for (const [index, ownerId] of hostile.entries()) {
      ids.push((yield* tell(store, lives(`place ${index}`, 0), ownerId)).id)
    }
    sameMembers(yield* owners(store.owners), hostile, "the owners")
    equal(yield* owners(store.owners), [...hostile].sort(), "in their order")
    for (const [index, ownerId] of hostile.entries()) {
      const other = ids[(index + 1) % ids.length]!
      equal(objects(yield* store.query(ownerId, ever)), [`place ${index}`], "what an owner has")
      equal(objects(yield* store.search(ownerId, "place anna", at)), [`place ${index}`], "what an owner finds")
      equal(yield* store.count(ownerId, ever), 1, "how much an owner has")
      equal(Option.isNone(yield* store.get(ownerId, other)), true, "somebody else's fact")
      equal(yield* store.delete(ownerId, other), false, "deleting somebody else's fact")
      yield* failure(store.close(ownerId, other), "closing somebody else's fact")
      yield* failure(store.updateConfidence(ownerId, other, 0), "changing somebody else's fact")
    }
    equal(yield* store.clear("a"), 1, "what was cleared")
    equal(yield* store.clear("a"), 0, "cleared again")
    equal(yield* store.query("a", ever), [], "nothing is left")
    equal(yield* store.entities("a"), [], "nobody is left")
    sameMembers(
      yield* owners(store.owners),
      hostile.filter((name) => name !== "a"),
      "the others stay"
    )
    const [place] = yield* store.query("aa", ever)
    equal(place?.validTo, undefined, "their facts too")
  }),
  make("rejects an owner without a name", function* (store) {
    for (const ownerId of ["", "x".repeat(257)]) {
      const calls: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        store.assert(ownerId, [lives("Paris", 0)]),
        store.assert(ownerId, []),
        store.query(ownerId),
        store.search(ownerId, "Paris"),
        store.get(ownerId, FactId.make("f")),
        store.delete(ownerId, FactId.make("f")),
        store.close(ownerId, FactId.make("f")),
        store.updateConfidence(ownerId, FactId.make("f"), 1),
        store.count(ownerId),
        store.entities(ownerId),
        store.known(ownerId, ["Paris"]),
        store.clear(ownerId)
      ]
      for (const [index, call] of calls.entries()) {
        equal((yield* failure(call, `call ${index}`))._tag, "MemoryStoreError", `call ${index}`)
      }
    }
    equal(yield* owners(store.owners), [], "nobody has facts")
  }),
  make("reports health", function* (store) {
    yield* store.health
  })
]
