import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as SseLines from "../../../src/provider/exchange/SseLines.js"

const bytes = (text: string) => new TextEncoder().encode(text)

const decode = (chunks: ReadonlyArray<Uint8Array>, maxEventLength = 1000) => {
  const lines = SseLines.make({ maxEventLength })
  const events: Array<SseLines.SseEvent> = []
  let fits = true
  for (const chunk of chunks) fits = lines.push(chunk, events) && fits
  fits = lines.end(events) && fits
  return { events, fits }
}

const all = (text: string) => decode([bytes(text)]).events.map((event) => [event.event, ...event.data])

describe("SseLines", () => {
  it("reads events, with LF, CRLF and CR", () => {
    assert.deepStrictEqual(all("data: a\n\ndata: b\n\n"), [
      ["message", "a"],
      ["message", "b"]
    ])
    assert.deepStrictEqual(all("event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n"), [
      ["x", "a"],
      ["message", "b"]
    ])
    assert.deepStrictEqual(all("data: a\r\rdata: b\r\r"), [
      ["message", "a"],
      ["message", "b"]
    ])
  })

  it("accepts one space after the colon, or none", () => {
    assert.deepStrictEqual(all("data:a\n\ndata:  b\n\ndata\n\n"), [
      ["message", "a"],
      ["message", " b"],
      ["message", ""]
    ])
  })

  it("skips comments, ids, unknown fields and empty events", () => {
    assert.deepStrictEqual(all(": PROCESSING\n\nid: 7\nretry: 10\nfoo: bar\n\ndata: a\n\n\n\n"), [["message", "a"]])
  })

  it("joins the lines of one event", () => {
    assert.deepStrictEqual(all("data: a\ndata: b\n\n"), [["message", "a", "b"]])
  })

  it("accepts a last event without its empty line", () => {
    assert.deepStrictEqual(all("data: a\n\ndata: b"), [
      ["message", "a"],
      ["message", "b"]
    ])
  })

  it("reads bare JSON lines and error fields", () => {
    assert.deepStrictEqual(all('{"error":1}\n\n'), [["message", '{"error":1}']])
    assert.deepStrictEqual(all('error: {"code":500}\n\n'), [["error", '{"code":500}']])
  })

  it("replaces bytes that are not UTF-8", () => {
    assert.deepStrictEqual(decode([bytes("data: "), new Uint8Array([0xff]), bytes("\n\n")]).events[0]?.data, ["\ufffd"])
  })

  it("skips a byte order mark at the very beginning, even in pieces", () => {
    const text = bytes("\ufeffdata: a\n\ndata: \ufeffb\n\n")
    const data = (chunks: ReadonlyArray<Uint8Array>) => decode(chunks).events.map((event) => event.data[0])
    assert.deepStrictEqual(data([text]), ["a", "\ufeffb"])
    assert.deepStrictEqual(data(Array.from(text, (byte) => new Uint8Array([byte]))), ["a", "\ufeffb"])
    assert.deepStrictEqual(data([bytes("data: é\n\ndata: "), bytes("\ufeffb\n\n")]), ["é", "\ufeffb"])
  })

  it("rejects a line, an unfinished line and an event beyond the bound", () => {
    assert.isTrue(decode([bytes(`data: ${"x".repeat(4)}\n\n`)], 10).fits)
    assert.isFalse(decode([bytes(`data: ${"x".repeat(5)}\n\n`)], 10).fits)
    const unfinished = SseLines.make({ maxEventLength: 10 })
    assert.isTrue(unfinished.push(bytes("data: "), []))
    assert.isFalse(unfinished.push(bytes("x".repeat(20)), []))
    assert.isFalse(unfinished.push(bytes("\n\ndata: a\n\n"), []))
    assert.isFalse(decode([bytes("data: aaaa\n".repeat(3))], 10).fits)
  })

  it("gives the same events for any split of the bytes", () => {
    const line = FastCheck.constantFrom("data: é😀", "data: {}", "", ": c", "event: x", "data", "x", "data:\u2028")
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(FastCheck.tuple(line, FastCheck.constantFrom("\n", "\r\n")), { maxLength: 12 }),
        FastCheck.array(FastCheck.nat(80), { maxLength: 12 }),
        (parts, cuts) => {
          const whole = bytes(parts.map(([text, end]) => text + end).join(""))
          const points = Array.from(new Set([0, ...cuts.filter((cut) => cut < whole.length), whole.length])).sort(
            (a, b) => a - b
          )
          const chunks = points.slice(1).map((point, index) => whole.slice(points[index], point))
          assert.deepStrictEqual(decode(chunks), decode([whole]))
        }
      )
    )
  })
})
