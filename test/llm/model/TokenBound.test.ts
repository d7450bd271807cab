import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as HashMap from "effect/HashMap"
import * as Logger from "effect/Logger"
import * as Cl100k from "gpt-tokenizer/encoding/cl100k_base"
import * as O200k from "gpt-tokenizer/encoding/o200k_base"
import { tokenBound } from "../../../src/llm/model/ApproximateTokens.js"
import * as TokenCounter from "../../../src/llm/model/TokenCounter.js"

const plain = { disallowedSpecial: new Set<string>() }

const neverUndercounts = (text: string): void => {
  const bound = tokenBound(text)
  assert.isAtLeast(bound, Cl100k.countTokens(text, plain), JSON.stringify(text))
  assert.isAtLeast(bound, O200k.countTokens(text, plain), JSON.stringify(text))
}

const families: ReadonlyArray<readonly [name: string, units: ReadonlyArray<string>]> = [
  ["hexadecimal digits", [..."0123456789abcdef"]],
  ["base64", [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="]],
  ["changing case", ["aA", "bB ", "cC", "qQ ", "zZ", "xX"]],
  ["digits and spaces", [..."0123456789 "]],
  ["signs", [..."!@#$%^&*()[]{}<>?/\\|~`-=+;:'\",._ "]],
  ["English and rare words", ["the ", "of ", "weather ", "unconstitutional ", "zqxj ", "don't ", "\n", ". "]],
  ["code", ["const ", "x", " => ", "{\n", "    ", "\t", "return ", "foo.bar", "(", ")", ";", "\n\n"]],
  ["emoji", ["😀", "🎉", "👩‍💻", "🇩🇪", "❤️", "🦄", " "]],
  ["Chinese and Japanese", [..."的一是在不了有和人今日東京あいうえお私は。、"]],
  ["Korean", [..."안녕하세요저는한국어를 "]],
  ["Arabic", [..."ابتثجحخدذرزسشصضطظعغفقكلمنهوي "]],
  ["Devanagari and Thai", [..."नमस्तेदुनियาकขคงจฉชซสวัสดี "]],
  ["Greek and Cyrillic", [..."αβγδεζηθικλμабвгдежзийклмн "]],
  ["Vietnamese and other Latin", [..."ăâđêôơưạảấầẩẫậắằẳẵñßøłž "]],
  ["control characters", [..."\u0000\u0001\u0007\u001b\r\n"]],
  ["runes and mathematical letters", [..."𐍈ꙮ߷ᚠ༒𝔘"]]
]

describe("tokenBound", () => {
  it.each(families)("is never below the count of OpenAI's tokenizers: %s", (_, units) => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(FastCheck.constantFrom(...units), { maxLength: 120 }).map((parts) => parts.join("")),
        neverUndercounts
      ),
      { numRuns: 150 }
    )
  })

  it("is never below the count of OpenAI's tokenizers: any text", () => {
    FastCheck.assert(FastCheck.property(FastCheck.string({ unit: "binary", maxLength: 80 }), neverUndercounts), {
      numRuns: 500
    })
  })

  it("is never below the count of OpenAI's tokenizers: runs of spaces and numbers", () => {
    for (let length = 0; length <= 200; length++) {
      for (const end of ["", "a", "1", "é", "\n", "."]) neverUndercounts(" ".repeat(length) + end)
    }
    for (let number = 0; number < 1000; number++) neverUndercounts(String(number))
  })

  it("counts English at most five times too high", () => {
    const text = "The committee will meet on Thursday to discuss the budget for the coming year. ".repeat(20)
    assert.isAtMost(tokenBound(text), 5 * O200k.countTokens(text))
  })
})

describe("TokenCounter without gpt-tokenizer", () => {
  it.effect("counts by the bound and warns what to install", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make(({ annotations, message }) => {
        logged.push(`${String(HashMap.unsafeGet(annotations, "module"))}: ${String(message)}`)
      })
      const counter = yield* TokenCounter.forModelWith("gpt-4o", () => Effect.succeed(undefined)).pipe(
        Effect.provide(Logger.replace(Logger.defaultLogger, logger))
      )
      assert.isFalse(counter.exact)
      assert.strictEqual(counter.count("hello world"), tokenBound("hello world"))
      assert.deepStrictEqual(logged, [
        "TokenCounter: Tokens of gpt-4o are counted by an upper bound. Install gpt-tokenizer to count them exactly."
      ])
    })
  )
})
