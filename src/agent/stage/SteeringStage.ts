/**
 * Makes a run reachable while it goes on, and serializes the runs of one session.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { UserId } from "../../domain/Ids.js"
import * as Step from "../../observability/Step.js"
import * as ApprovalGate from "../../tool/approval/ApprovalGate.js"
import { degrade, type Stage, type State } from "../definition/Stage.js"
import { type Inbox, SteeringError } from "../record/Steering.js"

/** What the model has not seen at the end of a run. */
const unseen = (state: State, step: Step.Service, inbox: Inbox): Effect.Effect<void> =>
  step.isSuspended() && inbox.isKept
    ? Effect.void
    : Effect.flatMap(inbox.take, ({ length }) => {
        if (length === 0) return Effect.void
        if (step.isSuspended()) {
          return Effect.annotateLogs(
            Effect.logWarning(`The run was suspended before the model saw ${length} messages added to it`),
            { module: "AgentExecutor", stage: "steering" }
          )
        }
        const error = new SteeringError({
          reason: "not-running",
          message: `The run ended before the model saw ${length} messages added to it`
        })
        return degrade(Effect.fail(error), { state, stage: "steering", orElse: undefined })
      })

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
    const within = (userId: UserId | undefined, isDurable: boolean, use: (inbox: Inbox) => ReturnType<typeof next>) =>
      steering.within(
        {
          runId,
          held: state.held,
          isDurable,
          ...(userId === undefined ? {} : { userId }),
          ...(sessionId === undefined || parentRunId !== undefined ? {} : { sessionId })
        },
        use
      )
    // An inner run without a user belongs to the user of the outer one.
    return Effect.flatMap(ApprovalGate.Requester, (requester) =>
      Effect.flatMap(Step.Step, (step) =>
        within(state.userId ?? requester.userId, parentRunId === undefined && Step.isRecording(step), (inbox) =>
          Effect.onExit(next({ ...state, inbox }), () => unseen(state, step, inbox))
        )
      )
    )
  }
}
