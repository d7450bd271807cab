import { assert, describe, it } from "@effect/vitest"
import type { LlmPart } from "../../../src/llm/model/LlmClient.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as PartAssembler from "../../../src/llm/model/PartAssembler.js"
import * as ChatCompletionsResponse from "../../../src/provider/format/ChatCompletionsResponse.js"

const decode = (values: ReadonlyArray<unknown>) => {
  const decoder = ChatCompletionsResponse.make({ provider: "test" })
  const parts: Array<LlmPart> = []
  const errors = values.map((value) => decoder.push(value, "0198-abcd", parts)).filter((error) => error !== undefined)
  const empty = decoder.empty()
  decoder.end(parts)
  const assembler = PartAssembler.make()
  for (const part of parts) assembler.push(part)
  return { parts, errors, empty, response: assembler.response() }
}

const delta = (value: unknown, finish: string | null = null) => ({
  id: "c-1",
  model: "m-1",
  choices: [{ index: 0, delta: value, finish_reason: finish }]
})
const whole = (message: unknown, finish: string | null = "stop") => ({
  id: "c-1",
  model: "m-1",
  choices: [{ index: 0, message, finish_reason: finish }]
})
const call = (value: Record<string, unknown>) => delta({ tool_calls: [value] })
const calls = (values: ReadonlyArray<unknown>) =>
  LlmClient.toolCalls(decode([...values, delta({}, "tool_calls")]).response).map(({ id, name, params }) => ({
    id,
    name,
    params
  }))

describe("ChatCompletionsResponse", () => {
  it("reads a whole answer", () => {
    const { response } = decode([
      {
        ...whole({ role: "assistant", content: "Hi" }),
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
      }
    ])
    assert.deepStrictEqual(response, {
      content: [{ type: "text", text: "Hi" }],
      finishReason: "stop",
      usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
      id: "c-1",
      model: "m-1"
    })
  })

  it("gives the same parts as partsOf, up to how deltas are cut", () => {
    const { parts, response } = decode([
      delta({ reasoning_content: "hm" }),
      delta({ content: "Hi" }),
      call({ index: 0, id: "a", function: { name: "f", arguments: "{}" } }),
      delta({}, "tool_calls")
    ])
    const comparable = (part: LlmPart) => part.type !== "tool-params-start" && !part.type.startsWith("tool-params")
    const flat = (part: LlmPart) => (part.type === "text-start" || part.type === "reasoning-start" ? part.type : part)
    assert.deepStrictEqual(parts.filter(comparable).map(flat), LlmClient.partsOf(response).map(flat))
  })

  it("opens and closes text and reasoning as they alternate", () => {
    const { parts } = decode([
      delta({ reasoning: "a" }),
      delta({ reasoning: "b" }),
      delta({ content: "c" }),
      delta({ reasoning: "d" })
    ])
    assert.deepStrictEqual(
      parts.map((part) => part.type),
      [
        "response-metadata",
        "reasoning-start",
        "reasoning-delta",
        "reasoning-delta",
        "reasoning-end",
        "text-start",
        "text-delta",
        "text-end",
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "finish"
      ]
    )
  })

  it("keeps the field that reasoning came in", () => {
    for (const field of ["reasoning_content", "reasoning"]) {
      const { response } = decode([delta({ [field]: "hm" }), delta({ content: "x" }, "stop")])
      assert.deepStrictEqual(response.content[0], {
        type: "reasoning",
        text: "hm",
        metadata: { chatCompletions: { provider: "test", field } }
      })
    }
  })

  it("does not repeat reasoning that both fields contain", () => {
    assert.strictEqual(
      LlmClient.reasoning(decode([whole({ content: "x", reasoning: "hm", reasoning_content: "hm" })]).response),
      "hm"
    )
  })

  it("joins reasoning details of a stream, and keeps a late signature", () => {
    const text = (value: object) => ({ type: "reasoning.text", index: 0, format: "f", ...value })
    const { response } = decode([
      delta({ reasoning: "th", reasoning_details: [text({ text: "th" })] }),
      delta({ reasoning: "ink", reasoning_details: [text({ text: "ink" })] }),
      delta({ reasoning_details: [text({ text: "", signature: "sig" })] }),
      delta({ content: "x" }),
      delta({ reasoning_details: [{ type: "reasoning.encrypted", index: 1, data: "zz" }] }, "stop")
    ])
    assert.deepStrictEqual(response.content, [
      {
        type: "reasoning",
        text: "think",
        metadata: {
          chatCompletions: {
            provider: "test",
            field: "reasoning",
            details: [text({ text: "think", signature: "sig" })]
          }
        }
      },
      { type: "text", text: "x" },
      {
        type: "reasoning",
        text: "",
        metadata: {
          chatCompletions: { provider: "test", details: [{ type: "reasoning.encrypted", index: 1, data: "zz" }] }
        }
      }
    ] as any)
  })

  it("shows the text of details that come alone", () => {
    const { response } = decode([
      whole({ content: "x", reasoning_details: [{ type: "reasoning.summary", summary: "short" }] })
    ])
    assert.strictEqual(LlmClient.reasoning(response), "short")
  })

  it("leaves think tags in the text", () => {
    assert.strictEqual(LlmClient.text(decode([whole({ content: "<think>a</think>b" })]).response), "<think>a</think>b")
  })

  it("reads content given as parts", () => {
    const { response } = decode([
      whole({
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
          { type: "text", text: "a" },
          "b",
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
          { type: "unknown" },
          null
        ],
        images: [{ type: "image_url", image_url: { url: "data:image/jpeg;base64,BBBB" } }]
      })
    ])
    assert.deepStrictEqual(response.content, [
      { type: "reasoning", text: "hm" },
      { type: "text", text: "ab" },
      { type: "file", mediaType: "image/png", data: "AAAA" },
      { type: "file", mediaType: "image/jpeg", data: "BBBB" }
    ])
  })

  it("returns url citations as sources, each once", () => {
    const citation = { type: "url_citation", url_citation: { url: "https://a", title: "A" } }
    const { response } = decode([
      delta({ content: "x", annotations: [citation] }),
      delta({ annotations: [citation] }, "stop")
    ])
    assert.deepStrictEqual(response.content[1], {
      type: "source",
      sourceType: "url",
      id: "source_0",
      url: "https://a",
      title: "A"
    })
    assert.strictEqual(response.content.length, 2)
  })

  it("returns a refusal as text with the reason content-filter", () => {
    const { response } = decode([delta({ refusal: "I can" }), delta({ refusal: "not" }, "stop")])
    assert.strictEqual(LlmClient.text(response), "I cannot")
    assert.strictEqual(response.finishReason, "content-filter")
  })

  it("maps finish reasons", () => {
    const reason = (name: string | null, message: unknown = { content: "x" }) =>
      decode([whole(message, name)]).response.finishReason
    assert.strictEqual(reason("stop"), "stop")
    assert.strictEqual(reason("eos"), "stop")
    assert.strictEqual(reason("length"), "length")
    assert.strictEqual(reason("tool_calls"), "tool-calls")
    assert.strictEqual(reason("function_call"), "tool-calls")
    assert.strictEqual(reason("content_filter"), "content-filter")
    assert.strictEqual(reason("error"), "error")
    assert.strictEqual(reason("constructor"), "other")
    assert.strictEqual(reason("brand_new"), "other")
    assert.strictEqual(reason(null), "unknown")
    const tools = { tool_calls: [{ id: "a", function: { name: "f", arguments: "{}" } }] }
    assert.strictEqual(reason("stop", tools), "tool-calls")
    assert.strictEqual(reason(null, tools), "tool-calls")
    assert.strictEqual(reason("length", tools), "length")
  })

  it("reads usage wherever a server puts it", () => {
    const usage = (value: unknown) => decode([delta({ content: "x" }, "stop"), value]).response.usage
    assert.deepStrictEqual(
      usage({
        choices: [],
        usage: {
          prompt_tokens: 10,
          completion_tokens: 5,
          total_tokens: 15,
          prompt_tokens_details: { cached_tokens: 4 },
          completion_tokens_details: { reasoning_tokens: 3 }
        }
      }),
      { inputTokens: 10, outputTokens: 5, totalTokens: 15, cachedInputTokens: 4, reasoningTokens: 3 }
    )
    assert.deepStrictEqual(usage({ choices: [], usage: { prompt_tokens: 9, prompt_cache_hit_tokens: 8 } }), {
      inputTokens: 9,
      cachedInputTokens: 8
    })
    assert.deepStrictEqual(usage({ x_groq: { usage: { prompt_tokens: 1, completion_tokens: 2 } } }), {
      inputTokens: 1,
      outputTokens: 2
    })
    assert.deepStrictEqual(usage({ choices: [{ delta: {}, usage: { prompt_tokens: 1 } }] }), { inputTokens: 1 })
    assert.deepStrictEqual(usage({ usage: { prompt_tokens: "many", completion_tokens: -1, total_tokens: null } }), {})
  })

  it("takes the first of several choices", () => {
    const { response } = decode([
      { choices: [{ index: 1, delta: { content: "b" } }] },
      {
        choices: [
          { index: 1, delta: { content: "b" } },
          { index: 0, delta: { content: "a" }, finish_reason: "stop" }
        ]
      }
    ])
    assert.strictEqual(LlmClient.text(response), "a")
  })

  it("reports errors at the top and in a choice", () => {
    assert.deepStrictEqual(decode([{ error: { message: "no" } }]).errors, [
      { error: { message: "no" }, choices: undefined }
    ])
    assert.deepStrictEqual(decode([{ error: "no" }]).errors.length, 1)
    assert.deepStrictEqual(decode([{ object: "error", message: "no" }]).errors.length, 1)
    assert.deepStrictEqual(decode([{ choices: [{ error: { code: 502 }, finish_reason: "error" }] }]).errors, [
      { error: { code: 502 } }
    ])
    assert.strictEqual(decode([delta({}, "insufficient_system_resource")]).errors.length, 1)
    assert.strictEqual(decode([{ ...whole({ content: "x" }), error: null }]).errors.length, 0)
  })

  it("recognizes an empty answer", () => {
    assert.isTrue(decode([{ choices: [] }]).empty)
    assert.isTrue(decode([null, 7, "x", [], { choices: {} }, { choices: [null] }]).empty)
    assert.isTrue(decode([delta({ role: "assistant", content: "" })]).empty)
    assert.isFalse(decode([delta({}, "stop")]).empty)
    assert.isFalse(decode([delta({ content: "x" })]).empty)
  })

  describe("tool calls", () => {
    const two = [
      { id: "a", name: "f", params: { x: 1 } },
      { id: "b", name: "g", params: { y: 2 } }
    ]

    it("assembles interleaved parallel calls by index", () => {
      const values = [
        call({ index: 0, id: "a", type: "function", function: { name: "f", arguments: "" } }),
        call({ index: 1, id: "b", type: "function", function: { name: "g", arguments: '{"y' } }),
        call({ index: 0, function: { arguments: '{"x":' } }),
        call({ index: 1, function: { arguments: '":2}' } }),
        call({ index: 0, function: { arguments: "1}" } })
      ]
      assert.deepStrictEqual(calls(values), two)
      const { parts } = decode(values)
      const of = (id: string) => parts.filter((part) => "id" in part && part.id === id).map((part) => part.type)
      assert.deepStrictEqual(of("a"), [
        "tool-params-start",
        "tool-params-delta",
        "tool-params-delta",
        "tool-params-end",
        "tool-call"
      ])
      const deltas = parts.flatMap((part) => (part.type === "tool-params-delta" && part.id === "b" ? [part.delta] : []))
      assert.strictEqual(deltas.join(""), '{"y":2}')
    })

    it("accepts several calls in one delta, with or without index", () => {
      const a = { id: "a", function: { name: "f", arguments: '{"x":1}' } }
      const b = { id: "b", function: { name: "g", arguments: '{"y":2}' } }
      assert.deepStrictEqual(calls([delta({ tool_calls: [a, b] })]), two)
      assert.deepStrictEqual(
        calls([
          delta({
            tool_calls: [
              { index: 0, ...a },
              { index: 1, ...b }
            ]
          })
        ]),
        two
      )
    })

    it("separates calls that a server all numbers 0", () => {
      assert.deepStrictEqual(
        calls([
          call({ index: 0, id: "a", function: { name: "f", arguments: '{"x":1}' } }),
          call({ index: 0, id: "b", function: { name: "g", arguments: '{"y":2}' } })
        ]),
        two
      )
    })

    it("continues a call whose id changes with every delta", () => {
      assert.deepStrictEqual(
        calls([
          call({ index: 0, id: "a", function: { name: "f", arguments: "" } }),
          call({ index: 0, id: "z1", function: { arguments: '{"x":' } }),
          call({ index: 0, id: "z2", function: { arguments: "1}" } })
        ]),
        [two[0]!]
      )
      assert.deepStrictEqual(
        calls([
          call({ id: "a", function: { name: "f", arguments: '{"x":' } }),
          call({ id: "z", function: { arguments: "1}" } })
        ]),
        [two[0]!]
      )
    })

    it("continues a call whose name is repeated, and joins a name that comes in pieces", () => {
      assert.deepStrictEqual(
        calls([
          call({ index: 0, id: "a", function: { name: "f", arguments: '{"x":' } }),
          call({ index: 0, id: "a", function: { name: "f", arguments: "1}" } })
        ]),
        [two[0]!]
      )
      assert.deepStrictEqual(
        calls([
          call({ index: 0, id: "a", function: { name: "look" } }),
          call({ index: 0, function: { name: "up" } }),
          call({ index: 0, function: { arguments: "{}" } })
        ]),
        [{ id: "a", name: "lookup", params: {} }]
      )
      assert.deepStrictEqual(
        calls([call({ index: 0, id: "a" }), call({ index: 0, function: { name: "f", arguments: "{}" } })]),
        [{ id: "a", name: "f", params: {} }]
      )
    })

    it("follows deltas without index and id", () => {
      assert.deepStrictEqual(
        calls([call({ function: { name: "f", arguments: '{"x":' } }), call({ function: { arguments: "1}" } })]).map(
          ({ name, params }) => ({ name, params })
        ),
        [{ name: "f", params: { x: 1 } }]
      )
    })

    it("makes missing ids, and none twice", () => {
      const made = calls([
        delta({
          tool_calls: [
            { function: { name: "f", arguments: "{}" } },
            { id: "", function: { name: "f", arguments: "{}" } },
            { id: null, function: { name: "f", arguments: '{"x":1}' } }
          ]
        })
      ])
      assert.deepStrictEqual(
        made.map(({ id }) => id),
        ["call_0_0198abcd", "call_1_0198abcd", "call_2_0198abcd"]
      )
      const doubled = calls([
        delta({
          tool_calls: [
            { index: 0, id: "same", function: { name: "f", arguments: "{}" } },
            { index: 1, id: "same", function: { name: "f", arguments: "{}" } }
          ]
        })
      ])
      assert.strictEqual(doubled.length, 2)
      assert.strictEqual(new Set(doubled.map(({ id }) => id)).size, 2)
      assert.strictEqual(doubled[0]!.id, "same")
      assert.deepStrictEqual(calls([call({ id: 7, function: { name: "f", arguments: "{}" } })])[0]!.id, "7")
    })

    it("asks for a seed only when an id is missing", () => {
      const decoder = ChatCompletionsResponse.make({ provider: "test" })
      assert.isFalse(decoder.needsSeed(delta({ content: "x" })))
      const first = call({ index: 0, id: "a", function: { name: "f", arguments: "" } })
      assert.isFalse(decoder.needsSeed(first))
      decoder.push(first, "", [])
      assert.isFalse(decoder.needsSeed(call({ index: 0, function: { arguments: "{}" } })))
      assert.isTrue(decoder.needsSeed(call({ index: 1, function: { name: "f", arguments: "{}" } })))
      assert.isTrue(
        ChatCompletionsResponse.make({ provider: "test" }).needsSeed(
          whole({ function_call: { name: "g", arguments: "{}" } })
        )
      )
    })

    it("accepts arguments given as an object", () => {
      assert.deepStrictEqual(
        calls([
          delta({
            tool_calls: [
              { id: "a", function: { name: "f", arguments: { x: 1 } } },
              { id: "b", function: { name: "g", arguments: { y: 2 } } }
            ]
          })
        ]),
        two
      )
      const anonymous = { function: { name: "f", arguments: { x: 1 } } }
      assert.strictEqual(calls([call({ index: 0, ...anonymous }), call({ index: 0, ...anonymous })]).length, 2)
      const bare = call({ index: 0, function: { name: "f" } })
      assert.strictEqual(calls([call({ index: 0, ...anonymous }), bare]).length, 2)
    })

    it("reads missing arguments as an empty object and broken ones as text", () => {
      const params = (text: unknown) => calls([call({ id: "a", function: { name: "f", arguments: text } })])[0]!.params
      assert.deepStrictEqual(params(""), {})
      assert.deepStrictEqual(params("  "), {})
      assert.deepStrictEqual(params(null), {})
      assert.deepStrictEqual(params(undefined), {})
      assert.deepStrictEqual(params("null"), {})
      assert.strictEqual(params('{"x":'), '{"x":')
    })

    it("keeps __proto__ keys of arguments as plain data", () => {
      const text = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'
      for (const args of [text, JSON.parse(text)]) {
        const params = calls([call({ id: "__proto__", function: { name: "__proto__", arguments: args } })])[0]!
          .params as object
        assert.isTrue(Object.hasOwn(params, "__proto__"))
        assert.isUndefined((params as any).polluted)
        assert.isUndefined(({} as any).polluted)
      }
    })

    it("accepts the old function_call, whole and streamed", () => {
      const old = decode([whole({ function_call: { name: "f", arguments: '{"x":1}' } }, "function_call")]).response
      assert.deepStrictEqual(LlmClient.toolCalls(old)[0]!.params, { x: 1 })
      const streamed = calls([
        delta({ function_call: { name: "f", arguments: "" } }),
        delta({ function_call: { arguments: '{"x"' } }),
        delta({ function_call: { arguments: ":1}" } })
      ])
      assert.deepStrictEqual(streamed, [{ id: "call_0_0198abcd", name: "f", params: { x: 1 } }])
    })

    it("keeps the provider's extra content of a call", () => {
      const { response } = decode([
        whole({
          tool_calls: [
            { id: "a", function: { name: "f", arguments: "{}" }, extra_content: { google: { thought_signature: "s" } } }
          ]
        })
      ])
      assert.deepStrictEqual(LlmClient.toolCalls(response)[0]!.metadata as any, {
        chatCompletions: { provider: "test", extraContent: { google: { thought_signature: "s" } } }
      })
    })

    it("skips what is not a call", () => {
      assert.deepStrictEqual(calls([delta({ tool_calls: [null, 7, {}, { function: 3 }] })]), [])
    })
  })
})
