/**
 * What a run puts around the model calls of everything that goes on in it: its strategy, tools, skills, guards and
 * memory.
 *
 * @internal
 * @since 0.1.0
 */

import * as Context from "effect/Context"
import * as Attribution from "../governance/store/Attribution.js"
import * as CallGate from "../llm/model/CallGate.js"
import { CostEstimator } from "../llm/model/CostEstimator.js"
import * as TokenCounter from "../llm/model/TokenCounter.js"
import * as ModelCall from "../strategy/definition/ModelCall.js"
import * as SideCalls from "../strategy/reasoning/SideCalls.js"
import { governanceOf } from "./definition/RunIdentity.js"
import type { State } from "./definition/Stage.js"
import * as GovernedCalls from "./stage/GovernedCalls.js"
import * as RunInterceptors from "./stage/RunInterceptors.js"

/**
 * What the context of a run holds beside what it is given: its limits and its governance, inside of those around it.
 */
export const inside = (state: State, given: Context.Context<never>): Context.Context<never> => {
  const { classifications, tenantId } = state
  const calls = limited(state, given)
  return tenantId === undefined && classifications.length === 0
    ? calls
    : Context.add(calls, Attribution.Attribution, { tenantId, classifications })
}

const limited = (state: State, given: Context.Context<never>): Context.Context<never> => {
  const { agent, uses } = state
  const { limits } = agent.definition
  const { maxCostUsd, maxModelCalls } = limits
  const maxTokens = limits.maxTokens ?? uses.config.maxRunTokens
  const isLimited = maxTokens !== undefined || maxModelCalls !== undefined || maxCostUsd !== undefined
  const governance = governanceOf(state)
  const governed = governance.enabled !== false
  const gate = CallGate.inside(SideCalls.gate, Context.get(given as Context.Context<never>, CallGate.CallGate))
  const ungoverned = Context.make(CallGate.CallGate, gate)
  if (!isLimited && !governed) return ungoverned
  const current = given as Context.Context<CostEstimator | GovernedCalls.Governor | ModelCall.ModelCallInterceptors>
  const counter = TokenCounter.inContext(given)
  const budget = {
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(maxModelCalls === undefined ? {} : { maxModelCalls }),
    ...(maxCostUsd === undefined ? {} : { maxCostUsd })
  }
  const estimator = Context.get(current, CostEstimator)
  const context = Context.add(ungoverned, ModelCall.ModelCallInterceptors, [
    ...Context.get(current, ModelCall.ModelCallInterceptors),
    ...(isLimited ? [RunInterceptors.modelBudget(state, budget, { counter, estimator }).interceptor] : []),
    ...(governed
      ? [GovernedCalls.make(state, governance, { counter, defaultOutput: uses.config.defaultMaxTokens })]
      : [])
  ])
  if (!governed) return context
  const outer = Context.get(current, GovernedCalls.Governor).innermost
  return Context.add(context, GovernedCalls.Governor, { innermost: { state, outer } })
}
