import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Glob from "../../../src/internal/text/Glob.js"
import * as Growth from "../../support/Growth.js"

const is = (pattern: string, text: string, options?: Glob.Options) => Glob.compile([pattern], options)(text)

describe("Glob", () => {
  it("matches a pattern with the whole text", () => {
    assert.isTrue(is("gpt-4o", "gpt-4o"))
    assert.isFalse(is("gpt-4o", "gpt-4o-mini"))
    assert.isFalse(is("gpt-4o", "my-gpt-4o"))
  })

  it("matches any text with a star, even empty and with line breaks", () => {
    assert.isTrue(is("gpt-4*", "gpt-4"))
    assert.isTrue(is("gpt-4*", "gpt-4.1-mini"))
    assert.isTrue(is("*/claude*5", "anthropic/claude-sonnet-4-5"))
    assert.isFalse(is("*/claude*5", "claude-sonnet-4-5"))
    assert.isTrue(is("a**b", "a\nb"))
    assert.isTrue(is("*", ""))
    assert.isTrue(is("***", "x"))
  })

  it("matches one code unit with a question mark", () => {
    assert.isTrue(is("o?", "o3"))
    assert.isFalse(is("o?", "o"))
    assert.isFalse(is("o?", "o30"))
    assert.isTrue(is("*?", "x"))
    assert.isFalse(is("*?", ""))
  })

  it("matches every other character literally", () => {
    for (const pattern of ["a.c", "[abc]", "a+", "(x)", "^a$", "a\\*", "{a,b}", "__proto__", "constructor"]) {
      assert.isTrue(is(pattern.replace("*", "x"), pattern.replace("*", "x")))
    }
    assert.isFalse(is("a.c", "abc"))
    assert.isFalse(is("[abc]", "a"))
    assert.isFalse(is("{a,b}", "a"))
    assert.isFalse(Glob.compile(["a"])("__proto__"))
  })

  it("is case-sensitive unless configured otherwise", () => {
    assert.isFalse(is("GPT-4*", "gpt-4o"))
    assert.isTrue(is("GPT-4*", "gpt-4O", { ignoreCase: true }))
    assert.isTrue(is("Gpt-4o", "gPT-4O", { ignoreCase: true }))
  })

  it("accepts any of several patterns, and matches nothing without patterns", () => {
    const matcher = Glob.compile(["o3", "gpt-*", "claude-?"])
    assert.deepStrictEqual(["o3", "gpt-4", "claude-4", "o3-mini", ""].map(matcher), [true, true, true, false, false])
    assert.isFalse(Glob.compile([])(""))
  })

  it("matches nothing with a pattern that is too long", () => {
    const long = "a".repeat(Glob.MAX_PATTERN_LENGTH)
    assert.isTrue(is(long, long))
    assert.isFalse(is(`${long}a`, `${long}a`))
    assert.isFalse(is(`${"*".repeat(Glob.MAX_PATTERN_LENGTH)}*`, "a"))
  })

  it("agrees with a simple recursive implementation", () => {
    const reading = (pattern: string, text: string): boolean => {
      if (pattern === "") return text === ""
      if (pattern[0] === "*") return reading(pattern.slice(1), text) || (text !== "" && reading(pattern, text.slice(1)))
      return text !== "" && (pattern[0] === "?" || pattern[0] === text[0]) && reading(pattern.slice(1), text.slice(1))
    }
    const letters = (alphabet: ReadonlyArray<string>) =>
      FastCheck.array(FastCheck.constantFrom(...alphabet), { maxLength: 9 }).map((all) => all.join(""))
    FastCheck.assert(
      FastCheck.property(letters(["a", "b", "*", "?"]), letters(["a", "b"]), (pattern, text) => {
        assert.strictEqual(is(pattern, text), reading(pattern, text))
      }),
      { numRuns: 2000 }
    )
  })

  it("takes linear time for hostile patterns", () => {
    const text = "a".repeat(100_000)
    const hostile = [
      `${"a*".repeat(127)}b`,
      `*${"a".repeat(200)}b`,
      `${"*a?".repeat(80)}b`,
      `${"?*".repeat(120)}b*`,
      `*${"a".repeat(120)}b*${"a".repeat(120)}c`
    ]
    for (const pattern of hostile) assert.isFalse(is(pattern, text))
    assert.isTrue(is("*a*a*a*a*a*", text))
    // Backtracking would not end within years.
    Growth.assertLinearTexts(["a"], (text) => hostile.map((pattern) => is(pattern, text)), 100_000)
  })
})
