import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import type { RunId } from "../../src/domain/Ids.js"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as Guard from "../../src/guard/pipeline/Guard.js"
import * as WindowGuard from "../../src/guard/pipeline/WindowGuard.js"
import { LlmMalformedResponseError } from "../../src/llm/model/LlmError.js"
import * as AgentHooks from "../../src/observability/AgentHooks.js"
import * as EventBus from "../../src/observability/EventBus.js"
import * as Hooks from "../../src/observability/Hooks.js"
import * as Run from "../../src/observability/Run.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Runs from "../support/Runs.js"

const secret = "swordfish"

const window = WindowGuard.make({
  name: "window",
  stages: ["output"],
  window: {
    reach: 10,
    find: (text) =>
      Array.from(text.matchAll(/swordfish|\b1234\b/g), ({ 0: word, index }) => ({
        start: index,
        end: index + word.length,
        label: "WORD",
        action: "redact" as const
      }))
  }
})

const whole = Guard.make({
  name: "whole",
  stages: ["output"],
  check: (content) =>
    Effect.succeed(content.includes(secret) ? Guard.block("whole", { reason: "a secret" }) : Guard.pass("whole"))
})

const echo = Tool.make("echo", {
  description: "Repeats",
  parameters: { text: Schema.String, deep: Schema.Unknown },
  handler: ({ text }) => Effect.succeed({ said: [`It is ${text}`], code: 1234 })
})

class EchoError extends Schema.TaggedError<EchoError>()("EchoError", { message: Schema.String }) {}

const failing = Tool.make("failing", {
  description: "Fails",
  parameters: { text: Schema.String },
  failure: EchoError,
  handler: ({ text }) => Effect.fail(new EchoError({ message: `Nobody knows ${text}` }))
})

const helper = AgentTool.make(Agent.make("helper"))

const script: Parameters<typeof Runs.layer>[0] = [
  {
    text: `I think it is ${secret}.`,
    calls: [{ name: "echo", params: { text: secret, deep: { [secret]: [secret] } } }]
  },
  { calls: [{ name: "failing", params: { text: secret } }] },
  { calls: [{ name: "delegate_to_helper", params: { message: `Is it ${secret}?` } }] },
  `The helper says ${secret}.`,
  `The word is ${secret}.`
]

/** Runs an agent that writes the secret wherever it can; gives back all that left the run. */
const watched = (guards: ReadonlyArray<Guard.Any>, turns: Parameters<typeof Runs.layer>[0] = script) =>
  Effect.gen(function* () {
    const told: Array<unknown> = []
    const logged: Array<unknown> = []
    const hooked: Array<unknown> = []
    const layer = Layer.merge(
      Runs.layer(turns, {
        guards: DefaultGuardPipeline.layerGuards(guards),
        hooks: Hooks.layer,
        log: Layer.succeed(RunLog.RunLog, {
          enabled: true,
          append: (events) => Effect.sync(() => void logged.push(...events)),
          read: () => Effect.succeed([])
        }),
        events: Layer.succeed(EventBus.EventBus, {
          ...EventBus.noop,
          enabled: true,
          offer: (event) => told.push(event) > 0
        })
      }),
      Hooks.layer
    )
    const { events, exit } = yield* Effect.gen(function* () {
      yield* Hooks.on(AgentHooks.AgentToolCalledHook, (value) => Effect.sync(() => void hooked.push(value)))
      yield* Hooks.on(AgentHooks.AgentCompletedHook, (value) => Effect.sync(() => void hooked.push(value)))
      return yield* Runs.record(
        AgentExecutor.stream(Agent.make("a", { tools: [echo, failing, helper] }), "What is the word?")
      )
    }).pipe(Effect.scoped, Effect.provide(layer))
    return { events, exit, told, logged, hooked }
  })

describe("while guards withhold an answer", () => {
  it.effect("no event, log or hook carries model text if a guard needs the whole answer", () =>
    Effect.gen(function* () {
      const { events, exit, hooked, logged, told } = yield* watched([whole])
      assert.isTrue(Exit.isFailure(exit))
      assert.notInclude(JSON.stringify([events, logged, hooked, told]), secret)
      const tags = new Set(events.map(({ _tag }) => _tag))
      for (const tag of ["ToolCall", "ToolResult", "Delegated", "UsageReported", "Error"] as const) {
        assert.isTrue(tags.has(tag), tag)
      }
      assert.isAtLeast(hooked.length, 3)
    })
  )

  it.effect("events carry only what guards of windows leave", () =>
    Effect.gen(function* () {
      const { events, exit, hooked, logged, told } = yield* watched([window])
      assert.isTrue(Exit.isSuccess(exit))
      assert.strictEqual(
        Runs.of(events, "InputChecked")[0]?.input ?? Runs.of(events, "Started")[0]?.input,
        "What is the word?"
      )
      const seen = JSON.stringify([events, logged, hooked, told])
      assert.notInclude(seen, secret)
      const [result] = Runs.of(events, "ToolResult")
      assert.deepStrictEqual(result?.result, { said: ["It is [REDACTED:WORD]"], code: "[REDACTED:WORD]" })
      assert.deepStrictEqual(Runs.of(events, "ToolCall")[0]?.params, {
        text: "[REDACTED:WORD]",
        deep: { "[REDACTED:WORD]": ["[REDACTED:WORD]"] }
      })
    })
  )

  for (const [name, guard] of Object.entries({ whole, window })) {
    it.effect(`an error that quotes model text is emitted without it: ${name}`, () =>
      Effect.gen(function* () {
        const { events, exit, hooked, told } = yield* watched(
          [guard],
          [{ fail: new LlmMalformedResponseError({ provider: "p", message: `No JSON: ${secret}` }) }]
        )
        assert.isTrue(Exit.isFailure(exit))
        assert.include(JSON.stringify(exit), secret)
        assert.notInclude(JSON.stringify([events, hooked, told]), secret)
        assert.strictEqual(Runs.of(events, "Error")[0]?.error.tag, "LlmMalformedResponseError")
      })
    )
  }
})

describe("each kind of event of a screened run", () => {
  const text = `It is ${secret}`
  const error = { tag: "SomeError", message: text }
  type Body = Parameters<Run.Service["emit"]>[0]
  const bodies: { readonly [Tag in AgentEvent["_tag"]]: Extract<Body, { readonly _tag: Tag }> | undefined } = {
    Started: { _tag: "Started", input: text, strategy: "react" },
    InputChecked: { _tag: "InputChecked", input: text },
    // Written by a user.
    Steered: undefined,
    StepStarted: undefined,
    // Screened where they are streamed, part by part.
    TextDelta: undefined,
    TextRetracted: undefined,
    ReasoningDelta: undefined,
    Thought: { _tag: "Thought", step: 1, text },
    Plan: { _tag: "Plan", steps: [{ id: "1", description: text, status: "pending" }] },
    ToolCall: { _tag: "ToolCall", step: 1, id: "c", name: "t", params: { a: [text], [secret]: 1 } },
    ToolResult: {
      _tag: "ToolResult",
      step: 1,
      id: "c",
      name: "t",
      isFailure: true,
      result: new Map([["a", text]]),
      observation: text,
      truncated: false,
      durationMs: 1,
      attempts: 1,
      error
    },
    ToolCompensated: {
      _tag: "ToolCompensated",
      step: 1,
      id: "c",
      name: "t",
      isFailure: true,
      attempts: 1,
      durationMs: 1,
      error
    },
    ApprovalRequested: { _tag: "ApprovalRequested", id: "p", toolCallId: "c", name: "t", params: { a: text } },
    // Written by a person.
    ApprovalResolved: undefined,
    Delegated: { _tag: "Delegated", toAgent: "b", childRunId: "r" as RunId, message: text },
    Critique: { _tag: "Critique", step: 1, text },
    NodeFinished: { _tag: "NodeFinished", graph: "g", node: "n", step: 1, update: { answer: text } },
    UsageReported: undefined,
    GuardTriggered: undefined,
    QuestionAsked: {
      _tag: "QuestionAsked",
      id: "q",
      toolCallId: "c",
      name: "t",
      message: text,
      form: { properties: { a: { title: text } } }
    },
    QuestionAnswered: {
      _tag: "QuestionAnswered",
      id: "q",
      toolCallId: "c",
      name: "t",
      action: "accept",
      content: { a: text },
      reason: text
    },
    ProviderToolUsed: {
      _tag: "ProviderToolUsed",
      step: 1,
      id: "p",
      name: "web_search",
      params: { query: text },
      result: { title: text },
      isFailure: false
    },
    ToolProgress: { _tag: "ToolProgress", step: 1, id: "c", name: "t", message: text, partial: { a: text } },
    NodeEmitted: { _tag: "NodeEmitted", graph: "g", node: "n", step: 1, value: { answer: text } },
    // Given by a user.
    FilesKept: undefined,
    MemoryRecalled: undefined,
    AnswerRejected: { _tag: "AnswerRejected", step: 1, message: text },
    Degraded: { _tag: "Degraded", stage: "memory", error },
    Message: { _tag: "Message", text, output: { a: text } },
    Error: { _tag: "Error", error, interrupted: false },
    Finished: undefined
  }

  for (const [name, veil] of Object.entries({
    quiet: Run.quiet,
    screened: (run: Run.Service) =>
      Run.screened(run, { open: () => ({ push: (text) => text.replaceAll(secret, "…"), end: () => "" }) })
  })) {
    it.effect(`omits what is withheld, in inner runs as well: ${name}`, () =>
      Effect.gen(function* () {
        for (const body of Object.values(bodies).filter((body) => body !== undefined)) {
          const shown: Array<AgentEvent> = []
          const whole: Array<AgentEvent> = []
          const run = Run.make({
            runId: "r" as RunId,
            agent: "a",
            clock: yield* TestClock.testClock(),
            sink: {
              live: true,
              settle: () => undefined,
              push: (event, full) => {
                shown.push(event)
                whole.push(full)
              }
            }
          })
          const veiled = veil(run)
          const isInput = body._tag === "Started" || body._tag === "InputChecked"
          if (!isInput) {
            yield* veiled.emit(body)
            yield* veiled.emitAll([body])
            veiled.unsafeEmit(body)
            veiled.terminal(body)
          }
          const child = veiled.child("c" as RunId, "b")
          yield* child.emit(body)
          child.terminal(body)
          assert.strictEqual(shown.length, isInput ? 2 : 6, body._tag)
          assert.notInclude(JSON.stringify(shown), secret, body._tag)
          // A response is made of these.
          if (body._tag === "ToolCall" || isInput) assert.include(JSON.stringify(whole), secret)
          if (body._tag === "Thought") assert.notInclude(JSON.stringify(whole), secret)
        }
      })
    )
  }
})
