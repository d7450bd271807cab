/** What combinators infer; checked by the compiler alone. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { pipe } from "effect/Function"
import { expectTypeOf } from "vitest"
import type { CostEstimator } from "../../../src/llm/model/CostEstimator.js"
import * as Adaptive from "../../../src/strategy/Adaptive.js"
import type * as Strategy from "../../../src/strategy/reasoning/Strategy.js"
import * as Combinators from "../../../src/strategy/reasoning/StrategyCombinators.js"
import type { MaxIterationsExceededError, StrategyBudgetError } from "../../../src/strategy/reasoning/StrategyError.js"

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
expectTypeOf(Combinators.withFallback(first, second)).toEqualTypeOf<Strategy.Strategy<Full, Planner | Clerk>>()
expectTypeOf(pipe(first, Combinators.withFallback(second))).toEqualTypeOf<Strategy.Strategy<Full, Planner | Clerk>>()
expectTypeOf(Combinators.withFallback(first, plain)).toEqualTypeOf<Strategy.Strategy<never, Planner>>()

// A predicate may let any of them through, a guard only what it does not accept.
expectTypeOf(
  Combinators.withFallback(first, second, {
    when: (error) => error._tag === "LlmTimeoutError" || error._tag.length > 3
  })
).toEqualTypeOf<Strategy.Strategy<Down | Lost | Full, Planner | Clerk>>()
expectTypeOf(
  Combinators.withFallback(first, second, { when: (error): error is Down => error._tag === "Down" })
).toEqualTypeOf<Strategy.Strategy<Lost | Full, Planner | Clerk>>()
expectTypeOf(
  Combinators.withFallback(plain, second, {
    when: (error): error is MaxIterationsExceededError => error._tag === "MaxIterationsExceededError"
  })
).toEqualTypeOf<Strategy.Strategy<Full, Clerk>>()

expectTypeOf(Combinators.withBudget(first, { maxTokens: 1 })).toEqualTypeOf<
  Strategy.Strategy<Down | Lost | StrategyBudgetError, Planner>
>()
expectTypeOf(pipe(plain, Combinators.withBudget({ timeout: "1 second" }))).toEqualTypeOf<
  Strategy.Strategy<StrategyBudgetError>
>()
// A budget in dollars requires prices.
expectTypeOf(Combinators.withBudget(first, { maxCostUsd: 1 })).toEqualTypeOf<
  Strategy.Strategy<Down | Lost | StrategyBudgetError, Planner | CostEstimator>
>()
expectTypeOf(pipe(plain, Combinators.withBudget({ maxCostUsd: 1 }))).toEqualTypeOf<
  Strategy.Strategy<StrategyBudgetError, CostEstimator>
>()
expectTypeOf(Combinators.withBudget(plain, {} as Combinators.BudgetOptions)).toEqualTypeOf<
  Strategy.Strategy<StrategyBudgetError, CostEstimator>
>()
// @ts-expect-error an option that does not exist
Combinators.withBudget(plain, { maxCalls: 1 })
// @ts-expect-error an option that does not exist
Combinators.withBudget(plain, { maxTokens: 1, maxCalls: 1 })

// A budget within a fallback is made good by it.
expectTypeOf(
  pipe(plain, Combinators.withBudget({ maxModelCalls: 1 }), Combinators.withFallback(plain))
).toEqualTypeOf<Strategy.Strategy>()

expectTypeOf(Combinators.selfConsistency(first, { n: 3 })).toEqualTypeOf<Strategy.Strategy<Down | Lost, Planner>>()

const needs = () => Effect.flatMap(Clerk, () => Effect.fail(down))
expectTypeOf(Combinators.withHooks(plain, { onStart: needs })).toEqualTypeOf<Strategy.Strategy<never, Clerk>>()
expectTypeOf(Combinators.withHooks(plain, { onStart: needs, failures: "fail" })).toEqualTypeOf<
  Strategy.Strategy<Down, Clerk>
>()
expectTypeOf(Combinators.withHooks(plain, { onStart: needs, failures: "log" })).toEqualTypeOf<
  Strategy.Strategy<never, Clerk>
>()
Combinators.withHooks(first, {
  onError: (error) => {
    expectTypeOf(error).toEqualTypeOf<Down | Lost | Strategy.StrategyBaseError>()
    return Effect.void
  }
})
expectTypeOf(pipe(first, Combinators.withHooks({ onFinish: needs }))).toEqualTypeOf<
  Strategy.Strategy<Down | Lost, Planner | Clerk>
>()

expectTypeOf(Combinators.withObserver(first, { onStep: needs })).toEqualTypeOf<
  Strategy.Strategy<Down | Lost, Planner | Clerk>
>()
expectTypeOf(Combinators.withPrompts(first, { instructions: "x" })).toEqualTypeOf<
  Strategy.Strategy<Down | Lost, Planner>
>()
expectTypeOf(pipe(first, Combinators.withSettings({ temperature: 0 }))).toEqualTypeOf<
  Strategy.Strategy<Down | Lost, Planner>
>()
expectTypeOf(Combinators.mapTask(first, (task) => task)).toEqualTypeOf<Strategy.Strategy<Down | Lost, Planner>>()
expectTypeOf(
  Combinators.mapTaskEffect(second, (task) => Effect.zipRight(Planner, Effect.as(Effect.fail(down), task)))
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
