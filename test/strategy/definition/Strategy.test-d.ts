/** What strategies infer; checked by the compiler alone. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { expectTypeOf } from "vitest"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import type * as LlmError from "../../../src/llm/model/LlmError.js"
import * as Strategy from "../../../src/strategy/definition/Strategy.js"
import type {
  MaxIterationsExceededError,
  NoProgressError,
  PlanError,
  StrategyConfigurationError,
  StrategyReplyError
} from "../../../src/strategy/definition/StrategyError.js"
import type * as StrategyRegistry from "../../../src/strategy/definition/StrategyRegistry.js"
import * as FunctionCalling from "../../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../../src/strategy/loop/ReAct.js"
import type { Fatality } from "../../../src/tool/ToolRunner.js"

interface PlannerError {
  readonly _tag: "PlannerError"
}
class Planner extends Context.Tag("test/Planner")<Planner, { readonly plan: string }>() {}

declare const plannerError: PlannerError
declare const limit: MaxIterationsExceededError
declare const llm: LlmError.LlmUnavailableError

const answer: Strategy.Answer = { text: "", reason: "completed", messages: [] }

// What every strategy may fail with and use is not counted again.
const plain = Strategy.make("plain", () =>
  Effect.gen(function* () {
    yield* LlmClient.LlmClient
    if (answer.text === "a") return yield* Effect.fail(limit)
    if (answer.text === "b") return yield* Effect.fail(llm)
    return answer
  })
)
expectTypeOf(plain).toEqualTypeOf<Strategy.Strategy<never, never>>()

// What it adds is.
const planning = Strategy.make("planning", () =>
  Effect.gen(function* () {
    const { plan } = yield* Planner
    if (plan === "") return yield* Effect.fail(plannerError)
    return answer
  })
)
expectTypeOf(planning).toEqualTypeOf<Strategy.Strategy<PlannerError, Planner>>()

declare const task: Strategy.Task
type StreamOf<S extends Strategy.Any> = ReturnType<S["execute"]>
expectTypeOf<Effect.Effect.Error<ReturnType<typeof planning.program>>>().toEqualTypeOf<
  | PlannerError
  | LlmError.LlmError
  | MaxIterationsExceededError
  | NoProgressError
  | PlanError
  | StrategyConfigurationError
  | StrategyReplyError
  | Fatality
>()
expectTypeOf<Effect.Effect.Context<ReturnType<typeof planning.program>>>().toEqualTypeOf<
  Planner | Strategy.StrategyServices
>()
expectTypeOf<StreamOf<typeof plain>>().toEqualTypeOf(planning.execute(task) as never as StreamOf<typeof plain>)

expectTypeOf(ReAct.make({ format: "text", maxIterations: 3 })).toEqualTypeOf<Strategy.Strategy>()
expectTypeOf(FunctionCalling.make()).toEqualTypeOf<Strategy.Strategy>()
// @ts-expect-error an option that does not exist
ReAct.make({ maxSteps: 3 })
// @ts-expect-error a strategy with requirements cannot be named: nobody could provide them
const factory: StrategyRegistry.Factory = () => planning

export { factory }
