/**
 * Counts runs, their duration, tokens, steps, tool calls and failures.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import * as Usage from "../../domain/Usage.js"
import * as Spanned from "../../internal/fiber/Spanned.js"
import * as StepModule from "../../observability/Step.js"
import * as Telemetry from "../../observability/Telemetry.js"
import type { Stage } from "../definition/Stage.js"

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
        if (Exit.isFailure(exit)) metrics.failed(Telemetry.errorType(exit.cause))
      }
    })
  }
}
