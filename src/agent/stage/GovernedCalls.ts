/**
 * Model calls under governance: the maximum cost of a call is reserved before it, and settled by its actual cost, even
 * if it was cut off.
 *
 * @private
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { RunId } from "../../domain/Ids.js"
import type * as Usage from "../../domain/Usage.js"
import type * as Governance from "../../governance/Governance.js"
import * as Ambient from "../../internal/fiber/Ambient.js"
import * as CallMeter from "../../llm/model/CallMeter.js"
import * as CostEstimator from "../../llm/model/CostEstimator.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import * as ResumedCall from "../../llm/model/ResumedCall.js"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import * as Run from "../../observability/Run.js"
import * as Step from "../../observability/Step.js"
import type * as ModelCall from "../../strategy/definition/ModelCall.js"
import { Fatality } from "../../tool/ToolRunner.js"
import * as RecordedStages from "../definition/RecordedStages.js"
import { governanceOf, requester } from "../definition/RunIdentity.js"
import type { State } from "../definition/Stage.js"

/** A run under a governance, and the one that contains it. */
export interface Governed {
  readonly state: State
  readonly outer: Governed | undefined
}

/** The innermost run with a governance: its governance applies to a model call. */
export class Governor extends Ambient.Reference<Governor>()("effect-lexigram/agent/GovernedCalls/Governor", {
  defaultValue: (): { readonly innermost: Governed | undefined } => ({ innermost: undefined })
}) {}

/** The run whose budget a new one shares: the outermost one under the same governance, else itself. */
export const budgetOf = (context: Context.Context<never>, governance: Governance.Service, runId: RunId): RunId => {
  if (governance.enabled === false) return runId
  let above = Context.get(context as Context.Context<Governor>, Governor).innermost
  while (above !== undefined && governanceOf(above.state) !== governance) above = above.outer
  return above === undefined ? runId : above.state.budgetRunId
}

const fatal = (error: unknown) => new Fatality({ error, toolName: "" })

type Exited = Exit.Exit<LlmClient.LlmResponse, unknown>

/**
 * The whole usage of a call, and its cost if every price is known; `undefined` if nothing was sent or everything was
 * refused.
 */
const usedBy = (
  reservation: Governance.Reservation,
  exit: Exited,
  lost: ReadonlyArray<LlmClient.Spent>,
  estimator: CostEstimator.Service
): { readonly usage: Usage.Usage; readonly settlement: Governance.Settlement } | undefined => {
  const answer = Exit.isSuccess(exit) ? exit.value : undefined
  if (answer === undefined && lost.length === 0) return undefined
  const last = answer ?? lost[lost.length - 1]
  const provider = last?.provider ?? reservation.provider ?? ""
  const model = last?.model ?? reservation.model
  // Usage that an answer does not report counts as reserved, in addition to what else was spent.
  const given = answer === undefined || lost.length === 0 ? answer?.usage : assumed(reservation, answer.usage)
  const calls = given === undefined ? lost : [...lost, { provider, model, usage: given }]
  let cost: number | undefined = 0
  for (const call of calls) {
    const one = estimator.estimate(call)
    cost = cost === undefined || one === undefined ? undefined : cost + one
  }
  return {
    usage: calls.length === 1 && given !== undefined ? given : CallMeter.total(calls),
    settlement: { provider, ...(model === undefined ? {} : { model }), ...(cost === undefined ? {} : { cost }) }
  }
}

const assumed = ({ inputTokens, maxOutputTokens }: Governance.Reservation, usage: Usage.Usage): Usage.Usage =>
  usage.totalTokens !== undefined
    ? usage
    : { ...usage, inputTokens: usage.inputTokens ?? inputTokens, outputTokens: usage.outputTokens ?? maxOutputTokens }

/** A call with a reservation of a process that ended, which is taken over if the call is made again. */
const resumed = <A, E, R>(
  governance: Governance.Service,
  reservation: Governance.Reservation,
  call: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(ResumedCall.ResumedCall, (outer) => {
    const adopted = governance.adopt?.(reservation) ?? Effect.void
    return Effect.provideService(call, ResumedCall.ResumedCall, {
      before: Effect.zipRight(outer.before, Effect.orDie(adopted))
    })
  })

export const make = (
  state: State,
  governance: Governance.Service,
  services: { readonly counter: TokenCounter.Service; readonly defaultOutput: number }
): ModelCall.ModelCallInterceptor => {
  const inputOf = TokenCounter.forRequests(services.counter)
  return (request, next, target, lost) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.contextWithEffect((context: Context.Context<never>) => {
        const references = context as Context.Context<Governor | Run.Run | CostEstimator.CostEstimator>
        if (Context.get(references, Governor).innermost?.state !== state) return restore(next(request))
        const run = Context.get(references, Run.Run)
        const estimator = Context.get(references, CostEstimator.CostEstimator)
        const step = Context.get(context as Context.Context<Step.Step>, Step.Step)
        const isRecording = Step.isRecording(step)
        let isLive = !isRecording
        const reserved = RecordedStages.reservation(
          governance.reserve({
            ...(isRecording ? { recorded: true } : {}),
            ...requester(state),
            runId: run.runId,
            agent: run.agent,
            provider: target.provider,
            ...(target.model === undefined ? {} : { model: target.model }),
            inputTokens: inputOf(request),
            maxOutputTokens: request.settings?.maxTokens ?? services.defaultOutput
          }),
          () => {
            isLive = true
          }
        )
        return Effect.flatMap(Effect.mapError(reserved, fatal), (reservation) =>
          Effect.onExit(restore(isLive ? next(request) : resumed(governance, reservation, next(request))), (exit) => {
            // The run that goes on settles the reservation, which is recorded.
            if (step.isSuspended()) return Effect.void
            const used = usedBy(reservation, exit, lost(exit), estimator)
            return used === undefined
              ? RecordedStages.concluded(governance.refund(reservation), { state, stage: "governance refund" })
              : RecordedStages.concluded(governance.settle(reservation, used.usage, used.settlement), {
                  state,
                  stage: "governance settle"
                })
          })
        )
      })
    )
}
