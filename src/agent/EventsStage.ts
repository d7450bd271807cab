/**
 * Outermost: the run's first event, its message and its end.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as StepModule from "../observability/Step.js"
import type { Answer } from "../strategy/Strategy.js"
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
    Effect.withFiberRuntime((fiber) => {
      const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
      const step = Context.get(fiber.currentContext as Context.Context<StepModule.Step>, StepModule.Step)
      const startedAt = clock.unsafeCurrentTimeMillis()
      const { agent, run, uses } = state
      const model = state.settings.model ?? uses.client.model
      const ended = (exit: Exit.Exit<Answer, unknown>): void => {
        if (step.isSuspended()) return
        Strategy.terminal(run, exit, clock.unsafeCurrentTimeMillis() - startedAt, state.notes.session?.id)
      }
      // Uninterruptible up to the run itself: a run has both its first and its last event, or none.
      return Effect.uninterruptibleMask((restore) => {
        const wait = run.unsafeEmit({
          _tag: "Started",
          input: state.input,
          strategy: agent.definition.strategy?.name ?? "react",
          provider: uses.client.provider,
          model,
          sessionId: state.sessionId,
          userId: state.userId
        })
        const answered = Effect.flatMap(
          Effect.suspend(() => next(state)),
          (answer) => {
            const said = run.unsafeEmit({ _tag: "Message", text: answer.text, output: answer.output })
            return said === undefined ? Effect.succeed(answer) : Effect.as(said, answer)
          }
        )
        return Effect.matchCauseEffect(restore(wait === undefined ? answered : Effect.zipRight(wait, answered)), {
          onFailure: (cause) => {
            const exit = Exit.failCause(cause)
            ended(exit)
            return exit
          },
          onSuccess: (answer) => {
            const exit = Exit.succeed(answer)
            ended(exit)
            return exit
          }
        })
      })
    })
}
