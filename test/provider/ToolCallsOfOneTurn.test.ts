import type * as Response from "@effect/ai/Response"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import type { LlmPart } from "../../src/llm/model/LlmClient.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as PartAssembler from "../../src/llm/model/PartAssembler.js"
import * as ToolCallIds from "../../src/provider/exchange/ToolCallIds.js"
import type { WireDecoder } from "../../src/provider/exchange/WireDecoder.js"
import * as AnthropicMessages from "../../src/provider/format/AnthropicMessages.js"
import * as ChatCompletionsResponse from "../../src/provider/format/ChatCompletionsResponse.js"
import * as OpenAiResponses from "../../src/provider/format/OpenAiResponses.js"

/** A call as a server may give it: ids and names come again. */
const Given = Schema.Struct({
  id: Schema.Literal("a", "b", "a_1"),
  name: Schema.Literal("f", "g"),
  params: Schema.Struct({ x: Schema.Int, y: Schema.optionalWith(Schema.Literal("}", "{", '"'), { exact: true }) })
})
type Given = typeof Given.Type

const given = FastCheck.array(Arbitrary.make(Given), { minLength: 1, maxLength: 6 })

const args = ({ params }: Given) => JSON.stringify(params)

/** What a server means, in order; of ids that come again the first is kept. */
const expected = (calls: ReadonlyArray<Given>) => {
  const ids = new Set<string>()
  return calls.map(({ id, name, params }) => {
    const isFirst = !ids.has(id)
    ids.add(id)
    return { id: isFirst ? id : undefined, name, params }
  })
}

/** The calls of parts, both as the answer holds them and as its readers saw them. */
const read = (parts: ReadonlyArray<LlmPart>) => {
  const assembler = PartAssembler.make()
  for (const part of parts) assembler.push(part)
  const calls = LlmClient.toolCalls(assembler.response()).map(({ id, name, params }) => ({ id, name, params }))
  const shown = parts.flatMap((part) =>
    part.type === "tool-call" ? [{ id: part.id, name: part.name, params: part.params }] : []
  )
  assert.deepStrictEqual(shown as unknown, calls)
  const texts = new Map<string, string>()
  for (const part of parts) {
    if (part.type === "tool-params-delta") texts.set(part.id, (texts.get(part.id) ?? "") + part.delta)
  }
  for (const { id, params } of calls) {
    if (texts.has(id)) assert.deepStrictEqual(JSON.parse(texts.get(id) as string), params)
  }
  return calls
}

const check = (calls: ReadonlyArray<Given>, found: ReturnType<typeof read>) => {
  assert.strictEqual(new Set(found.map(({ id }) => id)).size, found.length)
  const wanted = expected(calls)
  // An id that the repetition of another was given is no longer free.
  const isFree = !calls.some(({ id }) => id === "a_1")
  assert.deepStrictEqual(
    found.map(({ name, params }) => ({ name, params })),
    wanted.map(({ name, params }) => ({ name, params })) as never
  )
  if (isFree) found.forEach((call, i) => void assert.strictEqual(call.id, wanted[i]?.id ?? call.id))
}

const chat = (values: ReadonlyArray<unknown>) => {
  const decoder = ChatCompletionsResponse.make({ provider: "test" })
  const parts: Array<LlmPart> = []
  for (const value of values) decoder.push(value, "0198-abcd", parts)
  decoder.end(parts)
  return read(parts)
}
const ofChat = (call: Given) => ({
  id: call.id,
  type: "function",
  function: { name: call.name, arguments: args(call) }
})
const delta = (calls: ReadonlyArray<unknown>) => ({ choices: [{ index: 0, delta: { tool_calls: calls } }] })
const message = (calls: ReadonlyArray<unknown>) => ({
  choices: [{ index: 0, message: { tool_calls: calls }, finish_reason: "tool_calls" }]
})
const cut = (text: string): ReadonlyArray<string> => [text.slice(0, 3), text.slice(3)].filter((piece) => piece !== "")

const chatForms: { readonly [form: string]: (calls: ReadonlyArray<Given>) => ReadonlyArray<unknown> } = {
  "whole answers": (calls) => [message(calls.map(ofChat))],
  "whole answers that number every call 0": (calls) => [message(calls.map((call) => ({ index: 0, ...ofChat(call) })))],
  "streams with an index": (calls) =>
    calls.flatMap((call, index) => [
      delta([{ index, id: call.id, function: { name: call.name, arguments: "" } }]),
      ...cut(args(call)).map((text) => delta([{ index, function: { arguments: text } }]))
    ]),
  "streams that repeat id and name": (calls) =>
    calls.flatMap((call, index) =>
      cut(args(call)).map((text) => delta([{ index, id: call.id, function: { name: call.name, arguments: text } }]))
    ),
  "streams with every call in one delta": (calls) => [delta(calls.map(ofChat))],
  "streams with a delta for each call": (calls) => calls.map((call) => delta([ofChat(call)])),
  "streams that number every call 0": (calls) => calls.map((call) => delta([{ index: 0, ...ofChat(call) }]))
}

const through = (decoder: WireDecoder, values: ReadonlyArray<unknown>, how: "body" | "event") => {
  const ids = ToolCallIds.make()
  return read(values.flatMap((value) => decoder[how](value).parts.map(ids)))
}

describe("calls of one turn", () => {
  for (const [form, values] of Object.entries(chatForms)) {
    it(`are all kept by chat completions, whatever their ids: ${form}`, () => {
      FastCheck.assert(FastCheck.property(given, (calls) => check(calls, chat(values(calls)))))
    })
  }

  it("are all kept by chat completions with one id and no arguments in one answer", () => {
    const bare = { id: "a", function: { name: "f" } }
    const other = { id: "a", function: { name: "g", arguments: "" } }
    for (const value of [message([bare, bare, other]), delta([bare, bare, other])]) {
      assert.deepStrictEqual(
        chat([value]).map(({ name, params }) => [name, params]),
        [
          ["f", {}],
          ["f", {}],
          ["g", {}]
        ] as never
      )
    }
  })

  it("are all kept by messages, whole and streamed", () => {
    FastCheck.assert(
      FastCheck.property(given, (calls) => {
        const content = calls.map(({ id, name, params }) => ({ type: "tool_use", id, name, input: params }))
        const whole = through(AnthropicMessages.make(), [{ content, stop_reason: "tool_use" }], "body")
        const events = calls.flatMap((call, index) => [
          {
            type: "content_block_start",
            index,
            content_block: { type: "tool_use", id: call.id, name: call.name, input: {} }
          },
          ...cut(args(call)).map((text) => ({
            type: "content_block_delta",
            index,
            delta: { type: "input_json_delta", partial_json: text }
          })),
          { type: "content_block_stop", index }
        ])
        check(calls, whole)
        assert.deepStrictEqual(through(AnthropicMessages.make(), [...events, { type: "message_stop" }], "event"), whole)
      })
    )
  })

  it("are all kept by responses, whole and streamed; a repeated item counts once", () => {
    FastCheck.assert(
      FastCheck.property(given, FastCheck.boolean(), (drawn, hasItemIds) => {
        // The same call in an item of the same id is one that is listed twice.
        const keys = new Set<string>()
        const calls = drawn.filter((call) => {
          const key = `${call.id} ${call.name} ${args(call)}`
          return keys.has(key) ? false : keys.add(key)
        })
        const items = calls.map((call) => ({
          type: "function_call",
          ...(hasItemIds ? { id: `fc_${call.id}` } : {}),
          call_id: call.id,
          name: call.name,
          arguments: args(call)
        }))
        const output = items.flatMap((item) => [item, item])
        const whole = through(OpenAiResponses.make(), [{ status: "completed", output }], "body")
        const events = items.flatMap((item, index) => [
          { type: "response.output_item.added", output_index: index, item: { ...item, arguments: "" } },
          ...cut(item.arguments).map((text) => ({
            type: "response.function_call_arguments.delta",
            output_index: index,
            delta: text
          })),
          { type: "response.output_item.done", output_index: index, item }
        ])
        const last = { type: "response.completed", response: { status: "completed", output: items } }
        check(calls, whole)
        assert.deepStrictEqual(through(OpenAiResponses.make(), [...events, last], "event"), whole)
      })
    )
  })

  it("carry no item id for a second call of an item, which a provider would reject", () => {
    const item = (text: string) => ({ type: "function_call", id: "fc_1", call_id: "c", name: "f", arguments: text })
    const { parts } = OpenAiResponses.make().body({ status: "completed", output: [item("{}"), item('{"x":1}')] })
    const metadata = parts.flatMap((part) => (part.type === "tool-call" ? [part.metadata] : []))
    assert.deepStrictEqual(metadata as unknown, [{ openai: { itemId: "fc_1" } }, undefined])
  })

  it("keep their ids and results when the provider ran them itself", () => {
    const executed: ReadonlyArray<Response.StreamPartEncoded> = [
      { type: "tool-call", id: "a", name: "search", params: {}, providerExecuted: true },
      { type: "tool-result", id: "a", name: "search", isFailure: false, result: 1, providerExecuted: true }
    ]
    const ids = ToolCallIds.make()
    const parts = [...executed, ...executed] as ReadonlyArray<LlmPart>
    assert.deepStrictEqual(parts.map(ids), parts)
  })
})
