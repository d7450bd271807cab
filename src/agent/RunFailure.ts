/**
 * Failures of tools, guards and strategies as the run itself fails with them.
 *
 * @private
 * @since 0.1.0
 */
import {
  BudgetExceededError,
  ModelAccessDeniedError,
  PolicyViolationError,
  RateLimitExceededError,
  ResourceExhaustedError
} from "../governance/store/GovernanceError.js"
import {
  MaxIterationsExceededError,
  NoProgressError,
  OutputValidationError,
  PlanError,
  StrategyBudgetError,
  StrategyConfigurationError,
  StrategyReplyError
} from "../strategy/definition/StrategyError.js"
import { Fatality } from "../tool/ToolRunner.js"
import type { State } from "./definition/Stage.js"

/** The fields of an error that a spread does not copy. */
const unlisted = (error: Error): { readonly message: string; readonly cause?: unknown } =>
  error.cause === undefined ? { message: error.message } : { message: error.message, cause: error.cause }

/** Failures of the reasoning that carry the partial response of the run. */
const withPartial = [
  BudgetExceededError,
  ModelAccessDeniedError,
  PolicyViolationError,
  RateLimitExceededError,
  ResourceExhaustedError,
  MaxIterationsExceededError,
  NoProgressError,
  OutputValidationError,
  PlanError,
  StrategyBudgetError,
  StrategyConfigurationError,
  StrategyReplyError
] as const

/** Takes a failure out of its `Fatality` and adds the partial response where the error has a field for it. */
export const unwrap = (state: State, error: unknown): unknown => {
  const inner = error instanceof Fatality ? error.error : error
  const known = withPartial.find((one) => inner instanceof one)
  if (known === undefined) return inner
  const failure = inner as InstanceType<typeof known>
  if (failure.partial !== undefined) return failure
  return new (known as new (fields: object) => unknown)({
    ...failure,
    ...unlisted(failure),
    partial: state.progress()
  })
}
