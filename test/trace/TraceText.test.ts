import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Trace from "../../src/trace/Trace.js"
import * as TraceWords from "../../src/trace/TraceWords.js"
import * as RunEvents from "../support/RunEvents.js"
import * as TracedRuns from "./TracedRuns.js"

describe("Trace.toText", () => {
  it("has a line for each item, below its run and its step", () => {
    const printed = Trace.toText(Trace.fromEvents(TracedRuns.everyKind("a text")), { width: 200 })
    for (const line of [
      "run run-1 of helper (react, p/m)",
      "  failed in 340 ms, begun 2023-11-14T22:13:20.000Z",
      "2 tool calls (1 failed) · 107 → 20 tokens · 60 read from cache (56 %)",
      "  RunLimitExceededError LEX_ERR_AGT_104: The run reached a limit",
      "    [failed] b after a",
      "        2 answer, 1 visit, value 0.9, score 0.9, solved",
      "  Step 1: Plan",
      "model     p/m · role planner · 100 → 20 tokens",
      "model     m · answered by a cache · stop",
      "  x +110 ms  model     m · 7 → 0 tokens · 7 estimated · cut off",
      "tool      search · ok · 2 attempts · result cut · 1 report of progress",
      "arguments: object of 2 fields · result: object of 2 fields",
      "approval  search · approved",
      "question  search · answered",
      "undo      search · not undone",
      "agent     writer · no events",
      "critique  rejected · score 0.25",
      "retry     model call, attempt 2 in 500 ms",
      "degraded  memory save",
      "- run run-2: This inner run has no events here."
    ])
      assert.include(printed, line)
    assert.notInclude(printed, "lats / expand")
    assert.include(Trace.toText(Trace.fromEvents(TracedRuns.everyKind("x")), { nodes: true }), "lats / expand")
  })

  it.live("bounds lines, items and characters", () =>
    Effect.gen(function* () {
      const trace = Trace.fromEvents(yield* TracedRuns.office)
      for (const width of [0, 40, 63, 100, Number.NaN]) {
        const lines = Trace.toText(trace, { width, content: true }).split("\n")
        const most = Number.isNaN(width) ? 100 : Math.max(40, width)
        for (const line of lines) assert.isAtMost(line.length, most)
      }
      const short = Trace.toText(trace, { maxItems: 2 })
      assert.match(short, /… and \d+ more items$/)
      const cut = Trace.toText(trace, { content: true, maxCharacters: 3 })
      assert.include(cut, "input: Pay…")
    })
  )

  it("shows no character that moves the cursor or hides", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(
          FastCheck.constantFrom(
            "\u001b[2J",
            "\u202e",
            "\u0000",
            "\ud800",
            "\r",
            "\n",
            "\t",
            "\u200b",
            "\u{e0041}",
            "日本",
            "a b",
            "\u009b"
          )
        ).map((parts) => parts.join("")),
        (text) => {
          const events = TracedRuns.everyKind(text).map((event) => ({ ...event, agent: text }))
          const printed = Trace.toText(Trace.fromEvents(events), { content: true, nodes: true, width: 60 })
          assert.notMatch(printed.replaceAll("\n", ""), /[\p{C}\p{Zl}\p{Zp}]/u)
          for (const line of printed.split("\n")) {
            const columns = Array.from(line).reduce((sum, character) => sum + (character < "\u0080" ? 1 : 2), 0)
            assert.isAtMost(columns, 64)
          }
        }
      ),
      { numRuns: 100 }
    )
  })

  it("names each issue with its run", () => {
    const printed = Trace.toText(Trace.fromEvents(RunEvents.of("r9", [{ _tag: "StepStarted", step: 1 }])))
    assert.include(printed, "- run r9: The begin is missing.")
    assert.include(printed, "- run r9: The end is missing: the run still goes on, or its events were cut off.")
    assert.include(Trace.toText(Trace.fromEvents([])), "There are no events.")
  })
})

describe("TraceWords", () => {
  it("says times and amounts in few digits", () => {
    assert.deepStrictEqual(
      [0, 12.4, 999.6, 1500, 59_940, 60_000, 61_500, 3_599_000, 3_660_000, Number.NaN].map(TraceWords.duration),
      [
        "0 ms",
        "12 ms",
        "1.0 s",
        "1.5 s",
        "59.9 s",
        "1 min 0 s",
        "1 min 2 s",
        "59 min 59 s",
        "1 h 1 min",
        "unknown time"
      ]
    )
    assert.deepStrictEqual([0, 0.000012, 0.0042, 0.5, 1, 12.345, Number.NaN].map(TraceWords.usd), [
      "$0.00",
      "$0.000012",
      "$0.0042",
      "$0.50",
      "$1.00",
      "$12.35",
      "unknown cost"
    ])
  })
})
