/**
 * Limits the model calls, tokens, cost and time of a strategy's run.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type { ExactOptions } from "../../internal/ExactOptions.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as CallGate from "../../llm/model/CallGate.js"
import { CostEstimator, type ForLimit } from "../../llm/model/CostEstimator.js"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import * as Run from "../../observability/Run.js"
import { ModelCallInterceptors } from "../definition/ModelCall.js"
import type * as Strategy from "../definition/Strategy.js"
import { StrategyBudgetError } from "../definition/StrategyError.js"
import * as CallBudget from "../reasoning/CallBudget.js"
import * as RunView from "../reasoning/RunView.js"
import * as SideCalls from "../reasoning/SideCalls.js"
import { derive, unwrapFatality } from "./DerivedStrategy.js"

/**
 * The budget of a strategy's run. Omitted fields are not limited.
 *
 * @since 0.1.0
 * @category models
 */
export interface BudgetOptions {
  /** Calls that answered or are being answered. */
  readonly maxModelCalls?: number | undefined
  /** Input and output tokens. */
  readonly maxTokens?: number | undefined
  /** US dollars, by the prices of `CostEstimator`. A model without a price cannot be called. */
  readonly maxCostUsd?: number | undefined
  /** Wall-clock time, including tools. */
  readonly timeout?: Duration.DurationInput | undefined
  /**
   * With a limit of tokens or dollars: maximum output tokens of a request without a limit of its own, default 4,096.
   * They are reserved, and the model is told the limit.
   */
  readonly outputTokens?: number | undefined
}

const refusedBy = (strategyName: string, refusal: CallBudget.Refusal): StrategyBudgetError => {
  const { limit, limitType, unpriced, used } = refusal
  const about = { strategyName, limitType, limit, used }
  return unpriced === undefined
    ? new StrategyBudgetError({
        ...about,
        message:
          limitType === "cost"
            ? `"${strategyName}" has used $${used.toFixed(6)} of its budget of $${limit}: the next model call does not fit`
            : `"${strategyName}" has used ${used} of its budget of ${limit} ${limitType}: the next model call does not fit`,
        hint: "Raise the budget, or use a strategy that needs fewer calls"
      })
    : new StrategyBudgetError({
        ...about,
        message: `"${strategyName}" has a dollar budget, but the price of ${unpriced} is unknown`,
        hint: "Give its price to `CostEstimator.layerPrices`, or use a token budget"
      })
}

/**
 * Gives each run of the strategy a budget, sub-agents included. Before a model call, its counted input and longest
 * answer are reserved. A call that does not fit beside running calls waits for them. A call that does not fit alone
 * gets a shorter answer; if there is no room for any answer, the run fails with `StrategyBudgetError`. A call that was
 * cut off (interrupted, timed out, broken midway) costs its input and what was streamed, or what the provider reported.
 * A call that was refused or never sent costs nothing.
 *
 * Input is counted by the `TokenCounter` in context, else approximately; the limit is as exact as the count. A budget
 * in dollars requires prices.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withBudget: {
  <const B extends BudgetOptions>(
    options: ExactOptions<B, BudgetOptions>
  ): <E, R>(
    strategy: Strategy.Strategy<E, R>
  ) => Strategy.Strategy<E | StrategyBudgetError, R | ForLimit<B, "maxCostUsd">>
  <E, R, const B extends BudgetOptions>(
    strategy: Strategy.Strategy<E, R>,
    options: ExactOptions<B, BudgetOptions>
  ): Strategy.Strategy<E | StrategyBudgetError, R | ForLimit<B, "maxCostUsd">>
} = dual(2, (strategy: Strategy.Any, options: BudgetOptions): Strategy.Strategy<any, any> => {
  const { maxCostUsd, maxModelCalls, maxTokens } = options
  const timeout = options.timeout === undefined ? Number.POSITIVE_INFINITY : Duration.toMillis(options.timeout)
  const limitsCalls = maxCostUsd !== undefined || maxModelCalls !== undefined || maxTokens !== undefined
  const counted = (task: Strategy.Task): Effect.Effect<Strategy.Answer, any, any> =>
    Effect.contextWithEffect((context: Context.Context<never>) => {
      const references = context as Context.Context<Run.Run | CostEstimator | ModelCallInterceptors>
      const budget = CallBudget.make(options, {
        counter: TokenCounter.inContext(context),
        estimator: Context.get(references, CostEstimator),
        fail: (refusal) => refusedBy(strategy.name, refusal)
      })
      const outer = Context.get(references, Run.Run)
      const run = Run.isCurrent(outer)
        ? RunView.watched(outer, (event) => {
            budget.see(event)
            return undefined
          })
        : outer
      return Effect.mapInputContext(strategy.program(task), (current: Context.Context<any>) =>
        current.pipe(
          Context.add(ModelCallInterceptors, [...Context.get(references, ModelCallInterceptors), budget.interceptor]),
          Context.add(CallGate.CallGate, CallGate.nest(SideCalls.gate, Context.get(references, CallGate.CallGate))),
          Context.add(Run.Run, run)
        )
      ).pipe(
        Effect.mapError((error) => {
          const inner = unwrapFatality(error)
          return budget.refused(inner) ? inner : error
        })
      )
    })
  const limited = limitsCalls ? counted : strategy.program
  return derive(strategy, (task) =>
    Number.isFinite(timeout)
      ? Deadline.run(() => limited(task), {
          whole: timeout,
          pausable: true,
          onTimeout: (_phase, limit) =>
            new StrategyBudgetError({
              strategyName: strategy.name,
              limitType: "time",
              limit,
              used: limit,
              message: `"${strategy.name}" was stopped after ${limit} ms`,
              hint: "Raise the budget's timeout"
            })
        })
      : limited(task)
  )
})
