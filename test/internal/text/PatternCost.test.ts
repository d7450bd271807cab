import { assert, describe, it } from "@effect/vitest"
import * as PatternCost from "../../../src/internal/text/PatternCost.js"

const isCheap = (pattern: string): boolean => PatternCost.isCheap(pattern)

describe("PatternCost", () => {
  it("accepts patterns of everyday schemas", () => {
    for (const pattern of [
      "",
      "^[0-9]{5}(-[0-9]{4})?$",
      "^\\d{4}-\\d{2}-\\d{2}$",
      "^[\\w-\\.]+$",
      "^(?:GET|POST|PUT)$",
      "^#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$",
      "^[A-Z]{2}[0-9]+$",
      "^https?://",
      "^\\p{L}+$",
      "[^\\]]x",
      "^.{1,200}$",
      "a|b",
      "^(?=.*[0-9]).{8,}$"
    ]) {
      assert.isTrue(isCheap(pattern), pattern)
    }
  })

  it("rejects patterns with too many ways to match", () => {
    for (const pattern of [
      "^(a+)+$",
      "^(a|a)*$",
      "^(a|aa)+$",
      "a*a*a*a*b",
      "^((a*)b?)*$",
      "^(a{1,9}){1,9}c",
      `${"a?".repeat(30)}b`,
      `${"a{0,250}".repeat(4)}b`,
      `${"(?:a|b|a)".repeat(20)}c`,
      "a+a+b",
      "^(?:a{100}){100}$",
      "(a)\\1",
      "(?<x>a)\\k<x>",
      "(",
      ")",
      "[a",
      "\\",
      "[".repeat(80_000),
      "a".repeat(257)
    ]) {
      assert.isFalse(isCheap(pattern), pattern.slice(0, 60))
    }
  })
})
