/**
 * Runs the agent's guards and then the executor's, and emits their actions. Shared by the guard stages.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { CheckContext, GuardResult, GuardStage, ToolCheckContext } from "../../guard/pipeline/Guard.js"
import { type GuardPipelineError, InputGuardError } from "../../guard/pipeline/GuardError.js"
import type * as GuardPipeline from "../../guard/pipeline/GuardPipeline.js"
import { Fatality } from "../../tool/ToolRunner.js"
import * as RecordedStages from "../definition/RecordedStages.js"
import { governanceOf, requester } from "../definition/RunIdentity.js"
import type { State } from "../definition/Stage.js"

/**
 * The content after the guards, or the guard that blocked it.
 *
 * @since 0.1.0
 * @category models
 */
export type Verdict =
  | { readonly blocked: false; readonly text: string; readonly redacted: boolean }
  | { readonly blocked: true; readonly by: GuardResult }

/**
 * True if any guard checks this stage.
 *
 * @since 0.1.0
 * @category guards
 */
export const isGuarded = (state: State, stage: GuardStage): boolean =>
  state.uses.guards.stages.has(stage) || state.agentGuards?.stages.has(stage) === true

/**
 * @since 0.1.0
 * @category constructors
 */
export const context = (state: State): CheckContext => ({
  runId: state.run.runId,
  agent: state.agent.name,
  ...(state.userId === undefined ? {} : { userId: state.userId }),
  ...(state.sessionId === undefined ? {} : { sessionId: state.sessionId }),
  messages: state.history,
  originalInput: state.notes.keep ?? state.input
})

const ask = (
  pipeline: GuardPipeline.Service,
  stage: GuardStage,
  content: string,
  checkContext: CheckContext | ToolCheckContext
) => {
  switch (stage) {
    case "input":
      return pipeline.checkInput(content, checkContext)
    case "output":
      return pipeline.checkOutput(content, checkContext)
    case "toolInput":
      return pipeline.checkToolInput(content, checkContext as ToolCheckContext)
    case "toolOutput":
      return pipeline.checkToolOutput(content, checkContext as ToolCheckContext)
  }
}

/**
 * A guard of the agent fails with its own error, which is in the agent's type; one of the executor with the error of
 * the pipeline.
 */
const ownError = (error: GuardPipelineError): Fatality => new Fatality({ error: error.cause ?? error, toolName: "" })

/** A policy may end a run that a guard would let continue. */
const mayGoOn = (
  state: State,
  stage: GuardStage,
  guard: string,
  action: "warn" | "redact"
): Effect.Effect<void, Fatality> => {
  const governance = governanceOf(state)
  if (governance.enabled === false) return Effect.void
  const checked = RecordedStages.decision(governance.checkGuardrail({ ...requester(state), guard, stage, action }))
  return Effect.matchEffect(checked, {
    onFailure: (error) => Effect.fail(new Fatality({ error, toolName: "" })),
    onSuccess: (decision) =>
      decision.allowed ? Effect.void : Effect.fail(new Fatality({ error: decision.error, toolName: "" }))
  })
}

/**
 * Runs the agent's guards, then the executor's on the result. Content that cannot be judged does not pass.
 *
 * @since 0.1.0
 * @category combinators
 */
export const check = (
  state: State,
  stage: GuardStage,
  content: string,
  checkContext: CheckContext | ToolCheckContext
): Effect.Effect<Verdict, GuardPipelineError | Fatality> =>
  Effect.gen(function* () {
    let text = content
    let redacted = false
    for (const [pipeline, own] of [
      [state.agentGuards, true],
      [state.uses.guards, false]
    ] as const) {
      if (pipeline === undefined || !pipeline.stages.has(stage)) continue
      const asked = ask(pipeline, stage, text, checkContext)
      const result = yield* own ? Effect.mapError(asked, ownError) : asked
      for (const one of result.results) {
        if (one.action === "pass") continue
        yield* state.run.emit({
          _tag: "GuardTriggered",
          stage,
          guard: one.guardName,
          action: one.action,
          ...(one.details.reason === undefined ? {} : { reason: one.details.reason })
        })
        if (one.action !== "block") yield* mayGoOn(state, stage, one.guardName, one.action)
      }
      if (result.blockingResult !== undefined) return { blocked: true, by: result.blockingResult } as const
      redacted = redacted || result.redacted
      text = result.finalContent ?? text
    }
    return { blocked: false, text, redacted } as const
  })

/**
 * The failure of a message that a guard blocked.
 *
 * @since 0.1.0
 * @category constructors
 */
export const blockedInput = ({ details, guardName }: GuardResult): InputGuardError =>
  new InputGuardError({
    guard: guardName,
    stage: "input",
    message: `The message was blocked by the guard "${guardName}"${details.reason === undefined ? "" : `: ${details.reason}`}`
  })
