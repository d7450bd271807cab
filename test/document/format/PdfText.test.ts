import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Document from "../../../src/document/Document.js"
import * as DocumentReader from "../../../src/document/format/DocumentReader.js"
import * as InMemoryDocumentIndex from "../../../src/document/InMemoryDocumentIndex.js"
import * as PdfFiles from "../../support/PdfFiles.js"

const read = (content: string | Uint8Array, options?: DocumentReader.Options) =>
  DocumentReader.read({ name: "a.pdf", content }, options)

const refused = (content: string | Uint8Array, options?: DocumentReader.Options) =>
  Effect.map(Effect.flip(read(content, options)), ({ document, hint, message, reason }) => {
    assert.strictEqual(document, "a.pdf")
    assert.isString(hint)
    return { reason, message }
  })

const pages = [
  ["First page", "It has (some) words."],
  ["Second page", "The answer is here.", "And more."]
]

describe("PdfText", () => {
  it.live("reads the lines of every page, where they begin, and the title", () =>
    Effect.gen(function* () {
      for (const compressed of [false, true]) {
        const found = yield* read(PdfFiles.make(pages, { title: "Harbour rules", compressed }))
        assert.deepStrictEqual(found, {
          format: "pdf",
          syntax: "plain",
          title: "Harbour rules",
          text: "First page\nIt has (some) words.\n\nSecond page\nThe answer is here.\nAnd more.",
          pages: [0, 33]
        })
      }
    })
  )

  it.live("names the pages of a passage", () =>
    Effect.gen(function* () {
      const index = yield* InMemoryDocumentIndex.make({ maxTokens: 16, overlapTokens: 0 })
      yield* index.ingest("ann", [{ id: "a", content: PdfFiles.make(pages) }])
      const { hits } = yield* index.search("ann", { text: "answer", limit: 1 })
      assert.deepStrictEqual(hits[0]!.pages, [2, 2])
      assert.strictEqual(Document.placeOf(hits[0]!), "p. 2")
      assert.strictEqual(hits[0]!.document.format, "pdf")
    })
  )

  it.live("recognizes a PDF by its bytes, and refuses one as text", () =>
    Effect.gen(function* () {
      const bytes = PdfFiles.make(pages)
      assert.strictEqual(DocumentReader.formatOf({ name: "a.txt", content: bytes }), "pdf")
      assert.strictEqual(DocumentReader.formatOf({ name: "a.pdf", content: "text" }), "text")
      const error = yield* Effect.flip(DocumentReader.read({ name: "a", content: "text", format: "pdf" }))
      assert.strictEqual(error.reason, "Unreadable")
    })
  )

  it.live("refuses broken, cut and empty files", () =>
    Effect.gen(function* () {
      const bytes = PdfFiles.make(pages)
      for (const broken of [new Uint8Array(0), new TextEncoder().encode("%PDF-1.7 nothing"), bytes.slice(0, 150)]) {
        const error = yield* Effect.flip(DocumentReader.read({ name: "a", content: broken, format: "pdf" }))
        assert.strictEqual(error.reason, "Unreadable")
      }
    })
  )

  it.live("refuses a file that needs a password", () =>
    Effect.gen(function* () {
      const { reason } = yield* refused(PdfFiles.make(pages, { trailer: PdfFiles.encrypted }))
      assert.strictEqual(reason, "Encrypted")
    })
  )

  it.live("refuses more pages, characters and bytes than are allowed", () =>
    Effect.gen(function* () {
      const many = PdfFiles.make(Array.from({ length: 10_001 }, (_, n) => [`page ${n}`]))
      assert.deepStrictEqual(yield* refused(many), {
        reason: "TooLarge",
        message: "The PDF has 10001 pages; 5000 are allowed"
      })
      const bytes = PdfFiles.make(pages)
      assert.include((yield* refused(bytes, { maxCharacters: 40 })).message, "more than 40 characters")
      assert.include((yield* refused(bytes, { maxBytes: 100 })).message, "100 are allowed")
    })
  )

  it.live("refuses what unpacks to more than is allowed, however often it is packed", () =>
    Effect.gen(function* () {
      const large = 300 * 1024 * 1024
      for (const stream of [PdfFiles.bomb(large), PdfFiles.bomb(large, 3)]) {
        const bytes = PdfFiles.make(pages, { streams: [stream] })
        assert.isBelow(bytes.length, 1_000_000)
        assert.deepInclude(yield* refused(bytes), { reason: "TooLarge" })
      }
      const several = PdfFiles.make(pages, {
        streams: Array.from({ length: 6 }, () => PdfFiles.bomb(50 * 1024 * 1024))
      })
      assert.deepInclude(yield* refused(several), { reason: "TooLarge" })
      for (const filter of ["/LZWDecode", "[/FlateDecode /LZW#44ecode]"]) {
        const lzw = PdfFiles.make(pages, { streams: [[`/Filter ${filter}`, new Uint8Array(10)]] })
        assert.deepInclude(yield* refused(lzw), { reason: "TooLarge" })
      }
      const small = PdfFiles.make(pages, { streams: [PdfFiles.bomb(1_000_000, 3)] })
      assert.include((yield* read(small)).text, "answer")
    })
  )

  it.live("stops at the time limit", () =>
    Effect.gen(function* () {
      const many = PdfFiles.make(Array.from({ length: 4_000 }, (_, n) => [`page ${n}`]))
      assert.deepInclude(yield* refused(many, { pdfMillis: 1 }), { reason: "TooLarge" })
    })
  )
})
