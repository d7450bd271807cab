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
 * It reads the first and last part of long texts (16,000 characters of a request in total) and 512 tools.
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
import * as Dialogue from "./OfflineDialogue.js"

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

const inputTokens = (request: LlmRequest): number => {
  let sum = 0
  for (const message of request.messages) {
    sum += 4 + tokens(message.role === "system" ? message.content : Dialogue.textOf(message))
    if (typeof message.content === "string") continue
    for (const part of message.content) {
      if (part.type === "tool-call") sum += tokens(part.name) + tokens(JSON.stringify(part.params ?? ""))
      else if (part.type === "tool-result") sum += tokens(JSON.stringify(part.result ?? ""))
    }
  }
  for (const tool of request.tools ?? [])
    sum += tokens(tool.name) + tokens(tool.description) + tokens(JSON.stringify(tool.parameters))
  return sum
}

const cutAtStop = (text: string, stop: ReadonlyArray<string>): string => {
  let end = text.length
  for (const sequence of stop) {
    const at = sequence === "" ? -1 : text.indexOf(sequence)
    if (at >= 0 && at < end) end = at
  }
  return text.slice(0, end)
}

const cutAtLength = (text: string, maxTokens: number): string =>
  tokens(text) <= maxTokens ? text : text.slice(0, maxTokens * 4)

const hash = (text: string): string => (Hash.string(text) >>> 0).toString(36)

/**
 * Answers a request at once.
 *
 * @since 0.1.0
 * @category constructors
 */
export const respond = (request: LlmRequest, options?: Options | undefined): LlmResponse => {
  const decision = Decision.decide(request)
  const { maxTokens = Number.POSITIVE_INFINITY, stop = [] } = request.settings ?? {}
  const written = cutAtStop(decision.text, stop)
  const text = cutAtLength(written, maxTokens)
  const seed = hash(
    JSON.stringify([request.messages.length, request.messages[request.messages.length - 1] ?? "", decision.calls])
  )
  const content: Array<Content> = text === "" ? [] : [{ type: "text", text }]
  let output = tokens(text)
  let length = text.length < written.length
  decision.calls.forEach((call, index) => {
    const cost = tokens(call.name) + tokens(JSON.stringify(call.params))
    if (length || output + cost > maxTokens) {
      length = true
      return
    }
    output += cost
    content.push({ type: "tool-call", id: `call_${seed}_${index}`, name: call.name, params: call.params })
  })
  const input = inputTokens(request)
  const usage: Usage.Usage = { inputTokens: input, outputTokens: output, totalTokens: input + output }
  const finishReason: FinishReason = length ? "length" : decision.calls.length > 0 ? "tool-calls" : "stop"
  const name = request.settings?.model ?? options?.model ?? model
  return { content, finishReason, usage, id: `offline_${seed}`, model: name, provider }
}

/** Parts of a streamed response, one text delta per word. */
const streamed = (response: LlmResponse): ReadonlyArray<LlmPart> =>
  partsOf(response).flatMap(
    (part): ReadonlyArray<LlmPart> =>
      part.type === "text-delta" ? words(part.delta).map((delta) => ({ ...part, delta })) : [part]
  )

const emit = (parts: ReadonlyArray<LlmPart>, onParts: OnParts, delay: Duration.Duration): Effect.Effect<void> =>
  Effect.gen(function* () {
    let first = true
    for (const part of parts) {
      if (part.type === "text-delta") {
        if (!first && Duration.greaterThan(delay, Duration.zero)) yield* Effect.sleep(delay)
        first = false
      }
      yield* onParts([part])
    }
  })

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
          : Effect.as(emit(streamed(response), call.onParts, delay), response)
      })
  }
}

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<LlmClient> =>
  Layer.sync(LlmClient, () => make(options))
