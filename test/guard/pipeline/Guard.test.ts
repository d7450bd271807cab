import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Guard from "../../../src/guard/pipeline/Guard.js"
import * as WindowGuard from "../../../src/guard/pipeline/WindowGuard.js"

describe("Guard.aggregate", () => {
  it("passes the unchanged text without results", () => {
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

  it("takes the most severe action in any order", () => {
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

  it("leaves the text unchanged on a warning", () => {
    const result = Guard.aggregate([Guard.warn("w")], "text")
    assert.isTrue(result.passed)
    assert.isTrue(result.warned)
    assert.strictEqual(result.finalContent, "text")
  })

  it("continues with the last redaction, even an empty one", () => {
    const twice = Guard.aggregate([Guard.redact("a", "one"), Guard.warn("w"), Guard.redact("b", "two")], "text")
    assert.isTrue(twice.passed)
    assert.isTrue(twice.redacted)
    assert.strictEqual(twice.finalContent, "two")
    assert.strictEqual(Guard.aggregate([Guard.redact("a", "")], "text").finalContent, "")
  })

  it("has no text after a block and names the first blocking guard", () => {
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
  it("puts the reason into the details, overriding one given there", () => {
    const result = Guard.block("b", { reason: "bad", details: { score: 0.9, reason: "other" } })
    assert.deepStrictEqual(result.details, { score: 0.9, reason: "bad" })
    assert.deepStrictEqual(Guard.pass("p").details, {})
  })

  it("rejects a contradictory result", () => {
    const isResult = Schema.is(Guard.GuardResult)
    assert.isTrue(isResult(Guard.redact("r", "x", { spans: [{ start: 0, end: 4, label: "EMAIL" }] })))
    assert.isFalse(isResult({ action: "block", passed: true, guardName: "g", details: {} }))
    assert.isFalse(isResult({ action: "redact", passed: true, guardName: "g", details: {} }))
    assert.isFalse(isResult({ action: "deny", passed: false, guardName: "g", details: {} }))
  })
})

const word = (
  text: string,
  wanted: string,
  rest: { readonly action: Guard.Finding["action"] } & Partial<Guard.Finding>
): Array<Guard.Finding> => {
  const found: Array<Guard.Finding> = []
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    found.push({ start: at, end: at + wanted.length, label: wanted.toUpperCase(), ...rest })
  }
  return found
}

const finder = (find: (text: string) => ReadonlyArray<Guard.Finding>) =>
  WindowGuard.make({ name: "f", stages: ["output"], window: { reach: 10, find } })

const context = { stage: "output" } as const

describe("WindowGuard.make", () => {
  it.effect("passes without findings", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* finder(() => []).check("text", context), Guard.pass("f"))
    })
  )

  it.effect("applies redactions at their places and lists warnings among the spans", () =>
    Effect.gen(function* () {
      const guard = finder((text) =>
        [
          ...word(text, "abc", { action: "redact" }),
          ...word(text, "xyz", { action: "redact", replacement: "" }),
          ...word(text, "odd", { action: "warn", reason: "odd" })
        ].sort((a, b) => a.start - b.start)
      )
      const result = yield* guard.check("abc odd xyz-abc", context)
      assert.deepStrictEqual(
        result,
        Guard.redact("f", "[REDACTED:ABC] odd -[REDACTED:ABC]", {
          reason: "found ABC (2), XYZ",
          details: { counts: { ABC: 2, ODD: 1, XYZ: 1 } },
          spans: [
            { start: 0, end: 3, label: "ABC", replacement: "[REDACTED:ABC]" },
            { start: 4, end: 7, label: "ODD" },
            { start: 8, end: 11, label: "XYZ", replacement: "" },
            { start: 12, end: 15, label: "ABC", replacement: "[REDACTED:ABC]" }
          ]
        })
      )
    })
  )

  it.effect("blocks on one blocking finding, with the highest confidence", () =>
    Effect.gen(function* () {
      const guard = finder((text) => [
        ...word(text, "abc", { action: "redact", reason: "private", confidence: 0.9 }),
        ...word(text, "bad", { action: "block", reason: "forbidden", confidence: 0.4 })
      ])
      const result = yield* guard.check("abc bad bad", context)
      assert.strictEqual(result.action, "block")
      assert.deepStrictEqual(result.details, { counts: { ABC: 1, BAD: 2 }, confidence: 0.9, reason: "forbidden" })
      assert.deepStrictEqual(result.spans, [
        { start: 0, end: 3, label: "ABC" },
        { start: 4, end: 7, label: "BAD" },
        { start: 8, end: 11, label: "BAD" }
      ])
    })
  )

  it.effect("warns on warnings only", () =>
    Effect.gen(function* () {
      const result = yield* finder((text) => word(text, "odd", { action: "warn" })).check("odd", context)
      assert.strictEqual(result.action, "warn")
      assert.strictEqual(result.details.reason, "found ODD")
    })
  )

  it.effect("redacts findings that are unordered, overlapping or outside the text", () =>
    Effect.gen(function* () {
      const redaction = { label: "X", action: "redact", replacement: "*" } as const
      const guard = finder(() => [
        { start: 6, end: 99, ...redaction },
        { start: 2, end: 5, ...redaction },
        { start: 0, end: 3, ...redaction },
        { start: 5, end: 5, ...redaction }
      ])
      const result = yield* guard.check("abcdefgh", context)
      assert.strictEqual(result.action === "redact" ? result.redactedContent : undefined, "**f*")
    })
  )

  it.effect("counts a label named like an object property", () =>
    Effect.gen(function* () {
      const result = yield* finder(() => [{ start: 0, end: 1, label: "__proto__", action: "warn" }]).check("x", context)
      assert.deepStrictEqual(Object.entries(result.details["counts"] as object), [["__proto__", 1]])
    })
  )
})

describe("WindowGuard.redactFindings", () => {
  it("replaces only redacted findings", () => {
    const text = "one two three"
    const findings = [
      ...word(text, "one", { action: "redact", replacement: "" }),
      ...word(text, "two", { action: "warn" }),
      ...word(text, "three", { action: "redact" })
    ]
    assert.strictEqual(WindowGuard.redactFindings(text, findings), " two [REDACTED:THREE]")
  })
})
