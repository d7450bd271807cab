/**
 * Books what the run cost, whether it succeeded or not.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as StepModule from "../observability/Step.js"
import { conclude, type Stage } from "./Stage.js"

/**
 * Hands the run's cost to `Governance` when every model call has a known price: that of runs inside it included, which book theirs only
 * where their agent has a governance of its own. A booking that fails is passed over.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage = {
  name: "cost",
  wrap: (state, next) => {
    const own = state.agent.definition.governance
    const governance = own ?? state.uses.governance
    // What a run inside a run cost is part of what the outer one cost, and booked there.
    const elsewhere = own === undefined && state.run.parentRunId !== undefined
    if (elsewhere || governance.enabled === false) return next(state)
    return Effect.onExit(next(state), () =>
      Effect.flatMap(StepModule.Step, (step) => {
        if (step.isSuspended()) return Effect.void
        const { costUsd, usage } = state.progress()
        if (costUsd === undefined) return Effect.void
        const model = state.settings.model ?? state.uses.client.model
        return conclude(
          governance.trackCost({
            cost: costUsd,
            usage,
            ...(model === undefined ? {} : { model }),
            ...(state.userId === undefined ? {} : { userId: state.userId })
          }),
          { state, stage: "cost" }
        )
      })
    )
  }
}
