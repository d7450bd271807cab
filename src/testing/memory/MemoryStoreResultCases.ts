/**
 * Cases: results come with their neighbors and are as diverse as requested.
 *
 * @since 0.1.0
 * @private
 */
import * as TestClock from "effect/TestClock"
import type { MemorySearchResult } from "../../memory/entry/MemoryEntry.js"
import { equal, holds, sameMembers } from "../suite/SuiteAssert.js"
import { type Case, contents, entry, epoch, found, make, matching, only, streamed } from "./MemoryStoreCase.js"

const talk = (sessionId: string | undefined, from: number, ...texts: ReadonlyArray<string>) =>
  texts.map((content, at) =>
    entry(`${sessionId ?? "none"}${at}`, {
      content,
      sessionId,
      timestamp: epoch + from + at * 10,
      role: at % 2 ? "assistant" : "user"
    })
  )

/** Three sessions at the same time, so that their entries interleave by time. */
const talks = [
  ...talk("s", 0, "hello", "good morning", "the zebra escaped", "oh no", "call the zoo", "bye"),
  ...talk("t", 5, "other hello", "other morning", "other talk", "other answer"),
  ...talk(undefined, 2, "no session", "giraffe without a session", "no session either")
]

const beside = (results: ReadonlyArray<MemorySearchResult>) => results.filter((one) => one.neighbourOf !== undefined)

const surroundings: ReadonlyArray<Case> = [
  make("neighbors are the adjacent entries of the same session", function* (store) {
    yield* store.storeMany(talks)
    for (const [neighbours, expected] of [
      [0, []],
      [1, ["s1", "s3"]],
      [2, ["s0", "s1", "s3", "s4"]],
      [10, ["s0", "s1", "s3", "s4", "s5"]]
    ] as const) {
      const results = yield* store.retrieve(matching("zebra", { neighbours }))
      sameMembers(found(beside(results)), expected, `neighbours, ${neighbours} on each side`)
      const itself = results.filter((one) => one.neighbourOf === undefined)
      equal(found(itself), ["s2"], "what was found itself")
      for (const one of beside(results)) {
        equal(one.neighbourOf, "s2", "whose neighbour it is")
        equal(one.score, itself[0]?.score, "the score of a neighbour")
      }
    }
    equal(found(beside(yield* store.retrieve(matching("zebra")))), [], "neighbours nobody asked for")
  }),
  make("an entry without a session has no neighbors", function* (store) {
    yield* store.storeMany(talks)
    equal(found(yield* store.retrieve(matching("giraffe", { neighbours: 3 }))), ["none1"], "results")
  }),
  make("neighbors do not count for topK, and nothing is returned twice", function* (store) {
    yield* store.storeMany(talk("s", 0, "zebra", "zebra again", "lion", "giraffe", "lion", "zebra there", "lion"))
    const results = yield* store.retrieve(matching("zebra", { neighbours: 1, topK: 2 }))
    equal(results.filter((one) => one.neighbourOf === undefined).length, 2, "what was found itself")
    holds(beside(results).length > 0, "there are neighbours", found(results))
    equal(new Set(found(results)).size, results.length, "different entries")
    const all = yield* store.retrieve(matching("zebra", { neighbours: 2 }))
    sameMembers(found(all), ["s0", "s1", "s2", "s3", "s4", "s5", "s6"], "results with neighbours that are results")
    sameMembers(
      found(all.filter((one) => one.neighbourOf === undefined)),
      ["s0", "s1", "s5"],
      "what was found itself is nobody's neighbour"
    )
  }),
  make("neighbors are selected and not expired", function* (store) {
    yield* store.storeMany(talks)
    yield* store.store(
      entry("s3", {
        sessionId: "s",
        role: "assistant",
        content: "oh no",
        timestamp: epoch + 30,
        expiresAt: epoch + 1000
      })
    )
    const users = yield* store.retrieve(matching("zebra", { neighbours: 1, roles: ["user"] }))
    sameMembers(found(beside(users)), ["s0", "s4"], "neighbours of one role")
    yield* TestClock.adjust("1 second")
    const left = yield* store.retrieve(matching("zebra", { neighbours: 1 }))
    sameMembers(found(beside(left)), ["s1", "s4"], "neighbours when one has expired")
  }),
  make("diversity ranks different entries higher", function* (store) {
    yield* store.storeMany(
      contents(
        "zebra zebra stripes",
        "zebra zebra stripes again",
        "zebra zebra stripes once more",
        "a zebra crossing is a place where people on foot may cross the road before cars"
      )
    )
    const best = found(yield* store.retrieve(matching("zebra stripes", { topK: 2 })))
    equal(best.includes("e3"), false, "the different one is among the best two without diversity")
    const diverse = found(yield* store.retrieve(matching("zebra stripes", { topK: 2, diversity: 0.9 })))
    equal(diverse.includes("e3"), true, "the different one is among the first two with diversity")
    equal(diverse[0], best[0], "the best result stays the first one")
    equal(found(yield* store.retrieve(matching("zebra stripes", { topK: 2, diversity: 0 }))), best, "with diversity 0")
    const all = found(yield* store.retrieve(matching("zebra stripes", { diversity: 0.9 })))
    sameMembers(all, ["e0", "e1", "e2", "e3"], "all results with diversity")
  }),
  make("suppressing duplicates keeps the best of equal results", function* (store) {
    yield* store.storeMany([
      entry("double", { content: "the zebra escaped from the zoo today", importance: 0.1 }),
      entry("best", { content: "The zebra escaped from the zoo today!", importance: 0.9 }),
      entry("alike", { content: "zebra escaped from the zoo today, hello", importance: 0.2 }),
      entry("other", { content: "zebra crossings are white", importance: 0.3 })
    ])
    const fields = only.importance
    equal(found(yield* store.retrieve(matching("zebra", fields))), ["best", "other", "alike", "double"], "without it")
    const same = found(yield* store.retrieve(matching("zebra", { ...fields, suppressDuplicates: 1 })))
    equal(same, ["best", "other", "alike"], "of the very same words")
    const alike = found(yield* store.retrieve(matching("zebra", { ...fields, suppressDuplicates: 0.4 })))
    equal(alike, ["best", "other"], "of mostly the same words, but for small ones")
    const two = found(yield* store.retrieve(matching("zebra", { ...fields, suppressDuplicates: 1, topK: 3 })))
    equal(two, ["best", "other", "alike"], "what is suppressed leaves its place to the next")
    equal((yield* streamed(store, "ann")).length, 4, "nothing was removed from the store")
  }),
  make(
    "results that differ in a number, a date, a denial or a name are no doubles, whatever is suppressed",
    function* (store) {
      const about = "the zebra that came to the small zoo behind the river last winter"
      const texts = [
        ...["weighs 120 kg", "weighs 180 kg", "does want hay", "does not want hay", "came on 3 May", "came on 4 May"],
        ...["likes Ann", "likes Anne", "escaped today", "escaped yesterday"]
      ]
      yield* store.storeMany(contents(...texts.map((text) => `${about} ${text}`)))
      const all = texts.map((_, at) => `e${at}`)
      sameMembers(found(yield* store.retrieve(matching("zebra", { topK: 20 }))), all, "without it")
      const apart = found(yield* store.retrieve(matching("zebra", { topK: 20, suppressDuplicates: 0.1 })))
      sameMembers(apart, all, "with it")
    }
  )
]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = surroundings
