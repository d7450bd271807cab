/**
 * Makes a run reachable while it goes on, and serializes the runs of one session.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { UserId } from "../../domain/Ids.js"
import * as Step from "../../observability/Step.js"
import * as ApprovalGate from "../../tool/approval/ApprovalGate.js"
import { degrade, type Stage } from "../definition/Stage.js"
import { type Inbox, SteeringError } from "../definition/Steering.js"

/**
 * A run inside another one does not wait for the session of the outer one. Messages that a failing run has not seen
 * emit `Degraded`; those that a suspended run has not seen are logged.
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
    const { sessionId } = state
    const within = (userId: UserId | undefined, use: (inbox: Inbox) => ReturnType<typeof next>) =>
      steering.within(
        {
          runId,
          held: state.held,
          ...(userId === undefined ? {} : { userId }),
          ...(sessionId === undefined || parentRunId !== undefined ? {} : { sessionId })
        },
        use
      )
    // An inner run without a user belongs to the user of the outer one.
    return Effect.flatMap(ApprovalGate.Requester, (requester) =>
      within(state.userId ?? requester.userId, (inbox) =>
        Effect.onExit(next({ ...state, inbox }), () =>
          Effect.flatMap(Step.Step, (step) => {
            const unseen = inbox.take().length
            if (unseen === 0) return Effect.void
            if (step.isSuspended()) {
              return Effect.annotateLogs(
                Effect.logWarning(`The run was suspended before the model saw ${unseen} messages added to it`),
                { module: "AgentExecutor", stage: "steering" }
              )
            }
            const error = new SteeringError({
              reason: "not-running",
              message: `The run ended before the model saw ${unseen} messages added to it`
            })
            return degrade(Effect.fail(error), { state, stage: "steering", orElse: undefined })
          })
        )
      )
    )
  }
}
