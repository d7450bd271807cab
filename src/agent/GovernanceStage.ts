/**
 * Asks whether the run may begin at all.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { GovernanceError } from "../governance/GovernanceError.js"
import type { Stage } from "./Stage.js"

/**
 * A denial fails the run with what `Governance` gives as the reason: before any model call, and nothing is kept.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage<GovernanceError> = {
  name: "governance",
  wrap: (state, next) => {
    const governance = state.agent.definition.governance ?? state.uses.governance
    if (governance.enabled === false) return next(state)
    const model = state.settings.model ?? state.uses.client.model
    return Effect.flatMap(
      governance.checkRequest({
        runId: state.run.runId,
        agent: state.agent.name,
        provider: state.uses.client.provider,
        ...(model === undefined ? {} : { model }),
        ...(state.userId === undefined ? {} : { userId: state.userId })
      }),
      (decision): ReturnType<typeof next> => {
        if (decision.allowed) return next(state)
        state.run.metrics?.denied()
        return Effect.fail(decision.error) as never
      }
    )
  }
}
