import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as LlmRedaction from "../../src/llm/LlmRedaction.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as Scripted from "../support/ScriptedClient.js"

const digits = { patterns: [/card-\d{4,8}/], replacement: "<card>" }

/** The text streamed and the text returned, for an answer cut as given. */
const streamed = (cuts: ReadonlyArray<string>, options?: LlmRedaction.Options) =>
  Effect.gen(function* () {
    const inner = Scripted.make((_, __, complete) => Scripted.answer(cuts, complete))
    const seen = Scripted.collector()
    const response = yield* LlmRedaction.wrap(options)(inner).complete(Scripted.user("hi"), seen)
    return { streamed: seen.text(), returned: LlmClient.text(response), parts: seen.parts }
  })

const sent = (request: LlmClient.LlmRequest, options?: LlmRedaction.Options) =>
  Effect.gen(function* () {
    const inner = Scripted.make((_, __, complete) => Scripted.answer("ok", complete))
    yield* LlmRedaction.wrap(options)(inner).complete(request)
    return inner.requests[0]!
  })

describe("LlmRedaction, requests", () => {
  it.effect("redacts texts of messages, tool results and earlier parameters", () =>
    Effect.gen(function* () {
      const request: LlmClient.LlmRequest = {
        messages: [
          { role: "system", content: "never card-1111" },
          { role: "user", content: [{ type: "text", text: "mine is card-2222" }] },
          {
            role: "assistant",
            content: [
              { type: "reasoning", text: "card-3333?" },
              { type: "tool-call", id: "1", name: "pay", params: { with: ["card-4444"] }, providerExecuted: false }
            ]
          },
          {
            role: "tool",
            content: [
              {
                type: "tool-result",
                id: "1",
                name: "pay",
                isFailure: false,
                result: { deep: [{ card: "card-5555" }], n: 1 },
                providerExecuted: false
              }
            ]
          }
        ]
      }
      const text = JSON.stringify(yield* sent(request, digits))
      assert.notMatch(text, /card-\d/)
      assert.strictEqual(text.split("<card>").length - 1, 5)
      assert.strictEqual(JSON.stringify(request).split("card-").length - 1, 5)
    })
  )

  it.effect("checks hostile tool results", () =>
    Effect.gen(function* () {
      let deep: unknown = "card-1234"
      for (let level = 0; level < 20_000; level++) deep = [deep]
      const result = { deep, polluted: JSON.parse('{"__proto__":{"secret":"card-1234"}}') }
      const request = yield* sent(
        {
          messages: [
            {
              role: "tool",
              content: [{ type: "tool-result", id: "1", name: "x", isFailure: false, result, providerExecuted: false }]
            }
          ]
        },
        digits
      )
      assert.notMatch(JSON.stringify(request), /card-\d/)
      assert.match(JSON.stringify(request), /__proto__/)
    })
  )

  it.effect("keeps files and settings", () =>
    Effect.gen(function* () {
      const data = new Uint8Array([1, 2])
      const request = yield* sent(
        {
          messages: [{ role: "user", content: [{ type: "file", mediaType: "image/png", data }] }],
          settings: { model: "card-1234" }
        },
        digits
      )
      assert.deepStrictEqual(request.messages[0]!.content, [{ type: "file", mediaType: "image/png", data }])
      assert.deepStrictEqual(request.settings, { model: "card-1234" })
    })
  )

  it.effect("redacts everything shaped like a key by default", () =>
    Effect.gen(function* () {
      const request = yield* sent(Scripted.user("use sk-proj-abcdefghijklmnop1234567890 please"))
      assert.strictEqual(request.messages[0]!.content, "use [REDACTED] please")
    })
  )

  it.effect("redacts in the configured direction", () =>
    Effect.gen(function* () {
      const outcome = (direction: "request" | "response" | "both") =>
        Effect.gen(function* () {
          const inner = Scripted.make((_, __, complete) => Scripted.answer("card-2222", complete))
          const client = LlmRedaction.wrap({ ...digits, direction })(inner)
          const response = yield* client.complete(Scripted.user("card-1111"))
          return [inner.requests[0]!.messages[0]!.content, LlmClient.text(response)]
        })
      assert.deepStrictEqual(yield* outcome("request"), ["<card>", "card-2222"])
      assert.deepStrictEqual(yield* outcome("response"), ["card-1111", "<card>"])
      assert.deepStrictEqual(yield* outcome("both"), ["<card>", "<card>"])
    })
  )

  it.effect("inserts the replacement literally and tolerates stateful patterns", () =>
    Effect.gen(function* () {
      const request = yield* sent(Scripted.user("card-1234 card-5678 card-9999"), {
        patterns: [/card-\d+/gy],
        replacement: "$&"
      })
      assert.strictEqual(request.messages[0]!.content, "$& $& $&")
    })
  )

  it.effect("runs redact after the patterns", () =>
    Effect.gen(function* () {
      const request = yield* sent(Scripted.user("card-1234 and Ada"), {
        ...digits,
        redact: (text) => text.replaceAll("Ada", "someone")
      })
      assert.strictEqual(request.messages[0]!.content, "<card> and someone")
    })
  )
})

describe("LlmRedaction, answers", () => {
  it.effect("redacts text and reasoning, but not parameters of tool calls", () =>
    Effect.gen(function* () {
      const call = { type: "tool-call", id: "1", name: "pay", params: { with: "card-1234" } } as const
      const inner = Scripted.make(() =>
        Effect.succeed(
          Scripted.response("", {
            content: [{ type: "reasoning", text: "card-1234" }, { type: "text", text: "card-1234" }, call]
          })
        )
      )
      const response = yield* LlmRedaction.wrap(digits)(inner).complete(Scripted.user("hi"))
      assert.deepStrictEqual(response.content, [
        { type: "reasoning", text: "<card>" },
        { type: "text", text: "<card>" },
        call
      ])
    })
  )

  it.effect("finds a secret split over parts at any position", () =>
    Effect.gen(function* () {
      const text = `${"before ".repeat(10)}card-12345678${" after".repeat(10)}`
      for (let at = 1; at < text.length; at++) {
        const result = yield* streamed([text.slice(0, at), text.slice(at)], { ...digits, window: 16 })
        assert.strictEqual(result.streamed, text.replace("card-12345678", "<card>"))
        assert.strictEqual(result.returned, result.streamed)
      }
    })
  )

  it.effect("shows a secret in no delta for any text and split", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.array(FastCheck.constantFrom("a", " ", "card-", "1", "23", "card-1234", "-", "4567", "car"), {
            maxLength: 60
          }),
          FastCheck.integer({ min: 13, max: 40 }),
          async (cuts, window) => {
            const result = await Effect.runPromise(streamed(cuts, { ...digits, window }))
            const whole = cuts.join("").replace(/card-\d{4,8}/g, "<card>")
            assert.strictEqual(result.streamed, whole)
            assert.strictEqual(result.returned, whole)
          }
        ),
        { numRuns: 300 }
      )
    )
  )

  it.effect("delivers text while the answer is running, one window later", () =>
    Effect.gen(function* () {
      const result = yield* streamed(
        Array.from({ length: 200 }, () => "word "),
        { ...digits, window: 50 }
      )
      const deltas = result.parts.filter((part) => part.type === "text-delta")
      assert.isAbove(deltas.length, 150)
      assert.strictEqual(result.streamed, "word ".repeat(200))
      let shown = 0
      deltas.slice(0, -1).forEach((part, index) => {
        shown += part.type === "text-delta" ? part.delta.length : 0
        assert.isAtLeast(shown, (index + 1) * 5 - 50)
      })
    })
  )

  it.effect("finds a secret longer than the window while it is recognized", () =>
    Effect.gen(function* () {
      const secret = `key-${"x".repeat(1000)}`
      const result = yield* streamed(["see ", ...Array.from(secret), " end"], { patterns: [/key-\w+/], window: 32 })
      assert.strictEqual(result.streamed, "see [REDACTED] end")
    })
  )

  it.effect("does not hold back an endless secret forever", () =>
    Effect.gen(function* () {
      let mostHeld = 0
      let given = 0
      let shown = 0
      const inner = Scripted.make((_, __, complete) =>
        Effect.gen(function* () {
          for (let index = 0; index < 400; index++) {
            given += 100
            yield* complete!.onParts!([{ type: "text-delta", id: "0", delta: `k${"x".repeat(99)}` }])
            mostHeld = Math.max(mostHeld, given - shown)
          }
          return Scripted.response("")
        })
      )
      yield* LlmRedaction.wrap({ redact: (text) => text.replace(/x/g, "y"), window: 10 })(inner).complete(
        Scripted.user("hi"),
        {
          onParts: (parts) =>
            Effect.sync(() => {
              for (const part of parts) if (part.type === "text-delta") shown += part.delta.length
            })
        }
      )
      assert.isBelow(mostHeld, 10_000)
      assert.strictEqual(shown, 40_000)
    })
  )

  it.effect("releases held text before its end, and before the finish", () =>
    Effect.gen(function* () {
      const result = yield* streamed(["short"], digits)
      assert.deepStrictEqual(
        result.parts.map((part) => part.type),
        ["text-start", "text-delta", "text-end", "finish"]
      )
      const endless = Scripted.make((_, __, complete) =>
        Effect.as(
          complete!.onParts!([
            { type: "reasoning-delta", id: "r", delta: "think" },
            { type: "text-delta", id: "t", delta: "say" },
            { type: "finish", reason: "stop", usage: {} }
          ]),
          Scripted.response("say")
        )
      )
      const seen = Scripted.collector()
      yield* LlmRedaction.wrap(digits)(endless).complete(Scripted.user("hi"), seen)
      assert.deepStrictEqual(
        seen.parts.map((part) => part.type),
        ["reasoning-delta", "text-delta", "finish"]
      )
    })
  )

  it.effect("keeps concurrent texts apart", () =>
    Effect.gen(function* () {
      const inner = Scripted.make((_, __, complete) =>
        Effect.as(
          complete!.onParts!([
            { type: "text-delta", id: "a", delta: "card-" },
            { type: "text-delta", id: "b", delta: "1234" },
            { type: "text-end", id: "a" },
            { type: "text-end", id: "b" }
          ]),
          Scripted.response("")
        )
      )
      const seen = Scripted.collector()
      yield* LlmRedaction.wrap(digits)(inner).complete(Scripted.user("hi"), seen)
      assert.strictEqual(seen.text(), "card-1234")
    })
  )

  it.effect("bounds the cost of a quadratic pattern by the size of the pieces", () =>
    Effect.gen(function* () {
      let longest = 0
      yield* sent(Scripted.user("x".repeat(1_000_000)), {
        redact: (text) => {
          longest = Math.max(longest, text.length)
          return text
        }
      })
      assert.isBelow(longest, 10_000)
    })
  )

  it.effect("wraps the client below", () =>
    Effect.gen(function* () {
      const inner = Scripted.make((_, __, complete) => Scripted.answer("card-1234", complete))
      const layer = LlmRedaction.layer(digits).pipe(Layer.provide(LlmGateway.layer(inner)))
      const response = yield* LlmGateway.complete(Scripted.user("hi")).pipe(Effect.provide(layer))
      assert.strictEqual(LlmClient.text(response), "<card>")
    })
  )
})
