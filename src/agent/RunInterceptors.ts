/**
 * The wrappers that a run puts around its model and tool calls: limits and guards.
 *
 * @internal
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Usage from "../domain/Usage.js"
import { GuardPipelineError, ToolObservationBlockedError, ToolObservationGuardError } from "../guard/GuardError.js"
import * as Run from "../observability/Run.js"
import type * as ModelCall from "../strategy/ModelCall.js"
import * as ToolRunner from "../tool/ToolRunner.js"
import { RunLimitExceededError } from "./AgentError.js"
import * as GuardChecks from "./GuardChecks.js"
import type { State } from "./Stage.js"

/** The failure of a run that reached a limit. */
export const limitError = (
  state: State,
  limitType: RunLimitExceededError["limitType"],
  limit: number,
  used: number
): RunLimitExceededError =>
  new RunLimitExceededError({
    agentName: state.agent.name,
    limitType,
    limit,
    used,
    partial: state.progress(),
    message: `The run of "${state.agent.name}" reached its limit of ${limit} ${limitType === "time" ? "ms" : limitType}`,
    hint: "Raise the limit, or use what `partial` holds"
  })

const fatal = (error: unknown) => Effect.fail(new ToolRunner.Fatality({ error, toolName: "" }))

/** No model call is begun once the run's tokens or calls are used up; those of runs it started count. */
export const modelLimits = (state: State, maxTokens: number | undefined): ModelCall.ModelCallInterceptor => {
  const { maxModelCalls } = state.agent.definition.limits
  // Begun and not reported yet: strategies may call models side by side.
  let open = 0
  return (request, next) =>
    Effect.suspend(() => {
      const progress = state.progress()
      const tokens = Usage.total(progress.usage)
      if (maxTokens !== undefined && tokens >= maxTokens) return fatal(limitError(state, "tokens", maxTokens, tokens))
      const used = progress.modelCalls + open
      if (maxModelCalls !== undefined && used >= maxModelCalls) {
        return fatal(limitError(state, "model-calls", maxModelCalls, used))
      }
      open++
      return Effect.ensuring(
        next(request),
        Effect.sync(() => void open--)
      )
    })
}

/** Calls of tools by the run itself. */
export const toolLimits =
  (state: State, maxToolCalls: number): ToolRunner.ToolInterceptor =>
  (call, next) =>
    Effect.flatMap(Run.Run, (run) => {
      if (run.runId !== state.run.runId) return next(call)
      // The call itself is among those the events know of.
      const used = state.progress().toolCalls.length
      return used > maxToolCalls ? fatal(limitError(state, "tool-calls", maxToolCalls, used)) : next(call)
    })

/** Guards see the arguments of a call and what it shows. */
export const toolGuards =
  (state: State): ToolRunner.ToolInterceptor =>
  (call, next) =>
    Effect.gen(function* () {
      // Runs inside this one have guards of their own.
      if ((yield* Run.Run).runId !== state.run.runId) return yield* next(call)
      const context = { ...GuardChecks.context(state), toolName: call.name, toolCallId: call.id }
      let guarded = call
      if (GuardChecks.isGuarded(state, "toolInput")) {
        const text = typeof call.params === "string" ? call.params : (JSON.stringify(call.params) ?? "{}")
        const verdict = yield* asFatal(GuardChecks.check(state, "toolInput", text, context))
        if (verdict.blocked) return refusedCall(call, verdict.by.guardName)
        if (verdict.text !== text) guarded = { ...call, params: verdict.text }
      }
      const outcome = yield* next(guarded)
      if (!GuardChecks.isGuarded(state, "toolOutput")) return outcome
      const verdict = yield* asFatal(
        Effect.mapError(GuardChecks.check(state, "toolOutput", outcome.observation, context), (error) =>
          error instanceof GuardPipelineError
            ? new ToolObservationGuardError({ toolName: call.name, message: error.message, cause: error })
            : error
        )
      )
      if (verdict.blocked) {
        return yield* fatal(
          new ToolObservationBlockedError({
            toolName: call.name,
            message: `What "${call.name}" gave back was blocked by the guard "${verdict.by.guardName}"`
          })
        )
      }
      return verdict.text === outcome.observation
        ? outcome
        : { ...outcome, observation: verdict.text, result: verdict.text }
    })

const asFatal = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, ToolRunner.Fatality> =>
  Effect.mapError(effect, (error) =>
    error instanceof ToolRunner.Fatality ? error : new ToolRunner.Fatality({ error, toolName: "" })
  )

const refusedCall = (call: ToolRunner.ToolCall, guard: string): ToolRunner.Outcome => {
  const text = `Error: the call was blocked by the guard "${guard}". Do not repeat it with the same arguments`
  return {
    id: call.id,
    name: call.name,
    isFailure: true,
    result: text,
    observation: text,
    truncated: false,
    attempts: 0,
    error: { tag: "InputGuardError", code: "LEX_ERR_GUARD_002", message: text }
  }
}
