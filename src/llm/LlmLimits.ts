/**
 * Limits concurrent model calls, and requests and tokens per minute.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Usage from "../domain/Usage.js"
import * as CallMeter from "./model/CallMeter.js"
import type * as LlmClient from "./model/LlmClient.js"
import * as LlmGateway from "./model/LlmGateway.js"
import * as TokenCounter from "./model/TokenCounter.js"

/**
 * An absent limit does not apply; one below 1 counts as 1. The window slides: no 60 seconds ever exceed the limit.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly concurrency?: number | undefined
  readonly requestsPerMinute?: number | undefined
  readonly tokensPerMinute?: number | undefined
  /**
   * Tokens to reserve before a call. The answer's usage replaces them; a failed call keeps them. Default: an
   * approximate count of messages and tools plus the `maxTokens` of the request.
   */
  readonly estimate?: ((request: LlmClient.LlmRequest) => number) | undefined
}

const minute = 60_000

interface Ticket {
  granted: boolean
  wake: (() => void) | undefined
}

/** Permits in order of request: a released permit goes to the longest waiting caller, never to a newcomer. */
class Permits {
  private readonly queue = new Set<Ticket>()

  constructor(private free: number) {}

  enter(): Ticket {
    const ticket: Ticket = { granted: false, wake: undefined }
    if (this.free > 0) {
      this.free--
      ticket.granted = true
    } else {
      this.queue.add(ticket)
    }
    return ticket
  }

  /** Releases the permit, or the place in the queue. */
  leave(ticket: Ticket): void {
    if (!ticket.granted) {
      this.queue.delete(ticket)
      return
    }
    for (const next of this.queue) {
      this.queue.delete(next)
      next.granted = true
      next.wake?.()
      return
    }
    this.free++
  }

  readonly hold = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        const ticket = this.enter()
        const granted = Effect.async<void>((resume) => {
          if (ticket.granted) return resume(Effect.void)
          ticket.wake = () => resume(Effect.void)
        })
        return Effect.ensuring(
          restore(ticket.granted ? effect : Effect.zipRight(granted, effect)),
          Effect.sync(() => this.leave(ticket))
        )
      })
    )
}

interface Spent {
  readonly at: number
  amount: number
  gone: boolean
}

/** The amount spent in the last minute. */
class Window {
  private readonly entries: Array<Spent> = []
  private head = 0
  private total = 0

  constructor(private readonly limit: number) {}

  /**
   * Milliseconds until the amount fits, 0 when it does now. An amount above the limit fits when the window is empty.
   */
  wait(now: number, amount: number): number {
    while (this.head < this.entries.length && this.entries[this.head]!.at + minute <= now) {
      const entry = this.entries[this.head++]!
      entry.gone = true
      this.total -= entry.amount
    }
    if (this.head > 1024 && this.head * 2 > this.entries.length) {
      this.entries.splice(0, this.head)
      this.head = 0
    }
    let excess = this.total + Math.min(amount, this.limit) - this.limit
    for (let index = this.head; index < this.entries.length; index++) {
      if (excess <= 0) return 0
      const entry = this.entries[index]!
      excess -= entry.amount
      if (excess <= 0) return entry.at + minute - now
    }
    return 0
  }

  spend(now: number, amount: number): Spent {
    const entry: Spent = { at: now, amount, gone: false }
    this.entries.push(entry)
    this.total += amount
    return entry
  }

  correct(entry: Spent, amount: number): void {
    if (!entry.gone) this.total += amount - entry.amount
    entry.amount = amount
  }
}

const estimateDefault = (request: LlmClient.LlmRequest): number =>
  TokenCounter.approximate.countMessages(request.messages) +
  TokenCounter.approximate.countTools(request.tools ?? []) +
  (request.settings?.maxTokens ?? 0)

const limitOf = (limit: number | undefined): number | undefined =>
  limit === undefined ? undefined : Math.max(1, limit)

/** Both windows, and the queue before them. */
const makeRates = (options: Options) => {
  const requestsPerMinute = limitOf(options.requestsPerMinute)
  const tokensPerMinute = limitOf(options.tokensPerMinute)
  if (requestsPerMinute === undefined && tokensPerMinute === undefined) return undefined
  const requests = requestsPerMinute === undefined ? undefined : new Window(requestsPerMinute)
  const tokens = tokensPerMinute === undefined ? undefined : new Window(tokensPerMinute)
  const estimate = options.estimate ?? estimateDefault
  const line = new Permits(1)
  let wake: (() => void) | undefined

  // A correction may make room before the computed time.
  const corrected = Effect.async<void>((resume) => {
    wake = () => resume(Effect.void)
    return Effect.sync(() => {
      wake = undefined
    })
  })

  const admit = (amount: number): Effect.Effect<Spent | undefined> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const wait = Math.max(requests?.wait(now, 1) ?? 0, tokens?.wait(now, amount) ?? 0)
      if (wait > 0) return Effect.zipRight(Effect.raceFirst(Effect.sleep(wait), corrected), admit(amount))
      requests?.spend(now, 1)
      return Effect.succeed(tokens?.spend(now, amount))
    })

  return {
    enter: (request: LlmClient.LlmRequest): Effect.Effect<Spent | undefined> =>
      Effect.suspend(() => line.hold(admit(tokens === undefined ? 0 : Math.max(0, estimate(request))))),
    correct: (spent: Spent | undefined, usage: Usage.Usage): void => {
      const used = Usage.total(usage)
      if (spent === undefined || tokens === undefined || used === 0) return
      tokens.correct(spent, used)
      wake?.()
    }
  }
}

/**
 * Calls wait in order of arrival. A caller that is interrupted while waiting leaves the queue, and a call releases its
 * permit however it ends.
 *
 * @since 0.1.0
 * @category combinators
 */
export const wrap =
  (options: Options) =>
  (given: LlmClient.Service): Effect.Effect<LlmClient.Service> =>
    Effect.sync(() => {
      const inner = CallMeter.metered(given)
      const concurrency = limitOf(options.concurrency)
      const permits = concurrency === undefined ? undefined : new Permits(Math.floor(concurrency))
      const rates = makeRates(options)
      const rated: LlmClient.Service["complete"] =
        rates === undefined
          ? inner.complete
          : (request, completeOptions) =>
              Effect.flatMap(rates.enter(request), (spent) =>
                Effect.onExit(inner.complete(request, completeOptions), (exit) =>
                  Effect.sync(() => {
                    if (Exit.isSuccess(exit)) rates.correct(spent, exit.value.usage)
                  })
                )
              )
      return {
        provider: inner.provider,
        model: inner.model,
        metered: true,
        complete:
          permits === undefined
            ? rated
            : (request, completeOptions) => permits.hold(Effect.suspend(() => rated(request, completeOptions)))
      }
    })

/**
 * @example
 * ```ts
 * import { LlmLimits } from "effect-lexigram"
 * import { OfflineModel } from "effect-lexigram/offline"
 * import * as Layer from "effect/Layer"
 *
 * const model = LlmLimits.layer({ concurrency: 8, tokensPerMinute: 200_000 }).pipe(
 *   Layer.provide(OfflineModel.layer())
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<LlmClient.LlmClient, never, LlmClient.LlmClient> =>
  LlmGateway.layerWrapped(wrap(options))
