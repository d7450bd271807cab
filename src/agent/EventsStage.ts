/**
 * Outermost: the run's first event, its message and its end.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as StepModule from "../observability/Step.js"
import * as Strategy from "../strategy/Strategy.js"
import type { Stage } from "./Stage.js"

/**
 * `Started` before anything else, `Message` when there is an answer, and whatever happens exactly one `Finished` or `Error`. A durable run
 * that is put to sleep has not ended.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage = {
  name: "events",
  wrap: (state, next) =>
    Clock.clockWith((clock) => {
      const startedAt = clock.unsafeCurrentTimeMillis()
      const { agent, run } = state
      const strategy = agent.definition.strategy?.name ?? "react"
      // Uninterruptible up to the run itself: a run has both its first and its last event, or none.
      return Effect.uninterruptibleMask((restore) => {
        const wait = run.unsafeEmit({
          _tag: "Started",
          input: state.input,
          strategy,
          ...(state.sessionId === undefined ? {} : { sessionId: state.sessionId }),
          ...(state.userId === undefined ? {} : { userId: state.userId })
        })
        const answered = Effect.flatMap(next(state), (answer) =>
          Effect.as(
            run.emit({
              _tag: "Message",
              text: answer.text,
              ...(answer.output === undefined ? {} : { output: answer.output })
            }),
            answer
          )
        )
        return Effect.onExit(restore(wait === undefined ? answered : Effect.zipRight(wait, answered)), (exit) =>
          Effect.map(StepModule.Step, (step) => {
            if (step.isSuspended()) return
            Strategy.terminal(run, exit, clock.unsafeCurrentTimeMillis() - startedAt, state.notes.session?.id)
          })
        )
      })
    })
}
