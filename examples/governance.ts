/**
 * Governance: a budget is reserved before each model call and settled after it, for a run and all runs it starts;
 * policies and model lists are checked first; every decision is in the audit log.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent, AgentExecutor, Agents, CostEstimator, Ids, Tool } from "effect-lexigram"
import { AuditLog, DefaultAuditLog, DefaultGovernance, DefaultPolicyEngine } from "effect-lexigram/governance"
import { TestModel } from "effect-lexigram/testing"

const search = Tool.make("search", {
  description: "Searches",
  parameters: { page: Schema.Number },
  handler: ({ page }) => Effect.succeed(`nothing on page ${page}`)
})
const usage = { inputTokens: 600, outputTokens: 200, totalTokens: 800 }

const audit = DefaultAuditLog.layerMemory()
const governance = DefaultGovernance.layerWith({
  config: { maxRequestCost: 0.005, rpmLimit: 60, modelDenylist: { "*": ["test/legacy-*"] } },
  audit,
  policies: DefaultPolicyEngine.layer([
    {
      id: "no-secrets-abroad",
      scope: "data_classification",
      effect: "deny",
      when: { classifications: ["secret"], providers: ["test"] }
    }
  ])
})

const clerk = Agent.make("clerk", { tools: [search], settings: { maxTokens: 256 } })

const program = Effect.gen(function* () {
  // The model never stops calling: the run's budget stops it, with a typed error and the partial result.
  yield* AgentExecutor.run(clerk, { input: "Find it", userId: "ada" }).pipe(
    Effect.catchTag("BudgetExceededError", (error) =>
      Console.log(`${error.message} (${error.partial?.modelCalls} calls, $${error.partial?.costUsd?.toFixed(4)})`)
    )
  )
  yield* AgentExecutor.run(clerk, { input: "The plans", userId: "ada", classifications: ["secret"] }).pipe(
    Effect.catchTag("PolicyViolationError", (error) => Console.log(`refused by ${error.policy}`))
  )
  for (const { eventType, status } of (yield* Effect.flatMap(AuditLog.AuditLog, (log) =>
    log.read({ userId: Ids.UserId.make("ada") })
  )).slice(0, 5)) {
    yield* Console.log(`audit: ${eventType} (${status})`)
  }
})

const executor = Agents.layerWith({
  governance,
  prices: CostEstimator.layerPrices({ "test-model": { input: 1.5, output: 3 } })
}).pipe(Layer.provide(TestModel.layer((_request, page) => ({ calls: [{ name: "search", params: { page } }], usage }))))

await Effect.runPromise(Effect.provide(program, Layer.merge(executor, audit)))
