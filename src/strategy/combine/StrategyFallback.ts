/**
 * Falls back to a second strategy when the first one fails.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Option from "effect/Option"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as Run from "../../observability/Run.js"
import { Fatality, ToolRunner } from "../../tool/ToolRunner.js"
import * as Strategy from "../definition/Strategy.js"
import { OutputValidationError } from "../definition/StrategyError.js"
import * as RunView from "../reasoning/RunView.js"
import { failureOf, unwrapFatality } from "./DerivedStrategy.js"

/**
 * Whether another attempt may avoid the failure. True for all failures except those of keys, quotas and configuration,
 * which any strategy would meet, and those meant to end the run (fatal tools, limits, guards). An answer that never
 * fitted its schema is worth another attempt.
 *
 * @since 0.1.0
 * @category guards
 */
export const isRecoverable = (error: unknown): boolean => {
  if (error instanceof Fatality) return error.error instanceof OutputValidationError
  switch ((error as { readonly _tag?: unknown } | null)?._tag) {
    case "LlmAuthenticationError":
    case "LlmCallRefusedError":
    case "LlmQuotaError":
    case "LlmConfigurationError":
      return false
    default:
      return true
  }
}

/**
 * Runs the second strategy on the same task when the first one fails. `when` selects the failures (default
 * `isRecoverable`); a defect or an interruption is never recovered. If `when` is a type guard, the accepted errors are
 * removed from the error type of the first strategy.
 *
 * The events of the failed attempt remain, a `Degraded` event reports its failure, and the steps of the second strategy
 * continue its numbering. The name is `first|second`; there is no graph.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withFallback: {
  <E2, R2>(second: Strategy.Strategy<E2, R2>): <E, R>(first: Strategy.Strategy<E, R>) => Strategy.Strategy<E2, R | R2>
  <E2, R2, E, F extends E | Strategy.StrategyBaseError>(
    second: Strategy.Strategy<E2, R2>,
    options: { readonly when: (error: E | Strategy.StrategyBaseError) => error is F }
  ): <R>(first: Strategy.Strategy<E, R>) => Strategy.Strategy<E2 | Exclude<E, F>, R | R2>
  <E2, R2, E>(
    second: Strategy.Strategy<E2, R2>,
    options: { readonly when: (error: E | Strategy.StrategyBaseError) => boolean }
  ): <R>(first: Strategy.Strategy<E, R>) => Strategy.Strategy<E | E2, R | R2>
  <E, R, E2, R2>(first: Strategy.Strategy<E, R>, second: Strategy.Strategy<E2, R2>): Strategy.Strategy<E2, R | R2>
  <E, R, E2, R2, F extends E | Strategy.StrategyBaseError>(
    first: Strategy.Strategy<E, R>,
    second: Strategy.Strategy<E2, R2>,
    options: { readonly when: (error: E | Strategy.StrategyBaseError) => error is F }
  ): Strategy.Strategy<E2 | Exclude<E, F>, R | R2>
  <E, R, E2, R2>(
    first: Strategy.Strategy<E, R>,
    second: Strategy.Strategy<E2, R2>,
    options: { readonly when: (error: E | Strategy.StrategyBaseError) => boolean }
  ): Strategy.Strategy<E | E2, R | R2>
} = dual(
  (args) => Strategy.isStrategy(args[1]),
  (
    first: Strategy.Any,
    second: Strategy.Any,
    options?: { readonly when: (error: any) => boolean }
  ): Strategy.Strategy<any, any> => {
    const when = options?.when ?? isRecoverable
    // Each strategy of a chain has a prefix of its own.
    const prefix = `attempt_${first.name.split("|").length + 1}_`
    return Strategy.make(`${first.name}|${second.name}`, (task) =>
      Effect.flatMap(Run.Run, (run) => {
        const numbers = RunView.makeNumbers()
        const attempt = (strategy: Strategy.Any) =>
          Effect.provideService(strategy.program(task), Run.Run, RunView.mapped(run, numbers.part()))
        return Effect.catchAllCause(attempt(first), (cause) => {
          const failure = failureOf(cause)
          if (Option.isNone(failure) || !when(failure.value)) return Effect.failCause(cause)
          return Effect.zipRight(
            run.emit({
              _tag: "Degraded",
              stage: `strategy ${first.name}`,
              error: errorInfo(unwrapFatality(failure.value))
            }),
            Effect.flatMap(ToolRunner, (runner) =>
              Effect.provideService(attempt(second), ToolRunner, RunView.prefixed(runner, prefix))
            )
          )
        })
      })
    )
  }
)
