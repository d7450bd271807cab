/**
 * The gate for model calls that a strategy does not make itself: those of tools, skills, guards and memory.
 *
 * @private
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Ambient from "../../internal/fiber/Ambient.js"
import * as CallGate from "../../llm/model/CallGate.js"
import * as CallMeter from "../../llm/model/CallMeter.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import { LlmCallRefusedError, type LlmError } from "../../llm/model/LlmError.js"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import * as Run from "../../observability/Run.js"
import { Fatality } from "../../tool/ToolRunner.js"
import { type ModelCallInterceptor, ModelCallInterceptors, type Target } from "../definition/ModelCall.js"

/** True in calls that no strategy makes. */
export class IsSide extends Ambient.Reference<IsSide>()("effect-lexigram/strategy/SideCalls/IsSide", {
  defaultValue: (): boolean => false
}) {}

/** Wraps a call in interceptors. Each one meters the requests sent from inside it. */
export const intercept = ({
  call,
  counts,
  interceptors,
  target
}: {
  readonly interceptors: ReadonlyArray<ModelCallInterceptor>
  readonly call: CallGate.Call<LlmError | Fatality>
  readonly target: (request: LlmClient.LlmRequest) => Target
  readonly counts: CallMeter.Counts
}): CallGate.Call<LlmError | Fatality> =>
  interceptors.reduceRight<CallGate.Call<LlmError | Fatality>>(
    (next, interceptor) => (request, outer) => {
      const meter = CallMeter.make(counts, outer)
      return interceptor(request, (request) => next(request, meter), target(request), meter.spent)
    },
    call
  )

const toLlmError = (error: LlmError | Fatality, { model, provider }: Target): LlmError => {
  if (!(error instanceof Fatality)) return error
  const cause = error.error
  const message = cause instanceof Error ? cause.message : String(cause)
  return new LlmCallRefusedError({
    provider,
    ...(model === undefined ? {} : { model }),
    message: `The model call was refused: ${message}`,
    hint: "Raise what limits the run, or do without this call",
    cause
  })
}

/**
 * The gate of runs and budgets for side calls. Calls pass the interceptors in context and report their usage to the
 * run. A failure that would end the run of a strategy is an `LlmCallRefusedError` here. A call that outlives its run is
 * not intercepted.
 */
export const gate: CallGate.Gate = CallGate.make((request, next, target) =>
  Effect.withFiberRuntime((fiber) => {
    const context = fiber.currentContext
    if (Context.get(context, Run.Run).isOver()) return next(request)
    const interceptors = Context.get(context, ModelCallInterceptors)
    if (interceptors.length === 0) return CallGate.countUsage(request, next, target)
    const call = intercept({
      interceptors,
      call: (request, meter) => next(request, meter, interceptors),
      target: ({ settings }) => ({ ...target, model: settings?.model ?? target.model }),
      counts: CallMeter.counts(TokenCounter.inContext(context))
    })
    return CallGate.countUsage(
      request,
      (asked, meter) =>
        Effect.mapError(Effect.provideService(call(asked, meter), IsSide, true), (error) => toLlmError(error, target)),
      target
    )
  })
)
