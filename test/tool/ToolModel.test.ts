/** Model calls of tools by the model of their run. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolModel from "../../src/tool/ToolModel.js"
import * as Runs from "../support/Runs.js"

const usage = { inputTokens: 2, outputTokens: 1, totalTokens: 3 }
const prices = CostEstimator.layerPrices({ "test-model": { input: 1_000_000, output: 2_000_000 } })

/** About a thousand tokens. */
const question = "aside".padEnd(4_000)
const large = { inputTokens: 1_000, outputTokens: 2, totalTokens: 1_002 }
const aside = ToolModel.complete({ messages: [{ role: "user", content: question }], settings: { maxTokens: 2 } })

const isAside = ({ messages }: LlmClient.LlmRequest): boolean => messages.some(({ content }) => content === question)

type Failure = Effect.Effect.Error<typeof aside>

/** Asks the model so many times at once, and tells how many answered. */
const asking = (times: number, errors: Array<Failure> = []) =>
  Tool.make("ask", {
    description: "Asks",
    handler: () =>
      Effect.all(
        Array.from({ length: times }, () => Effect.either(aside)),
        { concurrency: "unbounded" }
      ).pipe(
        Effect.map((answers) => {
          for (const answer of answers) if (answer._tag === "Left") errors.push(answer.left)
          return `${answers.filter(({ _tag }) => _tag === "Right").length} answers`
        })
      )
  })

const layer = Runs.layer(
  (request) => {
    if (isAside(request)) return { text: "yes", usage: large }
    if (request.messages.some(({ role }) => role === "tool")) return { text: "done", usage }
    const [tool] = request.tools ?? []
    return { calls: [{ name: tool?.name ?? "", params: tool?.name === "ask" ? {} : { message: "go on" } }], usage }
  },
  { prices }
)

const sent = Effect.map(TestModel.requests, (requests) => requests.filter(isAside).length)

/** The limits of a run in which a tool asks ten times at once, how often it may, and whether the run goes on. */
const limits: ReadonlyArray<readonly [Agent.RunLimits, number, boolean]> = [
  [{ maxModelCalls: 5 }, 4, false],
  [{ maxTokens: 4_500 }, 4, true],
  [{ maxCostUsd: 4_500 }, 4, true],
  [{ maxTokens: 4_020 }, 4, false]
]

describe("ToolModel.complete", () => {
  it.effect("counts in usage, cost, calls and events of the run", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [asking(3)] })
      const response = yield* AgentExecutor.run(agent, "hi")
      assert.strictEqual(response.toolCalls[0]?.result, "3 answers")
      assert.deepInclude({ ...response }, { modelCalls: 5, costUsd: 3_020 })
      assert.strictEqual(response.usage.totalTokens, 3_012)
      const { events } = yield* EventRecorder.record(AgentExecutor.stream(agent, "hi"))
      assert.lengthOf(Runs.of(events, "UsageReported"), 5)
      assert.strictEqual(new Set(events.map(({ runId }) => runId)).size, 1)
      assert.deepStrictEqual(EventRecorder.violations(events), [])
    }).pipe(Effect.provide(layer))
  )

  for (const [given, most, goesOn] of limits) {
    it.effect(`is refused beyond a limit, ten at once: ${JSON.stringify(given)}`, () =>
      Effect.gen(function* () {
        const errors: Array<Failure> = []
        const agent = Agent.limitedBy(
          Agent.make("a", { tools: [asking(10, errors)], settings: { maxTokens: 16 } }),
          given
        )
        const outcome = yield* Effect.either(AgentExecutor.run(agent, "hi"))
        assert.strictEqual(yield* sent, most)
        assert.strictEqual(errors.length, 10 - most)
        for (const error of errors) assert.strictEqual(error._tag, "LlmCallRefusedError")
        // The run ends where its own next call does not fit.
        if (Either.isLeft(outcome)) assert.strictEqual(outcome.left._tag, "RunLimitExceededError")
        else assert.isAtMost(outcome.right.usage.totalTokens ?? 0, 4_500)
        assert.strictEqual(Either.isRight(outcome), goesOn)
      }).pipe(Effect.provide(layer))
    )
  }

  it.effect("counts in the run of an agent that is a tool, and in the one above", () =>
    Effect.gen(function* () {
      const inner = Agent.make("inner", { tools: [asking(2)] })
      const outer = Agent.make("outer", { tools: [AgentTool.make(inner)] })
      const response = yield* AgentExecutor.run(outer, "hi")
      assert.strictEqual(response.modelCalls, 6)
      assert.strictEqual(response.costUsd, 2_024)
      const limited = Agent.limitedBy(outer, { maxModelCalls: 3 })
      const error = yield* Effect.flip(AgentExecutor.run(limited, "hi"))
      assert.deepInclude({ ...error }, { _tag: "RunLimitExceededError", limitType: "model-calls", agentName: "outer" })
    }).pipe(Effect.provide(layer))
  )

  it.effect("stops with its run", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const stopped = yield* Deferred.make<void>()
      const tool = Tool.make("ask", {
        description: "Asks",
        handler: () => Effect.onInterrupt(aside, () => Deferred.succeed(stopped, undefined))
      })
      yield* Effect.gen(function* () {
        const run = yield* Effect.fork(AgentExecutor.run(Agent.make("a", { tools: [tool] }), "hi"))
        yield* Deferred.await(begun)
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(run)))
        yield* Deferred.await(stopped)
      }).pipe(
        Effect.provide(
          Runs.layer((request) =>
            isAside(request)
              ? Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)
              : Effect.succeed({ calls: [{ name: "ask" }] })
          )
        )
      )
    })
  )

  it.effect("fails outside of a run, and uses the client in context where there is one", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(aside))._tag, "LlmConfigurationError")
      const answer = yield* Effect.provide(aside, TestModel.layer(["yes"]))
      assert.strictEqual(LlmClient.text(answer), "yes")
    })
  )
})
