/**
 * Model calls under governance: what a call may cost is set aside before it, and replaced by what it did cost.
 *
 * @internal
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { RunId } from "../domain/Ids.js"
import type * as Governance from "../governance/Governance.js"
import * as Ambient from "../internal/Ambient.js"
import { CostEstimator } from "../llm/CostEstimator.js"
import * as TokenCounter from "../llm/TokenCounter.js"
import * as Run from "../observability/Run.js"
import type * as ModelCall from "../strategy/ModelCall.js"
import { Fatality } from "../tool/ToolRunner.js"
import { governanceOf, requester } from "./RunIdentity.js"
import { conclude, type State } from "./Stage.js"

/** A run under a governance, and the one it stands in. */
export interface Governed {
  readonly state: State
  readonly outer: Governed | undefined
}

/**
 * Which run's governance a model call is under: the innermost one that has one.
 */
export class Governor extends Ambient.Reference<Governor>()("effect-lexigram/agent/GovernedCalls/Governor", {
  defaultValue: (): { readonly innermost: Governed | undefined } => ({ innermost: undefined })
}) {}

/** The run whose budget a new one shares: the outermost it stands in that is under the same governance, else itself. */
export const budgetOf = (context: Context.Context<never>, governance: Governance.Service, runId: RunId): RunId => {
  if (governance.enabled === false) return runId
  let above = Context.get(context as Context.Context<Governor>, Governor).innermost
  while (above !== undefined && governanceOf(above.state) !== governance) above = above.outer
  return above === undefined ? runId : above.state.budgetRunId
}

const fatal = (error: unknown) => new Fatality({ error, toolName: "" })

export const make = (
  state: State,
  governance: Governance.Service,
  services: { readonly counter: TokenCounter.Service; readonly defaultOutput: number }
): ModelCall.ModelCallInterceptor => {
  const inputOf = TokenCounter.forRequests(services.counter)
  return (request, next, target) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.contextWithEffect((context: Context.Context<never>) => {
        const references = context as Context.Context<Governor | Run.Run | CostEstimator>
        if (Context.get(references, Governor).innermost?.state !== state) return restore(next(request))
        const run = Context.get(references, Run.Run)
        const estimator = Context.get(references, CostEstimator)
        const reserved = governance.reserve({
          ...requester(state),
          runId: run.runId,
          agent: run.agent,
          provider: target.provider,
          ...(target.model === undefined ? {} : { model: target.model }),
          inputTokens: inputOf(request),
          maxOutputTokens: request.settings?.maxTokens ?? services.defaultOutput
        })
        return Effect.flatMap(Effect.mapError(reserved, fatal), (reservation) =>
          Effect.matchCauseEffect(restore(next(request)), {
            onSuccess: (response) => {
              const provider = response.provider ?? target.provider
              const model = response.model ?? target.model
              const cost = estimator.estimate({ provider, model, usage: response.usage })
              const settlement = {
                provider,
                ...(model === undefined ? {} : { model }),
                ...(cost === undefined ? {} : { cost })
              }
              return Effect.as(
                conclude(governance.settle(reservation, response.usage, settlement), {
                  state,
                  stage: "governance settle"
                }),
                response
              )
            },
            onFailure: (cause) =>
              Effect.zipRight(
                conclude(governance.refund(reservation), { state, stage: "governance refund" }),
                Effect.failCause(cause)
              )
          })
        )
      })
    )
}
