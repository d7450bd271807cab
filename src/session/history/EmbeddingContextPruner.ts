/**
 * Keeps the turns whose embeddings are closest to the query, newer turns first among equals.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Embedder, type Vector } from "../../llm/embedding/Embedder.js"
import type { TokenCounter } from "../../llm/model/TokenCounter.js"
import * as HistoryPruner from "./HistoryPruner.js"
import * as RankedHistoryPruner from "./RankedHistoryPruner.js"

/** Vectors have length 1. An opposite vector is no more related than an orthogonal one. */
const similarity = (a: Vector, b: Vector): number => {
  let sum = 0
  for (let index = 0; index < a.length; index++) sum += (a[index] as number) * (b[index] ?? 0)
  return Math.max(0, sum)
}

/**
 * The score of the i-th of n turns is the cosine of its vector and the query's, plus `recencyWeight · i / (n − 1)`,
 * counted from 0. The embedder receives the texts of all turns in one call, and only when something must be dropped and
 * there is a query; `EmbedderCache` reuses earlier vectors. When the embedder fails, a warning is logged and the newest
 * turns stay.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: RankedHistoryPruner.Weights | undefined
): Effect.Effect<HistoryPruner.Service, never, TokenCounter | Embedder> =>
  Effect.flatMap(Embedder, (embedder) =>
    RankedHistoryPruner.make({
      ...options,
      relevance: (query, turns) =>
        Effect.matchEffect(embedder.embedMany([query, ...turns.map(({ content }) => content)]), {
          onFailure: (error) =>
            Effect.as(
              Effect.logWarning("History is pruned by recency: the query could not be embedded").pipe(
                Effect.annotateLogs({ module: "EmbeddingContextPruner", error: error._tag })
              ),
              []
            ),
          onSuccess: ([asked, ...vectors]) =>
            Effect.succeed(asked === undefined ? [] : vectors.map((vector) => similarity(asked, vector)))
        })
    })
  )

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents, TokenCounter } from "effect-lexigram"
 * import { HashingEmbedder } from "effect-lexigram/llm"
 * import { EmbeddingContextPruner, PrunedSessionHistory, Sessions } from "effect-lexigram/session"
 * import * as Layer from "effect/Layer"
 *
 * const agents = Agents.layerWith({
 *   sessions: Sessions.layer(),
 *   tokens: TokenCounter.layerApproximate(),
 *   history: PrunedSessionHistory.layer({ window: 500 }).pipe(
 *     Layer.provide(EmbeddingContextPruner.layer({ keepRecent: 4 })),
 *     Layer.provide(HashingEmbedder.layer())
 *   )
 * })
 * ```
 */
export const layer = (
  options?: RankedHistoryPruner.Weights | undefined
): Layer.Layer<HistoryPruner.HistoryPruner, never, TokenCounter | Embedder> =>
  Layer.effect(HistoryPruner.HistoryPruner, make(options))
