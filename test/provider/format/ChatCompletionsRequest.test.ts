import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import type { LlmRequest, Message } from "../../../src/llm/model/LlmClient.js"
import type { ModelSettings } from "../../../src/llm/model/ModelSettings.js"
import * as ChatCompletionsDialect from "../../../src/provider/format/ChatCompletionsDialect.js"
import * as ChatCompletionsExtensions from "../../../src/provider/format/ChatCompletionsExtensions.js"
import * as ChatCompletionsRequest from "../../../src/provider/format/ChatCompletionsRequest.js"

const asked = (settings: ModelSettings, dialect: ChatCompletionsDialect.Dialect, model: string) =>
  settings.reasoning === undefined
    ? undefined
    : Either.getOrThrow(ChatCompletionsExtensions.reasoning(settings, dialect, { provider: "test", model }))

const encode = (
  request: Partial<LlmRequest>,
  options: {
    readonly dialect?: Partial<ChatCompletionsDialect.Dialect>
    readonly settings?: ModelSettings
    readonly stream?: boolean
    readonly provider?: string
    readonly model?: string
  } = {}
): any => {
  const dialect = { ...ChatCompletionsDialect.standard, ...options.dialect }
  const { model = "m-1", provider = "test", settings = {}, stream = false } = options
  const encoded = ChatCompletionsRequest.encode(
    { messages: [{ role: "user", content: "Hi" }], ...request },
    {
      dialect,
      provider,
      model,
      settings,
      stream,
      reasoning: asked(settings, dialect, model),
      isStrict: dialect.strictSchemas ? ChatCompletionsExtensions.isStrict : undefined,
      instruct: dialect.jsonMode === "json_schema" ? undefined : ChatCompletionsExtensions.instruct
    }
  )
  return JSON.parse(JSON.stringify(encoded))
}

const messages = (given: ReadonlyArray<Message>, options?: Parameters<typeof encode>[1]) =>
  encode({ messages: given }, options).messages

const closed = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false
} as const
const opened = { type: "object", properties: { city: { type: "string" } } } as const
const tools = [
  { name: "weather", description: "The weather", parameters: closed },
  { name: "time", description: "The time", parameters: opened }
]

describe("ChatCompletionsRequest", () => {
  it("sends no more than required", () => {
    assert.deepStrictEqual(encode({}), { model: "m-1", messages: [{ role: "user", content: "Hi" }] })
  })

  it("sends every setting", () => {
    const body = encode(
      {},
      {
        settings: {
          temperature: 0.3,
          topP: 0.9,
          maxTokens: 100,
          stop: ["END"],
          seed: 7,
          presencePenalty: 0.1,
          frequencyPenalty: 0.2,
          reasoning: "low"
        }
      }
    )
    assert.deepStrictEqual(body, {
      model: "m-1",
      messages: [{ role: "user", content: "Hi" }],
      temperature: 0.3,
      top_p: 0.9,
      max_tokens: 100,
      stop: ["END"],
      seed: 7,
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      reasoning_effort: "low"
    })
  })

  it.each([
    ["openai", { prompt_cache_key: "clerk", prompt_cache_retention: "24h" }],
    ["standard", {}]
  ] as const)(
    "sends the key and the retention of the prompt cache where the server knows them: %s",
    (name, expected) => {
      const { dialect } =
        name === "openai" ? ChatCompletionsDialect.openai : { dialect: ChatCompletionsDialect.standard }
      const { messages, model, ...body } = encode(
        {},
        { dialect, settings: { promptCache: { key: "clerk", ttl: "24h" } } }
      )
      assert.deepStrictEqual(body, expected)
      assert.deepStrictEqual(Object.keys(encode({}, { dialect, settings: { promptCache: false } })), [
        "model",
        "messages"
      ])
    }
  )

  describe("reasoning models", () => {
    const settings = {
      temperature: 0.7,
      topP: 0.9,
      maxTokens: 100,
      stop: ["END"],
      seed: 7,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
      reasoning: "low"
    } as const
    const fields = (model: string, dialect: Partial<ChatCompletionsDialect.Dialect>, over?: object) =>
      Object.keys(encode({}, { model, dialect, settings: { ...settings, ...over } })).sort()
    const all = ["temperature", "top_p", "stop", "presence_penalty", "frequency_penalty"]
    const rest = ["model", "messages", "max_completion_tokens", "seed", "reasoning_effort"]
    const { dialect } = ChatCompletionsDialect.openai

    it.each(["o1", "o3-mini", "o4-mini", "gpt-5", "gpt-5-nano", "gpt-5.2", "ft:o4-mini:acme", "codex-mini-latest"])(
      "get nothing they reject: %s",
      (model) => assert.deepStrictEqual(fields(model, dialect), [...rest].sort())
    )

    it.each(["gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "gpt-35-turbo", "chatgpt-4o-latest"])(
      "get every setting but a level when they do not reason: %s",
      (model) =>
        assert.deepStrictEqual(
          fields(model, dialect),
          [...rest, ...all].filter((field) => field !== "reasoning_effort").sort()
        )
    )

    it("get every setting when they are unknown, or told not to reason", () => {
      assert.deepStrictEqual(fields("omni", dialect), [...rest, ...all].sort())
      assert.deepStrictEqual(fields("gpt-5.2", dialect, { reasoning: "none" }), [...rest, ...all].sort())
    })

    it("are not recognized by name on other servers, and provider options always win", () => {
      assert.include(fields("o3", ChatCompletionsDialect.vllm.dialect), "temperature")
      assert.include(fields("o3", dialect, { providerOptions: { temperature: 1 } }), "temperature")
      assert.isTrue(ChatCompletionsDialect.azure.dialect.reasoningModels)
    })
  })

  it("lets provider options win, and drops those set to undefined", () => {
    const body = encode(
      {},
      {
        settings: {
          temperature: 0.3,
          seed: 1,
          providerOptions: { temperature: 1, top_k: 5, model: "m-2", seed: undefined }
        }
      }
    )
    assert.strictEqual(body.temperature, 1)
    assert.strictEqual(body.top_k, 5)
    assert.strictEqual(body.model, "m-2")
    assert.notProperty(body, "seed")
  })

  describe("messages", () => {
    it("sends texts as strings, even when they came as parts", () => {
      assert.deepStrictEqual(
        messages([
          { role: "system", content: "Be kind" },
          {
            role: "user",
            content: [
              { type: "text", text: "a" },
              { type: "text", text: "b" }
            ]
          },
          {
            role: "assistant",
            content: [
              { type: "text", text: "c" },
              { type: "text", text: "d" }
            ]
          },
          { role: "assistant", content: "e" }
        ]),
        [
          { role: "system", content: "Be kind" },
          { role: "user", content: "a\nb" },
          { role: "assistant", content: "cd" },
          { role: "assistant", content: "e" }
        ]
      )
    })

    it("sends images, sounds and files as content parts", () => {
      const file = (mediaType: string, data: string | Uint8Array | URL, fileName?: string) => ({
        type: "file" as const,
        mediaType,
        data,
        ...(fileName === undefined ? {} : { fileName })
      })
      const [message] = messages([
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            file("image/png", "AAAA"),
            file("image/png", new Uint8Array([0, 0, 0])),
            file("image/*", "AAAA"),
            file("image/png", new URL("https://host/i.png")),
            file("image/png", "data:image/png;base64,BBBB"),
            file("audio/wav", "CCCC"),
            file("application/pdf", "DDDD", "a.pdf"),
            file("application/pdf", "EEEE")
          ]
        }
      ])
      assert.deepStrictEqual(message.content, [
        { type: "text", text: "look" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        { type: "image_url", image_url: { url: "data:image/jpeg;base64,AAAA" } },
        { type: "image_url", image_url: { url: "https://host/i.png" } },
        { type: "image_url", image_url: { url: "data:image/png;base64,BBBB" } },
        { type: "input_audio", input_audio: { data: "CCCC", format: "wav" } },
        { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,DDDD" } },
        { type: "file", file: { filename: "file.pdf", file_data: "data:application/pdf;base64,EEEE" } }
      ])
    })

    it("sends tool calls with their arguments as text, and one message per result", () => {
      assert.deepStrictEqual(
        messages([
          {
            role: "assistant",
            content: [
              { type: "tool-call", id: "a", name: "f", params: { x: 1 } },
              { type: "tool-call", id: "b", name: "g", params: undefined },
              { type: "tool-call", id: "c", name: "h", params: '{"y":' },
              { type: "tool-call", id: "d", name: "i", params: '{"z":1}' }
            ]
          },
          {
            role: "tool",
            content: [
              { type: "tool-result", id: "a", name: "f", isFailure: false, result: "sunny", providerExecuted: false },
              { type: "tool-result", id: "b", name: "g", isFailure: true, result: { no: 1 }, providerExecuted: false },
              { type: "tool-result", id: "c", name: "h", isFailure: false, result: undefined, providerExecuted: false }
            ]
          }
        ]),
        [
          {
            role: "assistant",
            content: null,
            tool_calls: [
              { id: "a", type: "function", function: { name: "f", arguments: '{"x":1}' } },
              { id: "b", type: "function", function: { name: "g", arguments: "{}" } },
              { id: "c", type: "function", function: { name: "h", arguments: '{"invalid_json":"{\\"y\\":"}' } },
              { id: "d", type: "function", function: { name: "i", arguments: '{"z":1}' } }
            ]
          },
          { role: "tool", tool_call_id: "a", content: "sunny" },
          { role: "tool", tool_call_id: "b", content: '{"no":1}' },
          { role: "tool", tool_call_id: "c", content: "null" }
        ]
      )
    })

    it("omits what the API has no place for", () => {
      const result = {
        type: "tool-result" as const,
        id: "s",
        name: "search",
        isFailure: false,
        result: 1,
        providerExecuted: true
      }
      assert.deepStrictEqual(
        messages([
          {
            role: "assistant",
            content: [{ type: "tool-call", id: "s", name: "search", params: {}, providerExecuted: true }, result]
          },
          { role: "assistant", content: "" },
          { role: "assistant", content: [{ type: "file", mediaType: "image/png", data: "A" }] },
          { role: "assistant", content: [result, { type: "text", text: "done" }] }
        ]),
        [{ role: "assistant", content: "done" }]
      )
    })

    it("sends the role of the dialect for system messages", () => {
      const body = messages([{ role: "system", content: "x" }], { dialect: { systemRole: "developer" } })
      assert.deepStrictEqual(body, [{ role: "developer", content: "x" }])
    })
  })

  describe("reasoning", () => {
    const thought = (text: string, options: Record<string, unknown>) => ({
      type: "reasoning" as const,
      text,
      options: { chatCompletions: { provider: "test", ...options } }
    })
    const toolCall = { type: "tool-call" as const, id: "a", name: "f", params: {} }
    const conversation = (field: string): ReadonlyArray<Message> => [
      { role: "user", content: "1" },
      { role: "assistant", content: [thought("t1", { field }), { type: "text", text: "plain" }] },
      { role: "user", content: "2" },
      { role: "assistant", content: [thought("t2", { field }), toolCall] },
      {
        role: "tool",
        content: [{ type: "tool-result", id: "a", name: "f", isFailure: false, result: "r", providerExecuted: false }]
      },
      { role: "assistant", content: [thought("t3", { field }), { type: "text", text: "end" }] },
      { role: "user", content: "3" }
    ]
    const sent = (field: string, options: Parameters<typeof encode>[1]) =>
      messages(conversation(field), options)
        .filter((message: any) => message.role === "assistant")
        .map((message: any) => message[field])

    it("is returned as the dialect says", () => {
      for (const field of ["reasoning_content", "reasoning"]) {
        assert.deepStrictEqual(sent(field, { dialect: { reasoningBack: "never" } }), [undefined, undefined, undefined])
        assert.deepStrictEqual(sent(field, { dialect: { reasoningBack: "tool-turns" } }), [undefined, "t2", "t3"])
        assert.deepStrictEqual(sent(field, { dialect: { reasoningBack: "always" } }), ["t1", "t2", "t3"])
      }
    })

    it("is returned to no other provider, and in no other field", () => {
      assert.deepStrictEqual(sent("reasoning", { dialect: { reasoningBack: "always" }, provider: "other" }), [
        undefined,
        undefined,
        undefined
      ])
      const [message] = messages(
        [{ role: "assistant", content: [thought("t", { field: "content" }), { type: "text", text: "x" }] }],
        {
          dialect: { reasoningBack: "always" }
        }
      )
      assert.deepStrictEqual(message, { role: "assistant", content: "x" })
    })

    it("is returned as details if there are any", () => {
      const details = [{ type: "reasoning.text", index: 0, text: "t" }]
      const late = [{ type: "reasoning.text", index: 0, signature: "s" }]
      const [message] = messages(
        [
          {
            role: "assistant",
            content: [
              thought("t", { field: "reasoning", details }),
              { type: "text", text: "x" },
              thought("", { details: late })
            ]
          }
        ],
        { dialect: ChatCompletionsDialect.openrouter.dialect }
      )
      assert.deepStrictEqual(message, {
        role: "assistant",
        content: "x",
        reasoning_details: [{ type: "reasoning.text", index: 0, text: "t", signature: "s" }]
      })
    })

    it("has its field in every turn with tool calls at DeepSeek, even without a thought", () => {
      const { dialect } = ChatCompletionsDialect.deepseek
      assert.deepStrictEqual(sent("reasoning_content", { dialect }), [undefined, "t2", "t3"])
      const [, message] = messages(
        [
          { role: "user", content: "x" },
          { role: "assistant", content: [toolCall] }
        ],
        { dialect }
      )
      assert.strictEqual(message.reasoning_content, "")
    })

    it("returns the extra content of tool calls", () => {
      const call = (provider: string) => ({
        ...toolCall,
        options: { chatCompletions: { provider, extraContent: { g: 1 } } }
      })
      const [message] = messages([{ role: "assistant", content: [call("test"), call("other")] }])
      assert.deepStrictEqual(message.tool_calls[0].extra_content, { g: 1 })
      assert.notProperty(message.tool_calls[1], "extra_content")
    })
  })

  describe("tools", () => {
    it("are sent as functions", () => {
      assert.deepStrictEqual(encode({ tools }).tools, [
        { type: "function", function: { name: "weather", description: "The weather", parameters: closed } },
        { type: "function", function: { name: "time", description: "The time", parameters: opened } }
      ])
    })

    describe("as text", () => {
      const text = (request: Partial<LlmRequest>, settings: ModelSettings = {}) =>
        ChatCompletionsRequest.toText(
          ChatCompletionsRequest.encode(
            { messages: [{ role: "user", content: "Hi" }], ...request },
            { dialect: ChatCompletionsDialect.standard, provider: "test", model: "m-1", settings, stream: false }
          )
        )

      it("are written once for all requests that offer the same list", () => {
        let written = 0
        const counted = Array.from({ length: 20 }, (_, index) => ({
          name: `tool_${index}`,
          description: "",
          parameters: {
            type: "object" as const,
            toJSON: () => {
              written++
              return opened
            }
          }
        }))
        for (let step = 0; step < 10; step++) {
          const body = JSON.parse(text({ tools: counted, messages: [{ role: "user", content: `step ${step}` }] }))
          assert.strictEqual(body.messages[0].content, `step ${step}`)
          assert.lengthOf(body.tools, 20)
          assert.deepStrictEqual(body.tools[19].function.parameters, opened)
        }
        assert.strictEqual(written, 20)
      })

      it("are those of the body, also after the caller added to its list", () => {
        const growing = tools.slice(0, 1)
        for (const added of [undefined, tools[1]!]) {
          if (added !== undefined) growing.push(added)
          assert.deepStrictEqual(JSON.parse(text({ tools: growing })), encode({ tools: growing }))
        }
      })

      it("are replaced by options of the provider", () => {
        const own = [{ type: "web_search" }]
        const body = JSON.parse(text({ tools }, { providerOptions: { tools: own } }))
        assert.deepStrictEqual(body.tools, own)
      })

      it("are absent without tools", () => {
        assert.deepStrictEqual(JSON.parse(text({})), encode({}))
      })
    })

    it("have parameters even if they take none", () => {
      const [tool] = encode({ tools: [{ name: "ping", description: "", parameters: {} }] }).tools
      assert.deepStrictEqual(tool.function.parameters, { type: "object", properties: {} })
    })

    it("are strict if the dialect wants it and the schema allows it", () => {
      const strict = (parameters: Record<string, unknown>) =>
        encode({ tools: [{ name: "t", description: "", parameters }] }, { dialect: { strictSchemas: true } }).tools[0]
          .function.strict
      const object = (property: unknown) => ({ ...closed, properties: { city: property } })
      assert.isTrue(strict(closed))
      assert.isTrue(strict(object({ anyOf: [{ type: "string" }, { type: "null" }] })))
      assert.isTrue(strict(object({ type: "array", items: closed })))
      assert.isTrue(strict(object({ enum: ["a"] })))
      assert.isTrue(strict({ ...object({ $ref: "#/$defs/a" }), $defs: { a: { type: "string" } } }))
      assert.isUndefined(strict(opened))
      assert.isUndefined(strict({ ...closed, required: [] }))
      assert.isUndefined(strict(object(opened)))
      assert.isUndefined(strict(object({})))
      assert.isUndefined(strict(object({ type: "array" })))
      assert.isUndefined(strict(object({ type: "string", default: "x" })))
      assert.isUndefined(strict({ ...object({ $ref: "#/$defs/a" }), $defs: { a: opened } }))
      assert.isUndefined(strict({ type: "string" }))
      assert.isUndefined(encode({ tools }).tools[0].function.strict)
    })

    it("are chosen as the request says", () => {
      const choice = (toolChoice: LlmRequest["toolChoice"], dialect = {}) => encode({ tools, toolChoice }, { dialect })
      assert.notProperty(choice(undefined), "tool_choice")
      for (const word of ["auto", "none", "required"] as const) assert.strictEqual(choice(word).tool_choice, word)
      assert.deepStrictEqual(choice({ tool: "time" }).tool_choice, { type: "function", function: { name: "time" } })
      const narrowed = choice({ tool: "time" }, { namedToolChoice: false })
      assert.strictEqual(narrowed.tool_choice, "required")
      assert.deepStrictEqual(
        narrowed.tools.map((tool: any) => tool.function.name),
        ["time"]
      )
    })

    it("may be forbidden to run in parallel", () => {
      assert.isFalse(encode({ tools }, { settings: { parallelToolCalls: false } }).parallel_tool_calls)
    })

    it("leave no trace if there are none", () => {
      const body = encode({ tools: [], toolChoice: "required" }, { settings: { parallelToolCalls: true } })
      assert.deepStrictEqual(Object.keys(body), ["model", "messages"])
    })
  })

  describe("JSON answers", () => {
    const responseFormat = { type: "json", name: "place", schema: closed, description: "a place" } as const
    const system: Message = { role: "system", content: "Be kind" }

    it("are requested by schema", () => {
      assert.deepStrictEqual(encode({ responseFormat }).response_format, {
        type: "json_schema",
        json_schema: { name: "place", description: "a place", schema: closed }
      })
      const strict = encode({ responseFormat }, { dialect: { strictSchemas: true } })
      assert.isTrue(strict.response_format.json_schema.strict)
    })

    it("are requested in the system message when the server accepts no schema", () => {
      for (const jsonMode of ["json_object", "none"] as const) {
        const body = encode(
          { messages: [system, { role: "user", content: "Hi" }], responseFormat },
          { dialect: { jsonMode } }
        )
        assert.deepStrictEqual(body.response_format, jsonMode === "none" ? undefined : { type: "json_object" })
        assert.strictEqual(body.messages.length, 2)
        assert.match(body.messages[0].content, /^Be kind\n\n/)
        assert.include(body.messages[0].content, JSON.stringify(closed))
        assert.include(body.messages[0].content, "a place")
        const without = encode({ responseFormat }, { dialect: { jsonMode } })
        assert.deepStrictEqual(
          without.messages.map((message: any) => message.role),
          ["system", "user"]
        )
      }
    })

    it("are not requested with a text format", () => {
      assert.notProperty(encode({ responseFormat: { type: "text" } }), "response_format")
    })
  })

  it("asks for a stream and its usage", () => {
    const body = encode({}, { stream: true })
    assert.isTrue(body.stream)
    assert.deepStrictEqual(body.stream_options, { include_usage: true })
    const without = encode({}, { stream: true, dialect: { streamUsage: false } })
    assert.isTrue(without.stream)
    assert.notProperty(without, "stream_options")
  })

  describe("presets", () => {
    const settings: ModelSettings = { maxTokens: 9, reasoning: "high" }
    const responseFormat = { type: "json", name: "n", schema: closed } as const
    const named = { tools: [...tools], toolChoice: { tool: "time" }, responseFormat } as const
    const table = {
      openai: {
        preset: ChatCompletionsDialect.openai,
        max: "max_completion_tokens",
        effort: "reasoning_effort",
        json: "json_schema",
        strict: true,
        choice: "object"
      },
      azure: {
        preset: ChatCompletionsDialect.azure,
        max: "max_completion_tokens",
        effort: "reasoning_effort",
        json: "json_schema",
        strict: true,
        choice: "object"
      },
      openrouter: {
        preset: ChatCompletionsDialect.openrouter,
        max: "max_tokens",
        effort: "reasoning",
        json: "json_schema",
        strict: false,
        choice: "object"
      },
      groq: {
        preset: ChatCompletionsDialect.groq,
        max: "max_completion_tokens",
        effort: "reasoning_effort",
        json: "json_object",
        strict: false,
        choice: "object"
      },
      deepseek: {
        preset: ChatCompletionsDialect.deepseek,
        max: "max_tokens",
        effort: "reasoning_effort",
        json: "json_object",
        strict: false,
        choice: "object"
      },
      gemini: {
        preset: ChatCompletionsDialect.gemini,
        max: "max_tokens",
        effort: "reasoning_effort",
        json: "json_schema",
        strict: false,
        choice: "string"
      },
      mistral: {
        preset: ChatCompletionsDialect.mistral,
        max: "max_tokens",
        effort: undefined,
        json: "json_schema",
        strict: false,
        choice: "string"
      },
      xai: {
        preset: ChatCompletionsDialect.xai,
        max: "max_completion_tokens",
        effort: "reasoning_effort",
        json: "json_schema",
        strict: false,
        choice: "object"
      },
      together: {
        preset: ChatCompletionsDialect.together,
        max: "max_tokens",
        effort: "reasoning_effort",
        json: "json_object",
        strict: false,
        choice: "object"
      },
      fireworks: {
        preset: ChatCompletionsDialect.fireworks,
        max: "max_tokens",
        effort: "reasoning_effort",
        json: "json_schema",
        strict: false,
        choice: "object"
      },
      cerebras: {
        preset: ChatCompletionsDialect.cerebras,
        max: "max_tokens",
        effort: "reasoning_effort",
        json: "json_schema",
        strict: false,
        choice: "object"
      },
      ollama: {
        preset: ChatCompletionsDialect.ollama,
        max: "max_tokens",
        effort: "reasoning_effort",
        json: "json_schema",
        strict: false,
        choice: "string"
      },
      vllm: {
        preset: ChatCompletionsDialect.vllm,
        max: "max_tokens",
        effort: "reasoning_effort",
        json: "json_schema",
        strict: false,
        choice: "object"
      },
      llamacpp: {
        preset: ChatCompletionsDialect.llamacpp,
        max: "max_tokens",
        effort: undefined,
        json: "json_schema",
        strict: false,
        choice: "string"
      },
      lmstudio: {
        preset: ChatCompletionsDialect.lmstudio,
        max: "max_tokens",
        effort: "reasoning_effort",
        json: "json_schema",
        strict: false,
        choice: "string"
      }
    } as const
    const sampling: ModelSettings = {
      seed: 7,
      stop: ["END"],
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
      parallelToolCalls: false
    }
    const body = (preset: { readonly dialect: ChatCompletionsDialect.Dialect }) =>
      encode({ tools: [...tools], toolChoice: "required" }, { dialect: preset.dialect, settings: sampling })

    it("uses the words of a server for seeds and forced tools", () => {
      const { mistral, openai } = ChatCompletionsDialect
      assert.deepInclude(body(openai), { seed: 7, tool_choice: "required" })
      assert.deepInclude(body(mistral), { random_seed: 7, tool_choice: "any" })
      assert.notProperty(body(mistral), "seed")
      const named = encode({ tools: [...tools], toolChoice: { tool: "time" } }, { dialect: mistral.dialect })
      assert.strictEqual(named.tool_choice, "any")
      assert.deepStrictEqual(
        named.tools.map((tool: any) => tool.function.name),
        ["time"]
      )
    })

    it("leaves out the fields that a server rejects", () => {
      const fields = ["stop", "presence_penalty", "frequency_penalty", "parallel_tool_calls"]
      const sent = (preset: { readonly dialect: ChatCompletionsDialect.Dialect }) =>
        fields.filter((field) => field in body(preset))
      assert.deepStrictEqual(sent(ChatCompletionsDialect.together), fields)
      assert.deepStrictEqual(sent(ChatCompletionsDialect.xai), [])
      assert.deepStrictEqual(sent(ChatCompletionsDialect.cerebras), ["stop", "parallel_tool_calls"])
    })

    for (const name of Object.keys(table) as ReadonlyArray<keyof typeof table>) {
      it(`sends ${name} the body it understands`, () => {
        const expected = table[name]
        const { preset } = expected
        const body = encode(named, { dialect: preset.dialect, settings, stream: true })
        assert.strictEqual(body[expected.max], 9)
        assert.strictEqual("max_tokens" in body && "max_completion_tokens" in body, false)
        assert.deepStrictEqual(
          ["reasoning_effort", "reasoning"].filter((field) => field in body),
          expected.effort === undefined ? [] : [expected.effort]
        )
        if (expected.effort === "reasoning") assert.deepStrictEqual(body.reasoning, { effort: "high" })
        assert.strictEqual(body.response_format.type, expected.json)
        assert.strictEqual(body.response_format.json_schema?.strict ?? false, expected.strict)
        assert.strictEqual(typeof body.tool_choice, expected.choice)
        const asksForUsage = name !== "mistral" && name !== "cerebras"
        assert.deepStrictEqual(body.stream_options, asksForUsage ? { include_usage: true } : undefined)
        assert.strictEqual(preset.provider, name)
        assert.strictEqual(preset.auth, name === "azure" ? "api-key" : "bearer")
      })
    }
  })
})
