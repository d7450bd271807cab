/**
 * A budget that many model calls draw on at once: what a call may use at most is reserved before it begins, and what it
 * did use is booked when it has ended, also where it was cut off. A call that was refused or never sent gives
 * everything back.
 *
 * @internal
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { AgentEvent, Body } from "../../domain/AgentEvent.js"
import * as Usage from "../../domain/Usage.js"
import * as CallGate from "../../llm/model/CallGate.js"
import type { Service as CostEstimator } from "../../llm/model/CostEstimator.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import { Fatality } from "../../tool/ToolRunner.js"
import type * as ModelCall from "../definition/ModelCall.js"

export interface Limits {
  readonly maxModelCalls?: number | undefined
  readonly maxTokens?: number | undefined
  readonly maxCostUsd?: number | undefined
  /** Reserved for an answer whose length the request does not bound. */
  readonly outputTokens?: number | undefined
}

/** Less than this is no room for an answer. */
const leastOutput = 16

export const defaultOutput = 4096

interface Amount {
  readonly calls: number
  readonly tokens: number
  readonly cost: number
}

interface Reserved {
  readonly request: LlmClient.LlmRequest
  readonly amount: Amount
}

/** Why a call does not fit. */
export interface Refusal {
  readonly limitType: "model-calls" | "tokens" | "cost"
  readonly limit: number
  readonly used: number
  /** The model whose price is not known, where that is why. */
  readonly unpriced?: string | undefined
}

class Refused<E> {
  constructor(readonly error: E) {}
}

interface Waiter<E> {
  readonly attempt: (waits: boolean) => Reserved | Refused<E> | undefined
  result: Reserved | Refused<E> | undefined
  resume: () => void
}

export interface Budget<E> {
  readonly interceptor: ModelCall.ModelCallInterceptor
  /** Books what a model call used that the interceptor has not seen: one whose outcome was recorded before. */
  readonly see: (event: Body | AgentEvent) => void
  /** Whether it was this budget that refused. */
  readonly refused: (error: unknown) => error is E
}

/** Calls of one key are worth the same: which of them an event belongs to makes no difference. */
const keyOf = (call: {
  readonly provider?: string | undefined
  readonly model?: string | undefined
  readonly usage: Usage.Usage
}): string => {
  const { cacheWriteTokens, cachedInputTokens, estimatedTokens, inputTokens, outputTokens, totalTokens } = call.usage
  const tokens = [inputTokens, outputTokens, totalTokens, cachedInputTokens, cacheWriteTokens, estimatedTokens]
  return [call.provider, call.model, ...tokens].join("\u0000")
}

const add = (a: Amount, b: Amount, sign: 1 | -1): Amount => ({
  calls: a.calls + sign * b.calls,
  tokens: a.tokens + sign * b.tokens,
  cost: a.cost + sign * b.cost
})

/** Sums of dollars are not exact: a limit is passed by more than their rounding. */
const over = (cost: number, limit: number): boolean => cost > limit + 1e-9 * Math.max(1, limit)

export const make = <E extends object>(
  limits: Limits,
  options: {
    readonly counter: TokenCounter.Service
    readonly estimator: CostEstimator
    readonly fail: (refusal: Refusal) => E
  }
): Budget<E> => {
  const { maxCostUsd, maxModelCalls, maxTokens } = limits
  const { estimator } = options
  const inputOf = TokenCounter.forRequests(options.counter)
  const counts = maxTokens !== undefined || maxCostUsd !== undefined
  const refusals = new WeakSet<object>()
  // Of calls that were booked when they answered and whose event is still to come.
  const booked = new Map<string, number>()
  let spent: Amount = { calls: 0, tokens: 0, cost: 0 }
  let held: Amount = { calls: 0, tokens: 0, cost: 0 }
  const queue: Array<Waiter<E>> = []

  const refuse = (refusal: Refusal): Refused<E> => {
    const error = options.fail(refusal)
    refusals.add(error)
    return new Refused(error)
  }

  const exceeded = (limitType: Refusal["limitType"], limit: number, used: number): Refused<E> =>
    refuse({ limitType, limit, used })

  /** What the call would hold; `undefined` when others are to settle first. */
  const reservation = (request: LlmClient.LlmRequest, target: ModelCall.Target): Waiter<E>["attempt"] => {
    const input = counts ? inputOf(request) : 0
    const wanted = request.settings?.maxTokens ?? limits.outputTokens ?? defaultOutput
    const priceOf = (outputTokens: number): number | undefined =>
      maxCostUsd === undefined
        ? 0
        : estimator.estimate({
            provider: target.provider,
            model: target.model,
            usage: { inputTokens: input, outputTokens, totalTokens: input + outputTokens }
          })
    const fits = (cost: number, tokens: number): "tokens" | "cost" | undefined => {
      if (maxTokens !== undefined && spent.tokens + held.tokens + tokens > maxTokens) return "tokens"
      if (maxCostUsd !== undefined && over(spent.cost + held.cost + cost, maxCostUsd)) return "cost"
      return undefined
    }
    return (waits) => {
      const alone = held.calls === 0 || !waits
      if (maxModelCalls !== undefined && spent.calls + held.calls + 1 > maxModelCalls) {
        return alone || spent.calls >= maxModelCalls ? exceeded("model-calls", maxModelCalls, spent.calls) : undefined
      }
      if (!counts) return { request, amount: { calls: 1, tokens: 0, cost: 0 } }
      const price = priceOf(wanted)
      if (price === undefined) {
        const unpriced = target.model ?? "the model"
        return refuse({ limitType: "cost", limit: maxCostUsd ?? 0, used: spent.cost, unpriced })
      }
      let output = wanted
      let cost = price
      let missing = fits(cost, input + output)
      if (missing !== undefined && !alone) return undefined
      if (missing !== undefined) {
        // Nobody will give anything back: a shorter answer may still fit.
        const byTokens = maxTokens === undefined ? wanted : Math.floor(maxTokens - spent.tokens - input)
        const nothing = priceOf(0) ?? 0
        const perToken = (price - nothing) / wanted
        const byCost =
          maxCostUsd === undefined || perToken <= 0
            ? wanted
            : Math.floor((maxCostUsd - spent.cost - nothing) / perToken)
        output = Math.min(wanted, byTokens, byCost)
        cost = priceOf(Math.max(0, output)) ?? price
        if (output >= Math.min(wanted, leastOutput)) missing = fits(cost, input + output)
      }
      if (missing === "tokens") return exceeded("tokens", maxTokens ?? 0, spent.tokens)
      if (missing === "cost") return exceeded("cost", maxCostUsd ?? 0, spent.cost)
      return {
        request: { ...request, settings: ModelSettings.merge(request.settings ?? {}, { maxTokens: output }) },
        amount: { calls: 1, tokens: maxTokens === undefined ? 0 : input + output, cost }
      }
    }
  }

  /** Hands what there is to those who wait, in the order they came. */
  const serve = (): void => {
    while (queue.length > 0) {
      const waiter = queue[0] as Waiter<E>
      const result = waiter.attempt(true)
      if (result === undefined) return
      queue.shift()
      waiter.result = result
      if (!(result instanceof Refused)) held = add(held, result.amount, 1)
      waiter.resume()
    }
  }

  const refund = (reserved: Reserved): void => {
    held = add(held, reserved.amount, -1)
    serve()
  }

  const book = (call: Parameters<typeof keyOf>[0] & { readonly provider: string }, otherwise: Amount): void => {
    // What was not reported counts as all that was reserved: not known is not nothing.
    const tokens = Usage.total(call.usage)
    const cost = maxCostUsd === undefined ? 0 : estimator.estimate(call)
    spent = add(
      spent,
      { calls: otherwise.calls, tokens: tokens === 0 ? otherwise.tokens : tokens, cost: cost ?? otherwise.cost },
      1
    )
    const key = keyOf(call)
    booked.set(key, (booked.get(key) ?? 0) + 1)
  }

  const settle = (
    reserved: Reserved,
    exit: Exit.Exit<LlmClient.LlmResponse, unknown>,
    target: ModelCall.Target,
    lost: ReadonlyArray<LlmClient.Spent>
  ): void => {
    held = add(held, reserved.amount, -1)
    for (const call of lost) book(call, { ...reserved.amount, calls: 0 })
    if (Exit.isSuccess(exit)) {
      const { model, provider, usage } = exit.value
      book({ provider: provider ?? target.provider, model: model ?? target.model, usage }, reserved.amount)
    }
    serve()
  }

  const reserve = (
    restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>,
    attempt: Waiter<E>["attempt"],
    waits: boolean
  ): Effect.Effect<Reserved, Fatality> =>
    Effect.suspend(() => {
      const decided = (result: Reserved | Refused<E>): Effect.Effect<Reserved, Fatality> =>
        result instanceof Refused
          ? Effect.fail(new Fatality({ error: result.error, toolName: "" }))
          : Effect.succeed(result)
      const now = queue.length === 0 || !waits ? attempt(waits) : undefined
      if (now !== undefined) {
        if (!(now instanceof Refused)) held = add(held, now.amount, 1)
        return decided(now)
      }
      const waiter: Waiter<E> = { attempt, result: undefined, resume: () => {} }
      const turn = Effect.async<void>((resume) => {
        waiter.resume = () => resume(Effect.void)
        queue.push(waiter)
      })
      return Effect.matchCauseEffect(restore(turn), {
        onSuccess: () => decided(waiter.result as Reserved | Refused<E>),
        onFailure: (cause) => {
          const { result } = waiter
          if (result === undefined) {
            const index = queue.indexOf(waiter)
            if (index >= 0) queue.splice(index, 1)
            serve()
          } else if (!(result instanceof Refused)) refund(result)
          return Effect.failCause(cause)
        }
      })
    })

  // A call that is made inside of one that holds something cannot wait until that has ended.
  const interceptor: ModelCall.ModelCallInterceptor = (request, next, target, lost) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.withFiberRuntime((fiber) => {
        const waits = !Context.get(fiber.currentContext as Context.Context<never>, CallGate.CallGate).within.includes(
          interceptor
        )
        return Effect.flatMap(reserve(restore, reservation(request, target), waits), (reserved) =>
          Effect.onExit(restore(next(reserved.request)), (exit) =>
            Effect.sync(() => settle(reserved, exit, target, lost(exit)))
          )
        )
      })
    )

  return {
    interceptor,
    see: (event) => {
      if (event._tag !== "UsageReported") return
      const key = keyOf(event)
      const before = booked.get(key)
      if (before !== undefined) {
        if (before === 1) booked.delete(key)
        else booked.set(key, before - 1)
        return
      }
      const calls = event.cutOff === true ? 0 : 1
      spent = add(spent, { calls, tokens: Usage.total(event.usage), cost: event.costUsd ?? 0 }, 1)
    },
    refused: (error): error is E => typeof error === "object" && error !== null && refusals.has(error)
  }
}
