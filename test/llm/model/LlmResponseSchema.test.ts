import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as LlmResponseSchema from "../../../src/llm/model/LlmResponseSchema.js"

const full: LlmClient.LlmResponse = {
  content: [
    { type: "reasoning", text: "hm", metadata: { someone: { signature: "s" } } },
    { type: "text", text: "ä" },
    { type: "tool-call", id: "1", name: "add", params: { left: [1, null] } },
    { type: "tool-call", id: "2", name: "raw", params: "{broken", providerName: "x", providerExecuted: true },
    { type: "tool-result", id: "2", name: "raw", result: [1], isFailure: true, providerExecuted: true },
    { type: "file", mediaType: "image/png", data: "AAAA" },
    { type: "source", sourceType: "url", id: "3", url: "https://a.test", title: "A" },
    { type: "source", sourceType: "document", id: "4", mediaType: "text/plain", title: "B", fileName: "b.txt" }
  ],
  finishReason: "tool-calls",
  usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3, reasoningTokens: 1, cachedInputTokens: 0 },
  id: "r",
  model: "m",
  provider: "p",
  metadata: { anything: [1] }
}

const decode = Schema.decodeUnknownSync(LlmResponseSchema.LlmResponseJson)
const encode = Schema.encodeSync(LlmResponseSchema.LlmResponseJson)

describe("LlmResponseSchema", () => {
  it("round-trips a complete response", () => {
    assert.deepStrictEqual(decode(encode(full)), full)
  })

  it("round-trips the smallest response without adding fields", () => {
    const smallest: LlmClient.LlmResponse = { content: [], finishReason: "stop", usage: {} }
    assert.deepStrictEqual(decode(encode(smallest)), smallest)
  })

  it("rejects what is not a response", () => {
    const wrong: ReadonlyArray<unknown> = [
      null,
      [],
      {},
      { content: [], finishReason: "done", usage: {} },
      { content: [{ type: "text" }], finishReason: "stop", usage: {} },
      { content: [{ type: "error", error: 1 }], finishReason: "stop", usage: {} },
      { content: [], finishReason: "stop", usage: { totalTokens: "3" } }
    ]
    for (const value of wrong) assert.throws(() => decode(JSON.stringify(value)))
    assert.throws(() => decode("{"))
  })

  it("keeps params named like prototypes as data", () => {
    const text =
      '{"content":[{"type":"tool-call","id":"1","name":"x","params":{"__proto__":{"a":1}}}],"finishReason":"stop","usage":{}}'
    const [call] = decode(text).content
    assert.deepStrictEqual(Object.keys(call?.type === "tool-call" ? (call.params as object) : {}), ["__proto__"])
    assert.strictEqual(({} as { a?: number }).a, undefined)
  })
})
