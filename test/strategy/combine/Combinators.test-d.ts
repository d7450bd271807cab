/** What combinators infer; checked by the compiler alone. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { pipe } from "effect/Function"
import { expectTypeOf } from "vitest"
import type { CostEstimator } from "../../../src/llm/model/CostEstimator.js"
import * as Adaptive from "../../../src/strategy/Adaptive.js"
import * as SelfConsistency from "../../../src/strategy/combine/SelfConsistency.js"
import * as StrategyBudget from "../../../src/strategy/combine/StrategyBudget.js"
import * as StrategyFallback from "../../../src/strategy/combine/StrategyFallback.js"
import * as StrategyHooks from "../../../src/strategy/combine/StrategyHooks.js"
import * as StrategyInput from "../../../src/strategy/combine/StrategyInput.js"
import * as StrategyObserver from "../../../src/strategy/combine/StrategyObserver.js"
import type * as Strategy from "../../../src/strategy/definition/Strategy.js"
import type { MaxIterationsExceededError, StrategyBudgetError } from "../../../src/strategy/definition/StrategyError.js"

interface Down {
  readonly _tag: "Down"
}
interface Lost {
  readonly _tag: "Lost"
}
interface Full {
  readonly _tag: "Full"
}
class Planner extends Context.Tag("test/Planner")<Planner, { readonly plan: string }>() {}
class Clerk extends Context.Tag("test/Clerk")<Clerk, { readonly ask: string }>() {}

declare const first: Strategy.Strategy<Down | Lost, Planner>
declare const second: Strategy.Strategy<Full, Clerk>
declare const plain: Strategy.Strategy
declare const down: Down

// Without `when` nothing of the first's own failures is left.
expectTypeOf(StrategyFallback.withFallback(first, second)).toEqualTypeOf<Strategy.Strategy<Full, Planner | Clerk>>()
expectTypeOf(pipe(first, StrategyFallback.withFallback(second))).toEqualTypeOf<
  Strategy.Strategy<Full, Planner | Clerk>
>()
expectTypeOf(StrategyFallback.withFallback(first, plain)).toEqualTypeOf<Strategy.Strategy<never, Planner>>()

// A predicate may let any of them through, a guard only what it does not accept.
expectTypeOf(
  StrategyFallback.withFallback(first, second, {
    when: (error) => error._tag === "LlmTimeoutError" || error._tag.length > 3
  })
).toEqualTypeOf<Strategy.Strategy<Down | Lost | Full, Planner | Clerk>>()
expectTypeOf(
  StrategyFallback.withFallback(first, second, { when: (error): error is Down => error._tag === "Down" })
).toEqualTypeOf<Strategy.Strategy<Lost | Full, Planner | Clerk>>()
expectTypeOf(
  StrategyFallback.withFallback(plain, second, {
    when: (error): error is MaxIterationsExceededError => error._tag === "MaxIterationsExceededError"
  })
).toEqualTypeOf<Strategy.Strategy<Full, Clerk>>()

expectTypeOf(StrategyBudget.withBudget(first, { maxTokens: 1 })).toEqualTypeOf<
  Strategy.Strategy<Down | Lost | StrategyBudgetError, Planner>
>()
expectTypeOf(pipe(plain, StrategyBudget.withBudget({ timeout: "1 second" }))).toEqualTypeOf<
  Strategy.Strategy<StrategyBudgetError>
>()
// A budget in dollars requires prices.
expectTypeOf(StrategyBudget.withBudget(first, { maxCostUsd: 1 })).toEqualTypeOf<
  Strategy.Strategy<Down | Lost | StrategyBudgetError, Planner | CostEstimator>
>()
expectTypeOf(pipe(plain, StrategyBudget.withBudget({ maxCostUsd: 1 }))).toEqualTypeOf<
  Strategy.Strategy<StrategyBudgetError, CostEstimator>
>()
expectTypeOf(StrategyBudget.withBudget(plain, {} as StrategyBudget.BudgetOptions)).toEqualTypeOf<
  Strategy.Strategy<StrategyBudgetError, CostEstimator>
>()
// @ts-expect-error an option that does not exist
StrategyBudget.withBudget(plain, { maxCalls: 1 })
// @ts-expect-error an option that does not exist
StrategyBudget.withBudget(plain, { maxTokens: 1, maxCalls: 1 })

// A budget within a fallback is made good by it.
expectTypeOf(
  pipe(plain, StrategyBudget.withBudget({ maxModelCalls: 1 }), StrategyFallback.withFallback(plain))
).toEqualTypeOf<Strategy.Strategy>()

expectTypeOf(SelfConsistency.selfConsistency(first, { n: 3 })).toEqualTypeOf<Strategy.Strategy<Down | Lost, Planner>>()

const needs = () => Effect.flatMap(Clerk, () => Effect.fail(down))
expectTypeOf(StrategyHooks.withHooks(plain, { onStart: needs })).toEqualTypeOf<Strategy.Strategy<never, Clerk>>()
expectTypeOf(StrategyHooks.withHooks(plain, { onStart: needs, failures: "fail" })).toEqualTypeOf<
  Strategy.Strategy<Down, Clerk>
>()
expectTypeOf(StrategyHooks.withHooks(plain, { onStart: needs, failures: "log" })).toEqualTypeOf<
  Strategy.Strategy<never, Clerk>
>()
StrategyHooks.withHooks(first, {
  onError: (error) => {
    expectTypeOf(error).toEqualTypeOf<Down | Lost | Strategy.StrategyBaseError>()
    return Effect.void
  }
})
expectTypeOf(pipe(first, StrategyHooks.withHooks({ onFinish: needs }))).toEqualTypeOf<
  Strategy.Strategy<Down | Lost, Planner | Clerk>
>()

expectTypeOf(StrategyObserver.withObserver(first, { onStep: needs })).toEqualTypeOf<
  Strategy.Strategy<Down | Lost, Planner | Clerk>
>()
expectTypeOf(StrategyInput.withPrompts(first, { instructions: "x" })).toEqualTypeOf<
  Strategy.Strategy<Down | Lost, Planner>
>()
expectTypeOf(pipe(first, StrategyInput.withSettings({ temperature: 0 }))).toEqualTypeOf<
  Strategy.Strategy<Down | Lost, Planner>
>()
expectTypeOf(StrategyInput.mapTask(first, (task) => task)).toEqualTypeOf<Strategy.Strategy<Down | Lost, Planner>>()
expectTypeOf(
  StrategyInput.mapTaskEffect(second, (task) => Effect.zipRight(Planner, Effect.as(Effect.fail(down), task)))
).toEqualTypeOf<Strategy.Strategy<Full | Down, Clerk | Planner>>()

// Adaptive: the union of what its candidates fail with and require.
expectTypeOf(Adaptive.make()).toEqualTypeOf<Strategy.Strategy>()
expectTypeOf(
  Adaptive.make({ strategies: { a: { strategy: first, description: "" }, b: { strategy: second, description: "" } } })
).toEqualTypeOf<Strategy.Strategy<Down | Lost | Full, Planner | Clerk>>()
expectTypeOf(
  Adaptive.make({ strategies: { a: { strategy: first, description: "" } }, budget: { maxTokens: 1 } })
).toEqualTypeOf<Strategy.Strategy<Down | Lost | StrategyBudgetError, Planner>>()
Adaptive.make({
  strategies: { a: { strategy: plain, description: "" } },
  fallback: "a",
  // @ts-expect-error a rule for a strategy that is not there
  rules: [() => "b"]
})
// @ts-expect-error a fallback that is not there
Adaptive.make({ strategies: { a: { strategy: plain, description: "" } }, fallback: "b" })
