import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as JsonRepair from "../../../src/internal/text/JsonRepair.js"

const value = (text: string, options?: JsonRepair.Options): unknown =>
  Either.getOrThrowWith(JsonRepair.parse(text, options), (failure) => new Error(failure.message))

const reason = (text: string, options?: JsonRepair.Options): string =>
  Either.match(JsonRepair.parse(text, options), { onLeft: (failure) => failure.reason, onRight: () => "none" })

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth)

describe("JsonRepair", () => {
  it("parses JSON like JSON.parse", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.json({ maxDepth: 5 }), (text) => {
        if (!text.includes("__proto__")) assert.deepStrictEqual(value(text), JSON.parse(text))
      })
    )
  })

  it("repairs typical output of models", () => {
    const cases: ReadonlyArray<readonly [string, unknown]> = [
      ["{city: Oslo, days: 3}", { city: "Oslo", days: 3 }],
      ["{'city': 'Oslo', 'now': True, 'unit': None}", { city: "Oslo", now: true, unit: null }],
      ['{"a": [1, 2,], // two\n "b": 3,}', { a: [1, 2], b: 3 }],
      ['{"a": {"b": "cut he', { a: { b: "cut he" } }],
      ['```json\n{"a": 1}\n```', { a: 1 }],
      ['{"text": "first\nsecond"}', { text: "first\nsecond" }],
      ['{"say": "a "word" here"}', { say: 'a "word" here' }]
    ]
    for (const [text, expected] of cases) assert.deepStrictEqual(value(text), expected, text)
  })

  it("names a fault it cannot repair, quoting at most one character", () => {
    for (const text of ["", "{no colon in here}", '{"key-4711" "key-4712"}}}}x']) {
      const result = JsonRepair.parse(text)
      assert.isTrue(Either.isLeft(result), text)
      if (Either.isLeft(result)) {
        assert.strictEqual(result.left.reason, "invalid")
        assert.notInclude(result.left.message, "4711")
        assert.notInclude(result.left.message, "colon in here")
      }
    }
  })

  it("repairs at most maxChars, and parses valid JSON of any length", () => {
    const broken = `{a: "${"x".repeat(100)}"}`
    assert.strictEqual(reason(broken, { maxChars: 50 }), "too-large")
    assert.strictEqual(reason(broken, { maxChars: broken.length }), "none")
    assert.strictEqual(reason(`{a: "${"x".repeat(JsonRepair.defaultMaxChars)}"}`), "too-large")
    assert.strictEqual(reason(JSON.stringify({ a: "x".repeat(200_000) }), { maxChars: 50 }), "none")
  })

  it("rejects nesting beyond its bound, valid or broken", () => {
    assert.strictEqual(reason(nested(JsonRepair.maxDepth)), "none")
    assert.strictEqual(reason(nested(JsonRepair.maxDepth + 1)), "too-deep")
    assert.strictEqual(reason(nested(300_000)), "too-deep")
    assert.strictEqual(reason("[".repeat(10_000)), "too-deep")
    for (const quote of ['"', "'", "`"]) {
      assert.strictEqual(reason(`[${quote}]${quote},`.repeat(1000)), "too-deep", quote)
    }
    assert.strictEqual(reason(`{a:${"[".repeat(JsonRepair.maxDepth)}`), "too-deep")
  })

  it("drops keys that poison prototypes, in any spelling", () => {
    const texts = [
      '{"__proto__": {"admin": true}, "a": 1}',
      '{"__pr\\u006fto__": {"admin": true}, "a": 1}',
      "{__proto__: {admin: true}, a: 1}",
      '{"constructor": {"prototype": {"admin": true}}, "a": 1}'
    ]
    for (const text of texts) {
      const result = value(text) as object
      assert.deepStrictEqual(Object.keys(result), ["a"], text)
      assert.isUndefined((Object.assign({}, result) as { readonly admin?: unknown }).admin)
    }
    assert.deepStrictEqual(value('{"list": [{"__proto__": {"x": 1}, "b": 2}]}'), { list: [{ b: 2 }] })
    assert.deepStrictEqual(value('{"constructor": "Ferrari"}'), { constructor: "Ferrari" })
    assert.isUndefined(({} as { readonly admin?: unknown }).admin)
  })

  it("bounds the work on text that makes a repairer restart at every quote", () => {
    const long = (part: string) => `{"a":${part.repeat(Math.floor(32_000 / part.length))}`
    for (const part of ['“"b\\', "“\"'+", "'\"b{*:"]) {
      const failed = Either.flip(JsonRepair.parse(long(part)))
      assert.match(Either.getOrThrow(failed).message, /too broken to repair|nested deeper/, part)
    }
    for (const part of ["[[\n*", '\\"a,', "{'", '"a":"b,'])
      assert.isTrue(Either.isLeft(JsonRepair.parse(long(part))), part)
  })

  it("never throws", () => {
    const hostile = FastCheck.array(
      FastCheck.constantFrom(
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        ":",
        ",",
        "\\",
        "a",
        "\n",
        "/*",
        "1",
        "`",
        "\\u",
        "&quot;",
        "\ud800"
      )
    ).map((parts) => parts.join(""))
    FastCheck.assert(
      FastCheck.property(FastCheck.oneof(hostile, FastCheck.string()), (text) => {
        assert.isTrue(Either.isEither(JsonRepair.parse(text)))
      }),
      { numRuns: 500 }
    )
  })

  it("finds the end of a value with brackets, quotes and raw line breaks in strings", () => {
    const text = 'x {"a": "} \\" ]", "b": ["line\none"]} tail }'
    const found = JsonRepair.balancedAt(text, 2)
    assert.strictEqual(text.slice(found!.end), " tail }")
    assert.deepStrictEqual(JSON.parse(found!.text), { a: '} " ]', b: ["line\none"] })
    assert.isUndefined(JsonRepair.balancedAt(text, 0))
    assert.isUndefined(JsonRepair.balancedAt('{"a": "}', 0))
  })
})
