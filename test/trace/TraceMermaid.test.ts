import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Trace from "../../src/trace/Trace.js"
import * as RunEvents from "../support/RunEvents.js"
import * as HostileText from "./HostileText.js"
import * as TracedRuns from "./TracedRuns.js"

/** A label: letters, digits, signs without a meaning, and codes. */
const label = String.raw`(?:[\p{L}\p{N} .…,_+()/·→$%-]|#\d+;)*`

const lineOf = {
  sequence: new RegExp(
    `^(?:sequenceDiagram|  (?:actor|participant) p\\d+ as ${label}|  p\\d+(?:->>|-->>|--x)p\\d+: ${label}|  Note over p\\d+: ${label}|)$`,
    "u"
  ),
  tree: new RegExp(
    `^(?:flowchart LR|  n\\d+(?:\\["${label}"\\]|\\(\\["${label}"\\]\\))|  n\\d+ (?:-->\\|"${label}"\\||==>) n\\d+|  more\\["${label}"\\]|)$`,
    "u"
  )
}

const check = (trace: Trace.Trace) => {
  for (const diagram of ["sequence", "tree"] as const) {
    const drawn = Trace.toMermaid(trace, { diagram })
    for (const line of drawn.split("\n")) assert.match(line, lineOf[diagram])
    // As a word of its own it would end a block.
    assert.notMatch(drawn, /\bend\b/i)
    assert.isAtMost(drawn.length, 50_000)
  }
}

describe("Trace.toMermaid", () => {
  it.live("draws who asked whom, and answers where they came", () =>
    Effect.gen(function* () {
      const trace = Trace.fromEvents(yield* TracedRuns.office)
      assert.strictEqual(
        Trace.toMermaid(trace),
        `sequenceDiagram
  actor p0 as caller
  participant p1 as chief
  p0->>p1: run
  Note over p1: guard hide-numbers
  Note over p1: retry model call, attempt 2 in 1 ms
  participant p2 as test/test-model
  p1->>p2: ask
  p2-->>p1: 1,200 → 80 tokens, tool-calls
  participant p3 as delegate_to_clerk
  p1->>p3: call
  participant p4 as clerk
  p1->>p4: run
  Note over p4: guard hide-numbers
  p4->>p2: ask
  p2-->>p4: 10 → 5 tokens, tool-calls
  participant p5 as look_up
  p4->>p5: call
  p5-->>p4: ok
  p4->>p5: call
  p5--xp4: ToolExecutionError
  p4->>p2: ask
  p2-->>p4: 10 → 5 tokens, tool-calls
  participant p6 as pay
  p4->>p6: call
  actor p7 as person
  p4->>p7: approval pay
  p7-->>p4: approved
  p6-->>p4: ok
  p4->>p6: call
  p4->>p7: approval pay
  p7--xp4: denied
  p6--xp4: ToolApprovalDeniedError
  p4->>p2: ask
  p2-->>p4: 1,200 → 80 tokens, stop
  p4-->>p1: completed
  p3-->>p1: ok
  p1->>p2: ask
  p2-->>p1: 1,200 → 80 tokens, stop
  p1-->>p0: completed
`
      )
      assert.strictEqual(
        Trace.toMermaid(trace, { diagram: "tree" }),
        `flowchart LR
  n0(["chief completed"])
  n1["model test/test-model"]
  n0 -->|"2 calls"| n1
  n2["tool delegate_to_clerk"]
  n0 -->|"1 call"| n2
  n3(["clerk completed"])
  n0 ==> n3
  n4["model test/test-model"]
  n3 -->|"3 calls"| n4
  n5["tool look_up"]
  n3 -->|"2 calls, 1 failed"| n5
  n6["tool pay"]
  n3 -->|"2 calls, 1 failed"| n6
`
      )
    })
  )

  it("escapes whatever has a meaning in a diagram", () => {
    for (const piece of HostileText.pieces) check(Trace.fromEvents(HostileText.events(piece)))
    FastCheck.assert(
      FastCheck.property(HostileText.text, (text) => check(Trace.fromEvents(HostileText.events(text)))),
      { numRuns: 150 }
    )
  })

  it("draws any events", () => {
    FastCheck.assert(
      FastCheck.property(RunEvents.any("r"), (events) => check(Trace.fromEvents(events))),
      { numRuns: 200 }
    )
  })

  it("bounds arrows and characters, and says what it left out", () => {
    const calls = RunEvents.of("r", [
      { _tag: "Started", input: "", strategy: "react" },
      ...Array.from({ length: 1000 }, (_, step) => ({
        _tag: "ToolCall",
        step,
        id: `c${step}`,
        name: `t${step}`,
        params: {}
      }))
    ])
    const trace = Trace.fromEvents(calls)
    for (const [maxArrows, most] of [
      [undefined, 200],
      [10, 10],
      [0, 0],
      [100_000, 400]
    ] as const) {
      const drawn = Trace.toMermaid(trace, { maxArrows })
      assert.strictEqual(drawn.split("->>").length - 1, most)
      assert.include(drawn, "more arrow")
      const tree = Trace.toMermaid(trace, { maxArrows, diagram: "tree" })
      assert.strictEqual(tree.split("-->").length - 1, most)
    }
    const long = calls.map((event) =>
      "name" in event ? { ...event, name: `${event.seq} ${"\u202e😀".repeat(40)}` } : event
    )
    check(Trace.fromEvents(long))
    assert.isAtMost(Trace.toMermaid(Trace.fromEvents(long), { maxArrows: 400 }).length, 50_000)
  })
})
