import type { Message } from "@ag-ui/client"
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { AgentEvent } from "../../../src/domain/AgentEvent.js"
import * as PublicView from "../../../src/domain/PublicView.js"
import { type AgUiEvent, encode } from "../../../src/http/agui/AgUiEvent.js"
import { AgUiStream, type Options } from "../../../src/http/agui/AgUiStream.js"
import * as AgUiClients from "../../support/AgUiClients.js"
import * as RunEvents from "../../support/RunEvents.js"

const RUN = "run-1"
const view = { reasoning: true, toolResults: true }

const question = { id: "i", reason: "input_required" as const, responseSchema: {} }

interface Given extends Partial<Options> {
  readonly pauses?: boolean
}

/** The events of a stream, which ends as that of a server. */
const eventsOf = (
  events: ReadonlyArray<AgentEvent>,
  { pauses = false, ...options }: Given = {}
): ReadonlyArray<AgUiEvent> => {
  const stream = new AgUiStream({ threadId: "thread", requestId: "request", runId: RUN, agent: "helper", ...options })
  const shown = events.flatMap((event) => {
    const shown = PublicView.fromEvent(event, view)
    return shown === undefined ? [] : stream.push(shown)
  })
  const last = pauses && !stream.hasEnded ? stream.pause([question]) : stream.fail("The end is missing")
  return [...stream.start(), ...shown, ...last].map((event) => JSON.parse(encode(event)))
}

const at = (bodies: ReadonlyArray<Record<string, unknown>>) => RunEvents.of(RUN, bodies)
const typesOf = (events: ReadonlyArray<AgUiEvent>) => events.map(({ type }) => type)
const step = (number: number) => ({ _tag: "StepStarted", step: number })
const finished = { _tag: "Finished", reason: "completed", durationMs: 5 }
const call = { step: 0, id: "c1", name: "look" }
const result = {
  _tag: "ToolResult",
  ...call,
  isFailure: false,
  result: 7,
  observation: "7",
  truncated: false,
  durationMs: 1,
  attempts: 1
}
const user: Message = { id: "u", role: "user", content: "hi" }
const contents = (messages: ReadonlyArray<Message>) => messages.map(({ content, role }) => [role, content])

describe("AgUiStream", () => {
  it("shows steps, reasoning, texts, calls and results as the messages of a client", async () => {
    const events = eventsOf(
      at([
        { _tag: "Started", input: "hi", strategy: "s" },
        step(0),
        { _tag: "ReasoningDelta", text: "hm" },
        { _tag: "TextDelta", text: "let me " },
        { _tag: "TextDelta", text: "look" },
        { _tag: "TextRetracted", step: 0 },
        { _tag: "ToolCall", ...call, params: { at: "x" } },
        result,
        step(1),
        { _tag: "TextDelta", text: "seven" },
        { _tag: "UsageReported", usage: { inputTokens: 3, outputTokens: 2.4 } },
        { _tag: "Message", text: "seven", output: { n: 7 } },
        finished
      ])
    )
    const { messages } = await AgUiClients.read(events, [user])
    assert.deepStrictEqual(contents(messages), [
      ["user", "hi"],
      ["reasoning", "hm"],
      ["assistant", "let me look"],
      ["tool", "7"],
      ["assistant", "seven"]
    ])
    const asked = messages[2] as Extract<Message, { readonly role: "assistant" }>
    assert.deepStrictEqual(
      asked.toolCalls?.map(({ function: called, id }) => [id, called.name, called.arguments]),
      [["c1", "look", '{"at":"x"}']]
    )
    assert.deepInclude(events.at(-1), {
      outcome: { type: "success" },
      result: { n: 7 },
      usage: [{ inputTokens: 3, outputTokens: 2, totalTokens: 5 }],
      metadata: { lexigram: { finishReason: "completed", durationMs: 5 } }
    })
  })

  it("takes a retracted text from the client, and leaves it what else it has", async () => {
    const events = eventsOf(
      at([
        step(0),
        { _tag: "ToolCall", ...call, params: {} },
        result,
        step(1),
        { _tag: "ReasoningDelta", text: "hm" },
        { _tag: "TextDelta", text: "my card is 1234" },
        { _tag: "Message", text: "my card is hidden" },
        finished
      ]),
      { messages: [user as never] }
    )
    const { messages } = await AgUiClients.read(events, [user])
    assert.deepStrictEqual(contents(messages), [
      ["user", "hi"],
      ["assistant", undefined],
      ["tool", "7"],
      ["reasoning", "hm"],
      ["assistant", "my card is hidden"]
    ])
  })

  it("shows what is no part of the conversation as activities and events of its own", async () => {
    const progress = { _tag: "ToolProgress", ...call, message: "half", done: 1, total: 2, partial: { n: 1 } }
    const plan = [{ id: "1", description: "look", status: "pending" }]
    const stored = { mediaType: "image/png", data: { hash: "h", size: 3, mediaType: "image/png" } }
    const linked = { mediaType: "image/png", data: { url: "https://example.org/a.png" } }
    const events = eventsOf(
      at([
        { ...step(0), name: "plan" },
        { _tag: "Plan", steps: plan },
        { _tag: "ToolCall", ...call, params: {} },
        progress,
        { ...progress, done: 2 },
        { ...result, files: [stored, linked] },
        { _tag: "Critique", step: 0, text: "good", accepted: true },
        { _tag: "Delegated", toAgent: "other", childRunId: "run-2", message: "secret" },
        { _tag: "NodeEmitted", graph: "g", node: "n", step: 0, value: 1n },
        { _tag: "Steered", text: "faster" },
        { _tag: "GuardTriggered", stage: "output", guard: "secret", action: "redact" },
        { _tag: "ToolCompensated", ...call, isFailure: false, attempts: 1, durationMs: 1 },
        { _tag: "TextDelta", text: "of another run", runId: "run-2" },
        finished
      ])
    )
    const { messages } = await AgUiClients.read(events)
    const activities = messages.flatMap((message) => (message.role === "activity" ? [message] : []))
    assert.deepStrictEqual(
      activities.map(({ activityType, content }) => [activityType, content]),
      [
        ["lexigram.plan", { steps: plan }],
        [
          "lexigram.progress",
          { toolCallId: "c1", toolCallName: "look", message: "half", done: 2, total: 2, partial: { n: 1 } }
        ]
      ]
    )
    const custom = events.flatMap((event) => (event.type === "CUSTOM" ? [[event.name, event.value]] : []))
    assert.deepStrictEqual(custom, [
      ["lexigram.file", { toolCallId: "c1", mediaType: "image/png", hash: "h", size: 3 }],
      ["lexigram.critique", { text: "good", accepted: true }],
      ["lexigram.delegated", { agent: "other", runId: "run-2", handoff: false }],
      ["lexigram.node", null],
      ["lexigram.steered", { text: "faster" }],
      ["lexigram.guard", { stage: "output", action: "redact" }],
      ["lexigram.compensated", { toolCallId: "c1", toolCallName: "look", isFailure: false }]
    ])
    const source = { type: "url", value: "https://example.org/a.png", mimeType: "image/png" }
    assert.deepStrictEqual(messages.find(({ role }) => role === "tool")?.content, [
      { type: "text", text: "7" },
      { type: "image", source }
    ])
    assert.deepInclude(events, { type: "STEP_STARTED", stepName: "plan" })
    assert.notInclude(JSON.stringify(events), "secret")
  })

  it("tells failures without their inner reasons, and interruptions as such", () => {
    const error = { tag: "SqlError", message: "password of db" }
    const failed = eventsOf(
      at([step(0), { _tag: "TextDelta", text: "a" }, { _tag: "Error", error, interrupted: false }])
    )
    assert.deepInclude(failed.at(-1), { type: "RUN_ERROR", message: "The run failed" })
    assert.notInclude(JSON.stringify(failed), "password")
    const stopped = eventsOf(at([step(0), { _tag: "Error", error, interrupted: true }]))
    assert.deepInclude(stopped.at(-1), { type: "RUN_FINISHED", outcome: { type: "cancelled" } })
  })

  it("goes on behind what a client has answered, with what it missed meanwhile", async () => {
    const before = at([
      step(0),
      { _tag: "TextDelta", text: "wait" },
      { _tag: "ToolCall", ...call, params: {} },
      { _tag: "ToolCall", ...call, id: "c2", params: {} },
      { _tag: "ApprovalRequested", id: "a", toolCallId: "c1", name: "look", params: {} }
    ])
    const after = at([
      { ...result, id: "c2" },
      { _tag: "ApprovalResolved", id: "a", toolCallId: "c1", approved: true },
      result,
      step(1),
      { _tag: "TextDelta", text: "done" },
      { _tag: "Message", text: "done" },
      finished
    ])
    const first = eventsOf(before, { pauses: true })
    const { messages } = await AgUiClients.read(first, [user])
    const second = eventsOf([...before, ...after], { answered: new Set(["a"]), messages: messages as never })
    assert.deepStrictEqual(typesOf(second).slice(0, 5), [
      "RUN_STARTED",
      "STEP_STARTED",
      "TOOL_CALL_RESULT",
      "TOOL_CALL_RESULT",
      "STEP_FINISHED"
    ])
    const read = await AgUiClients.read(second, messages)
    assert.deepStrictEqual(contents(read.messages).slice(1), [
      ["assistant", "wait"],
      ["tool", "7"],
      ["tool", "7"],
      ["assistant", "done"]
    ])
    // A client that sends no messages with its answers gets what comes after them.
    assert.deepStrictEqual(typesOf(eventsOf([...before, ...after], { answered: new Set(["a"]) })).slice(0, 4), [
      "RUN_STARTED",
      "STEP_STARTED",
      "TOOL_CALL_RESULT",
      "STEP_FINISHED"
    ])
  })

  it("keeps calls of one id in several runs, and in one run, apart", async () => {
    const run = at([
      step(0),
      { _tag: "ToolCall", ...call, params: { n: 1 } },
      result,
      { _tag: "ToolCall", ...call, params: { n: 2 } },
      result,
      finished
    ])
    const { messages } = await AgUiClients.read(eventsOf(run), [user])
    const other = run.map((event) => ({ ...event, runId: "run-2" }) as AgentEvent)
    const read = await AgUiClients.read(eventsOf(other, { runId: "run-2", messages: messages as never }), messages)
    const calls = read.messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
    assert.deepStrictEqual(
      calls.map(({ function: called }) => called.arguments),
      ['{"n":1}', '{"n":2}', '{"n":1}', '{"n":2}']
    )
    assert.strictEqual(new Set(calls.map(({ id }) => id)).size, 4)
  })

  it("is taken by the client, whatever a run emits, and wherever the client goes on", async () => {
    await FastCheck.assert(
      FastCheck.asyncProperty(
        RunEvents.any(RUN),
        FastCheck.nat(30),
        FastCheck.boolean(),
        async (events, cut, sends) => {
          await AgUiClients.read(eventsOf(events))
          const { messages } = await AgUiClients.read(eventsOf(events.slice(0, cut), { pauses: true }))
          const answered = new Set(events.flatMap((event) => ("id" in event ? [event.id] : [])).slice(0, cut % 3))
          const known = sends ? messages : []
          await AgUiClients.read(eventsOf(events, { answered, messages: known as never }), known)
        }
      ),
      { numRuns: 60, seed: 3 }
    )
  })
})
