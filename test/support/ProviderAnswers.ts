/** Every wire format of models: how its client is made, and the answer `Hello you`, whole and as events. */
import type * as HttpClient from "@effect/platform/HttpClient"
import type * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Anthropic from "../../src/provider/format/Anthropic.js"
import * as ChatCompletions from "../../src/provider/format/ChatCompletions.js"
import * as OpenAi from "../../src/provider/format/OpenAi.js"
import * as ChatServer from "./ChatServer.js"

export interface Provider {
  readonly name: string
  readonly make: (baseUrl: string) => Effect.Effect<LlmClient.Service, unknown, HttpClient.HttpClient>
  /** The body of the whole answer. */
  readonly whole: unknown
  /** Events up to the first delta, and from there to the end. */
  readonly stream: readonly [begin: ReadonlyArray<string>, rest: ReadonlyArray<string>]
}

export const apiKey = Redacted.make("sk-test-0123456789")

const message = { type: "message", id: "msg_1", content: [{ type: "output_text", text: "Hello you" }] }
const responses = (...list: ReadonlyArray<unknown>) => list.map(ChatServer.event)
const messages = (...list: ReadonlyArray<{ readonly type: string; readonly [field: string]: unknown }>) =>
  list.map((value) => `event: ${value.type}\n${ChatServer.event(value)}`)
const chunk = (delta: unknown, finish: string | null = null) =>
  ChatServer.event({ id: "c-1", model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })

export const chatCompletions: Provider = {
  name: "chat completions",
  make: (baseUrl) => ChatCompletions.make({ baseUrl, model: "m", apiKey }),
  whole: {
    id: "c-1",
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content: "Hello you" }, finish_reason: "stop" }]
  },
  stream: [
    [chunk({ role: "assistant", content: "Hello" })],
    [chunk({ content: " you" }), chunk({}, "stop"), ChatServer.event("[DONE]")]
  ]
}

export const openAi: Provider = {
  name: "openai",
  make: (baseUrl) => OpenAi.make({ baseUrl, model: "m", apiKey }),
  whole: { id: "resp_1", model: "m", status: "completed", output: [message], usage: {} },
  stream: [
    responses(
      { type: "response.created", response: { id: "resp_1", model: "m", output: [] } },
      { type: "response.output_item.added", output_index: 0, item: { ...message, content: [] } },
      { type: "response.output_text.delta", output_index: 0, item_id: "msg_1", delta: "Hello" }
    ),
    responses(
      { type: "response.output_text.delta", output_index: 0, item_id: "msg_1", delta: " you" },
      { type: "response.output_item.done", output_index: 0, item: message },
      {
        type: "response.completed",
        response: { id: "resp_1", model: "m", status: "completed", output: [message], usage: {} }
      }
    )
  ]
}

export const anthropic: Provider = {
  name: "anthropic",
  make: (baseUrl) => Anthropic.make({ baseUrl, model: "m", apiKey }),
  whole: {
    type: "message",
    id: "m_1",
    model: "m",
    role: "assistant",
    content: [{ type: "text", text: "Hello you" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 1, output_tokens: 2 }
  },
  stream: [
    messages(
      { type: "message_start", message: { id: "m_1", model: "m", role: "assistant", content: [], usage: {} } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } }
    ),
    messages(
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: " you" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
      { type: "message_stop" }
    )
  ]
}

export const all: ReadonlyArray<Provider> = [chatCompletions, openAi, anthropic]
