/**
 * The context of a run: its span, the services of its executor, its limits and its governance. They hold for the model
 * calls of its strategy, tools, skills, guards and memory alike.
 *
 * @private
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { SessionId, UserId } from "../domain/Ids.js"
import * as Usage from "../domain/Usage.js"
import * as Attribution from "../governance/store/Attribution.js"
import * as Ambient from "../internal/fiber/Ambient.js"
import * as CallTimer from "../internal/fiber/CallTimer.js"
import * as Services from "../internal/fiber/Services.js"
import * as Spanned from "../internal/fiber/Spanned.js"
import * as CallGate from "../llm/model/CallGate.js"
import * as TokenCounter from "../llm/model/TokenCounter.js"
import * as Run from "../observability/Run.js"
import * as Telemetry from "../observability/Telemetry.js"
import * as ModelCall from "../strategy/definition/ModelCall.js"
import type { Answer } from "../strategy/definition/Strategy.js"
import * as SideCalls from "../strategy/reasoning/SideCalls.js"
import * as ApprovalGate from "../tool/approval/ApprovalGate.js"
import { governanceOf } from "./definition/RunIdentity.js"
import type { State } from "./definition/Stage.js"
import type { RunPolicy } from "./record/RunPolicy.js"
import * as GovernedCalls from "./stage/GovernedCalls.js"
import * as RunInterceptors from "./stage/RunInterceptors.js"

/** The policy of the run around, as far as runs inside have it too. */
export class InheritedPolicy extends Ambient.Reference<InheritedPolicy>()("effect-lexigram/agent/InheritedPolicy", {
  defaultValue: (): RunPolicy | undefined => undefined
}) {}

/** The policy of a run: its own over that of the run around. */
export const policyOf = (context: Context.Context<never>, own: RunPolicy | undefined): RunPolicy | undefined => {
  const outer = Context.get(context, InheritedPolicy)
  if (outer === undefined || own === undefined) return own ?? outer
  // A run that is not to undo its calls has none inside that does.
  return { ...outer, ...own, compensate: outer.compensate === false ? false : own.compensate }
}

/** The limits, the governance and the attribution of a run, inside those of the runs around it. */
const bounds = (state: State, given: Context.Context<never>): Context.Context<never> => {
  const { classifications, tenantId } = state
  const calls = limited(state, given)
  return tenantId === undefined && classifications.length === 0
    ? calls
    : Context.add(calls, Attribution.Attribution, { tenantId, classifications })
}

const limited = (state: State, given: Context.Context<never>): Context.Context<never> => {
  const { agent, uses } = state
  const { limits } = agent.definition
  const governance = governanceOf(state)
  const governed = governance.enabled !== false
  const gate = CallGate.nest(SideCalls.gate, Context.get(given as Context.Context<never>, CallGate.CallGate))
  const ungoverned = Context.make(CallGate.CallGate, gate)
  const current = given as Context.Context<GovernedCalls.Governor | ModelCall.ModelCallInterceptors>
  const maxTokens = limits.maxTokens ?? uses.config.maxRunTokens
  const budgets = RunInterceptors.modelBudgets(state, { ...limits, maxTokens }, given)
  if (budgets.length === 0 && !governed) return ungoverned
  const counter = TokenCounter.inContext(given)
  const context = Context.add(ungoverned, ModelCall.ModelCallInterceptors, [
    ...Context.get(current, ModelCall.ModelCallInterceptors),
    ...budgets,
    ...(governed
      ? [GovernedCalls.make(state, governance, { counter, defaultOutput: uses.config.defaultMaxTokens })]
      : [])
  ])
  if (!governed) return context
  const outer = Context.get(current, GovernedCalls.Governor).innermost
  return Context.add(context, GovernedCalls.Governor, { innermost: { state, outer } })
}

interface Requester {
  readonly userId?: UserId | undefined
  readonly sessionId?: SessionId | undefined
}

/**
 * The requester of approvals: a run inside another one works for the same user and session unless its request names
 * others.
 */
const requesterOf = ({ sessionId, userId }: State, outer: Requester | undefined): Requester => ({
  userId: userId ?? outer?.userId,
  sessionId: sessionId ?? (userId === undefined || userId === outer?.userId ? outer?.sessionId : undefined)
})

/** Adds the span of a run, its context and its timer to an effect; `own` are the services of the executor. */
export const withRunContext = (
  state: State,
  own: Context.Context<never>,
  effect: Effect.Effect<Answer, unknown, unknown>
): Effect.Effect<Answer, unknown, unknown> => {
  const named = state.sessionId !== undefined || state.userId !== undefined
  const timer = CallTimer.kept(Spanned.currentFiber())
  if (!state.run.telemetry.tracing) {
    const provided = Effect.mapInputContext(effect, (current: Context.Context<any>) => {
      const given = Context.merge(current, own)
      const context = Context.merge(given, bounds(state, given)).pipe(
        Context.add(Run.Run, state.run),
        Context.add(CallTimer.Shared, timer)
      )
      return named
        ? Context.add(
            context,
            ApprovalGate.Requester,
            requesterOf(state, Context.get(current as Context.Context<any>, ApprovalGate.Requester))
          )
        : context
    })
    return Spanned.watch(provided, () => () => timer.release())
  }
  return Spanned.run(
    `${Telemetry.SPAN_AGENT_EXECUTE}.${state.agent.name}`,
    {
      attributes: Telemetry.execute({
        agent: state.agent.name,
        messageLength: state.input.length,
        ...(state.sessionId === undefined ? {} : { sessionId: state.sessionId })
      })
    },
    effect,
    (exit, span) => {
      timer.release()
      if (Exit.isFailure(exit)) span.attribute(Telemetry.attribute.errorType, Telemetry.errorType(exit.cause))
      const progress = state.progress()
      span.attribute(Telemetry.attribute.steps, progress.steps.length)
      span.attribute(Telemetry.attribute.tokens, Usage.total(progress.usage))
      span.attribute(Telemetry.attribute.toolCalls, progress.toolCalls.length)
    },
    (services) => {
      Services.copyInto(services, own)
      Services.copyInto(services, bounds(state, Context.unsafeMake(services)))
      services.set(Run.Run.key, state.run)
      services.set(CallTimer.Shared.key, timer)
      const { key } = ApprovalGate.Requester
      if (named) services.set(key, requesterOf(state, services.get(key) as Requester | undefined))
    }
  )
}
