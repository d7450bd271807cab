/**
 * Counts runs, their duration, tokens, steps, tool calls and failures.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { errorInfo } from "../domain/AgentEvent.js"
import * as Usage from "../domain/Usage.js"
import * as Spanned from "../internal/Spanned.js"
import * as StepModule from "../observability/Step.js"
import { Fatality } from "../tool/ToolRunner.js"
import type { Stage } from "./Stage.js"

const errorType = (cause: Cause.Cause<unknown>): string => {
  if (Cause.isInterruptedOnly(cause)) return "InterruptedError"
  const failure = Cause.failureOption(cause)
  if (Option.isNone(failure)) return "Defect"
  return errorInfo(failure.value instanceof Fatality ? failure.value.error : failure.value).tag
}

/**
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage = {
  name: "metrics",
  wrap: (state, next) => {
    const metrics = state.run.metrics
    if (metrics === undefined) return next(state)
    return Spanned.watch(next(state), (fiber) => {
      const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
      const step = Context.get(fiber.currentContext as Context.Context<StepModule.Step>, StepModule.Step)
      const startedAt = clock.unsafeCurrentTimeMillis()
      return (exit) => {
        if (step.isSuspended()) return
        const progress = state.progress()
        metrics.executed({
          durationMs: clock.unsafeCurrentTimeMillis() - startedAt,
          tokens: Usage.total(progress.usage),
          steps: progress.steps.length,
          toolCalls: progress.toolCalls.length,
          failedToolCalls: progress.toolCalls.filter((call) => call.isFailure === true).length
        })
        if (Exit.isFailure(exit)) metrics.failed(errorType(exit.cause))
      }
    })
  }
}
