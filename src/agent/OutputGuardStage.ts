/**
 * Guards see the answer before anybody else does.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { type GuardPipelineError, OutputGuardError } from "../guard/GuardError.js"
import * as JsonRepair from "../internal/JsonRepair.js"
import * as Run from "../observability/Run.js"
import type { Fatality } from "../tool/ToolRunner.js"
import * as GuardChecks from "./GuardChecks.js"
import type { Stage, State } from "./Stage.js"

const refused = (state: State, guard: string, message: string) => {
  state.notes.blocked = true
  return Effect.fail(new OutputGuardError({ guard, stage: "output", message })) as never
}

/**
 * A blocked answer fails the run with `OutputGuardError`; a redacted one is the answer. While some guard looks at answers their text is not
 * streamed as the model writes it, so that nothing is out before it was judged.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage<OutputGuardError | GuardPipelineError | Fatality> = {
  name: "outputGuard",
  wrap: (state, next) => {
    if (!GuardChecks.isGuarded(state, "output")) return next(state)
    const quiet = Run.quiet(state.run)
    return Effect.flatMap(
      Effect.provideService(next({ ...state, run: quiet }), Run.Run, quiet),
      (answer): ReturnType<typeof next> =>
        Effect.flatMap(
          GuardChecks.check(state, "output", answer.text, GuardChecks.context(state)),
          (verdict): ReturnType<typeof next> => {
            if (verdict.blocked) {
              const because = verdict.by.details.reason
              return refused(
                state,
                verdict.by.guardName,
                `The answer was blocked by the guard "${verdict.by.guardName}"${because === undefined ? "" : `: ${because}`}`
              )
            }
            if (verdict.text === answer.text) return Effect.succeed(answer)
            const messages = [...answer.messages.slice(0, -1), { role: "assistant" as const, content: verdict.text }]
            const output = state.agent.definition.output
            if (output === undefined) return Effect.succeed({ ...answer, text: verdict.text, messages })
            return Effect.matchEffect(
              Effect.flatMap(Either.mapLeft(JsonRepair.parse(verdict.text), String), output.spec.decode),
              {
                onFailure: () =>
                  refused(state, "outputGuard", "What the guards left of the answer does not fit the output schema"),
                onSuccess: (decoded) => Effect.succeed({ ...answer, text: verdict.text, output: decoded, messages })
              }
            )
          }
        ) as never
    )
  }
}
