import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as BlobRef from "../../src/content/BlobRef.js"
import * as Content from "../../src/content/Content.js"
import type { ContentError } from "../../src/content/ContentError.js"
import * as InMemoryBlobStore from "../../src/content/InMemoryBlobStore.js"

const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3])
const wav = new TextEncoder().encode("RIFF0000WAVEfmt ")
const base64 = Buffer.from(png).toString("base64")

const reason = (effect: Effect.Effect<unknown, { readonly reason: string; readonly message: string }>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.notInclude(error.message, base64)
    return error.reason
  })

const encode = Schema.encodeSync(Content.Content)
const decode = Schema.decodeUnknownEither(Content.Content)

describe("Content", () => {
  it.effect("takes bytes, base64, data URLs and addresses", () =>
    Effect.gen(function* () {
      const made = { type: "file", mediaType: "image/png", data: png } as const
      assert.deepStrictEqual(yield* Content.image(png), made)
      assert.deepStrictEqual(yield* Content.image(base64), made)
      assert.deepStrictEqual(yield* Content.image(`data:image/png;base64,${base64}`), made)
      assert.deepStrictEqual(yield* Content.file("data:,a%20b"), {
        type: "file",
        mediaType: "text/plain",
        data: new TextEncoder().encode("a b")
      })
      const url = new URL("https://example.com/a")
      assert.deepStrictEqual(yield* Content.image(url), { type: "file", mediaType: "image/*", data: url })
      assert.strictEqual((yield* Content.file("http://example.com/a.pdf")).mediaType, "application/pdf")
      assert.strictEqual((yield* Content.audio(wav)).mediaType, "audio/wav")
    })
  )

  it.effect("takes the media type and the file name that are given", () =>
    Effect.gen(function* () {
      const text = new TextEncoder().encode("a,b\n")
      const file = yield* Content.file(text, { fileName: "numbers.csv" })
      assert.deepStrictEqual(file, { type: "file", mediaType: "text/csv", data: text, fileName: "numbers.csv" })
      assert.strictEqual((yield* Content.file(text, { mediaType: "Text/Markdown" })).mediaType, "text/markdown")
      assert.strictEqual((yield* Content.file(new Uint8Array(0), { mediaType: "text/plain" })).mediaType, "text/plain")
    })
  )

  it.effect("rejects each kind of bad input with its reason", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [string, Effect.Effect<unknown, ContentError>]> = [
        ["base64", Content.file("%%%%")],
        ["base64", Content.image(base64.slice(1))],
        ["base64", Content.image(`data:image/png;base64,${base64}*`)],
        ["data-url", Content.file("data:text/plain")],
        ["data-url", Content.file("data:,%ff")],
        ["url", Content.image("ftp://example.com/a.png")],
        ["url", Content.image("javascript:alert(1)")],
        ["url", Content.image("file:///etc/passwd")],
        ["url", Content.image("https://ann:pw@example.com/a.png")],
        ["url", Content.image(`https://example.com/${"a".repeat(2_048)}`)],
        ["url", Content.image("https://")],
        ["media-type", Content.file(png, { mediaType: "png" })],
        ["unrecognized", Content.file(new Uint8Array([0, 1]))],
        ["unrecognized", Content.file("https://example.com/a")],
        ["mismatch", Content.image(png, { mediaType: "image/jpeg" })],
        ["mismatch", Content.file(`data:application/pdf;base64,${base64}`)],
        ["kind", Content.image(wav)],
        ["kind", Content.audio(png)],
        ["kind", Content.image("https://example.com/a.pdf")],
        ["file-name", Content.file(png, { fileName: "../a.png" })],
        ["file-name", Content.file(png, { fileName: "" })]
      ]
      for (const [expected, effect] of cases) assert.strictEqual(yield* reason(effect), expected)
    })
  )

  it.effect("measures base64 before it decodes it", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Content.image(base64, { maxBytes: png.length })).mediaType, "image/png")
      for (const source of [png, base64, `data:image/png;base64,${base64}`, "data:,aaaaaaaaaaa"]) {
        assert.strictEqual(yield* reason(Content.file(source, { maxBytes: png.length - 1 })), "too-large")
      }
      // Not base64, but the length is already too much.
      assert.strictEqual(yield* reason(Content.file("%".repeat(16), { maxBytes: 4 })), "too-large")
      assert.strictEqual(yield* reason(Content.file(new Uint8Array(20 * 1_048_576 + 1))), "too-large")
    })
  )

  it("keeps every kind of data through JSON", () => {
    const ref: BlobRef.BlobRef = { hash: BlobRef.hashOf(png), size: png.length, mediaType: "image/png" }
    const all: ReadonlyArray<Content.Content> = [
      Content.text("hello"),
      { type: "file", mediaType: "image/png", data: png, fileName: "a.png" },
      { type: "file", mediaType: "image/png", data: ref },
      { type: "file", mediaType: "image/*", data: new URL("https://example.com/a") }
    ]
    for (const content of all) {
      const back = decode(JSON.parse(JSON.stringify(encode(content))))
      assert.deepStrictEqual(back._tag === "Right" ? back.right : back.left, content)
    }
  })

  it("rejects encoded files that no constructor would make", () => {
    const file = { type: "file", mediaType: "image/png" }
    for (const content of [
      { ...file, data: { base64: Buffer.from(wav).toString("base64") } },
      { ...file, data: { base64: "%" } },
      { ...file, data: { url: "file:///etc/passwd" } },
      { ...file, data: { url: "https://ann:pw@example.com" } },
      { ...file, data: { hash: "sha256:x", size: 1, mediaType: "image/png" } },
      { ...file, mediaType: "IMAGE/PNG; a=b", data: { base64 } },
      { ...file, fileName: "a/b", data: { base64 } }
    ]) {
      assert.strictEqual(decode(content)._tag, "Left")
    }
  })

  it.effect("exchanges bytes for references in a store and back", () =>
    Effect.gen(function* () {
      const store = yield* InMemoryBlobStore.make()
      const place = { owner: "ann", scope: "s1" }
      const contents = [Content.text("look"), yield* Content.image(png, { fileName: "a.png" })]
      const detached = yield* Content.detach(contents, (file) => store.put({ ...place, ...file }))
      assert.notInclude(JSON.stringify(detached.map((content) => encode(content))), base64)
      const resolved = yield* Content.resolve(detached, ({ hash }) => store.get({ ...place, hash }))
      assert.deepStrictEqual(resolved, contents)
    })
  )

  it.effect("becomes parts of a prompt and is read back from them", () =>
    Effect.gen(function* () {
      const contents: ReadonlyArray<Content.Resolved> = [
        Content.text("look"),
        { type: "file", mediaType: "image/png", data: png, fileName: "a.png" },
        { type: "file", mediaType: "application/pdf", data: new URL("https://example.com/a.pdf") }
      ]
      const parts = Content.toPromptParts(contents)
      assert.deepStrictEqual(
        parts.map((part) => (part.type === "file" ? [part.mediaType, part.fileName] : [part.text])),
        [["look"], ["image/png", "a.png"], ["application/pdf", undefined]]
      )
      assert.deepStrictEqual(yield* Content.fromPromptParts(parts), contents)
      assert.strictEqual(yield* reason(Content.fromPromptParts(parts, { maxBytes: 3 })), "too-large")
    })
  )

  it.effect("answers any text with content or a ContentError", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.oneof(
            FastCheck.string(),
            FastCheck.base64String(),
            FastCheck.webUrl(),
            FastCheck.string().map((text) => `data:${text}`)
          ),
          (text) => Effect.runPromise(Effect.either(Content.file(text))).then(() => undefined)
        ),
        { numRuns: 300 }
      )
    )
  )
})
