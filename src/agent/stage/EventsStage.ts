/**
 * Outermost stage: emits the first event, the message and the last event of a run, and publishes its domain events.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { type ErrorInfo, errorInfo } from "../../domain/ErrorInfo.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Usage from "../../domain/Usage.js"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as Spanned from "../../internal/fiber/Spanned.js"
import * as AgentDomainEvents from "../../observability/AgentDomainEvents.js"
import * as AgentHooks from "../../observability/AgentHooks.js"
import * as DomainEvent from "../../observability/DomainEvent.js"
import * as StepTooLargeError from "../../observability/journal/StepTooLargeError.js"
import * as Run from "../../observability/Run.js"
import * as StepModule from "../../observability/Step.js"
import type { Answer } from "../../strategy/definition/Strategy.js"
import * as Strategy from "../../strategy/definition/Strategy.js"
import { Fatality } from "../../tool/ToolRunner.js"
import { infoOf } from "../definition/RunIdentity.js"
import { conclude, type Stage, type State } from "../definition/Stage.js"
import * as GuardChecks from "./GuardChecks.js"

const compensations = OnDemand.make(() => import("../conversation/UndoneCalls.js"))

const failureOf = (exit: Exit.Failure<unknown, unknown>): ErrorInfo => {
  if (Cause.isInterruptedOnly(exit.cause)) return { tag: "InterruptedError", message: "The run was interrupted" }
  const failure = Cause.failureOption(exit.cause)
  if (Option.isNone(failure)) {
    const tooLarge = StepTooLargeError.inCause(exit.cause)
    return tooLarge === undefined ? { tag: "Defect", message: "The run crashed" } : errorInfo(tooLarge)
  }
  return errorInfo(failure.value instanceof Fatality ? failure.value.error : failure.value)
}

/** The screened failure. */
const shownFailure = ({ notes }: State, exit: Exit.Failure<unknown, unknown>): ErrorInfo => {
  const failure = failureOf(exit)
  return notes.screened === undefined || Cause.isInterruptedOnly(exit.cause)
    ? failure
    : Run.screenedError(notes.screened, failure)
}

const announceStart = (state: State): void =>
  state.run.announce(() =>
    DomainEvent.make(AgentDomainEvents.AgentExecutionStartedEvent, {
      aggregateId: state.run.runId,
      actorId: state.userId,
      fields: { agentName: state.agent.name, sessionId: state.sessionId, userId: state.userId }
    })
  )

const announceEnd = (state: State, exit: Exit.Exit<Answer, unknown>, durationMs: number): void => {
  const { agent, run, userId } = state
  const about = { aggregateId: run.runId, actorId: userId }
  run.announce(() => {
    if (Exit.isFailure(exit)) {
      const { message, tag } = shownFailure(state, exit)
      return DomainEvent.make(AgentDomainEvents.AgentExecutionFailedEvent, {
        ...about,
        fields: { agentName: agent.name, error: message, errorType: tag }
      })
    }
    const { costUsd, steps, toolCalls, usage } = state.progress()
    return DomainEvent.make(AgentDomainEvents.AgentExecutionCompletedEvent, {
      ...about,
      fields: {
        agentName: agent.name,
        sessionId: state.notes.session?.id ?? state.sessionId,
        steps: steps.length,
        toolCalls: toolCalls.length,
        totalTokens: Usage.total(usage),
        promptTokens: usage.inputTokens ?? 0,
        completionTokens: usage.outputTokens ?? 0,
        totalCost: costUsd,
        durationMs
      }
    })
  })
  run.announce(() =>
    DomainEvent.make(AgentDomainEvents.AgentRunCompletedEvent, {
      ...about,
      fields: {
        agentId: agent.name,
        runId: run.runId,
        toolCallsCount: state.progress().toolCalls.length,
        success: Exit.isSuccess(exit)
      }
    })
  )
}

/**
 * Emits `Started` first, `Message` when there is an answer, and in any case exactly one `Finished` or `Error`. A
 * durable run that is suspended has not ended.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage = {
  name: "events",
  wrap: (state, next) =>
    // Uninterruptible up to the run itself, so that a run has both its first and its last event, or none.
    Effect.uninterruptibleMask((restore) => {
      const fiber = Spanned.currentFiber()
      const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
      const step = Context.get(fiber.currentContext as Context.Context<StepModule.Step>, StepModule.Step)
      const startedAt = clock.unsafeCurrentTimeMillis()
      const { agent, run, uses } = state
      const { hooks } = run
      const ended = (exit: Exit.Exit<Answer, any>): typeof exit => {
        const durationMs = clock.unsafeCurrentTimeMillis() - startedAt
        announceEnd(state, exit, durationMs)
        Strategy.emitTerminal(state.notes.screened ?? run, exit, durationMs, state.notes.session?.id)
        return exit
      }
      const finish = (exit: Exit.Exit<Answer, any>): Effect.Effect<Answer, any> => {
        if (!hooks.has(AgentHooks.AgentCompletedHook)) return ended(exit)
        const payload = {
          ...infoOf(state),
          success: Exit.isSuccess(exit),
          interrupted: Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause),
          error: Exit.isFailure(exit) ? shownFailure(state, exit) : undefined,
          durationMs: clock.unsafeCurrentTimeMillis() - startedAt
        }
        return Effect.flatMap(
          conclude(hooks.call(AgentHooks.AgentCompletedHook, payload), { state, stage: "hooks" }),
          () => ended(exit)
        )
      }
      const end = (exit: Exit.Exit<Answer, any>): Effect.Effect<Answer, any> => {
        if (step.isSuspended()) return exit
        if (run.sink.undoable?.calls === undefined) return finish(exit)
        return Effect.flatMap(compensations, ({ settle }) => settle(run, exit, finish))
      }
      const wait = run.unsafeEmit({
        _tag: "Started",
        input: GuardChecks.isGuarded(state, "input") ? "" : state.input,
        strategy: agent.definition.strategy?.name ?? "react",
        provider: uses.client.provider,
        model: state.settings.model ?? uses.client.model,
        sessionId: state.sessionId,
        userId: state.userId,
        ...(state.userId === undefined && SystemAccess.isGrant(state.held) ? { system: true as const } : {})
      })
      announceStart(state)
      const begun = hooks.has(AgentHooks.AgentStartedHook)
        ? Effect.flatMap(hooks.call(AgentHooks.AgentStartedHook, infoOf(state)), () => next(state))
        : undefined
      const first = () => begun ?? next(state)
      const inside = wait === undefined ? first() : Effect.flatMap(wait, first)
      const answered = Effect.flatMap(inside, (answer) => {
        const said = run.unsafeEmit({ _tag: "Message", text: answer.text, output: answer.output })
        return said === undefined ? Effect.succeed(answer) : Effect.as(said, answer)
      })
      const { endings } = step
      const program =
        endings === undefined ? answered : Effect.flatMap(compensations, ({ begin }) => begin(run, endings, answered))
      return Effect.matchCauseEffect(restore(program), {
        onFailure: (cause) => end(Exit.failCause(cause)),
        onSuccess: (answer) => end(Exit.succeed(answer))
      })
    })
}
