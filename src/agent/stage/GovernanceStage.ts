/**
 * Checks whether the run may begin.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { GovernanceError } from "../../governance/store/GovernanceError.js"
import * as Telemetry from "../../observability/Telemetry.js"
import * as RecordedStages from "../definition/RecordedStages.js"
import { governanceOf, requester } from "../definition/RunIdentity.js"
import type { Stage } from "../definition/Stage.js"

/**
 * A denial fails the run with the reason of `Governance`, before any model call. Nothing is kept.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage<GovernanceError> = {
  name: "governance",
  wrap: (state, next) => {
    const governance = governanceOf(state)
    if (governance.enabled === false) return next(state)
    const model = state.settings.model ?? state.uses.client.model
    const check = RecordedStages.decision(
      governance.checkRequest({
        ...requester(state),
        provider: state.uses.client.provider,
        ...(model === undefined ? {} : { model }),
        ...(state.classifications.length === 0 ? {} : { classifications: state.classifications })
      })
    )
    const spanned = state.run.telemetry.tracing
      ? Effect.withSpan(check, Telemetry.SPAN_GOVERNANCE_CHECK, {
          captureStackTrace: false,
          attributes: { [Telemetry.attribute.agentName]: state.agent.name }
        })
      : check
    return Effect.flatMap(spanned, (decision): ReturnType<typeof next> => {
      if (decision.allowed) return next(state)
      state.run.metrics?.denied()
      return Effect.fail(decision.error) as never
    })
  }
}
