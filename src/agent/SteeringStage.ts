/**
 * Lets a run be reached while it goes on, and makes runs of one session follow one another.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { degrade, type Stage } from "./Stage.js"
import type { SteeringError } from "./Steering.js"

/**
 * A run inside another one does not wait for the session of the outer one. Messages that a failing run has not seen are told of as
 * `Degraded`.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage<SteeringError> = {
  name: "steering",
  wrap: (state, next) => {
    const { steering } = state.uses
    if (!steering.enabled) return next(state)
    const { parentRunId, runId } = state.run
    return steering.within(
      {
        runId,
        ...(state.userId === undefined ? {} : { userId: state.userId }),
        ...(state.sessionId === undefined || parentRunId !== undefined ? {} : { sessionId: state.sessionId })
      },
      (inbox) =>
        Effect.onExit(next({ ...state, inbox }), () => {
          const unseen = inbox.take().length
          return unseen === 0
            ? Effect.void
            : degrade(Effect.fail(new Error(`The run ended before the model saw ${unseen} messages put into it`)), {
                state,
                stage: "steering",
                orElse: undefined
              })
        })
    )
  }
}
