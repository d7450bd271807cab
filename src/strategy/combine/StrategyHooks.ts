/**
 * Runs effects before and after a strategy, and on its failure or interruption.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Option from "effect/Option"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as Run from "../../observability/Run.js"
import * as Step from "../../observability/Step.js"
import type * as Strategy from "../definition/Strategy.js"
import { derive, failureOf } from "./DerivedStrategy.js"

/**
 * Effects around a run of a strategy. `onError` receives failures, but no defects; an interruption is not an error.
 *
 * @since 0.1.0
 * @category models
 */
export interface Hooks<in E = never, out E2 = never, out R2 = never> {
  readonly onStart?: ((task: Strategy.Task) => Effect.Effect<unknown, E2, R2>) | undefined
  readonly onFinish?: ((answer: Strategy.Answer, task: Strategy.Task) => Effect.Effect<unknown, E2, R2>) | undefined
  readonly onError?:
    | ((error: E | Strategy.StrategyBaseError, task: Strategy.Task) => Effect.Effect<unknown, E2, R2>)
    | undefined
  /** Not interruptible. */
  readonly onInterrupt?: ((task: Strategy.Task) => Effect.Effect<unknown, E2, R2>) | undefined
  /**
   * What happens when a hook fails. `log` (default) logs a warning and emits a `Degraded` event; `fail` ends the run
   * with the failure. A hook that fails after the run has failed or was interrupted is always logged, because the first
   * failure counts.
   */
  readonly failures?: "log" | "fail" | undefined
}

/**
 * Runs hooks before and after the strategy, and on its failure or interruption. Suspending a durable run is not an
 * interruption. Failures carried to the executor reach `onError` as `Fatality`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withHooks: {
  <E, E2, R2>(
    hooks: Hooks<E, E2, R2> & { readonly failures: "fail" }
  ): <R>(strategy: Strategy.Strategy<E, R>) => Strategy.Strategy<E | E2, R | R2>
  <E, E2, R2>(hooks: Hooks<E, E2, R2>): <R>(strategy: Strategy.Strategy<E, R>) => Strategy.Strategy<E, R | R2>
  <E, R, E2, R2>(
    strategy: Strategy.Strategy<E, R>,
    hooks: Hooks<E, E2, R2> & { readonly failures: "fail" }
  ): Strategy.Strategy<E | E2, R | R2>
  <E, R, E2, R2>(strategy: Strategy.Strategy<E, R>, hooks: Hooks<E, E2, R2>): Strategy.Strategy<E, R | R2>
} = dual(2, (strategy: Strategy.Any, hooks: Hooks<any, any, any>): Strategy.Strategy<any, any> => {
  const { onError, onFinish, onInterrupt, onStart } = hooks
  const named = (name: string) => ({ module: "StrategyHooks.withHooks", strategy: strategy.name, hook: name })
  const logged = <A>(name: string, effect: Effect.Effect<A, any, any>, run: Run.Service) =>
    Effect.catchAll(effect, (error) =>
      Effect.zipRight(
        Effect.annotateLogs(Effect.logWarning(`a hook failed: ${errorInfo(error).message}`), named(name)),
        run.emit({ _tag: "Degraded", stage: `hook ${name}`, error: errorInfo(error) })
      )
    )
  return derive(strategy, (task) =>
    Effect.gen(function* () {
      const run = yield* Run.Run
      const step = yield* Step.Step
      const hook = (name: string, effect: Effect.Effect<unknown, any, any>) =>
        hooks.failures === "fail" ? effect : logged(name, effect, run)
      const watched = strategy.program(task).pipe(
        Effect.onInterrupt(() =>
          onInterrupt === undefined || step.isSuspended()
            ? Effect.void
            : logged(
                "onInterrupt",
                Effect.suspend(() => onInterrupt(task)),
                run
              )
        ),
        Effect.tapErrorCause((cause) => {
          const failure = failureOf(cause)
          if (onError === undefined || Option.isNone(failure)) return Effect.void
          return logged(
            "onError",
            Effect.suspend(() => onError(failure.value, task)),
            run
          )
        })
      )
      if (onStart !== undefined) {
        yield* hook(
          "onStart",
          Effect.suspend(() => onStart(task))
        )
      }
      const answer = yield* watched
      if (onFinish !== undefined) {
        yield* hook(
          "onFinish",
          Effect.suspend(() => onFinish(answer, task))
        )
      }
      return answer
    })
  )
})
