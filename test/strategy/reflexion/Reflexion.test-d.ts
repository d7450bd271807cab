import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { describe, expectTypeOf, it } from "vitest"
import * as Evaluator from "../../../src/strategy/definition/Evaluator.js"
import * as Strategy from "../../../src/strategy/definition/Strategy.js"
import * as ModelEvaluator from "../../../src/strategy/reasoning/ModelEvaluator.js"
import * as Reflexion from "../../../src/strategy/reflexion/Reflexion.js"

class Broken extends Data.TaggedError("Broken")<{}> {}
class Stuck extends Data.TaggedError("Stuck")<{}> {}
class Tests extends Context.Tag("Tests")<Tests, { readonly run: Effect.Effect<boolean, Broken> }>() {}
class Database extends Context.Tag("Database")<Database, {}>() {}

describe("Reflexion", () => {
  it("adds nothing by itself", () => {
    expectTypeOf(Reflexion.make()).toEqualTypeOf<Strategy.Strategy>()
    expectTypeOf(
      Reflexion.make({ maxTrials: 2, evaluator: ModelEvaluator.evaluator })
    ).toEqualTypeOf<Strategy.Strategy>()
  })

  it("includes the errors and requirements of a check and of the inner strategy", () => {
    const evaluator = Evaluator.check(() => Effect.flatMap(Tests, (tests) => tests.run))
    expectTypeOf(evaluator).toEqualTypeOf<Evaluator.Service<Broken, Tests>>()
    expectTypeOf(Reflexion.make({ evaluator })).toEqualTypeOf<Strategy.Strategy<Broken, Tests>>()
    const inner = Strategy.make("inner", () => Effect.zipRight(Database, Effect.fail(new Stuck())))
    expectTypeOf(Reflexion.make({ inner })).toEqualTypeOf<Strategy.Strategy<Stuck, Database>>()
    expectTypeOf(Reflexion.make({ inner, evaluator })).toEqualTypeOf<
      Strategy.Strategy<Broken | Stuck, Tests | Database>
    >()
  })
})
