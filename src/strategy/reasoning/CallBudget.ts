/**
 * A budget shared by concurrent model calls. A call reserves its maximum usage before it begins; its actual usage is
 * booked when it ends, even if it was cut off. A call that was refused or never sent returns its whole reservation.
 *
 * @private
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
import * as Run from "../../observability/Run.js"
import * as ToolProgress from "../../tool/ToolProgress.js"
import { Fatality } from "../../tool/ToolRunner.js"
import type * as ModelCall from "../definition/ModelCall.js"
import * as SideCalls from "./SideCalls.js"

export interface Limits {
  readonly maxModelCalls?: number | undefined
  readonly maxTokens?: number | undefined
  readonly maxCostUsd?: number | undefined
  /** Output tokens reserved for a request without a limit of its own. */
  readonly outputTokens?: number | undefined
}

/** The smallest output limit worth a call. */
const leastOutput = 16

const defaultOutput = 4096

/** What calls use or hold. */
interface Amount {
  readonly calls: number
  readonly tokens: number
  readonly cost: number
}

interface Reserved {
  readonly request: LlmClient.LlmRequest
  readonly amount: Amount
}

/** Why a call does not fit into the budget. */
export interface Refusal {
  readonly limitType: "model-calls" | "tokens" | "cost"
  readonly limit: number
  readonly used: number
  /** The model without a known price, if that is the reason. */
  readonly unpriced?: string | undefined
}

/** The error of a call that does not fit. */
class Refused<E> {
  constructor(readonly error: E) {}
}

/** Decides on a call: a reservation, a refusal, or `undefined` if other calls have to settle first. */
type Attempt<E> = (waits: boolean) => Reserved | Refused<E> | undefined

interface Waiter<E> {
  readonly attempt: Attempt<E>
  result: Reserved | Refused<E> | undefined
  resume: () => void
}

export interface Budget<E> {
  readonly interceptor: ModelCall.ModelCallInterceptor
  /** Books the usage of a call that did not pass the interceptor, because its outcome was recorded before. */
  readonly see: (event: Body | AgentEvent) => void
  /** Whether this budget refused with the error. */
  readonly refused: (error: unknown) => error is E
}

export interface Options<E> {
  readonly counter: TokenCounter.Service
  readonly estimator: CostEstimator
  readonly fail: (refusal: Refusal) => E
}

interface Call {
  readonly provider?: string | undefined
  readonly model?: string | undefined
  readonly usage: Usage.Usage
}

/** Calls with the same key use the same amount, so an event may be matched to any of them. */
const keyOf = ({ model, provider, usage }: Call): string => {
  const { cacheWriteTokens, cachedInputTokens, estimatedTokens, inputTokens, outputTokens, totalTokens } = usage
  const tokens = [inputTokens, outputTokens, totalTokens, cachedInputTokens, cacheWriteTokens, estimatedTokens]
  const tools = [usage.providerToolCalls, usage.providerToolUsd]
  return [provider, model, ...tokens, ...tools].join("\u0000")
}

const nothing: Amount = { calls: 0, tokens: 0, cost: 0 }

const add = (a: Amount, b: Amount, sign: 1 | -1): Amount => ({
  calls: a.calls + sign * b.calls,
  tokens: a.tokens + sign * b.tokens,
  cost: a.cost + sign * b.cost
})

/** Sums of dollars have rounding errors: the limit is exceeded only beyond them. */
const exceeds = (cost: number, limit: number): boolean => cost > limit + 1e-9 * Math.max(1, limit)

/** The accounts of one budget, and the calls that wait for it. */
export class Ledger<E extends object> {
  private spent = nothing
  private held = nothing
  private readonly queue: Array<Waiter<E>> = []
  private readonly refusals = new WeakSet<object>()
  /** Calls that were booked when they answered and whose event has not arrived yet. */
  private readonly booked = new Map<string, number>()
  private readonly inputOf: (request: LlmClient.LlmRequest) => number

  constructor(
    private readonly limits: Limits,
    private readonly options: Options<E>
  ) {
    this.inputOf = TokenCounter.forRequests(options.counter)
  }

  readonly isRefusal = (error: unknown): error is E =>
    typeof error === "object" && error !== null && this.refusals.has(error)

  private refuse(refusal: Refusal): Refused<E> {
    const error = this.options.fail(refusal)
    this.refusals.add(error)
    return new Refused(error)
  }

  /** The dollars of a call, or `undefined` if its model has no price. Always 0 without a limit of cost. */
  private price(target: ModelCall.Target, inputTokens: number, outputTokens: number): number | undefined {
    if (this.limits.maxCostUsd === undefined) return 0
    const usage = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
    return this.options.estimator.estimate({ provider: target.provider, model: target.model, usage })
  }

  /** The first limit of tokens or cost that a call would exceed beside the calls that are being answered. */
  private exceeded({ cost, tokens }: Amount): "tokens" | "cost" | undefined {
    const { maxCostUsd, maxTokens } = this.limits
    const { held, spent } = this
    if (maxTokens !== undefined && spent.tokens + held.tokens + tokens > maxTokens) return "tokens"
    return maxCostUsd !== undefined && exceeds(spent.cost + held.cost + cost, maxCostUsd) ? "cost" : undefined
  }

  /** The longest output that the rest of the budget pays for. */
  private affordableOutput(target: ModelCall.Target, input: number, wanted: number, price: number): number {
    const { maxCostUsd, maxTokens } = this.limits
    const byTokens = maxTokens === undefined ? wanted : Math.floor(maxTokens - this.spent.tokens - input)
    const inputPrice = this.price(target, input, 0) ?? 0
    const perToken = (price - inputPrice) / wanted
    const byCost =
      maxCostUsd === undefined || perToken <= 0
        ? wanted
        : Math.floor((maxCostUsd - this.spent.cost - inputPrice) / perToken)
    return Math.min(wanted, byTokens, byCost)
  }

  /** Decides on calls of a request. */
  attempt(request: LlmClient.LlmRequest, target: ModelCall.Target): Attempt<E> {
    const { maxCostUsd, maxModelCalls, maxTokens, outputTokens } = this.limits
    const isMetered = maxTokens !== undefined || maxCostUsd !== undefined
    const input = isMetered ? this.inputOf(request) : 0
    const wanted = request.settings?.maxTokens ?? outputTokens ?? defaultOutput
    return (waits) => {
      const isAlone = this.held.calls === 0 || !waits
      const { calls } = this.spent
      if (maxModelCalls !== undefined && calls + this.held.calls + 1 > maxModelCalls) {
        return isAlone || calls >= maxModelCalls
          ? this.refuse({ limitType: "model-calls", limit: maxModelCalls, used: calls })
          : undefined
      }
      return isMetered ? this.reserve(request, target, input, wanted, isAlone) : { request, amount: oneCall }
    }
  }

  private reserve(
    request: LlmClient.LlmRequest,
    target: ModelCall.Target,
    input: number,
    wanted: number,
    isAlone: boolean
  ): Reserved | Refused<E> | undefined {
    const { maxCostUsd = 0, maxTokens } = this.limits
    const price = this.price(target, input, wanted)
    if (price === undefined) {
      const unpriced = target.model ?? "the model"
      return this.refuse({ limitType: "cost", limit: maxCostUsd, used: this.spent.cost, unpriced })
    }
    const amountOf = (output: number, cost: number): Amount => ({
      calls: 1,
      tokens: maxTokens === undefined ? 0 : input + output,
      cost
    })
    let output = wanted
    let amount = amountOf(wanted, price)
    let exceeded = this.exceeded(amount)
    if (exceeded !== undefined && !isAlone) return undefined
    if (exceeded !== undefined) {
      // No other call will return anything: a shorter answer may still fit.
      output = this.affordableOutput(target, input, wanted, price)
      amount = amountOf(output, this.price(target, input, Math.max(0, output)) ?? price)
      if (output >= Math.min(wanted, leastOutput)) exceeded = this.exceeded(amount)
    }
    if (exceeded === "tokens") {
      return this.refuse({ limitType: "tokens", limit: maxTokens ?? 0, used: this.spent.tokens })
    }
    if (exceeded === "cost") return this.refuse({ limitType: "cost", limit: maxCostUsd, used: this.spent.cost })
    const settings = ModelSettings.merge(request.settings ?? {}, { maxTokens: output })
    return { request: { ...request, settings }, amount }
  }

  /** Serves waiting calls in the order they came, as far as the budget allows. */
  private serve(): void {
    while (this.queue.length > 0) {
      const waiter = this.queue[0] as Waiter<E>
      const result = waiter.attempt(true)
      if (result === undefined) return
      this.queue.shift()
      waiter.result = result
      this.hold(result)
      waiter.resume()
    }
  }

  private hold(result: Reserved | Refused<E>): void {
    if (!(result instanceof Refused)) this.held = add(this.held, result.amount, 1)
  }

  /** Removes a call that stopped waiting, or returns what it was granted in the meantime. */
  private abandon(waiter: Waiter<E>): void {
    const { result } = waiter
    if (result instanceof Refused) return
    if (result !== undefined) this.held = add(this.held, result.amount, -1)
    else {
      const index = this.queue.indexOf(waiter)
      if (index >= 0) this.queue.splice(index, 1)
    }
    this.serve()
  }

  /** Reserves for a call. With `waits` it waits its turn while other calls hold the budget. */
  readonly acquire = (
    attempt: Attempt<E>,
    waits: boolean,
    restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  ): Effect.Effect<Reserved, Fatality> =>
    Effect.suspend(() => {
      const now = this.queue.length === 0 || !waits ? attempt(waits) : undefined
      if (now !== undefined) {
        this.hold(now)
        return toEffect(now)
      }
      const waiter: Waiter<E> = { attempt, result: undefined, resume: () => {} }
      const turn = Effect.async<void>((resume) => {
        waiter.resume = () => resume(Effect.void)
        this.queue.push(waiter)
      })
      return Effect.matchCauseEffect(restore(turn), {
        onSuccess: () => toEffect(waiter.result as Reserved | Refused<E>),
        onFailure: (cause) => {
          this.abandon(waiter)
          return Effect.failCause(cause)
        }
      })
    })

  /** Books a call. Usage that was not reported counts as the whole reservation, because unknown is not zero. */
  private book(call: Call & { readonly provider: string }, reserved: Amount): void {
    const tokens = Usage.total(call.usage)
    const cost = this.limits.maxCostUsd === undefined ? 0 : this.options.estimator.estimate(call)
    const amount = {
      calls: reserved.calls,
      tokens: tokens === 0 ? reserved.tokens : tokens,
      cost: cost ?? reserved.cost
    }
    this.spent = add(this.spent, amount, 1)
    const key = keyOf(call)
    this.booked.set(key, (this.booked.get(key) ?? 0) + 1)
  }

  settle(
    { amount }: Reserved,
    exit: Exit.Exit<LlmClient.LlmResponse, unknown>,
    target: ModelCall.Target,
    lost: ReadonlyArray<LlmClient.Spent>
  ): void {
    this.held = add(this.held, amount, -1)
    for (const call of lost) this.book(call, { ...amount, calls: 0 })
    if (Exit.isSuccess(exit)) {
      const { model = target.model, provider = target.provider, usage } = exit.value
      this.book({ provider, model, usage }, amount)
    }
    this.serve()
  }

  readonly see: Budget<E>["see"] = (event) => {
    if (event._tag !== "UsageReported") return
    const key = keyOf(event)
    const before = this.booked.get(key)
    if (before === 1) this.booked.delete(key)
    else if (before !== undefined) this.booked.set(key, before - 1)
    if (before !== undefined) return
    const calls = event.cutOff === true ? 0 : 1
    this.spent = add(this.spent, { calls, tokens: Usage.total(event.usage), cost: event.costUsd ?? 0 }, 1)
  }
}

const oneCall: Amount = { calls: 1, tokens: 0, cost: 0 }

const toEffect = <E>(result: Reserved | Refused<E>): Effect.Effect<Reserved, Fatality> =>
  result instanceof Refused ? Effect.fail(new Fatality({ error: result.error, toolName: "" })) : Effect.succeed(result)

/** A call under a ledger; `self` is the interceptor that it passes. */
export const call = <E extends object>(
  ledgerOf: (context: Context.Context<never>) => Ledger<E>,
  self: ModelCall.ModelCallInterceptor
): ModelCall.ModelCallInterceptor => {
  return (request, next, target, lost) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.withFiberRuntime((fiber) => {
        const context = fiber.currentContext as Context.Context<never>
        const ledger = ledgerOf(context)
        // A call made inside another call of this budget cannot wait for it to end.
        const waits = !Context.get(context, CallGate.CallGate).within.includes(self)
        return Effect.flatMap(ledger.acquire(ledger.attempt(request, target), waits, restore), (reserved) =>
          Effect.onExit(restore(next(reserved.request)), (exit) =>
            Effect.sync(() => ledger.settle(reserved, exit, target, lost(exit)))
          )
        )
      })
    )
}

export const make = <E extends object>(limits: Limits, options: Options<E>): Budget<E> => {
  const ledger = new Ledger(limits, options)
  const interceptor: ModelCall.ModelCallInterceptor = (...args) => call(() => ledger, interceptor)(...args)
  return { interceptor, see: ledger.see, refused: ledger.isRefusal }
}

/**
 * The ledger of each step of a run. A call of the strategy begins a step, calls of its tools and inner runs count in
 * it, and any other call (of guards, memory) has a ledger of its own.
 */
export const perStep = <E extends object>(
  runId: string,
  limits: Limits,
  options: Options<E>
): ((context: Context.Context<never>) => Ledger<E>) => {
  let current: Ledger<E> | undefined
  return (given) => {
    const context = given as Context.Context<Run.Run | ToolProgress.CurrentCall | SideCalls.IsSide>
    const isInTool =
      Context.get(context, Run.Run).runId !== runId || Context.get(context, ToolProgress.CurrentCall)?.runId === runId
    if (isInTool && current !== undefined) return current
    const ledger = new Ledger(limits, options)
    if (isInTool || !Context.get(context, SideCalls.IsSide)) current = ledger
    return ledger
  }
}
