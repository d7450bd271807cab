/**
 * Guards the user's message before the model sees it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { GuardPipelineError, InputGuardError } from "../../guard/pipeline/GuardError.js"
import * as AgentHooks from "../../observability/AgentHooks.js"
import type { Fatality } from "../../tool/ToolRunner.js"
import { infoOf } from "../definition/RunIdentity.js"
import type { Stage, State } from "../definition/Stage.js"
import * as GuardChecks from "./GuardChecks.js"

/**
 * A blocked message fails the run with `InputGuardError` and is not kept; a redacted one replaces the message.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage<InputGuardError | GuardPipelineError | Fatality> = {
  name: "inputGuard",
  wrap: (given, next) => {
    const going = (state: State, text: string): ReturnType<typeof next> => {
      state.notes.keep = text
      const inside = () => next(text === state.input ? state : { ...state, input: text })
      // The first event has the message only if no guard can change it.
      const wait =
        text === given.input && !GuardChecks.isGuarded(state, "input")
          ? undefined
          : state.run.unsafeEmit({ _tag: "InputChecked", input: text })
      return wait === undefined ? inside() : Effect.flatMap(wait, inside)
    }
    return Effect.flatMap(filtered(given), (state): ReturnType<typeof next> => {
      if (!GuardChecks.isGuarded(state, "input")) return going(state, state.input)
      return Effect.flatMap(
        GuardChecks.check(state, "input", state.input, GuardChecks.context(state)),
        (verdict): ReturnType<typeof next> =>
          verdict.blocked ? (Effect.fail(GuardChecks.blockedInput(verdict.by)) as never) : going(state, verdict.text)
      ) as never
    })
  }
}

const filtered = (state: State): Effect.Effect<State> => {
  const { hooks } = state.run
  if (!hooks.has(AgentHooks.AgentInputFilter)) return Effect.succeed(state)
  return Effect.map(hooks.apply(AgentHooks.AgentInputFilter, state.input, infoOf(state)), (input) =>
    input === state.input ? state : { ...state, input }
  )
}
