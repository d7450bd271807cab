/**
 * Outermost: the run's first event, its message and its end.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Spanned from "../internal/Spanned.js"
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
    // Uninterruptible up to the run itself: a run has both its first and its last event, or none.
    Effect.uninterruptibleMask((restore) => {
      const fiber = Spanned.currentFiber()
      const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
      const step = Context.get(fiber.currentContext as Context.Context<StepModule.Step>, StepModule.Step)
      const startedAt = clock.unsafeCurrentTimeMillis()
      const { agent, run, uses } = state
      const ended = (exit: Exit.Exit<Answer, any>): typeof exit => {
        if (!step.isSuspended()) {
          Strategy.terminal(run, exit, clock.unsafeCurrentTimeMillis() - startedAt, state.notes.session?.id)
        }
        return exit
      }
      const wait = run.unsafeEmit({
        _tag: "Started",
        input: state.input,
        strategy: agent.definition.strategy?.name ?? "react",
        provider: uses.client.provider,
        model: state.settings.model ?? uses.client.model,
        sessionId: state.sessionId,
        userId: state.userId
      })
      const inside = wait === undefined ? next(state) : Effect.flatMap(wait, () => next(state))
      const answered = Effect.flatMap(inside, (answer) => {
        const said = run.unsafeEmit({ _tag: "Message", text: answer.text, output: answer.output })
        return said === undefined ? Effect.succeed(answer) : Effect.as(said, answer)
      })
      return Effect.matchCauseEffect(restore(answered), {
        onFailure: (cause) => ended(Exit.failCause(cause)),
        onSuccess: (answer) => ended(Exit.succeed(answer))
      })
    })
}
