/**
 * The gate around model calls: a run's wrappers around the calls of its skills, tools, guards and memory. Each call is
 * counted here.
 *
 * A call passes the gate once, however many clients wrap one another; a strategy passes it itself (`ModelCall`).
 *
 * @private
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Ambient from "../../internal/fiber/Ambient.js"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as Run from "../../observability/Run.js"
import * as Step from "../../observability/Step.js"
import * as CallMeter from "./CallMeter.js"
import { CostEstimator } from "./CostEstimator.js"
import type * as LlmClient from "./LlmClient.js"
import type { LlmError } from "./LlmError.js"
import * as TokenCounter from "./TokenCounter.js"

/** Makes a call; the meter records its requests, and `wrappers` surround the call until it has ended. */
export type Call<E = LlmError> = (
  request: LlmClient.LlmRequest,
  meter?: LlmClient.Meter | undefined,
  wrappers?: ReadonlyArray<unknown> | undefined
) => Effect.Effect<LlmClient.LlmResponse, E>

/** The target of a call, as far as it is known before the answer. */
export interface Target {
  readonly provider: string
  readonly model?: string | undefined
}

/** The gate that calls pass. */
export type Pass = (
  request: LlmClient.LlmRequest,
  next: Call,
  target: Target
) => Effect.Effect<LlmClient.LlmResponse, LlmError>

export interface Gate {
  readonly pass: Pass
  /** Set inside a call that has passed: no gate applies to it any more. Separate calls made during it pass this one. */
  readonly passed?: Gate | undefined
  /** The wrappers around the calls that contain this one. */
  readonly within: ReadonlyArray<unknown>
}

const none: ReadonlyArray<unknown> = []

export const make = (pass: Pass): Gate => ({ pass, within: none })

/** Adds a gate inside the wrappers of the outer one. */
export const nest = (gate: Gate, outer: Gate): Gate =>
  outer.within.length === 0 ? gate : { pass: gate.pass, within: outer.within }

/** The gate inside a call that has passed, with these wrappers around it. */
export const gateInsideCall = ({ pass, within }: Gate, wrappers: ReadonlyArray<unknown>): Gate => {
  const passed = { pass, within: within.length === 0 ? wrappers : [...within, ...wrappers] }
  return { ...passed, passed }
}

/**
 * Reports the usage of a call to its run, even when the call is cut off; then at once, without anybody waiting for it.
 */
export const countUsage: Pass = (request, next, target) =>
  Effect.withFiberRuntime((fiber) => {
    const context = fiber.currentContext
    const run = Context.get(context, Run.Run)
    if (!Run.isCurrent(run)) return next(request)
    const meter = CallMeter.make(CallMeter.counts(TokenCounter.inContext(context)))
    const estimator = Context.get(context, CostEstimator)
    const step = Context.get(context, Step.Step)
    const lost = (exit: Exit.Exit<LlmClient.LlmResponse, LlmError>): void => {
      // The process that goes on makes the call again, and reports it.
      if (step.isSuspended()) return
      for (const { model, provider, usage } of meter.spent(exit)) {
        const costUsd = estimator.estimate({ provider, model, usage })
        void run.unsafeEmit({ _tag: "UsageReported", usage, provider, model, costUsd, cutOff: true })
      }
    }
    return Effect.tap(
      Effect.onExit(next(request, meter), (exit) => Effect.sync(() => lost(exit))),
      ({ finishReason, model = target.model, provider = target.provider, usage }) =>
        run.emit({
          _tag: "UsageReported",
          usage,
          provider,
          finishReason,
          model,
          costUsd: estimator.estimate({ provider, model, usage })
        })
    )
  })

/** Without limits and governance, a call is only counted. */
export class CallGate extends Ambient.Reference<CallGate>()("effect-lexigram/llm/CallGate", {
  defaultValue: (): Gate => make(countUsage)
}) {}

/** The consumer of the parts is outside the call. */
export const consumeOutside = (onParts: LlmClient.OnParts, { passed }: Gate): LlmClient.OnParts =>
  passed === undefined ? onParts : (parts) => Effect.provideService(onParts(parts), CallGate, passed)

/** The call inside a gate that it has passed. */
export const callThrough = (
  client: LlmClient.Service,
  request: LlmClient.LlmRequest,
  options: LlmClient.CompleteOptions | undefined,
  gate: Gate
): Effect.Effect<LlmClient.LlmResponse, LlmError> =>
  Effect.provideService(client.complete(request, options), CallGate, gate)

/** Work of a client besides the call itself: its own model calls pass the gate like any other. */
export const outsideCall = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) => {
    const { passed: gate } = Context.get(fiber.currentContext, CallGate)
    return gate === undefined ? effect : Effect.provideService(effect, CallGate, gate)
  })

const recordings = OnDemand.make(() => import("./RecordedCall.js"))

const wrapped = new WeakMap<LlmClient.Service, LlmClient.Service>()

/** The client behind the gate; a client that is already gated is returned unchanged. */
export const wrap = (client: LlmClient.Service): LlmClient.Service => {
  const known = wrapped.get(client)
  if (known !== undefined) return known
  const metered = CallMeter.metered(client)
  const gated: LlmClient.Service = {
    ...metered,
    complete: (request, options) =>
      Effect.withFiberRuntime((fiber) => {
        const gate = Context.get(fiber.currentContext, CallGate)
        if (gate.passed !== undefined) return metered.complete(request, options)
        const model = request.settings?.model ?? client.model
        const { onParts, ...rest } = options ?? {}
        const step = Context.get(fiber.currentContext, Step.Step)
        return gate.pass(
          request,
          (asked, meter, wrappers) => {
            const own = gateInsideCall(gate, wrappers ?? none)
            const heard = onParts === undefined ? undefined : consumeOutside(onParts, own)
            const metering = CallMeter.both(rest.meter, meter)
            const call = (given: LlmClient.CompleteOptions) => callThrough(metered, asked, { ...rest, ...given }, own)
            if (Step.isRecording(step)) {
              const counts = CallMeter.counts(TokenCounter.inContext(fiber.currentContext))
              return Effect.flatMap(recordings, ({ run }) =>
                run(step, asked, { counts, meter: metering, onParts: heard, onRecorded: heard }, call)
              )
            }
            return call({ ...(heard === undefined ? {} : { onParts: heard }), meter: metering })
          },
          { provider: client.provider, model }
        )
      })
  }
  wrapped.set(client, gated)
  wrapped.set(gated, gated)
  return gated
}
