import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Trace from "../../src/trace/Trace.js"
import * as TraceContent from "../../src/trace/TraceContent.js"
import * as RunEvents from "../support/RunEvents.js"
import * as TracedRuns from "./TracedRuns.js"

const canary = "canary-7f3a"

const trace = Trace.fromEvents(TracedRuns.everyKind(canary))

const kinds: ReadonlyArray<Trace.Kind> = [
  "input",
  "answer",
  "reasoning",
  "arguments",
  "results",
  "errors",
  "reasons",
  "identity"
]

const outputs = (given: Trace.Trace, content?: Trace.Reveal): ReadonlyArray<string> => [
  Trace.toText(given, { content, nodes: true, width: 200 }),
  Trace.toHtml(given, { content, nodes: true }),
  Trace.toMermaid(given),
  Trace.toMermaid(given, { diagram: "tree" })
]

const text = (value: unknown, most = 1000, secret?: ReadonlyArray<string>) =>
  TraceContent.textOf(TraceContent.make("results", value, secret), most)

describe("the contents of a trace", () => {
  it("are hidden by default, in every form of it and in logs", () => {
    for (const output of [...outputs(trace), JSON.stringify(trace), inspect(trace, { depth: 20 }), String(trace)])
      assert.notInclude(output, canary)
    for (const output of [...outputs(trace, []), ...outputs(trace, false)]) assert.notInclude(output, canary)
  })

  it("are shown on demand, but diagrams have none", () => {
    const [printed, page, ...diagrams] = outputs(trace, true)
    assert.include(printed, canary)
    assert.include(page, canary)
    for (const diagram of diagrams) assert.notInclude(diagram, canary)
  })

  it("are shown by kind", () => {
    const one = (tag: string) =>
      Trace.fromEvents(
        TracedRuns.everyKind(canary)
          .map((event, at) => ({ ...event, seq: at }))
          .filter(({ _tag }) => _tag === tag || _tag === "Finished")
      )
    const shownBy: Readonly<Record<string, ReadonlyArray<Trace.Kind>>> = {
      Started: ["input", "identity"],
      FilesKept: ["input"],
      Steered: ["input"],
      Delegated: ["input"],
      Thought: ["reasoning"],
      Plan: ["reasoning"],
      Critique: ["reasoning"],
      AnswerRejected: ["reasoning"],
      NodeFinished: ["reasoning", "results"],
      NodeEmitted: ["results"],
      ToolCall: ["arguments"],
      ProviderToolUsed: ["arguments", "results"],
      ApprovalRequested: ["arguments", "reasons"],
      ApprovalResolved: ["reasons"],
      QuestionAsked: ["arguments", "reasons"],
      ToolResult: ["results", "errors"],
      GuardTriggered: ["reasons"],
      Degraded: ["errors"],
      ToolCompensated: ["errors"],
      Message: ["answer"],
      Error: ["answer", "errors"]
    }
    for (const [tag, expected] of Object.entries(shownBy)) {
      const given = one(tag)
      for (const kind of kinds) {
        const [printed, page] = outputs(given, [kind])
        assert.strictEqual(printed?.includes(canary), expected.includes(kind), `${tag} with ${kind} as text`)
        assert.strictEqual(page?.includes(canary), expected.includes(kind), `${tag} with ${kind} as a page`)
      }
    }
  })

  it("lose what is secret", () => {
    const key = "sk-abcdefghijklmnop"
    const secrets = {
      password: "hunter2",
      pin: "1234",
      nested: { apiKey: "topsecret", [key]: 1 },
      url: `https://a.example/?token=${key}`
    }
    const shown = text(secrets, 1000, ["pin"])
    for (const secret of ["hunter2", "1234", "topsecret", key]) assert.notInclude(shown, secret)
    assert.strictEqual(text("unparsed", 100, ["pin"]), "[REDACTED]")
    const leaky = Trace.fromEvents(TracedRuns.everyKind(`Bearer ${key}`))
    for (const output of outputs(leaky, true)) assert.notInclude(output, key)
  })

  it("lose a key that the bound cuts", () => {
    for (let before = 0; before < 40; before++) {
      const shown = text(`${"x".repeat(before)} sk-${"a1B2".repeat(200)} ${"y".repeat(3000)}`, 30)
      assert.notMatch(shown, /a1B2/)
    }
  })

  it("are bounded, and never throw", () => {
    const cyclic: Record<string, unknown> = { name: "a" }
    cyclic["self"] = cyclic
    cyclic["again"] = [cyclic, cyclic]
    let shared: unknown = "leaf"
    for (let depth = 0; depth < 60; depth++) shared = [shared, shared]
    const throwing = {
      get field() {
        throw new Error("no")
      }
    }
    const odd = [
      cyclic,
      shared,
      throwing,
      "z".repeat(1_000_000),
      new Map([["a", 1]]),
      new Set([1]),
      new Uint8Array(9),
      10n,
      Symbol("s"),
      () => 1,
      undefined,
      null,
      Number.NaN,
      new Error("bad"),
      Object.create(null),
      JSON.parse('{"__proto__":{"x":1},"constructor":2,"toJSON":3}')
    ]
    for (const value of odd) {
      assert.isAtMost(text(value, 500).length, 1100)
      assert.isString(TraceContent.shapeOf(TraceContent.make("results", value)))
    }
    assert.include(text(JSON.parse('{"__proto__":{"x":1}}')), '"x":1')
    FastCheck.assert(
      FastCheck.property(FastCheck.anything(), FastCheck.nat({ max: 300 }), (value, most) => {
        assert.isAtMost(text(value, most).length, 2 * most + 400)
      }),
      { numRuns: 500 }
    )
  })

  it("have a type and a size", () => {
    const shape = (value: unknown) => TraceContent.shapeOf(TraceContent.make("results", value))
    assert.deepStrictEqual(["text", "a", [1, 2], { a: 1 }, {}, 7, true, null].map(shape), [
      "4 characters",
      "1 character",
      "list of 2 items",
      "object of 1 field",
      "object of 0 fields",
      "number",
      "boolean",
      "nothing"
    ])
  })

  it("are no hints of errors from elsewhere, and no odd class names", () => {
    const events = RunEvents.of("r", [
      { _tag: "Started", input: "", strategy: "react" },
      {
        _tag: "Degraded",
        stage: "s",
        error: { tag: `<b>${canary} x`, code: "LEX_ERR_NONE_1", message: "", hint: canary }
      }
    ])
    for (const output of outputs(Trace.fromEvents(events))) assert.notInclude(output, canary)
  })
})
