/** Runs to trace: one of an office with everything that runs do, and every kind of event by hand. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as LlmRetry from "../../src/llm/LlmRetry.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import { LlmUnavailableError } from "../../src/llm/model/LlmError.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import type * as RunLog from "../../src/observability/RunLog.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Collaborators from "../support/Collaborators.js"
import * as RunEvents from "../support/RunEvents.js"

const pay = Tool.make("pay", {
  description: "Pays a bill",
  parameters: { bill: Schema.String, euros: Schema.Number },
  success: Schema.String,
  requiresApproval: true,
  handler: ({ bill, euros }) => Effect.succeed(`${bill}: paid ${euros} euros`)
})

class NoBillError extends Data.TaggedError("NoBillError")<{ readonly message: string }> {}

const look = Tool.make("look_up", {
  description: "Looks up a bill",
  parameters: { bill: Schema.String },
  success: Schema.String,
  handler: ({ bill }) =>
    bill === "lamps" ? Effect.fail(new NoBillError({ message: "No such bill" })) : Effect.succeed(`${bill}: 12 euros`)
})

const clerk = Agent.make("clerk", { system: "You are the clerk.", tools: [pay, look] })

export const chief = Agent.make("chief", { system: "You are the chief.", tools: [AgentTool.make(clerk)] })

const usage = { inputTokens: 1200, outputTokens: 80, totalTokens: 1280, cachedInputTokens: 900 }

const turn = (request: LlmClient.LlmRequest): TestModel.Turn => {
  const isChief = JSON.stringify(request.messages[0]).includes("the chief")
  const answered = request.messages.filter(({ role }) => role === "tool").length
  if (isChief) {
    return answered === 0
      ? { calls: [{ name: "delegate_to_clerk", params: { message: "Pay for tea, chairs and lamps" } }], usage }
      : { text: "Tea is paid; the chairs are not.", usage }
  }
  if (answered === 0)
    return {
      reasoning: "I look first.",
      calls: ["tea", "lamps"].map((bill) => ({ name: "look_up", params: { bill } }))
    }
  if (answered === 1)
    return {
      calls: [
        { name: "pay", params: { bill: "tea", euros: 12 } },
        { name: "pay", params: { bill: "chairs", euros: 900 } }
      ]
    }
  return { text: "Tea is paid, chairs were denied.", usage }
}

/** Each first call fails, and is tried again. */
const model = () => {
  let calls = 0
  const client = TestModel.make((request) =>
    calls++ === 0
      ? Effect.fail(new LlmUnavailableError({ message: "overloaded", provider: "test", status: 503 }))
      : Effect.succeed(turn(request))
  )
  return LlmGateway.layer(LlmRetry.wrap({ base: 1, jitter: false })(client))
}

const approvals = ApprovalGate.layer(({ params }) =>
  Effect.succeed(
    JSON.stringify(params).includes("900") ? ApprovalGate.deny({ reason: "too much" }) : ApprovalGate.approve()
  )
)

const prices = CostEstimator.layerPrices({ "test-model": { input: 3, output: 15, cachedInput: 0.3 } })

const guards = DefaultGuardPipeline.layerGuards([
  Collaborators.guard("hide-numbers", ["input"], (text) => text.replace(/\d+/g, "…"))
])

export const executor = (log?: Layer.Layer<RunLog.RunLog>): Layer.Layer<AgentExecutor.AgentExecutor> =>
  Agents.layerWith({ approvals, prices, guards, ...(log === undefined ? {} : { log }) }).pipe(
    Layer.provide(model())
  ) as Layer.Layer<AgentExecutor.AgentExecutor>

export const stream = AgentExecutor.stream(chief, { input: "Pay the bills of order 4711", userId: "ada" })

/** A chief has a clerk look up and pay bills: with an inner run, a retry, a guard, approvals and a failure. */
export const office: Effect.Effect<ReadonlyArray<AgentEvent>> = Effect.suspend(() =>
  EventRecorder.record(stream).pipe(
    Effect.map(({ events }) => events),
    Effect.provide(executor())
  )
)

/** One event of each kind. `text` is in every field that people, models or tools write. */
export const everyKind = (text: string): ReadonlyArray<AgentEvent> => {
  const own = { tag: "ToolExecutionError", code: "LEX_ERR_AGT_007", message: text, hint: "Look at the cause" }
  const foreign = { tag: "FetchError", code: "ECONNREFUSED", message: text, hint: text }
  const value = { field: text, list: [text, { [text]: 1 }] }
  const files = [
    { mediaType: "image/png", fileName: text.slice(0, 200), data: { url: `https://example.org/${text.slice(0, 200)}` } }
  ]
  const call = { step: 1, id: "c1", name: "search" }
  return RunEvents.of("run-1", [
    { _tag: "Started", input: text, strategy: "react", provider: "p", model: "m", sessionId: text, userId: text },
    { _tag: "InputChecked", input: text },
    { _tag: "MemoryRecalled", source: "working-memory", count: 3, tokens: 120 },
    { _tag: "FilesKept", files },
    { _tag: "Steered", text },
    { _tag: "StepStarted", step: 1, name: "Plan" },
    { _tag: "ReasoningDelta", text },
    { _tag: "TextDelta", text },
    { _tag: "TextRetracted", step: 1 },
    { _tag: "ProviderToolUsed", ...call, name: "web_search", params: value, result: value, isFailure: false },
    {
      _tag: "UsageReported",
      usage: { inputTokens: 100, outputTokens: 20, cachedInputTokens: 60, reasoningTokens: 5 },
      model: "m",
      provider: "p",
      role: "planner",
      costUsd: 0.0012,
      finishReason: "tool-calls"
    },
    { _tag: "UsageReported", usage: { inputTokens: 0, outputTokens: 0 }, model: "m", finishReason: "stop" },
    { _tag: "UsageReported", usage: { inputTokens: 7, estimatedTokens: 7 }, model: "m", cutOff: true },
    { _tag: "Thought", step: 1, text },
    {
      _tag: "Plan",
      steps: [
        { id: "a", description: text, tool: "search", status: "completed" },
        { id: "b", description: text, dependsOn: ["a"], status: "failed" }
      ]
    },
    { _tag: "GuardTriggered", stage: "input", guard: "pii", action: "redact", reason: text },
    { _tag: "ToolCall", ...call, params: value, secret: ["field"] },
    { _tag: "ToolProgress", ...call, message: text, done: 1, total: 2, partial: value },
    { _tag: "ApprovalRequested", id: "a1", toolCallId: "c1", name: "search", params: value, reason: text },
    { _tag: "ApprovalResolved", id: "a1", toolCallId: "c1", approved: true, reason: text },
    { _tag: "QuestionAsked", id: "q1", toolCallId: "c1", name: "search", message: text, form: value },
    {
      _tag: "QuestionAnswered",
      id: "q1",
      toolCallId: "c1",
      name: "search",
      action: "accept",
      content: value,
      reason: text
    },
    {
      _tag: "ToolResult",
      ...call,
      isFailure: false,
      result: value,
      observation: text,
      truncated: true,
      durationMs: 12,
      attempts: 2,
      files
    },
    { _tag: "ToolCall", ...call, id: "c2", params: text },
    {
      _tag: "ToolResult",
      ...call,
      id: "c2",
      isFailure: true,
      result: null,
      observation: text,
      truncated: false,
      durationMs: 3,
      attempts: 1,
      error: own
    },
    { _tag: "ToolCompensated", ...call, isFailure: true, attempts: 1, durationMs: 4, error: foreign },
    { _tag: "Delegated", toAgent: "writer", childRunId: "run-2", message: text },
    { _tag: "Critique", step: 1, text, accepted: false, score: 0.25 },
    {
      _tag: "NodeFinished",
      graph: "lats",
      node: "expand",
      step: 1,
      update: {
        note: text,
        tree: {
          size: 3,
          nodes: [
            [0, { id: 0, parent: null, visits: 2, value: 1 }],
            [
              1,
              {
                id: 1,
                parent: 0,
                visits: 1,
                value: 0.4,
                data: { score: 0.4, action: { kind: "call", tool: "search", thought: text } }
              }
            ],
            [
              2,
              {
                id: 2,
                parent: 1,
                visits: 1,
                value: 0.9,
                terminal: true,
                data: { score: 0.9, solved: true, action: { kind: "answer", text } }
              }
            ]
          ]
        }
      }
    },
    { _tag: "NodeEmitted", graph: "lats", node: "expand", step: 1, value },
    { _tag: "Degraded", stage: "model call, attempt 2 in 500 ms", error: foreign },
    { _tag: "Degraded", stage: "memory save", error: own },
    { _tag: "AnswerRejected", step: 1, message: text },
    { _tag: "Message", text, output: value },
    {
      _tag: "Error",
      error: { ...own, tag: "RunLimitExceededError", code: "LEX_ERR_AGT_104" },
      interrupted: false,
      text
    }
  ]).map((event, index) => ({ ...event, at: 1_700_000_000_000 + 10 * index }))
}
