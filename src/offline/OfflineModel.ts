/**
 * A model inside the process, for demos and tests without a network. It is not a language model: it matches words. It
 * reads the conversation and the tools' schemas, picks tools that share words with the request, takes their arguments
 * from the text, calls them, and reports their results. It invents no facts: it asks for what the conversation does not
 * say. The same request always gets the same answer.
 *
 * For JSON it fills the schema from the conversation. A required flag that the conversation does not decide is false,
 * except one named like a verdict (`done`, `approved`, `passed`, `sufficient`, …), which is true: used as a judge it
 * approves, so that a loop that revises until its judge approves ends. It is no evidence of quality.
 *
 * It calls tools natively, not in the text protocol of ReAct. It reads the first and last part of long texts (16,000
 * characters of a request in total) and 512 tools.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Hash from "effect/Hash"
import * as Layer from "effect/Layer"
import type * as Usage from "../domain/Usage.js"
import type {
  CompleteOptions,
  Content,
  FinishReason,
  LlmPart,
  LlmRequest,
  LlmResponse,
  OnParts,
  Service
} from "../llm/model/LlmClient.js"
import { LlmClient, partsOf } from "../llm/model/LlmClient.js"
import * as Decision from "./OfflineDecision.js"

/**
 * Provider name: `offline`.
 *
 * @since 0.1.0
 * @category constants
 */
export const provider = "offline"

/**
 * Default model name.
 *
 * @since 0.1.0
 * @category constants
 */
export const model = "offline-1"

/**
 * Statement of the model about itself, to be shown with its answers.
 *
 * @since 0.1.0
 * @category constants
 */
export const notice: string = Decision.notice

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Delay between two streamed words; none by default. */
  readonly delay?: Duration.DurationInput | undefined
  /** Reported model name; `offline-1` by default. */
  readonly model?: string | undefined
}

const words = (text: string): ReadonlyArray<string> => text.match(/(?<!\s)\s*\S+(?:\s+$)?|(?<!\s)\s+/g) ?? []

/** One token per four characters, rounded up: about right for English, and the same on every platform. */
const tokens = (text: string): number => Math.ceil(text.length / 4)

const inputTokens = ({ messages, tools = [] }: LlmRequest): number => {
  const contents = messages.flatMap(({ content }): ReadonlyArray<string | object> => [content].flat())
  const texts = [...contents, ...tools].map((part) =>
    typeof part === "string" ? part : "text" in part ? String(part.text) : "name" in part ? JSON.stringify(part) : ""
  )
  return texts.reduce((sum, text) => sum + tokens(text), 4 * messages.length)
}

const cutAtStop = (text: string, stop: ReadonlyArray<string>): string =>
  stop.reduce((rest, sequence) => (sequence === "" ? rest : rest.split(sequence)[0]!), text)

const hash = (text: string): string => (Hash.string(text) >>> 0).toString(36)

/**
 * Answers a request at once.
 *
 * @since 0.1.0
 * @category constructors
 */
export const respond = (request: LlmRequest, options?: Options | undefined): LlmResponse => {
  const { calls, text: whole } = Decision.decide(request)
  const { maxTokens = Number.POSITIVE_INFINITY, stop = [] } = request.settings ?? {}
  const written = cutAtStop(whole, stop)
  const text = tokens(written) <= maxTokens ? written : written.slice(0, maxTokens * 4)
  const seed = hash(JSON.stringify([request.messages.length, request.messages.at(-1) ?? "", calls]))
  const costs = calls.reduce((sum, { name, params }) => sum + tokens(name) + tokens(JSON.stringify(params)), 0)
  const isCut = text.length < written.length || costs > maxTokens
  const content: ReadonlyArray<Content> = [
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...(isCut ? [] : calls.map((call, index) => ({ type: "tool-call" as const, id: `call_${seed}_${index}`, ...call })))
  ]
  const input = inputTokens(request)
  const output = tokens(text) + (isCut ? 0 : costs)
  const usage: Usage.Usage = { inputTokens: input, outputTokens: output, totalTokens: input + output }
  const finishReason: FinishReason = isCut ? "length" : calls.length > 0 ? "tool-calls" : "stop"
  const name = request.settings?.model ?? options?.model ?? model
  return { content, finishReason, usage, id: `offline_${seed}`, model: name, provider }
}

/** Streams a response, one text delta per word. */
const emit = (response: LlmResponse, onParts: OnParts, delay: Duration.Duration): Effect.Effect<void> => {
  const parts = partsOf(response).flatMap(
    (part): ReadonlyArray<LlmPart> =>
      part.type === "text-delta" ? words(part.delta).map((delta) => ({ ...part, delta })) : [part]
  )
  const first = parts.find(({ type }) => type === "text-delta")
  const wait = (part: LlmPart) => (part.type === "text-delta" && part !== first ? Effect.sleep(delay) : Effect.void)
  const isDelayed = Duration.greaterThan(delay, Duration.zero)
  return Effect.forEach(
    parts,
    (part) => (isDelayed ? Effect.flatMap(wait(part), () => onParts([part])) : onParts([part])),
    { discard: true }
  )
}

/**
 * Makes a client of the embedded model.
 *
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import { LlmClient, LlmGateway } from "effect-lexigram"
 * import { OfflineModel } from "effect-lexigram/offline"
 *
 * const program = LlmGateway.complete({ messages: [{ role: "user", content: "My name is Ada. What is my name?" }] })
 *
 * Effect.runPromise(program.pipe(Effect.provide(OfflineModel.layer()), Effect.map(LlmClient.text))).then(console.log)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Service => {
  const delay = Duration.decode(options?.delay ?? 0)
  return {
    provider,
    model: options?.model ?? model,
    complete: (request: LlmRequest, call?: CompleteOptions | undefined) =>
      Effect.suspend(() => {
        const response = respond(request, options)
        return call?.onParts === undefined
          ? Effect.succeed(response)
          : Effect.as(emit(response, call.onParts, delay), response)
      })
  }
}

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<LlmClient> =>
  Layer.sync(LlmClient, () => make(options))
