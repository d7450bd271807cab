/**
 * Guards see the user's message before the model does.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { type GuardPipelineError, InputGuardError } from "../guard/GuardError.js"
import type { Fatality } from "../tool/ToolRunner.js"
import * as GuardChecks from "./GuardChecks.js"
import type { Stage } from "./Stage.js"

/**
 * A blocked message fails the run with `InputGuardError` and is not kept anywhere; a redacted one goes on as it was left.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage<InputGuardError | GuardPipelineError | Fatality> = {
  name: "inputGuard",
  wrap: (state, next) => {
    if (!GuardChecks.isGuarded(state, "input")) {
      state.notes.keep = state.input
      return next(state)
    }
    return Effect.flatMap(
      GuardChecks.check(state, "input", state.input, GuardChecks.context(state)),
      (verdict): ReturnType<typeof next> => {
        if (verdict.blocked) {
          return Effect.fail(
            new InputGuardError({
              guard: verdict.by.guardName,
              stage: "input",
              message: `The message was blocked by the guard "${verdict.by.guardName}"${reason(verdict.by.details.reason)}`
            })
          ) as never
        }
        state.notes.keep = verdict.text
        return next(verdict.text === state.input ? state : { ...state, input: verdict.text })
      }
    )
  }
}

const reason = (text: string | undefined): string => (text === undefined ? "" : `: ${text}`)
