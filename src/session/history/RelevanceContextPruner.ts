/**
 * Keeps the turns that share most words with the query, weighting rare words (BM25), newer turns first among equals.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { TokenCounter } from "../../llm/model/TokenCounter.js"
import * as TextRelevance from "../../memory/search/TextRelevance.js"
import * as HistoryPruner from "./HistoryPruner.js"
import * as RankedHistoryPruner from "./RankedHistoryPruner.js"

/**
 * The score of the i-th of n turns is its relevance relative to the best turn, plus `recencyWeight · i / (n − 1)`,
 * counted from 0.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: RankedHistoryPruner.Weights | undefined
): Effect.Effect<HistoryPruner.Service, never, TokenCounter> =>
  RankedHistoryPruner.make({
    ...options,
    relevance: (query, turns) =>
      Effect.sync(() =>
        TextRelevance.scores(
          query,
          turns.map(({ content }) => content)
        )
      )
  })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents, TokenCounter } from "effect-lexigram"
 * import { PrunedSessionHistory, RelevanceContextPruner, Sessions } from "effect-lexigram/session"
 * import * as Layer from "effect/Layer"
 *
 * // The last six turns, then those that share words with the message.
 * const agents = Agents.layerWith({
 *   sessions: Sessions.layer(),
 *   tokens: TokenCounter.layer({ model: "gpt-4o" }),
 *   history: PrunedSessionHistory.layer({ window: 500 }).pipe(
 *     Layer.provide(RelevanceContextPruner.layer({ keepRecent: 6, recencyWeight: 0.1 }))
 *   )
 * })
 * ```
 */
export const layer = (
  options?: RankedHistoryPruner.Weights | undefined
): Layer.Layer<HistoryPruner.HistoryPruner, never, TokenCounter> =>
  Layer.effect(HistoryPruner.HistoryPruner, make(options))
