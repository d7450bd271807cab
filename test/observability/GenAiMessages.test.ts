import type * as Prompt from "@effect/ai/Prompt"
import { assert, describe, it } from "@effect/vitest"
import * as GenAiMessages from "../../src/observability/GenAiMessages.js"

const key = "sk-live-0123456789abcdef"
const mails = (text: string) => text.replaceAll("ada@example.org", "[MAIL]")

const conversation: ReadonlyArray<Prompt.MessageEncoded> = [
  { role: "system", content: "Help." },
  { role: "user", content: [{ type: "text", text: `I am ada@example.org, my key is ${key}` }] },
  {
    role: "user",
    content: [{ type: "file", mediaType: "image/png", data: "aGVsbG8=" }]
  },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "hm" },
      { type: "tool-call", id: "c", name: "mail", params: { to: "ada@example.org" } }
    ]
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", id: "c", name: "mail", isFailure: false, providerExecuted: false, result: { key } }
    ]
  }
]

describe("GenAiMessages", () => {
  it("show a conversation in the form of the conventions, redacted, without data of files", () => {
    assert.deepStrictEqual(JSON.parse(GenAiMessages.input(mails, conversation)), [
      { role: "system", parts: [{ type: "text", content: "Help." }] },
      { role: "user", parts: [{ type: "text", content: "I am [MAIL], my key is [REDACTED]" }] },
      { role: "user", parts: [{ type: "file", mime_type: "image/png" }] },
      {
        role: "assistant",
        parts: [
          { type: "reasoning", content: "hm" },
          { type: "tool_call", id: "c", name: "mail", arguments: '{"to":"[MAIL]"}' }
        ]
      },
      { role: "tool", parts: [{ type: "tool_call_response", id: "c", response: '{"key":"[REDACTED]"}' }] }
    ])
  })

  it("show an answer", () => {
    const answer = {
      content: [
        { type: "text", text: `your key: ${key}` },
        { type: "tool-call", id: "c", name: "add", params: "not json" },
        { type: "source", sourceType: "url", url: "https://user:pass@example.org/" }
      ],
      finishReason: "tool-calls" as const
    }
    assert.deepStrictEqual(JSON.parse(GenAiMessages.output(mails, answer)), [
      {
        role: "assistant",
        parts: [
          { type: "text", content: "your key: [REDACTED]" },
          { type: "tool_call", id: "c", name: "add", arguments: "not json" },
          { type: "source", uri: "https://[REDACTED]@example.org/" }
        ],
        finish_reason: "tool_call"
      }
    ])
  })

  it("keep the newest messages of a long conversation, whose oldest cost nothing", () => {
    let read = 0
    const messages = Array.from({ length: 10_000 }, (_, i) => ({
      role: "user" as const,
      get content() {
        read++
        return `${i} ${"x".repeat(1000)}`
      }
    }))
    const shown = JSON.parse(GenAiMessages.input(mails, messages)) as ReadonlyArray<any>
    assert.isBelow(read, 200)
    assert.isBelow(JSON.stringify(shown).length, 70_000)
    assert.isTrue(shown.at(-1).parts[0].content.startsWith("9999 "))
    assert.deepStrictEqual(shown[0].parts[0], { type: "omitted", messages: 10_000 - (shown.length - 1) })
  })

  it("a last message that is too long is shown all the same, cut", () => {
    const shown = JSON.parse(GenAiMessages.input(mails, [{ role: "user", content: "x".repeat(1_000_000) }]))
    assert.strictEqual(shown.length, 1)
    assert.strictEqual(shown[0].parts[0].content.length, 8192)
  })

  it("what has no JSON form is null", () => {
    const loop: Record<string, unknown> = {}
    loop["self"] = loop
    const shown = GenAiMessages.output(mails, {
      content: [{ type: "tool-call", id: "c", name: "t", params: loop }],
      finishReason: "stop"
    })
    assert.strictEqual(JSON.parse(shown)[0].parts[0].arguments, "null")
  })
})
