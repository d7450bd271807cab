import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { UiMessage } from "../../../src/http/ui/UiMessage.js"
import * as UiMessages from "../../../src/http/ui/UiMessages.js"
import type { Message } from "../../../src/llm/model/LlmClient.js"

const png = "data:image/png;base64,iVBORw0KGgo="

const messages: ReadonlyArray<Message> = [
  {
    role: "user",
    content: [
      { type: "text", text: "What is it?" },
      { type: "file", mediaType: "image/png", data: png, fileName: "a.png" }
    ]
  },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "I look" },
      { type: "text", text: "One moment." },
      { type: "tool-call", id: "c1", name: "look", params: { at: 1 }, providerExecuted: false },
      { type: "tool-call", id: "c2", name: "look", params: { at: 2 }, providerExecuted: false }
    ]
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", id: "c1", name: "look", isFailure: false, result: ["a", 1], providerExecuted: false },
      { type: "tool-result", id: "c2", name: "look", isFailure: true, result: "dark", providerExecuted: false }
    ]
  },
  { role: "assistant", content: [{ type: "text", text: "A dot." }] }
]

const user = (parts: UiMessage["parts"]): UiMessage => ({ id: "m", role: "user", parts })

describe("UiMessages", () => {
  it("makes the same messages for a model of what a page shows of them", () => {
    const shown = UiMessages.fromMessages(messages, "x")
    assert.deepStrictEqual(
      shown.map(({ id, role }) => `${id} ${role}`),
      ["x0 user", "x1 assistant"]
    )
    assert.deepStrictEqual(UiMessages.toMessages(shown), messages)
  })

  it("leaves out calls without a result, and what has no content", () => {
    const waiting: UiMessage = {
      id: "m",
      role: "assistant",
      parts: [
        { type: "step-start" },
        { type: "tool-look", toolCallId: "c", state: "input-available", input: {} },
        { type: "text", text: "" }
      ]
    }
    assert.deepStrictEqual(UiMessages.toMessages([waiting, user([])]), [])
  })

  it.effect("takes bytes and addresses as the input of a run, and refuses other ones", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* UiMessages.toInput(user([{ type: "text", text: "hi" }])), "hi")
      const file = (url: string) => user([{ type: "file", mediaType: "image/png", url }])
      const input = yield* UiMessages.toInput(file(png))
      const media =
        typeof input === "string" ? [] : input.map((part) => (part.type === "file" ? part.mediaType : part.type))
      assert.deepStrictEqual(media, ["image/png"])
      for (const url of ["file:///etc/passwd", "javascript:alert(1)", "data:image/png;base64,!!"]) {
        const error = yield* Effect.flip(UiMessages.toInput(file(url)))
        assert.match(error._tag, /^Content/, url)
      }
    })
  )

  it("shows the files of turns: by their address, or as data where only the server has the bytes", () => {
    const turn = { id: "t", role: "user" as const, content: "see", timestamp: 1, toolCalls: [] }
    const [shown] = UiMessages.fromTurns([
      {
        ...turn,
        files: [
          { mediaType: "image/png", data: { url: "https://example.org/a.png" } },
          { mediaType: "image/png", data: { hash: "h", size: 3 }, fileName: "b.png" }
        ]
      } as never
    ])
    assert.deepStrictEqual(shown?.parts, [
      { type: "text", text: "see" },
      { type: "file", mediaType: "image/png", url: "https://example.org/a.png" },
      { type: "data-file", data: { mediaType: "image/png", hash: "h", size: 3, filename: "b.png" } }
    ])
  })

  it("gives the answer of a run the id of its stream once", () => {
    const turn = { role: "assistant" as const, content: "a", timestamp: 1, toolCalls: [], runId: "r" }
    const shown = UiMessages.fromTurns([
      { ...turn, id: "t1" },
      { ...turn, id: "t2" }
    ])
    assert.deepStrictEqual(
      shown.map(({ id }) => id),
      ["r", "t2"]
    )
  })
})
