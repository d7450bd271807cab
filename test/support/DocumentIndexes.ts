/** The contract of `DocumentIndex` as cases for every backend. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import type { Document } from "../../src/document/Document.js"
import { joined } from "../../src/document/Document.js"
import * as DocumentIndex from "../../src/document/DocumentIndex.js"

type Body = (index: DocumentIndex.Service) => Effect.Effect<void, unknown>

export const guide = `# Guide

Welcome to the guide of the harbour.

## Mooring

Boats moor at the eastern quay. A mooring costs nine crowns a night.

## Fuel

Diesel is sold until noon. Petrol is not sold.

## Showers

Tokens for the showers are at the kiosk.
`

export const document = (id: string, content: string, more: Partial<Document> = {}): Document => ({
  id,
  content,
  ...more
})

/** Headings of the hits of a query, best first. */
export const places = (index: DocumentIndex.Service, owner: string, query: DocumentIndex.Query) =>
  Effect.map(index.search(owner, query), ({ hits }) => hits.map(({ headings }) => headings.at(-1)))

/** Documents of the hits of a query, best first. */
export const found = (
  index: DocumentIndex.Service,
  owner: string,
  text: string,
  more: Partial<DocumentIndex.Query> = {}
) => Effect.map(index.search(owner, { text, ...more }), ({ hits }) => hits.map((hit) => hit.document.id))

const counts = ({ added, kept, removed, status }: DocumentIndex.Ingested) => ({ added, kept, removed, status })

const hostileIds = [
  "a",
  "a:b",
  "a/b",
  "a\u001fb",
  "a\u0000b",
  "__proto__",
  "documents",
  "\ud800",
  "a'b\"c;--",
  "x".repeat(2_000)
]
const hostileOwners = ["ann", "ann:bob", "\u001fdocuments=ann", "documents", "__proto__", "a\u0000b", "o".repeat(256)]

const keeping: Readonly<Record<string, Body>> = {
  "an empty index and an unknown owner have nothing": (index) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* index.search("ann", { text: "fuel" }), { hits: [] })
      assert.deepStrictEqual(yield* index.list("ann"), { documents: [] })
      assert.isUndefined(yield* index.get("ann", "guide.md"))
      assert.deepStrictEqual(yield* index.read("ann", "guide.md"), [])
      assert.deepStrictEqual(yield* index.count("ann"), { documents: 0, chunks: 0 })
      assert.strictEqual(yield* index.delete("ann", ["guide.md"]), 0)
      assert.strictEqual(yield* index.clear("ann"), 0)
      assert.notStrictEqual(index.name, "")
      yield* index.health
    }),

  "finds a document in the next call, with its place": (index) =>
    Effect.gen(function* () {
      const [ingested] = yield* index.ingest("ann", [document("guide.md", guide, { tags: ["port", "port"] })])
      assert.deepStrictEqual(counts(ingested!), { status: "added", added: 4, kept: 0, removed: 0 })
      const { hits } = yield* index.search("ann", { text: "Where is diesel sold?" })
      const [hit] = hits
      assert.deepStrictEqual(hit!.headings, ["Guide", "Fuel"])
      assert.strictEqual(hit!.text, "## Fuel\n\nDiesel is sold until noon. Petrol is not sold.")
      assert.strictEqual(guide.slice(hit!.start, hit!.end), hit!.text)
      assert.isTrue(hit!.score > 0 && hit!.score <= 1)
      assert.deepStrictEqual([hit!.before, hit!.after], [[], []])
      const { changedAt, ...info } = hit!.document
      assert.deepStrictEqual(info, {
        id: "guide.md",
        title: "Guide",
        source: "guide.md",
        format: "markdown",
        tags: ["port"],
        chunks: 4,
        characters: guide.length,
        isEmbedded: false
      })
      assert.isNumber(changedAt)
      assert.deepStrictEqual(yield* index.get("ann", "guide.md"), hit!.document)
      assert.deepStrictEqual(yield* index.count("ann"), { documents: 1, chunks: 4 })
    }),

  "writes nothing for a document that did not change": (index) =>
    Effect.gen(function* () {
      yield* index.ingest("ann", [document("guide.md", guide)])
      const before = yield* index.get("ann", "guide.md")
      yield* TestClock.adjust("1 hour")
      const [again] = yield* index.ingest("ann", [document("guide.md", guide)])
      assert.deepStrictEqual(counts(again!), { status: "unchanged", added: 0, kept: 4, removed: 0 })
      assert.deepStrictEqual(yield* index.get("ann", "guide.md"), before)
    }),

  "changes only the chunks that changed, and keeps the ids of the others": (index) =>
    Effect.gen(function* () {
      yield* index.ingest("ann", [document("guide.md", guide)])
      const before = yield* index.read("ann", "guide.md")
      yield* TestClock.adjust("1 hour")
      const changed = guide.replace("Welcome", "Be warmly welcome").replace("until noon", "until nine")
      const [again] = yield* index.ingest("ann", [document("guide.md", changed)])
      assert.deepStrictEqual(counts(again!), { status: "changed", added: 2, kept: 2, removed: 2 })
      const after = yield* index.read("ann", "guide.md")
      const shared = after.filter(({ id }) => before.some((one) => one.id === id))
      assert.deepStrictEqual(
        shared.map(({ headings }) => headings.at(-1)),
        ["Mooring", "Showers"]
      )
      for (const { end, start, text } of after) assert.strictEqual(changed.slice(start, end), text)
      assert.deepStrictEqual(yield* places(index, "ann", { text: "noon" }), [])
      assert.deepStrictEqual(yield* places(index, "ann", { text: "until nine", limit: 1 }), ["Fuel"])
      assert.isAbove((yield* index.get("ann", "guide.md"))!.changedAt, 0)
    }),

  "tells equal chunks of one document apart": (index) =>
    Effect.gen(function* () {
      const same = "# A\n\nThe same words.\n\n# A\n\nThe same words.\n\n# A\n\nThe same words."
      const [ingested] = yield* index.ingest("ann", [document("same.md", same)])
      assert.strictEqual(ingested!.added, 3)
      assert.strictEqual(new Set((yield* index.read("ann", "same.md")).map(({ id }) => id)).size, 3)
      const [again] = yield* index.ingest("ann", [document("same.md", `${same}\n\n# B\n\nOther.`)])
      assert.deepStrictEqual(counts(again!), { status: "changed", added: 1, kept: 3, removed: 0 })
    }),

  "takes a changed description without changing chunks": (index) =>
    Effect.gen(function* () {
      yield* index.ingest("ann", [document("guide.md", guide, { tags: ["old"] })])
      const [again] = yield* index.ingest("ann", [document("guide.md", guide, { tags: ["new"], source: "http://x/y" })])
      assert.deepStrictEqual(counts(again!), { status: "changed", added: 0, kept: 4, removed: 0 })
      assert.deepStrictEqual(yield* found(index, "ann", "fuel", { tags: ["old"] }), [])
      const { hits } = yield* index.search("ann", { text: "fuel", tags: ["new"] })
      assert.strictEqual(hits[0]!.document.source, "http://x/y")
    }),

  "takes an empty document, and one that becomes empty": (index) =>
    Effect.gen(function* () {
      const [empty] = yield* index.ingest("ann", [document("a", "")])
      assert.deepStrictEqual(counts(empty!), { status: "added", added: 0, kept: 0, removed: 0 })
      yield* index.ingest("ann", [document("a", "some words")])
      const [again] = yield* index.ingest("ann", [document("a", " \n ")])
      assert.deepStrictEqual(counts(again!), { status: "changed", added: 0, kept: 0, removed: 1 })
      assert.deepStrictEqual(yield* index.count("ann"), { documents: 1, chunks: 0 })
    }),

  "deletes documents with their chunks, and reports those that existed": (index) =>
    Effect.gen(function* () {
      yield* index.ingest("ann", [document("a", "apples"), document("b", "pears"), document("c", "apples and pears")])
      assert.strictEqual(yield* index.delete("ann", ["a", "a", "none"]), 1)
      assert.notInclude(yield* found(index, "ann", "apples"), "a")
      assert.deepStrictEqual(yield* index.count("ann"), { documents: 2, chunks: 2 })
      assert.strictEqual(yield* index.clear("ann"), 2)
      assert.deepStrictEqual(yield* index.count("ann"), { documents: 0, chunks: 0 })
      const [again] = yield* index.ingest("ann", [document("a", "apples")])
      assert.strictEqual(again!.status, "added")
    }),

  "lists documents page by page, in the order of their changes": (index) =>
    Effect.gen(function* () {
      for (let n = 0; n < 5; n++) {
        yield* index.ingest("ann", [document(`d${n}`, `text ${n}`, { tags: n % 2 === 0 ? ["even", "all"] : ["all"] })])
        yield* TestClock.adjust("1 second")
      }
      const ids: Array<string> = []
      for (let after: string | undefined; ; ) {
        const page = yield* index.list("ann", { limit: 2, after })
        ids.push(...page.documents.map(({ id }) => id))
        if (page.next === undefined) break
        after = page.next
      }
      assert.deepStrictEqual(ids, ["d0", "d1", "d2", "d3", "d4"])
      const even = yield* index.list("ann", { tags: ["all", "even"] })
      assert.deepStrictEqual(
        even.documents.map(({ id }) => id),
        ["d0", "d2", "d4"]
      )
      const wrong = yield* Effect.flip(index.list("ann", { after: "nowhere" }))
      assert.strictEqual((wrong as { readonly reason?: string }).reason, "Invalid")
    }),

  "keeps both of two documents that are written at once, and one version of a document": (index) =>
    Effect.gen(function* () {
      const versions = Array.from({ length: 6 }, (_, n) => document("one", `# V${n}\n\nversion number${n}`))
      yield* Effect.forEach([...versions, document("other", "other words")], (one) => index.ingest("ann", [one]), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(yield* index.count("ann"), { documents: 2, chunks: 2 })
      assert.lengthOf(yield* index.read("ann", "one"), 1)
    })
}

const searching: Readonly<Record<string, Body>> = {
  "finds nothing for a text without words, and at most as many hits as are asked for": (index) =>
    Effect.gen(function* () {
      yield* index.ingest(
        "ann",
        Array.from({ length: 8 }, (_, n) => document(`d${n}`, `common word and rare${n}`))
      )
      for (const text of ["", "  ", "?!", "the of"])
        assert.deepStrictEqual((yield* index.search("ann", { text })).hits, [])
      assert.lengthOf((yield* index.search("ann", { text: "common word" })).hits, 5)
      assert.lengthOf((yield* index.search("ann", { text: "common word", limit: 7 })).hits, 7)
      assert.lengthOf((yield* index.search("ann", { text: "common word", limit: 0 })).hits, 0)
      assert.deepStrictEqual(yield* found(index, "ann", "common rare3", { limit: 1 }), ["d3"])
    }),

  "restricts a search to documents and to documents with all tags": (index) =>
    Effect.gen(function* () {
      yield* index.ingest("ann", [
        document("a", "apples", { tags: ["fruit", "red"] }),
        document("b", "apples", { tags: ["fruit"] }),
        document("c", "apples")
      ])
      const search = (more: Partial<DocumentIndex.Query>) =>
        Effect.map(found(index, "ann", "apples", more), (ids) => [...ids].sort())
      assert.deepStrictEqual(yield* search({}), ["a", "b", "c"])
      assert.deepStrictEqual(yield* search({ tags: ["fruit"] }), ["a", "b"])
      assert.deepStrictEqual(yield* search({ tags: ["red", "fruit"] }), ["a"])
      assert.deepStrictEqual(yield* search({ tags: ["fruit", "none"] }), [])
      assert.deepStrictEqual(yield* search({ documents: ["b", "c"] }), ["b", "c"])
      assert.deepStrictEqual(yield* search({ documents: ["b", "c"], tags: ["fruit"] }), ["b"])
      assert.deepStrictEqual(yield* search({ documents: [] }), [])
    }),

  "shows the neighbours of a hit in the order of the text, never those of another document": (index) =>
    Effect.gen(function* () {
      yield* index.ingest("ann", [document("guide.md", guide), document("next.md", "# Next\n\nAnother document.")])
      const { hits } = yield* index.search("ann", { text: "diesel", limit: 1, neighbours: 1 })
      const around = [...hits[0]!.before, hits[0]!, ...hits[0]!.after]
      assert.deepStrictEqual(
        around.map(({ headings }) => headings.at(-1)),
        ["Mooring", "Fuel", "Showers"]
      )
      const last = yield* index.search("ann", { text: "kiosk", limit: 1, neighbours: 9 })
      assert.lengthOf(last.hits[0]!.before, 3)
      assert.deepStrictEqual(last.hits[0]!.after, [])
      assert.strictEqual(joined([...last.hits[0]!.before, last.hits[0]!]), guide.trim())
    }),

  "reads the passages of a document from any of them on": (index) =>
    Effect.gen(function* () {
      yield* index.ingest("ann", [document("guide.md", guide)])
      const last = (options?: { readonly offset?: number; readonly limit?: number }) =>
        Effect.map(index.read("ann", "guide.md", options), (all) => all.map(({ headings }) => headings.at(-1)))
      assert.deepStrictEqual(yield* last(), ["Guide", "Mooring", "Fuel", "Showers"])
      assert.deepStrictEqual(yield* last({ offset: 1, limit: 2 }), ["Mooring", "Fuel"])
      assert.deepStrictEqual(yield* last({ offset: 4 }), [])
    }),

  "finds words of the title and of the headings above a passage": (index) =>
    Effect.gen(function* () {
      yield* index.ingest("ann", [document("a", guide, { title: "Rules of Kristiansund", format: "markdown" })])
      assert.deepStrictEqual(yield* places(index, "ann", { text: "Kristiansund showers", limit: 1 }), ["Showers"])
    })
}

const owning: Readonly<Record<string, Body>> = {
  "keeps documents of owners apart, whatever their names": (index) =>
    Effect.gen(function* () {
      for (const owner of hostileOwners) yield* index.ingest(owner, [document("same", `words of ${owner}`)])
      for (const owner of hostileOwners) {
        assert.deepStrictEqual(yield* index.count(owner), { documents: 1, chunks: 1 })
        const { hits } = yield* index.search(owner, { text: "words", limit: 100 })
        assert.deepStrictEqual(
          hits.map(({ text }) => text),
          [`words of ${owner}`.trim()]
        )
      }
      assert.strictEqual(yield* index.delete("ann", ["same"]), 1)
      assert.strictEqual(yield* index.clear("ann:bob"), 1)
      for (const owner of hostileOwners.slice(2)) assert.strictEqual((yield* index.count(owner)).documents, 1)
    }),

  "keeps documents of one owner apart, whatever their ids": (index) =>
    Effect.gen(function* () {
      for (const [n, id] of hostileIds.entries()) yield* index.ingest("ann", [document(id, `number${n}`)])
      for (const [n, id] of hostileIds.entries()) {
        assert.deepStrictEqual(yield* found(index, "ann", `number${n}`), [id])
        assert.strictEqual((yield* index.get("ann", id))!.id, id)
      }
      assert.strictEqual((yield* index.count("ann")).documents, hostileIds.length)
    }),

  "rejects owners and documents that are out of bounds, and says why": (index) =>
    Effect.gen(function* () {
      for (const owner of ["", "o".repeat(257)]) {
        const error = yield* Effect.flip(index.ingest(owner, [document("a", "b")]))
        assert.strictEqual(error._tag, "MemoryStoreError")
        yield* Effect.flip(index.search(owner, { text: "b" }))
        yield* Effect.flip(index.clear(owner))
      }
      const wrong: ReadonlyArray<Partial<Document>> = [
        { id: "" },
        { id: "x".repeat(2_001) },
        { title: "" },
        { title: "t".repeat(501) },
        { tags: [""] },
        { tags: Array.from({ length: 33 }, (_, n) => `t${n}`) },
        { content: 5 as unknown as string },
        { format: "docx" as "text" }
      ]
      for (const more of wrong) {
        const error = yield* Effect.flip(index.ingest("ann", [document("a", "b", more)]))
        assert.deepInclude(error, { _tag: "DocumentError", reason: "Invalid" })
        assert.isString(error.hint)
      }
      assert.deepStrictEqual(yield* index.count("ann"), { documents: 0, chunks: 0 })
    }),

  "keeps any text": (index) =>
    Effect.gen(function* () {
      const text = "nul \u0000, half \ud800, emoji 😀, quote ' \" \\ ; DROP TABLE x; -- and end"
      yield* index.ingest("ann", [document("odd", text, { tags: ["'\u0000", "\ud800"] })])
      const { hits } = yield* index.search("ann", { text: "emoji quote", tags: ["'\u0000"] })
      assert.strictEqual(hits[0]!.text, text)
      assert.deepStrictEqual(hits[0]!.document.tags, ["'\u0000", "\ud800"])
    })
}

/** Cases that hold with vectors, too. */
const withVectors: ReadonlyArray<string> = [
  "an empty index and an unknown owner have nothing",
  "writes nothing for a document that did not change",
  "tells equal chunks of one document apart",
  "deletes documents with their chunks, and reports those that existed",
  "restricts a search to documents and to documents with all tags",
  "keeps documents of owners apart, whatever their names"
]

const all: Readonly<Record<string, Body>> = { ...keeping, ...searching, ...owning }

/** Registers the cases for a backend, each on an empty index. */
export const suite = (name: string, layer: Layer.Layer<DocumentIndex.DocumentIndex, unknown>): void => {
  describe(`${name} passes the suite of document indexes`, () => {
    for (const [title, body] of Object.entries(all)) {
      it.effect(title, () => Effect.provide(Effect.flatMap(DocumentIndex.DocumentIndex, body), layer))
    }
  })
}

/** Registers the cases of changes and owners for a backend with vectors, whose hits by words come with others. */
export const suiteOfVectors = (name: string, layer: Layer.Layer<DocumentIndex.DocumentIndex, unknown>): void => {
  describe(`${name} keeps documents`, () => {
    for (const title of withVectors) {
      it.effect(title, () => Effect.provide(Effect.flatMap(DocumentIndex.DocumentIndex, all[title]!), layer))
    }
  })
}
