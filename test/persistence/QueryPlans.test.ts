import { assert, describe, it } from "@effect/vitest"
import { isSlow } from "../support/SqlBackends.js"

const plan = (...lines: ReadonlyArray<string>) =>
  lines.map((line) => `${line}  (cost=0.00..1.00 rows=1 width=8)`).join("\n")

describe("a plan of Postgres", () => {
  it("is slow when rows of a table are sorted, at any depth and despite later limits", () => {
    assert.isTrue(isSlow(plan("Sort", "  ->  Index Scan using lex_turns_pkey on lex_turns")))
    assert.isTrue(isSlow(plan("Limit", "  ->  Incremental Sort", "        ->  Index Scan using lex_at on lex_turns t")))
    assert.isTrue(
      isSlow(
        plan(
          "Nested Loop",
          "  ->  Sort",
          "        ->  Append",
          "              ->  Limit",
          "                    ->  Index Scan using lex_at on lex_turns",
          "              ->  Index Scan using lex_at on lex_turns lex_turns_1"
        )
      )
    )
  })

  it("is slow when a whole table is read", () => {
    assert.isTrue(isSlow(plan("Aggregate", "  ->  Seq Scan on lex_turns")))
  })

  it("is not slow when the sorted rows are limited before, or made by the statement itself", () => {
    assert.isFalse(isSlow(plan("Sort", "  ->  Limit", "        ->  Index Scan using lex_at on lex_turns")))
    assert.isFalse(
      isSlow(
        plan(
          "Nested Loop",
          "  ->  Unique",
          "        ->  Sort",
          "              ->  CTE Scan on old",
          "  ->  Index Scan using lex_cache_pkey on lex_cache"
        )
      )
    )
  })
})
