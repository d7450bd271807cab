import type * as HttpClient from "@effect/platform/HttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as HttpSearch from "../../src/builtin/web/HttpSearch.js"
import { SearchProvider } from "../../src/builtin/web/SearchProvider.js"
import * as Embedder from "../../src/llm/embedding/Embedder.js"
import * as LlmError from "../../src/llm/model/LlmError.js"
import * as Embeddings from "../../src/provider/embedding/Embeddings.js"
import * as Anthropic from "../../src/provider/format/Anthropic.js"
import * as ChatCompletions from "../../src/provider/format/ChatCompletions.js"
import * as OpenAi from "../../src/provider/format/OpenAi.js"
import * as LoopbackServer from "../support/LoopbackServer.js"
import * as Transports from "../support/Transports.js"

const key = "sk-test-0123456789"
const apiKey = Redacted.make(key)
const hello = { messages: [{ role: "user" as const, content: "Hello" }] }

/** A call with credentials of each client that asks somebody over HTTP. */
const calls: Record<string, (url: string) => Effect.Effect<unknown, unknown, HttpClient.HttpClient>> = {
  "chat completions": (url) =>
    Effect.flatMap(ChatCompletions.make({ baseUrl: url, model: "m", auth: "api-key", apiKey }), (client) =>
      client.complete(hello)
    ),
  "chat completions, streamed": (url) =>
    Effect.flatMap(ChatCompletions.make({ baseUrl: url, model: "m", headers: { "x-api-key": apiKey } }), (client) =>
      client.complete(hello, { onParts: () => Effect.void })
    ),
  openai: (url) =>
    Effect.flatMap(OpenAi.make({ baseUrl: url, model: "gpt-5", apiKey }), (client) => client.complete(hello)),
  anthropic: (url) =>
    Effect.flatMap(Anthropic.make({ baseUrl: url, model: "claude", apiKey }), (client) => client.complete(hello)),
  embeddings: (url) =>
    Effect.flatMap(Embeddings.make({ baseUrl: url, model: "m", dimensions: 2, apiKey }), (embedder) =>
      embedder.embed("text")
    ),
  search: (url) =>
    Effect.flatMap(SearchProvider, (provider) => provider.search("question", { maxResults: 1 })).pipe(
      Effect.provide(HttpSearch.layerTavily({ apiKey, baseUrl: url }))
    )
}

const cases = Object.entries(calls).map(([name, call]) => ({ name, call }))

describe.each(Transports.cross(cases))("$name over $transport", ({ call, layer }) => {
  it.scopedLive.each([301, 302, 303, 307, 308])("sends no key to the other origin of a redirect (%d)", (status) =>
    Effect.gen(function* () {
      const elsewhere = yield* LoopbackServer.http((_request, response) => response.writeHead(200).end("{}"))
      const server = yield* LoopbackServer.http((_request, response) =>
        response.writeHead(status, { location: `${elsewhere.url}/v1` }).end()
      )
      const error = yield* Effect.flip(call(server.url))
      assert.deepStrictEqual(elsewhere.requests, [])
      assert.strictEqual(server.requests.length, 1)
      const cause = error instanceof Embedder.EmbeddingError ? error.cause : error
      if (LlmError.isLlmError(cause)) {
        assert.strictEqual(cause._tag, "LlmInvalidRequestError")
        assert.include(cause.message, `redirects to another origin (${elsewhere.url})`)
        assert.include(cause.hint, "base URL")
        assert.isFalse(cause.isRetryable)
      } else assert.include(String(error), "redirects")
    }).pipe(Effect.provide(layer))
  )
})
