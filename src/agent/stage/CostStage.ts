/**
 * Audits a finished run and releases its budget, whether it succeeded or not.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Usage from "../../domain/Usage.js"
import type * as Governance from "../../governance/Governance.js"
import * as StepModule from "../../observability/Step.js"
import type { Answer } from "../../strategy/definition/Strategy.js"
import * as RecordedStages from "../definition/RecordedStages.js"
import { governanceOf } from "../definition/RunIdentity.js"
import type { Stage, State } from "../definition/Stage.js"

const entry = (state: State, exit: Exit.Exit<Answer, unknown>, latencyMs: number): Governance.AuditEntry => {
  const { costUsd, usage } = state.progress()
  const model = state.settings.model ?? state.uses.client.model
  return {
    type: "agent_execution",
    runId: state.run.runId,
    agent: state.agent.name,
    provider: state.uses.client.provider,
    ...(model === undefined ? {} : { model }),
    ...(state.userId === undefined ? {} : { userId: state.userId }),
    status: Exit.isSuccess(exit) ? "success" : Cause.isInterruptedOnly(exit.cause) ? "interrupted" : "failure",
    tokens: Usage.total(usage),
    ...(costUsd === undefined ? {} : { cost: costUsd }),
    latencyMs
  }
}

/**
 * Each model call was booked when it answered. At its end a run is written to the audit, and the outermost one under a
 * governance releases the budget that it shared with its inner runs. A failure of the governance here is skipped.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage = {
  name: "cost",
  wrap: (state, next) => {
    const governance = governanceOf(state)
    if (governance.enabled === false) return next(state)
    return Effect.flatMap(Clock.currentTimeMillis, (startedAt) =>
      Effect.onExit(next(state), (exit) =>
        Effect.flatMap(StepModule.Step, (step) => {
          if (step.isSuspended()) return Effect.void
          const closed = Effect.flatMap(Clock.currentTimeMillis, (now) =>
            Effect.zipRight(
              governance.audit(entry(state, exit, now - startedAt)),
              state.budgetRunId === state.run.runId ? governance.release(state.budgetRunId) : Effect.void
            )
          )
          return RecordedStages.concluded(closed, { state, stage: "cost" })
        })
      )
    )
  }
}
