import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { EntryId, SessionId, TurnId } from "../../../src/domain/Ids.js"
import type { Message } from "../../../src/llm/model/LlmClient.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import * as MessageEntry from "../../../src/memory/entry/MessageEntry.js"
import * as ToolPairs from "../../../src/memory/entry/ToolPairs.js"

const fields = { id: EntryId.make("m1"), ownerId: "ann", timestamp: 5 }

const text = FastCheck.string({ unit: "binary", maxLength: 20 })
const data = FastCheck.jsonValue({ maxDepth: 2 }).map((value): unknown => JSON.parse(JSON.stringify(value)))
const options = FastCheck.constantFrom({}, { options: { openai: { id: "r" } } })
const part = {
  text: FastCheck.record({ type: FastCheck.constant("text"), text }),
  reasoning: FastCheck.record({ type: FastCheck.constant("reasoning"), text }),
  file: FastCheck.record({
    type: FastCheck.constant("file"),
    mediaType: FastCheck.constant("image/png"),
    data: FastCheck.oneof(
      text,
      FastCheck.uint8Array({ maxLength: 8 }).map((bytes) => new Uint8Array(bytes)),
      FastCheck.webUrl().map((url) => new URL(url))
    )
  }),
  call: FastCheck.record({ type: FastCheck.constant("tool-call"), id: text, name: text, params: data }),
  result: FastCheck.record({
    type: FastCheck.constant("tool-result"),
    id: text,
    name: text,
    isFailure: FastCheck.boolean(),
    result: data,
    providerExecuted: FastCheck.constant(false)
  })
}
const content = (...parts: ReadonlyArray<FastCheck.Arbitrary<object>>) =>
  FastCheck.array(FastCheck.oneof(...parts), { maxLength: 4 })
const messages = FastCheck.tuple(
  FastCheck.oneof(
    FastCheck.record({ role: FastCheck.constant("system"), content: text }),
    FastCheck.record({
      role: FastCheck.constant("user"),
      content: FastCheck.oneof(text, content(part.text, part.file))
    }),
    FastCheck.record({
      role: FastCheck.constant("assistant"),
      content: FastCheck.oneof(text, content(part.text, part.reasoning, part.call))
    }),
    FastCheck.record({ role: FastCheck.constant("tool"), content: content(part.result) })
  ),
  options
).map(([message, more]) => ({ ...message, ...more }) as Message)

describe("MessageEntry", () => {
  it("restores every message, through JSON and alone", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(messages, { maxLength: 4 }), (all) => {
        const entries = all.flatMap((message, index) =>
          MessageEntry.toEntries(message, { ...fields, id: EntryId.make(`m${index}`) })
        )
        const isEntry = Schema.is(MemoryEntry.MemoryEntry)
        for (const entry of entries) assert.isTrue(isEntry(entry))
        assert.strictEqual(new Set(entries.map(({ id }) => id)).size, entries.length)
        const kept: ReadonlyArray<MemoryEntry.MemoryEntry> = JSON.parse(JSON.stringify(entries))
        assert.deepStrictEqual(MessageEntry.toMessages(kept), all)
      })
    )
  })

  it("keeps the entry that a message states it is or was read from", () => {
    FastCheck.assert(
      FastCheck.property(messages, (message) => {
        const given = {
          ...fields,
          importance: 0.9,
          metadata: { type: "turn", mood: "good" },
          turnId: TurnId.make("t1"),
          sessionId: SessionId.make("s1"),
          expiresAt: 99
        }
        const entries = MessageEntry.toEntries(message, given)
        const [first] = entries
        if (first === undefined) return
        for (const again of [MessageEntry.toMessage(first), ...MessageEntry.toMessages(entries)]) {
          const origin = MessageEntry.originOf(again)
          assert.deepInclude(origin, {
            id: given.id,
            timestamp: 5,
            importance: 0.9,
            turnId: given.turnId,
            expiresAt: 99
          })
          if (origin === undefined) return
          const [same] = MessageEntry.toEntries(again, { ...origin, ownerId: "ann" })
          assert.deepStrictEqual(same, first)
        }
        assert.isUndefined(MessageEntry.originOf(message))
      })
    )
  })

  it("does not send the entry of a message to providers", () => {
    const [entry] = MessageEntry.toEntries({ role: "user", content: "hi" }, fields)
    const read = MessageEntry.toMessages(entry === undefined ? [] : [entry])
    assert.deepStrictEqual(read, [{ role: "user", content: "hi" }])
  })

  it("pairs calls and results, except those of the provider", () => {
    const call: Message = {
      role: "assistant",
      content: [
        { type: "tool-call", id: "1", name: "a", params: {} },
        { type: "tool-call", id: "2", name: "b", params: {} },
        { type: "tool-call", id: "3", name: "search", params: {}, providerExecuted: true }
      ]
    }
    const result = (id: string) =>
      ({ type: "tool-result", id, name: "a", isFailure: false, result: 1, providerExecuted: false }) as const
    const entries = [
      ...MessageEntry.toEntries(call, fields),
      ...MessageEntry.toEntries(
        { role: "tool", content: [result("1"), result("2")] },
        { ...fields, id: EntryId.make("x".repeat(256)) }
      )
    ]
    assert.lengthOf(entries, 3)
    assert.deepStrictEqual(ToolPairs.units(entries), [{ entries, broken: false }])
    assert.isTrue(ToolPairs.units(entries.slice(0, 2))[0]?.broken)
    assert.isAtMost(Math.max(...entries.map(({ id }) => id.length)), 256)
  })

  it("gives the text without reasoning, with file names instead of data", () => {
    assert.strictEqual(
      MessageEntry.textOf({
        role: "assistant",
        content: [
          { type: "reasoning", text: "secret thought" },
          { type: "text", text: "here" },
          { type: "file", mediaType: "image/png", fileName: "a.png", data: "AAAA" },
          { type: "file", mediaType: "text/plain", data: "AAAA" }
        ]
      }),
      "here\n[a.png]\n[text/plain]"
    )
  })

  it("reads a tool entry without a call as plain text", () => {
    const entry = MemoryEntry.make({ ...fields, content: "42", role: "tool" })
    assert.deepStrictEqual(MessageEntry.toMessages([entry]), [{ role: "assistant", content: "42" }])
  })

  it("ignores an invalid origin", () => {
    for (const origin of [{}, { id: "a" }, { id: "\n", timestamp: 0 }, { id: "a", timestamp: Number.NaN }, null, "a"]) {
      const message = { role: "user", content: "hi", options: { "effect-lexigram": origin } } as unknown as Message
      assert.isUndefined(MessageEntry.originOf(message))
    }
  })
})
