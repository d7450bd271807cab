import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as HashMap from "effect/HashMap"
import * as NodeUpdate from "../../../src/strategy/reasoning/NodeUpdate.js"

const shown = (update: object, options?: NodeUpdate.Options) => NodeUpdate.make(options)("node", update)
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

describe("NodeUpdate", () => {
  it("shows plain fields as they are", () => {
    const update = { text: "done", count: 2, ok: true, nothing: null, deep: { list: [1, { a: "b" }] }, empty: [] }
    assert.deepStrictEqual(shown(update), update)
  })

  it("omits messages at any depth, and hidden fields", () => {
    const user = { role: "user", content: "from the history" }
    assert.deepStrictEqual(
      shown(
        {
          messages: [{ role: "system", content: "the prompt" }, user],
          turn: { _tag: "Acts", assistant: { role: "assistant", content: [] }, calls: [{ id: "1" }] },
          answer: { text: "yes", messages: [user] },
          own: "kept back"
        },
        { hidden: ["own"] }
      ),
      { turn: { _tag: "Acts", calls: [{ id: "1" }] }, answer: { text: "yes" } }
    )
  })

  it("shows the added part of a list that grew, and all of a replaced list", () => {
    const show = NodeUpdate.make()
    const first = { id: 1 }
    const second = { id: 2 }
    assert.deepStrictEqual(show("a", { results: [first] }), { results: [first] })
    assert.deepStrictEqual(show("a", { results: [first, second] }), { results: [second] })
    assert.deepStrictEqual(show("b", { results: [second, first, first] }), { results: [second, first, first] })
    assert.deepStrictEqual(show("b", { results: [] }), { results: [] })
  })

  it("marks truncated values", () => {
    const text = shown({ text: "x".repeat(10_000) }) as { readonly text: string }
    assert.isTrue(text.text.endsWith(NodeUpdate.TRUNCATED))
    const list = shown({ list: Array.from({ length: 10_000 }, (_, index) => index) }) as {
      readonly list: Array<unknown>
    }
    assert.strictEqual(list.list.at(-1), NodeUpdate.TRUNCATED)
    const fields = shown(Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`field${index}`, index])))
    assert.property(fields, NodeUpdate.TRUNCATED)
  })

  it("gives a node the bytes of its graph", () => {
    const update = { text: "x".repeat(10_000) }
    const show = NodeUpdate.make({ maxBytes: { report: 20_000 } })
    assert.deepStrictEqual(show("report", update), update)
    assert.isBelow(bytes(show("other", update)), NodeUpdate.MAX_BYTES)
  })

  it("reads no more of a value than it shows", () => {
    let read = 0
    const endless = {
      *[Symbol.iterator]() {
        while (true) yield read++
      }
    }
    assert.isAtMost(bytes(shown({ endless })), NodeUpdate.MAX_BYTES)
    assert.isAtMost(read, NodeUpdate.MAX_BYTES)
    const circle: { self?: unknown } = {}
    circle.self = circle
    assert.isAtMost(bytes(shown(circle)), NodeUpdate.MAX_BYTES)
    assert.deepStrictEqual(shown({ map: HashMap.make(["a", 1]) }), { map: [["a", 1]] })
  })

  it("fits its bytes of JSON for any update", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.dictionary(FastCheck.string(), FastCheck.anything({ maxDepth: 8 })), (given) => {
        const update = { given, often: Array.from({ length: 300 }, () => given) }
        assert.isAtMost(bytes(shown(update)), NodeUpdate.MAX_BYTES)
      })
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ unit: "binary", maxLength: 6000 }), (text) => {
        assert.isAtMost(bytes(shown({ text, again: text })), NodeUpdate.MAX_BYTES)
      })
    )
  })
})
