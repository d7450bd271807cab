/**
 * Cases: a selection means the same in every method that takes one.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import type { Selection } from "../../memory/entry/Selection.js"
import type * as MemoryStore from "../../memory/search/MemoryStore.js"
import { equal, sameMembers } from "../suite/SuiteAssert.js"
import { type Case, entry, epoch, found, idsOf, make, matching, query, sessionId, streamed } from "./MemoryStoreCase.js"

const metadataOf = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>

const values: Readonly<Record<string, unknown>> = {
  one: 1,
  oneText: "1",
  half: 0.5,
  minus: -3,
  ten: 10,
  tenText: "10",
  yes: true,
  yesText: "true",
  no: false,
  zero: 0,
  empty: "",
  nil: null,
  apple: "apple",
  upper: "Apple",
  umlaut: "äpfel",
  list: ["apple", 1, null],
  numbers: [5, 20],
  nothing: [],
  nested: [["apple"]],
  object: { apple: 1 }
}

const quoted = `a'b"c\`d`

/** Their ids name the value of the key `v`. */
const ofValues: ReadonlyArray<MemoryEntry> = [
  ...Object.entries(values).map(([id, v]) => entry(id, { metadata: { v } })),
  entry("absent"),
  entry("other", { metadata: { w: 1 } })
]

const everythingBut = (...ids: ReadonlyArray<string>) => idsOf(ofValues).filter((id) => !ids.includes(id))

type Table = ReadonlyArray<readonly [string, Selection, ReadonlyArray<string>]>

/** Checks a selection with every method that takes one. */
const selects = (store: MemoryStore.Service, what: string, selection: Selection, expected: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    sameMembers(idsOf(yield* store.getRecent({ ownerId: "ann", n: 100, selection })), expected, `getRecent: ${what}`)
    equal(yield* store.count("ann", selection), expected.length, `count: ${what}`)
    sameMembers(idsOf(yield* streamed(store, "ann", selection)), expected, `stream: ${what}`)
    sameMembers(found(yield* store.retrieve(query("", selection))), expected, `retrieve without words: ${what}`)
    sameMembers(found(yield* store.retrieve(matching("common", selection))), expected, `retrieve by words: ${what}`)
  })

const table = (name: string, entries: ReadonlyArray<MemoryEntry>, rows: Table): Case =>
  make(name, function* (store) {
    yield* store.storeMany(entries.map((one) => ({ ...one, content: `common ${one.content}` })))
    yield* store.store(entry("of bob", { ownerId: "bob", content: "common", metadata: { v: "apple" } }))
    for (const [what, selection, expected] of rows) yield* selects(store, what, selection, expected)
  })

const filter = (condition: NonNullable<Selection["filters"]>[string]): Selection => ({ filters: { v: condition } })

const filters: ReadonlyArray<Case> = [
  table("a filter is equal to a value of its type", ofValues, [
    ["the number 1", filter(1), ["one", "list"]],
    ["the text 1", filter("1"), ["oneText"]],
    ["the number 0", filter(0), ["zero"]],
    ["the number 0.5", filter(0.5), ["half"]],
    ["true", filter(true), ["yes"]],
    ["the text true", filter("true"), ["yesText"]],
    ["false", filter(false), ["no"]],
    ["an empty text", filter(""), ["empty"]],
    ["a text, by its case", filter("apple"), ["apple", "list"]],
    ["a text in capitals", filter("Apple"), ["upper"]],
    ["a text that looks like a pattern", filter("a%"), []],
    ["something nobody has", filter("pear"), []]
  ]),
  table("a filter of null is equal to null and to nothing", ofValues, [
    ["null", filter(null), ["nil", "list", "absent", "other"]],
    ["null of a key that nobody has", { filters: { unknown: null } }, idsOf(ofValues)]
  ]),
  table("a filter may name several values", ofValues, [
    ["two of one type", filter({ in: ["apple", "äpfel"] }), ["apple", "umlaut", "list"]],
    ["of different types", filter({ in: [1, "10", true] }), ["one", "list", "tenText", "yes"]],
    ["null among them", filter({ in: [null, "apple"] }), ["nil", "absent", "other", "apple", "list"]],
    ["none", filter({ in: [] }), []]
  ]),
  table("a filter may be a range, of numbers or of texts", ofValues, [
    ["above", filter({ gt: 1 }), ["ten", "numbers"]],
    ["from", filter({ gte: 1 }), ["one", "ten", "list", "numbers"]],
    ["below", filter({ lt: 0 }), ["minus"]],
    ["up to", filter({ lte: 0 }), ["minus", "zero"]],
    ["between", filter({ gt: 0, lt: 1 }), ["half"]],
    ["between, both ends", filter({ gte: 0.5, lte: 1 }), ["half", "one", "list"]],
    ["nothing is between", filter({ gt: 1, lt: 1 }), []],
    ["texts from", filter({ gte: "a" }), ["apple", "umlaut", "yesText", "list"]],
    ["texts below", filter({ lt: "B" }), ["oneText", "tenText", "empty", "upper"]],
    ["texts, compared as texts", filter({ gt: "1", lt: "2" }), ["tenText"]],
    ["bounds of both types", filter({ gte: 0, lte: "z" }), []]
  ]),
  table("a list fits when one of its elements does", ofValues, [
    ["one element equal", filter(20), ["numbers"]],
    ["one element in a range", filter({ gt: 10, lt: 30 }), ["numbers"]],
    ["no element in the range, though they lie around it", filter({ gt: 6, lt: 9 }), []],
    ["no element of an inner list", filter({ in: ["apple"] }), ["apple", "list"]]
  ]),
  table(
    "keys of filters are taken as they stand",
    [
      entry("dotted", { metadata: { "a.b": 1 } }),
      entry("nested", { metadata: { a: { b: 1 } } }),
      entry("proto", { metadata: metadataOf(`{"__proto__": 1}`) }),
      entry("inherited", { metadata: {} }),
      entry("own", { metadata: { constructor: 1, toString: "x" } }),
      entry("empty", { metadata: { "": 1 } }),
      entry("quotes", { metadata: { [quoted]: 1 } }),
      entry("path", { metadata: { "$.a[0]": 1, "a[0]": 2 } }),
      entry("percent", { metadata: { "%": 1, a_b: 1 } }),
      entry("unicode", { metadata: { é: 1, "日本\u{1f600}": 1 } })
    ],
    [
      ["a dot is no path", { filters: { "a.b": 1 } }, ["dotted"]],
      ["an object is no scalar", { filters: { a: 1 } }, []],
      ["__proto__", { filters: metadataOf(`{"__proto__": 1}`) as Record<string, number> }, ["proto"]],
      ["what every object inherits is no value", { filters: { constructor: { gte: "" } } }, []],
      ["constructor as a key of its own", { filters: { constructor: 1 } }, ["own"]],
      ["toString as a key of its own", { filters: { toString: "x" } as never }, ["own"]],
      ["an empty key", { filters: { "": 1 } }, ["empty"]],
      ["quotes", { filters: { [quoted]: 1 } }, ["quotes"]],
      ["what looks like a path", { filters: { "$.a[0]": 1 } }, ["path"]],
      ["brackets", { filters: { "a[0]": 2 } }, ["path"]],
      ["what looks like a pattern", { filters: { "%": 1 } }, ["percent"]],
      ["another pattern", { filters: { "a.b": 1, a_b: null } }, ["dotted"]],
      ["letters beyond ASCII", { filters: { é: 1, "日本\u{1f600}": 1 } }, ["unicode"]],
      ["its other form is another key", { filters: { "e\u0301": 1 } }, []]
    ]
  )
]

const session = sessionId

const timed: ReadonlyArray<MemoryEntry> = [
  entry("s1 at 10", { timestamp: epoch + 10, sessionId: "s1", role: "user" }),
  entry("s1 at 20", { timestamp: epoch + 20, sessionId: "s1", role: "assistant" }),
  entry("s1 at 30", { timestamp: epoch + 30, sessionId: "s1", role: "user" }),
  entry("s2 at 20", { timestamp: epoch + 20, sessionId: "s2", role: "tool" }),
  entry("s2 at 40", { timestamp: epoch + 40, sessionId: "s2", role: "assistant" }),
  entry("s3 at 25", { timestamp: epoch + 25, sessionId: "s3", role: "system" }),
  entry("none at 5", { timestamp: epoch + 5, role: "system" }),
  entry("none at 50", { timestamp: epoch + 50, role: "user", metadata: { type: "summary" } })
]

const ofSessions = (...names: ReadonlyArray<string>) =>
  idsOf(timed).filter((id) => names.some((name) => id.startsWith(name)))

const ofTrees: ReadonlyArray<MemoryEntry> = [
  entry("t at 10", { timestamp: epoch + 10, sessionId: "t", metadata: { sessionTree: "t" } }),
  entry("t unmarked", { timestamp: epoch + 20, sessionId: "t" }),
  entry("b1", { timestamp: epoch + 20, sessionId: "b1", metadata: { sessionTree: "t" } }),
  entry("b2", { timestamp: epoch + 20, sessionId: "b2", metadata: { sessionTree: "t" } }),
  entry("of several", { timestamp: epoch + 20, sessionId: "b3", metadata: { sessionTree: ["v", "t"] } }),
  entry("of none of them", { timestamp: epoch + 20, metadata: { sessionTree: "t" } }),
  entry("other", { timestamp: epoch + 20, sessionId: "other", metadata: { sessionTree: "other" } }),
  entry("none", { timestamp: epoch + 20 }),
  entry("of u", { timestamp: epoch + 20, metadata: { sessionTree: "u" } })
]

const everythingOfTreesBut = (id: string) => idsOf(ofTrees).filter((one) => one !== id)

const places: ReadonlyArray<Case> = [
  table("a range of time has both its ends", timed, [
    ["from 20 to 25", { timeRange: { start: epoch + 20, end: epoch + 25 } }, ["s1 at 20", "s2 at 20", "s3 at 25"]],
    ["one instant", { timeRange: { start: epoch + 50, end: epoch + 50 } }, ["none at 50"]],
    ["between two instants", { timeRange: { start: epoch + 10.5, end: epoch + 19.5 } }, []],
    ["turned around", { timeRange: { start: epoch + 25, end: epoch + 20 } }, []],
    ["everything", { timeRange: { start: -8.64e15, end: 8.64e15 } }, idsOf(timed)]
  ]),
  table("roles are any of those named", timed, [
    ["one", { roles: ["assistant"] }, ["s1 at 20", "s2 at 40"]],
    ["two", { roles: ["tool", "system"] }, ["s2 at 20", "s3 at 25", "none at 5"]],
    ["none", { roles: [] }, []]
  ]),
  table("sessions are any of those named", timed, [
    ["one", { sessionIds: [session("s1")] }, ofSessions("s1")],
    ["two, one of them unknown", { sessionIds: [session("s2"), session("unknown")] }, ofSessions("s2")],
    ["by the whole name", { sessionIds: [session("s")] }, []],
    ["none", { sessionIds: [] }, []]
  ]),
  table("a lineage has its sessions up to where the branch left them, and what belongs to no session", timed, [
    ["all of one", { lineage: [{ sessionId: session("s1") }] }, ofSessions("s1", "none")],
    [
      "up to an instant, inclusive",
      { lineage: [{ sessionId: session("s1"), until: epoch + 20 }, { sessionId: session("s2") }] },
      ["s1 at 10", "s1 at 20", ...ofSessions("s2", "none")]
    ],
    ["before anything", { lineage: [{ sessionId: session("s1"), until: epoch }] }, ofSessions("none")],
    [
      "a session that is named twice, up to the later",
      {
        lineage: [
          { sessionId: session("s1"), until: epoch + 10 },
          { sessionId: session("s1"), until: epoch + 20 }
        ]
      },
      ["s1 at 10", "s1 at 20", ...ofSessions("none")]
    ],
    [
      "a session that is named twice, once without an end",
      { lineage: [{ sessionId: session("s1") }, { sessionId: session("s1"), until: epoch + 10 }] },
      ofSessions("s1", "none")
    ],
    ["no session", { lineage: [] }, ofSessions("none")],
    [
      "a session from an instant on, inclusive",
      { lineage: [{ sessionId: session("s1"), from: epoch + 20 }] },
      ["s1 at 20", "s1 at 30", ...ofSessions("none")]
    ],
    [
      "a session without what lies between two stretches",
      {
        lineage: [
          { sessionId: session("s1"), from: epoch + 25 },
          { sessionId: session("s1"), until: epoch + 15 }
        ]
      },
      ["s1 at 10", "s1 at 30", ...ofSessions("none")]
    ],
    [
      "a stretch that is turned around",
      { lineage: [{ sessionId: session("s1"), from: epoch + 30, until: epoch + 10 }] },
      ofSessions("none")
    ]
  ]),
  table("in a tree of sessions a lineage leaves what belongs to others", ofTrees, [
    [
      "all of one branch",
      { lineage: [{ sessionId: session("b1") }], tree: session("t") },
      ["b1", "other", "none", "of u"]
    ],
    [
      "the way to it",
      {
        lineage: [{ sessionId: session("t"), until: epoch + 10 }, { sessionId: session("b1") }],
        tree: session("t")
      },
      ["t at 10", "b1", "other", "none", "of u"]
    ],
    ["no way", { lineage: [], tree: session("t") }, ["other", "none", "of u"]],
    [
      "a session that is named, whatever its entries say",
      { lineage: [{ sessionId: session("other"), until: epoch }], tree: session("t") },
      ["none", "of u"]
    ],
    ["another tree", { lineage: [{ sessionId: session("u") }], tree: session("u") }, everythingOfTreesBut("of u")],
    ["a tree that nobody names", { lineage: [], tree: session("nobody") }, idsOf(ofTrees)],
    ["a tree without a lineage", { tree: session("t") }, idsOf(ofTrees)],
    [
      "with a session",
      { lineage: [{ sessionId: session("b1") }], tree: session("t"), sessionIds: [session("b1"), session("b2")] },
      ["b1"]
    ]
  ]),
  table(
    "what stands for several moments lies in one stretch as a whole",
    [
      entry("across", { timestamp: epoch + 30, sessionId: "s", metadata: { timeRange: { start: epoch + 10 } } }),
      entry("since", { timestamp: epoch + 30, sessionId: "s", metadata: { timeRange: { start: epoch + 25 } } }),
      entry("until", { timestamp: epoch + 15, sessionId: "s", metadata: { timeRange: { start: epoch + 5 } } }),
      entry("moment", { timestamp: epoch + 30, sessionId: "s" }),
      entry("later", { timestamp: epoch + 30, sessionId: "s", metadata: { timeRange: { start: epoch + 90 } } }),
      entry("text", { timestamp: epoch + 30, sessionId: "s", metadata: { timeRange: { start: "0" } } }),
      entry("list", { timestamp: epoch + 30, sessionId: "s", metadata: { timeRange: [epoch + 10] } })
    ],
    [
      [
        "beside what was left behind",
        {
          lineage: [
            { sessionId: session("s"), until: epoch + 20 },
            { sessionId: session("s"), from: epoch + 25 }
          ]
        },
        ["since", "until", "moment", "later", "text", "list"]
      ],
      ["before the end", { lineage: [{ sessionId: session("s"), until: epoch + 29 }] }, ["until"]],
      [
        "from a beginning on",
        { lineage: [{ sessionId: session("s"), from: epoch + 10 }] },
        ["across", "since", "moment", "later", "text", "list"]
      ],
      [
        "a range of time goes by the moment",
        { timeRange: { start: epoch + 30, end: epoch + 30 } },
        ["across", "since", "moment", "later", "text", "list"]
      ]
    ]
  ),
  table("all that is given must hold, and nothing given restricts nothing", timed, [
    ["nothing", {}, idsOf(timed)],
    ["empty filters", { filters: {} }, idsOf(timed)],
    [
      "everything at once",
      {
        roles: ["user", "assistant"],
        sessionIds: [session("s1"), session("s2")],
        lineage: [{ sessionId: session("s1"), until: epoch + 20 }],
        timeRange: { start: epoch + 20, end: epoch + 100 }
      },
      ["s1 at 20"]
    ],
    ["a filter and a role", { filters: { type: "summary" }, roles: ["user"] }, ["none at 50"]],
    ["a filter against a role", { filters: { type: "summary" }, roles: ["tool"] }, []],
    ["two filters, one of which fails", { filters: { type: "summary", other: 1 } }, []]
  ]),
  make("a selection reflects an entry that was stored again", function* (store) {
    yield* store.storeMany(ofValues.map((one) => ({ ...one, content: "common" })))
    yield* store.storeMany(ofValues.map((one) => ({ ...one, content: "common", metadata: { v: "apple" } })))
    yield* selects(store, "the value all have now", filter("apple"), idsOf(ofValues))
    yield* selects(store, "a value one had before", filter(10), [])
    yield* store.store(entry("one", { content: "common", metadata: { v: 1 } }))
    yield* selects(store, "the value all but one have", filter("apple"), everythingBut("one"))
  })
]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...filters, ...places]
