import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as AgentEvent from "../../src/domain/AgentEvent.js"
import { RunId } from "../../src/domain/Ids.js"

const meta = { runId: RunId.make("r"), agent: "a", seq: 0, at: 1 }

const encode = Schema.encodeSync(AgentEvent.AgentEvent)
const decode = Schema.decodeUnknownSync(AgentEvent.AgentEvent)
const throughJson = (event: AgentEvent.AgentEvent) => decode(JSON.parse(JSON.stringify(encode(event))))

const bodies: { readonly [T in AgentEvent.Tag]: Omit<AgentEvent.Of<T>, keyof AgentEvent.Meta> } = {
  Started: { _tag: "Started", input: "hi", strategy: "react", sessionId: "s", userId: "u" },
  InputChecked: { _tag: "InputChecked", input: "hi" },
  Steered: { _tag: "Steered", text: "and hurry" },
  StepStarted: { _tag: "StepStarted", step: 1, name: "plan" },
  TextDelta: { _tag: "TextDelta", text: "é👍\u0000" },
  TextRetracted: { _tag: "TextRetracted", step: 1 },
  ReasoningDelta: { _tag: "ReasoningDelta", text: "r" },
  Thought: { _tag: "Thought", step: 1, text: "t" },
  Plan: {
    _tag: "Plan",
    steps: [{ id: "1", description: "d", tool: "t", dependsOn: ["0"], status: "skipped" }]
  },
  ToolCall: { _tag: "ToolCall", step: 1, id: "c", name: "n", params: { deep: [{ a: null }] } },
  ToolResult: {
    _tag: "ToolResult",
    step: 1,
    id: "c",
    name: "n",
    isFailure: true,
    result: "x",
    observation: "x",
    truncated: false,
    durationMs: 1.5,
    attempts: 2,
    error: { tag: "E", code: "C", message: "m", hint: "h" }
  },
  ToolCompensated: {
    _tag: "ToolCompensated",
    step: 1,
    id: "c",
    name: "n",
    callRunId: RunId.make("r2"),
    isFailure: true,
    attempts: 2,
    durationMs: 1,
    error: { tag: "E", message: "m" }
  },
  ApprovalRequested: { _tag: "ApprovalRequested", id: "a", toolCallId: "c", name: "n", params: [1], reason: "r" },
  ApprovalResolved: { _tag: "ApprovalResolved", id: "a", toolCallId: "c", approved: false, reason: "r" },
  Delegated: { _tag: "Delegated", toAgent: "b", childRunId: RunId.make("r2"), message: "m", handoff: true },
  Critique: { _tag: "Critique", step: 1, text: "t", accepted: true, score: 0.5 },
  NodeFinished: { _tag: "NodeFinished", graph: "g", node: "n", step: 1, update: { x: 1 } },
  UsageReported: {
    _tag: "UsageReported",
    usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3, reasoningTokens: 1, cachedInputTokens: 0 },
    model: "m",
    provider: "p",
    role: "thinking",
    costUsd: 0.001,
    finishReason: "stop"
  },
  GuardTriggered: { _tag: "GuardTriggered", stage: "toolOutput", guard: "g", action: "redact", reason: "r" },
  QuestionAsked: {
    _tag: "QuestionAsked",
    id: "q",
    toolCallId: "c",
    name: "t",
    message: "Which seat?",
    form: { type: "object", properties: { row: { type: "integer" } }, additionalProperties: false }
  },
  QuestionAnswered: {
    _tag: "QuestionAnswered",
    id: "q",
    toolCallId: "c",
    name: "t",
    action: "accept",
    content: { row: 3 }
  },
  ProviderToolUsed: {
    _tag: "ProviderToolUsed",
    step: 1,
    id: "p",
    name: "web_search",
    params: { query: "q" },
    result: [{ url: "https://example.com" }],
    isFailure: false
  },
  ToolProgress: { _tag: "ToolProgress", step: 1, id: "c", name: "t", message: "Reading", done: 1, total: 3 },
  NodeEmitted: { _tag: "NodeEmitted", graph: "g", node: "n", step: 1, value: { done: 3 } },
  FilesKept: { _tag: "FilesKept", files: [{ mediaType: "image/*", data: { url: "https://example.com/a" } }] },
  MemoryRecalled: { _tag: "MemoryRecalled", source: "session", count: 2 },
  AnswerRejected: { _tag: "AnswerRejected", step: 2, message: "m" },
  Degraded: { _tag: "Degraded", stage: "memory", error: { tag: "E", message: "m" } },
  Message: { _tag: "Message", text: "t", output: { n: 1 } },
  Error: { _tag: "Error", error: { tag: "E", message: "m" }, interrupted: true },
  Finished: { _tag: "Finished", reason: "limit", sessionId: "s", durationMs: 5 }
}

describe("AgentEvent", () => {
  it("every kind survives JSON, with a parent and without", () => {
    for (const body of Object.values(bodies)) {
      for (const parent of [{}, { parentRunId: RunId.make("p") }]) {
        const event = { ...meta, ...parent, ...body } as AgentEvent.AgentEvent
        assert.deepStrictEqual(throughJson(event), event)
      }
    }
  })

  it("any event that the schema describes survives it", () => {
    const plain = FastCheck.jsonValue()
    FastCheck.assert(
      FastCheck.property(Arbitrary.make(AgentEvent.TextDelta), plain, (event, params) => {
        const finite = JSON.parse(JSON.stringify({ ...event, seq: 1, at: 2 }))
        assert.deepStrictEqual(throughJson(finite), finite)
        const call = { ...meta, _tag: "ToolCall", step: 1, id: "c", name: "n", params } as const
        assert.deepStrictEqual(throughJson(call), JSON.parse(JSON.stringify(call)))
      }),
      { numRuns: 200 }
    )
  })

  it("the table of this test knows every kind", () => {
    const kinds = AgentEvent.AgentEvent.members.map((member) => member.fields._tag.literals[0])
    assert.deepStrictEqual([...kinds].sort(), Object.keys(bodies).sort() as any)
  })

  it("fields that are absent may be undefined", () => {
    const event = { ...meta, ...bodies.UsageReported, role: undefined, costUsd: undefined } as AgentEvent.AgentEvent
    assert.notProperty(JSON.parse(JSON.stringify(encode(event))), "role")
    throughJson(event)
  })

  it("rejects values that are not events", () => {
    for (const value of [
      {},
      { ...meta, _tag: "Unknown" },
      { ...meta, _tag: "TextDelta" },
      { ...meta, _tag: "TextDelta", text: "x", runId: "" },
      { ...meta, ...bodies.Finished, reason: "tired" },
      null
    ]) {
      assert.throws(() => decode(value))
    }
  })

  it("has two terminal events", () => {
    const terminal = Object.values(bodies).filter((body) =>
      AgentEvent.isTerminal({ ...meta, ...body } as AgentEvent.AgentEvent)
    )
    assert.deepStrictEqual(
      terminal.map((body) => body._tag),
      ["Error", "Finished"]
    )
  })
})
