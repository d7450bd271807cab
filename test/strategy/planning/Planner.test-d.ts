import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { expectTypeOf, test } from "vitest"
import type * as Strategy from "../../../src/strategy/definition/Strategy.js"
import type * as StrategyRegistry from "../../../src/strategy/definition/StrategyRegistry.js"
import * as PlanAndSolve from "../../../src/strategy/PlanAndSolve.js"
import * as PlanExecute from "../../../src/strategy/PlanExecute.js"
import * as Planner from "../../../src/strategy/planning/Planner.js"

class Solver extends Context.Tag("Solver")<Solver, { readonly solve: Effect.Effect<string, Unsolvable> }>() {}
class Unsolvable extends Data.TaggedError("Unsolvable") {}

const planner = Planner.make((goal, { completed, failed, task }) => {
  expectTypeOf(goal).toEqualTypeOf<string>()
  expectTypeOf(completed).toEqualTypeOf<ReadonlyArray<Planner.Completed>>()
  expectTypeOf(failed).toEqualTypeOf<Planner.Failed | undefined>()
  expectTypeOf(task).toEqualTypeOf<Strategy.Task>()
  return Effect.flatMap(Solver, (solver) =>
    Effect.map(solver.solve, (step) => [step, { description: step, tool: "t" }])
  )
})

test("a planner has the failures and requirements of its plan", () => {
  expectTypeOf(planner).toEqualTypeOf<Planner.Planner<Unsolvable, Solver>>()
  Planner.make(() => Effect.succeed(["a"])) satisfies Planner.Planner
  // @ts-expect-error a plan is made of texts and steps
  Planner.make(() => Effect.succeed([1]))
})

test("strategies include them in their type", () => {
  expectTypeOf(PlanExecute.make({ planner })).toEqualTypeOf<Strategy.Strategy<Unsolvable, Solver>>()
  expectTypeOf(PlanExecute.make()).toEqualTypeOf<Strategy.Strategy>()
  expectTypeOf(PlanExecute.make({ maxSteps: 3 })).toEqualTypeOf<Strategy.Strategy>()
  PlanExecute.make satisfies StrategyRegistry.Factory
  expectTypeOf(PlanAndSolve.make({ planner })).toEqualTypeOf<Strategy.Strategy<Unsolvable, Solver>>()
  expectTypeOf(PlanAndSolve.make({ variant: "ps" })).toEqualTypeOf<Strategy.Strategy>()
  PlanAndSolve.make satisfies StrategyRegistry.Factory
})
