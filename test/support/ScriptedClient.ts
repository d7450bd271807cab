/** A scripted model client for the tests of client wrappers. */
import * as Effect from "effect/Effect"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmError from "../../src/llm/model/LlmError.js"

export interface Scripted extends LlmClient.Service {
  readonly requests: Array<LlmClient.LlmRequest>
}

export type Handler = (
  call: number,
  request: LlmClient.LlmRequest,
  options: LlmClient.CompleteOptions | undefined
) => Effect.Effect<LlmClient.LlmResponse, LlmError.LlmError>

export const make = (handler: Handler, init?: { readonly provider?: string; readonly model?: string }): Scripted => {
  const requests: Array<LlmClient.LlmRequest> = []
  return {
    provider: init?.provider ?? "scripted",
    model: init?.model ?? "small",
    requests,
    complete: (request, options) => Effect.suspend(() => handler(requests.push(request), request, options))
  }
}

export const response = (text: string, over?: Partial<LlmClient.LlmResponse>): LlmClient.LlmResponse => ({
  content: [{ type: "text", text }],
  finishReason: "stop",
  usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
  ...over
})

/** Streams the answer as parts, with the text split as given, one chunk per piece, then ends. */
export const answer = (
  cuts: string | ReadonlyArray<string>,
  options: LlmClient.CompleteOptions | undefined,
  over?: Partial<LlmClient.LlmResponse> & { readonly gap?: number }
): Effect.Effect<LlmClient.LlmResponse> => {
  const pieces = typeof cuts === "string" ? [cuts] : cuts
  const { gap, ...rest } = over ?? {}
  const whole = response(pieces.join(""), rest)
  const wait = gap === undefined ? Effect.void : Effect.sleep(gap)
  const onParts = options?.onParts
  if (onParts === undefined) return Effect.as(wait, whole)
  const chunks: ReadonlyArray<ReadonlyArray<LlmClient.LlmPart>> = [
    [{ type: "text-start", id: "0" }],
    ...pieces.map((delta) => [{ type: "text-delta", id: "0", delta } as const]),
    [
      { type: "text-end", id: "0" },
      { type: "finish", reason: whole.finishReason, usage: whole.usage }
    ]
  ]
  return Effect.forEach(chunks, (chunk) => Effect.andThen(wait, onParts(chunk)), { discard: true }).pipe(
    Effect.as(whole)
  )
}

export const user = (text: string, settings?: LlmClient.LlmRequest["settings"]): LlmClient.LlmRequest => ({
  messages: [{ role: "user", content: text }],
  ...(settings === undefined ? {} : { settings })
})

export const unavailable = (retryAfterMs?: number): LlmError.LlmUnavailableError =>
  new LlmError.LlmUnavailableError({ message: "overloaded", provider: "scripted", status: 503, retryAfterMs })

export const rateLimited = (retryAfterMs?: number): LlmError.LlmRateLimitError =>
  new LlmError.LlmRateLimitError({ message: "slow down", provider: "scripted", status: 429, retryAfterMs })

export const unauthorized = (): LlmError.LlmAuthenticationError =>
  new LlmError.LlmAuthenticationError({ message: "no key", provider: "scripted", status: 401 })

/** Collects parts, and the text of their deltas. */
export const collector = (): {
  readonly parts: Array<LlmClient.LlmPart>
  readonly onParts: LlmClient.OnParts
  readonly text: () => string
} => {
  const parts: Array<LlmClient.LlmPart> = []
  return {
    parts,
    onParts: (chunk) => Effect.sync(() => void parts.push(...chunk)),
    text: () => parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join("")
  }
}
