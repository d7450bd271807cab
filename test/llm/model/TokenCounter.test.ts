import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type { countTokens as countO200k } from "gpt-tokenizer/encoding/o200k_base"
import * as TokenCounter from "../../../src/llm/model/TokenCounter.js"
import * as Growth from "../../support/Growth.js"

const samples = {
  english:
    "The committee met on Tuesday to review the proposal. After a long discussion, its members agreed that the budget " +
    "would have to be reduced, and that a second opinion should be sought before anything else was decided.",
  german:
    "Der Ausschuss hat am Dienstag über den Vorschlag beraten. Nach langer Aussprache waren sich die Mitglieder einig, " +
    "dass die Haushaltsmittel gekürzt werden müssen.",
  russian:
    "Комитет собрался во вторник, чтобы рассмотреть предложение. После долгого обсуждения бюджет решили сократить.",
  chinese:
    "委员会于星期二开会审议了该提案。经过长时间的讨论，成员们一致认为必须削减预算，并在作出决定之前征求第二种意见。",
  japanese: "委員会は火曜日に提案を検討するために集まりました。長い議論の末、予算を削減することになりました。",
  korean: "위원회는 화요일에 제안을 검토하기 위해 모였습니다. 오랜 논의 끝에 예산을 줄이기로 했습니다.",
  hindi: "समिति ने मंगलवार को प्रस्ताव की समीक्षा करने के लिए बैठक की। लंबी चर्चा के बाद बजट कम करने का निर्णय लिया गया।",
  arabic: "اجتمعت اللجنة يوم الثلاثاء لمراجعة الاقتراح. وبعد نقاش طويل تقرر تخفيض الميزانية.",
  code:
    "export const add = (left: number, right: number): number => {\n  if (Number.isNaN(left)) return right\n" +
    "  const values = [left, right].map((value) => value * 2)\n  return values.reduce((sum, value) => sum + value, 0)\n}\n",
  json: '{"name":"search","arguments":{"query":"weather in Paris","limit":10,"filters":["today","hourly"]}}',
  numbers: "1234567890 3.14159265 2024-11-21 42 1000000",
  emoji: "🎉🚀 done 👍🏽 — 日本 ✅"
}

describe("TokenCounter", () => {
  it.effect("counts short texts as OpenAI's tokenizers do", () =>
    Effect.gen(function* () {
      const newer = yield* TokenCounter.forModel("gpt-4o")
      const older = yield* TokenCounter.forModel("gpt-4")
      const counts: ReadonlyArray<readonly [string, number, number]> = [
        ["", 0, 0],
        ["hello world", 2, 2],
        ["tiktoken is great!", 6, 6],
        ["antidisestablishmentarianism", 6, 6],
        ["2 + 2 = 4", 7, 7],
        ["お誕生日おめでとう", 8, 9]
      ]
      for (const [text, o200k, cl100k] of counts) {
        assert.deepStrictEqual([newer.count(text), older.count(text)], [o200k, cl100k], text)
      }
      assert.deepStrictEqual([newer.model, newer.exact], ["gpt-4o", true])
    })
  )

  it("recognizes models by family, whatever precedes the name", () => {
    const families: ReadonlyArray<readonly [string, TokenCounter.Encoding | undefined]> = [
      ["gpt-4o-mini", "o200k_base"],
      ["gpt-4.1-nano", "o200k_base"],
      ["gpt-5.2", "o200k_base"],
      ["o3-mini", "o200k_base"],
      ["chatgpt-4o-latest", "o200k_base"],
      ["openai/gpt-oss-120b", "o200k_base"],
      ["ft:gpt-4o-2024-08-06:acme::id", "o200k_base"],
      ["gpt-4", "cl100k_base"],
      ["gpt-4-turbo", "cl100k_base"],
      ["gpt-3.5-turbo", "cl100k_base"],
      ["gpt-35-turbo", "cl100k_base"],
      ["text-embedding-3-small", "cl100k_base"],
      ["claude-sonnet-4-5", undefined],
      ["llama3.1:8b", undefined],
      ["olmo-2", undefined],
      ["constructor", undefined],
      ["", undefined]
    ]
    for (const [model, encoding] of families) assert.strictEqual(TokenCounter.encodingOf(model), encoding, model)
  })

  it.effect("counts an unknown model approximately, under its own name", () =>
    Effect.gen(function* () {
      const counter = yield* TokenCounter.TokenCounter
      assert.deepStrictEqual([counter.model, counter.exact], ["claude-sonnet-4-5", false])
      assert.isAbove(counter.count("hello world"), 1)
    }).pipe(Effect.provide(TokenCounter.layer({ model: "claude-sonnet-4-5" })))
  )

  it.effect("never loads a tokenizer with layerApproximate", () =>
    Effect.gen(function* () {
      const counter = yield* TokenCounter.TokenCounter
      assert.deepStrictEqual([counter.model, counter.exact], ["gpt-4o", false])
    }).pipe(Effect.provide(TokenCounter.layerApproximate({ model: "gpt-4o" })))
  )

  it.effect("approximates close to the tokenizers, rather too high than too low", () =>
    Effect.gen(function* () {
      const newer = yield* TokenCounter.forModel("gpt-4o")
      const older = yield* TokenCounter.forModel("gpt-4")
      const plain = ["english", "code", "json", "numbers"]
      for (const [name, text] of Object.entries(samples)) {
        const count = TokenCounter.approximate.count(text)
        assert.isAtLeast(count / newer.count(text), 0.95, name)
        assert.isAtLeast(count / older.count(text), 0.85, name)
        assert.isAtMost(count / newer.count(text), plain.includes(name) ? 1.6 : 3.6, name)
        assert.isAtMost(count / older.count(text), 1.6, name)
      }
    })
  )

  it.effect("treats special tokens in a text as text", () =>
    Effect.gen(function* () {
      for (const model of ["gpt-4o", "gpt-4", "other"]) {
        const counter = yield* TokenCounter.forModel(model)
        for (const text of ["<|endoftext|>", "<|im_start|>system", "a<|fim_prefix|>b", "<|endofprompt|>"]) {
          assert.isAbove(counter.count(text), 2, `${model} ${text}`)
        }
      }
    })
  )

  it.effect("neither hangs nor throws for hostile text", () =>
    Effect.gen(function* () {
      const counter = yield* TokenCounter.forModel("gpt-4o")
      let state = 1
      const random = (length: number, alphabet: string) =>
        Array.from({ length }, () => {
          state = (state * 48_271) % 2_147_483_647
          return alphabet[state % alphabet.length]
        }).join("")
      const texts = {
        letters: "a".repeat(1_000_000),
        spaces: " ".repeat(1_000_000),
        newlines: "\n".repeat(1_000_000),
        signs: "=".repeat(1_000_000),
        emoji: "🎉".repeat(500_000),
        chinese: "的".repeat(1_000_000),
        random: random(1_000_000, "abcdefghijklmnopqrstuvwxyz"),
        "random below the limit": random(250_000, "abcdefghijklmnopqrstuvwxyz"),
        "random words": random(250_000, "abcdefghijklmnopqrstuvwxyz").replace(/.{63}/g, "$& "),
        surrogates: "\ud800".repeat(200_000)
      }
      for (const [name, text] of Object.entries(texts)) {
        assert.isAbove(counter.count(text), 1000, name)
        // A text that was counted is remembered: each run sees another one.
        let runs = 0
        Growth.assertLinear({
          name,
          input: (size) => text.slice(0, size),
          size: 200_000,
          run: (part) => counter.count(`${runs++} ${part}`)
        })
      }
    })
  )

  for (const [model, load] of [
    ["gpt-4o", () => import("gpt-tokenizer/encoding/o200k_base")],
    ["gpt-4", () => import("gpt-tokenizer/encoding/cl100k_base")]
  ] as const) {
    it.effect(`counts remembered lines of JSON the same: ${model}`, () =>
      Effect.gen(function* () {
        const { countTokens } = yield* Effect.promise<{ readonly countTokens: typeof countO200k }>(load)
        const counter = yield* TokenCounter.forModel(model)
        const fresh = yield* TokenCounter.forModel(model)
        const units = ["\n", "\r", " ", "\t", "/", "{", "}", '"', "a", "B", "7", "'s", "é", "\u2028"]
        const text = FastCheck.oneof(
          FastCheck.string({ unit: "binary", maxLength: 12 }),
          FastCheck.string({ unit: FastCheck.constantFrom(...units), maxLength: 40 }),
          FastCheck.constantFrom(samples.english, samples.code, "<|endoftext|>", "x".repeat(300))
        )
        // What a line of JSON holds is escaped; other lines may hold anything.
        const line = FastCheck.oneof(
          text.map((inner) => `${JSON.stringify({ role: "user", text: inner })}\n`),
          text.map((inner) => `{${inner}\n`)
        )
        let exact = 0
        FastCheck.assert(
          FastCheck.property(
            text,
            FastCheck.array(line, { minLength: 1, maxLength: 6 }),
            text,
            (before, lines, after) => {
              for (const one of lines) counter.count(one)
              const whole = before + lines.join("") + after
              assert.strictEqual(counter.count(whole), fresh.count(whole))
              // Long runs are cut, which changes counts a little.
              if (/[^ \t-\r]{65}|[ \t-\r]{65}/.test(whole)) return
              exact++
              assert.strictEqual(counter.count(whole), countTokens(whole, { disallowedSpecial: new Set() }))
            }
          ),
          { numRuns: 400 }
        )
        assert.isAbove(exact, 100)
      })
    )
  }

  it.effect("changes a count little by cutting long runs", () =>
    Effect.gen(function* () {
      const counter = yield* TokenCounter.forModel("gpt-4o")
      const { countTokens } = yield* Effect.promise(() => import("gpt-tokenizer/encoding/o200k_base"))
      for (const text of [samples.chinese.repeat(8), "x1y2z3".repeat(60), `${samples.english}${"=".repeat(300)}`]) {
        const exact = countTokens(text)
        assert.approximately(counter.count(text), exact, Math.max(4, exact * 0.1))
      }
      for (const text of Object.values(samples)) {
        if (!/\S{65}/.test(text)) assert.strictEqual(counter.count(text), countTokens(text))
      }
    })
  )

  it.effect("counts three per message, its role and content, and three for the answer", () =>
    Effect.gen(function* () {
      const counter = yield* TokenCounter.forModel("gpt-4o")
      assert.strictEqual(counter.countMessages([]), 3)
      assert.strictEqual(counter.countMessages([{ role: "user", content: "hello world" }]), 3 + 3 + 1 + 2)
      assert.strictEqual(
        counter.countMessages([
          { role: "system", content: "hello" },
          { role: "user", content: [{ type: "text", text: "hello world" }] }
        ]),
        3 + (3 + 1 + 1) + (3 + 1 + 2)
      )
    })
  )

  it.effect("counts tool calls, results, images and files", () =>
    Effect.gen(function* () {
      const { count, countMessages } = yield* TokenCounter.forModel("gpt-4o")
      const user = (part: { mediaType: string; data: string | Uint8Array | URL }) =>
        countMessages([{ role: "user", content: [{ type: "file", ...part }] }]) - 7
      assert.strictEqual(user({ mediaType: "image/png", data: "AAAA" }), TokenCounter.imageTokens)
      assert.strictEqual(
        user({ mediaType: "application/pdf", data: new URL("https://a.test/b") }),
        TokenCounter.fileTokens
      )
      assert.strictEqual(user({ mediaType: "text/plain", data: new TextEncoder().encode("hello world") }), 2)
      const call = { type: "tool-call", id: "1", name: "add", params: { left: 1 }, providerExecuted: false } as const
      assert.strictEqual(
        countMessages([{ role: "assistant", content: [call] }]),
        3 + 3 + count("assistant") + 3 + count("add") + count('{"left":1}')
      )
      const cyclic: Record<string, unknown> = {}
      cyclic["self"] = cyclic
      assert.isAbove(countMessages([{ role: "assistant", content: [{ ...call, params: cyclic }] }]), 0)
    })
  )

  it.effect("counts tool definitions, and nothing without tools", () =>
    Effect.gen(function* () {
      const { count, countTools } = yield* TokenCounter.forModel("gpt-4o")
      const tool = { name: "add", description: "Adds.", parameters: { type: "object" } }
      assert.strictEqual(countTools([]), 0)
      assert.strictEqual(countTools([tool]), 12 + 7 + count("add:Adds.") + count('{"type":"object"}'))
    })
  )
})

describe("counting requests of a growing conversation", () => {
  const message = (content: string) => ({ role: "user" as const, content })
  const schema = { type: "object", properties: { a: { type: "string" } } } as const
  const tools = [{ name: "look", description: "Looks", parameters: schema }]
  const counting = () => {
    const counted: Array<string> = []
    const self = TokenCounter.make({
      model: "m",
      exact: true,
      count: (text) => {
        counted.push(text)
        return text.length
      }
    })
    return { counted, self }
  }

  it("equals counting the whole, even when conversations alternate", () => {
    const { self } = counting()
    const count = TokenCounter.forRequests(self)
    const whole = (messages: ReadonlyArray<ReturnType<typeof message>>) => self.countMessages(messages)
    const a = [message("one")]
    const b = [message("other"), message("words")]
    for (const messages of [a, b, [...a, message("two")], [...b, message("x")], a, [message("one")], []]) {
      assert.strictEqual(count({ messages }), whole(messages))
    }
    const request = { messages: a, tools, responseFormat: { type: "json", name: "n", schema } as const }
    const rest = self.countTools(tools) + JSON.stringify(schema).length
    assert.strictEqual(count(request), whole(a) + rest)
  })

  it("counts messages, tools and schemas only once", () => {
    const { counted, self } = counting()
    const count = TokenCounter.forRequests(self)
    const first = [message("a long beginning")]
    const rest = { tools, responseFormat: { type: "json", name: "n", schema } as const }
    count({ messages: first, ...rest })
    counted.length = 0
    count({ messages: [...first, message("more")], ...rest })
    assert.deepStrictEqual(counted, ["user", "more"])
  })
})
