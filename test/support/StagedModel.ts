/** A model whose answers stream as far as the test lets them. */
import * as Effect from "effect/Effect"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as PartAssembler from "../../src/llm/model/PartAssembler.js"

export interface Answer {
  readonly call?: { readonly name: string; readonly params: unknown }
  /** Each begins when the one before it has been awaited. */
  readonly texts?: ReadonlyArray<string | Effect.Effect<void>>
}

export type Answers = (request: LlmClient.LlmRequest) => Answer

export const make = (answers: Answers): LlmClient.Service => ({
  provider: "test",
  model: "m",
  complete: (request, options) =>
    Effect.gen(function* () {
      const assembler = PartAssembler.make({ provider: "test", model: "m" })
      const push = (...parts: ReadonlyArray<LlmClient.LlmPart>) => {
        for (const part of parts) assembler.push(part)
        return options?.onParts === undefined ? Effect.void : options.onParts(parts)
      }
      const { call, texts = [] } = answers(request)
      if (call !== undefined) yield* push({ type: "tool-call", id: `c${request.messages.length}`, ...call })
      if (texts.length > 0) yield* push({ type: "text-start", id: "t" })
      for (const text of texts) {
        yield* typeof text === "string" ? push({ type: "text-delta", id: "t", delta: text }) : text
      }
      if (texts.length > 0) yield* push({ type: "text-end", id: "t" })
      const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
      yield* push({ type: "finish", reason: call === undefined ? "stop" : "tool-calls", usage })
      return assembler.response()
    })
})
