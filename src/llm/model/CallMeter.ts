/**
 * Meters the requests of a model call, including cut-off ones: a request that is interrupted, times out or fails midway
 * costs its input and the streamed output, unless the provider reported its usage.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Usage from "../../domain/Usage.js"
import * as LlmClient from "./LlmClient.js"
import type { LlmError } from "./LlmError.js"
import * as TokenCounter from "./TokenCounter.js"

/**
 * How the requests of a call ended.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallMeter extends LlmClient.Meter {
  /**
   * Usage of the call besides its answer: of its requests without an answer, and of those with one if the call itself
   * failed. Each request is counted once, on demand.
   */
  readonly spent: (exit: Exit.Exit<unknown, unknown>) => ReadonlyArray<LlmClient.Spent>
}

/**
 * Counts requests and texts.
 *
 * @since 0.1.0
 * @category models
 */
export type Counts = Parameters<LlmClient.SentRequest["spent"]>[0]

/**
 * Counts with a counter that is loaded only when a call was cut off.
 *
 * @since 0.1.0
 * @category constructors
 */
export const counts = (counter: TokenCounter.Service): Counts => {
  let request: Counts["request"] | undefined
  return {
    request: (given) => {
      request ??= TokenCounter.forRequests(counter)
      return request(given)
    },
    text: (text) => counter.count(text)
  }
}

/**
 * A meter for one call; `outer` receives the same requests.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { LlmClient, TokenCounter } from "effect-lexigram"
 * import { CallMeter } from "effect-lexigram/llm"
 * import * as Effect from "effect/Effect"
 *
 * // The usage of a call that is cut off after five seconds; empty if it answers in time.
 * const spent = Effect.gen(function* () {
 *   const client = CallMeter.metered(yield* LlmClient.LlmClient)
 *   const meter = CallMeter.make(CallMeter.counts(TokenCounter.approximate))
 *   const call = client.complete({ messages: [{ role: "user", content: "Write a novel" }] }, { meter })
 *   const exit = yield* Effect.exit(Effect.timeout(call, "5 seconds"))
 *   return CallMeter.total(meter.spent(exit))
 * })
 * ```
 */
export const make = (counts: Counts, outer?: LlmClient.Meter | undefined): CallMeter => {
  const requests: Array<LlmClient.SentRequest> = []
  return {
    sent: (request) => {
      requests.push(request)
      outer?.sent(request)
    },
    spent: (exit) => {
      const all: Array<LlmClient.Spent> = []
      for (const request of requests) all.push(...request.spent(counts, Exit.isSuccess(exit)))
      return all
    }
  }
}

/**
 * A meter that forwards to both.
 *
 * @since 0.1.0
 * @category combinators
 */
export const both = (
  one: LlmClient.Meter | undefined,
  other: LlmClient.Meter | undefined
): LlmClient.Meter | undefined =>
  one === undefined || other === undefined
    ? (one ?? other)
    : {
        sent: (request) => {
          one.sent(request)
          other.sent(request)
        }
      }

/**
 * Whether a failed request costs nothing: it was rejected before the model began, or never reached it. Providers bill
 * requests that time out, end in a content filter, or have an unreadable answer.
 *
 * @since 0.1.0
 * @category guards
 */
export const isRefusal = (error: LlmError): boolean => {
  switch (error._tag) {
    case "LlmAuthenticationError":
    case "LlmCallRefusedError":
    case "LlmRateLimitError":
    case "LlmQuotaError":
    case "LlmContextOverflowError":
    case "LlmInvalidRequestError":
    case "LlmUnavailableError":
    case "LlmUnsupportedContentError":
    case "LlmUnsupportedFeatureError":
      return true
    case "LlmConnectionError":
      return error.sent !== true
    case "LlmTimeoutError":
    case "LlmContentPolicyError":
    case "LlmMalformedResponseError":
      return false
  }
}

const nothing: ReadonlyArray<LlmClient.Spent> = []

/** A running request and its result. */
class Request implements LlmClient.SentRequest, LlmClient.Meter {
  /** An inner client sent the request and takes over. */
  private readonly inner: Array<LlmClient.SentRequest> = []
  private readonly parts: Array<LlmClient.LlmPart> = []
  private usage: Usage.Usage = Usage.empty
  /** How many parts had arrived when the provider last reported output tokens. */
  private partsAtReport = 0
  private finished = false
  private exit: Exit.Exit<LlmClient.LlmResponse, LlmError> | undefined
  private known: ReadonlyArray<LlmClient.Spent> | undefined

  constructor(
    private readonly request: LlmClient.LlmRequest,
    private readonly client: LlmClient.Service
  ) {}

  sent(request: LlmClient.SentRequest): void {
    this.inner.push(request)
  }

  received(parts: ReadonlyArray<LlmClient.LlmPart>): void {
    for (const part of parts) {
      if (part.type !== "finish") this.parts.push(part)
      else {
        this.finished = true
        this.reported(part.usage)
      }
    }
  }

  reported(usage: Usage.Usage): void {
    this.usage = { ...this.usage, ...usage }
    if (usage.outputTokens !== undefined) this.partsAtReport = this.parts.length
  }

  ended(exit: Exit.Exit<LlmClient.LlmResponse, LlmError>): Exit.Exit<LlmClient.LlmResponse, LlmError> {
    this.exit = exit
    if (Exit.isSuccess(exit)) {
      this.finished = true
      this.usage = exit.value.usage
    }
    return exit
  }

  spent(counts: Counts, isAnswered: boolean): ReadonlyArray<LlmClient.Spent> {
    if (this.inner.length > 0) return this.inner.flatMap((request) => request.spent(counts, isAnswered))
    if (isAnswered && this.answer !== undefined) return nothing
    this.known ??= this.isFree() ? nothing : [{ ...this.target(), usage: this.used(counts) }]
    return this.known
  }

  private get answer(): LlmClient.LlmResponse | undefined {
    return this.exit !== undefined && Exit.isSuccess(this.exit) ? this.exit.value : undefined
  }

  private isFree(): boolean {
    if (this.exit === undefined || Exit.isSuccess(this.exit)) return false
    if (this.parts.length > 0 || Usage.total(this.usage) > 0) return false
    const failure = Cause.failureOption(this.exit.cause)
    return Option.isSome(failure) && isRefusal(failure.value)
  }

  private target(): Omit<LlmClient.Spent, "usage"> {
    const { answer } = this
    const model = answer?.model ?? this.request.settings?.model ?? this.client.model
    return { provider: answer?.provider ?? this.client.provider, ...(model === undefined ? {} : { model }) }
  }

  private used(counts: Counts): Usage.Usage {
    const { usage } = this
    if (this.finished && Usage.total(usage) > 0) return usage
    const inputTokens = usage.inputTokens ?? counts.request(this.request)
    const { answer } = this
    const streamed = counts.text(
      answer === undefined ? written(this.parts, this.partsAtReport) : written(LlmClient.partsOf(answer))
    )
    const outputTokens = (usage.outputTokens ?? 0) + streamed
    const estimatedTokens = (usage.inputTokens === undefined ? inputTokens : 0) + streamed
    return {
      ...usage,
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      ...(estimatedTokens === 0 ? {} : { estimatedTokens })
    }
  }
}

const json = (value: unknown): string => {
  if (typeof value === "string") return value
  try {
    return JSON.stringify(value) ?? ""
  } catch {
    return ""
  }
}

/** The output of the model from a part on: text, reasoning and calls, each once. */
const written = (parts: ReadonlyArray<LlmClient.LlmPart>, from = 0): string => {
  const texts: Array<string> = []
  const streamed = new Set<string>()
  for (const [index, part] of parts.entries()) {
    if (index < from) {
      if (part.type === "tool-params-start") streamed.add(part.id)
      continue
    }
    switch (part.type) {
      case "text-delta":
      case "reasoning-delta":
        texts.push(part.delta)
        break
      case "tool-params-start":
        streamed.add(part.id)
        texts.push("\n", part.name, "\n")
        break
      case "tool-params-delta":
        texts.push(part.delta)
        break
      case "tool-call":
        if (!streamed.has(part.id)) texts.push("\n", part.name, "\n", json(part.params))
        break
    }
  }
  return texts.join("")
}

const wrapped = new WeakMap<LlmClient.Service, LlmClient.Service>()

/**
 * Reports each call of the client to its meter: a request counts as sent when the client is called, unless the client
 * is `metered` itself. An inner meter takes over, so no request is counted twice.
 *
 * @since 0.1.0
 * @category combinators
 */
export const metered = (client: LlmClient.Service): LlmClient.Service => {
  if (client.metered === true) return client
  const known = wrapped.get(client)
  if (known !== undefined) return known
  const service: LlmClient.Service = {
    provider: client.provider,
    model: client.model,
    metered: true,
    ...(client.health === undefined ? {} : { health: client.health }),
    complete: (request, options) => {
      const meter = options?.meter
      if (meter === undefined) return client.complete(request, options)
      return Effect.suspend(() => {
        const sent = new Request(request, client)
        meter.sent(sent)
        // An interrupted request has no exit here, and counts as sent without an answer.
        return Effect.matchCauseEffect(client.complete(request, observeRequest(options, sent)), {
          onFailure: (cause) => sent.ended(Exit.failCause(cause)),
          onSuccess: (response) => sent.ended(Exit.succeed(response))
        })
      })
    }
  }
  wrapped.set(client, service)
  return service
}

const observeRequest = (
  options: LlmClient.CompleteOptions | undefined,
  request: Request
): LlmClient.CompleteOptions => {
  const onParts = options?.onParts
  return {
    ...options,
    meter: request,
    onUsage: (usage) => {
      request.reported(usage)
      options?.onUsage?.(usage)
    },
    ...(onParts === undefined
      ? {}
      : {
          onParts: (parts: ReadonlyArray<LlmClient.LlmPart>) => {
            request.received(parts)
            return onParts(parts)
          }
        })
  }
}

/**
 * The sum as one usage; `Usage.empty` for none.
 *
 * @since 0.1.0
 * @category getters
 */
export const total = (spent: ReadonlyArray<LlmClient.Spent>): Usage.Usage =>
  spent.reduce((sum, one) => Usage.add(sum, one.usage), Usage.empty)
