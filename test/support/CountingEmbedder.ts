/** An embedder that records calls, and answers as the test says. */
import * as Effect from "effect/Effect"
import * as Embedder from "../../src/llm/embedding/Embedder.js"
import * as HashingEmbedder from "../../src/llm/embedding/HashingEmbedder.js"

export const dimensions = 16

export const vectorOf = (text: string): Embedder.Vector => HashingEmbedder.vectorOf(text, { dimensions })

export interface CountingEmbedder {
  readonly embedder: Embedder.Service
  /** Texts of each call, in the order of their starts. */
  readonly calls: Array<ReadonlyArray<string>>
  /** Interrupted calls. */
  readonly interrupted: () => number
  /** Running calls. */
  readonly running: () => number
}

/** `before` runs in each call before it answers. */
export const make = (
  before: (texts: ReadonlyArray<string>, call: number) => Effect.Effect<void, Embedder.EmbeddingError> = () =>
    Effect.void
): CountingEmbedder => {
  const calls: Array<ReadonlyArray<string>> = []
  let interrupted = 0
  let running = 0
  const embedMany: Embedder.Service["embedMany"] = (texts) =>
    Effect.suspend(() => {
      calls.push(texts)
      running++
      return before(texts, calls.length).pipe(
        Effect.map(() => texts.map(vectorOf)),
        Effect.onInterrupt(() => Effect.sync(() => void interrupted++)),
        Effect.ensuring(Effect.sync(() => void running--))
      )
    })
  return {
    embedder: {
      model: "counting",
      dimensions,
      embed: (text) => Effect.map(embedMany([text]), (vectors) => vectors[0]!),
      embedMany
    },
    calls,
    interrupted: () => interrupted,
    running: () => running
  }
}

export const error = (isRetryable: boolean): Embedder.EmbeddingError =>
  new Embedder.EmbeddingError({ message: "no vectors today", isRetryable })
