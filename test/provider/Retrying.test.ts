import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as LlmRetry from "../../src/llm/LlmRetry.js"
import * as LlmTimeout from "../../src/llm/LlmTimeout.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as ChatServer from "../support/ChatServer.js"
import * as ProviderAnswers from "../support/ProviderAnswers.js"
import * as Transports from "../support/Transports.js"

/** A streamed call: what it was given, part by part, and how it ended. */
const collect = (client: LlmClient.Service) =>
  Effect.gen(function* () {
    const parts: Array<unknown> = []
    const result = yield* Effect.either(
      client.complete(
        { messages: [{ role: "user", content: "Hello" }] },
        { onParts: (more) => Effect.sync(() => void parts.push(...more)) }
      )
    )
    return { parts, result }
  })

const busy = (retryAfter: string, status = 429) =>
  ChatServer.json({ error: { message: "Slow down" } }, { status, headers: { "retry-after": retryAfter } })

const retrying = LlmRetry.wrap({ base: "1 millis" })

describe.each(Transports.cross(ProviderAnswers.all))(
  "$name over $transport",
  ({ layer, make, stream: [begin, rest] }) => {
    const start = Effect.gen(function* () {
      const server = yield* ChatServer.make
      return { server, client: yield* make(server.baseUrl) }
    })
    const whole = ChatServer.sse([...begin, ...rest])

    it.scopedLive("gives the same stream after failures as without", () =>
      Effect.gen(function* () {
        const { client, server } = yield* start
        yield* server.script(whole)
        const expected = yield* collect(client)
        assert.strictEqual(expected.result._tag, "Right")
        assert.include(JSON.stringify(expected.parts), "Hello")
        const failures = [busy("0"), busy("0.01", 503), { before: [ChatServer.cut] }]
        for (const failure of failures) {
          yield* server.script(failure, whole)
          assert.deepStrictEqual(yield* collect(retrying(client)), expected)
        }
        assert.strictEqual(server.requests.length, 1 + 2 * failures.length)
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive("fails without a retry when a stream breaks or stops after its first delta", () =>
      Effect.gen(function* () {
        const { client, server } = yield* start
        yield* server.script(ChatServer.sse([...begin, ChatServer.cut]), whole)
        const cut = yield* collect(retrying(client))
        assert.include(JSON.stringify(cut.parts), "Hello")
        assert.deepInclude(cut.result, { _tag: "Left" })
        assert.strictEqual(server.requests.length, 1)
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive("fails with LlmTimeoutError and without a second call when no part follows the first delta", () =>
      Effect.gen(function* () {
        const { client, server } = yield* start
        yield* server.script(ChatServer.sse([...begin, ChatServer.hang]), whole)
        const timed = LlmTimeout.wrap({ gap: "300 millis", whole: "1 hour" })(client)
        const { parts, result } = yield* collect(retrying(timed))
        assert.include(JSON.stringify(parts), "Hello")
        assert.deepInclude(result._tag === "Left" ? result.left : {}, {
          _tag: "LlmTimeoutError",
          phase: "gap",
          timeoutMs: 300
        })
        assert.strictEqual(server.requests.length, 1)
      }).pipe(Effect.provide(layer))
    )

    it.scopedLive("bounds a requested delay of a year in the error, and does not wait for it", () =>
      Effect.gen(function* () {
        const { client, server } = yield* start
        yield* server.script(busy(String(365 * 24 * 3600)), whole)
        const { parts, result } = yield* collect(retrying(client))
        assert.deepStrictEqual(parts, [])
        assert.deepInclude(result._tag === "Left" ? result.left : {}, {
          _tag: "LlmRateLimitError",
          retryAfterMs: 86_400_000
        })
        assert.strictEqual(server.requests.length, 1)
      }).pipe(Effect.provide(layer))
    )
  }
)
