/**
 * Cases: a query finds the right entries in the right order with the right scores.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import type { MemoryQuery, MemorySearchResult } from "../../memory/entry/MemoryEntry.js"
import type * as MemoryStore from "../../memory/search/MemoryStore.js"
import { equal, holds, sameMembers } from "../suite/SuiteAssert.js"
import { type Case, contents, entry, epoch, found, hour, make, matching, only, query } from "./MemoryStoreCase.js"

const isShare = (value: number): boolean => value >= 0 && value <= 1

const close = (a: number, b: number): boolean => Math.abs(a - b) < 1e-9

const checked = (results: ReadonlyArray<MemorySearchResult>): void => {
  for (const [at, one] of results.entries()) {
    holds(isShare(one.score), "a score is 0 to 1", one.score)
    holds(isShare(one.relevance), "a relevance is 0 to 1", one.relevance)
    holds(
      one.score <= (results[at - 1]?.score ?? 1),
      "scores descend",
      results.map((each) => each.score)
    )
  }
}

const relevanceOf = (results: ReadonlyArray<MemorySearchResult>, id: string): number => {
  const result = results.find((one) => one.entry.id === id)
  holds(result !== undefined, `${id} is among the results`, found(results))
  return result.relevance
}

const finds = (name: string, pairs: ReadonlyArray<readonly [content: string, query: string]>) =>
  make(name, function* (store) {
    yield* store.storeMany(pairs.map(([content], at) => entry(`e${at}`, { content })))
    yield* store.store(entry("other", { content: "something else entirely" }))
    for (const [at, [content, text]] of pairs.entries()) {
      const ids = found(yield* store.retrieve(matching(text)))
      holds(ids.includes(`e${at}`), `"${text}" finds "${content}"`, ids)
      holds(!ids.includes("other"), `"${text}" finds nothing else`, ids)
    }
  })

const words: ReadonlyArray<Case> = [
  make("words of one Chinese character are found, also by a query of several words", function* (store) {
    yield* store.storeMany([
      entry("zh", { content: "我的猫很可爱" }),
      entry("ja", { content: "うちの猫は黒い" }),
      entry("dog", { content: "私は犬が好きです" }),
      entry("kyoto", { content: "京都に行った" }),
      entry("tokyo", { content: "東京に行った" })
    ])
    const of = (text: string) => Effect.map(store.retrieve(matching(text)), (results) => found(results).toSorted())
    equal(yield* of("猫"), ["ja", "zh"], "a cat")
    equal(yield* of("犬"), ["dog"], "a dog")
    equal(yield* of("犬 猫"), ["dog", "ja", "zh"], "cats and dogs")
    equal(yield* of("鳥"), [], "a bird")
    equal(yield* of("東京"), ["tokyo"], "a word of two characters, by none of them alone")
  }),
  finds("words are found whatever their case", [
    ["We flew to PARIS", "paris"],
    ["the invoice was paid", "INVOICE"],
    ["Straße nach Köln", "köln"]
  ]),
  finds("words are found by their stem", [
    ["she was running late", "runs"],
    ["the servers are connected", "connection"],
    ["several parties attended", "party"]
  ]),
  finds("words are found with and without their accents", [
    ["Café au lait", "cafe"],
    ["the resume is attached", "résumé"],
    ["crème brûlée", "creme brulee"],
    ["Zu\u0308rich in spring", "Z\u00fcrich"],
    ["Malm\u00f6 in autumn", "malmo"]
  ]),
  finds("words of languages without spaces are found inside of sentences", [
    ["昨日東京に行きました", "東京"],
    ["我们明天去北京开会", "北京"],
    ["오늘 서울에서 만나요", "서울"]
  ]),
  finds("numbers and names with signs are found", [
    ["order 48213 was shipped", "48213"],
    ["the file config.yaml is missing", "config.yaml"],
    ["ask ann-marie about it", "ann-marie"]
  ]),
  make("a rare word counts for more than a common one", function* (store) {
    const common = Array.from({ length: 20 }, (_, at) => `meeting notes number${at} of the project`)
    yield* store.storeMany(contents("the zebra escaped yesterday", ...common, "notes of another meeting"))
    const results = yield* store.retrieve(matching("meeting zebra"))
    equal(found(results)[0], "e0", "the best result")
    equal(results.length, 22, "how many were found")
  }),
  make("an entry with more words of the query is more relevant", function* (store) {
    yield* store.storeMany(contents("red", "red green", "red green blue", "yellow", "black"))
    const results = yield* store.retrieve(matching("red green blue"))
    equal(found(results), ["e2", "e1", "e0"], "results")
    holds(relevanceOf(results, "e2") > relevanceOf(results, "e1"), "three words count for more than two")
  }),
  make("an entry that is about the query is more relevant than one that mentions it", function* (store) {
    const talk = "and then we talked about many other things that have nothing to do with it at all "
    yield* store.storeMany(contents(`${talk.repeat(20)} zebra ${talk.repeat(20)}`, "zebra", "lion", "giraffe"))
    equal(found(yield* store.retrieve(matching("zebra"))), ["e1", "e0"], "results")
  }),
  make("an entry without query words has no relevance and stays unless a minimum is set", function* (store) {
    yield* store.storeMany(contents("zebra", "lion", "giraffe"))
    const results = yield* store.retrieve(query("zebra"))
    equal(
      results.map((one) => [one.entry.id, one.relevance > 0]),
      [
        ["e0", true],
        ["e2", false],
        ["e1", false]
      ],
      "results"
    )
    equal(relevanceOf(results, "e1"), 0, "relevance of what has no word of the query")
    const nothing = yield* store.retrieve(query("elephant"))
    equal(
      nothing.map((one) => [one.entry.id, one.relevance]),
      [
        ["e2", 0],
        ["e1", 0],
        ["e0", 0]
      ],
      "without a match"
    )
    equal(found(yield* store.retrieve(matching("elephant"))), [], "without a match, when some relevance is asked for")
  }),
  make("finds an old entry by its words among a thousand newer ones", function* (store) {
    const newer = Array.from({ length: 1000 }, (_, at) => entry(`n${at}`, { content: `ordinary talk ${at}` }))
    yield* store.store(entry("old", { content: "the passphrase is xylophone", timestamp: epoch - 20 * 24 * hour }))
    yield* store.storeMany(newer)
    equal(found(yield* store.retrieve(matching("which xylophone", { topK: 5 }))), ["old"], "results")
    const weighed = { recencyWeight: 0.3, importanceWeight: 0.3, relevanceWeight: 0.4 }
    const ids = found(yield* store.retrieve(query("xylophone", { topK: 5, ...weighed })))
    holds(ids.includes("old"), "it is among the best five by the usual weights", ids)
  }),
  make("treats any query as plain words", function* (store) {
    yield* store.storeMany(contents("zebra and lion", "giraffe"))
    const texts = [
      " ",
      "?!",
      `"zebra`,
      "zebra AND",
      "NOT zebra",
      "zebra NEAR(lion)",
      "zeb*",
      "(zebra",
      "content:zebra",
      "zebra^2",
      "-zebra",
      "%_",
      "'; DROP TABLE memory_entries; --",
      "\\",
      "\u0000",
      "\ud83d",
      "\u{1f600}",
      "__proto__ constructor toString",
      "zebra ".repeat(17_000),
      "\"'`".repeat(34_000),
      Array.from({ length: 10_000 }, (_, at) => `w${at}`).join(" ")
    ]
    for (const text of texts) {
      const what = JSON.stringify(text.slice(0, 30))
      const results = yield* store.retrieve(query(text))
      checked(results)
      sameMembers(found(results), ["e0", "e1"], `results for ${what}`)
      equal(relevanceOf(results, "e1"), 0, `relevance of what has none of these words: ${what}`)
    }
    equal(found(yield* store.retrieve(matching(`"zebra`))), ["e0"], "a quote does not hide a word")
    equal(found(yield* store.retrieve(matching("-zebra"))), ["e0"], "a sign does not hide a word")
  })
]

/**
 * Every entry has a different rank by each part: `old` is the most important, `new` the newest, `match` the most
 * relevant.
 */
const threefold = [
  entry("old", { content: "lion", importance: 0.9, timestamp: epoch - 48 * hour }),
  entry("match", { content: "zebra", importance: 0.1, timestamp: epoch - 24 * hour }),
  entry("new", { content: "zebra with lions and other animals", importance: 0.5, timestamp: epoch - hour })
]

const scoresOf = (store: MemoryStore.Service, fields: Partial<MemoryQuery>) =>
  Effect.map(store.retrieve(query("zebra", fields)), (results) => results.map((one) => [one.entry.id, one.score]))

const scores: ReadonlyArray<Case> = [
  make("each part of the score decides the order when it alone has weight", function* (store) {
    yield* store.storeMany(threefold)
    equal(found(yield* store.retrieve(query("zebra", only.recency))), ["new", "match", "old"], "by recency")
    equal(found(yield* store.retrieve(query("zebra", only.importance))), ["old", "new", "match"], "by importance")
    equal(found(yield* store.retrieve(query("zebra", only.relevance))), ["match", "new", "old"], "by relevance")
    const results = yield* store.retrieve(query("zebra", only.importance))
    equal(
      results.map((one) => one.score),
      [0.9, 0.5, 0.1],
      "scores by importance are the importance"
    )
    const relevant = yield* store.retrieve(query("zebra", only.relevance))
    holds(
      relevant.every((one) => close(one.score, one.relevance)),
      "scores by relevance are the relevance"
    )
  }),
  make("only the ratio of the weights matters", function* (store) {
    yield* store.storeMany(threefold)
    const ones = yield* scoresOf(store, { recencyWeight: 1, importanceWeight: 0.5, relevanceWeight: 0.5 })
    const halves = yield* scoresOf(store, { recencyWeight: 0.5, importanceWeight: 0.25, relevanceWeight: 0.25 })
    equal(halves, ones, "scores with half the weights")
  }),
  make("scores are between 0 and 1 and descend, and results name their store", function* (store) {
    yield* store.storeMany([
      ...threefold,
      entry("future", { content: "zebra", timestamp: epoch + 1000 * hour, importance: 1 }),
      entry("ancient", { content: "zebra", timestamp: epoch - 25 * 24 * hour, importance: 0 }),
      entry("empty", { importance: 1 })
    ])
    for (const text of ["zebra", "zebra zebra zebra", "lion animals", "", "unknown"]) {
      for (const weights of [
        only.recency,
        only.importance,
        only.relevance,
        { recencyWeight: 0.3, importanceWeight: 0.3, relevanceWeight: 0.4 }
      ]) {
        const results = yield* store.retrieve(query(text, weights))
        equal(results.length, 6, "how many results")
        checked(results)
        for (const one of results) equal(one.source, store.name, "where a result comes from")
      }
    }
  }),
  make("the younger an entry, the higher its score, and scores fade with time", function* (store) {
    yield* store.storeMany(
      Array.from({ length: 10 }, (_, at) => entry(`e${at}`, { timestamp: epoch - at * 24 * hour }))
    )
    const before = yield* scoresOf(store, only.recency)
    equal(
      before.map(([id]) => id),
      Array.from({ length: 10 }, (_, at) => `e${at}`),
      "results"
    )
    holds(new Set(before.map(([, score]) => score)).size === 10, "all scores differ", before)
    yield* TestClock.adjust("5 days")
    const after = yield* scoresOf(store, only.recency)
    holds(
      after.every(([, score], at) => Number(score) < Number(before[at]?.[1])),
      "every score is lower five days later",
      [before, after]
    )
  }),
  make("equal scores come newest first", function* (store) {
    yield* store.storeMany(
      ["b", "d", "a", "c", "e"].map((id, at) => entry(id, { content: "zebra", timestamp: epoch - at * hour }))
    )
    equal(found(yield* store.retrieve(query("zebra", only.importance))), ["b", "d", "a", "c", "e"], "results")
    yield* store.storeMany(["x", "z", "y"].map((id) => entry(id, { content: "zebra", timestamp: epoch + hour })))
    const results = found(yield* store.retrieve(query("zebra", only.importance)))
    equal(found(yield* store.retrieve(query("zebra", only.importance))), results, "results when asked again")
    sameMembers(results.slice(0, 3), ["x", "y", "z"], "the newest three")
  }),
  make("without words every entry is equally relevant, and recency and importance decide", function* (store) {
    yield* store.storeMany(threefold)
    const results = yield* store.retrieve(
      query("", { recencyWeight: 0.1, importanceWeight: 0.8, relevanceWeight: 0.1 })
    )
    equal(found(results), ["old", "new", "match"], "results, when importance counts for most")
    equal(
      results.map((one) => one.relevance),
      [0, 0, 0],
      "relevance"
    )
    equal(found(yield* store.retrieve(query("", only.recency))), ["new", "match", "old"], "results by recency")
    equal(found(yield* store.retrieve(query("", only.relevance))), ["new", "match", "old"], "results by nothing")
    equal(found(yield* store.retrieve(matching(""))), [], "results of some relevance")
  }),
  make("applies the minimum to the relevance, not to the score", function* (store) {
    yield* store.storeMany([
      entry("weighty", { content: "lion", importance: 1, timestamp: epoch }),
      entry("faint", { content: "zebra", importance: 0, timestamp: epoch - 20 * 24 * hour }),
      entry("mention", { content: `zebra ${"and other animals ".repeat(30)}`, importance: 1 })
    ])
    const weights = { recencyWeight: 0.45, importanceWeight: 0.45, relevanceWeight: 0.1 }
    const all = yield* store.retrieve(query("zebra", weights))
    sameMembers(found(all), ["weighty", "faint", "mention"], "all results")
    const faint = relevanceOf(all, "faint")
    const mention = relevanceOf(all, "mention")
    holds(faint > mention && mention > 0, "the shorter entry is the more relevant one", [faint, mention])
    equal(
      found(yield* store.retrieve(query("zebra", { ...weights, minRelevance: mention }))),
      ["mention", "faint"],
      "from the lower one on"
    )
    equal(
      found(yield* store.retrieve(query("zebra", { ...weights, minRelevance: faint }))),
      ["faint"],
      "from the higher one on"
    )
    const between = (mention + faint) / 2
    equal(
      found(yield* store.retrieve(query("zebra", { ...weights, minRelevance: between }))),
      ["faint"],
      "between both"
    )
  }),
  make("returns at most topK results", function* (store) {
    yield* store.storeMany(Array.from({ length: 30 }, (_, at) => entry(`e${at}`, { content: "zebra" })))
    for (const topK of [0, 1, 7, 30]) {
      equal((yield* store.retrieve(query("zebra", { topK }))).length, topK, `results for topK ${topK}`)
    }
    equal((yield* store.retrieve(query("", { topK: 3 }))).length, 3, "results without words")
  }),
  make("pages together contain everything once", function* (store) {
    yield* store.storeMany(
      Array.from({ length: 60 }, (_, at) =>
        entry(`e${at}`, {
          content: at % 3 === 0 ? `zebra ${"filler ".repeat(at % 7)}` : `lion ${at % 5}`,
          importance: (at % 11) / 11,
          timestamp: epoch - (at % 13) * hour
        })
      )
    )
    const weights = { recencyWeight: 0.3, importanceWeight: 0.3, relevanceWeight: 0.4 }
    for (const fields of [{}, weights, { ...weights, minRelevance: 0.01 }, only.importance]) {
      for (const text of ["zebra", ""]) {
        const whole = found(yield* store.retrieve(query(text, fields)))
        const joined: Array<string> = []
        for (let offset = 0; offset < 70; offset += 7) {
          joined.push(...found(yield* store.retrieve(query(text, { ...fields, topK: 7, offset }))))
        }
        equal(joined, whole, `pages of "${text}" with ${JSON.stringify(fields)}`)
        equal(new Set(joined).size, joined.length, "different results")
      }
    }
  }),
  make("explains the score on request", function* (store) {
    yield* store.storeMany(threefold)
    const plain = yield* store.retrieve(query("zebra"))
    equal(
      plain.map((one) => one.explanation),
      [undefined, undefined, undefined],
      "explanations nobody asked for"
    )
    const refused = yield* store.retrieve(query("zebra", { explain: false }))
    equal(
      refused.map((one) => one.explanation),
      [undefined, undefined, undefined],
      "explanations somebody refused"
    )
    const weights = { recencyWeight: 0.6, importanceWeight: 0.3, relevanceWeight: 0.3 }
    const results = yield* store.retrieve(query("zebra", { ...weights, explain: true }))
    equal(results.length, 3, "how many results")
    for (const one of results) {
      const parts = one.explanation
      holds(parts !== undefined, "a result is explained")
      const { importance, recency, relevance } = parts.weights
      holds(close(recency, 0.5) && close(importance, 0.25) && close(relevance, 0.25), "the weights used", parts.weights)
      const sum = parts.recency * recency + parts.importance * importance + parts.relevance * relevance
      holds(close(sum, one.score), "the parts add up to the score", [sum, one.score])
      equal(parts.importance, one.entry.importance, "the part of importance")
      equal(parts.relevance, one.relevance, "the part of relevance")
      equal(parts.lexical === undefined, one.entry.id === "old", `${one.entry.id} was found by its words`)
      holds(
        [parts.recency, parts.importance, parts.relevance, parts.lexical ?? 0].every(isShare),
        "parts are 0 to 1",
        parts
      )
    }
    equal(scoresWithout(results), scoresWithout(yield* store.retrieve(query("zebra", weights))), "results without it")
  })
]

const scoresWithout = (results: ReadonlyArray<MemorySearchResult>) =>
  results.map((one) => [one.entry.id, one.score, one.relevance])

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...words, ...scores]
