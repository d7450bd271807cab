/**
 * Guards the answer before it is shown.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { type GuardPipelineError, OutputGuardError } from "../../guard/pipeline/GuardError.js"
import type * as GuardPipeline from "../../guard/pipeline/GuardPipeline.js"
import type * as GuardWindow from "../../guard/pipeline/GuardWindow.js"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as JsonRepair from "../../internal/text/JsonRepair.js"
import * as Run from "../../observability/Run.js"
import type { Answer } from "../../strategy/definition/Strategy.js"
import type { Fatality } from "../../tool/ToolRunner.js"
import type { Stage, State } from "../definition/Stage.js"
import * as GuardChecks from "./GuardChecks.js"

const windows = OnDemand.make(() => import("../../guard/pipeline/GuardWindow.js"))

const block = (state: State, guard: string, message: string) => {
  state.notes.blocked = true
  return Effect.fail(new OutputGuardError({ guard, stage: "output", message })) as never
}

/** For display only: findings are emitted when the whole answer is judged. */
const toScreenedText = (window: GuardPipeline.OutputWindow): Run.ScreenedText => ({
  push: (text) => window.push(text).text,
  end: () => window.end().text
})

/** Present if every output guard can judge text while it is written: the agent's guards first, then the executor's. */
const screenOf = (state: State, chain: typeof GuardWindow.chain): Run.Screen | undefined => {
  const openers: Array<() => GuardPipeline.OutputWindow> = []
  for (const pipeline of [state.agentGuards, state.uses.guards]) {
    if (pipeline === undefined || !pipeline.stages.has("output")) continue
    const { openOutput } = pipeline
    if (openOutput === undefined) return undefined
    openers.push(() => openOutput(GuardChecks.context(state)))
  }
  return { open: () => toScreenedText(chain(openers.map((open) => open()))) }
}

/**
 * A blocked answer fails the run with `OutputGuardError`; a redacted one replaces the answer. If every guard can judge
 * windows of text, the answer is streamed and only what passes is shown; if some guard needs the whole answer, nothing
 * is streamed.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage<OutputGuardError | GuardPipelineError | Fatality> = {
  name: "outputGuard",
  wrap: (state, next) =>
    GuardChecks.isGuarded(state, "output")
      ? Effect.flatMap(windows, ({ chain }) => guarded(state, next, screenOf(state, chain)))
      : next(state)
}

const guarded = <E, R>(
  state: State,
  next: (state: State) => Effect.Effect<Answer, E, R>,
  screen: Run.Screen | undefined
): Effect.Effect<Answer, E | OutputGuardError | GuardPipelineError | Fatality, R> => {
  const run = screen === undefined ? Run.quiet(state.run) : Run.screened(state.run, screen)
  const unjudged = Effect.tapErrorCause(Effect.provideService(next({ ...state, run }), Run.Run, run), () =>
    Effect.sync(() => {
      state.notes.screened = run
    })
  )
  return Effect.flatMap(
    unjudged,
    (answer): ReturnType<typeof next> =>
      Effect.flatMap(
        GuardChecks.check(state, "output", answer.text, GuardChecks.context(state)),
        (verdict): ReturnType<typeof next> => {
          if (verdict.blocked) {
            const because = verdict.by.details.reason
            return block(
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
              onFailure: () => block(state, "outputGuard", "The redacted answer does not match the output schema"),
              onSuccess: (decoded) => Effect.succeed({ ...answer, text: verdict.text, output: decoded, messages })
            }
          )
        }
      ) as never
  )
}
