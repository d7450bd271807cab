import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Guard from "../../src/guard/Guard.js"

describe("Guard.aggregate", () => {
  it("no results are a pass with the text as it was", () => {
    assert.deepStrictEqual(Guard.aggregate([], "text"), {
      passed: true,
      action: "pass",
      results: [],
      finalContent: "text",
      blocked: false,
      redacted: false,
      warned: false
    })
  })

  it("the most severe action wins, in whatever order", () => {
    const pass = Guard.pass("p")
    const warn = Guard.warn("w", { reason: "odd" })
    const redact = Guard.redact("r", "t***")
    const block = Guard.block("b", { reason: "bad" })
    const action = (...results: ReadonlyArray<Guard.GuardResult>) => Guard.aggregate(results, "text").action
    assert.strictEqual(action(pass), "pass")
    assert.strictEqual(action(warn, pass), "warn")
    assert.strictEqual(action(pass, warn), "warn")
    assert.strictEqual(action(redact, warn), "redact")
    assert.strictEqual(action(warn, redact), "redact")
    assert.strictEqual(action(block, redact), "block")
    assert.strictEqual(action(redact, warn, block), "block")
  })

  it("a warning lets the text go on as it was", () => {
    const result = Guard.aggregate([Guard.warn("w")], "text")
    assert.isTrue(result.passed)
    assert.isTrue(result.warned)
    assert.strictEqual(result.finalContent, "text")
  })

  it("the last redaction is the text that goes on, an empty one too", () => {
    const twice = Guard.aggregate([Guard.redact("a", "one"), Guard.warn("w"), Guard.redact("b", "two")], "text")
    assert.isTrue(twice.passed)
    assert.isTrue(twice.redacted)
    assert.strictEqual(twice.finalContent, "two")
    assert.strictEqual(Guard.aggregate([Guard.redact("a", "")], "text").finalContent, "")
  })

  it("a block leaves no text and names the first that blocked", () => {
    const first = Guard.block("b1", { reason: "bad" })
    const result = Guard.aggregate([Guard.redact("r", "x"), first, Guard.block("b2")], "text")
    assert.isFalse(result.passed)
    assert.isTrue(result.blocked)
    assert.isTrue(result.redacted)
    assert.notProperty(result, "finalContent")
    assert.strictEqual(result.blockingResult, first)
    assert.lengthOf(result.results, 3)
  })
})

describe("Guard results", () => {
  it("the reason stands among the details and wins over one given there", () => {
    const result = Guard.block("b", { reason: "bad", details: { score: 0.9, reason: "other" } })
    assert.deepStrictEqual(result.details, { score: 0.9, reason: "bad" })
    assert.deepStrictEqual(Guard.pass("p").details, {})
  })

  it("a result that contradicts itself is refused", () => {
    const isResult = Schema.is(Guard.GuardResult)
    assert.isTrue(isResult(Guard.redact("r", "x", { spans: [{ start: 0, end: 4, label: "EMAIL" }] })))
    assert.isFalse(isResult({ action: "block", passed: true, guardName: "g", details: {} }))
    assert.isFalse(isResult({ action: "redact", passed: true, guardName: "g", details: {} }))
    assert.isFalse(isResult({ action: "deny", passed: false, guardName: "g", details: {} }))
  })
})

const word = (content: string, text: string, action: Guard.Finding["action"], more: Partial<Guard.Finding> = {}) => {
  const start = content.indexOf(text)
  return { start, end: start + text.length, label: text.toUpperCase(), action, ...more }
}

describe("Guard.fromFindings", () => {
  const content = "one two three"

  it("nothing found is a pass", () => {
    assert.deepStrictEqual(Guard.fromFindings("g", content, []), Guard.pass("g"))
  })

  it("the most severe finding decides, with its own reason", () => {
    const result = Guard.fromFindings("g", content, [
      word(content, "one", "warn", { reason: "odd", confidence: 0.9 }),
      word(content, "two", "block", { reason: "bad", confidence: 0.4 }),
      word(content, "three", "redact")
    ])
    assert.strictEqual(result.action, "block")
    assert.deepStrictEqual(result.details, { reason: "bad", labels: ["ONE", "TWO", "THREE"], confidence: 0.9 })
    assert.deepStrictEqual(
      result.spans?.map(({ start, end }) => content.slice(start, end)),
      ["one", "two", "three"]
    )
  })

  it("only what is redacted is replaced", () => {
    const result = Guard.fromFindings("g", content, [
      word(content, "one", "redact", { replacement: "" }),
      word(content, "two", "warn"),
      word(content, "three", "redact")
    ])
    assert.strictEqual(result.action, "redact")
    assert.strictEqual(result.action === "redact" ? result.redactedContent : "", " two [REDACTED:THREE]")
    assert.strictEqual(result.details.reason, "found ONE")
  })

  it("a label is named once", () => {
    const finding = word("aa", "a", "warn")
    const result = Guard.fromFindings("g", "aa", [finding, { ...finding, start: 1, end: 2 }])
    assert.deepStrictEqual(result.details, { reason: "found A", labels: ["A"] })
    assert.lengthOf(result.spans ?? [], 2)
  })
})

describe("Guard.fromWindow", () => {
  it.effect("checks the whole text with its window", () =>
    Effect.gen(function* () {
      const seen: Array<number> = []
      const guard = Guard.fromWindow({
        name: "twos",
        stages: ["output"],
        window: {
          reach: 3,
          find: (text, from) => {
            seen.push(from)
            return text.includes("two") ? [word(text, "two", "redact")] : []
          }
        }
      })
      assert.deepStrictEqual(guard.stages, ["output"])
      assert.strictEqual(guard.window?.reach, 3)
      const found = yield* guard.check("one two", { stage: "output" })
      assert.strictEqual(found.action === "redact" ? found.redactedContent : "", "one [REDACTED:TWO]")
      assert.deepStrictEqual(yield* guard.check("one", { stage: "output" }), Guard.pass("twos"))
      assert.deepStrictEqual(seen, [0, 0])
    })
  )
})
