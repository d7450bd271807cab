import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { AgUiMessage } from "../../../src/http/agui/AgUiMessage.js"
import * as AgUiMessages from "../../../src/http/agui/AgUiMessages.js"

const png = "iVBORw0KGgo="
const image = { type: "image" as const, source: { type: "data" as const, value: png, mimeType: "image/png" } }
const called = { name: "look", arguments: '{"at":1}' }

const messages: ReadonlyArray<AgUiMessage> = [
  { id: "0", role: "system", content: "Be rude" },
  { id: "1", role: "user", content: [{ type: "text", text: "What is it?" }, image] },
  { id: "2", role: "reasoning", content: "I look" },
  {
    id: "3",
    role: "assistant",
    content: "One moment.",
    toolCalls: [
      { id: "c1", type: "function", function: called },
      { id: "c2", type: "function", function: { name: "look", arguments: "not JSON" } },
      { id: "c3", type: "function", function: called }
    ]
  },
  { id: "4", role: "tool", toolCallId: "c1", content: [{ type: "text", text: "a dot" }, image] },
  { id: "5", role: "tool", toolCallId: "c2", content: "", error: "dark" },
  { id: "6", role: "tool", toolCallId: "no-such", content: "made up" },
  { id: "7", role: "assistant", toolCalls: [{ id: "c4", type: "function", function: called }] },
  { id: "8", role: "activity" },
  { id: "9", role: "assistant", content: "A dot." }
]

describe("AgUiMessages", () => {
  it("makes the history for a model, without what is no part of it", () => {
    const call = { type: "tool-call", name: "look", providerExecuted: false }
    const result = { type: "tool-result", name: "look", providerExecuted: false }
    assert.deepStrictEqual(AgUiMessages.toHistory(messages), [
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?" },
          { type: "file", mediaType: "image/png", data: png }
        ]
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "One moment." },
          { ...call, id: "c1", params: { at: 1 } },
          { ...call, id: "c2", params: "not JSON" }
        ]
      },
      { role: "tool", content: [{ ...result, id: "c1", isFailure: false, result: "a dot" }] },
      { role: "tool", content: [{ ...result, id: "c2", isFailure: true, result: "dark" }] },
      { role: "assistant", content: [{ type: "text", text: "A dot." }] }
    ] as never)
  })

  it.effect("takes texts, bytes and addresses as the input of a run", () =>
    Effect.gen(function* () {
      const input = (content: Extract<AgUiMessage, { readonly role: "user" }>["content"]) =>
        AgUiMessages.toInput({ id: "m", role: "user", content })
      assert.strictEqual(yield* input("hi"), "hi")
      const address = { type: "url" as const, value: "https://example.org/a.pdf", mimeType: "application/pdf" }
      const given = yield* input([{ type: "text", text: "see" }, image, { type: "document", source: address }])
      assert.deepStrictEqual(
        typeof given === "string" ? [] : given.map((part) => (part.type === "file" ? part.mediaType : part.type)),
        ["text", "image/png", "application/pdf"]
      )
      const file = { type: "document" as const, source: { type: "file" as const, value: "file-1" } }
      assert.strictEqual((yield* Effect.flip(input([file]))).reason, "invalid")
    })
  )

  it("shows the turns of a session, of calls only which there were", () => {
    const turn = { sessionId: "s", timestamp: 1, tokensUsed: 0, depth: 1 }
    const shown = AgUiMessages.fromTurns([
      { ...turn, id: "t1", role: "user", content: "hi", toolCalls: [] },
      { ...turn, id: "t2", role: "assistant", content: "a dot", toolCalls: [{ id: "c", name: "look" }] }
    ] as never)
    assert.deepStrictEqual(shown, [
      { id: "t1", role: "user", content: "hi" },
      {
        id: "t2-calls",
        role: "assistant",
        toolCalls: [{ id: "c", type: "function", function: { name: "look", arguments: "{}" } }]
      },
      { id: "t2-c", role: "tool", toolCallId: "c", content: "" },
      { id: "t2", role: "assistant", content: "a dot" }
    ])
  })
})
