/** Time in which a run waits for a person, or for the reader of its events, counts for no limit of its work. */

import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as StrategyBudget from "../../src/strategy/combine/StrategyBudget.js"
import * as ReAct from "../../src/strategy/loop/ReAct.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Runs from "../support/Runs.js"

const observed = (request: LlmClient.LlmRequest) => request.messages.some((message) => message.role === "tool")

/** Calls the tool, then answers. */
const uses =
  (tool: string, answer: TestModel.Turn | string = "done", params: object = {}) =>
  (request: LlmClient.LlmRequest): TestModel.Turn | string =>
    observed(request) ? answer : { calls: [{ name: tool, params }] }

const bySystem =
  (agents: Record<string, (request: LlmClient.LlmRequest) => TestModel.Turn | string>) =>
  (request: LlmClient.LlmRequest): TestModel.Turn | string => {
    const system = String(request.messages.find((message) => message.role === "system")?.content)
    const name = Object.keys(agents).find((name) => system.startsWith(name))
    return agents[name ?? assert.fail(system)]!(request)
  }

const slowGate = (time: Duration.DurationInput) =>
  ApprovalGate.layer(() => Effect.as(Effect.sleep(time), ApprovalGate.approve()))

const danger = Tool.make("danger", {
  description: "Is dangerous",
  requiresApproval: true,
  timeout: "10 seconds",
  handler: () => Effect.as(Effect.sleep("1 second"), "boom")
})

const tagOf = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.match(exit, {
    onSuccess: () => "ok",
    onFailure: (cause) => (cause._tag === "Fail" ? (cause.error as { readonly _tag: string })._tag : cause._tag)
  })

/** The exit of the effect, which must have ended after that time. */
const endOf = <A, E, R>(time: Duration.DurationInput, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    yield* TestClock.adjust(time)
    return yield* Fiber.await(fiber)
  })

describe("a run that waits for a person", () => {
  it.effect("outlasts every limit around the approval: of runs, agents as tools, strategies", () =>
    Effect.gen(function* () {
      const sub = Agent.make("sub", { system: "sub", tools: [danger], limits: { timeout: "20 seconds" } })
      const top = Agent.make("top", {
        system: "top",
        tools: [AgentTool.make(sub, { timeout: "20 seconds" })],
        strategy: StrategyBudget.withBudget(ReAct.make(), { timeout: "20 seconds" }),
        limits: { timeout: "20 seconds" }
      })
      const exit = yield* endOf("2 hours", AgentExecutor.run(top, "go")).pipe(
        Effect.provide(
          Runs.layer(bySystem({ top: uses("delegate_to_sub", "done", { message: "go" }), sub: uses("danger") }), {
            approvals: slowGate("1 hour"),
            config: { runTimeout: Duration.minutes(1) }
          })
        )
      )
      assert.strictEqual(tagOf(exit), "ok")
      if (Exit.isSuccess(exit)) assert.isFalse(exit.value.toolCalls.some((call) => call.isFailure))
    })
  )

  it.effect("has the rest of its time afterwards, and not more", () =>
    Effect.gen(function* () {
      const slow = Agent.make("a", { system: "a", tools: [danger], limits: { timeout: "20 seconds" } })
      const end = (delay: Duration.DurationInput) =>
        endOf("2 hours", AgentExecutor.run(slow, "go")).pipe(
          Effect.map(tagOf),
          Effect.provide(
            Runs.layer(bySystem({ a: uses("danger", { text: "done", delay }) }), { approvals: slowGate("1 hour") })
          )
        )
      assert.strictEqual(yield* end("18 seconds"), "ok")
      assert.strictEqual(yield* end("20 seconds"), "RunLimitExceededError")
    })
  )

  it.effect("does not lend its time to a tool beside it", () =>
    Effect.gen(function* () {
      const stuck = Tool.make("stuck", { description: "Hangs", timeout: "5 seconds", handler: () => Effect.never })
      const agent = Agent.make("a", { system: "a", tools: [danger, stuck] })
      const seen: Array<AgentEvent> = []
      const exit = yield* endOf(
        "2 hours",
        Stream.runForEach(AgentExecutor.stream(agent, "go"), (event) => Effect.sync(() => void seen.push(event)))
      ).pipe(
        Effect.provide(
          Runs.layer(
            bySystem({
              a: (request) => (observed(request) ? "done" : { calls: [{ name: "danger" }, { name: "stuck" }] })
            }),
            { approvals: slowGate("1 hour") }
          )
        )
      )
      assert.strictEqual(tagOf(exit), "ok")
      assert.deepStrictEqual(
        Runs.of(seen, "ToolResult").map(({ at, error, name }) => [name, at, error?.tag]),
        [
          ["stuck", 5000, "ToolTimeoutError"],
          ["danger", 3_601_000, undefined]
        ]
      )
    })
  )

  it.effect("ends at once when it is interrupted", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      let withdrawn = 0
      const gate = ApprovalGate.layer(() =>
        Deferred.succeed(asked, undefined).pipe(
          Effect.zipRight(Effect.never),
          Effect.onInterrupt(() => Effect.sync(() => withdrawn++))
        )
      )
      const agent = Agent.make("a", { system: "a", tools: [danger], limits: { timeout: "20 seconds" } })
      const fiber = yield* Effect.fork(
        AgentExecutor.run(agent, "go").pipe(
          Effect.provide(Runs.layer(bySystem({ a: uses("danger") }), { approvals: gate }))
        )
      )
      yield* Deferred.await(asked).pipe(Effect.raceFirst(Fiber.await(fiber)))
      yield* TestClock.adjust("1 hour")
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      assert.strictEqual(withdrawn, 1)
    })
  )
})

const pieces = (count: number) => Array.from({ length: count }, (_, index) => `${index} `)

describe("a run whose reader is slow", () => {
  const limits = { llmTimeout: Duration.seconds(30), runTimeout: Duration.minutes(1) }
  const read = (
    config: NonNullable<Parameters<typeof Runs.layer>[1]>["config"],
    script: Parameters<typeof Runs.layer>[0],
    pause: Duration.DurationInput
  ) =>
    Effect.gen(function* () {
      const seen: Array<AgentEvent> = []
      const exit = yield* endOf(
        "10 days",
        Stream.runForEach(AgentExecutor.stream(Agent.make("a"), "hi"), (event) => {
          seen.push(event)
          return Effect.sleep(pause)
        })
      )
      const { active } = yield* TestModel.TestModel
      return { seen, tag: tagOf(exit), active: yield* active }
    }).pipe(Effect.provide(Runs.layer(script, { config })))

  it.effect("does not report a slow model", () =>
    Effect.gen(function* () {
      const text = pieces(150)
      const config = { ...limits, readerTimeout: Duration.infinity }
      const { seen, tag } = yield* read(config, [{ text, partDelay: "10 millis" }], "10 minutes")
      assert.strictEqual(tag, "ok")
      assert.strictEqual(
        Runs.of(seen, "TextDelta")
          .map((event) => event.text)
          .join(""),
        text.join("")
      )
    })
  )

  it.effect("ends with its own error when the reader exceeds its timeout", () =>
    Effect.gen(function* () {
      const { active, seen, tag } = yield* read(limits, [{ text: pieces(150), partDelay: "10 millis" }], "10 minutes")
      assert.strictEqual(tag, "ReaderTimeoutError")
      assert.strictEqual(active, 0)
      const last = seen.at(-1)
      assert.isTrue(last?._tag === "Error" && last.error.tag === "ReaderTimeoutError" && !last.interrupted)
    })
  )

  it.effect("still reports a slow model", () =>
    Effect.gen(function* () {
      const config = { ...limits, readerTimeout: Duration.infinity }
      const tag = (partDelay: Duration.DurationInput) =>
        Effect.map(read(config, [{ text: pieces(100), partDelay }], "1 minute"), (result) => result.tag)
      assert.strictEqual(yield* tag("400 millis"), "LlmTimeoutError")
      assert.strictEqual(yield* tag("200 millis"), "ok")
    })
  )
})
