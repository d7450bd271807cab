/**
 * Saves the turns of a run in the session and in memory.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as StepModule from "../../observability/Step.js"
import { handing } from "../conversation/HandedTo.js"
import * as RecordedStages from "../definition/RecordedStages.js"
import { hasOwner } from "../definition/RunIdentity.js"
import { conclude, type Stage } from "../definition/Stage.js"

const turns = OnDemand.make(() => import("../conversation/RunTurns.js"))

/**
 * Saves the user's message and the answer as turns whose ids derive from the run. A run that failed, was interrupted or
 * blocked saves the message with a mark. One that was denied or whose message was blocked saves nothing, nor does a
 * fork. A save that fails is skipped; a durable
 * run repeats that of its session for as long as the store is away, up to an hour.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage = {
  name: "memorySave",
  wrap: (state, next) => {
    const program = handing(
      state,
      next(state),
      Effect.map(turns, ({ callsOf }) => callsOf(state))
    )
    if (!hasOwner(state)) return program
    return Effect.onExit(program, (exit) =>
      Effect.flatMap(StepModule.Step, (step) => {
        const text = state.notes.keep
        if (text === undefined || step.isSuspended()) return Effect.void
        // A step in any case: the steps after it keep their names.
        const saved =
          step.isDetached === true ? Effect.void : Effect.flatMap(turns, ({ save }) => save(state, text, exit, step))
        return StepModule.isRecording(step)
          ? RecordedStages.saved(saved)
          : conclude(saved, { state, stage: "memory save" })
      })
    )
  }
}
