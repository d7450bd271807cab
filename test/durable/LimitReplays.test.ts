import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { RunLimits } from "../../src/agent/definition/AgentDefinition.js"
import * as Handoff from "../../src/agent/Handoff.js"
import type * as GovernanceConfig from "../../src/governance/GovernanceConfig.js"
import * as LlmRetry from "../../src/llm/LlmRetry.js"
import * as ModelFallback from "../../src/llm/ModelFallback.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import { LlmUnavailableError } from "../../src/llm/model/LlmError.js"
import * as StrategyBudget from "../../src/strategy/combine/StrategyBudget.js"
import * as StrategyFallback from "../../src/strategy/combine/StrategyFallback.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as Supervisor from "../../src/strategy/supervisor/Supervisor.js"
import * as Books from "./Books.js"
import * as CutRuns from "./CutRuns.js"
import { call, say } from "./DurableProcesses.js"

const costly = (response: LlmClient.LlmResponse): LlmClient.LlmResponse => ({
  ...response,
  model: "m",
  provider: "test",
  usage: { inputTokens: 300, outputTokens: 200, totalTokens: 500 }
})

/** Two calls of tools a turn, without end. */
const endless: CutRuns.Answer = (_request, number) => costly(call(["look", { at: number }], ["note", { at: number }]))

const settings = { maxTokens: 200 }

const { prices } = Books

/** One agent with two tools. */
const plain = (
  change: (agent: Agent.Agent<string, any, any>) => Agent.Agent<any, any, any>,
  answer: CutRuns.Answer = endless
): CutRuns.Scenario => ({
  shared: () => Effect.void,
  agents: (world) => [
    change(Agent.make("a", { settings, tools: [world.tool("look"), world.tool("note")], strategy: loop }))
  ],
  model: (world) => CutRuns.modelOf(world, answer),
  executor: (ports) => Agents.layerWith({ log: ports, steering: ports, approvals: ports, prices })
})

/** A loop that sees no circle in repeated results. */
const loop = FunctionCalling.make({ noProgressAfter: false })

const limited = (limits: RunLimits): CutRuns.Scenario => plain((agent) => Agent.withLimits(limits)(agent))

const budgeted = (budget: StrategyBudget.BudgetOptions): CutRuns.Scenario =>
  plain((agent) => Agent.withStrategy(StrategyBudget.withBudget(loop, budget) as never)(agent))

/** An agent whose tool is another agent; it ends after so many results. */
const nested = (limits: RunLimits, results: number = Number.POSITIVE_INFINITY): CutRuns.Scenario => ({
  shared: () => Effect.void,
  agents: (world) => {
    const inner = Agent.make("inner", { settings, tools: [world.tool("look"), world.tool("note")], strategy: loop })
    const tools = [AgentTool.make(inner), world.tool("count")]
    return [Agent.make("a", { settings, tools, strategy: loop }).pipe(Agent.withLimits(limits))]
  },
  model: (world) =>
    CutRuns.modelOf(world, (request, number) =>
      request.tools?.some(({ name }) => name === "count") === true
        ? costly(number < results ? call(["delegate_to_inner", { message: "go" }], ["count", {}]) : say("over"))
        : number < 4
          ? endless(request, number)
          : costly(say("enough"))
    ),
  executor: (ports) => Agents.layerWith({ log: ports, steering: ports, approvals: ports, prices })
})

const governed = (config: GovernanceConfig.Options, results?: number): CutRuns.Scenario<Books.Books> => ({
  ...nested({}, results),
  ...Books.parts(config)
})

const unit = (kind: GovernanceConfig.QuotaUnit["kind"], limit: number): GovernanceConfig.Options => ({
  resourceUnits: [{ name: kind, kind, window: "1 hour", quotas: { "*": { limit } } }]
})

const down = new LlmUnavailableError({ message: "down", provider: "test", status: 503 })

const retrying = (client: LlmClient.Service): LlmClient.Service =>
  Effect.runSync(
    Effect.provide(
      LlmClient.LlmClient,
      Layer.provide(LlmRetry.layer({ maxRetries: 2, base: "1 millis" }), Layer.succeed(LlmClient.LlmClient, client))
    )
  )

/** Answers with calls until there are so many results. */
const until =
  (results: number, end: LlmClient.LlmResponse): CutRuns.Answer =>
  (request, number) =>
    number < results ? endless(request, number) : end

/** Limits and the tag of their failure; those without one end with an answer. */
const cases: ReadonlyArray<readonly [name: string, tag: string | undefined, scenario: CutRuns.Scenario<any>]> = [
  ["maxModelCalls", "RunLimitExceededError", limited({ maxModelCalls: 3 })],
  ["maxToolCalls", "RunLimitExceededError", limited({ maxToolCalls: 3 })],
  ["maxTokens", "RunLimitExceededError", limited({ maxTokens: 1600 })],
  ["maxCostUsd", "RunLimitExceededError", limited({ maxCostUsd: 2 })],
  ["maxIterations", "MaxIterationsExceededError", limited({ maxIterations: 3 })],
  ["maxCallsPerTurn", undefined, plain(Agent.withLimits({ maxCallsPerTurn: 1 }), until(4, say("done")))],
  [
    "the policy of a run",
    "RunLimitExceededError",
    { ...plain((agent) => agent), request: { policy: { limits: { maxModelCalls: 3, maxTokens: 4000 } } } }
  ],
  ["maxModelCalls of nested runs", "RunLimitExceededError", nested({ maxModelCalls: 5 })],
  ["maxTokens of nested runs", "RunLimitExceededError", nested({ maxTokens: 3000 })],
  ["maxTokensPerStep", undefined, nested({ maxTokensPerStep: 1200 }, 2)],
  ["maxCostUsdPerStep", undefined, nested({ maxCostUsdPerStep: 1.5 }, 2)],
  ["the model calls of a strategy's budget", "StrategyBudgetError", budgeted({ maxModelCalls: 2 })],
  ["the tokens of a strategy's budget", "StrategyBudgetError", budgeted({ maxTokens: 1200 })],
  ["the dollars of a strategy's budget", "StrategyBudgetError", budgeted({ maxCostUsd: 1.5 })],
  [
    "steps without progress",
    "NoProgressError",
    plain(Agent.withStrategy(FunctionCalling.make({ noProgressAfter: 3 }) as never), () => call(["look", {}]))
  ],
  [
    "retries of an output",
    "OutputValidationError",
    plain(
      Agent.withOutput(Schema.Struct({ sum: Schema.Number }), { retries: 2 } as never) as never,
      until(2, say("no sum"))
    )
  ],
  [
    "retries of a validator",
    "OutputValidationError",
    plain(
      Agent.withValidator(() => Effect.fail(Agent.reject("worse than that")), { retries: 2 }) as never,
      until(2, say("bad"))
    )
  ],
  [
    "a fallback of strategies",
    undefined,
    plain(
      Agent.withStrategy(
        StrategyFallback.withFallback(FunctionCalling.make({ maxIterations: 2, noProgressAfter: false }), loop) as never
      ),
      (request, number) => (number < 4 && request.messages.length < 8 ? endless(request, number) : say("second"))
    )
  ],
  [
    "handoffs",
    undefined,
    {
      shared: () => Effect.void,
      agents: (world) => {
        const look = world.tool("look")
        const b: Agent.Agent<string, any, any> = Agent.make("b", {
          tools: [look, Handoff.lazy("a", () => a, { maxHandoffs: 2 })] as never
        })
        const a: Agent.Agent<string, any, any> = Agent.make("a", {
          tools: [look, Handoff.to(b, { maxHandoffs: 2 })] as never
        })
        return [a]
      },
      model: (world) =>
        CutRuns.modelOf(world, (request) => {
          const last = JSON.stringify(request.messages.at(-1)?.content)
          if (request.messages.length > 14 || last.includes("handed over")) return say(`done: ${last.slice(0, 80)}`)
          const to = request.tools?.find(({ name }) => name.startsWith("transfer_to_"))?.name ?? "look"
          return last.includes("look done") ? call([to, {}]) : call(["look", {}])
        })
    }
  ],
  [
    "visits of an agent",
    undefined,
    {
      shared: () => Effect.void,
      agents: (world) => {
        const inner: Agent.Agent<string, any, any> = Agent.make("a", { tools: [world.tool("look")] })
        const tools = [AgentTool.make(inner, { maxVisits: 1 }), world.tool("note")]
        return [Agent.make("a", { tools })]
      },
      model: (world) =>
        CutRuns.modelOf(world, (_request, number) =>
          number === 0 ? call(["delegate_to_a", { message: "go" }], ["note", {}]) : say("refused")
        )
    }
  ],
  [
    "delegations of a supervisor",
    "MaxIterationsExceededError",
    {
      shared: () => Effect.void,
      agents: (world) => {
        const worker = Agent.make("worker", { tools: [world.tool("look")] })
        return [
          Agent.make("boss", {
            tools: [AgentTool.make(worker)],
            strategy: Supervisor.make({ maxDelegations: 2, maxReviews: 0, noProgressAfter: false })
          })
        ]
      },
      model: (world) =>
        CutRuns.modelOf(world, (request, number) =>
          request.tools?.some(({ name }) => name === "look") === true
            ? number === 0
              ? call(["look", {}])
              : say(`looked ${request.messages.length}`)
            : call(["delegate_to_worker", { message: `task ${number}` }])
        )
    }
  ],
  ["the money of a run, by governance", "BudgetExceededError", governed({ maxRequestCost: 2.5 })],
  ["the tokens of a run, by governance", "BudgetExceededError", governed({ maxTokensPerRequest: 2600 })],
  ["the money of a month", "BudgetExceededError", governed({ monthlyBudget: 2.5 })],
  ["the tokens of a month", "BudgetExceededError", governed({ monthlyTokens: 2600 })],
  ["runs a minute", undefined, governed({ rpmLimit: 2 }, 2)],
  ["tokens a minute", "RateLimitExceededError", governed({ tpmLimit: 2600 })],
  ["a quota of requests", undefined, governed(unit("requests", 2), 2)],
  ["a quota of model calls", "ResourceExhaustedError", governed(unit("model_calls", 5))],
  ["a quota of tool calls", "ResourceExhaustedError", governed(unit("tool_calls", 5))],
  ["a quota of tokens", "ResourceExhaustedError", governed(unit("tokens", 2600))],
  ["a quota of money", "ResourceExhaustedError", governed(unit("cost", 2.5))]
]

describe("a durable run whose process ends in the middle", () => {
  for (const [name, tag, scenario] of cases) {
    it.live(`reaches its limit at the same call as an undisturbed run: ${name}`, () =>
      Effect.gen(function* () {
        const ends = yield* CutRuns.everywhere(scenario)
        const { _tag } = ends.expected.end as { readonly _tag?: string }
        assert.strictEqual(_tag, tag, JSON.stringify(ends.expected))
        assert.isAbove(ends.cut.length, 1)
        CutRuns.assertSame(ends)
      })
    )
  }

  const within: ReadonlyArray<readonly [string, unknown, number, CutRuns.Scenario["model"]]> = [
    [
      "retries",
      "LlmUnavailableError",
      3,
      (world) => retrying(CutRuns.modelOf(world, (request, number) => (number === 2 ? down : endless(request, number))))
    ],
    [
      "fallbacks",
      undefined,
      2,
      (world) =>
        ModelFallback.make([
          CutRuns.modelOf(world, (request, number) => (number === 2 ? down : endless(request, number))),
          CutRuns.modelOf(world, () => say("second"))
        ])
    ]
  ]
  for (const [name, tag, times, model] of within) {
    it.live(`makes the ${name} of a model call again with the call that was under way, and no others`, () =>
      Effect.gen(function* () {
        const { cut, expected } = yield* CutRuns.everywhere({ ...plain((agent) => agent), model })
        assert.strictEqual((expected.end as { readonly _tag?: string })._tag, tag)
        const tries = (ended: CutRuns.Ended) => ended.done.filter((what) => what === "model 2").length
        const others = (ended: CutRuns.Ended) => ended.done.filter((what) => what !== "model 2")
        assert.strictEqual(tries(expected), times)
        for (const one of cut) {
          assert.deepStrictEqual(one.end, expected.end)
          assert.isAtMost(tries(one), 2 * times - 1)
          assert.deepStrictEqual(others(one), others(expected))
        }
      })
    )
  }
})
