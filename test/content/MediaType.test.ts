import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as MediaType from "../../src/content/MediaType.js"

const latin = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0))

/** A zip with one empty file of each name, without a directory. */
const zip = (...names: ReadonlyArray<string>): Uint8Array =>
  latin(
    names
      .map((name) => `PK\u0003\u0004${"\0".repeat(22)}${String.fromCharCode(name.length)}\0\0\0${name}`)
      .join("")
      .concat("PK\u0005\u0006", "\0".repeat(40))
  )

const office = "application/vnd.openxmlformats-officedocument"

const samples: ReadonlyArray<readonly [type: string, bytes: Uint8Array]> = [
  ["image/png", latin("\u0089PNG\r\n\u001a\n\0\0\0\rIHDR")],
  ["image/jpeg", latin("\u00ff\u00d8\u00ff\u00e0\0\u0010JFIF")],
  ["image/gif", latin("GIF89a\u0001\0")],
  ["image/webp", latin("RIFF\u0024\0\0\0WEBPVP8 ")],
  ["image/avif", latin("\0\0\0\u001cftypavif\0\0\0\0avifmif1")],
  ["image/avif", latin("\0\0\0\u001cftypmif1\0\0\0\0mif1avif")],
  ["image/heic", latin("\0\0\0\u001cftypheic\0\0\0\0mif1heic")],
  ["image/bmp", latin(`BM${"\0".repeat(12)}\u0028\0\0\0`)],
  ["image/tiff", latin("II*\0\u0008\0\0\0")],
  ["image/tiff", latin("MM\0*\0\0\0\u0008")],
  ["application/pdf", latin("%PDF-1.7\n")],
  ["audio/wav", latin("RIFF\u0024\0\0\0WAVEfmt ")],
  ["audio/mpeg", latin("ID3\u0004\0\0")],
  ["audio/mpeg", latin("\u00ff\u00fb\u0090\u0064\0")],
  ["audio/ogg", latin("OggS\0\u0002")],
  ["audio/flac", latin("fLaC\0\0\0\u0022")],
  ["audio/mp4", latin("\0\0\0\u0018ftypM4A \0\0\0\0")],
  ["video/mp4", latin("\0\0\0\u0018ftypisom\0\0\0\0")],
  ["video/webm", latin("\u001a\u0045\u00df\u00a3\u0001\0\0\0\0\0\0\u001f\u0042\u0082\u0084webm")],
  ["application/zip", zip("a.txt")],
  ["application/zip", zip("word/a.txt")],
  [`${office}.wordprocessingml.document`, zip("[Content_Types].xml", "word/document.xml")],
  [`${office}.spreadsheetml.sheet`, zip("[Content_Types].xml", "xl/workbook.xml")],
  [`${office}.presentationml.presentation`, zip("[Content_Types].xml", "ppt/presentation.xml")],
  ["text/plain", new TextEncoder().encode("Grüße, 猫\n")],
  ["text/plain", latin("{ not json")],
  ["application/json", latin(' { "a": [1] }\n')]
]

describe("MediaType", () => {
  it("recognizes types by their bytes", () => {
    for (const [type, bytes] of samples) assert.strictEqual(MediaType.sniff(bytes), type)
  })

  it("finds no type in no bytes, in broken UTF-8 and in control characters", () => {
    for (const text of ["", "\u00c3\u0028", "a\0b", "\u00ff\u00fe"]) {
      assert.isUndefined(MediaType.sniff(latin(text)))
    }
  })

  it("recognizes text whose first 64 KiB end within a character", () => {
    assert.strictEqual(MediaType.sniff(new TextEncoder().encode(`a${"é".repeat(40_000)}`)), "text/plain")
  })

  it("reads any bytes, cut off anywhere, and then finds their type, a simpler one or none", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.nat(samples.length - 1),
        FastCheck.uint8Array({ maxLength: 200 }),
        FastCheck.nat(300),
        (index, noise, length) => {
          const [, sample] = samples[index]!
          const bytes = new Uint8Array([...sample, ...noise]).subarray(0, length)
          for (const found of [MediaType.sniff(bytes), MediaType.sniff(noise)]) {
            if (found === undefined) continue
            assert.strictEqual(MediaType.normalize(found), found)
            assert.isFalse(MediaType.contradicts(found, found))
          }
        }
      ),
      { numRuns: 500 }
    )
  })

  it("replaces aliases and drops parameters", () => {
    assert.strictEqual(MediaType.normalize("Image/JPG"), "image/jpeg")
    assert.strictEqual(MediaType.normalize("text/plain; charset=utf-8"), "text/plain")
    for (const bad of ["", "image", "image/", "/png", "a b/c", "image/png\n x", `a/${"b".repeat(600)}`]) {
      assert.isUndefined(MediaType.normalize(bad))
    }
  })

  it("lets text, containers and unknown types fit where the bytes may be of the given type", () => {
    const fits: ReadonlyArray<readonly [given: string, found: string | undefined]> = [
      ["text/csv", "text/plain"],
      ["image/svg+xml", "text/plain"],
      ["application/octet-stream", "image/png"],
      ["application/epub+zip", "application/zip"],
      ["application/x-thing", undefined],
      ["audio/mp4", "video/mp4"],
      ["audio/webm", "video/webm"],
      ["image/*", "image/png"]
    ]
    for (const [given, found] of fits) assert.isFalse(MediaType.contradicts(given, found), given)
    const not: ReadonlyArray<readonly [given: string, found: string | undefined]> = [
      ["image/png", "image/jpeg"],
      ["image/png", undefined],
      ["image/png", "text/plain"],
      ["text/plain", "application/zip"],
      ["application/x-thing", "image/png"],
      ["application/pdf", "application/zip"],
      ["image/*", "audio/wav"]
    ]
    for (const [given, found] of not) assert.isTrue(MediaType.contradicts(given, found), given)
  })
})
